/* SPDX-License-Identifier: MIT */
/*
 * What a report knows of a run: the store's views into struct report.
 *
 * A store may come from a stranger: every column is taken as what it is asked
 * for, and NULL as REPORT_NONE.
 */
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "lib/error.h"
#include "lib/store/store.h"

#include "analyzer/report/report.h"
#include "analyzer/report/workers.h"

typedef int row_fn(struct report *r, sqlite3_stmt *q, struct reel_error *err);

/* Call @fn for each row of @sql. */
static int each(struct report *r, const char *sql, row_fn *fn,
		struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int step = SQLITE_DONE;
	int rc = reel_store_prepare(r->st, &q, sql, err);

	while (!rc && (step = sqlite3_step(q)) == SQLITE_ROW)
		rc = fn(r, q, err);
	if (!rc && step != SQLITE_DONE)
		rc = reel_fail(err, REEL_E_DB, "cannot read '%s': %s",
			       r->st->path, sqlite3_errmsg(r->st->db));
	sqlite3_finalize(q);
	return rc;
}

int64_t report_int(sqlite3_stmt *q, int column)
{
	const int64_t most = INT64_MAX / REPORT_ADDS;
	int64_t v = sqlite3_column_int64(q, column);

	return v > most ? most : v < -most ? -most : v;
}

static int64_t get_int(sqlite3_stmt *q, int column)
{
	if (sqlite3_column_type(q, column) == SQLITE_NULL)
		return REPORT_NONE;
	return report_int(q, column);
}

static double get_real(sqlite3_stmt *q, int column)
{
	if (sqlite3_column_type(q, column) == SQLITE_NULL)
		return REPORT_NONE;
	return sqlite3_column_double(q, column);
}

static int get_text(char **out, sqlite3_stmt *q, int column,
		    struct reel_error *err)
{
	const char *s = (const char *)sqlite3_column_text(q, column);

	if (!s || *out)
		return 0;
	*out = reel_strdup(s, err);
	return *out ? 0 : -1;
}

static int fill_summary(struct report *r, sqlite3_stmt *q,
			struct reel_error *err)
{
	int64_t *const column[] = {
		&r->ranks_declared, &r->processes,   &r->threads,
		&r->start_real_ns,  &r->wall_ns,     &r->span_ns,
		&r->exit_status,    &r->exit_signal, &r->events,
		&r->calls,	    &r->messages,    &r->message_bytes,
		&r->io_ns,	    &r->lost,	     &r->clock_error_ns,
		&r->code_opens,	    &r->code_calls,  &r->code_read_bytes,
		&r->mapped_bytes,
	};
	size_t i;

	if (get_text(&r->name, q, 0, err) ||
	    get_text(&r->framework, q, 1, err) || get_text(&r->host, q, 2, err))
		return -1;
	for (i = 0; i < sizeof(column) / sizeof(column[0]); i++)
		*column[i] = get_int(q, 3 + (int)i);
	if (r->start_real_ns != REPORT_NONE) /* a date: nobody adds it */
		r->start_real_ns = sqlite3_column_int64(q, 6);
	return 0;
}

static int fill_group(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	const char *name = (const char *)sqlite3_column_text(q, 0);
	int g;

	for (g = 0; name && g < REEL_GROUPS; g++) {
		if (strcmp(reel_group_name(g), name))
			continue;
		r->group[g].calls = report_int(q, 1);
		r->group[g].bytes = report_int(q, 2);
		r->group[g].dur_ns = report_int(q, 3);
		r->group[g].errors = report_int(q, 4);
		r->group_sum_ns += r->group[g].dur_ns;
	}
	return 0;
}

static int fill_mapped(struct report *r, sqlite3_stmt *q,
		       struct reel_error *err)
{
	r->unordered_bytes = report_int(q, 0);
	r->untold_bytes = report_int(q, 1);
	r->map_read_bytes = report_int(q, 2);
	r->map_write_bytes = report_int(q, 3);
	return 0;
}

static int fill_flushes(struct report *r, sqlite3_stmt *q,
			struct reel_error *err)
{
	r->flushes = report_int(q, 0);
	r->flush_ns = report_int(q, 1);
	return 0;
}

