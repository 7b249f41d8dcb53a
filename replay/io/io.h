/* SPDX-License-Identifier: MIT */
/*
 * The calls of a benchmark: each function makes one call, counts it and adds its
 * time. A struct belongs to one thread. On null storage no call is made, reads
 * give all they were asked for and leave the memory as it is. With a log each call
 * is kept, too; mappings are read without calls, and ioctl() is no call of
 * schemas/calls.def.
 */
#ifndef REPLAY_IO_IO_H
#define REPLAY_IO_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "schemas/trace_format.h" /* enum reel_span */

struct call_entry;
struct call_log;
struct comm_files;
struct reel_error;
struct workload_access;

#define IO_BLOCK 4096 /* offsets and sizes of O_DIRECT are multiples of it */

/* Latencies of reads: bin b counts those of [2^(b/8), 2^((b+1)/8)) ns. */
#define IO_LATENCY_BINS 320

struct io {
	/* set by the owner */
	const char *root; /* folder of the data set; all paths are below it */
	int64_t transfer_bytes; /* of a read at most; 0: no limit */
	bool direct, null;
	struct call_log *log;		/* of this thread; NULL: none */
	const struct comm_files *files; /* of MPI-IO; NULL: POSIX */
	/* For a chain of reads. */
	const struct workload_access *access;
	uint64_t seed, epoch;

	/* counted */
	uint64_t read_calls, write_calls, write_bytes;
	uint64_t read_bytes;  /* by these calls, or touched in mappings */
	uint64_t other_calls; /* open, close, lseek, stat, fsync ... */
	int64_t storage_ns;   /* in all of these */
	uint64_t latency[IO_LATENCY_BINS]; /* of reads */

	/* Memory of io_room(), freed by io_fini(). */
	void *bounce;
	size_t bounce_bytes;
};

/*
 * Open @path below the root for reading; with @io->direct and @direct_too by
 * O_DIRECT: all reads are then made in whole blocks around the bytes asked for.
 * The descriptor (0 on null storage), or -1 with @err (REEL_E_IO).
 */
int io_open(struct io *io, const char *path, bool direct_too,
	    struct reel_error *err);
/* One call; may return less than @n, and does so when that is more than
 * transfer_bytes. The number, or -1 with @err. */
ssize_t io_read(struct io *io, int fd, void *to, size_t n,
		struct reel_error *err);
ssize_t io_pread(struct io *io, int fd, void *to, size_t n, uint64_t offset,
		 struct reel_error *err);
int io_seek(struct io *io, int fd, int64_t offset, int whence,
	    struct reel_error *err);
/* The position: a call too. -1 with @err. Not on null storage. */
int64_t io_tell(struct io *io, int fd, struct reel_error *err);
int io_fstat(struct io *io, int fd, uint64_t *size, struct reel_error *err);
int io_stat(struct io *io, const char *path, uint64_t *size,
	    struct reel_error *err);
/* ioctl(TCGETS), which Python's open() makes. */
void io_isatty(struct io *io, int fd);
/* A second descriptor of the file; with @flags as fdopen() of a copy makes it: two
 * calls. */
int io_dup(struct io *io, int fd, bool flags, struct reel_error *err);
/* posix_fadvise() of @n bytes; a hint, so no failure. */
void io_advise(struct io *io, int fd, uint64_t offset, uint64_t n, int advice);
/* A mapping of a file from its begin on. */
enum io_map_how {
	IO_MAP_PRIVATE,
	IO_MAP_SHARED,
	IO_MAP_WRITABLE /* private */
};
struct io_mapping {
	uint8_t *at; /* NULL: none */
	size_t n;
	uint64_t touched; /* bytes of the pages that io_touch() loaded from */
};
/* Map @n bytes of @fd; there must be as many. 0, or -1 with @err. Not on null
 * storage. */
int io_map(struct io *io, int fd, size_t n, enum io_map_how how,
	   struct io_mapping *m, struct reel_error *err);
