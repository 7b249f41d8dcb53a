/* SPDX-License-Identifier: MIT */
/*
 * The virtual table `event`: rows from compressed blocks, and, as hidden
 * columns, the names of their ids. View v_event shows both.
 *
 * event_plan.c takes the conditions of a query, event_scan.c finds the rows; here
 * the values of their columns are made.
 */
#include <stdlib.h>

#include "lib/store/event_names.h"
#include "lib/store/event_plan.h"
#include "lib/store/event_scan.h"
#include "lib/store/vtab.h"

/* Values of a column, for all rows of the block. */
struct event_values {
	const int64_t *v; /* NULL: give_name() makes the value */
	int64_t null;
};

struct event_cursor {
	sqlite3_vtab_cursor base;
	/* The first members are read for each row. */
	uint32_t at, rows;   /* the current row, of those wanted */
	const uint32_t *row; /* where they are in the block; NULL: all are */
	struct event_values value[REEL_SQL_COLUMNS];
	bool end;
	struct reel_event_scan *scan;
	struct reel_event_names *names;
	struct reel_event_plan plan;
	const struct reel_event_thread
		*thread; /* of the block; NULL: unknown */
	int64_t *bytes;	 /* of value[REEL_SQL_BYTES] */
	uint32_t bytes_room;
	int64_t file_id; /* of file; 0: none */
	struct reel_event_file file;
};

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
	double events;

	if (reel_vtab_enter(t))
		return SQLITE_ERROR;
	events = count_events(t->db);
	reel_vtab_leave(t);
	return reel_event_plan_make(t->db, info, events);
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
	reel_event_plan_fini(&c->plan);
	free(c->bytes);
	free(c);
	return SQLITE_OK;
}

/* The bytes that each call of the block moved: its result, or none. No branch: calls
 * alternate, and a wrong guess costs more than this. */
static void fill_bytes(int64_t *restrict bytes,
		       const struct reel_event_columns *c,
		       const uint8_t *restrict moves)
{
	const int64_t *restrict call = c->v[REEL_COL_CALL];
	const int64_t *restrict result = c->v[REEL_COL_RESULT];
	const int64_t *restrict err = c->v[REEL_COL_ERR];

	for (size_t i = 0, n = c->n; i < n; i++) {
		uint64_t id = (uint64_t)call[i];
		int64_t has;

		id = id < REEL_EVENT_CALLS ? id : REEL_EVENT_CALLS;
		has = err[i] ? 0 : -(int64_t)moves[id];
		bytes[i] = (result[i] & has) | (REEL_SQL_NO_BYTES & ~has);
	}
}

static int make_bytes(struct event_cursor *c)
{
	const struct reel_event_columns *cols = &c->scan->cols;

	if (cols->n > c->bytes_room) {
		free(c->bytes);
		c->bytes = malloc(cols->n * sizeof(*c->bytes));
		c->bytes_room = c->bytes ? cols->n : 0;
		if (!c->bytes)
			return SQLITE_NOMEM;
	}
	fill_bytes(c->bytes, cols, reel_event_names_moves(c->names));
	c->value[REEL_SQL_BYTES].v = c->bytes;
	return SQLITE_OK;
}

/* Find or make the values of the columns in use, all rows at once. */
static int find_values(struct event_cursor *c)
{
	for (int i = 0; i < REEL_SQL_COLUMNS; i++) {
		int column = reel_sql_column[i].column;

		c->value[i] = (struct event_values){
			.v = column < 0 ? NULL : c->scan->cols.v[column],
			.null = reel_sql_column[i].null,
		};
	}
	return c->plan.used >> REEL_SQL_BYTES & 1 ? make_bytes(c) : SQLITE_OK;
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
	if (!rc)
		return SQLITE_OK;
	c->at = 0;
	c->rows = c->scan->rows;
	c->row = c->scan->all ? NULL : c->scan->row;
	c->thread = reel_event_names_thread(c->names, c->scan->on->thread);
	return find_values(c);
}

/* The current row, in the columns of the block. */
static inline uint32_t row_of(const struct event_cursor *c)
{
	return c->row ? c->row[c->at] : c->at;
}

static int event_next(sqlite3_vtab_cursor *cur)
{
	struct event_cursor *c = (struct event_cursor *)cur;

	return ++c->at < c->rows ? SQLITE_OK : next_block(c);
}

