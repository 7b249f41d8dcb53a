/* SPDX-License-Identifier: MIT */
/* A workload from DLIO's YAML. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/workload/dlio.h"
#include "replay/workload/dlio_internal.h"
#include "replay/workload/workload.h"

int dlio_set(struct dlio *d, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int n;

	if (d->failed)
		return -1;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < (int)sizeof(text)) {
		struct reel_error why = {0};

		if (!workload_set(d->w, text, &why))
			return 0;
		reel_fail(d->err, REEL_E_FORMAT, "'%s': %s", d->path, why.text);
	} else {
		reel_fail(d->err, REEL_E_FORMAT, "'%s': a value is too long",
			  d->path);
	}
	d->failed = true;
	return -1;
}

/* A key of DLIO that is a number here too. */
static const struct {
	const char *from, *to;
	double initial; /* DLIO's default */
} numbers[] = {
	{"dataset.num_files_train", "dataset.files", 8},
	{"dataset.num_samples_per_file", "dataset.samples_per_file", 1},
	{"dataset.num_subfolders_train", "dataset.folders", 0},
	{"dataset.num_samples_per_file", "evaluation.samples_per_file", 1},
	{"dataset.num_files_eval", "evaluation.files", 0},
	{"reader.batch_size", "pipeline.batch", 1},
	{"reader.batch_size_eval", "evaluation.batch", 1},
	{"reader.read_threads", "pipeline.readers", 1},
	{"reader.transfer_size", "access.transfer_bytes", 0},
	{"train.epochs", "epochs", 1},
	{"train.seed", "pipeline.seed", 123},
};

static int set_numbers(struct dlio *d)
{
	double steps = dlio_number(d, "train.total_training_steps", -1);
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(numbers) / sizeof(*numbers); i++)
		rc = dlio_set(
			d, "%s=%.16g", numbers[i].to,
			dlio_number(d, numbers[i].from, numbers[i].initial));
	if (!rc && steps > 0)
		rc = dlio_set(d, "total_steps=%.16g", steps);
	return rc || d->failed ? -1 : 0;
}

/* Characters that a name cannot have become '-'. */
static int set_name(struct dlio *d)
{
	const char *slash = strrchr(d->path, '/');
	const char *name = slash ? slash + 1 : d->path;
	char to[WORKLOAD_NAME];
	size_t n = 0;

	name = dlio_word(d, "model.name", name);
	for (; *name && n + 1 < sizeof(to); name++)
		to[n++] = isalnum((unsigned char)*name) || strchr("-_.", *name)
				  ? *name
				  : '-';
	to[n] = 0;
	return dlio_set(d, "name=\"%s\"", to);
}

/* --- data set ------------------------------------------------------------- */

static const struct {
	const char *from, *to, *note;
} formats[] = {
	{"tfrecord", "tfrecord", NULL},
	{"hdf5", "hdf5", NULL},
	{"hdf5_opt", "hdf5", "read as hdf5"},
	{"csv", "csv", NULL},
	{"npz", "npz", NULL},
	{"npy", "npy", NULL},
	{"jpeg", "jpeg", NULL},
	{"png", "png", NULL},
	{"indexed_binary", "indexed", NULL},
	{"parquet", "parquet", NULL},
	{"mmap_indexed_binary", "indexed",
	 "DLIO maps these files and reads none of their data; here each page "
	 "of a sample is read"},
	{"synthetic", "raw", "DLIO reads no file; the same here is run --null"},
};

static int set_format(struct dlio *d)
{
	const char *is = dlio_word(d, "dataset.format", "tfrecord");

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (strcmp(is, formats[i].from))
			continue;
		if (formats[i].note)
			dlio_note(d, "dataset.format %s: %s", is,
				  formats[i].note);
		if (!strcmp(is, "mmap_indexed_binary") &&
		    dlio_set(d, "access.api=mmap"))
			return -1;
		return dlio_set(d, "dataset.format=%s", formats[i].to);
	}
	return dlio_fail(d, yaml_scalar_of(&d->yaml, "dataset.format"),
			 "no format of DLIO");
}

static double element_bytes(const char *type)
{
	return strstr(type, "64")   ? 8
	       : strstr(type, "32") ? 4
	       : strstr(type, "16") ? 2
				    : 1;
}

