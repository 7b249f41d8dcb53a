/* SPDX-License-Identifier: MIT */
/*
 * The columns of the virtual table `event`, and its plans: which conditions of a
 * query go into the scan, as SQLite's idxStr, and back from it at the start of
 * a scan. This file goes into ioreel_sqlite.so too.
 */
#ifndef LIB_STORE_EVENT_PLAN_H
#define LIB_STORE_EVENT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/store/event_match.h"

enum reel_sql_column {
	REEL_SQL_START,
	REEL_SQL_DUR,
	REEL_SQL_PROCESS,
	REEL_SQL_THREAD,
	REEL_SQL_CALL_ID,
	REEL_SQL_FILE,
	REEL_SQL_FILE2,
	REEL_SQL_OPEN,
	REEL_SQL_FD,
	REEL_SQL_FD2,
	REEL_SQL_OFFSET,
	REEL_SQL_ASKED,
	REEL_SQL_RESULT,
	REEL_SQL_ERRNO,
	REEL_SQL_ARG,
	REEL_SQL_ARG2,
	REEL_SQL_POS,
	REEL_SQL_CALLS,
	/* hidden: not in "SELECT *"; their names are not those of columns of
	 * file, call, thread and process, which queries join without a prefix */
	REEL_SQL_PID,
	REEL_SQL_TID,
	REEL_SQL_CALL,
	REEL_SQL_LAYER,
	REEL_SQL_GROUP,
	REEL_SQL_BYTES,
	REEL_SQL_PATH,
	REEL_SQL_CLASS,
	REEL_SQL_KIND,
	REEL_SQL_PATH2,
	REEL_SQL_COLUMNS
};

#define REEL_SQL_NO_NULL INT64_MAX  /* no value of the column means NULL */
#define REEL_SQL_NO_BYTES INT64_MIN /* the call moves none; no result is so */

struct reel_sql_column_info {
	const char *name;
	uint32_t mask; /* columns of the block that it is made of */
	int column;    /* the one it is a value of; -1: it is made of them */
	int64_t null;  /* the value that means NULL */
	enum reel_match_of match;
};

extern const struct reel_sql_column_info reel_sql_column[REEL_SQL_COLUMNS];

/* The part of a query that its scan needs. Zeroed is valid. */
struct reel_event_plan {
	struct reel_event_wanted wanted;
	uint64_t used; /* mask of enum reel_sql_column */
	bool none;     /* no row can match */
};

/* The work of xBestIndex, for a table of @events rows. SQLite's result code. */
int reel_event_plan_make(sqlite3 *db, sqlite3_index_info *info, double events);

/*
 * Fill @p, used before or zeroed, from the idxStr @text and the @argc arguments
 * of xFilter. SQLite's result code; SQLITE_ERROR with @why.
 */
int reel_event_plan_read(struct reel_event_plan *p, const char *text, int argc,
			 sqlite3_value **argv, struct reel_event_names *names,
			 const char **why);
void reel_event_plan_fini(struct reel_event_plan *p);

#endif
