/* SPDX-License-Identifier: MIT */
/*
 * Errors: a struct on the caller's stack; the first failure wins.
 *
 * A message that is too long loses its middle, not its end, which has the
 * reason.
 */
#include "lib/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

#define TAIL_BYTES 256

/* Copy @text, which is printable, to @out; a cut never splits a character. */
static void fit_text(char out[static REEL_ERROR_BYTES], const char *text,
		     size_t len)
{
	size_t head = REEL_ERROR_BYTES - TAIL_BYTES - 4;
	const char *tail;

	if (len < REEL_ERROR_BYTES) {
		memcpy(out, text, len + 1);
		return;
	}
	while (head && (text[head] & 0xc0) == 0x80)
		head--;
	tail = text + len - TAIL_BYTES;
	while ((*tail & 0xc0) == 0x80)
		tail++;
	memcpy(out, text, head);
	memcpy(out + head, "...", 3);
	strcpy(out + head + 3, tail);
}

int reel_fail(struct reel_error *err, enum reel_error_code code,
	      const char *fmt, ...)
{
	char few[2 * REEL_ERROR_BYTES], shown[4 * sizeof(few) + 1];
	int saved = errno;
	char *raw = NULL, *safe = NULL;
	va_list ap;
	int n;

	if (!err || err->code != REEL_OK)
		return -1;
	err->code = code;
	va_start(ap, fmt);
	n = vasprintf(&raw, fmt, ap);
	va_end(ap);
	if (n < 0) {
		raw = NULL;
		va_start(ap, fmt);
		vsnprintf(few, sizeof(few), fmt, ap);
		va_end(ap);
		n = (int)strlen(few);
	}
	if ((size_t)n >= sizeof(few))
		safe = malloc(4 * (size_t)n + 1);
	if (safe) {
		size_t len = reel_text_escape(safe, 4 * (size_t)n + 1, raw,
					      (size_t)n);

		fit_text(err->text, safe, len);
	} else {
		size_t len = reel_text_escape(shown, sizeof(shown),
					      raw ? raw : few, (size_t)n);

		fit_text(err->text, shown, len);
	}
	free(safe);
	free(raw);
	errno = saved;
	return -1;
}

int reel_fail_io(struct reel_error *err, const char *verb, const char *path,
		 int why)
{
	return reel_fail(err, REEL_E_IO, "cannot %s '%s': %s", verb, path,
			 strerror(why));
}

static int fail_memory(size_t n, size_t bytes, struct reel_error *err)
{
	return reel_fail(err, REEL_E_MEMORY, "out of memory (%zu times %zu B)",
			 n, bytes);
}

/* True for a size that no allocator should see: sanitizers abort on it. */
static bool is_too_large(size_t n, size_t bytes)
{
	size_t product;

	return __builtin_mul_overflow(n, bytes, &product) ||
	       product > PTRDIFF_MAX;
}

void *reel_alloc(size_t n, size_t bytes, struct reel_error *err)
{
	void *p = NULL;

	if (!is_too_large(n, bytes))
		p = calloc(n ? n : 1, bytes ? bytes : 1);
	if (!p)
		fail_memory(n, bytes, err);
	return p;
}

int reel_grow(void *p, size_t n, size_t bytes, struct reel_error *err)
{
	void *old, *new = NULL;

	/* The caller's pointer may have any type: no cast to void **. */
	memcpy(&old, p, sizeof(old));
	if (!is_too_large(n, bytes))
		new = realloc(old, n && bytes ? n * bytes : 1);
	if (!new)
		return fail_memory(n, bytes, err);
	memcpy(p, &new, sizeof(new));
	return 0;
}

char *reel_strdup(const char *s, struct reel_error *err)
{
	char *copy = strdup(s);

	if (!copy)
		reel_fail(err, REEL_E_MEMORY, "out of memory (%zu B)",
			  strlen(s) + 1);
	return copy;
}
