/* SPDX-License-Identifier: MIT */
/* What every JSON document of the program is made of. */
#ifndef ANALYZER_REPORT_JSON_H
#define ANALYZER_REPORT_JSON_H

#include <stdbool.h>

#include <jansson.h>

struct reel_error;
struct reel_store;
struct report;

/* A name from outside as a JSON string: broken UTF-8 as \xNN. NULL: null. */
json_t *report_json_name(const char *name);

/* Print @doc (taken; NULL: out of memory) on stdout. 0, or -1 with @err. */
int report_json_print(json_t *doc, struct reel_error *err);

/* The whole report, as schemas/report.schema.json says; @all_files: not only
 * the busiest. 0, or -1 with @err. */
int report_json(const struct report *r, bool all_files, struct reel_error *err);

#endif
