/* SPDX-License-Identifier: MIT */
/*
 * The resolver: one record in, one event out, state in between.
 *
 * offsets.c decides on positions.
 */
#include "analyzer/resolve/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/resolve/internal.h"

/* Index of the image whose descriptors @p has, or -1; @index is its own. */
static int origin_of(const struct process *p, int index)
{
	int from = p->is.parent >= 0 ? p->is.parent : p->is.follows;

	return from != index ? from : -1;
}

int reel_resolver_new(struct reel_resolver **out,
		      const struct reel_resolve_process *process, int processes,
		      const struct reel_resolve_thread *thread, int threads,
		      const char *path_root,
		      const struct reel_resolve_sink *sink,
		      struct reel_error *err)
{
	struct reel_resolver *r = reel_alloc(1, sizeof(*r), err);
	int rc = -1;

	if (!r)
		return -1;
	r->sink = *sink;
	r->process =
		reel_alloc((size_t)processes + 1, sizeof(*r->process), err);
	r->thread = reel_alloc((size_t)threads + 1, sizeof(*r->thread), err);
	r->with_cwd =
		reel_alloc((size_t)processes + 1, sizeof(*r->with_cwd), err);
	if (!r->process || !r->thread || !r->with_cwd ||
	    files_init(&r->files, err))
		goto out;
	r->processes = r->running = processes;
	r->process_room = r->with_cwd_room = (uint32_t)processes + 1;
	r->threads = threads;
	r->thread_room = (uint32_t)threads + 1;
	for (int i = 0; i < processes; i++)
		r->process[i].is = process[i];
	for (int i = 0; i < processes; i++)
		if (origin_of(&r->process[i], i) >= 0)
			r->process[origin_of(&r->process[i], i)].children++;
	for (int i = 0; i < threads; i++)
		r->thread[i].is = thread[i];
	if (path_root && path_root[0] == '/') {
		r->root = reel_strdup(path_root, err);
		if (!r->root)
			goto out;
		r->root_len = strlen(r->root);
		while (r->root_len && r->root[r->root_len - 1] == '/')
			r->root_len--;
	}
	*out = r;
	r = NULL;
	rc = 0;
out:
	reel_resolver_free(r);
	return rc;
}

int reel_resolver_add_process(struct reel_resolver *r,
			      const struct reel_resolve_process *process,
			      struct reel_error *err)
{
	int n = r->processes, from;

	if (reel_array_reach(&r->process, &r->process_room, (uint32_t)n,
			     sizeof(*r->process), err) ||
	    reel_array_reach(&r->with_cwd, &r->with_cwd_room, (uint32_t)n,
			     sizeof(*r->with_cwd), err))
		return -1;
	r->process[n].is = *process;
	from = origin_of(&r->process[n], n);
	if (from >= 0)
		r->process[from].children++;
	r->processes++;
	r->running++;
	return 0;
}

int reel_resolver_add_thread(struct reel_resolver *r,
			     const struct reel_resolve_thread *thread,
			     struct reel_error *err)
{
	if (reel_array_reach(&r->thread, &r->thread_room, (uint32_t)r->threads,
			     sizeof(*r->thread), err))
		return -1;
	r->thread[r->threads++].is = *thread;
	return 0;
}

static int no_row(void *arg, const struct reel_open_row *row,
		  struct reel_error *err)
{
	return 0;
}

void reel_resolver_free(struct reel_resolver *r)
{
	if (!r)
		return;
	r->sink.open = no_row;
	for (int i = 0; i < r->processes; i++) {
		inherited_fini(r, &r->process[i].inherited, NULL);
		descs_fini(r, &r->process[i].descs, NULL);
		free(r->process[i].cwd);
	}
	inherited_fini(r, &r->initial_fds, NULL);
	for (int i = 0; i < r->threads; i++)
		spans_fini(&r->thread[i].spans);
	files_fini(&r->files);
	sites_fini(&r->sites);
	free(r->ofds.ofd);
	free(r->process);
	free(r->with_cwd);
	free(r->thread);
	free(r->root);
	free(r);
}

