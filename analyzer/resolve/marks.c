/* SPDX-License-Identifier: MIT */
/* Marks: records of the shim that are no calls (trace_format.h, "MARKS"). */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/calls.h"

#include "analyzer/resolve/internal.h"

/*
 * A file of O_TMPFILE has no name: its opener knows the directory, and an image
 * that inherited it knows the inode number. 0: the job did not make it.
 */
static uint32_t temporary_file(struct resolve_step *s, const char *path,
			       size_t n, struct fd_mark *m)
{
	const struct inherited_fds *h = &s->p->inherited;
	size_t dir = n;

	while (dir && path[dir - 1] != '/')
		dir--;
	for (uint32_t i = 0; dir && path[dir] == '#' && i < h->n; i++) {
		const struct reel_open_row *row =
			&s->r->ofds.ofd[h->item[i].open].row;

		if (row->flags < 0 || (row->flags & O_TMPFILE) != O_TMPFILE ||
		    strncmp(files_path(&s->r->files, row->file_id), path,
			    dir + 1))
			continue;
		m->file = row->file_id;
		if (inherited_find(s->r, s->p, m))
			return m->file;
	}
	return 0;
}

/*
 * The file of a mark with path @path. The kernel adds " (deleted)" to the path
 * of an unlinked file; the job may have recorded it under its name.
 */
static uint32_t marked_file(struct resolve_step *s, const char *path, size_t n,
			    struct fd_mark *m)
{
	static const char lost[] = " (deleted)";
	const size_t tail = sizeof(lost) - 1;

	if (n > tail && !memcmp(path + n - tail, lost, tail)) {
		m->file = files_find(&s->r->files, path, n - tail);
		if (m->file && inherited_find(s->r, s->p, m))
			return m->file;
		if (temporary_file(s, path, n - tail, m))
			return m->file;
	}
	return files_intern(&s->r->files, path, n, s->err);
}

static struct fd_mark mark_of(const struct reel_record *rec,
			      enum reel_kind kind)
{
	struct fd_mark m = {
		.fd = rec->newfd,
		.flags = rec->has_arg2 ? rec->arg2 : -1,
		.pos = POS_UNKNOWN,
	};

	if (kind == REEL_KIND_FILE && rec->has_pos && rec->pos >= 0)
		m.pos = rec->pos;
	return m;
}

/* The OFD of a mark: a known one, or a new one. */
static uint32_t marked_ofd(struct resolve_step *s, uint32_t file,
			   enum reel_kind kind)
{
	struct fd_mark m = mark_of(s->rec, kind);
	struct reel_open_row row = {
		.file_id = file,
		.process_id = s->ev->process,
		.fd = m.fd,
		.flags = m.flags,
		.open_ns = NO_NS,
		.close_ns = NO_NS,
	};
	struct ofds *ofds = &s->r->ofds;
	uint32_t i;

	m.file = file;
	i = inherited_find(s->r, s->p, &m);
	if (!i) {
		i = ofds_new(ofds, &row, s->err);
		if (!i ||
		    inherited_add(s->r, &s->r->initial_fds, m.fd, i, s->err))
			return 0;
		ofds->ofd[i].append = m.flags >= 0 && m.flags & O_APPEND;
		ofds->ofd[i].inode = file_of(s, file)->inode;
		if (m.fd == STDERR_FILENO)
			files_set_errors(&s->r->files, file);
		files_set_was_opened(&s->r->files, file);
	}
	resolve_observed_pos(s, &ofds->ofd[i], m.pos);
	return i;
}

static int mark_desc(struct resolve_step *s)
{
	const struct reel_record *rec = s->rec;
	char full[REEL_PATH_ROOM];
	uint32_t file, i;
	enum reel_kind kind =
		rec->has_arg && rec->arg > 0 && rec->arg <= REEL_KIND_OTHER
			? (enum reel_kind)rec->arg
			: REEL_KIND_UNKNOWN;

	if (!rec->newdesc)
		return 0;
	if (!rec->path_len) {
		if (resolve_temporary(s, NULL))
			return -1;
		file = s->ev->file;
	} else {
		/* "pipe:[123]" stays as it is: a mark is never relative */
		size_t n = reel_path_resolve(full, NULL, 0, rec->path,
					     rec->path_len, s->r->root,
					     s->r->root_len);
		struct fd_mark m = mark_of(rec, kind);

		if (!n)
			return 0;
		file = marked_file(s, full, n, &m);
		if (!file)
			return -1;
	}
	files_set_kind(&s->r->files, file, kind);
	i = marked_ofd(s, file, kind);
	if (!i)
		return -1;
	return descs_add(s->r, &s->p->descs, rec->newdesc, rec->newfd, i,
			 s->end_ns, s->err)
		       ? 0
		       : -1;
}

static int mark_note(struct resolve_step *s)
{
	const char *text = s->rec->path;
	const char *equal = text ? strchr(text, '=') : NULL;
	char key[256];

	if (!equal || (size_t)(equal - text) >= sizeof(key))
		return 0;
	memcpy(key, text, (size_t)(equal - text));
	key[equal - text] = '\0';
	return s->r->sink.note(s->r->sink.arg, s->ev->process, s->ev->thread,
			       key, equal + 1, s->err);
}

static int mark_size(struct resolve_step *s)
{
	const struct desc *d = descs_find(&s->p->descs, s->rec->desc);

	if (d && s->rec->has_pos)
		resolve_observed_size(s, ofd_of(s, d)->row.file_id,
				      ofd_of(s, d)->inode, s->rec->pos);
	return 0;
}

int resolve_mark(struct resolve_step *s)
{
	struct spans *spans = &s->r->thread[s->thread].spans;

	switch (s->rec->call) {
	case REEL_MARK_DESC:
		return mark_desc(s);
	case REEL_MARK_CWD:
		return s->rec->path ? resolve_set_cwd(s->r, s->p, s->rec->path,
						      s->rec->path_len, s->err)
				    : 0;
	case REEL_MARK_SPAN_BEGIN:
		return spans_begin(s->r, spans, s->rec, s->ev->start_ns,
				   s->err);
	case REEL_MARK_SPAN_END:
	case REEL_MARK_SPAN_CANCEL:
		return spans_end(s->r, spans, s->thread, s->rec,
				 s->ev->start_ns,
				 s->rec->call == REEL_MARK_SPAN_CANCEL, s->err);
	case REEL_MARK_NOTE:
		return mark_note(s);
	case REEL_MARK_SITE:
		return sites_mark(s->r, (uint32_t)s->process, s->rec,
				  &s->r->thread[s->thread].site, s->err);
	case REEL_MARK_SIZE:
		return mark_size(s);
	case REEL_MARK_COUNTED:
		return resolve_interval(s);
	default:
		return 0;
	}
}
