/* SPDX-License-Identifier: MIT */
/*
 * Reads the dimensions of a store into arrays.
 *
 * Ids in a store are small and dense. A damaged store may have any: an id above
 * twice the number of rows is refused before memory is allocated for it.
 */
#include "replay/model/recorded_job.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/hash.h"

#include "lib/error.h"
#include "lib/path.h"
#include "lib/store/file_class.h"
#include "lib/store/store.h"

static int bad_ids(struct reel_error *err, const char *table)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "cannot replay: the ids of table '%s' are not dense",
			 table);
}

/*
 * Room for the rows of a table: *n becomes 1 + the largest id of @max_sql, a
 * query of the largest id and the number of rows.
 */
static int alloc_rows(struct reel_store *st, const char *max_sql,
		      const char *table, size_t bytes, void *out, uint32_t *n,
		      struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int64_t most = 0, rows = 0;
	void *p;
	int rc = -1;

	if (reel_store_prepare(st, &q, max_sql, err))
		goto out;
	if (sqlite3_step(q) == SQLITE_ROW) {
		most = sqlite3_column_int64(q, 0);
		rows = sqlite3_column_int64(q, 1);
	}
	if (most < 0 || most > 2 * rows + 1024 || most >= UINT32_MAX) {
		bad_ids(err, table);
		goto out;
	}
	p = reel_alloc((size_t)most + 1, bytes, err);
	if (!p)
		goto out;
	memcpy(out, &p, sizeof(p));
	*n = (uint32_t)most + 1;
	rc = 0;
out:
	sqlite3_finalize(q);
	return rc;
}

int job_each_row(struct job *job, struct reel_store *st, const char *sql,
		 job_row *row, void *arg, struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int step = SQLITE_ERROR;

	if (!reel_store_prepare(st, &q, sql, err))
		while ((step = sqlite3_step(q)) == SQLITE_ROW)
			if (row(job, q, arg, err))
				break;
	if (step != SQLITE_DONE)
		reel_fail(err, REEL_E_DB, "cannot read the store: %s",
			  sqlite3_errmsg(st->db));
	sqlite3_finalize(q);
	return step == SQLITE_DONE ? 0 : -1;
}

static int64_t int_or(sqlite3_stmt *q, int col, int64_t otherwise)
{
	return sqlite3_column_type(q, col) == SQLITE_NULL
		       ? otherwise
		       : sqlite3_column_int64(q, col);
}

/* --- files --------------------------------------------------------------- */

static uint32_t hash_bytes(const char *s, size_t n)
{
	uint64_t h = reel_fnv1a(REEL_FNV_SEED, s, n);

	return (uint32_t)(h ^ h >> 32);
}

/*
 * A format without working directories has relative paths: they begin at the
 * root, so that the replay has one file for each.
 */
static char *rooted_path(const char *path, struct reel_error *err)
{
	char out[REEL_PATH_ROOM];

	if (!reel_path_resolve(out, "/", 1, path, strlen(path), "", 0))
		return reel_strdup(path, err);
	return reel_strdup(out, err);
}

static bool has_path(enum reel_kind kind)
{
	return kind == REEL_KIND_FILE || kind == REEL_KIND_DIR ||
	       kind == REEL_KIND_UNKNOWN;
}

static int file_row(struct job *job, sqlite3_stmt *q, void *arg,
		    struct reel_error *err)
{
	int64_t id = sqlite3_column_int64(q, 0);
	const char *path = (const char *)sqlite3_column_text(q, 1);
	const char *kind = (const char *)sqlite3_column_text(q, 2);
	bool imported = sqlite3_column_int(q, 4);

	if (id <= 0 || id >= job->files || !path)
		return bad_ids(err, "file");
	job->file[id].kind = kind ? reel_kind_of_name(kind) : REEL_KIND_UNKNOWN;
	job->file[id].path = imported && has_path(job->file[id].kind)
				     ? rooted_path(path, err)
				     : reel_strdup(path, err);
	job->file[id].size_bytes = int_or(q, 3, -1);
	return job->file[id].path ? 0 : -1;
}

