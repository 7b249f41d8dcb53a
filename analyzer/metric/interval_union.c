/* SPDX-License-Identifier: MIT */
/*
 * Unions of time intervals as a stack merged from the top.
 *
 * Exact unless an interval begins below the floor. Such a part is cut off, or
 * kept apart, or measured by the remembered gaps; a union never measures too
 * much.
 */
#include "analyzer/metric/interval_union.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"

#define FIRST_ROOM 2u

/* Add a gap piece up to @end_ns, of which @covered_ns were covered. */
static int add_gap(struct reel_union *u, int64_t end_ns, int64_t covered_ns,
		   struct reel_error *err)
{
	int64_t start_ns = u->gaps ? u->gap[u->gaps - 1].end_ns : 0;

	if (reel_array_reach(&u->gap, &u->gap_room, u->gaps, sizeof(*u->gap),
			     err))
		return -1;
	u->gap[u->gaps++] =
		(struct reel_gap){end_ns, end_ns - start_ns - covered_ns};
	return 0;
}

/* Remember the gaps between the lowest @count intervals. */
static int keep_gaps(struct reel_union *u, uint32_t count,
		     struct reel_error *err)
{
	int64_t covered_ns = 0;
	uint32_t i;

	if (!u->gaps && count && add_gap(u, u->iv[0].start_ns, 0, err))
		return -1;
	for (i = 0; i < count; i++) {
		covered_ns += u->iv[i].end_ns - u->iv[i].start_ns;
		if ((i + 1) % REEL_GAP_INTERVALS && i + 1 < count)
			continue;
		if (add_gap(u, u->iv[i].end_ns, covered_ns, err))
			return -1;
		covered_ns = 0;
	}
	return 0;
}

/* Fill the gaps of the collapsed part from @start_ns on. The positions of gaps
 * within the first piece are unknown. */
static void fill_gaps(struct reel_union *u, int64_t start_ns)
{
	bool sure = true;
	uint32_t i;

	for (i = u->gaps; i--;) {
		struct reel_gap *gap = &u->gap[i];
		int64_t from_ns = i ? gap[-1].end_ns : 0;
		int64_t before_ns = start_ns > from_ns ? start_ns - from_ns : 0;
		int64_t len_ns = gap->end_ns - from_ns - before_ns;
		int64_t sure_ns = gap->gap_ns - before_ns;
		int64_t most_ns = gap->gap_ns < len_ns ? gap->gap_ns : len_ns;

		if (gap->end_ns <= start_ns)
			break;
		sure_ns = sure_ns > 0 ? sure_ns : 0;
		u->past_ns += sure_ns;
		gap->gap_ns -= sure_ns;
		u->clipped_ns += most_ns - sure_ns;
		sure = most_ns == sure_ns;
	}
	u->clipped += !sure;
}

static void count_clipped(struct reel_union *u, const struct reel_interval *add)
{
	int64_t end_ns = add->end_ns < u->floor_ns ? add->end_ns : u->floor_ns;

	u->clipped++;
	u->clipped_ns += end_ns > add->start_ns ? end_ns - add->start_ns : 0;
}

/* Collapse the lowest @count intervals into the sum. */
static int collapse(struct reel_union *u, uint32_t count,
		    struct reel_error *err)
{
	uint32_t i;

	if (!count)
		return 0;
	if (u->keep_gaps && keep_gaps(u, count, err))
		return -1;
	for (i = 0; i < count; i++)
		u->past_ns += u->iv[i].end_ns - u->iv[i].start_ns;
	u->floor_ns = u->iv[count - 1].end_ns;
	if (u->emit && u->emit(u->ctx, u->iv, count, err))
		return -1;
	u->n -= count;
	memmove(u->iv, u->iv + count, u->n * sizeof(*u->iv));
	return 0;
}

static int make_room(struct reel_union *u, struct reel_error *err)
{
	uint32_t room;

	if (u->n >= u->limit)
		return collapse(u, u->n / 2, err);
	if (u->n < u->room)
		return 0;
	room = u->room ? u->room * 2 : FIRST_ROOM;
	if (room > u->limit || room < u->room)
		room = u->limit;
	if (reel_grow(&u->iv, room, sizeof(*u->iv), err))
		return -1;
	u->room = room;
	return 0;
}

static void merge_interval(struct reel_interval *into,
			   const struct reel_interval *iv)
{
	if (iv->start_ns < into->start_ns)
		into->start_ns = iv->start_ns;
	if (iv->end_ns > into->end_ns)
		into->end_ns = iv->end_ns;
	into->read_bytes += iv->read_bytes;
	into->write_bytes += iv->write_bytes;
}

uint64_t reel_interval_bytes(uint64_t bytes, const struct reel_interval *iv,
			     int64_t at_ns)
{
	if (at_ns >= iv->end_ns)
		return bytes;
	if (at_ns <= iv->start_ns)
		return 0;
	return (uint64_t)((unsigned __int128)bytes *
			  (uint64_t)(at_ns - iv->start_ns) /
			  (uint64_t)(iv->end_ns - iv->start_ns));
}

/* Move the part of @add below the floor to the late intervals. */
static int keep_late(struct reel_union *u, struct reel_interval *add,
		     struct reel_error *err)
{
	struct reel_interval *late;

