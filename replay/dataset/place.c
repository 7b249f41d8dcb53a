/* SPDX-License-Identifier: MIT */
/* Where samples are in their files. */
#include "replay/dataset/place.h"

#include <stdlib.h>

#include "lib/error.h"

#include "replay/dataset/format.h"
#include "replay/dataset/numpy.h"
#include "replay/io/io.h"

bool dataset_has_places(const struct workload_dataset *d)
{
	const struct format *format = format_of(d->format);

	return d->format == WORKLOAD_RAW || d->format == WORKLOAD_INDEXED ||
	       d->format == WORKLOAD_NPY ||
	       (format && format->offsets && !d->chunk_bytes &&
		!d->compression && !d->columns_n);
}

uint64_t dataset_place_of(const struct dataset *d, struct dataset_place *p,
			  const uint64_t *offsets, uint64_t sample)
{
	uint64_t first = sample / d->samples_per_file * d->samples_per_file;
	uint64_t head = d->is->format == WORKLOAD_NPY ? NUMPY_HEADER : 0;

	if (offsets)
		return offsets[sample - first];
	if (d->sample_bytes->n == 1)
		return head +
		       (sample - first) * dataset_sample_bytes(d, sample);
	if (p->sample < first || p->sample > sample || !p->offset) {
		p->sample = first;
		p->offset = head;
	}
	for (; p->sample < sample; p->sample++)
		p->offset += dataset_sample_bytes(d, p->sample);
	return p->offset;
}

int dataset_offsets(const struct dataset *d, uint64_t file, struct io *io,
		    uint64_t **out, struct reel_error *err)
{
	const struct format *format = format_of(d->is->format);
	struct reel_error why = {0};

	*out = NULL;
	if (!format->offsets)
		return 0;
	*out = reel_alloc(d->samples_per_file, sizeof(**out), err);
	if (*out && !format->offsets(d, file, io, *out, &why))
		return 0;
	if (*out)
		dataset_fault(d, io->root, file, &why, err);
	free(*out);
	*out = NULL;
	return -1;
}
