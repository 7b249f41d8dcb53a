/* SPDX-License-Identifier: MIT */
/* Time intervals of a file that is imported, in memory. */
#ifndef ANALYZER_IMPORT_INTERVALS_H
#define ANALYZER_IMPORT_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;

struct profile_interval {
	int64_t start_ns, end_ns;
};

/* Zeroed is empty; the caller frees `at`. */
struct profile_intervals {
	struct profile_interval *at;
	size_t n, room;
};

/* By start. */
void profile_intervals_sort(struct profile_intervals *u);
/* Sort, and merge those that overlap or touch. */
void profile_intervals_merge(struct profile_intervals *u);
/* Add an interval at the end. 0, or -1 with @err (REEL_E_MEMORY). */
int profile_intervals_append(struct profile_intervals *u, int64_t start_ns,
			     int64_t end_ns, struct reel_error *err);
/* The same for intervals of which only the union matters: it merges them where they
 * nest, and when memory is full. */
int profile_intervals_add(struct profile_intervals *u, int64_t start_ns,
			  int64_t end_ns, struct reel_error *err);
/* The first of the merged @u that does not end before @ns. */
size_t profile_intervals_from(const struct profile_intervals *u, int64_t ns);
/* Has any of the merged @u a part from @start_ns to @end_ns? */
bool profile_intervals_meet(const struct profile_intervals *u, int64_t start_ns,
			    int64_t end_ns);

#endif
