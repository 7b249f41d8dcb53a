/* SPDX-License-Identifier: MIT */
/* Rules between the keys of a workload. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/error.h"

#include "replay/workload/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/transformer.h"
#include "replay/workload/workload.h"

#define SAMPLES_MOST 1e15
#define DATASET_MOST 1e18 /* bytes */
#define COLUMNS_MOST 1e6
#define DIRECT_BYTES 4096 /* a block of O_DIRECT, as its reader has it */
#define STATES_MOST 64
#define OBJECT_MOST 68719476736.0 /* bytes of an object of a cache */

int64_t workload_column_bytes(const struct workload_dataset *d)
{
	int64_t bytes = 0; /* the bounds of the keys keep it below 2^58 */

	for (uint32_t i = 0; i < d->columns_n; i++)
		bytes += d->columns[i].count * d->columns[i].bytes;
	return bytes;
}

static void check_columns(const struct workload_dataset *d,
			  struct workload_faults *f)
{
	double samples = (double)d->files * (double)d->samples_per_file;
	double columns = 0;
	int64_t bytes = workload_column_bytes(d);

	for (uint32_t i = 0; i < d->columns_n; i++)
		columns += (double)d->columns[i].count;
	if (columns > COLUMNS_MOST)
		workload_fault(f,
			       "dataset.columns: %.9g columns, more than %.9g",
			       columns, COLUMNS_MOST);
	if (samples * (double)bytes > DATASET_MOST)
		workload_fault(f,
			       "dataset.columns: %.3g bytes in all, more than "
			       "%.3g",
			       samples * (double)bytes, DATASET_MOST);
	if (d->columns_n && d->format != WORKLOAD_PARQUET &&
	    d->format != WORKLOAD_HDF5)
		workload_fault(f, "dataset.columns: only of hdf5 and parquet");
	for (uint32_t i = 0; i < d->columns_n; i++)
		if (d->columns[i].contiguous && d->format != WORKLOAD_HDF5)
			workload_fault(f,
				       "dataset.columns[%u].contiguous: only "
				       "of hdf5",
				       i);
	if (d->columns_n && d->sample_bytes.n &&
	    (quantiles_at(&d->sample_bytes, 0) != bytes ||
	     quantiles_at(&d->sample_bytes, 1) != bytes))
		workload_fault(f,
			       "dataset.sample_bytes: the columns of a sample "
			       "have %" PRId64 " bytes",
			       bytes);
}

/* No other format is compressed when it is made: never ignore the key. */
static bool is_compressed(int format)
{
	return format == WORKLOAD_CSV || format == WORKLOAD_HDF5 ||
	       format == WORKLOAD_NPZ || format == WORKLOAD_TAR ||
	       format == WORKLOAD_TFRECORD;
}

static void check_dataset(const struct workload *w, struct workload_faults *f)
{
	const struct workload_dataset *d = &w->dataset;
	double samples = (double)d->files * (double)d->samples_per_file;
	double bytes = samples * quantiles_mean(&d->sample_bytes);

	if (d->files && !d->sample_bytes.n && !d->columns_n)
		workload_fault(f, "dataset.sample_bytes: missing");
	if (samples > SAMPLES_MOST)
		workload_fault(f,
			       "dataset.samples_per_file: %.3g samples in "
			       "all, more than %.3g",
			       samples, SAMPLES_MOST);
	else if (bytes > DATASET_MOST)
		workload_fault(f,
			       "dataset.sample_bytes: %.3g bytes in all, more "
			       "than %.3g",
			       bytes, DATASET_MOST);
	else if (bytes * (1 + d->unread) > DATASET_MOST)
		workload_fault(f,
			       "dataset.unread: %.3g bytes in all, more than "
			       "%.3g",
			       bytes * (1 + d->unread), DATASET_MOST);
	if (d->series_bytes_n && d->sample_bytes.n < 2)
		workload_fault(f, "dataset.series_bytes: dataset.sample_bytes "
				  "has one size");
	if (!d->labels && d->format != WORKLOAD_NPZ &&
	    d->format != WORKLOAD_HDF5)
		workload_fault(f, "dataset.labels: only of npz and hdf5");
	if (d->unread > 0 && d->format != WORKLOAD_NPZ)
		workload_fault(f, "dataset.unread: only of npz");
	if (d->folders > d->files)
		workload_fault(f, "dataset.folders: more than files");
	check_columns(d, f);
	if (d->chunk_bytes && d->format != WORKLOAD_HDF5)
		workload_fault(f, "dataset.chunk_bytes: only of hdf5");
	if (d->chunk_samples > d->chunk_bytes)
		workload_fault(f, "dataset.chunk_samples: more than "
				  "dataset.chunk_bytes");
	if (d->chunk_samples && d->sample_bytes.n > 1)
		workload_fault(f, "dataset.chunk_samples: samples of several "
				  "sizes have chunks of their own");
	if (!d->compression && d->compression_level != WORKLOAD_LEVEL)
		workload_fault(f, "dataset.compression_level: "
				  "dataset.compression is none");
	if (d->compression && !is_compressed(d->format))
		workload_fault(f,
			       "dataset.compression: only of csv, hdf5, npz, "
			       "tar and tfrecord");
}