static void forget_cwd(struct reel_resolver *r, struct process *p)
{
	int last;

	if (!p->cwd)
		return;
	free(p->cwd);
	p->cwd = NULL;
	last = r->with_cwd[--r->with_cwds];
	r->with_cwd[p->with_cwd] = last;
	r->process[last].with_cwd = p->with_cwd;
}

int resolve_set_cwd(struct reel_resolver *r, struct process *p,
		    const char *path, size_t len, struct reel_error *err)
{
	char *cwd = NULL;

	if (len && path[0] != '/')
		return 0;
	if (len) /* else it is not known: names stay relative */
		cwd = reel_strdup(path, err);
	if (len && !cwd)
		return -1;
	forget_cwd(r, p);
	p->cwd_len = len;
	if (!cwd)
		return 0;
	p->cwd = cwd;
	p->with_cwd = r->with_cwds++;
	r->with_cwd[p->with_cwd] = (int)(p - r->process);
	files_note_used_dir(&r->files, cwd, len);
	return 0;
}

/* Free the descriptors of @p once it and its children cannot use them. */
static int forget_process(struct reel_resolver *r, struct process *p,
			  struct reel_error *err)
{
	if (!p->ended || p->children > 0)
		return 0;
	forget_cwd(r, p);
	return inherited_fini(r, &p->inherited, err) ||
			       descs_fini(r, &p->descs, err)
		       ? -1
		       : 0;
}

int reel_resolve_start(struct reel_resolver *r, int process,
		       struct reel_error *err)
{
	struct process *p = &r->process[process], *from = NULL;
	const char *cwd = p->is.cwd;
	bool forked = p->is.parent >= 0;

	if (p->started)
		return 0;
	p->started = true;
	if (origin_of(p, process) >= 0)
		from = &r->process[origin_of(p, process)];
	if (from) {
		if ((forked && descs_inherit(r, &p->descs, &from->descs,
					     p->is.first_desc, err)) ||
		    inherited_take(r, p, from, !forked, err))
			return -1;
		if (!cwd && forked)
			cwd = from->cwd;
	}
	if (cwd && resolve_set_cwd(r, p, cwd, strlen(cwd), err))
		return -1;
	if (!from)
		return 0;
	from->children--;
	return forget_process(r, from, err);
}

int reel_resolve_end(struct reel_resolver *r, int process,
		     struct reel_error *err)
{
	struct process *p = &r->process[process];

	if (!p->ended && !--r->running) {
		files_find_dirs(&r->files);
		if (inherited_fini(r, &r->initial_fds, err))
			return -1;
	}
	p->ended = true;
	return forget_process(r, p, err);
}

int reel_resolve_end_thread(struct reel_resolver *r, int thread, int64_t end_ns,
			    struct reel_error *err)
{
	return spans_end_all(r, &r->thread[thread].spans, thread, end_ns, err);
}

/*
 * Descriptor @id of the process, or NULL. A descriptor that the parent made
 * just before the fork may be missing, by the error of the clocks: copy it now.
 */
static struct desc *find_desc(struct resolve_step *s, uint32_t id)
{
	struct desc *d = descs_find(&s->p->descs, id), *of;

	if (d || id >= s->p->is.first_desc || s->p->is.parent < 0)
		return d;
	of = descs_find(&s->r->process[s->p->is.parent].descs, id);
	if (!of)
		return NULL;
	return descs_add(s->r, &s->p->descs, id, of->fd, of->open, s->end_ns,
			 s->err);
}

