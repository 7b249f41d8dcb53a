/* SPDX-License-Identifier: MIT */
/*
 * Likeness of two runs: the factors of the paper's cosine, their differences,
 * call counts, and the threads that made the same calls.
 *
 * The factors come from v_similarity_vector. Threads are paired by the notes of
 * the replay engine, else by their position in the process tree.
 */
#include "analyzer/compare/likeness.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/call_table.h"
#include "lib/store/store.h"
#include "lib/store/view.h"

/* Static names, as a struct reel_factor outlives the store. */
static const struct {
	const char *name, *unit;
} factor_name[] = {
	{"I/O time", "ns"},
	{"bytes read", "B"},
	{"bytes written", "B"},
	{"transfer size, min", "B"},
	{"transfer size, max", "B"},
	{"transfer size, mean", "B"},
	{"transfer size, median", "B"},
	{"bandwidth per call, mean", "B/s"},
	{"bandwidth per call, median", "B/s"},
	{"sequential", "%"},
	{"consecutive", "%"},
	{"files", ""},
};
#define FACTORS ((int)(sizeof(factor_name) / sizeof(factor_name[0])))

static int read_vector(struct reel_store *st, struct reel_likeness *l,
		       bool is_b, struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, st, "SELECT * FROM v_similarity_vector", err);
	while (reel_view_next(&v)) {
		int64_t i = reel_view_int(&v, "ordinal") - 1;
		bool has = !reel_view_is_null(&v, "value");
		double value = has ? reel_view_real(&v, "value") : 0;
		struct reel_factor *f = &l->factor[i];

		if (i < 0 || i >= FACTORS || !isfinite(value) || value < 0)
			continue;
		*(is_b ? &f->has_b : &f->has_a) = has;
		*(is_b ? &f->known_b : &f->known_a) =
			reel_view_int(&v, "known") > 0;
		*(is_b ? &f->b : &f->a) = value;
	}
	return reel_view_close(&v);
}

static void find_difference(struct reel_factor *f)
{
	double max = fmax(f->a, f->b);

	f->has_d = f->known_a && f->known_b && (f->has_a || f->has_b);
	/* A factor that only one run has: the largest difference. */
	if (f->has_d && f->has_a != f->has_b)
		f->d = f->has_a ? 1 : -1;
	else if (f->has_a && max > 0)
		f->d = (f->a - f->b) / max;
	f->used = f->has_a && f->has_b && max > 0;
}

double reel_change(double d)
{
	return d >= 0 ? -d : d > -1 ? -d / (1 + d) : INFINITY;
}

double reel_factor_change(const struct reel_factor *f)
{
	return f->has_d && f->has_a != f->has_b ? INFINITY : reel_change(f->d);
}

int reel_likeness_largest(const struct reel_likeness *l)
{
	double most = 0;
	int largest = -1, i;

	for (i = 0; i < l->factors; i++) {
		double change = fabs(reel_factor_change(&l->factor[i]));

		if (change > most) {
			largest = i;
			most = change;
		}
	}
	return largest;
}

bool reel_likeness_cosine(const struct reel_likeness *l, int without,
			  double *cosine)
{
	double dot = 0, aa = 0, bb = 0;
	int i;

	for (i = 0; i < l->factors; i++) {
		const struct reel_factor *f = &l->factor[i];
		double max = fmax(f->a, f->b);

		if (!f->used || i == without)
			continue;
		dot += f->a / max * (f->b / max);
		aa += f->a / max * (f->a / max);
		bb += f->b / max * (f->b / max);
	}
	if (!(aa > 0 && bb > 0))
		return false;
	*cosine = fmin(dot / sqrt(aa * bb), 1);
	return true;
}

static void find_cosine(struct reel_likeness *l)
{
	int i;

	l->worst = -1;
	for (i = 0; i < l->factors; i++) {
		struct reel_factor *f = &l->factor[i];

		find_difference(f);
		l->has_d |= f->has_d;
		if (l->worst < 0 ? f->d != 0 : fabs(f->d) > l->max_abs_d)
			l->worst = i;
		l->max_abs_d = fmax(l->max_abs_d, fabs(f->d));
	}
	l->has_cosine = reel_likeness_cosine(l, -1, &l->cosine);
}

