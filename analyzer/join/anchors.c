/* SPDX-License-Identifier: MIT */
/*
 * A shift from anchors: spans of the same name in both stores, such as fetches,
 * steps and ranges of the user. Their starts and their ends vote. A profile may
 * hold a few steps of a job: the irregular times between its spans find their
 * place among all.
 */
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "schemas/hash.h"

#include "lib/error.h"
#include "lib/store/event.h"
#include "lib/store/store.h"

#include "analyzer/join/anchors.h"

#define ANCHORS_MOST 1000000 /* spans that are read */
#define REACH_NS 1000000     /* two tools begin or end a span within it */

static int add_anchor(struct anchors *list, sqlite3_stmt *q,
		      struct reel_error *err)
{
	const char *name = (const char *)sqlite3_column_text(q, 0);
	struct anchor *a;

	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 256;

		if (reel_grow(&list->at, room, sizeof(*a), err))
			return -1;
		list->room = room;
	}
	a = &list->at[list->n++];
	*a = (struct anchor){
		.name = name ? reel_fnv1a(REEL_FNV_SEED, name, strlen(name))
			     : 0,
		.rank = sqlite3_column_int64(q, 1),
		.start_ns = sqlite3_column_int64(q, 2),
		.end_ns = sqlite3_column_int64(q, 3),
		.process = sqlite3_column_int64(q, 4)};
	list->ranks &= sqlite3_column_type(q, 1) != SQLITE_NULL;
	return 0;
}

/* Kernels and operators are of one source, and too many. */
static const char anchor_sql[] =
	"SELECT s.name, p.rank, s.start_ns, s.start_ns + s.dur_ns, "
	"process_id "
	"FROM span s JOIN thread t USING (thread_id) "
	"JOIN process p USING (process_id) "
	"WHERE s.name NOT IN ('kernel', 'memcpy', 'cpu_op') AND s.closed";

static int read_anchors(struct anchors *list, const struct join_source *source,
			struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int rc = reel_store_prepare(source->st, &q, anchor_sql, err);

	list->ranks = true;
	while (!rc && list->n < ANCHORS_MOST && sqlite3_step(q) == SQLITE_ROW)
		rc = add_anchor(list, q, err);
	sqlite3_finalize(q);
	return rc;
}

