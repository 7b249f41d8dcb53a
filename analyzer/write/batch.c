/* SPDX-License-Identifier: MIT */
/*
 * Batches of events on their way to the blocks and the metrics.
 *
 * The producer fills a batch with events and, between them, the other calls
 * that depend on their order; then every stage works through it. A stage sees
 * all batches in their order, in one thread at a time, so that the store does
 * not depend on the number of threads. With one thread there is one batch, and
 * the producer runs the stage itself.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/prefetch.h"

#include "analyzer/write/internal.h"

#define PRODUCER 0 /* its number in the pool */
/* A stage starts for so many batches: to wake a thread takes as long as one. */
#define STAGE_BATCHES 16
#define AHEAD 6 /* events between the one that is written and a prefetch */

static struct writer_batch *batch_at(struct reel_writer *w, uint64_t i)
{
	return &w->ring[i % w->ring_room];
}

/* --- a stage -------------------------------------------------------------- */

static int store_span(struct writer_stage *s, const struct writer_batch *b,
		      const struct writer_item *it, struct reel_error *err)
{
	struct reel_span_event sp = it->span;

	sp.name = b->text + it->text[0];
	return writer_span_keep(s->w, &sp, err);
}

static int store_item(struct writer_stage *s, const struct writer_batch *b,
		      const struct writer_item *it, struct reel_error *err)
{
	const char *const text[] = {b->text + it->text[0],
				    b->text + it->text[1]};

	switch (it->what) {
	case ITEM_SPAN:
		return store_span(s, b, it, err);
	case ITEM_BEGIN:
		return writer_thread_begin(s->w, it->id[0], err);
	case ITEM_END:
		return writer_thread_end(s->w, it->id[0], s->thread, err);
	case ITEM_OPEN:
		return writer_open_keep(s->w, &it->open, s->thread, err);
	case ITEM_NOTE:
		return writer_put_texts(s->w, INSERT_NOTE, it->id, text,
					s->thread, err);
	case ITEM_SITE:
		return writer_put_texts(s->w, INSERT_SITE, it->id, text,
					s->thread, err);
	case ITEM_APART:
		return writer_block_add(s->w, &b->ev[it->at], s->thread, err);
	default:
		return 0;
	}
}

static int store_events(struct writer_stage *s, const struct writer_batch *b,
			uint32_t from, uint32_t to, struct reel_error *err)
{
	for (; from < to && !s->w->counts_only; from++)
		if (writer_block_add(s->w, &b->ev[from], s->thread, err))
			return -1;
	return 0;
}

/* May the batch's events go to their blocks before all of its items? */
static bool items_can_wait(const struct writer_batch *b)
{
	for (uint32_t i = 0; i < b->items; i++)
		if (b->item[i].what == ITEM_BEGIN ||
		    b->item[i].what == ITEM_END)
			return false;
	return true;
}

/* Events and items to the store. Their order decides only when rows get full:
 * if no block of events does, the events go to it thread by thread. */
static int store_batch(struct writer_stage *s, const struct writer_batch *b,
		       struct reel_error *err)
{
	bool stored = !s->w->counts_only && items_can_wait(b) &&
		      writer_blocks_add(s->w, b->ev, b->n);
	uint32_t from = stored ? b->n : 0;

	for (uint32_t i = 0; i < b->items; i++) {
		const struct writer_item *it = &b->item[i];

		if (stored && it->what == ITEM_APART)
			continue;
		if (store_events(s, b, from, it->at, err) ||
		    store_item(s, b, it, err))
			return -1;
		if (!stored)
			from = it->at + (it->what == ITEM_APART);
	}
	return store_events(s, b, from, b->n, err);
}

static int feed_events(struct writer_stage *s, const struct writer_batch *b,
		       uint32_t from, uint32_t to, struct reel_error *err)
{
	struct reel_writer *w = s->w;

	for (int i = s->from; from < to && i < s->to; i++)
		if (w->metric[i] &&
		    reel_metric_feed(reel_metrics[i], w->metric[i],
				     &b->ev[from], to - from, b->rare, err))
			return -1;
	return 0;
}

