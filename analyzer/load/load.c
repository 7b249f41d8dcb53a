/* SPDX-License-Identifier: MIT */
/*
 * Traces into a store: plan, merge, finish.
 *
 * One pass over the records, whatever their number. What grows with events
 * goes to the store on the way; what grows with files, threads and processes
 * stays in memory until the end.
 */
#include "analyzer/load/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/error.h"
#include "lib/store/schema.h"

#include "analyzer/load/internal.h"

/* A record takes some nine bytes: good enough to say how far load is. */
#define RECORD_BYTES 9
/* Of so few records the store is made as small as it can be: milliseconds. */
#define TIGHT_BYTES (512 << 10)

static int metrics_init(struct load *l, struct reel_error *err)
{
	int n = 0;

	while (reel_metrics[n])
		n++;
	l->metric = reel_alloc((size_t)n + 1, sizeof(*l->metric), err);
	if (!l->metric)
		return -1;
	for (; l->metrics < n; l->metrics++) {
		const struct reel_metric *m = reel_metrics[l->metrics];

		if (l->counts_only && !m->for_counts)
			continue;
		if (m->schema &&
		    reel_schema_create(l->st->db, m->schema) != SQLITE_OK)
			return reel_fail(
				err, REEL_E_DB,
				"cannot create tables of metric %s: %s",
				m->name, sqlite3_errmsg(l->st->db));
		l->metric[l->metrics] = reel_metric_new(m, err);
		if (!l->metric[l->metrics])
			return -1;
	}
	return 0;
}

static int metrics_finish(struct load *l, struct reel_error *err)
{
	for (int i = 0; i < l->metrics; i++)
		if (l->metric[i] &&
		    reel_metrics[i]->finish(l->metric[i], l->st, err))
			return -1;
	return 0;
}

static int resolver_init(struct load *l, struct reel_error *err)
{
	struct reel_resolve_process *p =
		reel_alloc((size_t)l->processes + 1, sizeof(*p), err);
	struct reel_resolve_thread *t =
		reel_alloc((size_t)l->threads + 1, sizeof(*t), err);
	struct reel_resolve_sink sink = load_sink;
	const json_t *root =
		json_object_get(reel_trace_job(l->tr), "path_root");
	int rc = -1;

	if (!p || !t)
		goto out;
	for (int i = 0; i < l->processes; i++) {
		const struct reel_trace_process *tp =
			reel_trace_process(l->tr, l->process[i].index);

		p[i] = (struct reel_resolve_process){
			.process_id = (uint32_t)i + 1,
			.first_desc = tp->head.first_desc,
			.marks_sizes =
				tp->head.major >= 2 && tp->head.minor >= 1,
			.parent = l->process[i].inherits_fds_from,
			.follows = l->process[i].follows,
			.cwd = reel_trace_text(tp, "cwd"),
		};
	}
	for (int i = 0; i < l->threads; i++)
		t[i] = (struct reel_resolve_thread){
			.thread_id = (uint32_t)i + 1,
			.process = l->thread[i].process,
		};
	sink.arg = l;
	rc = reel_resolver_new(&l->resolver, p, l->processes, t, l->threads,
			       json_string_value(root), &sink, err);
out:
	free(p);
	free(t);
	return rc;
}

static uint64_t record_bytes(const struct load *l)
{
	uint64_t bytes = 0;

	for (int i = 0; i < l->threads; i++)
		bytes += reel_trace_thread(l->tr, i)->bytes;
	return bytes;
}

static void show_progress(struct load *l)
{
	uint64_t bytes = record_bytes(l);

	if (l->counts_only)
		strcpy(l->what, "counting events");
	else
		snprintf(l->what, sizeof(l->what), "loading %s", l->dir);
	reel_progress_start(&l->progress, l->what, "events",
			    bytes / RECORD_BYTES);
}

static void load_fini(struct load *l)
{
	reel_progress_stop(&l->progress);
	for (int i = 0; i < l->metrics; i++)
		reel_metric_free(reel_metrics[i], l->metric[i]);
	for (int i = 0; l->thread && i < l->threads; i++)
		reel_event_columns_fini(&l->thread[i].cols);
	reel_event_columns_fini(&l->open_cols);
	free(l->open_at);
	free(l->open);
	load_spans_fini(l);
	reel_intmap_fini(&l->launcher_files);
	load_rows_fini(l);
	read_ahead_fini(&l->read_ahead);
	reel_resolver_free(l->resolver);
	reel_codec_free(l->codec);
	reel_trace_close(l->tr);
	free(l->metric);
	free(l->host);
	free(l->process);
	free(l->thread);
	free(l->place_of_process);
}

static int64_t load(struct reel_store *st, const char *dir, bool counts_only,
		    struct reel_error *err)
{
	struct load l = {.st = st, .dir = dir, .counts_only = counts_only};
	int64_t rc = -1;

	if (reel_trace_open(&l.tr, dir, err) || load_plan(&l, err))
		goto out;
	l.codec = reel_codec_new();
	if (!l.codec) {
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		goto out;
	}
	reel_codec_tight(l.codec, record_bytes(&l) < TIGHT_BYTES);
	show_progress(&l);
	if (load_rows_prepare(&l, err) || metrics_init(&l, err) ||
	    resolver_init(&l, err) || load_merge(&l, err) ||
	    load_rows_finish(&l, err) || metrics_finish(&l, err))
		goto out;
	rc = (int64_t)l.events;
out:
	load_fini(&l);
	return rc;
}

int64_t reel_load(struct reel_store *st, const char *dir,
		  struct reel_error *err)
{
	return load(st, dir, false, err);
}

int64_t reel_load_counts(struct reel_store *st, const char *dir,
			 struct reel_error *err)
{
	return load(st, dir, true, err);
}
