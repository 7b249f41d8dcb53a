/* SPDX-License-Identifier: MIT */
/* The files that a call names, and what it does to them: kinds, sizes, names. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/path.h"

#include "analyzer/resolve/internal.h"

/* The file_id of @path; 0: none, or (with s->err) no memory. */
static uint32_t file_of_path(struct resolve_step *s, const char *path,
			     size_t len, uint32_t at)
{
	char full[REEL_PATH_ROOM];
	const char *base = s->p->cwd;
	size_t base_len = s->p->cwd_len, n;
	struct desc *d = at ? resolve_find_desc(s, at) : NULL;

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

int resolve_names(struct resolve_step *s)
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
int resolve_side_effects(struct resolve_step *s, struct desc *d)
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
