/* SPDX-License-Identifier: MIT */
/*
 * Counted calls and spans: place the sums of an interval inside it.
 *
 * Calls of one thread do not overlap, so their sums are placed end to end and
 * stay exact: the calls of fetches at the fetches, and so on (ioreel-trace(5),
 * "Intervals"). Overlap between threads is unknown: the calls of a thread
 * without steps start at a pseudo-random time of the interval, as if threads
 * were independent.
 */
#include "lib/calls.h"

#include "analyzer/resolve/internal.h"

static int64_t max_ns(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* @from_ns + @ns; a damaged value adds nothing. */
static int64_t add_ns(int64_t from_ns, int64_t ns)
{
	int64_t to_ns;

	if (ns < 0 || __builtin_add_overflow(from_ns, ns, &to_ns))
		return from_ns;
	return to_ns;
}

/* A fraction of @ns that depends on the thread. */
static int64_t part_of(const struct resolve_step *s, int64_t ns)
{
	uint32_t share = s->ev->thread * 0x9e3779b1u >> 16;

	return ns > 0 ? (int64_t)((unsigned __int128)ns * share >> 16) : 0;
}

static void begin_interval(struct resolve_step *s, struct interval *in)
{
	in->begin_ns = in->waits_ns = s->end_ns;
	in->end_ns = add_ns(s->end_ns, s->rec->size);
	in->wrapped = false;
	for (int i = 0; i < REEL_SPANS; i++)
		in->at_ns[i] = -1;
}

/* All spans of one kind as one span, with the sum of their durations. */
static int emit_spans(struct resolve_step *s, struct interval *in,
		      uint32_t kind)
{
	const struct spans *open = &s->r->thread[s->thread].spans;
	const struct reel_record *rec = s->rec;
	struct reel_span_event ev = {
		.start_ns =
			max_ns(s->end_ns - (rec->has_pos ? rec->pos : 0), 0),
		.dur_ns = s->end_ns - s->ev->start_ns,
		.parent = open->n ? open->span[open->n - 1].id : 0,
		.process = s->ev->process,
		.thread = s->ev->thread,
		.kind = kind,
		.count = (uint32_t)rec->count,
		.detail = rec->has_arg2 ? rec->arg2 : -1,
		.name = reel_span_name(kind),
	};

	/* One after another, so that the step contains them all. */
	if (kind == REEL_SPAN_FETCH || kind == REEL_SPAN_COMPUTE) {
		ev.start_ns = max_ns(ev.start_ns, in->waits_ns);
		in->waits_ns = add_ns(ev.start_ns, ev.dur_ns);
	}
	if (kind == REEL_SPAN_PREPROCESS && rec->count > 1 &&
	    in->at_ns[REEL_SPAN_STEP] < 0 && in->at_ns[REEL_SPAN_FETCH] < 0) {
		ev.start_ns += part_of(s, in->end_ns - ev.start_ns - ev.dur_ns);
		in->waits_ns = add_ns(ev.start_ns, ev.dur_ns);
	}
	in->at_ns[kind] = ev.start_ns;
	if (!rec->count)
		return 0; /* it began in this interval and did not end */
	ev.span_id = ++s->r->last_span;
	return s->r->sink.span(s->r->sink.arg, &ev, s->err);
}

int resolve_interval(struct resolve_step *s)
{
	struct interval *in = &s->r->thread[s->thread].interval;
	int64_t kind = s->rec->has_arg ? s->rec->arg : 0;

	if (!kind)
		begin_interval(s, in);
	else if (kind > 0 && kind < REEL_SPANS)
		return emit_spans(s, in, (uint32_t)kind);
	return 0;
}

/* Start of the innermost open span of @kind, or of the record's first call. */
static int64_t phase_start(const struct resolve_step *s, uint32_t kind)
{
	const struct spans *open = &s->r->thread[s->thread].spans;

	for (uint32_t i = open->n; i--;)
		if (open->span[i].kind == kind)
			return open->span[i].start_ns;
	return s->end_ns;
}

/* Start of the calls outside any phase: after the thread's waits. */
static int64_t rest_start(const struct resolve_step *s,
			  const struct interval *in)
{
	if (in->waits_ns > in->begin_ns || in->at_ns[REEL_SPAN_STEP] >= 0)
		return in->waits_ns;
	return add_ns(in->begin_ns, part_of(s, in->end_ns - in->begin_ns));
}

void resolve_counted_time(struct resolve_step *s)
{
	struct interval *in = &s->r->thread[s->thread].interval;
	struct reel_event *ev = s->ev;
	int64_t phase = s->rec->has_arg ? s->rec->arg : 0, *at;

	if (phase < 0 || phase >= REEL_SPANS || phase == REEL_SPAN_STEP)
		phase = REEL_SPAN_USER; /* 0: of none */
	at = &in->at_ns[phase];
	if (*at < 0)
		*at = phase ? max_ns(phase_start(s, (uint32_t)phase),
				     in->begin_ns)
			    : rest_start(s, in);
	else if (!phase && !in->wrapped)
		*at = max_ns(*at, in->waits_ns);
	if (*at > in->end_ns - ev->dur_ns) {
		*at = phase ? max_ns(in->end_ns - ev->dur_ns, in->begin_ns)
			    : in->begin_ns;
		in->wrapped |= !phase;
	}
	ev->start_ns = *at;
	*at = add_ns(*at, ev->dur_ns);
	ev->arg = 0;
	ev->arg2 = s->rec->has_pos ? s->rec->pos : 0; /* fetched */
	ev->pos = REEL_NO_OFFSET;
}
