/* SPDX-License-Identifier: MIT */
/* Rows of a CSV file: one buffer, which holds the cells of the present row. */
#include "analyzer/import/common/csv_rows.h"

#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/json_stream.h"

#include "analyzer/import/common/lines.h"

#define NUMBER_MOST 64	    /* bytes of one with a decimal comma */
#define BUFFER_BYTES 4096   /* writers' buffers have multiples of it */
#define ALIKE_LEAST 50	    /* rows, to know the form of a column */
#define ROW_MOST (16 << 20) /* bytes; a quote that never ends takes no more */

struct import_csv {
	struct import_lines *lines;
	char *path;
	char separator; /* 0: not known yet */
	struct reel_buf text;
	struct import_cell cell[IMPORT_CELLS_MOST];
	size_t at[IMPORT_CELLS_MOST + 1]; /* of the cells, in text */
	unsigned int cells, columns;	  /* columns: cells of the first row */
	bool quoted;			  /* inside of quotes */
	size_t quotes_end; /* in text: spaces before it are of the cell */
	uint64_t line, skipped;
	/* Decimals of the last column, in as many rows one after the other; -1: it
	 * is no number with decimals. */
	int decimals;
	uint64_t alike;
};

char import_csv_separator(const char *line, size_t len)
{
	static const char candidates[] = {',', ';', '\t', '|'};
	enum { CANDIDATES = sizeof(candidates) };
	size_t n[CANDIDATES] = {0};
	bool quoted = false;
	int best = 0;

	for (size_t i = 0; i < len; i++) {
		quoted ^= line[i] == '"';
		for (int k = 0; !quoted && k < CANDIDATES; k++)
			n[k] += line[i] == candidates[k];
	}
	for (int k = 1; k < CANDIDATES; k++)
		if (n[k] > n[best])
			best = k;
	return candidates[best];
}

int import_csv_open(struct import_csv **out, const char *path,
		    struct reel_error *err)
{
	struct import_csv *csv = reel_alloc(1, sizeof(*csv), err);

	if (!csv)
		return -1;
	csv->path = reel_strdup(path, err);
	if (!csv->path || import_lines_open(&csv->lines, path, err)) {
		import_csv_close(csv);
		return -1;
	}
	*out = csv;
	return 0;
}

void import_csv_close(struct import_csv *csv)
{
	if (!csv)
		return;
	import_lines_close(csv->lines);
	reel_buf_fini(&csv->text);
	free(csv->path);
	free(csv);
}

/* End the present cell, without spaces behind it; the next one begins behind its
 * NUL. */
static int end_cell(struct import_csv *csv, struct reel_error *err)
{
	size_t least = csv->at[csv->cells];

	if (least < csv->quotes_end)
		least = csv->quotes_end;
	while (csv->text.len > least &&
	       csv->text.data[csv->text.len - 1] == ' ')
		csv->text.len--;
	if (reel_buf_add(&csv->text, "", 1, err))
		return -1;
	if (csv->cells < IMPORT_CELLS_MOST)
		csv->cells++;
	else
		csv->text.len = csv->at[csv->cells]; /* one too many */
	csv->at[csv->cells] = csv->text.len;
	return 0;
}

static bool begins_cell(const struct import_csv *csv)
{
	return csv->text.len == csv->at[csv->cells];
}

/* Append a line of the row: whole runs between quotes and separators. Spaces before
 * and behind a cell are not of it. */
static int add_line(struct import_csv *csv, const char *p, size_t len,
		    struct reel_error *err)
{
	const char *end = p + len;

	while (p < end) {
		const char *from = p;

		if (csv->quoted) {
			p = memchr(p, '"', (size_t)(end - p));
			if (!p)
				p = end;
		} else {
			while (begins_cell(csv) && p < end && *p == ' ')
				from = ++p;
			while (p < end && *p != '"' && *p != csv->separator)
				p++;
		}
		if (reel_buf_add(&csv->text, from, (size_t)(p - from), err))
			return -1;
		if (p == end)
			break;
		if (*p++ != '"') {
			if (end_cell(csv, err))
				return -1;
			continue;
		}
		/* Two quotes inside of quotes are one; one that does not begin
		 * the cell is a character. */
		if (csv->quoted ? p < end && *p == '"'
				: csv->text.len > csv->at[csv->cells]) {
			if (reel_buf_add(&csv->text, "\"", 1, err))
				return -1;
			p += csv->quoted;
			continue;
		}
		csv->quoted = !csv->quoted;
		csv->quotes_end = csv->text.len;
	}
	return 0;
}

/* The lines of one row: 1; 0 at the end, or inside of quotes there; or -1. */
static int read_row(struct import_csv *csv, struct reel_error *err)
{
	const char *line;
	size_t len;
	int rc;

	csv->cells = 0;
	csv->quoted = false;
	csv->at[0] = 0;
	csv->quotes_end = 0;
	reel_buf_reset(&csv->text);
	do {
		rc = import_lines_next(csv->lines, &line, &len, err);
		if (rc <= 0)
			return rc;
		if (!csv->separator)
			csv->separator = import_csv_separator(line, len);
		if (csv->quoted && reel_buf_add(&csv->text, "\n", 1, err))
			return -1;
		if (!csv->quoted)
			csv->line = import_lines_number(csv->lines);
		if (add_line(csv, line, len, err))
			return -1;
		if (csv->text.len > ROW_MOST)
			return reel_fail(err, REEL_E_FORMAT,
					 "'%s', line %llu: a row of more than "
					 "16 MiB, as a quote does not end",
					 csv->path,
					 (unsigned long long)csv->line);
	} while (csv->quoted);
	/* The carriage return of the end of the line. */
	if (csv->text.len > csv->at[csv->cells] &&
	    csv->text.data[csv->text.len - 1] == '\r')
		csv->text.len--;
	return end_cell(csv, err) ? -1 : 1;
}

