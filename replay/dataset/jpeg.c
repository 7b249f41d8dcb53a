/* SPDX-License-Identifier: MIT */
/*
 * JPEG: an image of noise, RGB with half the colour resolution and quality 75, as
 * Pillow and torchvision write by default. Its first comment holds the number of
 * the sample; comments behind the image fill the file up.
 *
 * The reader is Image.open(path).load() of Pillow: the headers, then all of the
 * file in steps of 64 KiB.
 *
 * Source: ITU-T T.81; libjpeg's documentation; strace of Pillow 9.4 and 12.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>

#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/dataset/image.h"
#include "replay/io/io.h"

#define QUALITY 75
#define MARKER 0xff
#define RESTART 0xd0
#define APP0 0xe0
#define COMMENT 0xfe
#define SCAN 0xda
#define SEGMENT_HEAD 4 /* marker and length */
#define SEGMENT_MOST 65533
#define NUMBER_SEGMENT (SEGMENT_HEAD + sizeof(uint64_t))
#define END_BYTES 2

/* --- writing -------------------------------------------------------------- */

struct failure {
	struct jpeg_error_mgr is; /* first */
	jmp_buf back;
	char text[JMSG_LENGTH_MAX];
};

static void failed(j_common_ptr j)
{
	struct failure *f = (struct failure *)j->err;

	f->is.format_message(j, f->text);
	longjmp(f->back, 1);
}

static void encode_rows(struct jpeg_compress_struct *j,
			const struct image *image)
{
	j->image_width = image->width;
	j->image_height = image->height;
	j->input_components = IMAGE_CHANNELS;
	j->in_color_space = JCS_RGB;
	jpeg_set_defaults(j);
	jpeg_set_quality(j, QUALITY, TRUE);
	jpeg_start_compress(j, TRUE);
	while (j->next_scanline < image->height) {
		JSAMPROW row = image->pixel + (size_t)j->next_scanline *
						      image->width *
						      IMAGE_CHANNELS;

		jpeg_write_scanlines(j, &row, 1);
	}
	jpeg_finish_compress(j);
}

static int encode(struct image *image, struct reel_error *err)
{
	struct jpeg_compress_struct j;
	struct failure failure;
	unsigned char *file = NULL;
	unsigned long bytes = 0;

	j.err = jpeg_std_error(&failure.is);
	failure.is.error_exit = failed;
	jpeg_create_compress(&j);
	jpeg_mem_dest(&j, &file, &bytes);
	if (setjmp(failure.back)) {
		jpeg_destroy_compress(&j);
		return reel_fail(err, REEL_E_MEMORY, "libjpeg: %s",
				 failure.text);
	}
	encode_rows(&j, image);
	jpeg_destroy_compress(&j);
	image->file = file;
	image->bytes = bytes;
	return 0;
}

static void put_head(struct file_out *out, unsigned int marker, size_t bytes)
{
	uint8_t head[SEGMENT_HEAD] = {MARKER, (uint8_t)marker,
				      (uint8_t)((bytes + 2) >> 8),
				      (uint8_t)(bytes + 2)};

	file_out_put(out, head, sizeof(head));
}

/* Comments of payload; what is too little for one are fill bytes of the marker
 * that follows. */
static void fill_up(struct file_out *out, const struct dataset *d,
		    uint64_t sample, uint64_t n)
{
	uint64_t from = sizeof(uint64_t);
	uint8_t fill = MARKER;

	while (n >= SEGMENT_HEAD) {
		uint64_t some = n - SEGMENT_HEAD < SEGMENT_MOST
					? n - SEGMENT_HEAD
					: SEGMENT_MOST;

		put_head(out, COMMENT, some);
		file_out_payload(out, d, sample, from, some);
		from += some;
		n -= SEGMENT_HEAD + some;
	}
	for (; n; n--)
		file_out_put(out, &fill, 1);
}

/* Bytes before the first segment that is not the one of JFIF. */
static size_t start_bytes(const struct image *image)
{
	const uint8_t *p = image->file;

	return p[2] == MARKER && p[3] == APP0
		       ? 2 + 2 + ((size_t)p[4] << 8 | p[5])
		       : 2;
}

