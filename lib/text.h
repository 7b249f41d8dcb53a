/* SPDX-License-Identifier: MIT */
/* Bytes from outside made fit for a terminal or for JSON. */
#ifndef LIB_TEXT_H
#define LIB_TEXT_H

#include <stddef.h>

/*
 * Bytes of the valid, printable UTF-8 character at @s (1-4), or 0: a control
 * character, a mark that reorders text, a broken or overlong sequence, a
 * surrogate. @len >= 1.
 */
size_t reel_text_char(const char *s, size_t len);

/*
 * Copy @len bytes of @s to @out, what is not printable as \n, \t, \r or \xNN,
 * and a backslash as two: no two names look alike. Not for what was escaped
 * already. The result is valid UTF-8, at most @room - 1 bytes and a NUL; a
 * character that does not fit whole ends it. Returns its length. @room >= 1; a
 * room of 4 * len + 1 always suffices.
 */
size_t reel_text_escape(char *out, size_t room, const char *s, size_t len);

/* Columns that @s, printable, takes on a terminal of the program's locale. */
int reel_text_columns(const char *s);

#endif
