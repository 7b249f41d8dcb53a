/* SPDX-License-Identifier: MIT */
/*
 * The loop of a job whose profile has no ProfilerStep, from its fetches: which of
 * them begin a step, which find the end of the data, which are of an evaluation.
 */
#ifndef ANALYZER_IMPORT_KINETO_LOOP_H
#define ANALYZER_IMPORT_KINETO_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/import/profile/intervals.h"

struct reel_error;

/* Zeroed is empty. */
struct kineto_loop {
	struct profile_intervals
		fetches; /* of `thread`, by start once settled */
	struct profile_intervals
		training; /* backward passes, optimizer steps */
	uint32_t thread;  /* the first that fetches; 0: none */
	bool *trains;	  /* for each fetch; NULL: no training was seen */
	struct profile_intervals evaluations; /* of numbered steps */
};

/* Add the fetch of a loop. 0, or -1 with @err (REEL_E_MEMORY). */
int kineto_loop_fetch(struct kineto_loop *loop, uint32_t thread,
		      int64_t start_ns, int64_t end_ns, struct reel_error *err);
/* Add a part of a backward pass or an optimizer step. 0, or -1 with @err. */
int kineto_loop_training(struct kineto_loop *loop, int64_t start_ns,
			 int64_t end_ns, struct reel_error *err);
/* After the last fetch: find which of them lead to training. 0, or -1 with @err. */
int kineto_loop_settle(struct kineto_loop *loop, struct reel_error *err);
/* Find the evaluations among the numbered @steps, which it sorts: two and more that do
 * not train, one behind the other, where others train. 0, or -1 with @err. */
int kineto_loop_evaluations(struct kineto_loop *loop,
			    struct profile_intervals *steps,
			    struct reel_error *err);
/* The evaluation that the numbered step from @start_ns on is of; NULL: it trains. */
const struct profile_interval *
kineto_loop_evaluation(const struct kineto_loop *loop, int64_t start_ns);
/* The detail of a fetch's span: REEL_FETCH_STOP where it has no batch, else -1. */
int64_t kineto_loop_detail(const struct kineto_loop *loop, uint32_t thread,
			   int64_t start_ns);
/*
 * The next step or evaluation, in the order of time; *@at begins with 0. Its kind
 * (REEL_SPAN_STEP, REEL_SPAN_EVAL) with @span filled, or 0 after the last.
 */
uint32_t kineto_loop_next(const struct kineto_loop *loop, size_t *at,
			  struct profile_interval *span);
void kineto_loop_fini(struct kineto_loop *loop);

#endif
