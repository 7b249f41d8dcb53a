/* SPDX-License-Identifier: MIT */
/* Parts of the loader. Only load*.c use it. */
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
};

struct load_host {
	char name[256];
	char boot_id[40];
	int64_t boot_real_ns; /* CLOCK_REALTIME when CLOCK_MONOTONIC was 0 */
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
	int *place_of_process; /* trace index -> place */
	int64_t origin_ns;     /* time 0 in the job's clock */
	struct reel_resolver *resolver;
	struct reel_writer *writer;
	bool counts_only;
	char framework[128];
	struct reel_idmap launcher_files; /* that launchers read or wrote */
	struct reel_progress progress;
	char progress_text[128];
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
	return load_clamp(
		       reel_line_ns(reel_trace_line(l->tr, p->index), ticks)) +
	       l->host[p->host_id - 1].shift_ns;
}

/* Order of processes and threads, parents, time 0: load_plan.c */
int load_plan(struct load *l, struct reel_error *err);

/* merge.c: records in the order of their ends through the resolver into the
 * writer. */
int load_merge(struct load *l, struct reel_error *err);

/* tables.c: the rows; @arg of the sink is to be set. */
extern const struct reel_resolve_sink load_sink;
/* Rows that are complete once all events are in, then the writer's end. */
int load_rows_finish(struct load *l, struct reel_error *err);

/* run_table.c: tables run and code_io. */
void load_code_counters(struct load *l);
int load_run_finish(struct load *l, int64_t lost, struct reel_error *err);

/* Table launcher_io: load_launchers.c */
int load_launcher_event(struct load *l, const struct reel_event *ev,
			struct reel_error *err);
int load_launcher_row(struct load *l, struct reel_error *err);

/* load_gaps.c: what was not traced. @start_real_ns: of the job's time 0. */
int load_gaps(struct load *l, int64_t start_real_ns, struct reel_error *err);

#endif
