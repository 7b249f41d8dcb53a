/* SPDX-License-Identifier: MIT */
/*
 * The plans of the virtual table `event`.
 *
 * Conditions on time, thread, call and file skip blocks and rows before any
 * value is made; SQLite checks a row again unless its condition is exact.
 */
#include "lib/store/event_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store/event.h"

#define BIT(column) (1u << (column))
#define PLAIN(column, null) BIT(column), column, null
#define MADE(mask) mask, -1, REEL_SQL_NO_NULL

const struct reel_sql_column_info reel_sql_column[REEL_SQL_COLUMNS] = {
	[REEL_SQL_START] = {"start_ns", PLAIN(REEL_COL_START, REEL_SQL_NO_NULL),
			    REEL_MATCH_START},
	[REEL_SQL_DUR] = {"dur_ns", PLAIN(REEL_COL_DUR, REEL_SQL_NO_NULL), 0},
	[REEL_SQL_PROCESS] = {"process_id", MADE(0), REEL_MATCH_PROCESS},
	[REEL_SQL_THREAD] = {"thread_id", MADE(0), REEL_MATCH_THREAD},
	[REEL_SQL_CALL_ID] = {"call_id", PLAIN(REEL_COL_CALL, REEL_SQL_NO_NULL),
			      REEL_MATCH_CALL_ID},
	[REEL_SQL_FILE] = {"file_id", PLAIN(REEL_COL_FILE, 0),
			   REEL_MATCH_FILE_ID},
	[REEL_SQL_FILE2] = {"file2_id", PLAIN(REEL_COL_FILE2, 0), 0},
	[REEL_SQL_OPEN] = {"open_id", PLAIN(REEL_COL_OPEN, 0), 0},
	[REEL_SQL_FD] = {"fd", PLAIN(REEL_COL_FD, -1), 0},
	[REEL_SQL_FD2] = {"fd2", PLAIN(REEL_COL_FD2, -1), 0},
	[REEL_SQL_OFFSET] = {"offset", PLAIN(REEL_COL_OFFSET, REEL_NO_OFFSET),
			     0},
	[REEL_SQL_ASKED] = {"asked", PLAIN(REEL_COL_ASKED, REEL_NO_SIZE), 0},
	[REEL_SQL_RESULT] = {"result", PLAIN(REEL_COL_RESULT, REEL_SQL_NO_NULL),
			     0},
	[REEL_SQL_ERRNO] = {"errno", PLAIN(REEL_COL_ERR, REEL_SQL_NO_NULL), 0},
	[REEL_SQL_ARG] = {"arg", PLAIN(REEL_COL_ARG, REEL_SQL_NO_NULL), 0},
	[REEL_SQL_ARG2] = {"arg2", PLAIN(REEL_COL_ARG2, REEL_SQL_NO_NULL), 0},
	[REEL_SQL_POS] = {"pos", PLAIN(REEL_COL_POS, REEL_NO_OFFSET), 0},
	[REEL_SQL_CALLS] = {"calls", PLAIN(REEL_COL_COUNT, REEL_SQL_NO_NULL),
			    0},
	[REEL_SQL_PID] = {"event_pid", MADE(0), REEL_MATCH_PID},
	[REEL_SQL_TID] = {"event_tid", MADE(0), REEL_MATCH_TID},
	[REEL_SQL_CALL] = {"event_call", MADE(BIT(REEL_COL_CALL)),
			   REEL_MATCH_CALL},
	[REEL_SQL_LAYER] = {"event_layer", MADE(BIT(REEL_COL_CALL)),
			    REEL_MATCH_LAYER},
	[REEL_SQL_GROUP] = {"event_call_group", MADE(BIT(REEL_COL_CALL)),
			    REEL_MATCH_GROUP},
	[REEL_SQL_BYTES] = {"bytes",
			    BIT(REEL_COL_CALL) | BIT(REEL_COL_RESULT) |
				    BIT(REEL_COL_ERR),
			    -1, REEL_SQL_NO_BYTES, 0},
	[REEL_SQL_PATH] = {"event_path", MADE(BIT(REEL_COL_FILE)),
			   REEL_MATCH_PATH},
	[REEL_SQL_CLASS] = {"event_class", MADE(BIT(REEL_COL_FILE)),
			    REEL_MATCH_CLASS},
	[REEL_SQL_KIND] = {"event_kind", MADE(BIT(REEL_COL_FILE)),
			   REEL_MATCH_KIND},
	[REEL_SQL_PATH2] = {"event_path2", MADE(BIT(REEL_COL_FILE2)), 0},
};

/* idxStr: the columns used, as a hexadecimal mask, then for each argument of
 * xFilter its column and one of these operators, " path=". */

/* The operator of constraint @i as in idxStr; 0: it is left to SQLite. */
static char plan_op(sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	enum reel_match_of of;

	if (!c->usable || c->iColumn < 0 || c->iColumn >= REEL_SQL_COLUMNS)
		return 0;
	of = reel_sql_column[c->iColumn].match;
	if (of == REEL_MATCH_NOTHING)
		return 0;
	switch (c->op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		if (reel_match_is_text(of) &&
		    strcmp(sqlite3_vtab_collation(info, i), "BINARY"))
			return 0;
#if SQLITE_VERSION_NUMBER >= 3038000
		if (of != REEL_MATCH_START &&
		    sqlite3_libversion_number() >= 3038000 &&
		    sqlite3_vtab_in(info, i, -1)) {
			sqlite3_vtab_in(info, i, 1);
			return REEL_MATCH_IN;
		}
#endif
		return REEL_MATCH_EQUAL;
	case SQLITE_INDEX_CONSTRAINT_LIKE:
		return reel_match_is_text(of) ? REEL_MATCH_LIKE : 0;
	case SQLITE_INDEX_CONSTRAINT_GLOB:
		return reel_match_is_text(of) ? REEL_MATCH_GLOB : 0;
	case SQLITE_INDEX_CONSTRAINT_GE:
	case SQLITE_INDEX_CONSTRAINT_GT:
		return of == REEL_MATCH_START ? '>' : 0;
	case SQLITE_INDEX_CONSTRAINT_LE:
	case SQLITE_INDEX_CONSTRAINT_LT:
		return of == REEL_MATCH_START ? '<' : 0;
	default:
		return 0;
	}
}

