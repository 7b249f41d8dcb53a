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
#include "lib/merge_heap.h"

#include "analyzer/load/internal.h"

#define PROGRESS_EVENTS 16384

/* A process or thread begins, before any record that ends later. */
struct start {
	int64_t ns;
	int index;
	bool thread; /* else a process */
};

struct thread_stream {
	struct reel_stream *from;
	struct reel_record rec; /* next */
	int64_t end_ns;		/* of rec, in the job's clock */
	int thread;		/* index */
	const struct reel_clock_fit *line;
	int64_t shift_ns; /* as its host's */
};

struct merge {
	struct load *l;
	struct start *start;
	int starts, next_start;
	uint64_t events;	     /* for the progress line */
	struct reel_merge_heap heap; /* of struct thread_stream */
};

static int by_start(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* As load_ns(), with the clock at hand. */
static inline int64_t stream_ns(const struct thread_stream *s, uint64_t ticks)
{
	return load_clamp(reel_clock_fit_ns(s->line, ticks)) + s->shift_ns;
}

/* The next record of @s. 1; 0 at its end; -1 with @err. */
static inline int fetch_record(struct thread_stream *s, struct reel_error *err)
{
	int rc = reel_stream_next(s->from, &s->rec, err);

	if (rc > 0)
		s->end_ns = stream_ns(s, s->rec.end_ticks);
	return rc;
}

/* All threads of @p have ended: its open spans end, too. */
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

static void stream_free(struct thread_stream *s)
{
	if (s)
		reel_stream_close(s->from);
	free(s);
}

static int start_process(struct load *l, int index, struct reel_error *err)
{
	struct load_process *p = &l->process[index];

	if (p->started)
		return 0;
	p->started = true;
	if (p->inherits_fds_from >= 0 &&
	    start_process(l, p->inherits_fds_from, err))
		return -1;
	if (p->follows >= 0 && start_process(l, p->follows, err))
		return -1;
	if (reel_resolve_start(l->resolver, index, err))
		return -1;
	return p->threads ? 0 : process_ended(l, p, err);
}

static int start_thread(struct merge *m, int index, struct reel_error *err)
{
	struct load *l = m->l;
	const struct load_process *p = &l->process[l->thread[index].process];
	struct thread_stream *s = reel_alloc(1, sizeof(*s), err);
	int rc = -1;

	if (!s)
		return -1;
	s->thread = index;
	s->line = reel_trace_clock_fit(l->tr, p->trace_index);
	s->shift_ns = l->host[p->host_id - 1].shift_ns;
	if (reel_stream_open(&s->from, l->tr, l->thread[index].trace_index,
			     err))
		goto out;
	rc = fetch_record(s, err);
	if (rc > 0) {
		rc = reel_writer_thread_begin(l->writer, (uint32_t)index + 1,
					      err);
		if (rc)
			goto out;
		reel_merge_heap_add(
			&m->heap, (struct reel_merge_item){s->end_ns,
							   (uint32_t)index, s});
		return 0;
	}
	if (!rc)
		rc = thread_ended(l, &l->thread[index], err);
out:
	stream_free(s);
	return rc;
}

/* Start what begins before the first record of the heap; -1 with @err. */
static int start_due(struct merge *m, struct reel_error *err)
{
	while (m->next_start < m->starts) {
		const struct start *w = &m->start[m->next_start];

		if (m->heap.n && m->heap.item[0].time_ns < w->ns)
			break;
		m->next_start++;
		if (w->thread ? start_thread(m, w->index, err)
			      : start_process(m->l, w->index, err))
			return -1;
	}
	return 0;
}

/* The ticks of an interval's mark, as ns. Returns the length of the
 * interval. */
static int64_t interval_ns(struct thread_stream *s)
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

static int handle_record(struct merge *m, struct thread_stream *s,
			 struct reel_error *err)
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
	/* an enclosing call may begin before the first event: plan_origin() */
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

/* Read the first stream until a record of another one, or a start, comes first.
 */
static int drain_stream(struct merge *m, struct reel_error *err)
{
	struct thread_stream *s = m->heap.item[0].stream;
	int64_t limit = INT64_MAX;
	int rc;

	for (uint32_t i = 1; i < m->heap.n && i <= 2; i++)
		if (m->heap.item[i].time_ns < limit)
			limit = m->heap.item[i].time_ns;
	if (m->next_start < m->starts && m->start[m->next_start].ns < limit)
		limit = m->start[m->next_start].ns;
	do {
		if (handle_record(m, s, err))
			return -1;
		rc = fetch_record(s, err);
		if (rc < 0)
			return -1;
		if (rc && s->rec.path)
			reel_resolve_soon(m->l->resolver, &s->rec);
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

static int plan_starts(struct merge *m, struct reel_error *err)
{
	struct load *l = m->l;

	m->heap.item =
		reel_alloc((size_t)l->threads + 1, sizeof(*m->heap.item), err);
	m->start = reel_alloc((size_t)l->threads + (size_t)l->processes + 1,
			      sizeof(*m->start), err);
	if (!m->heap.item || !m->start)
		return -1;
	for (int i = 0; i < l->processes; i++)
		m->start[m->starts++] =
			(struct start){l->process[i].begin_ns, i, false};
	for (int i = 0; i < l->threads; i++)
		m->start[m->starts++] =
			(struct start){l->thread[i].begin_ns, i, true};
	qsort(m->start, (size_t)m->starts, sizeof(*m->start), by_start);
	return 0;
}

int load_merge(struct load *l, struct reel_error *err)
{
	struct merge m = {.l = l};
	int rc = -1;

	if (plan_starts(&m, err))
		goto out;
	for (;;) {
		if (start_due(&m, err))
			goto out;
		if (!m.heap.n)
			break;
		if (drain_stream(&m, err))
			goto out;
	}
	rc = reel_writer_settle(l->writer, err);
out:
	while (m.heap.n)
		stream_free(m.heap.item[--m.heap.n].stream);
	free(m.heap.item);
	free(m.start);
	return rc;
}
