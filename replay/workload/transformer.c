/* SPDX-License-Identifier: MIT */
/*
 * The tensors of a transformer by rank. Names and owners are those of DeepSpeed
 * (runtime/engine.py); sizes are DLIO's and MLPerf's: a share of the parameters in
 * the model's states of stage 3 too, where DeepSpeed leaves them to the optimizer.
 */
#include "replay/workload/transformer.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/error.h"

#include "replay/workload/workload.h"

#define LAYER_TENSORS 9

/* Elements of tensor @i of a layer. */
static int64_t layer_tensor(const struct workload_transformer *t, int i)
{
	int64_t h = t->hidden, kv = t->key_value ? t->key_value : h;
	const int64_t elements[LAYER_TENSORS] = {
		h,     /* norm before the attention */
		h * h, /* queries */
		h * kv,
		kv * h,		     /* keys, values */
		h * h,		     /* output */
		h,		     /* norm before the MLP */
		t->feed_forward * h, /* gate */
		t->feed_forward * h, /* up */
		t->feed_forward * h, /* down */
	};

	return elements[i];
}

static int64_t layer_parameters(const struct workload_transformer *t)
{
	int64_t sum = 0;

	for (int i = 0; i < LAYER_TENSORS; i++)
		sum += layer_tensor(t, i);
	return sum;
}

int64_t transformer_parameters(const struct workload_transformer *t)
{
	return t->layers ? t->layers * layer_parameters(t) +
				   2 * t->vocabulary * t->hidden + t->hidden
			 : 0;
}

/* --- places --------------------------------------------------------------- */

/* The first of part @i of @parts of @n; the parts add up to @n. */
static int64_t part_begin(int64_t n, int64_t i, int64_t parts)
{
	return n / parts * i + n % parts * i / parts;
}

static int64_t part_of(int64_t n, int64_t i, int64_t parts)
{
	return part_begin(n, i + 1, parts) - part_begin(n, i, parts);
}

void transformer_place(const struct workload_transformer *t, int64_t rank,
		       int64_t ranks, struct transformer_place *p)
{
	p->tensors = workload_common_divisor(ranks, t->tensor);
	p->stages = workload_common_divisor(ranks / p->tensors, t->pipeline);
	p->replicas = ranks / p->tensors / p->stages;
	p->model = rank % (p->tensors * p->stages);
	p->tensor = p->model % p->tensors;
	p->stage = p->model / p->tensors;
	p->replica = rank / (p->tensors * p->stages);
	p->first = part_begin(t->layers, p->stage, p->stages);
	p->layers = part_of(t->layers, p->stage, p->stages);
}

/* --- files ---------------------------------------------------------------- */

static bool is_last_stage(const struct transformer_place *p)
{
	return p->stage == p->stages - 1;
}

/* The files of layers that a stage saves: those before, its own, those behind. */
static int64_t layer_files(const struct transformer_place *p)
{
	return p->layers + (p->stage == 0) + is_last_stage(p);
}

bool transformer_file_at(const struct workload_transformer *t,
			 const struct transformer_place *p, uint32_t i,
			 struct transformer_file *file)
{
	/* Replicas have the same parameters: one saves them, unless each has only
	 * its part. */
	bool model = t->zero == 3 || p->replica == 0;
	int64_t layers = p->stages > 1 && t->zero < 3 && p->replica == 0
				 ? layer_files(p)
				 : 0;

	*file = (struct transformer_file){TRANSFORMER_MODEL, -1};
	if (i < layers) {
		file->layer = p->first + (p->stage > 0) + i;
		return true;
	}
	i -= (uint32_t)layers;
	if (model && i-- == 0)
		return true;
	file->states = TRANSFORMER_OPTIMIZER;
	return t->zero > 0 && t->optimizer_bytes && i == 0;
}

void transformer_file_name(const struct workload_transformer *t,
			   const struct transformer_place *p,
			   const struct transformer_file *file, char *out,
			   unsigned long room)
{
	if (file->layer >= 0)
		snprintf(out, room, "layer_%02lld-model_%02lld-model_states.pt",
			 (long long)file->layer, (long long)p->tensor);
	else if (file->states == TRANSFORMER_OPTIMIZER)
		snprintf(out, room,
			 "zero_pp_rank_%lld_mp_rank_%02lld_optim_states.pt",
			 (long long)p->replica, (long long)p->model);
	else if (t->zero == 3)
		snprintf(out, room,
			 "zero_pp_rank_%lld_mp_rank_%02lld_model_states.pt",
			 (long long)p->replica, (long long)p->model);
	else
		snprintf(out, room, "mp_rank_%02lld_model_states.pt",
			 (long long)p->model);
}

/* --- tensors -------------------------------------------------------------- */

struct list {
	const struct workload_transformer *t;
	const struct transformer_place *p;
	int64_t *bytes;
	int64_t n;
};