static int feed_span(struct writer_stage *s, const struct writer_batch *b,
		     const struct writer_item *it, struct reel_error *err)
{
	struct reel_span_event sp = it->span;

	sp.name = b->text + it->text[0];
	for (int i = s->from; i < s->to; i++)
		if (s->w->metric[i] && reel_metrics[i]->span &&
		    reel_metrics[i]->span(s->w->metric[i], &sp, err))
			return -1;
	return 0;
}

/* Events and spans to the metrics. Other items do not cut the events: a file is
 * closed every few events, and calls of all metrics for so few are slow. */
static int feed_batch(struct writer_stage *s, const struct writer_batch *b,
		      struct reel_error *err)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < b->items; i++) {
		const struct writer_item *it = &b->item[i];

		if (it->what != ITEM_SPAN && it->what != ITEM_APART)
			continue;
		if (feed_events(s, b, from, it->at, err) ||
		    (it->what == ITEM_SPAN && feed_span(s, b, it, err)))
			return -1;
		from = it->at + (it->what == ITEM_APART);
	}
	return feed_events(s, b, from, b->n, err);
}

static int pass_batch(struct writer_stage *s, const struct writer_batch *b,
		      struct reel_error *err)
{
	if (s->blocks && store_batch(s, b, err))
		return -1;
	return feed_batch(s, b, err);
}

/*
 * With the lock: the stages that this thread works with next, on one batch, so
 * that the batch meets the cache once: @s and, if they go together, those that
 * nobody runs, as far as none of them is behind the others. Returns their
 * number, 0 where no batch waits for them.
 */
static int next_stages(struct writer_stage *s, struct writer_stage **now)
{
	struct reel_writer *w = s->w;
	uint64_t least = s->done;
	int n = 0;

	for (int i = 0; i < w->stages && w->together && !w->wanted; i++)
		if (!w->stage[i].running && w->stage[i].done < least)
			least = w->stage[i].done;
	if (least >= w->made)
		return 0;
	for (int i = 0; i < w->stages; i++) {
		struct writer_stage *other = &w->stage[i];

		if (other->done != least)
			continue;
		if (other == s ||
		    (w->together && !w->wanted && !other->running))
			now[n++] = other;
	}
	return n;
}

/* With the lock, which is free meanwhile: one batch through the @n stages of
 * @now. */
static void run_stages(struct reel_writer *w, struct writer_stage *const *now,
		       int n, int thread)
{
	const struct writer_batch *b = batch_at(w, now[0]->done);
	struct reel_error err = {0};

	for (int i = 0; i < n; i++) {
		now[i]->running = true;
		now[i]->thread = thread;
	}
	reel_pool_unlock(w->pool);
	for (int i = 0; i < n && !err.code; i++)
		pass_batch(now[i], b, &err);
	reel_pool_lock(w->pool);
	if (err.code)
		writer_fail(w, &err);
	for (int i = 0; i < n; i++) {
		now[i]->running = false;
		now[i]->done++;
	}
}

/* The batches that wait for the stage, and for those that go with it. */
static void run_stage(struct reel_task *task, int thread)
{
	struct writer_stage *s = (struct writer_stage *)task;
	struct writer_stage *now[WRITER_STAGES];
	struct reel_writer *w = s->w;
	int n;

	reel_pool_lock(w->pool);
	while ((n = next_stages(s, now)) && !w->failure.code) {
		run_stages(w, now, n, thread);
		s->running = true;
		/* A full ring is half empty: the producer wakes for many
		 * batches, not for each. */
		if (s->done + w->ring_room / 2 == w->made ||
		    s->done == w->made || w->wanted)
			reel_pool_wake(w->pool);
	}
	s->running = false;
	reel_pool_unlock(w->pool);
}

/* --- the producer --------------------------------------------------------- */

static void begin_batch(struct writer_batch *b)
{
	b->n = b->items = b->text_len = b->rare = 0;
	b->run = NULL;
}