int job_index_paths(struct job *job, struct reel_error *err)
{
	uint32_t size = 16;

	while (size < 2 * (uint64_t)job->files && size < 1u << 31)
		size *= 2;
	job->path_mask = size - 1;
	job->path_slot = reel_alloc(size, sizeof(*job->path_slot), err);
	if (!job->path_slot)
		return -1;
	for (uint32_t id = 1; id < job->files; id++) {
		const char *path = job->file[id].path;
		uint32_t i;

		if (!path)
			continue;
		i = hash_bytes(path, strlen(path)) & job->path_mask;
		while (job->path_slot[i])
			i = (i + 1) & job->path_mask;
		job->path_slot[i] = id;
	}
	for (uint32_t id = 1; id < job->files; id++) {
		const char *path = job->file[id].path;
		const char *slash = path ? strrchr(path, '/') : NULL;

		if (slash && path[0] == '/' && path[1])
			job->file[id].parent = job_find(
				job, path,
				slash == path ? 1 : (size_t)(slash - path));
	}
	return 0;
}

uint32_t job_find(const struct job *job, const char *path, size_t len)
{
	uint32_t i = hash_bytes(path, len) & job->path_mask;

	for (; job->path_slot[i]; i = (i + 1) & job->path_mask) {
		const char *p = job->file[job->path_slot[i]].path;

		if (!strncmp(p, path, len) && !p[len])
			return job->path_slot[i];
	}
	return 0;
}

/* A nested mount comes later, so that the deepest one counts. */
static const char mounts_sql[] =
	"SELECT rtrim(json_extract(m.value, '$.path'), '/') AS path,"
	" json_extract(m.value, '$.type') IN ('ext2', 'ext3', 'ext4', 'xfs',"
	" 'btrfs', 'f2fs', 'jfs', 'nilfs2', 'vfat', 'exfat', 'ntfs3', 'udf',"
	" 'iso9660', 'squashfs', 'erofs', 'overlay', 'nfs', 'nfs4',"
	" 'tmpfs', 'ramfs')"
	" FROM run, json_each(iif(json_valid(job_json), job_json, '{}'),"
	" '$.mounts') m WHERE m.type = 'object'"
	" ORDER BY length(path), m.key";

static int mount_row(struct job *job, sqlite3_stmt *q, void *arg,
		     struct reel_error *err)
{
	const char *dir = (const char *)sqlite3_column_text(q, 0);
	bool counted = sqlite3_column_int(q, 1);
	size_t len = dir ? strlen(dir) : 0;

	for (uint32_t id = 1; dir && id < job->files; id++) {
		struct job_file *f = &job->file[id];

		if (f->path && !strncmp(f->path, dir, len) &&
		    f->path[len] == '/')
			f->fetches_counted = counted;
	}
	return 0;
}

/* --- processes and threads ----------------------------------------------- */

static int process_row(struct job *job, sqlite3_stmt *q, void *arg,
		       struct reel_error *err)
{
	uint32_t *process_of = arg;
	struct job_process *p = &job->process[job->processes];
	int64_t id = sqlite3_column_int64(q, 0);

	p->id = (uint32_t)id;
	p->pid = (uint32_t)sqlite3_column_int64(q, 1);
	p->parent = (uint32_t)int_or(q, 2, 0);	    /* an id, for now */
	p->fork_stream = (uint32_t)int_or(q, 3, 0); /* likewise */
	p->start_ns = int_or(q, 4, sqlite3_column_int64(q, 5));
	p->end_ns = sqlite3_column_int64(q, 6);
	p->exits = sqlite3_column_int(q, 7);
	if (p->end_ns < p->start_ns)
		p->end_ns = p->start_ns;
	if (id <= 0 || p->start_ns < INT64_MIN / 4 || p->end_ns > INT64_MAX / 4)
		return bad_ids(err, "process");
	process_of[id] = job->processes++;
	return 0;
}

