/* SPDX-License-Identifier: MIT */
/*
 * The parts of metric_overlap: what was gathered while the events came, and
 * what one rank makes of it at the end.
 *
 * A rank is the process that takes the steps, together with the processes
 * under it: its loader workers.
 */
#ifndef ANALYZER_METRIC_OVERLAP_H
#define ANALYZER_METRIC_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/interval.h"

struct reel_error;
struct reel_stream_log;

struct overlap_span {
	int64_t start_ns, end_ns, detail;
	uint32_t process, thread, kind, span_id;
};

struct overlap_process {
	uint32_t process, parent; /* ids, 0: none */
	uint32_t root;		  /* process of its rank, 0: of none */
	uint32_t first, next;	  /* of a rank's, by id; 0: no more */
	int32_t rank;		  /* as MPI says, -1: not known */
	bool known, worker;
	bool asked; /* whose it is */
	int64_t end_ns;
};

struct overlap_step {
	int64_t start_ns, dur_ns, fetch_ns, compute_ns, io_ns, hidden_ns;
	int64_t epoch, number; /* as declared, -1: not */
	uint64_t read_bytes, write_bytes;
	uint32_t span_id, epoch_span; /* the latter 0: in no epoch */
};

struct overlap_rank {
	uint32_t process;
	int32_t rank;
	struct overlap_step *step;
	uint32_t steps;
	struct reel_union step_time, fetch, compute, phase;
	const char *compute_source; /* NULL: no way to tell */
	int64_t io_ns, hidden_ns;
	/* Loader workers. */
	struct reel_union worker_time;
	uint64_t batches;
	int64_t worker_busy_ns, worker_alive_ns;
	int64_t worker_io_ns; /* while busy */
	uint32_t worker_processes;
};

/*
 * @log has a stream per process_id: its I/O as disjoint intervals in order,
 * as gap from the end of the one before, length, bytes read, bytes written.
 *
 * Measure the rank @r, of which process and rank are set. @span is sorted by
 * process, kind and start; @process is indexed by id, and lists the processes
 * of each rank. Fill the rest; the caller frees it with overlap_rank_fini(). 0, or -1 with @err.
 */
int overlap_rank_measure(struct overlap_rank *r,
			 const struct overlap_span *span, uint32_t spans,
			 const struct overlap_process *process,
			 struct reel_stream_log *log, struct reel_error *err);
void overlap_rank_fini(struct overlap_rank *r);

#endif
