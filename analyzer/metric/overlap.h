/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the metric `overlap`: the data collected from events,
 * and the measures of a rank, computed at the end.
 *
 * A rank is the process that executes the steps, together with its child
 * processes: the loader workers.
 */
#ifndef ANALYZER_METRIC_OVERLAP_H
#define ANALYZER_METRIC_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/store/insert.h"

#include "analyzer/metric/interval_log.h"

struct reel_error;

#define OVERLAP_HELD 64u	 /* intervals of a thread: its calls nest */
#define OVERLAP_HELD_MANY 65536u /* of several threads */

struct overlap_span {
	int64_t start_ns, end_ns, detail;
	uint32_t process, thread, kind, span_id;
	uint32_t count; /* spans that it represents */
	bool device;	/* computation of an accelerator, from its profile */
	bool evaluated; /* a step that is part of an evaluation */
	bool open;	/* its process ended inside it */
};

enum overlap_kind {
	OVERLAP_CALLS, /* a thread's calls on files, which block it */
	OVERLAP_ASYNC, /* asynchronous operations that it submitted */
	/* Its reads that fetched from storage: read_bytes has the bytes
	 * fetched, write_bytes the number of reads. */
	OVERLAP_FETCHED,
	OVERLAP_KINDS
};

/* The I/O of one kind of a thread. */
struct overlap_stream {
	struct reel_interval_stream s;
	uint64_t reads, bytes; /* of reads that fetched: the sums */
	uint32_t thread;
	enum overlap_kind kind;
	struct overlap_stream *next; /* of its process */
};

struct overlap_process {
	uint32_t process, parent; /* ids, 0: none */
	uint32_t root;		  /* process of its rank, 0: no rank */
	uint32_t first, next; /* the rank's list of processes, by id; 0: end */
	int32_t rank;	      /* MPI rank, -1: unknown */
	bool known, worker;
	bool evaluates; /* a worker of evaluations, in a rank that trains */
	bool visited;	/* its root was searched */
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
	uint32_t streams; /* ids in use */
	bool has_gaps; /* several profiles of a process: unknown in between */
};

struct overlap_step {
	int64_t start_ns, dur_ns, fetch_ns, own_io_ns, compute_ns, io_ns,
		hidden_ns;
	int64_t epoch, number; /* as declared, -1: unknown */
	uint64_t read_bytes, write_bytes;
	uint32_t span_id, thread;
	uint32_t count;	     /* steps that it represents: sums are of all */
	uint32_t epoch_span; /* 0: in no epoch */
	int64_t epoch_start_ns, epoch_end_ns;
	bool open;	    /* nothing shows when it ended */
	bool fetch_known;   /* else fetch_ns and own_io_ns are void */
	bool compute_known; /* else compute_ns and hidden_ns are void */
};

struct overlap_rank {
	uint32_t process;
	int32_t rank;
	struct overlap_step *step;
	uint32_t steps; /* in step[] */
	struct reel_union step_time, fetch, phase;
	struct reel_union fed;	    /* known steps without fetches and phases */
	struct reel_union base;	    /* computation, own I/O included */
	const char *compute_source; /* NULL: unknown */
	bool device;		    /* base is of an accelerator */
	struct reel_interval_stream computed; /* computation */
	int64_t compute_ns, own_io_ns, io_ns, hidden_ns;
	int64_t loop_start_ns, loop_ns, loop_wait_ns;
	int64_t between_io_ns; /* own I/O in the loop, between steps */
	uint32_t fetch_known, compute_known; /* numbers of steps */
	/* Loader workers, without those that evaluate. */
	struct reel_union worker_time;
	uint64_t batches;
	int64_t worker_busy_ns, worker_alive_ns;
	int64_t worker_io_ns; /* while busy */
	uint32_t worker_processes;
};

/* The index of the first span of @process and @kind, and their number @n. */
uint32_t overlap_find_spans(const struct overlap_job *job, uint32_t process,
			    uint32_t kind, uint32_t *n);
int overlap_add_spans(struct reel_union *u, const struct overlap_job *job,
		      uint32_t process, uint32_t kind, struct reel_error *err);

/* Make spans of the user of the steps of @process that are part of an evaluation, among
 * @span, the spans of @job. True: sort them again. */
bool overlap_leave_evaluated(const struct overlap_job *job,
			     struct overlap_span *span, uint32_t process);
/* The same of the steps of all threads of @process but the first, if threads step at a
 * time. */
bool overlap_leave_threads(const struct overlap_job *job,
			   struct overlap_span *span, uint32_t process);

/*
 * Measure the rank @r, whose process and rank are set, after all streams of
 * @job are ended. Fills the other members; the caller frees them with
 * overlap_rank_fini(). 0, or -1 with @err.
 */
int overlap_rank_measure(struct overlap_rank *r, struct overlap_job *job,
			 struct reel_error *err);
void overlap_rank_fini(struct overlap_rank *r);

/*
 * Measure the computation of the rank @r, whose steps, fetches and phases are
 * set: fills fed, base, compute_source and computed, and computation and own
 * I/O of the rank and of its steps.
 */
int overlap_compute_measure(struct overlap_rank *r, struct overlap_job *job,
			    struct reel_error *err);

/* Add the part of [@from_ns, @to_ns) in each step to the int64_t at offset
 * @member of the step. @at is a cursor, 0 at first; starts must not
 * decrease. */
void overlap_share_out(struct overlap_rank *r, uint32_t *at, int64_t from_ns,
		       int64_t to_ns, size_t member);

/*
 * Measure the loader workers of the rank @r, whose steps are set: fills its
 * members of loader workers but worker_io_ns, and marks those processes of @job
 * that evaluate.
 */
int overlap_worker_measure(struct overlap_rank *r, struct overlap_job *job,
			   struct reel_error *err);

/* The rows of tables rank_time, step and evaluation_worker. */
struct overlap_rows {
	struct reel_insert rank, step, worker;
};

/* Close @rows also after a failed open. 0, or -1 with @err. */
int overlap_rows_open(struct overlap_rows *rows, struct reel_store *st,
		      struct reel_error *err);
/* Write those of the rank @r, which was measured. @ordinal: its rank where none is
 * known. 0, or -1 with @err. */
int overlap_rows_write(struct overlap_rows *rows, const struct overlap_rank *r,
		       const struct overlap_job *job, int32_t ordinal,
		       struct reel_error *err);
/* @rc: 0, or -1 where the rows shall not stay. 0 or -1. */
int overlap_rows_close(struct overlap_rows *rows, int rc);

/* Reads that fetched from storage, and their exposed parts. */
struct overlap_storage {
	struct reel_interval_merge exposed;
	struct reel_interval_stream **of_rank; /* those of ranks */
	uint32_t n, room;
	uint64_t reads, bytes;
	int64_t read_ns;
};

/* Zeroed at first. Add the reads of the rank @r, or of @process, which has no
 * rank. */
int overlap_storage_rank(struct overlap_storage *s, struct overlap_job *job,
			 const struct overlap_rank *r, struct reel_error *err);
int overlap_storage_process(struct overlap_storage *s,
			    const struct overlap_process *process,
			    struct reel_error *err);
/* The length of the union of the exposed parts; @storage_ns is that of all reads
 * that fetched. -1 with @err. */
int64_t overlap_storage_exposed_ns(struct overlap_storage *s,
				   int64_t storage_ns, struct reel_error *err);
void overlap_storage_fini(struct overlap_storage *s);

#endif
