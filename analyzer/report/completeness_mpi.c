/* SPDX-License-Identifier: MIT */
/*
 * The lines of the report that say what is not known of MPI: an MPI whose
 * calls were not seen, what ordered ranks but was counted only, and ranks that
 * share their numbers. All are notes of the processes (ioreel-trace(5), "MPI").
 */
#include <stdio.h>

#include "lib/buf.h"
#include "lib/columns.h"
#include "lib/num.h"
#include "lib/store/store.h"
#include "lib/text.h"

#include "analyzer/report/report.h"

/* A process notes its counts again and again: the greatest is the last. */
static void counted_only(const struct report *r)
{
	static const char *const words[][2] = {
		{"point-to-point message", "s"},
		{"one-sided epoch", "s"},
		{"other collective", "s"},
	};
	const char *between = "order: ";
	struct reel_buf b = REEL_BUF_INIT;
	sqlite3_stmt *q = NULL;
	char num[REEL_NUM];

	if (reel_store_prepare(
		    r->st, &q,
		    "SELECT CASE key WHEN 'mpi_messages' THEN 0 "
		    "WHEN 'mpi_one_sided' THEN 1 ELSE 2 END, sum(n) FROM "
		    "(SELECT key, max(CAST(value AS INTEGER)) AS n FROM note "
		    "WHERE key IN ('mpi_messages', 'mpi_one_sided', "
		    "'mpi_collectives') GROUP BY key, process_id) "
		    "GROUP BY 1 ORDER BY 1",
		    NULL))
		return;
	while (sqlite3_step(q) == SQLITE_ROW) {
		int kind = sqlite3_column_int(q, 0);
		int64_t n = sqlite3_column_int64(q, 1);

		if (n <= 0)
			continue;
		reel_buf_printf(&b, NULL, "%s%s %s%s", between,
				reel_num_count(num, n), words[kind][0],
				n == 1 ? "" : words[kind][1]);
		between = ", ";
	}
	sqlite3_finalize(q);
	if (b.len) {
		reel_buf_puts(&b,
			      " of MPI are counted, not recorded: a replay "
			      "does not wait for them",
			      NULL);
		reel_columns_wrapped(reel_buf_text(&b), 10, 0);
	}
	reel_buf_fini(&b);
}

static void not_seen(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	sqlite3_stmt *q = NULL;
	char shown[4 * 256 + 1];

	if (reel_store_prepare(r->st, &q,
			       "SELECT DISTINCT value FROM note WHERE "
			       "key = 'mpi_not_recorded' ORDER BY 1 LIMIT 8",
			       NULL))
		return;
	while (sqlite3_step(q) == SQLITE_ROW) {
		int n = sqlite3_column_bytes(q, 0);

		reel_text_escape(shown, sizeof(shown),
				 (const char *)sqlite3_column_text(q, 0),
				 n > 256 ? 256 : (size_t)n);
		reel_buf_printf(&b, NULL, "%s%s",
				b.len ? ", " : "MPI not seen: ", shown);
	}
	sqlite3_finalize(q);
	if (b.len) {
		reel_buf_puts(&b,
			      ": the calls beneath it are here, its own, "
			      "its ranks and its collectives are not",
			      NULL);
		reel_columns_wrapped(reel_buf_text(&b), 10, 0);
	}
	reel_buf_fini(&b);
}

/* Ranks are counted by their numbers, which each world has from 0 on. */
static void several_worlds(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	sqlite3_stmt *q = NULL;
	char num[REEL_NUM];
	int64_t worlds = 0;

	if (reel_store_prepare(r->st, &q,
			       "SELECT max(ranks) FROM v_world GROUP BY world "
			       "ORDER BY world",
			       NULL))
		return;
	while (sqlite3_step(q) == SQLITE_ROW)
		if (++worlds <= 8)
			reel_buf_printf(
				&b, NULL, "%s%s", worlds > 1 ? ", " : "",
				reel_num_count(num,
					       sqlite3_column_int64(q, 0)));
	sqlite3_finalize(q);
	if (worlds > 1) {
		struct reel_buf line = REEL_BUF_INIT;

		reel_buf_printf(&line, NULL,
				"worlds: MPI made %s, of %s%s ranks with the "
				"same numbers; --ranks tells them apart",
				reel_num_count(num, worlds), reel_buf_text(&b),
				worlds > 8 ? " ..." : "");
		reel_columns_wrapped(reel_buf_text(&line), 10, 0);
		reel_buf_fini(&line);
	}
	reel_buf_fini(&b);
}

void report_gaps_mpi(const struct report *r)
{
	several_worlds(r);
	counted_only(r);
	not_seen(r);
}
