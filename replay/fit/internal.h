/* SPDX-License-Identifier: MIT */
/* Shared by the files of this room. */
#ifndef REPLAY_FIT_INTERNAL_H
#define REPLAY_FIT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

struct format;
struct reel_error;
struct reel_store;
struct workload;

#define FIT_QUANTILES 257
/* safe_open() opens the file, and so does the storage of its tensors. */
#define FIT_SAFETENSORS_OPENS 2
/* The buffer of libhdf5 for an open array that is contiguous. */
#define FIT_HDF5_BUFFER 65536
/* The buffer of a file of Python. */
#define FIT_BUFFER_MOST 131072

/* A file of the data set. */
struct fit_file {
	int64_t file_id;
	int64_t size, opens, read_bytes;
	char *path; /* the files are in the order of their paths */
};

/* A file that was opened and read: one visit of a reader. */
struct fit_visit {
	int64_t process_id, thread_id, reads, bytes;
	int64_t starts;		  /* reads at the start of the file */
	int64_t least_end;	  /* of the places at which reads end */
	int64_t start_ns, end_ns; /* of its first and last read */
	uint32_t file;		  /* index of the file */
	uint32_t epoch;
	bool look; /* before the visit that reads the file */
};

/* The evaluations of the first rank, in the order of their starts. */
struct fit_evaluations {
	int64_t *start_ns, *end_ns;
	uint32_t n;
};

/* own_loop.c: the steps of a loop without a loader; steps 0: the job has one. */
struct fit_own_loop {
	int64_t *compute_ns; /* of each step */
	int64_t *work_ns;    /* on its batch, without calls */
	uint32_t steps, compute_room, work_room;
};

struct fit {
	struct reel_store *st;
	struct workload *w;
	struct reel_error *err;
	/* The files of the format that was read most: those of the training, and
	 * behind them those that evaluations alone read. */
	struct fit_file *file;
	uint32_t files, evaluated;
	/* Files of the training that evaluations read, too, and visits of them. */
	uint32_t shared, shared_visits;
	/* Data files of other formats, as masks beside images: not in the benchmark. */
	uint32_t other_files;
	double other_share; /* of the bytes that were read */
	/* In the order of their starts: those of the training, and behind them those
	 * of evaluations. */
	struct fit_visit *visit;
	uint32_t visits, evaluation_visits;
	bool has_opens;	    /* the store has open file descriptions */
	bool marks_batches; /* workers do, by spans; those of imports may not */
	/* Batches of the job that a step takes, as of several loaders: the benchmark has
	 * one batch of all of them. */
	int64_t batches_of_step;
	struct fit_evaluations evaluation;
	int64_t ranks, steps, epochs; /* steps of a rank */
	bool repeats; /* a marked epoch has several passes over the files */
	int64_t steps_of_epoch;
	int64_t passes;	       /* over the files: epochs that read them */
	int64_t read_until_ns; /* the start of the first epoch that does not */
	struct fit_own_loop own_loop;
	bool inference; /* the job has no step: its epochs are evaluations, and its
			 * steps are their batches */
	int64_t first_rank;	 /* whose steps are looked at */
	uint32_t records;	 /* reads that are a sample each; 0: not seen */
	int64_t records_of_step; /* as a rule; 0: not seen */
	/* The share of the job's work that was processor time and not a wait for a
	 * processor; 1 where the job left processors idle, or where it is not known. */
	double share;
	bool busy;	    /* with other programs, or limited */
	bool limited;	    /* its CPU limit stopped it */
	double job_percent; /* processor time of that which it could have; < 0 */
	bool sample_a_visit;	  /* a file of several samples */
	uint32_t opens_of_sample; /* visits that a sample takes, where it is
				   * a visit or a file; 0: not seen */
	bool arrays;		  /* a sample is all arrays of a file */
	/* The array of which samples are rows, or the largest of several, is there in
	 * each file; both 0: not known. */
	int64_t rows_from, rows_to;
	double rows_read;  /* of arrays, by the training; 0: not seen */
	bool rows_chunked; /* by chunks, which several rows may share */
	bool rows_drawn; /* they are not those of its epochs: the batch has them */
	bool windows;	 /* samples are windows of rows at any place */
	bool marked;	 /* epochs are */
	bool maps;	 /* some files are mapped */
	bool mapped;	 /* most bytes were pages of mappings */
	bool partial;	 /* archives of which some members are not read */
};

