/* SPDX-License-Identifier: MIT */
/* Order and batch, and what else describes the pipeline. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/store/view.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

/* More or fewer than the rows of the files by this share are drawn. */
#define DRAWN_LEAST 0.1
#define DRAWN_LEAST_CHUNKED 0.5 /* how many chunks a job holds is not seen */

/* --- visits of files ------------------------------------------------------ */

static int add_visit(struct fit *f, struct reel_view *v, uint32_t file,
		     uint32_t *room)
{
	struct fit_visit *to;

	if (reel_array_reach(&f->visit, room, f->visits, sizeof(*f->visit),
			     f->err))
		return -1;
	to = &f->visit[f->visits++];
	to->process_id = reel_view_exact(v, "process_id");
	to->thread_id = reel_view_exact(v, "thread_id");
	to->start_ns = reel_view_exact(v, "start_ns");
	to->end_ns = reel_view_exact(v, "end_ns");
	to->reads = reel_view_int(v, "reads");
	to->bytes = reel_view_int(v, "bytes");
	to->starts = reel_view_int(v, "starts");
	to->least_end = reel_view_int(v, "least_end");
	to->file = file;
	return 0;
}

/* A visit is an open file description that is read. */
#define VISITS                                                                 \
	"SELECT process_id, thread_id, min(start_ns) AS start_ns, "            \
	"max(start_ns + dur_ns) AS end_ns, count(*) AS reads, "                \
	"sum(bytes) AS bytes, sum(offset = 0) AS starts, "                     \
	"min(offset + bytes) AS least_end, path FROM "
#define READS "class = 'data' AND call_group = 'read' AND bytes > 0"

/* Logs without descriptions: the reads of a thread between two opens of the file. */
static const char visits_by_opens[] = VISITS
	"(SELECT *, sum(call_group = 'open') OVER (PARTITION BY process_id, "
	"thread_id, path ORDER BY start_ns) AS visit FROM v_event "
	"WHERE " READS
	" OR class = 'data' AND call_group = 'open' AND errno = 0) "
	"WHERE call_group = 'read' "
	"GROUP BY process_id, thread_id, path, visit ORDER BY 3, 1";

int fit_visits(struct fit *f)
{
	struct reel_view v;
	uint32_t room = 0;
	int64_t opens;
	int rc = fit_ask(f, "SELECT count(*) FROM open_block", 0, &opens);

	if (rc)
		return -1;
	f->has_opens = opens > 0;
	if (!reel_view_open(&v, f->st,
			    f->has_opens ? VISITS
				    "v_event WHERE " READS
				    " GROUP BY process_id, open_id, "
				    "path ORDER BY 3, 1"
					 : visits_by_opens,
			    f->err))
		while (!rc && reel_view_next(&v)) {
			const char *path = reel_view_text(&v, "path");
			const struct fit_file *file = fit_find(f, path);

			if (file)
				rc = add_visit(f, &v,
					       (uint32_t)(file - f->file),
					       &room);
		}
	return reel_view_close(&v) || rc ? -1 : 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct fit_visit *x = *(const struct fit_visit *const *)a;
	const struct fit_visit *y = *(const struct fit_visit *const *)b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	if (x->thread_id != y->thread_id)
		return x->thread_id < y->thread_id ? -1 : 1;
	return (x > y) - (x < y); /* they are in the order of their starts */
}

struct fit_visit **fit_sort_visits(const struct fit *f)
{
	struct fit_visit **visit =
		reel_alloc((size_t)f->visits + 1, sizeof(*visit), f->err);

	if (!visit)
		return NULL;
	for (uint32_t i = 0; i < f->visits; i++)
		visit[i] = &f->visit[i];
	qsort(visit, f->visits, sizeof(*visit), by_thread);
	return visit;
}

static int by_start(const void *a, const void *b)
{
	const struct fit_visit *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->process_id > y->process_id) -
	       (x->process_id < y->process_id);
}

