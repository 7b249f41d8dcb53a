/* SPDX-License-Identifier: MIT */
/*
 * STDIO, a layer of its own: the reads and writes beneath are libc's internal
 * ones and pass no symbol of ours. A stream is its descriptor; what is needed
 * of it is read from the fields that glibc's public struct FILE shows, so that
 * no libc function runs inside a wrapper.
 */
#include "preload/real.h"
#include "preload/wrap.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#endif

#define ERROR_SEEN 0x20 /* glibc's _flags, since 1997 */

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

static bool has_error(const FILE *f)
{
	return f->_flags & ERROR_SEEN;
}

/* Where the next byte of the stream lies, when the buffer can tell. */
static int64_t position(const FILE *f)
{
	if (f->_offset < 0 || f->_IO_write_ptr > f->_IO_write_base)
		return NONE;
	return f->_offset - (f->_IO_read_end - f->_IO_read_ptr);
}

#define FOPEN(fn)                                                              \
	EXPORT FILE *fn(const char *path, const char *mode)                    \
	{                                                                      \
		struct shim_event ev = { SHIM_EVENT_NONE,                      \
					 .call = CALL_FOPEN };                 \
		uint64_t start, end;                                           \
		FILE *f;                                                       \
                                                                               \
		NEED(fn);                                                      \
		if (unlikely(!shim_hot.on || shim_vfork_child()))                  \
			return real.fn(path, mode);                            \
		start = shim_clock();                                          \
		f = real.fn(path, mode);                                       \
		end = shim_clock();                                            \
		ev.path = path;                                                \
		ev.arg = mode_flags(mode);                                     \
		shim_opened(&ev, start, end, f ? f->_fileno : -1);             \
		return f;                                                      \
	}
FOPEN(fopen)
FOPEN(fopen64)

EXPORT FILE *fdopen(int fd, const char *mode)
{
	struct shim_event ev = { SHIM_EVENT_NONE, .call = CALL_FDOPEN };
	uint64_t start, end;
	FILE *f;

	NEED(fdopen);
	if (unlikely(!shim_hot.on))
		return real.fdopen(fd, mode);
	ev.desc = shim_fd(fd);
	if (!shim_is_desc(ev.desc))
		return real.fdopen(fd, mode);
	start = shim_clock();
	f = real.fdopen(fd, mode);
	end = shim_clock();
	ev.arg = mode_flags(mode);
	shim_record_full(&ev, start, end, f ? fd : -1, f ? 0 : errno);
	return f;
}

#define FREOPEN(fn)                                                            \
	EXPORT FILE *fn(const char *path, const char *mode, FILE *old)         \
	{                                                                      \
		struct shim_event ev = { SHIM_EVENT_NONE,                      \
					 .call = CALL_FREOPEN };               \
		uint64_t start, end;                                           \
		FILE *f;                                                       \
                                                                               \
		NEED(fn);                                                      \
		if (unlikely(!shim_hot.on || !path || shim_vfork_child()))         \
			return real.fn(path, mode, old);                       \
		shim_fd_take(old->_fileno);                                    \
		start = shim_clock();                                          \
		f = real.fn(path, mode, old);                                  \
		end = shim_clock();                                            \
		ev.path = path;                                                \
		ev.arg = mode_flags(mode);                                     \
		shim_opened(&ev, start, end, f ? f->_fileno : -1);             \
		return f;                                                      \
	}
FREOPEN(freopen)
FREOPEN(freopen64)

#define TMPFILE(fn)                                                            \
	EXPORT FILE *fn(void)                                                  \
	{                                                                      \
		struct shim_event ev = { SHIM_EVENT_NONE,                      \
					 .call = CALL_TMPFILE,                 \
					 .arg = O_RDWR | O_CREAT | O_EXCL };   \
		uint64_t start, end;                                           \
		FILE *f;                                                       \
                                                                               \
		NEED(fn);                                                      \
		if (unlikely(!shim_hot.on))                                        \
			return real.fn();                                      \
		start = shim_clock();                                          \
		f = real.fn();                                                 \
		end = shim_clock();                                            \
		shim_opened(&ev, start, end, f ? f->_fileno : -1);             \
		return f;                                                      \
	}
TMPFILE(tmpfile)
TMPFILE(tmpfile64)

