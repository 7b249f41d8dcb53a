/* SPDX-License-Identifier: MIT */
/*
 * A workload: the description of a benchmark, as in workload.json
 * (schemas/workload.schema.json). Sizes are bytes, times ns; 0 is "none" or "all"
 * where a comment says so. The keys of the file are the fields of these structs,
 * with the same names: keys.c lists them once, for reading, checking, changing
 * and writing.
 */
#ifndef REPLAY_WORKLOAD_WORKLOAD_H
#define REPLAY_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

struct reel_buf;
struct reel_error;

#define WORKLOAD_NAME 65
#define WORKLOAD_TEXT 257

/*
 * A distribution as its quantiles: value[0] is the smallest, value[n - 1] the
 * largest, between them straight lines. n = 1: a constant. n = 0: not given.
 */
struct quantiles {
	int64_t *value;
	uint32_t n;
};

enum workload_format {
	WORKLOAD_RAW,	  /* samples one after another, nothing else */
	WORKLOAD_INDEXED, /* raw, with a file of offsets and one of sizes */
	WORKLOAD_TFRECORD,
	WORKLOAD_NPY,
	WORKLOAD_NPZ,
	WORKLOAD_HDF5,
	WORKLOAD_CSV,
	WORKLOAD_JPEG,
	WORKLOAD_PNG,
	WORKLOAD_TAR, /* WebDataset */
	WORKLOAD_PARQUET,
	WORKLOAD_SAFETENSORS,
	WORKLOAD_FORMATS
};

enum workload_compression { WORKLOAD_PLAIN, WORKLOAD_GZIP };
#define WORKLOAD_LEVEL 6 /* of gzip, by default */

/* @count columns of a row of @bytes each; those that are not read are skipped. */
struct workload_column {
	int64_t bytes, count;
	bool read;
	bool contiguous; /* of hdf5: neither in chunks nor compressed */
};

struct workload_dataset {
	int format; /* enum workload_format */
	int64_t files, samples_per_file;
	/* Payload of a sample: a record, an array, an image file, a row. */
	struct quantiles sample_bytes;
	/* Not empty: the sizes of the training's samples in their order, again and again,
	 * instead of drawn ones: the files are as long as the recorded ones. */
	int64_t *series_bytes;
	uint32_t series_bytes_n;
	bool labels;   /* a second array beside the samples, of npz and hdf5 */
	double unread; /* of npz: bytes of arrays that no one reads, for each
			* byte of the samples */
	int64_t folders; /* files are dealt to them; 0: no folders */
	char prefix[WORKLOAD_NAME];
	int compression; /* enum workload_compression */
	int64_t compression_level;
	int64_t chunk_bytes;	/* of HDF5; 0: contiguous */
	int64_t chunk_samples;	/* it has an equal part of as many; 0: of one,
				 * or whole samples */
	int64_t row_group_rows; /* of Parquet */
	double compressibility; /* share of the payload that gzip removes */
	struct workload_column *columns; /* of Parquet and HDF5 */
	uint32_t columns_n;
	int64_t seed;
};

/* Files of the second data set, which is read between epochs or steps. */
struct workload_evaluation {
	int64_t files, samples_per_file;
	int64_t every_epochs, every_steps; /* 0: not by these */
	int64_t batch;
	struct quantiles sample_bytes; /* none: that of the data set */
	struct quantiles step_ns;
	struct quantiles sample_ns; /* none: that of preprocess */
};

enum workload_from { WORKLOAD_LAST, WORKLOAD_START, WORKLOAD_END };

/* A state of the chain: a read of @bytes (0: one that asks at the end of the file),
 * @stride bytes behind the end of the one before it, or the start or the end of the
 * file; @next: the probability of each state after it. */
struct workload_access_state {
	int64_t bytes, stride;
	int from;    /* enum workload_from */
	bool to_end; /* it reads all but the last @bytes of the file */
	double *next;
	uint32_t next_n;
};

enum workload_api { WORKLOAD_POSIX, WORKLOAD_MPIIO, WORKLOAD_MMAP };

