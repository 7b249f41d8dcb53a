/* SPDX-License-Identifier: MIT */
/*
 * Export as JSON lines: an object per record and line. A value that is not
 * known or does not apply has no key.
 */
#include "analyzer/export/cursor.h"
#include "analyzer/export/exporter.h"
#include "analyzer/export/field.h"
#include "analyzer/export/out.h"

static int jsonl_begin(void **state, const struct export_cursor *c,
		       struct export_out *o, struct reel_error *err)
{
	return 0;
}

static void jsonl_record(void *state, const struct export_record *r,
			 struct export_out *o)
{
	const char *between = "{\"";

	for (int i = 0; export_field_name(i); i++) {
		struct export_value v = export_field(r, i);

		if (v.kind == EXPORT_NULL)
			continue;
		export_puts(o, between);
		export_puts(o, export_field_name(i));
		export_put(o, "\":", 2);
		if (v.kind == EXPORT_INT)
			export_put_int(o, v.number);
		else
			export_put_json(o, v.text);
		between = ",\"";
	}
	export_put(o, "}\n", 2);
}

const struct exporter export_jsonl = {
	.name = "jsonl",
	.begin = jsonl_begin,
	.record = jsonl_record,
};
