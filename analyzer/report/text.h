/* SPDX-License-Identifier: MIT */
/* The parts of the text renderer. All print on stdout. */
#ifndef ANALYZER_REPORT_TEXT_H
#define ANALYZER_REPORT_TEXT_H

#include <stdbool.h>

struct reel_error;
struct report;
struct report_options;

/* text_completeness.c: the lines on missing parts of the trace. */
void text_completeness(const struct report *r);
/* The line before them: what was recorded, or imported, and the clock. */
void text_completeness_head(const struct report *r);

/* text_sizes.c: the histogram of transfer sizes; rare sizes share a row. */
void text_sizes(const struct report *r);

/* text_tables.c: Darshan's counters, where the run has them. 0, or -1 with
 * @err. */
int text_counters(const struct report *r, struct reel_error *err);

/* text_other_tools.c: the tables of --other-tools. 0, or -1 with @err. */
int text_other_tools(const struct report *r, const struct report_options *o,
		     struct reel_error *err);

/* text_other_tools.c: TimeLogger's phases, where the run has them. 0 or -1. */
int text_phases(const struct report *r, struct reel_error *err);

/* text_tables.c: the tables that @o asks for. Returns how many there are, or -1
 * with @err. */
int text_tables(const struct report *r, const struct report_options *o,
		struct reel_error *err);

#endif
