/* SPDX-License-Identifier: MIT */
/*
 * Functions of SQL that ioreel adds.
 *
 * The aggregates hold their input: percentile() 8 bytes for a value, the unions
 * 16 bytes for an interval that touches no other. All fail beyond a limit.
 */
#include "lib/sql/aggregate.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HELD_BYTES ((size_t)1 << 30) /* of one aggregate */
#define FIRST_ROOM 64

/* --- percentile ----------------------------------------------------------- */

struct percentile {
	double *value;
	size_t n, room;
	double percent;
	bool begun, real; /* real: not all values were integers */
	bool failed;
};

/* Integers are held as doubles as long as both are the same number. */
#define EXACT_INTEGER ((int64_t)1 << 53)

static void fail_function(sqlite3_context *ctx, const char *why)
{
	sqlite3_result_error(ctx, why, -1);
}

/* Make room for one more in *@p. 0, or -1 with the error of @ctx. */
static int one_more(sqlite3_context *ctx, void **p, size_t n, size_t *room,
		    size_t size)
{
	size_t more = *room ? 2 * *room : FIRST_ROOM;
	void *q;

	if (n < *room)
		return 0;
	if (more * size > HELD_BYTES) {
		fail_function(ctx, "an aggregate needs more than 1 GiB");
		return -1;
	}
	q = realloc(*p, more * size);
	if (!q) {
		sqlite3_result_error_nomem(ctx);
		return -1;
	}
	*p = q;
	*room = more;
	return 0;
}

/* Take the percentage of the group from its first row. */
static bool take_percent(sqlite3_context *ctx, struct percentile *p,
			 sqlite3_value *v)
{
	int type = sqlite3_value_numeric_type(v);
	double percent = sqlite3_value_double(v);

	if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) ||
	    !(percent >= 0 && percent <= 100))
		fail_function(ctx, "percentile: p is not from 0 to 100");
	else if (p->begun && percent != p->percent)
		fail_function(ctx, "percentile: p differs between rows");
	else
		p->begun = true;
	p->percent = percent;
	return p->begun;
}

static void percentile_step(sqlite3_context *ctx, int argc,
			    sqlite3_value **argv)
{
	struct percentile *p = sqlite3_aggregate_context(ctx, sizeof(*p));
	int type = sqlite3_value_numeric_type(argv[0]);
	int64_t integer = sqlite3_value_int64(argv[0]);

	if (!p) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	if (!take_percent(ctx, p, argv[1]) || type == SQLITE_NULL)
		return;
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
		fail_function(ctx, "percentile: x is not a number");
		return;
	}
	if (type == SQLITE_INTEGER &&
	    (integer > EXACT_INTEGER || integer < -EXACT_INTEGER)) {
		fail_function(ctx, "percentile: x is beyond 2^53");
		return;
	}
	if (one_more(ctx, (void **)&p->value, p->n, &p->room,
		     sizeof(*p->value)))
		return;
	p->real = p->real || type == SQLITE_FLOAT;
	p->value[p->n++] = sqlite3_value_double(argv[0]);
}

/* Quickselect: the value that has index @k in order. The middle of a range is
 * the pivot, moved by a counter, so that no input is quadratic by design. */
static double select_value(double *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;
	uint64_t turn = 0x9e3779b97f4a7c15;

	while (lo < hi) {
		size_t i = lo, j = hi;
		double pivot;

		turn = turn * 6364136223846793005 + 1442695040888963407;
		pivot = v[lo + (turn >> 33) % (hi - lo + 1)];
		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j) {
				double t = v[i];

				v[i++] = v[j];
				v[j] = t;
				if (!j)
					break;
				j--;
			}
		}
		if (k <= j && j < hi)
			hi = j;
		else if (k >= i)
			lo = i;
		else
			break;
	}
	return v[k];
}

static void percentile_final(sqlite3_context *ctx)
{
	struct percentile *p = sqlite3_aggregate_context(ctx, 0);
	double rank, value;

	if (!p || !p->n) {
		free(p ? p->value : NULL);
		return;
	}
	rank = ceil(p->percent * (double)p->n / 100);
	value = select_value(p->value, p->n, rank < 1 ? 0 : (size_t)rank - 1);
	if (p->real)
		sqlite3_result_double(ctx, value);
	else
		sqlite3_result_int64(ctx, (int64_t)value);
	free(p->value);
}

/* --- hist_bin ------------------------------------------------------------- */

/* The bin b of a size: 2^b <= size < 2^(b+1), as size_bin of transfer_size_bin.
 * A call that moved nothing is in none. */
static void hist_bin(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	int64_t size = sqlite3_value_int64(argv[0]);
	int type = sqlite3_value_numeric_type(argv[0]);

	if (type != SQLITE_INTEGER && type != SQLITE_NULL)
		fail_function(ctx, "hist_bin: x is not an integer");
	else if (size > 0)
		sqlite3_result_int(ctx, 63 - __builtin_clzll((uint64_t)size));
}

/* --- unions of intervals -------------------------------------------------- */

struct interval {
	int64_t start, end;
};

struct intervals {
	struct interval *at;
	size_t n, room;
};

