/* SPDX-License-Identifier: MIT */
/*
 * Import SQLite exports of Nsight Systems.
 *
 * Kernels, copies and NVTX ranges become spans, accesses to files become events
 * where the profile has their paths. Calls of the OS runtime without a path,
 * calls of CUDA and the operators that PyTorch emits as ranges are counted by
 * name.
 *
 * Source: "SQLite Schema Reference" of Nsight Systems, 2021.5 to 2026.2; an
 * export of version 2026.2. The tables of file accesses are read by that
 * reference alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/trace_format.h"

#include "lib/error.h"

#include "analyzer/import/common/profile.h"
#include "analyzer/import/common/span_names.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/profile/nsys.h"
#include "analyzer/import/common/table.h"

#define NAME_BYTES 4096
/* Kinds of NVTX events that have an end. */
#define NVTX_PUSH_POP 59
#define NVTX_START_END 60

static int put_span(struct nsys *im, struct reel_span_event *ev,
		    const char *name, struct reel_error *err)
{
	if (ev->start_ns < im->start_ns)
		im->start_ns = ev->start_ns;
	return gather_span(im->gather, ev, name, err);
}

/* --- devices -------------------------------------------------------------- */

enum device_column {
	DEVICE_START,
	DEVICE_END,
	DEVICE_ID,
	DEVICE_STREAM,
	DEVICE_PID,
	DEVICE_NAME,
	DEVICE_SHORT_NAME,
	DEVICE_COPY_KIND,
	DEVICE_CORRELATION,
	DEVICE_GRAPH,
};

/* A graph that is profiled as a whole has no rows of its kernels. */
enum device_table {
	DEVICE_KERNELS,
	DEVICE_GRAPHS,
	DEVICE_COPIES,
	DEVICE_SETS,
};

static const char *const device_columns[] = {
	"start",	 "end",		  "deviceId",  "streamId",
	"globalPid",	 "demangledName", "shortName", "copyKind",
	"correlationId", "graphId",	  NULL};

/* The own name of a kernel, copy or graph. */
static const char *device_name(const struct nsys *im,
			       const struct nsys_rows *rows,
			       enum device_table table,
			       char buf[static NAME_BYTES])
{
	const char *name = NULL;
	int64_t v = -1;

	if (table == DEVICE_SETS)
		return "Memset";
	if (table == DEVICE_GRAPHS) {
		nsys_rows_int(rows, DEVICE_GRAPH, &v);
		snprintf(buf, NAME_BYTES, "CUDA graph %lld", (long long)v);
		return v < 0 ? "CUDA graph" : buf;
	}
	if (table == DEVICE_COPIES) {
		nsys_rows_int(rows, DEVICE_COPY_KIND, &v);
		name = v >= 0 && v < NSYS_COPY_KINDS ? im->copy_kind[v] : NULL;
		snprintf(buf, NAME_BYTES, "Memcpy %s", name ? name : "");
		if (!name)
			snprintf(buf, NAME_BYTES, "Memcpy kind %lld",
				 (long long)v);
		return buf;
	}
	if (nsys_rows_int(rows, DEVICE_NAME, &v))
		name = nsys_db_string(im->db, v);
	if (!name && nsys_rows_int(rows, DEVICE_SHORT_NAME, &v))
		name = nsys_db_string(im->db, v);
	return name ? name : "unnamed";
}

static int add_device_row(struct nsys *im, const struct nsys_rows *rows,
			  enum device_table table, struct reel_error *err)
{
	struct reel_span_event ev = {.kind = REEL_SPAN_COMPUTE};
	int64_t device = 0, stream = 0, global = 0, correlation;
	char buf[NAME_BYTES];
	uint32_t process, name;

