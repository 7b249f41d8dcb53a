/* SPDX-License-Identifier: MIT */
/*
 * The report of a run as data: report_read() fills it from the store's views,
 * a renderer (render.h) makes text or JSON of it and runs no query.
 *
 * Tables may have millions of rows, so a section (section.h) is read while it
 * is rendered.
 */
#ifndef ANALYZER_REPORT_REPORT_H
#define ANALYZER_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/calls.h"
#include "lib/store/view.h"

#include "analyzer/report/advice.h"
#include "analyzer/report/completeness.h"
#include "analyzer/report/cpu_contention.h"

struct reel_error;
struct reel_store;

#define REPORT_NONE REEL_VIEW_NONE /* not measured: shares, times, sizes */
#define REPORT_ERRORS 3	 /* kinds of failed calls, the most frequent first */
#define REPORT_BUSIEST 3 /* kinds of calls of a process, the longest first */
#define REPORT_SIZE_BINS 64

/* Reads or writes that moved bytes. */
struct report_transfer {
	int64_t calls, bytes, files;
	int64_t min_bytes, median_bytes, max_bytes; /* REPORT_NONE */
	double busy_bytes_per_s;		    /* REPORT_NONE */
	double in_order_share, random_share;	    /* REPORT_NONE */
	int64_t random, opens_read; /* opens_read: files opened to be read */
};

struct report_group {
	int64_t calls, bytes, dur_ns, errors;
	int64_t untimed; /* reads, writes: calls of a kind without durations */
	bool sizeless;	 /* bytes are not known, and 0 here */
};

/* Rows of the calls of REEL_GROUP_META, by the object that they change. */
enum report_meta { REPORT_META_NAMES, REPORT_META_FILES, REPORT_META_ADVICE };

/* The histogram of transfer sizes: powers of two. */
struct report_sizes {
	struct report_size_bin {
		int64_t low_bytes, calls, bytes, dur_ns;
	} bin[REPORT_SIZE_BINS], sum;
	int bins;
	int64_t most_calls; /* of a bin */
};

/* Reads or writes of MPI-IO, and of POSIX and STDIO on the same files:
 * REPORT_NONE where these are not known. */
struct report_mpiio {
	int64_t calls, collective, bytes, posix_calls, posix_bytes;
};

struct report_rank {
	int64_t rank, process_id, steps, steady_steps, epochs;
	int64_t unknown_steps;	       /* without a recorded fetch */
	int64_t loop_ns, loop_wait_ns; /* REPORT_NONE */
	int64_t own_io_ns; /* of the thread that steps, in the loop; NONE */
	/* Sums and medians over the known steady steps; REPORT_NONE. */
	int64_t steady_ns, steady_fetch_ns, steady_compute_ns, steady_own_io_ns;
	int64_t median_step_ns, median_fetch_ns, median_compute_ns,
		median_own_io_ns, median_other_ns;
	int64_t io_ns, fetch_ns;
	int64_t hidden_ns, exposed_ns; /* REPORT_NONE */
	double hidden_share, computing_share, stall_share, wait_share,
		worker_busy_share, worker_io_share, worker_call_share,
		headroom; /* REPORT_NONE */
	/* The share of the loop in which it waits for a batch, and its GPU, if a
	 * profile shows one, is idle; REPORT_NONE. */
	double exposed_wait_share;
	double wait_most_share; /* where wait_share is not known; NONE */
	/* The part of the bytes that workers read without a time; NONE: no byte. */
	double worker_mapped_share;
	int64_t own_batch_ns; /* within fetches; REPORT_NONE */
	/* Time of fetches while the GPU computes, and outside of steps; NONE. */
	int64_t busy_wait_ns, between_wait_ns;
	int64_t workers, min_workers; /* REPORT_NONE: none seen */
	int64_t worker_restarts; /* passes, not the first, with new workers */
	/* Loops without training that fetched; REPORT_NONE: there was none. */
	int64_t evaluations, evaluation_ns, evaluation_wait_ns,
		evaluation_loop_wait_ns; /* before the last step's end */
	/* Parts of the loop's wait: v_first_batches. REPORT_NONE: no batch. */
	int64_t epoch_first_wait_ns, evaluation_first_wait_ns;
	char compute_source[32]; /* "": none */
};

