/* SPDX-License-Identifier: MIT */
/*
 * The fields of a record, for formats that have a row or an object per record.
 * The names are the columns of v_event and v_span; "span" is the name of a span.
 * Fields are added at the end.
 */
#ifndef ANALYZER_EXPORT_FIELD_H
#define ANALYZER_EXPORT_FIELD_H

#include <stdint.h>

struct export_record;

enum export_value_kind { EXPORT_NULL, EXPORT_INT, EXPORT_TEXT };

struct export_value {
	enum export_value_kind kind;
	int64_t number;
	const char *text; /* borrowed from the record */
};

/* The name of field @i, from 0; NULL: there are no more. */
const char *export_field_name(int i);
struct export_value export_field(const struct export_record *r, int i);

#endif
