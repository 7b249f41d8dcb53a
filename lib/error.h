/* SPDX-License-Identifier: MIT */
/* Errors: a struct on the caller's stack; the first failure wins. */
#ifndef LIB_ERROR_H
#define LIB_ERROR_H

#include <stddef.h>

enum reel_error_code {
	REEL_OK = 0,
	REEL_E_IO,     /* a system call failed; the text ends with the reason */
	REEL_E_FORMAT, /* the data is not in the expected format */
	REEL_E_VERSION, /* made by a program of another major version */
	REEL_E_DB,	/* SQLite failed */
	REEL_E_MEMORY,
	REEL_E_USAGE, /* wrong usage: exit status 2 */
	REEL_E_LIMIT, /* done, but below the required likeness: exit status 3 */
};

#define REEL_ERROR_BYTES 1024

/* Zero it before use: struct reel_error err = { 0 }; */
struct reel_error {
	enum reel_error_code code;
	char text[REEL_ERROR_BYTES]; /* one line, no full stop */
};

/*
 * Fill @err, unless it holds an earlier failure. Control characters, for
 * example in a file name, are printed as \n, \x1b: a message is always one
 * line.
 *
 * Returns -1, for "return reel_fail(...)". @err may be NULL.
 */
int reel_fail(struct reel_error *err, enum reel_error_code code,
	      const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same for a file: REEL_E_IO, "cannot @verb '@path': " and @why, an errno. */
int reel_fail_io(struct reel_error *err, const char *verb, const char *path,
		 int why);

/*
 * Allocate @n zeroed objects of @bytes. Gives memory for free(), or NULL with
 * @err filled (REEL_E_MEMORY), even if the product overflows.
 */
void *reel_alloc(size_t n, size_t bytes, struct reel_error *err);

/* Resize *@p to @n objects of @bytes. 0, or -1 with *@p unchanged. */
int reel_grow(void *p, size_t n, size_t bytes, struct reel_error *err);

/* Gives a copy of @s for free(), or NULL with @err filled. */
char *reel_strdup(const char *s, struct reel_error *err);

#endif
