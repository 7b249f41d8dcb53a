/* SPDX-License-Identifier: MIT */
/*
 * One cursor over all events and spans of a run: a merge of the events of the
 * store (reel_events_next()) with its spans, by end. Of records that end at the
 * same time the one that starts later comes first, as it is nested in the other.
 */
#include "analyzer/export/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/store/call_table.h"
#include "lib/store/store.h"

struct file {
	int64_t file_id;
	size_t at; /* of its path in paths */
};

struct export_cursor {
	struct reel_store *st;
	int64_t from_ns, to_ns;
	struct export_process *process;
	struct export_thread *thread;
	struct file *file; /* by file_id */
	int64_t processes, threads, files;
	struct reel_buf paths; /* each with its NUL */
	struct reel_events *events;
	struct reel_call_table *calls;
	sqlite3_stmt *spans;
	struct export_record event, span; /* next of each */
	bool has_event, has_span;
	bool given_event, given_span; /* by the last call */
};

static int db_fail(const struct export_cursor *c, struct reel_error *err)
{
	return reel_fail(err, REEL_E_DB, "cannot read '%s': %s", c->st->path,
			 sqlite3_errmsg(c->st->db));
}

/* Grow @items, of @bytes each, to hold one more than @n. */
static int grow(void *items, int64_t n, size_t bytes, struct reel_error *err)
{
	if (n & (n - 1))
		return 0; /* room is a power of two */
	return reel_grow(items, (size_t)(n ? 2 * n : 1), bytes, err);
}

typedef int row_fn(struct export_cursor *c, sqlite3_stmt *q,
		   struct reel_error *err);

static int each_row(struct export_cursor *c, const char *sql, row_fn *fn,
		    struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int step = SQLITE_DONE, rc = reel_store_prepare(c->st, &q, sql, err);

	while (!rc && (step = sqlite3_step(q)) == SQLITE_ROW)
		rc = fn(c, q, err);
	if (!rc && step != SQLITE_DONE)
		rc = db_fail(c, err);
	sqlite3_finalize(q);
	return rc;
}

static int add_file(struct export_cursor *c, sqlite3_stmt *q,
		    struct reel_error *err)
{
	const char *text = (const char *)sqlite3_column_text(q, 1);
	struct file *f;

	if (grow(&c->file, c->files, sizeof(*f), err))
		return -1;
	f = &c->file[c->files++];
	*f = (struct file){sqlite3_column_int64(q, 0), c->paths.len};
	return reel_buf_add(&c->paths, text ? text : "",
			    text ? strlen(text) + 1 : 1, err);
}

static char *copy_text(sqlite3_stmt *q, int column, struct reel_error *err)
{
	const char *text = (const char *)sqlite3_column_text(q, column);

	return reel_strdup(text ? text : "", err);
}

static int add_process(struct export_cursor *c, sqlite3_stmt *q,
		       struct reel_error *err)
{
	struct export_process *p;

	if (grow(&c->process, c->processes, sizeof(*p), err))
		return -1;
	p = &c->process[c->processes++];
	*p = (struct export_process){
		.process_id = sqlite3_column_int64(q, 0),
		.pid = sqlite3_column_int64(q, 1),
		.rank = sqlite3_column_type(q, 2) == SQLITE_NULL
				? -1
				: sqlite3_column_int64(q, 2),
		.command = copy_text(q, 3, err),
		.host = copy_text(q, 4, err),
		.parent_id = sqlite3_column_int64(q, 5),
		.parent_pid = sqlite3_column_int64(q, 6),
	};
	return p->command && p->host ? 0 : -1;
}

static int process_order(const void *id, const void *p)
{
	int64_t a = *(const int64_t *)id;
	int64_t b = ((const struct export_process *)p)->process_id;

	return a < b ? -1 : a > b;
}

static int add_thread(struct export_cursor *c, sqlite3_stmt *q,
		      struct reel_error *err)
{
	int64_t process = sqlite3_column_int64(q, 2);
	struct export_thread *t;

	if (grow(&c->thread, c->threads, sizeof(*t), err))
		return -1;
	t = &c->thread[c->threads];
	*t = (struct export_thread){
		.thread_id = sqlite3_column_int64(q, 0),
		.tid = sqlite3_column_int64(q, 1),
		.process = bsearch(&process, c->process, (size_t)c->processes,
				   sizeof(*c->process), process_order),
	};
	c->threads += t->process != NULL;
	return 0;
}

static int read_dimensions(struct export_cursor *c, struct reel_error *err)
{
	if (each_row(c, "SELECT file_id, path FROM file ORDER BY file_id",
		     add_file, err) ||
	    each_row(c,
		     "SELECT p.process_id, p.pid, p.rank, p.command, h.name, "
		     "u.process_id, u.pid "
		     "FROM process p LEFT JOIN host h USING (host_id) "
		     "LEFT JOIN process u ON u.process_id = p.parent_id "
		     "ORDER BY p.process_id",
		     add_process, err))
		return -1;
	return each_row(c,
			"SELECT thread_id, tid, process_id FROM thread "
			"ORDER BY thread_id",
			add_thread, err);
}

static int thread_order(const void *id, const void *t)
{
	int64_t a = *(const int64_t *)id;
	int64_t b = ((const struct export_thread *)t)->thread_id;

	return a < b ? -1 : a > b;
}

