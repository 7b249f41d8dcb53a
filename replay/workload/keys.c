/* SPDX-License-Identifier: MIT */
/* The keys of workload.json; "ioreel workload keys" prints them. */
#include "replay/workload/keys.h"

#include "replay/workload/workload.h"

#define MOST_COUNT 1e9		      /* files, steps */
#define MOST_SAMPLES 1e12	      /* of a file */
#define MOST_BYTES 1125899906842624.0 /* 2^50 */
#define MOST_READ 9007199254740992.0  /* 2^53, of a job */
#define MOST_NS 86400e9		      /* a day */
#define MOST_SEED 9007199254740991.0  /* 2^53 - 1 */

#define AT(s, field) offsetof(struct s, field)
#define INTEGER(s, field, least, most, initial)                                \
	{                                                                      \
#field, KEY_INTEGER, AT(s, field), least, most, initial, NULL, \
			NULL, 0, 0                                             \
	}
#define REAL(s, field, least, most, initial)                                   \
	{                                                                      \
#field, KEY_REAL, AT(s, field), least, most, initial, NULL,    \
			NULL, 0, 0                                             \
	}
#define BOOL(s, field, initial)                                                \
	{                                                                      \
#field, KEY_BOOL, AT(s, field), 0, 1, initial, NULL, NULL, 0,  \
			0                                                      \
	}
#define WORD(s, field, list, initial)                                          \
	{                                                                      \
#field, KEY_WORD, AT(s, field), 0, 0, initial, list, NULL, 0,  \
			0                                                      \
	}
#define TEXT(s, field, kind)                                                   \
	{                                                                      \
#field, kind, AT(s, field), 0, 0, 0, NULL, NULL,               \
			sizeof(((struct s *)0)->field), 0                      \
	}
#define QUANTILES(s, field, most)                                              \
	{                                                                      \
#field, KEY_QUANTILES, AT(s, field), 0, most, 0, NULL, NULL,   \
			0, 65536                                               \
	}
#define NUMBERS(s, field, kind, least, most, elements)                         \
	{                                                                      \
#field, kind, AT(s, field), least, most, 0, NULL, NULL, 0,     \
			elements                                               \
	}
#define GROUP(s, field, list)                                                  \
	{                                                                      \
#field, KEY_GROUP, AT(s, field), 0, 0, 0, NULL, list, 0, 0     \
	}
#define LIST(s, field, list, element, elements)                                \
	{                                                                      \
#field, KEY_LIST, AT(s, field), 0, 0, 0, NULL, list,           \
			sizeof(struct element), elements                       \
	}
#define END                                                                    \
	{                                                                      \
		NULL, KEY_INTEGER, 0, 0, 0, 0, NULL, NULL, 0, 0                \
	}

/* In the order of the enumerations of workload.h. */
static const char *const formats[] = {
	"raw",	"indexed", "tfrecord", "npy",	  "npz",	 "hdf5", "csv",
	"jpeg", "png",	   "tar",      "parquet", "safetensors", NULL};
static const char *const compressions[] = {"none", "gzip", NULL};
static const char *const froms[] = {"last", "start", "end", NULL};
static const char *const apis[] = {"posix", "mpiio", "mmap", NULL};
static const char *const units[] = {"process", "thread", NULL};
static const char *const orders[] = {"sequential", "shuffle", "window", NULL};
static const char *const memories[] = {"nothing", "preloaded", "cached", NULL};
static const char *const works[] = {"sleep", "cpu", "cpu-time", NULL};
static const char *const syncs[] = {"none", "barrier", "allreduce", NULL};
static const char *const owners[] = {"root", "all", "shard", NULL};
static const char *const layouts[] = {"plain", "torch", "tensorflow", NULL};
static const char *const releases[] = {"2.7", "2.1", "1.6", NULL};
static const char *const streams[] = {"libstdc++-12", "libstdc++-13", NULL};
static const char *const limits[] = {"requests", "writes", NULL};
static const char *const caches[] = {"as-is", "cold", "warm", NULL};

static const struct workload_key column[] = {
	INTEGER(workload_column, bytes, 1, 1e9, 4),
	INTEGER(workload_column, count, 1, 1e6, 1),
	BOOL(workload_column, read, 1),
	BOOL(workload_column, contiguous, 0),
	END,
};

