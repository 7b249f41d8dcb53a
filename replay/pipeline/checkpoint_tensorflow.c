/* SPDX-License-Identifier: MIT */
/*
 * tf.train.Checkpoint of the variables "t000000", "t000001" ... of bytes: the data
 * through a buffer of 8 MiB and stdio (tensorflow/core/util/tensor_bundle), the
 * index as a sorted table (tsl/lib/io/table), both under other names until they are
 * complete. Measured with 2.21.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/io/io.h"
#include "replay/pipeline/checkpoint_index.h"
#include "replay/pipeline/checkpoint_layout.h"
#include "replay/pipeline/stop.h"

#define BUNDLE_BUFFER (8u << 20)
#define READER_BUFFER (1u << 20)
#define STDIO_BLOCK 4096

/* --- stdio ---------------------------------------------------------------- */

struct stdio_out {
	struct checkpoint_source *s;
	int fd;
	struct reel_error *err;
	bool began; /* it has its buffer */
	size_t fill;
	uint8_t block[STDIO_BLOCK];
};

/* glibc's fwrite(): fills its buffer, writes that, then whole blocks. */
static int stdio_put(struct stdio_out *o, const uint8_t *p, size_t n)
{
	size_t room = o->began ? STDIO_BLOCK - o->fill : 0;
	size_t first = n < room ? n : room, whole;

	memcpy(o->block + o->fill, p, first);
	o->fill += first;
	p += first;
	n -= first;
	if (!n)
		return 0;
	if (o->fill && io_write_all(o->s->io, o->fd, o->block, o->fill, o->err))
		return -1;
	o->began = true;
	whole = n - n % STDIO_BLOCK;
	if (whole && io_write_all(o->s->io, o->fd, p, whole, o->err))
		return -1;
	o->fill = n - whole;
	memcpy(o->block, p + whole, o->fill);
	return 0;
}

static int stdio_end(struct stdio_out *o, bool fsync, int rc)
{
	if (!rc && o->fill)
		rc = io_write_all(o->s->io, o->fd, o->block, o->fill, o->err);
	if (!rc && fsync)
		rc = io_fsync(o->s->io, o->fd, o->err);
	if (io_close(o->s->io, o->fd, o->err))
		rc = -1;
	return rc;
}

/* --- the data ------------------------------------------------------------- */

struct bundle {
	struct stdio_out out;
	uint8_t *buffer; /* of BUNDLE_BUFFER */
	size_t fill;
};

static int bundle_flush(struct bundle *b)
{
	int rc = b->fill ? stdio_put(&b->out, b->buffer, b->fill) : 0;

	b->fill = 0;
	return rc;
}

/* @data NULL: of the piece. A buffer is written when it is full. */
static int bundle_put(struct bundle *b, const uint8_t *data, uint64_t n)
{
	uint64_t done = 0;

	while (done < n) {
		size_t room = BUNDLE_BUFFER - b->fill;
		size_t from = done % CHECKPOINT_PIECE;
		size_t len = n - done < room ? (size_t)(n - done) : room;

		if (!data && len > CHECKPOINT_PIECE - from)
			len = CHECKPOINT_PIECE - from;
		memcpy(b->buffer + b->fill,
		       data ? data + done : b->out.s->piece + from, len);
		b->fill += len;
		done += len;
		if (b->fill == BUNDLE_BUFFER && bundle_flush(b))
			return -1;
	}
	return 0;
}

/* --- files ---------------------------------------------------------------- */

struct names {
	char folder[CHECKPOINT_PATH], part[CHECKPOINT_PATH + 64];
	char data[CHECKPOINT_PATH + 64], index[CHECKPOINT_PATH + 64];
};

static void set_names(struct names *n, const char *path)
{
	snprintf(n->folder, sizeof(n->folder), "%.150s_temp", path);
	snprintf(n->part, sizeof(n->part), "%s/part-00000-of-00001", n->folder);
	snprintf(n->data, sizeof(n->data), "%s.data-00000-of-00001", path);
	snprintf(n->index, sizeof(n->index), "%s.index", path);
}

#define NAME_MOST (CHECKPOINT_PATH + 128)

static int write_data(struct checkpoint_source *s, const char *path,
		      const int64_t *bytes, int64_t n,
		      const struct index_text *graph, bool fsync,
		      struct reel_error *err)
{
	uint8_t counter[8];
	struct bundle b = {.out = {.s = s, .err = err}};
	int rc = -1;

	memcpy(counter, &s->saves, sizeof(counter));
	b.buffer = reel_alloc(BUNDLE_BUFFER, 1, err);
	if (!b.buffer)
		return -1;
	b.out.fd = io_create(s->io, path, err);
	if (b.out.fd < 0)
		goto out;
	rc = 0;
	for (int64_t i = 0; i < n && !rc; i++) {
		rc = bundle_put(&b, NULL, (uint64_t)bytes[i]);
		if (!rc && stop_signal())
			rc = 1;
	}
	if (!rc)
		rc = bundle_put(&b, counter, sizeof(counter)) ||
				     bundle_put(&b,
						(const uint8_t *)reel_buf_text(
							&graph->b),
						graph->b.len) ||
				     bundle_flush(&b)
			     ? -1
			     : 0;
	rc = stdio_end(&b.out, fsync, rc);
out:
	free(b.buffer);
	return rc;
}

