/* SPDX-License-Identifier: MIT */
/*
 * What a trace holds, for the lines that end "ioreel record".
 *
 * Threads are read one after the other, so a descriptor may be used before the
 * record that made it is met: bytes gather at the descriptor, and which file
 * it was is asked at the end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/progress.h"
#include "lib/trace_reader.h"

#include "analyzer/idmap.h"
#include "analyzer/path.h"
#include "analyzer/record_internal.h"

/* Past this a user would wait for more than some seconds. */
#define WALK_MOST (600ull << 20)
#define HOPS_MOST 64

/* A descriptor id of a process. */
struct desc {
	uint32_t process, id;
	uint32_t source;    /* id that it is a copy of, 0: none */
	uint32_t file;	    /* index + 1 of its path, 0: not seen */
	bool data;	    /* a regular file */
	bool used;	    /* bytes moved, or a mapping was made */
	bool stream;	    /* made by fopen, not to append: stream_pos holds */
	int64_t stream_pos; /* where its last call left it, -1: not known */
	uint64_t read_bytes, write_bytes;
	char *dir; /* path, when it is a directory */
};

struct walk {
	struct reel_trace *tr;
	struct record_summary *s;
	struct reel_idmap ids, paths;
	struct desc *desc;
	uint32_t descs, room;
	uint32_t last; /* of desc_of(): most records follow another of theirs */
	bool *file_used; /* by index of the path */
	uint32_t file_room;
	char cwd[REEL_PATH_BYTES + 1]; /* of the thread's process */
	int process;
};

static struct desc *desc_of(struct walk *w, uint32_t process, uint32_t id,
			    struct reel_error *err)
{
	uint64_t key = (uint64_t)process << 32 | id;
	const struct desc *last = w->desc + w->last;
	uint32_t i;

	if (w->descs && last->id == id && last->process == process)
		return &w->desc[w->last];
	i = reel_idmap_get(&w->ids, key, err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&w->desc, &w->room, i, sizeof(*w->desc), err))
		return NULL;
	if (i == w->descs) {
		w->descs++;
		w->desc[i].process = process;
		w->desc[i].id = id;
	}
	w->last = i;
	return &w->desc[i];
}

#define FNV_BASIS 0xcbf29ce484222325ull
static uint64_t hash(const char *s, uint64_t h)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return h;
}

/* The hash of @dir/@path with ".", ".." and "//" resolved by text. */
static uint64_t path_hash(const char *dir, const char *path)
{
	char full[PATH_ROOM];

	if (!path_resolve(full, dir, strlen(dir), path, strlen(path), NULL, 0))
		return hash(path, hash(dir, FNV_BASIS));
	return hash(full, FNV_BASIS);
}

/* A record that made a descriptor. */
static int made(struct walk *w, const struct reel_record *r,
		enum reel_group group, struct reel_error *err)
{
	struct desc *d, *at = NULL;
	const char *dir = w->cwd;
	char *path;
	bool mark = r->call == REEL_MARK_DESC;

	if (r->at) {
		at = desc_of(w, (uint32_t)w->process, r->at, err);
		if (!at)
			return -1;
		dir = at->dir ? at->dir : "";
	}
	d = desc_of(w, (uint32_t)w->process, r->newdesc, err);
	if (!d)
		return -1;
	if (group == REEL_GROUP_DUP || (!mark && group != REEL_GROUP_OPEN)) {
		d->source = r->desc;
		return 0;
	}
	d->data = mark ? r->arg == REEL_KIND_FILE
		       : r->call != REEL_CALL_OPENDIR &&
				  !(r->arg & (O_DIRECTORY | O_PATH) &&
				    (r->arg & O_TMPFILE) != O_TMPFILE);
	d->stream =
		(r->call == REEL_CALL_FOPEN || r->call == REEL_CALL_FREOPEN) &&
		!(r->arg & O_APPEND);
	d->stream_pos = 0;
	if (!r->path)
		return 0;
	if (d->data) {
		d->file =
			reel_idmap_get(&w->paths, path_hash(dir, r->path), err);
		return d->file++ == REEL_NO_INDEX ? -1 : 0;
	}
	/* @dir may be the very string that is replaced. */
	if (asprintf(&path, "%.*s/%s", REEL_PATH_BYTES,
		     r->path[0] == '/' ? "" : dir, r->path) < 0)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	free(d->dir);
	d->dir = path;
	return 0;
}

