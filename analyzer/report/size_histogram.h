/* SPDX-License-Identifier: MIT */
/* The histogram of transfer sizes on the screen. */
#ifndef ANALYZER_REPORT_SIZE_HISTOGRAM_H
#define ANALYZER_REPORT_SIZE_HISTOGRAM_H

struct report;

/* Of reads, or of writes when nothing was read; nothing when nothing moved. */
void report_sizes(const struct report *r);

#endif