static size_t count_digits(const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && p[n] >= '0' && p[n] <= '9')
		n++;
	return n;
}

/* Decimals of the last cell of the row; -1: it has none, or is no number. */
static int count_decimals(const struct import_csv *csv)
{
	const char *cell = csv->text.data + csv->at[csv->cells - 1];
	size_t len = csv->at[csv->cells] - csv->at[csv->cells - 1] - 1;
	char mark = csv->separator == ';' ? ',' : '.';
	const char *point = memchr(cell, mark, len);
	size_t n = point ? len - (size_t)(point + 1 - cell) : 0;

	return n && n < NUMBER_MOST && count_digits(point + 1, n) == n ? (int)n
								       : -1;
}

/*
 * Is the last row of the file, whose line has no end, cut off? Some writers never
 * end the last line. Of them one row in 4096 ends with a buffer, as all do that are
 * cut off because their writer was killed; and none has fewer decimals than all rows
 * before, except by chance.
 */
static bool is_cut_off(const struct import_csv *csv)
{
	return csv->cells < csv->columns ||
	       import_lines_bytes(csv->lines) % BUFFER_BYTES == 0 ||
	       (csv->alike >= ALIKE_LEAST &&
		count_decimals(csv) < csv->decimals);
}

static void learn_decimals(struct import_csv *csv)
{
	int n = count_decimals(csv);

	csv->alike = n == csv->decimals ? csv->alike + 1 : 1;
	csv->decimals = n;
}

int import_csv_next(struct import_csv *csv, const struct import_cell **cell,
		    unsigned int *cells, struct reel_error *err)
{
	int rc;

	do
		rc = read_row(csv, err);
	while (rc > 0 && csv->cells == 1 && csv->at[1] == 1);
	if (!rc)
		csv->skipped += csv->quoted;
	if (rc <= 0)
		return rc;
	if (!csv->columns)
		csv->columns = csv->cells;
	if (import_lines_open_end(csv->lines) && is_cut_off(csv)) {
		csv->skipped++;
		return 0;
	}
	learn_decimals(csv);
	for (unsigned int i = 0; i < csv->cells; i++)
		csv->cell[i] = (struct import_cell){
			csv->text.data + csv->at[i],
			csv->at[i + 1] - csv->at[i] - 1, csv->separator == ';'};
	*cell = csv->cell;
	*cells = csv->cells;
	return 1;
}

uint64_t import_csv_line(const struct import_csv *csv)
{
	return csv->line;
}

uint64_t import_csv_skipped(const struct import_csv *csv)
{
	return csv->skipped + import_lines_skipped(csv->lines);
}

int import_csv_find(const struct import_cell *cell, unsigned int cells,
		    const char *name)
{
	for (unsigned int i = 0; i < cells; i++)
		if (!strcmp(cell[i].s, name))
			return (int)i;
	return -1;
}

static size_t count_sign(const char *p, size_t len)
{
	return len && (*p == '-' || *p == '+');
}

/*
 * Is the whole text a number ("+1.5e-3")? reel_json_decimal() reads only as many
 * decimals as it needs: of "1.024.5" it would make 1.
 */
static bool is_decimal(const char *p, size_t len)
{
	size_t n = count_sign(p, len);
	size_t whole = count_digits(p + n, len - n), part = 0, power;

	n += whole;
	if (n < len && p[n] == '.') {
		part = count_digits(p + n + 1, len - n - 1);
		n += 1 + part;
	}
	if (n < len && (p[n] == 'e' || p[n] == 'E')) {
		n++;
		n += count_sign(p + n, len - n);
		power = count_digits(p + n, len - n);
		n += power;
		if (!power)
			return false;
	}
	return n == len && whole + part > 0;
}

/* Is the number without an exponent, and are its decimals not all 0? */
static bool has_fraction(const char *p, size_t len)
{
	const char *point = memchr(p, '.', len);
	size_t n = point ? (size_t)(point + 1 - p) : len;

	if (memchr(p, 'e', len) || memchr(p, 'E', len))
		return false;
	while (n < len && p[n] == '0')
		n++;
	return n < len;
}

/* The number of the cell, with a decimal point and no spaces around it, in
 * @number or in the cell. False: it is none. */
static bool find_number(const struct import_cell *cell,
			char number[static NUMBER_MOST],
			struct reel_json_token *t)
{
	const char *comma = NULL;

	*t = (struct reel_json_token){.text = cell->s, .len = cell->len};
	while (t->len && *t->text == ' ') {
		t->text++;
		t->len--;
	}
	while (t->len && t->text[t->len - 1] == ' ')
		t->len--;
	if (cell->comma)
		comma = memchr(t->text, ',', t->len);
	if (comma) {
		if (t->len > NUMBER_MOST || memchr(t->text, '.', t->len))
			return false;
		memcpy(number, t->text, t->len);
		number[comma - t->text] = '.';
		t->text = number;
	}
	return is_decimal(t->text, t->len);
}

bool import_cell_decimal(const struct import_cell *cell, int digits,
			 int64_t *out)
{
	char number[NUMBER_MOST];
	struct reel_json_token t;

	return find_number(cell, number, &t) &&
	       reel_json_decimal(&t, digits, out);
}

bool import_cell_integer(const struct import_cell *cell, int64_t *out)
{
	char number[NUMBER_MOST];
	struct reel_json_token t;

	return find_number(cell, number, &t) && !has_fraction(t.text, t.len) &&
	       reel_json_decimal(&t, 0, out);
}
