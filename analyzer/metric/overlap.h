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
#include <stddef.h>
#include <stdint.h>

#include "analyzer/metric/interval_log.h"

struct reel_error;

#define OVERLAP_HELD 64u	 /* intervals of a thread: its calls nest */
#define OVERLAP_HELD_MANY 65536u /* of several */

struct overlap_span {
	int64_t start_ns, end_ns, detail;
	uint32_t process, thread, kind, span_id;
	uint32_t count; /* spans that it stands for */
};

enum overlap_kind {
	OVERLAP_CALLS,	 /* a thread's calls on files, which block it */
	OVERLAP_ASYNC,	 /* operations that it submitted */
	OVERLAP_FETCHED, /* its reads that fetched from the storage; in place of
			    bytes read and written: bytes fetched, reads */
	OVERLAP_KINDS
};

/* The I/O of a thread. */
struct overlap_stream {
	struct reel_interval_stream s;
	uint32_t thread;
	enum overlap_kind kind;
	struct overlap_stream *next; /* of its process */
};

struct overlap_process {
	uint32_t process, parent; /* ids, 0: none */
	uint32_t root;		  /* process of its rank, 0: of none */
	uint32_t first, next;	  /* of a rank's, by id; 0: no more */
	int32_t rank;		  /* as MPI says, -1: not known */
	bool known, worker;
	bool asked; /* whose it is */
	int64_t end_ns;
	struct overlap_stream *stream;
};

/* The job at its end. */
struct overlap_job {
	const struct overlap_span *span; /* by process, kind, start */
	uint32_t spans;
	struct overlap_process *process; /* by id */
	uint32_t processes;
	struct reel_spill_log *log;
	uint32_t streams; /* ids that are given out */
};

struct overlap_step {
	int64_t start_ns, dur_ns, fetch_ns, own_io_ns, compute_ns, io_ns,
		hidden_ns;
	int64_t epoch, number; /* as declared, -1: not */
	uint64_t read_bytes, write_bytes;
	uint32_t span_id, thread;
	uint32_t count;	     /* steps that it stands for: sums are of all */
	uint32_t epoch_span; /* 0: in no epoch */
	int64_t epoch_start_ns, epoch_end_ns;
	bool fetch_known, compute_known; /* else their figures are void */
};

struct overlap_rank {
	uint32_t process;
	int32_t rank;
	struct overlap_step *step;
	uint32_t steps; /* in step[] */
	struct reel_union step_time, fetch, phase;
	struct reel_union fed;	/* known steps less fetches and phases */
	struct reel_union base; /* computation before own I/O is subtracted */
	const char *compute_source;	      /* NULL: no way to know */
	struct reel_interval_stream computed; /* C */
	int64_t compute_ns, own_io_ns, io_ns, hidden_ns;
	int64_t loop_start_ns, loop_ns, loop_wait_ns;
	int64_t between_io_ns; /* own I/O in the loop, between its steps */
	uint32_t fetch_known, compute_known; /* steps */
	/* Loader workers. */
	struct reel_union worker_time;
	uint64_t batches;
	int64_t worker_busy_ns, worker_alive_ns;
	int64_t worker_io_ns; /* while busy */
	uint32_t worker_processes;
};

/* Spans of @process and @kind: from the returned index on, @n of them. */
uint32_t overlap_find_spans(const struct overlap_job *job, uint32_t process,
			    uint32_t kind, uint32_t *n);
int overlap_add_spans(struct reel_union *u, const struct overlap_job *job,
		      uint32_t process, uint32_t kind, struct reel_error *err);

/*
 * Measure the rank @r, of which process and rank are set; all streams of @job
 * are ended. Fill the rest; the caller frees it with overlap_rank_fini(). 0, or
 * -1 with @err.
 */
int overlap_rank_measure(struct overlap_rank *r, struct overlap_job *job,
			 struct reel_error *err);
void overlap_rank_fini(struct overlap_rank *r);

/*
 * The computation of the rank @r, whose steps, fetches and phases are known:
 * fill fed, base, compute_source, computed, and of the rank and its steps the
 * computation and the own I/O.
 */
int overlap_compute_measure(struct overlap_rank *r, struct overlap_job *job,
			    struct reel_error *err);

/* Add the part of [@from_ns, @to_ns) in each step to the int64_t at @member of
 * it. @at is 0 at first; starts do not decrease. */
void overlap_share_out(struct overlap_rank *r, uint32_t *at, int64_t from_ns,
		       int64_t to_ns, size_t member);

/* Reads that fetched from the storage, and which of them nothing hid. */
struct overlap_storage {
	struct reel_interval_stream **exposed; /* a rank's or a process's */
	uint32_t n, room;
	uint64_t reads, bytes;
	int64_t read_ns;
};

/* Zeroed at first. Add the reads of the rank @r, or of @process, which is of
 * none. */
int overlap_storage_rank(struct overlap_storage *s, struct overlap_job *job,
			 const struct overlap_rank *r, struct reel_error *err);
int overlap_storage_process(struct overlap_storage *s, struct overlap_job *job,
			    const struct overlap_process *process,
			    struct reel_error *err);
/* The measure of the exposed reads; -1 with @err. */
int64_t overlap_storage_exposed_ns(struct overlap_storage *s,
				   struct reel_error *err);
void overlap_storage_fini(struct overlap_storage *s);

#endif
