/* SPDX-License-Identifier: MIT */
/*
 * The offsets of the clocks of an MPI job's nodes to the clock of rank 0's
 * node: a straight line between the measurements at MPI_Init and MPI_Finalize.
 *
 * They come from heads, which have no checksum: a second measurement that
 * implies a drift beyond that of crystals is ignored.
 */
#include <string.h>

#include "lib/trace/internal.h"

#define NS_MAX (1ll << 62)
#define ERROR_MAX 1000000000ull /* a wider measurement is useless */
#define DRIFT_SHARE 2000	/* 1/2,000: 500 ppm */

struct measure {
	int64_t ns, at, error;
};

/* Read measurement @which of @h; false if it is implausible. */
static bool get_measure(const struct reel_head *h, int which, struct measure *m)
{
	if (!h->peer_mono_ns[which] || h->peer_mono_ns[which] > NS_MAX ||
	    h->peer_error_ns[which] > ERROR_MAX || h->peer_ns[which] > NS_MAX ||
	    h->peer_ns[which] < -NS_MAX)
		return false;
	*m = (struct measure){h->peer_ns[which],
			      (int64_t)h->peer_mono_ns[which],
			      (int64_t)h->peer_error_ns[which]};
	return true;
}

/* @timens_ns: rank 0's CLOCK_MONOTONIC minus that of its host. */
static void set_peer(struct trace_clock *c, const struct reel_head *h,
		     int64_t timens_ns)
{
	struct measure m[2] = {{0}};
	bool first = get_measure(h, 0, &m[0]), last = get_measure(h, 1, &m[1]);
	int64_t span, bend;

	if (c->peer_at[0] || (!first && !last))
		return;
	if (!first)
		m[0] = m[1];
	if (!last)
		m[1] = m[0];
	span = m[1].at - m[0].at;
	if (span < 0 || __builtin_sub_overflow(m[1].ns, m[0].ns, &bend) ||
	    (bend < 0 ? -bend : bend) >
		    span / DRIFT_SHARE + m[0].error + m[1].error)
		m[1] = m[0];
	for (int i = 0; i < 2; i++) {
		c->peer_ns[i] = m[i].ns - timens_ns;
		c->peer_at[i] = m[i].at;
	}
	c->error_ns += m[0].error > m[1].error ? m[0].error : m[1].error;
}

static bool same_host(const struct reel_trace *tr, uint32_t a, uint32_t b)
{
	return !strcmp(tr->image[a].pub.head.boot_id,
		       tr->image[b].pub.head.boot_id);
}

void trace_peer_find(struct reel_trace *tr)
{
	tr->rank0 = -1;
	for (uint32_t i = 0; i < tr->images && tr->rank0 < 0; i++)
		if (tr->image[i].pub.head.mpi_rank == 1)
			tr->rank0 = (int)i;
	for (uint32_t i = 0; i < tr->images && tr->rank0 >= 0; i++) {
		const struct reel_head *h = &tr->image[i].pub.head;

		if ((!h->peer_mono_ns[0] && !h->peer_mono_ns[1]) ||
		    same_host(tr, i, (uint32_t)tr->rank0))
			continue;
		for (uint32_t k = 0; k < tr->images; k++)
			if (same_host(tr, i, k))
				set_peer(&tr->clock[tr->image[k].clock], h,
					 tr->image[tr->rank0].timens_ns);
	}
}

int64_t trace_peer_ns(const struct trace_clock *c, int64_t ns)
{
	__int128 add = c->peer_ns[1] - c->peer_ns[0], sum;
	int64_t span = c->peer_at[1] - c->peer_at[0];

	add = span > 0 ? add * (ns - c->peer_at[0]) / span : 0;
	sum = add + c->peer_ns[0] + ns;
	return sum < 0 ? 0 : sum > NS_MAX ? NS_MAX : (int64_t)sum;
}

int reel_trace_clock_process(const struct reel_trace *tr, int i)
{
	return tr->clock[tr->image[i].clock].peer_at[0] ? tr->rank0 : i;
}
