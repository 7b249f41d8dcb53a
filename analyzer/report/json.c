/* SPDX-License-Identifier: MIT */
/*
 * The report as one JSON document, and the pieces that other documents share.
 *
 * Sections are views: a column added there must be added to
 * schemas/report.schema.json too, which allows no others.
 */
#include "analyzer/report/json.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/json.h"
#include "lib/store/store.h"
#include "lib/text.h"

#include "analyzer/report/advice.h"
#include "analyzer/report/report.h"

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

/* A row as an object, a key per column; integers in full, NULL as null. */
static json_t *row_of(sqlite3_stmt *q)
{
	json_t *row = json_object();
	int i;

	for (i = 0; i < sqlite3_column_count(q); i++)
		json_object_set_new(row, sqlite3_column_name(q, i), cell(q, i));
	return row;
}

/* A section of the document: a query, and whether it is one row. */
static const struct section {
	const char *key;
	bool one;
	const char *sql;
} sections[] = {
	{"run", true,
	 "SELECT name, command, framework, host, ranks, workers, processes, "
	 "threads, start_real_ns, wall_ns, span_ns, exit_status, exit_signal "
	 "FROM v_summary"},
	{"totals", true,
	 "SELECT events, calls, messages, message_bytes, files, read_calls, "
	 "write_calls, meta_calls, read_bytes, write_bytes, mapped_bytes, "
	 "errors, eof_reads, io_ns FROM v_summary"},
	{"hosts", false,
	 "SELECT host_id, name, boot_id FROM host ORDER BY host_id"},
	{"mapped", true, "SELECT * FROM v_mapped"},
	{"storage_wait", true, "SELECT * FROM v_storage_wait"},
	{"losses", false,
	 "SELECT process_id, reason, unit, count FROM loss "
	 "ORDER BY reason, process_id"},
	{"overlap", false, "SELECT * FROM v_overlap ORDER BY rank"},
	{"epochs", false, "SELECT * FROM v_epoch ORDER BY rank, start_ns"},
	{"steps", false, "SELECT * FROM v_step ORDER BY rank, ordinal"},
	{"groups", false, "SELECT * FROM v_group ORDER BY call_group"},
	{"calls", false,
	 "SELECT layer, call_group, call, message, calls, asked_bytes, bytes, "
	 "dur_ns, errors, eof_reads FROM v_call ORDER BY call_id, message"},
	{"mpiio", false, "SELECT * FROM v_mpiio ORDER BY op"},
	{"sites", false, "SELECT * FROM v_site"},
	{"errors", false, "SELECT * FROM v_error ORDER BY call, errno"},
	{"io_time", false, "SELECT * FROM v_io_time ORDER BY op"},
	{"bandwidth", false, "SELECT * FROM v_bandwidth ORDER BY op"},
	{"transfer_sizes", false, "SELECT * FROM transfer_size ORDER BY op"},
	{"transfer_bins", false,
	 "SELECT * FROM v_transfer_size ORDER BY op, low_bytes"},
	{"darshan_size_bins", false,
	 "SELECT * FROM darshan_size ORDER BY op, bin"},
	{"sequentiality", false, "SELECT * FROM v_sequence ORDER BY op"},
	{"darshan_sequentiality", false,
	 "SELECT op, sum(ops) AS ops, sum(seq) AS seq, sum(consec) AS consec "
	 "FROM darshan_sequence GROUP BY op ORDER BY op"},
	{"classes", false, "SELECT * FROM v_class ORDER BY class"},
	{"processes", false,
	 "SELECT v.*, p.host_id FROM v_process v JOIN process p "
	 "USING (process_id) ORDER BY process_id"},
	{"launchers", false, "SELECT * FROM v_launcher ORDER BY process_id"},
	{"timeline", false, "SELECT * FROM v_timeline ORDER BY start_ns"},
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

#define FILE_COLUMNS                                                           \
	"SELECT path, kind, class, size_bytes, shared, opens, "                \
	"reads, writes, meta_calls, errors, eof_reads, read_bytes, "           \
	"write_bytes, read_ns, write_ns, meta_ns, mapped_bytes FROM v_file "   \
	"ORDER BY read_ns + write_ns + meta_ns DESC, path "

static json_t *completeness(const struct report *r)
{
	return json_pack("{s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "lost_events", (json_int_t)r->lost, "complete",
			 !r->lost && !report_untraced(r->st) &&
				 !report_damaged(r->st) &&
				 !report_denied(r->st),
			 "clock_error_ns", (json_int_t)r->clock_error_ns,
			 "code_opens", (json_int_t)r->code_opens, "code_calls",
			 (json_int_t)r->code_calls, "code_read_bytes",
			 (json_int_t)r->code_read_bytes, "mapped_bytes",
			 (json_int_t)r->mapped_bytes, "unordered_bytes",
			 (json_int_t)r->unordered_bytes, "untold_bytes",
			 (json_int_t)r->untold_bytes, "untraced_programs",
			 (json_int_t)report_untraced(r->st));
}

static json_t *fetched(const struct report *r)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "reads",
			 (json_int_t)r->fetched.reads, "read_bytes",
			 (json_int_t)r->fetched.read_bytes, "fetched_bytes",
			 (json_int_t)r->fetched.bytes, "dur_ns",
			 (json_int_t)r->fetched.ns, "waits",
			 (json_int_t)r->fetched.waits, "wait_ns",
			 (json_int_t)r->fetched.wait_ns);
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

/*
 * The rows of @sql as an array, or the @one row: one after the other, there may
 * be millions.
 */
static int put_rows(struct reel_store *st, const char *key, const char *sql,
		    bool one, struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int64_t n = 0;
	int rc = -1, step;

	if (reel_store_prepare(st, &q, sql, err))
		return -1;
	put_key(key);
	while ((step = sqlite3_step(q)) == SQLITE_ROW && !(one && n)) {
		if (!one)
			fputs(n ? ",\n    " : "[\n    ", stdout);
		n++;
		if (reel_json_put(row_of(q), one ? 2 : 4, err))
			goto out;
		if (ferror(stdout)) /* nobody reads it any more */
			break;
	}
	if (step != SQLITE_DONE && step != SQLITE_ROW) {
		reel_fail(err, REEL_E_DB, "cannot read '%s': %s", st->path,
			  sqlite3_errmsg(st->db));
		goto out;
	}
	if (one && !n)
		fputs("null", stdout);
	else if (!one)
		fputs(n ? "\n  ]" : "[]", stdout);
	rc = 0;
out:
	sqlite3_finalize(q);
	return rc;
}

static int put_value(const char *key, json_t *value, struct reel_error *err)
{
	put_key(key);
	return reel_json_put(value, 2, err);
}

int report_json(const struct report *r, struct reel_error *err)
{
	size_t i;

	fputs("{\n  \"format\": \"ioreel-report-2\"", stdout);
	if (put_value("verdict", reel_json_name(r->verdict), err) ||
	    put_value("advice", advice_list(r), err) ||
	    put_value("completeness", completeness(r), err) ||
	    put_value("storage", fetched(r), err) ||
	    put_value("machine", reel_cpu_contention_json(&r->machine), err))
		return -1;
	for (i = 0; i < SECTIONS; i++)
		if (put_rows(r->st, sections[i].key, sections[i].sql,
			     sections[i].one, err))
			return -1;
	if (put_rows(r->st, "files", FILE_COLUMNS, false, err))
		return -1;
	puts("\n}");
	return 0;
}
