/* SPDX-License-Identifier: MIT */
/*
 * Why two runs are unlike: the factors by the likeness that they cost, and the
 * size, call and class of file whose share differs most.
 */
#ifndef ANALYZER_COMPARE_EXPLAIN_H
#define ANALYZER_COMPARE_EXPLAIN_H

#include "analyzer/compare/likeness.h"

struct reel_cost {
	int factor; /* index in the likeness */
	bool has;   /* there is a cosine with and without the factor */
	double cosine_without;
	double gain; /* cosine_without - cosine; below 0: it helps */
	double max_abs_d_without;
};

enum {
	REEL_CAUSE_READ_SIZE,  /* power-of-two bins of reads, by calls */
	REEL_CAUSE_WRITE_SIZE, /* the same of writes */
	REEL_CAUSE_CALL,       /* by calls */
	REEL_CAUSE_CLASS,      /* of files, by bytes */
	REEL_CAUSES
};

struct reel_cause {
	const char *name, *of; /* "size of reads"; "calls" or "bytes" */
	bool has;	       /* the shares differ */
	double tv;    /* total variation: half the sum of differences */
	char key[64]; /* smallest size of the bin, or name, that differs most */
	double share_a, share_b; /* its shares */
	double part;		 /* of the sum of differences, 0..1 */
};

struct reel_explanation {
	struct reel_cost cost[REEL_FACTORS_MAX]; /* the largest gain first */
	int costs;				 /* factors with a difference */
	struct reel_cause cause[REEL_CAUSES];
};

/*
 * Explain the likeness @l of @a and @b (all borrowed). 0, or -1 with @err:
 * REEL_E_DB, REEL_E_MEMORY. Source: ioreel-compare(1).
 */
int reel_explain(struct reel_store *a, struct reel_store *b,
		 const struct reel_likeness *l, struct reel_explanation *out,
		 struct reel_error *err);

#endif
