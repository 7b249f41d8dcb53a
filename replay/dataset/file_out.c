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

static void flush(struct file_out *o)
{
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

int file_out_close(struct file_out *o, struct reel_error *err)
{
	flush(o);
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