/* The file_id of @path; 0: none, or (with s->err) no memory. */
static uint32_t file_of_path(struct resolve_step *s, const char *path,
			     size_t len, uint32_t at)
{
	char full[REEL_PATH_ROOM];
	const char *base = s->p->cwd;
	size_t base_len = s->p->cwd_len, n;
	struct desc *d = at ? find_desc(s, at) : NULL;

	if (at) {
		uint32_t dir = d ? ofd_of(s, d)->dir : 0;

		if (!len)
			return dir; /* AT_EMPTY_PATH: the descriptor itself */
		base = dir ? files_path(&s->r->files, dir) : NULL;
		base_len = dir ? file_of(s, dir)->path_len : 0;
		if (dir && s->rec->err != ENOTDIR)
			files_set_kind(&s->r->files, dir, REEL_KIND_DIR);
	}
	n = reel_path_resolve(full, base, base_len, path, len, s->r->root,
			      s->r->root_len);
	return n ? files_intern(&s->r->files, full, n, s->err) : 0;
}

/* A symlink's target is relative to the directory of the link. */
static uint32_t file_of_target(struct resolve_step *s, const char *path,
			       size_t len)
{
	char full[REEL_PATH_ROOM];
	const char *link = files_path(&s->r->files, s->ev->file);
	const char *slash = strrchr(link, '/');
	size_t n = reel_path_resolve(full, slash ? link : NULL,
				     slash ? (size_t)(slash - link) : 0, path,
				     len, s->r->root, s->r->root_len);

	return n ? files_intern(&s->r->files, full, n, s->err) : 0;
}

static int resolve_names(struct resolve_step *s)
{
	const struct reel_record *rec = s->rec;

	if (rec->path) {
		s->ev->file =
			file_of_path(s, rec->path, rec->path_len, rec->at);
		if (!s->ev->file && rec->path_len && s->err->code)
			return -1;
	}
	if (rec->path2) {
		bool link = rec->call == REEL_CALL_SYMLINK ||
			    rec->call == REEL_CALL_SYMLINKAT;

		s->ev->file2 =
			link && s->ev->file
				? file_of_target(s, rec->path2, rec->path2_len)
				: file_of_path(s, rec->path2, rec->path2_len,
					       rec->at2);
		if (!s->ev->file2 && rec->path2_len && s->err->code)
			return -1;
	}
	return 0;
}

static size_t moved_path(const struct resolve_step *s, const char *path,
			 size_t path_len, bool exchange,
			 char to[REEL_PATH_ROOM])
{
	const struct files *f = &s->r->files;
	uint32_t a = s->ev->file, b = s->ev->file2;
	size_t n = files_moved(f, a, b, path, path_len, to);

	return n || !exchange ? n : files_moved(f, b, a, path, path_len, to);
}

/* A directory was renamed: working directories and open directories at or below
 * it get their new names. */
static int move_dirs(struct resolve_step *s, bool exchange)
{
	struct ofds *ofds = &s->r->ofds;
	char to[REEL_PATH_ROOM];
	size_t n;

	/* A changed process moves to the end of the list: walk it backwards. */
	for (int i = s->r->with_cwds; i--;) {
		struct process *p = &s->r->process[s->r->with_cwd[i]];

		n = moved_path(s, p->cwd, p->cwd_len, exchange, to);
		if (n && resolve_set_cwd(s->r, p, to, n, s->err))
			return -1;
	}
	for (uint32_t i = 1; i <= ofds->n; i++) {
		struct ofd *o = &ofds->ofd[i];

		if (!o->refs || file_of(s, o->dir)->kind != REEL_KIND_DIR)
			continue;
		n = moved_path(s, files_path(&s->r->files, o->dir),
			       file_of(s, o->dir)->path_len, exchange, to);
		if (!n)
			continue;
		o->dir = files_intern(&s->r->files, to, n, s->err);
		if (!o->dir)
			return -1;
		files_set_was_opened(&s->r->files, o->dir);
		files_set_kind(&s->r->files, o->dir, REEL_KIND_DIR);
	}
	return 0;
}

static bool may_move(const struct files *f, uint32_t id)
{
	return f->file[id].kind != REEL_KIND_FILE && files_is_used_dir(f, id);
}

