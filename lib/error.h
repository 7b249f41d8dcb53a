/* SPDX-License-Identifier: MIT */
/* Errors: a struct on the caller's stack; the first failure wins. */
#ifndef LIB_ERROR_H
#define LIB_ERROR_H

#include <stddef.h>

enum reel_error_code {
	REEL_OK = 0,
	REEL_E_IO,	/* the operating system refused; text ends with why */
	REEL_E_FORMAT,	/* the data is not what it says it is */
	REEL_E_VERSION, /* made by a program of another major version */
	REEL_E_DB,	/* SQLite refused */
	REEL_E_MEMORY,
	REEL_E_USAGE, /* the caller's words are off: exit status 2 */
	REEL_E_LIMIT, /* done, but below the asked likeness: exit status 3 */
};

#define REEL_ERROR_BYTES 1024

/* Zero it before use: struct reel_error err = { 0 }; */
struct reel_error {
	enum reel_error_code code;
	char text[REEL_ERROR_BYTES]; /* one line, no full stop */
};

/*
 * Fill @err, unless it holds an earlier failure. Control characters that come
 * with a file name are printed as \n, \x1b: a message is always one line.
 *
 * Returns -1, so that "return reel_fail(...)" reads well. @err may be NULL.
 */
int reel_fail(struct reel_error *err, enum reel_error_code code,
	      const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * @n zeroed objects of @bytes. Gives memory for free(). NULL with @err filled
 * (REEL_E_MEMORY); a product that overflows is such a failure.
 */
void *reel_alloc(size_t n, size_t bytes, struct reel_error *err);

/* realloc of *@p to @n objects of @bytes. 0, or -1 with *@p as it was. */
int reel_grow(void *p, size_t n, size_t bytes, struct reel_error *err);

/* Gives a copy of @s for free(), or NULL with @err filled. */
char *reel_strdup(const char *s, struct reel_error *err);

#endif
