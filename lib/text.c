/* SPDX-License-Identifier: MIT */
/*
 * Untrusted bytes made safe for a terminal or for JSON.
 *
 * File names are untrusted: a terminal must not get bytes that move the cursor
 * or break a line, including C1 controls (U+0080 to U+009F), nor marks that
 * change the reading order of a name.
 */
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Line and paragraph separators, and the marks of bidirectional text. */
static int is_bidi_mark(unsigned int c)
{
	return c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t reel_text_char(const char *s, size_t len)
{
	static const unsigned int least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)s;
	unsigned int c = p[0];
	size_t n, i;

	if (c < 0x80)
		return c >= 0x20 && c != 0x7f;
	if (c >= 0xc2 && c < 0xe0)
		n = 2, c &= 0x1f;
	else if (c >= 0xe0 && c < 0xf0)
		n = 3, c &= 0x0f;
	else if (c >= 0xf0 && c < 0xf5)
		n = 4, c &= 0x07;
	else
		return 0;
	if (n > len)
		return 0;
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c < 0xa0 || (c >= 0xd800 && c < 0xe000) ||
	    c > 0x10ffff || is_bidi_mark(c))
		return 0;
	return n;
}

/* Write the escape of one byte to @out[5]. */
static size_t escape_byte(char *out, unsigned char c)
{
	switch (c) {
	case '\\':
		return (size_t)sprintf(out, "\\\\");
	case '\n':
		return (size_t)sprintf(out, "\\n");
	case '\t':
		return (size_t)sprintf(out, "\\t");
	case '\r':
		return (size_t)sprintf(out, "\\r");
	}
	return (size_t)sprintf(out, "\\x%02x", c);
}

size_t reel_text_escape(char *out, size_t room, const char *s, size_t len)
{
	size_t i = 0, at = 0;

	while (i < len) {
		size_t n = reel_text_char(s + i, len - i);
		char esc[8];
		const char *from = s + i;
		size_t add = n;

		if (!n || s[i] == '\\') {
			add = escape_byte(esc, (unsigned char)s[i]);
			from = esc;
			n = 1;
		}
		if (at + add >= room)
			break;
		memcpy(out + at, from, add);
		at += add;
		i += n;
	}
	out[at] = '\0';
	return at;
}

int reel_text_columns(const char *s)
{
	mbstate_t state = {0};
	int columns = 0;

	while (*s) {
		wchar_t c;
		size_t n = mbrtowc(&c, s, MB_CUR_MAX, &state);
		int w = 1;

		if (n > MB_CUR_MAX) { /* unknown in this locale */
			memset(&state, 0, sizeof(state));
			n = 1;
			w = ((unsigned char)*s & 0xc0) != 0x80;
		} else {
			w = wcwidth(c);
		}
		columns += w < 0 ? 1 : w;
		s += n;
	}
	return columns;
}

bool reel_text_ends(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}
