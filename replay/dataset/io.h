/* SPDX-License-Identifier: MIT */
/*
 * The calls of a benchmark: each function makes one call, counts it and adds its
 * time. A struct belongs to one thread. On null storage no call is made, reads
 * give all they were asked for and leave the memory as it is.
 */
#ifndef REPLAY_DATASET_IO_H
#define REPLAY_DATASET_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct reel_error;

/* Latencies of reads: bin b counts those of [2^(b/8), 2^((b+1)/8)) ns. */
#define IO_LATENCY_BINS 320

struct io {
	/* set by the owner */
	const char *root; /* folder of the data set; all paths are below it */
	int64_t transfer_bytes; /* 0: as the format's reader */
	bool direct, null;

	/* counted */
	uint64_t read_calls, write_calls, write_bytes;
	uint64_t read_bytes;  /* by these calls, or touched in mappings */
	uint64_t other_calls; /* open, close, lseek, stat, fsync ... */
	int64_t storage_ns;   /* in all of these */
	uint64_t latency[IO_LATENCY_BINS]; /* of reads */
};

/* Open @path below the root for reading; with @io->direct and @direct_too by
 * O_DIRECT. The descriptor (0 on null storage), or -1 with @err (REEL_E_IO). */
int io_open(struct io *io, const char *path, bool direct_too,
	    struct reel_error *err);
/* One call; may return less than @n. The number, or -1 with @err. */
ssize_t io_read(struct io *io, int fd, void *to, size_t n,
		struct reel_error *err);
ssize_t io_pread(struct io *io, int fd, void *to, size_t n, uint64_t offset,
		 struct reel_error *err);
int io_seek(struct io *io, int fd, int64_t offset, int whence,
	    struct reel_error *err);
int io_fstat(struct io *io, int fd, uint64_t *size, struct reel_error *err);
int io_stat(struct io *io, const char *path, uint64_t *size,
	    struct reel_error *err);
/* ioctl(TCGETS), which Python's open() makes. */
void io_isatty(struct io *io, int fd);
/* A second descriptor of the file, as fdopen() of a copy makes it: two calls. */
int io_dup(struct io *io, int fd, struct reel_error *err);
/* posix_fadvise() of @n bytes; a hint, so no failure. */
void io_advise(struct io *io, int fd, uint64_t offset, uint64_t n, int advice);
/* Map @n bytes of @fd, privately; there must be as many. The address for io_unmap(),
 * or NULL with @err. Not on null storage. */
void *io_map(struct io *io, int fd, size_t n, bool writable,
	     struct reel_error *err);
void io_unmap(struct io *io, void *map, size_t n);
/* Load from each page of [@p, @p + @n): no call. The bytes count as read. */
void io_touch(struct io *io, const void *p, size_t n);
/* flock(@how); a file system without locks is no error. */
int io_lock(struct io *io, int fd, int how, struct reel_error *err);
int io_close(struct io *io, int fd, struct reel_error *err);

/* For checkpoints: below the root, made new. */
int io_create(struct io *io, const char *path, struct reel_error *err);
int io_write_all(struct io *io, int fd, const void *from, size_t n,
		 struct reel_error *err);
int io_fsync(struct io *io, int fd, struct reel_error *err);
int io_rename(struct io *io, const char *from, const char *to,
	      struct reel_error *err);
int io_unlink(struct io *io, const char *path, struct reel_error *err);

/* Add the counts of @from to @to. */
void io_add(struct io *to, const struct io *from);

#endif
