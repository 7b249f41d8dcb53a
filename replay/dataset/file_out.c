/* SPDX-License-Identifier: MIT */
/* A file that a generator writes. */
#include "replay/dataset/file_out.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "replay/dataset/dataset.h"

#define ROOM (1u << 20)

/* --- compression ---------------------------------------------------------- */

#define PACKED_ROOM (1u << 16)
#define EMPTY_BLOCK 5 /* stored; EMPTY_PAIR: one of fixed codes, and that */
#define EMPTY_PAIR 6
#define LAST_BLOCK 2
/* From here on every number is a sum of these two. */
#define PADDING_LEAST ((EMPTY_BLOCK - 1) * (EMPTY_PAIR - 1))
/* Bytes that zlib adds: of the codes of random bytes among zeros, 0.8 % at most; of a
 * record, whose number is not a zero. */
#define ADDED_SHARE 96
#define ADDED_PART 16
#define ADDED 256
/* Not padded before the end: what is left may be a page without its zeros. */
#define RESERVE 8192

struct file_out_deflate {
	z_stream z;
	uint64_t bytes, packed; /* in all */
	uint64_t in, out;	/* up to now */
	uint32_t crc32;		/* of the bytes */
	uint8_t buf[PACKED_ROOM];
};

uint64_t deflated_bytes(uint64_t bytes, uint64_t parts, double left)
{
	return (uint64_t)((double)bytes * left) + bytes / ADDED_SHARE +
	       parts * ADDED_PART + ADDED;
}

int file_out_open(struct file_out *o, const char *path, struct reel_error *err)
{
	memset(o, 0, sizeof(*o));
	o->path = path;
	o->buf = reel_alloc(ROOM, 1, err);
	if (!o->buf)
		return -1;
	o->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (o->fd < 0) {
		free(o->buf);
		return reel_fail(err, REEL_E_IO, "cannot make '%s': %s", path,
				 strerror(errno));
	}
	return 0;
}

static void write_at(struct file_out *o, const uint8_t *p, size_t n,
		     uint64_t offset)
{
	while (n && !o->err.code) {
		ssize_t done = pwrite(o->fd, p, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			reel_fail(&o->err, REEL_E_IO, "cannot write '%s': %s",
				  o->path, strerror(errno));
			return;
		}
		p += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
}

static void put_packed(struct file_out *o, const uint8_t *p, size_t n)
{
	write_at(o, p, n, o->offset);
	o->offset += n;
	o->deflate->out += n;
}

/* Empty blocks of @n bytes, PADDING_LEAST or more. The stream is at a byte. */
static void put_padding(struct file_out *o, uint64_t n)
{
	static const uint8_t pair[EMPTY_PAIR] = {2, 0, 0, 0, 0xff, 0xff};
	uint8_t blocks[EMPTY_BLOCK * 512];

	for (; n % EMPTY_BLOCK; n -= EMPTY_PAIR)
		put_packed(o, pair, EMPTY_PAIR);
	for (size_t i = 0; i < sizeof(blocks); i++)
		blocks[i] = i % EMPTY_BLOCK < 3 ? 0 : 0xff;
	while (n) {
		size_t some = n < sizeof(blocks) ? (size_t)n : sizeof(blocks);

		put_packed(o, blocks, some);
		n -= some;
	}
}

/* Compress the buffer, to a whole byte, and pad as far as its share goes. */
static void flush_deflate(struct file_out *o)
{
	struct file_out_deflate *f = o->deflate;
	uint64_t share;

	f->crc32 = (uint32_t)crc32_z(f->crc32, o->buf, o->n);
	f->z.next_in = o->buf;
	f->z.avail_in = (uInt)o->n;
	f->in += o->n;
	do {
		f->z.next_out = f->buf;
		f->z.avail_out = sizeof(f->buf);
		deflate(&f->z, Z_SYNC_FLUSH);
		put_packed(o, f->buf, sizeof(f->buf) - f->z.avail_out);
	} while (!f->z.avail_out);
	share = (uint64_t)((double)f->packed *
			   ((double)f->in / (double)f->bytes));
	if (f->in < f->bytes && f->out + PADDING_LEAST + RESERVE <= share)
		put_padding(o, share - RESERVE - f->out);
	o->n = 0;
}

static void flush(struct file_out *o)
{
	if (o->deflate) {
		if (o->n)
			flush_deflate(o);
		return;
	}
	write_at(o, o->buf, o->n, o->offset - o->n);
	o->n = 0;
}

/* The bytes at the end of the buffer were added. */
static void added(struct file_out *o, size_t n)
{
	const uint8_t *p = o->buf + o->n;

	if (o->crc == CRC32)
		o->crc32 = (uint32_t)crc32_z(o->crc32, p, n);
	else if (o->crc == CRC32C)
		o->crc32c = crc32c(o->crc32c, p, n);
	o->n += n;
	if (!o->deflate)
		o->offset += n;
	if (o->n == ROOM)
		flush(o);
}

void file_out_put(struct file_out *o, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n) {
		size_t some = n < ROOM - o->n ? n : ROOM - o->n;

		memcpy(o->buf + o->n, p, some);
		added(o, some);
		p += some;
		n -= some;
	}
}

