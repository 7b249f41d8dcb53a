/* SPDX-License-Identifier: MIT */
/* Time intervals in memory: of steps and fetches, and unions of operators. */
#include "analyzer/import/profile/intervals.h"

#include <stdlib.h>

#include "lib/error.h"

#define FIRST_ROOM 64

static int by_start(const void *a, const void *b)
{
	const struct profile_interval *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

void profile_intervals_sort(struct profile_intervals *u)
{
	if (u->n)
		qsort(u->at, u->n, sizeof(*u->at), by_start);
}

void profile_intervals_merge(struct profile_intervals *u)
{
	size_t n = 0;

	if (!u->n)
		return;
	profile_intervals_sort(u);
	for (size_t i = 1; i < u->n; i++) {
		if (u->at[i].start_ns > u->at[n].end_ns)
			u->at[++n] = u->at[i];
		else if (u->at[i].end_ns > u->at[n].end_ns)
			u->at[n].end_ns = u->at[i].end_ns;
	}
	u->n = n + 1;
}

static int widen(struct profile_intervals *u, struct reel_error *err)
{
	size_t room = u->room ? 2 * u->room : FIRST_ROOM;

	if (reel_grow(&u->at, room, sizeof(*u->at), err))
		return -1;
	u->room = room;
	return 0;
}

int profile_intervals_append(struct profile_intervals *u, int64_t start_ns,
			     int64_t end_ns, struct reel_error *err)
{
	if (u->n == u->room && widen(u, err))
		return -1;
	u->at[u->n++] = (struct profile_interval){start_ns, end_ns};
	return 0;
}

/* Operators nest, so most are inside of the one before, or around it. */
int profile_intervals_add(struct profile_intervals *u, int64_t start_ns,
			  int64_t end_ns, struct reel_error *err)
{
	if (u->n && start_ns >= u->at[u->n - 1].start_ns &&
	    end_ns <= u->at[u->n - 1].end_ns)
		return 0;
	while (u->n && start_ns <= u->at[u->n - 1].start_ns &&
	       end_ns >= u->at[u->n - 1].end_ns)
		u->n--;
	if (u->n == u->room) {
		profile_intervals_merge(u);
		if (u->n >= u->room / 2 && widen(u, err))
			return -1;
	}
	u->at[u->n++] = (struct profile_interval){start_ns, end_ns};
	return 0;
}

size_t profile_intervals_from(const struct profile_intervals *u, int64_t ns)
{
	size_t from = 0, to = u->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (u->at[middle].end_ns <= ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

bool profile_intervals_meet(const struct profile_intervals *u, int64_t start_ns,
			    int64_t end_ns)
{
	size_t i = profile_intervals_from(u, start_ns);

	return i < u->n && u->at[i].start_ns < end_ns;
}