/* A note of the job: is it the state of a hook? Of one that several processes
 * noted, the state of the worst off. */
static void hooks_add(struct record_hooks *h, const char *note)
{
	static const char key[] = "hook:";
	const char *name = note + strlen(key), *state;
	size_t len;
	int i;

	if (strncmp(note, key, strlen(key)) || !(state = strchr(name, '=')))
		return;
	len = (size_t)(state++ - name);
	if (!len || len >= sizeof(h->hook[0].name))
		return;
	for (i = 0; i < h->n; i++)
		if (!strncmp(h->hook[i].name, name, len) &&
		    !h->hook[i].name[len])
			break;
	if (i == RECORD_HOOKS || (i < h->n && strcmp(h->hook[i].state, "on")))
		return;
	h->n += i == h->n;
	memcpy(h->hook[i].name, name, len);
	h->hook[i].name[len] = '\0';
	snprintf(h->hook[i].state, sizeof(h->hook[i].state), "%s", state);
}

/* printf and getc are seen by where they left the stream, when it is told. */
static bool is_told(const struct reel_record *r)
{
	return r->call == REEL_CALL_STDIO_READ ||
	       r->call == REEL_CALL_STDIO_WRITE;
}

/* Bytes that the stream of @d has moved since its last call. */
static int64_t told_bytes(const struct desc *d, const struct reel_record *r)
{
	if (d->stream && r->has_pos && d->stream_pos >= 0 &&
	    r->pos >= d->stream_pos)
		return r->pos - d->stream_pos;
	return r->size;
}

/* Follow a stream of @d, as resolve_position.c does with more care. */
static void stream_moves(struct desc *d, const struct reel_record *r,
			 const struct reel_call_info *info)
{
	if (!info || info->layer != REEL_LAYER_STDIO)
		return;
	if (r->has_pos)
		d->stream_pos = r->pos;
	else if (r->call == REEL_CALL_REWIND)
		d->stream_pos = 0;
	else if (info->group == REEL_GROUP_SEEK)
		d->stream_pos = -1;
	else if (d->stream_pos >= 0 && r->result > 0)
		d->stream_pos += r->result;
}

static void moved(struct desc *d, enum reel_group group, int64_t bytes)
{
	d->used = true;
	if (bytes > 0 && group == REEL_GROUP_READ)
		d->read_bytes += (uint64_t)bytes;
	if (bytes > 0 && group == REEL_GROUP_WRITE)
		d->write_bytes += (uint64_t)bytes;
}

static int take_told(struct walk *w, const struct reel_record *r,
		     const struct reel_call_info *info, struct reel_error *err)
{
	struct desc *d = desc_of(w, (uint32_t)w->process, r->desc, err);
	int64_t bytes;

	if (!d)
		return -1;
	bytes = told_bytes(d, r);
	stream_moves(d, r, info);
	if (bytes <= 0)
		return 0; /* it stands where its last call left it: no event */
	w->s->events++;
	w->s->calls += r->count;
	moved(d, info ? info->group : REEL_GROUP_NONE, bytes);
	return 0;
}

static int take(struct walk *w, const struct reel_record *r,
		struct reel_error *err)
{
	const struct reel_call_info *info = reel_call_info(r->call);
	enum reel_group group = info ? info->group : REEL_GROUP_NONE;
	struct desc *d;

	if (is_told(r))
		return r->desc ? take_told(w, r, info, err) : 0;
	if (r->call == REEL_MARK_CWD && r->path)
		snprintf(w->cwd, sizeof(w->cwd), "%s", r->path);
	if (r->call == REEL_MARK_NOTE && r->path)
		hooks_add(&w->s->hooks, r->path);
	if (group != REEL_GROUP_MARK) {
		w->s->events++;
		w->s->calls += r->count;
	}
	if (r->newdesc && made(w, r, group, err))
		return -1;
	if (!r->desc || r->err ||
	    (group != REEL_GROUP_READ && group != REEL_GROUP_WRITE &&
	     group != REEL_GROUP_SEEK && r->call != REEL_CALL_MMAP))
		return 0;
	d = desc_of(w, (uint32_t)w->process, r->desc, err);
	if (!d)
		return -1;
	stream_moves(d, r, info);
	if (group != REEL_GROUP_SEEK)
		moved(d, group, r->result);
	return 0;
}

