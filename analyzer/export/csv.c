/* SPDX-License-Identifier: MIT */
/*
 * Export as CSV (RFC 4180, lines end with \n): a header, a row per record. An
 * empty field is a value that is not known or does not apply.
 */
#include "analyzer/export/cursor.h"
#include "analyzer/export/exporter.h"
#include "analyzer/export/field.h"
#include "analyzer/export/out.h"

static int csv_begin(void **state, const struct export_cursor *c,
		     struct export_out *o, struct reel_error *err)
{
	for (int i = 0; export_field_name(i); i++) {
		if (i)
			export_put(o, ",", 1);
		export_puts(o, export_field_name(i));
	}
	export_put(o, "\n", 1);
	return 0;
}

static void csv_record(void *state, const struct export_record *r,
		       struct export_out *o)
{
	for (int i = 0; export_field_name(i); i++) {
		struct export_value v = export_field(r, i);

		if (i)
			export_put(o, ",", 1);
		if (v.kind == EXPORT_INT)
			export_put_int(o, v.number);
		else if (v.kind == EXPORT_TEXT)
			export_put_csv(o, v.text);
	}
	export_put(o, "\n", 1);
}

const struct exporter export_csv = {
	.name = "csv",
	.begin = csv_begin,
	.record = csv_record,
};
