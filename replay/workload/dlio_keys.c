/* SPDX-License-Identifier: MIT */
/* The keys of DLIO: their present names, and those that have no effect. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/workload/dlio_internal.h"
#include "replay/workload/workload.h"

/* Earlier names, those of 2.0.0; and names that look right but are not read. */
static const struct renamed {
	const char *from, *to, *note;
} renamed[] = {
	{"model", "model.name", NULL},
	{"dataset.record_length", "dataset.record_length_bytes", NULL},
	{"dataset.record_length_stdev", "dataset.record_length_bytes_stdev",
	 NULL},
	{"dataset.record_length_resize", "dataset.record_length_bytes_resize",
	 NULL},
	{"model.model_size", "model.model_size_bytes",
	 "DLIO does not read this key, but model.model_size_bytes, and writes "
	 "10,240 bytes; this value is used here"},
	{"checkpoint.model_size", "model.model_size_bytes",
	 "DLIO after 2.0.0 does not read this key, but model.model_size_bytes; "
	 "this value is used here"},
	{"checkpoint.tensor_parallelism", "model.parallelism.tensor", NULL},
	{"checkpoint.pipeline_parallelism", "model.parallelism.pipeline", NULL},
	{"checkpoint.num_layers", "model.num_layers", NULL},
	{"checkpoint.checkpoint_fsync", "checkpoint.fsync",
	 "DLIO does not read this key; this value is used here"},
	{"checkpoint.checkpoint_sync", "checkpoint.fsync",
	 "DLIO does not read this key; this value is used here"},
};

/* Groups and lists, whose members follow. */
static const struct renamed renamed_groups[] = {
	{"data_reader.", "reader.", NULL},
	{"checkpoint.layer_parameters[", "model.layer_parameters[", NULL},
	{"checkpoint.optimization_groups[", "model.optimization_groups[", NULL},
};

