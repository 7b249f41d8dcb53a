/* SPDX-License-Identifier: MIT */
/*
 * The report as one JSON document.
 *
 * A key that is added here, or a column of a section's view, has to be added to
 * schemas/report.schema.json too, which allows no others.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/json.h"
#include "lib/store/store.h"

#include "analyzer/report/render.h"
#include "analyzer/report/report.h"
#include "analyzer/report/section.h"

static json_t *cell(sqlite3_stmt *q, int column)
{
	switch (sqlite3_column_type(q, column)) {
	case SQLITE_INTEGER:
		return json_integer(sqlite3_column_int64(q, column));
	case SQLITE_FLOAT:
		if (!isfinite(sqlite3_column_double(q, column)))
			return json_null();
		return json_real(sqlite3_column_double(q, column));
	case SQLITE_TEXT:
		return reel_json_name(
			(const char *)sqlite3_column_text(q, column));
	default:
		return json_null();
	}
}

/* Column "missing" of v_report_source: texts with "; " between them. */
static json_t *array_of(sqlite3_stmt *q, int column)
{
	const char *text = (const char *)sqlite3_column_text(q, column);
	json_t *list = json_array();

	while (text && *text) {
		const char *end = strstr(text, "; ");
		size_t len = end ? (size_t)(end - text) : strlen(text);

		json_array_append_new(list, json_stringn(text, len));
		text += len + (end ? 2 : 0);
	}
	return list;
}

/* A row as an object, a key per column; integers in full, NULL as null. */
static json_t *row_of(sqlite3_stmt *q)
{
	json_t *row = json_object();
	int i;

	for (i = 0; i < sqlite3_column_count(q); i++) {
		const char *name = sqlite3_column_name(q, i);

		json_object_set_new(row, name,
				    !strcmp(name, "missing") ? array_of(q, i)
							     : cell(q, i));
	}
	return row;
}

/* A time, bytes or a count; REPORT_NONE is null. */
static json_t *maybe_integer(int64_t v)
{
	return v == REPORT_NONE ? json_null() : json_integer(v);
}

static json_t *completeness(const struct report *r)
{
	const struct report_completeness *c = &r->completeness;

	bool none = c->unfinished_unknown;
	json_t *path = c->unfinished_path ? reel_json_name(c->unfinished_path)
					  : json_null();

	return json_pack(
		"{s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, "
		"s:b, s:I, s:I, s:I, s:I, s:I}",
		"lost_events", (json_int_t)c->lost_events, "complete",
		report_is_complete(c), "clock_error_ns",
		maybe_integer(r->clock_error_ns), "code_opens",
		maybe_integer(r->code_opens), "code_calls",
		maybe_integer(r->code_calls), "code_read_bytes",
		maybe_integer(r->code_read_bytes), "mapped_bytes",
		maybe_integer(r->mapped_bytes), "untimed_bytes",
		maybe_integer(r->untimed_bytes), "unknown_bytes",
		maybe_integer(r->unknown_bytes), "untraced_programs",
		(json_int_t)c->untraced_programs, "unfinished_checkpoints",
		maybe_integer(none ? REPORT_NONE : c->unfinished_saves),
		"unfinished_path", path, "filtered", c->filtered,
		"unnamed_calls", (json_int_t)c->unnamed, "unnamed_ns",
		(json_int_t)c->unnamed_ns, "job_ids", (json_int_t)c->job_ids,
		"apart_groups", (json_int_t)c->apart, "apart_ns",
		(json_int_t)(c->apart > 1 ? c->apart_ns : 0));
}

static json_t *evidence(const struct advice *a)
{
	json_t *list = json_array();
	int i;

	for (i = 0; list && i < a->facts; i++) {
		const struct advice_fact *f = &a->fact[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:f}", "name",
						      f->name, "unit", f->unit,
						      "value", f->value));
	}
	return list;
}

static json_t *advice_list(const struct report *r)
{
	json_t *list = json_array();
	int i;

	for (i = 0; list && i < r->advices; i++) {
		const struct advice *a = &r->advice[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:o}", "code", a->code,
				  "text", reel_json_name(a->text), "try",
				  a->try_this[0] ? reel_json_name(a->try_this)
						 : json_null(),
				  "evidence", evidence(a)));
	}
	return list;
}

static void put_key(const char *key)
{
	printf(",\n  \"%s\": ", key);
}

/* Print the rows of a section one after the other: there may be millions. */
static int put_section(struct reel_store *st, const struct report_section *s,
		       struct reel_error *err)
{
	bool one = s->kind == REPORT_ONE_ROW || s->kind == REPORT_ON_REQUEST;
	struct report_rows rows;
	int64_t n = 0;
	int rc = report_rows_open(&rows, st, s, err);

	if (!rc)
		put_key(s->key);
	while (!rc && (rc = report_rows_next(&rows, err)) == 1) {
		if (!one)
			fputs(n ? ",\n    " : "[\n    ", stdout);
		n++;
		rc = reel_json_put(row_of(rows.stmt), one ? 2 : 4, err);
		if (one || ferror(stdout)) /* the reader left */
			break;
	}
	if (!rc && one && !n)
		fputs("null", stdout);
	else if (!rc && !one)
		fputs(n ? "\n  ]" : "[]", stdout);
	report_rows_close(&rows);
	return rc;
}

static int put_value(const char *key, json_t *value, struct reel_error *err)
{
	put_key(key);
	return reel_json_put(value, 2, err);
}

int report_json(const struct report *r, const struct report_options *o,
		struct reel_error *err)
{
	fputs("{\n  \"format\": \"ioreel-report-3\"", stdout);
	if (put_value("verdict", reel_json_name(r->verdict), err) ||
	    put_value("advice", advice_list(r), err) ||
	    put_value("completeness", completeness(r), err) ||
	    put_value("cpu_contention",
		      reel_cpu_contention_json(&r->cpu_contention), err))
		return -1;
	for (const struct report_section *s = report_sections; s->key; s++)
		if (s->kind != REPORT_TEXT_ONLY &&
		    (s->kind != REPORT_ON_REQUEST || o->other_tools) &&
		    put_section(r->st, s, err))
			return -1;
	puts("\n}");
	return 0;
}
