/* SPDX-License-Identifier: MIT */
/*
 * Calls on the names of the data set, which the benchmark does not make: a job may
 * list its folders and stat each file in each epoch. No key has them; the reason says
 * how many are left out.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

#define TIME_LEAST 0.05 /* of the calls on data: else nothing is said */

/* From the first epoch that is marked to the end of the last one; of none, from the
 * first visit of the training to the end of the last one. */
struct period {
	int64_t start_ns, end_ns;
};

struct names {
	int64_t stats, lists;
	int64_t dur_ns;
};

static int find_period(struct fit *f, struct period *p)
{
	if (fit_ask(f, "SELECT min(start_ns) FROM v_span WHERE name = 'epoch'",
		    -1, &p->start_ns) ||
	    fit_ask(f,
		    "SELECT max(start_ns + dur_ns) FROM v_span WHERE name = "
		    "'epoch'",
		    -1, &p->end_ns))
		return -1;
	if (p->end_ns >= 0)
		return 0;
	for (uint32_t i = 0; i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];

		if (!i || v->start_ns < p->start_ns)
			p->start_ns = v->start_ns;
		if (!i || v->end_ns > p->end_ns)
			p->end_ns = v->end_ns;
	}
	return 0;
}

/* Is a file of the training below @path? */
static bool is_folder(const struct fit *f, const char *path)
{
	size_t n = strlen(path);
	uint32_t low = 0, high = f->files;

	while (low < high) {
		uint32_t at = low + (high - low) / 2;
		const char *file = f->file[at].path;
		int order = strncmp(file, path, n);

		if (!order)
			order = (unsigned char)file[n] - '/';
		if (!order)
			return true;
		if (order < 0)
			low = at + 1;
		else
			high = at;
	}
	return false;
}

static int count_names(struct fit *f, const struct period *p, struct names *n)
{
	struct reel_view v;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT path, dur_ns, call IN ('opendir', 'fdopendir', "
		    "'scandir') AS list, call_group = 'stat' AS stat, calls "
		    "FROM "
		    "v_event WHERE class = 'data' AND call IN ('stat', "
		    "'lstat', 'fstatat', 'statx', 'access', 'faccessat', "
		    "'opendir', 'fdopendir', 'scandir', 'readdir', "
		    "'getdents64', 'closedir') AND start_ns BETWEEN ?1 AND ?2",
		    f->err)) {
		reel_view_bind(&v, 1, p->start_ns);
		reel_view_bind(&v, 2, p->end_ns);
		while (reel_view_next(&v)) {
			const char *path = reel_view_text(&v, "path");
			int64_t calls = reel_view_int(&v, "calls");

			if (!fit_find(f, path) && !is_folder(f, path))
				continue;
			n->stats += calls * reel_view_int(&v, "stat");
			n->lists += calls * reel_view_int(&v, "list");
			n->dur_ns += reel_view_int(&v, "dur_ns");
		}
	}
	return reel_view_close(&v);
}

/* The time of all calls on data in @p. */
static int time_of_calls(struct fit *f, const struct period *p, double *out)
{
	struct reel_view v;

	*out = 0;
	if (!reel_view_open(&v, f->st,
			    "SELECT sum(dur_ns) AS ns FROM v_event WHERE class "
			    "= 'data' AND start_ns BETWEEN ?1 AND ?2",
			    f->err)) {
		reel_view_bind(&v, 1, p->start_ns);
		reel_view_bind(&v, 2, p->end_ns);
		if (reel_view_next(&v))
			*out = (double)reel_view_int(&v, "ns");
	}
	return reel_view_close(&v);
}

/* Readers of these formats call stat() once for each open, in the benchmark too. */
static int64_t stats_of_format(const struct fit *f)
{
	int format = f->w->dataset.format;

	return format == WORKLOAD_HDF5 || format == WORKLOAD_CSV ||
			       format == WORKLOAD_PARQUET
		       ? f->visits
		       : 0;
}

int fit_metadata(struct fit *f)
{
	struct names n = {0};
	struct period p;
	int64_t stats, lists, epochs = f->epochs > 0 ? f->epochs : 1;
	char words[64];
	double all;

	if (find_period(f, &p) || count_names(f, &p, &n))
		return -1;
	stats = n.stats > stats_of_format(f) ? n.stats - stats_of_format(f) : 0;
	stats = (stats + epochs / 2) / epochs;
	lists = (n.lists + epochs / 2) / epochs;
	if (!stats && !lists)
		return 0;
	if (time_of_calls(f, &p, &all))
		return -1;
	if ((double)n.dur_ns < TIME_LEAST * all)
		return 0;
	snprintf(words, sizeof(words), "%lld stat and %lld list",
		 (long long)stats, (long long)lists);
	if (!lists)
		snprintf(words, sizeof(words), "%lld stat", (long long)stats);
	if (!stats)
		snprintf(words, sizeof(words), "%lld list", (long long)lists);
	return fit_reason(f, "access", 0.9,
			  "left out: %s call%s per epoch on names of the data "
			  "set, %.0f %% of the time of the calls on data",
			  words, stats + lists > 1 ? "s" : "",
			  100 * (double)n.dur_ns / all);
}
