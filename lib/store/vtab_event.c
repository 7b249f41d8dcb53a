/* SPDX-License-Identifier: MIT */
/*
 * The virtual table `event`: rows from compressed blocks, and, as hidden
 * columns, the names of their ids. View v_event shows both.
 *
 * Conditions on time, thread, call and file skip blocks and rows before any
 * value is made; SQLite checks a row again unless its condition is exact.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store/event.h"
#include "lib/store/event_match.h"
#include "lib/store/event_names.h"
#include "lib/store/event_scan.h"
#include "lib/store/vtab.h"

enum sql_column {
	SQL_START,
	SQL_DUR,
	SQL_PROCESS,
	SQL_THREAD,
	SQL_CALL_ID,
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
	/* hidden: not in "SELECT *"; their names are not those of columns of
	 * file, call, thread and process, which queries join without a prefix */
	SQL_PID,
	SQL_TID,
	SQL_CALL,
	SQL_LAYER,
	SQL_GROUP,
	SQL_BYTES,
	SQL_PATH,
	SQL_CLASS,
	SQL_KIND,
	SQL_PATH2,
	SQL_COLUMNS
};

#define NO_NULL INT64_MAX /* no value of the column means NULL */
#define BIT(column) (1u << (column))
#define PLAIN(column, null) BIT(column), column, null
#define MADE(mask) mask, -1, NO_NULL

static const struct {
	const char *name;
	uint32_t mask; /* columns of the block that it is made of */
	int column;    /* the one it is a value of; -1: see give_name() */
	int64_t null;  /* the value that means NULL */
	enum reel_match_of match;
} columns[SQL_COLUMNS] = {
	[SQL_START] = {"start_ns", PLAIN(REEL_COL_START, NO_NULL),
		       REEL_MATCH_START},
	[SQL_DUR] = {"dur_ns", PLAIN(REEL_COL_DUR, NO_NULL), 0},
	[SQL_PROCESS] = {"process_id", MADE(0), REEL_MATCH_PROCESS},
	[SQL_THREAD] = {"thread_id", MADE(0), REEL_MATCH_THREAD},
	[SQL_CALL_ID] = {"call_id", PLAIN(REEL_COL_CALL, NO_NULL),
			 REEL_MATCH_CALL_ID},
	[SQL_FILE] = {"file_id", PLAIN(REEL_COL_FILE, 0), REEL_MATCH_FILE_ID},
	[SQL_FILE2] = {"file2_id", PLAIN(REEL_COL_FILE2, 0), 0},
	[SQL_OPEN] = {"open_id", PLAIN(REEL_COL_OPEN, 0), 0},
	[SQL_FD] = {"fd", PLAIN(REEL_COL_FD, -1), 0},
	[SQL_FD2] = {"fd2", PLAIN(REEL_COL_FD2, -1), 0},
	[SQL_OFFSET] = {"offset", PLAIN(REEL_COL_OFFSET, REEL_NO_OFFSET), 0},
	[SQL_ASKED] = {"asked", PLAIN(REEL_COL_ASKED, REEL_NO_SIZE), 0},
	[SQL_RESULT] = {"result", PLAIN(REEL_COL_RESULT, NO_NULL), 0},
	[SQL_ERRNO] = {"errno", PLAIN(REEL_COL_ERR, NO_NULL), 0},
	[SQL_ARG] = {"arg", PLAIN(REEL_COL_ARG, NO_NULL), 0},
	[SQL_ARG2] = {"arg2", PLAIN(REEL_COL_ARG2, NO_NULL), 0},
	[SQL_POS] = {"pos", PLAIN(REEL_COL_POS, REEL_NO_OFFSET), 0},
	[SQL_CALLS] = {"calls", PLAIN(REEL_COL_COUNT, NO_NULL), 0},
	[SQL_PID] = {"event_pid", MADE(0), REEL_MATCH_PID},
	[SQL_TID] = {"event_tid", MADE(0), REEL_MATCH_TID},
	[SQL_CALL] = {"event_call", MADE(BIT(REEL_COL_CALL)), REEL_MATCH_CALL},
	[SQL_LAYER] = {"event_layer", MADE(BIT(REEL_COL_CALL)),
		       REEL_MATCH_LAYER},
	[SQL_GROUP] = {"event_call_group", MADE(BIT(REEL_COL_CALL)),
		       REEL_MATCH_GROUP},
	[SQL_BYTES] = {"bytes",
		       MADE(BIT(REEL_COL_CALL) | BIT(REEL_COL_RESULT) |
			    BIT(REEL_COL_ERR)),
		       0},
	[SQL_PATH] = {"event_path", MADE(BIT(REEL_COL_FILE)), REEL_MATCH_PATH},
	[SQL_CLASS] = {"event_class", MADE(BIT(REEL_COL_FILE)),
		       REEL_MATCH_CLASS},
	[SQL_KIND] = {"event_kind", MADE(BIT(REEL_COL_FILE)), REEL_MATCH_KIND},
	[SQL_PATH2] = {"event_path2", MADE(BIT(REEL_COL_FILE2)), 0},
};

