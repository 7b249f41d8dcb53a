/* SPDX-License-Identifier: MIT */
/*
 * The exporters: a file NAME.c each and a row in exporter.c. See
 * docs/add-an-exporter.md.
 */
#ifndef ANALYZER_EXPORT_EXPORTER_H
#define ANALYZER_EXPORT_EXPORTER_H

#include <stdint.h>
#include <stdio.h>

struct export_cursor;
struct export_out;
struct export_record;
struct reel_error;
struct reel_store;

struct exporter {
	const char *name; /* of --as */
	/* Write the head. *@state, NULL before, is the exporter's; freed by
	 * free(). 0, or -1 with @err. */
	int (*begin)(void **state, const struct export_cursor *c,
		     struct export_out *o, struct reel_error *err);
	void (*record)(void *state, const struct export_record *r,
		       struct export_out *o);
	void (*end)(void *state, struct export_out *o); /* may be NULL */
};

#define EXPORT_FORMATS "csv|jsonl|chrome" /* in the order of the table */
extern const struct exporter *const exporters[];

extern const struct exporter export_csv, export_jsonl, export_chrome;

struct export_result {
	int64_t events, spans; /* written */
	uint64_t bytes;
	int write_errno; /* why writing ended early; 0: it did not */
};

/*
 * Write the events and spans of @st that overlap the time from @from_ns to
 * @to_ns to @file. When there is none that is a failure, and nothing is written.
 * A failure of @file is no failure here: @result has its errno, EPIPE among them.
 *
 * 0, or -1 with @err: REEL_E_DB; REEL_E_FORMAT (no record in that time, a damaged
 * block); REEL_E_MEMORY.
 */
int export_run(const struct exporter *as, struct reel_store *st,
	       int64_t from_ns, int64_t to_ns, FILE *file,
	       struct export_result *result, struct reel_error *err);

#endif
