/* SPDX-License-Identifier: MIT */
/*
 * The files of a folder of Recorder, in memory: as they are, or a block of zlib.
 * Functions return 0, or -1 with @err: REEL_E_IO, REEL_E_FORMAT, REEL_E_MEMORY.
 */
#ifndef ANALYZER_IMPORT_RECORDER_FILE_H
#define ANALYZER_IMPORT_RECORDER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;

/* Zeroed is empty. */
struct recorder_file {
	char *path;
	uint8_t *data; /* with a NUL behind it */
	size_t bytes;
};

void recorder_file_fini(struct recorder_file *f);
/* Read the file @name of the folder @dir, which ends with a slash. */
int recorder_file_read(struct recorder_file *f, const char *dir,
		       const char *name, struct reel_error *err);
bool recorder_file_exists(const char *dir, const char *name);
/* A copy of @bytes of @of from @at on. */
int recorder_file_part(struct recorder_file *f, const struct recorder_file *of,
		       size_t at, size_t bytes, struct reel_error *err);
/* The block of @of at *@at, which ends before @end; *@at goes behind it. A block:
 * its size, that of its content, compressed data. */
int recorder_file_inflate(struct recorder_file *f,
			  const struct recorder_file *of, size_t *at,
			  size_t end, struct reel_error *err);
/* All blocks from @at to @end, one after the other. */
int recorder_file_inflate_all(struct recorder_file *f,
			      const struct recorder_file *of, size_t at,
			      size_t end, struct reel_error *err);
/* Fail: '@f' @what, at the byte @at. -1. */
int recorder_file_bad(const struct recorder_file *f, uint64_t at,
		      const char *what, struct reel_error *err);

/* Little-endian numbers at @p, which need not be aligned. */
uint32_t recorder_u32(const uint8_t *p);
uint64_t recorder_u64(const uint8_t *p);
double recorder_real(const uint8_t *p);

#endif