static int thread_row(struct job *job, sqlite3_stmt *q, void *arg,
		      struct reel_error *err)
{
	const uint32_t *process_of = arg;
	struct job_stream *s = &job->stream[job->streams];
	int64_t id = sqlite3_column_int64(q, 0);
	struct job_process *p;

	if (id <= 0 || id >= job->thread_ids)
		return bad_ids(err, "thread");
	s->id = (uint32_t)id;
	s->process = process_of[sqlite3_column_int64(q, 1)];
	s->events = (uint64_t)sqlite3_column_int64(q, 2);
	s->start_ns = sqlite3_column_int64(q, 3);
	p = &job->process[s->process];
	if (!p->streams)
		p->stream = job->streams;
	p->streams++;
	job->events += s->events;
	job->stream_of[id] = job->streams++;
	return 0;
}

/* The image that the process @i had before an exec(), or JOB_NONE. */
static uint32_t image_before(const struct job *job, uint32_t i,
			     const uint32_t *parent_id)
{
	const struct job_process *p = &job->process[i];

	for (uint32_t k = i; k--;)
		if (job->process[k].pid == p->pid)
			return parent_id[k] == parent_id[i] &&
					       !job->process[k].exits &&
					       job->process[k].end_ns <=
						       p->start_ns
				       ? k
				       : JOB_NONE;
	return JOB_NONE;
}

/*
 * An exec() keeps descriptors and their descriptions. So the image before forks
 * the next one as its last action; if it made no call, its parent does.
 */
static void link_images(struct job *job, const uint32_t *parent_id)
{
	for (uint32_t i = 1; i < job->processes; i++) {
		struct job_process *p = &job->process[i];
		uint32_t k = p->parent == JOB_NONE
				     ? image_before(job, i, parent_id)
				     : JOB_NONE;
		const struct job_process *before;

		if (k == JOB_NONE)
			continue;
		before = &job->process[k];
		if (before->streams) {
			p->parent = k;
			p->fork_stream = before->stream;
		} else if (before->parent != JOB_NONE) {
			p->parent = before->parent;
			p->fork_stream = before->fork_stream;
			p->start_ns = before->start_ns;
		}
	}
}

/* Turn ids of parents into indices. The root starts a process without a valid
 * parent. */
static void link_processes(struct job *job, const uint32_t *process_of,
			   uint32_t ids)
{
	for (uint32_t i = 0; i < job->processes; i++) {
		struct job_process *p = &job->process[i];
		uint32_t parent = p->parent < ids && p->parent
					  ? process_of[p->parent]
					  : JOB_NONE;
		uint32_t stream =
			p->fork_stream < job->thread_ids && p->fork_stream
				? job->stream_of[p->fork_stream]
				: JOB_NONE;

		/* Only an earlier parent, so that there is no cycle. */
		if (parent == JOB_NONE || parent == i || stream == JOB_NONE ||
		    job->stream[stream].process != parent ||
		    job->process[parent].start_ns > p->start_ns ||
		    (job->process[parent].start_ns == p->start_ns &&
		     parent > i))
			parent = stream = JOB_NONE;
		p->parent = parent;
		p->fork_stream = stream;
		if (p->start_ns < job->origin_ns)
			job->origin_ns = p->start_ns;
	}
}

static const char processes_sql[] =
	"SELECT process_id, pid, parent_id, fork_thread, fork_ns, start_ns,"
	" end_ns, ended = 'exit' FROM process ORDER BY process_id";
/* The main thread first, then in the order of starts. */
static const char threads_sql[] =
	"SELECT t.thread_id, t.process_id, t.events, t.start_ns FROM thread t"
	" JOIN process p USING (process_id) WHERE t.events > 0"
	" OR t.thread_id IN (SELECT fork_thread FROM process)"
	" ORDER BY p.process_id, t.tid <> p.pid, t.start_ns, t.thread_id";