static int apply_rename(struct resolve_step *s, bool exchange)
{
	struct files *files = &s->r->files;
	int rc = 0;

	if (may_move(files, s->ev->file) ||
	    (exchange && may_move(files, s->ev->file2)))
		rc = move_dirs(s, exchange);
	if (rc)
		return -1;
	return files_renamed(files, s->ev->file, s->ev->file2, exchange,
			     s->err);
}

/* fallocate extends a file, or removes or inserts a range. */
static void apply_fallocate(struct resolve_step *s, uint32_t inode)
{
	const struct reel_event *ev = s->ev;
	struct files *files = &s->r->files;
	int64_t mode = ev->call == REEL_CALL_FALLOCATE ? ev->arg : 0, end;
	int64_t size = files->size[inode];

	if (ev->arg2 <= 0 || ev->offset < 0 ||
	    __builtin_add_overflow(ev->offset, ev->arg2, &end))
		return;
	if (mode & FALLOC_FL_COLLAPSE_RANGE && size >= ev->arg2)
		files_set_size(files, ev->file, inode, size - ev->arg2);
	else if (mode & FALLOC_FL_INSERT_RANGE && size >= 0 &&
		 size <= INT64_MAX - ev->arg2)
		files_set_size(files, ev->file, inode, size + ev->arg2);
	else if (!(mode & FALLOC_FL_KEEP_SIZE))
		files_reach(files, ev->file, inode, end, true);
}

/* fdopen: the stream begins at the position of the descriptor. */
static void begin_stream(struct resolve_step *s, struct desc *d)
{
	struct ofd *o = ofd_of(s, d);

	if (s->ev->arg & O_APPEND)
		o->append = true; /* libc makes it so */
	d->stream_pos = o->pos;
	d->others = o->moves;
}

/* The kind of a file that the call proves. */
static enum reel_kind kind_by_call(const struct reel_event *ev)
{
	switch (ev->call) {
	case REEL_CALL_MKDIR:
	case REEL_CALL_MKDIRAT:
	case REEL_CALL_RMDIR:
	case REEL_CALL_SCANDIR:
	case REEL_CALL_FDOPENDIR:
	case REEL_CALL_GETDENTS64:
	case REEL_CALL_CHDIR:
	case REEL_CALL_FCHDIR:
		return REEL_KIND_DIR;
	case REEL_CALL_MKFIFO:
	case REEL_CALL_MKFIFOAT:
		return REEL_KIND_PIPE;
	case REEL_CALL_MKNOD:
	case REEL_CALL_MKNODAT:
		return S_ISFIFO(ev->arg) ? REEL_KIND_PIPE : REEL_KIND_UNKNOWN;
	default:
		return REEL_KIND_UNKNOWN;
	}
}

