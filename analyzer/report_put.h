/* SPDX-License-Identifier: MIT */
/* Columns and paragraphs on stdout, for tables that people read. */
#ifndef ANALYZER_REPORT_PUT_H
#define ANALYZER_REPORT_PUT_H

#include <stdbool.h>

/* Columns that the UTF-8 text @s takes (one per character). */
int report_columns(const char *s);
void report_put_right(const char *s, int columns);
void report_put_left(const char *s, int columns);

/* Print @text in lines of at most 100 columns, fewer where the terminal has
 * fewer, each after the first indented by @indent; the first is already @at
 * columns wide. Ends with a new line. */
void report_put_wrapped(const char *text, int indent, int at);

/* A bar of @share, on a terminal that shows it; else nothing. @pad: to @width.
 */
void report_put_bar(int width, double share, bool pad);
bool report_has_bars(void);

/* @path printable, its middle cut so that it takes at most @columns. */
void report_put_path(const char *path, int columns);

#endif
