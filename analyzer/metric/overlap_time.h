/* SPDX-License-Identifier: MIT */
/*
 * The time of several streams together, as a union that is kept while they are
 * written: at the end they need not be read and merged for it.
 */
#ifndef ANALYZER_METRIC_OVERLAP_TIME_H
#define ANALYZER_METRIC_OVERLAP_TIME_H

#include "analyzer/metric/interval_log.h"

/* Zeroed: of no streams. */
struct overlap_time {
	const struct reel_interval_stream *first; /* borrowed */
	uint32_t streams;
	struct reel_union *sum; /* of more than one; NULL: not kept */
};

/*
 * A new stream @s begins; its address must not change. @held: calls that one may
 * nest in, from the second stream on; 0: no union is kept. 0, or -1 with @err.
 */
int overlap_time_stream(struct overlap_time *t,
			const struct reel_interval_stream *s, uint32_t held,
			struct reel_error *err);
/* The interval @iv, which was added to one of the streams. 0, or -1 with @err. */
int overlap_time_add(struct overlap_time *t, const struct reel_interval *iv,
		     struct reel_error *err);
/* Give *@ns; false: it is not known, and the streams must be read. */
bool overlap_time_ns(const struct overlap_time *t, int64_t *ns);
void overlap_time_fini(struct overlap_time *t);

#endif
