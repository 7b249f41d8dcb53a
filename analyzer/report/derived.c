/* SPDX-License-Identifier: MIT */
/* Figures that follow from those that were read, for verdict and advice alike. */
#include "analyzer/report/report.h"

const struct report_rank *report_slowest(const struct report *r)
{
	const struct report_rank *worst = NULL;

	for (int64_t i = 0; i < r->ranks; i++) {
		const struct report_rank *k = &r->rank[i];

		if (k->steps <= 0 && k->evaluations <= 0)
			continue;
		if (!worst || (k->steps > 0) > (worst->steps > 0) ||
		    ((k->steps > 0) == (worst->steps > 0) &&
		     k->exposed_wait_share > worst->exposed_wait_share))
			worst = k;
	}
	return worst;
}

bool report_is_untimed(const struct report *r)
{
	return r->calls > 0 && !r->spans && r->completeness.no_time >= r->calls;
}

static int64_t counted_sum_ns(const struct report *r)
{
	return r->counted.read_ns + r->counted.write_ns + r->counted.meta_ns;
}

bool report_is_counted(const struct report *r)
{
	return r->counters &&
	       !(r->calls && (r->metadata || !counted_sum_ns(r)));
}

int64_t report_counted_ns(const struct report *r)
{
	int64_t ranks =
		r->ranks_declared > 0 ? r->ranks_declared : r->processes;
	int64_t ns = counted_sum_ns(r);

	return report_is_counted(r) && ranks > 0 && ns > 0 ? ns / ranks
							   : REPORT_NONE;
}

int64_t report_io_ns(const struct report *r, int64_t *mean_ns)
{
	int64_t unranked_ns;

	*mean_ns = REPORT_NONE;
	if (r->rank_io.ranks < 2 || r->io_ns <= 0)
		return r->io_ns;
	unranked_ns =
		r->io_ns > r->rank_io.sum_ns ? r->io_ns - r->rank_io.sum_ns : 0;
	*mean_ns = r->rank_io.mean_ns + unranked_ns;
	return r->rank_io.max_ns + unranked_ns;
}

int64_t report_blocking_ns(const struct report *r)
{
	int64_t mean_ns, ns = report_io_ns(r, &mean_ns);
	int64_t own_ns =
		r->group_sum_ns - r->async.flight_ns + r->async.call_ns;

	return r->async.flight_ns > 0 && own_ns < ns ? own_ns : ns;
}

bool report_run_is_job(const struct report *r)
{
	return r->wall_ns > 0 && r->wall_ns >= r->span_ns;
}

int64_t report_run_ns(const struct report *r)
{
	return report_run_is_job(r) ? r->wall_ns : r->span_ns;
}
