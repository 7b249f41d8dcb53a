/* SPDX-License-Identifier: MIT */
/* Parts of the writer. Only files of this room include it. */
#ifndef ANALYZER_WRITE_INTERNAL_H
#define ANALYZER_WRITE_INTERNAL_H

#include <pthread.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/pool.h"
#include "lib/store/event_block.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"
#include "lib/store/row_block.h"
#include "lib/store/store.h"

#include "analyzer/metric/metric.h"
#include "analyzer/metric/read_ahead.h"
#include "analyzer/write/ranks.h"
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

#define WRITER_BATCH 128 /* events that stages exchange: fit the L1 cache */
#define WRITER_RING 256	 /* batches, with several threads */
#define WRITER_STAGES 3
#define WRITER_SPARES 3 /* 4 MiB each */

/* A call that waits in a batch for the events before it. */
enum writer_what {
	ITEM_SPAN,
	ITEM_OPEN,
	ITEM_APART, /* the event at @at is kept out of the metrics */
	ITEM_BEGIN, /* of thread id[0] */
	ITEM_END,
	ITEM_NOTE,
	ITEM_SITE
};

struct writer_item {
	uint32_t at; /* index of the event that comes after it */
	uint8_t what;
	uint32_t text[2]; /* offsets in the batch's text */
	union {
		struct reel_span_event span;
		struct reel_open_row open;
		uint32_t id[2];
	};
};

struct writer_batch {
	struct metric_event *ev;
	struct metric_event *run; /* first event of the last run; or NULL */
	struct writer_item *item;
	char *text;
	uint32_t n, items, item_room, text_len, text_room;
	unsigned int rare; /* enum metric_rare of any event */
};

/* Works through all batches in their order, in one thread at a time. */
struct writer_stage {
	struct reel_task task; /* first */
	struct reel_writer *w;
	int thread; /* of the pool, that runs it now */
	bool running;
	uint64_t done; /* batches */
	bool blocks;   /* it fills the blocks of events */
	int from, to;  /* metrics that it feeds */
};

/* Events of one thread that are in no block yet. */
struct writer_thread {
	struct reel_event_columns cols;
	uint32_t batched, runs; /* scratch of writer_blocks_add() */
	bool active;
};

/* A span that is kept: there may be tens of millions. */
struct writer_span {
	int64_t start_ns, dur_ns, detail;
	uint32_t span_id, parent, thread;
	uint32_t name; /* of span_name, plus one; 0: that of its kind */
	uint8_t kind;  /* enum reel_span */
	bool closed;
};

