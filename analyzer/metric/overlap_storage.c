/* SPDX-License-Identifier: MIT */
/*
 * Exposed reads: the parts of reads from storage during which their rank did
 * not compute.
 *
 * An unknown step may have computed or not: reads in it do not count as
 * exposed.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"

#include "analyzer/metric/overlap.h"

static struct reel_interval_stream *new_stream(struct overlap_storage *s,
					       struct overlap_job *job,
					       struct reel_error *err)
{
	struct reel_interval_stream *out;

	if (reel_array_reach(&s->of_rank, &s->room, s->n, sizeof(*s->of_rank),
			     err))
		return NULL;
	out = s->of_rank[s->n] = reel_alloc(1, sizeof(*out), err);
	if (!out)
		return NULL;
	s->n++;
	reel_interval_stream_begin(out, job->log, job->streams++,
				   OVERLAP_HELD_MANY);
	return out;
}

/* Add the read streams of @process; returns their number, or -1. */
static int add_fetched(struct reel_interval_merge *m,
		       const struct overlap_process *process,
		       struct reel_error *err)
{
	const struct overlap_stream *s = process->stream;
	int n = 0;

	for (; s; s = s->next) {
		if (s->kind != OVERLAP_FETCHED)
			continue;
		if (reel_interval_merge_add(m, &s->s, 0, err))
			return -1;
		n++;
	}
	return n;
}

/* Add the parts of the read @iv that @hidden does not cover. */
static int add_read(struct overlap_storage *s, struct reel_interval_stream *out,
		    struct reel_interval_window *hidden,
		    const struct reel_interval *iv, struct reel_error *err)
{
	struct reel_interval part = {iv->start_ns, 0, 0, 0};
	bool any = false;
	uint32_t i;

	if (reel_interval_window_move(hidden, iv->start_ns, iv->end_ns, err))
		return -1;
	for (i = hidden->first; i <= hidden->n; i++) {
		bool last =
			i == hidden->n || hidden->iv[i].start_ns >= iv->end_ns;

		part.end_ns = last ? iv->end_ns : hidden->iv[i].start_ns;
		if (part.start_ns < part.end_ns) {
			any = true;
			if (reel_interval_stream_add(out, &part, err))
				return -1;
		}
		if (last)
			break;
		part.start_ns = hidden->iv[i].end_ns;
	}
	if (!any)
		return 0;
	s->reads += iv->write_bytes;
	s->bytes += iv->read_bytes;
	s->read_ns += iv->end_ns - iv->start_ns;
	return 0;
}

/* Add all reads of @m, without the parts that @hidden covers. */
static int add_reads(struct overlap_storage *s, struct overlap_job *job,
		     struct reel_interval_merge *m,
		     struct reel_interval_window *hidden,
		     struct reel_error *err)
{
	struct reel_interval_stream *out = new_stream(s, job, err);
	const struct reel_interval *iv;
	int more;

	if (!out)
		return -1;
	while ((more = reel_interval_merge_next(m, &iv, NULL, err)) > 0)
		if (add_read(s, out, hidden, iv, err))
			return -1;
	return more || reel_interval_stream_end(out, err) ||
			       reel_interval_merge_add(&s->exposed, out, 0, err)
		       ? -1
		       : 0;
}

/* Add the steps with unknown computation. */
static int add_unknown(struct reel_interval_stream *out,
		       const struct overlap_rank *r, struct reel_error *err)
{
	uint32_t i;

	for (i = 0; i < r->steps; i++) {
		const struct overlap_step *s = &r->step[i];
		struct reel_interval iv = {s->start_ns, s->start_ns + s->dur_ns,
					   0, 0};

		if (!s->compute_known &&
		    reel_interval_stream_add(out, &iv, err))
			return -1;
	}
	return reel_interval_stream_end(out, err);
}

int overlap_storage_rank(struct overlap_storage *s, struct overlap_job *job,
			 const struct overlap_rank *r, struct reel_error *err)
{
	struct reel_interval_stream unknown = {0};
	struct reel_interval_window hidden = {0};
	struct reel_interval_merge m = {0};
	uint32_t i = job->process[r->process].first;
	int rc = -1, n = 0, any = 0;

	for (; i && n >= 0; i = job->process[i].next, any += n)
		n = add_fetched(&m, &job->process[i], err);
	if (n < 0 || !any) {
		rc = n < 0 ? -1 : 0;
		goto out;
	}
	reel_interval_stream_begin(&unknown, job->log, job->streams++,
				   OVERLAP_HELD);
	if (!add_unknown(&unknown, r, err) &&
	    !reel_interval_merge_add(&hidden.m, &unknown, 0, err) &&
	    !reel_interval_merge_add(&hidden.m, &r->computed, 0, err))
		rc = add_reads(s, job, &m, &hidden, err);
out:
	reel_interval_merge_fini(&m);
	reel_interval_window_fini(&hidden);
	reel_interval_stream_fini(&unknown);
	return rc;
}

/* Nothing hides the reads of a process without a rank: they are exposed as they
 * are. */
int overlap_storage_process(struct overlap_storage *s,
			    const struct overlap_process *process,
			    struct reel_error *err)
{
	for (const struct overlap_stream *t = process->stream; t; t = t->next) {
		if (t->kind != OVERLAP_FETCHED)
			continue;
		if (reel_interval_merge_add(&s->exposed, &t->s, 0, err))
			return -1;
		s->reads += t->reads;
		s->bytes += t->bytes;
		s->read_ns += reel_interval_stream_ns(&t->s);
	}
	return 0;
}

int64_t overlap_storage_exposed_ns(struct overlap_storage *s,
				   int64_t storage_ns, struct reel_error *err)
{
	return s->n ? reel_interval_merge_union_ns(&s->exposed, err)
		    : storage_ns;
}

void overlap_storage_fini(struct overlap_storage *s)
{
	uint32_t i;

	reel_interval_merge_fini(&s->exposed);
	for (i = 0; i < s->n; i++) {
		reel_interval_stream_fini(s->of_rank[i]);
		free(s->of_rank[i]);
	}
	free(s->of_rank);
}
