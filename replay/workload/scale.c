/* SPDX-License-Identifier: MIT */
/* The same workload, smaller. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "replay/workload/internal.h"
#include "replay/workload/workload.h"

#define STEPS_LEAST                                                            \
	8 /* of an epoch of the small one, where there are so many */

static void scale_quantiles(struct quantiles *q, double factor)
{
	for (uint32_t i = 0; i < q->n; i++) {
		double v = round((double)q->value[i] * factor);

		q->value[i] = v < 1 && q->value[i] > 0 ? 1 : (int64_t)v;
	}
}

static int64_t scaled(int64_t v, double factor)
{
	double x = round((double)v * factor);

	return x < 1 && v > 0 ? 1 : (int64_t)x;
}

/* Fewer files; where there are too few of them, fewer samples in each. */
static void scale_count(struct workload_dataset *d, double factor)
{
	double files = (double)d->files * factor;

	if (files >= 1) {
		d->files = (int64_t)round(files);
	} else {
		d->samples_per_file =
			scaled(d->samples_per_file, files > 0 ? files : 1);
		d->files = d->files ? 1 : 0;
	}
	if (d->folders > d->files)
		d->folders = d->files;
}

/* The same tensors: a matrix has @factor times the bytes, a norm its root. */
static void scale_transformer(struct workload_transformer *t, double factor)
{
	double side = sqrt(factor);

	t->hidden = scaled(t->hidden, side);
	t->key_value = scaled(t->key_value, side);
	t->feed_forward = scaled(t->feed_forward, side);
	t->vocabulary = scaled(t->vocabulary, side);
}

/* Objects and times are smaller: as many objects, the bytes of a second are the
 * same. */
static void scale_kvcache(struct workload_kvcache *k, double factor)
{
	k->bytes_per_token = scaled(k->bytes_per_token, factor);
	k->duration_ns = scaled(k->duration_ns, factor);
	scale_quantiles(&k->think_ns, factor);
	k->memory_bytes = scaled(k->memory_bytes, factor);
	k->capacity_bytes = scaled(k->capacity_bytes, factor);
}

/* Columns keep their number, so that a sample has a byte of each at least. */
static void scale_sample(struct workload_dataset *d, double factor)
{
	struct quantiles *q = &d->sample_bytes;

	scale_quantiles(q, factor);
	for (uint32_t i = 0; i < d->columns_n; i++)
		d->columns[i].bytes = scaled(d->columns[i].bytes, factor);
	for (uint32_t i = 0; d->columns_n && i < q->n; i++)
		q->value[i] = workload_column_bytes(d);
}

void workload_scale(struct workload *w, double scale)
{
	struct workload_dataset *d = &w->dataset;
	bool whole = scale >= 1;
	double samples = (double)d->files * (double)d->samples_per_file;
	double least = STEPS_LEAST * (double)w->pipeline.batch, count = scale;

	/* As many samples as a few steps need; the rest is taken from the sizes,
	 * and from the time of a step, so that the demand stays the same. */
	if (samples * count < least)
		count = least < samples ? least / samples : 1;
	scale /= count;
	if (d->files)
		scale_count(d, count);
	if (!whole)
		w->job = (struct workload_job){0};
	w->evaluation.files = scaled(w->evaluation.files, count);
	if (w->total_steps)
		w->total_steps = scaled(w->total_steps, count);
	scale_sample(d, scale);
	for (uint32_t i = 0; i < d->series_bytes_n; i++)
		d->series_bytes[i] = scaled(d->series_bytes[i], scale);
	d->chunk_bytes = scaled(d->chunk_bytes, scale);
	scale_quantiles(&w->compute.step_ns, scale);
	scale_quantiles(&w->preprocess.sample_ns, scale);
	scale_quantiles(&w->evaluation.sample_ns, scale);
	scale_quantiles(&w->evaluation.sample_bytes, scale);
	for (uint32_t i = 0; i < w->compute.series_ns_n; i++)
		w->compute.series_ns[i] =
			scaled(w->compute.series_ns[i], scale);
	for (uint32_t i = 0; i < w->checkpoint.files_n; i++) {
		struct workload_checkpoint_file *f = &w->checkpoint.files[i];

		f->bytes = scaled(f->bytes, scale * count);
		scale_quantiles(&f->write_bytes, scale);
		scale_quantiles(&f->tensor_bytes, scale * count);
		for (uint32_t k = 0; k < f->series_bytes_n; k++)
			f->series_bytes[k] =
				scaled(f->series_bytes[k],
				       f->layout == WORKLOAD_PLAIN_FILE
					       ? scale
					       : scale * count);
	}
	scale_transformer(&w->checkpoint.transformer, scale * count);
	w->checkpoint.work_ns = scaled(w->checkpoint.work_ns, scale * count);
	w->checkpoint.pause_ns = scaled(w->checkpoint.pause_ns, scale * count);
	scale_kvcache(&w->kvcache, scale * count);
}

int workload_scale_of(const char *text, double *scale, struct reel_error *err)
{
	char *end;
	double a = strtod(text, &end), b = 1;

	if (*end == '/' && end != text)
		b = strtod(end + 1, &end);
	if (end == text || *end || !(a / b > 0) || !(a / b <= 1))
		return reel_fail(err, REEL_E_USAGE,
				 "'%s' is no scale: a fraction above 0 and up "
				 "to 1, for example 1/1000",
				 text);
	*scale = a / b;
	return 0;
}