static int fill_uses(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	r->uses.pytorch = sqlite3_column_int(q, 0);
	r->uses.tensorflow = sqlite3_column_int(q, 1);
	r->uses.grain = sqlite3_column_int(q, 2);
	return 0;
}

static int fill_fetched(struct report *r, sqlite3_stmt *q,
			struct reel_error *err)
{
	r->fetched.reads = report_int(q, 0);
	r->fetched.read_bytes = report_int(q, 1);
	r->fetched.bytes = report_int(q, 2);
	r->fetched.ns = report_int(q, 3);
	r->fetched.waits = report_int(q, 4);
	r->fetched.wait_ns = report_int(q, 5);
	return 0;
}

/* A store of an earlier version has no such table. */
static int read_fetched(struct report *r, struct reel_error *err)
{
	static const char has_sql[] =
		"SELECT count(*) FROM sqlite_master WHERE name = 'storage'";
	int64_t tables = 0;
	bool has = false;

	if (reel_store_int(r->st, has_sql, &tables, &has, err))
		return -1;
	if (!has || !tables)
		return 0;
	return each(
		r,
		"SELECT coalesce(sum(reads), 0), "
		"coalesce(sum(read_bytes), 0), "
		"coalesce(sum(fetched_bytes), 0), coalesce(sum(dur_ns), 0), "
		"coalesce(sum(waits), 0), coalesce(sum(wait_ns), 0) "
		"FROM v_storage",
		fill_fetched, err);
}

static int fill_journals(struct report *r, sqlite3_stmt *q,
			 struct reel_error *err)
{
	r->journal_ns = report_int(q, 0);
	return 0;
}

/* What SQLite syncs: a database, and the journal that is named after it. Each
 * name is looked at, so only where somebody synced. */
static int read_journals(struct report *r, struct reel_error *err)
{
	if (r->group[REEL_GROUP_SYNC].calls <= r->flushes)
		return 0;
	return each(r,
		    "WITH journal AS MATERIALIZED (SELECT meta_ns, "
		    "substr(path, 1, length(path) - CASE WHEN path LIKE "
		    "'%-wal' THEN 4 ELSE 8 END) AS base FROM v_file "
		    "WHERE writes AND (path LIKE '%-wal' OR "
		    "path LIKE '%-journal')), "
		    "base AS MATERIALIZED (SELECT path, meta_ns FROM v_file "
		    "WHERE opens AND path IN (SELECT base FROM journal)) "
		    "SELECT coalesce((SELECT sum(meta_ns) FROM base) + "
		    "(SELECT sum(meta_ns) FROM journal "
		    "WHERE base IN (SELECT path FROM base)), 0)",
		    fill_journals, err);
}

static int fill_error(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	const char *call = (const char *)sqlite3_column_text(q, 0);
	int i = 0;

	while (i < REPORT_ERRORS && r->error[i].calls)
		i++;
	if (i == REPORT_ERRORS)
		return 0;
	strncpy(r->error[i].call, call ? call : "",
		sizeof(r->error[i].call) - 1);
	r->error[i].number = sqlite3_column_int(q, 1);
	r->error[i].calls = report_int(q, 2);
	return 0;
}

static int fill_mpiio(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	struct report_mpiio *m = &r->mpiio[sqlite3_column_int(q, 0) & 1];

	m->calls = report_int(q, 1);
	m->collective = report_int(q, 2);
	m->bytes = report_int(q, 3);
	m->beneath_calls = get_int(q, 4);
	m->beneath_bytes = get_int(q, 5);
	return 0;
}

static struct report_moved *moved(struct report *r, sqlite3_stmt *q)
{
	const char *op = (const char *)sqlite3_column_text(q, 0);

	if (op && !strcmp(op, "read"))
		return &r->moved[0];
	if (op && !strcmp(op, "write"))
		return &r->moved[1];
	return NULL;
}

static int fill_size(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	struct report_moved *m = moved(r, q);

	if (!m)
		return 0;
	m->calls = report_int(q, 1);
	m->bytes = report_int(q, 2);
	m->min_bytes = get_int(q, 3);
	m->median_bytes = get_int(q, 4);
	m->max_bytes = get_int(q, 5);
	return 0;
}

