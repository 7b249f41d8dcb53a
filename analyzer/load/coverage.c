/* SPDX-License-Identifier: MIT */
/*
 * Coverage gaps: programs that could not be traced, and calls that were only
 * counted after a budget was spent. Rows of table loss whose unit is not
 * "events": no event was lost.
 */
#include <math.h>

#include "lib/calls.h"
#include "lib/trace/reader.h"

#include "analyzer/load/internal.h"

/* A counter of the whole job, never below 0: failed starts are subtracted. */
static uint64_t sum_counter(const struct load *l, unsigned int counter)
{
	uint64_t n = reel_trace_counts(l->tr)->counter[counter];

	for (int i = 0; i < reel_trace_processes(l->tr); i++)
		n += reel_trace_process(l->tr, i)->head.counter[counter];
	return n > INT64_MAX ? 0 : n;
}

/*
 * An estimate of the number of opened files, with an error of about 2 %.
 * Source: Flajolet and others, HyperLogLog, 2007.
 */
static uint64_t files_seen(const struct reel_counts *c)
{
	const double m = REEL_FILES_SEEN;
	double sum = 0, n;
	int none = 0;

	for (int i = 0; i < REEL_FILES_SEEN; i++) {
		none += !c->file[i];
		sum += ldexp(1, -(c->file[i] & 63));
	}
	n = 0.7213 / (1 + 1.079 / m) * m * m / sum;
	if (n <= 2.5 * m && none)
		n = m * log(m / none);
	return (uint64_t)(n + 0.5);
}

int load_gaps(struct load *l, int64_t start_real_ns, struct reel_error *err)
{
	uint64_t full = reel_trace_counts(l->tr)->full_real_ns, n;
	int rc = 0;

	for (unsigned int c = REEL_UNTRACED_STATIC;
	     !rc && c <= REEL_UNTRACED_RECORDING; c++) {
		n = sum_counter(l, c);
		if (n)
			rc = reel_writer_loss(l->writer, 0,
					      reel_counter_name(c), "processes",
					      n, err);
	}
	n = 0;
	for (int i = 0; i < reel_trace_processes(l->tr); i++)
		n += reel_trace_process(l->tr, i)->head.counted_ticks != 0;
	if (!rc && n)
		rc = reel_writer_loss(l->writer, 0, "counted", "processes", n,
				      err);
	n = n ? files_seen(reel_trace_counts(l->tr)) : 0;
	if (!rc && n)
		rc = reel_writer_loss(l->writer, 0, "counted_files", "files", n,
				      err);
	if (!rc && full)
		rc = reel_writer_loss(l->writer, 0, "counted_after", "ns",
				      full > (uint64_t)start_real_ns
					      ? full - (uint64_t)start_real_ns
					      : 0,
				      err);
	return rc;
}