static int read_processes(struct job *job, struct reel_store *st,
			  struct reel_error *err)
{
	uint32_t *process_of = NULL, *parent_id = NULL, ids = 0;
	int rc = -1;

	if (alloc_rows(st, "SELECT max(process_id), count(*) FROM process",
		       "process", sizeof(*job->process), &job->process, &ids,
		       err))
		goto out;
	process_of = reel_alloc(ids, sizeof(*process_of), err);
	if (!process_of)
		goto out;
	memset(process_of, 0xff, ids * sizeof(*process_of));
	if (alloc_rows(st, "SELECT max(thread_id), count(*) FROM thread",
		       "thread", sizeof(*job->stream_of), &job->stream_of,
		       &job->thread_ids, err))
		goto out;
	memset(job->stream_of, 0xff, job->thread_ids * sizeof(uint32_t));
	job->stream = reel_alloc(job->thread_ids, sizeof(*job->stream), err);
	if (!job->stream ||
	    job_each_row(job, st, processes_sql, process_row, process_of,
			 err) ||
	    job_each_row(job, st, threads_sql, thread_row, process_of, err))
		goto out;
	parent_id = reel_alloc(job->processes + 1, sizeof(*parent_id), err);
	if (!parent_id)
		goto out;
	for (uint32_t i = 0; i < job->processes; i++)
		parent_id[i] = job->process[i].parent;
	link_processes(job, process_of, ids);
	link_images(job, parent_id);
	rc = 0;
out:
	free(process_of);
	free(parent_id);
	return rc;
}

static int open_row(struct job *job, sqlite3_stmt *q, void *arg,
		    struct reel_error *err)
{
	int64_t id = sqlite3_column_int64(q, 0);
	struct job_open *o;

	if (id <= 0 || id >= job->opens)
		return bad_ids(err, "open_file");
	o = &job->open[id];
	o->file = (uint32_t)sqlite3_column_int64(q, 1);
	o->fd = sqlite3_column_int(q, 2);
	o->flags = (int32_t)int_or(q, 3, -1);
	if (o->file >= job->files)
		return bad_ids(err, "open_file");
	return 0;
}

int job_read(struct job **out, struct reel_store *st, struct reel_error *err)
{
	struct job *job = reel_alloc(1, sizeof(*job), err);
	int64_t wall = 0;
	bool has = false;
	int rc = -1;

	if (!job)
		goto out;
	if (read_processes(job, st, err) ||
	    alloc_rows(st, "SELECT max(file_id), count(*) FROM file", "file",
		       sizeof(*job->file), &job->file, &job->files, err) ||
	    job_each_row(job, st,
			 "SELECT file_id, path, kind, size_bytes, EXISTS"
			 " (SELECT 1 FROM source) FROM file",
			 file_row, NULL, err) ||
	    job_each_row(job, st, mounts_sql, mount_row, NULL, err) ||
	    job_index_paths(job, err) ||
	    alloc_rows(st, "SELECT max(open_id), count(*) FROM open_file",
		       "open_file", sizeof(*job->open), &job->open, &job->opens,
		       err) ||
	    job_each_row(job, st,
			 "SELECT open_id, file_id, fd, flags FROM open_file",
			 open_row, NULL, err) ||
	    reel_store_int(st, "SELECT coalesce(wall_ns, span_ns) FROM run",
			   &wall, &has, err))
		goto out;
	job->wall_ns = wall;
	*out = job;
	job = NULL; /* given away */
	rc = 0;
out:
	job_free(job);
	return rc;
}

void job_free(struct job *job)
{
	if (!job)
		return;
	for (uint32_t i = 0; job->file && i < job->files; i++)
		free(job->file[i].path);
	free(job->process);
	free(job->stream);
	free(job->stream_of);
	free(job->file);
	free(job->open);
	free(job->path_slot);
	free(job);
}