/* Reads that differ from those of the format's usual reader. */
struct workload_access {
	/* Files that a reader of arrays keeps open until its epoch ends; the one
	 * that was used least recently is closed for another. */
	int64_t open_files;
	bool reopen; /* a file is opened for each of its samples */
	/* So are the arrays of a file of HDF5 that stays open: as f["x"][i] does, which
	 * keeps none of the chunks that it read. */
	bool reopen_arrays;
	/* A read of an array of HDF5 has the rows of so many samples, as x[i:i+8] has. */
	int64_t slice_samples;
	/* np.load() opens a member of an npz archive so often: once from NumPy 2.3
	 * on, twice before. */
	int64_t member_opens;
	/* The zipfile of Python reads to the end of an npz archive (before Python
	 * 3.13), or just the bytes that it needs there. */
	bool read_end;
	/* Before a file is read it is opened so often, as for its header, each time for
	 * @look_reads reads of @look_bytes bytes together from its start. */
	int64_t looks, look_reads, look_bytes;
	bool look_whole; /* by the format's reader, to its end, instead of those reads */
	int64_t transfer_bytes; /* of a read at most; 0: as the format's reader */
	int api;		/* enum workload_api */
	bool collective;	/* of MPI-IO */
	bool direct;		/* O_DIRECT, in whole blocks of 4 KiB */
	/* Not empty: read each file by this chain instead of by its format. */
	struct workload_access_state *chain;
	uint32_t chain_n;
	/* It reads so many bytes for each of a sample, as torch.load() reads the end and
	 * the start of an archive more than once. Of a chain with seeks. */
	double chain_share;
};

enum workload_unit { WORKLOAD_PROCESS, WORKLOAD_THREAD };
enum workload_order { WORKLOAD_SEQUENTIAL, WORKLOAD_SHUFFLE, WORKLOAD_WINDOW };

/* The job keeps this of its data set in memory, and reads it no more. */
enum workload_memory {
	WORKLOAD_NOTHING,
	WORKLOAD_PRELOADED, /* all of it, read before the first step */
	WORKLOAD_CACHED,    /* what its first epoch read and preprocessed */
};

struct workload_pipeline {
	int64_t readers;  /* 0: the stepping thread reads */
	int unit;	  /* enum workload_unit */
	int64_t prefetch; /* batches ahead, each reader */
	int order;	  /* enum workload_order */
	int64_t window;	  /* samples */
	int64_t block;	  /* samples that stay together in a shuffle */
	bool reshuffle;	  /* another order each epoch */
	int64_t seed;
	int64_t repeats; /* an epoch reads each sample so often */
	int64_t batch;	 /* samples of a rank */
	bool drop_last;
	bool sharded;  /* a reader reads files of its own, from begin to end */
	int in_memory; /* enum workload_memory */
	int64_t start_ns; /* until readers begin, in each epoch */
	bool start_once;  /* in the first one alone */
	/* The stepping thread needs it to take a batch that is ready. */
	struct quantiles take_ns;
};

enum workload_work {
	WORKLOAD_SLEEP,
	WORKLOAD_CPU,	    /* until that time has passed */
	WORKLOAD_PROCESSOR, /* until the thread has used as much processor time */
};

struct workload_preprocess {
	struct quantiles sample_ns;
	int on; /* enum workload_work */
};

struct workload_compute {
	struct quantiles step_ns;
	/* Times of steps in their order; not empty: runs of @block of them are
	 * drawn instead of single values of step_ns. */
	int64_t *series_ns;
	uint32_t series_ns_n;
	int64_t block;
	int on; /* enum workload_work */
};

enum workload_sync { WORKLOAD_ALONE, WORKLOAD_BARRIER, WORKLOAD_ALLREDUCE };

/* Ranks meet after each step. */
struct workload_synchronise {
	int kind;      /* enum workload_sync */
	int64_t bytes; /* of an allreduce */
};

enum workload_owner {
	WORKLOAD_ROOT,	/* rank 0 writes it */
	WORKLOAD_ALL,	/* each rank writes its own */
	WORKLOAD_SHARD, /* each rank writes bytes / ranks */
};

enum workload_layout {
	WORKLOAD_PLAIN_FILE, /* bytes, and nothing else */
	WORKLOAD_TORCH,	     /* the zip file of torch.save() */
	WORKLOAD_TENSORFLOW, /* data, index and state of tf.train.Checkpoint */
};

