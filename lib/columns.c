/* SPDX-License-Identifier: MIT */
/*
 * Columns and paragraphs on stdout.
 *
 * A row that is wider than the terminal continues in the next line. Output that is
 * no terminal has one line per row, of any width.
 */
#include "lib/columns.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "lib/terminal.h"
#include "lib/text.h"

#define WORDS_COLUMNS 100
#define FOLD_COLUMNS 4 /* indentation of a continued row */
#define BAR_LEAST 5
#define BAR_MOST 64

/* Looked up for each cell, as a window may change its size; a file stays a file.
 */
static int line_columns(void)
{
	static bool file;
	int columns = file ? INT_MAX : reel_terminal_line(stdout);

	file = columns == INT_MAX;
	return columns;
}

/* Continue in the next line unless @columns more fit into this one. */
static void put_room(int *at, int columns)
{
	if (*at > FOLD_COLUMNS && columns > line_columns() - *at) {
		printf("\n%*s", FOLD_COLUMNS, "");
		*at = FOLD_COLUMNS;
	}
}

static void put(int *at, const char *s, int columns, bool right)
{
	int own = reel_text_columns(s), most = line_columns() - FOLD_COLUMNS;
	int pad;

	if (columns > most)
		columns = most;
	pad = columns > own ? columns - own : 0;
	put_room(at, own + pad);
	printf("%*s%s%*s", right ? pad : 0, "", s, right ? 0 : pad, "");
	*at += own + pad;
}

void reel_columns_right(int *at, const char *s, int columns)
{
	put(at, s, columns, true);
}

void reel_columns_left(int *at, const char *s, int columns)
{
	put(at, s, columns, false);
}

void reel_columns_gap(int *at, int columns)
{
	if (*at < line_columns() - columns)
		put(at, "", columns, false);
}

int reel_columns_words(const char *text, int indent, int at)
{
	return reel_terminal_words(stdout, text, WORDS_COLUMNS, indent, at);
}

void reel_columns_wrapped(const char *text, int indent, int at)
{
	reel_columns_words(text, indent, at);
	putchar('\n');
}

char *reel_columns_percent(char out[static REEL_NUM], double share)
{
	if (share < 0)
		return strcpy(out, "-");
	if ((share > 0 && share < 0.0005) || (share < 1 && share >= 0.995))
		return reel_num_percent(out, share);
	if (share < 0.0995)
		snprintf(out, REEL_NUM, "%.1f %%", share * 100);
	else
		snprintf(out, REEL_NUM, "%.0f %%", share * 100);
	return out;
}

int reel_columns_bar_width(int most, int others)
{
	int room = line_columns() - others - 1;

	if (!reel_terminal_colour(stdout) || room < BAR_LEAST)
		return 0;
	return room < most ? room : most;
}

void reel_columns_bar(int *at, int columns, double share)
{
	char bar[4 * BAR_MOST + 1];

	if (!columns)
		return;
	if (columns > BAR_MOST)
		columns = BAR_MOST;
	reel_columns_left(at, " ", 1);
	reel_columns_left(at, reel_terminal_bar(bar, columns, share), columns);
}
