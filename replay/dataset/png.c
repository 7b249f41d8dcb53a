/* SPDX-License-Identifier: MIT */
/*
 * PNG: an image of noise in RGB, in chunks IDAT of 64 KiB, as Pillow writes. A
 * private chunk "ioRl" before the image begins with the number of the sample;
 * others behind it fill the file up.
 *
 * The reader is Image.open(path).load() of Pillow, which goes from chunk to chunk.
 *
 * Source: the PNG specification (W3C); libpng's manual; strace of Pillow 9.4 and
 * 12.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <png.h>

#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/dataset/image.h"
#include "replay/io/io.h"

#define SIGNATURE 8
#define CHUNK_HEAD 8 /* length and name */
#define CRC_BYTES 4
#define CHUNK_AROUND (CHUNK_HEAD + CRC_BYTES)
#define HEADER_END (SIGNATURE + CHUNK_AROUND + 13) /* of the chunk IHDR */
#define CHUNK_MOST 65536
#define NUMBER_CHUNK (CHUNK_AROUND + sizeof(uint64_t))
#define OWN "ioRl"

/* --- writing -------------------------------------------------------------- */

/* The encoded file as it grows. */
struct encoding {
	struct image *image;
	size_t room;
	char text[160];
};

static void failed(png_structp png, png_const_charp text)
{
	struct encoding *e = png_get_error_ptr(png);

	strncpy(e->text, text, sizeof(e->text) - 1);
	png_longjmp(png, 1);
}

static void put_bytes(png_structp png, png_bytep from, png_size_t n)
{
	struct encoding *e = png_get_io_ptr(png);
	struct image *image = e->image;

	if (e->room - image->bytes < n) {
		size_t room = 2 * e->room + n + CHUNK_MOST;
		uint8_t *more = realloc(image->file, room);

		if (!more)
			png_error(png, "out of memory");
		image->file = more;
		e->room = room;
	}
	memcpy(image->file + image->bytes, from, n);
	image->bytes += n;
}

static void encode_rows(png_structp png, png_infop info,
			const struct image *image)
{
	png_set_compression_level(png, 1);
	png_set_filter(png, 0, PNG_FILTER_NONE);
	png_set_compression_buffer_size(png, CHUNK_MOST);
	png_set_IHDR(png, info, image->width, image->height, 8,
		     PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
		     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, info);
	for (uint32_t y = 0; y < image->height; y++)
		png_write_row(png, image->pixel + (size_t)y * image->width *
							  IMAGE_CHANNELS);
	png_write_end(png, NULL);
}

static int encode(struct image *image, struct reel_error *err)
{
	struct encoding e = {.image = image, .text = "out of memory"};
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &e,
						  failed, NULL);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	if (!info || setjmp(png_jmpbuf(png))) {
		png_destroy_write_struct(&png, &info);
		return reel_fail(err, REEL_E_MEMORY, "libpng: %s", e.text);
	}
	png_set_write_fn(png, &e, put_bytes, NULL);
	encode_rows(png, info, image);
	png_destroy_write_struct(&png, &info);
	return 0;
}

static void put_u32(struct file_out *out, uint32_t v)
{
	uint8_t p[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16),
			(uint8_t)(v >> 8), (uint8_t)v};

	file_out_put(out, p, sizeof(p));
}

/* A chunk of our own: payload from @from on. */
static void put_chunk(struct file_out *out, const struct dataset *d,
		      uint64_t sample, uint64_t from, uint32_t n)
{
	put_u32(out, n);
	out->crc = CRC32;
	out->crc32 = 0;
	file_out_put(out, OWN, 4);
	file_out_payload(out, d, sample, from, n);
	out->crc = NO_CRC;
	put_u32(out, out->crc32);
}

