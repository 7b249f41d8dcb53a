/* SPDX-License-Identifier: MIT */
/*
 * The renderers of a report. A new one is a file, like text.c or json.c, and a row
 * in the table. It finds everything in struct report and in the sections.
 */
#ifndef ANALYZER_REPORT_RENDER_H
#define ANALYZER_REPORT_RENDER_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct report;

struct report_options {
	const char *run; /* as the user named it */
	int64_t top;	 /* rows of a table that text prints; 0: all */
	/* Tables that text prints in place of its screen. */
	bool files, steps, ranks, time, losses, stacks, launchers;
	bool other_tools; /* the document has more with it, too */
};

struct report_renderer {
	const char *name; /* "text" */
	int (*render)(const struct report *r, const struct report_options *o,
		      struct reel_error *err);
};

/* The renderer @name; NULL: there is none. */
const struct report_renderer *report_renderer_find(const char *name);

/* Print @r on stdout. 0, or -1 with @err. text: the screen, or tables. json: all
 * of it, as schemas/report.schema.json says. */
int report_text(const struct report *r, const struct report_options *o,
		struct reel_error *err);
int report_json(const struct report *r, const struct report_options *o,
		struct reel_error *err);

#endif