int join_by_name_rank(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

size_t join_anchors_find(const struct anchors *list, const struct anchor *key)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (join_by_name_rank(&list->at[mid], key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void sort_anchors(struct anchors *list, bool ranks)
{
	for (size_t i = 0; !ranks && i < list->n; i++)
		list->at[i].rank = 0;
	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), join_by_name_rank);
}

/* The anchors from *@i on with the name and rank of @key; *@i is behind them. */
static int take_group(const struct anchors *list, size_t *i,
		      const struct anchor *key, struct join_series *starts,
		      struct join_series *ends, struct reel_error *err)
{
	starts->n = ends->n = 0;
	for (; *i < list->n && list->at[*i].name == key->name &&
	       list->at[*i].rank == key->rank;
	     ++*i)
		if (join_series_add(starts, list->at[*i].start_ns, err) ||
		    join_series_add(ends, list->at[*i].end_ns, err))
			return -1;
	return 0;
}

static int is_before(const struct anchor *a, const struct anchor *b)
{
	return a->name != b->name ? a->name < b->name : a->rank < b->rank;
}

/* Starts and ends of the spans of one name and rank in both stores. */
struct group {
	struct join_series start[2], end[2];
};

typedef int group_fn(void *ctx, const struct group *g, struct reel_error *err);

static int each_group(const struct anchors *a, const struct anchors *b,
		      group_fn *fn, void *ctx, struct reel_error *err)
{
	struct group g = {0};
	int rc = 0;

	for (size_t i = 0, k = 0; !rc && i < a->n && k < b->n;) {
		if (is_before(&a->at[i], &b->at[k])) {
			i++;
			continue;
		}
		if (is_before(&b->at[k], &a->at[i])) {
			k++;
			continue;
		}
		rc = take_group(b, &k, &a->at[i], &g.start[1], &g.end[1],
				err) ||
		     take_group(a, &i, &a->at[i], &g.start[0], &g.end[0],
				err) ||
		     fn(ctx, &g, err);
	}
	for (int i = 0; i < 2; i++) {
		join_series_fini(&g.start[i]);
		join_series_fini(&g.end[i]);
	}
	return rc ? -1 : 0;
}

static int add_votes(void *ctx, const struct group *g, struct reel_error *err)
{
	struct join_votes *v = ctx;

	return join_votes_add(v, &g->start[0], &g->start[1], err) ||
	       join_votes_add(v, &g->end[0], &g->end[1], err);
}

/* The shifts that single groups tell, around the one of all of them. */
struct limits {
	int64_t at_ns, low_ns, high_ns;
	unsigned sample;
};

static int add_limit(struct limits *l, const struct join_series *a,
		     const struct join_series *b, struct reel_error *err)
{
	struct join_votes votes = {.sample = l->sample};
	struct join_peak p;
	int rc = join_votes_add(&votes, a, b, err);

	if (!rc &&
	    join_votes_near(&votes, l->at_ns, REACH_NS, REACH_NS / 2, &p)) {
		int64_t ns = join_peak_quantile(&p, .5);

		if (ns < l->low_ns)
			l->low_ns = ns;
		if (ns > l->high_ns)
			l->high_ns = ns;
	}
	join_votes_fini(&votes);
	return rc;
}

static int add_limits(void *ctx, const struct group *g, struct reel_error *err)
{
	return add_limit(ctx, &g->start[0], &g->start[1], err) ||
	       add_limit(ctx, &g->end[0], &g->end[1], err);
}

/*
 * The span of one tool lies within that of the other, or a little before or after it:
 * its starts tell another shift than its ends. The true one is between them. And it
 * changes where one clock is faster.
 */
static int measure(struct join_shift *out, struct anchors *a,
		   const struct anchors *b, const struct join_peak *peak,
		   unsigned sample, struct reel_error *err)
{
	int64_t at_ns = join_peak_quantile(peak, .5), low_ns, high_ns;
	struct limits l = {at_ns, at_ns, at_ns, sample};

	if (each_group(a, b, add_limits, &l, err))
		return -1;
	join_drift(&low_ns, &high_ns, a, b, peak);
	low_ns = low_ns < l.low_ns ? low_ns : l.low_ns;
	high_ns = high_ns > l.high_ns ? high_ns : l.high_ns;
	*out = (struct join_shift){low_ns + (high_ns - low_ns) / 2,
				   (high_ns - low_ns) / 2 + peak->width_ns,
				   "anchors"};
	return 1;
}

/* 1: a shift by sample @votes->sample of each series, 0: none there. */
static int try_sample(struct join_shift *out, struct anchors list[2],
		      struct join_votes *votes, struct reel_error *err)
{
	struct join_peak peak;
	int rc;

	votes->n = votes->matches = 0;
	if (each_group(&list[0], &list[1], add_votes, votes, err))
		return -1;
	if (!join_votes_peak(votes, INT64_MAX, &peak))
		return 0;
	rc = join_evidence(&list[0], &list[1], &peak, err);
	return rc == 1 ? measure(out, &list[0], &list[1], &peak, votes->sample,
				 err)
		       : rc;
}

int join_by_anchors(struct join_shift *out, const struct join_source *a,
		    const struct join_source *b, struct reel_error *err)
{
	struct anchors list[2] = {{0}};
	struct join_votes votes = {0};
	int rc =
		read_anchors(&list[0], a, err) || read_anchors(&list[1], b, err)
			? -1
			: 0;

	for (int i = 0; !rc && i < 2; i++)
		sort_anchors(&list[i], list[0].ranks && list[1].ranks);
	do
		rc = rc ? rc : try_sample(out, list, &votes, err);
	while (!rc && ++votes.sample < votes.samples);
	join_votes_fini(&votes);
	free(list[0].at);
	free(list[1].at);
	return rc;
}
