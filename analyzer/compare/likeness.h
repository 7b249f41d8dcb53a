/* SPDX-License-Identifier: MIT */
/*
 * Likeness of two runs: the factors are defined in
 * schemas/metric_similarity.sql and ioreel-compare(1).
 */
#ifndef ANALYZER_COMPARE_LIKENESS_H
#define ANALYZER_COMPARE_LIKENESS_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct reel_store;

#define REEL_FACTORS_MAX 24

struct reel_factor {
	const char *name; /* "transfer size, median" */
	const char *unit; /* "ns", "B", "B/s", "%", "" */
	bool has_a, has_b;
	/* Not known: the run has it, and its source does not tell it. */
	bool known_a, known_b;
	bool used; /* in the cosine; 0/0 and missing ones are left out */
	double a, b;
	bool has_d; /* known of both runs, of which one has it */
	double d;   /* (a - b) / max(a, b), signed; 0 when both are 0 */
};

/* The ranks' loops. Shares: mean over ranks, 0..1; REEL_VIEW_NONE: not measured. */
struct reel_loop_shares {
	double waiting;	  /* of the time from the first fetch, in fetches */
	double hidden;	  /* of the I/O, behind computation */
	double computing; /* of the steady steps */
	char compute_source[32]; /* of v_overlap; "": none, or not one */
	/* Ranks with steps, and the most steps and loader workers of one; below 0:
	 * not known. */
	int64_t ranks, steps, workers;
};

struct reel_likeness {
	struct reel_factor factor[REEL_FACTORS_MAX];
	int factors;
	bool has_cosine;
	double cosine;
	bool has_d; /* a factor has one; else max_abs_d is of none */
	double max_abs_d;
	int worst; /* index of max |d|, -1: none */
	int64_t threads_a, threads_b;
	int64_t threads_same; /* with the identical call sequence */
	bool has_same;
	double same_sequence_share; /* threads_same / max(threads_a, threads_b) */
	bool has_time;
	double total_time_d; /* of wall time; none of a profile and a whole run */
	/* Total variation of call counts, 0..1; REEL_VIEW_NONE: not measured. */
	double call_tv;
	struct reel_loop_shares loop_a, loop_b; /* of reel_compare_loops() */
};

/* Convert @d = (a - b) / max(a, b) to the relative change (b - a) / a; INFINITY
 * where a is 0 and b is not. */
double reel_change(double d);
/* The change of one factor; INFINITY also where only one run has it, 0 where it is not
 * known. */
double reel_factor_change(const struct reel_factor *f);
/* Index of the factor with the largest change, -1: there is no change. */
int reel_likeness_largest(const struct reel_likeness *l);

/* The cosine without the factor @without (-1: of all); false: there is none. */
bool reel_likeness_cosine(const struct reel_likeness *l, int without,
			  double *cosine);

/* Compare the runs in @a and @b (borrowed), but for their loops. 0, or -1 with @err
 * (REEL_E_DB). */
int reel_compare(struct reel_store *a, struct reel_store *b,
		 struct reel_likeness *out, struct reel_error *err);
/* Add the shares of their loops to @out, which was compared. 0, or -1 with @err. */
int reel_compare_loops(struct reel_store *a, struct reel_store *b,
		       struct reel_likeness *out, struct reel_error *err);

#endif
