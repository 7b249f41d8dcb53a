/* SPDX-License-Identifier: MIT */
/*
 * The names of the ids in events.
 *
 * Paths are copied at their first use. A store may have any number of them, so
 * that beyond a limit they are decoded at each use.
 */
#include "lib/store/event_names.h"

#include <stdlib.h>
#include <string.h>

#include "lib/intmap.h"
#include "lib/store/file_class.h"
#include "lib/store/vtab_rows.h"

#define TEXT_CHUNK (64 << 10)
#define TEXT_LIMIT ((size_t)256 << 20)
#define WHY_MEMORY "out of memory"

struct chunk {
	struct chunk *next;
	size_t used, room;
	char text[];
};

struct reel_event_names {
	struct chunk *chunk;
	size_t text_bytes;
	struct reel_event_thread *thread;
	struct reel_event_call *call;
	size_t threads, calls, thread_room, call_room;
	uint16_t call_at[REEL_EVENT_CALLS]; /* index in call, + 1 */
	/* 1: a read or write, whose result is bytes; one byte a call, as each
	 * row of a sum of bytes reads one */
	uint8_t moves[REEL_EVENT_CALLS + 1];
	struct reel_row_cursor *files;
	struct reel_intmap map; /* file_id -> file */
	struct reel_event_file *file;
	size_t file_room;
};

/* Copy @len bytes, to stay. NULL: no memory, or the limit is reached. */
static const char *keep_text(struct reel_event_names *n, const char *text,
			     size_t len)
{
	struct chunk *c = n->chunk;
	char *out;

	if (n->text_bytes + len > TEXT_LIMIT)
		return NULL;
	if (!c || c->room - c->used < len + 1) {
		size_t room = len + 1 > TEXT_CHUNK ? len + 1 : TEXT_CHUNK;

		c = malloc(sizeof(*c) + room);
		if (!c)
			return NULL;
		*c = (struct chunk){.next = n->chunk, .room = room};
		n->chunk = c;
		n->text_bytes += room;
	}
	out = c->text + c->used;
	if (len)
		memcpy(out, text, len);
	out[len] = 0;
	c->used += len + 1;
	return out;
}

static int column_name(struct reel_event_names *n, sqlite3_stmt *stmt, int i,
		       struct reel_name *out)
{
	const void *text = sqlite3_column_text(stmt, i);

	*out = (struct reel_name){0};
	if (!text)
		return 0;
	out->len = sqlite3_column_bytes(stmt, i);
	out->text = keep_text(n, text, (size_t)out->len);
	return out->text ? 0 : -1;
}

/* Make room for one more in @array. NULL: no memory. */
static void *one_more(void *array, size_t used, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *p;

	if (used < *room)
		return array;
	p = realloc(array, more * size);
	if (p)
		*room = more;
	return p;
}

static int add_thread(struct reel_event_names *n, sqlite3_stmt *stmt)
{
	void *p = one_more(n->thread, n->threads, &n->thread_room,
			   sizeof(*n->thread));

	if (!p)
		return -1;
	n->thread = p;
	n->thread[n->threads++] = (struct reel_event_thread){
		.thread = sqlite3_column_int64(stmt, 0),
		.tid = sqlite3_column_int64(stmt, 1),
		.process = sqlite3_column_int64(stmt, 2),
		.pid = sqlite3_column_int64(stmt, 3),
	};
	return 0;
}

static int add_call(struct reel_event_names *n, sqlite3_stmt *stmt)
{
	int64_t id = sqlite3_column_int64(stmt, 0);
	struct reel_event_call c = {.call = id};
	void *p;

	if (id < 0 || id >= REEL_EVENT_CALLS || n->call_at[id] ||
	    n->calls == UINT16_MAX)
		return 0;
	p = one_more(n->call, n->calls, &n->call_room, sizeof(*n->call));
	if (!p)
		return -1;
	n->call = p;
	if (column_name(n, stmt, 1, &c.name) ||
	    column_name(n, stmt, 2, &c.layer) ||
	    column_name(n, stmt, 3, &c.group))
		return -1;
	n->moves[id] = c.group.text && (!strcmp(c.group.text, "read") ||
					!strcmp(c.group.text, "write"));
	n->call[n->calls++] = c;
	n->call_at[id] = (uint16_t)n->calls;
	return 0;
}

static int read_rows(struct reel_event_names *n, sqlite3 *db, const char *sql,
		     int (*add)(struct reel_event_names *, sqlite3_stmt *),
		     const char **why)
{
	sqlite3_stmt *stmt = NULL;
	int rc = 0, step = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (step == SQLITE_OK)
		while (!rc && (step = sqlite3_step(stmt)) == SQLITE_ROW)
			rc = add(n, stmt);
	sqlite3_finalize(stmt);
	*why = rc ? WHY_MEMORY : sqlite3_errmsg(db);
	return step == SQLITE_DONE ? 0 : -1;
}

