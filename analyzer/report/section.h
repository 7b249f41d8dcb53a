/* SPDX-License-Identifier: MIT */
/*
 * The sections of a report: a key, and the view whose rows it has. JSON prints
 * every section with every column; text prints those that text_tables.c has a
 * table for. docs/add-a-section.md says how to add one.
 */
#ifndef ANALYZER_REPORT_SECTION_H
#define ANALYZER_REPORT_SECTION_H

#include <stdint.h>

struct reel_error;
struct reel_store;
struct sqlite3_stmt;

enum report_section_kind {
	REPORT_ROWS,	  /* an array of objects */
	REPORT_ONE_ROW,	  /* an object */
	REPORT_TEXT_ONLY, /* rows that are in the document in another form */
	/* An object that takes long, as it reads all events: with --other-tools. */
	REPORT_ON_REQUEST,
};

struct report_section {
	const char *key;  /* in the JSON document: "files" */
	const char *rows; /* "SELECT * FROM v_report_files" */
	enum report_section_kind kind;
};

/* All, in the order of the document; ended by a NULL key. */
extern const struct report_section report_sections[];

/* The section of @key, which has to be one of the table. */
const struct report_section *report_section_find(const char *key);

/* A cursor over a section's rows. The cells of the current row are columns of
 * @stmt. */
struct report_rows {
	struct reel_store *st;
	struct sqlite3_stmt *stmt;
};

/* Open the rows of @s in @st (borrowed). 0, or -1 with @err. */
int report_rows_open(struct report_rows *rows, struct reel_store *st,
		     const struct report_section *s, struct reel_error *err);
/* 1: there is a row, 0: the end, -1: @err. */
int report_rows_next(struct report_rows *rows, struct reel_error *err);
void report_rows_close(struct report_rows *rows);

/* The number of the column @name, -1: none. */
int report_rows_column(const struct report_rows *rows, const char *name);

#endif