bool fit_is_look(const struct fit *f, int64_t process_id, int64_t start_ns)
{
	struct fit_visit key = {.process_id = process_id, .start_ns = start_ns};
	const struct fit_visit *v =
		f->w->access.looks ? bsearch(&key, f->visit, f->visits,
					     sizeof(*f->visit), by_start)
				   : NULL;

	return v && v->look;
}

/* --- order ---------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct fit_file *x = *(const struct fit_file *const *)a;
	const struct fit_file *y = *(const struct fit_file *const *)b;

	return strverscmp(x->path, y->path);
}

/* Give the place of each file by its path, where numbers in it count as such: a job
 * reads 2.bin before 10.bin. free(). NULL with f->err. */
static uint32_t *places_by_number(const struct fit *f)
{
	const struct fit_file **sorted =
		reel_alloc(f->files, sizeof(*sorted), f->err);
	uint32_t *place = reel_alloc(f->files, sizeof(*place), f->err);

	if (!sorted || !place) {
		free(sorted);
		free(place);
		return NULL;
	}
	for (uint32_t i = 0; i < f->files; i++)
		sorted[i] = &f->file[i];
	qsort(sorted, f->files, sizeof(*sorted), by_number);
	for (uint32_t i = 0; i < f->files; i++)
		place[sorted[i] - f->file] = i;
	free(sorted);
	return place;
}

/* Kendall's tau of the files in the order of @n visits: 1 ascending, 0 random.
 * @place: of each file in the order that is asked for. */
static double tau_of(const struct fit_visit *visit, uint32_t n,
		     const uint32_t *place)
{
	int64_t up = 0, all = 0;

	if (n > 2000)
		n = 2000;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++) {
			if (visit[i].file == visit[j].file)
				continue;
			up += place[visit[i].file] < place[visit[j].file] ? 1
									  : -1;
			all++;
		}
	return all ? (double)up / (double)all : 1;
}

/* Share of places at which two epochs read the same file. */
static double same_places(const struct fit_visit *a, const struct fit_visit *b,
			  uint32_t n)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < n; i++)
		same += a[i].file == b[i].file;
	return n ? (double)same / n : 0;
}

static int put_order(struct fit *f, double tau, const char *of)
{
	f->w->pipeline.order =
		tau > 0.8 ? WORKLOAD_SEQUENTIAL : WORKLOAD_SHUFFLE;
	return fit_reason(
		f, "pipeline.order", tau > 0.8 || tau < 0.4 ? 0.9 : 0.5,
		"Kendall's tau of the order of the %s is %.2f", of, tau);
}

/* A chunk is read whole for one sample: does an epoch read the chunks again for their
 * other samples, so that these are no block? */
static bool reads_chunks_again(const struct fit *f, int64_t run_bytes)
{
	const struct workload_dataset *d = &f->w->dataset;
	double chunk = (double)d->chunk_bytes, size = 0, read = 0;

	if (d->chunk_samples) /* all chunks of a sample */
		chunk = (double)d->chunk_samples *
			quantiles_mean(&d->sample_bytes);
	if ((double)run_bytes > 1.5 * chunk)
		return false;
	for (uint32_t i = 0; i < f->files; i++)
		size += (double)f->file[i].size;
	for (uint32_t i = 0; i < f->visits; i++)
		read += (double)f->visit[i].bytes;
	return read > 1.5 * size * (double)f->epochs;
}