/* Say where the value of @key comes from, in place of what was said of it before.
 * @confidence from 0 to 1. 0 or -1. */
int fit_reason(struct fit *f, const char *key, double confidence,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The file @path of the training's data set; NULL: it is none. Borrowed. */
const struct fit_file *fit_find(const struct fit *f, const char *path);

/* One integer of a query; @otherwise when there is none. 0 or -1. */
int fit_ask(struct fit *f, const char *sql, int64_t otherwise, int64_t *out);

/* The steps, and their process: of the rank ?1; of a job that evaluates only its
 * fetches. */
#define FIT_STEPS                                                              \
	"(SELECT rank, start_ns, fetch_ns FROM v_step UNION ALL "              \
	"SELECT t.rank, s.start_ns, s.dur_ns FROM v_span s JOIN rank_time t "  \
	"USING (process_id) WHERE s.name = 'fetch' AND NOT EXISTS "            \
	"(SELECT 1 FROM step))"
#define FIT_STEPPER "(SELECT process_id FROM rank_time WHERE rank = ?1 LIMIT 1)"

/* The column ns of all rows of @sql, which may name the first rank as ?1 and the
 * end of the epochs that read the files as ?2: an array
 * *@value of *@n, for free() after a failure, too. 0 or -1. */
int fit_column(struct fit *f, const char *sql, int64_t **value, uint32_t *n);

/* Order of two int64_t, for qsort() and bsearch(). */
int fit_by_value(const void *a, const void *b);

/* The lower median of @value, which it sorts; 0, there is none. */
int64_t fit_median(int64_t *value, uint32_t n);

/* Checkpoints or evaluations: @step has the steps before each of @n. The median of the
 * steps from one to the next; of one, those before it. 0, or -1: no memory. */
int fit_steps_between(struct fit *f, const int64_t *step, uint32_t n,
		      int64_t *out);
/* Is each of them after as many whole epochs, or a step from that? */
bool fit_at_ends(const struct fit *f, const int64_t *step, uint32_t n);

/* The sizes @value of the samples in their order, which is not kept: quantiles,
 * and where they are @all and not too many the series itself. 0 or -1. */
int fit_sizes(struct fit *f, int64_t *value, uint32_t n, bool all);

/* @samples of a file share its payload: the file without the bytes of @format (NULL:
 * of none). 0 or -1. */
int fit_sizes_of_files(struct fit *f, const struct format *format,
		       int64_t samples);
/* A sample has what a visit reads. 0 or -1. */
int fit_sizes_of_visits(struct fit *f);
/* A sample for each step: the calls do not show smaller ones. */
void fit_sample_a_step(struct fit *f);

/* Does the first rank evaluate at @ns? */
bool fit_evaluates(const struct fit *f, int64_t ns);

/* The bytes of all arrays of the file @path, decompressed; 0: it cannot be read. */
int64_t fit_arrays_bytes(const struct format *format, const char *path);

/* The bytes that visits read, of the sizes of their files; 0: these have none. */
double fit_read_share(const struct fit *f);

/* The visits of the training by process, thread and start: free(). NULL with f->err. */
struct fit_visit **fit_sort_visits(const struct fit *f);

/* Does the visit that begins at @start_ns only look at its file? */
bool fit_is_look(const struct fit *f, int64_t process_id, int64_t start_ns);

/* opens.c: visits of a file one behind the other are for one sample: the looks of
 * them, and how many. 0 or -1. */
int fit_opens(struct fit *f);
/* They are not: visits are samples, or parts of a file that is read on. */
void fit_drop_looks(struct fit *f);
/* Is each file read whole once in an epoch, beside opens that read less? */
bool fit_looks_at_files(const struct fit *f);
/* Does a visit read its whole file, as a rule? */
bool fit_reads_whole(const struct fit *f);
/* Say what was found. 0 or -1. */
int fit_say_looks(struct fit *f);
int fit_repeats(struct fit *f);
int fit_reopen(struct fit *f);

/* Do most steps map one of the mapped files? */
bool fit_maps_in_steps(const struct fit *f);

/* Is a file opened more than once in an epoch, as a rule? */
bool fit_reopens(const struct fit *f);

/* Do files of @format hold one sample as a rule? */
bool fit_one_sample(int format);

/* Samples, each of as many visits as it takes, that begin in each batch of a worker,
 * of the @n visits from @first on: the counts that are not 0, sorted, for free() after
 * a failure, too. 0 or -1. */
int fit_files_of_batches(struct fit *f, uint32_t first, uint32_t n,
			 uint32_t **counts, uint32_t *counts_n);

/* The reads of a process that are as large as the mean at least. */
struct fit_places {
	double tau;	   /* Kendall's, of their places */
	int64_t run_bytes; /* that follow one another in a file, as a rule */
	uint32_t reads;	   /* 0: not seen */
};
/* Page faults are the reads of mapped files, where they were recorded. 0 or -1. */
int fit_order_of_records(struct fit *f, struct fit_places *out);

/* Times between the batches of evaluations, as fit_column(). */
int fit_evaluation_steps(struct fit *f, int64_t **value, uint32_t *n);

/* Leave of the times @value those of a processor. enum workload_work. */
int fit_work(const struct fit *f, int64_t *value, uint32_t n);

/* Bytes that the readers of a rank read for a step; 0: no steps were marked. */
int64_t fit_bytes_of_step(const struct fit *f);

/* A step of the first rank: what its threads had read at its start beyond the batches
 * of the steps before it, and its fetch; -1: unknown. */
struct fit_lead {
	int64_t bytes, fetch_ns;
};

/* Gives the leads of all steps in order, for free() after a failure, too. 0 or -1. */
int fit_leads(struct fit *f, struct fit_lead **lead, uint32_t *n);

/* A part of a sentence on times of a busy machine; "" where it was not. */
const char *fit_busy_words(const struct fit *f);

/* Part the files and visits of evaluations from those of the training. 0 or -1. */
int fit_part_evaluations(struct fit *f);

/* Each fills its keys of f->w. 0, or -1 with f->err. */
int fit_files(struct fit *f);
int fit_visits(struct fit *f);
int fit_file_keys(struct fit *f);
int fit_evaluation(struct fit *f);
int fit_steps(struct fit *f);
int fit_own_loop(struct fit *f); /* of fit_steps() */
void fit_own_loop_fini(struct fit *f);
int fit_memory(struct fit *f);
int fit_samples(struct fit *f);
int fit_chain(struct fit *f);	  /* of fit_samples() */
int fit_sequence(struct fit *f);  /* of fit_chain(): 1, 0: it is none, -1 */
int fit_arrays(struct fit *f);	  /* of fit_samples() */
int fit_records(struct fit *f);	  /* of fit_samples() */
int fit_members(struct fit *f);	  /* of fit_samples() */
int fit_mapped(struct fit *f);	  /* of fit_steps() */
int fit_pages(struct fit *f);	  /* of fit_samples() */
int fit_processor(struct fit *f); /* of fit_pipeline() */
int fit_metadata(struct fit *f);
int fit_compression(struct fit *f);
int fit_pipeline(struct fit *f);
int fit_sharded(struct fit *f); /* of fit_pipeline() */
int fit_readers(struct fit *f);
int fit_prefetch(struct fit *f);
int fit_preprocess(struct fit *f); /* of fit_pipeline() */
int fit_open_files(struct fit *f);
int fit_times(struct fit *f);
int fit_compute(struct fit *f);
int fit_checkpoints(struct fit *f);

#endif