/* Calls that report or change a property of their file. */
static int apply_side_effects(struct resolve_step *s, struct desc *d)
{
	struct reel_event *ev = s->ev;
	struct files *files = &s->r->files;
	struct file *f = ev->file ? file_of(s, ev->file) : NULL;
	uint32_t inode = d ? ofd_of(s, d)->inode : f ? f->inode : 0;

	if (ev->err)
		return 0;
	files_set_kind(files, ev->file, kind_by_call(ev));
	switch (ev->call) {
	case REEL_CALL_TRUNCATE:
	case REEL_CALL_FTRUNCATE:
		if (f && s->rec->has_offset && s->rec->offset >= 0)
			files_set_size(files, ev->file, inode, s->rec->offset);
		break;
	case REEL_CALL_FALLOCATE:
	case REEL_CALL_POSIX_FALLOCATE:
		if (f)
			apply_fallocate(s, inode);
		break;
	case REEL_CALL_UNLINK:
	case REEL_CALL_UNLINKAT:
	case REEL_CALL_REMOVE:
	case REEL_CALL_SHM_UNLINK:
		return f ? files_unlinked(files, ev->file, s->err) : 0;
	case REEL_CALL_RENAME:
	case REEL_CALL_RENAMEAT:
	case REEL_CALL_RENAMEAT2:
		/* rename() of two links of one inode does nothing. */
		return f && ev->file2 &&
				       file_of(s, ev->file2)->inode != f->inode
			       ? apply_rename(s,
					      ev->call == REEL_CALL_RENAMEAT2 &&
						      ev->arg & RENAME_EXCHANGE)
			       : 0;
	case REEL_CALL_LINK:
	case REEL_CALL_LINKAT:
		if (f && ev->file2)
			file_of(s, ev->file2)->inode = f->inode;
		break;
	case REEL_CALL_FCNTL:
		if (d && ev->arg == F_SETFL)
			ofd_of(s, d)->append = ev->arg2 & O_APPEND;
		break;
	case REEL_CALL_FDOPEN:
		if (d)
			begin_stream(s, d);
		break;
	case REEL_CALL_MMAP:
		return descs_map(s->r, &s->p->descs, s->rec->desc, 1, s->err);
	case REEL_CALL_MUNMAP:
		return descs_map(s->r, &s->p->descs, s->rec->desc, -1, s->err);
	case REEL_CALL_CLOSE_RANGE:
		return descs_close_range(s->r, &s->p->descs, ev->arg, ev->arg2,
					 s->end_ns, s->err);
	case REEL_CALL_CLOSEFROM:
		return descs_close_range(s->r, &s->p->descs, ev->arg, INT32_MAX,
					 s->end_ns, s->err);
	default:
		if (ev->group == REEL_GROUP_STAT && s->rec->has_pos && f &&
		    f->kind != REEL_KIND_DIR)
			resolve_observed_size(s, ev->file, inode, s->rec->pos);
	}
	return 0;
}

/* Each member is named: gcc clears omitted members with "rep stos", which takes
 * as long as all the rest. */
static void fill(struct resolve_step *s, int64_t start_ns)
{
	const struct reel_record *rec = s->rec;
	const struct reel_call_info *info = reel_call_info(rec->call);
	const struct thread *t = &s->r->thread[s->thread];

	*s->ev = (struct reel_event){
		.start_ns = start_ns,
		.dur_ns = s->end_ns - start_ns,
		.process = s->p->is.process_id,
		.thread = t->is.thread_id,
		.file = 0,
		.file2 = 0,
		.open = 0,
		.count = rec->count > UINT32_MAX ? UINT32_MAX
						 : (uint32_t)rec->count,
		.site = 0,
		.fd = -1,
		.fd2 = -1,
		.err = rec->err,
		.call = rec->call,
		.layer = info ? (uint8_t)info->layer : REEL_LAYER_NONE,
		.group = info ? (uint8_t)info->group : REEL_GROUP_NONE,
		.kind = REEL_KIND_UNKNOWN,
		.class_ = REEL_CLASS_NONE,
		.offset = rec->has_offset ? rec->offset : REEL_NO_OFFSET,
		.asked = rec->has_size && rec->size >= 0 ? rec->size
							 : REEL_NO_SIZE,
		.result = rec->result,
		.arg = rec->has_arg ? rec->arg : 0,
		.arg2 = rec->has_arg2 ? rec->arg2 : 0,
		.pos = rec->has_pos ? rec->pos : REEL_NO_OFFSET,
	};
}

/* A stat with AT_EMPTY_PATH is an fstat(), as Rust calls it. */
static uint32_t desc_of(const struct reel_record *rec)
{
	bool stat =
		rec->call == REEL_CALL_FSTATAT || rec->call == REEL_CALL_STATX;

	return stat && rec->path && !rec->path_len ? rec->at : rec->desc;
}