static const struct workload_key dataset[] = {
	WORD(workload_dataset, format, formats, WORKLOAD_RAW),
	INTEGER(workload_dataset, files, 0, MOST_COUNT, 1),
	INTEGER(workload_dataset, samples_per_file, 1, MOST_SAMPLES, 1),
	QUANTILES(workload_dataset, sample_bytes, MOST_BYTES),
	NUMBERS(workload_dataset, series_bytes, KEY_INTEGERS, 0, MOST_BYTES,
		65536),
	BOOL(workload_dataset, labels, 1),
	INTEGER(workload_dataset, folders, 0, 1e6, 0),
	TEXT(workload_dataset, prefix, KEY_NAME),
	WORD(workload_dataset, compression, compressions, WORKLOAD_PLAIN),
	INTEGER(workload_dataset, compression_level, 1, 9, WORKLOAD_LEVEL),
	INTEGER(workload_dataset, chunk_bytes, 0, 4294967295.0, 0),
	INTEGER(workload_dataset, chunk_samples, 0, MOST_COUNT, 0),
	INTEGER(workload_dataset, row_group_rows, 1, MOST_COUNT, 1024),
	REAL(workload_dataset, compressibility, 0, 1, 0),
	REAL(workload_dataset, unread, 0, MOST_BYTES, 0),
	LIST(workload_dataset, columns, column, workload_column, 256),
	INTEGER(workload_dataset, seed, 0, MOST_SEED, 1),
	END,
};

static const struct workload_key evaluation[] = {
	INTEGER(workload_evaluation, files, 0, MOST_COUNT, 0),
	INTEGER(workload_evaluation, samples_per_file, 1, MOST_SAMPLES, 1),
	INTEGER(workload_evaluation, every_epochs, 0, MOST_COUNT, 0),
	INTEGER(workload_evaluation, every_steps, 0, MOST_COUNT, 0),
	INTEGER(workload_evaluation, batch, 1, 1e6, 1),
	QUANTILES(workload_evaluation, sample_bytes, MOST_BYTES),
	QUANTILES(workload_evaluation, step_ns, MOST_NS),
	QUANTILES(workload_evaluation, sample_ns, MOST_NS),
	END,
};

static const struct workload_key access_state[] = {
	INTEGER(workload_access_state, bytes, 0, MOST_BYTES, 0),
	INTEGER(workload_access_state, stride, -MOST_BYTES, MOST_BYTES, 0),
	WORD(workload_access_state, from, froms, WORKLOAD_LAST),
	BOOL(workload_access_state, to_end, 0),
	NUMBERS(workload_access_state, next, KEY_REALS, 0, 1, 64),
	END,
};

static const struct workload_key access[] = {
	INTEGER(workload_access, open_files, 1, 1024, 1),
	BOOL(workload_access, reopen, 0),
	BOOL(workload_access, reopen_arrays, 0),
	INTEGER(workload_access, slice_samples, 1, 1e6, 1),
	INTEGER(workload_access, member_opens, 1, 2, 1),
	BOOL(workload_access, read_end, 1),
	INTEGER(workload_access, looks, 0, 16, 0),
	INTEGER(workload_access, look_reads, 1, 1024, 1),
	INTEGER(workload_access, look_bytes, 0, 1073741824, 4096),
	BOOL(workload_access, look_whole, 0),
	INTEGER(workload_access, transfer_bytes, 0, 1073741824, 0),
	WORD(workload_access, api, apis, WORKLOAD_POSIX),
	BOOL(workload_access, collective, 0),
	BOOL(workload_access, direct, 0),
	LIST(workload_access, chain, access_state, workload_access_state, 64),
	REAL(workload_access, chain_share, 0.001, 1000, 1),
	END,
};