static int jpeg_write(const struct dataset *d, uint64_t sample,
		      const char *path, struct reel_error *err)
{
	static const struct image_codec codec = {.name = "JPEG",
						 .bytes_per_pixel = 0.605,
						 .head_bytes = 623,
						 .encode = encode};
	uint64_t size = dataset_sample_bytes(d, sample);
	struct file_out out;
	struct image image;
	size_t start;

	if (image_make(&image, &codec, d, sample,
		       size > NUMBER_SEGMENT ? size - NUMBER_SEGMENT : 0, err))
		return -1;
	if (image.bytes + NUMBER_SEGMENT > size) {
		image_too_small("JPEG", size, image.bytes + NUMBER_SEGMENT);
		size = image.bytes + NUMBER_SEGMENT;
	}
	if (file_out_open(&out, path, err)) {
		image_free(&image);
		return -1;
	}
	start = start_bytes(&image);
	file_out_put(&out, image.file, start);
	put_head(&out, COMMENT, sizeof(uint64_t));
	file_out_u64(&out, sample);
	file_out_put(&out, image.file + start, image.bytes - start - END_BYTES);
	fill_up(&out, d, sample, size - image.bytes - NUMBER_SEGMENT);
	file_out_put(&out, image.file + image.bytes - END_BYTES, END_BYTES);
	image_free(&image);
	return file_out_close(&out, err);
}

#define SMALLEST 1024

static uint64_t jpeg_disk_bytes(const struct dataset *d, uint64_t file)
{
	return dataset_file_bytes(d, file) + SMALLEST;
}

/* --- the reader ----------------------------------------------------------- */

/* The segments up to the image. */
static int take_headers(struct image_reader *r, struct reel_error *err)
{
	if (image_take(r, 2, err))
		return -1;
	for (;;) {
		size_t n;

		if (image_take(r, SEGMENT_HEAD, err))
			return -1;
		if (r->buf[0] != MARKER)
			return image_damaged(r, err);
		n = (size_t)r->buf[2] << 8 | r->buf[3];
		if (n < 2)
			return image_damaged(r, err);
		if (r->buf[1] == COMMENT && r->number == UINT64_MAX) {
			if (image_take(r, n - 2, err))
				return -1;
			r->number = dataset_payload_number(r->buf, n - 2);
			continue;
		}
		if (r->buf[1] == SCAN)
			return image_pass(r, n - 2, err);
		if (image_pass(r, n - 2, err))
			return -1;
	}
}

/*
 * Does the coded image end in the @n bytes of buf? A marker ends it that is
 * neither a stuffed byte nor a restart; *@marked: the last byte began one.
 */
static bool ends_image(const struct image_reader *r, size_t from, size_t n,
		       bool *marked)
{
	while (from < n) {
		const uint8_t *next;
		uint8_t c = r->buf[from];

		if (*marked && c != 0 && c != MARKER &&
		    (c < RESTART || c > RESTART + 7))
			return true;
		/* One byte of 256 begins a marker: pass the others at once. */
		next = memchr(r->buf + from, MARKER, n - from);
		*marked = next;
		if (!next)
			return false;
		from = (size_t)(next - r->buf) + 1;
	}
	return false;
}

/* Pillow ends where the last row is decoded, before the comments. */
static int load(struct image_reader *r, struct reel_error *err)
{
	bool marked = false;
	uint64_t at = 0, start;

	if (take_headers(r, err))
		return -1;
	start = r->f.offset - r->f.n + r->f.at;
	if (python_seek(&r->f, 0, SEEK_SET, err))
		return -1;
	for (;;) {
		int64_t got = python_read(&r->f, r->buf, IMAGE_READ, err);
		uint64_t skip = start > at ? start - at : 0;

		if (got < 0)
			return -1;
		if (!got)
			return image_damaged(r, err);
		if (skip < (uint64_t)got &&
		    ends_image(r, (size_t)skip, (size_t)got, &marked))
			return 0;
		at += (uint64_t)got;
	}
}

static int jpeg_read(void *state, uint64_t sample, struct format_sample *out,
		     struct reel_error *err)
{
	return image_read(state, sample, out, load, err);
}

const struct format format_jpeg = {
	.name = "jpeg",
	.suffix = "jpg",
	.any_order = true,
	.write = jpeg_write,
	.disk_bytes = jpeg_disk_bytes,
	.open = image_open,
	.read = jpeg_read,
	.close = image_close,
};