/* A small file in one write. */
static int write_small(struct checkpoint_source *s, const char *path,
		       const struct index_text *t, bool fsync,
		       struct reel_error *err)
{
	struct stdio_out o = {.s = s, .err = err};

	o.fd = io_create(s->io, path, err);
	if (o.fd < 0)
		return -1;
	return stdio_end(
		&o, fsync,
		stdio_put(&o, (const uint8_t *)reel_buf_text(&t->b), t->b.len));
}

/* Read the table: its foot, where its block of entries is, and that, @times. */
static int read_index(struct checkpoint_source *s, int fd,
		      const struct tensorflow_index *x, int times,
		      struct reel_error *err)
{
	uint64_t size = x->table.b.len, foot = 48;
	uint64_t middle = x->middle + 5, data = x->data + 5;
	int rc = io_pread(s->io, fd, s->piece, foot, size - foot, err) < 0 ||
		 io_pread(s->io, fd, s->piece, middle, size - foot - middle,
			  err) < 0;

	for (int i = 0; i < times && !rc; i++)
		rc = data <= CHECKPOINT_PIECE &&
		     io_pread(s->io, fd, s->piece, data, 0, err) < 0;
	return rc ? -1 : 0;
}

/* The parts of one file become the two files of the checkpoint. */
static int merge(struct checkpoint_source *s, const struct names *n,
		 const char *data, const char *index,
		 const struct tensorflow_index *x, bool fsync,
		 struct reel_error *err)
{
	int fd, rc;

	if (io_mkdir(s->io, ".", err))
		return -1;
	io_access(s->io, index);
	fd = io_open(s->io, index, false, err);
	if (fd < 0)
		return -1;
	rc = read_index(s, fd, x, 1, err);
	if (io_close(s->io, fd, err))
		rc = -1;
	return rc || io_rename(s->io, data, n->data, err) ||
			       write_small(s, n->index, &x->table, fsync,
					   err) ||
			       io_unlink(s->io, index, err) ||
			       io_rmdir(s->io, n->folder, err)
		       ? -1
		       : 0;
}

static int write_parts(struct checkpoint_source *s, const char *path,
		       const int64_t *bytes, int64_t n,
		       const struct index_text *graph,
		       const struct tensorflow_index *x, bool fsync,
		       struct reel_error *err)
{
	char data[NAME_MOST], index[NAME_MOST], temporary[NAME_MOST + 32];
	struct names names;
	int rc;

	set_names(&names, path);
	snprintf(data, sizeof(data), "%s.data-00000-of-00001", names.part);
	snprintf(index, sizeof(index), "%s.index", names.part);
	if (io_mkdir(s->io, names.folder, err))
		return -1;
	snprintf(temporary, sizeof(temporary), "%s.tempstate1", data);
	rc = write_data(s, temporary, bytes, n, graph, fsync, err);
	if (!rc)
		rc = io_rename(s->io, temporary, data, err);
	if (!rc) {
		snprintf(temporary, sizeof(temporary), "%s.tempstate2", index);
		rc = write_small(s, temporary, &x->table, fsync, err) ||
		     io_rename(s->io, temporary, index, err) ||
		     merge(s, &names, data, index, x, fsync, err);
		rc = rc ? -1 : 0;
	}
	if (rc) {
		struct reel_error ignored = {0};

		io_unlink(s->io, temporary, &ignored);
		io_unlink(s->io, data, &ignored);
		io_unlink(s->io, index, &ignored);
		io_unlink(s->io, names.data, &ignored);
		io_unlink(s->io, names.index, &ignored);
		io_rmdir(s->io, names.folder, &ignored);
	}
	return rc;
}

int tensorflow_write(struct checkpoint_source *s, const char *path,
		     const int64_t *bytes, int64_t n, bool fsync,
		     struct reel_error *err)
{
	struct index_text graph = {.err = err}, string = {.err = err};
	struct tensorflow_index x = {.table.err = err};
	uint32_t crc;
	int rc;

	tensorflow_graph(&graph, n);
	crc = tensorflow_string(&string, &graph);
	tensorflow_index(&x, s, bytes, n, string.b.len, crc);
	rc = graph.rc || string.rc || x.table.rc
		     ? -1
		     : write_parts(s, path, bytes, n, &string, &x, fsync, err);
	reel_buf_fini(&graph.b);
	reel_buf_fini(&string.b);
	reel_buf_fini(&x.table.b);
	return rc;
}

/* --- reading -------------------------------------------------------------- */

