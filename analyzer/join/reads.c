/* SPDX-License-Identifier: MIT */
/*
 * A shift from reads of one store beside fetch spans of the other.
 *
 * Reads of a thread come in bursts. A burst that follows a pause begins after the
 * fetch that needs it does; or, in a loader worker, when the end of a fetch hands
 * out the next batch. A burst ends before the fetch that gets its data. So the shift is
 * below the votes of the starts of bursts, and above those of their ends. The distinct
 * peak of any finds the place, and those around it are the limits of the shift.
 */
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"
#include "lib/store/store.h"

#include "analyzer/join/align.h"

#define GAP_LEAST_NS 200000 /* between two bursts */
#define BURSTS_MOST 1000000
#define FETCHES_MOST 1000000
#define EDGE .1 /* votes beyond it are taken for outliers */
#define REACH_MOST_NS 20000000
#define LIMIT_WIDTH_NS 500000 /* delays vary by that much */
/* Shares of the fetches that vote for a limit, at least: by chance it is fewer. */
#define HIGH_LEAST .5
#define LOW_LEAST .3

/* Reads of a thread without a longer gap. */
struct burst {
	uint32_t thread;
	int64_t start_ns, end_ns;
};

struct bursts {
	struct burst *at;
	size_t n, room;
	uint32_t *last; /* by thread: its last burst + 1 */
	uint32_t threads;
	bool *wanted; /* by thread */
	int64_t *pid; /* by thread; 0: not known */
};

struct fetches {
	struct join_series start, end;
	int64_t rank; /* of all; REEL_NO_OFFSET: not known */
	int64_t pid;  /* of all; 0: not known, or of several */
};

/* --- the sides ------------------------------------------------------------ */

static int read_fetches(struct fetches *f, const struct join_source *source,
			struct reel_error *err)
{
	static const char sql[] =
		"WITH f AS MATERIALIZED (SELECT s.start_ns, s.dur_ns, p.rank, "
		"p.pid "
		"FROM span s JOIN thread t USING (thread_id) "
		"JOIN process p USING (process_id) "
		"WHERE s.name = 'fetch' AND s.closed) "
		"SELECT start_ns, start_ns + dur_ns, rank, pid FROM f "
		"WHERE rank IS (SELECT min(rank) FROM f) ORDER BY start_ns";
	sqlite3_stmt *q = NULL;
	int rc = reel_store_prepare(source->st, &q, sql, err);

	f->rank = REEL_NO_OFFSET;
	f->pid = -1;
	while (!rc && f->start.n < FETCHES_MOST &&
	       sqlite3_step(q) == SQLITE_ROW) {
		rc = join_series_add(&f->start, sqlite3_column_int64(q, 0),
				     err) ||
		     join_series_add(&f->end, sqlite3_column_int64(q, 1), err);
		if (f->pid != sqlite3_column_int64(q, 3))
			f->pid = f->pid < 0 ? sqlite3_column_int64(q, 3) : 0;
		if (sqlite3_column_type(q, 2) != SQLITE_NULL)
			f->rank = sqlite3_column_int64(q, 2);
	}
	sqlite3_finalize(q);
	return rc ? -1 : 0;
}

/* Threads of @rank; where no thread has it, all. */
static int choose_threads(struct bursts *b, const struct join_source *source,
			  int64_t rank, struct reel_error *err)
{
	static const char sql[] =
		"SELECT thread_id, rank, pid FROM thread JOIN process "
		"USING (process_id)";
	sqlite3_stmt *q = NULL;
	int64_t most = 0;
	bool has, any = false;
	int rc = reel_store_int(source->st, "SELECT max(thread_id) FROM thread",
				&most, &has, err);

	if (rc || most < 0 || most >= UINT32_MAX / 2)
		return rc;
	b->threads = (uint32_t)most + 1;
	b->last = reel_alloc(b->threads, sizeof(*b->last), err);
	b->wanted = reel_alloc(b->threads, sizeof(*b->wanted), err);
	b->pid = reel_alloc(b->threads, sizeof(*b->pid), err);
	if (!b->last || !b->wanted || !b->pid ||
	    reel_store_prepare(source->st, &q, sql, err))
		return -1;
	while (sqlite3_step(q) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(q, 0);

		if (id <= 0 || id > most)
			continue;
		b->pid[id] = sqlite3_column_int64(q, 2);
		if (rank != REEL_NO_OFFSET &&
		    sqlite3_column_type(q, 1) != SQLITE_NULL &&
		    sqlite3_column_int64(q, 1) == rank)
			any = b->wanted[id] = true;
	}
	sqlite3_finalize(q);
	if (!any)
		memset(b->wanted, 1, b->threads * sizeof(*b->wanted));
	return 0;
}

