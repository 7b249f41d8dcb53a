/* SPDX-License-Identifier: MIT */
/* Advice inside: the thresholds, and the rules that have files of their own. */
#ifndef ANALYZER_REPORT_ADVICE_RULES_H
#define ANALYZER_REPORT_ADVICE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/report/advice.h"

struct reel_error;
struct report;
struct report_rank;

/* A rule is silent below these values. */
struct advice_threshold {
	double wait_share;    /* INPUT-WAIT: fetches, of the loop */
	double bound_share;   /* INPUT-BOUND, likewise */
	double own_share;     /* STEP-IO: own I/O of steps, of the loop */
	double io_share;      /* IO-BOUND: of the run */
	double storage_share; /* STORAGE-BOUND: of the run */
	double idle_share;    /* less busy workers are not the bottleneck */
	double empty_share;   /* ... nor a queue that is less often empty */
	double unready_share; /* ... nor their hand-over, but slow batches */
	double starved_share; /* workers with this one, or an emptier, are too slow */
	double worker_io; /* ... with less I/O, preprocessing is the bottleneck */
	double mapped_share;  /* ... unless they read more through mappings */
	double own_batch;     /* fetches that make batches, of the wait */
	double throttled;     /* CPU time wanted that a limit withheld */
	double matters_share; /* I/O that is worth advice, of the run */
	double open_share; /* FILE-OPEN: open and close, of all calls' time */
	int64_t opens;
	double opens_of_file; /* in an epoch */
	double meta_share;    /* META-HEAVY: stat, seek, rename ..., likewise */
	int64_t meta_calls;
	double code_share;  /* ... on code and system files: start-up */
	double small_share; /* SMALL-READ, -WRITE: below 16 KiB, likewise */
	double small_count; /* ... of all reads, writes */
	int64_t small_calls;
	double reads_per_open; /* ... and so many of them per (open) file */
	double unnamed_share;  /* of the time in I/O calls, of unknown files */
	double random_share;   /* RANDOM-READ: of reads that are not first */
	int64_t random_calls;
	double random_time; /* ... reads, of all calls' time; many per file */
	double sync_share;  /* WRITE-FSYNC: of all calls' time */
	int64_t sync_calls;
	double journal_share;	 /* ... of their time: they are SQLite's */
	double checkpoint_share; /* CHECKPOINT: of the run */
	double epoch_share; /* EPOCH-START: to the first batch, of the run */
	double evaluation_share; /* EVAL-WAIT: fetches, of the run */
	double repeated_share; /* REPEATED-READ, REREAD: of the bytes of data files */
	/* The loop reads so many bytes, so much of the job's data, outside of
	 * its fetches. */
	int64_t step_read_bytes;
	double step_read_share;
};

extern const struct advice_threshold advice_threshold;

/* A rule fills @a, which has its code, or returns false: it is silent. */
typedef bool advice_rule(const struct report *r, struct advice *a);

/* advice_wait.c */
advice_rule advice_input_bound, advice_input_wait, advice_wait_unknown,
	advice_epoch_start, advice_evaluation_wait;
/* The rank whose evaluations wait longest. NULL: no rank has any. Borrowed from
 * @r. */
const struct report_rank *advice_evaluating_rank(const struct report *r);
/* Does @k wait for workers that are often idle? */
bool advice_workers_idle(const struct report_rank *k);
/* Is its loop a single step? The waits of the next ones cannot be told from it:
 * PyTorch's profiler leaves such a file at the end of a loop. */
bool advice_is_one_step(const struct report_rank *k);
/* Does the first epoch alone wait, as one that fills a cache? */
bool advice_waits_once(const struct report *r);
/* Do the threads that step read most of the data outside of their fetches? */
bool advice_reads_in_steps(const struct report *r);
/* Count the job's steps, and the steps without a fetch. Returns true when the
 * share of its wait is not known for a rank, as it has too many of the latter. */
bool advice_unknown_steps(const struct report *r, int64_t *unknown,
			  int64_t *steps);

/* advice_io.c */
advice_rule advice_storage_bound, advice_io_bound, advice_step_io,
	advice_checkpoint, advice_repeated_read, advice_reread;