static const struct export_thread *find_thread(const struct export_cursor *c,
					       int64_t id)
{
	if (id > 0 && id <= c->threads && c->thread[id - 1].thread_id == id)
		return &c->thread[id - 1];
	if (!c->threads)
		return NULL;
	return bsearch(&id, c->thread, (size_t)c->threads, sizeof(*c->thread),
		       thread_order);
}

static int file_order(const void *id, const void *f)
{
	int64_t a = *(const int64_t *)id, b = ((const struct file *)f)->file_id;

	return a < b ? -1 : a > b;
}

static const char *find_path(const struct export_cursor *c, int64_t id)
{
	const struct file *f;

	if (id <= 0 || !c->files)
		return NULL;
	if (id <= c->files && c->file[id - 1].file_id == id)
		f = &c->file[id - 1];
	else
		f = bsearch(&id, c->file, (size_t)c->files, sizeof(*c->file),
			    file_order);
	return f ? c->paths.data + f->at : NULL;
}

static bool overlaps(const struct export_cursor *c,
		     const struct export_record *r)
{
	return r->start_ns < c->to_ns && r->start_ns + r->dur_ns >= c->from_ns;
}

static int next_event(struct export_cursor *c, struct reel_error *err)
{
	struct export_record *r = &c->event;
	const struct reel_call_info *info;
	int rc;

	while ((rc = reel_events_next(c->events, &r->event, err)) == 1) {
		r->start_ns = r->event.start_ns;
		r->dur_ns = r->event.dur_ns;
		if (!overlaps(c, r))
			continue;
		info = reel_call_table_info(c->calls, r->event.call);
		r->thread = find_thread(c, r->event.thread);
		if (!info || !info->name || !r->thread)
			continue; /* v_event has no such row either */
		r->call = info->name;
		r->path = find_path(c, r->event.file);
		r->path2 = find_path(c, r->event.file2);
		break;
	}
	c->has_event = rc == 1;
	return rc < 0 ? -1 : 0;
}

static int next_span(struct export_cursor *c, struct reel_error *err)
{
	struct export_record *r = &c->span;
	int step;

	while ((step = sqlite3_step(c->spans)) == SQLITE_ROW) {
		const char *name =
			(const char *)sqlite3_column_text(c->spans, 4);

		r->is_span = true;
		r->span_id = sqlite3_column_int64(c->spans, 0);
		r->start_ns = sqlite3_column_int64(c->spans, 1);
		r->dur_ns = sqlite3_column_int64(c->spans, 2);
		r->thread = find_thread(c, sqlite3_column_int64(c->spans, 3));
		r->name = name ? name : "";
		r->detail = sqlite3_column_type(c->spans, 5) == SQLITE_NULL
				    ? -1
				    : sqlite3_column_int64(c->spans, 5);
		r->closed = sqlite3_column_int(c->spans, 6);
		if (r->thread && overlaps(c, r))
			break;
	}
	c->has_span = step == SQLITE_ROW;
	return step == SQLITE_ROW || step == SQLITE_DONE ? 0 : db_fail(c, err);
}

int export_cursor_open(struct export_cursor **out, struct reel_store *st,
		       int64_t from_ns, int64_t to_ns, struct reel_error *err)
{
	struct export_cursor *c = reel_alloc(1, sizeof(*c), err);

	if (!c)
		return -1;
	c->st = st;
	c->from_ns = from_ns;
	c->to_ns = to_ns;
	c->calls = reel_call_table_read(st, err);
	if (!c->calls || read_dimensions(c, err) ||
	    reel_events_open(&c->events, st, 0, err) ||
	    reel_store_prepare(st, &c->spans,
			       "SELECT span_id, start_ns, dur_ns, thread_id, "
			       "name, detail, closed FROM span "
			       "ORDER BY start_ns + dur_ns, start_ns DESC",
			       err) ||
	    next_event(c, err) || next_span(c, err)) {
		export_cursor_close(c);
		return -1;
	}
	*out = c;
	return 0;
}

static bool span_is_next(const struct export_cursor *c)
{
	int64_t event_end = c->event.start_ns + c->event.dur_ns;
	int64_t span_end = c->span.start_ns + c->span.dur_ns;

	if (!c->has_event || !c->has_span)
		return c->has_span;
	if (event_end != span_end)
		return span_end < event_end;
	return c->span.start_ns > c->event.start_ns;
}

/* The record that was given is replaced by its next one in the following call,
 * as a span's name is borrowed from SQLite. */
int export_cursor_next(struct export_cursor *c, struct export_record *rec,
		       struct reel_error *err)
{
	if (c->given_span    ? next_span(c, err)
	    : c->given_event ? next_event(c, err)
			     : 0)
		return -1;
	c->given_span = c->given_event = false;
	if (!c->has_event && !c->has_span)
		return 0;
	c->given_span = span_is_next(c);
	c->given_event = !c->given_span;
	*rec = c->given_span ? c->span : c->event;
	return 1;
}

void export_cursor_close(struct export_cursor *c)
{
	if (!c)
		return;
	reel_events_close(c->events);
	reel_call_table_free(c->calls);
	sqlite3_finalize(c->spans);
	reel_buf_fini(&c->paths);
	for (int64_t i = 0; i < c->processes; i++) {
		free(c->process[i].command);
		free(c->process[i].host);
	}
	free(c->process);
	free(c->thread);
	free(c->file);
	free(c);
}

int64_t export_processes(const struct export_cursor *c,
			 const struct export_process **out)
{
	*out = c->process;
	return c->processes;
}

int64_t export_threads(const struct export_cursor *c,
		       const struct export_thread **out)
{
	*out = c->thread;
	return c->threads;
}
