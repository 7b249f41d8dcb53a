/* SPDX-License-Identifier: MIT */
/*
 * Unions of time intervals, exact, in bounded memory.
 *
 * What ends later tends to be added later, so a union is kept as a stack of
 * disjoint intervals that an addition merges from the top. Its bottom is
 * collapsed into a sum when the stack is full.
 */
#ifndef ANALYZER_METRIC_INTERVAL_UNION_H
#define ANALYZER_METRIC_INTERVAL_UNION_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;

/* [start, end); the bytes are what moved in it, summed when intervals merge. */
struct reel_interval {
	int64_t start_ns, end_ns;
	uint64_t read_bytes, write_bytes;
};

/* Uncovered time within the collapsed part of a union. */
struct reel_gap {
	int64_t end_ns; /* begins at the end of the one before, or at 0 */
	int64_t gap_ns;
};

/*
 * Zeroed, with `most` set, is an empty union. An addition may begin below the
 * floor. That part of it is cut, and counted; with keep_late it is kept as it
 * is, and is no part of the measure; with keep_gaps it is measured where
 * nothing was before, but for the piece of REEL_GAP_INTERVALS intervals that it
 * begins in. At most clipped_ns are missing in the measure.
 */
#define REEL_GAP_INTERVALS 256u

struct reel_union {
	struct reel_interval *iv; /* disjoint, not touching, in order */
	uint32_t n, room;
	uint32_t most;	  /* intervals held before the bottom half goes; >= 2 */
	int64_t past_ns;  /* measure of what is gone */
	int64_t floor_ns; /* end of what is gone; 0 before */
	uint64_t clipped; /* additions of which something is missing */
	int64_t clipped_ns;
	bool keep_late, keep_gaps;
	struct reel_interval *late; /* as they came */
	uint32_t lates, late_room;
	struct reel_gap *gap;
	uint32_t gaps, gap_room;
	/* Called with each interval that goes, in order; may be NULL. */
	int (*emit)(void *ctx, const struct reel_interval *iv,
		    struct reel_error *err);
	void *ctx;
};

#define REEL_UNION_ALL UINT32_MAX /* `most` for a union that keeps all */

/* The general case of reel_union_add(). */
int reel_union_insert(struct reel_union *u, const struct reel_interval *in,
		      struct reel_error *err);

/*
 * Add @in, in any order; cheap when it ends last. Empty intervals count only
 * for their bytes. 0, or -1 with @err: REEL_E_MEMORY, or what emit says.
 */
static inline int reel_union_add(struct reel_union *u,
				 const struct reel_interval *in,
				 struct reel_error *err)
{
	struct reel_interval *top;

	if (!u->n || in->end_ns <= in->start_ns)
		return reel_union_insert(u, in, err);
	top = &u->iv[u->n - 1];
	if (in->start_ns > top->end_ns) {
		if (u->n == u->room)
			return reel_union_insert(u, in, err);
		u->iv[u->n++] = *in;
		return 0;
	}
	if (in->end_ns < top->start_ns)
		return reel_union_insert(u, in, err);
	if (in->start_ns < top->start_ns) {
		if (u->n < 2 || in->start_ns <= top[-1].end_ns)
			return reel_union_insert(u, in, err);
		top->start_ns = in->start_ns;
	}
	if (in->end_ns > top->end_ns)
		top->end_ns = in->end_ns;
	top->read_bytes += in->read_bytes;
	top->write_bytes += in->write_bytes;
	return 0;
}

int64_t reel_union_ns(const struct reel_union *u); /* without late parts */
/* Let everything go, through emit. */
int reel_union_flush(struct reel_union *u, struct reel_error *err);
void reel_union_fini(struct reel_union *u);

/*
 * Add to @out the parts of @a that lie in @b (@inside), or outside of it. Both
 * are held whole (REEL_UNION_ALL).
 */
int reel_union_cut(struct reel_union *out, const struct reel_union *a,
		   const struct reel_union *b, bool inside,
		   struct reel_error *err);

/*
 * The next part of [*@from_ns, @to_ns) that lies in @u, which is held whole:
 * true and @part, with *@from_ns moved behind it. @at as below.
 */
bool reel_union_part(const struct reel_union *u, uint32_t *at, int64_t *from_ns,
		     int64_t to_ns, struct reel_interval *part);

/* Bytes of @bytes that moved before @at_ns, at an even rate through @iv. */
uint64_t reel_interval_bytes(uint64_t bytes, const struct reel_interval *iv,
			     int64_t at_ns);

/*
 * The measure of [start, end) in @u, which is held whole. @at (or NULL) is 0
 * at first and carries on from call to call whose starts do not decrease.
 */
int64_t reel_union_within(const struct reel_union *u, int64_t start_ns,
			  int64_t end_ns, uint32_t *at);

#endif
