/* SPDX-License-Identifier: MIT */
/* Which samples a reader reads. */
#include "replay/pipeline/schedule.h"

#include <string.h>

#include "replay/workload/quantiles.h"

void schedule_init(struct schedule *s, const struct workload *w,
		   enum dataset_part part, bool any_order, uint64_t rank,
		   uint64_t ranks)
{
	const struct workload_pipeline *p = &w->pipeline;
	bool train = part == DATASET_TRAIN;

	memset(s, 0, sizeof(*s));
	dataset_init(&s->data, w, part);
	s->files = s->data.files * (train ? (uint64_t)p->repeats : 1);
	s->samples = s->files * s->data.samples_per_file;
	s->any_order = any_order;
	s->rank = rank;
	s->ranks = ranks;
	s->readers = p->readers ? (uint64_t)p->readers : 1;
	s->batch = (uint64_t)(train ? p->batch : w->evaluation.batch);
	s->window = (uint64_t)p->window;
	s->block = any_order ? (uint64_t)p->block : 1;
	s->order = train ? p->order : WORKLOAD_SEQUENTIAL;
	s->drop_last = train && p->drop_last;
	s->reshuffle = p->reshuffle;
	s->seed = (uint64_t)p->seed;
}

static uint64_t seed_of(const struct schedule *s, uint64_t epoch)
{
	uint64_t state = s->seed + (s->reshuffle ? epoch : 0);

	return random_next(&state);
}

/* The item at position @i of @n in the order of @epoch. */
static uint64_t item_at(const struct schedule *s, uint64_t epoch, uint64_t i,
			uint64_t n)
{
	uint64_t first, size, blocks = n / s->block;

	switch (s->order) {
	case WORKLOAD_SHUFFLE: /* what is no whole block comes last */
		if (i / s->block >= blocks)
			return i;
		return permuted(i / s->block, blocks, seed_of(s, epoch)) *
			       s->block +
		       i % s->block;
	case WORKLOAD_WINDOW: /* within each window */
		first = i / s->window * s->window;
		size = n - first < s->window ? n - first : s->window;
		return first +
		       permuted(i - first, size, seed_of(s, epoch) ^ first);
	default:
		return i;
	}
}

/* --- any order ------------------------------------------------------------ */

/* Batches of rank @rank, all readers together. */
static uint64_t rank_batches(const struct schedule *s, uint64_t rank)
{
	uint64_t n = s->samples, round = s->ranks * s->batch;
	uint64_t whole = n / round, left = n % round;

	if (s->drop_last)
		return whole;
	return whole + (left > rank * s->batch);
}

static uint64_t any_order_batches(const struct schedule *s, uint64_t reader)
{
	uint64_t n = rank_batches(s, s->rank);

	return n > reader ? (n - reader - 1) / s->readers + 1 : 0;
}

static bool any_order_next(const struct schedule *s, struct schedule_cursor *c,
			   uint64_t *sample)
{
	uint64_t step = c->batch * s->readers + c->reader;
	uint64_t i = (step * s->ranks + s->rank) * s->batch + c->at;

	if (c->at == s->batch || i >= s->samples)
		return false;
	*sample = item_at(s, c->epoch, i, s->samples) % s->data.samples;
	return true;
}

/* --- streams -------------------------------------------------------------- */

/* The first file of a reader; the others follow at distances of all readers. */
static uint64_t stream_slot(const struct schedule *s, uint64_t rank,
			    uint64_t reader)
{
	return reader * s->ranks + rank;
}

/* Files of reader @reader of rank @rank, and so its samples. */
static uint64_t stream_samples(const struct schedule *s, uint64_t rank,
			       uint64_t reader)
{
	uint64_t all = s->ranks * s->readers;
	uint64_t slot = stream_slot(s, rank, reader);
	uint64_t files = s->files > slot ? (s->files - slot - 1) / all + 1 : 0;

	return files * s->data.samples_per_file;
}

static uint64_t stream_batches(const struct schedule *s, uint64_t rank,
			       uint64_t reader)
{
	uint64_t n = stream_samples(s, rank, reader);

	return n / s->batch + (!s->drop_last && n % s->batch);
}

static bool stream_next(const struct schedule *s, struct schedule_cursor *c,
			uint64_t *sample)
{
	uint64_t all = s->ranks * s->readers;
	uint64_t position =
		c->file_position * all + stream_slot(s, s->rank, c->reader);

	if (c->at == s->batch || position >= s->files)
		return false;
	/* Files are shuffled; the order within a file is that of the file. */
	if (!c->in_file)
		c->file = item_at(s, c->epoch, position, s->files) %
			  s->data.files;
	*sample = c->file * s->data.samples_per_file + c->in_file;
	if (++c->in_file == s->data.samples_per_file) {
		c->in_file = 0;
		c->file_position++;
	}
	return true;
}

/* --- both ----------------------------------------------------------------- */

uint64_t schedule_batches(const struct schedule *s, uint64_t reader)
{
	return s->any_order ? any_order_batches(s, reader)
			    : stream_batches(s, s->rank, reader);
}

uint64_t schedule_steps(const struct schedule *s)
{
	uint64_t steps = s->drop_last ? UINT64_MAX : 0;

	/* The first rank has the most in either case, the last one the fewest. */
	for (uint64_t rank = 0;
	     rank<s->ranks; rank += s->ranks> 1 ? s->ranks - 1 : 1) {
		uint64_t n = 0;

		if (s->any_order)
			n = rank_batches(s, rank);
		for (uint64_t i = 0; !s->any_order && i < s->readers; i++)
			n += stream_batches(s, rank, i);
		if (s->drop_last ? n < steps : n > steps)
			steps = n;
	}
	return steps;
}

void schedule_begin(const struct schedule *s, struct schedule_cursor *c,
		    uint64_t epoch, uint64_t reader)
{
	memset(c, 0, sizeof(*c));
	c->epoch = epoch;
	c->reader = reader;
	c->batches = schedule_batches(s, reader);
}

bool schedule_next(const struct schedule *s, struct schedule_cursor *c,
		   uint64_t *sample, bool *end)
{
	if (c->batch < c->batches &&
	    (s->any_order ? any_order_next(s, c, sample)
			  : stream_next(s, c, sample))) {
		c->at++;
		return true;
	}
	c->at = 0;
	c->batch++;
	*end = c->batch >= c->batches;
	return false;
}