/* A write inside a checkpoint span, but not to the standard streams. */
static bool writes_checkpoint(const struct resolve_step *s)
{
	const struct spans *spans = &s->r->thread[s->thread].spans;

	if (s->ev->group != REEL_GROUP_WRITE || s->ev->result <= 0 ||
	    s->ev->fd <= STDERR_FILENO)
		return false;
	for (uint32_t i = spans->n; i--;)
		if (spans->span[i].kind == REEL_SPAN_CHECKPOINT)
			return true;
	return false;
}

/*
 * A close of @d found its file renamed by a raw system call: the event is as of
 * rename(). False: a recorded rename() explains it.
 */
static bool is_unseen_rename(struct resolve_step *s, const struct desc *d)
{
	struct reel_event *ev = s->ev;

	ev->fd = -1;
	ev->open = 0;
	return !ev->file2 ||
	       file_of(s, ev->file2)->inode != ofd_of(s, d)->inode;
}

int reel_resolve(struct reel_resolver *r, int thread,
		 const struct reel_record *rec, int64_t start_ns,
		 int64_t end_ns, struct reel_event *ev, struct reel_error *err)
{
	int process = r->thread[thread].is.process;
	struct resolve_step s = {
		r, &r->process[process], rec, ev, end_ns, process, thread, err};
	uint32_t desc = desc_of(rec);
	struct desc *d = NULL;

	fill(&s, start_ns);
	if (ev->group == REEL_GROUP_MARK)
		return resolve_mark(&s);
	ev->site = r->thread[thread].site;
	r->thread[thread].site = 0;
	if (desc) {
		d = find_desc(&s, desc);
		if (!d && err->code)
			return -1;
		if (d) {
			const struct ofd *o = ofd_of(&s, d);

			ev->fd = d->fd;
			ev->open = o->row.open_id;
			ev->file = o->row.file_id;
		}
	}
	if (ev->err == EBADF && !rec->desc && !rec->newdesc && !rec->path &&
	    ev->group != REEL_GROUP_OPEN)
		ev->fd = rec->newfd;
	if ((rec->path || rec->path2) && resolve_names(&s))
		return -1;
	if (d && ev->call == REEL_CALL_RENAME && !is_unseen_rename(&s, d))
		return 0;
	if (rec->newdesc && !ev->err) {
		if (resolve_new_desc(&s, d))
			return -1;
		d = d ? descs_find(&s.p->descs, rec->desc) : NULL; /* moved */
	}
	switch (rec->counted ? REEL_GROUP_NONE : ev->group) {
	case REEL_GROUP_READ:
	case REEL_GROUP_WRITE:
		if (!resolve_transfer(&s, d))
			return 0;
		break;
	case REEL_GROUP_SEEK:
		resolve_seek(&s, d);
		break;
	case REEL_GROUP_OPEN:
		resolve_open_size(&s);
		break;
	case REEL_GROUP_NONE:
		resolve_counted(&s, d);
		resolve_counted_time(&s);
		break;
	case REEL_GROUP_CLOSE:
		if (rec->desc && ev->err != EBADF &&
		    descs_close(r, &s.p->descs, rec->desc, end_ns, err))
			return -1;
		/* fall through */
	default:
		if (apply_side_effects(&s, d))
			return -1;
	}
	if (writes_checkpoint(&s))
		files_set_saved(&r->files, ev->file);
	if (ev->file) {
		ev->kind = r->files.file[ev->file].kind;
		ev->class_ = r->files.file[ev->file].class_;
	}
	return 1;
}

uint32_t reel_resolve_files(const struct reel_resolver *r)
{
	return r->files.n;
}

void reel_resolve_file(const struct reel_resolver *r, uint32_t id,
		       struct reel_file_row *row)
{
	const struct file *f = &r->files.file[id];

	*row = (struct reel_file_row){
		.path = files_path(&r->files, id),
		.path_len = f->path_len,
		.kind = (enum reel_kind)f->kind,
		.class_ = (enum reel_class)f->class_,
		.size_bytes = f->size_max,
	};
}
