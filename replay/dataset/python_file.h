/* SPDX-License-Identifier: MIT */
/*
 * The calls of a file that Python's open(path, "rb") opened: an io.BufferedReader
 * with its buffer of 4 KiB. numpy, zipfile, tarfile and Pillow read through it.
 *
 * Source: strace of CPython 3.11; the documentation of module io.
 */
#ifndef REPLAY_DATASET_PYTHON_FILE_H
#define REPLAY_DATASET_PYTHON_FILE_H

#include <stddef.h>
#include <stdint.h>

struct io;
struct reel_error;

#define PYTHON_BUFFER 4096

struct python_file {
	struct io *io;
	int fd;
	uint64_t size;	 /* of the file; given where storage is null */
	uint64_t offset; /* of the descriptor */
	size_t at, n;	 /* of the buffer: next byte, end */
	uint8_t buf[PYTHON_BUFFER]; /* last, see struct image_reader */
};

/* open(): with @size, which null storage takes. 0, or -1 with @err. */
int python_open(struct python_file *f, struct io *io, const char *path,
		uint64_t size, struct reel_error *err);
/* Is the file, which is open, of @size? 0, or -1 with @err (REEL_E_FORMAT). No call. */
int python_expect(const struct python_file *f, uint64_t size,
		  struct reel_error *err);
/* f.read(@n), where @to has room for @n. The number of bytes, or -1. */
int64_t python_read(struct python_file *f, void *to, uint64_t n,
		    struct reel_error *err);
/* f.readinto(): the same, but what is more than a buffer is one read. */
int64_t python_readinto(struct python_file *f, void *to, uint64_t n,
			struct reel_error *err);
/* f.read(): all that is left; at most @room bytes are kept. 0 or -1. */
int python_read_rest(struct python_file *f, void *to, size_t room,
		     struct reel_error *err);
/* f.seek(@offset, @whence), f.tell(). */
int python_seek(struct python_file *f, int64_t offset, int whence,
		struct reel_error *err);
int python_tell(struct python_file *f, struct reel_error *err);
int python_close(struct python_file *f, struct reel_error *err);

#endif
