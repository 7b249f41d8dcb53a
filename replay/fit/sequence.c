/* SPDX-License-Identifier: MIT */
/*
 * Files of several sizes that are read by the same reads, as archives of torch.load():
 * the place of each read follows from the read before it, or from the start or the end
 * of the file, and so does its size.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

#define READS_MOST 1000000 /* that are looked at */
#define LENGTH_MOST 47	   /* reads of a file */
#define VISITS_LEAST 8
#define ALIKE_LEAST 0.95 /* of the visits */
#define NEAR 64		 /* bytes: numbers in an archive take one to ten */

struct read {
	int64_t offset, bytes, end; /* the last: of the read before it */
	int64_t size;		    /* of the file */
};

struct visit {
	uint32_t first, reads;
};

struct sequence {
	struct read *read; /* by visits */
	struct visit *visit;
	uint32_t reads, reads_room, visits, visits_room;
	int64_t *value; /* of each visit */
};

/* --- visits --------------------------------------------------------------- */

static int add_read(struct fit *f, struct sequence *s, struct reel_view *v,
		    int64_t size, bool begins)
{
	struct read *to;

	if (reel_array_reach(&s->read, &s->reads_room, s->reads,
			     sizeof(*s->read), f->err) ||
	    (begins && reel_array_reach(&s->visit, &s->visits_room, s->visits,
					sizeof(*s->visit), f->err)))
		return -1;
	if (begins)
		s->visit[s->visits++] = (struct visit){s->reads, 0};
	to = &s->read[s->reads++];
	to->offset = reel_view_exact(v, "offset");
	to->bytes = reel_view_exact(v, "bytes");
	to->end = begins ? 0 : to[-1].offset + to[-1].bytes;
	to->size = size;
	s->visit[s->visits - 1].reads++;
	return 0;
}

static int load_visits(struct fit *f, struct sequence *s)
{
	int64_t process = -1, open = -1;
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT path, process_id, open_id, start_ns, offset, "
		    "bytes FROM v_event WHERE class = 'data' AND "
		    "call_group = 'read' AND bytes > 0 AND offset IS NOT "
		    "NULL ORDER BY process_id, open_id, start_ns",
		    f->err))
		while (!rc && s->reads < READS_MOST && reel_view_next(&v)) {
			const struct fit_file *file =
				fit_find(f, reel_view_text(&v, "path"));
			int64_t of = reel_view_exact(&v, "process_id");
			int64_t id = reel_view_exact(&v, "open_id");

			if (!file)
				continue;
			rc = add_read(f, s, &v, file->size,
				      of != process || id != open);
			process = of;
			open = id;
		}
	return reel_view_close(&v) || rc ? -1 : 0;
}

/* Keep the visits of as many reads as most have; 0: they are too few, or too long. */
static uint32_t keep_alike(struct sequence *s)
{
	uint32_t count[LENGTH_MOST + 1] = {0}, best = 0, kept = 0;

	for (uint32_t i = 0; i < s->visits; i++)
		if (s->visit[i].reads <= LENGTH_MOST)
			count[s->visit[i].reads]++;
	for (uint32_t n = 2; n <= LENGTH_MOST; n++)
		if (count[n] > count[best])
			best = n;
	if (count[best] < VISITS_LEAST || count[best] < ALIKE_LEAST * s->visits)
		return 0;
	for (uint32_t i = 0; i < s->visits; i++)
		if (s->visit[i].reads == best)
			s->visit[kept++] = s->visit[i];
	s->visits = kept;
	return best;
}

/* --- places and sizes ----------------------------------------------------- */

static int64_t from_last(const struct read *r)
{
	return r->offset - r->end;
}

static int64_t from_start(const struct read *r)
{
	return r->offset;
}

static int64_t from_end(const struct read *r)
{
	return r->offset - r->size;
}

static int64_t bytes_of(const struct read *r)
{
	return r->bytes;
}

static int64_t rest_of(const struct read *r)
{
	return r->size - r->offset - r->bytes;
}

/* The median of @of for the read @k of each visit; false: most are not near it. */
static bool find_common(struct sequence *s, uint32_t k,
			int64_t (*of)(const struct read *), int64_t *out)
{
	uint32_t near = 0;

	for (uint32_t i = 0; i < s->visits; i++)
		s->value[i] = of(&s->read[s->visit[i].first + k]);
	*out = fit_median(s->value, s->visits);
	for (uint32_t i = 0; i < s->visits; i++)
		near += s->value[i] >= *out - NEAR &&
			s->value[i] <= *out + NEAR;
	return near >= ALIKE_LEAST * s->visits;
}

/* Find the state of the read @k. False: visits have others there. */
static bool find_state(struct sequence *s, uint32_t k,
		       struct workload_access_state *to)
{
	/* A file's start or end first: no error of it is passed on. */
	if (find_common(s, k, from_start, &to->stride))
		to->from = WORKLOAD_START;
	else if (find_common(s, k, from_end, &to->stride))
		to->from = WORKLOAD_END;
	else if (!find_common(s, k, from_last, &to->stride))
		return false;
	if (find_common(s, k, bytes_of, &to->bytes))
		return to->bytes > 0;
	to->to_end = true;
	return find_common(s, k, rest_of, &to->bytes);
}

static int put_states(struct fit *f, const struct workload_access_state *state,
		      uint32_t n)
{
	struct workload_access *a = &f->w->access;

	a->chain = reel_alloc(n, sizeof(*a->chain), f->err);
	if (!a->chain)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		struct workload_access_state *to = &a->chain[a->chain_n++];

		*to = state[i];
		to->next = reel_alloc(n, sizeof(*to->next), f->err);
		if (!to->next)
			return -1;
		to->next_n = n;
		to->next[(i + 1) % n] = 1;
	}
	return fit_reason(f, "access.chain", 0.9,
			  "%u opens of files of several sizes make the same %u "
			  "reads, at places that follow from their ends",
			  f->visits, n)
		       ? -1
		       : 1;
}

/* Each in turn, where one sample of a file is one visit. */
int fit_sequence(struct fit *f)
{
	struct workload_access_state state[LENGTH_MOST] = {0};
	struct sequence s = {.reads = 0};
	uint32_t n = 0, k = 0;
	int rc;

	if (f->w->dataset.samples_per_file != 1 || f->sample_a_visit ||
	    f->w->access.looks)
		return 0;
	rc = load_visits(f, &s);
	if (!rc)
		n = keep_alike(&s);
	if (n) {
		s.value = reel_alloc(s.visits, sizeof(*s.value), f->err);
		rc = s.value ? 0 : -1;
	}
	while (!rc && k < n && find_state(&s, k, &state[k]))
		k++;
	if (!rc && n && k == n)
		rc = put_states(f, state, n);
	free(s.read);
	free(s.visit);
	free(s.value);
	return rc;
}
