/* SPDX-License-Identifier: MIT */
/*
 * What the trace does not hold, though nothing was lost: programs that could
 * not be seen, and calls that were only counted once a budget was spent. Rows
 * of the table loss whose unit is not "events".
 */
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/trace_reader.h"

#include "analyzer/load_internal.h"
#include "analyzer/store.h"

static int put(struct load *l, sqlite3_stmt *stmt, const char *reason,
	       const char *unit, uint64_t count, struct reel_error *err)
{
	sqlite3_bind_text(stmt, 1, reason, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, unit, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3,
			   count > INT64_MAX ? INT64_MAX : (int64_t)count);
	return load_row_done(l, stmt, err);
}

/* A counter of the whole job. Failed starts are taken back: never below 0. */
static uint64_t sum(const struct load *l, unsigned int counter)
{
	uint64_t n = reel_trace_counts(l->tr)->counter[counter];

	for (int i = 0; i < reel_trace_processes(l->tr); i++)
		n += reel_trace_process(l->tr, i)->head.counter[counter];
	return n > INT64_MAX ? 0 : n;
}

int load_gaps(struct load *l, int64_t start_real_ns, struct reel_error *err)
{
	uint64_t full = reel_trace_counts(l->tr)->full_real_ns, n;
	sqlite3_stmt *stmt = NULL;
	int rc = -1;

	if (reel_store_prepare(l->st, &stmt,
			       "INSERT INTO loss VALUES (NULL, ?, ?, ?)", err))
		return -1;
	for (unsigned int c = REEL_UNTRACED_STATIC; c <= REEL_UNTRACED_NAMESPACE;
	     c++) {
		n = sum(l, c);
		if (n &&
		    put(l, stmt, reel_counter_name(c), "processes", n, err))
			goto out;
	}
	n = 0;
	for (int i = 0; i < reel_trace_processes(l->tr); i++)
		n += reel_trace_process(l->tr, i)->head.counted_ticks != 0;
	if (n && put(l, stmt, "counted", "processes", n, err))
		goto out;
	if (full &&
	    put(l, stmt, "counted_after", "ns",
		full > (uint64_t)start_real_ns ? full - (uint64_t)start_real_ns
					       : 0,
		err))
		goto out;
	rc = 0;
out:
	sqlite3_finalize(stmt);
	return rc;
}
