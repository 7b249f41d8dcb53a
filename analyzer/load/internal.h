/* SPDX-License-Identifier: MIT */
/* Parts of the loader. Only files of this room include it. */
#ifndef ANALYZER_LOAD_INTERNAL_H
#define ANALYZER_LOAD_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/intmap.h"
#include "lib/progress.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"
#include "lib/store/store.h"
#include "lib/trace/reader.h"

#include "analyzer/resolve/resolve.h"
#include "analyzer/write/writer.h"

struct load_held_span;

/* untrained_pass.c: the epochs, steps and fetches of a process before it trains. */
struct load_untrained {
	struct load_held_span *held;
	uint32_t n, room;
	bool settled; /* no more are held */
};

/* One process image; process_id is its index in load.process + 1. */
struct load_process {
	int trace_index; /* in the trace */
	int parent; /* index, or -1: by uid, else by pid (process_tree.c) */
	int inherits_fds_from; /* index whose descriptors it inherits, or -1 */
	int follows; /* index of the image that exec'd or spawned it; -1 */
	uint32_t host_id;
	int64_t begin_ns;	  /* start of its image, in the job's clock */
	int64_t start_ns, end_ns; /* of its image, since time 0 */
	int64_t fork_ns;	  /* REEL_NO_OFFSET: not seen */
	int first_thread;	  /* indexes of its threads are consecutive */
	int threads, threads_left;
	uint64_t events, lost;
	int rank; /* -1: not known */
	const char
		*launcher; /* it is a process of this one; NULL: of the job */
	bool started, worker;
	struct load_untrained untrained;
};

/* One thread; thread_id is its index in load.thread + 1. */
struct load_thread {
	int trace_index;  /* in the trace */
	int process;	  /* index */
	int64_t begin_ns; /* not after its first record, in the job's clock */
	int64_t start_ns, end_ns; /* since time 0 */
	uint64_t events;
};

struct load_host {
	char name[256];
	char boot_id[40];
	int64_t boot_real_ns; /* CLOCK_REALTIME at CLOCK_MONOTONIC 0 */
	int64_t shift_ns; /* its CLOCK_MONOTONIC + shift = the job's clock */
};

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
	int *index_of_process; /* by trace_index */
	int64_t origin_ns;     /* time 0 in the job's clock */
	struct reel_resolver *resolver;
	struct reel_writer *writer;
	bool counts_only;
	char framework[128];
	struct reel_intmap launcher_files; /* read or written by launchers */
	struct reel_progress progress;
	char progress_text[128];
};

/* Beyond any real clock, and sums of two values cannot overflow. */
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
		       reel_trace_clock_fit(l->tr, p->trace_index), ticks)) +
	       l->host[p->host_id - 1].shift_ns;
}

/* process_tree.c: order of processes and threads, parents, time 0. */
int load_plan(struct load *l, struct reel_error *err);

/* merge.c: records in the order of their ends through the resolver into the
 * writer. */
int load_merge(struct load *l, struct reel_error *err);

/* untrained_pass.c: a span for the writer, which gets it later where it may belong
 * to a pass that trains nothing. */
int load_span(struct load *l, const struct reel_span_event *sp,
	      struct reel_error *err);
/* After the merge: no training call follows. */
int load_spans_finish(struct load *l, struct reel_error *err);
void load_spans_fini(struct load *l);

/* tables.c: the rows; @arg of the sink is to be set. */
extern const struct reel_resolve_sink load_sink;
/* Rows that are complete once all events are in, then the writer's end. */
int load_rows_finish(struct load *l, struct reel_error *err);

/* run_table.c: tables run and code_io. */
void load_code_counters(struct load *l);
int load_run_finish(struct load *l, int64_t lost, struct reel_error *err);

/* launcher_io.c: table launcher_io. */
int load_launcher_event(struct load *l, const struct reel_event *ev,
			struct reel_error *err);
int load_launcher_row(struct load *l, struct reel_error *err);

/* coverage.c: coverage gaps. @start_real_ns: CLOCK_REALTIME of time 0. */
int load_gaps(struct load *l, int64_t start_real_ns, struct reel_error *err);

#endif
