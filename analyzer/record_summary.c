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
#include "analyzer/launcher.h"
#include "analyzer/path.h"
#include "analyzer/record_internal.h"

/* Past this a user would wait for more than some seconds. */
#define WALK_MOST (600ull << 20)
#define HOPS_MOST 64

/* A descriptor id of a process. */
struct desc {
	uint32_t source;    /* id that it is a copy of, 0: none */
	uint32_t file;	    /* index + 1 of its path, 0: not seen */
	uint32_t dir;	    /* index + 1 of walk.dir, 0: no directory */
	bool data;	    /* a regular file */
	bool used;	    /* bytes moved, or a mapping was made */
	bool stream;	    /* made by fopen, not to append: stream_pos holds */
	int64_t stream_pos; /* where its last call left it, -1: not known */
	uint64_t read_bytes, write_bytes;
};

/*
 * Ids that follow each other: a process counts them up, so that a file's
 * descriptor lies beside the last one's.
 */
#define CHUNK_IDS 16u
struct chunk {
	uint32_t process, first;
	struct desc desc[CHUNK_IDS];
};

struct walk {
	struct reel_trace *tr;
	struct record_summary *s;
	struct reel_idmap ids, paths; /* chunks, names */
	struct chunk **chunk, *last;
	uint32_t chunks, room;
	char **dir; /* paths of directories */
	uint32_t dirs, dir_room;
	/* By index of the path: 0: the job's, 1: of launchers. */
	bool *file_used[2];
	uint32_t file_room[2];
	const char **launcher; /* of a process, or NULL */
	char cwd[REEL_PATH_BYTES + 1]; /* of the thread's process */
	uint32_t process;
};

static struct chunk *chunk_of(struct walk *w, uint32_t process, uint32_t first,
			      struct reel_error *err)
{
	uint64_t key = (uint64_t)process << 32 | first;
	uint32_t i = reel_idmap_get(&w->ids, key, err);

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&w->chunk, &w->room, i, sizeof(*w->chunk), err))
		return NULL;
	if (!w->chunk[i]) {
		w->chunk[i] = reel_alloc(1, sizeof(**w->chunk), err);
		if (!w->chunk[i])
			return NULL;
		w->chunk[i]->process = process;
		w->chunk[i]->first = first;
		w->chunks = i + 1;
	}
	return w->chunk[i];
}

/* It stays where it is. */
static struct desc *desc_of(struct walk *w, uint32_t process, uint32_t id,
			    struct reel_error *err)
{
	uint32_t first = id - id % CHUNK_IDS;
	struct chunk *c = w->last;

	if (!c || c->first != first || c->process != process) {
		c = chunk_of(w, process, first, err);
		if (!c)
			return NULL;
		w->last = c;
	}
	return &c->desc[id - first];
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

/* @d stands for the directory @dir/@path. */
static int made_dir(struct walk *w, struct desc *d, const char *dir,
		    const char *path, struct reel_error *err)
{
	char *full;

	if (!d->dir) {
		if (reel_array_reach(&w->dir, &w->dir_room, w->dirs,
				     sizeof(*w->dir), err))
			return -1;
		d->dir = ++w->dirs;
	}
	/* @dir may be the very string that is replaced. */
	if (asprintf(&full, "%.*s/%s", REEL_PATH_BYTES,
		     path[0] == '/' ? "" : dir, path) < 0)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	free(w->dir[d->dir - 1]);
	w->dir[d->dir - 1] = full;
	return 0;
}

/* A record that made a descriptor. */
static int made(struct walk *w, const struct reel_record *r,
		enum reel_group group, struct reel_error *err)
{
	struct desc *d, *at = NULL;
	const char *dir = w->cwd;
	bool mark = r->call == REEL_MARK_DESC;

