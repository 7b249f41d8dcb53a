/* SPDX-License-Identifier: MIT */
/*
 * The virtual tables `open_file`, `file`, `file_io` and `span`: how their
 * blocks become rows; and the registration of all virtual tables.
 */
#include "lib/store/file_class.h"
#include "lib/store/store.h"
#include "lib/store/vtab_rows.h"

/* --- open_file ------------------------------------------------------------ */

static const char open_columns[] =
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

static uint32_t open_mask(uint64_t used)
{
	return REEL_COL_ALL;
}

static int open_value(struct reel_row_cursor *c, sqlite3_context *ctx,
		      int column, const char **why)
{
	int64_t *const *v = c->on->columns.v;
	uint64_t start = (uint64_t)v[REEL_COL_START][c->at];
	int64_t unknown = v[REEL_COL_COUNT][c->at];

	switch (column) {
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
			sqlite3_result_int64(
				ctx,
				(int64_t)(start +
					  (uint64_t)v[REEL_COL_DUR][c->at]));
		break;
	}
	return 0;
}

/* --- file ----------------------------------------------------------------- */

static const char file_columns[] =
	"CREATE TABLE file (file_id INTEGER, path TEXT, kind TEXT, class TEXT, "
	"size_bytes INTEGER)";

enum file_column {
	FILE_ID,
	FILE_PATH,
	FILE_KIND,
	FILE_CLASS,
	FILE_SIZE,
};

static uint32_t file_mask(uint64_t used)
{
	return (used >> FILE_PATH & 1 ? REEL_TEXT_MASK : 0) |
	       (used >> FILE_KIND & 1 ? 1u << REEL_FILE_KIND : 0) |
	       (used >> FILE_CLASS & 1 ? 1u << REEL_FILE_CLASS : 0) |
	       (used >> FILE_SIZE & 1 ? 1u << REEL_FILE_SIZE : 0);
}

static int put_text(struct reel_row_cursor *c, sqlite3_context *ctx,
		    const char **why)
{
	if (reel_rows_text(&c->on->rows, c->at, &c->text, why))
		return -1;
	sqlite3_result_text(ctx, c->text.text, (int)c->text.len,
			    SQLITE_TRANSIENT);
	return 0;
}

static int file_value(struct reel_row_cursor *c, sqlite3_context *ctx,
		      int column, const char **why)
{
	const struct reel_rows *r = &c->on->rows;
	uint64_t v;

	switch (column) {
	case FILE_ID:
		sqlite3_result_int64(ctx, r->id[c->at]);
		break;
	case FILE_PATH:
		return put_text(c, ctx, why);
	case FILE_KIND:
		v = r->v[REEL_FILE_KIND][c->at];
		sqlite3_result_text(ctx,
				    reel_kind_name(v > UINT8_MAX
							   ? UINT8_MAX
							   : (enum reel_kind)v),
				    -1, SQLITE_STATIC);
		break;
	case FILE_CLASS:
		v = r->v[REEL_FILE_CLASS][c->at];
		sqlite3_result_text(
			ctx,
			reel_class_name(v > UINT8_MAX ? UINT8_MAX
						      : (enum reel_class)v),
			-1, SQLITE_STATIC);
		break;
	case FILE_SIZE:
		v = r->v[REEL_FILE_SIZE][c->at];
		if (v)
			sqlite3_result_int64(ctx, (int64_t)(v - 1));
		break;
	}
	return 0;
}

/* --- file_io -------------------------------------------------------------- */

/* After file_id the columns of the blocks, in their order. */
static const char file_io_columns[] =
	"CREATE TABLE file_io (file_id INTEGER, shared INTEGER, opens INTEGER, "
	"reads INTEGER, writes INTEGER, meta_calls INTEGER, errors INTEGER, "
	"eof_reads INTEGER, read_bytes INTEGER, write_bytes INTEGER, "
	"read_ns INTEGER, write_ns INTEGER, meta_ns INTEGER, "
	"mapped_bytes INTEGER)";

static uint32_t file_io_mask(uint64_t used)
{
	return (uint32_t)(used >> 1) & ((1u << REEL_FILE_IO_COLUMNS) - 1);
}

static int file_io_value(struct reel_row_cursor *c, sqlite3_context *ctx,
			 int column, const char **why)
{
	const struct reel_rows *r = &c->on->rows;

	if (column == 0)
		sqlite3_result_int64(ctx, r->id[c->at]);
	else if (column > 0 && column <= REEL_FILE_IO_COLUMNS)
		sqlite3_result_int64(ctx, (int64_t)r->v[column - 1][c->at]);
	return 0;
}

