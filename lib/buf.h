/* SPDX-License-Identifier: MIT */
/* A growing byte string, always ended by a NUL that does not count. */
#ifndef LIB_BUF_H
#define LIB_BUF_H

#include <stddef.h>

struct reel_error;

/* REEL_BUF_INIT makes an empty one; failed appends leave it as it was. */
struct reel_buf {
	char *data; /* NULL while nothing was added: use reel_buf_text() */
	size_t len;
	size_t room;
};
#define REEL_BUF_INIT                                                          \
	{                                                                      \
		NULL, 0, 0                                                     \
	}

/* Add bytes, a string, a formatted one. 0, or -1 with @err (REEL_E_MEMORY). */
int reel_buf_add(struct reel_buf *b, const void *data, size_t len,
		 struct reel_error *err);
int reel_buf_puts(struct reel_buf *b, const char *s, struct reel_error *err);
int reel_buf_printf(struct reel_buf *b, struct reel_error *err, const char *fmt,
		    ...) __attribute__((format(printf, 3, 4)));
/* Add @word as a shell takes it for one: in quotes unless it is plain. */
int reel_buf_quote(struct reel_buf *b, const char *word,
		   struct reel_error *err);
/* What it holds, "" when nothing; borrowed until it changes. */
const char *reel_buf_text(const struct reel_buf *b);
void reel_buf_reset(struct reel_buf *b); /* length 0, memory kept */
void reel_buf_fini(struct reel_buf *b);

/*
 * Read all of @path, at most @most bytes, behind what @b holds.
 * 0, or -1 with @err filled (REEL_E_IO; REEL_E_FORMAT when it is longer).
 */
int reel_buf_read_file(struct reel_buf *b, const char *path, size_t most,
		       struct reel_error *err);

/*
 * Write @b to @path through "PATH.tmp" and rename: @path is never half written.
 */
int reel_buf_write_file(const struct reel_buf *b, const char *path,
			struct reel_error *err);

#endif