#define WORKLOAD_TENSORS 1000000 /* of a file, at most */

/* The first release of torch whose archives have the same records. */
enum workload_torch {
	WORKLOAD_TORCH_2_7,
	WORKLOAD_TORCH_2_1,
	WORKLOAD_TORCH_1_6
};

/* The first release of libstdc++ after which a file stream buffers as little, or as
 * long: up to 12 it writes 1024 bytes and more at once, from 13 on it fills its
 * buffer first. */
enum workload_stream { WORKLOAD_STREAM_12, WORKLOAD_STREAM_13 };

/* @count files of a checkpoint. */
struct workload_checkpoint_file {
	int layout; /* enum workload_layout */
	int owner;  /* enum workload_owner */
	int64_t count;
	double share;  /* of the checkpoints, evenly spread, that have them */
	int64_t bytes; /* of the tensors, without the layout's own */
	/* A write of a plain file has so many; empty: all in one. */
	struct quantiles write_bytes;
	/* A tensor of the other layouts has so many, until @bytes are spent; empty: one
	 * tensor. */
	struct quantiles tensor_bytes;
	/* Not empty: the sizes of the tensors, or of the writes of a plain file, in
	 * their order, again and again, instead of drawn ones. */
	int64_t *series_bytes;
	uint32_t series_bytes_n;
	/* With torch: the name within the zip file (empty: that of the file), and the
	 * least bytes of two of its parts. */
	char archive[WORKLOAD_NAME];
	int64_t pickle_bytes, directory_bytes;
	int release; /* enum workload_torch */
	int stream;  /* enum workload_stream */
	bool fsync;
	bool rename; /* written under another name; tensorflow always is */
};

/*
 * Checkpoints of a transformer as DeepSpeed's files (torch.save() of each), by its
 * rank: grouped attention, an MLP of three matrices, two norms a layer, the
 * embedding and its counterpart. @layers 0: none.
 */
struct workload_transformer {
	int64_t layers, hidden, feed_forward, vocabulary;
	int64_t key_value;	 /* width of keys and values; 0: @hidden */
	int64_t parameter_bytes; /* of a parameter, in the model's states */
	/* The optimizer has so many for a parameter: a master copy and two moments,
	 * a third each. 0: no such states. */
	int64_t optimizer_bytes;
	int64_t zero;		  /* stage: what is divided between replicas */
	int64_t tensor, pipeline; /* ranks that share a replica of the model */
	bool fsync;
};

struct workload_checkpoint {
	int64_t every_steps, every_epochs; /* 0: not by these */
	bool background;       /* a thread writes them while the steps go on */
	bool after_evaluation; /* of the epoch, where it has one */
	int64_t work_ns; /* of the saver before it writes, as to serialise */
	/* With no epochs: this many are written and then read back. */
	int64_t writes, reads;
	int64_t pause_ns; /* between two of those */
	int64_t keep;	  /* older ones are removed; 0: all stay */
	struct workload_checkpoint_file *files;
	uint32_t files_n;
	struct workload_transformer transformer;
};

/* Which of a key-value cache's requests are bounded. */
enum workload_limit {
	WORKLOAD_LIMIT_REQUESTS, /* whole ones */
	WORKLOAD_LIMIT_WRITES,	 /* writes of objects; reads are not */
};

/*
 * A key-value cache of an inference server, on storage: users ask, each turn of a
 * conversation writes an object, and reads it and those of the turns before.
 */
struct workload_kvcache {
	int64_t users;	     /* of a rank; 0: no such benchmark */
	int64_t in_flight;   /* at most, of all users of a rank; 0: no limit */
	int limit;	     /* enum workload_limit: of these */
	int64_t duration_ns; /* of a trial */
	int64_t trials;
	int64_t bytes_per_token;
	struct quantiles context_tokens;   /* of a turn: its object */
	struct quantiles generated_tokens; /* of a turn */
	struct quantiles think_ns;	   /* before a turn */
	int64_t turns;			   /* of a conversation, at most */
	double continue_share;	/* of the turns that another one follows */
	int64_t prefill_tokens; /* a turn with as many only writes; 0: none */
	int64_t decode_tokens;	/* one more read for so many; 0: one in all */
	bool fsync;
	bool drop_cache;	/* of an object, before it is read */
	int64_t memory_bytes;	/* newest objects of a rank stay in memory */
	int64_t capacity_bytes; /* of a rank on storage; 0: what is free */
	int64_t seed;
};

