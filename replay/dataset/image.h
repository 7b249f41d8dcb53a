/* SPDX-License-Identifier: MIT */
/*
 * Image files: a picture of noise, encoded by the format's own library, whose file
 * is as large as its sample. Formats differ in how they encode, in how they fill up
 * what is left, and in how Pillow reads them.
 */
#ifndef REPLAY_DATASET_IMAGE_H
#define REPLAY_DATASET_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "replay/dataset/format.h"
#include "replay/dataset/python_file.h"

#define IMAGE_READ 65536 /* bytes that Pillow gives to a decoder at once */
#define IMAGE_CHANNELS 3 /* RGB */

/* A picture, or its file. */
struct image {
	uint32_t width, height;
	uint8_t *pixel; /* width x height x IMAGE_CHANNELS; owned */
	uint8_t *file;	/* encoded; owned, by malloc() */
	size_t bytes;	/* of it */
};

struct image_codec {
	const char *name;
	double bytes_per_pixel; /* of noise */
	double head_bytes;	/* of a file without its pixels */
	/* Encode the pixels: set file and bytes. 0 or -1 with @err. */
	int (*encode)(struct image *image, struct reel_error *err);
};

/*
 * Make the largest picture of @sample, within a few percent, whose file has at
 * most @room bytes; the smallest where none has. 0, or -1 with @err.
 */
int image_make(struct image *image, const struct image_codec *codec,
	       const struct dataset *d, uint64_t sample, uint64_t room,
	       struct reel_error *err);
void image_free(struct image *image);
/* Tell, once in a process, that a sample is larger than asked for. */
void image_too_small(const char *format, uint64_t asked, uint64_t made);

/* A reader of image files, each a sample. */
struct image_reader {
	const struct dataset *d;
	struct io *io;
	uint64_t number; /* that the file says; UINT64_MAX: none */
	struct python_file f;
	/* Right behind f.buf, whole pages away: a copy from there to a place a
	 * few bytes further in a page takes several times as long, as its loads
	 * seem to depend on its stores. */
	uint8_t buf[IMAGE_READ];
};

/* The functions of struct format that both share. */
int image_open(void **state, const struct dataset *d, uint64_t file,
	       struct io *io, struct reel_error *err);
int image_close(void *state, struct reel_error *err);
/*
 * Image.open(path).load(): @load makes the reads behind the first two seeks, and
 * takes the number.
 */
int image_read(struct image_reader *r, uint64_t sample,
	       struct format_sample *out,
	       int (*load)(struct image_reader *, struct reel_error *),
	       struct reel_error *err);
/* f.read(@n) into buf, for @n up to IMAGE_READ; all of it. 0 or -1 with @err. */
int image_take(struct image_reader *r, size_t n, struct reel_error *err);
/* @n bytes, of which those behind the first IMAGE_READ are not kept. */
int image_pass(struct image_reader *r, uint64_t n, struct reel_error *err);
int image_damaged(const struct image_reader *r, struct reel_error *err);

#endif
