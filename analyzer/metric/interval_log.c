/* SPDX-License-Identifier: MIT */
/*
 * Streams of intervals: a union whose bottom goes to a spill log, as four
 * numbers: gap to the end of the previous interval, length, bytes read, bytes
 * written.
 *
 * A call that ends late may begin below that bottom. This part of it is kept in
 * memory and read as a stream of its own.
 */
#include "analyzer/metric/interval_log.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"

#include "analyzer/metric/spill_log.h"

struct reel_interval_source {
	struct reel_spill_reader *reader; /* NULL: reads late intervals */
	const struct reel_interval *late;
	uint32_t lates;
	struct reel_interval iv; /* the next one */
	uint32_t tag;
};

#define LOGGED_TOGETHER 32u

static int log_intervals(void *ctx, const struct reel_interval *iv, uint32_t n,
			 struct reel_error *err)
{
	struct reel_interval_stream *s = ctx;
	uint64_t number[LOGGED_TOGETHER][4];

	while (n) {
		uint32_t some = n < LOGGED_TOGETHER ? n : LOGGED_TOGETHER;

		for (uint32_t i = 0; i < some; i++, iv++) {
			number[i][0] = (uint64_t)(iv->start_ns - s->logged_ns);
			number[i][1] = (uint64_t)(iv->end_ns - iv->start_ns);
			number[i][2] = iv->read_bytes;
			number[i][3] = iv->write_bytes;
			s->logged_ns = iv->end_ns;
		}
		if (reel_spill_log_add(s->log, s->id, number[0], 4, some, err))
			return -1;
		n -= some;
	}
	return 0;
}

void reel_interval_stream_begin(struct reel_interval_stream *s,
				struct reel_spill_log *log, uint32_t id,
				uint32_t limit)
{
	s->u.limit = limit;
	s->u.emit = log_intervals;
	s->u.ctx = s;
	s->u.keep_late = true;
	s->log = log;
	s->id = id;
}

