/* SPDX-License-Identifier: MIT */
/*
 * The writer's life: metrics begin, events pass, metrics finish.
 *
 * One pass over the events, whatever their number. Events are stored on the
 * way; only data that grow with threads and spans stay in memory.
 */
#include "analyzer/write/writer.h"

#include <stdlib.h>

#include "lib/error.h"
#include "lib/store/schema.h"

#include "analyzer/write/internal.h"

bool writer_has_table(const struct reel_writer *w, const char *name)
{
	return sqlite3_table_column_metadata(w->st->db, "main", name, NULL,
					     NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

static int metrics_init(struct reel_writer *w, struct reel_error *err)
{
	bool made = writer_has_table(w, "rollup");
	int n = 0;

	while (reel_metrics[n])
		n++;
	w->metric = reel_alloc((size_t)n + 1, sizeof(*w->metric), err);
	if (!w->metric)
		return -1;
	for (; w->metrics < n; w->metrics++) {
		const struct reel_metric *m = reel_metrics[w->metrics];

		if (w->counts_only && !m->for_counts)
			continue;
		if (m->schema && !made &&
		    reel_schema_create(w->st->db, m->schema) != SQLITE_OK)
			return reel_fail(
				err, REEL_E_DB,
				"cannot create tables of metric %s: %s",
				m->name, sqlite3_errmsg(w->st->db));
		w->metric[w->metrics] = reel_metric_new(m, err);
		if (!w->metric[w->metrics])
			return -1;
	}
	return 0;
}

static int metrics_finish(struct reel_writer *w, struct reel_error *err)
{
	bool unknown = !w->calls && w->counters.sources;

	for (int i = 0; i < w->metrics; i++)
		if (w->metric[i] && !(unknown && reel_metrics[i]->of_calls) &&
		    reel_metrics[i]->finish(w->metric[i], w->st, err))
			return -1;
	return 0;
}

/* Start the threads, each with a codec. */
static int threads_init(struct reel_writer *w,
			const struct reel_writer_options *options,
			struct reel_error *err)
{
	int threads = options->threads > 1 ? options->threads : 1;

	if ((threads > 1 || options->ranks) &&
	    reel_pool_new(&w->pool, threads, err))
		return -1;
	w->tight = options->small;
	w->codec = reel_alloc((size_t)reel_pool_threads(w->pool),
			      sizeof(struct reel_codec *), err);
	if (!w->codec)
		return -1;
	for (; w->codecs < reel_pool_threads(w->pool); w->codecs++) {
		w->codec[w->codecs] = reel_codec_new();
		if (!w->codec[w->codecs])
			return reel_fail(err, REEL_E_MEMORY, "out of memory");
		reel_codec_tight(w->codec[w->codecs], options->small);
	}
	return 0;
}

int reel_writer_new(struct reel_writer **out, struct reel_store *st,
		    const struct reel_writer_options *options,
		    struct reel_error *err)
{
	struct reel_writer *w = reel_alloc(1, sizeof(*w), err);

	if (!w)
		return -1;
	w->st = st;
	w->counts_only = options->counts_only;
	if (threads_init(w, options, err) || writer_inserts_open(w, err) ||
	    metrics_init(w, err) || writer_batches_init(w, err) ||
	    writer_ranks_init(w, options->ranks, err))
		goto fail;
	*out = w;
	return 0;
fail:
	reel_writer_free(w);
	return -1;
}

void reel_writer_free(struct reel_writer *w)
{
	if (!w)
		return;
	writer_ranks_fini(w);
	reel_pool_free(w->pool);
	writer_batches_fini(w);
	writer_rows_fini(w);
	for (int i = 0; i < w->metrics; i++)
		reel_metric_free(reel_metrics[i], w->metric[i]);
	free(w->metric);
	writer_blocks_fini(w);
	reel_event_columns_fini(&w->open_cols);
	free(w->open_order);
	free(w->open);
	writer_spans_fini(w);
	writer_steps_fini(w);
	reel_rows_fini(&w->files);
	writer_inserts_close(w);
	writer_counters_fini(w);
	writer_calls_fini(w);
	read_ahead_fini(&w->read_ahead);
	for (int i = 0; i < w->codecs; i++)
		reel_codec_free(w->codec[i]);
	free(w->codec);
	free(w);
}

void reel_writer_reach(struct reel_writer *w, int64_t ns)
{
	if (ns > w->span_ns)
		w->span_ns = ns;
}

int reel_writer_open(struct reel_writer *w, const struct reel_open_row *row,
		     struct reel_error *err)
{
	struct writer_item *it = writer_item_add(w, ITEM_OPEN, err);

	if (it)
		it->open = *row;
	return it ? 0 : -1;
}

int reel_writer_thread_begin(struct reel_writer *w, uint32_t id,
			     struct reel_error *err)
{
	struct writer_item *it = writer_item_add(w, ITEM_BEGIN, err);

	if (it)
		it->id[0] = id;
	return it ? 0 : -1;
}

int reel_writer_thread_end(struct reel_writer *w, uint32_t id,
			   struct reel_error *err)
{
	struct writer_item *it = writer_item_add(w, ITEM_END, err);

	if (it)
		it->id[0] = id;
	return it ? 0 : -1;
}

int writer_span_add(struct reel_writer *w, const struct reel_span_event *sp,
		    struct reel_error *err)
{
	struct writer_item *it = writer_item_add(w, ITEM_SPAN, err);

	if (!it)
		return -1;
	it->span = *sp;
	return writer_item_text(w, it, 0, sp->name, err);
}

int reel_writer_span(struct reel_writer *w, const struct reel_span_event *sp,
		     struct reel_error *err)
{
	reel_writer_reach(w, sp->start_ns + sp->dur_ns);
	if (w->counts_only)
		return 0;
	return writer_steps_see(w, sp, err) || writer_span_add(w, sp, err) ? -1
									   : 0;
}

void reel_writer_counter(struct reel_writer *w, enum reel_writer_counter which,
			 uint64_t count)
{
	w->counter[which] += count;
}

uint64_t reel_writer_events(const struct reel_writer *w)
{
	return w->events;
}

int reel_writer_finish(struct reel_writer *w, const struct reel_writer_run *run,
		       struct reel_error *err)
{
	if (writer_steps_put(w, err) || reel_writer_settle(w, err) ||
	    writer_blocks_flush(w, err) || writer_opens_flush(w, 0, err) ||
	    reel_writer_settle(w, err) || writer_files_flush(w, err) ||
	    writer_calls_put(w, err) || writer_spans_flush(w, err) ||
	    writer_code_put(w, err) || writer_run_put(w, run, err) ||
	    writer_source_finish(w, run, err))
		return -1;
	return metrics_finish(w, err);
}
