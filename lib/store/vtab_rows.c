/* SPDX-License-Identifier: MIT */
/*
 * The cursor over a virtual table whose rows have an id.
 *
 * A join looks up one id after the other, in any order, so a cursor caches
 * decoded blocks, up to a limit. SQLite checks each row again.
 */
#include "lib/store/vtab_rows.h"

#include <stdlib.h>
#include <string.h>

#include "lib/store/file_class.h"

#define KEPT_BYTES (64 << 20) /* decoded blocks that a cursor keeps */
#define LOOKUP_COST 4	      /* of a row by its id, in rows of a scan */

static int rows_connect(sqlite3 *db, void *aux, int argc,
			const char *const *argv, sqlite3_vtab **out,
			char **message)
{
	const struct reel_row_table *t = aux;

	sqlite3_str *columns = sqlite3_str_new(db);
	char *text;
	int rc;

	for (int i = 0; t->column[i].name; i++) {
		enum reel_row_value v = t->column[i].value;

		if (!i)
			sqlite3_str_appendf(columns, "CREATE TABLE %s",
					    t->module +
						    strlen(REEL_VTAB_MODULE));
		sqlite3_str_appendf(
			columns, "%s%s %s", i ? ", " : " (", t->column[i].name,
			v == REEL_VALUE_TEXT || v == REEL_VALUE_KIND ||
					v == REEL_VALUE_CLASS
				? "TEXT"
				: "INTEGER");
	}
	sqlite3_str_appendall(columns, ")");
	text = sqlite3_str_finish(columns);
	rc = text ? reel_vtab_connect(db, argv[1], text, t, out, message)
		  : SQLITE_NOMEM;
	sqlite3_free(text);
	return rc;
}