EXPORT int fclose(FILE *f)
{
	struct shim_event ev = { SHIM_EVENT_NONE, .call = CALL_FCLOSE };
	uint64_t start, end;
	int r;

	NEED(fclose);
	if (unlikely(!shim_hot.on || shim_vfork_child()))
		return real.fclose(f);
	ev.desc = shim_fd_take(f->_fileno);
	if (!shim_is_desc(ev.desc)) {
		if (ev.desc == SHIM_FD_CODE)
			shim_count(REEL_CODE_CALLS, 1);
		return real.fclose(f);
	}
	start = shim_clock();
	r = real.fclose(f);
	end = shim_clock();
	shim_record_full(&ev, start, end, r, r ? errno : 0);
	return r;
}

/* A stream of a recorded descriptor, or 0: pass through. */
HOT uint32_t stream_desc(const FILE *f, uint64_t code_call)
{
	uint32_t entry;

	if (unlikely(!shim_hot.on))
		return 0;
	entry = shim_fd(f->_fileno);
	if (likely(shim_is_desc(entry)))
		return entry;
	if (entry == SHIM_FD_CODE)
		shim_count(REEL_CODE_CALLS, code_call);
	return 0;
}

#define TRANSFER(fn, params, args, call_)                                      \
	EXPORT size_t fn params                                                \
	{                                                                      \
		uint64_t start, end;                                           \
		uint32_t desc;                                                 \
		size_t r;                                                      \
                                                                               \
		NEED(fn);                                                      \
		desc = stream_desc(f, 1);                                      \
		if (!desc)                                                     \
			return real.fn args;                                   \
		start = shim_clock();                                          \
		r = real.fn args;                                              \
		end = shim_clock();                                            \
		shim_record_io(call_, desc, (int64_t)(size * n), NONE, start,  \
			       end, (int64_t)(r * size),                       \
			       !r && size && n && has_error(f) ? errno : 0);   \
		return r;                                                      \
	}
TRANSFER(fread, (void *buf, size_t size, size_t n, FILE *f), (buf, size, n, f),
	 CALL_FREAD)
TRANSFER(fread_unlocked, (void *buf, size_t size, size_t n, FILE *f),
	 (buf, size, n, f), CALL_FREAD)
TRANSFER(__fread_chk, (void *buf, size_t room, size_t size, size_t n, FILE *f),
	 (buf, room, size, n, f), CALL_FREAD)
TRANSFER(__fread_unlocked_chk,
	 (void *buf, size_t room, size_t size, size_t n, FILE *f),
	 (buf, room, size, n, f), CALL_FREAD)
TRANSFER(fwrite, (const void *buf, size_t size, size_t n, FILE *f),
	 (buf, size, n, f), CALL_FWRITE)
TRANSFER(fwrite_unlocked, (const void *buf, size_t size, size_t n, FILE *f),
	 (buf, size, n, f), CALL_FWRITE)

#define FGETS(fn, params, args)                                                \
	EXPORT char *fn params                                                 \
	{                                                                      \
		uint64_t start, end;                                           \
		uint32_t desc;                                                 \
		char *r;                                                       \
                                                                               \
		NEED(fn);                                                      \
		desc = stream_desc(f, 1);                                      \
		if (!desc)                                                     \
			return real.fn args;                                   \
		start = shim_clock();                                          \
		r = real.fn args;                                              \
		end = shim_clock();                                            \
		shim_record_io(CALL_FGETS, desc, n > 0 ? n - 1 : 0, NONE,      \
			       start, end, r ? (int64_t)strlen(r) : 0,         \
			       !r && has_error(f) ? errno : 0);                \
		return r;                                                      \
	}
FGETS(fgets, (char *buf, int n, FILE *f), (buf, n, f))
FGETS(fgets_unlocked, (char *buf, int n, FILE *f), (buf, n, f))
FGETS(__fgets_chk, (char *buf, size_t room, int n, FILE *f), (buf, room, n, f))
FGETS(__fgets_unlocked_chk, (char *buf, size_t room, int n, FILE *f),
      (buf, room, n, f))