/* From each state a read of some bytes must follow, or a chain would not end. */
static void check_chain_ends(const struct workload_access *a,
			     struct workload_faults *f)
{
	bool reads[STATES_MOST] = {false};
	bool more = true;

	for (uint32_t i = 0; i < a->chain_n; i++)
		reads[i] = a->chain[i].bytes > 0 || a->chain[i].to_end;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < a->chain_n; i++)
			for (uint32_t j = 0; !reads[i] && j < a->chain_n; j++)
				if (a->chain[i].next[j] > 0 && reads[j])
					reads[i] = more = true;
	}
	for (uint32_t i = 0; i < a->chain_n; i++)
		if (!reads[i])
			workload_fault(f,
				       "access.chain[%u]: it and the states "
				       "after it read no bytes",
				       i);
}

/* Places in the file are those of its one sample. */
static void check_chain_places(const struct workload *w,
			       struct workload_faults *f)
{
	const struct workload_access *a = &w->access;

	for (uint32_t i = 0; i < a->chain_n; i++)
		if ((a->chain[i].from || a->chain[i].to_end) &&
		    w->dataset.samples_per_file > 1)
			workload_fault(f,
				       "access.chain[%u]: from and to_end are "
				       "only of files of one sample",
				       i);
}

static void check_access(const struct workload *w, struct workload_faults *f)
{
	const struct workload_access *a = &w->access;
	bool whole = true; /* each state has as many successors as states */

	if (a->collective && a->api != WORKLOAD_MPIIO)
		workload_fault(f, "access.collective: only of mpiio");
	if ((a->member_opens > 1 || !a->read_end) &&
	    (w->dataset.format != WORKLOAD_NPZ || a->chain_n ||
	     a->api != WORKLOAD_POSIX))
		workload_fault(f, "access.member_opens, access.read_end: only "
				  "of npz, by its own reader");
	if (a->reopen && a->open_files > 1)
		workload_fault(f, "access.open_files: with access.reopen no "
				  "file stays open");
	if (a->reopen_arrays && (w->dataset.format != WORKLOAD_HDF5 ||
				 a->chain_n || a->api != WORKLOAD_POSIX))
		workload_fault(f, "access.reopen_arrays: only of hdf5, by its "
				  "own reader");
	if (a->slice_samples > 1 &&
	    (w->dataset.format != WORKLOAD_HDF5 || a->chain_n ||
	     a->api != WORKLOAD_POSIX || w->dataset.sample_bytes.n > 1))
		workload_fault(f, "access.slice_samples: only of hdf5 with "
				  "samples of one size, by its own reader");
	if (a->reopen && a->api == WORKLOAD_MPIIO)
		workload_fault(f, "access.reopen: not with access.api mpiio");
	if (a->looks && a->api == WORKLOAD_MPIIO)
		workload_fault(f, "access.looks: not with access.api mpiio");
	if (a->direct && a->transfer_bytes % DIRECT_BYTES)
		workload_fault(f,
			       "access.transfer_bytes: %" PRId64
			       " is no multiple of %d, which direct needs",
			       a->transfer_bytes, DIRECT_BYTES);
	check_chain_places(w, f);
	for (uint32_t i = 0; i < a->chain_n; i++) {
		double sum = 0;

		whole = whole && a->chain[i].next_n == a->chain_n;

		for (uint32_t j = 0; j < a->chain[i].next_n; j++)
			sum += a->chain[i].next[j];
		if (a->chain[i].next_n != a->chain_n)
			workload_fault(f,
				       "access.chain[%u].next: not one value "
				       "for each state",
				       i);
		else if (fabs(sum - 1) > 1e-6)
			workload_fault(f,
				       "access.chain[%u].next: the sum is "
				       "%.9g, not 1",
				       i, sum);
	}
	if (whole)
		check_chain_ends(a, f);
}