static int set_sizes(struct dlio *d)
{
	double mean = dlio_number(d, "dataset.record_length_bytes", 65536);
	double stdev = dlio_number(d, "dataset.record_length_bytes_stdev", 0);
	double asked = dlio_number(d, "ioreel.record_stdev_bytes", stdev);
	struct dlio_list dims = dlio_list(d, "dataset.record_dims");

	if (dims.n) {
		mean = dims.product *
		       element_bytes(dlio_word(d, "dataset.record_element_type",
					       "uint8"));
		asked = stdev = 0;
	}
	if (d->failed)
		return -1;
	if (!(stdev > 0))
		return dlio_set(d, "dataset.sample_bytes=%.0f", round(mean));
	if (mean > 1e15 || mean < 0 || stdev > 1e15 || !(asked > 0))
		return dlio_set(d, "dataset.sample_bytes=%.0f", mean);
	if (asked == stdev)
		dlio_note(d,
			  "dataset.record_length_bytes_stdev: DLIO's own files "
			  "have 0.71 of it, %.0f; here they have %.0f",
			  stdev / sqrt(2), stdev);
	return dlio_set_sizes(d, mean, asked);
}

static int set_compression(struct dlio *d)
{
	const char *how = dlio_word(d, "dataset.compression", "none");
	double level = dlio_number(d, "dataset.compression_level", 4);

	if (!strcmp(how, "none"))
		return 0;
	if (d->w->dataset.format != WORKLOAD_HDF5) {
		dlio_note(d, "dataset.compression: not imported: DLIO does "
			     "not compress this format");
		return 0;
	}
	if (strcmp(how, "gzip"))
		dlio_note(d, "dataset.compression %s: gzip here", how);
	return dlio_set(d, "dataset.compression=gzip") ||
	       dlio_set(d, "dataset.compression_level=%.16g", level);
}

static int set_chunks(struct dlio *d)
{
	struct dlio_list dims = dlio_list(d, "dataset.hdf5.chunk_dims");
	double bytes = 0;

	if (d->w->dataset.format != WORKLOAD_HDF5)
		return 0;
	if (dims.n) {
		bytes = dims.product *
			element_bytes(dlio_word(
				d, "dataset.record_element_type", "uint8"));
	} else if (dlio_flag(d, "dataset.enable_chunking", false)) {
		bytes = dlio_number(d, "dataset.chunk_size", 0);
		dlio_note(d, "dataset.chunk_size: DLIO does not read this key; "
			     "this value is used here");
	}
	return bytes > 0 ? dlio_set(d, "dataset.chunk_bytes=%.16g", bytes) : 0;
}

static int set_dataset(struct dlio *d)
{
	const char *prefix = dlio_word(d, "dataset.file_prefix", "img");

	if (strpbrk(prefix, "\"\\"))
		return dlio_fail(
			d, yaml_scalar_of(&d->yaml, "dataset.file_prefix"),
			"not a name");
	return set_format(d) || set_sizes(d) || set_compression(d) ||
	       set_chunks(d) || dlio_set_parquet(d) ||
	       dlio_set(d, "dataset.prefix=\"%.200s\"", prefix);
}

/* --- pipeline ------------------------------------------------------------- */

static bool shuffles(struct dlio *d, const char *key)
{
	return strcasecmp(dlio_word(d, key, "off"), "off") &&
	       strcasecmp(dlio_word(d, key, "off"), "false");
}

static int set_order(struct dlio *d, bool torch)
{
	bool files = shuffles(d, "reader.file_shuffle");
	bool samples = shuffles(d, "reader.sample_shuffle");
	bool buffer = yaml_scalar_of(&d->yaml, "reader.shuffle_size");

	if (buffer && torch)
		dlio_note(d, "reader.shuffle_size: DLIO's PyTorch loader does "
			     "not use it");
	else if (buffer && !samples)
		dlio_note(d, "reader.shuffle_size: not imported: "
			     "reader.sample_shuffle is off");
	else if (buffer && files)
		dlio_note(d, "reader.shuffle_size: not imported: with "
			     "reader.file_shuffle all samples are shuffled "
			     "here");
	if (!files && !samples)
		return dlio_set(d, "pipeline.order=sequential");
	if (torch)
		dlio_note(d,
			  "reader.%s_shuffle: DLIO's PyTorch loader reads "
			  "in order; here the order is shuffled",
			  samples ? "sample" : "file");
	/* A buffer of samples alone moves none of them far. */
	if (!torch && !files)
		return dlio_set(d, "pipeline.order=window") ||
		       dlio_set(d, "pipeline.window=%.16g",
				dlio_number(d, "reader.shuffle_size", 1024));
	return dlio_set(d, "pipeline.order=shuffle");
}

