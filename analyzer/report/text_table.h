/* SPDX-License-Identifier: MIT */
/*
 * A table of a section: its columns with their names in the view, and their
 * form.
 */
#ifndef ANALYZER_REPORT_TEXT_TABLE_H
#define ANALYZER_REPORT_TEXT_TABLE_H

struct reel_error;
struct report;
struct report_options;

/* MANY_WORLDS, MANY_HOSTS, MANY_STEPS: a count, text, a count that is left out
 * unless the run has several worlds, several hosts, rows of several steps. */
enum form {
	TEXT,
	COUNT,
	SIZE,
	BYTES,
	TIME,
	SHARE,
	SHARE2, /* with two decimals, as published */
	RATE,
	PATH,
	MANY_WORLDS,
	MANY_HOSTS,
	MANY_STEPS,
	FIGURE,	  /* of the unit in the row's column "unit" */
	MIB_RATE, /* in MiB/s, as Darshan and VaniDL print it */
	REAL
};

struct column {
	const char *title, *name;
	enum form form;
	int width;
};

#define COLUMNS_MOST 16

struct table {
	const char *caption; /* NULL: none */
	const char *section; /* report_sections[].key */
	struct column column[COLUMNS_MOST];
};

/*
 * Print the first o->top rows of @t, one line each, and the number of further
 * ones. 0, or -1 with @err.
 */
int text_table(const struct report *r, const struct table *t,
	       const struct report_options *o, struct reel_error *err);

#endif