/* Count calls, each at its id. @higher: with calls of higher layers, which a
 * replay does not make. A call that calls.def lacks is at the id that @a has for
 * its name, or, if @a does not have it, at one of the places behind all ids. */
struct call_counts {
	double *count; /* of COUNTS */
	double sum;
	int64_t measured; /* 0: an import without calls */
};

#define COUNTS (2 * REEL_CALL_IDS)

static int read_counts(struct reel_store *st, bool higher,
		       const struct reel_call_table *names,
		       struct call_counts *to, struct reel_error *err)
{
	struct reel_view v;
	bool has;

	reel_view_open(&v, st, "SELECT * FROM v_call_count", err);
	while (reel_view_next(&v)) {
		int64_t id = reel_view_int(&v, "call_id");
		double calls = reel_view_real(&v, "calls");

		if (id < 0 || id >= REEL_CALL_IDS ||
		    (reel_view_int(&v, "higher_layer") && !higher))
			continue;
		if (id >= REEL_CALL_NAMED)
			id = reel_call_table_find(names,
						  reel_view_text(&v, "call"),
						  id + REEL_CALL_IDS);
		to->count[id] += calls;
		to->sum += calls;
	}
	return reel_view_close(&v) ||
			       reel_store_int(st,
					      "SELECT by_events OR mpiio "
					      "FROM v_measured",
					      &to->measured, &has, err)
		       ? -1
		       : 0;
}

/* Total variation: half the sum of the differences of the calls' shares. */
static double total_variation(const struct call_counts *a,
			      const struct call_counts *b)
{
	double difference = 0;

	if (!a->measured || !b->measured || (a->sum == 0 && b->sum == 0))
		return REEL_VIEW_NONE;
	if (a->sum == 0 || b->sum == 0)
		return 1;
	for (int i = 0; i < COUNTS; i++)
		difference += fabs(a->count[i] / a->sum - b->count[i] / b->sum);
	return difference / 2;
}

static int find_call_tv(struct reel_store *a, struct reel_store *b, bool higher,
			struct reel_likeness *l, struct reel_error *err)
{
	struct reel_call_table *names = reel_call_table_read(a, err);
	struct call_counts in_a = {
		.count = reel_alloc(COUNTS, sizeof(double), err)};
	struct call_counts in_b = {
		.count = reel_alloc(COUNTS, sizeof(double), err)};
	int rc = -1;

	if (names && in_a.count && in_b.count &&
	    !read_counts(a, higher, names, &in_a, err) &&
	    !read_counts(b, higher, names, &in_b, err)) {
		l->call_tv = total_variation(&in_a, &in_b);
		rc = 0;
	}
	reel_call_table_free(names);
	free(in_a.count);
	free(in_b.count);
	return rc;
}

/* A thread that made I/O calls. */
struct thread {
	int64_t key; /* thread_id of its counterpart, or thread_index */
	int64_t hash, calls, higher_hash, higher_calls;
};

struct threads {
	struct thread *t;
	int64_t n;
};

/* The query for the threads of a run, and the column that pairs them. */
struct pairing {
	const char *sql, *key;
};

static const struct pairing by_note = {"SELECT * FROM v_replayed_thread",
				       "recorded_thread_id"};
static const struct pairing by_id = {
	"SELECT * FROM thread_sequence WHERE calls > 0 ORDER BY thread_id",
	"thread_id"};
static const struct pairing by_index = {
	"SELECT * FROM v_thread_index ORDER BY thread_index", "thread_index"};

static int read_threads(struct reel_store *st, const struct pairing *p,
			struct threads *out, struct reel_error *err)
{
	struct reel_view v;
	int64_t room = 0;

