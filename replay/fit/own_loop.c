/* SPDX-License-Identifier: MIT */
/*
 * The steps of a loop that takes its batches from no loader. They last from an
 * optimizer step to the next, and nothing marks where the batch is there: it is taken
 * to be so at the end of the last read before the backward pass.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"

enum { BEGIN, BACKWARD, READ, CALL, SAVE };

/* The step that events are added to. */
struct own_step {
	int64_t start_ns; /* -1: none yet */
	int64_t calls_ns; /* of its calls before @ready_ns */
	int64_t later_ns; /* of its calls since */
	int64_t ready_ns; /* end of the last read before the backward pass; 0: none */
	int64_t saves_ns; /* in checkpoints */
	bool trains;
};

static int end_step(struct fit *f, const struct own_step *s, int64_t end_ns)
{
	struct fit_own_loop *o = &f->own_loop;
	int64_t fetch_ns = s->ready_ns ? s->ready_ns - s->start_ns : 0;

	if (s->start_ns < 0)
		return 0;
	if (reel_array_reach(&o->compute_ns, &o->compute_room, o->steps,
			     sizeof(*o->compute_ns), f->err) ||
	    reel_array_reach(&o->work_ns, &o->work_room, o->steps,
			     sizeof(*o->work_ns), f->err))
		return -1;
	o->work_ns[o->steps] = fetch_ns - s->calls_ns;
	o->compute_ns[o->steps] =
		end_ns - s->start_ns - fetch_ns - s->saves_ns - s->later_ns;
	if (o->compute_ns[o->steps] < 0)
		o->compute_ns[o->steps] = 0;
	o->steps++;
	return 0;
}

static void add(struct own_step *s, int what, int64_t start_ns, int64_t dur_ns)
{
	switch (what) {
	case BACKWARD:
		s->trains = true;
		break;
	case SAVE:
		s->saves_ns += dur_ns;
		break;
	case READ:
		s->later_ns += dur_ns;
		if (s->trains)
			break;
		s->ready_ns = start_ns + dur_ns;
		s->calls_ns += s->later_ns;
		s->later_ns = 0;
		break;
	default:
		s->later_ns += dur_ns;
	}
}

/* Calls within a checkpoint are in its time. */
static int read_steps(struct fit *f)
{
	struct own_step s = {.start_ns = -1};
	int64_t saved_ns = 0, end_ns = 0;
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "WITH loop AS MATERIALIZED (SELECT p.process_id, "
		    "p.thread_id, s.start_ns, s.dur_ns FROM step s JOIN v_span "
		    "p USING (span_id) WHERE s.rank = ?1), one AS MATERIALIZED "
		    "(SELECT DISTINCT process_id, thread_id FROM loop) "
		    "SELECT start_ns AS ns, dur_ns, 0 AS what FROM loop "
		    "UNION ALL SELECT start_ns, dur_ns, "
		    "iif(name = 'backward', 1, 4) FROM v_span JOIN one USING "
		    "(process_id, thread_id) WHERE name IN ('backward', "
		    "'checkpoint') UNION ALL SELECT start_ns, dur_ns, "
		    "iif(class = 'data' AND call_group = 'read' AND "
		    "bytes > 0, 2, 3) FROM v_event JOIN one USING (process_id, "
		    "thread_id) ORDER BY 1, 3",
		    f->err)) {
		reel_view_bind(&v, 1, f->first_rank);
		while (!rc && reel_view_next(&v)) {
			int64_t ns = reel_view_exact(&v, "ns");
			int64_t dur_ns = reel_view_int(&v, "dur_ns");
			int what = (int)reel_view_int(&v, "what");

			if (what == BEGIN) {
				rc = end_step(f, &s, ns);
				s = (struct own_step){.start_ns = ns};
				end_ns = ns + dur_ns;
			} else if (s.start_ns >= 0 && ns < end_ns &&
				   (what < READ || ns >= saved_ns)) {
				add(&s, what, ns, dur_ns);
			}
			if (what == SAVE && ns + dur_ns > saved_ns)
				saved_ns = ns + dur_ns;
		}
		if (!rc)
			rc = end_step(f, &s, end_ns);
	}
	return reel_view_close(&v) || rc ? -1 : 0;
}

int fit_own_loop(struct fit *f)
{
	int64_t own;

	if (fit_ask(f,
		    "SELECT EXISTS (SELECT 1 FROM note WHERE key = 'steps' AND "
		    "value = 'optimizer') AND NOT EXISTS (SELECT 1 FROM v_step "
		    "WHERE fetch_ns IS NOT NULL)",
		    0, &own))
		return -1;
	return own ? read_steps(f) : 0;
}

void fit_own_loop_fini(struct fit *f)
{
	free(f->own_loop.compute_ns);
	free(f->own_loop.work_ns);
}