	if (!nsys_interval(im, rows, &ev.start_ns, &ev.dur_ns))
		return 0;
	nsys_rows_int(rows, DEVICE_ID, &device);
	nsys_rows_int(rows, DEVICE_STREAM, &stream);
	if (!nsys_rows_int(rows, DEVICE_PID, &global) &&
	    nsys_rows_int(rows, DEVICE_CORRELATION, &correlation))
		global = nsys_launcher(im, correlation);
	process = nsys_process(im, global, err);
	if (!process)
		return -1;
	ev.thread = gather_thread(im->gather, process,
				  profile_stream_tid(device, stream), err);
	name = nsys_count(im, rows->table, device_name(im, rows, table, buf),
			  ev.dur_ns, err);
	if (!ev.thread || name == REEL_NO_INDEX)
		return -1;
	ev.detail = (int64_t)im->records + name + 1;
	return put_span(im, &ev, table >= DEVICE_COPIES ? "memcpy" : "kernel",
			err);
}

static int read_device(struct nsys *im, const char *table, const char *sql,
		       enum device_table is, struct reel_error *err)
{
	struct nsys_rows rows = {0};
	int more =
		nsys_rows_open(&rows, im->db, table, sql, device_columns, err);

	if (!more && rows.statement && rows.column[DEVICE_PID] < 0)
		more = nsys_read_launches(im, err);
	while (!more && (more = nsys_rows_next(&rows, err)) > 0)
		more = add_device_row(im, &rows, is, err);
	nsys_rows_close(&rows);
	return more;
}

static int read_copy_kinds(struct nsys *im, struct reel_error *err)
{
	static const char *const columns[] = {"id", "label", NULL};
	struct nsys_rows rows = {0};
	int64_t id;
	int more = nsys_rows_open(&rows, im->db, "ENUM_CUDA_MEMCPY_OPER",
				  "SELECT * FROM ENUM_CUDA_MEMCPY_OPER",
				  columns, err);

	while (!more && (more = nsys_rows_next(&rows, err)) > 0) {
		const char *label = nsys_rows_text(&rows, 1);

		more = 0;
		if (!label || !nsys_rows_int(&rows, 0, &id) || id < 0 ||
		    id >= NSYS_COPY_KINDS || im->copy_kind[id])
			continue;
		im->copy_kind[id] = reel_strdup(label, err);
		more = im->copy_kind[id] ? 0 : -1;
	}
	nsys_rows_close(&rows);
	return more;
}

/* --- ranges --------------------------------------------------------------- */

enum nvtx_column {
	NVTX_START,
	NVTX_END,
	NVTX_TYPE,
	NVTX_TEXT,
	NVTX_TEXT_ID,
	NVTX_TID,
};

/* PyTorch's emit_nvtx adds the numbers of an operator. True: it did, and @buf
 * has the name without them. */
static bool is_operator(const char *text, char buf[static NAME_BYTES])
{
	const char *op = strstr(text, ", op_id = ");
	const char *seq = strstr(text, ", seq = ");

	if (seq && (!op || seq < op))
		op = seq;
	snprintf(buf, NAME_BYTES, "%.*s",
		 op ? (int)(op - text < NAME_BYTES ? op - text : NAME_BYTES)
		    : NAME_BYTES,
		 text);
	return op;
}

static int add_range(struct nsys *im, const struct nsys_rows *rows,
		     struct reel_error *err)
{
	struct reel_span_event ev = {0};
	int64_t v, type = NVTX_PUSH_POP, global = 0;
	const char *text = nsys_rows_text(rows, NVTX_TEXT);
	char name[NAME_BYTES], user[NAME_BYTES + 8];
	struct span_meaning meaning;
	bool op;

	nsys_rows_int(rows, NVTX_TYPE, &type);
	if (type != NVTX_PUSH_POP && type != NVTX_START_END)
		return 0;
	/* Exports of old versions have 0 and "" for no value. */
	if (!nsys_rows_int(rows, NVTX_END, &v) || v <= 0) {
		im->unended++;
		return 0;
	}
	if (!nsys_interval(im, rows, &ev.start_ns, &ev.dur_ns))
		return 0;
	if ((!text || !*text) && nsys_rows_int(rows, NVTX_TEXT_ID, &v))
		text = nsys_db_string(im->db, v);
	op = is_operator(text ? text : "", name);
	if (nsys_count(im, "NVTX", name, ev.dur_ns, err) == REEL_NO_INDEX)
		return -1;
	meaning = span_names_meaning(name);
	if (op && meaning.kind == REEL_SPAN_USER)
		return 0;
	nsys_rows_int(rows, NVTX_TID, &global);
	ev.thread = nsys_thread(im, global, err);
	if (!ev.thread)
		return -1;
	ev.kind = meaning.kind;
	ev.detail = meaning.number;
	snprintf(user, sizeof(user), "nvtx:%s", name);
	return put_span(im, &ev, ev.kind == REEL_SPAN_USER ? user : NULL, err);
}