/* Samples that are read one behind the other although the order is a shuffle. */
static int fit_block(struct fit *f, int64_t run_bytes)
{
	struct workload_pipeline *p = &f->w->pipeline;
	double size = 0, samples;

	if (p->order == WORKLOAD_SHUFFLE && f->w->access.slice_samples > 1) {
		p->block = f->w->access.slice_samples;
		return fit_reason(f, "pipeline.block", 0.8,
				  "the samples of a slice stay together");
	}
	/* HDF5 reads a small slice together with what is behind it. */
	if (f->w->dataset.format == WORKLOAD_HDF5 &&
	    (run_bytes <= FIT_HDF5_BUFFER || reads_chunks_again(f, run_bytes)))
		return 0;
	for (uint32_t i = 0; i < f->files; i++)
		size += f->rows_to ? (double)(f->rows_to - f->rows_from)
				   : (double)f->file[i].size;
	if (p->order != WORKLOAD_SHUFFLE || size <= 0)
		return 0;
	samples = (double)run_bytes * f->files *
		  (double)f->w->dataset.samples_per_file / size;
	/* More than half of a file is no block of it. */
	if (samples < 1.5 ||
	    samples > (double)f->w->dataset.samples_per_file / 2)
		return 0;
	p->block = llround(samples);
	return fit_reason(f, "pipeline.block", 0.7,
			  "reads that follow one another have %lld bytes, "
			  "%.1f samples",
			  (long long)run_bytes, samples);
}

static int fit_order(struct fit *f)
{
	struct workload_pipeline *p = &f->w->pipeline;
	const struct format *format = format_of(f->w->dataset.format);
	uint32_t each = f->visits / (uint32_t)f->passes;
	struct fit_places places;
	uint32_t *place;
	double tau, same;

	if (f->w->pipeline.in_memory == WORKLOAD_PRELOADED)
		return fit_reason(f, "pipeline.order", 0,
				  "the samples are in memory: their order is "
				  "not seen");
	/* Samples in any order: the files do not show it. */
	if (format && format->any_order && f->w->dataset.samples_per_file > 1 &&
	    !f->w->access.chain_n && !p->sharded) {
		if (fit_order_of_records(f, &places))
			return -1;
		if (places.reads)
			return put_order(f, places.tau, "reads in the files") ||
			       fit_block(f, places.run_bytes) ||
			       fit_reason(f, "pipeline.reshuffle", 0.3,
					  "not compared: the places of the "
					  "reads of two epochs");
	}
	if (f->mapped && f->records)
		return fit_reason(f, "pipeline.order", 0.2,
				  "the places of pages in the files are not "
				  "seen");
	if (f->files < 4 || each < 4)
		return fit_reason(f, "pipeline.order", 0.2,
				  "too few files to see an order");
	place = places_by_number(f);
	if (!place)
		return -1;
	tau = tau_of(f->visit, each, place);
	free(place);
	if (put_order(f, tau, "files"))
		return -1;
	if (f->passes < 2)
		return fit_reason(f, "pipeline.reshuffle", 0,
				  f->epochs < 2 ? "one epoch was recorded"
						: "one epoch read the files");
	same = same_places(f->visit, f->visit + each, each);
	p->reshuffle = same < 0.5;
	return fit_reason(f, "pipeline.reshuffle", 0.9,
			  "two epochs have the same file at %.0f %% of the "
			  "places",
			  100 * same);
}

/* --- batch ---------------------------------------------------------------- */

