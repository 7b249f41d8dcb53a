/* SPDX-License-Identifier: MIT */
/*
 * The virtual tables `event` and `open_file`: rows out of compressed blocks.
 *
 * Eponymous: they are there wherever the module is registered, and read tables
 * event_block and open_block of schema main. Constraints only skip blocks and
 * rows; SQLite checks each row again, so a bound taken too wide is never wrong.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef REEL_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#include "analyzer/event.h"
#include "analyzer/event_block.h"
#include "analyzer/store.h"

static char event_columns[] =
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
	[SQL_START] = { REEL_COL_START, NO_NULL },
	[SQL_DUR] = { REEL_COL_DUR, NO_NULL },
	[SQL_PROCESS] = { -1, NO_NULL },
	[SQL_THREAD] = { -1, NO_NULL },
	[SQL_CALL] = { REEL_COL_CALL, NO_NULL },
	[SQL_FILE] = { REEL_COL_FILE, 0 },
	[SQL_FILE2] = { REEL_COL_FILE2, 0 },
	[SQL_OPEN] = { REEL_COL_OPEN, 0 },
	[SQL_FD] = { REEL_COL_FD, -1 },
	[SQL_FD2] = { REEL_COL_FD2, -1 },
	[SQL_OFFSET] = { REEL_COL_OFFSET, REEL_NO_OFFSET },
	[SQL_ASKED] = { REEL_COL_ASKED, REEL_NO_SIZE },
	[SQL_RESULT] = { REEL_COL_RESULT, NO_NULL },
	[SQL_ERRNO] = { REEL_COL_ERR, NO_NULL },
	[SQL_ARG] = { REEL_COL_ARG, NO_NULL },
	[SQL_ARG2] = { REEL_COL_ARG2, NO_NULL },
	[SQL_POS] = { REEL_COL_POS, REEL_NO_OFFSET },
	[SQL_CALLS] = { REEL_COL_COUNT, NO_NULL },
};

struct block_table {
	sqlite3_vtab base;
	sqlite3 *db;
};

struct event_cursor {
	sqlite3_vtab_cursor base;
	struct reel_walk *walk;
	struct reel_walk_row row;
	int64_t min_start_ns, max_start_ns;
	bool end;
};

/* idxNum: which constraints xFilter gets, in this order. */
#define PLAN_THREAD 1
#define PLAN_PROCESS 2
#define PLAN_MIN 4
#define PLAN_MAX 8

static int block_connect(sqlite3 *db, void *text, int argc,
			 const char *const *argv, sqlite3_vtab **out,
			 char **message)
{
	struct block_table *t;
	int rc = sqlite3_declare_vtab(db, text);

	if (rc != SQLITE_OK)
		return rc;
	/* it only reads: views of a store that is not trusted may use it */
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->db = db;
	*out = &t->base;
	return SQLITE_OK;
}

static int block_disconnect(sqlite3_vtab *tab)
{
	free(tab);
	return SQLITE_OK;
}

/* The plan bit that constraint @c serves, or 0. */
static int plan_of(const struct sqlite3_index_constraint *c)
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

/* Events in the store, and threads: nobody needs better for a plan. */
static double rows_in_store(sqlite3 *db)
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
	struct block_table *t = (struct block_table *)tab;
	double rows = rows_in_store(t->db);
	int which[4] = { -1, -1, -1, -1 }, arg = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		int plan = plan_of(&info->aConstraint[i]);

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
	/* the walk needs the mask of columns: hand it over as text */
	info->idxStr = sqlite3_mprintf("%llx", (unsigned long long)info->colUsed);
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

	reel_walk_close(c->walk);
	free(c);
	return SQLITE_OK;
}

static int block_fail(sqlite3_vtab_cursor *cur, const char *why)
{
	sqlite3_free(cur->pVtab->zErrMsg);
	cur->pVtab->zErrMsg = sqlite3_mprintf("%s", why);
	return SQLITE_ERROR;
}