	if (reel_array_reach(&u->late, &u->late_room, u->lates, sizeof(*late),
			     err))
		return -1;
	late = &u->late[u->lates++];
	*late = *add;
	if (add->end_ns > u->floor_ns)
		late->end_ns = u->floor_ns;
	late->read_bytes =
		reel_interval_bytes(add->read_bytes, add, u->floor_ns);
	late->write_bytes =
		reel_interval_bytes(add->write_bytes, add, u->floor_ns);
	add->read_bytes -= late->read_bytes;
	add->write_bytes -= late->write_bytes;
	return 0;
}

/* The intervals from here on begin after @ns. Most additions are near the top. */
static uint32_t find_after(const struct reel_union *u, int64_t ns)
{
	uint32_t low = 0, high = u->n, step = 1;

	while (high >= step && u->iv[high - step].start_ns > ns) {
		high -= step;
		step *= 2;
	}
	if (high >= step)
		low = high - step;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (u->iv[mid].start_ns > ns)
			high = mid;
		else
			low = mid + 1;
	}
	return high;
}

int reel_union_insert(struct reel_union *u, const struct reel_interval *in,
		      struct reel_error *err)
{
	struct reel_interval add = *in;
	uint32_t first, at;

	if (make_room(u, err))
		return -1;
	if (add.start_ns < u->floor_ns &&
	    (u->past_ns || u->keep_late || u->keep_gaps)) {
		if (u->keep_late && keep_late(u, &add, err))
			return -1;
		if (u->keep_gaps && add.end_ns >= u->floor_ns)
			fill_gaps(u, add.start_ns);
		else if (!u->keep_late)
			count_clipped(u, &add);
		add.start_ns = u->floor_ns;
	}
	if (add.end_ns <= add.start_ns) {
		if (!add.read_bytes && !add.write_bytes)
			return 0;
		add.end_ns = add.start_ns;
	}
	at = find_after(u, add.end_ns);
	for (first = at; first && u->iv[first - 1].end_ns >= add.start_ns;)
		merge_interval(&add, &u->iv[--first]);
	if (first == at && at < u->n)
		memmove(u->iv + at + 1, u->iv + at,
			(u->n - at) * sizeof(*u->iv));
	else if (at > first + 1)
		memmove(u->iv + first + 1, u->iv + at,
			(u->n - at) * sizeof(*u->iv));
	u->iv[first] = add;
	u->n = u->n - (at - first) + 1;
	return 0;
}

int64_t reel_union_ns(const struct reel_union *u)
{
	int64_t ns = u->past_ns;
	uint32_t i;

	for (i = 0; i < u->n; i++)
		ns += u->iv[i].end_ns - u->iv[i].start_ns;
	return ns;
}

int reel_union_flush(struct reel_union *u, struct reel_error *err)
{
	return collapse(u, u->n, err);
}

void reel_union_fini(struct reel_union *u)
{
	free(u->iv);
	free(u->late);
	free(u->gap);
	u->iv = u->late = NULL;
	u->gap = NULL;
	u->n = u->room = u->lates = u->late_room = u->gaps = u->gap_room = 0;
}

int reel_union_add_time(struct reel_union *u, int64_t start_ns, int64_t end_ns,
			struct reel_error *err)
{
	struct reel_interval iv = {start_ns, end_ns, 0, 0};

	return start_ns < end_ns ? reel_union_add(u, &iv, err) : 0;
}

int reel_union_cut(struct reel_union *out, const struct reel_union *a,
		   const struct reel_union *b, bool inside,
		   struct reel_error *err)
{
	uint32_t i, j = 0, k;

	for (i = 0; i < a->n; i++) {
		int64_t at = a->iv[i].start_ns, end = a->iv[i].end_ns;

		while (j < b->n && b->iv[j].end_ns <= at)
			j++;
		for (k = j; k < b->n && b->iv[k].start_ns < end; k++) {
			int64_t s = b->iv[k].start_ns, e = b->iv[k].end_ns;

			s = s > at ? s : at;
			e = e < end ? e : end;
			if (reel_union_add_time(out, inside ? s : at,
						inside ? e : s, err))
				return -1;
			at = e;
		}
		if (!inside && reel_union_add_time(out, at, end, err))
			return -1;
	}
	return 0;
}

/* The first interval that ends after @ns. */
static uint32_t find_interval(const struct reel_union *u, int64_t ns)
{
	uint32_t low = 0, high = u->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (u->iv[mid].end_ns <= ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool reel_union_part(const struct reel_union *u, uint32_t *at, int64_t *from_ns,
		     int64_t to_ns, struct reel_interval *part)
{
	const struct reel_interval *iv;

	while (*at < u->n && u->iv[*at].end_ns <= *from_ns)
		++*at;
	if (*from_ns >= to_ns || *at == u->n || u->iv[*at].start_ns >= to_ns)
		return false;
	iv = &u->iv[*at];
	part->start_ns = iv->start_ns > *from_ns ? iv->start_ns : *from_ns;
	part->end_ns = *from_ns = iv->end_ns < to_ns ? iv->end_ns : to_ns;
	return true;
}

int64_t reel_union_within(const struct reel_union *u, int64_t start_ns,
			  int64_t end_ns, uint32_t *at)
{
	uint32_t i = at ? *at : find_interval(u, start_ns);
	int64_t ns = 0;

	while (i < u->n && u->iv[i].end_ns <= start_ns)
		i++;
	if (at)
		*at = i;
	for (; i < u->n && u->iv[i].start_ns < end_ns; i++) {
		int64_t s = u->iv[i].start_ns, e = u->iv[i].end_ns;

		ns += (e < end_ns ? e : end_ns) - (s > start_ns ? s : start_ns);
	}
	return ns;
}
