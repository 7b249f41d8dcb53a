/* SPDX-License-Identifier: MIT */
/* An open of a file stands for a sample, a part of one, or a look at it. */
#include <math.h>
#include <stdlib.h>

#include "lib/error.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

#define LOOKED_LEAST 8	/* files */
#define LOOK_BYTES 4096 /* where it is not asked for */
#define LOOKS_MOST 16	/* of a file, and what each reads at most */
#define LOOK_READS_MOST 1024
#define LOOK_BYTES_MOST 1073741824
#define WHOLE_LEAST 0.75 /* of a file: it is read */
#define REPEATS_LEAST 1.75
#define REPEATS_MOST 10000

/* Visits of a thread to one file, one behind the other: for one sample. */
struct opens {
	uint32_t groups,
		looks; /* of them: the largest of each reads the sample */
	double look_reads, look_bytes;
	double bytes; /* of the largest */
};

static void add_group(struct opens *o, struct fit_visit **visit, uint32_t n)
{
	uint32_t largest = 0;

	for (uint32_t i = 1; i < n; i++)
		if (visit[i]->bytes > visit[largest]->bytes)
			largest = i;
	for (uint32_t i = 0; i < n; i++) {
		visit[i]->look = i != largest;
		if (i == largest)
			continue;
		o->looks++;
		o->look_reads += (double)visit[i]->reads;
		o->look_bytes += (double)visit[i]->bytes;
	}
	o->groups++;
	o->bytes += (double)visit[largest]->bytes;
}

static void put_looks(struct fit *f, const struct opens *o)
{
	struct workload_access *a = &f->w->access;

	f->opens_of_sample = (uint32_t)lround((double)f->visits / o->groups);
	if (f->opens_of_sample < 2 || f->opens_of_sample > LOOKS_MOST + 1)
		return;
	a->looks = f->opens_of_sample - 1;
	a->look_reads = llround(o->look_reads / o->looks);
	a->look_bytes = llround(o->look_bytes / o->looks);
	a->look_whole =
		o->look_bytes * o->groups >= WHOLE_LEAST * o->bytes * o->looks;
	if (a->look_reads > LOOK_READS_MOST)
		a->look_reads = LOOK_READS_MOST;
	if (a->look_bytes > LOOK_BYTES_MOST)
		a->look_bytes = LOOK_BYTES_MOST;
}

/* Visits are samples, or parts of a file that is read on. */
void fit_drop_looks(struct fit *f)
{
	struct workload_access *a = &f->w->access;

	f->opens_of_sample = 0;
	a->looks = 0;
	a->look_reads = 1;
	a->look_bytes = LOOK_BYTES;
	a->look_whole = false;
}

/* A reader may open a file several times for one sample, as to look at its header
 * first. Few files follow themselves by chance. */
int fit_opens(struct fit *f)
{
	struct fit_visit **visit;
	struct opens o = {0};
	uint32_t end;

	if (f->files < LOOKED_LEAST || f->files < f->steps_of_epoch * f->ranks)
		return 0;
	visit = fit_sort_visits(f);
	if (!visit)
		return -1;
	for (uint32_t i = 0; i < f->visits; i = end) {
		for (end = i + 1; end < f->visits; end++)
			if (visit[end]->file != visit[i]->file ||
			    visit[end]->thread_id != visit[i]->thread_id)
				break;
		add_group(&o, visit + i, end - i);
	}
	free(visit);
	if (o.groups)
		put_looks(f, &o);
	return 0;
}

int fit_say_looks(struct fit *f)
{
	const struct workload_access *a = &f->w->access;

	if (a->looks && a->look_whole)
		return fit_reason(f, "access.looks", 0.8,
				  "a thread opens a file %u times before "
				  "another one, as a rule, and reads it whole "
				  "each time",
				  f->opens_of_sample);
	return !a->looks ? 0
			 : fit_reason(f, "access.looks", 0.8,
				      "a thread opens a file %u times before "
				      "another one, as a rule: all but one of "
				      "them for %lld bytes",
				      f->opens_of_sample,
				      (long long)a->look_bytes);
}

/* Visits that read most of their file. */
static double whole_visits(const struct fit *f)
{
	double whole = 0;

	for (uint32_t i = 0; i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];

		whole += (double)v->bytes >=
			 WHOLE_LEAST * (double)f->file[v->file].size;
	}
	return whole;
}

bool fit_looks_at_files(const struct fit *f)
{
	double whole = whole_visits(f);
	double files = (double)f->files * (double)f->passes;

	return f->opens_of_sample >= 2 && f->steps_of_epoch &&
	       whole >= 0.9 * files && whole <= 1.1 * files;
}

/* Pages show no sizes: the kernel maps their neighbours too. */
bool fit_reads_whole(const struct fit *f)
{
	return f->w->dataset.format != WORKLOAD_SAFETENSORS &&
	       whole_visits(f) >= 0.9 * f->visits;
}

/* An epoch visits a file so often for a sample of it. Each rank loads a data set that
 * stays in memory: one visit stands for those of all ranks. */
static double times_visited(const struct fit *f)
{
	double visits = (double)f->visits / (double)f->passes / f->files;

	if (f->w->dataset.format == WORKLOAD_SAFETENSORS)
		visits /= FIT_SAFETENSORS_OPENS;
	else if (f->opens_of_sample > 1)
		visits /= f->opens_of_sample;
	if (f->w->pipeline.in_memory == WORKLOAD_PRELOADED && f->ranks > 1)
		visits /= (double)f->ranks;
	return visits;
}

int fit_repeats(struct fit *f)
{
	double times = times_visited(f), whole = round(times);

	if (f->w->dataset.samples_per_file > 1 || times < REPEATS_LEAST ||
	    whole > REPEATS_MOST || fabs(times - whole) > 0.15 * times)
		return 0;
	f->w->pipeline.repeats = (int64_t)whole;
	return fit_reason(f, "pipeline.repeats", 0.7,
			  "an epoch reads each file %.1f times", times);
}

int fit_reopen(struct fit *f)
{
	const struct workload *w = f->w;
	const struct format *format = format_of(w->dataset.format);
	double times = times_visited(f);

	if (w->dataset.samples_per_file < 2 || f->mapped ||
	    !(w->access.chain_n || (format && format->any_order)) ||
	    times < REPEATS_LEAST ||
	    times < 0.75 * (double)w->dataset.samples_per_file)
		return 0;
	f->w->access.reopen = true;
	return fit_reason(f, "access.reopen", 0.8,
			  "an epoch opens each file %.1f times, for its %lld "
			  "samples",
			  times, (long long)w->dataset.samples_per_file);
}
