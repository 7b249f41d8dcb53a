/* SPDX-License-Identifier: MIT */
/*
 * Metrics without a trace: hand-made events are fed to all metrics, and SQL
 * reads their results.
 */
#ifndef TESTS_UNIT_TEST_METRIC_H
#define TESTS_UNIT_TEST_METRIC_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/metric/metric.h"
#include "lib/store/event_op.h"
#include "lib/store/store.h"

#include "tests/lib/tap.h"

static const char store_sql[] =
#include "schemas/store.sql.inc"
	;
static const char counter_sql[] =
#include "schemas/counter.sql.inc"
	;

#define METRICS_MOST 32

struct job {
	struct reel_store st;
	void *state[METRICS_MOST];
	struct reel_error err;
	uint32_t span_count; /* spans that the next one represents, 0: one */
	struct metric_copy copy;
};

__attribute__((unused)) static void job_sql(struct job *j, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(j->st.db, sql, NULL, NULL, &why) != SQLITE_OK) {
		ok(0, "SQL: %s", why);
		sqlite3_free(why);
	}
}

__attribute__((format(printf, 2, 3), unused)) static void
job_sqlf(struct job *j, const char *fmt, ...)
{
	va_list ap;
	char *sql;

	va_start(ap, fmt);
	sql = sqlite3_vmprintf(fmt, ap);
	va_end(ap);
	job_sql(j, sql);
	sqlite3_free(sql);
}

/* Create a store with the tables of all metrics, the calls, and a run. */
static void job_begin(struct job *j)
{
	int i;

	memset(j, 0, sizeof(*j));
	j->st.path = (char *)"test";
	sqlite3_open(":memory:", &j->st.db);
	reel_vtab_register(j->st.db);
	job_sql(j, store_sql);
	job_sql(j, counter_sql);
	/* in place of the virtual tables */
	job_sql(j, "DROP TABLE file; DROP TABLE span; CREATE TABLE file "
		   "(file_id INTEGER PRIMARY KEY, path, "
		   "kind, class, size_bytes); CREATE TABLE span (span_id "
		   "INTEGER PRIMARY KEY, thread_id, parent_id, kind, name, "
		   "detail, start_ns, dur_ns, closed)");
	job_sql(j, "BEGIN; INSERT INTO host VALUES (1, 'vm', 'b'); INSERT INTO "
		   "run VALUES (1, 'job', 'job', '/', 0, 1000, 1000, 0, NULL, "
		   "'vm', NULL, 1, 0, 40, 1, 1, 0, '{}', '0')");
	for (i = 0; i < REEL_CALL_MAX; i++) {
		const struct reel_call_info *c = reel_call_info((unsigned)i);

		if (c && c->group != REEL_GROUP_MARK)
			job_sqlf(j,
				 "INSERT INTO call VALUES (%d, '%s', '%s', "
				 "'%s', %d)",
				 i, c->name, reel_layer_name(c->layer),
				 reel_group_name(c->group),
				 reel_call_is_higher(c->layer, c->group));
	}
	for (i = 0; reel_metrics[i]; i++) {
		job_sql(j, reel_metrics[i]->schema);
		j->state[i] = reel_metric_new(reel_metrics[i], &j->err);
		if (!j->state[i])
			ok(0, "init %s", reel_metrics[i]->name);
	}
}

__attribute__((unused)) static void
job_process(struct job *j, int id, int parent, const char *role, int64_t end_ns)
{
	job_sqlf(j,
		 "INSERT INTO process VALUES (%d, %d, nullif(%d, 0), 1, "
		 "NULL, '%s', 'x', 'x', '/', NULL, NULL, 0, %lld, 'exit', "
		 "1, 0, 0, 0, 0, NULL); INSERT INTO thread VALUES (%d, %d, %d, "
		 "0, "
		 "%lld, 1, 0)",
		 id, 100 + id, parent, role, (long long)end_ns, id, id,
		 100 + id, (long long)end_ns);
}

__attribute__((unused)) static void job_file(struct job *j, int id,
					     const char *path, const char *kind)
{
	job_sqlf(j, "INSERT INTO file VALUES (%d, '%s', '%s', 'data', 100)", id,
		 path, kind);
}

