/* SPDX-License-Identifier: MIT */
/*
 * Output on a terminal: its width, colour and encoding, file names made safe,
 * and text in lines. All adapt to a file or a pipe.
 */
#ifndef LIB_TERMINAL_H
#define LIB_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

struct reel_buf;

/* Edits (insert, delete, replace, swap of neighbours) from @a to @b; 99 when
 * one of them is longer than 31 bytes. */
int reel_edit_distance(const char *a, const char *b);

/* Columns of the terminal @fd, 80 when unknown; 0: no terminal. */
int reel_terminal_columns(int fd);

/* Columns of a line of @f: at least 40 on a terminal, so that a cell fits;
 * INT_MAX for a file or pipe. */
int reel_terminal_line(FILE *f);

/*
 * Print the words of @text on @f in lines of at most @columns_max columns, or
 * of the terminal's width. Lines after the first are indented by @indent; the
 * first is already @at columns wide. A word is never split; with INT_MAX a line
 * in a file has no limit. Returns the columns of the last line.
 */
int reel_terminal_words(FILE *f, const char *text, int columns_max, int indent,
			int at);

/* Print the lines of @text on @f; a terminal wraps them with an indent. */
void reel_terminal_lines(FILE *f, const char *text);

/* True when TERM is unset or "dumb": a line cannot be redrawn in place. */
bool reel_terminal_dumb(void);

/* True when colours may be written to @f: a terminal, and NO_COLOR is unset. */
bool reel_terminal_colour(FILE *f);
/* True when the locale is UTF-8, so that block characters can be shown. */
bool reel_terminal_utf8(void);

/*
 * Draw @share (0 to 1) as a bar of @width cells, in ASCII when the locale is
 * not UTF-8. Writes at most 4 * width + 1 bytes; returns @out.
 */
char *reel_terminal_bar(char *out, int width, double share);

/*
 * Add the file name @name to @b as a word that can be copied into a shell. A
 * name with unprintable characters cannot be copied: it is escaped as by
 * reel_terminal_name(). A leading '-' becomes "./-", so that it is no option.
 */
void reel_terminal_word(struct reel_buf *b, const char *name);

/* Print a file name, escaped as by reel_text_escape(). */
void reel_terminal_name(FILE *f, const char *name);

/*
 * Print "ioreel: next: ioreel VERB A B" on stderr if it is a terminal, the
 * names quoted for a shell. @b may be NULL.
 */
void reel_terminal_next(const char *verb, const char *a, const char *b);

#endif
