/* SPDX-License-Identifier: MIT */
/*
 * The tables of the report's sections: one line per row, the first rows only.
 *
 * A table is a list of columns with their names in the view; a section's option
 * prints one table or more.
 */
#include "analyzer/report/text.h"

#include <stdio.h>

#include "lib/columns.h"
#include "lib/num.h"
#include "lib/store/store.h"
#include "lib/text.h"

#include "analyzer/report/render.h"
#include "analyzer/report/report.h"
#include "analyzer/report/text_table.h"

static const struct table files = {
	"Files, those first that took most time (back: reads and writes that "
	"went back in the file)",
	"files",
	{
		{"opens", "opens", COUNT, 8},
		{"reads", "reads", COUNT, 10},
		{"writes", "writes", COUNT, 9},
		{"read", "read_bytes", BYTES, 10},
		{"written", "write_bytes", BYTES, 10},
		{"time", "time_ns", TIME, 10},
		{"back", "backward", COUNT, 8},
		{"size", "size_bytes", SIZE, 10},
		{"class", "class", TEXT, 12},
		{"file", "path", PATH, 0},
	},
};

static const struct table steps = {
	NULL,
	"step_table",
	{
		{"rank", "rank", COUNT, 6},
		{"epoch", "epoch", COUNT, 7},
		{"step", "step", COUNT, 9},
		{"steps", "steps", MANY_STEPS, 7},
		{"start", "start_ns", TIME, 10},
		{"time", "dur_ns", TIME, 10},
		{"fetch", "fetch_ns", TIME, 10},
		{"compute", "compute_ns", TIME, 10},
		{"own I/O", "own_io_ns", TIME, 10},
		{"other", "other_ns", TIME, 10},
		{"I/O", "io_ns", TIME, 10},
		{"hidden", "hidden_share", SHARE, 9},
		{"read", "read_bytes", BYTES, 10},
	},
};

static const struct table ranks = {
	"Ranks (step, fetch, compute: medians of the steady steps; waits: of "
	"the "
	"time from the first fetch to the end of the last step; computes: of "
	"the "
	"steady steps)",
	"ranks",
	{
		{"world", "world", MANY_WORLDS, 7},
		{"rank", "rank", COUNT, 6},
		{"steps", "steps", COUNT, 9},
		{"step", "median_step_ns", TIME, 10},
		{"fetch", "median_fetch_ns", TIME, 10},
		{"compute", "median_compute_ns", TIME, 10},
		{"waits", "wait_share", SHARE, 9},
		{"computes", "computing_share", SHARE, 9},
		{"I/O", "io_ns", TIME, 10},
		{"hidden", "hidden_share", SHARE, 9},
		{"workers", "workers", COUNT, 9},
		{"busy", "worker_busy_share", SHARE, 9},
		{"host", "host", MANY_HOSTS, 0},
	},
};

static const struct table mpiio_ranks = {
	"MPI-IO by rank",
	"mpiio_ranks",
	{
		{"world", "world", MANY_WORLDS, 7},
		{"rank", "rank", COUNT, 6},
		{"reads", "reads", COUNT, 10},
		{"writes", "writes", COUNT, 9},
		{"read", "read_bytes", BYTES, 10},
		{"written", "write_bytes", BYTES, 10},
		{"in reads", "read_ns", TIME, 10},
		{"in writes", "write_ns", TIME, 10},
	},
};

static const struct table processes = {
	"Processes (I/O: union of the times of their calls; sum: added up)",
	"processes",
	{
		{"world", "world", MANY_WORLDS, 7},
		{"pid", "pid", COUNT, 11},
		{"rank", "rank", COUNT, 6},
		{"role", "role", TEXT, 10},
		{"reads", "reads", COUNT, 10},
		{"writes", "writes", COUNT, 9},
		{"other", "meta_calls", COUNT, 10},
		{"read", "read_bytes", BYTES, 10},
		{"written", "write_bytes", BYTES, 10},
		{"I/O", "io_ns", TIME, 10},
		{"sum", "sum_ns", TIME, 10},
		{"files", "files", COUNT, 8},
		{"host", "host", MANY_HOSTS, 0},
	},
};

