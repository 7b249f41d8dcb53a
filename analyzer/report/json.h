/* SPDX-License-Identifier: MIT */
/* What every JSON document of the program is made of. */
#ifndef ANALYZER_REPORT_JSON_H
#define ANALYZER_REPORT_JSON_H

#include <stdbool.h>

#include <jansson.h>

struct reel_error;
struct reel_store;
struct report;

/*
 * Bytes from outside as a JSON string: text that is not all UTF-8 with what
 * cannot be printed as \xNN. Gives a reference; NULL: out of memory. A name of
 * NULL becomes null.
 */
json_t *report_json_text(const char *text, size_t len);
json_t *report_json_name(const char *name);

/* Print @doc (taken; NULL: out of memory) on stdout. 0, or -1 with @err. */
int report_json_print(json_t *doc, struct reel_error *err);

/* The whole report, as schemas/report.schema.json says. 0, or -1 with @err. */
int report_json(const struct report *r, struct reel_error *err);

#endif