static int event_next(sqlite3_vtab_cursor *cur)
{
	struct event_cursor *c = (struct event_cursor *)cur;
	const char *why = "";

	for (;;) {
		int rc = reel_walk_next(c->walk, &c->row, &why);
		int64_t start;

		c->end = rc <= 0;
		if (rc < 0)
			return block_fail(cur, why);
		if (!rc)
			return SQLITE_OK;
		start = c->row.cols->v[REEL_COL_START][c->row.at];
		if (start >= c->min_start_ns && start <= c->max_start_ns)
			return SQLITE_OK;
	}
}

static uint32_t mask_of(const char *text)
{
	unsigned long long used = strtoull(text ? text : "", NULL, 16);
	uint32_t mask = 0;

	for (int i = 0; i < SQL_COLUMNS; i++)
		if ((used >> i & 1) && of_column[i].column >= 0)
			mask |= 1u << of_column[i].column;
	return mask;
}

/*
 * A bound of any type as an integer that is not narrower; false when no row
 * can match (NULL).
 */
static bool bound(sqlite3_value *v, bool upper, int64_t *out)
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
		return true; /* text, blob: leave it to SQLite */
	}
}

/* An equality: only a positive integer can match an id. */
static bool equal_to(sqlite3_value *v, int64_t *out)
{
	if (sqlite3_value_numeric_type(v) == SQLITE_FLOAT) {
		double d = sqlite3_value_double(v);

		if (!(d >= 1 && d <= UINT32_MAX) || d != floor(d))
			return false;
		*out = (int64_t)d;
		return true;
	}
	if (sqlite3_value_numeric_type(v) != SQLITE_INTEGER)
		return false;
	*out = sqlite3_value_int64(v);
	return *out >= 1;
}

