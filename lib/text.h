/* SPDX-License-Identifier: MIT */
/* Texts: untrusted bytes made safe for a terminal or for JSON, and their ends. */
#ifndef LIB_TEXT_H
#define LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of the valid, printable UTF-8 character at @s (1-4), or 0: a
 * control character, a mark that reorders text, a broken or overlong sequence,
 * a surrogate. @len >= 1.
 */
size_t reel_text_char(const char *s, size_t len);

/*
 * Copy @len bytes of @s to @out, unprintable ones as \n, \t, \r or \xNN, and a
 * backslash as two: different names look different. Do not escape twice. The
 * result is valid UTF-8, at most @room - 1 bytes and a NUL; it ends before a
 * character that does not fit. Returns its length. @room >= 1; 4 * len + 1
 * always suffices.
 */
size_t reel_text_escape(char *out, size_t room, const char *s, size_t len);

/* Columns of the printable text @s on a terminal of the program's locale. */
int reel_text_columns(const char *s);

/* Does @s end in @end? */
bool reel_text_ends(const char *s, const char *end);

#endif