	out->n = 0;
	reel_view_open(&v, st, p->sql, err);
	while (reel_view_next(&v)) {
		if (out->n == room) {
			room = room ? 2 * room : 64;
			if (reel_grow(&out->t, (size_t)room, sizeof(*out->t),
				      err)) {
				v.failed = true;
				break;
			}
		}
		out->t[out->n++] = (struct thread){
			.key = reel_view_exact(&v, p->key),
			.hash = reel_view_exact(&v, "hash"),
			.calls = reel_view_exact(&v, "calls"),
			.higher_hash = reel_view_exact(&v, "higher_hash"),
			.higher_calls = reel_view_exact(&v, "higher_calls"),
		};
	}
	return reel_view_close(&v);
}

/* Count equal threads. Both lists are sorted by key; a key counts once. */
static int64_t count_same(const struct threads *a, const struct threads *b,
			  bool higher)
{
	int64_t i = 0, k = 0, same = 0;

	while (i < a->n && k < b->n) {
		const struct thread *x = &a->t[i], *y = &b->t[k];

		i += x->key <= y->key;
		k += y->key <= x->key;
		same += x->key == y->key && x->hash == y->hash &&
			x->calls == y->calls &&
			(!higher || (x->higher_hash == y->higher_hash &&
				     x->higher_calls == y->higher_calls));
	}
	return same;
}

static int count_threads(struct reel_store *st, bool higher, int64_t *n,
			 struct reel_error *err)
{
	bool has;

	return reel_store_int(st,
			      higher ? "SELECT count(*) FROM thread_sequence "
				       "WHERE calls + higher_calls > 0"
				     : "SELECT count(*) FROM thread_sequence "
				       "WHERE calls > 0",
			      n, &has, err);
}

/* Does @st have calls, and @any I/O? A run of counters alone has I/O without calls, a
 * profile has neither. */
static int read_measured(struct reel_store *st, bool *calls, bool *any,
			 struct reel_error *err)
{
	struct reel_view v;

	*calls = *any = false;
	reel_view_open(&v, st, "SELECT * FROM v_measured", err);
	while (reel_view_next(&v)) {
		*calls = reel_view_int(&v, "by_events") > 0;
		*any = *calls || reel_view_int(&v, "by_counters") > 0;
	}
	return reel_view_close(&v);
}

static int has_notes(struct reel_store *st, bool *yes, struct reel_error *err)
{
	int64_t n = 0;
	bool has;

	if (reel_store_int(st,
			   "SELECT count(*) FROM note "
			   "WHERE key = 'replay.thread'",
			   &n, &has, err))
		return -1;
	*yes = n > 0;
	return 0;
}

static int find_same(struct reel_store *a, struct reel_store *b, bool note_a,
		     bool note_b, struct reel_likeness *l,
		     struct reel_error *err)
{
	struct threads in_a = {0}, in_b = {0};
	const struct pairing *pair_a = &by_index, *pair_b = &by_index;
	bool higher = !note_a && !note_b, calls_a, calls_b, any;
	int rc = -1;

	/* Two replays of one run have notes of the same threads. */
	if (!higher) {
		pair_a = note_a ? &by_note : &by_id;
		pair_b = note_b ? &by_note : &by_id;
	}
	if (count_threads(a, higher, &l->threads_a, err) ||
	    count_threads(b, higher, &l->threads_b, err) ||
	    read_measured(a, &calls_a, &any, err) ||
	    read_measured(b, &calls_b, &any, err) ||
	    read_threads(a, pair_a, &in_a, err) ||
	    read_threads(b, pair_b, &in_b, err))
		goto out;
	l->threads_same = count_same(&in_a, &in_b, higher);
	l->has_same = calls_a && calls_b && (l->threads_a || l->threads_b);
	if (l->has_same)
		l->same_sequence_share =
			(double)l->threads_same /
			(double)(l->threads_a > l->threads_b ? l->threads_a
							     : l->threads_b);
	rc = 0;
out:
	free(in_a.t);
	free(in_b.t);
	return rc;
}

/*
 * Compare the time from the first event to the last: the time before the first
 * call, as an interpreter starts, is in no trace and in no replay. A profile covers
 * a part of its run: it has only the time of another profile beside it.
 */