static int event_filter(sqlite3_vtab_cursor *cur, int plan, const char *text,
			int argc, sqlite3_value **argv)
{
	struct event_cursor *c = (struct event_cursor *)cur;
	struct block_table *t = (struct block_table *)c->base.pVtab;
	struct reel_walk_range r = {
		.min_start_ns = INT64_MIN,
		.max_start_ns = INT64_MAX,
		.mask = mask_of(text),
	};
	const char *why = "";
	bool any = true;
	int i = 0;

	reel_walk_close(c->walk);
	c->walk = NULL;
	if (plan & PLAN_THREAD)
		any = equal_to(argv[i++], &r.thread) && any;
	if (plan & PLAN_PROCESS)
		any = equal_to(argv[i++], &r.process) && any;
	if (plan & PLAN_MIN)
		any = bound(argv[i++], false, &r.min_start_ns) && any;
	if (plan & PLAN_MAX)
		any = bound(argv[i++], true, &r.max_start_ns) && any;
	c->min_start_ns = r.min_start_ns;
	c->max_start_ns = r.max_start_ns;
	c->end = !any;
	if (c->end)
		return SQLITE_OK;
	if (reel_walk_open(&c->walk, t->db, &r, &why)) {
		c->end = true;
		return block_fail(cur, why);
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

static const sqlite3_module event_module = {
	/* no xCreate: eponymous only; no xUpdate: read-only */
	.xConnect = block_connect,
	.xBestIndex = event_best_index,
	.xDisconnect = block_disconnect,
	.xOpen = event_open,
	.xClose = event_close,
	.xFilter = event_filter,
	.xNext = event_next,
	.xEof = event_eof,
	.xColumn = event_column,
	.xRowid = event_rowid,
};

/* --- open_file ------------------------------------------------------------ */

static char open_columns[] =
	"CREATE TABLE open_file (open_id INTEGER, file_id INTEGER, "
	"process_id INTEGER, fd INTEGER, flags INTEGER, open_ns INTEGER, "
	"close_ns INTEGER)";

enum open_column {
	OPEN_ID,
	OPEN_FILE,
	OPEN_PROCESS,
	OPEN_FD,
	OPEN_FLAGS,
	OPEN_START,
	OPEN_END,
};

#define OPENS_IN_A_STORE 100000 /* for the planner: a guess */
#define OPEN_SLOTS 8            /* decoded blocks that a cursor keeps */

struct open_entry {
	int64_t block_id, min_id, max_id;
};

struct open_slot {
	struct reel_columns cols;
	size_t entry; /* in the list; valid while cols.n */
	uint64_t used;
};

struct open_cursor {
	sqlite3_vtab_cursor base;
	struct reel_codec *codec;
	sqlite3_stmt *fetch;
	struct open_entry *list; /* all blocks */
	size_t entries, room;
	struct open_slot slot[OPEN_SLOTS];
	uint64_t uses;
	const struct reel_columns *cols; /* where the row is */
	size_t next;                     /* entry to look at next */
	int64_t only;                    /* this open_id; 0: all */
	uint32_t at;
	bool end;
};

static int open_best_index(sqlite3_vtab *tab, sqlite3_index_info *info)
{
	info->estimatedRows = OPENS_IN_A_STORE;
	info->estimatedCost = OPENS_IN_A_STORE;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (!c->usable || c->iColumn != OPEN_ID ||
		    c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = 1;
		info->estimatedRows = 1;
		info->estimatedCost = 50;
		break;
	}
	return SQLITE_OK;
}

static int open_list(struct open_cursor *c, sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT block_id, min_open_id, "
				    "max_open_id FROM main.open_block "
				    "ORDER BY block_id", -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (c->entries == c->room) {
			size_t room = c->room ? 2 * c->room : 16;
			struct open_entry *p = realloc(c->list,
						       room * sizeof(*p));

			rc = p ? SQLITE_OK : SQLITE_NOMEM;
			if (!p)
				break;
			c->list = p;
			c->room = room;
		}
		c->list[c->entries++] = (struct open_entry){
			sqlite3_column_int64(stmt, 0),
			sqlite3_column_int64(stmt, 1),
			sqlite3_column_int64(stmt, 2),
		};
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int open_close(sqlite3_vtab_cursor *cur)
{
	struct open_cursor *c = (struct open_cursor *)cur;

	sqlite3_finalize(c->fetch);
	reel_codec_free(c->codec);
	for (int i = 0; i < OPEN_SLOTS; i++)
		reel_columns_fini(&c->slot[i].cols);
	free(c->list);
	free(c);
	return SQLITE_OK;
}

static int open_open(sqlite3_vtab *tab, sqlite3_vtab_cursor **out)
{
	static const char sql[] =
		"SELECT data FROM main.open_block WHERE block_id = ?";
	struct block_table *t = (struct block_table *)tab;
	struct open_cursor *c = calloc(1, sizeof(*c));
	int rc = SQLITE_NOMEM;

	if (!c)
		return rc;
	c->codec = reel_codec_new();
	if (!c->codec)
		goto fail;
	rc = open_list(c, t->db);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(t->db, sql, -1, &c->fetch, NULL);
	if (rc != SQLITE_OK) {
		sqlite3_free(tab->zErrMsg);
		tab->zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(t->db));
		goto fail;
	}
	*out = &c->base;
	return SQLITE_OK;
fail:
	open_close(&c->base);
	return rc;
}

/* The columns of block @entry, decoded now or before; NULL with @why. */
static const struct reel_columns *open_decoded(struct open_cursor *c,
					       size_t entry, const char **why)
{
	struct open_slot *s = &c->slot[0];
	bool nested;
	int rc = -1;

	for (int i = 0; i < OPEN_SLOTS; i++) {
		if (c->slot[i].cols.n && c->slot[i].entry == entry) {
			c->slot[i].used = ++c->uses;
			return &c->slot[i].cols;
		}
		if (c->slot[i].used < s->used)
			s = &c->slot[i]; /* the one not used longest */
	}
	*why = "an open_file block is missing";
	s->cols.n = 0;
	s->entry = entry;
	s->used = ++c->uses;
	sqlite3_bind_int64(c->fetch, 1, c->list[entry].block_id);
	if (sqlite3_step(c->fetch) == SQLITE_ROW)
		rc = reel_block_decode(c->codec,
				sqlite3_column_blob(c->fetch, 0),
				(size_t)sqlite3_column_bytes(c->fetch, 0),
				REEL_COL_ALL, &s->cols, &nested, why);
	sqlite3_reset(c->fetch);
	return rc ? NULL : &s->cols;
}

/* The first row of the block with an id that is not below @id. */
static uint32_t open_search(const struct reel_columns *cols, int64_t id)
{
	uint32_t lo = 0, hi = cols->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (cols->v[REEL_COL_OPEN][mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Stand on the first row of the next block that has one. */
static int open_block(sqlite3_vtab_cursor *cur)
{
	struct open_cursor *c = (struct open_cursor *)cur;
	const char *why = "";

	while (c->next < c->entries) {
		const struct open_entry *e = &c->list[c->next++];

		if (c->only && (c->only < e->min_id || c->only > e->max_id))
			continue;
		c->cols = open_decoded(c, c->next - 1, &why);
		if (!c->cols) {
			c->end = true;
			return block_fail(cur, why);
		}
		c->at = c->only ? open_search(c->cols, c->only) : 0;
		if (c->at < c->cols->n &&
		    (!c->only || c->cols->v[REEL_COL_OPEN][c->at] == c->only))
			return SQLITE_OK;
	}
	c->end = true;
	return SQLITE_OK;
}

static int open_filter(sqlite3_vtab_cursor *cur, int plan, const char *text,
		       int argc, sqlite3_value **argv)
{
	struct open_cursor *c = (struct open_cursor *)cur;

	c->only = 0;
	c->next = 0;
	c->end = plan && !equal_to(argv[0], &c->only);
	return c->end ? SQLITE_OK : open_block(cur);
}

static int open_next(sqlite3_vtab_cursor *cur)
{
	struct open_cursor *c = (struct open_cursor *)cur;

	if (!c->only && ++c->at < c->cols->n)
		return SQLITE_OK;
	return open_block(cur);
}

static int open_eof(sqlite3_vtab_cursor *cur)
{
	return ((struct open_cursor *)cur)->end;
}

static int open_value(sqlite3_vtab_cursor *cur, sqlite3_context *ctx, int i)
{
	const struct open_cursor *c = (struct open_cursor *)cur;
	int64_t *const *v = c->cols->v;
	uint64_t start = (uint64_t)v[REEL_COL_START][c->at];
	int64_t unknown = v[REEL_COL_COUNT][c->at];

	switch (i) {
	case OPEN_ID:
		sqlite3_result_int64(ctx, v[REEL_COL_OPEN][c->at]);
		break;
	case OPEN_FILE:
		sqlite3_result_int64(ctx, v[REEL_COL_FILE][c->at]);
		break;
	case OPEN_PROCESS:
		sqlite3_result_int64(ctx, v[REEL_COL_CALL][c->at]);
		break;
	case OPEN_FD:
		sqlite3_result_int64(ctx, v[REEL_COL_FD][c->at]);
		break;
	case OPEN_FLAGS:
		if (v[REEL_COL_ARG][c->at] >= 0)
			sqlite3_result_int64(ctx, v[REEL_COL_ARG][c->at]);
		break;
	case OPEN_START:
		if (!(unknown & REEL_OPEN_NO_START))
			sqlite3_result_int64(ctx, (int64_t)start);
		break;
	case OPEN_END:
		if (!(unknown & REEL_OPEN_NO_END))
			sqlite3_result_int64(ctx, (int64_t)(start +
				(uint64_t)v[REEL_COL_DUR][c->at]));
		break;
	}
	return SQLITE_OK;
}

static int open_rowid(sqlite3_vtab_cursor *cur, sqlite3_int64 *rowid)
{
	const struct open_cursor *c = (struct open_cursor *)cur;

	*rowid = c->cols->v[REEL_COL_OPEN][c->at];
	return SQLITE_OK;
}

static const sqlite3_module open_module = {
	.xConnect = block_connect,
	.xBestIndex = open_best_index,
	.xDisconnect = block_disconnect,
	.xOpen = open_open,
	.xClose = open_close,
	.xFilter = open_filter,
	.xNext = open_next,
	.xEof = open_eof,
	.xColumn = open_value,
	.xRowid = open_rowid,
};

int reel_vtab_event_register(sqlite3 *db)
{
	int rc = sqlite3_create_module_v2(db, "event", &event_module,
					  event_columns, NULL);

	if (rc != SQLITE_OK)
		return rc;
	return sqlite3_create_module_v2(db, "open_file", &open_module,
					open_columns, NULL);
}