static int by_count(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The begin of a visit. */
struct begin {
	int64_t process_id, ns;
};

static int by_begin(const void *a, const void *b)
{
	const struct begin *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* How many of the sorted @begin[@n] are before @key. */
static uint32_t begins_before(const struct begin *begin, uint32_t n,
			      struct begin key)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (by_begin(&begin[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The begins of @n visits, sorted; free(). NULL with f->err. */
static struct begin *sort_begins(const struct fit *f,
				 const struct fit_visit *visit, uint32_t n)
{
	struct begin *begin = reel_alloc((size_t)n + 1, sizeof(*begin), f->err);

	if (!begin)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		begin[i] =
			(struct begin){visit[i].process_id, visit[i].start_ns};
	qsort(begin, n, sizeof(*begin), by_begin);
	return begin;
}

int fit_files_of_batches(struct fit *f, uint32_t first, uint32_t n,
			 uint32_t **counts, uint32_t *counts_n)
{
	struct begin *begin = sort_begins(f, f->visit + first, n);
	uint32_t opens = f->opens_of_sample ? f->opens_of_sample : 1;
	struct reel_view v;
	uint32_t room = 0;
	int rc = 0;

	*counts = NULL;
	*counts_n = 0;
	if (!begin)
		return -1;
	if (!reel_view_open(&v, f->st,
			    "SELECT process_id, start_ns, dur_ns FROM v_span "
			    "WHERE name = 'preprocess' AND closed",
			    f->err))
		while (!rc && reel_view_next(&v)) {
			struct begin from = {reel_view_exact(&v, "process_id"),
					     reel_view_exact(&v, "start_ns")};
			struct begin to = {
				from.process_id,
				from.ns + reel_view_exact(&v, "dur_ns")};
			uint32_t found = begins_before(begin, n, to) -
					 begins_before(begin, n, from);

			if (!found)
				continue;
			rc = reel_array_reach(counts, &room, *counts_n,
					      sizeof(**counts), f->err);
			if (!rc)
				(*counts)[(*counts_n)++] =
					(found + opens - 1) / opens;
		}
	if (reel_view_close(&v))
		rc = -1;
	free(begin);
	if (*counts_n)
		qsort(*counts, *counts_n, sizeof(**counts), by_count);
	return rc;
}

/* Samples that an epoch reads more than once: those of blocks that are read whole for
 * single samples, as row groups, or files that a sampler draws again. @samples become
 * those of an epoch. @files: batches of files were seen. */
static int fit_drawn_again(struct fit *f, bool files, int64_t *samples,
			   int64_t steps)
{
	struct workload *w = f->w;
	int64_t read = steps * w->pipeline.batch;
	int64_t repeats = (read + *samples - 1) / *samples;
	int64_t opens = f->opens_of_sample ? f->opens_of_sample : 1;

	if (files) /* the last batch of an epoch has samples for less */
		files = read - *samples >= f->ranks * w->pipeline.batch &&
			f->visits >= 0.9 * (double)(read * opens * f->passes);
	if ((!f->records && !f->rows_drawn && !files) || repeats < 2 ||
	    w->pipeline.repeats > 1)
		return 0;
	w->pipeline.repeats = repeats;
	*samples *= repeats;
	return fit_reason(f, "pipeline.repeats", 0.7,
			  "an epoch reads %lld samples, and the data set has "
			  "%lld",
			  (long long)read, (long long)(*samples / repeats));
}

/* An epoch may end before all samples were read: the last batch is dropped, or the
 * job counts its steps. */
static int fit_steps_of_epoch(struct fit *f, bool files, int64_t samples,
			      int64_t steps)
{
	struct workload *w = f->w;
	int64_t ranks = f->ranks ? f->ranks : 1, batch = w->pipeline.batch;
	int64_t left;

	if (fit_drawn_again(f, files, &samples, steps))
		return -1;
	left = samples - steps * batch;
	w->pipeline.drop_last = left > 0 && left < ranks * batch;
	if (left >= ranks * batch) {
		w->steps_per_epoch = f->steps_of_epoch;
		return fit_reason(f, "steps_per_epoch", 0.8,
				  "the steps of an epoch read %lld of %lld "
				  "samples",
				  (long long)(steps * batch),
				  (long long)samples);
	}
	if (-left < ranks * batch || samples < steps)
		return 0;
	return fit_reason(
		f, "steps_per_epoch", 0,
		"an epoch of the job had %lld steps, the data set "
		"has samples for %lld: samples were read more than "
		"once",
		(long long)f->steps_of_epoch,
		(long long)((samples + ranks * batch - 1) / (ranks * batch)));
}

/* Count the batches that a step takes: one, or one of each loader of a zip. Workers made
 * @made of them for @steps steps of all ranks, some perhaps in vain; of the fetches of a
 * rank one of each epoch has no batch. */
static int count_batches_of_step(struct fit *f, uint32_t made, int64_t steps)
{
	int64_t *start;
	double taken = 0, most = steps > 0 ? (double)made / (double)steps : 0;
	uint32_t n;

	if (f->inference || most < 1.5)
		return 0;
	if (fit_column(f,
		       "SELECT start_ns AS ns FROM v_fetch WHERE closed AND "
		       "process_id = " FIT_STEPPER,
		       &start, &n)) {
		free(start);
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		taken += !fit_evaluates(f, start[i]);
	free(start);
	taken /= (double)(f->steps + f->epochs);
	taken = taken < most ? taken : most;
	if (taken >= 1.5)
		f->batches_of_step = llround(taken);
	return 0;
}

/* Are the batches of several sizes, beside the last ones of epochs? Steps of the size
 * that is the median then are not as many as those of the job. */
static bool batches_vary(const struct fit *f, const uint32_t *counts,
			 uint32_t n)
{
	const struct workload *w = f->w;
	int64_t round = counts[n / 2] * (f->ranks ? f->ranks : 1);
	int64_t samples = w->dataset.files * w->pipeline.repeats;

	return counts[n / 4] < counts[3 * n / 4] &&
	       (samples + round - 1) / round != f->steps_of_epoch;
}

/* The samples of a step, from those of @n batches; 0: not seen. */
static int64_t samples_of_step(const struct fit *f, const uint32_t *counts,
			       uint32_t n)
{
	double sum = 0;

	if (!n || f->w->dataset.samples_per_file != 1)
		return 0;
	if (f->batches_of_step == 1 && !batches_vary(f, counts, n))
		return counts[n / 2];
	for (uint32_t i = 0; i < n; i++)
		sum += counts[i];
	return llround(sum / n * (double)f->batches_of_step);
}

/* The batches of workers: @n; where they vary, from @least samples to @most. */
struct batches {
	uint32_t n, least, most;
};

/* The samples of a step, as workers or reads of records show them; 0: not seen. */
static int find_batches(struct fit *f, int64_t steps, struct batches *b,
			int64_t *batch)
{
	uint32_t *counts;

	memset(b, 0, sizeof(*b));
	*batch = 0;
	if (fit_files_of_batches(f, 0, f->visits, &counts, &b->n) ||
	    count_batches_of_step(f, b->n, steps)) {
		free(counts);
		return -1;
	}
	*batch = samples_of_step(f, counts, b->n);
	if (*batch && batches_vary(f, counts, b->n)) {
		b->least = counts[0];
		b->most = counts[b->n - 1];
	}
	if (f->records_of_step)
		*batch = f->records_of_step;
	else if (f->records)
		*batch = llround((double)f->records / (double)steps);
	free(counts);
	return 0;
}

/* The batch of @samples in @steps, the last of them short, or the rest behind whole ones
 * dropped, where only that makes as many steps. */
static int64_t batch_of_steps(int64_t samples, int64_t steps)
{
	int64_t most = (samples + steps - 1) / steps, whole = samples / steps;

	if (whole && (samples + most - 1) / most != steps &&
	    samples / whole == steps)
		return whole;
	return most;
}

/* The rows of a step, where the job draws them: an epoch does not read each of @samples
 * once, in @steps steps; 0: it does, or they are not seen. */
static int64_t rows_of_step(struct fit *f, int64_t samples, int64_t steps)
{
	double rows = f->rows_read / (double)steps / (double)f->passes;
	double each = rows * (double)steps / (double)samples;

	double least = f->rows_chunked ? DRAWN_LEAST_CHUNKED : DRAWN_LEAST;

	/* Rows of a block share their chunk. */
	f->rows_drawn = rows >= 0.5 && fabs(each - 1) > least &&
			!f->w->pipeline.in_memory &&
			!(f->rows_chunked && f->w->pipeline.block > 1);
	return f->rows_drawn ? llround(rows) : 0;
}

static int fit_batch(struct fit *f)
{
	struct workload *w = f->w;
	int64_t samples = w->dataset.files * w->dataset.samples_per_file *
			  w->pipeline.repeats;
	int64_t ranks = f->ranks ? f->ranks : 1;
	int64_t steps = f->steps_of_epoch * ranks;
	int64_t batch, read = 0, batch_of_visits = 0;
	struct batches b;
	double opens = f->opens_of_sample ? f->opens_of_sample : 1;

	f->batches_of_step = 1;
	if (!steps)
		return fit_reason(f, "pipeline.batch", 0,
				  "no steps were marked");
	if (find_batches(f, f->steps * ranks, &b, &batch))
		return -1;
	if (f->sample_a_visit || w->dataset.samples_per_file == 1)
		read = llround((double)f->visits / opens / (double)f->passes);
	if (!batch)
		batch = rows_of_step(f, samples, steps);
	if (read >= steps && read < samples)
		batch_of_visits = (read + steps / 2) / steps;
	w->pipeline.batch = batch	      ? batch
			    : batch_of_visits ? batch_of_visits
					      : batch_of_steps(samples, steps);
	if (fit_steps_of_epoch(f, batch && !f->records, samples, steps))
		return -1;
	if (f->records_of_step)
		return fit_reason(f, "pipeline.batch", 0.6,
				  "%lld of %u samples in a step, as a rule",
				  (long long)f->records_of_step, f->records);
	if (f->records)
		return fit_reason(f, "pipeline.batch", 0.8,
				  "%u reads of samples in %lld steps",
				  f->records, (long long)(f->steps * ranks));
	if (f->rows_drawn)
		return fit_reason(f, "pipeline.batch", 0.5,
				  "reads of %s in %lld steps, which are not "
				  "those of the files once in an epoch; rows "
				  "of one read count as one",
				  f->windows ? "windows" : "rows",
				  (long long)(f->steps * ranks));
	if (batch && f->batches_of_step > 1)
		return fit_reason(f, "pipeline.batch", 0.8,
				  "files that a worker read for each of %u "
				  "batches; a step takes %lld of them, which "
				  "are one of the benchmark",
				  b.n, (long long)f->batches_of_step);
	if (b.most)
		return fit_reason(f, "pipeline.batch", 0.5,
				  "the mean of the %u to %u files that a "
				  "worker read for each of %u batches",
				  b.least, b.most, b.n);
	if (batch)
		return fit_reason(f, "pipeline.batch", 0.95,
				  "files that a worker read for each of %u "
				  "batches",
				  b.n);
	if (batch_of_visits)
		return fit_reason(f, "pipeline.batch", 0.6,
				  "%lld samples were read in %lld steps of an "
				  "epoch; some of them may have been read "
				  "ahead in vain",
				  (long long)read, (long long)steps);
	if (f->mapped)
		return fit_reason(f, "pipeline.batch", 0.1,
				  "a sample stands for all that a step reads");
	if (samples < steps)
		return fit_reason(
			f, "pipeline.batch", 0,
			"%lld samples in %lld steps of an epoch: the "
			"steps read parts of them, and how many is not "
			"seen",
			(long long)samples, (long long)steps);
	return fit_reason(f, "pipeline.batch", 0.7,
			  "%lld samples in %lld steps of an epoch",
			  (long long)samples, (long long)steps);
}

int fit_pipeline(struct fit *f)
{
	f->w->synchronise.kind =
		f->ranks > 1 ? WORKLOAD_ALLREDUCE : WORKLOAD_ALONE;
	return fit_sharded(f) || fit_order(f) || fit_batch(f) ||
	       fit_readers(f) || fit_processor(f) || fit_prefetch(f) ||
	       fit_open_files(f) || fit_preprocess(f) || fit_times(f);
}
