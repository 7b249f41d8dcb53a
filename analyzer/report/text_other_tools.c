/* SPDX-License-Identifier: MIT */
/*
 * The figures of a run by the rules of other tools, named as such: to compare
 * with results that were published with these tools.
 */
#include <stdio.h>

#include "analyzer/report/render.h"
#include "analyzer/report/report.h"
#include "analyzer/report/text.h"
#include "analyzer/report/text_table.h"

static const struct table phases = {
	"Phases (sum: of all processes, unmerged; share: of the sum of "
	"training, TimeLogger's rule; union: the same, merged over them)",
	"phases",
	{
		{"phase", "phase", TEXT, 12},
		{"spans", "spans", COUNT, 10},
		{"processes", "processes", COUNT, 11},
		{"sum", "sum_ns", TIME, 11},
		{"share", "share", SHARE2, 10},
		{"union", "union_ns", TIME, 11},
		{"share", "union_share", SHARE2, 10},
		{"mean", "process_mean_ns", TIME, 11},
		{"max", "process_max_ns", TIME, 11},
	},
};

static const struct table performance = {
	"Darshan's rule: bytes / (time of the slowest rank + shared files)",
	"darshan_performance",
	{
		{"module", "module", TEXT, 9},
		{"bytes", "bytes", BYTES, 10},
		{"rank's own", "unique_ns", TIME, 12},
		{"shared", "shared_ns", TIME, 11},
		{"sum", "agg_ns", TIME, 11},
		{"bandwidth", "agg_mib_per_s", MIB_RATE, 15},
		{"source", "source", PATH, 0},
	},
};

static const struct table darshan_order = {
	"Darshan's SEQ and CONSEC (per file and process)",
	"darshan_sequentiality",
	{
		{"operation", "op", TEXT, 11},
		{"calls", "ops", COUNT, 12},
		{"SEQ", "seq", COUNT, 12},
		{"CONSEC", "consec", COUNT, 12},
	},
};

static const struct table order = {
	"ioreel's order (per open file description; shares are of the accesses "
	"that are not first)",
	"sequentiality",
	{
		{"operation", "op", TEXT, 11},
		{"first", "first", COUNT, 12},
		{"consecutive", "consecutive", COUNT, 13},
		{"sequential", "sequential", COUNT, 12},
		{"random", "random", COUNT, 12},
		{"unknown", "unknown", COUNT, 12},
		{"in order", "in_order_share", SHARE, 10},
	},
};

static const struct table vanidl = {
	"VaniDL's rule (without paths that contain .py; times rounded to 0.1 "
	"ms, 0 becomes 1 ms; I/O: sum / ranks, exact: not rounded)",
	"vanidl",
	{
		{"calls", "operations", COUNT, 11},
		{"files", "files", COUNT, 7},
		{"ranks", "ranks", COUNT, 7},
		{"I/O", "io_ns", TIME, 9},
		{"exact", "exact_io_ns", TIME, 9},
		{"mean", "mean_bytes", SIZE, 9},
		{"median", "median_bytes", SIZE, 9},
		{"max", "max_bytes", SIZE, 9},
		{"mean", "mean_mib_per_s", MIB_RATE, 15},
		{"median", "median_mib_per_s", MIB_RATE, 15},
		{"SEQ", "sequential_share", SHARE2, 9},
		{"CONSEC", "consecutive_share", SHARE2, 9},
	},
};

static const struct table size_bins = {
	"Darshan's ten bins, of all layers (EOF: reads of 0 bytes, which "
	"Darshan "
	"counts in its first bin)",
	"darshan_size_bins",
	{
		{"operation", "op", TEXT, 11},
		{"up to", "upper_bytes", SIZE, 12},
		{"calls", "calls", COUNT, 12},
		{"EOF", "eof_reads", COUNT, 12},
		{"POSIX", "posix_calls", COUNT, 12},
	},
};

int text_other_tools(const struct report *r, const struct report_options *o,
		     struct reel_error *err)
{
	static const struct table *const table[] = {
		&performance, &vanidl, &phases, &order, &darshan_order};
	const struct report_options all = {.run = o->run};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (i)
			putchar('\n');
		if (text_table(r, table[i], &all, err))
			return -1;
	}
	putchar('\n');
	return text_table(r, &size_bins, &all, err);
}

int text_phases(const struct report *r, struct reel_error *err)
{
	const struct report_options all = {0};

	if (!r->read_phases)
		return 0;
	putchar('\n');
	return text_table(r, &phases, &all, err);
}