static int compare_intervals(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sort, and merge intervals that touch. */
static void merge_intervals(struct intervals *s)
{
	size_t kept = 0, sorted = 1;

	if (!s->at)
		return;
	while (sorted < s->n && s->at[sorted - 1].start <= s->at[sorted].start)
		sorted++;
	if (sorted < s->n)
		qsort(s->at, s->n, sizeof(*s->at), compare_intervals);
	for (size_t i = 1; i < s->n; i++) {
		struct interval *last = &s->at[kept];

		if (s->at[i].start > last->end)
			s->at[++kept] = s->at[i];
		else if (s->at[i].end > last->end)
			last->end = s->at[i].end;
	}
	s->n = s->n ? kept + 1 : 0;
}

/* Add the interval of the arguments; an SQL error otherwise. */
static void add_interval(sqlite3_context *ctx, struct intervals *s,
			 sqlite3_value **argv)
{
	struct interval in = {sqlite3_value_int64(argv[0]), 0}, *last;
	int64_t dur = sqlite3_value_int64(argv[1]);

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL ||
	    sqlite3_value_type(argv[1]) == SQLITE_NULL)
		return;
	if (sqlite3_value_numeric_type(argv[0]) != SQLITE_INTEGER ||
	    sqlite3_value_numeric_type(argv[1]) != SQLITE_INTEGER) {
		fail_function(ctx, "a start or duration is not an integer");
		return;
	}
	if (dur < 0 || __builtin_add_overflow(in.start, dur, &in.end)) {
		fail_function(ctx, "a duration is negative, or out of range");
		return;
	}
	/* mostly in order of time: a nested call extends the last one */
	last = s->n ? &s->at[s->n - 1] : NULL;
	if (last && in.start >= last->start && in.start <= last->end) {
		last->end = in.end > last->end ? in.end : last->end;
		return;
	}
	if (!s->at || s->n == s->room) {
		merge_intervals(s);
		/* worth it only if much has been merged */
		if (s->n >= s->room / 2 &&
		    one_more(ctx, (void **)&s->at, s->room, &s->room,
			     sizeof(*s->at)))
			return;
	}
	s->at[s->n++] = in;
}

/* Sums of times are exact in 64 bits unsigned: no part is counted twice. */
static void give_sum(sqlite3_context *ctx, uint64_t sum)
{
	if (sum > INT64_MAX)
		fail_function(ctx, "a sum of times is out of range");
	else
		sqlite3_result_int64(ctx, (int64_t)sum);
}

static void union_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct intervals *s = sqlite3_aggregate_context(ctx, sizeof(*s));

	if (s)
		add_interval(ctx, s, argv);
	else
		sqlite3_result_error_nomem(ctx);
}

static void union_final(sqlite3_context *ctx)
{
	struct intervals *s = sqlite3_aggregate_context(ctx, 0);
	uint64_t sum = 0;

	if (!s || !s->at)
		return;
	merge_intervals(s);
	for (size_t i = 0; i < s->n; i++)
		sum += (uint64_t)s->at[i].end - (uint64_t)s->at[i].start;
	free(s->at);
	give_sum(ctx, sum);
}

static void overlap_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct intervals *s = sqlite3_aggregate_context(ctx, 2 * sizeof(*s));
	int64_t which = sqlite3_value_int64(argv[2]);

	if (!s)
		sqlite3_result_error_nomem(ctx);
	else if (sqlite3_value_type(argv[2]) == SQLITE_NULL)
		return;
	else if (sqlite3_value_numeric_type(argv[2]) != SQLITE_INTEGER ||
		 (which != 0 && which != 1))
		fail_function(ctx, "overlap_ns: which is neither 0 nor 1");
	else
		add_interval(ctx, &s[which], argv);
}

static void overlap_final(sqlite3_context *ctx)
{
	struct intervals *s = sqlite3_aggregate_context(ctx, 0);
	size_t i = 0, j = 0;
	uint64_t sum = 0;

	if (!s || (!s[0].at && !s[1].at))
		return;
	merge_intervals(&s[0]);
	merge_intervals(&s[1]);
	while (s[0].at && s[1].at && i < s[0].n && j < s[1].n) {
		const struct interval *a = &s[0].at[i], *b = &s[1].at[j];
		int64_t start = a->start > b->start ? a->start : b->start;
		int64_t end = a->end < b->end ? a->end : b->end;

		if (end > start)
			sum += (uint64_t)end - (uint64_t)start;
		if (a->end < b->end)
			i++;
		else
			j++;
	}
	free(s[0].at);
	free(s[1].at);
	give_sum(ctx, sum);
}

int reel_aggregate_register(sqlite3 *db)
{
	static const struct {
		const char *name;
		int argc;
		void (*scalar)(sqlite3_context *, int, sqlite3_value **);
		void (*step)(sqlite3_context *, int, sqlite3_value **);
		void (*final)(sqlite3_context *);
	} functions[] = {
		{"percentile", 2, NULL, percentile_step, percentile_final},
		{"hist_bin", 1, hist_bin, NULL, NULL},
		{"union_ns", 2, NULL, union_step, union_final},
		{"overlap_ns", 3, NULL, overlap_step, overlap_final},
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (rc == SQLITE_OK)
			rc = sqlite3_create_function_v2(
				db, functions[i].name, functions[i].argc,
				SQLITE_UTF8 | SQLITE_DETERMINISTIC |
					SQLITE_INNOCUOUS,
				NULL, functions[i].scalar, functions[i].step,
				functions[i].final, NULL);
	return rc;
}