struct report {
	struct reel_store *st; /* borrowed; for sections */
	/* Head. framework, host: may be NULL. loader: "processes" or "inside",
	 * as a profile names it; NULL: it does not. */
	char *name, *framework, *host, *loader;
	int64_t cycles; /* profiles of a process, between which nothing is known */
	int64_t hosts, ranks_declared, processes, threads;
	bool rank_numbers; /* of processes, from a launcher or a framework */
	int64_t start_real_ns, wall_ns;	  /* REPORT_NONE */
	int64_t span_ns;		  /* from the first to the last event */
	int64_t exit_status, exit_signal; /* REPORT_NONE */
	/* Completeness. */
	int64_t events, calls, clock_error_ns;
	bool mpiio_only; /* no layer below MPI-IO moved bytes; calls is 0 */
	struct report_completeness completeness;
	struct reel_cpu_contention cpu_contention;
	int64_t code_opens, code_calls, code_read_bytes; /* counted only */
	int64_t sources; /* files of an import */
	struct {
		int64_t call_ns; /* that it adds to each call; 0: none, unknown */
		double io_share; /* of the time in calls */
	} tracer;		 /* strace: v_tracer */
	/* Processes of an import that read and are neither ranks nor known as
	 * loader workers. */
	int64_t other_readers;
	bool counters; /* Darshan's: v_report_counters has rows */
	int64_t spans; /* of an import */
	/* The module of the counters whose calls took most time: of nested
	 * layers the upper one. Sums over ranks. */
	struct {
		char module[16];
		int64_t read_ns, write_ns, meta_ns;
		/* of reads, writes; metadata: opens and stats */
		int64_t calls[3], bytes[2];
	} counted;
	struct {
		int64_t calls, bytes;
	} stdio[2]; /* reads, writes of STDIO in the counters */
	/* The queue of batches of the rank that waits most, where its workers are
	 * often idle; REPORT_NONE: not known. unready_share: of its waits.
	 * several: a step takes batches from several loaders; its waits for the
	 * first of them, and for the others. */
	struct {
		double mean_depth, empty_share, unready_share;
		bool several;
		int64_t first_ns, others_ns;
	} queue;
	/* Waits of the rank that waits most, in its first epoch and in later ones;
	 * REPORT_NONE: not known, or no such epochs. */
	double first_epoch_wait, later_epochs_wait;
	struct {
		int64_t processes;
		double busy_ns; /* union of the kernels, mean of processes */
	} kernels;		/* of GPUs, in a profile */
	/* Mappings: v_mapped. */
	int64_t mapped_bytes, untimed_bytes, unknown_bytes;
	/* v_measured: an import left out an unknown number of calls; a recording is
	 * among the sources; calls that are no reads and writes were seen. */
	bool io_is_bound, recorded, metadata;
	struct {
		int64_t uring_operations, page_faults, fault_processes;
	} unseen;				 /* v_unseen */
	int64_t map_read_bytes, map_write_bytes; /* among those of the groups */
	/* I/O of the job. */
	int64_t messages, message_bytes;
	int64_t io_ns; /* union over the job; REPORT_NONE */
	struct {
		int64_t ranks, mean_ns, max_ns, sum_ns;
	} rank_io; /* v_rank_io_time */
	struct report_group group[REEL_GROUPS], meta[REPORT_META_ADVICE + 1];
	int64_t group_sum_ns; /* of all groups */
	/* Asynchronous operations, from their submission until the program learned
	 * of their end; the calls that submit them and wait for them. */
	struct {
		int64_t flight_ns, call_ns;
	} async;
	/* The time for code and system files among that in calls other than
	 * reads and writes. */
	double code_meta_share;
	int64_t checkpoint_opens, checkpoint_meta_ns; /* of class checkpoint */
	struct report_transfer transfer[2];	      /* reads, writes */
	struct report_sizes sizes[2];		      /* the same */
	struct report_mpiio mpiio[2];		      /* the same */
	struct {
		int64_t calls;
		int number;
		char call[32];
	} error[REPORT_ERRORS];
	struct {
		int64_t reads, read_bytes, bytes, ns, waits, wait_ns;
	} storage; /* page-cache misses: v_storage */
	struct {
		int64_t exposed_ns, reads, bytes, read_ns;
	} storage_wait;	 /* v_storage_wait */
	bool call_sites; /* there are some */
	/* Ranks with anchors. */
	struct report_rank *rank;
	int64_t ranks;
	bool summed_steps;	      /* a row of steps stands for several */
	int64_t read_phases;	      /* spans of TimeLogger's phase read */
	int64_t workers, min_workers; /* of a rank, at a time; 0 */
	/* For the advice. */
	int64_t data_files, data_opens, data_read_bytes;
	int64_t median_file_bytes; /* of data files; NONE */
	struct {
		int64_t calls, ns;
	} small[2];		   /* reads, writes below 16 KiB */
	int64_t flushes, flush_ns; /* of streams, among REEL_GROUP_SYNC */
	int64_t lock_ns;    /* of calls on locks, among REEL_GROUP_STAT */
	int64_t journal_ns; /* of metadata calls on files of SQLite */
	/* Bytes of data that the threads that step read outside of their
	 * fetches; 0 where a verdict does not depend on them. */
	int64_t step_read_bytes;
	int64_t checkpoint_ns, checkpoints;
	int64_t unfinished_ns; /* > 0: of the last one, which its process ended in */
	int64_t epochs, epoch_start_ns; /* last: of all but the first */
	int64_t worker_restarts;	/* of the first rank */
	/* Data files that an epoch reads as often as there are processes that
	 * read all of them; times is 0 where there are none. */
	struct {
		int64_t times, files, size_bytes, read_bytes;
	} repeated;
	/* Data files that the readers of an epoch read several times; files is 0
	 * where there are none. name: of the one that is read most. */
	struct {
		int64_t files, size_bytes, read_bytes;
		/* 0, or the opens in an epoch that read the same part again, of
		 * which size_bytes and read_bytes are */
		int64_t opens;
		bool whole; /* each open read all of the file again */
		char name[64];
	} reread;
	/* Writes and syncs in the loop of the rank whose waits are not known and
	 * that has most of them; ns is 0 where there is none. */
	struct {
		int64_t rank, ns, loop_ns;
	} step_write;
	struct {
		char group[16];
		int64_t dur_ns;
	} busiest[REPORT_BUSIEST]; /* calls of advice_own_io_rank() */
	struct {
		bool python, pytorch, tensorflow, grain;
		bool own_loop; /* of PyTorch, without a loader that is hooked */
		bool prefetch, parallel, cache; /* all pipelines of tf.data */
		bool generator; /* a Python generator feeds one of them */
	} uses;		    /* a Python ran; frameworks that the hooks found */
	char *noted_loader; /* v_framework.loader; or NULL */
	/* Findings. */
	char *verdict;
	struct advice advice[ADVICE_MOST];
	int advices;
};

