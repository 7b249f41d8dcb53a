/* SPDX-License-Identifier: MIT */
/* Run a workload over a grid of values, several times each, interleaved. */
#ifndef REPLAY_SWEEP_SWEEP_H
#define REPLAY_SWEEP_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct reel_buf;
struct reel_error;

/* A key and the values that it takes. */
struct sweep_axis {
	char *key;
	char **value;
	int values;
};

#define SWEEP_AXES 4
#define SWEEP_POINTS 1000
#define SWEEP_REPEATS 100

/* A point of the grid: one value of each axis, and what was measured. */
struct sweep_point {
	int at[SWEEP_AXES]; /* index of the value */
	double *sample;	    /* one for each repeat */
	int samples;
	int data_set;	   /* number of its folder, the caller's */
	double mean, half; /* of the 95 % confidence interval; NaN: unknown */
};

struct sweep {
	struct sweep_axis axis[SWEEP_AXES];
	int axes;
	struct sweep_point *point;
	int points;
};

/* The grid of @n settings "KEY=a,b,c". Gives memory for sweep_fini(), also on
 * failure. 0, or -1 with @err (REEL_E_USAGE). */
int sweep_init(struct sweep *s, const char *const *setting, int n, int repeats,
	       struct reel_error *err);
void sweep_fini(struct sweep *s);

/* "KEY=VALUE" of axis @axis at @p. 0 or -1. */
int sweep_setting(const struct sweep *s, const struct sweep_point *p, int axis,
		  struct reel_buf *out, struct reel_error *err);
/* Mean and interval of all points (Student's t). */
void sweep_summarize(struct sweep *s);
/* The point with the largest mean (the smallest, @low), when its interval is apart
 * from all others; NULL: it is not, and *@why is the reason. */
const struct sweep_point *sweep_winner(const struct sweep *s, bool low,
				       const char **why);

/* The value of @metric in @result; NaN: it is null there. 0, or -1 with @err: the
 * result has no such number. */
int sweep_metric_value(const char *metric, const json_t *result, double *value,
		       struct reel_error *err);
/* Times: less is better. */
bool sweep_metric_is_low(const char *metric);
/* Its name with the unit: "samples/s". 0 or -1. */
int sweep_metric_title(const char *metric, struct reel_buf *out,
		       struct reel_error *err);

/* The points as a table, CSV, and an SVG chart of the first axis, a line for each
 * combination of the others. 0, or -1. */
void sweep_print(const struct sweep *s, const char *metric);
int sweep_csv(const struct sweep *s, const char *metric, struct reel_buf *out,
	      struct reel_error *err);
int sweep_svg(const struct sweep *s, const char *metric, struct reel_buf *out,
	      struct reel_error *err);

#endif
