/* SPDX-License-Identifier: MIT */
/*
 * A file that a generator writes from start to end, through one large buffer. The
 * first failure stays: writing goes on without effect, and file_out_close() reports
 * it. One place behind the end can be written again (a header with a checksum).
 */
#ifndef REPLAY_DATASET_FILE_OUT_H
#define REPLAY_DATASET_FILE_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"

struct dataset;
struct file_out_deflate;

struct file_out {
	int fd;
	const char *path; /* borrowed */
	uint8_t *buf;
	size_t n;	 /* in buf */
	uint64_t offset; /* in the file, of the next byte */
	struct reel_error err;
	/* The checksums of the bytes that come while crc asks for them; the format sets
	 * crc, and the one to 0 before. */
	uint32_t crc32, crc32c;
	enum { NO_CRC, CRC32, CRC32C } crc;
	struct file_out_deflate
		*deflate; /* NULL: bytes are written as they are */
};

/* Make @path, which must not exist. 0, or -1 with @err (REEL_E_IO). */
int file_out_open(struct file_out *o, const char *path, struct reel_error *err);
void file_out_put(struct file_out *o, const void *bytes, size_t n);
/* @n bytes of the payload of @sample from @from on. */
void file_out_payload(struct file_out *o, const struct dataset *d,
		      uint64_t sample, uint64_t from, uint64_t n);
/* Integers, little-endian. */
void file_out_u16(struct file_out *o, uint16_t v);
void file_out_u32(struct file_out *o, uint32_t v);
void file_out_u64(struct file_out *o, uint64_t v);
/* Write over @n bytes at @offset, which are written already. */
void file_out_again(struct file_out *o, uint64_t offset, const void *bytes,
		    size_t n);

/*
 * Compression. A stream is padded with empty blocks, evenly over its length, so that
 * its size follows from the workload: layouts are known without reading, and the
 * sizes of files have the distribution that was asked for.
 */

/* Bytes of a stream of @bytes in @parts (records, members), of which zlib at any
 * level leaves the share @left of each page: 1 for random bytes. About 1 % more.  */
uint64_t deflated_bytes(uint64_t bytes, uint64_t parts, double left);
/* @bytes from here on, to a stream of RFC 1951 of exactly @packed bytes. */
void file_out_deflate(struct file_out *o, int64_t level, uint64_t bytes,
		      uint64_t packed);
/* After that number of bytes. Too large a stream is a failure. */
void file_out_deflate_end(struct file_out *o);
/* The same for a file of RFC 1952 (gzip), whose size is @packed + GZIP_AROUND. */
#define GZIP_AROUND 18
void file_out_gzip(struct file_out *o, int64_t level, uint64_t bytes,
		   uint64_t packed);
void file_out_gzip_end(struct file_out *o);

/* 0, or -1 with @err: the first failure. Closes in either case. */
int file_out_close(struct file_out *o, struct reel_error *err);

/* The CRC-32C of @n bytes after those that gave @crc (0 at first). */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

#endif