/* With the lock: some stage still needs the batch that comes next. */
static bool ring_is_full(const struct reel_writer *w)
{
	for (int i = 0; i < w->stages; i++)
		if (w->made - w->stage[i].done >= w->ring_room)
			return true;
	return false;
}

static bool is_settled(const struct reel_writer *w)
{
	for (int i = 0; i < w->stages; i++)
		if (w->stage[i].done < w->made || w->stage[i].running)
			return false;
	return !w->rows;
}

/* With the lock: start the stages for which @least batches wait. */
static void start_stages(struct reel_writer *w, uint64_t least)
{
	/* Stages that go together need one thread: that of the first. */
	for (int i = 0; i < (w->together ? 1 : w->stages); i++) {
		struct writer_stage *s = &w->stage[i];

		if (s->running || w->made - s->done < least)
			continue;
		reel_pool_put(w->pool, &s->task, false);
		s->running = true;
	}
}

/* With the lock: a stage that nobody runs and for which batches wait. */
static struct writer_stage *idle_stage(struct reel_writer *w)
{
	for (int i = w->stages; i--;)
		if (!w->stage[i].running && w->stage[i].done < w->made)
			return &w->stage[i];
	return NULL;
}

/*
 * With the lock: the producer waits for the stages. It takes over one of those
 * that go together, once the thread that runs them leaves one.
 */
static void help_stages(struct reel_writer *w)
{
	struct writer_stage *s = w->together ? idle_stage(w) : NULL;

	if (!s) {
		w->wanted = w->together;
		reel_pool_help(w->pool, PRODUCER, false);
		w->wanted = false;
		return;
	}
	while (s->done < w->made && !w->failure.code)
		run_stages(w, &s, 1, PRODUCER);
}

/* Events of a batch, each in its own lines of a cache: free(). NULL with @err. */
static struct metric_event *batch_events(struct reel_error *err)
{
	size_t bytes = WRITER_BATCH * sizeof(struct metric_event);
	struct metric_event *ev = aligned_alloc(REEL_CACHE_LINE, bytes);

	if (!ev) {
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		return NULL;
	}
	return memset(ev, 0, bytes);
}

static int submit(struct reel_writer *w, struct reel_error *err)
{
	int rc;

	if (!w->pool) {
		rc = pass_batch(&w->stage[0], w->batch, err);
		begin_batch(w->batch);
		return rc;
	}
	reel_pool_lock(w->pool);
	w->made++;
	start_stages(w, STAGE_BATCHES);
	while (ring_is_full(w) && !w->failure.code)
		help_stages(w);
	rc = writer_failed(w, err);
	reel_pool_unlock(w->pool);
	w->batch = batch_at(w, w->made);
	if (!w->batch->ev)
		w->batch->ev = batch_events(err);
	begin_batch(w->batch);
	return rc || !w->batch->ev ? -1 : 0;
}

int writer_batch_reserve(struct reel_writer *w, struct reel_error *err)
{
	return w->batch->n < WRITER_BATCH ? 0 : submit(w, err);
}

struct writer_item *writer_item_add(struct reel_writer *w,
				    enum writer_what what,
				    struct reel_error *err)
{
	struct writer_batch *b = w->batch;
	struct writer_item *it;

	if (b->items == WRITER_BATCH) {
		if (submit(w, err))
			return NULL;
		b = w->batch;
	}
	if (reel_array_reach(&b->item, &b->item_room, b->items,
			     sizeof(*b->item), err))
		return NULL;
	it = &b->item[b->items++];
	it->at = b->n;
	it->what = what;
	return it;
}

int writer_item_text(struct reel_writer *w, struct writer_item *it, int i,
		     const char *text, struct reel_error *err)
{
	struct writer_batch *b = w->batch;
	uint32_t bytes = (uint32_t)strlen(text) + 1;

	if (reel_array_reach(&b->text, &b->text_room, b->text_len + bytes, 1,
			     err))
		return -1;
	it->text[i] = b->text_len;
	memcpy(b->text + b->text_len, text, bytes);
	b->text_len += bytes;
	return 0;
}