static int fill_rate(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	struct report_moved *m = moved(r, q);

	if (m)
		m->busy_bytes_per_s = get_real(q, 1);
	return 0;
}

static int fill_order(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	struct report_moved *m = moved(r, q);

	if (!m)
		return 0;
	m->in_order_share = get_real(q, 1);
	m->random_share = get_real(q, 2);
	m->random = report_int(q, 3);
	return 0;
}

static int fill_files(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	r->moved[0].files = report_int(q, 0);
	r->moved[1].files = report_int(q, 1);
	r->data_files = report_int(q, 2);
	r->data_opens = report_int(q, 3);
	r->moved[0].opens_read = report_int(q, 4);
	return 0;
}

static int fill_median_file(struct report *r, sqlite3_stmt *q,
			    struct reel_error *err)
{
	r->median_file_bytes = get_int(q, 0);
	return 0;
}

static int fill_small(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	int op = sqlite3_column_int(q, 0);

	r->small[op].calls = report_int(q, 1);
	r->small[op].ns = report_int(q, 2);
	return 0;
}

static int fill_spans(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	r->checkpoints = report_int(q, 0);
	r->checkpoint_ns = report_int(q, 1);
	return 0;
}

static int fill_epochs(struct report *r, sqlite3_stmt *q,
		       struct reel_error *err)
{
	r->epochs = report_int(q, 0);
	r->epoch_start_ns = report_int(q, 1);
	return 0;
}

static void add_rank_workers(struct report *r, const struct report_rank *k)
{
	if (k->workers > r->workers)
		r->workers = k->workers;
	if (k->workers_least > 0 &&
	    (!r->workers_least || k->workers_least < r->workers_least))
		r->workers_least = k->workers_least;
}

/* The columns of the query on v_overlap, in its order. */
static void get_rank(struct report_rank *k, sqlite3_stmt *q)
{
	int64_t *const number[] = {
		&k->rank,
		&k->process_id,
		&k->steps,
		&k->unknown_steps,
		&k->steady_steps,
		&k->epochs,
		&k->anew,
		&k->loop_ns,
		&k->loop_wait_ns,
		&k->own_io_ns,
		&k->steady_ns,
		&k->steady_fetch_ns,
		&k->steady_compute_ns,
		&k->steady_own_io_ns,
		&k->median_step_ns,
		&k->median_fetch_ns,
		&k->median_compute_ns,
		&k->median_own_io_ns,
		&k->median_other_ns,
		&k->io_ns,
		&k->hidden_ns,
		&k->exposed_ns,
		&k->fetch_ns,
		&k->workers,
		&k->workers_least,
	};
	double *const share[] = {
		&k->hidden_share, &k->computing_share,	 &k->stall_share,
		&k->wait_share,	  &k->worker_busy_share, &k->worker_io_share,
		&k->headroom,
	};
	const char *source = (const char *)sqlite3_column_text(q, 0);
	size_t i;
	int at = 1;

	strncpy(k->compute_source, source ? source : "",
		sizeof(k->compute_source) - 1);
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		*number[i] = get_int(q, at++);
	for (i = 0; i < sizeof(share) / sizeof(share[0]); i++)
		*share[i] = get_real(q, at++);
}

static int fill_rank(struct report *r, sqlite3_stmt *q, struct reel_error *err)
{
	struct report_rank *k;

	if (reel_grow(&r->rank, (size_t)r->ranks + 1, sizeof(*k), err))
		return -1;
	k = &r->rank[r->ranks++];
	memset(k, 0, sizeof(*k));
	get_rank(k, q);
	if (r->ranks == 1) /* whose epochs are looked at */
		r->anew = k->anew;
	add_rank_workers(r, k);
	return 0;
}

static int fill_python(struct report *r, sqlite3_stmt *q,
		       struct reel_error *err)
{
	r->python = sqlite3_column_int(q, 0);
	return 0;
}

static int fill_storage_wait(struct report *r, sqlite3_stmt *q,
			     struct reel_error *err)
{
	r->storage_wait.exposed_ns = report_int(q, 0);
	r->storage_wait.reads = report_int(q, 1);
	r->storage_wait.bytes = report_int(q, 2);
	r->storage_wait.read_ns = report_int(q, 3);
	return 0;
}

