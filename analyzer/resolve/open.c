/* SPDX-License-Identifier: MIT */
/* New descriptors: the kind of the file, the OFD, the size of the file. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/calls.h"

#include "analyzer/resolve/internal.h"

int resolve_temporary(struct resolve_step *s, const char *dir)
{
	char full[REEL_PATH_ROOM];
	int n = dir ? snprintf(full, sizeof(full), "%.*s/#%u", REEL_PATH_BYTES,
			       strcmp(dir, "/") ? dir : "",
			       s->r->ofds.last_id + 1)
		    : snprintf(full, sizeof(full), "tmpfile:[%u]",
			       s->r->ofds.last_id + 1);

	s->ev->file = files_intern(&s->r->files, full, (size_t)n, s->err);
	return s->ev->file ? 0 : -1;
}

static enum reel_kind kind_of_open(const struct reel_record *rec,
				   const char *path)
{
	if ((rec->has_arg && rec->arg & O_DIRECTORY) ||
	    rec->call == REEL_CALL_OPENDIR)
		return REEL_KIND_DIR;
	if (rec->call == REEL_CALL_MEMFD_CREATE ||
	    rec->call == REEL_CALL_SHM_OPEN)
		return REEL_KIND_MEMORY;
	if (!strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9))
		return REEL_KIND_DEVICE;
	return REEL_KIND_FILE;
}

/* The position of a new stream: libc seeks to the end for mode "a". */
static int64_t stream_start(const struct reel_record *rec, enum reel_kind kind)
{
	if (kind != REEL_KIND_FILE)
		return POS_UNKNOWN;
	if (rec->has_arg && rec->arg & O_APPEND &&
	    (rec->arg & O_ACCMODE) == O_WRONLY)
		return rec->has_pos ? rec->pos : POS_UNKNOWN;
	return 0;
}

/* The call opened a file: a new OFD. */
static int new_ofd(struct resolve_step *s)
{
	const struct reel_record *rec = s->rec;
	int64_t flags = rec->has_arg ? rec->arg : -1;
	struct files *files = &s->r->files;
	struct reel_open_row row = {0};
	struct desc *d;
	uint32_t i, kind;

	if (!s->ev->file && resolve_temporary(s, NULL))
		return -1;
	if (flags >= 0 && (flags & O_TMPFILE) == O_TMPFILE) {
		char dir[REEL_PATH_ROOM];

		snprintf(dir, sizeof(dir), "%s",
			 files_path(files, s->ev->file));
		if (resolve_temporary(s, dir))
			return -1;
		flags &= ~(int64_t)O_DIRECTORY;
	}
	kind = flags >= 0 && rec->arg != flags
		       ? REEL_KIND_FILE
		       : kind_of_open(rec, files_path(files, s->ev->file));
	if (file_of(s, s->ev->file)->kind == REEL_KIND_UNKNOWN ||
	    kind != REEL_KIND_FILE)
		files_set_kind(files, s->ev->file, kind);
	if (rec->call == REEL_CALL_MEMFD_CREATE &&
	    files_unlinked(files, s->ev->file, s->err)) /* a new inode */
		return -1;
	kind = file_of(s, s->ev->file)->kind;
	if (flags >= 0 && flags & (O_CREAT | O_TRUNC) &&
	    (flags & O_ACCMODE) != O_RDONLY)
		files_set_written(files, s->ev->file);
	row = (struct reel_open_row){
		.file_id = s->ev->file,
		.process_id = s->ev->process,
		.fd = rec->newfd,
		.flags = rec->has_arg ? rec->arg : -1,
		.open_ns = s->ev->start_ns,
		.close_ns = NO_NS,
	};
	i = ofds_new(&s->r->ofds, &row, s->err);
	if (!i)
		return -1;
	s->r->ofds.ofd[i].append = flags >= 0 && flags & O_APPEND;
	s->r->ofds.ofd[i].inode = file_of(s, s->ev->file)->inode;
	files_set_was_opened(files, s->ev->file);
	if (kind == REEL_KIND_FILE || kind == REEL_KIND_MEMORY)
		s->r->ofds.ofd[i].pos = 0;
	s->ev->open = s->r->ofds.ofd[i].row.open_id;
	s->ev->fd = rec->newfd;
	d = descs_add(s->r, &s->p->descs, rec->newdesc, rec->newfd, i,
		      s->end_ns, s->err);
	if (!d)
		return -1;
	if (s->ev->layer == REEL_LAYER_STDIO)
		d->stream_pos = stream_start(rec, kind);
	return 0;
}

void resolve_open_size(struct resolve_step *s)
{
	const struct reel_record *rec = s->rec;
	struct file *f;

	if (!s->ev->file || s->ev->err)
		return;
	f = file_of(s, s->ev->file);
	if (f->kind != REEL_KIND_FILE && f->kind != REEL_KIND_MEMORY)
		return;
	if (rec->has_pos && !s->p->is.marks_sizes)
		resolve_observed_size(s, s->ev->file, f->inode, rec->pos);
	else if (rec->call == REEL_CALL_MEMFD_CREATE)
		files_set_size(&s->r->files, s->ev->file, f->inode, 0);
	else if (rec->has_arg && (rec->arg & O_ACCMODE) != O_RDONLY &&
		 (rec->arg & O_TRUNC || (rec->arg & O_TMPFILE) == O_TMPFILE ||
		  (rec->arg & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)))
		files_set_size(&s->r->files, s->ev->file, f->inode, 0);
}

int resolve_new_desc(struct resolve_step *s, struct desc *from)
{
	const struct reel_record *rec = s->rec;
	uint32_t open;

	if (!from || s->ev->group == REEL_GROUP_OPEN)
		return new_ofd(s);
	open = from->open;
	s->ev->fd2 = rec->newfd;
	return descs_add(s->r, &s->p->descs, rec->newdesc, rec->newfd, open,
			 s->end_ns, s->err)
		       ? 0
		       : -1;
}
