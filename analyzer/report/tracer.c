/* SPDX-License-Identifier: MIT */
/*
 * strace stops the program at the begin and the end of each call, which takes tens of
 * microseconds: more than most calls do. Problems are judged by the times without that
 * part, or each job that makes many calls would be bound by its I/O. The part is the
 * mean time of the cheapest kind of call that asks no storage (v_tracer).
 */
#include "analyzer/report/tracer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

static int64_t without(const struct report *r, int64_t ns, int64_t calls)
{
	int64_t own = calls * r->tracer.call_ns;

	return ns > own ? ns - own : 0;
}

static int64_t part(const struct report *r, int64_t ns)
{
	return ns > 0 ? (int64_t)((double)ns * (1 - r->tracer.io_share)) : ns;
}

static void take_from_groups(struct report *to, const struct report *r)
{
	to->group_sum_ns = 0;
	for (int g = 0; g < REEL_GROUPS; g++) {
		struct report_group *group = &to->group[g];

		group->dur_ns = without(r, group->dur_ns, group->calls);
		to->group_sum_ns += group->dur_ns;
	}
	for (int m = 0; m <= REPORT_META_ADVICE; m++)
		to->meta[m].dur_ns =
			without(r, to->meta[m].dur_ns, to->meta[m].calls);
	for (int i = 0; i < 2; i++)
		to->small[i].ns =
			without(r, to->small[i].ns, to->small[i].calls);
}

static void take_from_rank(struct report_rank *k, const struct report *r)
{
	k->own_io_ns = part(r, k->own_io_ns);
	k->steady_own_io_ns = part(r, k->steady_own_io_ns);
	k->io_ns = part(r, k->io_ns);
	k->hidden_ns = part(r, k->hidden_ns);
	k->exposed_ns = part(r, k->exposed_ns);
	if (k->worker_io_share > 0)
		k->worker_io_share *= 1 - r->tracer.io_share;
}

int report_untraced(struct report *to, const struct report *r,
		    struct reel_error *err)
{
	*to = *r;
	to->rank = NULL;
	if (r->ranks) {
		to->rank = reel_alloc((size_t)r->ranks, sizeof(*to->rank), err);
		if (!to->rank)
			return -1;
		memcpy(to->rank, r->rank, (size_t)r->ranks * sizeof(*r->rank));
	}
	take_from_groups(to, r);
	to->io_ns = part(r, r->io_ns);
	to->rank_io.mean_ns = part(r, r->rank_io.mean_ns);
	to->rank_io.max_ns = part(r, r->rank_io.max_ns);
	to->rank_io.sum_ns = part(r, r->rank_io.sum_ns);
	to->checkpoint_meta_ns = part(r, r->checkpoint_meta_ns);
	to->checkpoint_ns = part(r, r->checkpoint_ns);
	to->unfinished_ns = part(r, r->unfinished_ns);
	to->journal_ns = part(r, r->journal_ns);
	for (int64_t i = 0; i < r->ranks; i++)
		take_from_rank(&to->rank[i], r);
	return 0;
}

void report_untraced_fini(struct report *from, struct report *r)
{
	memcpy(r->advice, from->advice, sizeof(r->advice));
	r->advices = from->advices;
	r->verdict = from->verdict;
	free(from->rank);
}
