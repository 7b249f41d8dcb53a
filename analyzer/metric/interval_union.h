/* SPDX-License-Identifier: MIT */
/*
 * Exact unions of time intervals in bounded memory.
 *
 * Intervals are added roughly in the order of their ends, so a union is a stack
 * of disjoint intervals, and an addition merges from the top. When the stack is
 * full, its bottom is collapsed into a sum.
 */
#ifndef ANALYZER_METRIC_INTERVAL_UNION_H
#define ANALYZER_METRIC_INTERVAL_UNION_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;

/* [start, end); the bytes are summed when intervals merge. */
struct reel_interval {
	int64_t start_ns, end_ns;
	uint64_t read_bytes, write_bytes;
};

/* Uncovered time within the collapsed part of a union. */
struct reel_gap {
	int64_t end_ns; /* begins at the end of the previous one, or at 0 */
	int64_t gap_ns;
};

/*
 * Zeroed, with `limit` set, is an empty union. An addition may begin below the
 * floor, the end of the collapsed part. This part of it is cut off, and
 * counted; with keep_late it is kept apart, outside of the measure; with
 * keep_gaps it is measured exactly by the remembered gaps, except in the piece
 * of REEL_GAP_INTERVALS intervals in which it begins. At most clipped_ns are
 * missing in the measure.
 */
#define REEL_GAP_INTERVALS 256u

struct reel_union {
	struct reel_interval *iv; /* disjoint, not touching, in order */
	uint32_t n, room;
	uint32_t limit;	  /* collapse the lower half at this many; >= 2 */
	int64_t past_ns;  /* length of the collapsed part */
	int64_t floor_ns; /* end of the collapsed part; 0: none */
	uint64_t clipped; /* additions of which a part is missing */
	int64_t clipped_ns;
	bool keep_late, keep_gaps;
	struct reel_interval *late; /* in the order of addition */
	uint32_t lates, late_room;
	struct reel_gap *gap;
	uint32_t gaps, gap_room;
	/* Called with the @n collapsed intervals, in order; may be NULL. */
	int (*emit)(void *ctx, const struct reel_interval *iv, uint32_t n,
		    struct reel_error *err);
	void *ctx;
};

#define REEL_UNION_ALL UINT32_MAX /* `limit` of a union that keeps all */

/* The general case of reel_union_add(). */
int reel_union_insert(struct reel_union *u, const struct reel_interval *in,
		      struct reel_error *err);

/*
 * Add @in, in any order; cheap when it ends last. Only the bytes of an empty
 * interval count. 0, or -1 with @err: REEL_E_MEMORY, or from emit.
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

/* Add the time [@start_ns, @end_ns), without bytes. 0 or -1 as above. */
int reel_union_add_time(struct reel_union *u, int64_t start_ns, int64_t end_ns,
			struct reel_error *err);

/* The length, without late parts. */
int64_t reel_union_ns(const struct reel_union *u);
/* Collapse all intervals, through emit. */
int reel_union_flush(struct reel_union *u, struct reel_error *err);
void reel_union_fini(struct reel_union *u);

/*
 * Add to @out the parts of @a inside of @b (@inside) or outside. Both keep all
 * intervals (REEL_UNION_ALL).
 */
int reel_union_cut(struct reel_union *out, const struct reel_union *a,
		   const struct reel_union *b, bool inside,
		   struct reel_error *err);

/*
 * The next part of [*@from_ns, @to_ns) inside of @u, which keeps all intervals:
 * true and @part, with *@from_ns moved to its end. @at as below.
 */
bool reel_union_part(const struct reel_union *u, uint32_t *at, int64_t *from_ns,
		     int64_t to_ns, struct reel_interval *part);

/* The share of @bytes before @at_ns, at an even rate during @iv. */
uint64_t reel_interval_bytes(uint64_t bytes, const struct reel_interval *iv,
			     int64_t at_ns);

/*
 * The length of @u, which keeps all intervals, within [start, end). @at (or
 * NULL) is a cursor: 0 at first, for calls whose starts do not decrease.
 */
int64_t reel_union_within(const struct reel_union *u, int64_t start_ns,
			  int64_t end_ns, uint32_t *at);

#endif