/* Process, thread 1, file 1, open 1; no offset. */
__attribute__((unused)) static struct reel_event
event(enum reel_call call, int64_t start_ns, int64_t dur_ns)
{
	const struct reel_call_info *c = reel_call_info(call);

	return (struct reel_event){
		.start_ns = start_ns,
		.dur_ns = dur_ns,
		.process = 1,
		.thread = 1,
		.file = 1,
		.open = 1,
		.count = 1,
		.fd = 3,
		.fd2 = -1,
		.call = (uint16_t)call,
		.layer = (uint8_t)c->layer,
		.group = (uint8_t)c->group,
		.kind = REEL_KIND_FILE,
		.class_ = REEL_CLASS_DATA,
		.offset = REEL_NO_OFFSET,
		.asked = REEL_NO_SIZE,
		.pos = REEL_NO_OFFSET,
	};
}

__attribute__((unused)) static struct reel_event
moved(enum reel_call call, int64_t start_ns, int64_t dur_ns, int64_t offset,
      int64_t bytes)
{
	struct reel_event ev = event(call, start_ns, dur_ns);

	ev.offset = offset;
	ev.asked = ev.result = bytes;
	return ev;
}

__attribute__((unused)) static void job_feed(struct job *j,
					     struct reel_event ev)
{
	struct metric_event m = {.raw = ev};
	int i;

	metric_event_fill(&m);
	metric_copy_classify(&j->copy, &m);
	for (i = 0; reel_metrics[i]; i++)
		if (reel_metric_feed(reel_metrics[i], j->state[i], &m, 1,
				     metric_rare(&m), &j->err))
			ok(0, "feed %s: %s", reel_metrics[i]->name,
			   j->err.text);
}

__attribute__((unused)) static void
job_span_of(struct job *j, uint32_t process, uint32_t thread,
	    enum reel_span kind, int64_t detail, int64_t start_ns,
	    int64_t end_ns)
{
	static uint32_t id;
	uint32_t count = j->span_count ? j->span_count : 1;
	struct reel_span_event sp = {
		.start_ns = start_ns,
		.dur_ns = end_ns - start_ns,
		.span_id = ++id,
		.process = process,
		.thread = thread,
		.kind = kind,
		.detail = detail,
		.count = count,
		.name = reel_span_name(kind),
	};
	int i;

	for (i = 0; reel_metrics[i]; i++)
		if (reel_metrics[i]->span)
			reel_metrics[i]->span(j->state[i], &sp, &j->err);
	job_sqlf(j,
		 "INSERT INTO span VALUES (%u, %u, NULL, %d, '%s', %lld, "
		 "%lld, %lld, 1)",
		 id, thread, kind, sp.name, (long long)detail,
		 (long long)start_ns, (long long)sp.dur_ns);
}

__attribute__((unused)) static void job_span(struct job *j, uint32_t process,
					     enum reel_span kind,
					     int64_t detail, int64_t start_ns,
					     int64_t end_ns)
{
	job_span_of(j, process, process, kind, detail, start_ns, end_ns);
}

static void job_finish(struct job *j)
{
	int i;

	for (i = 0; reel_metrics[i]; i++) {
		if (reel_metrics[i]->finish(j->state[i], &j->st, &j->err))
			ok(0, "finish %s: %s", reel_metrics[i]->name,
			   j->err.text);
		reel_metric_free(reel_metrics[i], j->state[i]);
	}
}

static void job_end(struct job *j)
{
	is(j->err.code, REEL_OK, "no error %s", j->err.text);
	sqlite3_close(j->st.db);
}

/* The first column of the first row; -1 for NULL, -2 for no row. */
__attribute__((unused)) static double job_ask(struct job *j, const char *sql)
{
	sqlite3_stmt *q = NULL;
	double v = -2;

	if (sqlite3_prepare_v2(j->st.db, sql, -1, &q, NULL) != SQLITE_OK)
		ok(0, "SQL: %s", sqlite3_errmsg(j->st.db));
	else if (sqlite3_step(q) == SQLITE_ROW)
		v = sqlite3_column_type(q, 0) == SQLITE_NULL
			    ? -1
			    : sqlite3_column_double(q, 0);
	sqlite3_finalize(q);
	return v;
}

__attribute__((unused)) static int64_t job_int(struct job *j, const char *sql)
{
	return (int64_t)job_ask(j, sql);
}

#endif
