/* SPDX-License-Identifier: MIT */
/*
 * The report's sections: files, steps, ranks and processes, seconds, call sites,
 * losses. One line per row, the first r->top of each table; the columns are in
 * a table each.
 */
#include <stdio.h>
#include <string.h>

#include "lib/columns.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/store/store.h"
#include "lib/text.h"

#include "analyzer/report/report.h"
#include "analyzer/report/workers.h"

#define PATH_BYTES 4096

/* WORLD, HOST: a count and a text, left out where there is but one; STEPS: a
 * count, left out where each row is one step. */
enum form {
	TEXT,
	COUNT,
	SIZE,
	BYTES,
	TIME,
	SHARE,
	RATE,
	PATH,
	WORLD,
	HOST,
	STEPS
};

struct column {
	const char *title;
	enum form form;
	int width;
};

static char *format(char out[static REEL_NUM], sqlite3_stmt *q, int i,
		    enum form form)
{
	double v = sqlite3_column_double(q, i);

	if (sqlite3_column_type(q, i) == SQLITE_NULL)
		return strcpy(out, "-");
	switch (form) {
	case COUNT:
	case WORLD:
	case STEPS:
		return reel_num_count(out, sqlite3_column_int64(q, i));
	case SIZE:
		return reel_num_size(out, v);
	case BYTES:
		return reel_num_bytes(out, v);
	case TIME:
		return reel_num_time(out, v);
	case RATE:
		return reel_num_rate(out, v);
	case SHARE:
		snprintf(out, REEL_NUM, "%.1f %%", 100 * v);
		return out;
	default:
		return strcpy(out, "-");
	}
}

/* To the left, with a gap in front; a path has no width. */
static void put_text(int *at, const char *text, int width)
{
	char shown[4 * PATH_BYTES + 3] = "  ";
	size_t len = strlen(text);

	reel_text_escape(shown + 2, sizeof(shown) - 2, text,
			 len < PATH_BYTES ? len : PATH_BYTES);
	reel_columns_left(at, shown, width);
}

static bool is_text(const struct column *c)
{
	return c->form == PATH || c->form == TEXT || c->form == HOST;
}

static void print_cell(sqlite3_stmt *q, int i, const struct column *c, int *at)
{
	const char *text = (const char *)sqlite3_column_text(q, i);
	char num[REEL_NUM];

	if (is_text(c))
		put_text(at, text ? text : "-", c->width);
	else
		reel_columns_right(at, format(num, q, i, c->form), c->width);
}

static bool has_rows(struct reel_store *st, const char *sql)
{
	sqlite3_stmt *q = NULL;
	bool any = !reel_store_prepare(st, &q, sql, NULL) &&
		   sqlite3_step(q) == SQLITE_ROW;

	sqlite3_finalize(q);
	return any;
}

/* Bit i: column i is left out. */
static unsigned int left_out(struct reel_store *st, const struct column *c,
			     int columns)
{
	static const char *const sql[] = {
		[WORLD] = "SELECT 1 FROM v_world WHERE world > 1",
		[HOST] = "SELECT 1 FROM host LIMIT 1 OFFSET 1",
		[STEPS] = "SELECT 1 FROM step WHERE steps > 1",
	};
	unsigned int out = 0;
	int i;

	for (i = 0; i < columns; i++)
		if (c[i].form >= WORLD && !has_rows(st, sql[c[i].form]))
			out |= 1u << i;
	return out;
}

static void print_titles(const struct column *c, unsigned int out, int columns)
{
	int i, at = 0;

	for (i = 0; i < columns; i++) {
		if (out & 1u << i)
			continue;
		if (is_text(&c[i]))
			put_text(&at, c[i].title, c[i].width);
		else
			reel_columns_right(&at, c[i].title, c[i].width);
	}
	putchar('\n');
}

static void print_cells(sqlite3_stmt *q, const struct column *c,
			unsigned int out, int columns)
{
	int i, at = 0;

	for (i = 0; i < columns; i++)
		if (!(out & 1u << i))
			print_cell(q, i, &c[i], &at);
	putchar('\n');
}