/* A name that ends in '.' or '[' stands for its members. NULL: it is used. */
static const struct known {
	const char *name, *note;
} known[] = {
	{"model.name", NULL},
	{"model.model_size_bytes", NULL},
	{"model.model_datatype", NULL},
	{"model.optimizer_datatype", NULL},
	{"model.num_layers", NULL},
	{"model.layer_parameters[", NULL},
	{"model.optimization_groups[", NULL},
	{"model.parallelism.tensor", NULL},
	{"model.parallelism.pipeline", NULL},
	{"model.parallelism.data", NULL},
	{"model.parallelism.zero_stage", NULL},
	{"model.transformer.", NULL},
	{"model.type", NULL},
	{"framework", NULL},
	{"workflow.train", NULL},
	{"workflow.evaluation", NULL},
	{"workflow.checkpoint", NULL},
	{"workflow.generate_data", "ioreel gen makes the data set"},
	{"workflow.profiling", "ioreel record profiles any program"},
	{"workflow.query", "a question, not a setting"},
	{"workflow.debug", "a setting of DLIO's log"},
	{"dataset.format", NULL},
	{"dataset.num_files_train", NULL},
	{"dataset.num_files_eval", NULL},
	{"dataset.num_samples_per_file", NULL},
	{"dataset.record_length_bytes", NULL},
	{"dataset.record_length_bytes_stdev", NULL},
	{"dataset.record_length_bytes_resize",
	 "the size after preprocessing; it makes no I/O"},
	{"dataset.num_subfolders_train", NULL},
	{"dataset.num_subfolders_eval",
	 "both parts have the same number of folders here"},
	{"dataset.file_prefix", NULL},
	{"dataset.compression", NULL},
	{"dataset.compression_level", NULL},
	{"dataset.enable_chunking", NULL},
	{"dataset.chunk_size", NULL},
	{"dataset.hdf5.chunk_dims[", NULL},
	{"dataset.hdf5.num_dset_per_record", "one data set a file here"},
	{"dataset.hdf5.max_shape[", "no data set grows here"},
	{"dataset.parquet.row_group_size", NULL},
	{"dataset.parquet.columns[", NULL},
	{"dataset.parquet.partition_by", "the data set is not divided here"},
	{"dataset.parquet.generation_batch_size", "gen has its own buffers"},
	{"dataset.record_dims[", NULL},
	{"dataset.record_element_type", NULL},
	{"dataset.data_folder", "the folder is an argument of gen and run"},
	{"dataset.keep_files", "files stay here"},
	{"dataset.generation_buffer_size", "gen has its own buffers"},
	{"reader.data_loader", NULL},
	{"reader.batch_size", NULL},
	{"reader.batch_size_eval", NULL},
	{"reader.read_threads", NULL},
	{"reader.prefetch_size", NULL},
	{"reader.file_shuffle", NULL},
	{"reader.sample_shuffle", NULL},
	{"reader.shuffle_size", NULL},
	{"reader.transfer_size", NULL},
	{"reader.odirect", NULL},
	{"reader.preprocess_time", NULL},
	{"reader.preprocess_time_stdev", NULL},
	{"reader.preprocess_time.", NULL},
	{"reader.computation_threads",
	 "readers preprocess here, no other threads"},
	{"reader.read_type", "samples are read on demand here"},
	{"reader.file_access", "DLIO does not use this key"},
	{"reader.dont_use_mmap", "formats are read by calls here"},
	{"reader.pin_memory", "it makes no I/O"},
	{"reader.multiprocessing_context", "readers are forked here"},
	{"reader.data_loader_classname", "plug-ins are Python"},
	{"reader.data_loader_sampler", "pipeline.order decides here"},
	{"reader.reader_classname", "plug-ins are Python"},
	{"reader.transformed_record_dims[", "it makes no I/O"},
	{"reader.transformed_record_element_type", "it makes no I/O"},
	{"train.epochs", NULL},
	{"train.computation_time", NULL},
	{"train.computation_time_stdev", NULL},
	{"train.computation_time.", NULL},
	{"train.total_training_steps", NULL},
	{"train.seed", NULL},
	{"train.seed_change_epoch", NULL},
	{"evaluation.eval_time", NULL},
	{"evaluation.eval_time_stdev", NULL},
	{"evaluation.eval_time.", NULL},
	{"evaluation.epochs_between_evals", NULL},
	{"evaluation.eval_after_epoch", NULL},
	{"checkpoint.epochs_between_checkpoints", NULL},
	{"checkpoint.steps_between_checkpoints", NULL},
	{"checkpoint.checkpoint_after_epoch", NULL},
	{"checkpoint.type", NULL},
	{"checkpoint.fsync", NULL},
	{"checkpoint.num_checkpoints_write", NULL},
	{"checkpoint.num_checkpoints_read", NULL},
	{"checkpoint.time_between_checkpoints", NULL},
	{"checkpoint.mode", "all shards are written here"},
	{"checkpoint.recovery_rank_shift",
	 "DLIO does not read this key; each rank reads its own files here"},
	{"checkpoint.rank_sync", "ranks meet after each step here"},
	{"checkpoint.randomize_tensor", "it makes no I/O"},
	{"checkpoint.checkpoint_folder",
	 "the folder is the option --checkpoints of run"},
	{"checkpoint.checkpoint_mechanism_classname", "plug-ins are Python"},
	{"checkpoint.ksm.", "a setting of memory"},
	{"checkpoint.ksm", "a setting of memory"},
	{"storage.", "folders are arguments of gen and run"},
	{"output.", "results go to standard output"},
	{"profiling.", "ioreel record profiles any program"},
	{"metric.au", NULL},
	{"metric.exclude_start_steps", "AU leaves out the first step here"},
	{"metric.exclude_end_steps", "AU leaves out the first step here"},
	{"ioreel.", NULL}, /* by dlio_export() */
};

void dlio_note(struct dlio *d, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (reel_buf_printf(d->notes, d->err, "%s\n", line))
		d->failed = true;
}

static bool names(const char *name, const char *key)
{
	size_t n = strlen(name);

	if (name[n - 1] == '.' || name[n - 1] == '[')
		return !strncmp(key, name, n);
	return !strcmp(key, name);
}

static int replace(struct dlio *d, struct yaml_scalar *s, const char *to,
		   const char *rest)
{
	struct reel_buf key = REEL_BUF_INIT;
	int rc = reel_buf_printf(&key, d->err, "%s%s", to, rest);

	if (!rc) {
		free(s->key);
		s->key = reel_strdup(reel_buf_text(&key), d->err);
		rc = s->key ? 0 : -1;
	}
	reel_buf_fini(&key);
	return rc;
}

static int rename_key(struct dlio *d, struct yaml_scalar *s)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++) {
		const struct renamed *r = &renamed[i];

		if (strcmp(s->key, r->from))
			continue;
		if (r->note)
			dlio_note(d, "%s: %s", r->from, r->note);
		return replace(d, s, r->to, "");
	}
	for (size_t i = 0; i < sizeof(renamed_groups) / sizeof(*renamed_groups);
	     i++) {
		const struct renamed *r = &renamed_groups[i];
		size_t n = strlen(r->from);

		if (!strncmp(s->key, r->from, n)) {
			char rest[256];

			snprintf(rest, sizeof(rest), "%s", s->key + n);
			return replace(d, s, r->to, rest);
		}
	}
	return 0;
}