static int read_ranges(struct nsys *im, struct reel_error *err)
{
	static const char *const columns[] = {"start", "end",	 "eventType",
					      "text",  "textId", "globalTid",
					      NULL};
	struct nsys_rows rows = {0};
	int more = nsys_rows_open(&rows, im->db, "NVTX_EVENTS",
				  "SELECT * FROM NVTX_EVENTS", columns, err);

	while (!more && (more = nsys_rows_next(&rows, err)) > 0)
		more = add_range(im, &rows, err);
	nsys_rows_close(&rows);
	return more;
}

/* --- the session ---------------------------------------------------------- */

/* The first row of a table, its integers in @value; -1 where it has none. */
static int read_numbers(struct nsys *im, const char *table, const char *sql,
			const char *const *columns, int64_t value[static 2],
			struct reel_error *err)
{
	struct nsys_rows rows = {0};
	int more = nsys_rows_open(&rows, im->db, table, sql, columns, err);

	value[0] = value[1] = -1;
	if (!more)
		more = nsys_rows_next(&rows, err);
	for (int c = 0; more > 0 && c < 2; c++)
		nsys_rows_int(&rows, c, &value[c]);
	nsys_rows_close(&rows);
	return more < 0 ? -1 : 0;
}

/* Times count from the start of the session, or are those of the system clock:
 * in that case the trace starts at its value, not near 0. */
static int read_session(struct nsys *im, struct reel_error *err)
{
	static const char *const start[] = {"utcEpochNs", "systemClockNs",
					    NULL};
	static const char *const trace[] = {"startTime", "stopTime", NULL};
	int64_t session[2], span[2];

	if (read_numbers(im, "TARGET_INFO_SESSION_START_TIME",
			 "SELECT * FROM TARGET_INFO_SESSION_START_TIME", start,
			 session, err) ||
	    read_numbers(im, "ANALYSIS_DETAILS",
			 "SELECT * FROM ANALYSIS_DETAILS", trace, span, err))
		return -1;
	im->base_ns = 0;
	if (session[0] < PROFILE_EPOCH_NS || session[0] > NSYS_TIME_NS_MOST)
		return 0;
	im->base_ns = session[0];
	if (span[0] > 0 && span[0] == session[1] && span[0] < PROFILE_EPOCH_NS)
		im->base_ns -= span[0];
	return 0;
}

/* Names of the processes that have rows already. */
static int read_processes(struct nsys *im, struct reel_error *err)
{
	static const char *const columns[] = {"globalPid", "name", NULL};
	struct nsys_rows rows = {0};
	int64_t global;
	int more = nsys_rows_open(&rows, im->db, "PROCESSES",
				  "SELECT * FROM PROCESSES", columns, err);

	while (!more && (more = nsys_rows_next(&rows, err)) > 0) {
		const char *name = nsys_rows_text(&rows, 1);
		struct reel_writer_process *p;
		uint32_t i;

		more = 0;
		if (!name || !nsys_rows_int(&rows, 0, &global))
			continue;
		i = reel_intmap_find(&im->by_pid, (uint64_t)global >> 24);
		if (i == REEL_NO_INDEX || !im->process[i])
			continue;
		p = gather_process_row(im->gather, im->process[i]);
		p->command = gather_keep(im->gather, name, err);
		more = p->command ? 0 : -1;
	}
	nsys_rows_close(&rows);
	return more;
}

/* --- files ---------------------------------------------------------------- */