static int print_table(const struct report *r, const char *sql,
		       const struct column *c, int columns,
		       struct reel_error *err)
{
	struct reel_store *st = r->st;
	unsigned int out = left_out(st, c, columns);
	sqlite3_stmt *q = NULL;
	int step = SQLITE_DONE, rc = reel_store_prepare(st, &q, sql, err);
	char num[REEL_NUM];
	int64_t rows = 0;

	if (!rc)
		print_titles(c, out, columns);
	while (!rc && (step = sqlite3_step(q)) == SQLITE_ROW)
		if (rows++ < r->top || !r->top)
			print_cells(q, c, out, columns);
	if (r->top && rows > r->top)
		printf("  and %s more (--top N, --top all)\n",
		       reel_num_count(num, rows - r->top));
	if (!rc && step != SQLITE_DONE)
		rc = reel_fail(err, REEL_E_DB, "cannot read '%s': %s", st->path,
			       sqlite3_errmsg(st->db));
	sqlite3_finalize(q);
	return rc;
}

#define TABLE(r, sql, c, err)                                                  \
	print_table(r, sql, c, (int)(sizeof(c) / sizeof(c[0])), err)

int report_table_files(const struct report *r, struct reel_error *err)
{
	static const struct column c[] = {
		{"opens", COUNT, 8},	{"reads", COUNT, 10},
		{"writes", COUNT, 9},	{"read", BYTES, 10},
		{"written", BYTES, 10}, {"time", TIME, 10},
		{"back", COUNT, 8},	{"size", SIZE, 10},
		{"class", TEXT, 12},	{"file", PATH, 0},
	};

	reel_columns_wrapped("Files, those first that took most time (back: "
			     "reads and writes that went back in the file)",
			     2, 0);
	return TABLE(r,
		     "SELECT opens, reads, writes, read_bytes, write_bytes, "
		     "read_ns + write_ns + meta_ns, "
		     "(SELECT sum(s.random) FROM file_sequence s "
		     "WHERE s.file_id = f.file_id), size_bytes, class, path "
		     "FROM v_file f ORDER BY 6 DESC, path",
		     c, err);
}

int report_table_steps(const struct report *r, struct reel_error *err)
{
	static const struct column c[] = {
		{"rank", COUNT, 6},    {"epoch", COUNT, 7},
		{"step", COUNT, 9},    {"steps", STEPS, 7},
		{"start", TIME, 10},   {"time", TIME, 10},
		{"fetch", TIME, 10},   {"compute", TIME, 10},
		{"own I/O", TIME, 10}, {"other", TIME, 10},
		{"I/O", TIME, 10},     {"hidden", SHARE, 9},
		{"read", BYTES, 10},
	};

	if (!r->ranks) {
		reel_columns_wrapped("No steps: nothing said where a training "
				     "step begins.",
				     2, 0);
		return 0;
	}
	return TABLE(r,
		     "SELECT rank, epoch, coalesce(number, ordinal), steps, "
		     "start_ns, dur_ns, fetch_ns, compute_ns, own_io_ns, "
		     "other_ns, io_ns, hidden_share, read_bytes FROM v_step "
		     "ORDER BY rank, ordinal",
		     c, err);
}

