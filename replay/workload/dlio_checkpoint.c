/* SPDX-License-Identifier: MIT */
/* Checkpoints of DLIO's YAML: by size, by lists of tensors, or by a transformer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"

#include "replay/workload/dlio_internal.h"

static double type_bytes(const char *type)
{
	return strstr(type, "64")     ? 8
	       : strstr(type, "32")   ? 4
	       : strstr(type, "int8") ? 1
				      : 2;
}

/* A file of @bytes for the list of checkpoint.files. */
static int add_file(struct dlio *d, struct reel_buf *list, const char *owner,
		    double count, double bytes)
{
	bool fsync = dlio_flag(d, "checkpoint.fsync", false);

	if (!(bytes >= 1))
		return 0;
	return reel_buf_printf(
		list, d->err,
		"%s{\"owner\":\"%s\",\"count\":%.0f,\"bytes\":%.0f,"
		"\"fsync\":%s}",
		list->len ? "," : "", owner, count, bytes,
		fsync ? "true" : "false");
}

/*
 * Lists of tensors. DLIO takes their numbers as bytes, whatever the types of the
 * model. Each rank of a pipeline stage writes its part of a tensor in each file of a
 * layer, and of the optimizer's groups twice each and all of them once more.
 */
static int add_tensors(struct dlio *d, struct reel_buf *list, double layers)
{
	double stages = dlio_number(d, "model.parallelism.pipeline", 1);
	double parts = dlio_number(d, "model.parallelism.tensor", 1);
	struct dlio_list layer = dlio_list(d, "model.layer_parameters");
	struct dlio_list groups = dlio_list(d, "model.optimization_groups");
	double each = layers > 0 && stages > 0 ? ceil(layers / stages) : 1;

	return (layer.n &&
		add_file(d, list, "all", each,
			 parts > 0 ? floor(layer.sum / parts) : layer.sum)) ||
	       (groups.n && add_file(d, list, "all", 1, 3 * groups.sum));
}

/*
 * A transformer of @layers: the files that each rank saves follow from its sizes and
 * the parallelism. The width of a head is a whole number, as DLIO divides; the
 * optimizer has a master copy of the parameters and two moments.
 */
static int set_transformer(struct dlio *d, double layers)
{
	double h = dlio_number(d, "model.transformer.hidden_size", 2048);
	double f = dlio_number(d, "model.transformer.ffn_hidden_size", 8192);
	double v = dlio_number(d, "model.transformer.vocab_size", 32000);
	double heads =
		dlio_number(d, "model.transformer.num_attention_heads", 32);
	double kv_heads = dlio_number(d, "model.transformer.num_kv_heads", 8);
	const char *type = dlio_word(d, "model.model_datatype", "fp16");
	const char *optimizer =
		dlio_word(d, "model.optimizer_datatype", "fp32");
	const struct {
		const char *key;
		double value;
	} number[] = {
		{"layers", layers},
		{"hidden", h},
		{"key_value", heads > 0 ? floor(h / heads) * kv_heads : h},
		{"feed_forward", f},
		{"vocabulary", v},
		{"parameter_bytes", type_bytes(type)},
		{"optimizer_bytes", 3 * type_bytes(optimizer)},
		{"zero", dlio_number(d, "model.parallelism.zero_stage", 0)},
		{"tensor", dlio_number(d, "model.parallelism.tensor", 1)},
		{"pipeline", dlio_number(d, "model.parallelism.pipeline", 1)},
	};

	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++)
		if (dlio_set(d, "checkpoint.transformer.%s=%.16g",
			     number[i].key, number[i].value))
			return -1;
	return dlio_set(d, "checkpoint.transformer.fsync=%s",
			dlio_flag(d, "checkpoint.fsync", false) ? "true"
								: "false");
}

/* The transformer, or files for the list. */
static int add_files(struct dlio *d, struct reel_buf *list)
{
	double layers = dlio_number(d, "model.num_layers", -1);
	/* A transformer has its layers instead. */
	double model = strcmp(dlio_word(d, "model.type", ""), "transformer")
			       ? dlio_number(d, "model.model_size_bytes", 10240)
			       : 0;
	bool tensors = dlio_list(d, "model.layer_parameters").n ||
		       dlio_list(d, "model.optimization_groups").n;
	bool all = !strcmp(dlio_word(d, "checkpoint.type", "rank_zero"),
			   "all_ranks");

	if (layers > 0 && !tensors)
		return set_transformer(d, layers);
	return add_file(d, list, all ? "all" : "root", 1, model) ||
	       (tensors && add_tensors(d, list, layers));
}

static int set_ranks(struct dlio *d)
{
	double data = dlio_number(d, "model.parallelism.data", -1);
	double ranks = dlio_number(d, "model.parallelism.tensor", 1) *
		       dlio_number(d, "model.parallelism.pipeline", 1) *
		       (data > 0 ? data : 1);

	return ranks > 1 ? dlio_set(d, "ranks=%.16g", ranks) : 0;
}

/* When: in training by steps or epochs, else a number of writes and reads. */
static int set_times(struct dlio *d)
{
	double steps =
		dlio_number(d, "checkpoint.steps_between_checkpoints", -1);
	double writes = dlio_number(d, "checkpoint.num_checkpoints_write", -1);
	double reads = dlio_number(d, "checkpoint.num_checkpoints_read", -1);
	double pause = dlio_number(d, "checkpoint.time_between_checkpoints", 0);

	if (!dlio_flag(d, "workflow.train", true) || writes > 0)
		return dlio_set(d, "checkpoint.writes=%.16g",
				writes > 0 ? writes : 1) ||
		       dlio_set(d, "checkpoint.reads=%.16g",
				reads > 0 ? reads : 0) ||
		       dlio_set(d, "checkpoint.pause_ns=%.0f",
				pause > 0 ? round(pause * 1e9) : 0);
	return steps > 0 ? dlio_set(d, "checkpoint.every_steps=%.16g", steps)
			 : dlio_set_epochs(
				   d, "checkpoint.checkpoint_after_epoch",
				   "checkpoint.epochs_between_checkpoints",
				   "checkpoint.every_epochs");
}

int dlio_set_checkpoint(struct dlio *d)
{
	struct reel_buf list = REEL_BUF_INIT;
	int rc;

	if (!dlio_flag(d, "workflow.checkpoint", false))
		return d->failed ? -1 : 0;
	if (dlio_flag(d, "checkpoint.fsync", false))
		dlio_note(d, "checkpoint.fsync: DLIO never calls fsync; here "
			     "it is called");
	rc = set_ranks(d) || set_times(d) || add_files(d, &list) ||
	     dlio_set(d, "checkpoint.files=[%s]", reel_buf_text(&list));
	reel_buf_fini(&list);
	return rc ? -1 : 0;
}
