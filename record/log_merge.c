/* SPDX-License-Identifier: MIT */
/*
 * Complete a log from its window: append the missing blocks, write its head.
 *
 * Blocks are appended before the head is rewritten, and the window is removed
 * last. After a kill in between, the next attempt recognizes the blocks by
 * (tid, seq) and appends none twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/error.h"

#include "record/internal.h"

#define BLOCK_BYTES sizeof(struct reel_block_head)

struct log {
	const char *path;
	int fd;
	int64_t bytes;
	uint32_t head_bytes;
};

static int64_t round_up(int64_t n)
{
	return (n + 7) & ~(int64_t)7;
}

static int fail_write(const struct log *l, struct reel_error *err)
{
	return reel_fail_io(err, "write", l->path, errno);
}

static int write_at(const struct log *l, const void *data, size_t bytes,
		    int64_t at, struct reel_error *err)
{
	const char *p = data;

	while (bytes) {
		ssize_t n = pwrite(l->fd, p, bytes, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (!n)
				errno = ENOSPC;
			return fail_write(l, err);
		}
		p += n;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* By identity. The kernel reuses a tid, the process no slot number. */
static int compare_blocks(const void *x, const void *y)
{
	const struct reel_block_head *a =
		&((const struct record_block *)x)->head;
	const struct reel_block_head *b =
		&((const struct record_block *)y)->head;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return 0;
}

static struct record_block *find_block(const struct record_window *w,
				       const struct reel_block_head *head)
{
	struct record_block key = {.head = *head};

	if (!w->blocks)
		return NULL;
	return bsearch(&key, w->block, w->blocks, sizeof(key), compare_blocks);
}

/* Read the block head at @at into @b. True if it is valid. */
static bool head_at(const struct log *l, int64_t at, struct reel_block_head *b)
{
	return l->bytes - at >= (int64_t)BLOCK_BYTES &&
	       pread(l->fd, b, BLOCK_BYTES, at) == (ssize_t)BLOCK_BYTES &&
	       b->magic == REEL_BLOCK_MAGIC &&
	       b->check == reel_block_check(b) && b->tid &&
	       b->used <= REEL_SLOT_BYTES - BLOCK_BYTES;
}

/* The next offset from @at on that may be a block, or the end. */
static int64_t next_block(const struct log *l, int64_t at)
{
	uint64_t word[4096];

	while (at < l->bytes) {
		ssize_t n = pread(l->fd, word, sizeof(word), at);
		ssize_t i;

		if (n <= 0)
			return l->bytes;
		for (i = 0; i < n / 8; i++)
			if (word[i] == REEL_BLOCK_MAGIC)
				return at + 8 * i;
		if (n < (ssize_t)sizeof(word))
			return l->bytes;
		at += n;
	}
	return l->bytes;
}

/*
 * The last block of the log is truncated, because its writer was killed. If the
 * window has the whole block, remove this one; else reduce the size in its
 * head, so that it does not claim bytes of the blocks that follow.
 */
static int mend_tail(struct log *l, int64_t at, struct reel_block_head *b,
		     const struct record_window *w, struct reel_error *err)
{
	const struct record_block *whole = find_block(w, b);
	int64_t there = l->bytes - at - (int64_t)BLOCK_BYTES;

	if (whole && whole->head.used >= b->used) {
		if (ftruncate(l->fd, at))
			return fail_write(l, err);
		l->bytes = at;
		return 0;
	}
	b->used = (uint32_t)there;
	b->check = reel_block_check(b);
	return write_at(l, b, BLOCK_BYTES, at, err);
}

/* Walk the blocks of the log and mark the same blocks of the window. */
static int scan_blocks(struct log *l, struct record_window *w,
		       struct reel_error *err)
{
	int64_t at = l->head_bytes;

	while (at < l->bytes) {
		struct reel_block_head b;
		struct record_block *mine;
		int64_t next;

		if (!head_at(l, at, &b)) {
			at = next_block(l, at + 8);
			continue;
		}
		next = at + (int64_t)BLOCK_BYTES + round_up(b.used);
		if (at + (int64_t)BLOCK_BYTES + b.used > l->bytes)
			return mend_tail(l, at, &b, w, err);
		mine = find_block(w, &b);
		if (mine && mine->head.used <= b.used)
			mine->have = true;
		at = next;
	}
	return 0;
}

