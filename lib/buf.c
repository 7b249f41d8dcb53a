/* SPDX-License-Identifier: MIT */
/*
 * A growing byte string; a NUL that len does not count always ends it.
 *
 * room counts the NUL, len does not: room > len wherever data is not NULL.
 */
#include "lib/buf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/error.h"

/* Make room for @more bytes and the NUL. */
static int reserve_bytes(struct reel_buf *b, size_t more,
			 struct reel_error *err)
{
	size_t want, room = b->room ? b->room : 64;

	if (__builtin_add_overflow(b->len, more, &want) ||
	    __builtin_add_overflow(want, 1, &want))
		return reel_fail(err, REEL_E_MEMORY, "out of memory (%zu B)",
				 more);
	if (b->data && want <= b->room)
		return 0;
	while (room < want)
		if (__builtin_mul_overflow(room, 2, &room))
			room = want;
	if (reel_grow(&b->data, room, 1, err))
		return -1;
	b->room = room;
	b->data[b->len] = '\0';
	return 0;
}

int reel_buf_add(struct reel_buf *b, const void *data, size_t len,
		 struct reel_error *err)
{
	if (reserve_bytes(b, len, err))
		return -1;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int reel_buf_puts(struct reel_buf *b, const char *s, struct reel_error *err)
{
	return reel_buf_add(b, s, strlen(s), err);
}

int reel_buf_printf(struct reel_buf *b, struct reel_error *err, const char *fmt,
		    ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return reel_fail(err, REEL_E_MEMORY, "cannot format '%s'", fmt);
	if (reserve_bytes(b, (size_t)n, err))
		return -1;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

int reel_buf_quote(struct reel_buf *b, const char *word, struct reel_error *err)
{
	static const char safe[] = "@%+=:,./-_";
	size_t i = 0;

	while (word[i] &&
	       (isalnum((unsigned char)word[i]) || strchr(safe, word[i])))
		i++;
	if (i && !word[i])
		return reel_buf_puts(b, word, err);
	if (reel_buf_puts(b, "'", err))
		return -1;
	for (; *word; word++)
		if (*word == '\'' ? reel_buf_puts(b, "'\\''", err)
				  : reel_buf_add(b, word, 1, err))
			return -1;
	return reel_buf_puts(b, "'", err);
}

const char *reel_buf_text(const struct reel_buf *b)
{
	return b->data ? b->data : "";
}

void reel_buf_reset(struct reel_buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void reel_buf_fini(struct reel_buf *b)
{
	if (!b)
		return;
	free(b->data);
	*b = (struct reel_buf)REEL_BUF_INIT;
}

int reel_buf_read_file(struct reel_buf *b, const char *path, size_t max_bytes,
		       struct reel_error *err)
{
	size_t before = b->len;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = -1;

	if (fd < 0)
		return reel_fail_io(err, "open", path, errno);
	for (;;) {
		ssize_t n;

		/* The size from fstat is useless: it is 0 for files under
		 * /proc. */
		if (reserve_bytes(b, 4096, err))
			goto out;
		n = read(fd, b->data + b->len, b->room - b->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			reel_fail_io(err, "read", path, errno);
			goto out;
		}
		if (!n)
			break;
		b->len += (size_t)n;
		if (b->len - before > max_bytes) {
			reel_fail(err, REEL_E_FORMAT,
				  "'%s' is longer than %zu bytes", path,
				  max_bytes);
			goto out;
		}
	}
	rc = 0;
out:
	close(fd);
	if (rc)
		b->len = before;
	if (b->data)
		b->data[b->len] = '\0';
	return rc;
}

static int write_bytes(int fd, const struct reel_buf *b)
{
	size_t at = 0;

	while (at < b->len) {
		ssize_t n = write(fd, b->data + at, b->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

/* Write to a device or pipe, which cannot be replaced by rename. */
static int write_device(const struct reel_buf *b, const char *path,
			struct reel_error *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	int rc = fd < 0 ? -1 : write_bytes(fd, b);

	if (rc)
		reel_fail_io(err, "write", path, errno);
	if (fd >= 0)
		close(fd);
	return rc;
}

int reel_buf_write_file(const struct reel_buf *b, const char *path,
			struct reel_error *err)
{
	struct stat st;
	char *tmp = NULL;
	int fd = -1, rc = -1;

	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return write_device(b, path, err);
	if (asprintf(&tmp, "%s.tmp", path) < 0) {
		tmp = NULL;
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		goto out;
	}
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		reel_fail_io(err, "create", tmp, errno);
		goto out;
	}
	/* Network file systems report a full disk only at close. */
	rc = write_bytes(fd, b);
	if (close(fd))
		rc = -1;
	if (!rc)
		rc = rename(tmp, path);
	if (rc) {
		reel_fail_io(err, "write", path, errno);
		unlink(tmp);
	}
out:
	free(tmp);
	return rc;
}