/* This rank's part of a tensor of @elements. */
static int64_t part_elements(const struct workload_transformer *t,
			     const struct transformer_place *p,
			     int64_t elements)
{
	int64_t n = part_of(elements, p->tensor, p->tensors);

	return t->zero == 3 ? part_of(n, p->replica, p->replicas) : n;
}

static void add_tensor(struct list *l, int64_t elements)
{
	int64_t n = part_elements(l->t, l->p, elements);

	if (n)
		l->bytes[l->n++] = n * l->t->parameter_bytes;
}

/* Position @at of the model: 0 the embedding, then the layers, then the head. */
static void add_layer(struct list *l, int64_t at)
{
	const struct workload_transformer *t = l->t;

	if (at == 0) {
		add_tensor(l, t->vocabulary * t->hidden);
	} else if (at <= t->layers) {
		for (int i = 0; i < LAYER_TENSORS; i++)
			add_tensor(l, layer_tensor(t, i));
	} else {
		add_tensor(l, t->hidden);
		add_tensor(l, t->vocabulary * t->hidden);
	}
}

/* Parameters of the replica that the tensor and pipeline parallel rank holds. */
static int64_t held_parameters(const struct workload_transformer *t,
			       const struct transformer_place *p)
{
	int64_t sum = 0;

	for (int i = 0; i < LAYER_TENSORS; i++)
		sum += p->layers *
		       part_of(layer_tensor(t, i), p->tensor, p->tensors);
	if (p->stage == 0)
		sum += part_of(t->vocabulary * t->hidden, p->tensor,
			       p->tensors);
	if (is_last_stage(p))
		sum += part_of(t->vocabulary * t->hidden, p->tensor,
			       p->tensors) +
		       part_of(t->hidden, p->tensor, p->tensors);
	return sum;
}

/* A flat copy of the parameters and two moments. */
static void add_optimizer(struct list *l)
{
	int64_t n = held_parameters(l->t, l->p);

	if (l->t->zero)
		n = part_of(n, l->p->replica, l->p->replicas);
	for (int i = 0; i < 3 && n; i++)
		l->bytes[l->n++] = n * (l->t->optimizer_bytes / 3);
}

int64_t transformer_file_tensors(const struct workload_transformer *t,
				 const struct transformer_place *p,
				 const struct transformer_file *file,
				 int64_t **bytes, struct reel_error *err)
{
	struct list l = {.t = t, .p = p};
	int64_t begin = p->first + (p->stage > 0);

	l.bytes = reel_alloc((size_t)(t->layers * LAYER_TENSORS + 6),
			     sizeof(*l.bytes), err);
	if (!l.bytes)
		return -1;
	if (file->layer >= 0)
		add_layer(&l, file->layer);
	else if (file->states == TRANSFORMER_MODEL &&
		 (p->stages == 1 || t->zero == 3))
		for (int64_t i = 0; i < layer_files(p); i++)
			add_layer(&l, begin + i);
	if (file->layer < 0 && t->optimizer_bytes &&
	    (file->states == TRANSFORMER_OPTIMIZER || !t->zero))
		add_optimizer(&l);
	*bytes = l.bytes;
	return l.n;
}

double checkpoint_bytes(const struct workload_checkpoint *c, int64_t ranks)
{
	const struct workload_transformer *t = &c->transformer;
	double sum = (double)transformer_parameters(t) *
		     (double)(t->parameter_bytes + t->optimizer_bytes);

	for (uint32_t i = 0; i < c->files_n; i++) {
		const struct workload_checkpoint_file *f = &c->files[i];

		sum += (double)f->bytes * (double)f->count *
		       (f->owner == WORKLOAD_ALL ? (double)ranks : 1);
	}
	return sum;
}

/* Bytes of the tensors that the rank at @p saves. */
static int add_saved(const struct workload_transformer *t,
		     const struct transformer_place *p, double *sum,
		     struct reel_error *err)
{
	struct transformer_file file;

	for (uint32_t i = 0; transformer_file_at(t, p, i, &file); i++) {
		int64_t *bytes;
		int64_t n = transformer_file_tensors(t, p, &file, &bytes, err);

		if (n < 0)
			return -1;
		for (int64_t k = 0; k < n; k++)
			*sum += (double)bytes[k];
		free(bytes);
	}
	return 0;
}

int checkpoint_rank_bytes(const struct workload_checkpoint *c, int64_t rank,
			  int64_t ranks, double *bytes, struct reel_error *err)
{
	struct transformer_place place;

	*bytes = 0;
	for (uint32_t i = 0; i < c->files_n; i++) {
		const struct workload_checkpoint_file *f = &c->files[i];
		double all = (double)f->bytes * (double)f->count;

		if (f->owner == WORKLOAD_SHARD)
			*bytes += all / (double)ranks;
		else if (f->owner == WORKLOAD_ALL || rank == 0)
			*bytes += all;
	}
	if (!c->transformer.layers)
		return 0;
	transformer_place(&c->transformer, rank, ranks, &place);
	return add_saved(&c->transformer, &place, bytes, err);
}
