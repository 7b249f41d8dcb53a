/* SPDX-License-Identifier: MIT */
/*
 * Calls in an export of Nsight Systems. Accesses to files have a path and a
 * size, and become events; calls without them are counted by name.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/import/common/profile.h"
#include "analyzer/import/profile/nsys.h"

bool nsys_interval(struct nsys *im, const struct nsys_rows *rows,
		   int64_t *start_ns, int64_t *dur_ns)
{
	int64_t end_ns;

	if (!nsys_rows_int(rows, 0, start_ns) ||
	    !nsys_rows_int(rows, 1, &end_ns) || *start_ns < 0 ||
	    end_ns < *start_ns || end_ns > NSYS_TIME_NS_MOST) {
		im->bad++;
		return false;
	}
	*dur_ns = end_ns - *start_ns;
	if (*start_ns < PROFILE_EPOCH_NS)
		*start_ns += im->base_ns;
	return true;
}

int64_t nsys_pid(int64_t global)
{
	return global >> 24 & 0xffffff;
}

uint32_t nsys_process(struct nsys *im, int64_t global, struct reel_error *err)
{
	uint64_t pid = (uint64_t)global >> 24;
	uint32_t i = reel_intmap_get(&im->by_pid, pid, err), process;

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&im->process, &im->process_room, i,
			     sizeof(*im->process), err))
		return 0;
	if (im->process[i])
		return im->process[i];
	/* Files of one job may be of different hosts. */
	process = gather_process(im->gather, pid ^ (uint64_t)im->source << 48,
				 err);
	if (process)
		gather_process_row(im->gather, process)->pid = nsys_pid(global);
	im->process[i] = process;
	return process;
}

uint32_t nsys_thread(struct nsys *im, int64_t global, struct reel_error *err)
{
	uint32_t process = nsys_process(im, global, err);

	return process ? gather_thread(im->gather, process, global & 0xffffff,
				       err)
		       : 0;
}

uint32_t nsys_count(struct nsys *im, const char *category, const char *name,
		    int64_t dur_ns, struct reel_error *err)
{
	uint32_t i = event_names_index(&im->names, category, name, strlen(name),
				       err);

	if (i != REEL_NO_INDEX)
		event_names_add(&im->names, i, 1, dur_ns);
	im->events++;
	return i;
}

/* --- calls ---------------------------------------------------------------- */

/* The call @name of POSIX or STDIO; 0: none. "pread64" is pread. */
static uint16_t call_of(const char *name)
{
	size_t n = strlen(name);

	if (n > 2 && !strcmp(name + n - 2, "64"))
		n -= 2;
	for (unsigned int i = 1; i < REEL_CALL_MAX; i++) {
		const struct reel_call_info *info = reel_call_info(i);

		if (info && strlen(info->name) == n &&
		    !memcmp(info->name, name, n) &&
		    (info->layer == REEL_LAYER_POSIX ||
		     info->layer == REEL_LAYER_STDIO))
			return (uint16_t)i;
	}
	return 0;
}

/* Calls that are counted by name only. @pathless: count those on files as
 * lost. */
static int read_calls(struct nsys *im, const char *table, const char *sql,
		      bool pathless, struct reel_error *err)
{
	static const char *const columns[] = {"start", "end", "nameId", NULL};
	struct nsys_rows rows = {0};
	int more = nsys_rows_open(&rows, im->db, table, sql, columns, err);
	int64_t start_ns, dur_ns, id;

	while (!more && (more = nsys_rows_next(&rows, err)) > 0) {
		const char *name = NULL;

		more = 0;
		if (!nsys_interval(im, &rows, &start_ns, &dur_ns))
			continue;
		if (nsys_rows_int(&rows, 2, &id))
			name = nsys_db_string(im->db, id);
		if (pathless && name && call_of(name))
			im->pathless++;
		if (nsys_count(im, table, name ? name : "unnamed", dur_ns,
			       err) == REEL_NO_INDEX)
			more = -1;
	}
	nsys_rows_close(&rows);
	return more;
}

/* --- launches ------------------------------------------------------------- */

static int add_launch(struct nsys *im, int64_t correlation, int64_t global,
		      struct reel_error *err)
{
	uint32_t i = reel_intmap_get(&im->by_correlation, (uint64_t)correlation,
				     err);
	int64_t process = global & ~0xffffffll;

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&im->launcher, &im->launcher_room, i,
			     sizeof(*im->launcher), err))
		return -1;
	if (i == im->launchers) {
		im->launchers++;
		im->launcher[i] = process;
	} else if (im->launcher[i] != process) {
		im->launcher[i] = NSYS_LAUNCHERS; /* each process counts */
	}
	return 0;
}

int nsys_read_launches(struct nsys *im, struct reel_error *err)
{
	static const char *const columns[] = {"correlationId", "globalTid",
					      NULL};
	struct nsys_rows rows = {0};
	int64_t correlation, global;
	int more =
		im->launchers
			? 0
			: nsys_rows_open(
				  &rows, im->db, "CUPTI_ACTIVITY_KIND_RUNTIME",
				  "SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME",
				  columns, err);

	while (!more && (more = nsys_rows_next(&rows, err)) > 0)
		more = nsys_rows_int(&rows, 0, &correlation) &&
				       nsys_rows_int(&rows, 1, &global)
			       ? add_launch(im, correlation, global, err)
			       : 0;
	nsys_rows_close(&rows);
	return more;
}