static int add_read(struct bursts *b, const struct reel_event *ev,
		    struct reel_error *err)
{
	uint32_t *last = &b->last[ev->thread];
	int64_t end_ns = ev->start_ns + ev->dur_ns;
	struct burst *on = *last ? &b->at[*last - 1] : NULL;

	if (on && ev->start_ns - on->end_ns < GAP_LEAST_NS) {
		on->end_ns = end_ns > on->end_ns ? end_ns : on->end_ns;
		return 0;
	}
	if (b->n == b->room) {
		size_t room = b->room ? 2 * b->room : 256;

		if (reel_grow(&b->at, room, sizeof(*b->at), err))
			return -1;
		b->room = room;
	}
	b->at[b->n] = (struct burst){ev->thread, ev->start_ns, end_ns};
	*last = (uint32_t)++b->n;
	return 0;
}

/* Opens and reads of data, as all tools see them. */
static bool is_read(const struct reel_event *ev)
{
	return (ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_OPEN) &&
	       ev->class_ == REEL_CLASS_DATA && !ev->err &&
	       (ev->layer == REEL_LAYER_POSIX || ev->layer == REEL_LAYER_STDIO);
}

static int by_thread_start(const void *a, const void *b)
{
	const struct burst *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int read_bursts(struct bursts *b, const struct join_source *source,
		       int64_t rank, struct reel_error *err)
{
	struct reel_events *it = NULL;
	struct reel_event ev;
	int rc = choose_threads(b, source, rank, err), more = 0;

	if (rc || reel_events_open(&it, source->st, 0, err))
		return -1;
	while (b->n < BURSTS_MOST &&
	       (more = reel_events_next(it, &ev, err)) == 1)
		if (ev.thread < b->threads && b->wanted[ev.thread] &&
		    is_read(&ev) && add_read(b, &ev, err))
			more = rc = -1;
	reel_events_close(it);
	if (b->n)
		qsort(b->at, b->n, sizeof(*b->at), by_thread_start);
	return more < 0 ? -1 : rc;
}

static void bursts_fini(struct bursts *b)
{
	free(b->at);
	free(b->last);
	free(b->wanted);
	free(b->pid);
}

/* Are most bursts of other processes than the fetches, such as loader workers? Where
 * pids are not known, no. */
static bool are_apart(const struct bursts *b, const struct fetches *f)
{
	size_t apart = 0;

	for (size_t i = 0; f->pid > 0 && i < b->n; i++) {
		int64_t pid = b->pid[b->at[i].thread];

		apart += pid && pid != f->pid;
	}
	return apart > b->n / 2;
}

/* --- the match ------------------------------------------------------------ */

struct edges {
	struct join_series start, end; /* of bursts that a gap separates */
};

static int find_edges(struct edges *e, const struct bursts *b, int64_t gap_ns,
		      struct reel_error *err)
{
	int64_t end_ns = INT64_MIN;

	e->start.n = e->end.n = 0;
	for (size_t i = 0; i < b->n; i++) {
		bool first = !i || b->at[i].thread != b->at[i - 1].thread;

		if (!first && b->at[i].start_ns - end_ns < gap_ns) {
			end_ns = b->at[i].end_ns > end_ns ? b->at[i].end_ns
							  : end_ns;
			continue;
		}
		if ((i && join_series_add(&e->end, end_ns, err)) ||
		    join_series_add(&e->start, b->at[i].start_ns, err))
			return -1;
		end_ns = b->at[i].end_ns;
	}
	return b->n ? join_series_add(&e->end, end_ns, err) : 0;
}

/* The usual one of @to[i + late] - @from[i]; 0: none. */
static int find_usual(int64_t *ns, const struct join_series *from,
		      const struct join_series *to, size_t late,
		      struct reel_error *err)
{
	struct join_series d = {0};
	int rc = 0;

	for (size_t i = 0; !rc && i + late < to->n; i++)
		rc = join_series_add(&d, to->at[i + late] - from->at[i], err);
	*ns = 0;
	if (!rc && d.n) {
		qsort(d.at, d.n, sizeof(*d.at), join_by_value);
		*ns = d.at[d.n / 2];
	}
	join_series_fini(&d);
	return rc;
}

/* Half the time from a fetch to the next: nearer than that no other fetch is meant. */
static int64_t find_reach(int64_t period_ns)
{
	return period_ns && period_ns / 2 < REACH_MOST_NS ? period_ns / 2
							  : REACH_MOST_NS;
}

/* The place of the shift: a distinct peak of some edges. */
struct place {
	bool found;
	int64_t gap_ns, width_ns, at_ns;
	size_t margin; /* votes over those of the next peak */
};

static int try_edges(struct place *best, const struct join_series *burst,
		     const struct join_series *fetch, int64_t gap_ns,
		     int64_t reach_ns, struct reel_error *err)
{
	struct join_votes votes = {0};
	struct join_peak p;
	int rc = join_votes_add(&votes, burst, fetch, err);

	if (!rc && join_votes_peak(&votes, reach_ns, &p) &&
	    (!best->found || p.width_ns < best->width_ns ||
	     (p.width_ns == best->width_ns &&
	      p.votes - p.second > best->margin)))
		*best = (struct place){.found = true,
				       .gap_ns = gap_ns,
				       .width_ns = p.width_ns,
				       .at_ns = join_peak_quantile(&p, .5),
				       .margin = p.votes - p.second};
	join_votes_fini(&votes);
	return rc;
}

static int find_place(struct place *best, const struct bursts *b,
		      const struct fetches *f, struct edges *e,
		      int64_t reach_ns, struct reel_error *err)
{
	static const int64_t gaps_us[] = {200,	 500,	1000,  2000,  5000,
					  10000, 20000, 50000, 100000};
	size_t before = 0;

	for (size_t i = 0; i < sizeof(gaps_us) / sizeof(*gaps_us); i++) {
		int64_t gap_ns = gaps_us[i] * 1000;

		if (find_edges(e, b, gap_ns, err))
			return -1;
		if (e->start.n == before)
			continue;
		before = e->start.n;
		if (try_edges(best, &e->start, &f->start, gap_ns, reach_ns,
			      err) ||
		    try_edges(best, &e->start, &f->end, gap_ns, reach_ns,
			      err) ||
		    try_edges(best, &e->end, &f->end, gap_ns, reach_ns, err))
			return -1;
	}
	return 0;
}

/* A limit of the shift by edges around @place. */
struct limit {
	bool found;
	int64_t ns, spread_ns;
	size_t votes;
};

/* @share of the votes are below the limit; @least: of the fetches, that vote. */
static int find_limit(struct limit *out, const struct place *place,
		      int64_t reach_ns, const struct join_series *burst,
		      const struct join_series *fetch, double share,
		      double least, struct reel_error *err)
{
	int64_t width_ns = place->width_ns > LIMIT_WIDTH_NS ? place->width_ns
							    : LIMIT_WIDTH_NS;
	size_t most = burst->n < fetch->n ? burst->n : fetch->n;
	struct join_votes votes = {0};
	struct join_peak p;
	int rc = join_votes_add(&votes, burst, fetch, err);

	out->found =
		!rc &&
		join_votes_near(&votes, place->at_ns, reach_ns, width_ns, &p) &&
		(double)p.votes >= least * (double)most;
	if (out->found) {
		out->ns = join_peak_quantile(&p, share);
		out->spread_ns = join_peak_quantile(&p, 1 - EDGE) -
				 join_peak_quantile(&p, EDGE);
		out->votes = p.votes;
	}
	join_votes_fini(&votes);
	return rc;
}

/* Starts of bursts follow both ends of a fetch: its cause is the one that they follow
 * at a steadier distance. */
static struct limit steadier_of(struct limit a, struct limit b)
{
	if (!a.found || !b.found)
		return a.found ? a : b;
	if (a.votes != b.votes)
		return a.votes > b.votes ? a : b;
	return a.spread_ns <= b.spread_ns ? a : b;
}

/*
 * The middle between the limits; without one of them, the other, from which the true
 * shift is up to @period_ns away, and the length of a burst if its end was taken. Bursts
 * that the end of a fetch causes end after it: no low limit. Only that causes those of
 * workers.
 */
static int measure(struct join_shift *out, const struct place *place,
		   const struct bursts *b, const struct fetches *f,
		   struct edges *e, int64_t period_ns, struct reel_error *err)
{
	int64_t reach_ns = find_reach(period_ns);
	int64_t pause_ns =
		reach_ns / 2 > place->gap_ns ? reach_ns / 2 : place->gap_ns;
	struct limit low, high, handed_out;
	int64_t burst_ns;

	if (find_edges(e, b, place->gap_ns, err) ||
	    find_usual(&burst_ns, &e->start, &e->end, 0, err) ||
	    find_limit(&low, place, reach_ns, &e->end, &f->end, 1 - EDGE,
		       LOW_LEAST, err) ||
	    find_limit(&high, place, reach_ns, &e->start, &f->start, EDGE,
		       HIGH_LEAST, err) ||
	    find_edges(e, b, pause_ns, err) ||
	    find_limit(&handed_out, place, reach_ns, &e->start, &f->end, EDGE,
		       HIGH_LEAST, err))
		return -1;
	high = handed_out.found && are_apart(b, f)
		       ? handed_out
		       : steadier_of(high, handed_out);
	low.found &= !high.found || low.ns <= high.ns;
	*out = (struct join_shift){
		place->at_ns, period_ns + burst_ns + place->width_ns, "reads"};
	if (low.found && high.found) {
		out->ns = low.ns + (high.ns - low.ns) / 2;
		out->error_ns = (high.ns - low.ns) / 2 + place->width_ns;
	} else if (low.found || high.found) {
		out->ns = low.found ? low.ns : high.ns;
	}
	return 0;
}

/* *@out: the time of @io minus that of @spans. */
static int match_sides(struct join_shift *out, const struct join_source *io,
		       const struct join_source *spans, struct reel_error *err)
{
	struct fetches f = {0};
	struct bursts b = {0};
	struct edges e = {0};
	struct place place = {0};
	int64_t period_ns = 0;
	int rc = read_fetches(&f, spans, err);

	if (!rc && f.start.n)
		rc = read_bursts(&b, io, f.rank, err);
	if (!rc && b.n)
		rc = find_usual(&period_ns, &f.start, &f.start, 1, err) ||
				     find_place(&place, &b, &f, &e,
						find_reach(period_ns), err)
			     ? -1
			     : 0;
	if (!rc && place.found)
		rc = measure(out, &place, &b, &f, &e, period_ns, err) ? -1 : 1;
	join_series_fini(&f.start);
	join_series_fini(&f.end);
	join_series_fini(&e.start);
	join_series_fini(&e.end);
	bursts_fini(&b);
	return rc;
}

int join_by_reads(struct join_shift *out, const struct join_source *a,
		  const struct join_source *b, struct reel_error *err)
{
	int rc = match_sides(out, a, b, err);

	if (rc)
		return rc;
	rc = match_sides(out, b, a, err);
	out->ns = -out->ns;
	return rc;
}
