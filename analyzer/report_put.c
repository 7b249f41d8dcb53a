/* SPDX-License-Identifier: MIT */
/*
 * Columns and paragraphs on stdout.
 *
 * A character is taken as one column wide: what we print ourselves is, and a
 * file name that is not only shifts its own line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/terminal.h"
#include "lib/text.h"

#include "analyzer/report_put.h"

#define LINE_COLUMNS 100
#define LINE_COLUMNS_LEAST 40
#define PATH_BYTES 4096

static bool starts(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

int report_columns(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += starts(*s);
	return n;
}

void report_put_right(const char *s, int columns)
{
	int pad = columns - report_columns(s);

	printf("%*s%s", pad > 0 ? pad : 0, "", s);
}

void report_put_left(const char *s, int columns)
{
	int pad = columns - report_columns(s);

	printf("%s%*s", s, pad > 0 ? pad : 0, "");
}

/* Of a terminal its own, but words need room. */
static int line_columns(void)
{
	int columns = reel_terminal_columns(STDOUT_FILENO);

	if (!columns || columns > LINE_COLUMNS)
		return LINE_COLUMNS;
	return columns < LINE_COLUMNS_LEAST ? LINE_COLUMNS_LEAST : columns;
}

void report_put_wrapped(const char *text, int indent, int at)
{
	int most = line_columns();
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " ");
		char word[512];
		int columns;

		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		columns = report_columns(word);
		if (!first && at + 1 + columns > most) {
			printf("\n%*s", indent, "");
			at = indent;
		} else if (!first) {
			putchar(' ');
			at++;
		}
		first = false;
		printf("%.*s", (int)len, text);
		at += columns;
		text += len + strspn(text + len, " ");
	}
	putchar('\n');
}

bool report_has_bars(void)
{
	return reel_cli_colour(stdout);
}

void report_put_bar(int width, double share, bool pad)
{
	char bar[4 * 64 + 1];
	size_t len;

	if (!report_has_bars() || width > 64)
		return;
	reel_cli_bar(bar, width, share);
	for (len = strlen(bar); len && bar[len - 1] == ' '; len--)
		bar[len - 1] = '\0';
	putchar(' ');
	report_put_left(bar, pad ? width : 0);
}

void report_put_path(const char *path, int columns)
{
	char shown[4 * PATH_BYTES + 1];
	size_t len = strlen(path);
	const char *tail;
	int cut, head;

	reel_text_escape(shown, sizeof(shown), path,
			 len < PATH_BYTES ? len : PATH_BYTES);
	cut = report_columns(shown) - columns;
	if (cut <= 0) {
		fputs(shown, stdout);
		return;
	}
	/* The end of a path says more than its middle. */
	head = columns / 4;
	for (tail = shown; head && *tail; tail++)
		if (starts(tail[1]))
			head--;
	printf("%.*s...", (int)(tail - shown), shown);
	for (cut += 3; *tail && (cut > 0 || !starts(*tail)); tail++)
		cut -= starts(*tail);
	fputs(tail, stdout);
}
