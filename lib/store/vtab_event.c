/* SPDX-License-Identifier: MIT */
/*
 * The virtual table `event`: rows from compressed blocks.
 *
 * It works wherever the module is registered, and reads table event_block of
 * schema main. Constraints only skip blocks and rows; SQLite checks each row
 * again, so a bound that is too wide is never wrong.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store/event.h"
#include "lib/store/event_walk.h"
#include "lib/store/vtab.h"

static const char event_columns[] =
	"CREATE TABLE event (start_ns INTEGER, dur_ns INTEGER, "
	"process_id INTEGER, thread_id INTEGER, call_id INTEGER, "
	"file_id INTEGER, file2_id INTEGER, open_id INTEGER, fd INTEGER, "
	"fd2 INTEGER, offset INTEGER, asked INTEGER, result INTEGER, "
	"errno INTEGER, arg INTEGER, arg2 INTEGER, pos INTEGER, calls INTEGER)";

enum sql_column {
	SQL_START,
	SQL_DUR,
	SQL_PROCESS,
	SQL_THREAD,
	SQL_CALL,
	SQL_FILE,
	SQL_FILE2,
	SQL_OPEN,
	SQL_FD,
	SQL_FD2,
	SQL_OFFSET,
	SQL_ASKED,
	SQL_RESULT,
	SQL_ERRNO,
	SQL_ARG,
	SQL_ARG2,
	SQL_POS,
	SQL_CALLS,
	SQL_COLUMNS
};

#define NO_NULL INT64_MAX /* no value of the column means NULL */

/* SQL column -> block column, and the value that means NULL. */
static const struct {
	int column; /* -1: not in the blocks */
	int64_t null;
} of_column[SQL_COLUMNS] = {
	[SQL_START] = {REEL_COL_START, NO_NULL},
	[SQL_DUR] = {REEL_COL_DUR, NO_NULL},
	[SQL_PROCESS] = {-1, NO_NULL},
	[SQL_THREAD] = {-1, NO_NULL},
	[SQL_CALL] = {REEL_COL_CALL, NO_NULL},
	[SQL_FILE] = {REEL_COL_FILE, 0},
	[SQL_FILE2] = {REEL_COL_FILE2, 0},
	[SQL_OPEN] = {REEL_COL_OPEN, 0},
	[SQL_FD] = {REEL_COL_FD, -1},
	[SQL_FD2] = {REEL_COL_FD2, -1},
	[SQL_OFFSET] = {REEL_COL_OFFSET, REEL_NO_OFFSET},
	[SQL_ASKED] = {REEL_COL_ASKED, REEL_NO_SIZE},
	[SQL_RESULT] = {REEL_COL_RESULT, NO_NULL},
	[SQL_ERRNO] = {REEL_COL_ERR, NO_NULL},
	[SQL_ARG] = {REEL_COL_ARG, NO_NULL},
	[SQL_ARG2] = {REEL_COL_ARG2, NO_NULL},
	[SQL_POS] = {REEL_COL_POS, REEL_NO_OFFSET},
	[SQL_CALLS] = {REEL_COL_COUNT, NO_NULL},
};

struct event_cursor {
	sqlite3_vtab_cursor base;
	struct reel_event_walk *walk;
	struct reel_event_row row;
	int64_t min_start_ns, max_start_ns;
	bool end;
};

/* idxNum: the constraints that xFilter gets, in this order. */
#define PLAN_THREAD 1
#define PLAN_PROCESS 2
#define PLAN_MIN 4
#define PLAN_MAX 8

/* The plan bit of constraint @c, or 0. */
static int plan_bit(const struct sqlite3_index_constraint *c)
{
	if (!c->usable)
		return 0;
	if (c->op == SQLITE_INDEX_CONSTRAINT_EQ) {
		if (c->iColumn == SQL_THREAD)
			return PLAN_THREAD;
		if (c->iColumn == SQL_PROCESS)
			return PLAN_PROCESS;
		return 0;
	}
	if (c->iColumn != SQL_START)
		return 0;
	if (c->op == SQLITE_INDEX_CONSTRAINT_GE ||
	    c->op == SQLITE_INDEX_CONSTRAINT_GT)
		return PLAN_MIN;
	if (c->op == SQLITE_INDEX_CONSTRAINT_LE ||
	    c->op == SQLITE_INDEX_CONSTRAINT_LT)
		return PLAN_MAX;
	return 0;
}