void file_out_payload(struct file_out *o, const struct dataset *d,
		      uint64_t sample, uint64_t from, uint64_t n)
{
	while (n && !o->err.code) {
		size_t some = n < ROOM - o->n ? (size_t)n : ROOM - o->n;

		dataset_payload(d, sample, from, o->buf + o->n, some);
		added(o, some);
		from += some;
		n -= some;
	}
}

void file_out_u16(struct file_out *o, uint16_t v)
{
	v = htole16(v);
	file_out_put(o, &v, sizeof(v));
}

void file_out_u32(struct file_out *o, uint32_t v)
{
	v = htole32(v);
	file_out_put(o, &v, sizeof(v));
}

void file_out_u64(struct file_out *o, uint64_t v)
{
	v = htole64(v);
	file_out_put(o, &v, sizeof(v));
}

void file_out_again(struct file_out *o, uint64_t offset, const void *bytes,
		    size_t n)
{
	flush(o);
	write_at(o, bytes, n, offset);
}

/* --- streams --------------------------------------------------------------- */

void file_out_deflate(struct file_out *o, int64_t level, uint64_t bytes,
		      uint64_t packed)
{
	struct file_out_deflate *f = reel_alloc(1, sizeof(*f), &o->err);

	flush(o);
	if (!f)
		return;
	f->bytes = bytes;
	f->packed = packed;
	if (deflateInit2(&f->z, (int)level, Z_DEFLATED, -MAX_WBITS, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		reel_fail(&o->err, REEL_E_MEMORY, "out of memory");
		free(f);
		return;
	}
	o->deflate = f;
}

void file_out_deflate_end(struct file_out *o)
{
	static const uint8_t last[LAST_BLOCK] = {3, 0};
	struct file_out_deflate *f = o->deflate;

	if (!f)
		return;
	flush(o);
	if (f->out + PADDING_LEAST + LAST_BLOCK > f->packed) {
		if (!o->err.code)
			reel_fail(&o->err, REEL_E_IO,
				  "cannot compress '%s' to %llu bytes: zlib "
				  "needs %llu",
				  o->path, (unsigned long long)f->packed,
				  (unsigned long long)f->out);
	} else {
		put_padding(o, f->packed - LAST_BLOCK - f->out);
		put_packed(o, last, sizeof(last));
	}
	deflateEnd(&f->z);
	free(f);
	o->deflate = NULL;
}

void file_out_gzip(struct file_out *o, int64_t level, uint64_t bytes,
		   uint64_t packed)
{
	static const uint8_t head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};

	file_out_put(o, head, sizeof(head)); /* no name and no time */
	file_out_deflate(o, level, bytes, packed);
}

void file_out_gzip_end(struct file_out *o)
{
	uint32_t crc, size;

	if (!o->deflate)
		return;
	flush(o);
	crc = o->deflate->crc32;
	size = (uint32_t)o->deflate->in;
	file_out_deflate_end(o);
	file_out_u32(o, crc);
	file_out_u32(o, size);
}

int file_out_close(struct file_out *o, struct reel_error *err)
{
	flush(o);
	if (o->deflate) /* not ended */
		deflateEnd(&o->deflate->z);
	free(o->deflate);
	free(o->buf);
	if (close(o->fd) && !o->err.code)
		reel_fail(&o->err, REEL_E_IO, "cannot write '%s': %s", o->path,
			  strerror(errno));
	return o->err.code ? reel_fail(err, o->err.code, "%s", o->err.text) : 0;
}

/* --- CRC-32C -------------------------------------------------------------- */

#define CRC32C_POLYNOMIAL 0x82f63b78u /* Castagnoli, reflected */

static uint32_t crc_table[8][256];

__attribute__((constructor)) static void make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ CRC32C_POLYNOMIAL : c >> 1;
		crc_table[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 8; t++)
			crc_table[t][i] =
				crc_table[t - 1][i] >> 8 ^
				crc_table[0][crc_table[t - 1][i] & 0xff];
}

/* Eight bytes at a time ("slicing by 8"). */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	crc = ~crc;
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t v;

		memcpy(&v, p, sizeof(v));
		v = le64toh(v) ^ crc;
		crc = 0;
		for (int t = 0; t < 8; t++)
			crc ^= crc_table[7 - t][v >> (8 * t) & 0xff];
	}
	while (n--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 0xff];
	return ~crc;
}
