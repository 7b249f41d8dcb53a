/* SPDX-License-Identifier: MIT */
/*
 * The counts in the final lines of "ioreel record". They are read from a store
 * without events, loaded from the trace, so they agree with every report.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/trace/reader.h"

#include "analyzer/load/launcher.h"
#include "analyzer/load/load.h"
#include "cmd/record_summary.h"
#include "record/record.h"

/* A larger trace would take more than a few seconds. */
#define COUNT_MOST (600ull << 20)

/* The state of each hook. If several processes noted a hook, a state other than
 * "on" wins. Such hooks come first, as the list is limited. */
static const char hooks_sql[] =
	"SELECT substr(key, 6), coalesce(min(value) FILTER "
	"(WHERE value <> 'on'), 'on') AS state FROM note "
	"WHERE key GLOB 'hook:?*' AND length(CAST(key AS BLOB)) <= 68 "
	"GROUP BY key ORDER BY state = 'on', min(rowid)";

static int read_hooks(struct reel_store *st, struct record_hooks *h,
		      struct reel_error *err)
{
	sqlite3_stmt *q = NULL;

	if (reel_store_prepare(st, &q, hooks_sql, err))
		return -1;
	while (h->n < RECORD_HOOKS && sqlite3_step(q) == SQLITE_ROW) {
		snprintf(h->hook[h->n].name, sizeof(h->hook[0].name), "%s",
			 (const char *)sqlite3_column_text(q, 0));
		snprintf(h->hook[h->n++].state, sizeof(h->hook[0].state), "%s",
			 (const char *)sqlite3_column_text(q, 1));
	}
	sqlite3_finalize(q);
	return 0;
}

static int read_counts(struct reel_store *st, struct record_summary *s,
		       struct reel_error *err)
{
	uint64_t *const column[] = {&s->events,
				    &s->calls,
				    &s->files,
				    &s->read_bytes,
				    &s->write_bytes,
				    &s->launcher_files,
				    &s->mapped_read_bytes,
				    &s->mapped_write_bytes};
	const int columns = sizeof(column) / sizeof(column[0]);
	sqlite3_stmt *q = NULL;

	if (reel_store_prepare(st, &q,
			       "SELECT events, calls, files, read_bytes, "
			       "write_bytes, (SELECT coalesce(sum(files), 0) "
			       "FROM launcher_io), (SELECT sum(bytes) FROM "
			       "v_call WHERE call = 'map_read'), (SELECT "
			       "sum(bytes) FROM v_call WHERE call = "
			       "'map_write') FROM v_summary",
			       err))
		return -1;
	s->walked = sqlite3_step(q) == SQLITE_ROW;
	for (int i = 0; s->walked && i < columns; i++)
		*column[i] = (uint64_t)sqlite3_column_int64(q, i);
	sqlite3_finalize(q);
	return 0;
}

static int count_records(const struct reel_trace *tr, const char *dir,
			 struct record_summary *s, struct reel_error *err)
{
	const struct reel_load_options counts = {.counts_only = true};
	struct reel_store *st = NULL;
	uint64_t bytes = 0;
	int rc = -1;

	for (int i = 0; i < reel_trace_threads(tr); i++)
		bytes += reel_trace_thread(tr, i)->bytes;
	if (bytes > COUNT_MOST)
		return 0;
	if (!reel_store_temporary(&st, dir, err) &&
	    reel_load(st, dir, &counts, err) >= 0 &&
	    !reel_store_finish(st, err) && !read_counts(st, s, err))
		rc = read_hooks(st, &s->hooks, err);
	reel_store_close(st);
	return rc;
}

static void add_counters(const struct reel_trace *tr, struct record_summary *s)
{
	const struct reel_counts *c = reel_trace_counts(tr);
	int i, k;

	s->processes = reel_trace_processes(tr);
	for (k = 0; k < REEL_COUNTERS; k++) {
		s->lost[k] = c->counter[k];
		for (i = 0; i < s->processes; i++)
			s->lost[k] +=
				reel_trace_process(tr, i)->head.counter[k];
	}
	s->cut_bytes = reel_trace_damage(tr)->cut_bytes;
	s->bad_files = reel_trace_damage(tr)->bad_files;
}

/* Count the processes of launchers separately from the job's. */
static void count_launchers(const char **launcher, struct record_summary *s)
{
	int i, n = s->processes;

	for (i = 0; i < n; i++) {
		if (!launcher[i])
			continue;
		s->processes--;
		s->launcher_processes++;
		if (s->launcher && s->launcher != launcher[i])
			s->launchers = true;
		else
			s->launcher = launcher[i];
	}
}

/* Bytes of the files in @dir, without the windows of living processes. */
static uint64_t directory_bytes(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint64_t sum = 0;
	struct stat st;

	while (d && (e = readdir(d)))
		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	if (d)
		closedir(d);
	return sum;
}

int record_summarize(const char *dir, bool records, struct record_summary *s,
		     struct reel_error *err)
{
	struct reel_trace *tr = NULL;
	const char **launcher;
	int rc = -1;

	memset(s, 0, sizeof(*s));
	if (reel_trace_open(&tr, dir, err))
		return -1;
	add_counters(tr, s);
	s->trace_bytes = directory_bytes(dir);
	launcher = reel_launchers(tr, err);
	if (launcher) {
		count_launchers(launcher, s);
		s->walked = records && !reel_trace_processes(tr);
		rc = records && !s->walked ? count_records(tr, dir, s, err) : 0;
	}
	free(launcher);
	reel_trace_close(tr);
	return rc;
}