/* @fd: a descriptor of the file. Takes a mapping that is none. */
void io_unmap(struct io *io, int fd, struct io_mapping *m);
/* Load from each page of the @n bytes at @offset: no call. The bytes count as read;
 * pages that are loaded from again count again. */
void io_touch(struct io *io, struct io_mapping *m, uint64_t offset, size_t n);
/* flock(@how); a file system without locks is no error. */
int io_lock(struct io *io, int fd, int how, struct reel_error *err);
int io_close(struct io *io, int fd, struct reel_error *err);

/* For checkpoints: below the root, made new. */
int io_create(struct io *io, const char *path, struct reel_error *err);
int io_write_all(struct io *io, int fd, const void *from, size_t n,
		 struct reel_error *err);
/*
 * @head_n bytes of @head, then @n bytes that repeat the @piece_n bytes of @piece, in
 * one writev(); more calls only for bytes that the kernel left.
 */
int io_write_repeated(struct io *io, int fd, const void *head, size_t head_n,
		      const void *piece, size_t piece_n, uint64_t n,
		      struct reel_error *err);
/* Read @n bytes to @piece, again and again, in one readv(), or preadv() where @offset
 * is not -1. The number, or -1. */
ssize_t io_read_repeated(struct io *io, int fd, void *piece, size_t piece_n,
			 uint64_t n, int64_t offset, struct reel_error *err);
/* mkdir(); a folder that is there is no failure. */
int io_mkdir(struct io *io, const char *path, struct reel_error *err);
/* rmdir(); a folder that is not empty, or not there, is no failure. */
int io_rmdir(struct io *io, const char *path, struct reel_error *err);
/* access(F_OK). */
void io_access(struct io *io, const char *path);
int io_fsync(struct io *io, int fd, struct reel_error *err);
int io_rename(struct io *io, const char *from, const char *to,
	      struct reel_error *err);
int io_unlink(struct io *io, const char *path, struct reel_error *err);

/* A span of this thread begins or ends, for a recorder (schemas/ioreel.h) and the
 * log. @detail: the number of an epoch or step, or -1. */
void io_begin_span(struct io *io, enum reel_span span, int64_t detail);
void io_end_span(struct io *io, enum reel_span span);

/* Add the counts of @from to @to. */
void io_add(struct io *to, const struct io *from);
/* Free its memory; the counts stay. */
void io_fini(struct io *io);

/*
 * The calls between these two are those that the C library makes for one fread() of @n
 * bytes at @offset of @fd, behind an fseek() there: they count, but the log has those
 * two alone, as the recording of a job has.
 */
struct io_fread {
	struct call_log *log;
	int64_t start_ns;
};

void io_begin_fread(struct io *io, struct io_fread *f);
void io_end_fread(struct io *io, const struct io_fread *f, int fd,
		  uint64_t offset, uint64_t n);
/* For calls that are made elsewhere, and began at @start_ns: a read of @n bytes, or
 * another call; negative: it failed. Time and result are added to @e, which goes to
 * the log. @path may be NULL. */
void io_count_read(struct io *io, int64_t start_ns, ssize_t n,
		   struct call_entry *e);
void io_count_other(struct io *io, int64_t start_ns, int64_t result,
		    struct call_entry *e, const char *path);

/* --- direct.c ------------------------------------------------------------- */

/* Is the folder @root on a file system that has O_DIRECT? tmpfs only takes the
 * flag. 0, or -1 with @err (REEL_E_USAGE) that names the key. */
int io_direct_check(const char *root, struct reel_error *err);
/* Have @n bytes of aligned memory in io->bounce, which stays from file to file; with
 * O_DIRECT reads to other memory use it, too. 0, or -1 with @err. */
int io_room(struct io *io, size_t n, struct reel_error *err);
/* io_read() and io_pread() of a file that is open with O_DIRECT. */
ssize_t io_direct_read(struct io *io, int fd, void *to, size_t n,
		       struct reel_error *err);
ssize_t io_direct_pread(struct io *io, int fd, void *to, size_t n,
			uint64_t offset, struct reel_error *err);

#endif
