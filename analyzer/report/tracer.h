/* SPDX-License-Identifier: MIT */
/* The time that the tracer of an import, strace, adds to each call. */
#ifndef ANALYZER_REPORT_TRACER_H
#define ANALYZER_REPORT_TRACER_H

#include "analyzer/report/report.h"

/* Fill @to with the values of @r and its own ranks, the times in calls without the
 * part of the tracer: what the job has without it, about. Text is shared with @r, which
 * must outlive it. For report_untraced_fini(). 0, or -1 with @err (REEL_E_MEMORY). */
int report_untraced(struct report *to, const struct report *r,
		    struct reel_error *err);
/* Give the findings of @from to @r. */
void report_untraced_fini(struct report *from, struct report *r);

#endif
