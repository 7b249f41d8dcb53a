/* SPDX-License-Identifier: MIT */
/* A compressed region of a Darshan log, as a stream of bytes. */
#ifndef ANALYZER_IMPORT_DARSHAN_REGION_H
#define ANALYZER_IMPORT_DARSHAN_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct darshan_log;
struct darshan_region;
struct reel_error;

enum { DARSHAN_ZLIB, DARSHAN_BZIP2, DARSHAN_NONE };

/* The mapped file. */
struct darshan_file {
	char *path;
	const uint8_t *data;
	size_t bytes;
	bool swapped;	     /* numbers have the other byte order */
	unsigned int method; /* DARSHAN_ZLIB ... */
};

/* Numbers at @p, which need not be aligned. */
uint64_t darshan_number(const struct darshan_file *f, const void *p);
double darshan_real(const struct darshan_file *f, const void *p);

/* Gives *@out for darshan_region_close(); borrows @f until then. 0, or -1. */
int darshan_region_open(struct darshan_region **out,
			const struct darshan_file *f, uint64_t offset,
			uint64_t bytes, struct reel_error *err);
/*
 * Fill @to. The number of bytes, less than @n only at the end of the region; or
 * -1 with @err (REEL_E_FORMAT with file and offset).
 */
int64_t darshan_region_read(struct darshan_region *r, void *to, size_t n,
			    struct reel_error *err);
/* Offset in the file of what is read next. */
uint64_t darshan_region_offset(const struct darshan_region *r);
void darshan_region_close(struct darshan_region *r);

/* The region of @module (darshan_log.c). */
int darshan_log_region(struct darshan_log *log, unsigned int module,
		       struct darshan_region **out, struct reel_error *err);
const struct darshan_file *darshan_log_file(const struct darshan_log *log);

#endif