static const struct {
	const char *sql;
	row_fn *fn;
} queries[] = {
	{"SELECT name, framework, (SELECT CASE WHEN count(*) < 2 THEN "
	 "v_summary.host WHEN count(*) > 4 THEN count(*) || ' hosts' ELSE "
	 "group_concat(host.name, ', ') END FROM host), "
	 "ranks, processes, threads, "
	 "start_real_ns, wall_ns, span_ns, exit_status, exit_signal, events, "
	 "calls, messages, message_bytes, io_ns, lost, clock_error_ns, "
	 "code_opens, code_calls, code_read_bytes, mapped_bytes "
	 "FROM v_summary",
	 fill_summary},
	{"SELECT call_group, calls, bytes, dur_ns, errors FROM v_group",
	 fill_group},
	{"SELECT unordered_bytes, untold_bytes, read_bytes, write_bytes "
	 "FROM v_mapped",
	 fill_mapped},
	{"SELECT calls, dur_ns FROM v_call WHERE call = 'fflush' AND NOT "
	 "message",
	 fill_flushes},
	{"SELECT coalesce(max(value GLOB 'PyTorch *'), 0), "
	 "coalesce(max(value GLOB 'TensorFlow *'), 0), "
	 "coalesce(max(value GLOB 'Grain *'), 0) FROM note "
	 "WHERE key = 'framework'",
	 fill_uses},
	{"SELECT name, errno, calls FROM error JOIN call USING (call_id) "
	 "WHERE message = 0 AND layer <> 'MPIIO' AND call_group <> 'queue' "
	 "ORDER BY calls DESC, name, errno LIMIT 3",
	 fill_error},
	{"SELECT op = 'write', calls, collective_calls, bytes, file_calls, "
	 "file_bytes FROM v_mpiio",
	 fill_mpiio},
	{"SELECT op, calls, bytes, min_bytes, median_bytes, max_bytes "
	 "FROM transfer_size",
	 fill_size},
	{"SELECT op, busy_bytes_per_s FROM v_bandwidth", fill_rate},
	{"SELECT op, in_order_share, random_share, random FROM v_sequence",
	 fill_order},
	{"SELECT count(*) FILTER (WHERE reads > 0 OR read_bytes > 0), "
	 "count(*) FILTER (WHERE writes > 0 OR write_bytes > 0), "
	 "count(*) FILTER (WHERE class = 'data' AND opens > 0), "
	 "coalesce(sum(opens) FILTER (WHERE class = 'data'), 0), "
	 "coalesce(sum(opens) FILTER (WHERE reads > 0), 0) "
	 "FROM v_file WHERE kind <> 'dir'",
	 fill_files},
	{"SELECT size_bytes FROM v_file WHERE class = 'data' AND opens > 0 "
	 "AND kind = 'file' AND size_bytes IS NOT NULL ORDER BY size_bytes "
	 "LIMIT 1 OFFSET (SELECT max(0, (count(*) - 1) / 2) FROM v_file "
	 "WHERE class = 'data' AND opens > 0 AND kind = 'file' AND "
	 "size_bytes IS NOT NULL)",
	 fill_median_file},
	{"SELECT op = 'write', sum(calls), coalesce(sum(dur_ns), 0) "
	 "FROM v_transfer_size WHERE low_bytes < 16384 GROUP BY op",
	 fill_small},
	/* Of the process that waits longest, and not what a thread writes
	 * behind it: its first thread that saves. What lies within another is
	 * part of it: a save in a program's own span. */
	{"SELECT coalesce(max(n), 0), coalesce(max(ns), 0) FROM (SELECT "
	 "count(*) AS n, sum(dur_ns) AS ns FROM (SELECT *, "
	 "max(start_ns + dur_ns) OVER (PARTITION BY thread_id "
	 "ORDER BY start_ns, dur_ns DESC "
	 "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns "
	 "FROM v_span WHERE name = 'checkpoint' AND thread_id IN "
	 "(SELECT min(thread_id) FROM v_span WHERE name = 'checkpoint' "
	 "GROUP BY process_id)) "
	 "WHERE before_ns IS NULL OR start_ns >= before_ns "
	 "GROUP BY process_id)",
	 fill_spans},
	/* From an epoch's begin, where the loader's workers are made, to its
	 * first batch. Each rank has a first epoch, which must. */
	{"WITH begun AS (SELECT min(ordinal) AS ordinal, process_id, "
	 "epoch_span, start_ns, coalesce(fetch_ns / steps, 0) AS fetch_ns "
	 "FROM step "
	 "WHERE rank = (SELECT min(rank) FROM step) "
	 "GROUP BY process_id, epoch_span) "
	 "SELECT count(*), coalesce(sum(b.fetch_ns + "
	 "max(0, b.start_ns - e.start_ns)) FILTER (WHERE b.ordinal > 1), 0) "
	 "FROM begun b JOIN span e ON e.span_id = b.epoch_span",
	 fill_epochs},
	{"SELECT o.compute_source, o.rank, o.process_id, o.steps, "
	 "(SELECT coalesce(sum(s.steps), 0) FROM step s "
	 "WHERE s.process_id = o.process_id AND s.fetch_ns IS NULL), "
	 "o.steady_steps, "
	 "(SELECT count(DISTINCT s.epoch_span) FROM step s "
	 "WHERE s.process_id = o.process_id), coalesce(w.anew, 0), "
	 "t.loop_ns, t.loop_wait_ns, t.loop_own_io_ns, t.steady_known_ns, "
	 "t.steady_fetch_ns, t.steady_compute_ns, t.steady_own_io_ns, "
	 "t.median_step_ns, t.median_fetch_ns, t.median_compute_ns, "
	 "t.median_own_io_ns, t.median_other_ns, o.io_ns, o.hidden_ns, "
	 "o.exposed_ns, o.fetch_ns, coalesce(w.most, o.workers), "
	 "coalesce(w.least, w.most, o.workers), o.hidden_share, "
	 "o.computing_share, o.stall_share, o.wait_share, "
	 "o.worker_busy_share, o.worker_io_share, o.headroom "
	 "FROM v_overlap o JOIN rank_time t USING (process_id) "
	 "LEFT JOIN " REPORT_WORKERS " w USING (process_id) "
	 "ORDER BY o.rank, o.process_id",
	 fill_rank},
	{"SELECT exposed_ns, reads, bytes, read_ns FROM v_storage_wait",
	 fill_storage_wait},
	/* The image's name, or that of the hooks, which load into Pythons of
	 * other names too. */
	{"SELECT EXISTS (SELECT 1 FROM note WHERE key GLOB 'hook:*') OR "
	 "EXISTS (SELECT 1 FROM process WHERE "
	 "replace(exe, rtrim(exe, replace(exe, '/', '')), '') GLOB "
	 "'python*')",
	 fill_python},
};

