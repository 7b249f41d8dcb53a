/* SPDX-License-Identifier: MIT */
/*
 * STDIO, a layer of its own: its reads and writes are libc's internal ones and
 * call no wrapper. A record names the stream's descriptor; stream.h holds the
 * rest of its state.
 */
#include <string.h>

#include "preload/core/symbols.h"
#include "preload/core/wrap.h"
#include "preload/stdio/stream.h"

FIELDS_MAY_REPEAT

/* fopen's mode as open flags, for the trace. */
static int mode_flags(const char *mode)
{
	int flags;

	switch (mode[0]) {
	case 'r':
		flags = O_RDONLY;
		break;
	case 'w':
		flags = O_WRONLY | O_CREAT | O_TRUNC;
		break;
	default:
		flags = O_WRONLY | O_CREAT | O_APPEND;
	}
	for (mode++; *mode && *mode != ','; mode++) {
		if (*mode == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		else if (*mode == 'x')
			flags |= O_EXCL;
		else if (*mode == 'e')
			flags |= O_CLOEXEC;
	}
	return flags;
}

/* The position of the stream if struct FILE has it, or NONE. */
static int64_t cached_position(const FILE *f)
{
	if (f->_offset < 0 || f->_IO_write_ptr > f->_IO_write_base)
		return NONE;
	return f->_offset - (f->_IO_read_end - f->_IO_read_ptr);
}

static void record_open(struct shim_event *ev, uint64_t start, uint64_t end,
			const FILE *f)
{
	shim_opened(ev, start, end, f ? f->_fileno : -1);
	if (f)
		stream_remember(f, shim_fd_entry(f->_fileno));
}

#define FOPEN(fn)                                                              \
	EXPORT FILE *fn(const char *path, const char *mode)                    \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_FOPEN};  \
		uint64_t start, end;                                           \
		FILE *f;                                                       \
                                                                               \
		PASS_WHEN(!shim_hot.on || shim_vfork_child(), fn,              \
			  (path, mode));                                       \
		TIMED(f = real.fn(path, mode));                                \
		ev.path = path;                                                \
		ev.arg = mode_flags(mode);                                     \
		record_open(&ev, start, end, f);                               \
		return f;                                                      \
	}
FOPEN(fopen)
FOPEN(fopen64)

EXPORT FILE *fdopen(int fd, const char *mode)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_FDOPEN};
	uint64_t start, end;
	FILE *f;

	PASS_WHEN(!shim_hot.on, fdopen, (fd, mode));
	ev.desc = shim_fd(fd);
	if (!shim_is_desc(ev.desc))
		return real.fdopen(fd, mode);
	TIMED(f = real.fdopen(fd, mode));
	ev.arg = mode_flags(mode);
	shim_record_full(&ev, start, end, f ? fd : -1, f ? 0 : errno);
	if (f)
		stream_remember(f, ev.desc);
	return f;
}

/* freopen() without a path opens the same file: ask the kernel for its path. */
static void record_reopen(const struct shim_event *made, uint64_t start,
			  uint64_t end, const FILE *f)
{
	struct shim_event ev = *made;
	char path[REEL_PATH_BYTES];

	if (!ev.path && f && f->_fileno >= 0 &&
	    shim_fd_path(f->_fileno, path, sizeof(path)))
		ev.path = path;
	if (!f || f->_fileno >= 0)
		record_open(&ev, start, end, f);
}

#define FREOPEN(fn)                                                            \
	EXPORT FILE *fn(const char *path, const char *mode, FILE *old)         \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE,                       \
					.call = CALL_FREOPEN};                 \
		uint64_t start, end;                                           \
		FILE *f;                                                       \
                                                                               \
		PASS_WHEN(!shim_hot.on || shim_vfork_child(), fn,              \
			  (path, mode, old));                                  \
		shim_stream_closing(old);                                      \
		TIMED(f = real.fn(path, mode, old));                           \
		ev.path = path;                                                \
		ev.arg = mode_flags(mode);                                     \
		record_reopen(&ev, start, end, f);                             \
		return f;                                                      \
	}
FREOPEN(freopen)
FREOPEN(freopen64)

#define TMPFILE(fn)                                                            \
	EXPORT FILE *fn(void)                                                  \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_TMPFILE, \
					.arg = O_RDWR | O_CREAT | O_EXCL};     \
		uint64_t start, end;                                           \
		FILE *f;                                                       \
                                                                               \
		PASS_WHEN(!shim_hot.on, fn, ());                               \
		TIMED(f = real.fn());                                          \
		record_open(&ev, start, end, f);                               \
		return f;                                                      \
	}
