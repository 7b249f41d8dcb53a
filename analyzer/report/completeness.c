/* SPDX-License-Identifier: MIT */
/*
 * The lines of the report that say what was not traced. They stand above the
 * numbers that they touch.
 */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/columns.h"
#include "lib/num.h"
#include "lib/store/store.h"
#include "lib/text.h"

#include "analyzer/report/report.h"

static const struct {
	const char *reason, *words;
} why[] = {
	{"untraced_static", "statically linked"},
	{"untraced_setuid", "with other rights"},
	{"untraced_env", "without LD_PRELOAD in their environment"},
	{"untraced_libc", "of another C library"},
	{"untraced_abi", "for another machine"},
	{"untraced_raw", "written in Go, which makes its system calls itself"},
	{"untraced_seccomp", "confined by seccomp, from there on"},
	{"untraced_namespace", "of libraries that dlmopen loaded"},
	{"start", "that could not begin to record, or whose logs are gone"},
};

/* @unit NULL: any. */
static int64_t count(struct reel_store *st, const char *reason,
		     const char *unit)
{
	sqlite3_stmt *q = NULL;
	int64_t n = 0;

	if (reel_store_prepare(st, &q,
			       "SELECT sum(count) FROM loss WHERE reason = ?1 "
			       "AND unit = ifnull(?2, unit)",
			       NULL))
		return 0;
	sqlite3_bind_text(q, 1, reason, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 2, unit, -1, SQLITE_STATIC);
	if (sqlite3_step(q) == SQLITE_ROW)
		n = report_int(q, 0);
	sqlite3_finalize(q);
	return n;
}

int64_t report_untraced(struct reel_store *st)
{
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++)
		sum += count(st, why[i].reason, NULL);
	return sum;
}

bool report_damaged(struct reel_store *st)
{
	return count(st, "damaged", NULL) + count(st, "unreadable", NULL) +
		       count(st, "missing", NULL) >
	       0;
}

int64_t report_denied(struct reel_store *st)
{
	return count(st, "denied", NULL);
}

/* Number and words, behind what @b has. */
static void list(struct reel_buf *b, int64_t n, const char *one,
		 const char *many)
{
	char num[REEL_NUM];

	if (n > 0)
		reel_buf_printf(b, NULL, "%s%s %s", b->len ? ", " : "",
				reel_num_count(num, n), n == 1 ? one : many);
}

bool report_incomplete(struct reel_store *st, struct reel_buf *out)
{
	struct reel_buf b = REEL_BUF_INIT;
	int64_t lost = 0;
	bool has, is;

	if (!reel_store_int(st, "SELECT lost FROM run", &lost, &has, NULL) &&
	    has)
		list(&b, lost, "event lost", "events lost");
	list(&b, report_untraced(st), "program not traced",
	     "programs not traced");
	if (report_damaged(st))
		reel_buf_printf(&b, NULL, "%sa damaged trace",
				b.len ? ", " : "");
	list(&b, report_denied(st), "file without permission to read it",
	     "files without permission to read them");
	if (count(st, "counted", NULL) > 0)
		reel_buf_printf(&b, NULL,
				"%scounters for events, with mean sizes",
				b.len ? ", " : "");
	is = b.len;
	if (is)
		reel_buf_printf(out, NULL, "incomplete: %s", reel_buf_text(&b));
	reel_buf_fini(&b);
	return is;
}

static void beside(const char *who, struct reel_buf *words)
{
	struct reel_buf text = REEL_BUF_INIT;

	reel_buf_printf(&text, NULL, "%s: %s", who, reel_buf_text(words));
	reel_columns_wrapped(reel_buf_text(&text), 2, 0);
	reel_buf_fini(&text);
	reel_buf_fini(words);
}

void report_beside(const char *who, struct reel_store *st)
{
	struct reel_buf words = REEL_BUF_INIT;
	struct reel_cpu_contention m;

	if (report_incomplete(st, &words))
		beside(who, &words);
	reel_cpu_contention_read(&m, st);
	if (reel_cpu_contention_words(&m, &words))
		beside(who, &words);
}

/* Nobody knows how many events a damaged log had: no number says it. */
static void damage(const struct report *r)
{
	int64_t bytes = count(r->st, "damaged", "bytes"),
		places = count(r->st, "damaged", "places"),
		files = count(r->st, "unreadable", NULL),
		blocks = count(r->st, "missing", NULL);
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM], num2[REEL_NUM];

	if (places > 0)
		reel_buf_printf(
			&b, NULL, ", %s of its logs skipped in %s place%s",
			reel_num_bytes(num, (double)bytes),
			reel_num_count(num2, places), places == 1 ? "" : "s");
	if (files > 0)
		reel_buf_printf(&b, NULL, ", %s file%s unreadable",
				reel_num_count(num, files),
				files == 1 ? "" : "s");
	if (blocks > 0)
		reel_buf_printf(&b, NULL, ", %s block%s missing",
				reel_num_count(num, blocks),
				blocks == 1 ? "" : "s");
	if (b.len) {
		reel_buf_puts(&b, ": what was there is in no number below",
			      NULL);
		fputs("damaged:", stdout);
		reel_columns_wrapped(reel_buf_text(&b) + 1, 10, 8);
	}
	reel_buf_fini(&b);
}

/* Logs that this user may not read. */
static void denied(const struct report *r)
{
	int64_t files = report_denied(r->st);
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	if (files <= 0)
		return;
	reel_buf_printf(&b, NULL,
			"permission denied: %s file%s of the trace could not "
			"be opened: what was there is in no number below",
			reel_num_count(num, files), files == 1 ? "" : "s");
	reel_columns_wrapped(reel_buf_text(&b), 10, 0);
	reel_buf_fini(&b);
}

