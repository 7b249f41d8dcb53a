/* SPDX-License-Identifier: MIT */
/* A growing byte string; a NUL that len does not count always ends it. */
#ifndef LIB_BUF_H
#define LIB_BUF_H

#include <stddef.h>

struct reel_error;

/* REEL_BUF_INIT is empty; a failed append leaves it unchanged. */
struct reel_buf {
	char *data; /* NULL while empty: use reel_buf_text() */
	size_t len;
	size_t room;
};
#define REEL_BUF_INIT                                                          \
	{                                                                      \
		NULL, 0, 0                                                     \
	}

/* Add bytes, a string, formatted text. 0, or -1 with @err (REEL_E_MEMORY). */
int reel_buf_add(struct reel_buf *b, const void *data, size_t len,
		 struct reel_error *err);
int reel_buf_puts(struct reel_buf *b, const char *s, struct reel_error *err);
int reel_buf_printf(struct reel_buf *b, struct reel_error *err, const char *fmt,
		    ...) __attribute__((format(printf, 3, 4)));
/* Add @word as one word for a shell: quoted unless it is plain. */
int reel_buf_quote(struct reel_buf *b, const char *word,
		   struct reel_error *err);
/* The content, "" when empty; borrowed until it changes. */
const char *reel_buf_text(const struct reel_buf *b);
void reel_buf_reset(struct reel_buf *b); /* length 0, memory kept */
void reel_buf_fini(struct reel_buf *b);

/*
 * Append the whole file @path, at most @max_bytes. 0, or -1 with @err filled
 * (REEL_E_IO; REEL_E_FORMAT when it is longer).
 */
int reel_buf_read_file(struct reel_buf *b, const char *path, size_t max_bytes,
		       struct reel_error *err);

/*
 * Write @b to "PATH.tmp" and rename it to @path, which is never half written. A
 * device or pipe is written directly.
 */
int reel_buf_write_file(const struct reel_buf *b, const char *path,
			struct reel_error *err);

#endif
