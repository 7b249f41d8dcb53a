/* SPDX-License-Identifier: MIT */
/* The counts in the final lines of "ioreel record". */
#ifndef CMD_RECORD_SUMMARY_H
#define CMD_RECORD_SUMMARY_H

#include <stdbool.h>

struct record_summary;
struct reel_error;

/*
 * Sum up the trace in @dir from its heads, job.counts and damage; with @records
 * from its records too, unless the trace is large. For reel_record_options. 0,
 * or -1 with @err.
 */
int record_summarize(const char *dir, bool records, struct record_summary *s,
		     struct reel_error *err);

#endif
