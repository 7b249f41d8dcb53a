/* SPDX-License-Identifier: MIT */
/* Matches unexplained changes with overlapping calls that end later. */
#include "replay/deps/deps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/fsstate/fsstate.h"
#include "replay/model/recorded_job.h"

int pending_changes_init(struct pending_changes *c, const struct job *job,
			 struct annotations *annotations, struct deps *deps,
			 struct reel_error *err)
{
	c->annotations = annotations;
	c->deps = deps;
	c->of_file = reel_alloc(job->files, sizeof(*c->of_file), err);
	return c->of_file ? 0 : -1;
}

void pending_changes_fini(struct pending_changes *c)
{
	free(c->of_file);
	memset(c, 0, sizeof(*c));
}

void pending_changes_add(struct pending_changes *c, const struct call_ref *call,
			 const struct effects *effects, bool annotated)
{
	c->of_file[effects->changed_file] = (struct pending_change){
		.observer = *call,
		.annotation = annotated ? c->annotations->n : 0,
		.appeared = effects->appeared};
}

/* The call created the file, or may have. */
static bool may_create(const struct reel_event *ev, enum effect effect)
{
	return effect == EFFECT_CREATE ||
	       (ev->group == REEL_GROUP_OPEN && ev->arg != REEL_NO_OFFSET &&
		ev->arg & O_CREAT);
}

static int explain_change(struct pending_changes *c,
			  const struct reel_event *ev,
			  const struct call_ref *call, uint32_t file,
			  enum effect effect, struct effects *effects,
			  struct reel_error *err)
{
	struct pending_change *change = &c->of_file[file];

	if (!change->observer.end_ns ||
	    change->observer.end_ns <= ev->start_ns ||
	    !(change->appeared ? may_create(ev, effect)
			       : effect == EFFECT_REMOVE))
		return 0;
	if (change->annotation)
		c->annotations->list[change->annotation - 1].kind =
			ANNOTATION_NONE;
	change->observer.end_ns = 0;
	effects->seen_early = file;
	if (effects->changed_file == file)
		effects->appeared = effects->vanished = false;
	return deps_add_late(c->deps, call, &change->observer, err) < 0 ? -1
									: 0;
}

int pending_changes_event(struct pending_changes *c,
			  const struct reel_event *ev,
			  const struct call_ref *call, struct effects *effects,
			  struct reel_error *err)
{
	if (ev->err)
		return 0;
	return explain_change(c, ev, call, ev->file, effects->file, effects,
			      err) ||
			       explain_change(c, ev, call, ev->file2,
					      effects->file2, effects, err)
		       ? -1
		       : 0;
}
