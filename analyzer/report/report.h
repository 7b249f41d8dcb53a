/* SPDX-License-Identifier: MIT */
/*
 * What a report knows of a run, read from the store's views once; the words
 * and the figures are made of it.
 */
#ifndef ANALYZER_REPORT_REPORT_H
#define ANALYZER_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/calls.h"

#include "analyzer/report/advice.h"
#include "analyzer/report/cpu_contention.h"

struct reel_error;
struct reel_store;
struct sqlite3_stmt;

#define REPORT_ERRORS 3
#define REPORT_NONE (-1) /* not measured: shares, times, sizes */

/* One direction: reads or writes. */
struct report_moved {
	int64_t calls, bytes, files;
	int64_t min_bytes, median_bytes, max_bytes; /* REPORT_NONE */
	double busy_bytes_per_s;		    /* REPORT_NONE */
	double in_order_share, random_share;	    /* REPORT_NONE */
	int64_t random, opens_read; /* opens_read: files opened to be read */
};

struct report_group {
	int64_t calls, bytes, dur_ns, errors;
};

/* MPI-IO, in one direction; beneath: POSIX and STDIO on the same files,
 * REPORT_NONE where these are not known. */
struct report_mpiio {
	int64_t calls, collective, bytes, beneath_calls, beneath_bytes;
};

struct report_rank {
	int64_t rank, process_id, steps, steady_steps, epochs;
	int64_t unknown_steps;	       /* no fetch of theirs was seen */
	int64_t loop_ns, loop_wait_ns; /* REPORT_NONE */
	int64_t own_io_ns; /* of the thread that steps, in the loop; NONE */
	/* Sums and medians over the known steady steps; REPORT_NONE. */
	int64_t steady_ns, steady_fetch_ns, steady_compute_ns, steady_own_io_ns;
	int64_t median_step_ns, median_fetch_ns, median_compute_ns,
		median_own_io_ns, median_other_ns;
	int64_t io_ns, hidden_ns, exposed_ns,
		fetch_ns; /* hidden, exposed: NONE */
	double hidden_share, computing_share, stall_share, wait_share,
		worker_busy_share, worker_io_share, headroom; /* REPORT_NONE */
	int64_t workers, workers_least; /* REPORT_NONE: none seen */
	int64_t anew;			/* later passes with new workers */
	char compute_source[32];	/* "": none */
};

struct report {
	struct reel_store *st;
	int64_t top; /* rows of a table that are printed; 0: all */
	char *name, *framework, *host; /* framework, host: may be NULL */
	int64_t ranks_declared, processes, threads;
	int64_t start_real_ns, wall_ns,
		span_ns;		  /* the first two: REPORT_NONE */
	int64_t exit_status, exit_signal; /* REPORT_NONE */
	int64_t events, calls, messages, message_bytes;
	struct reel_cpu_contention machine; /* what else it did meanwhile */
	int64_t lost, clock_error_ns, code_opens, code_calls, code_read_bytes,
		mapped_bytes;
	int64_t unordered_bytes, untold_bytes;	 /* of mappings: v_mapped */
	int64_t map_read_bytes, map_write_bytes; /* among those of the groups */
	struct {
		int64_t reads, read_bytes, bytes, ns, waits, wait_ns;
	} fetched; /* from the storage: v_storage */
	struct {
		int64_t exposed_ns, reads, bytes, read_ns;
	} storage_wait;			/* v_storage_wait */
	int64_t io_ns;			/* union over the job; REPORT_NONE */
	int64_t workers, workers_least; /* of a rank, at a time; 0 */
	struct {
		int64_t calls;
		int number;
		char call[32];
	} error[REPORT_ERRORS];	      /* the most frequent first */
	struct report_moved moved[2]; /* 0: reads, 1: writes */
	struct report_mpiio mpiio[2]; /* the same */
	struct report_group group[REEL_GROUPS];
	int64_t group_sum_ns; /* of all groups */
	struct report_rank *rank;
	int64_t ranks; /* with anchors */
	/* For advice. */
	int64_t data_files, data_opens, median_file_bytes; /* last: NONE */
	struct {
		int64_t calls, ns;
	} small[2];		   /* reads, writes below 16 KiB */
	int64_t flushes, flush_ns; /* of streams, among REEL_GROUP_SYNC */
	int64_t journal_ns; /* of calls that are no transfers, on SQLite's */
	int64_t checkpoint_ns, checkpoints;
	int64_t epochs, epoch_start_ns; /* last: of all but the first */
	bool python;  /* a Python ran: the hooks know its loops */
	int64_t anew; /* of those, how many made workers; the first rank */
	struct {
		bool pytorch, tensorflow, grain;
	} uses; /* what the hooks met */
	char *verdict;
	struct advice advice[ADVICE_MOST];
	int advices;
};

/* Read @st (borrowed) into @r, zeroed before; advise. 0, or -1 with @err. */
int report_read(struct report *r, struct reel_store *st,
		struct reel_error *err);
void report_fini(struct report *r);

/* The rank that waits the largest share of its loop, of equal ones the first;
 * NULL: no rank has steps. Borrowed from @r. */
const struct report_rank *report_slowest(const struct report *r);

/* The time that shares "of the run" are of: from the job's start to its end;
 * where that is not known, from the first to the last event. */
int64_t report_run_ns(const struct report *r);
bool report_run_is_job(const struct report *r); /* false: the latter */

/* A column as a number that bears to be added to so many others less one. */
#define REPORT_ADDS 64
int64_t report_int(struct sqlite3_stmt *q, int column);

/* The screen; @run: as the user named it, for the last line. */
void report_text(const struct report *r, const char *run);

/* report_gaps.c: programs that could not be traced, and the lines on them. */
int64_t report_untraced(struct reel_store *st);
bool report_damaged(struct reel_store *st); /* the trace, as far as load saw */
/* Files of the trace that load had no permission to read. */
int64_t report_denied(struct reel_store *st);
/* A line without its stop on what the figures of a run do not hold, appended to
 * @out; false: they hold all of it. */
bool report_incomplete(struct reel_store *st, struct reel_buf *out);
/* What a likeness is also of: print what was not recorded of the run @who, and
 * what else its machine did meanwhile. */
void report_beside(const char *who, struct reel_store *st);
void report_gaps(const struct report *r);
/* report_mpi.c: of MPI, what was counted only and what was not seen. */
void report_gaps_mpi(const struct report *r);

/* One table, its first r->top rows. 0, or -1 with @err. */
int report_table_files(const struct report *r, struct reel_error *err);
int report_table_steps(const struct report *r, struct reel_error *err);
int report_table_ranks(const struct report *r, struct reel_error *err);
int report_table_time(const struct report *r, struct reel_error *err);
int report_table_sites(const struct report *r, struct reel_error *err);
int report_table_losses(const struct report *r, struct reel_error *err);
int report_table_launchers(const struct report *r, struct reel_error *err);

#endif