static int find_time(struct reel_store *a, struct reel_store *b,
		     struct reel_likeness *l, struct reel_error *err)
{
	static const char sql[] = "SELECT span_ns FROM run";
	int64_t ns_a = 0, ns_b = 0, max;
	bool has_a, has_b, calls, measured_a, measured_b;

	if (reel_store_int(a, sql, &ns_a, &has_a, err) ||
	    reel_store_int(b, sql, &ns_b, &has_b, err) ||
	    read_measured(a, &calls, &measured_a, err) ||
	    read_measured(b, &calls, &measured_b, err))
		return -1;
	max = ns_a > ns_b ? ns_a : ns_b;
	l->has_time = has_a && has_b && max > 0 && measured_a == measured_b;
	if (l->has_time)
		l->total_time_d = ((double)ns_a - (double)ns_b) / (double)max;
	return 0;
}

static double share_of(struct reel_view *v, const char *column)
{
	double share = reel_view_real(v, column);

	return share >= 0 && share <= 1 ? share : REEL_VIEW_NONE;
}

static const struct reel_loop_shares no_shares = {
	REEL_VIEW_NONE, REEL_VIEW_NONE, REEL_VIEW_NONE, "", -1, -1, -1};

/* The mean of the ranks' shares, of those that have them. No loader workers: the hooks
 * of a framework mark them, an import or a replay may not have them. */
static int read_shares(struct reel_store *st, struct reel_loop_shares *to,
		       struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, st,
		       "SELECT avg(hidden_share) AS hidden, "
		       "avg(computing_share) AS computing, "
		       "avg(exposed_wait_share) AS waiting, "
		       "iif(min(compute_source) = max(compute_source), "
		       "min(compute_source), '') AS source, "
		       "coalesce(nullif(count(*) FILTER (WHERE steps > 0), "
		       "0), -1) AS ranks, "
		       "coalesce(nullif(max(steps), 0), -1) AS steps, "
		       "coalesce(max(workers), iif(max(steps) > 0 AND EXISTS "
		       "(SELECT 1 FROM note WHERE key = 'framework') AND NOT "
		       "EXISTS (SELECT 1 FROM source), 0, -1)) AS workers "
		       "FROM v_rank",
		       err);
	while (reel_view_next(&v)) {
		to->hidden = share_of(&v, "hidden");
		to->computing = share_of(&v, "computing");
		to->waiting = share_of(&v, "waiting");
		snprintf(to->compute_source, sizeof(to->compute_source), "%s",
			 reel_view_text(&v, "source"));
		to->ranks = reel_view_int(&v, "ranks");
		to->steps = reel_view_int(&v, "steps");
		to->workers = reel_view_int(&v, "workers");
	}
	return reel_view_close(&v);
}

int reel_compare_loops(struct reel_store *a, struct reel_store *b,
		       struct reel_likeness *out, struct reel_error *err)
{
	return read_shares(a, &out->loop_a, err) ||
			       read_shares(b, &out->loop_b, err)
		       ? -1
		       : 0;
}

int reel_compare(struct reel_store *a, struct reel_store *b,
		 struct reel_likeness *out, struct reel_error *err)
{
	bool note_a, note_b;
	int i;

	_Static_assert(sizeof(factor_name) / sizeof(factor_name[0]) <=
			       REEL_FACTORS_MAX,
		       "raise REEL_FACTORS_MAX");
	memset(out, 0, sizeof(*out));
	out->loop_a = out->loop_b = no_shares;
	out->factors = FACTORS;
	for (i = 0; i < FACTORS; i++) {
		out->factor[i].name = factor_name[i].name;
		out->factor[i].unit = factor_name[i].unit;
	}
	if (read_vector(a, out, false, err) || read_vector(b, out, true, err))
		return -1;
	find_cosine(out);
	/* A replay makes POSIX calls and asynchronous operations, but no calls of
	 * MPI-IO: compared with a replay these are left out. */
	if (has_notes(a, &note_a, err) || has_notes(b, &note_b, err) ||
	    find_call_tv(a, b, !note_a && !note_b, out, err) ||
	    find_same(a, b, note_a, note_b, out, err))
		return -1;
	return find_time(a, b, out, err);
}
