/* SPDX-License-Identifier: MIT */
/* Named distributions, as tables of quantiles and back. */
#ifndef REPLAY_WORKLOAD_DISTRIBUTION_H
#define REPLAY_WORKLOAD_DISTRIBUTION_H

#include <stdint.h>

struct quantiles;
struct reel_error;

enum distribution_kind {
	DISTRIBUTION_NORMAL,	  /* a: mean, b: standard deviation */
	DISTRIBUTION_FOLDED,	  /* the absolute value of a normal one */
	DISTRIBUTION_UNIFORM,	  /* a: least, b: most */
	DISTRIBUTION_GAMMA,	  /* a: shape, b: scale */
	DISTRIBUTION_EXPONENTIAL, /* a: scale */
	DISTRIBUTION_POISSON,	  /* a: mean; whole numbers */
};

struct distribution {
	enum distribution_kind kind;
	double a, b;
};

#define DISTRIBUTION_TABLE 33 /* values of a table */

/* The probability of a value of at most @x. */
double distribution_share(const struct distribution *d, double x);
/* The value at @share, above 0 and below 1. */
double distribution_value(const struct distribution *d, double share);
/*
 * The table of @d, times @unit and rounded, at 33 equal shares, no value below
 * @least. The first and the last value keep the mean of their parts.
 */
void distribution_table(const struct distribution *d, double unit,
			int64_t least, int64_t value[DISTRIBUTION_TABLE]);

/* Mean and standard deviation of a table, between its values straight lines. */
void quantiles_moments(const struct quantiles *q, double *mean, double *stdev);
/* Those of the normal distribution whose table @q is, but for the first and last
 * value, which may have been cut; else those of the table. */
void distribution_moments(const struct quantiles *q, double *mean,
			  double *stdev);
/* The largest difference of both distribution functions; @unit of @q in one of
 * @d, as ns in a second: 1e9. */
double distribution_distance(const struct distribution *d,
			     const struct quantiles *q, double unit);

#endif