/* How much it wanted is not known: what it got. -1 is the end of the file. */
#define GETLINE(fn, params, args)                                              \
	EXPORT ssize_t fn params                                               \
	{                                                                      \
		uint64_t start, end;                                           \
		uint32_t desc;                                                 \
		ssize_t r;                                                     \
                                                                               \
		NEED(fn);                                                      \
		desc = stream_desc(f, 1);                                      \
		if (!desc)                                                     \
			return real.fn args;                                   \
		start = shim_clock();                                          \
		r = real.fn args;                                              \
		end = shim_clock();                                            \
		shim_record_io(CALL_GETLINE, desc, r > 0 ? r : 0, NONE, start, \
			       end, r > 0 ? r : 0,                             \
			       r < 0 && has_error(f) ? errno : 0);             \
		return r;                                                      \
	}
GETLINE(getline, (char **line, size_t *room, FILE *f), (line, room, f))
GETLINE(getdelim, (char **line, size_t *room, int stop, FILE *f),
	(line, room, stop, f))
GETLINE(__getdelim, (char **line, size_t *room, int stop, FILE *f),
	(line, room, stop, f))

#define FSEEK(fn, type)                                                        \
	EXPORT int fn(FILE *f, type off, int whence)                           \
	{                                                                      \
		struct shim_event ev = { SHIM_EVENT_NONE,                      \
					 .call = CALL_FSEEK };                 \
		uint64_t start, end;                                           \
		int r;                                                         \
                                                                               \
		NEED(fn);                                                      \
		ev.desc = stream_desc(f, 1);                                   \
		if (!ev.desc)                                                  \
			return real.fn(f, off, whence);                        \
		start = shim_clock();                                          \
		r = real.fn(f, off, whence);                                   \
		end = shim_clock();                                            \
		ev.offset = off;                                               \
		ev.arg = whence;                                               \
		if (!r)                                                        \
			ev.pos = whence == SEEK_SET ? off : position(f);       \
		shim_record_full(&ev, start, end, r, r ? errno : 0);           \
		return r;                                                      \
	}
FSEEK(fseek, long)
FSEEK(fseeko, off_t)
FSEEK(fseeko64, off_t)

EXPORT void rewind(FILE *f)
{
	struct shim_event ev = { SHIM_EVENT_NONE, .call = CALL_REWIND };
	uint64_t start;

	NEED(rewind);
	ev.desc = stream_desc(f, 1);
	if (!ev.desc) {
		real.rewind(f);
		return;
	}
	start = shim_clock();
	real.rewind(f);
	ev.pos = 0;
	shim_record_full(&ev, start, shim_clock(), 0, 0);
}

#define FSETPOS(fn, type)                                                      \
	EXPORT int fn(FILE *f, const type *pos)                                \
	{                                                                      \
		struct shim_event ev = { SHIM_EVENT_NONE,                      \
					 .call = CALL_FSETPOS };               \
		uint64_t start, end;                                           \
		int r;                                                         \
                                                                               \
		NEED(fn);                                                      \
		ev.desc = stream_desc(f, 1);                                   \
		if (!ev.desc)                                                  \
			return real.fn(f, pos);                                \
		start = shim_clock();                                          \
		r = real.fn(f, pos);                                           \
		end = shim_clock();                                            \
		if (!r)                                                        \
			ev.pos = pos->__pos;                                   \
		shim_record_full(&ev, start, end, r, r ? errno : 0);           \
		return r;                                                      \
	}
FSETPOS(fsetpos, fpos_t)
FSETPOS(fsetpos64, fpos64_t)

/* fflush(NULL) is for all streams: no descriptor, no record. */
#define FFLUSH(fn)                                                             \
	EXPORT int fn(FILE *f)                                                 \
	{                                                                      \
		uint64_t start, end;                                           \
		uint32_t desc;                                                 \
		int r;                                                         \
                                                                               \
		NEED(fn);                                                      \
		desc = f ? stream_desc(f, 1) : 0;                              \
		if (!desc)                                                     \
			return real.fn(f);                                     \
		start = shim_clock();                                          \
		r = real.fn(f);                                                \
		end = shim_clock();                                            \
		shim_record_io(CALL_FFLUSH, desc, NONE, NONE, start, end, r,   \
			       r ? errno : 0);                                 \
		return r;                                                      \
	}
FFLUSH(fflush)
FFLUSH(fflush_unlocked)