/* The number of events in the store, for the cost estimate. */
static double count_events(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	double n = 1e6;

	if (sqlite3_prepare_v2(db, "SELECT events FROM main.run", -1, &stmt,
			       NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	return n > 1 ? n : 1;
}

static int event_best_index(sqlite3_vtab *tab, sqlite3_index_info *info)
{
	struct reel_vtab *t = (struct reel_vtab *)tab;
	double rows = count_events(t->db);
	int which[4] = {-1, -1, -1, -1}, arg = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		int plan = plan_bit(&info->aConstraint[i]);

		for (int bit = 0; bit < 4; bit++)
			if (plan == 1 << bit && which[bit] < 0)
				which[bit] = i;
	}
	for (int bit = 0; bit < 4; bit++) {
		if (which[bit] < 0)
			continue;
		info->idxNum |= 1 << bit;
		info->aConstraintUsage[which[bit]].argvIndex = ++arg;
		rows /= 4;
	}
	info->estimatedRows = (sqlite3_int64)rows + 1;
	info->estimatedCost = rows + 100; /* the list of blocks */
	/* the mask of columns for the walk, as text */
	info->idxStr = sqlite3_mprintf("%llx", info->colUsed);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int event_open(sqlite3_vtab *tab, sqlite3_vtab_cursor **out)
{
	struct event_cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*out = &c->base;
	return SQLITE_OK;
}

static int event_close(sqlite3_vtab_cursor *cur)
{
	struct event_cursor *c = (struct event_cursor *)cur;

	reel_event_walk_close(c->walk);
	free(c);
	return SQLITE_OK;
}

static int event_next(sqlite3_vtab_cursor *cur)
{
	struct event_cursor *c = (struct event_cursor *)cur;
	const char *why = "";

	for (;;) {
		int rc = reel_event_walk_next(c->walk, &c->row, &why);
		int64_t start;

		c->end = rc <= 0;
		if (rc < 0)
			return reel_vtab_fail(cur->pVtab, why);
		if (!rc)
			return SQLITE_OK;
		start = c->row.cols->v[REEL_COL_START][c->row.at];
		if (start >= c->min_start_ns && start <= c->max_start_ns)
			return SQLITE_OK;
	}
}

static uint32_t column_mask(const char *text)
{
	uint64_t used = strtoull(text ? text : "", NULL, 16);
	uint32_t mask = 0;

	for (int i = 0; i < SQL_COLUMNS; i++)
		if ((used >> i & 1) && of_column[i].column >= 0)
			mask |= 1u << of_column[i].column;
	return mask;
}

/*
 * Convert a bound of any type to an integer that is not narrower; false when no
 * row can match (NULL).
 */
static bool start_bound(sqlite3_value *v, bool upper, int64_t *out)
{
	double d;

	switch (sqlite3_value_numeric_type(v)) {
	case SQLITE_INTEGER:
		*out = sqlite3_value_int64(v);
		return true;
	case SQLITE_FLOAT:
		d = sqlite3_value_double(v);
		if (d >= -9e18 && d <= 9e18)
			*out = (int64_t)(upper ? ceil(d) : floor(d));
		return true;
	case SQLITE_NULL:
		return false;
	default:
		return true; /* text, blob: left to SQLite */
	}
}

static int event_filter(sqlite3_vtab_cursor *cur, int plan, const char *text,
			int argc, sqlite3_value **argv)
{
	struct event_cursor *c = (struct event_cursor *)cur;
	struct reel_vtab *t = (struct reel_vtab *)c->base.pVtab;
	struct reel_event_range r = {
		.min_start_ns = INT64_MIN,
		.max_start_ns = INT64_MAX,
		.mask = column_mask(text),
	};
	const char *why = "";
	bool any = true;
	int i = 0;

	reel_event_walk_close(c->walk);
	c->walk = NULL;
	if (plan & PLAN_THREAD)
		any = reel_vtab_id(argv[i++], &r.thread) && any;
	if (plan & PLAN_PROCESS)
		any = reel_vtab_id(argv[i++], &r.process) && any;
	if (plan & PLAN_MIN)
		any = start_bound(argv[i++], false, &r.min_start_ns) && any;
	if (plan & PLAN_MAX)
		any = start_bound(argv[i++], true, &r.max_start_ns) && any;
	c->min_start_ns = r.min_start_ns;
	c->max_start_ns = r.max_start_ns;
	c->end = !any;
	if (c->end)
		return SQLITE_OK;
	if (reel_event_walk_open(&c->walk, t->db, &r, &why)) {
		c->end = true;
		return reel_vtab_fail(cur->pVtab, why);
	}
	return event_next(cur);
}

static int event_eof(sqlite3_vtab_cursor *cur)
{
	return ((struct event_cursor *)cur)->end;
}

static int event_column(sqlite3_vtab_cursor *cur, sqlite3_context *ctx, int i)
{
	struct event_cursor *c = (struct event_cursor *)cur;
	int64_t v;

	if (i < 0 || i >= SQL_COLUMNS)
		return SQLITE_OK;
	if (i == SQL_THREAD)
		v = c->row.thread;
	else if (i == SQL_PROCESS)
		v = c->row.process;
	else
		v = c->row.cols->v[of_column[i].column][c->row.at];
	if (v != of_column[i].null)
		sqlite3_result_int64(ctx, v);
	return SQLITE_OK;
}

static int event_rowid(sqlite3_vtab_cursor *cur, sqlite3_int64 *rowid)
{
	struct event_cursor *c = (struct event_cursor *)cur;

	*rowid = c->row.block_id * REEL_BLOCK_EVENTS_MAX + c->row.at;
	return SQLITE_OK;
}

static int event_connect(sqlite3 *db, void *aux, int argc,
			 const char *const *argv, sqlite3_vtab **out,
			 char **message)
{
	return reel_vtab_connect(db, argv[1], event_columns, NULL, out,
				 message);
}

static const sqlite3_module event_module = {
	/* no xUpdate: read-only */
	.xCreate = event_connect,
	.xConnect = event_connect,
	.xBestIndex = event_best_index,
	.xDisconnect = reel_vtab_disconnect,
	.xDestroy = reel_vtab_disconnect,
	.xOpen = event_open,
	.xClose = event_close,
	.xFilter = event_filter,
	.xNext = event_next,
	.xEof = event_eof,
	.xColumn = event_column,
	.xRowid = event_rowid,
};

int reel_vtab_event_register(sqlite3 *db)
{
	return sqlite3_create_module_v2(db, REEL_VTAB_MODULE "event",
					&event_module, NULL, NULL);
}
