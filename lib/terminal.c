/* SPDX-License-Identifier: MIT */
/*
 * Output on a terminal: width, colour, encoding, names and bars.
 *
 * The locale is the program's: main() calls setlocale(LC_CTYPE, "") once.
 */
#include "lib/terminal.h"

#include <langinfo.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/text.h"

#define LEAST_COLUMNS 40

bool reel_terminal_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !*term || !strcmp(term, "dumb");
}

bool reel_terminal_colour(FILE *f)
{
	const char *no = getenv("NO_COLOR");

	return (!no || !*no) && !reel_terminal_dumb() && isatty(fileno(f));
}

bool reel_terminal_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

int reel_terminal_columns(int fd)
{
	struct winsize ws = {0};

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &ws) || !ws.ws_col)
		return 80;
	return ws.ws_col;
}

int reel_terminal_line(FILE *f)
{
	int columns = reel_terminal_columns(fileno(f));

	if (!columns)
		return INT_MAX;
	return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
}

int reel_terminal_words(FILE *f, const char *text, int columns_max, int indent,
			int at)
{
	int line = reel_terminal_line(f);
	size_t blanks = 0;

	if (columns_max > line)
		columns_max = line;
	while (*text) {
		size_t len = strcspn(text, " ");
		char word[512];
		int columns;

		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		columns = reel_text_columns(word);
		if (blanks && columns > columns_max - at - (int)blanks) {
			fprintf(f, "\n%*s", indent, "");
			at = indent;
		} else {
			fprintf(f, "%*s", (int)blanks, "");
			at += (int)blanks;
		}
		fprintf(f, "%.*s", (int)len, text);
		at += columns;
		text += len;
		blanks = strspn(text, " ");
		text += blanks;
	}
	return at;
}

void reel_terminal_lines(FILE *f, const char *text)
{
	if (reel_terminal_line(f) == INT_MAX) {
		fputs(text, f); /* in one write: ranks may share the file */
		return;
	}
	while (*text) {
		size_t len = strcspn(text, "\n");
		char *line = strndup(text, len);

		if (line)
			reel_terminal_words(f, line, INT_MAX, 8, 0);
		putc('\n', f);
		free(line);
		text += len + (text[len] == '\n');
	}
}

void reel_terminal_next(const char *verb, const char *a, const char *b)
{
	struct reel_buf words = REEL_BUF_INIT;

	if (!isatty(STDERR_FILENO))
		return;
	fflush(stdout);
	reel_terminal_word(&words, a);
	if (b) {
		reel_buf_puts(&words, " ", NULL);
		reel_terminal_word(&words, b);
	}
	fprintf(stderr, "ioreel: next: ioreel %s %s\n", verb,
		reel_buf_text(&words));
	reel_buf_fini(&words);
}

char *reel_terminal_bar(char *out, int width, double share)
{
	/* U+258F (one eighth) to U+2588 (full) end in 0x8f to 0x88. */
	bool utf8 = reel_terminal_utf8();
	int steps = utf8 ? 8 : 1, cell, full;
	char *p = out;

	if (!(share > 0))
		share = 0;
	if (share > 1)
		share = 1;
	full = (int)lround(share * width * steps);
	for (cell = 0; cell < width; cell++) {
		int part = full - cell * steps;

		if (part > steps)
			part = steps;
		if (part <= 0) {
			*p++ = ' ';
		} else if (!utf8) {
			*p++ = '#';
		} else {
			*p++ = (char)0xe2;
			*p++ = (char)0x96;
			*p++ = (char)(0x90 - part);
		}
	}
	*p = '\0';
	return out;
}

static bool is_printable(const char *name, size_t len)
{
	size_t i = 0, n;

	for (; i < len; i += n) {
		n = reel_text_char(name + i, len - i);
		if (!n)
			return false;
	}
	return true;
}

void reel_terminal_word(struct reel_buf *b, const char *name)
{
	size_t len = strlen(name);
	char *shown = NULL;

	if (!is_printable(name, len))
		shown = malloc(4 * len + 1);
	if (shown) {
		reel_text_escape(shown, 4 * len + 1, name, len);
		reel_buf_puts(b, shown, NULL);
	} else {
		if (*name == '-') /* no option */
			reel_buf_puts(b, "./", NULL);
		reel_buf_quote(b, name, NULL);
	}
	free(shown);
}

void reel_terminal_name(FILE *f, const char *name)
{
	char shown[1024 * 4 + 1];
	size_t len = strlen(name);

	while (len) {
		size_t n = len < 1024 ? len : 1024;

		/* Do not split a character. */
		while (n < len && n > 1020 && (name[n] & 0xc0) == 0x80)
			n--;
		reel_text_escape(shown, sizeof(shown), name, n);
		fputs(shown, f);
		name += n;
		len -= n;
	}
}

int reel_edit_distance(const char *a, const char *b)
{
	enum { LENGTH_MAX = 32 };
	int d[LENGTH_MAX][LENGTH_MAX];
	size_t n = strlen(a), m = strlen(b), i, j;

	if (n >= LENGTH_MAX || m >= LENGTH_MAX)
		return 99;
	for (i = 0; i <= n; i++)
		d[i][0] = (int)i;
	for (j = 0; j <= m; j++)
		d[0][j] = (int)j;
	for (i = 1; i <= n; i++) {
		for (j = 1; j <= m; j++) {
			int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[n][m];
}