/* Does the scan check constraint @i, of operator @op, exactly? Where its value
 * is known now and is of the column's type. */
static bool is_exact(sqlite3_index_info *info, int i, char op)
{
#if SQLITE_VERSION_NUMBER >= 3038000
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	enum reel_match_of of = reel_sql_column[c->iColumn].match;
	sqlite3_value *v = NULL;

	if (sqlite3_libversion_number() < 3038000 ||
	    sqlite3_vtab_rhs_value(info, i, &v) != SQLITE_OK || !v)
		return false;
	if (reel_match_is_text(of))
		return op == REEL_MATCH_EQUAL &&
		       sqlite3_value_type(v) == SQLITE_TEXT;
	return sqlite3_value_type(v) == SQLITE_INTEGER &&
	       c->op != SQLITE_INDEX_CONSTRAINT_GT &&
	       c->op != SQLITE_INDEX_CONSTRAINT_LT;
#else
	return false;
#endif
}

/* A condition on time or thread skips blocks; all others skip rows, of which a
 * column is still decoded. */
int reel_event_plan_make(sqlite3 *db, sqlite3_index_info *info, double events)
{
	sqlite3_str *text = sqlite3_str_new(db);
	double scanned = events, rows = events;
	int arg = 0;

	sqlite3_str_appendf(text, "%llx", info->colUsed);
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c =
			&info->aConstraint[i];
		char op = plan_op(info, i);

		if (!op)
			continue;
		sqlite3_str_appendf(text, " %s%c",
				    reel_sql_column[c->iColumn].name, op);
		info->aConstraintUsage[i].argvIndex = ++arg;
		info->aConstraintUsage[i].omit = is_exact(info, i, op);
		rows /= 4;
		if (reel_sql_column[c->iColumn].match <= REEL_MATCH_TID)
			scanned /= 4;
	}
	info->estimatedRows = (sqlite3_int64)rows + 1;
	info->estimatedCost = rows + scanned / 4 + 100; /* list of blocks */
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- from the plan --- */

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

/* Narrow the time by argument @v of operator @op. false: no row can match. */
static bool want_start(struct reel_event_wanted *w, char op, sqlite3_value *v)
{
	int64_t min = INT64_MIN, max = INT64_MAX;
	bool any = true;

	if (op != '<')
		any = start_bound(v, false, &min);
	if (op != '>')
		any = start_bound(v, true, &max) && any;
	w->min_start_ns = min > w->min_start_ns ? min : w->min_start_ns;
	w->max_start_ns = max < w->max_start_ns ? max : w->max_start_ns;
	return any;
}

/* The next word of idxStr: its column, and its operator in *@op. */
static int plan_word(const char **text, char *op)
{
	size_t len;

	*text += strcspn(*text, " ");
	*text += strspn(*text, " ");
	len = strcspn(*text, " ");
	for (int i = 0; len && i < REEL_SQL_COLUMNS; i++)
		if (strlen(reel_sql_column[i].name) == len - 1 &&
		    !strncmp(reel_sql_column[i].name, *text, len - 1)) {
			*op = (*text)[len - 1];
			return i;
		}
	return -1;
}

static uint32_t column_mask(uint64_t used)
{
	uint32_t mask = 0;

	for (int i = 0; i < REEL_SQL_COLUMNS; i++)
		if (used >> i & 1)
			mask |= reel_sql_column[i].mask;
	return mask;
}

/* Want all events, of the columns in use. */
static void want_all(struct reel_event_plan *p, const char *text)
{
	struct reel_event_wanted *w = &p->wanted;

	p->used = strtoull(text, NULL, 16);
	p->none = false;
	w->mask = column_mask(p->used);
	w->min_start_ns = INT64_MIN;
	w->max_start_ns = INT64_MAX;
	reel_idset_clear(&w->thread);
	reel_idset_clear(&w->call);
	reel_idset_clear(&w->file);
}

int reel_event_plan_read(struct reel_event_plan *p, const char *text, int argc,
			 sqlite3_value **argv, struct reel_event_names *names,
			 const char **why)
{
	struct reel_match *m = calloc((size_t)argc + 1, sizeof(*m));
	int rc = m ? SQLITE_OK : SQLITE_NOMEM, n = 0;

	want_all(p, text);
	*why = "out of memory";
	for (int i = 0; rc == SQLITE_OK && i < argc; i++) {
		char op = 0;
		int column = plan_word(&text, &op);

		if (column < 0)
			rc = SQLITE_INTERNAL;
		else if (column == REEL_SQL_START)
			p->none =
				!want_start(&p->wanted, op, argv[i]) || p->none;
		else
			rc = reel_match_init(&m[n++],
					     reel_sql_column[column].match, op,
					     argv[i]);
	}
	if (rc == SQLITE_OK &&
	    reel_match_ids(m, (size_t)n, names, &p->wanted, why))
		rc = SQLITE_ERROR;
	while (n)
		reel_match_fini(&m[--n]);
	free(m);
	return rc;
}

void reel_event_plan_fini(struct reel_event_plan *p)
{
	reel_idset_fini(&p->wanted.thread);
	reel_idset_fini(&p->wanted.call);
	reel_idset_fini(&p->wanted.file);
}