int report_read(struct report *r, struct reel_store *st, struct reel_error *err)
{
	size_t i;
	int op;

	r->st = st;
	r->median_file_bytes = r->io_ns = r->wall_ns = REPORT_NONE;
	for (op = 0; op < 2; op++) {
		struct report_moved *m = &r->moved[op];

		m->min_bytes = m->median_bytes = m->max_bytes = REPORT_NONE;
		m->busy_bytes_per_s = m->in_order_share = m->random_share =
			REPORT_NONE;
	}
	for (i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (each(r, queries[i].sql, queries[i].fn, err))
			return -1;
	reel_cpu_contention_read(&r->machine, st);
	return read_fetched(r, err) || read_journals(r, err) || advise(r, err)
		       ? -1
		       : 0;
}

const struct report_rank *report_slowest(const struct report *r)
{
	const struct report_rank *worst = NULL;
	int64_t i;

	for (i = 0; i < r->ranks; i++)
		if (r->rank[i].steps > 0 &&
		    (!worst || r->rank[i].wait_share > worst->wait_share))
			worst = &r->rank[i];
	return worst;
}

bool report_run_is_job(const struct report *r)
{
	return r->wall_ns > 0 && r->wall_ns >= r->span_ns;
}

int64_t report_run_ns(const struct report *r)
{
	return report_run_is_job(r) ? r->wall_ns : r->span_ns;
}

void report_fini(struct report *r)
{
	free(r->name);
	free(r->framework);
	free(r->host);
	free(r->rank);
	free(r->verdict);
	memset(r, 0, sizeof(*r));
}
