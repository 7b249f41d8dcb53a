/* SPDX-License-Identifier: MIT */
/* Shared by the files that make the calls of io.h. */
#ifndef REPLAY_IO_IO_INTERNAL_H
#define REPLAY_IO_IO_INTERNAL_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/calls.h"

#include "replay/io/call_log.h"

struct io;
struct reel_error;

/*
 * Log a call that began at @start and took @ns: CALL, its fields in
 * @has, and their values. One branch where no log is kept.
 */
#define LOG(io, start, ns, CALL, fields, file, ...)                            \
	do {                                                                   \
		if ((io)->log)                                                 \
			call_log_add(                                          \
				(io)->log,                                     \
				&(struct call_entry){.call = REEL_CALL_##CALL, \
						     .has = (fields),          \
						     .start_ns = (start),      \
						     .dur_ns = (ns),           \
						     __VA_ARGS__},             \
				file, NULL);                                   \
	} while (0)

/* Those of a descriptor. */
#define LOG_FD(io, start, ns, CALL, descriptor, fields, ...)                   \
	LOG(io, start, ns, CALL, CALL_HAS_FD | (fields), NULL,                 \
	    .fd = (descriptor), __VA_ARGS__)

/* Add the time since @start_ns; gives it. */
int64_t io_spent(struct io *io, int64_t start_ns);
/* "cannot @call '@path': REASON", by errno. -1. */
int io_failed(const char *call, const char *path, struct reel_error *err);
int io_failed_fd(const char *call, int fd, struct reel_error *err);
int io_path_below(const struct io *io, const char *path,
		  char full[static PATH_MAX], struct reel_error *err);
int io_open_at(struct io *io, const char *path, int flags, const char *call,
	       struct reel_error *err);
/* Count a read that took @ns and gave @n. */
ssize_t io_read_done(struct io *io, int fd, ssize_t n, int64_t ns,
		     struct reel_error *err);

#endif
