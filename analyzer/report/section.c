/* SPDX-License-Identifier: MIT */
/* The sections of a report, and the cursor over the rows of one. */
#include "analyzer/report/section.h"

#include <string.h>

#include <sqlite3.h>

#include "lib/error.h"
#include "lib/store/store.h"

/* The counts of calls are zeros in an import without calls. */
#define WITH_CALLS " WHERE (SELECT by_events FROM v_measured)"

/* A column that a view gets is a property in schemas/report.schema.json, which
 * allows no others. */
const struct report_section report_sections[] = {
	{"run", "SELECT * FROM v_report_run", REPORT_ONE_ROW},
	{"totals", "SELECT * FROM v_report_totals", REPORT_ONE_ROW},
	{"hosts", "SELECT * FROM host ORDER BY host_id", REPORT_ROWS},
	{"mapped", "SELECT * FROM v_mapped WHERE mappings NOT NULL",
	 REPORT_ONE_ROW},
	{"unseen", "SELECT * FROM v_unseen", REPORT_ONE_ROW},
	{"storage", "SELECT * FROM v_storage_total", REPORT_ONE_ROW},
	{"storage_wait", "SELECT * FROM v_storage_wait", REPORT_ONE_ROW},
	{"losses", "SELECT * FROM v_report_losses", REPORT_ROWS},
	{"overlap", "SELECT * FROM v_overlap ORDER BY rank", REPORT_ROWS},
	{"ranks", "SELECT * FROM v_rank ORDER BY world, rank", REPORT_ROWS},
	{"epochs", "SELECT * FROM v_epoch ORDER BY rank, start_ns",
	 REPORT_ROWS},
	{"steps", "SELECT * FROM v_step ORDER BY rank, ordinal", REPORT_ROWS},
	{"groups", "SELECT * FROM v_report_groups", REPORT_ROWS},
	{"calls", "SELECT * FROM v_report_calls", REPORT_ROWS},
	{"mpiio", "SELECT * FROM v_mpiio ORDER BY op", REPORT_ROWS},
	{"mpiio_ranks", "SELECT * FROM v_mpiio_rank", REPORT_ROWS},
	{"sites", "SELECT * FROM v_site", REPORT_ROWS},
	{"errors", "SELECT * FROM v_error ORDER BY call, errno", REPORT_ROWS},
	{"io_time", "SELECT * FROM v_io_time ORDER BY op", REPORT_ROWS},
	{"bandwidth", "SELECT * FROM v_bandwidth ORDER BY op", REPORT_ROWS},
	{"transfer_sizes",
	 "SELECT * FROM transfer_size" WITH_CALLS " ORDER BY op", REPORT_ROWS},
	{"transfer_bins",
	 "SELECT * FROM v_transfer_size ORDER BY op, low_bytes", REPORT_ROWS},
	{"darshan_size_bins",
	 "SELECT * FROM darshan_size" WITH_CALLS " ORDER BY op, bin",
	 REPORT_ROWS},
	{"sequentiality", "SELECT * FROM v_sequence ORDER BY op", REPORT_ROWS},
	{"darshan_sequentiality", "SELECT * FROM v_darshan_sequence",
	 REPORT_ROWS},
	{"classes", "SELECT * FROM v_class ORDER BY class", REPORT_ROWS},
	{"processes", "SELECT * FROM v_report_processes", REPORT_ROWS},
	{"launchers", "SELECT * FROM v_launcher ORDER BY process_id",
	 REPORT_ROWS},
	{"launcher_files", "SELECT * FROM v_report_launcher_files",
	 REPORT_ROWS},
	{"timeline", "SELECT * FROM v_report_bins", REPORT_ROWS},
	{"files", "SELECT * FROM v_report_files", REPORT_ROWS},
	{"sources", "SELECT * FROM v_report_source", REPORT_ROWS},
	{"tracer", "SELECT * FROM v_tracer", REPORT_ONE_ROW},
	{"counters", "SELECT * FROM v_report_counters", REPORT_ROWS},
	{"counter_bins", "SELECT * FROM v_report_counter_bins", REPORT_ROWS},
	{"layers", "SELECT * FROM v_layer", REPORT_ROWS},
	{"counter_layers", "SELECT * FROM v_counter_layer", REPORT_ROWS},
	{"spread", "SELECT * FROM v_spread", REPORT_ROWS},
	{"phases", "SELECT * FROM v_phase", REPORT_ROWS},
	{"loaders", "SELECT * FROM v_loader", REPORT_ROWS},
	{"headroom", "SELECT * FROM v_headroom", REPORT_ROWS},
	{"distributions", "SELECT * FROM v_distribution ORDER BY quantity, op",
	 REPORT_ROWS},
	{"darshan_performance", "SELECT * FROM v_darshan_performance",
	 REPORT_ROWS},
	{"vanidl", "SELECT * FROM v_vanidl", REPORT_ON_REQUEST},
	{"step_table", "SELECT * FROM v_report_steps", REPORT_TEXT_ONLY},
	{"second_table", "SELECT * FROM v_report_timeline", REPORT_TEXT_ONLY},
	{NULL, NULL, REPORT_ROWS},
};

const struct report_section *report_section_find(const char *key)
{
	const struct report_section *s = report_sections;

	while (strcmp(s->key, key))
		s++;
	return s;
}

int report_rows_open(struct report_rows *rows, struct reel_store *st,
		     const struct report_section *s, struct reel_error *err)
{
	*rows = (struct report_rows){.st = st};
	return reel_store_prepare(st, &rows->stmt, s->rows, err);
}

int report_rows_next(struct report_rows *rows, struct reel_error *err)
{
	int step = sqlite3_step(rows->stmt);

	if (step == SQLITE_ROW)
		return 1;
	if (step == SQLITE_DONE)
		return 0;
	return reel_fail(err, REEL_E_DB, "cannot read '%s': %s", rows->st->path,
			 sqlite3_errmsg(rows->st->db));
}

void report_rows_close(struct report_rows *rows)
{
	sqlite3_finalize(rows->stmt);
	rows->stmt = NULL;
}

int report_rows_column(const struct report_rows *rows, const char *name)
{
	int n = sqlite3_column_count(rows->stmt);

	for (int i = 0; i < n; i++)
		if (!strcmp(sqlite3_column_name(rows->stmt, i), name))
			return i;
	return -1;
}
