/* SPDX-License-Identifier: MIT */
/* Files, samples and bytes of a data set, from its workload alone. */
#include "replay/dataset/dataset.h"

#include <endian.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/format.h"
#include "replay/workload/quantiles.h"

#define NUMBER_BYTES 8
#define SHIFT 1032
#define PAGE 4096 /* a part of each page is zero, as compressibility asks */

void dataset_init(struct dataset *d, const struct workload *w,
		  enum dataset_part part)
{
	d->is = &w->dataset;
	d->part = part;
	d->sample_bytes =
		part == DATASET_EVALUATION && w->evaluation.sample_bytes.n
			? &w->evaluation.sample_bytes
			: &w->dataset.sample_bytes;
	d->files = (uint64_t)(part == DATASET_TRAIN ? w->dataset.files
						    : w->evaluation.files);
	d->samples_per_file =
		(uint64_t)(part == DATASET_TRAIN
				   ? w->dataset.samples_per_file
				   : w->evaluation.samples_per_file);
	d->samples = d->files * d->samples_per_file;
}

/* Add @number with @digits digits at least: printf() was a third of the user time of
 * a small file. */
static int add_number(struct reel_buf *out, uint64_t number, int digits,
		      struct reel_error *err)
{
	char text[24], *p = text + sizeof(text);

	for (; number || digits > 0; number /= 10, digits--)
		*--p = (char)('0' + number % 10);
	return reel_buf_add(out, p, (size_t)(text + sizeof(text) - p), err);
}

int dataset_path(const struct dataset *d, uint64_t file, struct reel_buf *out,
		 struct reel_error *err)
{
	const char *part = d->part == DATASET_TRAIN ? "train" : "valid";
	const struct format *format = format_of(d->is->format);
	bool gzip = format->gzip && d->is->compression;
	uint64_t folders = (uint64_t)d->is->folders;

	if (reel_buf_puts(out, part, err))
		return -1;
	if (folders && (reel_buf_puts(out, "/", err) ||
			add_number(out, file % folders, 6, err)))
		return -1;
	return reel_buf_puts(out, "/", err) ||
			       reel_buf_puts(out, d->is->prefix, err) ||
			       reel_buf_puts(out, "_", err) ||
			       add_number(out, file, 8, err) ||
			       reel_buf_puts(out, "_of_", err) ||
			       add_number(out, d->files, 8, err) ||
			       reel_buf_puts(out, ".", err) ||
			       reel_buf_puts(out, format->suffix, err) ||
			       (gzip && reel_buf_puts(out, ".gz", err))
		       ? -1
		       : 0;
}

int dataset_fault(const struct dataset *d, const char *root, uint64_t file,
		  const struct reel_error *why, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;

	if (why->code != REEL_E_FORMAT)
		reel_fail(err, why->code, "%s", why->text);
	else if (!dataset_path(d, file, &path, err))
		reel_fail(err, why->code, "'%s/%s': %s", root,
			  reel_buf_text(&path), why->text);
	reel_buf_fini(&path);
	return -1;
}

/* The parts differ, with the same seed. */
static uint64_t seed_of(const struct dataset *d)
{
	return (uint64_t)d->is->seed * 2 + (uint64_t)d->part;
}

uint64_t dataset_sample_bytes(const struct dataset *d, uint64_t sample)
{
	if (d->is->series_bytes_n && d->part == DATASET_TRAIN)
		return (uint64_t)
			d->is->series_bytes[sample % d->is->series_bytes_n];
	return (uint64_t)quantiles_item(d->sample_bytes, sample, d->samples,
					seed_of(d));
}

uint64_t dataset_file_bytes(const struct dataset *d, uint64_t file)
{
	uint64_t first = file * d->samples_per_file, sum = 0;

	if (d->sample_bytes->n == 1)
		return d->samples_per_file * dataset_sample_bytes(d, first);
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		sum += dataset_sample_bytes(d, first + i);
	return sum;
}

/* Byte @at of a payload is byte at % 8 of the word at / 8. @shifted: the pages of a
 * sample do not begin with it. */
static uint64_t word_of(const struct dataset *d, uint64_t sample, uint64_t word,
			bool shifted)
{
	uint64_t state = seed_of(d) ^ (sample << 20) ^ word;
	uint64_t in_page = word * 8 % PAGE;

	if (shifted)
		in_page = (word * 8 + sample * SHIFT) % PAGE;
	if (!word)
		return sample;
	if ((double)in_page < d->is->compressibility * PAGE)
		return 0;
	return random_next(&state);
}

void dataset_payload(const struct dataset *d, uint64_t sample, uint64_t offset,
		     void *to, size_t n)
{
	/* A chunk with the same part of many samples is as zero as others, and so is
	 * one of samples that are less than a page. */
	bool shifted =
		d->is->chunk_samples ||
		(d->is->chunk_bytes && dataset_sample_bytes(d, sample) < PAGE);
	uint8_t *p = to;

	while (n) {
		uint64_t word =
			htole64(word_of(d, sample, offset / 8, shifted));
		size_t from = offset % 8, some = 8 - from;

		if (some > n)
			some = n;
		memcpy(p, (uint8_t *)&word + from, some);
		p += some;
		offset += some;
		n -= some;
	}
}

uint64_t dataset_payload_number(const void *payload, size_t n)
{
	uint64_t number;

	if (n < NUMBER_BYTES)
		return UINT64_MAX;
	memcpy(&number, payload, sizeof(number));
	return le64toh(number);
}
