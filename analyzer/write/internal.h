/* SPDX-License-Identifier: MIT */
/* Parts of the writer. Only files of this room include it. */
#ifndef ANALYZER_WRITE_INTERNAL_H
#define ANALYZER_WRITE_INTERNAL_H

#include "lib/calls.h"
#include "lib/intmap.h"
#include "lib/store/event_block.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"
#include "lib/store/row_block.h"
#include "lib/store/store.h"

#include "analyzer/metric/metric.h"
#include "analyzer/metric/read_ahead.h"
#include "analyzer/write/writer.h"

/* Tables with a prepared INSERT. */
enum writer_insert {
	INSERT_BLOCK,
	INSERT_OPENS,
	INSERT_FILES,
	INSERT_NOTE,
	INSERT_SITE,
	INSERT_HOST,
	INSERT_PROCESS,
	INSERT_THREAD,
	INSERT_LOSS,
	INSERTS
};

#define WRITER_FEED 64 /* events that go to a metric at a time: fit a cache */

/* Events of one thread that are in no block yet. */
struct writer_thread {
	struct reel_event_columns cols;
	bool active;
};

struct writer_span {
	struct reel_span_event ev;
	bool closed;
};

/* counters.c: the names so far, and where the next one is looked for. */
struct writer_counters {
	bool tables;
	struct reel_insert source, missing, counts, record, name, value;
	uint32_t sources;
	bool counted; /* the sources have their counts */
	char **text;
	uint32_t names, room, next;
	struct reel_intmap by_hash;
};

/* A call that calls.def lacks; name NULL: a free id. */
struct writer_name {
	char *name;
	enum reel_layer layer;
	enum reel_group group;
};

/* calls.c: by id, from REEL_CALL_NAMED; NULL as long as there are none. */
struct writer_names {
	struct writer_name *by_id;
	uint32_t used;
};

struct reel_writer {
	struct reel_store *st;
	struct reel_codec *codec;
	bool counts_only;
	void **metric; /* states, in the order of reel_metrics; NULL: not run */
	int metrics;
	struct metric_event feed[WRITER_FEED]; /* the first @fed wait */
	uint32_t fed;
	struct read_ahead read_ahead;
	struct writer_thread *thread; /* by thread_id - 1 */
	uint32_t thread_room;
	uint32_t active; /* threads between their begin and their end */
	struct reel_open_row *open; /* in no block yet */
	uint32_t opens, open_room;
	struct reel_event_columns open_cols; /* scratch of open_files.c */
	uint32_t *open_order;		     /* scratch, too */
	struct writer_span *span;
	char **span_name; /* those that no kind has */
	uint32_t spans, span_room, span_names, span_name_room;
	struct reel_rows files; /* in no block yet */
	struct reel_writer_file last_file;
	uint64_t events, calls; /* without those of launchers */
	uint64_t counter[REEL_WRITER_COUNTERS];
	int64_t span_ns; /* end of the last event or span */
	struct reel_insert insert[INSERTS];
	struct writer_counters counters;
	bool seen_call[4096 + REEL_CALL_WIDE];
	struct writer_names names;
};

/* event_blocks.c: @ev into the block of its thread. */
int writer_block_add(struct reel_writer *w, const struct reel_event *ev,
		     struct reel_error *err);
int writer_blocks_flush(struct reel_writer *w, struct reel_error *err);
void writer_blocks_fini(struct reel_writer *w);

/* open_files.c, files.c, spans.c: write the waiting rows as blocks. */
int writer_opens_flush(struct reel_writer *w, struct reel_error *err);
int writer_files_flush(struct reel_writer *w, struct reel_error *err);
int writer_span_keep(struct reel_writer *w, const struct reel_span_event *sp,
		     bool closed, struct reel_error *err);
int writer_spans_flush(struct reel_writer *w, struct reel_error *err);
void writer_spans_fini(struct reel_writer *w);

/* counters.c: the ranks and events of the run are those of its only source. */
int writer_source_finish(struct reel_writer *w,
			 const struct reel_writer_run *run,
			 struct reel_error *err);
void writer_counters_fini(struct reel_writer *w);

/* calls.c: the rows of table call. */
int writer_calls_put(struct reel_writer *w, struct reel_error *err);
void writer_calls_fini(struct reel_writer *w);

/* rows.c: the INSERTs, and the rows that the writer counts itself. */
int writer_inserts_open(struct reel_writer *w, struct reel_error *err);
void writer_inserts_close(struct reel_writer *w);
int writer_code_put(struct reel_writer *w, struct reel_error *err);
int writer_run_put(struct reel_writer *w, const struct reel_writer_run *run,
		   struct reel_error *err);

#endif