static int read_tables(struct nsys *im, struct reel_error *err)
{
	if (read_session(im, err) || read_copy_kinds(im, err) ||
	    read_device(im, "CUPTI_ACTIVITY_KIND_KERNEL",
			"SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL",
			DEVICE_KERNELS, err) ||
	    read_device(im, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
			"SELECT * FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
			DEVICE_GRAPHS, err) ||
	    read_device(im, "CUPTI_ACTIVITY_KIND_MEMCPY",
			"SELECT * FROM CUPTI_ACTIVITY_KIND_MEMCPY",
			DEVICE_COPIES, err) ||
	    read_device(im, "CUPTI_ACTIVITY_KIND_MEMSET",
			"SELECT * FROM CUPTI_ACTIVITY_KIND_MEMSET", DEVICE_SETS,
			err))
		return -1;
	im->gpu_processes = gather_processes(im->gather);
	if (read_ranges(im, err) || nsys_read_calls(im, err))
		return -1;
	return read_processes(im, err);
}

static void forget_file(struct nsys *im)
{
	event_names_fini(&im->names);
	nsys_db_close(im->db);
	im->db = NULL;
	for (int i = 0; i < NSYS_COPY_KINDS; i++) {
		free(im->copy_kind[i]);
		im->copy_kind[i] = NULL;
	}
	free(im->process);
	im->process = NULL;
	im->process_room = 0;
	reel_intmap_fini(&im->by_correlation);
	im->by_correlation = (struct reel_intmap){0};
	free(im->launcher);
	im->launcher = NULL;
	im->launchers = im->launcher_room = 0;
	reel_intmap_fini(&im->by_pid);
	im->by_pid = (struct reel_intmap){0};
	im->events = 0;
}

static int read_file(struct nsys *im, const char *path, struct reel_error *err)
{
	int rc = nsys_db_open(&im->db, path, err);

	if (!rc)
		rc = read_tables(im, err);
	if (!rc && !im->events)
		rc = reel_fail(err, REEL_E_FORMAT,
			       "'%s' is an SQLite file without events of "
			       "Nsight Systems",
			       path);
	if (!rc)
		rc = event_names_write(&im->names, im->writer, im->source,
				       im->records + 1, -1, err);
	im->records += im->names.names;
	forget_file(im);
	return rc;
}

static int put_loss(struct nsys *im, const char *reason, const char *unit,
		    uint64_t count, struct reel_error *err)
{
	return count ? reel_writer_loss(im->writer, 0, reason, unit, count, err)
		     : 0;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct nsys im = {.writer = w, .start_ns = INT64_MAX};
	struct reel_writer_run run = import_run_unknown();
	char name[256];
	int rc = gather_new(&im.gather, w, err);

	if (!rc)
		gather_fetches_of_loop(im.gather);
	while (!rc && im.source < (uint32_t)in->paths) {
		const char *path = in->path[im.source++];

		rc = gather_source(im.gather, im.source, err) ||
		     read_file(&im, path, err);
	}
	if (!rc)
		rc = put_loss(&im, "not_understood", "events", im.bad, err) ||
		     put_loss(&im, "no_end", "events", im.unended, err) ||
		     put_loss(&im, "no_path", "calls", im.pathless, err) ||
		     put_loss(&im, "unknown call", "calls", im.unknown_calls,
			      err);
	if (!rc) {
		run.name = import_run_name(in->path[0], NULL, name);
		run.ranks = im.gpu_processes;
		run.lost = (int64_t)(im.bad + im.unended + im.pathless +
				     im.unknown_calls);
		if (im.start_ns >= PROFILE_EPOCH_NS && im.start_ns != INT64_MAX)
			run.start_real_ns = im.start_ns;
		rc = gather_finish(im.gather, &run, err);
	}
	gather_free(im.gather);
	return rc ? -1 : 0;
}

/* An SQLite file without an application id, which our stores have. The names of
 * its tables may be anywhere in it. */
static bool detect(const char *bytes, size_t n)
{
	static const char none[4];

	return n >= 100 && !memcmp(bytes, "SQLite format 3", 16) &&
	       !memcmp(bytes + 68, none, sizeof(none));
}

const struct reel_importer reel_importer_nsys = {
	.name = "nsys",
	.about = "SQLite exports of Nsight Systems (nsys export --type sqlite)",
	.missing = {"calls and bytes (but of --osrt-file-access)", "offsets",
		    "descriptors", "sizes asked for", "rank numbers",
		    "calls of less than 1 us", NULL},
	.detect = detect,
	.confirm = nsys_db_is_export,
	.load = load,
};
