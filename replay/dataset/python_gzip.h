/* SPDX-License-Identifier: MIT */
/*
 * The calls of Python's gzip.GzipFile over a file that Python opened: pieces of 8 KiB,
 * as many bytes less as the decompressor has left over, and looks for another member
 * at the end.
 *
 * Source: CPython 3.11's gzip module; strace of it.
 */
#ifndef REPLAY_DATASET_PYTHON_GZIP_H
#define REPLAY_DATASET_PYTHON_GZIP_H

#include <stdint.h>

struct python_file;
struct python_gzip;
struct reel_error;

/* Borrows @f. For python_gzip_close(), or NULL with @err (REEL_E_MEMORY). */
struct python_gzip *python_gzip_open(struct python_file *f,
				     struct reel_error *err);
/* One read of its raw file: at most @n bytes; 0 at the end. -1 with @err:
 * REEL_E_IO, REEL_E_FORMAT. */
int64_t python_gzip_read(struct python_gzip *g, void *to, uint64_t n,
			 struct reel_error *err);
/* NULL too. */
void python_gzip_close(struct python_gzip *g);

#endif
