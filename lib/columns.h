/* SPDX-License-Identifier: MIT */
/* Columns and paragraphs on stdout, for tables that people read. */
#ifndef LIB_COLUMNS_H
#define LIB_COLUMNS_H

#include "lib/num.h"

/* A share: whole per cents, a decimal below 10, "-" for a negative one: not measured. The same
 * share is the same figure wherever a report prints it. */
char *reel_columns_percent(char out[static REEL_NUM], double share);

/*
 * A row of cells: @at, 0 in its beginning, is where the line has come to. Where
 * the terminal has no room for a cell the row goes on in the next line; what is
 * no terminal has room for all.
 */
void reel_columns_right(int *at, const char *s, int columns);
void reel_columns_left(int *at, const char *s, int columns);

/* Blanks between two cells, unless the row goes on in the next line. */
void reel_columns_gap(int *at, int columns);

/* Print @text in lines of at most 100 columns, fewer where the terminal has
 * fewer, each after the first indented by @indent; the first is already @at
 * columns wide. Returns where the last one ends. */
int reel_columns_words(const char *text, int indent, int at);
/* The same, and a new line. */
void reel_columns_wrapped(const char *text, int indent, int at);

/* Columns of a bar that stands in a line with @others columns; at most @most.
 * 0 where there is no room, or no terminal that shows bars. */
int reel_columns_bar_width(int most, int others);
/* A blank and a bar of so many columns, which may be 0: nothing. */
void reel_columns_bar(int *at, int columns, double share);

#endif