	if (r->at) {
		at = desc_of(w, w->process, r->at, err);
		if (!at)
			return -1;
		dir = at->dir ? w->dir[at->dir - 1] : "";
	}
	d = desc_of(w, w->process, r->newdesc, err);
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
	return made_dir(w, d, dir, r->path, err);
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

static void count_event(struct walk *w, const struct reel_record *r)
{
	if (w->launcher[w->process])
		return;
	w->s->events++;
	w->s->calls += r->count;
}

static int take_told(struct walk *w, const struct reel_record *r,
		     const struct reel_call_info *info, struct reel_error *err)
{
	struct desc *d = desc_of(w, w->process, r->desc, err);
	int64_t bytes;

	if (!d)
		return -1;
	bytes = told_bytes(d, r);
	stream_moves(d, r, info);
	if (bytes <= 0)
		return 0; /* it stands where its last call left it: no event */
	count_event(w, r);
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
	if (group != REEL_GROUP_MARK)
		count_event(w, r);
	if (r->newdesc && made(w, r, group, err))
		return -1;
	if (!r->desc || r->err ||
	    (group != REEL_GROUP_READ && group != REEL_GROUP_WRITE &&
	     group != REEL_GROUP_SEEK && r->call != REEL_CALL_MMAP))
		return 0;
	d = desc_of(w, w->process, r->desc, err);
	if (!d)
		return -1;
	stream_moves(d, r, info);
	if (group != REEL_GROUP_SEEK)
		moved(d, group, r->result);
	return 0;
}

/* What @id of @process stands for: through its copies, and its ancestors. */
static const struct desc *origin(struct walk *w, uint32_t process, uint32_t id,
				 struct reel_error *err)
{
	const struct desc *d = desc_of(w, process, id, err);
	int hop;

	for (hop = 0; d && !d->data && !d->file && hop < HOPS_MOST; hop++) {
		const struct reel_trace_process *p =
			reel_trace_process(w->tr, (int)process);

		if (d->source)
			id = d->source;
		else if (id < p->head.first_desc && p->parent >= 0)
			process = (uint32_t)p->parent;
		else
			break;
		d = desc_of(w, process, id, err);
	}
	return d;
}

static int add_used(struct walk *w, const struct desc *d,
		    const struct desc *origin, bool launcher,
		    struct reel_error *err)
{
	uint64_t *files = launcher ? &w->s->launcher_files : &w->s->files;
	uint32_t at = origin->file - 1;

	if (!origin->data)
		return 0;
	if (!launcher) {
		w->s->read_bytes += d->read_bytes;
		w->s->write_bytes += d->write_bytes;
	}
	if (!origin->file) {
		(*files)++; /* a file without a name */
		return 0;
	}
	if (reel_array_reach(&w->file_used[launcher], &w->file_room[launcher],
			     at, sizeof(bool), err))
		return -1;
	*files += !w->file_used[launcher][at];
	w->file_used[launcher][at] = true;
	return 0;
}

static int sum_up(struct walk *w, struct reel_error *err)
{
	uint32_t i, k, n = w->chunks; /* origin() may add some */

	for (i = 0; i < n; i++) {
		const struct chunk *c = w->chunk[i];

		for (k = 0; k < CHUNK_IDS; k++) {
			const struct desc *d = &c->desc[k], *o;

			if (!d->used)
				continue;
			o = origin(w, c->process, c->first + k, err);
			if (!o ||
			    add_used(w, d, o, w->launcher[c->process], err))
				return -1;
		}
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

		w->process = (uint32_t)t->process;
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

static int walk(struct reel_trace *tr, const char **launcher,
		struct record_summary *s, struct reel_error *err)
{
	struct walk w = {.tr = tr, .s = s, .launcher = launcher};
	struct reel_progress p;
	uint64_t bytes = 0;
	uint32_t k;
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
	for (k = 0; k < w.chunks; k++)
		free(w.chunk[k]);
	for (k = 0; k < w.dirs; k++)
		free(w.dir[k]);
	free(w.chunk);
	free(w.dir);
	free(w.file_used[0]);
	free(w.file_used[1]);
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

/* Processes of launchers are told apart, not among the job's. */
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
	const char **launcher;
	int rc = -1;

	memset(s, 0, sizeof(*s));
	if (reel_trace_open(&tr, dir, err))
		return -1;
	counters(tr, s);
	s->trace_bytes = directory_bytes(dir);
	launcher = reel_launchers(tr, err);
	if (launcher) {
		count_launchers(launcher, s);
		rc = records ? walk(tr, launcher, s, err) : 0;
	}
	free(launcher);
	reel_trace_close(tr);
	return rc;
}
