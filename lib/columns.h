/* SPDX-License-Identifier: MIT */
/* Columns and paragraphs on stdout. */
#ifndef LIB_COLUMNS_H
#define LIB_COLUMNS_H

#include "lib/num.h"

/* Format a share: whole per cents, one decimal below 10 %, "-" for a negative one,
 * which was not measured. All tables of a report use it. */
char *reel_columns_percent(char out[static REEL_NUM], double share);

/*
 * Print a cell of a row. @at is the current column, 0 at the start. Where the
 * terminal has no room for a cell the row continues in the next line.
 */
void reel_columns_right(int *at, const char *s, int columns);
void reel_columns_left(int *at, const char *s, int columns);

/* Print blanks between two cells, unless the row continues in the next line. */
void reel_columns_gap(int *at, int columns);

/* Print @text in lines of at most 100 columns, fewer where the terminal has
 * fewer, each after the first indented by @indent; the first is already @at
 * columns wide. Returns where the last one ends. */
int reel_columns_words(const char *text, int indent, int at);
/* reel_columns_words(), and a new line. */
void reel_columns_wrapped(const char *text, int indent, int at);

/* The width of a bar in a line with @others other columns; at most @most. 0 where
 * there is no room, or no terminal that shows bars. */
int reel_columns_bar_width(int most, int others);
/* Print a blank and a bar of @columns columns; nothing when it is 0. */
void reel_columns_bar(int *at, int columns, double share);

#endif
