/* SPDX-License-Identifier: MIT */
/*
 * The calls of POSIX by which an MPI library reads files, logged. The functions
 * here precede those of libc for all libraries of the program, as a program's own
 * symbols do. Where a thread has no log they only call the next one of their name,
 * which is that of a recorder where one is loaded.
 *
 * The names are given to the assembler: headers may redirect them.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "lib/calls.h"
#include "lib/clock.h"

#include "replay/comm/comm_mpi.h"
#include "replay/io/call_log.h"

static _Thread_local struct call_log *log_of;

void comm_mpi_watch(struct call_log *log)
{
	log_of = log;
}

static void add(struct call_entry e, const char *path, int64_t start_ns,
		int64_t result)
{
	e.start_ns = start_ns;
	e.dur_ns = reel_now_ns() - start_ns;
	e.result = result;
	call_log_add(log_of, &e, path, NULL);
}

#define BELOW(name, CALL, type, params, args, file, fields, ...)               \
	type below_##name params __asm__(#name);                               \
	type below_##name params                                               \
	{                                                                      \
		static type(*next) params;                                     \
		int64_t start;                                                 \
		type r;                                                        \
                                                                               \
		if (!next)                                                     \
			next = (type(*) params)dlsym(RTLD_NEXT, #name);        \
		if (!log_of)                                                   \
			return next args;                                      \
		start = reel_now_ns();                                         \
		r = next args;                                                 \
		add((struct call_entry){.call = REEL_CALL_##CALL,              \
					.has = (fields),                       \
					__VA_ARGS__},                          \
		    file, start, r);                                           \
		return r;                                                      \
	}

/* Both names of a call with offsets. */
#define BELOW_64(name, ...)                                                    \
	BELOW(name, __VA_ARGS__) BELOW(name##64, __VA_ARGS__)

static int64_t vector_bytes(const struct iovec *v, int n)
{
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += (int64_t)v[i].iov_len;
	return sum;
}

BELOW(close, CLOSE, int, (int fd), (fd), NULL, CALL_HAS_FD, .fd = fd)
BELOW(read, READ, ssize_t, (int fd, void *to, size_t n), (fd, to, n), NULL,
      CALL_HAS_FD | CALL_HAS_SIZE, .fd = fd, .size = (int64_t)n)
BELOW_64(pread, PREAD, ssize_t, (int fd, void *to, size_t n, off_t at),
	 (fd, to, n, at), NULL, CALL_HAS_FD | CALL_HAS_SIZE | CALL_HAS_OFFSET,
	 .fd = fd, .size = (int64_t)n, .offset = at)
BELOW_64(preadv, PREADV, ssize_t,
	 (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), NULL,
	 CALL_HAS_FD | CALL_HAS_SIZE | CALL_HAS_OFFSET, .fd = fd,
	 .size = vector_bytes(v, n), .offset = at)
BELOW_64(lseek, LSEEK, off_t, (int fd, off_t at, int whence), (fd, at, whence),
	 NULL, CALL_HAS_FD | CALL_HAS_OFFSET | CALL_HAS_ARG, .fd = fd,
	 .offset = at, .arg = whence)
BELOW_64(stat, STAT, int, (const char *path, struct stat *st), (path, st), path,
	 0, .fd = -1)
BELOW_64(lstat, LSTAT, int, (const char *path, struct stat *st), (path, st),
	 path, 0, .fd = -1)
BELOW_64(statfs, STATFS, int, (const char *path, struct statfs *st), (path, st),
	 path, 0, .fd = -1)
BELOW_64(statvfs, STATFS, int, (const char *path, struct statvfs *st),
	 (path, st), path, 0, .fd = -1)
BELOW(unlink, UNLINK, int, (const char *path), (path), path, 0, .fd = -1)

/* --- those whose last argument may be left out ---------------------------- */

#define BELOW_OPEN(name)                                                       \
	int below_##name(const char *path, int flags, ...) __asm__(#name);     \
	int below_##name(const char *path, int flags, ...)                     \
	{                                                                      \
		static int (*next)(const char *, int, ...);                    \
		int64_t start;                                                 \
		va_list rest;                                                  \
		mode_t mode;                                                   \
		int r;                                                         \
                                                                               \
		va_start(rest, flags);                                         \
		mode = va_arg(rest, mode_t);                                   \
		va_end(rest);                                                  \
		if (!next)                                                     \
			next = (int (*)(const char *, int, ...))dlsym(         \
				RTLD_NEXT, #name);                             \
		if (!log_of)                                                   \
			return next(path, flags, mode);                        \
		start = reel_now_ns();                                         \
		r = next(path, flags, mode);                                   \
		add((struct call_entry){.call = REEL_CALL_OPEN,                \
					.has = CALL_HAS_ARG,                   \
					.arg = flags},                         \
		    path, start, r);                                           \
		return r;                                                      \
	}
BELOW_OPEN(open)
BELOW_OPEN(open64)

#define BELOW_FCNTL(name)                                                      \
	int below_##name(int fd, int cmd, ...) __asm__(#name);                 \
	int below_##name(int fd, int cmd, ...)                                 \
	{                                                                      \
		static int (*next)(int, int, ...);                             \
		int64_t start;                                                 \
		va_list rest;                                                  \
		void *arg;                                                     \
		int r;                                                         \
                                                                               \
		va_start(rest, cmd);                                           \
		arg = va_arg(rest, void *);                                    \
		va_end(rest);                                                  \
		if (!next)                                                     \
			next = (int (*)(int, int, ...))dlsym(RTLD_NEXT,        \
							     #name);           \
		if (!log_of)                                                   \
			return next(fd, cmd, arg);                             \
		start = reel_now_ns();                                         \
		r = next(fd, cmd, arg);                                        \
		add((struct call_entry){.call = REEL_CALL_FCNTL,               \
					.has = CALL_HAS_FD | CALL_HAS_ARG,     \
					.fd = fd,                              \
					.arg = cmd},                           \
		    NULL, start, r);                                           \
		return r;                                                      \
	}
BELOW_FCNTL(fcntl)
BELOW_FCNTL(fcntl64)