struct reel_event_names *reel_event_names_new(struct sqlite3 *db,
					      const char **why)
{
	static const char threads[] =
		"SELECT t.thread_id, t.tid, t.process_id, p.pid "
		"FROM main.thread t LEFT JOIN main.process p USING (process_id)"
		" ORDER BY t.thread_id";
	static const char calls[] =
		"SELECT call_id, name, layer, call_group FROM main.call "
		"ORDER BY call_id";
	struct reel_event_names *n = calloc(1, sizeof(*n));

	*why = WHY_MEMORY;
	if (!n || read_rows(n, db, threads, add_thread, why) ||
	    read_rows(n, db, calls, add_call, why) ||
	    reel_row_cursor_open(&n->files, db, &reel_row_table_file, why)) {
		reel_event_names_free(n);
		return NULL;
	}
	return n;
}

void reel_event_names_free(void *names)
{
	struct reel_event_names *n = names;

	if (!n)
		return;
	while (n->chunk) {
		struct chunk *next = n->chunk->next;

		free(n->chunk);
		n->chunk = next;
	}
	reel_row_cursor_close(n->files);
	reel_intmap_fini(&n->map);
	free(n->thread);
	free(n->call);
	free(n->file);
	free(n);
}

const struct reel_event_thread *
reel_event_names_threads(const struct reel_event_names *n, size_t *count)
{
	*count = n->threads;
	return n->thread;
}

const struct reel_event_call *
reel_event_names_calls(const struct reel_event_names *n, size_t *count)
{
	*count = n->calls;
	return n->call;
}

const struct reel_event_thread *
reel_event_names_thread(const struct reel_event_names *n, int64_t id)
{
	size_t lo = 0, hi = n->threads;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (n->thread[mid].thread < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n->threads && n->thread[lo].thread == id ? &n->thread[lo]
							     : NULL;
}

const struct reel_event_call *
reel_event_names_call(const struct reel_event_names *n, int64_t id)
{
	if (id < 0 || id >= REEL_EVENT_CALLS || !n->call_at[id])
		return NULL;
	return &n->call[n->call_at[id] - 1];
}

const uint8_t *reel_event_names_moves(const struct reel_event_names *n)
{
	return n->moves;
}

/* The file in the current row of n->files. */
static int file_of_row(struct reel_event_names *n, struct reel_event_file *out,
		       const char **why)
{
	struct reel_row_cursor *c = n->files;
	const struct reel_rows *r = &c->on->rows;
	uint64_t kind = r->v[REEL_FILE_KIND][c->at];
	uint64_t class_ = r->v[REEL_FILE_CLASS][c->at];

	if (reel_rows_text(r, c->at, &c->text, why))
		return -1;
	c->text.text[c->text.len] = 0; /* there is room for one byte more */
	*out = (struct reel_event_file){
		.path = {c->text.text, (int)c->text.len},
		.kind = reel_kind_name(kind > UINT8_MAX ? UINT8_MAX
							: (enum reel_kind)kind),
		.class_ = reel_class_name(class_ > UINT8_MAX
						  ? UINT8_MAX
						  : (enum reel_class)class_),
		.passing = true,
	};
	return 0;
}

#define FILE_MASK ((1u << REEL_FILE_COLUMNS) - 1)

/* Keep @f as the file @id, unless the limit of texts is reached. */
static int keep_file(struct reel_event_names *n, int64_t id,
		     struct reel_event_file *f, const char **why)
{
	const char *path = f->path.text;
	uint32_t at;
	void *p;

	if (path) {
		path = keep_text(n, path, (size_t)f->path.len);
		if (!path)
			return 0;
	}
	*why = WHY_MEMORY;
	p = one_more(n->file, n->map.used, &n->file_room, sizeof(*n->file));
	if (!p)
		return -1;
	n->file = p;
	at = reel_intmap_insert(&n->map, (uint64_t)id, NULL);
	if (at == REEL_NO_INDEX)
		return -1;
	f->path.text = path;
	f->passing = false;
	n->file[at] = *f;
	return 0;
}

int reel_event_names_file(struct reel_event_names *n, int64_t id,
			  struct reel_event_file *out, const char **why)
{
	uint32_t at = reel_intmap_find(&n->map, (uint64_t)id);

	if (at != REEL_NO_INDEX) {
		*out = n->file[at];
		return 0;
	}
	*out = (struct reel_event_file){0};
	if (id < 1 || id > UINT32_MAX)
		return 0;
	if (reel_row_cursor_start(n->files, FILE_MASK, id, why))
		return -1;
	if (n->files->end)
		return 0;
	if (file_of_row(n, out, why))
		return -1;
	return keep_file(n, id, out, why);
}

int reel_event_names_each_file(struct reel_event_names *n,
			       int (*each)(void *arg, int64_t id,
					   const struct reel_event_file *file),
			       void *arg, const char **why)
{
	struct reel_row_cursor *c = n->files;
	int rc = reel_row_cursor_start(c, FILE_MASK, 0, why);

	while (!rc && !c->end) {
		struct reel_event_file f;

		rc = file_of_row(n, &f, why);
		if (!rc && each(arg, c->on->id[c->at], &f)) {
			*why = WHY_MEMORY;
			rc = -1;
		}
		if (!rc)
			rc = reel_row_cursor_next(c, why);
	}
	return rc;
}
