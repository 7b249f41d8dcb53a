/* SPDX-License-Identifier: MIT */
/* The tensors of a transformer, and the part of them that a rank saves. */
#ifndef REPLAY_WORKLOAD_TRANSFORMER_H
#define REPLAY_WORKLOAD_TRANSFORMER_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct workload_checkpoint;
struct workload_transformer;

/* Parameters of the whole model. Llama 3 8B: 8,030,261,248. */
int64_t transformer_parameters(const struct workload_transformer *t);

/*
 * The place of a rank. Tensor parallel ranks are neighbours, then come those of
 * the pipeline, then the replicas. A job with fewer ranks than the model is divided
 * between has fewer, larger parts: always the whole model.
 */
struct transformer_place {
	int64_t tensor, tensors;      /* this part of so many */
	int64_t stage, stages;	      /* of the pipeline */
	int64_t replica, replicas;    /* data parallel */
	int64_t model, first, layers; /* tensor + stage; its layers */
};
void transformer_place(const struct workload_transformer *t, int64_t rank,
		       int64_t ranks, struct transformer_place *p);

enum transformer_states { TRANSFORMER_MODEL, TRANSFORMER_OPTIMIZER };

/*
 * A file that the rank at @p saves: one of TRANSFORMER_MODEL or
 * TRANSFORMER_OPTIMIZER, or, with a pipeline, of the layer @layer
 * (-1: no file of one layer; the embedding is layer 0, the head the last but one
 * more).
 */
struct transformer_file {
	enum transformer_states states;
	int64_t layer;
};

/* Does the rank at @p save file @i? False behind the last. */
bool transformer_file_at(const struct workload_transformer *t,
			 const struct transformer_place *p, uint32_t i,
			 struct transformer_file *file);
/* Its name, as DeepSpeed's: "zero_pp_rank_0_mp_rank_00_optim_states.pt". */
void transformer_file_name(const struct workload_transformer *t,
			   const struct transformer_place *p,
			   const struct transformer_file *file, char *out,
			   unsigned long room);
/* The bytes of its tensors in their order. Gives *@bytes, for free(). The number, or
 * -1 with @err (REEL_E_MEMORY). */
int64_t transformer_file_tensors(const struct workload_transformer *t,
				 const struct transformer_place *p,
				 const struct transformer_file *file,
				 int64_t **bytes, struct reel_error *err);

/* Bytes of tensors of a checkpoint of @ranks ranks, without the layouts' own. */
double checkpoint_bytes(const struct workload_checkpoint *c, int64_t ranks);
/* Those that one of the ranks saves. 0, or -1 with @err (REEL_E_MEMORY). */
int checkpoint_rank_bytes(const struct workload_checkpoint *c, int64_t rank,
			  int64_t ranks, double *bytes, struct reel_error *err);

#endif
