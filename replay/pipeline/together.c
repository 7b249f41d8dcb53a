/* SPDX-License-Identifier: MIT */
/*
 * Ranks that read together make the same calls in the same order. Which they are
 * follows from the schedules of all ranks, which each rank goes through for itself.
 */
#include "replay/pipeline/together.h"

#include <stdlib.h>

#include "lib/error.h"

#include "replay/mpiio/mpiio.h"
#include "replay/pipeline/schedule.h"

struct together {
	const struct schedule *own;
	struct mpiio_shared *files;
	struct schedule
		*of; /* each rank: its schedule, and where it is in it */
	struct schedule_cursor *at;
	bool *done; /* with its batch */
	uint64_t *sample;
};

int together_new(struct together **out, const struct schedule *own,
		 struct io *io, struct reel_error *err)
{
	struct together *t = reel_alloc(1, sizeof(*t), err);
	uint64_t n = own->ranks;

	if (!t)
		return -1;
	t->own = own;
	t->of = reel_alloc(n, sizeof(*t->of), err);
	t->at = reel_alloc(n, sizeof(*t->at), err);
	t->done = reel_alloc(n, sizeof(*t->done), err);
	t->sample = reel_alloc(n, sizeof(*t->sample), err);
	if (!t->of || !t->at || !t->done || !t->sample ||
	    mpiio_shared_new(&t->files, &own->data, io, err)) {
		together_free(t, NULL);
		return -1;
	}
	for (uint64_t i = 0; i < n; i++) {
		t->of[i] = *own;
		t->of[i].rank = i;
	}
	*out = t;
	return 0;
}

void together_epoch(struct together *t, uint64_t epoch)
{
	for (uint64_t i = 0; i < t->own->ranks; i++) {
		schedule_begin(&t->of[i], &t->at[i], epoch, 0);
		t->done[i] = false;
	}
}

bool together_next(struct together *t, uint64_t *sample, bool *end)
{
	uint64_t n = t->own->ranks;
	bool any = false, last = true;

	for (uint64_t i = 0; i < n; i++) {
		bool ended = false;

		if (!t->done[i] && schedule_next(&t->of[i], &t->at[i],
						 &t->sample[i], &ended)) {
			any = true;
			continue;
		}
		t->sample[i] = MPIIO_NONE;
		t->done[i] = true;
	}
	*sample = t->sample[t->own->rank];
	if (any)
		return true;
	for (uint64_t i = 0; i < n; i++) {
		t->done[i] = false;
		if (t->at[i].batch < t->at[i].batches)
			last = false;
	}
	*end = last;
	return false;
}

int together_read(struct together *t, struct format_sample *out,
		  struct reel_error *err)
{
	return mpiio_shared_read(t->files, t->sample, (int)t->own->ranks,
				 (int)t->own->rank, out, err);
}

int together_free(struct together *t, struct reel_error *err)
{
	int rc = 0;

	if (!t)
		return 0;
	rc = mpiio_shared_free(t->files, err);
	free(t->of);
	free(t->at);
	free(t->done);
	free(t->sample);
	free(t);
	return rc;
}
