/* SPDX-License-Identifier: MIT */
/* The report as a JSON document. */
#ifndef ANALYZER_REPORT_JSON_H
#define ANALYZER_REPORT_JSON_H

struct reel_error;
struct report;

/* The whole report, as schemas/report.schema.json says. 0, or -1 with @err. */
int report_json(const struct report *r, struct reel_error *err);

#endif
