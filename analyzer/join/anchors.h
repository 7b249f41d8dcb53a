/* SPDX-License-Identifier: MIT */
/* Anchors: spans of two stores that may be the same. Only anchors.c, evidence.c and
 * drift.c include it. */
#ifndef ANALYZER_JOIN_ANCHORS_H
#define ANALYZER_JOIN_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/join/align.h"

struct anchor {
	uint64_t name; /* hash */
	int64_t rank, process, start_ns, end_ns;
};

struct anchors {
	struct anchor *at;
	size_t n, room;
	bool ranks; /* each has one */
};

/* qsort(): by name, rank and start. */
int join_by_name_rank(const void *a, const void *b);
/* The first anchor of a sorted list that is not before @key; @list->n: none. */
size_t join_anchors_find(const struct anchors *list, const struct anchor *key);

/* evidence.c: do gaps between the steps of both say that the shift of @peak is no
 * accident? Lists are sorted by join_by_name_rank(). 1, 0, or -1 with @err. */
int join_evidence(const struct anchors *a, const struct anchors *b,
		  const struct join_peak *peak, struct reel_error *err);

/* drift.c: the least and the largest shift over the time that both have. @b is sorted
 * by join_by_name_rank(); @a is sorted by time on return. */
void join_drift(int64_t *low_ns, int64_t *high_ns, struct anchors *a,
		const struct anchors *b, const struct join_peak *peak);

#endif