enum workload_cache { WORKLOAD_AS_IS, WORKLOAD_COLD, WORKLOAD_WARM };

/* Bars of a benchmark's rules, for --rules. */
struct workload_rules {
	double au_percent;		  /* 0: none */
	int64_t accelerator_memory_bytes; /* 0: not known */
};

/* Reads of the recorded job, of the files of the data set: a run of as many steps
 * shows how like it is. */
struct workload_job {
	int64_t steps; /* of a rank; 0: nothing is known */
	int64_t read_bytes, read_calls;
};

/* One factor is changed; 1 is the recorded value. */
struct workload_what_if {
	double compute_scale, preprocess_scale;
};

/* Where a value comes from, as `fit` found it. */
struct workload_reason {
	char key[WORKLOAD_TEXT]; /* "pipeline.batch" */
	double confidence;	 /* 0 to 1 */
	char reason[WORKLOAD_TEXT];
};

struct workload {
	char schema[WORKLOAD_NAME]; /* WORKLOAD_SCHEMA */
	char name[WORKLOAD_NAME];
	char about[WORKLOAD_TEXT];
	int64_t ranks; /* of the recorded job; 0: not known */
	int64_t epochs;
	int64_t steps_per_epoch; /* 0: all samples */
	int64_t total_steps;	 /* 0: no limit */
	struct workload_dataset dataset;
	struct workload_evaluation evaluation;
	struct workload_access access;
	struct workload_pipeline pipeline;
	struct workload_preprocess preprocess;
	struct workload_compute compute;
	struct workload_synchronise synchronise;
	struct workload_checkpoint checkpoint;
	struct workload_kvcache kvcache;
	int cache; /* enum workload_cache */
	struct workload_what_if what_if;
	struct workload_rules rules;
	struct workload_job job;
	struct workload_reason *fit;
	uint32_t fit_n;
};
#define WORKLOAD_SCHEMA "ioreel-workload-1"

/* All keys at their defaults. Gives memory to @w for workload_fini(). */
void workload_init(struct workload *w);
void workload_fini(struct workload *w);

/*
 * Read the file @path ("-": none). Every fault of the file is collected: @err has
 * the first and their number, @faults (NULL: not wanted) all, a line each, as
 * "pipeline.batch: 0 is less than 1". 0, or -1 with @err (REEL_E_IO,
 * REEL_E_FORMAT); @w is for workload_fini() either way.
 */
int workload_read(struct workload *w, const char *path, struct reel_buf *faults,
		  struct reel_error *err);
/* Do the values fit together? Faults as above. 0 or -1 (REEL_E_FORMAT). */
int workload_check(const struct workload *w, struct reel_buf *faults,
		   struct reel_error *err);
/*
 * Set one key as "pipeline.batch=32"; a value is JSON, or a word without quotes.
 * 0, or -1 with @err (REEL_E_USAGE).
 */
int workload_set(struct workload *w, const char *assignment,
		 struct reel_error *err);
/*
 * Make the same workload small: @scale (above 0, up to 1) times the bytes. There
 * are fewer files or samples, as long as an epoch keeps some steps; beyond that
 * samples are smaller and steps shorter by the same factor, so that the bytes
 * that a second of computing needs stay the same.
 */
void workload_scale(struct workload *w, double scale);
/* The scale of "1/1000" or "0.5". 0, or -1 with @err (REEL_E_USAGE). */
int workload_scale_of(const char *text, double *scale, struct reel_error *err);
/* Append the document; keys with their default value too. 0 or -1. */
int workload_write(const struct workload *w, struct reel_buf *out,
		   struct reel_error *err);
/* The word of a value of an enumeration: "tfrecord". */
const char *workload_format_name(int format);

/* Does a run of @w have evaluations? */
static inline bool workload_evaluates(const struct workload *w)
{
	return w->evaluation.every_epochs || w->evaluation.every_steps;
}

/* The greatest common divisor of two numbers that are not negative. */
static inline int64_t workload_common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
