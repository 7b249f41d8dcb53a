/* SPDX-License-Identifier: MIT */
/*
 * The merge: records of all threads in the order of their end.
 *
 * A heap of streams, each holding its next record. Threads work in bursts, so
 * the first stream is read on while it stays before the second. Streams are
 * opened when their time comes and closed when they end: memory follows the
 * threads that are alive at one time.
 */
#include <stdlib.h>

#include "lib/error.h"
#include "lib/store/merge_heap.h"

#include "analyzer/load/internal.h"

#define PROGRESS_EVENTS 16384

/* What happens before any record that ends later. */
struct wake {
	int64_t ns;
	int place;
	bool thread; /* else a process */
};

struct stream {
	struct reel_stream *from;
	struct reel_record rec; /* next */
	int64_t end_ns;		/* of rec, in the job's clock */
	int thread;		/* place */
	const struct reel_clock_fit *line;
	int64_t shift_ns; /* as its host's */
};

struct merge {
	struct load *l;
	struct wake *wake;
	int wakes, next_wake;
	uint64_t events;	     /* for the progress line */
	struct reel_merge_heap heap; /* of struct stream */
};

static int wake_order(const void *a, const void *b)
{
	const struct wake *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread ? 1 : -1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* As load_ns(), without looking for the clock. */
static inline int64_t stream_ns(const struct stream *s, uint64_t ticks)
{
	return load_clamp(reel_line_ns(s->line, ticks)) + s->shift_ns;
}

/* The next record of @s. 1; 0 at its end; -1 with @err. */
static inline int fetch(struct stream *s, struct reel_error *err)
{
	int rc = reel_stream_next(s->from, &s->rec, err);

	if (rc > 0)
		s->end_ns = stream_ns(s, s->rec.end_ticks);
	return rc;
}

/* @p's threads have all ended: its open spans end, its blocks are written. */
static int process_ended(struct load *l, struct load_process *p,
			 struct reel_error *err)
{
	for (int i = 0; i < p->threads; i++)
		if (reel_resolve_end_thread(l->resolver, p->first_thread + i,
					    p->end_ns, err))
			return -1;
	return reel_resolve_end(l->resolver, (int)(p - l->process), err);
}

static int thread_ended(struct load *l, struct load_thread *t,
			struct reel_error *err)
{
	struct load_process *p = &l->process[t->process];

	if (reel_writer_thread_end(l->writer, (uint32_t)(t - l->thread) + 1,
				   err))
		return -1;
	return --p->threads_left ? 0 : process_ended(l, p, err);
}

static void stream_free(struct stream *s)
{
	if (s)
		reel_stream_close(s->from);
	free(s);
}

static int wake_process(struct load *l, int place, struct reel_error *err)
{
	struct load_process *p = &l->process[place];

	if (p->started)
		return 0;
	p->started = true;
	if (p->inherits_fds_from >= 0 &&
	    wake_process(l, p->inherits_fds_from, err))
		return -1;
	if (p->follows >= 0 && wake_process(l, p->follows, err))
		return -1;
	if (reel_resolve_start(l->resolver, place, err))
		return -1;
	return p->threads ? 0 : process_ended(l, p, err);
}

static int wake_thread(struct merge *m, int place, struct reel_error *err)
{
	struct load *l = m->l;
	const struct load_process *p = &l->process[l->thread[place].process];
	struct stream *s = reel_alloc(1, sizeof(*s), err);
	int rc = -1;

	if (!s)
		return -1;
	s->thread = place;
	s->line = reel_trace_line(l->tr, p->index);
	s->shift_ns = l->host[p->host_id - 1].shift_ns;
	if (reel_stream_open(&s->from, l->tr, l->thread[place].index, err))
		goto out;
	rc = fetch(s, err);
	if (rc > 0) {
		rc = reel_writer_thread_begin(l->writer, (uint32_t)place + 1,
					      err);
		if (rc)
			goto out;
		reel_merge_heap_add(
			&m->heap,
			(struct reel_end_item){s->end_ns, (uint32_t)place, s});
		return 0;
	}
	if (!rc)
		rc = thread_ended(l, &l->thread[place], err);
out:
	stream_free(s);
	return rc;
}

/* Do what is due before the first record of the heap; -1 with @err. */
static int wake_due(struct merge *m, struct reel_error *err)
{
	while (m->next_wake < m->wakes) {
		const struct wake *w = &m->wake[m->next_wake];

		if (m->heap.n && m->heap.item[0].end_ns < w->ns)
			break;
		m->next_wake++;
		if (w->thread ? wake_thread(m, w->place, err)
			      : wake_process(m->l, w->place, err))
			return -1;
	}
	return 0;
}

/* The ticks that a mark of an interval tells, as ns; returns how far it reaches.
 */
static int64_t interval_ns(struct stream *s)
{
	struct reel_record *rec = &s->rec;
	uint64_t from = rec->end_ticks, to;

	if (rec->size < 0 ||
	    __builtin_add_overflow(from, (uint64_t)rec->size, &to))
		to = from;
	rec->size = stream_ns(s, to) - s->end_ns;
	if (rec->pos < 0 || (uint64_t)rec->pos > from)
		rec->pos = 0;
	rec->pos = s->end_ns - stream_ns(s, from - (uint64_t)rec->pos);
	return rec->size;
}

static int handle(struct merge *m, struct stream *s, struct reel_error *err)
{
	struct load *l = m->l;
	struct load_thread *t = &l->thread[s->thread];
	struct load_process *p = &l->process[t->process];
	const struct reel_record *rec = &s->rec;
	int64_t end_ns = s->end_ns - l->origin_ns, start_ns = end_ns;
	bool sums = rec->counted || rec->call == REEL_MARK_COUNTED;
	int64_t reach_ns;
	struct reel_event *ev = reel_writer_slot(l->writer);
	int rc;

	if (rec->dur_ticks)
		start_ns = stream_ns(s, rec->end_ticks - rec->dur_ticks) -
			   l->origin_ns;
	/* what an enclosing call began before the first event; see plan_zero */
	if (end_ns < 0)
		end_ns = 0;
	if (start_ns < 0 && !sums)
		start_ns = 0;
	reach_ns = end_ns;
	if (t->start_ns == REEL_NO_OFFSET)
		t->start_ns = sums ? end_ns : start_ns;
	if (rec->call == REEL_MARK_COUNTED)
		reach_ns += interval_ns(s);
	if (reach_ns > t->end_ns)
		t->end_ns = reach_ns;
	if (reach_ns > p->end_ns)
		p->end_ns = reach_ns;
	rc = reel_resolve(l->resolver, s->thread, rec, start_ns, end_ns, ev,
			  err);
	if (rc > 0 || sums)
		reel_writer_reach(l->writer, reach_ns);
	if (rc <= 0)
		return rc;
	t->events++;
	p->events++;
	/* v_launcher reads the events: they are kept even without others. */
	if (p->launcher)
		return reel_writer_launcher_event(l->writer, ev, err) ||
				       load_launcher_event(l, ev, err)
			       ? -1
			       : 0;
	if (!(++m->events % PROGRESS_EVENTS))
		reel_progress_at(&l->progress, m->events);
	return reel_writer_event(l->writer, ev, err);
}

/* Read the first stream on until another, or a wake, comes before it. */
static int run(struct merge *m, struct reel_error *err)
{
	struct stream *s = m->heap.item[0].stream;
	int64_t limit = INT64_MAX;
	int rc;

	for (int i = 1; i < m->heap.n && i <= 2; i++)
		if (m->heap.item[i].end_ns < limit)
			limit = m->heap.item[i].end_ns;
	if (m->next_wake < m->wakes && m->wake[m->next_wake].ns < limit)
		limit = m->wake[m->next_wake].ns;
	do {
		if (handle(m, s, err))
			return -1;
		rc = fetch(s, err);
		if (rc < 0)
			return -1;
	} while (rc && s->end_ns < limit);
	if (rc) {
		reel_merge_heap_next(&m->heap, s->end_ns);
		return 0;
	}
	reel_merge_heap_drop(&m->heap);
	rc = thread_ended(m->l, &m->l->thread[s->thread], err);
	stream_free(s);
	return rc;
}

static int plan_wakes(struct merge *m, struct reel_error *err)
{
	struct load *l = m->l;

	m->heap.item =
		reel_alloc((size_t)l->threads + 1, sizeof(*m->heap.item), err);
	m->wake = reel_alloc((size_t)l->threads + (size_t)l->processes + 1,
			     sizeof(*m->wake), err);
	if (!m->heap.item || !m->wake)
		return -1;
	for (int i = 0; i < l->processes; i++)
		m->wake[m->wakes++] =
			(struct wake){l->process[i].begin_ns, i, false};
	for (int i = 0; i < l->threads; i++)
		m->wake[m->wakes++] =
			(struct wake){l->thread[i].begin_ns, i, true};
	qsort(m->wake, (size_t)m->wakes, sizeof(*m->wake), wake_order);
	return 0;
}

int load_merge(struct load *l, struct reel_error *err)
{
	struct merge m = {.l = l};
	int rc = -1;

	if (plan_wakes(&m, err))
		goto out;
	for (;;) {
		if (wake_due(&m, err))
			goto out;
		if (!m.heap.n)
			break;
		if (run(&m, err))
			goto out;
	}
	rc = 0;
out:
	while (m.heap.n)
		stream_free(m.heap.item[--m.heap.n].stream);
	free(m.heap.item);
	free(m.wake);
	return rc;
}
