/* SPDX-License-Identifier: MIT */
/*
 * Newlines in bytes that the job wrote: one list for all generations, sorted
 * once before the first look-up.
 */
#include "replay/fsstate/internal.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/model/recorded_job.h"

#define LINES_MOST (1 << 20) /* of one record; a larger count is damage */

struct line {
	uint32_t generation;
	int64_t at; /* of the newline */
};

struct lines {
	const struct job *job;
	uint32_t *of_file;    /* generation, by file id; 0: the initial one */
	uint32_t *of_open;    /* likewise by open id; 0: not known yet */
	uint32_t generations; /* the initial one has the file's id */
	struct line *line;
	int64_t *at; /* of the sorted lines */
	size_t n, room;
};

int lines_new(struct lines **out, const struct job *job, struct reel_error *err)
{
	struct lines *l = reel_alloc(1, sizeof(*l), err);

	if (!l)
		return -1;
	l->job = job;
	l->generations = job->files;
	l->of_file = reel_alloc(job->files, sizeof(*l->of_file), err);
	l->of_open = reel_alloc(job->opens, sizeof(*l->of_open), err);
	if (!l->of_file || !l->of_open) {
		lines_free(l);
		return -1;
	}
	*out = l;
	return 0;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	free(l->of_file);
	free(l->of_open);
	free(l->line);
	free(l->at);
	free(l);
}

static uint32_t generation_of(const struct lines *l, uint32_t file)
{
	return l->of_file[file] ? l->of_file[file] : file;
}

void lines_new_generation(struct lines *l, uint32_t file)
{
	if (l->generations < UINT32_MAX)
		l->of_file[file] = l->generations++;
}

void lines_rename(struct lines *l, uint32_t file, uint32_t to, bool link)
{
	l->of_file[to] = generation_of(l, file);
	if (!link)
		lines_new_generation(l, file);
}

bool lines_is_initial(const struct lines *l, const struct reel_event *ev)
{
	return ev->open && l->of_open[ev->open] == ev->file;
}

static int by_offset(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sort, and drop the lines that were read twice. */
static void sort_unique(struct lines *l)
{
	size_t n = 0;

	if (l->n)
		qsort(l->line, l->n, sizeof(*l->line), by_offset);
	for (size_t i = 0; i < l->n; i++)
		if (!n || by_offset(&l->line[n - 1], &l->line[i]))
			l->line[n++] = l->line[i];
	l->n = n;
}

/* Lines that are read again and again take no more memory. */
static int grow_lines(struct lines *l, struct reel_error *err)
{
	size_t room = l->room ? 2 * l->room : 64;

	sort_unique(l);
	if (l->n < l->room / 2)
		return 0;
	if (reel_grow(&l->line, room, sizeof(*l->line), err))
		return -1;
	l->room = room;
	return 0;
}

static int add_line(struct lines *l, uint32_t generation, int64_t at,
		    struct reel_error *err)
{
	if (l->n == l->room && grow_lines(l, err))
		return -1;
	l->line[l->n++] = (struct line){generation, at};
	return 0;
}

/* A record of several lines has only their sum: take equal lengths. */
static int read_lines(struct lines *l, const struct reel_event *ev,
		      struct reel_error *err)
{
	int64_t n = ev->count > 1 && ev->count <= LINES_MOST ? ev->count : 1;
	int64_t each = ev->result / n, end = ev->offset + ev->result % n;

	if (ev->call == REEL_CALL_FGETS && ev->result >= ev->asked)
		return 0; /* the buffer was full, not the line */
	for (int64_t i = 0; i < n && each > 0; i++) {
		end += each;
		if (add_line(l, l->of_open[ev->open], end - 1, err))
			return -1;
	}
	return 0;
}

int lines_event(struct lines *l, const struct reel_event *ev, bool changed,
		struct reel_error *err)
{
	if (!ev->open || ev->err)
		return 0;
	if (ev->group == REEL_GROUP_OPEN || !l->of_open[ev->open])
		l->of_open[ev->open] = generation_of(l, ev->file);
	if (!changed || !(reel_call_traits(ev->call) & REEL_TRAIT_READS_LINE) ||
	    ev->result <= 0 || ev->offset < 0 || ev->offset > INT64_MAX / 4 ||
	    ev->result > INT64_MAX / 4)
		return 0;
	return read_lines(l, ev, err);
}

/* After the last event, once. False when there are no lines. */
static bool sort_lines(struct lines *l)
{
	if (l->at || !l->n)
		return l->n > 0;
	sort_unique(l);
	l->at = malloc(l->n * sizeof(*l->at));
	for (size_t i = 0; l->at && i < l->n; i++)
		l->at[i] = l->line[i].at;
	return l->at;
}

/* The index of the first line that is not before @key. */
static size_t lower_bound(const struct lines *l, const struct line *key)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_offset(&l->line[mid], key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t lines_in_range(struct lines *l, uint32_t open, int64_t from, int64_t to,
		      const int64_t **at)
{
	struct line key = {0, from}, end = {0, to};
	size_t first;

	if (open >= l->job->opens || !l->of_open[open] || !sort_lines(l))
		return 0;
	key.generation = end.generation = l->of_open[open];
	first = lower_bound(l, &key);
	*at = l->at + first;
	return lower_bound(l, &end) - first;
}