/* Check that @l is of @w's process; write a missing head. 1: of another one. */
static int adopt_log(struct log *l, struct record_window *w,
		     struct reel_error *err)
{
	struct reel_head h;
	struct stat st;

	if (fstat(l->fd, &st) || !S_ISREG(st.st_mode))
		return 1;
	l->bytes = st.st_size;
	if (l->bytes >= (int64_t)sizeof(h) &&
	    pread(l->fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
	    h.magic == REEL_HEAD_MAGIC) {
		if (h.uid != w->head.uid || h.log_bytes ||
		    h.head_bytes != w->head.head_bytes)
			return 1;
		l->head_bytes = h.head_bytes;
		return 0;
	}
	/* The head is missing (full disk), but blocks may follow. */
	l->head_bytes = w->head.head_bytes;
	if (write_at(l, w->page, l->head_bytes, 0, err))
		return -1;
	if (l->bytes < l->head_bytes)
		l->bytes = l->head_bytes;
	return 0;
}

static int append_block(struct log *l, const struct record_window *w,
			const struct record_block *b, struct reel_error *err)
{
	struct {
		struct reel_block_head head;
		char records[REEL_SLOT_BYTES];
	} out;
	size_t bytes = BLOCK_BYTES + (size_t)round_up(b->head.used);

	memset(&out, 0, bytes);
	if (pread(w->fd, out.records, b->head.used,
		  b->at + (int64_t)BLOCK_BYTES) != (ssize_t)b->head.used)
		return reel_fail_io(err, "read", w->path, errno);
	out.head = b->head;
	out.head.check = reel_block_check(&out.head);
	if (write_at(l, &out, bytes, l->bytes, err))
		return -1;
	l->bytes += (int64_t)bytes;
	return 0;
}

/* Append the missing blocks; a full disk leaves the log unchanged. */
static int append_missing(struct log *l, const struct record_window *w,
			  struct reel_error *err)
{
	static const char zero[8];
	int64_t before = l->bytes, padded = round_up(l->bytes);
	uint32_t i;
	int rc;

	rc = write_at(l, zero, (size_t)(padded - before), before, err);
	l->bytes = padded;
	for (i = 0; !rc && i < w->blocks; i++)
		if (!w->block[i].have)
			rc = append_block(l, w, &w->block[i], err);
	if (rc && ftruncate(l->fd, before))
		fail_write(l, err);
	return rc;
}

/* Open @path, or PATH.9001.log ... if it belongs to another process. */
static int open_log(struct log *l, struct record_window *w, char *name,
		    size_t room, const char *path, struct reel_error *err)
{
	size_t stem = strlen(path) - strlen(".log");
	int n, rc;

	for (n = 0; n < 100; n++) {
		if (n == 0)
			snprintf(name, room, "%s", path);
		else
			snprintf(name, room, "%.*s.%d.log", (int)stem, path,
				 n + 9000);
		l->path = name;
		l->fd = open(name,
			     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
				     O_NONBLOCK,
			     0600);
		if (l->fd < 0)
			return fail_write(l, err);
		rc = adopt_log(l, w, err);
		if (rc <= 0)
			return rc;
		close(l->fd);
		l->fd = -1;
	}
	return reel_fail(err, REEL_E_FORMAT, "'%s' is of another process",
			 path);
}

int record_log_complete(struct record_window *w, const char *path,
			struct reel_error *err)
{
	struct reel_head final = w->head;
	struct log l = {.fd = -1};
	char name[PATH_MAX];
	int rc = -1;

	if (w->blocks)
		qsort(w->block, w->blocks, sizeof(*w->block), compare_blocks);
	if (open_log(&l, w, name, sizeof(name), path, err) ||
	    scan_blocks(&l, w, err) || append_missing(&l, w, err))
		goto out;
	final.log_bytes = 0;
	rc = write_at(&l, &final, sizeof(final), 0, err);
out:
	if (l.fd >= 0 && close(l.fd) && !rc)
		rc = fail_write(&l, err);
	return rc;
}