/* One note for a group, not one for each of its members. False: DLIO has no such
 * key. */
static bool note_key(struct dlio *d, uint32_t at)
{
	const struct yaml_scalar *s = &d->yaml.at[at];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct known *k = &known[i];
		bool said = false;

		if (!names(k->name, s->key))
			continue;
		for (uint32_t j = 0; j < at; j++)
			said = said || names(k->name, d->yaml.at[j].key);
		if (k->note && !said)
			dlio_note(d, "%.*s: not imported: %s",
				  (int)strcspn(s->key, "["), s->key, k->note);
		return true;
	}
	dlio_note(d, "%.200s: DLIO has no such key, and ignores it", s->key);
	return false;
}

/* Below "workload", as Hydra composes it, or at the top, as in a file of its
 * folder workload. */
static int strip_workload(struct dlio *d)
{
	bool nested = false;

	for (uint32_t i = 0; i < d->yaml.n; i++)
		nested = nested || !strncmp(d->yaml.at[i].key, "workload.", 9);
	for (uint32_t i = 0; nested && i < d->yaml.n; i++) {
		char *key = d->yaml.at[i].key;

		if (!strncmp(key, "workload.", 9))
			memmove(key, key + 9, strlen(key + 9) + 1);
	}
	return 0;
}

int dlio_rename_keys(struct dlio *d)
{
	const struct yaml_scalar *schema = yaml_scalar_of(&d->yaml, "schema");
	int known_keys = 0;

	if (schema && !strcmp(schema->text, WORKLOAD_SCHEMA))
		return reel_fail(d->err, REEL_E_FORMAT,
				 "'%s' is a workload already: nothing to "
				 "import",
				 d->path);
	strip_workload(d);
	for (uint32_t i = 0; i < d->yaml.n; i++)
		if (rename_key(d, &d->yaml.at[i]))
			return -1;
	for (uint32_t i = 0; i < d->yaml.n; i++)
		known_keys += note_key(d, i);
	if (!known_keys && d->yaml.n)
		return reel_fail(d->err, REEL_E_FORMAT,
				 "'%s' has no key of DLIO", d->path);
	return d->failed ? -1 : 0;
}

/* --- values --------------------------------------------------------------- */

int dlio_fail(struct dlio *d, const struct yaml_scalar *s, const char *why)
{
	d->failed = true;
	return reel_fail(d->err, REEL_E_FORMAT, "'%s', line %zu: %s: %s",
			 d->path, s->line, s->key, why);
}

static double number_of(struct dlio *d, const struct yaml_scalar *s)
{
	char *end;
	double v = strtod(s->text, &end);

	if (end == s->text || *end || !(v > -1e300 && v < 1e300)) {
		dlio_fail(d, s, "not a number");
		return 0;
	}
	return v;
}

static bool is_null(const struct yaml_scalar *s)
{
	return !s->text[0] || !strcmp(s->text, "null") ||
	       !strcmp(s->text, "~") || !strcmp(s->text, "None");
}

double dlio_number(struct dlio *d, const char *key, double initial)
{
	const struct yaml_scalar *s = yaml_scalar_of(&d->yaml, key);

	return s && !is_null(s) ? number_of(d, s) : initial;
}

bool dlio_flag(struct dlio *d, const char *key, bool initial)
{
	static const char *const word[] = {"false", "true", "no",
					   "yes",   "off",  "on"};
	const struct yaml_scalar *s = yaml_scalar_of(&d->yaml, key);

	if (!s || is_null(s))
		return initial;
	for (size_t i = 0; i < sizeof(word) / sizeof(*word); i++)
		if (!strcasecmp(s->text, word[i]))
			return i % 2;
	dlio_fail(d, s, "neither true nor false");
	return initial;
}

const char *dlio_word(struct dlio *d, const char *key, const char *initial)
{
	const struct yaml_scalar *s = yaml_scalar_of(&d->yaml, key);

	return s && !is_null(s) ? s->text : initial;
}

struct dlio_list dlio_list(struct dlio *d, const char *key)
{
	struct dlio_list list = {0, 1, 0};
	size_t n = strlen(key);

	for (uint32_t i = 0; i < d->yaml.n; i++) {
		const struct yaml_scalar *s = &d->yaml.at[i];

		if (!strncmp(s->key, key, n) && s->key[n] == '[') {
			double v = number_of(d, s);

			list.sum += v;
			list.product *= v;
			list.n++;
		}
	}
	return list;
}
