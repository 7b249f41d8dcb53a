/* SPDX-License-Identifier: MIT */
/* The result of a run: over all ranks, as text, as JSON (result.schema.json). */
#ifndef REPLAY_PIPELINE_RESULT_H
#define REPLAY_PIPELINE_RESULT_H

struct comm;
struct reel_error;
struct run_result;
struct workload;

/*
 * Sum the counts of all ranks; times become the means over the ranks, walls the
 * longest; the wait for the last rank is in barrier_ns. Steps stay those of this
 * rank. Collective. 0, or -1 with @err.
 */
int run_result_reduce(struct run_result *result, const struct comm *comm,
		      struct reel_error *err);
/* The document, for more keys. NULL: no memory. */
struct json_t *run_result_document(const struct workload *w,
				   const struct run_result *result, int ranks);
int run_result_json(const struct workload *w, const struct run_result *result,
		    int ranks, struct reel_error *err);
int run_result_print(const struct workload *w, const struct run_result *result,
		     int ranks);

#endif