TMPFILE(tmpfile)
TMPFILE(tmpfile64)

uint32_t shim_stream_closing(FILE *f)
{
	uint32_t entry;

	stream_closing(f);
	entry = shim_fd_take(f->_fileno);
	if (shim_is_desc(entry))
		return entry;
	if (shim_is_counted(entry))
		shim_count(REEL_CODE_CALLS, 1);
	return 0;
}

EXPORT int fclose(FILE *f)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_FCLOSE};
	uint64_t start, end;
	int r;

	PASS_WHEN(!shim_hot.on || shim_null(f) || shim_vfork_child(), fclose,
		  (f));
	ev.desc = shim_stream_closing(f);
	if (!ev.desc)
		return real.fclose(f);
	TIMED(r = real.fclose(f));
	shim_record_full(&ev, start, end, r, r ? errno : 0);
	return r;
}

/*
 * A transfer: @asked and @got are bytes, @bad: it failed, @more: it may have
 * read more than @got. One that joins a run uses the buffer only: no clock.
 */
#define TRANSFER_END(asked_, got_, bad, more_)                                 \
	c.err = (bad) && stream_failed(f) ? errno : 0;                         \
	c.got = c.err ? -1 : (int64_t)(got_);                                  \
	c.asked = (int64_t)(asked_);                                           \
	c.more = !c.err && (more_);                                            \
	stream_after(&c, f);                                                   \
	return r
#define TRANSFER(ret, fn, params, args, id, writes, asked_, got_, bad, more_)  \
	FAST ret fn params                                                     \
	{                                                                      \
		struct stream_call c;                                          \
		ret r;                                                         \
                                                                               \
		PASS_IF_OFF(fn, args);                                         \
		c.call = id;                                                   \
		c.write = writes;                                              \
		if (likely(stream_run_ready(f, id, writes, asked_))) {         \
			r = real.fn args;                                      \
			if (likely((got_) == (asked_)) &&                      \
			    likely(stream_run_more(f, writes)))                \
				return r;                                      \
			stream_untimed(&c, f);                                 \
		} else {                                                       \
			NEED(fn);                                              \
			if (!stream_before(&c, f, asked_))                     \
				return real.fn args;                           \
			c.start = shim_clock();                                \
			r = real.fn args;                                      \
			c.end = shim_clock();                                  \
		}                                                              \
		TRANSFER_END(asked_, got_, bad, more_);                        \
	}
#define BLOCKS(fn, params, args, id, writes)                                   \
	TRANSFER(size_t, fn, params, args, id, writes, size *n, r *size,       \
		 !r && size && n, !(writes) && r < n && size > 1)
BLOCKS(fread, (void *buf, size_t size, size_t n, FILE *f), (buf, size, n, f),
       CALL_FREAD, false)
BLOCKS(fread_unlocked, (void *buf, size_t size, size_t n, FILE *f),
       (buf, size, n, f), CALL_FREAD, false)
BLOCKS(__fread_chk, (void *buf, size_t room, size_t size, size_t n, FILE *f),
       (buf, room, size, n, f), CALL_FREAD, false)
BLOCKS(__fread_unlocked_chk,
       (void *buf, size_t room, size_t size, size_t n, FILE *f),
       (buf, room, size, n, f), CALL_FREAD, false)
BLOCKS(fwrite, (const void *buf, size_t size, size_t n, FILE *f),
       (buf, size, n, f), CALL_FWRITE, true)
BLOCKS(fwrite_unlocked, (const void *buf, size_t size, size_t n, FILE *f),
       (buf, size, n, f), CALL_FWRITE, true)

/* Lines differ in size: each has its own record. */
#define LINE(ret, fn, params, args, id, asked_, got_, bad, more_)              \
	EXPORT ret fn params                                                   \
	{                                                                      \
		struct stream_call c = {.call = id};                           \
		ret r;                                                         \
                                                                               \
		NEED(fn);                                                      \
		if (!stream_before(&c, f, 0))                                  \
			return real.fn args;                                   \
		c.start = shim_clock();                                        \
		r = real.fn args;                                              \
		c.end = shim_clock();                                          \
		TRANSFER_END(asked_, got_, bad, more_);                        \
	}
/* strlen() is the length of the line, unless the line has a zero byte. */
#define FGETS(fn, params, args)                                                \
	LINE(char *, fn, params, args, CALL_FGETS, n > 0 ? n - 1 : 0,          \
	     r ? strlen(r) : 0, !r,                                            \
	     r && c.got < c.asked && (c.got <= 0 || r[c.got - 1] != '\n'))