static int print_ranks(const struct report *r, struct reel_error *err)
{
	static const struct column c[] = {
		{"world", WORLD, 7},   {"rank", COUNT, 6},
		{"steps", COUNT, 9},   {"step", TIME, 10},
		{"fetch", TIME, 10},   {"compute", TIME, 10},
		{"waits", SHARE, 9},   {"computes", SHARE, 9},
		{"I/O", TIME, 10},     {"hidden", SHARE, 9},
		{"workers", COUNT, 9}, {"busy", SHARE, 9},
		{"host", HOST, 0},
	};

	if (!r->ranks)
		return 0;
	reel_columns_wrapped(
		"Ranks (step, fetch, compute: medians of the steady "
		"steps; waits: of the time from the first fetch to "
		"the end of the last step; computes: of the steady "
		"steps)",
		2, 0);
	if (TABLE(r,
		  "SELECT w.world, o.rank, o.steps, t.median_step_ns, "
		  "t.median_fetch_ns, "
		  "t.median_compute_ns, o.wait_share, o.computing_share, "
		  "o.io_ns, "
		  "o.hidden_share, coalesce(m.most, o.workers), "
		  "o.worker_busy_share, h.name "
		  "FROM v_overlap o JOIN rank_time t USING (process_id) "
		  "LEFT JOIN " REPORT_WORKERS " m USING (process_id) "
		  "LEFT JOIN v_world w USING (process_id) "
		  "LEFT JOIN process p USING (process_id) "
		  "LEFT JOIN host h USING (host_id) "
		  "ORDER BY w.world, o.rank",
		  c, err))
		return -1;
	putchar('\n');
	return 0;
}

/* What each rank asked of MPI-IO, whoever did it beneath. */
static int print_mpiio(const struct report *r, struct reel_error *err)
{
	static const struct column c[] = {
		{"world", WORLD, 7},	{"rank", COUNT, 6},
		{"reads", COUNT, 10},	{"writes", COUNT, 9},
		{"read", BYTES, 10},	{"written", BYTES, 10},
		{"in reads", TIME, 10}, {"in writes", TIME, 10},
	};

	if (!r->mpiio[0].calls && !r->mpiio[1].calls)
		return 0;
	puts("MPI-IO by rank");
	if (TABLE(r,
		  "SELECT w.world, p.rank, "
		  "coalesce(sum(i.calls) FILTER (WHERE call_group = 'read'), "
		  "0), "
		  "coalesce(sum(i.calls) FILTER (WHERE call_group = 'write'), "
		  "0), "
		  "coalesce(sum(i.bytes) FILTER (WHERE call_group = 'read'), "
		  "0), "
		  "coalesce(sum(i.bytes) FILTER (WHERE call_group = 'write'), "
		  "0), "
		  "sum(i.dur_ns) FILTER (WHERE call_group = 'read'), "
		  "sum(i.dur_ns) FILTER (WHERE call_group = 'write') "
		  "FROM rollup i JOIN call c USING (call_id) "
		  "JOIN process p USING (process_id) "
		  "LEFT JOIN v_world w USING (process_id) "
		  "WHERE c.layer = 'MPIIO' AND call_group IN ('read', 'write') "
		  "GROUP BY w.world, p.rank ORDER BY w.world, p.rank",
		  c, err))
		return -1;
	putchar('\n');
	return 0;
}

int report_table_ranks(const struct report *r, struct reel_error *err)
{
	static const struct column c[] = {
		{"world", WORLD, 7},	{"pid", COUNT, 11},
		{"rank", COUNT, 6},	{"role", TEXT, 10},
		{"reads", COUNT, 10},	{"writes", COUNT, 9},
		{"other", COUNT, 10},	{"read", BYTES, 10},
		{"written", BYTES, 10}, {"I/O", TIME, 10},
		{"sum", TIME, 10},	{"files", COUNT, 8},
		{"host", HOST, 0},
	};

	if (print_ranks(r, err) || print_mpiio(r, err))
		return -1;
	reel_columns_wrapped(
		"Processes (I/O: union of the times of their calls; "
		"sum: added up)",
		2, 0);
	return TABLE(
		r,
		"SELECT w.world, p.pid, p.rank, p.role, p.reads, p.writes, "
		"p.meta_calls, "
		"p.read_bytes, p.write_bytes, t.union_ns, p.sum_ns, "
		"p.files, h.name FROM v_process p LEFT JOIN io_time t "
		"ON t.process_id = p.process_id AND t.op = 'io' "
		"LEFT JOIN v_world w ON w.process_id = p.process_id "
		"LEFT JOIN process o ON o.process_id = p.process_id "
		"LEFT JOIN host h USING (host_id) "
		"ORDER BY p.process_id",
		c, err);
}