static void check_checkpoint_file(const struct workload_checkpoint_file *file,
				  uint32_t i, struct workload_faults *f)
{
	const struct quantiles *w = &file->write_bytes;
	const struct quantiles *t = &file->tensor_bytes;
	double tensors = t->n ? (double)file->bytes / quantiles_mean(t) : 1;

	if (w->n && w->value[0] < 1)
		workload_fault(
			f, "checkpoint.files[%u].write_bytes: less than 1", i);
	if (w->n && file->layout != WORKLOAD_PLAIN_FILE)
		workload_fault(f,
			       "checkpoint.files[%u].write_bytes: only of "
			       "plain; a layout has writes of its own",
			       i);
	if (t->n && file->layout == WORKLOAD_PLAIN_FILE)
		workload_fault(f,
			       "checkpoint.files[%u].tensor_bytes: only of "
			       "torch and tensorflow",
			       i);
	if ((file->archive[0] || file->pickle_bytes || file->directory_bytes ||
	     file->release || file->stream) &&
	    file->layout != WORKLOAD_TORCH)
		workload_fault(f,
			       "checkpoint.files[%u]: archive, "
			       "pickle_bytes, directory_bytes, release and "
			       "stream are only of torch",
			       i);
	if (file->series_bytes_n && (t->n || w->n))
		workload_fault(f,
			       "checkpoint.files[%u].series_bytes: only "
			       "without tensor_bytes and write_bytes",
			       i);
	if (t->n && t->value[0] < 1)
		workload_fault(
			f, "checkpoint.files[%u].tensor_bytes: less than 1", i);
	else if (tensors > WORKLOAD_TENSORS)
		workload_fault(f,
			       "checkpoint.files[%u].tensor_bytes: %.3g "
			       "tensors, more than %d",
			       i, tensors, WORKLOAD_TENSORS);
	if (file->rename && file->layout == WORKLOAD_TENSORFLOW)
		workload_fault(f,
			       "checkpoint.files[%u].rename: tensorflow always "
			       "renames; leave it out",
			       i);
}

static void check_transformer(const struct workload_transformer *t,
			      struct workload_faults *f)
{
	if (!t->layers) {
		if (t->hidden || t->feed_forward || t->vocabulary)
			workload_fault(f,
				       "checkpoint.transformer.layers: 0, and "
				       "sizes are given");
		return;
	}
	if (!t->hidden)
		workload_fault(f, "checkpoint.transformer.hidden: missing");
	if (!t->feed_forward)
		workload_fault(f,
			       "checkpoint.transformer.feed_forward: missing");
	if (!t->vocabulary)
		workload_fault(f, "checkpoint.transformer.vocabulary: missing");
	if (t->key_value > t->hidden)
		workload_fault(f, "checkpoint.transformer.key_value: more than "
				  "hidden");
	if (t->pipeline > t->layers)
		workload_fault(f, "checkpoint.transformer.pipeline: more than "
				  "layers");
	if (t->optimizer_bytes % 3)
		workload_fault(f, "checkpoint.transformer.optimizer_bytes: no "
				  "multiple of 3: a copy and two moments");
	if ((double)transformer_parameters(t) > DATASET_MOST / 64)
		workload_fault(f,
			       "checkpoint.transformer: %.3g parameters, more "
			       "than %.3g",
			       (double)transformer_parameters(t),
			       DATASET_MOST / 64);
}

static void check_pipeline(const struct workload *w, struct workload_faults *f)
{
	const struct workload_pipeline *p = &w->pipeline;

	if (!p->readers && p->start_ns)
		workload_fault(f, "pipeline.start_ns: there are no readers");
	if (!p->readers && p->start_once)
		workload_fault(f, "pipeline.start_once: there are no readers");
	if (!p->readers && p->take_ns.n)
		workload_fault(f, "pipeline.take_ns: there are no readers");
	if ((double)w->dataset.files * (double)w->dataset.samples_per_file *
		    (double)p->repeats >
	    SAMPLES_MOST)
		workload_fault(f,
			       "pipeline.repeats: more than %.3g samples in an "
			       "epoch",
			       SAMPLES_MOST);
	if (p->in_memory && w->access.collective)
		workload_fault(f, "pipeline.in_memory: not with "
				  "access.collective");
}

static void check_checkpoint(const struct workload *w,
			     struct workload_faults *f)
{
	const struct workload_checkpoint *c = &w->checkpoint;
	bool made = c->every_steps || c->every_epochs || c->writes;
	bool given = c->files_n || c->transformer.layers;