static int set_pipeline(struct dlio *d)
{
	const char *framework = dlio_word(d, "framework", "tensorflow");
	bool torch = !strcmp(dlio_word(d, "reader.data_loader", framework),
			     "pytorch");
	double readers = dlio_number(d, "reader.read_threads", 1);
	double ahead = dlio_number(d, "reader.prefetch_size", 2);

	/* DLIO's are the batches of all readers together. */
	if (readers > 1)
		ahead = ceil(ahead / readers);
	if (ahead < 1)
		ahead = 1;
	return dlio_set(d, "pipeline.unit=%s", torch ? "process" : "thread") ||
	       dlio_set(d, "pipeline.prefetch=%.16g", ahead) ||
	       dlio_set(d, "pipeline.drop_last=true") || set_order(d, torch) ||
	       dlio_set(d, "pipeline.reshuffle=%s",
			dlio_flag(d, "train.seed_change_epoch", true)
				? "true"
				: "false") ||
	       dlio_set(d, "access.direct=%s",
			dlio_flag(d, "reader.odirect", false) ? "true"
							      : "false");
}

int dlio_set_epochs(struct dlio *d, const char *first, const char *between,
		    const char *to)
{
	double epochs = dlio_number(d, "train.epochs", 1);
	double a = dlio_number(d, first, 1), b = dlio_number(d, between, 1);
	bool once = a + b > epochs && 2 * a > epochs;

	if (a != b && !once)
		dlio_note(d,
			  "%s: DLIO's are after %.16g epochs, and every %.16g "
			  "epochs from then on; here they are every %.16g "
			  "epochs",
			  between, a, b, b);
	return dlio_set(d, "%s=%.16g", to, once ? a : b);
}

static int set_workflow(struct dlio *d)
{
	bool train = dlio_flag(d, "workflow.train", true);
	bool evaluates = dlio_flag(d, "workflow.evaluation", false);

	if (!train && !dlio_flag(d, "workflow.checkpoint", false) &&
	    dlio_flag(d, "workflow.generate_data", false)) {
		dlio_note(d, "workflow.train: DLIO only makes this data set; "
			     "here it is read too");
		train = true;
	}
	if (!train &&
	    (dlio_set(d, "epochs=0") || dlio_set(d, "dataset.files=0") ||
	     dlio_set(d, "dataset.folders=0")))
		return -1;
	if (train && evaluates)
		return dlio_set_epochs(d, "evaluation.eval_after_epoch",
				       "evaluation.epochs_between_evals",
				       "evaluation.every_epochs") ||
		       dlio_set_time(d, "evaluation.eval_time",
				     "evaluation.step_ns");
	return dlio_set(d, "evaluation.files=0");
}

static int import(struct dlio *d)
{
	struct reel_error why = {0};

	if (dlio_rename_keys(d) || set_name(d) || set_numbers(d) ||
	    set_dataset(d) || set_pipeline(d) || set_workflow(d) ||
	    dlio_set_time(d, "train.computation_time", "compute.step_ns") ||
	    dlio_set_time(d, "reader.preprocess_time",
			  "preprocess.sample_ns") ||
	    dlio_set(d, "rules.au_percent=%.12g",
		     100 * dlio_number(d, "metric.au", 0)) ||
	    dlio_set_checkpoint(d) || d->failed)
		return -1;
	if (workload_check(d->w, NULL, &why))
		return reel_fail(d->err, REEL_E_FORMAT, "'%s': %s", d->path,
				 why.text);
	return 0;
}

int dlio_import(struct workload *w, const char *path, struct reel_buf *notes,
		struct reel_error *err)
{
	struct dlio d = {.w = w, .path = path, .notes = notes, .err = err};
	int rc;

	workload_init(w);
	rc = yaml_scalars_read(&d.yaml, path, err) || import(&d);
	yaml_scalars_fini(&d.yaml);
	return rc ? -1 : 0;
}
