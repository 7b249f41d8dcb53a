/* SPDX-License-Identifier: MIT */
/* Claims on calls that are still on their way (claims.h). */
#include "replay/deps/pending_changes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/deps/deps.h"
#include "replay/fsstate/fsstate.h"
#include "replay/model/recorded_job.h"

int pending_changes_init(struct pending_changes *c, const struct job *job,
			 struct annotations *marks, struct edges *edges,
			 struct reel_error *err)
{
	c->marks = marks;
	c->edges = edges;
	c->of_file = reel_alloc(job->files, sizeof(*c->of_file), err);
	return c->of_file ? 0 : -1;
}

void pending_changes_fini(struct pending_changes *c)
{
	free(c->of_file);
	memset(c, 0, sizeof(*c));
}

void pending_changes_add(struct pending_changes *c, const struct call_ref *me,
			 const struct effects *effects, bool marked)
{
	c->of_file[effects->met] =
		(struct pending_change){.who = *me,
					.mark = marked ? c->marks->n : 0,
					.appeared = effects->appeared};
}

/* What the call did to @file: made it, or may have; removed it. */
static bool makes(const struct reel_event *ev, enum effect effect)
{
	return effect == EFFECT_CREATE ||
	       (ev->group == REEL_GROUP_OPEN && ev->arg != REEL_NO_OFFSET &&
		ev->arg & O_CREAT);
}

static int settle(struct pending_changes *c, const struct reel_event *ev,
		  const struct call_ref *me, uint32_t file, enum effect effect,
		  struct effects *effects, struct reel_error *err)
{
	struct pending_change *met = &c->of_file[file];

	if (!met->who.end_ns || met->who.end_ns <= ev->start_ns ||
	    !(met->appeared ? makes(ev, effect) : effect == EFFECT_REMOVE))
		return 0;
	if (met->mark)
		c->marks->mark[met->mark - 1].kind = ANNOTATION_NONE;
	met->who.end_ns = 0;
	effects->late = file;
	if (effects->met == file)
		effects->appeared = effects->vanished = false;
	return edges_keep(c->edges, me, &met->who, err) < 0 ? -1 : 0;
}

int pending_changes_event(struct pending_changes *c,
			  const struct reel_event *ev,
			  const struct call_ref *me, struct effects *effects,
			  struct reel_error *err)
{
	if (ev->err)
		return 0;
	return settle(c, ev, me, ev->file, effects->file, effects, err) ||
			       settle(c, ev, me, ev->file2, effects->file2,
				      effects, err)
		       ? -1
		       : 0;
}