struct window {
	uint64_t begin, end; /* bytes that the buffer of the reader has */
	uint64_t size;
};

/* Large tensors by one call to their memory, others through a buffer, which a
 * second call tries to fill where the file ends. */
static int read_tensor(struct checkpoint_source *s, int fd, struct window *w,
		       uint64_t at, uint64_t n, struct reel_error *err)
{
	uint64_t got = 0;

	for (; n > READER_BUFFER || (got && n); n -= got, at += got) {
		ssize_t one =
			io_read_repeated(s->io, fd, s->piece, CHECKPOINT_PIECE,
					 n, (int64_t)at, err);

		if (one <= 0)
			return one ? -1
				   : reel_fail(err, REEL_E_FORMAT,
					       "a checkpoint is shorter than "
					       "it was written");
		got = (uint64_t)one;
	}
	if (!n)
		return 0;
	if (at >= w->begin && at + n <= w->end)
		return 0;
	got = w->size - at < READER_BUFFER ? w->size - at : READER_BUFFER;
	if (io_pread(s->io, fd, s->piece, READER_BUFFER, at, err) < 0 ||
	    (got < READER_BUFFER &&
	     io_pread(s->io, fd, s->piece, READER_BUFFER - got, at + got, err) <
		     0))
		return -1;
	w->begin = at;
	w->end = at + got;
	return 0;
}

static int read_data(struct checkpoint_source *s, int fd, const int64_t *bytes,
		     int64_t n, uint64_t size, struct reel_error *err)
{
	struct window w = {.size = size};
	uint64_t at = 0;

	for (int64_t i = 0; i < n; i++) {
		if (read_tensor(s, fd, &w, at, (uint64_t)bytes[i], err))
			return -1;
		at += (uint64_t)bytes[i];
	}
	return read_tensor(s, fd, &w, at, 8, err);
}

int tensorflow_read(struct checkpoint_source *s, const char *path,
		    const int64_t *bytes, int64_t n, struct reel_error *err)
{
	struct index_text graph = {.err = err}, string = {.err = err};
	struct tensorflow_index x = {.table.err = err};
	struct names names;
	uint64_t at = 8;
	uint32_t crc;
	int fd[2] = {-1, -1}, rc;

	set_names(&names, path);
	tensorflow_graph(&graph, n);
	crc = tensorflow_string(&string, &graph);
	tensorflow_index(&x, s, bytes, n, string.b.len, crc);
	for (int64_t i = 0; i < n; i++)
		at += (uint64_t)bytes[i];
	rc = graph.rc || string.rc || x.table.rc ? -1 : 0;
	/* The graph first, and then the variables, with another reader. */
	for (int turn = 0; turn < 2 && !rc; turn++) {
		io_access(s->io, names.index);
		fd[0] = io_open(s->io, names.index, false, err);
		fd[1] = fd[0] < 0 ? -1 : io_open(s->io, names.data, false, err);
		rc = fd[1] < 0 || read_index(s, fd[0], &x, turn ? 1 : 3, err) ||
		     (turn ? read_data(s, fd[1], bytes, n, at + string.b.len,
				       err)
			   : string.b.len <= CHECKPOINT_PIECE &&
				      io_pread(s->io, fd[1], s->piece,
					       string.b.len, at, err) < 0);
		for (int i = 0; i < 2; i++)
			if (fd[i] >= 0 && io_close(s->io, fd[i], err))
				rc = -1;
	}
	reel_buf_fini(&graph.b);
	reel_buf_fini(&string.b);
	reel_buf_fini(&x.table.b);
	return rc ? -1 : 0;
}

int tensorflow_write_state(struct checkpoint_source *s, const char *path,
			   const char *prefix, uint64_t first, uint64_t last,
			   struct reel_error *err)
{
	struct index_text t = {.err = err};
	char temporary[NAME_MOST];
	long long now = (long long)time(NULL);
	int rc;

	t.rc = reel_buf_printf(&t.b, err, "model_checkpoint_path: \"%s%llu\"\n",
			       prefix, (unsigned long long)last);
	for (uint64_t i = first; i <= last && !t.rc; i++)
		t.rc = reel_buf_printf(&t.b, err,
				       "all_model_checkpoint_paths: "
				       "\"%s%llu\"\n",
				       prefix, (unsigned long long)i);
	for (uint64_t i = first; i <= last && !t.rc; i++)
		t.rc = reel_buf_printf(&t.b, err,
				       "all_model_checkpoint_timestamps: "
				       "%lld.0000001\n",
				       now);
	if (!t.rc)
		t.rc = reel_buf_printf(
			&t.b, err, "last_preserved_timestamp: %lld.0000001\n",
			now);
	snprintf(temporary, sizeof(temporary),
		 "%s.tmp00000000000000000000000000000000", path);
	rc = t.rc || write_small(s, temporary, &t, false, err) ||
	     io_rename(s->io, temporary, path, err);
	reel_buf_fini(&t.b);
	return rc ? -1 : 0;
}
