/* SPDX-License-Identifier: MIT */
/* Parts of the loader. Only load*.c use it. */
#ifndef ANALYZER_LOAD_INTERNAL_H
#define ANALYZER_LOAD_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/intmap.h"
#include "lib/progress.h"
#include "lib/store/event_block.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"
#include "lib/store/row_block.h"
#include "lib/store/store.h"
#include "lib/trace/reader.h"

#include "analyzer/metric/metric.h"
#include "analyzer/metric/read_ahead.h"
#include "analyzer/resolve/resolve.h"

/* One process image; process_id is its place in load.process + 1. */
struct load_process {
	int index;  /* in the trace */
	int parent; /* place, or -1: by uid, else by pid (see load_plan) */
	int inherits_fds_from; /* place whose descriptors it inherits, or -1 */
	int follows;	       /* place that became or spawned it, or -1 */
	uint32_t host_id;
	int64_t begin_ns; /* when its image began, in the job's clock */
	int64_t start_ns,
		end_ns;	  /* since time 0; of its image, first to last */
	int64_t fork_ns;  /* REEL_NO_OFFSET: not seen */
	int first_thread; /* places of its threads are consecutive */
	int threads, threads_left;
	uint64_t events, lost;
	int rank;	      /* -1: not known */
	const char *launcher; /* that it is a process of; NULL: the job's */
	bool started, worker;
};

/* One thread; thread_id is its place in load.thread + 1. */
struct load_thread {
	int index;	  /* in the trace */
	int process;	  /* place */
	int64_t begin_ns; /* not after its first record, in the job's clock */
	int64_t start_ns, end_ns; /* since time 0 */
	uint64_t events;
	struct reel_event_columns cols; /* events that are in no block yet */
};

struct load_host {
	char name[256];
	char boot_id[40];
	int64_t boot_real_ns; /* CLOCK_REALTIME when CLOCK_MONOTONIC was 0 */
	int64_t shift_ns; /* its CLOCK_MONOTONIC + shift = the job's clock */
};

/* Tables whose rows are written while events pass. */
enum load_insert {
	INSERT_BLOCK,
	INSERT_OPENS,
	INSERT_NOTE,
	INSERT_SITE,
	INSERTS
};

#define LOAD_FEED 64 /* events that go to a metric at a time: fit a cache */

struct load {
	struct reel_store *st;
	struct reel_trace *tr;
	const char *dir;
	struct load_host *host;
	int hosts;
	struct load_process *process;
	int processes;
	struct load_thread *thread;
	int threads;
	int *place_of_process; /* trace index -> place */
	int64_t origin_ns;     /* time 0 in the job's clock */
	struct reel_resolver *resolver;
	struct reel_codec *codec;
	struct reel_open_row *open; /* in no block yet */
	uint32_t opens, open_room;
	struct reel_event_columns open_cols; /* scratch, as is */
	uint32_t *open_at;		     /* their order; see load_opens.c */
	struct load_span *span;
	uint32_t spans, span_room;
	int active; /* threads with a stream open */
	struct reel_insert insert[INSERTS];
	bool counts_only;
	void **metric; /* states, in the order of reel_metrics; NULL: not run */
	int metrics;
	struct metric_event feed[LOAD_FEED]; /* of these @fed are there */
	struct read_ahead read_ahead;
	uint32_t fed;
	uint64_t events, calls; /* of the job, without its launchers */
	int64_t span_ns;	/* end of the last event or span */
	char framework[128];
	struct reel_intmap launcher_files; /* that launchers read or wrote */
	bool seen_call[4096 + REEL_CALL_WIDE];
	struct reel_progress progress;
	char what[128]; /* of progress */
};

/* Far more than a clock can say: sums and differences of two cannot overflow.
 */
#define LOAD_NS_MAX (INT64_MAX / 8)

static inline int64_t load_clamp(int64_t ns)
{
	return ns > LOAD_NS_MAX	   ? LOAD_NS_MAX
	       : ns < -LOAD_NS_MAX ? -LOAD_NS_MAX
				   : ns;
}

/* CLOCK_MONOTONIC of the process's host as the job's clock. */
static inline int64_t load_ns(const struct load *l,
			      const struct load_process *p, uint64_t ticks)
{
	return load_clamp(reel_clock_fit_ns(
		       reel_trace_clock_fit(l->tr, p->index), ticks)) +
	       l->host[p->host_id - 1].shift_ns;
}

/* Order of processes and threads, parents, time 0: load_plan.c */
int load_plan(struct load *l, struct reel_error *err);

/* Streams merged by end, through the resolver: load_merge.c */
int load_merge(struct load *l, struct reel_error *err);
/* What waits goes to the metrics. */
int load_feed(struct load *l, struct reel_error *err);

/* One event into its thread's block: load_blocks.c */
int load_block_add(struct load *l, struct load_thread *t,
		   const struct reel_event *ev, struct reel_error *err);
int load_block_flush(struct load *l, struct load_thread *t,
		     struct reel_error *err);

/* Open file descriptions into blocks: load_opens.c */
int load_open_add(struct load *l, const struct reel_open_row *row,
		  struct reel_error *err);
int load_open_flush(struct load *l, struct reel_error *err);

/* Files into blocks, at the end: load_files.c */
int load_files(struct load *l, struct reel_error *err);

/* Spans, into blocks at the end: load_spans.c */
int load_span_add(struct load *l, const struct reel_span_event *sp, bool closed,
		  struct reel_error *err);
int load_spans(struct load *l, struct reel_error *err);
void load_spans_fini(struct load *l);

/* Rows: load_rows.c */
int load_rows_prepare(struct load *l, struct reel_error *err);
void load_rows_fini(struct load *l);
extern const struct reel_resolve_sink load_sink; /* arg to be set */
/* The dimensions, when all events are in. */
int load_rows_finish(struct load *l, struct reel_error *err);

/* Tables run and code_io: load_run.c */
int load_code_row(struct load *l, struct reel_error *err);
int load_run_row(struct load *l, int64_t lost, struct reel_error *err);

/* Table launcher_io: load_launchers.c */
int load_launcher_event(struct load *l, const struct reel_event *ev,
			struct reel_error *err);
int load_launcher_row(struct load *l, struct reel_error *err);

/* load_gaps.c: what was not traced. @start_real_ns: of the job's time 0. */
int load_gaps(struct load *l, int64_t start_real_ns, struct reel_error *err);

#endif