int64_t nsys_launcher(const struct nsys *im, int64_t correlation)
{
	uint32_t i =
		reel_intmap_find(&im->by_correlation, (uint64_t)correlation);

	return i == REEL_NO_INDEX || im->launcher[i] == NSYS_LAUNCHERS
		       ? 0
		       : im->launcher[i];
}

/* --- accesses to files ---------------------------------------------------- */

struct access_file {
	uint32_t file;	 /* id of the gather */
	int64_t process; /* as the table has it */
};

struct access_files {
	struct reel_intmap by_id;
	struct access_file *at;
	uint32_t n, room;
};

static int read_descriptors(struct nsys *im, struct access_files *files,
			    struct reel_error *err)
{
	static const char *const columns[] = {"fileAccessId", "processId",
					      "filePath", NULL};
	struct nsys_rows rows = {0};
	int more = nsys_rows_open(&rows, im->db, "OSRT_FILE_ACCESS_DESCRIPTORS",
				  "SELECT * FROM OSRT_FILE_ACCESS_DESCRIPTORS",
				  columns, err);
	int64_t id;

	while (!more && (more = nsys_rows_next(&rows, err)) > 0) {
		const char *path = nsys_rows_text(&rows, 2);
		struct access_file *f;
		uint32_t i;

		more = 0;
		if (!path || !nsys_rows_int(&rows, 0, &id))
			continue;
		i = reel_intmap_get(&files->by_id, (uint64_t)id, err);
		more = i == REEL_NO_INDEX || reel_array_reach(&files->at,
							      &files->room, i,
							      sizeof(*f), err)
			       ? -1
			       : 0;
		if (more || i < files->n)
			continue;
		files->n++;
		f = &files->at[i];
		nsys_rows_int(&rows, 1, &f->process);
		f->file = gather_file(im->gather, path, strlen(path),
				      REEL_KIND_FILE, err);
		more = f->file ? 0 : -1;
	}
	nsys_rows_close(&rows);
	return more;
}

enum access_column {
	ACCESS_START,
	ACCESS_END,
	ACCESS_FILE,
	ACCESS_THREAD,
	ACCESS_CALL,
	ACCESS_BYTES,
};

/* Ids of processes and threads as plain numbers, or serialized. */
static int64_t global_of(int64_t process, int64_t thread)
{
	if (thread > 0xffffff)
		return thread;
	process = process > 0xffffff ? process & ~0xffffffll : process << 24;
	return process | (thread & 0xffffff);
}

static int add_access(struct nsys *im, const struct nsys_rows *rows,
		      const struct access_files *files, struct reel_error *err)
{
	struct reel_event ev = {.fd = -1,
				.fd2 = -1,
				.offset = REEL_NO_OFFSET,
				.asked = REEL_NO_SIZE,
				.pos = REEL_NO_OFFSET};
	const struct reel_call_info *info;
	const struct access_file *f = NULL;
	const char *name = NULL;
	int64_t id, thread = 0, bytes = 0;

	if (!nsys_interval(im, rows, &ev.start_ns, &ev.dur_ns))
		return 0;
	im->events++;
	if (nsys_rows_int(rows, ACCESS_FILE, &id)) {
		uint32_t i = reel_intmap_find(&files->by_id, (uint64_t)id);

		f = i == REEL_NO_INDEX ? NULL : &files->at[i];
	}
	if (nsys_rows_int(rows, ACCESS_CALL, &id))
		name = nsys_db_string(im->db, id);
	ev.call = name ? call_of(name) : 0;
	if (!ev.call || !f) {
		im->unknown_calls++;
		return 0;
	}
	info = reel_call_info(ev.call);
	if ((info->group == REEL_GROUP_READ ||
	     info->group == REEL_GROUP_WRITE) &&
	    nsys_rows_int(rows, ACCESS_BYTES, &bytes)) {
		/* The size that was asked for is not in the profile. */
		ev.result = bytes;
		ev.asked = bytes < 0 ? 0 : bytes;
	}
	nsys_rows_int(rows, ACCESS_THREAD, &thread);
	ev.thread = nsys_thread(im, global_of(f->process, thread), err);
	ev.file = f->file;
	if (!ev.thread)
		return -1;
	if (ev.start_ns < im->start_ns)
		im->start_ns = ev.start_ns;
	return gather_event(im->gather, &ev, err);
}

static int read_accesses(struct nsys *im, bool *any, struct reel_error *err)
{
	static const char *const columns[] = {
		"startedAt", "endedAt",	  "fileAccessId",
		"threadId",  "apiCallId", "bytesProcessed",
		NULL};
	struct access_files files = {0};
	struct nsys_rows rows = {0};
	int more = read_descriptors(im, &files, err);

	if (!more)
		more = nsys_rows_open(&rows, im->db, "OSRT_FILE_ACCESS_EVENTS",
				      "SELECT * FROM OSRT_FILE_ACCESS_EVENTS",
				      columns, err);
	*any = rows.statement;
	while (!more && (more = nsys_rows_next(&rows, err)) > 0)
		more = add_access(im, &rows, &files, err);
	nsys_rows_close(&rows);
	reel_intmap_fini(&files.by_id);
	free(files.at);
	return more;
}

int nsys_read_calls(struct nsys *im, struct reel_error *err)
{
	bool accesses = false;

	if (read_accesses(im, &accesses, err) ||
	    read_calls(im, "CUPTI_ACTIVITY_KIND_RUNTIME",
		       "SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME", false, err))
		return -1;
	return read_calls(im, "OSRT_API", "SELECT * FROM OSRT_API", !accesses,
			  err);
}
