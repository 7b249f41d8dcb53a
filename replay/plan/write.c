/* SPDX-License-Identifier: MIT */
/*
 * Writes a plan. Records go straight to the file. Each of the smaller sections
 * is collected in an unlinked file beside it, and copied to the end.
 */
#include "replay/plan/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/error.h"

enum section {
#define NUMBER(NAME, ...) NAME,
	MORES,
	PLAN_SECTIONS(NUMBER) SECTIONS
};

static const size_t item_bytes[SECTIONS] = {
#define BYTES(NAME, at, count, items, beyond)                                  \
	[NAME] = sizeof(*((struct plan *)NULL)->items),
	[MORES] = sizeof(struct plan_more), PLAN_SECTIONS(BYTES)};

struct plan_writer {
	char *path, *tmp;
	FILE *out;
	FILE *section[SECTIONS];
	uint64_t items[SECTIONS];
	uint64_t at;		   /* in out */
	struct plan_stream stream; /* being written */
	uint32_t streams;
	uint64_t file_bytes, hole_bytes;
};

static int write_failed(struct plan_writer *w, struct reel_error *err)
{
	return reel_fail_io(err, "write plan", w->path, errno);
}

/* An unlinked file beside the plan: the kernel frees it when it is closed. */
static FILE *open_unlinked(struct plan_writer *w)
{
	char *name = NULL;
	FILE *f = NULL;
	int fd;

	if (asprintf(&name, "%s.XXXXXX", w->path) < 0)
		return NULL;
	fd = mkstemp(name);
	if (fd >= 0) {
		unlink(name);
		f = fdopen(fd, "w+b");
		if (!f)
			close(fd);
	}
	free(name);
	return f;
}

int plan_writer_new(struct plan_writer **out, const char *path,
		    struct reel_error *err)
{
	static const struct plan_head blank;
	struct plan_writer *w = reel_alloc(1, sizeof(*w), err);
	int rc = -1;

	if (!w)
		goto out;
	w->path = reel_strdup(path, err);
	if (!w->path || asprintf(&w->tmp, "%s.tmp", path) < 0)
		goto out;
	w->out = fopen(w->tmp, "wbx");
	if (!w->out || fwrite(&blank, sizeof(blank), 1, w->out) != 1) {
		write_failed(w, err);
		goto out;
	}
	w->at = sizeof(blank);
	for (int i = 0; i < SECTIONS; i++) {
		w->section[i] = open_unlinked(w);
		if (!w->section[i]) {
			write_failed(w, err);
			goto out;
		}
	}
	*out = w;
	w = NULL; /* given away */
	rc = 0;
out:
	plan_writer_free(w);
	return rc;
}

void plan_writer_free(struct plan_writer *w)
{
	if (!w)
		return;
	for (int i = 0; i < SECTIONS; i++)
		if (w->section[i])
			fclose(w->section[i]);
	if (w->out) {
		fclose(w->out);
		unlink(w->tmp);
	}
	free(w->path);
	free(w->tmp);
	free(w);
}

static int add_items(struct plan_writer *w, enum section s, const void *items,
		     size_t n, struct reel_error *err)
{
	if (n && fwrite(items, item_bytes[s], n, w->section[s]) != n)
		return write_failed(w, err);
	w->items[s] += n;
	return 0;
}

static int end_stream(struct plan_writer *w, struct reel_error *err)
{
	if (w->streams == w->items[STREAMS])
		return 0;
	w->stream.mores = w->items[MORES] - w->stream.more_at;
	return add_items(w, STREAMS, &w->stream, 1, err);
}

int plan_writer_stream(struct plan_writer *w, const struct plan_stream *s,
		       struct reel_error *err)
{
	if (end_stream(w, err))
		return -1;
	w->streams++;
	w->stream = *s;
	w->stream.records_at = w->at;
	w->stream.records = 0;
	w->stream.more_at = w->items[MORES]; /* an index until the end */
	w->stream.most_read = w->stream.most_written = 0;
	w->stream.calls = 0;
	return 0;
}

static void need_buffer(struct plan_stream *s, const struct plan_record *r)
{
	uint64_t *most = plan_is_write(r) ? &s->most_written : &s->most_read;

	if (plan_needs_buffer(r) && (uint64_t)r->size > *most)
		*most = (uint64_t)r->size;
	/* Newlines need memory of the thread's own. */
	if (plan_is_write(r) && r->flags & PLAN_F_LINES &&
	    *most <= PLAN_SHARED_BYTES)
		*most = PLAN_SHARED_BYTES + 1;
}

int plan_writer_record(struct plan_writer *w, const struct plan_record *r,
		       const struct plan_more *more, struct reel_error *err)
{
	if (fwrite(r, sizeof(*r), 1, w->out) != 1)
		return write_failed(w, err);
	w->at += sizeof(*r);
	w->stream.records++;
	w->stream.calls += plan_counts(r);
	need_buffer(&w->stream, r);
	return r->flags & PLAN_F_MORE ? add_items(w, MORES, more, 1, err) : 0;
}

int plan_writer_process(struct plan_writer *w, const struct plan_process *p,
			struct reel_error *err)
{
	return add_items(w, PROCESSES, p, 1, err);
}

int plan_writer_edge(struct plan_writer *w, const struct plan_edge *e,
		     uint32_t *index, struct reel_error *err)
{
	*index = (uint32_t)w->items[EDGES];
	if (w->items[EDGES] >= UINT32_MAX)
		return reel_fail(err, REEL_E_LIMIT, "too many edges");
	return add_items(w, EDGES, e, 1, err);
}

