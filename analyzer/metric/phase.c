/* SPDX-License-Identifier: MIT */
/*
 * Phases of a run by the names of TimeLogger: read, load, training, checkpoint,
 * eval. The share of reading is the sum of its spans over the sum of the
 * training iterations, of all ranks and unmerged: TimeLogger's definition.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/interval_union.h"
#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_phase.sql.inc"
	;

enum { READ, LOAD, TRAINING, CHECKPOINT, EVAL, PHASES };

static const char *const phase_name[PHASES] = {"read", "load", "training",
					       "checkpoint", "eval"};

/* Spans with the name of a phase; steps and preprocess spans that stand in for
 * a phase that no span names. */
enum { NAMED, STAND_IN, ORIGINS };

/* Spans that last longer than half as many others may lose a part. */
#define HELD 65536u

struct sum {
	uint64_t spans, sum_ns;
	int64_t first_ns, last_ns;
};

struct process {
	struct sum sum[ORIGINS][PHASES];
};

struct phases {
	struct reel_union job[ORIGINS][PHASES];
	struct process *process; /* by process_id */
	uint32_t room;
};

static int phase_init(void *state, struct reel_error *err)
{
	struct phases *p = state;

	(void)err;
	for (int o = 0; o < ORIGINS; o++) {
		for (int i = 0; i < PHASES; i++) {
			p->job[o][i].limit = HELD;
			p->job[o][i].keep_gaps = true;
		}
	}
	return 0;
}

/* The phase of a span, and its origin; PHASES: none. */
static int find_phase(const struct reel_span_event *sp, int *origin)
{
	int i = 0;

	*origin = NAMED;
	while (i < PHASES && strcmp(sp->name, phase_name[i]))
		i++;
	if (i < PHASES)
		return i;
	*origin = STAND_IN;
	switch (sp->kind) {
	case REEL_SPAN_PREPROCESS:
		return LOAD;
	case REEL_SPAN_STEP:
		return TRAINING;
	default:
		return PHASES;
	}
}

static void add_to(struct sum *s, const struct reel_span_event *sp,
		   const struct reel_interval *iv)
{
	if (!s->spans || iv->start_ns < s->first_ns)
		s->first_ns = iv->start_ns;
	if (!s->spans || iv->end_ns > s->last_ns)
		s->last_ns = iv->end_ns;
	s->spans += sp->count ? sp->count : 1;
	s->sum_ns += (uint64_t)(iv->end_ns - iv->start_ns);
}

static int64_t clamp(int64_t ns)
{
	return ns < 0 ? 0 : ns < METRIC_TIME_MAX ? ns : METRIC_TIME_MAX;
}

static int phase_span(void *state, const struct reel_span_event *sp,
		      struct reel_error *err)
{
	struct phases *p = state;
	struct reel_interval iv = {clamp(sp->start_ns), 0, 0, 0};
	int origin, phase = find_phase(sp, &origin);

	if (phase == PHASES)
		return 0;
	iv.end_ns = iv.start_ns + clamp(sp->dur_ns);
	if (reel_array_reach(&p->process, &p->room, sp->process,
			     sizeof(*p->process), err))
		return -1;
	add_to(&p->process[sp->process].sum[origin][phase], sp, &iv);
	return reel_union_add(&p->job[origin][phase], &iv, err);
}

/* Sum the processes; false: no span of this origin. */
static bool sum_job(const struct phases *p, int origin, int phase,
		    struct sum *out)
{
	*out = (struct sum){0};
	for (uint32_t i = 0; i < p->room; i++) {
		const struct sum *s = &p->process[i].sum[origin][phase];

		if (!s->spans)
			continue;
		if (!out->spans || s->first_ns < out->first_ns)
			out->first_ns = s->first_ns;
		if (!out->spans || s->last_ns > out->last_ns)
			out->last_ns = s->last_ns;
		out->spans += s->spans;
		out->sum_ns += s->sum_ns;
	}
	return out->spans > 0;
}

static int write_sum(struct reel_insert *out, int64_t process, int phase,
		     const struct sum *s, int64_t union_ns,
		     struct reel_error *err)
{
	if (process < 0)
		reel_insert_null(out);
	else
		reel_insert_int(out, process);
	reel_insert_text(out, phase_name[phase]);
	reel_insert_int(out, (int64_t)s->spans);
	reel_insert_int(out, (int64_t)s->sum_ns);
	if (union_ns < 0)
		reel_insert_null(out);
	else
		reel_insert_int(out, union_ns);
	reel_insert_int(out, s->first_ns);
	reel_insert_int(out, s->last_ns);
	return reel_insert_done(out, err);
}

static int write_phase(const struct phases *p, int phase,
		       struct reel_insert *out, struct reel_error *err)
{
	int origin = NAMED;
	struct sum job;

	if (!sum_job(p, NAMED, phase, &job)) {
		origin = STAND_IN;
		if (!sum_job(p, STAND_IN, phase, &job))
			return 0;
	}
	if (write_sum(out, -1, phase, &job,
		      reel_union_ns(&p->job[origin][phase]), err))
		return -1;
	for (uint32_t i = 0; i < p->room; i++) {
		const struct sum *s = &p->process[i].sum[origin][phase];

		if (s->spans && write_sum(out, i, phase, s, -1, err))
			return -1;
	}
	return 0;
}

static int phase_finish(void *state, struct reel_store *st,
			struct reel_error *err)
{
	struct reel_insert out;
	int rc = reel_insert_open(
		&out, st, "INSERT INTO phase VALUES (?,?,?,?,?,?,?)", err);

	for (int i = 0; !rc && i < PHASES; i++)
		rc = write_phase(state, i, &out, err);
	return reel_insert_close(&out, rc);
}

static void phase_fini(void *state)
{
	struct phases *p = state;

	for (int o = 0; o < ORIGINS; o++)
		for (int i = 0; i < PHASES; i++)
			reel_union_fini(&p->job[o][i]);
	free(p->process);
}

const struct reel_metric reel_metric_phase = {
	.name = "phase",
	.schema = schema,
	.state_bytes = sizeof(struct phases),
	.init = phase_init,
	.span = phase_span,
	.finish = phase_finish,
	.fini = phase_fini,
};
