/* SPDX-License-Identifier: MIT */
/*
 * Runs of alike events: metrics that look up once per run give the rows that they
 * give for each event on its own.
 */
#include "tests/unit/test_metric.h"

#define EVENTS 4000
#define THREADS 3
#define LONG_RUN 300 /* more than a run holds */

static struct metric_event list[EVENTS];
static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* The first event of a burst. */
static struct reel_event first_of_burst(void)
{
	static const enum reel_call calls[] = {
		REEL_CALL_PREAD, REEL_CALL_READ,  REEL_CALL_WRITE,
		REEL_CALL_FSTAT, REEL_CALL_FREAD, REEL_CALL_OPEN,
		REEL_CALL_READ,	 REEL_CALL_PREAD, REEL_CALL_ASYNC_READ,
	};
	struct reel_event ev =
		moved(calls[draw(sizeof(calls) / sizeof(calls[0]))], 0, 0,
		      draw(100) * 512, draw(4) ? 4096 : draw(70000));

	ev.thread = ev.process = 1 + draw(THREADS);
	ev.file = draw(9);
	ev.open = ev.file ? 1 + draw(5) : 0;
	ev.fd = (int32_t)draw(4);
	if (ev.file == 7)
		ev.kind = REEL_KIND_PIPE;
	if (!draw(9)) {
		ev.err = 5;
		ev.result = -1;
	}
	if (!draw(9))
		ev.result = 0; /* end of file */
	if (!draw(12))
		ev.count = 2 + draw(5);
	return ev;
}

static uint32_t burst_events(void)
{
	uint32_t kind = draw(40);

	return kind ? 1 + draw(kind % 8 ? 12 : 2) : LONG_RUN;
}

/* Bursts of one call: times and offsets vary, sometimes an argument or a member
 * that ends the run. */
static void make_events(void)
{
	int64_t now_ns = 0;
	uint32_t n = 0;

	while (n < EVENTS) {
		struct reel_event ev = first_of_burst();

		for (uint32_t left = burst_events(); left && n < EVENTS;
		     left--) {
			ev.dur_ns = 1 + draw(5000);
			now_ns += draw(50) ? draw(9000) : 700000000;
			ev.start_ns =
				now_ns > ev.dur_ns ? now_ns - ev.dur_ns : 0;
			if (ev.offset != REEL_NO_OFFSET)
				ev.offset = draw(5) ? ev.offset + ev.result
						    : (int64_t)draw(900) * 100;
			if (!draw(30))
				ev.offset = REEL_NO_OFFSET;
			ev.arg2 = draw(20) ? 0 : draw(9000);
			if (!draw(30))
				ev.site = draw(2);
			list[n] = (struct metric_event){.raw = ev};
			metric_event_fill(&list[n++]);
		}
	}
}

static uint32_t mark_runs(void)
{
	struct metric_event *first = list;
	uint32_t runs = 1;

	for (uint32_t i = 1; i < EVENTS; i++) {
		if (metric_run_extend(first, &list[i]))
			continue;
		first = &list[i];
		runs++;
	}
	return runs;
}

static void feed_all(struct job *j, uint32_t batch)
{
	for (uint32_t at = 0; at < EVENTS; at += batch) {
		uint32_t n = EVENTS - at < batch ? EVENTS - at : batch;

		for (int i = 0; reel_metrics[i]; i++)
			if (reel_metric_feed(reel_metrics[i], j->state[i],
					     &list[at], n, ~0u, &j->err))
				ok(0, "feed %s", reel_metrics[i]->name);
	}
}

static void begin(struct job *j)
{
	job_begin(j);
	for (int i = 1; i <= THREADS; i++)
		job_process(j, i, 0, "main", INT64_C(1) << 40);
	for (int i = 1; i < 9; i++)
		job_file(j, i, "/d/x", i == 7 ? "pipe" : "file");
}

/* All rows of a table as text. */
static char *rows_of(struct job *j, const char *table)
{
	char *text = sqlite3_mprintf(""), *sql, *longer;
	sqlite3_stmt *q = NULL;

	sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
	if (sqlite3_prepare_v2(j->st.db, sql, -1, &q, NULL) != SQLITE_OK)
		ok(0, "SQL: %s", sqlite3_errmsg(j->st.db));
	while (q && sqlite3_step(q) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(q); i++) {
			const void *blob = sqlite3_column_blob(q, i);
			int bytes = sqlite3_column_bytes(q, i);

			if (sqlite3_column_type(q, i) == SQLITE_BLOB) {
				longer = sqlite3_mprintf("%s %d:", text, bytes);
				for (int b = 0; b < bytes; b++) {
					char *was = longer;

					longer = sqlite3_mprintf(
						"%z%02x", was,
						((const uint8_t *)blob)[b]);
				}
			} else {
				longer = sqlite3_mprintf(
					"%s %s", text,
					sqlite3_column_text(q, i));
			}
			sqlite3_free(text);
			text = longer;
		}
	sqlite3_finalize(q);
	sqlite3_free(sql);
	return text;
}

/* Compare the tables that the metrics wrote. */
static void compare(struct job *a, struct job *b, const char *what)
{
	sqlite3_stmt *q = NULL;
	int tables = 0, filled = 0;

	sqlite3_prepare_v2(
		a->st.db,
		"SELECT name FROM sqlite_master WHERE type = 'table' "
		"AND name NOT LIKE 'sqlite%' AND sql NOT LIKE "
		"'CREATE VIRTUAL%'",
		-1, &q, NULL);
	while (sqlite3_step(q) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(q, 0);
		char *x = rows_of(a, name), *y = rows_of(b, name);

		tables++;
		filled += *x != '\0';
		if (strcmp(x, y))
			ok(0, "%s: table %s differs", what, name);
		sqlite3_free(x);
		sqlite3_free(y);
	}
	sqlite3_finalize(q);
	ok(filled > 12, "%s: %d tables are equal, %d with rows", what, tables,
	   filled);
}

int main(void)
{
	static struct job alone, runs, cut;
	uint32_t n;

	make_events();
	begin(&alone);
	feed_all(&alone, 1);
	job_finish(&alone);
	n = mark_runs();
	ok(n < EVENTS * 3 / 4, "the events have runs: %u of %d", n, EVENTS);
	begin(&runs);
	feed_all(&runs, EVENTS);
	job_finish(&runs);
	compare(&alone, &runs, "runs");
	begin(&cut);
	feed_all(&cut, 7);
	job_finish(&cut);
	compare(&alone, &cut, "runs that batches cut");
	job_end(&alone);
	job_end(&runs);
	job_end(&cut);
	return done();
}
