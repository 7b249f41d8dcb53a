/* SPDX-License-Identifier: MIT */
/* A workload as YAML for DLIO. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/workload/distribution.h"
#include "replay/workload/dlio.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

struct writing {
	const struct workload *w;
	struct reel_buf lost, body; /* comments; keys */
	struct reel_error *err;
	int rc;
};

static void put(struct writing *to, struct reel_buf *b, const char *prefix,
		const char *fmt, va_list ap)
{
	char line[512];

	vsnprintf(line, sizeof(line), fmt, ap);
	if (reel_buf_printf(b, to->err, "%s%s\n", prefix, line))
		to->rc = -1;
}

/* A comment at the head. */
static void lost(struct writing *to, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void lost(struct writing *to, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(to, &to->lost, "# - ", fmt, ap);
	va_end(ap);
}

static void line(struct writing *to, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void line(struct writing *to, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(to, &to->body, "", fmt, ap);
	va_end(ap);
}

static const char *yes(bool v)
{
	return v ? "True" : "False";
}

/* --- times ---------------------------------------------------------------- */

static void put_distribution(struct writing *to, const char *key,
			     const struct distribution *d)
{
	switch (d->kind) {
	case DISTRIBUTION_UNIFORM:
		line(to, "  %s: {type: uniform, min: %.9f, max: %.9f}", key,
		     d->a, d->b);
		break;
	case DISTRIBUTION_GAMMA:
		line(to, "  %s: {type: gamma, shape: %.9f, scale: %.12f}", key,
		     d->a, d->b);
		break;
	case DISTRIBUTION_EXPONENTIAL:
		line(to, "  %s: {type: exponential, scale: %.9f}", key, d->a);
		break;
	default:
		line(to, "  %s: {type: normal, mean: %.9f, stdev: %.9f}", key,
		     d->a, d->b);
	}
}

/* The type whose distribution function is nearest. */
static void put_time(struct writing *to, const char *key,
		     const struct quantiles *q)
{
	double mean, stdev, best = INFINITY;
	struct distribution is[4], *nearest = is;

	if (!q->n)
		return;
	quantiles_moments(q, &mean, &stdev);
	mean /= 1e9;
	stdev /= 1e9;
	if (!(stdev > 0)) {
		line(to, "  %s: %.9f", key, mean);
		return;
	}
	is[0] = (struct distribution){DISTRIBUTION_FOLDED, mean, stdev};
	is[1] = (struct distribution){DISTRIBUTION_UNIFORM,
				      fmax(0, mean - stdev * sqrt(3)),
				      mean + stdev * sqrt(3)};
	is[2] = (struct distribution){DISTRIBUTION_GAMMA,
				      mean * mean / (stdev * stdev),
				      stdev * stdev / mean};
	is[3] = (struct distribution){DISTRIBUTION_EXPONENTIAL, mean, 0};
	for (int i = 0; i < 4; i++) {
		double ks = distribution_distance(&is[i], q, 1e9);

		if (ks < best) {
			best = ks;
			nearest = &is[i];
		}
	}
	lost(to,
	     "%s: the nearest type of DLIO; the distribution functions differ "
	     "by %.3f (KS). 2.0.0 reads no map here, but the mean and "
	     "%s_stdev: %.9f and %.9f",
	     key, best, key, mean, stdev);
	put_distribution(to, key, nearest);
}

/* --- groups --------------------------------------------------------------- */

static const char *const formats[WORKLOAD_FORMATS] = {
	[WORKLOAD_INDEXED] = "indexed_binary",
	[WORKLOAD_TFRECORD] = "tfrecord",
	[WORKLOAD_NPY] = "npy",
	[WORKLOAD_NPZ] = "npz",
	[WORKLOAD_HDF5] = "hdf5",
	[WORKLOAD_CSV] = "csv",
	[WORKLOAD_JPEG] = "jpeg",
	[WORKLOAD_PNG] = "png",
	[WORKLOAD_PARQUET] = "parquet",
};

/* The one format that DLIO maps. */
static bool maps(const struct workload *w)
{
	return w->access.api == WORKLOAD_MMAP &&
	       w->dataset.format == WORKLOAD_INDEXED;
}

/* Each key under both of its names: a loader ignores the one it does not know. */
static void put_sizes(struct writing *to)
{
	const struct quantiles *q = &to->w->dataset.sample_bytes;
	double mean, stdev;

	distribution_moments(q, &mean, &stdev);
	line(to, "  record_length_bytes: %.0f", round(mean));
	line(to, "  record_length: %.0f  # the name in 2.0.0", round(mean));
	if (!(stdev > 0))
		return;
	line(to, "  record_length_bytes_stdev: %.0f", round(stdev * sqrt(2)));
	line(to, "  record_length_stdev: %.0f", round(stdev * sqrt(2)));
	lost(to,
	     "dataset.sample_bytes: only the mean and the standard deviation "
	     "of a normal distribution. DLIO's files have 0.71 of the given "
	     "deviation: it is sqrt 2 times %.0f",
	     round(stdev));
}

/* Only MLPerf Storage's DLIO has it. A value of a column of bytes has its size. */
static void put_parquet(struct writing *to)
{
	const struct workload_dataset *d = &to->w->dataset;
	int64_t number = 0;

	line(to, "  parquet:");
	line(to, "    row_group_size: %" PRId64, d->row_group_rows);
	if (d->columns_n)
		line(to, "    columns:");
	for (uint32_t i = 0; i < d->columns_n; i++) {
		const struct workload_column *c = &d->columns[i];

		for (int64_t k = 0; k < c->count; k++)
			line(to,
			     "    - {name: c%" PRId64
			     ", dtype: uint8, size: %" PRId64 ", read: %s}",
			     number++, c->bytes, yes(c->read));
	}
	lost(to,
	     "dataset.format: DLIO 2 has no parquet, that of MLPerf Storage "
	     "has");
}

static void put_dataset(struct writing *to)
{
	const struct workload *w = to->w;
	const struct workload_dataset *d = &w->dataset;

	line(to, "dataset:");
	line(to, "  data_folder: data/%s", w->name);
	if (w->epochs)
		line(to, "  format: %s%s", maps(to->w) ? "mmap_" : "",
		     formats[d->format]);
	line(to, "  num_files_train: %" PRId64, d->files);
	line(to, "  num_samples_per_file: %" PRId64, d->samples_per_file);
	line(to, "  file_prefix: \"%s\"", d->prefix);
	if (d->folders)
		line(to, "  num_subfolders_train: %" PRId64, d->folders);
	if (workload_evaluates(w))
		line(to, "  num_files_eval: %" PRId64, w->evaluation.files);
	if (workload_evaluates(w) && d->folders)
		line(to, "  num_subfolders_eval: %" PRId64, d->folders);
	if (d->sample_bytes.n)
		put_sizes(to);
	if (d->format == WORKLOAD_PARQUET)
		put_parquet(to);
	if (d->compression && d->format != WORKLOAD_HDF5)
		lost(to, "dataset.compression: DLIO compresses hdf5 alone");
	else if (d->compression) {
		line(to, "  compression: gzip");
		line(to, "  compression_level: %" PRId64, d->compression_level);
	}
	if (d->chunk_bytes) {
		line(to, "  enable_chunking: True");
		line(to, "  chunk_size: %" PRId64, d->chunk_bytes);
		lost(to,
		     "dataset.chunk_bytes: DLIO reads only hdf5.chunk_dims, "
		     "whose shape depends on the size of each file");
	}
	if (d->chunk_samples)
		lost(to,
		     "dataset.chunk_samples: DLIO's chunks are parts of one "
		     "sample, or whole ones");
	if (d->columns_n && d->format == WORKLOAD_HDF5)
		lost(to, "dataset.columns: one array of whole samples");
	if (d->compressibility > 0)
		lost(to, "dataset.compressibility %.3g: DLIO's data is random",
		     d->compressibility);
	if (d->unread > 0)
		lost(to, "dataset.unread: DLIO reads all of an archive");
	if (workload_evaluates(w) &&
	    w->evaluation.samples_per_file != d->samples_per_file)
		lost(to, "evaluation.samples_per_file: that of the data set");
	if (workload_evaluates(w) && w->evaluation.sample_bytes.n)
		lost(to, "evaluation.sample_bytes: that of the data set");
}

static void put_reader(struct writing *to)
{
	const struct workload_pipeline *p = &to->w->pipeline;
	bool torch = p->unit == WORKLOAD_PROCESS;
	int64_t all = p->prefetch * (p->readers > 1 ? p->readers : 1);

	line(to, "reader:");
	line(to, "  data_loader: %s", torch ? "pytorch" : "tensorflow");
	line(to, "  batch_size: %" PRId64, p->batch);
	line(to, "  read_threads: %" PRId64, p->readers);
	line(to, "  prefetch_size: %" PRId64, all);
	if (p->order == WORKLOAD_SHUFFLE)
		line(to, "  file_shuffle: seed");
	if (p->order != WORKLOAD_SEQUENTIAL)
		line(to, "  sample_shuffle: seed");
	if (p->order == WORKLOAD_WINDOW)
		line(to, "  shuffle_size: %" PRId64, p->window);
	if (p->block > 1)
		lost(to, "pipeline.block: single samples are shuffled");
	if (p->repeats > 1)
		lost(to, "pipeline.repeats: DLIO reads a sample once an epoch");
	if (p->in_memory)
		lost(to, "pipeline.in_memory: DLIO reads the data set in each "
			 "epoch");
	if (torch && p->order != WORKLOAD_SEQUENTIAL)
		lost(to, "pipeline.order: the PyTorch loader of DLIO reads in "
			 "order, with these keys too");
	if (workload_evaluates(to->w))
		line(to, "  batch_size_eval: %" PRId64,
		     to->w->evaluation.batch);
	if (to->w->access.transfer_bytes)
		line(to, "  transfer_size: %" PRId64,
		     to->w->access.transfer_bytes);
	if (to->w->access.transfer_bytes && torch)
		lost(to, "access.transfer_bytes: DLIO reads this key with "
			 "TensorFlow only");
	if (to->w->access.direct)
		line(to, "  odirect: True");
	put_time(to, "preprocess_time", &to->w->preprocess.sample_ns);
}

static void put_train(struct writing *to)
{
	const struct workload *w = to->w;
	int64_t every =
		w->evaluation.every_epochs ? w->evaluation.every_epochs : 1;

	line(to, "train:");
	line(to, "  epochs: %" PRId64, w->epochs);
	if (w->total_steps)
		line(to, "  total_training_steps: %" PRId64, w->total_steps);
	line(to, "  seed: %" PRId64, w->pipeline.seed);
	line(to, "  seed_change_epoch: %s", yes(w->pipeline.reshuffle));
	put_time(to, "computation_time", &w->compute.step_ns);
	if (!workload_evaluates(w))
		return;
	if (w->evaluation.every_steps)
		lost(to,
		     "evaluation.every_steps %" PRId64
		     ": DLIO evaluates at ends of epochs",
		     w->evaluation.every_steps);
	line(to, "evaluation:");
	line(to, "  epochs_between_evals: %" PRId64, every);
	line(to, "  eval_after_epoch: %" PRId64, every);
	put_time(to, "eval_time", &w->evaluation.step_ns);
}

static const char *number_type(int64_t bytes)
{
	return bytes == 1   ? "int8"
	       : bytes == 2 ? "fp16"
	       : bytes == 4 ? "fp32"
	       : bytes == 8 ? "fp64"
			    : NULL;
}

/* DLIO has heads instead of the width of keys and values: the widest heads do. */
static void put_transformer(struct writing *to)
{
	const struct workload_transformer *t = &to->w->checkpoint.transformer;
	int64_t kv = t->key_value ? t->key_value : t->hidden, width;
	const char *type = number_type(t->parameter_bytes);
	const char *optimizer = number_type(t->optimizer_bytes / 3);

	if (!t->layers)
		return;
	width = workload_common_divisor(t->hidden, kv);
	if (width < 1) /* a hidden size of 0 */
		width = 1;
	line(to, "  type: transformer");
	line(to, "  num_layers: %" PRId64, t->layers);
	line(to,
	     "  transformer: {hidden_size: %" PRId64
	     ", ffn_hidden_size: %" PRId64 ", vocab_size: %" PRId64
	     ", num_attention_heads: %" PRId64 ", num_kv_heads: %" PRId64 "}",
	     t->hidden, t->feed_forward, t->vocabulary, t->hidden / width,
	     kv / width);
	line(to,
	     "  parallelism: {tensor: %" PRId64 ", pipeline: %" PRId64
	     ", zero_stage: %" PRId64 "}",
	     t->tensor, t->pipeline, t->zero);
	if (type)
		line(to, "  model_datatype: %s", type);
	if (optimizer)
		line(to, "  optimizer_datatype: %s", optimizer);
	if (!type || !optimizer)
		lost(to,
		     "checkpoint.transformer: %" PRId64 " and %" PRId64
		     " bytes a parameter",
		     t->parameter_bytes, t->optimizer_bytes);
}

/* The files of rank 0 or of all ranks as one, shards as groups of tensors. */
static void put_model(struct writing *to)
{
	const struct workload_checkpoint *c = &to->w->checkpoint;
	int64_t ranks = to->w->ranks ? to->w->ranks : 1, bytes = 0;
	bool all = false, shards = false;

	for (uint32_t i = 0; i < c->files_n; i++) {
		const struct workload_checkpoint_file *f = &c->files[i];

		if (f->owner == WORKLOAD_SHARD) {
			shards = true;
			continue;
		}
		bytes += f->bytes * f->count;
		all = all || f->owner == WORKLOAD_ALL;
	}
	line(to, "model:");
	line(to, "  name: \"%s\"", to->w->name);
	if (bytes)
		line(to, "  model_size_bytes: %" PRId64, bytes);
	if (ranks > 1 && !c->transformer.layers)
		line(to, "  parallelism: {tensor: %" PRId64 "}", ranks);
	if (shards) {
		line(to, "  optimization_groups:  # float32, of each rank");
		for (uint32_t i = 0; i < c->files_n; i++)
			if (c->files[i].owner == WORKLOAD_SHARD)
				line(to, "  - %" PRId64,
				     c->files[i].bytes * c->files[i].count /
					     ranks / 4);
	}
	put_transformer(to);
	if (!bytes && !c->transformer.layers)
		lost(to, "checkpoint.files: DLIO adds a file of 10,240 bytes");
	if (c->files_n > 1 && bytes)
		lost(to, "checkpoint.files: those of one owner are one file");
	line(to, "checkpoint:");
	if (bytes) {
		line(to, "  model_size: %" PRId64 "  # the name in 2.0.0",
		     bytes);
		line(to, "  type: %s", all ? "all_ranks" : "rank_zero");
	}
}

static void put_checkpoint(struct writing *to)
{
	const struct workload_checkpoint *c = &to->w->checkpoint;
	bool fsync = c->transformer.layers && c->transformer.fsync;
	bool more = c->keep > 0;

	put_model(to);
	for (uint32_t i = 0; i < c->files_n; i++) {
		if (c->files[i].share < 1)
			lost(to,
			     "checkpoint.files[].share: DLIO writes all files "
			     "of each checkpoint");
		fsync = fsync || c->files[i].fsync;
		more = more || c->files[i].rename ||
		       c->files[i].write_bytes.n ||
		       (c->files[i].layout == WORKLOAD_PLAIN_FILE &&
			c->files[i].series_bytes_n);
	}
	line(to, "  checkpoint_folder: checkpoints/%s", to->w->name);
	if (c->every_steps)
		line(to, "  steps_between_checkpoints: %" PRId64,
		     c->every_steps);
	if (c->every_epochs) {
		line(to, "  epochs_between_checkpoints: %" PRId64,
		     c->every_epochs);
		line(to, "  checkpoint_after_epoch: %" PRId64, c->every_epochs);
	}
	if (c->writes) {
		line(to, "  num_checkpoints_write: %" PRId64, c->writes);
		line(to, "  num_checkpoints_read: %" PRId64, c->reads);
		line(to, "  time_between_checkpoints: %.9f",
		     (double)c->pause_ns / 1e9);
	}
	if (c->background)
		lost(to, "checkpoint.background: DLIO's steps wait for them");
	if (c->after_evaluation)
		lost(to, "checkpoint.after_evaluation: DLIO has no such key");
	if (c->work_ns)
		lost(to, "checkpoint.work_ns: DLIO's ranks write at once");
	line(to, "  fsync: %s", yes(fsync));
	if (fsync)
		lost(to, "checkpoint.files: DLIO never calls fsync, with this "
			 "key too");
	if (more)
		lost(to, "checkpoint.files: write sizes, renames and the "
			 "removal of old checkpoints");
}

/* Keys without any counterpart. */
static void put_lost(struct writing *to)
{
	const struct workload *w = to->w;

	if (!w->pipeline.drop_last && w->epochs)
		lost(to, "pipeline.drop_last false: DLIO drops the last batch");
	if (w->pipeline.sharded)
		lost(to, "pipeline.sharded: a reader reads files of its own");
	if (w->steps_per_epoch)
		lost(to, "steps_per_epoch %" PRId64, w->steps_per_epoch);
	if (w->access.chain_n)
		lost(to, "access.chain: sizes and strides of single reads");
	if (w->access.api == WORKLOAD_MPIIO)
		lost(to, "access.api mpiio: DLIO reads with POSIX calls");
	if (w->access.api == WORKLOAD_MMAP)
		lost(to, "access.api mmap: %s",
		     maps(w) ? "DLIO maps these files and reads none of their "
			       "data"
			     : "DLIO maps indexed binary alone");
	if (w->access.open_files > 1)
		lost(to, "access.open_files: DLIO opens a file a sample");
	if (w->access.reopen_arrays)
		lost(to, "access.reopen_arrays: DLIO reads a file at once");
	if (w->access.slice_samples > 1)
		lost(to, "access.slice_samples: DLIO reads a file at once");
	if (w->access.reopen)
		lost(to, "access.reopen: DLIO opens a file once to read it");
	if (w->access.looks)
		lost(to, "access.looks: DLIO opens a file once to read it");
	if (w->access.member_opens > 1 || !w->access.read_end)
		lost(to,
		     "access.member_opens, access.read_end: DLIO reads with "
		     "its own NumPy and Python");
	if (w->pipeline.start_ns || w->pipeline.take_ns.n)
		lost(to, "pipeline.start_ns, pipeline.take_ns: times of the "
			 "framework");
	if (w->dataset.series_bytes_n)
		lost(to, "dataset.series_bytes: the order of the sizes");
	if (w->compute.series_ns_n)
		lost(to, "compute.series_ns: the order of the step times");
	if (w->compute.on != WORKLOAD_SLEEP ||
	    w->preprocess.on != WORKLOAD_SLEEP)
		lost(to, "compute.on, preprocess.on cpu: DLIO sleeps");
	if (w->synchronise.kind != WORKLOAD_BARRIER)
		lost(to, "synchronise.kind: DLIO has a barrier a step");
	if (w->cache != WORKLOAD_AS_IS)
		lost(to, "cache: the state of the page cache");
	if (w->kvcache.users)
		lost(to, "kvcache: DLIO has no users and objects");
	if (w->what_if.compute_scale != 1 || w->what_if.preprocess_scale != 1)
		lost(to, "what_if: scales of times");
	if (w->rules.accelerator_memory_bytes)
		lost(to, "rules.accelerator_memory_bytes %" PRId64,
		     w->rules.accelerator_memory_bytes);
}

/*
 * A fit of unknown files gives `raw`, so the message names the key and its values.
 */
static int fail_format(int format, struct reel_error *err)
{
	char names[128] = "";
	size_t len = 0;

	for (int i = 0; i < WORKLOAD_FORMATS && len < sizeof(names); i++)
		if (formats[i])
			len += (size_t)snprintf(
				names + len, sizeof(names) - len, "%s%s",
				len ? ", " : "", workload_format_name(i));
	return reel_fail(err, REEL_E_USAGE,
			 "export for DLIO writes no format '%s': set "
			 "dataset.format to one of %s",
			 workload_format_name(format), names);
}

int dlio_export(const struct workload *w, struct reel_buf *out,
		struct reel_error *err)
{
	struct writing to = {.w = w, .err = err};
	bool checkpoints =
		w->checkpoint.files_n || w->checkpoint.transformer.layers;
	double mean, stdev;

	if (w->epochs && !formats[w->dataset.format])
		return fail_format(w->dataset.format, err);
	line(&to, "framework: %s",
	     w->pipeline.unit == WORKLOAD_PROCESS ? "pytorch" : "tensorflow");
	line(&to, "workflow:");
	line(&to, "  generate_data: True");
	line(&to, "  train: %s", yes(w->epochs > 0));
	line(&to, "  evaluation: %s", yes(workload_evaluates(w)));
	line(&to, "  checkpoint: %s", yes(checkpoints));
	if (w->epochs) {
		put_dataset(&to);
		put_reader(&to);
		put_train(&to);
	}
	if (checkpoints)
		put_checkpoint(&to);
	else
		line(&to, "model:\n  name: \"%s\"", w->name);
	if (w->rules.au_percent > 0)
		line(&to, "metric:\n  au: %.6g", w->rules.au_percent / 100);
	distribution_moments(&w->dataset.sample_bytes, &mean, &stdev);
	if (w->epochs && stdev > 0)
		line(&to,
		     "ioreel:  # DLIO ignores this group\n"
		     "  record_stdev_bytes: %.0f",
		     round(stdev));
	put_lost(&to);
	if (!to.rc)
		to.rc = reel_buf_printf(
			out, err, "# %s, for DLIO.%s\n%s%s", w->name,
			to.lost.len ? " It cannot hold:" : "",
			reel_buf_text(&to.lost), reel_buf_text(&to.body));
	reel_buf_fini(&to.lost);
	reel_buf_fini(&to.body);
	return to.rc ? -1 : 0;
}