/* What the job said of itself: any bytes. */
static void put_said(struct reel_buf *b, sqlite3_stmt *q, int column)
{
	char shown[4 * 256 + 1];
	int n = sqlite3_column_bytes(q, column);

	reel_text_escape(shown, sizeof(shown),
			 (const char *)sqlite3_column_text(q, column),
			 n > 256 ? 256 : (size_t)n);
	reel_buf_puts(b, shown, NULL);
}

/* A framework of a version that is not known, or without what hooks need. */
static void hooks(const struct report *r)
{
	const char *between = "hooks: not all are in: ";
	struct reel_buf b = REEL_BUF_INIT;
	sqlite3_stmt *q = NULL;

	if (reel_store_prepare(
		    r->st, &q,
		    "SELECT DISTINCT substr(key, 6), value FROM note "
		    "WHERE key GLOB 'hook:*' AND value <> 'on' "
		    "ORDER BY 1, 2 LIMIT 16",
		    NULL))
		return;
	while (sqlite3_step(q) == SQLITE_ROW) {
		reel_buf_puts(&b, between, NULL);
		put_said(&b, q, 0);
		reel_buf_puts(&b, " (", NULL);
		put_said(&b, q, 1);
		reel_buf_puts(&b, ")", NULL);
		between = ", ";
	}
	sqlite3_finalize(q);
	if (b.len)
		reel_columns_wrapped(reel_buf_text(&b), 10, 0);
	reel_buf_fini(&b);
}

/* Processes that only started the job. */
static void launchers(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	sqlite3_stmt *q = NULL;
	char num[REEL_NUM], num2[REEL_NUM];

	if (reel_store_prepare(r->st, &q,
			       "SELECT names, processes, files "
			       "FROM launcher_io",
			       NULL))
		return;
	if (sqlite3_step(q) == SQLITE_ROW) {
		int64_t n = report_int(q, 1), files = report_int(q, 2);

		reel_buf_printf(&b, NULL, "launcher: %s process%s of ",
				reel_num_count(num, n), n == 1 ? "" : "es");
		put_said(&b, q, 0);
		reel_buf_printf(
			&b, NULL, ", %s file%s: not shown; --all shows them",
			reel_num_count(num2, files), files == 1 ? "" : "s");
		reel_columns_wrapped(reel_buf_text(&b), 10, 0);
	}
	sqlite3_finalize(q);
	reel_buf_fini(&b);
}

/* A command whose end nobody wrote down, processes that it left behind. */
static void went_on(const struct report *r)
{
	sqlite3_stmt *q = NULL;
	bool living = false;
	int64_t n = 0;
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	if (reel_store_prepare(r->st, &q,
			       "SELECT json_extract(job_json, '$.running'), "
			       "json_type(job_json, '$.command') IS NOT NULL "
			       "AND json_type(job_json, '$.exit_status') "
			       "IS NULL FROM run WHERE json_valid(job_json)",
			       NULL))
		return;
	if (sqlite3_step(q) == SQLITE_ROW) {
		n = report_int(q, 0);
		living = sqlite3_column_int(q, 1);
	}
	sqlite3_finalize(q);
	if (living)
		reel_columns_wrapped("running: the command had not ended when "
				     "this was loaded, or ioreel record was "
				     "killed",
				     10, 0);
	if (n <= 0)
		return;
	reel_buf_printf(&b, NULL,
			"running: %s process%s went on when the command had "
			"ended: what %s had done when this was loaded is here",
			reel_num_count(num, n), n == 1 ? "" : "es",
			n == 1 ? "it" : "they");
	reel_columns_wrapped(reel_buf_text(&b), 10, 0);
	reel_buf_fini(&b);
}

void report_gaps(const struct report *r)
{
	int64_t all = report_untraced(r->st),
		after = count(r->st, "counted_after", NULL);
	const char *between = " (";
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	damage(r);
	denied(r);
	if (after > 0) {
		reel_buf_printf(&b, NULL,
				"events until %s, then counters: the trace had "
				"reached --max-size",
				reel_num_time(num, (double)after));
		reel_columns_wrapped(reel_buf_text(&b), 10, 0);
		reel_buf_fini(&b);
	} else if (count(r->st, "counted", NULL) > 0) {
		reel_buf_printf(
			&b, NULL,
			"counters, not events: calls, bytes and their time are "
			"exact (but for printf, getc and their like), sizes "
			"are means of a power of two, files are told apart by "
			"folder and kind of name (about %s were opened), steps "
			"faster than one a second are summed; I/O of several "
			"threads at a time, hidden and exposed I/O are "
			"estimates",
			reel_num_count(num,
				       count(r->st, "counted_files", NULL)));
		reel_columns_wrapped(reel_buf_text(&b), 10, 0);
		reel_buf_fini(&b);
	}
	hooks(r);
	launchers(r);
	went_on(r);
	report_gaps_mpi(r);
	if (!all)
		return;
	reel_buf_printf(&b, NULL, "untraced: %s program%s",
			reel_num_count(num, all), all == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		int64_t n = count(r->st, why[i].reason, NULL);

		if (!n)
			continue;
		reel_buf_printf(&b, NULL, "%s%s %s", between,
				reel_num_count(num, n), why[i].words);
		between = ", ";
	}
	reel_buf_puts(&b, "): what they read and wrote is not here", NULL);
	reel_columns_wrapped(reel_buf_text(&b), 10, 0);
	reel_buf_fini(&b);
}