int reel_writer_settle(struct reel_writer *w, struct reel_error *err)
{
	int rc = 0;

	if (w->batch->n || w->batch->items)
		rc = submit(w, err);
	if (!w->pool || rc)
		return rc;
	reel_pool_lock(w->pool);
	start_stages(w, 1);
	while (!is_settled(w) && !w->failure.code)
		help_stages(w);
	rc = writer_failed(w, err);
	reel_pool_unlock(w->pool);
	return rc;
}

/* --- life ----------------------------------------------------------------- */

/*
 * A batch should meet a cache once: with few threads, one of them works through
 * two stages together, and leaves one of them to the producer where that would
 * wait. With more threads, the metrics are divided and the blocks apart.
 */
static int stages_for(int threads)
{
	return threads < 2 ? 1 : threads < 6 ? 2 : WRITER_STAGES;
}

int writer_batches_init(struct reel_writer *w, struct reel_error *err)
{
	int threads = reel_pool_threads(w->pool);
	int apart = threads < 4 ? 0 : 1; /* stages without metrics */
	int parts;

	w->stages = stages_for(threads);
	w->together = threads < 4 && w->stages > 1;
	parts = w->stages - apart;
	for (int i = 0; i < w->stages; i++) {
		int part = i - apart;

		w->stage[i] = (struct writer_stage){
			.task = {.run = run_stage},
			.w = w,
			.blocks = !i,
			.from = part < 0 ? 0 : w->metrics * part / parts,
			.to = part < 0 ? 0 : w->metrics * (part + 1) / parts,
		};
	}
	w->ring_room = w->pool ? WRITER_RING : 1;
	w->ring = reel_alloc(w->ring_room, sizeof(*w->ring), err);
	if (!w->ring)
		return -1;
	w->batch = &w->ring[0];
	w->batch->ev = batch_events(err);
	return w->batch->ev ? 0 : -1;
}

void writer_batches_fini(struct reel_writer *w)
{
	for (uint32_t i = 0; w->ring && i < w->ring_room; i++) {
		free(w->ring[i].ev);
		free(w->ring[i].item);
		free(w->ring[i].text);
	}
	free(w->ring);
}

/* --- the producer -------------------------------------------------------- */

struct reel_event *reel_writer_slot(struct reel_writer *w)
{
	return &w->batch->ev[w->batch->n].raw;
}

static void note_event(struct reel_writer *w, const struct reel_event *ev)
{
	if (ev->start_ns + ev->dur_ns > w->span_ns)
		w->span_ns = ev->start_ns + ev->dur_ns;
	if (ev->call < sizeof(w->seen_call))
		w->seen_call[ev->call] = true;
}

int reel_writer_launcher_event(struct reel_writer *w,
			       const struct reel_event *ev,
			       struct reel_error *err)
{
	/* @ev may lie in the batch that a new item completes. */
	const struct reel_event copy = *ev;
	struct metric_event *m;

	note_event(w, ev);
	if (!writer_item_add(w, ITEM_APART, err))
		return -1;
	m = &w->batch->ev[w->batch->n++];
	m->raw = copy;
	m->run = 1;
	w->batch->run = NULL;
	return writer_batch_reserve(w, err);
}

int reel_writer_event(struct reel_writer *w, const struct reel_event *ev,
		      struct reel_error *err)
{
	struct metric_event *m = &w->batch->ev[w->batch->n++];

	/* Another thread read this memory: a write would wait for its cache. */
	if (w->pool)
		reel_prefetch_owned(m + AHEAD, sizeof(*m));
	note_event(w, ev);
	w->events++;
	w->calls += ev->count;
	if (ev != &m->raw)
		m->raw = *ev;
	if (w->batch->run && metric_run_extend(w->batch->run, m))
		return writer_batch_reserve(w, err);
	w->batch->run = m;
	metric_event_fill(m);
	metric_copy_classify(&w->copy, m);
	if (read_ahead_classify(&w->read_ahead, m, err))
		return -1;
	if (metric_is_rare(m))
		w->batch->rare |= metric_rare(m);
	return writer_batch_reserve(w, err);
}
