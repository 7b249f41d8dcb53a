/* SPDX-License-Identifier: MIT */
/*
 * Which column of a CSV file has which field of an event, as --map says:
 * 'start:us=ts,call=op,size=#4'. ioreel-import(1) describes the text.
 */
#ifndef ANALYZER_IMPORT_COMMON_COLUMN_MAP_H
#define ANALYZER_IMPORT_COMMON_COLUMN_MAP_H

#include <stdbool.h>

#include "analyzer/import/common/csv_rows.h"

struct reel_error;

enum import_field {
	FIELD_START,
	FIELD_END,
	FIELD_DURATION,
	FIELD_CALL,
	FIELD_SPAN,
	FIELD_DETAIL,
	FIELD_PATH,
	FIELD_OFFSET,
	FIELD_SIZE,
	FIELD_RESULT,
	FIELD_RANK,
	FIELD_HOST,
	FIELD_PID,
	FIELD_TID,
	IMPORT_FIELDS
};

#define COLUMN_NAME_MOST 128

struct import_column {
	bool mapped;
	int index;		     /* from 0; -1: found by its name */
	char name[COLUMN_NAME_MOST]; /* in the header */
	int digits;	/* of a time: 9 of seconds, 6 of ms, 3 of us, 0 of ns */
	bool unix_time; /* since 1970 */
	bool date;	/* as "2026-11-28T14:51:44.5Z"; digits is unused */
};

struct import_column_map {
	struct import_column column[IMPORT_FIELDS];
	bool named; /* a column has a name: the first row is the header */
};

/* 0, or -1 with @err: REEL_E_USAGE, which names the wrong part. */
int import_column_map_parse(struct import_column_map *map, const char *text,
			    struct reel_error *err);
/*
 * Find the columns with names in the header; 0, or -1 with @err: REEL_E_FORMAT
 * with @path.
 */
int import_column_map_find(struct import_column_map *map, const char *path,
			   const struct import_cell *cell, unsigned int cells,
			   struct reel_error *err);
/* The cell of @field; NULL: it is not mapped, not in the row, empty, or a word for
 * a missing number. */
const struct import_cell *
import_column_map_cell(const struct import_column_map *map,
		       enum import_field field, const struct import_cell *cell,
		       unsigned int cells);
/* Its name in --map. */
const char *import_field_name(enum import_field field);
/*
 * The first field whose cell is there but is no time or no whole number, as its
 * column needs; IMPORT_FIELDS: there is none.
 */
enum import_field import_column_map_bad(const struct import_column_map *map,
					const struct import_cell *cell,
					unsigned int cells);
/* Its time in ns. False: there is no cell, or it is no number or date. */
bool import_column_map_time(const struct import_column_map *map,
			    enum import_field field,
			    const struct import_cell *cell, unsigned int cells,
			    int64_t *ns);
/* The same for an integer. */
bool import_column_map_integer(const struct import_column_map *map,
			       enum import_field field,
			       const struct import_cell *cell,
			       unsigned int cells, int64_t *out);

/* The ns since 1970 of a date of ISO 8601 or RFC 3339, "2026-11-28T14:51:44.5Z"; without
 * a zone, of UTC. False: @text is no date. */
bool import_date_ns(const char *text, int64_t *ns);

#endif
