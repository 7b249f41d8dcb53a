/* SPDX-License-Identifier: MIT */
/* Does the job read its data set once, and keep it in memory? */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/error.h"

#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

#define KEPT_LEAST 0.9	 /* of the bytes: the data set is kept in memory */
#define ONCE_MOST 1.5	 /* times that its bytes are then read */
#define LATER_LEAST 0.25 /* of the steps: else too few to tell */

/* Bytes that the training read, by the size of its files. */
static double times_read(const struct fit *f)
{
	double read = 0, size = 0;

	for (uint32_t i = 0; i < f->visits; i++)
		read += (double)f->visit[i].bytes;
	for (uint32_t i = 0; i < f->files; i++)
		size += (double)f->file[i].size;
	return size > 0 ? read / size : 0;
}

/* The share of the bytes of the training that it read before @ns. */
static double share_before(const struct fit *f, int64_t ns)
{
	double bytes = 0, before = 0;

	for (uint32_t i = 0; i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];

		bytes += (double)v->bytes;
		before += v->end_ns <= ns ? (double)v->bytes : 0;
	}
	return bytes > 0 ? before / bytes : 0;
}

static int keep(struct fit *f, int how, double share, const char *when)
{
	f->w->pipeline.in_memory = how;
	f->passes = 1;
	return fit_reason(f, "pipeline.in_memory", 0.9,
			  "the job read %.0f %% of the bytes %s", 100 * share,
			  when);
}

/* A job that reads ahead of its epochs reads the files more than once. A mapping that
 * stays has the pages of one epoch for the next: no reader keeps them. */
static int may_cache(struct fit *f, bool *out)
{
	int64_t mapped;

	if (fit_ask(f,
		    "SELECT EXISTS (SELECT 1 FROM v_event WHERE class = 'data' "
		    "AND call = 'map_read' AND bytes > 0)",
		    0, &mapped))
		return -1;
	*out = f->epochs > 1 && !f->repeats && !f->inference &&
	       !f->own_loop.steps && !mapped &&
	       times_read(f) <= ONCE_MOST * (double)(f->ranks ? f->ranks : 1);
	return 0;
}

/* The start of the first rank's second epoch; INT64_MIN: there is none, or the job
 * ended soon after it. */
static int second_epoch(struct fit *f, int64_t *out)
{
	int64_t *value;
	uint32_t n;
	int rc = fit_column(f,
			    "SELECT start_ns AS ns FROM step WHERE rank = ?1 "
			    "AND epoch_span IS NOT (SELECT epoch_span FROM "
			    "step WHERE rank = ?1 ORDER BY start_ns LIMIT 1) "
			    "ORDER BY start_ns",
			    &value, &n);

	*out = !rc && n && n >= LATER_LEAST * (double)f->steps ? value[0]
							       : INT64_MIN;
	free(value);
	return rc;
}

int fit_memory(struct fit *f)
{
	int64_t first_ns, second_ns;
	double share;
	bool may;

	f->passes = f->epochs;
	f->read_until_ns = INT64_MAX;
	if (fit_ask(f, "SELECT min(start_ns) FROM step", INT64_MIN,
		    &first_ns) ||
	    second_epoch(f, &second_ns) || may_cache(f, &may))
		return -1;
	share = share_before(f, first_ns);
	if (share >= KEPT_LEAST)
		return keep(f, WORKLOAD_PRELOADED, share,
			    "before its first step");
	share = share_before(f, second_ns);
	if (!may || share < KEPT_LEAST)
		return 0;
	f->read_until_ns = second_ns;
	return keep(f, WORKLOAD_CACHED, share, "before its second epoch");
}