/* @n bytes, 0 or at least CHUNK_AROUND, in chunks. */
static void fill_up(struct file_out *out, const struct dataset *d,
		    uint64_t sample, uint64_t n)
{
	uint64_t from = sizeof(uint64_t);

	while (n) {
		uint64_t some = n < CHUNK_MOST ? n : CHUNK_MOST;

		if (n != some && n - some < CHUNK_AROUND)
			some -= CHUNK_AROUND; /* enough for the last one */
		put_chunk(out, d, sample, from,
			  (uint32_t)(some - CHUNK_AROUND));
		from += some - CHUNK_AROUND;
		n -= some;
	}
}

static int png_write_file(const struct dataset *d, uint64_t sample,
			  const char *path, struct reel_error *err)
{
	static const struct image_codec codec = {.name = "PNG",
						 .bytes_per_pixel = 3.01,
						 .head_bytes = 57,
						 .encode = encode};
	uint64_t size = dataset_sample_bytes(d, sample), left;
	struct file_out out;
	struct image image;
	uint32_t more;

	if (image_make(&image, &codec, d, sample,
		       size > NUMBER_CHUNK ? size - NUMBER_CHUNK : 0, err))
		return -1;
	if (image.bytes + NUMBER_CHUNK > size) {
		image_too_small("PNG", size, image.bytes + NUMBER_CHUNK);
		size = image.bytes + NUMBER_CHUNK;
	}
	if (file_out_open(&out, path, err)) {
		image_free(&image);
		return -1;
	}
	left = size - image.bytes - NUMBER_CHUNK;
	more = left < CHUNK_AROUND ? (uint32_t)left : 0;
	file_out_put(&out, image.file, HEADER_END);
	put_chunk(&out, d, sample, 0, sizeof(uint64_t) + more);
	file_out_put(&out, image.file + HEADER_END,
		     image.bytes - HEADER_END - CHUNK_AROUND);
	fill_up(&out, d, sample, left - more);
	file_out_put(&out, image.file + image.bytes - CHUNK_AROUND,
		     CHUNK_AROUND);
	image_free(&image);
	return file_out_close(&out, err);
}

#define SMALLEST 256

static uint64_t png_disk_bytes(const struct dataset *d, uint64_t file)
{
	return dataset_file_bytes(d, file) + SMALLEST;
}

/* --- the reader ----------------------------------------------------------- */

/* The head of a chunk, and Pillow's look where it is. */
static int take_head(struct image_reader *r, uint32_t *n, char name[static 4],
		     struct reel_error *err)
{
	const uint8_t *p = r->buf;

	if (image_take(r, CHUNK_HEAD, err))
		return -1;
	*n = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
	     p[3];
	memcpy(name, p + 4, 4);
	return python_tell(&r->f, err);
}

static bool is_named(const char name[static 4], const char *as)
{
	return !memcmp(name, as, 4);
}

/* A chunk that is no part of the image, and its checksum. */
static int take_chunk(struct image_reader *r, uint32_t n,
		      const char name[static 4], struct reel_error *err)
{
	if (is_named(name, OWN) && r->number == UINT64_MAX && n <= IMAGE_READ) {
		if (image_take(r, n, err))
			return -1;
		r->number = dataset_payload_number(r->buf, n);
	} else if (image_pass(r, n, err)) {
		return -1;
	}
	return image_take(r, CRC_BYTES, err);
}

static int load(struct image_reader *r, struct reel_error *err)
{
	char name[4];
	uint32_t n;

	if (image_take(r, SIGNATURE, err))
		return -1;
	for (;;) {
		if (take_head(r, &n, name, err))
			return -1;
		if (is_named(name, "IDAT"))
			break;
		if (take_chunk(r, n, name, err))
			return -1;
	}
	while (!is_named(name, "IEND")) {
		if (take_chunk(r, n, name, err) || take_head(r, &n, name, err))
			return -1;
	}
	return 0;
}

static int png_read_sample(void *state, uint64_t sample,
			   struct format_sample *out, struct reel_error *err)
{
	return image_read(state, sample, out, load, err);
}

const struct format format_png = {
	.name = "png",
	.suffix = "png",
	.any_order = true,
	.write = png_write_file,
	.disk_bytes = png_disk_bytes,
	.open = image_open,
	.read = png_read_sample,
	.close = image_close,
};
