/* SPDX-License-Identifier: MIT */
/* TAP for the C tests: ok(condition, "what it shows"), then done(). */
#ifndef TESTS_LIB_TAP_H
#define TESTS_LIB_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int tap_n, tap_bad;

__attribute__((format(printf, 4, 5), unused)) static int
tap_ok(int good, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++tap_n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (!good) {
		tap_bad = 1;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}

#define ok(good, ...) tap_ok(!!(good), __FILE__, __LINE__, __VA_ARGS__)

/* Check that two numbers are equal; both are printed if they are not. */
#define is(got, want, ...)                                                     \
	do {                                                                   \
		long long tap_g = (long long)(got), tap_w = (long long)(want); \
		if (!ok(tap_g == tap_w, __VA_ARGS__))                          \
			printf("# got %lld, want %lld\n", tap_g, tap_w);       \
	} while (0)

__attribute__((unused)) static void skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	exit(0);
}

__attribute__((unused)) static int done(void)
{
	printf("1..%d\n", tap_n);
	return tap_bad;
}

#endif