int plan_writer_line(struct plan_writer *w, int64_t at, uint32_t *index,
		     struct reel_error *err)
{
	*index = (uint32_t)w->items[LINES];
	if (w->items[LINES] >= UINT32_MAX)
		return reel_fail(err, REEL_E_LIMIT, "too many lines");
	return add_items(w, LINES, &at, 1, err);
}

int plan_writer_name(struct plan_writer *w, const char *name, size_t bytes,
		     uint32_t *index, struct reel_error *err)
{
	uint64_t at = w->items[TEXT];

	*index = (uint32_t)w->items[NAMES];
	if (w->items[NAMES] >= UINT32_MAX - 1 || bytes >= 4096)
		return reel_fail(err, REEL_E_LIMIT, "too many names");
	return add_items(w, NAMES, &at, 1, err) ||
			       add_items(w, TEXT, name, bytes, err) ||
			       add_items(w, TEXT, "", 1, err)
		       ? -1
		       : 0;
}

int plan_writer_holes(struct plan_writer *w, struct plan_file *f,
		      const struct plan_hole *hole, uint32_t n,
		      struct reel_error *err)
{
	if (w->items[HOLES] + n > UINT32_MAX)
		return reel_fail(err, REEL_E_LIMIT, "too many holes");
	f->hole = (uint32_t)w->items[HOLES];
	f->holes = n;
	for (uint32_t i = 0; i < n; i++)
		w->hole_bytes += (uint64_t)hole[i].bytes;
	return add_items(w, HOLES, hole, n, err);
}

int plan_writer_file(struct plan_writer *w, struct plan_file *f,
		     const int64_t *line, struct reel_error *err)
{
	f->line = (uint32_t)w->items[LINES];
	if (f->size_bytes < 0 ||
	    (uint64_t)f->size_bytes > INT64_MAX - w->file_bytes)
		return reel_fail(err, REEL_E_FORMAT,
				 "cannot replay: the sizes of the files are "
				 "not possible");
	w->file_bytes += (uint64_t)f->size_bytes;
	return add_items(w, LINES, line, f->lines, err) ||
			       add_items(w, FILES, f, 1, err)
		       ? -1
		       : 0;
}

int plan_writer_objects(struct plan_writer *w, const struct plan_object *o,
			uint32_t n, const struct plan_pipe *p, uint32_t pipes,
			struct reel_error *err)
{
	return add_items(w, OBJECTS, o, n, err) ||
			       add_items(w, PIPES, p, pipes, err)
		       ? -1
		       : 0;
}

/* Copy a section to the end of the file, at a multiple of 8. */
static int append_section(struct plan_writer *w, enum section s, uint64_t *at,
			  struct reel_error *err)
{
	static const char zeros[8];
	char buf[65536];
	size_t pad = (8 - w->at % 8) % 8, n;

	if (pad && fwrite(zeros, 1, pad, w->out) != pad)
		return write_failed(w, err);
	w->at += pad;
	*at = w->at;
	if (fflush(w->section[s]) || fseeko(w->section[s], 0, SEEK_SET))
		return write_failed(w, err);
	while ((n = fread(buf, 1, sizeof(buf), w->section[s])) > 0) {
		if (fwrite(buf, 1, n, w->out) != n)
			return write_failed(w, err);
		w->at += n;
	}
	return ferror(w->section[s]) ? write_failed(w, err) : 0;
}

/* Turn the streams' indices of mores into offsets. */
static int fix_streams(struct plan_writer *w, uint64_t more_at,
		       struct reel_error *err)
{
	FILE *f = w->section[STREAMS];

	for (uint64_t i = 0; i < w->items[STREAMS]; i++) {
		struct plan_stream s;
		off_t at = (off_t)(i * sizeof(s));

		if (fseeko(f, at, SEEK_SET) || fread(&s, sizeof(s), 1, f) != 1)
			return write_failed(w, err);
		s.more_at = more_at + s.more_at * sizeof(struct plan_more);
		if (fseeko(f, at, SEEK_SET) || fwrite(&s, sizeof(s), 1, f) != 1)
			return write_failed(w, err);
	}
	return 0;
}

static int append_all(struct plan_writer *w, struct plan_head *h,
		      struct reel_error *err)
{
	uint64_t more_at = 0, text_end = w->items[TEXT];

	if (end_stream(w, err) || add_items(w, NAMES, &text_end, 1, err) ||
	    append_section(w, MORES, &more_at, err) ||
	    fix_streams(w, more_at, err))
		return -1;
#define APPEND(NAME, at, count, items_, beyond)                                \
	if (append_section(w, NAME, &h->at, err))                              \
		return -1;                                                     \
	h->count = (typeof(h->count))(w->items[NAME] - beyond);
	PLAN_SECTIONS(APPEND)
	h->file_total_bytes = w->file_bytes;
	h->hole_total_bytes = w->hole_bytes;
	return 0;
}

int plan_writer_finish(struct plan_writer *w, const struct plan_head *head,
		       struct reel_error *err)
{
	struct plan_head h = *head;
	FILE *f = w->out;

	h.magic = PLAN_MAGIC;
	h.version = PLAN_VERSION;
	h.head_bytes = sizeof(h);
	if (append_all(w, &h, err))
		return -1;
	h.file_bytes = w->at;
	if (fseeko(f, 0, SEEK_SET) || fwrite(&h, sizeof(h), 1, f) != 1)
		return write_failed(w, err);
	w->out = NULL;
	if (fclose(f) || rename(w->tmp, w->path)) {
		write_failed(w, err);
		unlink(w->tmp);
		return -1;
	}
	return 0;
}
