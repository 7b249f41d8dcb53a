/* SPDX-License-Identifier: MIT */
#include "replay/plan/enclosing.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/event.h"
#include "lib/store/store.h"

#include "replay/model/classify.h"
#include "replay/model/recorded_job.h"

struct enclosing_call {
	int64_t start_ns, end_ns;
	uint32_t index;
	uint16_t call;
	bool met; /* its event; an equal one is another call */
};

static int add(struct enclosing *e, const struct enclosing_call *a,
	       struct reel_error *err)
{
	if (reel_array_reach(&e->at, &e->room, e->n, sizeof(*e->at), err))
		return -1;
	e->at[e->n++] = *a;
	return 0;
}

/* Events in the order of starts: each is compared with the next one. */
static int read_events(struct enclosing *e, struct reel_events *it,
		       struct reel_error *err)
{
	struct enclosing_call last = {0};
	int64_t collective_end_ns = INT64_MIN;
	bool any = false;
	struct reel_event ev;
	int more;

	while ((more = reel_events_next(it, &ev, err)) > 0) {
		unsigned int phase = collective_phase(&ev);
		struct enclosing_call now = {
			.start_ns = ev.start_ns,
			.end_ns = ev.start_ns + ev.dur_ns,
			.call = ev.call,
		};

		/* The target of a copy has the number of the copy. */
		if ((!phase && !is_replayable(&ev)) ||
		    ev.call == REEL_CALL_COPY_OUT)
			continue;
		if (any && last.end_ns > now.start_ns && add(e, &last, err))
			return -1;
		/* The leaving is numbered at the end of the collective. */
		any = !phase || phase & COLLECTIVE_ARRIVE;
		if (any && now.start_ns < collective_end_ns &&
		    now.end_ns > collective_end_ns) {
			if (add(e, &now, err))
				return -1;
			any = false;
		}
		last = now;
		if (phase & COLLECTIVE_LEAVE && now.end_ns > collective_end_ns)
			collective_end_ns = now.end_ns;
	}
	return more;
}

/* Sets @has, by stream: its process has calls that may enclose others. */
static int find_streams(bool *has, const struct job *job, struct reel_store *st,
			struct reel_error *err)
{
	static const char sql[] =
		"SELECT DISTINCT process_id FROM rollup JOIN call USING "
		"(call_id) WHERE layer IN ('ASYNC', 'MPIIO')";
	sqlite3_stmt *stmt = NULL;
	int step;

	if (reel_store_prepare(st, &stmt, sql, err))
		return -1;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(stmt, 0);

		for (uint32_t i = 0; i < job->streams; i++)
			if (job->process[job->stream[i].process].id == id)
				has[i] = true;
	}
	sqlite3_finalize(stmt);
	return step == SQLITE_DONE
		       ? 0
		       : reel_fail(err, REEL_E_DB, "cannot read store '%s': %s",
				   st->path, sqlite3_errmsg(st->db));
}

int enclosing_read(struct enclosing *e, const struct job *job,
		   struct reel_store *st, struct reel_error *err)
{
	bool *has = reel_alloc((size_t)job->streams + 1, sizeof(*has), err);
	int rc = -1;

	e->first = reel_alloc((size_t)job->streams + 1, sizeof(*e->first), err);
	e->next = reel_alloc((size_t)job->streams + 1, sizeof(*e->next), err);
	if (!has || !e->first || !e->next || find_streams(has, job, st, err))
		goto out;
	for (uint32_t i = 0; i < job->streams; i++) {
		struct reel_events *it = NULL;

		e->first[i] = e->next[i] = e->n;
		if (!has[i])
			continue;
		if (reel_events_open(&it, st, job->stream[i].id, err))
			goto out;
		if (read_events(e, it, err)) {
			reel_events_close(it);
			goto out;
		}
		reel_events_close(it);
	}
	e->first[job->streams] = e->n;
	rc = 0;
out:
	free(has);
	return rc;
}

void enclosing_fini(struct enclosing *e)
{
	free(e->at);
	free(e->first);
	free(e->next);
}

/* The index in @e->at of @ev, or the end of its stream. */
static uint32_t find(const struct enclosing *e, uint32_t stream,
		     const struct reel_event *ev)
{
	uint32_t lo = e->first[stream], end = e->first[stream + 1], hi = end;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (e->at[mid].start_ns < ev->start_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < end && e->at[lo].start_ns == ev->start_ns; lo++)
		if (!e->at[lo].met &&
		    e->at[lo].end_ns == ev->start_ns + ev->dur_ns &&
		    e->at[lo].call == ev->call)
			return lo;
	return end;
}

void enclosing_number_until(struct enclosing *e, uint32_t stream,
			    int64_t until_ns, uint32_t *calls)
{
	uint32_t *next = &e->next[stream];

	while (*next < e->first[stream + 1] && e->at[*next].start_ns < until_ns)
		e->at[(*next)++].index = (*calls)++;
}

uint32_t enclosing_number(struct enclosing *e, uint32_t stream,
			  const struct reel_event *ev, uint32_t *calls)
{
	uint32_t own = find(e, stream, ev);

	enclosing_number_until(e, stream, ev->start_ns, calls);
	if (own == e->first[stream + 1])
		return (*calls)++;
	e->at[own].met = true;
	while (e->next[stream] <= own)
		e->at[e->next[stream]++].index = (*calls)++;
	return e->at[own].index;
}