static const struct workload_key pipeline[] = {
	INTEGER(workload_pipeline, readers, 0, 1024, 0),
	WORD(workload_pipeline, unit, units, WORKLOAD_PROCESS),
	INTEGER(workload_pipeline, prefetch, 1, 1024, 2),
	WORD(workload_pipeline, order, orders, WORKLOAD_SEQUENTIAL),
	INTEGER(workload_pipeline, window, 1, MOST_COUNT, 1024),
	INTEGER(workload_pipeline, block, 1, MOST_COUNT, 1),
	BOOL(workload_pipeline, reshuffle, 1),
	INTEGER(workload_pipeline, seed, 0, MOST_SEED, 1),
	INTEGER(workload_pipeline, repeats, 1, 10000, 1),
	INTEGER(workload_pipeline, batch, 1, 1e6, 1),
	BOOL(workload_pipeline, drop_last, 0),
	BOOL(workload_pipeline, sharded, 0),
	WORD(workload_pipeline, in_memory, memories, WORKLOAD_NOTHING),
	INTEGER(workload_pipeline, start_ns, 0, MOST_NS, 0),
	BOOL(workload_pipeline, start_once, 0),
	QUANTILES(workload_pipeline, take_ns, MOST_NS),
	END,
};

static const struct workload_key preprocess[] = {
	QUANTILES(workload_preprocess, sample_ns, MOST_NS),
	WORD(workload_preprocess, on, works, WORKLOAD_SLEEP),
	END,
};

static const struct workload_key compute[] = {
	QUANTILES(workload_compute, step_ns, MOST_NS),
	NUMBERS(workload_compute, series_ns, KEY_INTEGERS, 0, MOST_NS, 65536),
	INTEGER(workload_compute, block, 1, 65536, 8),
	WORD(workload_compute, on, works, WORKLOAD_SLEEP),
	END,
};

static const struct workload_key synchronise[] = {
	WORD(workload_synchronise, kind, syncs, WORKLOAD_BARRIER),
	INTEGER(workload_synchronise, bytes, 0, 8589934592.0, 0),
	END,
};

static const struct workload_key checkpoint_file[] = {
	WORD(workload_checkpoint_file, layout, layouts, WORKLOAD_PLAIN_FILE),
	WORD(workload_checkpoint_file, owner, owners, WORKLOAD_ROOT),
	INTEGER(workload_checkpoint_file, count, 1, 1e6, 1),
	REAL(workload_checkpoint_file, share, 0, 1, 1),
	INTEGER(workload_checkpoint_file, bytes, 0, MOST_BYTES, 0),
	QUANTILES(workload_checkpoint_file, write_bytes, MOST_BYTES),
	QUANTILES(workload_checkpoint_file, tensor_bytes, MOST_BYTES),
	NUMBERS(workload_checkpoint_file, series_bytes, KEY_INTEGERS, 1,
		MOST_BYTES, 65536),
	TEXT(workload_checkpoint_file, archive, KEY_NAME),
	INTEGER(workload_checkpoint_file, pickle_bytes, 0, 1e9, 0),
	INTEGER(workload_checkpoint_file, directory_bytes, 0, 1e9, 0),
	WORD(workload_checkpoint_file, release, releases, WORKLOAD_TORCH_2_7),
	WORD(workload_checkpoint_file, stream, streams, WORKLOAD_STREAM_12),
	BOOL(workload_checkpoint_file, fsync, 0),
	BOOL(workload_checkpoint_file, rename, 0),
	END,
};

static const struct workload_key transformer[] = {
	INTEGER(workload_transformer, layers, 0, 10000, 0),
	INTEGER(workload_transformer, hidden, 0, 1e6, 0),
	INTEGER(workload_transformer, key_value, 0, 1e6, 0),
	INTEGER(workload_transformer, feed_forward, 0, 1e7, 0),
	INTEGER(workload_transformer, vocabulary, 0, 1e8, 0),
	INTEGER(workload_transformer, parameter_bytes, 1, 8, 2),
	INTEGER(workload_transformer, optimizer_bytes, 0, 64, 12),
	INTEGER(workload_transformer, zero, 0, 3, 0),
	INTEGER(workload_transformer, tensor, 1, 1e6, 1),
	INTEGER(workload_transformer, pipeline, 1, 10000, 1),
	BOOL(workload_transformer, fsync, 0),
	END,
};

