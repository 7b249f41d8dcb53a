/* SPDX-License-Identifier: MIT */
/*
 * Traces into a store: plan, merge, finish.
 *
 * One pass over the records, whatever their number. The writer stores events on
 * the way; only data that grow with files, threads and processes stay in memory
 * until the end.
 */
#include "analyzer/load/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/error.h"
#include "lib/pool.h"

#include "analyzer/load/internal.h"

/* A record takes about nine bytes: good enough for a progress line. */
#define RECORD_BYTES 9
/* Below this the store is compressed as well as possible: milliseconds. */
#define SMALL_BYTES (512 << 10)

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
			reel_trace_process(l->tr, l->process[i].trace_index);

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
		strcpy(l->progress_text, "counting events");
	else
		snprintf(l->progress_text, sizeof(l->progress_text),
			 "loading %s", l->dir);
	reel_progress_start(&l->progress, l->progress_text, "events",
			    bytes / RECORD_BYTES);
}

static void load_fini(struct load *l)
{
	reel_progress_stop(&l->progress);
	reel_intmap_fini(&l->launcher_files);
	reel_resolver_free(l->resolver);
	reel_writer_free(l->writer);
	reel_trace_close(l->tr);
	free(l->host);
	load_spans_fini(l);
	free(l->process);
	free(l->thread);
	free(l->index_of_process);
}

int64_t reel_load(struct reel_store *st, const char *dir,
		  const struct reel_load_options *options,
		  struct reel_error *err)
{
	static const struct reel_load_options defaults;
	struct reel_writer_options for_writer = {0};
	struct load l = {.st = st, .dir = dir};
	int64_t rc = -1;

	options = options ? options : &defaults;
	l.counts_only = for_writer.counts_only = options->counts_only;

	if (reel_trace_open(&l.tr, dir, err) || load_plan(&l, err))
		goto out;
	for_writer.small = record_bytes(&l) < SMALL_BYTES;
	for_writer.ranks = options->ranks;
	for_writer.threads =
		reel_pool_threads_for(options->threads, for_writer.small);
	show_progress(&l);
	if (reel_writer_new(&l.writer, st, &for_writer, err) ||
	    resolver_init(&l, err) || load_merge(&l, err) ||
	    load_spans_finish(&l, err) || load_rows_finish(&l, err))
		goto out;
	rc = (int64_t)reel_writer_events(l.writer);
out:
	load_fini(&l);
	return rc;
}