	if (made && !given)
		workload_fault(f, "checkpoint.files: missing");
	if (given && !made)
		workload_fault(f, "checkpoint: none of every_steps, "
				  "every_epochs and writes is given");
	if (c->background && !c->every_steps && !c->every_epochs)
		workload_fault(f, "checkpoint.background: only with "
				  "every_steps or every_epochs");
	if (c->reads > c->writes)
		workload_fault(f, "checkpoint.reads: more than writes");
	else if (c->keep && c->reads > c->keep)
		workload_fault(f, "checkpoint.reads: more than keep leaves");
	for (uint32_t i = 0; i < c->files_n; i++)
		check_checkpoint_file(&c->files[i], i, f);
	check_transformer(&c->transformer, f);
}

/* It makes its own objects, by its own calls. */
static void check_kvcache_alone(const struct workload *w,
				struct workload_faults *f)
{
	const struct workload_access *a = &w->access;

	if (w->epochs)
		workload_fault(f, "epochs: with kvcache.users it is 0");
	if (w->dataset.files)
		workload_fault(f, "dataset.files: with kvcache.users it is 0");
	if (w->checkpoint.writes)
		workload_fault(f, "checkpoint.writes: with kvcache.users it "
				  "is 0");
	if (a->direct || a->chain_n || a->api != WORKLOAD_POSIX)
		workload_fault(f, "access: objects of kvcache are read as "
				  "np.load() does; no direct, api, chain");
	if (w->cache != WORKLOAD_AS_IS)
		workload_fault(f, "cache: kvcache.drop_cache says it");
}

static void check_kvcache(const struct workload *w, struct workload_faults *f)
{
	const struct workload_kvcache *k = &w->kvcache;
	const struct quantiles *tokens = &k->context_tokens;
	double most = tokens->n ? (double)tokens->value[tokens->n - 1] *
					  (double)k->bytes_per_token
				: 0;

	if (!k->users) {
		if (k->in_flight || tokens->n)
			workload_fault(f, "kvcache.users: 0, and other keys "
					  "are given");
		return;
	}
	if (!tokens->n)
		workload_fault(f, "kvcache.context_tokens: missing");
	else if (tokens->value[0] < 1)
		workload_fault(f, "kvcache.context_tokens: less than 1");
	if (most > OBJECT_MOST)
		workload_fault(f,
			       "kvcache.context_tokens: an object of %.3g "
			       "bytes, more than %.3g",
			       most, OBJECT_MOST);
	else if (k->capacity_bytes && most > (double)k->capacity_bytes)
		workload_fault(f,
			       "kvcache.capacity_bytes: less than the largest "
			       "object, %.0f bytes",
			       most);
	check_kvcache_alone(w, f);
}

void workload_check_values(const struct workload *w, struct workload_faults *f)
{
	check_dataset(w, f);
	check_access(w, f);
	check_pipeline(w, f);
	check_checkpoint(w, f);
	check_kvcache(w, f);
	if (strcmp(w->schema, WORKLOAD_SCHEMA))
		workload_fault(f, "schema: not \"%s\"", WORKLOAD_SCHEMA);
	if (!w->name[0])
		workload_fault(f, "name: missing");
	if (!w->dataset.prefix[0])
		workload_fault(f, "dataset.prefix: empty");
	if (w->epochs && !w->dataset.files)
		workload_fault(f,
			       "dataset.files: 0, and epochs are to be read");
	if (!w->epochs && !w->checkpoint.writes && !w->kvcache.users)
		workload_fault(f, "epochs: 0, and checkpoint.writes and "
				  "kvcache.users too: nothing to do");
	if (workload_evaluates(w) && !w->evaluation.files)
		workload_fault(f, "evaluation.files: 0");
	if (w->evaluation.sample_bytes.n && w->dataset.columns_n)
		workload_fault(f, "evaluation.sample_bytes: the columns of a "
				  "sample are those of the data set");
	if ((double)w->evaluation.files *
		    (double)w->evaluation.samples_per_file *
		    quantiles_mean(&w->evaluation.sample_bytes) >
	    DATASET_MOST)
		workload_fault(f,
			       "evaluation.sample_bytes: more than %.3g bytes "
			       "in all",
			       DATASET_MOST);
}

int workload_check(const struct workload *w, struct reel_buf *faults,
		   struct reel_error *err)
{
	struct workload_faults f = {.all = faults};

	workload_check_values(w, &f);
	return workload_faults_end(&f, "the workload", err);
}
