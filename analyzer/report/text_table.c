/* SPDX-License-Identifier: MIT */
/* Prints the tables of sections. */
#include "analyzer/report/text_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "lib/columns.h"
#include "lib/num.h"
#include "lib/text.h"

#include "analyzer/report/render.h"
#include "analyzer/report/report.h"
#include "analyzer/report/section.h"

#define PATH_BYTES 4096

static char *format_figure(char out[static REEL_NUM], sqlite3_stmt *q, double v)
{
	const char *unit = "";

	for (int i = 0; i < sqlite3_column_count(q); i++)
		if (!strcmp(sqlite3_column_name(q, i), "unit"))
			unit = (const char *)sqlite3_column_text(q, i);
	if (unit && !strcmp(unit, "ns"))
		return reel_num_time(out, v);
	if (unit && !strcmp(unit, "B"))
		return reel_num_bytes(out, v);
	return reel_num_count(out, llround(v));
}

static char *format(char out[static REEL_NUM], sqlite3_stmt *q, int i,
		    enum form form)
{
	double v = sqlite3_column_double(q, i);

	if (sqlite3_column_type(q, i) == SQLITE_NULL)
		return strcpy(out, "-");
	switch (form) {
	case COUNT:
	case MANY_WORLDS:
	case MANY_STEPS:
		return reel_num_count(out, sqlite3_column_int64(q, i));
	case SIZE:
		return reel_num_size(out, v);
	case BYTES:
		return reel_num_bytes(out, v);
	case TIME:
		return reel_num_time(out, v);
	case RATE:
		return reel_num_rate(out, v);
	case SHARE:
		snprintf(out, REEL_NUM, "%.1f %%", 100 * v);
		return out;
	case SHARE2:
		snprintf(out, REEL_NUM, "%.2f %%", 100 * v);
		return out;
	case REAL:
		snprintf(out, REEL_NUM, "%.2f", v);
		return out;
	case MIB_RATE:
		snprintf(out, REEL_NUM, "%.2f MiB/s", v);
		return out;
	case FIGURE:
		return format_figure(out, q, v);
	default:
		return strcpy(out, "-");
	}
}

/* To the left, with a gap in front; a path has no width. */
static void put_text(int *at, const char *text, int width)
{
	char shown[4 * PATH_BYTES + 3] = "  ";
	size_t len = strlen(text);

	reel_text_escape(shown + 2, sizeof(shown) - 2, text,
			 len < PATH_BYTES ? len : PATH_BYTES);
	reel_columns_left(at, shown, width);
}

static bool is_text(const struct column *c)
{
	return c->form == PATH || c->form == TEXT || c->form == MANY_HOSTS;
}

static void print_cell(sqlite3_stmt *q, int i, const struct column *c, int *at)
{
	const char *text = (const char *)sqlite3_column_text(q, i);
	char num[REEL_NUM];

	if (is_text(c))
		put_text(at, text ? text : "-", c->width);
	else
		reel_columns_right(at, format(num, q, i, c->form), c->width);
}

static bool is_left_out(const struct report *r, enum form form)
{
	switch (form) {
	case MANY_WORLDS:
		return r->completeness.worlds < 2;
	case MANY_HOSTS:
		return r->hosts < 2;
	case MANY_STEPS:
		return !r->summed_steps;
	default:
		return false;
	}
}

static void print_titles(const struct report *r, const struct table *t)
{
	int at = 0;

	for (const struct column *c = t->column; c->title; c++) {
		if (is_left_out(r, c->form))
			continue;
		if (is_text(c))
			put_text(&at, c->title, c->width);
		else
			reel_columns_right(&at, c->title, c->width);
	}
	putchar('\n');
}

/* @index: the number of each of the table's columns in the rows. */
static void print_cells(const struct report *r, const struct table *t,
			sqlite3_stmt *q, const int *index)
{
	int at = 0;

	for (int i = 0; t->column[i].title; i++)
		if (!is_left_out(r, t->column[i].form))
			print_cell(q, index[i], &t->column[i], &at);
	putchar('\n');
}

static int print_rows(const struct report *r, const struct table *t,
		      int64_t top, struct report_rows *rows,
		      struct reel_error *err)
{
	int index[COLUMNS_MOST] = {0}, rc;
	char num[REEL_NUM];
	int64_t n = 0;

	for (int i = 0; t->column[i].title; i++)
		index[i] = report_rows_column(rows, t->column[i].name);
	print_titles(r, t);
	while ((rc = report_rows_next(rows, err)) == 1)
		if (n++ < top || !top)
			print_cells(r, t, rows->stmt, index);
	if (top && n > top)
		printf("  and %s more (--top N, --top all)\n",
		       reel_num_count(num, n - top));
	return rc;
}

int text_table(const struct report *r, const struct table *t,
	       const struct report_options *o, struct reel_error *err)
{
	struct report_rows rows;
	int rc = report_rows_open(&rows, r->st, report_section_find(t->section),
				  err);

	if (!rc && t->caption)
		reel_columns_wrapped(t->caption, 2, 0);
	if (!rc)
		rc = print_rows(r, t, o->top, &rows, err);
	report_rows_close(&rows);
	return rc;
}