static const struct workload_key checkpoint[] = {
	INTEGER(workload_checkpoint, every_steps, 0, MOST_COUNT, 0),
	INTEGER(workload_checkpoint, every_epochs, 0, MOST_COUNT, 0),
	BOOL(workload_checkpoint, background, 0),
	BOOL(workload_checkpoint, after_evaluation, 0),
	INTEGER(workload_checkpoint, work_ns, 0, MOST_NS, 0),
	INTEGER(workload_checkpoint, writes, 0, 1e6, 0),
	INTEGER(workload_checkpoint, reads, 0, 1e6, 0),
	INTEGER(workload_checkpoint, pause_ns, 0, MOST_NS, 0),
	INTEGER(workload_checkpoint, keep, 0, 1e6, 0),
	LIST(workload_checkpoint, files, checkpoint_file,
	     workload_checkpoint_file, 4096),
	GROUP(workload_checkpoint, transformer, transformer),
	END,
};

static const struct workload_key kvcache[] = {
	INTEGER(workload_kvcache, users, 0, 100000, 0),
	INTEGER(workload_kvcache, in_flight, 0, 100000, 0),
	WORD(workload_kvcache, limit, limits, WORKLOAD_LIMIT_REQUESTS),
	INTEGER(workload_kvcache, duration_ns, 1, MOST_NS, 300e9),
	INTEGER(workload_kvcache, trials, 1, 1000, 1),
	INTEGER(workload_kvcache, bytes_per_token, 1, 1e9, 131072),
	QUANTILES(workload_kvcache, context_tokens, MOST_COUNT),
	QUANTILES(workload_kvcache, generated_tokens, MOST_COUNT),
	QUANTILES(workload_kvcache, think_ns, MOST_NS),
	INTEGER(workload_kvcache, turns, 1, 1000, 1),
	REAL(workload_kvcache, continue_share, 0, 1, 1),
	INTEGER(workload_kvcache, prefill_tokens, 0, MOST_COUNT, 0),
	INTEGER(workload_kvcache, decode_tokens, 0, MOST_COUNT, 0),
	BOOL(workload_kvcache, fsync, 1),
	BOOL(workload_kvcache, drop_cache, 1),
	INTEGER(workload_kvcache, memory_bytes, 0, MOST_BYTES, 0),
	INTEGER(workload_kvcache, capacity_bytes, 0, MOST_BYTES, 0),
	INTEGER(workload_kvcache, seed, 0, MOST_SEED, 1),
	END,
};

static const struct workload_key what_if[] = {
	REAL(workload_what_if, compute_scale, 0, 1e6, 1),
	REAL(workload_what_if, preprocess_scale, 0, 1e6, 1),
	END,
};

static const struct workload_key rules[] = {
	REAL(workload_rules, au_percent, 0, 100, 0),
	INTEGER(workload_rules, accelerator_memory_bytes, 0, MOST_BYTES, 0),
	END,
};

static const struct workload_key job[] = {
	INTEGER(workload_job, steps, 0, MOST_COUNT, 0),
	INTEGER(workload_job, read_bytes, 0, MOST_READ, 0),
	INTEGER(workload_job, read_calls, 0, MOST_READ, 0),
	END,
};

static const struct workload_key reason[] = {
	TEXT(workload_reason, key, KEY_TEXT),
	REAL(workload_reason, confidence, 0, 1, 0),
	TEXT(workload_reason, reason, KEY_TEXT),
	END,
};

const struct workload_key workload_keys[] = {
	TEXT(workload, schema, KEY_NAME),
	TEXT(workload, name, KEY_NAME),
	TEXT(workload, about, KEY_TEXT),
	INTEGER(workload, ranks, 0, 1e6, 0),
	INTEGER(workload, epochs, 0, 1e6, 1),
	INTEGER(workload, steps_per_epoch, 0, MOST_COUNT, 0),
	INTEGER(workload, total_steps, 0, MOST_COUNT, 0),
	GROUP(workload, dataset, dataset),
	GROUP(workload, evaluation, evaluation),
	GROUP(workload, access, access),
	GROUP(workload, pipeline, pipeline),
	GROUP(workload, preprocess, preprocess),
	GROUP(workload, compute, compute),
	GROUP(workload, synchronise, synchronise),
	GROUP(workload, checkpoint, checkpoint),
	GROUP(workload, kvcache, kvcache),
	WORD(workload, cache, caches, WORKLOAD_AS_IS),
	GROUP(workload, what_if, what_if),
	GROUP(workload, rules, rules),
	GROUP(workload, job, job),
	LIST(workload, fit, reason, workload_reason, 256),
	END,
};

const char *workload_format_name(int format)
{
	return formats[format];
}