/* Read the names and the plan. SQLite's result code. */
static int begin_scan(struct event_cursor *c, const char *text, int argc,
		      sqlite3_value **argv)
{
	struct reel_vtab *t = (struct reel_vtab *)c->base.pVtab;
	const char *why = "";
	int rc = SQLITE_ERROR;

	c->names = names_of(t, &why);
	if (c->names &&
	    (c->scan || !reel_event_scan_open(&c->scan, t->db, &why)))
		rc = reel_event_plan_read(&c->plan, text ? text : "", argc,
					  argv, c->names, &why);
	return rc == SQLITE_ERROR ? reel_vtab_fail(&t->base, why) : rc;
}

static int event_filter(sqlite3_vtab_cursor *cur, int plan, const char *text,
			int argc, sqlite3_value **argv)
{
	struct event_cursor *c = (struct event_cursor *)cur;
	struct reel_vtab *t = (struct reel_vtab *)cur->pVtab;
	int rc;

	if (reel_vtab_enter(t))
		return SQLITE_ERROR;
	c->file_id = 0;
	c->file = (struct reel_event_file){0};
	rc = begin_scan(c, text, argc, argv);
	reel_vtab_leave(t);
	c->end = rc != SQLITE_OK || c->plan.none;
	if (c->end)
		return rc;
	reel_event_scan_start(c->scan, &c->plan.wanted);
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
	if (i == REEL_SQL_CLASS || i == REEL_SQL_KIND)
		sqlite3_result_text(ctx,
				    i == REEL_SQL_KIND ? f->kind : f->class_,
				    -1, SQLITE_STATIC);
	else
		sqlite3_result_text(ctx, f->path.text, f->path.len,
				    f->passing ? SQLITE_TRANSIENT
					       : SQLITE_STATIC);
	return SQLITE_OK;
}

/* A column that is made of others, at row @at of the block. Not inline, so that
 * event_column() saves no registers. */
static __attribute__((noinline)) int
give_name(struct event_cursor *c, sqlite3_context *ctx, int i, uint32_t at)
{
	const struct reel_event_thread *t = c->thread;
	const struct reel_event_call *call;
	int64_t *const *v = c->scan->cols.v;

	switch (i) {
	case REEL_SQL_THREAD:
		sqlite3_result_int64(ctx, c->scan->on->thread);
		return SQLITE_OK;
	case REEL_SQL_PROCESS:
	case REEL_SQL_PID:
	case REEL_SQL_TID:
		if (t)
			sqlite3_result_int64(ctx, i == REEL_SQL_PID ? t->pid
						  : i == REEL_SQL_TID
							  ? t->tid
							  : t->process);
		return SQLITE_OK;
	case REEL_SQL_PATH2:
		return give_file(c, ctx, i, v[REEL_COL_FILE2][at]);
	case REEL_SQL_PATH:
	case REEL_SQL_CLASS:
	case REEL_SQL_KIND:
		return give_file(c, ctx, i, v[REEL_COL_FILE][at]);
	default:
		break;
	}
	call = reel_event_names_call(c->names, v[REEL_COL_CALL][at]);
	if (!call)
		return SQLITE_OK;
	give_text(ctx, i == REEL_SQL_CALL    ? call->name
		       : i == REEL_SQL_LAYER ? call->layer
					     : call->group);
	return SQLITE_OK;
}

static int event_column(sqlite3_vtab_cursor *cur, sqlite3_context *ctx, int i)
{
	const struct event_cursor *c = (const struct event_cursor *)cur;
	const struct event_values *value = &c->value[i];
	uint32_t at = row_of(c);

	if (!value->v)
		return give_name((struct event_cursor *)cur, ctx, i, at);
	if (value->v[at] != value->null)
		sqlite3_result_int64(ctx, value->v[at]);
	return SQLITE_OK;
}

static int event_rowid(sqlite3_vtab_cursor *cur, sqlite3_int64 *rowid)
{
	struct event_cursor *c = (struct event_cursor *)cur;

	*rowid = (sqlite3_int64)((uint64_t)c->scan->on->block_id *
					 REEL_BLOCK_EVENTS_MAX +
				 row_of(c));
	return SQLITE_OK;
}

static int event_connect(sqlite3 *db, void *aux, int argc,
			 const char *const *argv, sqlite3_vtab **out,
			 char **message)
{
	sqlite3_str *str = sqlite3_str_new(db);
	char *text;
	int rc;

	for (int i = 0; i < REEL_SQL_COLUMNS; i++)
		sqlite3_str_appendf(
			str, "%s%s %s%s", i ? ", " : "CREATE TABLE event (",
			reel_sql_column[i].name,
			reel_match_is_text(reel_sql_column[i].match) ||
					i == REEL_SQL_PATH2
				? "TEXT"
				: "INTEGER",
			i >= REEL_SQL_PID ? " HIDDEN" : "");
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