/* --- span ----------------------------------------------------------------- */

static const char span_columns[] =
	"CREATE TABLE span (span_id INTEGER, thread_id INTEGER, "
	"parent_id INTEGER, kind INTEGER, name TEXT, detail INTEGER, "
	"start_ns INTEGER, dur_ns INTEGER, closed INTEGER)";

enum span_column {
	SPAN_ID,
	SPAN_THREAD,
	SPAN_PARENT,
	SPAN_KIND,
	SPAN_NAME,
	SPAN_DETAIL,
	SPAN_START,
	SPAN_DUR,
	SPAN_CLOSED,
};

static uint32_t span_mask(uint64_t used)
{
	return (1u << REEL_SPAN_COLUMNS) - 1;
}

static int span_value(struct reel_row_cursor *c, sqlite3_context *ctx,
		      int column, const char **why)
{
	static const int of_column[] = {
		[SPAN_THREAD] = REEL_SPAN_THREAD,
		[SPAN_KIND] = REEL_SPAN_KIND,
		[SPAN_START] = REEL_SPAN_START_NS,
		[SPAN_DUR] = REEL_SPAN_DUR_NS,
		[SPAN_CLOSED] = REEL_SPAN_CLOSED,
	};
	const struct reel_rows *r = &c->on->rows;
	uint64_t id = (uint64_t)r->id[c->at], v;

	switch (column) {
	case SPAN_ID:
		sqlite3_result_int64(ctx, (int64_t)id);
		break;
	case SPAN_PARENT:
		v = r->v[REEL_SPAN_PARENT][c->at];
		if (v)
			sqlite3_result_int64(ctx, (int64_t)(id - v));
		break;
	case SPAN_NAME:
		return put_text(c, ctx, why);
	case SPAN_DETAIL:
		v = r->v[REEL_SPAN_DETAIL][c->at];
		if (v)
			sqlite3_result_int64(ctx,
					     (int64_t)reel_unzigzag(v - 1));
		break;
	default:
		if (column > 0 && column <= SPAN_CLOSED)
			sqlite3_result_int64(
				ctx, (int64_t)r->v[of_column[column]][c->at]);
	}
	return 0;
}

/* --- all ------------------------------------------------------------------ */

static const struct reel_row_table tables[] = {
	{
		.module = REEL_VTAB_MODULE "open_file",
		.columns = open_columns,
		.list = "SELECT block_id, min_open_id, max_open_id "
			"FROM main.open_block ORDER BY min_open_id",
		.fetch = "SELECT data FROM main.open_block WHERE block_id = ?",
		.rows = "SELECT max_open_id FROM main.open_block "
			"ORDER BY block_id DESC LIMIT 1",
		.mask = open_mask,
		.value = open_value,
	},
	{
		.module = REEL_VTAB_MODULE "file",
		.columns = file_columns,
		.kind = &reel_row_file,
		.list = "SELECT block_id, min_file_id, max_file_id "
			"FROM main.file_block ORDER BY min_file_id",
		.fetch = "SELECT data FROM main.file_block WHERE block_id = ?",
		.rows = "SELECT max_file_id FROM main.file_block "
			"ORDER BY block_id DESC LIMIT 1",
		.mask = file_mask,
		.value = file_value,
	},
	{
		.module = REEL_VTAB_MODULE "file_io",
		.columns = file_io_columns,
		.kind = &reel_row_file_io,
		.list = "SELECT block_id, min_file_id, max_file_id "
			"FROM main.file_io_block ORDER BY min_file_id",
		.fetch = "SELECT data FROM main.file_io_block "
			 "WHERE block_id = ?",
		.rows = "SELECT max_file_id FROM main.file_io_block "
			"ORDER BY block_id DESC LIMIT 1",
		.mask = file_io_mask,
		.value = file_io_value,
	},
	{
		.module = REEL_VTAB_MODULE "span",
		.columns = span_columns,
		.kind = &reel_row_span,
		.list = "SELECT block_id, min_span_id, max_span_id "
			"FROM main.span_block ORDER BY min_span_id",
		.fetch = "SELECT data FROM main.span_block WHERE block_id = ?",
		.rows = "SELECT max_span_id FROM main.span_block "
			"ORDER BY block_id DESC LIMIT 1",
		.mask = span_mask,
		.value = span_value,
	},
};

int reel_vtab_register(sqlite3 *db)
{
	int rc = reel_vtab_event_register(db);

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (rc == SQLITE_OK)
			rc = reel_vtab_rows_add(db, &tables[i]);
	return rc;
}