static int by_start(const void *a, const void *b)
{
	const struct reel_interval *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

int reel_interval_stream_end(struct reel_interval_stream *s,
			     struct reel_error *err)
{
	if (s->u.lates)
		qsort(s->u.late, s->u.lates, sizeof(*s->u.late), by_start);
	return s->log ? reel_union_flush(&s->u, err) : 0;
}

int64_t reel_interval_stream_ns(const struct reel_interval_stream *s)
{
	int64_t ns = reel_union_ns(&s->u);

	for (uint32_t i = 0; i < s->u.lates; i++)
		ns += s->u.late[i].end_ns - s->u.late[i].start_ns;
	return ns;
}

void reel_interval_stream_fini(struct reel_interval_stream *s)
{
	reel_union_fini(&s->u);
}

/* Read the next interval of @src. 1, 0 at the end, -1. */
static int next_interval(struct reel_interval_source *src,
			 struct reel_error *err)
{
	struct reel_interval *iv = &src->iv;
	const uint8_t *p;
	int more;

	if (!src->reader) {
		if (!src->lates)
			return 0;
		*iv = *src->late++;
		src->lates--;
		return 1;
	}
	more = reel_spill_reader_at(src->reader, &p, err);
	if (more <= 0)
		return more;
	iv->start_ns = iv->end_ns + (int64_t)reel_spill_number(&p);
	iv->end_ns = iv->start_ns + (int64_t)reel_spill_number(&p);
	iv->read_bytes = reel_spill_number(&p);
	iv->write_bytes = reel_spill_number(&p);
	reel_spill_reader_to(src->reader, p);
	return 1;
}

static int add_source(struct reel_interval_merge *m,
		      const struct reel_interval_stream *s, bool late,
		      uint32_t tag, struct reel_error *err)
{
	struct reel_interval_source *src;
	int more;

	if (reel_array_reach(&m->source, &m->source_room, m->sources,
			     sizeof(*m->source), err) ||
	    reel_array_reach(&m->heap.item, &m->heap_room, m->heap.n,
			     sizeof(*m->heap.item), err))
		return -1;
	src = &m->source[m->sources];
	src->tag = tag;
	if (late) {
		src->late = s->u.late;
		src->lates = s->u.lates;
	} else if (reel_spill_reader_open(&src->reader, s->log, s->id, err)) {
		return -1;
	}
	more = next_interval(src, err);
	if (more > 0)
		reel_merge_heap_add(&m->heap,
				    (struct reel_merge_item){src->iv.start_ns,
							     m->sources, NULL});
	m->sources++;
	return more < 0 ? -1 : 0;
}

int reel_interval_merge_add(struct reel_interval_merge *m,
			    const struct reel_interval_stream *s, uint32_t tag,
			    struct reel_error *err)
{
	if (!s->log)
		return 0;
	if (add_source(m, s, false, tag, err))
		return -1;
	return s->u.lates ? add_source(m, s, true, tag, err) : 0;
}

/* Move the first stream to its next interval. */
static int advance(struct reel_interval_merge *m, struct reel_error *err)
{
	struct reel_interval_source *src = &m->source[m->heap.item[0].id];
	int more = next_interval(src, err);

	if (more < 0)
		return -1;
	if (more)
		reel_merge_heap_next(&m->heap, src->iv.start_ns);
	else
		reel_merge_heap_drop(&m->heap);
	return 0;
}

/* The stream is moved in the next call: its interval needs no copy. */
int reel_interval_merge_next(struct reel_interval_merge *m,
			     const struct reel_interval **iv, uint32_t *tag,
			     struct reel_error *err)
{
	const struct reel_interval_source *src;

	if (m->lent && advance(m, err))
		return -1;
	m->lent = m->heap.n;
	if (!m->lent)
		return 0;
	src = &m->source[m->heap.item[0].id];
	*iv = &src->iv;
	if (tag)
		*tag = src->tag;
	return 1;
}

void reel_interval_merge_fini(struct reel_interval_merge *m)
{
	uint32_t i;

	for (i = 0; i < m->sources; i++)
		reel_spill_reader_close(m->source[i].reader);
	free(m->source);
	free(m->heap.item);
	memset(m, 0, sizeof(*m));
}

int64_t reel_interval_merge_union_ns(struct reel_interval_merge *m,
				     struct reel_error *err)
{
	int64_t ns = 0, reach_ns = INT64_MIN;
	const struct reel_interval *iv;
	int more;

	while ((more = reel_interval_merge_next(m, &iv, NULL, err)) > 0) {
		int64_t from =
			iv->start_ns > reach_ns ? iv->start_ns : reach_ns;

		if (iv->end_ns > from)
			ns += iv->end_ns - from;
		if (iv->end_ns > reach_ns)
			reach_ns = iv->end_ns;
	}
	return more < 0 ? -1 : ns;
}

int reel_interval_window_move(struct reel_interval_window *w, int64_t start_ns,
			      int64_t end_ns, struct reel_error *err)
{
	while (w->first < w->n && w->iv[w->first].end_ns <= start_ns)
		w->first++;
	if (w->first > w->n / 2) {
		w->n -= w->first;
		memmove(w->iv, w->iv + w->first, w->n * sizeof(*w->iv));
		w->first = 0;
	}
	while (!w->ended && (!w->n || w->read_ns < end_ns)) {
		const struct reel_interval *iv;
		int more = reel_interval_merge_next(&w->m, &iv, NULL, err);

		if (more < 0)
			return -1;
		w->ended = !more;
		if (!more || iv->end_ns <= start_ns)
			continue;
		if (reel_array_reach(&w->iv, &w->room, w->n, sizeof(*iv), err))
			return -1;
		w->read_ns = iv->start_ns;
		w->iv[w->n++] = *iv;
	}
	return 0;
}

void reel_interval_window_fini(struct reel_interval_window *w)
{
	reel_interval_merge_fini(&w->m);
	free(w->iv);
	memset(w, 0, sizeof(*w));
}
