/* SPDX-License-Identifier: MIT */
/* The parts of lib/cli.h that commands do not call themselves. */
#ifndef LIB_TERMINAL_H
#define LIB_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Edits (insert, delete, replace, swap of neighbours) from @a to @b; 99 when
 * one of them is longer than 31 bytes. */
int reel_near(const char *a, const char *b);

/* Columns of the terminal behind @fd, 80 when it does not say; 0: none. */
int reel_terminal_columns(int fd);

/* Columns of a line of @f: of a terminal its own, but no fewer than 40, so that
 * a cell has room; INT_MAX of what is none. */
int reel_terminal_line(FILE *f);

/*
 * Print the words of @text on @f in lines of at most @most columns, fewer where
 * the terminal has fewer, each after the first indented by @indent; the first
 * is already @at columns wide. A word is never cut; INT_MAX: a file's lines
 * have no end. Returns the columns of the last line.
 */
int reel_terminal_words(FILE *f, const char *text, int most, int indent,
			int at);

/* The lines of @text on @f; on a terminal they go on in the next, indented. */
void reel_terminal_lines(FILE *f, const char *text);

/* A terminal, if it is one, on which a line cannot be drawn over. */
bool reel_terminal_dumb(void);

#endif