int report_table_time(const struct report *r, struct reel_error *err)
{
	static const struct column c[] = {
		{"from", TIME, 10},	{"reads", COUNT, 10},
		{"writes", COUNT, 9},	{"other", COUNT, 10},
		{"read", RATE, 11},	{"written", RATE, 11},
		{"in reads", TIME, 10}, {"in writes", TIME, 10},
		{"in other", TIME, 10}, {"processes", COUNT, 10},
	};

	return TABLE(r,
		     "SELECT start_ns, reads, writes, meta_calls, "
		     "read_bytes * 1e9 / width_ns, "
		     "write_bytes * 1e9 / width_ns, read_ns, write_ns, "
		     "meta_ns, processes FROM v_timeline "
		     "WHERE reads + writes + meta_calls + read_bytes + "
		     "write_bytes + read_ns + write_ns + meta_ns > 0 "
		     "ORDER BY start_ns",
		     c, err);
}

int report_table_sites(const struct report *r, struct reel_error *err)
{
	static const struct column c[] = {
		{"calls", COUNT, 9},	{"read", BYTES, 11},
		{"written", BYTES, 11}, {"in calls", TIME, 10},
		{"call", TEXT, 16},	{"class", TEXT, 12},
		{"place", PATH, 0},
	};

	if (!has_rows(r->st, "SELECT 1 FROM v_site LIMIT 1")) {
		reel_columns_wrapped(
			"No places of calls: record --stacks notes "
			"them.",
			2, 0);
		return 0;
	}
	return TABLE(r,
		     "SELECT calls, read_bytes, write_bytes, dur_ns, call, "
		     "class, place FROM v_site",
		     c, err);
}

int report_table_losses(const struct report *r, struct reel_error *err)
{
	static const struct column c[] = {
		{"count", COUNT, 12},
		{"unit", TEXT, 12},
		{"pid", COUNT, 9},
		{"reason", PATH, 0},
	};
	char num[REEL_NUM];

	printf("%s event%s lost\n", reel_num_count(num, r->lost),
	       r->lost == 1 ? "" : "s");
	if (!has_rows(r->st, "SELECT 1 FROM loss LIMIT 1"))
		return 0;
	return TABLE(r,
		     "SELECT l.count, l.unit, p.pid, l.reason FROM loss l "
		     "LEFT JOIN process p USING (process_id) "
		     "ORDER BY l.reason, p.pid",
		     c, err);
}

int report_table_launchers(const struct report *r, struct reel_error *err)
{
	static const struct column process[] = {
		{"pid", COUNT, 11},	{"launcher", TEXT, 10},
		{"calls", COUNT, 9},	{"files", COUNT, 7},
		{"read", BYTES, 10},	{"written", BYTES, 10},
		{"in calls", TIME, 10}, {"command", PATH, 0},
	};
	static const struct column file[] = {
		{"calls", COUNT, 9},
		{"read", BYTES, 10},
		{"written", BYTES, 10},
		{"file", PATH, 0},
	};

	if (!has_rows(r->st, "SELECT 1 FROM process WHERE launcher NOT NULL")) {
		reel_columns_wrapped("No processes of a launcher.", 2, 0);
		return 0;
	}
	reel_columns_wrapped("Processes of launchers, which are in no other "
			     "table, and their files",
			     2, 0);
	if (TABLE(r,
		  "SELECT pid, launcher, calls, files, read_bytes, "
		  "write_bytes, sum_ns, command FROM v_launcher "
		  "ORDER BY process_id",
		  process, err))
		return -1;
	putchar('\n');
	return TABLE(
		r,
		"SELECT sum(e.calls), coalesce(sum(e.bytes) FILTER (WHERE "
		"e.call_group = 'read'), 0), coalesce(sum(e.bytes) FILTER "
		"(WHERE e.call_group = 'write'), 0), e.path FROM process p "
		"JOIN thread t USING (process_id) JOIN v_event e ON "
		"e.thread_id = t.thread_id WHERE p.launcher NOT NULL AND "
		"e.class <> 'pipe' AND e.errno = 0 GROUP BY e.path "
		"ORDER BY 1 DESC, e.path",
		file, err);
}
