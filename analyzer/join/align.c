/* SPDX-License-Identifier: MIT */
/* The methods in turn, and what is said when none works. */
#include "analyzer/join/align.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/error.h"
#include "lib/store/event.h"
#include "lib/store/store.h"

/* Right clocks are as near to the spans as this, by which tools mark them. */
#define TOOLS_APART_NS 1000000
#define WAY_OUT 80 /* bytes of its words */

static const char *way_out(char out[static WAY_OUT],
			   const struct join_source *a,
			   const struct join_source *b,
			   enum join_method failed);

struct clock {
	bool known;
	int64_t start_real_ns, span_ns, error_ns; /* the last may be unknown */
};

static int read_clock(struct clock *c, const struct join_source *source,
		      struct reel_error *err)
{
	bool has;

	c->error_ns = REEL_NO_OFFSET;
	if (reel_store_int(source->st, "SELECT start_real_ns FROM run",
			   &c->start_real_ns, &c->known, err) ||
	    /* A log of counters has no events, or those of a part of the job. */
	    reel_store_int(source->st,
			   "SELECT max(span_ns, ifnull(wall_ns, 0)) FROM run",
			   &c->span_ns, &has, err) ||
	    reel_store_int(source->st, "SELECT clock_error_ns FROM run",
			   &c->error_ns, &has, err))
		return -1;
	if (!has)
		c->error_ns = REEL_NO_OFFSET;
	c->known &= c->start_real_ns > 0;
	return 0;
}

/* The clocks of two tools differ by more than either of them knows: spans or reads of
 * both say by how much. Spans far from the clocks prove them wrong: if the method is
 * @free, their shift is taken. */
static int judge_clocks(struct join_shift *out, const struct join_source *a,
			const struct join_source *b, bool free,
			struct reel_error *err)
{
	struct join_shift seen;
	int64_t off_ns;
	int anchors = join_by_anchors(&seen, a, b, err), rc = anchors;

	if (!rc)
		rc = join_by_reads(&seen, a, b, err);
	if (rc <= 0)
		return rc;
	off_ns = llabs(seen.ns - out->ns);
	if (free && anchors && off_ns > seen.error_ns + TOOLS_APART_NS)
		*out = seen;
	else
		out->error_ns = off_ns + seen.error_ns;
	return 0;
}

/* Clocks that do not overlap are of two runs, or one of them is wrong. Returns -1. */
static int refuse_clocks(const struct join_source *a,
			 const struct join_source *b, int64_t apart_ns,
			 struct reel_error *err)
{
	char out[WAY_OUT];

	return reel_fail(err, REEL_E_FORMAT,
			 "cannot align '%s' with '%s': by their clocks one "
			 "began %lld s after the other had ended; %s",
			 b->name, a->name, (long long)(apart_ns / 1000000000),
			 way_out(out, a, b, JOIN_CLOCKS));
}

static int by_clocks(struct join_shift *out, const struct join_source *a,
		     const struct join_source *b, struct reel_error *err)
{
	struct clock x, y;
	int64_t ns;

	if (read_clock(&x, a, err) || read_clock(&y, b, err))
		return -1;
	if (!x.known || !y.known ||
	    __builtin_sub_overflow(y.start_real_ns, x.start_real_ns, &ns))
		return 0;
	if (ns > x.span_ns || ns < -y.span_ns)
		return refuse_clocks(
			a, b, ns > 0 ? ns - x.span_ns : -ns - y.span_ns, err);
	*out = (struct join_shift){ns, REEL_NO_OFFSET, "clocks"};
	return 1;
}

static const struct {
	int (*find)(struct join_shift *out, const struct join_source *a,
		    const struct join_source *b, struct reel_error *err);
	const char *why;
} methods[] = {
	[JOIN_CLOCKS] = {by_clocks, "no time of day in both"},
	[JOIN_ANCHORS] = {join_by_anchors,
			  "no spans of the same names in both, or no distinct "
			  "place for them"},
	[JOIN_READS] = {join_by_reads,
			"no reads in one and fetches in the other, or no "
			"distinct match"},
};
#define METHODS (int)(sizeof(methods) / sizeof(methods[0]))

/* The way out after @failed: spans or reads that match speak for a wrong clock, clocks
 * for spans that do not tell one place from another. */
static const char *way_out(char out[static WAY_OUT],
			   const struct join_source *a,
			   const struct join_source *b, enum join_method failed)
{
	struct reel_error ignored = {0};
	struct join_shift seen;

	for (int i = 1; i < METHODS; i++) {
		if (i == (int)failed ||
		    methods[i].find(&seen, a, b, &ignored) <= 0)
			continue;
		snprintf(out, WAY_OUT,
			 "give --shift, or --align %s, which finds one",
			 seen.by);
		return out;
	}
	return "give --shift";
}

int join_align(struct join_shift *out, const struct join_source *a,
	       const struct join_source *b, enum join_method method,
	       struct reel_error *err)
{
	char other[WAY_OUT];

	for (int i = 1; i < METHODS; i++) {
		int rc = method == JOIN_ANY || (int)method == i
				 ? methods[i].find(out, a, b, err)
				 : 0;

		if (rc > 0 && i == JOIN_CLOCKS)
			return judge_clocks(out, a, b, method == JOIN_ANY, err);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	if (method != JOIN_ANY)
		return reel_fail(err, REEL_E_FORMAT,
				 "cannot align '%s' with '%s': %s; %s", b->name,
				 a->name, methods[method].why,
				 way_out(other, a, b, method));
	return reel_fail(err, REEL_E_FORMAT,
			 "cannot align '%s' with '%s': %s; %s; %s; give "
			 "--shift",
			 b->name, a->name, methods[1].why, methods[2].why,
			 methods[3].why);
}