FGETS(fgets, (char *buf, int n, FILE *f), (buf, n, f))
FGETS(fgets_unlocked, (char *buf, int n, FILE *f), (buf, n, f))
FGETS(__fgets_chk, (char *buf, size_t room, int n, FILE *f), (buf, room, n, f))
FGETS(__fgets_unlocked_chk, (char *buf, size_t room, int n, FILE *f),
      (buf, room, n, f))

/* There is no requested size: record the result. -1 is the end of the file. */
#define GETLINE(fn, params, args)                                              \
	LINE(ssize_t, fn, params, args, CALL_GETLINE, r > 0 ? r : 0,           \
	     r > 0 ? r : 0, r < 0, false)
GETLINE(getline, (char **line, size_t *room, FILE *f), (line, room, f))
GETLINE(getdelim, (char **line, size_t *room, int stop, FILE *f),
	(line, room, stop, f))
GETLINE(__getdelim, (char **line, size_t *room, int stop, FILE *f),
	(line, room, stop, f))

static uint32_t stream_to_move(const FILE *f)
{
	uint32_t desc = stream_desc(f);

	if (desc)
		stream_record_moved(f, desc);
	return desc;
}

#define FSEEK(fn, type)                                                        \
	EXPORT int fn(FILE *f, type off, int whence)                           \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_FSEEK};  \
		uint64_t start, end;                                           \
		int r;                                                         \
                                                                               \
		NEED(fn);                                                      \
		ev.desc = stream_to_move(f);                                   \
		if (!ev.desc)                                                  \
			return real.fn(f, off, whence);                        \
		TIMED(r = real.fn(f, off, whence));                            \
		ev.offset = off;                                               \
		ev.arg = whence;                                               \
		if (!r)                                                        \
			ev.pos =                                               \
				whence == SEEK_SET ? off : cached_position(f); \
		shim_record_full(&ev, start, end, r, r ? errno : 0);           \
		stream_remember(f, ev.desc);                                   \
		stream_sample_pos(f);                                          \
		return r;                                                      \
	}
FSEEK(fseek, long)
FSEEK(fseeko, off_t)
FSEEK(fseeko64, off_t)

EXPORT void rewind(FILE *f)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_REWIND};
	uint64_t start;

	NEED(rewind);
	ev.desc = stream_to_move(f);
	if (!ev.desc) {
		real.rewind(f);
		return;
	}
	start = shim_clock();
	real.rewind(f);
	ev.pos = 0;
	shim_record_full(&ev, start, shim_clock(), 0, 0);
	stream_remember(f, ev.desc);
	stream_sample_pos(f);
}

#define FSETPOS(fn, type)                                                      \
	EXPORT int fn(FILE *f, const type *pos)                                \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE,                       \
					.call = CALL_FSETPOS};                 \
		uint64_t start, end;                                           \
		int r;                                                         \
                                                                               \
		NEED(fn);                                                      \
		ev.desc = stream_to_move(f);                                   \
		if (!ev.desc)                                                  \
			return real.fn(f, pos);                                \
		TIMED(r = real.fn(f, pos));                                    \
		if (!r)                                                        \
			ev.pos = pos->__pos;                                   \
		shim_record_full(&ev, start, end, r, r ? errno : 0);           \
		stream_remember(f, ev.desc);                                   \
		stream_sample_pos(f);                                          \
		return r;                                                      \
	}
FSETPOS(fsetpos, fpos_t)
FSETPOS(fsetpos64, fpos64_t)

/* fflush(NULL) flushes all streams: it has no descriptor and no record. */
#define FFLUSH(fn)                                                             \
	EXPORT int fn(FILE *f)                                                 \
	{                                                                      \
		uint64_t start, end;                                           \
		uint32_t desc;                                                 \
		int r;                                                         \
                                                                               \
		NEED(fn);                                                      \
		if (!f) {                                                      \
			stream_flushing();                                     \
			r = real.fn(f);                                        \
			stream_flushed();                                      \
			return r;                                              \
		}                                                              \
		desc = stream_to_move(f);                                      \
		if (!desc)                                                     \
			return real.fn(f);                                     \
		TIMED(r = real.fn(f));                                         \
		shim_record_io(CALL_FFLUSH, desc, NONE, NONE, start, end, r,   \
			       r ? errno : 0);                                 \
		stream_remember(f, desc);                                      \
		return r;                                                      \
	}
FFLUSH(fflush)
FFLUSH(fflush_unlocked)