/* What @d stands for: through its copies, and its process's ancestors. */
static const struct desc *origin(struct walk *w, const struct desc *d,
				 struct reel_error *err)
{
	int hop;

	for (hop = 0; d && !d->data && !d->file && hop < HOPS_MOST; hop++) {
		const struct reel_trace_process *p =
			reel_trace_process(w->tr, (int)d->process);

		if (d->source)
			d = desc_of(w, d->process, d->source, err);
		else if (d->id < p->head.first_desc && p->parent >= 0)
			d = desc_of(w, (uint32_t)p->parent, d->id, err);
		else
			break;
	}
	return d;
}

static int sum_up(struct walk *w, struct reel_error *err)
{
	uint32_t i, n = w->descs;

	for (i = 0; i < n; i++) {
		struct desc d = w->desc[i]; /* the array may move */
		const struct desc *o;

		if (!d.used)
			continue;
		o = origin(w, &w->desc[i], err);
		if (!o)
			return -1;
		if (!o->data)
			continue;
		w->s->read_bytes += d.read_bytes;
		w->s->write_bytes += d.write_bytes;
		if (!o->file) {
			w->s->files++; /* a file without a name */
			continue;
		}
		if (reel_array_reach(&w->file_used, &w->file_room, o->file - 1,
				     sizeof(*w->file_used), err))
			return -1;
		w->s->files += !w->file_used[o->file - 1];
		w->file_used[o->file - 1] = true;
	}
	return 0;
}

static int walk_threads(struct walk *w, struct reel_progress *p,
			struct reel_error *err)
{
	uint64_t done = 0;
	int i, n = reel_trace_threads(w->tr), rc = 0;

	for (i = 0; i < n && !rc; i++) {
		const struct reel_trace_thread *t = reel_trace_thread(w->tr, i);
		const char *cwd = reel_trace_text(
			reel_trace_process(w->tr, t->process), "cwd");
		struct reel_stream *st = NULL;
		struct reel_record r;

		w->process = t->process;
		snprintf(w->cwd, sizeof(w->cwd), "%s", cwd ? cwd : "");
		if (reel_stream_open(&st, w->tr, i, err))
			return -1;
		while ((rc = reel_stream_next(st, &r, err)) > 0) {
			rc = take(w, &r, err);
			if (rc)
				break;
			if (!(++done & 0xffff))
				reel_progress_at(p, w->s->events);
		}
		reel_stream_close(st);
	}
	return rc;
}

static int walk(struct reel_trace *tr, struct record_summary *s,
		struct reel_error *err)
{
	struct walk w = {.tr = tr, .s = s};
	struct reel_progress p;
	uint64_t bytes = 0;
	uint32_t d;
	int i, rc;

	for (i = 0; i < reel_trace_threads(tr); i++)
		bytes += reel_trace_thread(tr, i)->bytes;
	if (bytes > WALK_MOST)
		return 0;
	reel_progress_start(&p, "counting events", "events", 0);
	rc = walk_threads(&w, &p, err);
	reel_progress_stop(&p);
	if (!rc)
		rc = sum_up(&w, err);
	s->walked = !rc;
	for (d = 0; d < w.descs; d++)
		free(w.desc[d].dir);
	free(w.desc);
	free(w.file_used);
	reel_idmap_fini(&w.ids);
	reel_idmap_fini(&w.paths);
	return rc;
}

static void counters(const struct reel_trace *tr, struct record_summary *s)
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

/* Bytes of the files in @dir; the windows of living processes do not count. */
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

int record_summary(const char *dir, bool records, struct record_summary *s,
		   struct reel_error *err)
{
	struct reel_trace *tr = NULL;
	int rc;

	memset(s, 0, sizeof(*s));
	if (reel_trace_open(&tr, dir, err))
		return -1;
	counters(tr, s);
	s->trace_bytes = directory_bytes(dir);
	rc = records ? walk(tr, s, err) : 0;
	reel_trace_close(tr);
	return rc;
}