/* The estimated number of rows: ids begin at 1 and are dense. */
static double count_rows(struct reel_vtab *tab)
{
	const struct reel_row_table *t = tab->aux;
	sqlite3_stmt *stmt = NULL;
	double n = 1;

	if (reel_vtab_enter(tab))
		return n;
	if (sqlite3_prepare_v2(tab->db, t->rows, -1, &stmt, NULL) ==
		    SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	reel_vtab_leave(tab);
	return n >= 1 && n < 1e12 ? n : 1;
}

/* idxNum holds both, so that xFilter, called for each row of a join, parses
 * nothing. */
#define PLAN_ID 1
#define USED_SHIFT 1
#define USED_COLUMNS 16

static int rows_best_index(sqlite3_vtab *tab, sqlite3_index_info *info)
{
	info->idxNum = (int)(info->colUsed & ((1u << USED_COLUMNS) - 1))
		       << USED_SHIFT;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c =
			&info->aConstraint[i];

		if (!c->usable || c->iColumn != 0 ||
		    c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum |= PLAN_ID;
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
		info->estimatedRows = 1;
		info->estimatedCost = LOOKUP_COST;
		return SQLITE_OK;
	}
	info->estimatedCost = count_rows((struct reel_vtab *)tab);
	info->estimatedRows = (sqlite3_int64)info->estimatedCost;
	return SQLITE_OK;
}

static int add_block(struct reel_row_cursor *c, sqlite3_stmt *stmt)
{
	struct reel_row_entry *e;

	if (c->entries == c->room) {
		size_t room = c->room ? 2 * c->room : 16;

		e = realloc(c->entry, room * sizeof(*e));
		if (!e)
			return SQLITE_NOMEM;
		c->entry = e;
		c->room = room;
	}
	e = &c->entry[c->entries];
	*e = (struct reel_row_entry){
		.block_id = sqlite3_column_int64(stmt, 0),
		.min_id = sqlite3_column_int64(stmt, 1),
		.max_id = sqlite3_column_int64(stmt, 2),
	};
	e->most_id = e->max_id;
	if (c->entries && e[-1].most_id > e->most_id)
		e->most_id = e[-1].most_id;
	c->entries++;
	return SQLITE_OK;
}

static int list_blocks(struct reel_row_cursor *c, sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, c->table->list, -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		rc = add_block(c, stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Free the content of block @e. */
static void drop_block(struct reel_row_cursor *c, struct reel_row_entry *e)
{
	c->kept_bytes -= e->bytes;
	e->bytes = 0;
	e->n = 0;
	e->id = NULL;
	if (c->text.of == &e->rows)
		c->text.of = NULL;
	reel_event_columns_fini(&e->columns);
	reel_rows_fini(&e->rows);
}

void reel_row_cursor_close(struct reel_row_cursor *c)
{
	if (!c)
		return;
	sqlite3_finalize(c->fetch);
	reel_codec_free(c->codec);
	for (size_t i = 0; i < c->entries; i++)
		drop_block(c, &c->entry[i]);
	free(c->entry);
	reel_row_text_fini(&c->text);
	free(c);
}

int reel_row_cursor_open(struct reel_row_cursor **out, sqlite3 *db,
			 const struct reel_row_table *table, const char **why)
{
	struct reel_row_cursor *c = calloc(1, sizeof(*c));

	*why = "out of memory";
	if (!c || !(c->codec = reel_codec_new()))
		goto fail;
	c->table = table;
	if (list_blocks(c, db) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, table->fetch, -1, &c->fetch, NULL) !=
		    SQLITE_OK) {
		*why = sqlite3_errmsg(db);
		goto fail;
	}
	*out = c;
	return 0;
fail:
	reel_row_cursor_close(c);
	return -1;
}

/* Limit the cache: free blocks that were not used recently (clock
 * algorithm). */
static void limit_cache(struct reel_row_cursor *c,
			const struct reel_row_entry *but)
{
	while (c->kept_bytes > KEPT_BYTES && c->kept_bytes > but->bytes) {
		struct reel_row_entry *e = &c->entry[c->hand];

		c->hand = (c->hand + 1) % c->entries;
		if (e == but || !e->n)
			continue;
		if (e->used)
			e->used = false;
		else
			drop_block(c, e);
	}
}

/* Blocks of open_file have the format of event blocks, the others a kind. */
static int decode_block(struct reel_row_cursor *c, struct reel_row_entry *e,
			const void *blob, size_t len, const char **why)
{
	bool nested;

	if (c->table->kind) {
		if (reel_rows_decode(c->codec, blob, len, c->table->kind,
				     c->mask, &e->rows, why))
			return -1;
		e->id = e->rows.id;
		e->n = e->rows.n;
		e->bytes = reel_rows_bytes(&e->rows);
		return 0;
	}
	if (reel_event_block_decode(c->codec, blob, len, c->mask, &e->columns,
				    &nested, why))
		return -1;
	e->id = e->columns.v[REEL_COL_OPEN];
	e->n = e->columns.n;
	e->bytes = e->columns.room * sizeof(int64_t) * REEL_COLUMNS;
	return 0;
}

/* Decode block @e unless it is cached. 0, or -1 with @why. */
static int fetch_block(struct reel_row_cursor *c, struct reel_row_entry *e,
		       const char **why)
{
	int rc = -1;

	e->used = true;
	if (e->n)
		return 0;
	*why = "a block is missing";
	sqlite3_bind_int64(c->fetch, 1, e->block_id);
	if (sqlite3_step(c->fetch) == SQLITE_ROW)
		rc = decode_block(c, e, sqlite3_column_blob(c->fetch, 0),
				  (size_t)sqlite3_column_bytes(c->fetch, 0),
				  why);
	sqlite3_reset(c->fetch);
	if (rc) {
		drop_block(c, e);
		return -1;
	}
	c->kept_bytes += e->bytes;
	limit_cache(c, e);
	return 0;
}

/* The number of entries whose min_id is <= @id. */
static size_t entries_to(const struct reel_row_cursor *c, int64_t id)
{
	size_t lo = 0, hi = c->entries;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->entry[mid].min_id <= id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first row of @e with an id >= @id. */
static uint32_t row_search(const struct reel_row_entry *e, int64_t id)
{
	uint64_t guess = (uint64_t)id - (uint64_t)e->id[0];
	uint32_t lo = 0, hi = e->n;

	/* its index if no id before it is missing */
	if (guess < e->n && e->id[guess] == id)
		return (uint32_t)guess;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (e->id[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Move to the row of c->only: ranges of blocks may overlap, ids do not. */
static int find_row(struct reel_row_cursor *c, const char **why)
{
	/* mostly the row is in the current block */
	if (c->on && c->on->n) {
		c->at = row_search(c->on, c->only);
		if (c->at < c->on->n && c->on->id[c->at] == c->only)
			return 0;
	}
	for (size_t i = entries_to(c, c->only); i > 0; i--) {
		struct reel_row_entry *e = &c->entry[i - 1];

		if (e->most_id < c->only)
			break;
		if (e->max_id < c->only)
			continue;
		if (fetch_block(c, e, why))
			return -1;
		c->on = e;
		c->at = row_search(e, c->only);
		if (c->at < e->n && e->id[c->at] == c->only)
			return 0;
	}
	c->end = true;
	return 0;
}

/* Move to the first row of the next block. */
static int next_block(struct reel_row_cursor *c, const char **why)
{
	c->end = c->next == c->entries;
	if (c->end)
		return 0;
	c->on = &c->entry[c->next];
	c->at = 0;
	return fetch_block(c, &c->entry[c->next++], why);
}

int reel_row_cursor_start(struct reel_row_cursor *c, uint32_t mask,
			  int64_t only, const char **why)
{
	int rc;

	if (mask != c->mask)
		for (size_t i = 0; i < c->entries; i++)
			drop_block(c, &c->entry[i]);
	c->mask = mask;
	c->only = only;
	c->next = 0;
	c->end = false;
	rc = only ? find_row(c, why) : next_block(c, why);
	c->end = c->end || rc;
	return rc;
}

int reel_row_cursor_next(struct reel_row_cursor *c, const char **why)
{
	int rc;

	c->end = c->only != 0;
	if (c->end || ++c->at < c->on->n)
		return 0;
	rc = next_block(c, why);
	c->end = c->end || rc;
	return rc;
}

/* --- the module ----------------------------------------------------------- */

static int rows_open(sqlite3_vtab *tab, sqlite3_vtab_cursor **out)
{
	struct reel_vtab *t = (struct reel_vtab *)tab;
	struct reel_row_cursor *c = NULL;
	const char *why = "";
	int rc;

	if (reel_vtab_enter(t))
		return SQLITE_ERROR;
	rc = reel_row_cursor_open(&c, t->db, t->aux, &why);
	reel_vtab_leave(t);
	if (rc)
		return reel_vtab_fail(tab, why);
	*out = &c->base;
	return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *cur)
{
	reel_row_cursor_close((struct reel_row_cursor *)cur);
	return SQLITE_OK;
}

/* The block columns for the columns @used of a query. */
static uint32_t column_mask(const struct reel_row_table *t, unsigned used)
{
	uint32_t mask = 0;

	if (!t->kind)
		return REEL_COL_ALL;
	for (int i = 0; t->column[i].name; i++) {
		if (!(used >> i & 1) || t->column[i].value == REEL_VALUE_ID)
			continue;
		mask |= t->column[i].value == REEL_VALUE_TEXT
				? REEL_TEXT_MASK
				: 1u << t->column[i].from;
	}
	return mask;
}

static int rows_filter(sqlite3_vtab_cursor *cur, int plan, const char *text,
		       int argc, sqlite3_value **argv)
{
	struct reel_row_cursor *c = (struct reel_row_cursor *)cur;
	struct reel_vtab *t = (struct reel_vtab *)cur->pVtab;
	const char *why = "";
	int64_t only = 0;
	int rc;

	c->end = (plan & PLAN_ID) && !reel_vtab_id(argv[0], &only);
	if (c->end)
		return SQLITE_OK;
	if (reel_vtab_enter(t))
		return SQLITE_ERROR;
	rc = reel_row_cursor_start(
		c, column_mask(c->table, (unsigned)plan >> USED_SHIFT), only,
		&why);
	reel_vtab_leave(t);
	return rc ? reel_vtab_fail(cur->pVtab, why) : SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *cur)
{
	struct reel_vtab *t = (struct reel_vtab *)cur->pVtab;
	const char *why = "";
	int rc;

	if (reel_vtab_enter(t))
		return SQLITE_ERROR;
	rc = reel_row_cursor_next((struct reel_row_cursor *)cur, &why);
	reel_vtab_leave(t);
	return rc ? reel_vtab_fail(cur->pVtab, why) : SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *cur)
{
	return ((struct reel_row_cursor *)cur)->end;
}

/* Give a value of open_file: its blocks have the columns of events. */
static void give_open(const struct reel_row_cursor *c, sqlite3_context *ctx,
		      const struct reel_row_column *column)
{
	int64_t *const *v = c->on->columns.v;
	int64_t unknown = v[REEL_COL_COUNT][c->at];
	uint64_t value = (uint64_t)v[column->from][c->at];

	if (column->value == REEL_VALUE_NOT_BELOW_0 && (int64_t)value < 0)
		return;
	if (column->value == REEL_VALUE_OPEN_NS && unknown & REEL_OPEN_NO_START)
		return;
	if (column->value == REEL_VALUE_CLOSE_NS) {
		if (unknown & REEL_OPEN_NO_END)
			return;
		value += (uint64_t)v[REEL_COL_START][c->at];
	}
	sqlite3_result_int64(ctx, (int64_t)value);
}

static int give_text(struct reel_row_cursor *c, sqlite3_context *ctx)
{
	const char *why = "";

	if (reel_rows_text(&c->on->rows, c->at, &c->text, &why))
		return reel_vtab_fail(c->base.pVtab, why);
	sqlite3_result_text(ctx, c->text.text, (int)c->text.len,
			    SQLITE_TRANSIENT);
	return SQLITE_OK;
}

/* Give @v as @how has it; 0 is NULL where a value is stored plus one. */
static void give_number(sqlite3_context *ctx, enum reel_row_value how,
			uint64_t id, uint64_t v)
{
	uint8_t small = v > UINT8_MAX ? UINT8_MAX : (uint8_t)v;

	if (how == REEL_VALUE_KIND || how == REEL_VALUE_CLASS) {
		sqlite3_result_text(ctx,
				    how == REEL_VALUE_KIND
					    ? reel_kind_name(small)
					    : reel_class_name(small),
				    -1, SQLITE_STATIC);
		return;
	}
	if (!v && how != REEL_VALUE_NUMBER)
		return;
	if (how == REEL_VALUE_PLUS_ONE)
		v--;
	else if (how == REEL_VALUE_SIGNED)
		v = reel_unzigzag(v - 1);
	else if (how == REEL_VALUE_BEFORE)
		v = id - v;
	sqlite3_result_int64(ctx, (int64_t)v);
}

static int rows_value(sqlite3_vtab_cursor *cur, sqlite3_context *ctx, int i)
{
	struct reel_row_cursor *c = (struct reel_row_cursor *)cur;
	const struct reel_row_column *column = &c->table->column[i];
	int64_t id = c->on->id[c->at];

	if (column->value == REEL_VALUE_ID)
		sqlite3_result_int64(ctx, id);
	else if (column->value == REEL_VALUE_TEXT)
		return give_text(c, ctx);
	else if (!c->table->kind)
		give_open(c, ctx, column);
	else
		give_number(ctx, column->value, (uint64_t)id,
			    c->on->rows.v[column->from][c->at]);
	return SQLITE_OK;
}

static int rows_rowid(sqlite3_vtab_cursor *cur, sqlite3_int64 *rowid)
{
	const struct reel_row_cursor *c = (struct reel_row_cursor *)cur;

	*rowid = c->on->id[c->at];
	return SQLITE_OK;
}

static const sqlite3_module rows_module = {
	/* no xUpdate: read-only */
	.xCreate = rows_connect,
	.xConnect = rows_connect,
	.xBestIndex = rows_best_index,
	.xDisconnect = reel_vtab_disconnect,
	.xDestroy = reel_vtab_disconnect,
	.xOpen = rows_open,
	.xClose = rows_close,
	.xFilter = rows_filter,
	.xNext = rows_next,
	.xEof = rows_eof,
	.xColumn = rows_value,
	.xRowid = rows_rowid,
};

int reel_vtab_rows_add(sqlite3 *db, const struct reel_row_table *table)
{
	return sqlite3_create_module_v2(db, table->module, &rows_module,
					(void *)table, NULL);
}