/* ranks.c: blocks that other processes compress. */
struct writer_ranks {
	struct reel_writer *w;
	const struct reel_ranks *with; /* NULL: none */
	struct writer_row **row; /* that each rank has; NULL: it is free */
	int busy;
	bool stop;
	pthread_t thread;
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

/* steps.c: a thread with spans of backward passes or of optimizers. */
struct writer_trainer {
	uint32_t process, thread;
	int64_t first_ns; /* start of the first of them */
	int64_t *end_ns;  /* of each step */
	uint32_t steps, room;
	bool backwards; /* it has backward passes */
	bool trained;	/* one since its last step */
};

struct writer_trainers {
	struct writer_trainer *trainer;
	uint32_t trainers, room;
	struct reel_intmap by_thread; /* index of trainer */
	uint32_t last_span;	      /* the highest id */
};

struct reel_writer {
	struct reel_store *st;
	struct reel_pool *pool;	   /* NULL: one thread does all */
	struct reel_codec **codec; /* by thread of the pool */
	int codecs;
	bool counts_only;
	void **metric; /* states, in the order of reel_metrics; NULL: not run */
	int metrics;
	struct writer_stage stage[WRITER_STAGES];
	int stages;
	/* A thread may run several stages, and the producer wants one of them:
	 * under the pool's lock. */
	bool together, wanted;
	struct writer_batch *ring, *batch; /* batch: being filled */
	uint32_t ring_room;
	uint64_t made; /* batches */
	struct writer_row *row_first, *row_last, *row_free;
	uint32_t rows;
	bool inserting;
	bool tight;
	struct writer_ranks ranks;
	struct reel_error failure; /* of any thread; under the pool's lock */
	struct reel_event_columns spare[WRITER_SPARES];
	uint32_t spares;
	struct read_ahead read_ahead;
	struct metric_copy copy;
	struct writer_thread *thread; /* by thread_id - 1 */
	uint32_t thread_room;
	uint32_t active; /* threads between their begin and their end */
	struct reel_open_row *open; /* in no block yet */
	uint32_t opens, open_room;
	struct reel_event_columns open_cols; /* scratch of open_files.c */
	uint32_t *open_order;		     /* scratch, too */
	struct writer_span *span;
	bool spans_unsorted;
	struct reel_texts span_name; /* those that no kind has */
	uint32_t spans, span_room;
	struct writer_trainers trainers;
	struct reel_rows files; /* in no block yet */
	struct reel_file_row last_file;
	uint64_t events, calls; /* without those of launchers */
	uint64_t counter[REEL_WRITER_COUNTERS];
	int64_t span_ns; /* end of the last event or span */
	struct reel_insert insert[INSERTS];
	struct writer_counters counters;
	bool seen_call[4096 + REEL_CALL_WIDE];
	struct writer_names names;
};

/* In what follows, @thread is the caller's number in the pool. */

/* batch.c: the events and calls for the stages. Room for an event. */
int writer_batch_reserve(struct reel_writer *w, struct reel_error *err);
/* A call, to be filled; borrowed until the next one. NULL with @err. */
struct writer_item *writer_item_add(struct reel_writer *w,
				    enum writer_what what,
				    struct reel_error *err);
int writer_item_text(struct reel_writer *w, struct writer_item *it, int i,
		     const char *text, struct reel_error *err);
int writer_batches_init(struct reel_writer *w, struct reel_error *err);
void writer_batches_fini(struct reel_writer *w);

/* row_queue.c: rows in a fixed order. */
/* Compress and insert @c, a block of thread @id or of open files. Empties @c. */
int writer_put_columns(struct reel_writer *w, enum writer_insert table,
		       uint32_t id, struct reel_event_columns *c, int thread,
		       struct reel_error *err);
int writer_put_texts(struct reel_writer *w, enum writer_insert table,
		     const uint32_t id[2], const char *const text[2],
		     int thread, struct reel_error *err);
/* With the pool's lock: the first failure of any thread. */
void writer_fail(struct reel_writer *w, const struct reel_error *err);
int writer_failed(const struct reel_writer *w, struct reel_error *err);
void writer_rows_fini(struct reel_writer *w);
struct writer_row;
const struct reel_event_columns *writer_row_columns(const struct writer_row *r);
/* The block of @r is @blob, which is taken. */
void writer_row_blob(struct writer_row *r, void *blob, size_t bytes);
/* With the pool's lock: @r is ready to be inserted. */
void writer_row_packed(struct reel_writer *w, struct writer_row *r);

/* ranks.c: start the thread that serves them, stop it. */
int writer_ranks_init(struct reel_writer *w, const struct reel_ranks *with,
		      struct reel_error *err);
void writer_ranks_fini(struct reel_writer *w);

/* event_blocks.c: @ev alone, of which only .raw is set, into its thread's block. */
int writer_block_add(struct reel_writer *w, const struct metric_event *ev,
		     int thread, struct reel_error *err);
/* All events of a batch, of which .raw and .run are set, if no block gets full by
 * them: false, and no event was added. */
bool writer_blocks_add(struct reel_writer *w, const struct metric_event *ev,
		       uint32_t n);
int writer_thread_begin(struct reel_writer *w, uint32_t id,
			struct reel_error *err);
int writer_thread_end(struct reel_writer *w, uint32_t id, int thread,
		      struct reel_error *err);
int writer_blocks_flush(struct reel_writer *w, struct reel_error *err);
void writer_blocks_fini(struct reel_writer *w);

/* open_files.c, files.c, spans.c: write the waiting rows as blocks. */
int writer_open_keep(struct reel_writer *w, const struct reel_open_row *row,
		     int thread, struct reel_error *err);
int writer_opens_flush(struct reel_writer *w, int thread,
		       struct reel_error *err);
int writer_files_flush(struct reel_writer *w, struct reel_error *err);
int writer_span_keep(struct reel_writer *w, const struct reel_span_event *sp,
		     struct reel_error *err);
int writer_spans_flush(struct reel_writer *w, struct reel_error *err);
void writer_spans_fini(struct reel_writer *w);

/* writer.c: a span for the stages. */
int writer_span_add(struct reel_writer *w, const struct reel_span_event *sp,
		    struct reel_error *err);

/* steps.c: take note of @sp; at the end, the steps of processes that mark none. */
int writer_steps_see(struct reel_writer *w, const struct reel_span_event *sp,
		     struct reel_error *err);
int writer_steps_put(struct reel_writer *w, struct reel_error *err);
void writer_steps_fini(struct reel_writer *w);

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

/* Does the store have the table @name already? */
bool writer_has_table(const struct reel_writer *w, const char *name);

#endif
