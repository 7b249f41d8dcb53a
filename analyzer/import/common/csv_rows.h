/* SPDX-License-Identifier: MIT */
/*
 * Rows of a CSV file (RFC 4180): cells in quotes may hold separators, quotes
 * that are doubled, and newlines. Plain or compressed, in bounded memory.
 */
#ifndef ANALYZER_IMPORT_COMMON_CSV_ROWS_H
#define ANALYZER_IMPORT_COMMON_CSV_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_csv;
struct reel_error;

#define IMPORT_CELLS_MOST 1024 /* of a row; more are left out */

/* Ended by NUL, without its quotes; it may hold NULs itself. */
struct import_cell {
	const char *s;
	size_t len;
	bool comma; /* numbers have a decimal comma: cells end with semicolons */
};

/*
 * The separator of the header @line: the most frequent of comma, semicolon and
 * tab outside of quotes; a comma where there is none.
 */
char import_csv_separator(const char *line, size_t len);

/*
 * Open @path; its separator is found in its first row. Gives *@out for
 * import_csv_close(). 0, or -1 with @err: REEL_E_IO, REEL_E_MEMORY.
 */
int import_csv_open(struct import_csv **out, const char *path,
		    struct reel_error *err);
void import_csv_close(struct import_csv *csv); /* NULL too */

/*
 * The next row that is not empty: *@cells of them at *@cell, borrowed until the
 * next call. 1; 0 at the end; -1 with @err: REEL_E_IO, REEL_E_MEMORY, or
 * REEL_E_FORMAT with file and line, or offset where compressed data is damaged.
 */
int import_csv_next(struct import_csv *csv, const struct import_cell **cell,
		    unsigned int *cells, struct reel_error *err);
/* The line that the row begins on, from 1. */
uint64_t import_csv_line(const struct import_csv *csv);
/* Rows that were left out: too long, or cut off at the end of the file: inside of
 * quotes, before the last column, or in it as far as that can be known. */
uint64_t import_csv_skipped(const struct import_csv *csv);

/* The first cell that is @name; -1: there is none. */
int import_csv_find(const struct import_cell *cell, unsigned int cells,
		    const char *name);

/*
 * The cell as a decimal number in units of 10^-@digits ("1.5", "2e-3"), rounded
 * to nearest. False: it is empty, no number, or out of range.
 */
bool import_cell_decimal(const struct import_cell *cell, int digits,
			 int64_t *out);
/* The same for a whole number ("4096", "4096.0", "1e3"). */
bool import_cell_integer(const struct import_cell *cell, int64_t *out);

#endif