struct event_cursor {
	sqlite3_vtab_cursor base;
	struct reel_event_scan *scan;
	struct reel_event_names *names;
	struct reel_event_wanted wanted;
	const struct reel_event_thread
		*thread; /* of the block; NULL: unknown */
	int64_t file_id; /* of file; 0: none */
	struct reel_event_file file;
	bool end;
};

/* --- the plan ------------------------------------------------------------- */

/* idxStr: the columns used, as a hexadecimal mask, then for each argument of
 * xFilter its column and one of these operators, " path=". */

/* The operator of constraint @i as in idxStr; 0: it is left to SQLite. */
static char plan_op(sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	enum reel_match_of of;

	if (!c->usable || c->iColumn < 0 || c->iColumn >= SQL_COLUMNS)
		return 0;
	of = columns[c->iColumn].match;
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
	enum reel_match_of of = columns[c->iColumn].match;
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

/* A condition on time or thread skips blocks; all others skip rows, of which a
 * column is still decoded. */
static int event_best_index(sqlite3_vtab *tab, sqlite3_index_info *info)
{
	struct reel_vtab *t = (struct reel_vtab *)tab;
	sqlite3_str *text = sqlite3_str_new(t->db);
	double scanned, rows;
	int arg = 0;

	if (reel_vtab_enter(t)) {
		sqlite3_free(sqlite3_str_finish(text));
		return SQLITE_ERROR;
	}
	scanned = rows = count_events(t->db);
	reel_vtab_leave(t);
	sqlite3_str_appendf(text, "%llx", info->colUsed);
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c =
			&info->aConstraint[i];
		char op = plan_op(info, i);

		if (!op)
			continue;
		sqlite3_str_appendf(text, " %s%c", columns[c->iColumn].name,
				    op);
		info->aConstraintUsage[i].argvIndex = ++arg;
		info->aConstraintUsage[i].omit = is_exact(info, i, op);
		rows /= 4;
		if (columns[c->iColumn].match <= REEL_MATCH_TID)
			scanned /= 4;
	}
	info->estimatedRows = (sqlite3_int64)rows + 1;
	info->estimatedCost = rows + scanned / 4 + 100; /* list of blocks */
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- the scan ------------------------------------------------------------- */

/* The names of the store, read at first use; again if the store is being
 * written. Older ones are kept, as SQLite may still hold their texts. */
struct event_names {
	struct reel_event_names *names;
	struct event_names *older;
	int changes;
};

static void free_names(void *own)
{
	struct event_names *n = own;

	while (n) {
		struct event_names *older = n->older;

		reel_event_names_free(n->names);
		free(n);
		n = older;
	}
}

static struct reel_event_names *names_of(struct reel_vtab *t, const char **why)
{
	struct event_names *n = t->own;
	int changes = sqlite3_total_changes(t->db);

	if (n && n->changes == changes)
		return n->names;
	*why = "out of memory";
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->names = reel_event_names_new(t->db, why);
	if (!n->names) {
		free(n);
		return NULL;
	}
	n->changes = changes;
	n->older = t->own;
	t->own = n;
	t->own_free = free_names;
	return n->names;
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

	reel_event_scan_close(c->scan);
	reel_idset_fini(&c->wanted.thread);
	reel_idset_fini(&c->wanted.call);
	reel_idset_fini(&c->wanted.file);
	free(c);
	return SQLITE_OK;
}

/* Go to the next block that has a wanted row. */
static int next_block(struct event_cursor *c)
{
	struct reel_vtab *t = (struct reel_vtab *)c->base.pVtab;
	const char *why = "";
	int rc;

	if (reel_vtab_enter(t))
		return SQLITE_ERROR;
	rc = reel_event_scan_block(c->scan, &why);
	reel_vtab_leave(t);
	c->end = rc <= 0;
	if (rc < 0)
		return reel_vtab_fail(&t->base, why);
	if (rc)
		c->thread =
			reel_event_names_thread(c->names, c->scan->on->thread);
	return SQLITE_OK;
}

static int event_next(sqlite3_vtab_cursor *cur)
{
	struct event_cursor *c = (struct event_cursor *)cur;

	return ++c->scan->at < c->scan->rows ? SQLITE_OK : next_block(c);
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
	for (int i = 0; len && i < SQL_COLUMNS; i++)
		if (strlen(columns[i].name) == len - 1 &&
		    !strncmp(columns[i].name, *text, len - 1)) {
			*op = (*text)[len - 1];
			return i;
		}
	return -1;
}

static uint32_t column_mask(const char *text)
{
	uint64_t used = strtoull(text, NULL, 16);
	uint32_t mask = 0;

	for (int i = 0; i < SQL_COLUMNS; i++)
		if (used >> i & 1)
			mask |= columns[i].mask;
	return mask;
}

/* Fill c->wanted from the plan; c->end: no row can match. */
static int want_rows(struct event_cursor *c, const char *text, int argc,
		     sqlite3_value **argv)
{
	struct reel_event_wanted *w = &c->wanted;
	struct reel_match *m = calloc((size_t)argc + 1, sizeof(*m));
	const char *why = "out of memory";
	int rc = m ? SQLITE_OK : SQLITE_NOMEM, n = 0;

	w->mask = column_mask(text);
	w->min_start_ns = INT64_MIN;
	w->max_start_ns = INT64_MAX;
	reel_idset_clear(&w->thread);
	reel_idset_clear(&w->call);
	reel_idset_clear(&w->file);
	for (int i = 0; rc == SQLITE_OK && i < argc; i++) {
		char op = 0;
		int column = plan_word(&text, &op);

		if (column < 0)
			rc = SQLITE_INTERNAL;
		else if (column == SQL_START)
			c->end = !want_start(w, op, argv[i]) || c->end;
		else
			rc = reel_match_init(&m[n++], columns[column].match, op,
					     argv[i]);
	}
	if (rc == SQLITE_OK && reel_match_ids(m, (size_t)n, c->names, w, &why))
		rc = reel_vtab_fail(c->base.pVtab, why);
	while (n)
		reel_match_fini(&m[--n]);
	free(m);
	return rc;
}

static int event_filter(sqlite3_vtab_cursor *cur, int plan, const char *text,
			int argc, sqlite3_value **argv)
{
	struct event_cursor *c = (struct event_cursor *)cur;
	struct reel_vtab *t = (struct reel_vtab *)c->base.pVtab;
	const char *why = "";
	int rc;

	if (reel_vtab_enter(t))
		return SQLITE_ERROR;
	c->end = false;
	c->file_id = 0;
	c->file = (struct reel_event_file){0};
	c->names = names_of(t, &why);
	rc = !c->names || (!c->scan &&
			   reel_event_scan_open(&c->scan, t->db, &why))
		     ? reel_vtab_fail(cur->pVtab, why)
		     : want_rows(c, text ? text : "", argc, argv);
	reel_vtab_leave(t);
	c->end = c->end || rc != SQLITE_OK;
	if (c->end)
		return rc;
	reel_event_scan_start(c->scan, &c->wanted);
	return next_block(c);
}

static int event_eof(sqlite3_vtab_cursor *cur)
{
	return ((struct event_cursor *)cur)->end;
}

/* --- values --------------------------------------------------------------- */

static void give_text(sqlite3_context *ctx, struct reel_name name)
{
	if (name.text)
		sqlite3_result_text(ctx, name.text, name.len, SQLITE_STATIC);
}

/* A column of the file @id of the current row. */
static int give_file(struct event_cursor *c, sqlite3_context *ctx, int i,
		     int64_t id)
{
	struct reel_vtab *t = (struct reel_vtab *)c->base.pVtab;
	const struct reel_event_file *f = &c->file;
	const char *why = "";
	int rc;

	if (id != c->file_id || f->passing) {
		if (reel_vtab_enter(t))
			return SQLITE_ERROR;
		rc = reel_event_names_file(c->names, id, &c->file, &why);
		reel_vtab_leave(t);
		c->file_id = rc ? 0 : id;
		if (rc)
			return reel_vtab_fail(&t->base, why);
	}
	if (!f->path.text)
		return SQLITE_OK;
	if (i == SQL_CLASS || i == SQL_KIND)
		sqlite3_result_text(ctx, i == SQL_KIND ? f->kind : f->class_,
				    -1, SQLITE_STATIC);
	else
		sqlite3_result_text(ctx, f->path.text, f->path.len,
				    f->passing ? SQLITE_TRANSIENT
					       : SQLITE_STATIC);
	return SQLITE_OK;
}

/* A column that is made of others, at row @at of the block. */
static int give_name(struct event_cursor *c, sqlite3_context *ctx, int i,
		     uint32_t at)
{
	const struct reel_event_thread *t = c->thread;
	const struct reel_event_call *call;
	int64_t *const *v = c->scan->cols.v;

	switch (i) {
	case SQL_THREAD:
		sqlite3_result_int64(ctx, c->scan->on->thread);
		return SQLITE_OK;
	case SQL_PROCESS:
	case SQL_PID:
	case SQL_TID:
		if (t)
			sqlite3_result_int64(ctx, i == SQL_PID	 ? t->pid
						  : i == SQL_TID ? t->tid
								 : t->process);
		return SQLITE_OK;
	case SQL_PATH2:
		return give_file(c, ctx, i, v[REEL_COL_FILE2][at]);
	case SQL_PATH:
	case SQL_CLASS:
	case SQL_KIND:
		return give_file(c, ctx, i, v[REEL_COL_FILE][at]);
	default:
		break;
	}
	call = reel_event_names_call(c->names, v[REEL_COL_CALL][at]);
	if (!call)
		return SQLITE_OK;
	if (i == SQL_BYTES) {
		if (call->moves && !v[REEL_COL_ERR][at])
			sqlite3_result_int64(ctx, v[REEL_COL_RESULT][at]);
		return SQLITE_OK;
	}
	give_text(ctx, i == SQL_CALL	? call->name
		       : i == SQL_LAYER ? call->layer
					: call->group);
	return SQLITE_OK;
}

static int event_column(sqlite3_vtab_cursor *cur, sqlite3_context *ctx, int i)
{
	struct event_cursor *c = (struct event_cursor *)cur;
	uint32_t at = reel_event_scan_row(c->scan);
	int64_t v;

	if (i < 0 || i >= SQL_COLUMNS)
		return SQLITE_OK;
	if (columns[i].column < 0)
		return give_name(c, ctx, i, at);
	v = c->scan->cols.v[columns[i].column][at];
	if (v != columns[i].null)
		sqlite3_result_int64(ctx, v);
	return SQLITE_OK;
}

static int event_rowid(sqlite3_vtab_cursor *cur, sqlite3_int64 *rowid)
{
	struct event_cursor *c = (struct event_cursor *)cur;

	*rowid = (sqlite3_int64)((uint64_t)c->scan->on->block_id *
					 REEL_BLOCK_EVENTS_MAX +
				 reel_event_scan_row(c->scan));
	return SQLITE_OK;
}

static int event_connect(sqlite3 *db, void *aux, int argc,
			 const char *const *argv, sqlite3_vtab **out,
			 char **message)
{
	sqlite3_str *str = sqlite3_str_new(db);
	char *text;
	int rc;

	for (int i = 0; i < SQL_COLUMNS; i++)
		sqlite3_str_appendf(
			str, "%s%s %s%s", i ? ", " : "CREATE TABLE event (",
			columns[i].name,
			reel_match_is_text(columns[i].match) || i == SQL_PATH2
				? "TEXT"
				: "INTEGER",
			i >= SQL_PID ? " HIDDEN" : "");
	sqlite3_str_appendall(str, ")");
	text = sqlite3_str_finish(str);
	rc = text ? reel_vtab_connect(db, argv[1], text, NULL, out, message)
		  : SQLITE_NOMEM;
	sqlite3_free(text);
	return rc;
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
