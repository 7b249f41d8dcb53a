/* SPDX-License-Identifier: MIT */
/* Image files: what JPEG and PNG share. */
#include "replay/dataset/image.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/io/io.h"

#define PIXELS_MOST (64u << 20) /* Pillow warns of more than 89 million */
#define PER_BYTE_MOST 8		/* pixels that compress well are many */
#define TRIES 12
#define FLAT 0.03	  /* of noise: what a flat picture takes */
#define CLOSE_ENOUGH 0.99 /* of the room */

/* --- pictures ------------------------------------------------------------- */

void image_free(struct image *image)
{
	free(image->pixel);
	free(image->file);
	memset(image, 0, sizeof(*image));
}

/* A picture of about @pixels, 4 to 3, from the noise of the payload. */
static int draw(struct image *image, const struct dataset *d, uint64_t sample,
		double pixels, struct reel_error *err)
{
	size_t n;

	image->width = (uint32_t)sqrt(pixels * 4 / 3);
	if (!image->width)
		image->width = 1;
	image->height = (uint32_t)(pixels / image->width);
	if (!image->height)
		image->height = 1;
	n = (size_t)image->width * image->height * IMAGE_CHANNELS;
	image->pixel = reel_alloc(n, 1, err);
	if (!image->pixel)
		return -1;
	dataset_payload(d, sample, sizeof(uint64_t), image->pixel, n);
	return 0;
}

static int try_pixels(struct image *image, const struct image_codec *codec,
		      const struct dataset *d, uint64_t sample, double pixels,
		      struct reel_error *err)
{
	memset(image, 0, sizeof(*image));
	if (draw(image, d, sample, pixels, err) || codec->encode(image, err)) {
		image_free(image);
		return -1;
	}
	free(image->pixel);
	image->pixel = NULL;
	return 0;
}

static int one_each(const struct dataset *d, struct reel_error *err)
{
	return d->samples_per_file == 1
		       ? 0
		       : reel_fail(err, REEL_E_USAGE,
				   "an image file holds one sample: set "
				   "dataset.samples_per_file to 1");
}

int image_make(struct image *image, const struct image_codec *codec,
	       const struct dataset *d, uint64_t sample, uint64_t room,
	       struct reel_error *err)
{
	double rows = (double)room - codec->head_bytes;
	double most = fmin(PIXELS_MOST, PER_BYTE_MOST * (double)room);
	double noise = fmax(1 - d->is->compressibility, FLAT);
	double pixels = fmin(most, rows / (codec->bytes_per_pixel * noise));
	double less = 0.997;

	memset(image, 0, sizeof(*image));
	if (one_each(d, err))
		return -1;
	for (int i = 0; i < TRIES && rows > 0; i++) {
		struct image now;

		if (try_pixels(&now, codec, d, sample, pixels, err)) {
			image_free(image);
			return -1;
		}
		if (now.bytes <= room && now.bytes > image->bytes) {
			image_free(image);
			*image = now;
		} else {
			free(now.file);
		}
		if (image->file &&
		    (i || pixels >= most ||
		     (double)image->bytes > CLOSE_ENOUGH * (double)room))
			return 0;
		pixels = fmin(most,
			      pixels * less * rows /
				      ((double)now.bytes - codec->head_bytes));
		less -= 0.05; /* sides are whole pixels */
	}
	return image->file ? 0 : try_pixels(image, codec, d, sample, 1, err);
}

void image_too_small(const char *format, uint64_t asked, uint64_t made)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		fprintf(stderr,
			"ioreel gen: a %s file of %llu bytes cannot be made; "
			"the smallest has %llu\n",
			format, (unsigned long long)asked,
			(unsigned long long)made);
}

/* --- the reader ----------------------------------------------------------- */

int image_open(void **state, const struct dataset *d, uint64_t file,
	       struct io *io, struct reel_error *err)
{
	struct image_reader *r;

	if (one_each(d, err))
		return -1;
	/* Zeroes in the buffer, for each file, cost more than the reader itself. */
	r = malloc(sizeof(*r));
	if (!r)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	memset(r, 0, offsetof(struct image_reader, f.buf));
	r->d = d;
	r->io = io;
	*state = r;
	return 0;
}

int image_close(void *state, struct reel_error *err)
{
	free(state);
	return 0;
}

int image_damaged(const struct image_reader *r, struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "it is damaged or shorter than it was made (at %llu)",
			 (unsigned long long)(r->f.offset - r->f.n + r->f.at));
}

int image_take(struct image_reader *r, size_t n, struct reel_error *err)
{
	int64_t got = python_read(&r->f, r->buf, n, err);

	if (got < 0)
		return -1;
	return (size_t)got < n ? image_damaged(r, err) : 0;
}

int image_pass(struct image_reader *r, uint64_t n, struct reel_error *err)
{
	while (n) {
		size_t some = n < IMAGE_READ ? (size_t)n : IMAGE_READ;

		if (image_take(r, some, err))
			return -1;
		n -= some;
	}
	return 0;
}

#define PREFIX 16 /* by which Pillow chooses a format */

int image_read(struct image_reader *r, uint64_t sample,
	       struct format_sample *out,
	       int (*load)(struct image_reader *, struct reel_error *),
	       struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	int rc = -1;

	out->bytes = dataset_sample_bytes(r->d, sample);
	out->number = r->number = UINT64_MAX;
	if (r->io->null)
		return 0;
	r->f.fd = -1;
	if (!dataset_path(r->d, sample / r->d->samples_per_file, &path, err) &&
	    !python_open(&r->f, r->io, reel_buf_text(&path), 0, err) &&
	    !python_seek(&r->f, 0, SEEK_SET, err) &&
	    !image_take(r, PREFIX, err) &&
	    !python_seek(&r->f, 0, SEEK_SET, err))
		rc = load(r, err);
	reel_buf_fini(&path);
	if (r->f.fd >= 0 && python_close(&r->f, rc ? NULL : err))
		rc = -1;
	out->number = r->number;
	return rc;
}