static const struct table seconds = {
	NULL,
	"second_table",
	{
		{"from", "start_ns", TIME, 10},
		{"reads", "reads", COUNT, 10},
		{"writes", "writes", COUNT, 9},
		{"other", "meta_calls", COUNT, 10},
		{"read", "read_bytes_per_s", RATE, 11},
		{"written", "write_bytes_per_s", RATE, 11},
		{"in reads", "read_ns", TIME, 10},
		{"in writes", "write_ns", TIME, 10},
		{"in other", "meta_ns", TIME, 10},
		{"processes", "processes", COUNT, 10},
	},
};

static const struct table sites = {
	NULL,
	"sites",
	{
		{"calls", "calls", COUNT, 9},
		{"read", "read_bytes", BYTES, 11},
		{"written", "write_bytes", BYTES, 11},
		{"in calls", "dur_ns", TIME, 10},
		{"call", "call", TEXT, 16},
		{"class", "class", TEXT, 12},
		{"location", "location", PATH, 0},
	},
};

static const struct table losses = {
	NULL,
	"losses",
	{
		{"count", "count", COUNT, 12},
		{"unit", "unit", TEXT, 12},
		{"pid", "pid", COUNT, 9},
		{"reason", "reason", PATH, 0},
	},
};

static const struct table launchers = {
	"Processes of launchers, which are in no other table, and their files",
	"launchers",
	{
		{"pid", "pid", COUNT, 11},
		{"launcher", "launcher", TEXT, 10},
		{"calls", "calls", COUNT, 9},
		{"files", "files", COUNT, 7},
		{"read", "read_bytes", BYTES, 10},
		{"written", "write_bytes", BYTES, 10},
		{"in calls", "sum_ns", TIME, 10},
		{"command", "command", PATH, 0},
	},
};

static const struct table launcher_files = {
	NULL,
	"launcher_files",
	{
		{"calls", "calls", COUNT, 9},
		{"read", "read_bytes", BYTES, 10},
		{"written", "write_bytes", BYTES, 10},
		{"file", "path", PATH, 0},
	},
};

static const struct table counters = {
	"Darshan's counters by module (times by Darshan's rule: summed over "
	"ranks)",
	"counters",
	{
		{"module", "module", TEXT, 9},
		{"opens", "opens", COUNT, 9},
		{"stats", "stats", COUNT, 9},
		{"reads", "reads", COUNT, 11},
		{"writes", "writes", COUNT, 11},
		{"read", "read_bytes", BYTES, 9},
		{"written", "write_bytes", BYTES, 9},
		{"in reads", "read_ns", TIME, 10},
		{"in writes", "write_ns", TIME, 10},
		{"in other", "meta_ns", TIME, 10},
	},
};

static const struct table counter_bins = {
	"Sizes, the bins of Darshan",
	"counter_bins",
	{
		{"module", "module", TEXT, 8},
		{"bytes", "bytes", TEXT, 12},
		{"reads", "reads", COUNT, 12},
		{"writes", "writes", COUNT, 12},
	},
};

static const struct table spread = {
	"How evenly the processes of a group share the I/O (max/mean: 1 is "
	"even)",
	"spread",
	{
		{"world", "world", MANY_WORLDS, 7},
		{"role", "role", TEXT, 9},
		{"figure", "figure", TEXT, 13},
		{"processes", "processes", COUNT, 11},
		{"min", "min", FIGURE, 11},
		{"mean", "mean", FIGURE, 11},
		{"max", "max", FIGURE, 11},
		{"max/mean", "imbalance", REAL, 10},
		{"most: pid", "most_pid", COUNT, 11},
	},
};

static const struct table loaders = {
	"Queues of the loader workers (early: batches that were ready before "
	"their turn; empty: share of the time without a batch)",
	"loaders",
	{
		{"rank", "rank", COUNT, 6},
		{"passes", "passes", COUNT, 8},
		{"batches", "batches", COUNT, 10},
		{"early", "early_share", SHARE, 9},
		{"mean depth", "mean_depth", REAL, 12},
		{"max depth", "max_depth", COUNT, 11},
		{"empty", "empty_share", SHARE, 9},
	},
};

