/* SPDX-License-Identifier: MIT */
/* The shift between the clocks of two stores of one job. */
#ifndef ANALYZER_JOIN_ALIGN_H
#define ANALYZER_JOIN_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/join/join.h"

/* @ns is added to a time of the second store for the clock of the first. */
struct join_shift {
	int64_t ns;
	int64_t error_ns; /* a bound; REEL_NO_OFFSET: not known */
	const char *by;	  /* "first", "clocks", "anchors", "reads", "--shift" */
};

/*
 * Find the shift of @b on the clock of @a. 0, or -1 with @err: REEL_E_FORMAT,
 * "cannot align ...: give --shift", when @method gives no distinct one; it
 * names another method that gives one.
 */
int join_align(struct join_shift *out, const struct join_source *a,
	       const struct join_source *b, enum join_method method,
	       struct reel_error *err);

/* --- vote.c: differences between moments of two stores -------------------- */

/* Moments of one kind, in any order. Zeroed is empty. */
struct join_series {
	int64_t *at;
	size_t n, room;
};

int join_series_add(struct join_series *s, int64_t at_ns,
		    struct reel_error *err);
void join_series_fini(struct join_series *s);
/* qsort() of the moments of a series. */
int join_by_value(const void *a, const void *b);

/* All differences a - b of pairs of series. Zeroed is empty. */
struct join_votes {
	int64_t *diff;
	size_t n, room;
	size_t matches;	  /* the most that the true shift can have */
	unsigned sample;  /* of series that are too long for all pairs */
	unsigned samples; /* that are needed to see all; 0: this one does */
};

int join_votes_add(struct join_votes *v, const struct join_series *a,
		   const struct join_series *b, struct reel_error *err);
void join_votes_fini(struct join_votes *v);

/* The differences within a window that holds most of them. */
struct join_peak {
	const int64_t *diff;  /* sorted, borrowed from the votes */
	size_t votes, second; /* the latter: of the best window elsewhere */
	int64_t width_ns;
};

/* The narrowest window, up to @most_ns and 20 ms, that is distinct; false: none. */
bool join_votes_peak(struct join_votes *v, int64_t most_ns,
		     struct join_peak *out);
/* The fullest window of @width_ns within @reach_ns of @at_ns; false: it is all but
 * empty. */
bool join_votes_near(struct join_votes *v, int64_t at_ns, int64_t reach_ns,
		     int64_t width_ns, struct join_peak *out);
/* The value below which @share of the votes of the peak are. */
int64_t join_peak_quantile(const struct join_peak *p, double share);

/* --- methods: 1 found, 0 not, -1 with @err -------------------------------- */

/* anchors.c, reads.c. @out->by is set. */
int join_by_anchors(struct join_shift *out, const struct join_source *a,
		    const struct join_source *b, struct reel_error *err);
int join_by_reads(struct join_shift *out, const struct join_source *a,
		  const struct join_source *b, struct reel_error *err);

#endif
