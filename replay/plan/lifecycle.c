/* SPDX-License-Identifier: MIT */
/* Reads forks, spans and the ends of processes from a store. */
#include "replay/plan/compile.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/store.h"

#include "replay/model/plan.h"
#include "replay/model/recorded_job.h"

static int add_event(struct lifecycle *in, const struct lifecycle_event *new,
		     struct reel_error *err)
{
	if (reel_array_reach(&in->at, &in->room, in->n, sizeof(*in->at), err))
		return -1;
	in->at[in->n] = *new;
	in->at[in->n].order = in->n;
	in->n++;
	return 0;
}

static int add_processes(struct lifecycle *in, const struct job *job,
			 struct reel_error *err)
{
	for (uint32_t i = 0; i < job->processes; i++) {
		const struct job_process *p = &job->process[i];
		struct lifecycle_event fork = {.at_ns = p->start_ns,
					       .arg = i,
					       .stream = p->fork_stream,
					       .op = PLAN_OP_FORK};
		struct lifecycle_event end = {.at_ns = p->end_ns,
					      .stream = p->stream,
					      .op = PLAN_OP_END};

		if (!p->streams)
			continue;
		if ((p->parent != JOB_NONE && add_event(in, &fork, err)) ||
		    add_event(in, &end, err))
			return -1;
	}
	return 0;
}

static int add_span(struct job *job, sqlite3_stmt *q, void *arg,
		    struct reel_error *err)
{
	struct lifecycle *in = arg;
	int64_t thread = sqlite3_column_int64(q, 0);
	int64_t start = sqlite3_column_int64(q, 1);
	int64_t dur = sqlite3_column_int64(q, 2);
	struct lifecycle_event begin = {.arg = sqlite3_column_int64(q, 3),
					.arg2 = sqlite3_column_int64(q, 5),
					.op = PLAN_OP_SPAN_BEGIN};
	struct lifecycle_event end = {.arg = begin.arg, .op = PLAN_OP_SPAN_END};
	const char *name = (const char *)sqlite3_column_text(q, 4);

	if (thread <= 0 || thread >= job->thread_ids ||
	    job->stream_of[thread] == JOB_NONE || dur < 0 ||
	    start < INT64_MIN / 4 || start > INT64_MAX / 4 ||
	    dur > INT64_MAX / 4)
		return 0;
	begin.stream = end.stream = job->stream_of[thread];
	begin.at_ns = start;
	end.at_ns = start + (dur ? dur : 1); /* after its begin */
	if (begin.arg == REEL_SPAN_USER && name) {
		begin.name = reel_strdup(name, err);
		end.name = reel_strdup(name, err);
		if (!begin.name || !end.name)
			goto fail;
	}
	if (add_event(in, &begin, err))
		goto fail;
	begin.name = NULL;
	if (!sqlite3_column_int(q, 6)) /* it never ended */
		free(end.name);
	else if (add_event(in, &end, err))
		goto fail;
	return 0;
fail:
	free(begin.name);
	free(end.name);
	return -1;
}

/* At the same time: ends before begins, inner ends first, PLAN_OP_END last. */
static int by_time(const void *a, const void *b)
{
	const struct lifecycle_event *x = a, *y = b;
	int p, q;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	p = x->op == PLAN_OP_END;
	q = y->op == PLAN_OP_END;
	if (p != q)
		return p - q;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	p = x->op == PLAN_OP_SPAN_END;
	q = y->op == PLAN_OP_SPAN_END;
	if (p != q)
		return q - p;
	if (x->order == y->order)
		return 0;
	return (x->order < y->order) == !p ? -1 : 1;
}

int lifecycle_read(struct lifecycle *in, struct job *job, struct reel_store *st,
		   struct reel_error *err)
{
	static const char spans[] =
		"SELECT thread_id, start_ns, dur_ns, kind, name,"
		" coalesce(detail, -1), closed FROM span ORDER BY span_id";

	if (add_processes(in, job, err) ||
	    job_each_row(job, st, spans, add_span, in, err))
		return -1;
	if (in->n)
		qsort(in->at, in->n, sizeof(*in->at), by_time);
	return 0;
}

void lifecycle_fini(struct lifecycle *in)
{
	for (size_t i = 0; i < in->n; i++)
		free(in->at[i].name);
	free(in->at);
	memset(in, 0, sizeof(*in));
}