static int print_ranks(const struct report *r, const struct report_options *o,
		       struct reel_error *err)
{
	if (r->ranks) {
		if (text_table(r, &ranks, o, err))
			return -1;
		putchar('\n');
	}
	if (r->mpiio[0].calls || r->mpiio[1].calls) {
		if (text_table(r, &mpiio_ranks, o, err))
			return -1;
		putchar('\n');
	}
	if (text_table(r, &processes, o, err))
		return -1;
	putchar('\n');
	if (text_table(r, &spread, o, err))
		return -1;
	if (!r->workers)
		return 0;
	putchar('\n');
	return text_table(r, &loaders, o, err);
}

static int print_steps(const struct report *r, const struct report_options *o,
		       struct reel_error *err)
{
	if (r->ranks)
		return text_table(r, &steps, o, err);
	reel_columns_wrapped("No steps: the job marked no training step.", 2,
			     0);
	return 0;
}

static int print_seconds(const struct report *r, const struct report_options *o,
			 struct reel_error *err)
{
	char num[REEL_NUM];
	int64_t width_ns = 0;
	bool has;

	if (report_is_untimed(r)) {
		reel_columns_wrapped("No timeline: the times of the calls are "
				     "not known.",
				     2, 0);
		return 0;
	}
	if (!r->events && r->counters &&
	    reel_store_int(r->st,
			   "SELECT max(width_ns) FROM v_report_bins "
			   "WHERE heatmap",
			   &width_ns, &has, err))
		return -1;
	if (width_ns > 0)
		printf("Darshan's heat map, in bins of %s: bytes, and no "
		       "calls\n\n",
		       reel_num_time(num, (double)width_ns));
	return text_table(r, &seconds, o, err);
}

static int print_files(const struct report *r, const struct report_options *o,
		       struct reel_error *err)
{
	return text_table(r, &files, o, err);
}

static int print_losses(const struct report *r, const struct report_options *o,
			struct reel_error *err)
{
	char num[REEL_NUM];
	int64_t lost = r->completeness.lost_events;

	printf("%s event%s lost\n", reel_num_count(num, lost),
	       lost == 1 ? "" : "s");
	return r->completeness.losses ? text_table(r, &losses, o, err) : 0;
}

static int print_sites(const struct report *r, const struct report_options *o,
		       struct reel_error *err)
{
	if (r->call_sites)
		return text_table(r, &sites, o, err);
	reel_columns_wrapped("No call sites: record --stacks records them.", 2,
			     0);
	return 0;
}

static int print_launchers(const struct report *r,
			   const struct report_options *o,
			   struct reel_error *err)
{
	if (!r->completeness.launchers) {
		reel_columns_wrapped("No processes of a launcher.", 2, 0);
		return 0;
	}
	if (text_table(r, &launchers, o, err))
		return -1;
	putchar('\n');
	return text_table(r, &launcher_files, o, err);
}

int text_tables(const struct report *r, const struct report_options *o,
		struct reel_error *err)
{
	const struct {
		bool wanted;
		int (*print)(const struct report *r,
			     const struct report_options *o,
			     struct reel_error *err);
	} section[] = {
		{o->ranks, print_ranks},
		{o->steps, print_steps},
		{o->time, print_seconds},
		{o->files, print_files},
		{o->losses, print_losses},
		{o->stacks, print_sites},
		{o->launchers, print_launchers},
		{o->other_tools, text_other_tools},
	};
	int n = 0;

	for (size_t i = 0; i < sizeof(section) / sizeof(section[0]); i++) {
		if (!section[i].wanted)
			continue;
		if (n++)
			putchar('\n');
		if (section[i].print(r, o, err))
			return -1;
	}
	return n;
}

int text_counters(const struct report *r, struct reel_error *err)
{
	const struct report_options all = {0};
	int64_t bins = 0;
	bool has;

	if (!r->counters)
		return 0;
	putchar('\n');
	if (text_table(r, &counters, &all, err) ||
	    reel_store_int(r->st, "SELECT count(*) FROM v_report_counter_bins",
			   &bins, &has, err))
		return -1;
	if (!bins)
		return 0;
	putchar('\n');
	return text_table(r, &counter_bins, &all, err);
}