/* Read @st (borrowed) into @r, zeroed before; advise. 0, or -1 with @err. */
int report_read(struct report *r, struct reel_store *st,
		struct reel_error *err);
void report_fini(struct report *r);

/* The rank that waits the largest share of its loop, of equal ones the first. Where
 * no rank has steps, the loop of a rank is its evaluations. NULL: no rank has
 * either. Borrowed from @r. */
const struct report_rank *report_slowest(const struct report *r);

/* Are there imports alone? A recording beside them has what they lack. */
static inline bool report_is_imported(const struct report *r)
{
	return r->sources > 0 && !r->recorded;
}

/* Are the times in calls those of Darshan's counters? They cover more than the
 * segments of DXT, the only calls that a log has, but less than the calls of a
 * recording beside it. */
bool report_is_counted(const struct report *r);
/* Time in calls of r->counted, mean of the ranks; REPORT_NONE: not known. */
int64_t report_counted_ns(const struct report *r);
/* I/O time of the job: of several ranks that of the rank with the most, as the
 * union over ranks that take turns is no rank's wait. The I/O of processes without
 * a rank, as far as it is known, is added. @mean_ns: the mean of the ranks;
 * REPORT_NONE: a single rank, or none. */
int64_t report_io_ns(const struct report *r, int64_t *mean_ns);

/* The part of report_io_ns() that the program can have waited for: operations in flight
 * count by the calls that submit them and wait for them. */
int64_t report_blocking_ns(const struct report *r);

/* The time that shares "of the run" refer to: from the job's start to its end;
 * where that is not known, from the first to the last event. */
int64_t report_run_ns(const struct report *r);
bool report_run_is_job(const struct report *r); /* false: the latter */
/* Has the format no times at all: of its calls only the order is known? */
bool report_is_untimed(const struct report *r);

#endif
