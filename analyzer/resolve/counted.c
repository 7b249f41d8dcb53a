/* SPDX-License-Identifier: MIT */
/*
 * Calls and spans that an interval has sums of: where they are laid in it.
 *
 * Calls of one thread do not overlap, so their sums are placed end to end and
 * stay exact: the calls of fetches at the fetches, and so on (ioreel-trace(5),
 * "Intervals"). Whether calls of two threads overlapped is not known: the calls
 * of a thread without steps start at a pseudo-random time of the interval, as if
 * threads were independent.
 */
#include "lib/calls.h"

#include "analyzer/resolve/internal.h"

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* @ns of an interval, which damage may have made anything. */
static int64_t forward(int64_t from_ns, int64_t ns)
{
	int64_t to_ns;

	if (ns < 0 || __builtin_add_overflow(from_ns, ns, &to_ns))
		return from_ns;
	return to_ns;
}

/* A part of @ns, another one for each thread. */
static int64_t part_of(const struct step *s, int64_t ns)
{
	uint32_t share = s->ev->thread * 0x9e3779b1u >> 16;

	return ns > 0 ? (int64_t)((unsigned __int128)ns * share >> 16) : 0;
}

static void begin(struct step *s, struct interval *in)
{
	in->begin_ns = in->waits_ns = s->end_ns;
	in->end_ns = forward(s->end_ns, s->rec->size);
	in->wrapped = false;
	for (int i = 0; i < REEL_SPANS; i++)
		in->at_ns[i] = -1;
}

/* The spans of one kind, as one that lasts as long as they did together. */
static int give_spans(struct step *s, struct interval *in, uint32_t kind)
{
	const struct spans *open = &s->r->thread[s->thread].spans;
	const struct reel_record *rec = s->rec;
	struct reel_span_event ev = {
		.start_ns = later(s->end_ns - (rec->has_pos ? rec->pos : 0), 0),
		.dur_ns = s->end_ns - s->ev->start_ns,
		.parent = open->n ? open->span[open->n - 1].id : 0,
		.process = s->ev->process,
		.thread = s->ev->thread,
		.kind = kind,
		.count = (uint32_t)rec->count,
		.detail = rec->has_arg2 ? rec->arg2 : -1,
		.name = reel_span_name(kind),
	};

	/* One after the other, so that a step holds them all. */
	if (kind == REEL_SPAN_FETCH || kind == REEL_SPAN_COMPUTE) {
		ev.start_ns = later(ev.start_ns, in->waits_ns);
		in->waits_ns = forward(ev.start_ns, ev.dur_ns);
	}
	if (kind == REEL_SPAN_PREPROCESS && rec->count > 1 &&
	    in->at_ns[REEL_SPAN_STEP] < 0 && in->at_ns[REEL_SPAN_FETCH] < 0) {
		ev.start_ns += part_of(s, in->end_ns - ev.start_ns - ev.dur_ns);
		in->waits_ns = forward(ev.start_ns, ev.dur_ns);
	}
	in->at_ns[kind] = ev.start_ns;
	if (!rec->count)
		return 0; /* it began, and did not end in this interval */
	ev.span_id = ++s->r->last_span;
	return s->r->sink.span(s->r->sink.arg, &ev, true, s->err);
}

int resolve_interval(struct step *s)
{
	struct interval *in = &s->r->thread[s->thread].interval;
	int64_t kind = s->rec->has_arg ? s->rec->arg : 0;

	if (!kind)
		begin(s, in);
	else if (kind > 0 && kind < REEL_SPANS)
		return give_spans(s, in, (uint32_t)kind);
	return 0;
}

/* When the innermost open span of @kind began, or the record's first call. */
static int64_t phase_began(const struct step *s, uint32_t kind)
{
	const struct spans *open = &s->r->thread[s->thread].spans;

	for (uint32_t i = open->n; i--;)
		if (open->span[i].kind == kind)
			return open->span[i].start_ns;
	return s->end_ns;
}

/* Start of the calls outside any phase: after the thread's waits. */
static int64_t rest_begins(const struct step *s, const struct interval *in)
{
	if (in->waits_ns > in->begin_ns || in->at_ns[REEL_SPAN_STEP] >= 0)
		return in->waits_ns;
	return forward(in->begin_ns, part_of(s, in->end_ns - in->begin_ns));
}

void resolve_counted_time(struct step *s)
{
	struct interval *in = &s->r->thread[s->thread].interval;
	struct reel_event *ev = s->ev;
	int64_t phase = s->rec->has_arg ? s->rec->arg : 0, *at;

	if (phase < 0 || phase >= REEL_SPANS || phase == REEL_SPAN_STEP)
		phase = REEL_SPAN_USER; /* 0: of none */
	at = &in->at_ns[phase];
	if (*at < 0)
		*at = phase ? later(phase_began(s, (uint32_t)phase),
				    in->begin_ns)
			    : rest_begins(s, in);
	else if (!phase && !in->wrapped)
		*at = later(*at, in->waits_ns);
	if (*at > in->end_ns - ev->dur_ns) {
		*at = phase ? later(in->end_ns - ev->dur_ns, in->begin_ns)
			    : in->begin_ns;
		in->wrapped |= !phase;
	}
	ev->start_ns = *at;
	*at = forward(*at, ev->dur_ns);
	ev->arg = 0;
	ev->arg2 = s->rec->has_pos ? s->rec->pos : 0; /* fetched */
	ev->pos = REEL_NO_OFFSET;
}
