/* SPDX-License-Identifier: MIT */
/*
 * The virtual tables `open_file`, `file`, `file_io` and `span`: how their
 * blocks become rows; and the registration of all virtual tables and functions.
 */
#include "lib/sql/aggregate.h"
#include "lib/store/store.h"
#include "lib/store/vtab_rows.h"

/* The queries of blocks in @table, by the id in column @id. */
#define BLOCKS(table, id)                                                      \
	.list = "SELECT block_id, min_" id ", max_" id " FROM main." table     \
		" ORDER BY min_" id,                                           \
	.fetch = "SELECT data FROM main." table " WHERE block_id = ?",         \
	.rows = "SELECT max_" id " FROM main." table                           \
		" ORDER BY block_id DESC LIMIT 1"

static const struct reel_row_table open_table = {
	.module = REEL_VTAB_MODULE "open_file",
	BLOCKS("open_block", "open_id"),
	.column =
		{
			{"open_id", REEL_VALUE_ID, 0},
			{"file_id", REEL_VALUE_NUMBER, REEL_COL_FILE},
			{"process_id", REEL_VALUE_NUMBER, REEL_COL_CALL},
			{"fd", REEL_VALUE_NUMBER, REEL_COL_FD},
			{"flags", REEL_VALUE_NOT_BELOW_0, REEL_COL_ARG},
			{"open_ns", REEL_VALUE_OPEN_NS, REEL_COL_START},
			{"close_ns", REEL_VALUE_CLOSE_NS, REEL_COL_DUR},
		},
};

const struct reel_row_table reel_row_table_file = {
	.module = REEL_VTAB_MODULE "file",
	.kind = &reel_row_file,
	BLOCKS("file_block", "file_id"),
	.column =
		{
			{"file_id", REEL_VALUE_ID, 0},
			{"path", REEL_VALUE_TEXT, 0},
			{"kind", REEL_VALUE_KIND, REEL_FILE_KIND},
			{"class", REEL_VALUE_CLASS, REEL_FILE_CLASS},
			{"size_bytes", REEL_VALUE_PLUS_ONE, REEL_FILE_SIZE},
		},
};

static const struct reel_row_table file_io_table = {
	.module = REEL_VTAB_MODULE "file_io",
	.kind = &reel_row_file_io,
	BLOCKS("file_io_block", "file_id"),
	.column =
		{
			{"file_id", REEL_VALUE_ID, 0},
			{"shared", REEL_VALUE_NUMBER, REEL_FILE_IO_SHARED},
			{"opens", REEL_VALUE_NUMBER, REEL_FILE_IO_OPENS},
			{"reads", REEL_VALUE_NUMBER, REEL_FILE_IO_READS},
			{"writes", REEL_VALUE_NUMBER, REEL_FILE_IO_WRITES},
			{"meta_calls", REEL_VALUE_NUMBER,
			 REEL_FILE_IO_META_CALLS},
			{"errors", REEL_VALUE_NUMBER, REEL_FILE_IO_ERRORS},
			{"eof_reads", REEL_VALUE_NUMBER,
			 REEL_FILE_IO_EOF_READS},
			{"read_bytes", REEL_VALUE_NUMBER,
			 REEL_FILE_IO_READ_BYTES},
			{"write_bytes", REEL_VALUE_NUMBER,
			 REEL_FILE_IO_WRITE_BYTES},
			{"read_ns", REEL_VALUE_NUMBER, REEL_FILE_IO_READ_NS},
			{"write_ns", REEL_VALUE_NUMBER, REEL_FILE_IO_WRITE_NS},
			{"meta_ns", REEL_VALUE_NUMBER, REEL_FILE_IO_META_NS},
			{"mapped_bytes", REEL_VALUE_NUMBER,
			 REEL_FILE_IO_MAPPED_BYTES},
		},
};

static const struct reel_row_table span_table = {
	.module = REEL_VTAB_MODULE "span",
	.kind = &reel_row_span,
	BLOCKS("span_block", "span_id"),
	.column =
		{
			{"span_id", REEL_VALUE_ID, 0},
			{"thread_id", REEL_VALUE_NUMBER, REEL_SPAN_THREAD},
			{"parent_id", REEL_VALUE_BEFORE, REEL_SPAN_PARENT},
			{"kind", REEL_VALUE_NUMBER, REEL_SPAN_KIND},
			{"name", REEL_VALUE_TEXT, 0},
			{"detail", REEL_VALUE_SIGNED, REEL_SPAN_DETAIL},
			{"start_ns", REEL_VALUE_NUMBER, REEL_SPAN_START_NS},
			{"dur_ns", REEL_VALUE_NUMBER, REEL_SPAN_DUR_NS},
			{"closed", REEL_VALUE_NUMBER, REEL_SPAN_CLOSED},
		},
};

int reel_vtab_register(sqlite3 *db)
{
	static const struct reel_row_table *const tables[] = {
		&open_table, &reel_row_table_file, &file_io_table, &span_table};
	int rc = reel_vtab_event_register(db);

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (rc == SQLITE_OK)
			rc = reel_vtab_rows_add(db, tables[i]);
	return rc == SQLITE_OK ? reel_aggregate_register(db) : rc;
}
