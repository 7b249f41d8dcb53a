/* SPDX-License-Identifier: MIT */
/* The parts of lib/cli.h that commands do not call themselves. */
#ifndef LIB_TERMINAL_H
#define LIB_TERMINAL_H

#include <stdbool.h>

/* Edits (insert, delete, replace, swap of neighbours) from @a to @b; 99 when
 * one of them is longer than 31 bytes. */
int reel_near(const char *a, const char *b);

/* Columns of the terminal behind @fd, 80 when it does not say; 0: none. */
int reel_terminal_columns(int fd);

/* A terminal, if it is one, on which a line cannot be drawn over. */
bool reel_terminal_dumb(void);

#endif
