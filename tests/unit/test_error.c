/* SPDX-License-Identifier: MIT */
/* The first failure wins, in one printable line that ends with the reason. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/text.h"

#include "tests/lib/tap.h"

static void first_wins(void)
{
	struct reel_error err = {0};

	is(reel_fail(&err, REEL_E_IO, "cannot open '%s'", "a"), -1, "-1");
	reel_fail(&err, REEL_E_DB, "cleanup failed too");
	is(err.code, REEL_E_IO, "the first failure's code stays");
	ok(!strcmp(err.text, "cannot open 'a'"), "and its text");
	is(reel_fail(NULL, REEL_E_IO, "x"), -1, "a NULL struct is allowed");
	errno = ENOSPC;
	err = (struct reel_error){0};
	reel_fail(&err, REEL_E_IO, "x %s", strerror(errno));
	is(errno, ENOSPC, "errno is unchanged");
}

static void one_line(void)
{
	struct reel_error err = {0};

	reel_fail(&err, REEL_E_IO, "'%s'", "a\nb\x1b[2J\xff\xc2\x9b\t\xc3\xa9");
	ok(!strcmp(err.text, "'a\\nb\\x1b[2J\\xff\\xc2\\x9b\\t\xc3\xa9'"),
	   "controls, C1 controls and broken UTF-8 are escaped: %s", err.text);
}

static void long_text(void)
{
	static char name[40000];
	struct reel_error err = {0};
	size_t i, n;

	for (i = 0; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	reel_fail(&err, REEL_E_IO, "cannot open '%s': %s", name,
		  "No such file");
	n = strlen(err.text);
	ok(n < sizeof(err.text) && n > 900, "a long message fits (%zu)", n);
	ok(!strncmp(err.text, "cannot open '\xc3\xa9", 15),
	   "its head is there");
	ok(!strcmp(err.text + n - 14, "': No such file") ||
		   !strcmp(err.text + n - 15, "': No such file"),
	   "and its end");
	for (i = 0; i < n; i++) {
		size_t k = reel_text_char(err.text + i, n - i);

		if (!k)
			break;
		i += k - 1;
	}
	is(i, n, "no character is split");
	memset(name, 1, sizeof(name) - 1);
	err = (struct reel_error){0};
	reel_fail(&err, REEL_E_IO, "%s end", name);
	ok(strlen(err.text) < sizeof(err.text) && strstr(err.text, " end"),
	   "a name of control characters fits, too");
}

static void memory(void)
{
	struct reel_error err = {0};
	uint32_t *p = NULL;
	char *zero = reel_alloc(3, 5, &err);

	ok(zero && !memcmp(zero, (char[15]){0}, 15), "memory is zeroed");
	free(zero);
	ok(!reel_alloc(SIZE_MAX / 2, 3, &err) && err.code == REEL_E_MEMORY,
	   "a product that overflows is a failure");
	err = (struct reel_error){0};
	is(reel_grow(&p, 4, sizeof(*p), &err), 0, "grow from nothing");
	p[3] = 7;
	is(reel_grow(&p, SIZE_MAX / 2, sizeof(*p), &err), -1,
	   "growing past all memory fails");
	is(p[3], 7, "and keeps the old memory");
	free(p);
}

static void characters(void)
{
	static const struct {
		const char *s;
		size_t n;
	} c[] = {
		{"a", 1},
		{"\x7f", 0},
		{"\xc3\xa9", 2},
		{"\xc0\x80", 0},
		{"\xe0\x80\x80", 0},
		{"\xed\xa0\x80", 0},
		{"\xf0\x9f\x98\x80", 4},
		{"\xf4\x90\x80\x80", 0},
		{"\xe2\x82", 0},
		{"\x80", 0},
		{"\xc2\x85", 0},
	};
	char out[8];
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		is(reel_text_char(c[i].s, strlen(c[i].s)), c[i].n,
		   "character %zu", i);
	is(reel_text_escape(out, sizeof(out),
			    "ab\xff"
			    "c\xff",
			    5),
	   7, "an escape that does not fit ends the text");
	ok(!strcmp(out, "ab\\xff"
			"c"),
	   "whole (%s)", out);
	is(reel_text_escape(out, sizeof(out), "a\\n\n", 4), 6,
	   "a backslash is escaped");
	ok(!strcmp(out, "a\\\\n\\n"), "and is no escape sequence (%s)", out);
}

int main(void)
{
	first_wins();
	one_line();
	long_text();
	memory();
	characters();
	return done();
}