/* The rank whose steps' own I/O takes the largest share of its loop, which goes
 * to @share; NULL: none has any. Borrowed from @r. */
const struct report_rank *advice_own_io_rank(const struct report *r,
					     double *share);

/* The time of STEP-IO: that of advice_own_io_rank(), or of the writes in steps whose
 * waits are not known. */
int64_t advice_step_io_ns(const struct report *r);
/* The share of the latter in their loop; 0: none. */
double advice_step_write_share(const struct report *r);

/* Does a job of PyTorch save without a step? torch.save() may write its data then,
 * rather than checkpoints. */
bool advice_saves_data(const struct report *r);

/* read_repeated.c: fill @r->repeated and @r->reread. 0, or -1 with @err. */
int report_read_repeated(struct report *r, struct reel_error *err);

/* If most calls are for code and system files, say so and what helps. A trace of our
 * own counts them apart; other tools do not. */
bool advice_is_start_up(const struct report *r, struct advice *a);

/* I/O outside the computation of the rank that has most of it, and at least that
 * of processes of no rank. REPORT_NONE: no rank's computation is known. */
int64_t advice_exposed_io(const struct report *r);

/* verdict.c: true when the run has calls on files, none of them with a duration,
 * as in some imports: the rules cannot judge it. */
bool advice_time_unknown(const struct report *r);
/* verdict.c: the first line of the report, which agrees with the advice of @r. Gives the
 * text: free(). NULL with @err. */
char *advice_verdict(const struct report *r, struct reel_error *err);

void advice_fact(struct advice *a, const char *name, const char *unit,
		 double value);
__attribute__((format(printf, 2, 3))) void
advice_append(char out[static ADVICE_TEXT], const char *fmt, ...);

/* 0 where one of the two was not measured. */
double advice_share(int64_t ns, int64_t of_ns);
/* 0, too, where advice_run_unknown(). */
double advice_of_run(const struct report *r, int64_t ns);
/* Has an import no times, or can they be wrong by more than the run took? */
bool advice_run_unknown(const struct report *r);

/* Are many of the calls' times those of descriptors that may be pipes? The waits for
 * their messages are no I/O. */
bool advice_files_unknown(const struct report *r);

/* Is most of the I/O time that of asynchronous operations, which the program did not
 * wait for in calls on their queues? */
bool advice_is_in_flight(const struct report *r);
/* "takes", of I/O; "is in flight for". */
const char *advice_verb(const struct report *r);

/* "the run's 14.2 s"; @out: REEL_NUM and the words. */
#define ADVICE_RUN 96
char *advice_run(char out[static ADVICE_RUN], const struct report *r);

/* " in the rank with the most (mean 14.2 s)"; REPORT_NONE: "". */
#define ADVICE_MOST_OF 96
char *advice_most_of(char out[static ADVICE_MOST_OF], int64_t mean_ns);

static inline const char *advice_number(int64_t n, const char *one,
					const char *many)
{
	return n == 1 ? one : many;
}

/*
 * The remedies in the words of each loader. PyTorch's words are the default for
 * an unknown loader.
 */
struct advice_loader {
	const char *none;	      /* the finding where no worker was seen */
	const char *unseen;	      /* ... and where none could be seen */
	const char *start;	      /* ... and the remedy */
	const char *hand_over, *last; /* remedies of INPUT-BOUND, EPOCH-START */
	const char *longer;	/* EPOCH-START where workers stay; or NULL */
	const char *cold;	/* EPOCH-START without workers: why */
	const char *evaluation; /* remedy of EVAL-WAIT */
	const char *restarts;	/* ... where workers start in it; or NULL */
	bool persistent; /* INPUT-BOUND: workers may stay between epochs */
};

const struct advice_loader *advice_loader_of(const struct report *r);
/* Append start, or evaluation, of the loader of @r to the remedy of @a, without the
 * stages that all its pipelines of tf.data have. */
void advice_append_start(const struct report *r, struct advice *a);
void advice_append_evaluation(const struct report *r, struct advice *a);

#endif
