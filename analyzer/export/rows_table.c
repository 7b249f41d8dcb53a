/* SPDX-License-Identifier: MIT */
/*
 * Rows as an aligned table: numbers to the right, NULL as "-".
 *
 * Only the first AHEAD_ROWS rows are held, so that a table of any length streams.
 */
#include "analyzer/export/rows_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/columns.h"
#include "lib/error.h"
#include "lib/text.h"

#define AHEAD_ROWS 1000

struct cell {
	char *text;
	int width; /* in columns of the terminal */
	bool number;
};

struct table {
	int columns, rows;
	struct cell *cell; /* the first rows */
	int *width;
};

static int cell_set(struct cell *c, const char *s, size_t len,
		    struct reel_error *err)
{
	c->text = reel_alloc(4 * len + 1, 1, err);
	if (!c->text)
		return -1;
	reel_text_escape(c->text, 4 * len + 1, s, len);
	c->width = reel_text_columns(c->text);
	return 0;
}

static int cell_of(struct cell *c, sqlite3_stmt *stmt, int i,
		   struct reel_error *err)
{
	int type = sqlite3_column_type(stmt, i);
	struct reel_buf b = REEL_BUF_INIT;
	int rc = -1, n;

	*c = (struct cell){.number = type == SQLITE_INTEGER ||
				     type == SQLITE_FLOAT};
	if (type == SQLITE_NULL)
		return cell_set(c, "-", 1, err);
	if (type != SQLITE_BLOB) {
		const char *s = (const char *)sqlite3_column_text(stmt, i);

		return cell_set(c, s ? s : "",
				(size_t)sqlite3_column_bytes(stmt, i), err);
	}
	n = sqlite3_column_bytes(stmt, i);
	if (!reel_buf_printf(&b, err, "(%d byte%s)", n, n == 1 ? "" : "s"))
		rc = cell_set(c, b.data, b.len, err);
	reel_buf_fini(&b);
	return rc;
}

/* Print the cell of column @i. @at: as in columns.h. */
static void put_cell(const struct table *t, int i, int *at,
		     const struct cell *c)
{
	bool last = i == t->columns - 1;

	if (c->number)
		reel_columns_right(at, c->text, t->width[i]);
	else
		reel_columns_left(at, c->text, last ? 0 : t->width[i]);
	if (last)
		putchar('\n');
	else
		reel_columns_gap(at, 2);
}

static void put_row(const struct table *t, const struct cell *row)
{
	int at = 0;

	for (int i = 0; i < t->columns; i++)
		put_cell(t, i, &at, &row[i]);
}

/* Print the column names, aligned as their first cells, and a line below. */
static int put_head(const struct table *t, sqlite3_stmt *stmt,
		    struct reel_error *err)
{
	int at = 0;

	for (int i = 0; i < t->columns; i++) {
		const char *name = sqlite3_column_name(stmt, i);
		struct cell c = {0};

		if (cell_set(&c, name ? name : "", name ? strlen(name) : 0,
			     err))
			return -1;
		c.number = t->rows && t->cell[i].number;
		put_cell(t, i, &at, &c);
		free(c.text);
	}
	at = 0;
	for (int i = 0; i < t->columns; i++) {
		struct cell c = {.number = true,
				 .text = reel_alloc(t->width[i] + 1, 1, err)};

		if (!c.text)
			return -1;
		memset(c.text, '-', (size_t)t->width[i]);
		put_cell(t, i, &at, &c);
		free(c.text);
	}
	return 0;
}

/* Read up to AHEAD_ROWS rows for the widths. The last step's code, or -1 with
 * @err. */
static int read_ahead_rows(struct table *t, sqlite3_stmt *stmt,
			   struct reel_error *err)
{
	int step = SQLITE_ROW;

	for (int i = 0; i < t->columns; i++) {
		const char *name = sqlite3_column_name(stmt, i);

		t->width[i] = name ? reel_text_columns(name) : 0;
	}
	while (t->rows < AHEAD_ROWS &&
	       (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct cell *row = t->cell + (size_t)t->rows * t->columns;

		t->rows++;
		for (int i = 0; i < t->columns; i++) {
			if (cell_of(&row[i], stmt, i, err))
				return -1;
			if (row[i].width > t->width[i])
				t->width[i] = row[i].width;
		}
	}
	return step;
}

static int stream_rows(const struct table *t, sqlite3_stmt *stmt,
		       struct reel_error *err)
{
	int step;

	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		int at = 0;

		for (int i = 0; i < t->columns; i++) {
			struct cell c;

			if (cell_of(&c, stmt, i, err))
				return -1;
			put_cell(t, i, &at, &c);
			free(c.text);
		}
	}
	return step;
}

int sql_table(sqlite3_stmt *stmt, struct reel_error *err)
{
	struct table t = {.columns = sqlite3_column_count(stmt)};
	int rc = -1, step;

	t.cell = reel_alloc((size_t)AHEAD_ROWS * t.columns, sizeof(*t.cell),
			    err);
	t.width = reel_alloc((size_t)t.columns, sizeof(*t.width), err);
	if (!t.cell || !t.width)
		goto out;
	step = read_ahead_rows(&t, stmt, err);
	if (step == -1 || (step != SQLITE_ROW && step != SQLITE_DONE)) {
		rc = step;
		goto out;
	}
	if (put_head(&t, stmt, err))
		goto out;
	for (int r = 0; r < t.rows; r++)
		put_row(&t, t.cell + (size_t)r * t.columns);
	rc = step == SQLITE_ROW ? stream_rows(&t, stmt, err) : step;
out:
	for (size_t i = 0; t.cell && i < (size_t)t.rows * t.columns; i++)
		free(t.cell[i].text);
	free(t.cell);
	free(t.width);
	return rc;
}
