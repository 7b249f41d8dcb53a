/* SPDX-License-Identifier: MIT */
/*
 * torch.save() of a dictionary of tensors "t0", "t1" ... of bytes, and torch.load().
 * The zip file is that of caffe2/serialize/inline_container.cc with miniz; calls are
 * those of its std::ofstream (libstdc++: a buffer of 8191 bytes, and more than its room
 * with the buffer in one writev; up to libstdc++ 12 from 1024 on) and of Python's
 * BufferedReader. Measured with 1.13, 2.6 and 2.13.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/io/io.h"
#include "replay/pipeline/checkpoint_layout.h"
#include "replay/pipeline/checkpoint_pickle.h"
#include "replay/pipeline/stop.h"
#include "replay/workload/workload.h"

#define STREAM_BUFFER 8191
#define STREAM_DIRECT 1024
#define READER_BUFFER 4096
#define ALIGNMENT 64
#define LOCAL_HEAD 30
#define ENTRY_BYTES 46 /* of the directory: without the name */
#define U32_MOST 0xffffffffull
#define ID_DIGITS 40
#define END_BYTES (56 + 20 + 22)
#define COMMENT_MOST 65535

/* Where the parts of the file are: the reader goes by it, as by the directory. */
struct torch_map {
	char archive[CHECKPOINT_PATH];
	uint64_t pickle, format_version, version, serialization_id, directory;
	uint64_t pickle_bytes, directory_bytes;
	uint64_t *tensor; /* NULL: not wanted */
};

struct torch_out {
	struct checkpoint_source *s;
	int fd;
	bool dry; /* only compute the map */
	struct reel_error *err;
	uint8_t buffer[STREAM_BUFFER];
	size_t fill;
	uint64_t at;
	uint64_t entries;
	/* A dry run counts its writes, and those equal to the first of @expect. */
	uint32_t writes, equal;
	const int64_t *expect;
	uint32_t expect_n;
	const struct torch_form *form;
	struct reel_buf directory;
	size_t last; /* where the last entry of the directory begins */
	struct torch_map map;
};

/* --- the stream ----------------------------------------------------------- */

/* The write that a dry run does not make. */
static int count_write(struct torch_out *o, uint64_t n)
{
	uint32_t i = o->writes++;

	if (i < o->expect_n && o->equal == i && o->expect[i] == (int64_t)n)
		o->equal++;
	o->fill = 0;
	return 0;
}

/* @data NULL: of the piece. */
static int put(struct torch_out *o, const void *data, uint64_t n)
{
	size_t direct = STREAM_BUFFER - o->fill;
	int rc;

	if (o->form->stream == WORKLOAD_STREAM_12 && direct > STREAM_DIRECT)
		direct = STREAM_DIRECT;
	o->at += n;
	if (n < direct) {
		if (!o->dry)
			memcpy(o->buffer + o->fill, data ? data : o->s->piece,
			       (size_t)n);
		o->fill += (size_t)n;
		return 0;
	}
	if (o->dry)
		return count_write(o, o->fill + n);
	rc = io_write_repeated(o->s->io, o->fd, o->buffer, o->fill,
			       data ? data : o->s->piece,
			       data ? (size_t)n : CHECKPOINT_PIECE, n, o->err);
	o->fill = 0;
	return rc;
}

static void set16(uint8_t *p, uint64_t v)
{
	put_little(p, v, 2);
}

static void set32(uint8_t *p, uint64_t v)
{
	put_little(p, v, 4);
}

static void set64(uint8_t *p, uint64_t v)
{
	put_little(p, v, 8);
}

/* --- records -------------------------------------------------------------- */

static uint32_t piece_crc(struct checkpoint_source *s, uint64_t n)
{
	uint32_t crc = 0;

	if (s->crc_bytes == (int64_t)n)
		return s->crc;
	if (n >= CHECKPOINT_PIECE && !s->piece_crc)
		s->piece_crc = (uint32_t)crc32(0, s->piece, CHECKPOINT_PIECE);
	s->crc_bytes = (int64_t)n;
	for (; n >= CHECKPOINT_PIECE; n -= CHECKPOINT_PIECE)
		crc = (uint32_t)crc32_combine(crc, s->piece_crc,
					      CHECKPOINT_PIECE);
	s->crc = (uint32_t)crc32_combine(
		crc, crc32(0, s->piece, (unsigned int)n), (long)n);
	return s->crc;
}

/* The zip64 field: both sizes when they are large, the offset when it is. */
static size_t zip64_field(uint8_t to[32], uint64_t size, uint64_t offset)
{
	size_t n = 4;

	if (size < U32_MOST && offset < U32_MOST)
		return 0;
	if (size >= U32_MOST) {
		set64(to + n, size);
		set64(to + n + 8, size);
		n += 16;
	}
	if (offset >= U32_MOST) {
		set64(to + n, offset);
		n += 8;
	}
	set16(to, 1);
	set16(to + 2, n - 4);
	return n;
}

/* A field of padding, so that the data are aligned. @fixed: bytes before it. */
static size_t padding_field(uint8_t to[4 + ALIGNMENT], uint64_t fixed)
{
	uint64_t begin = fixed + 4;
	size_t n = (ALIGNMENT - begin % ALIGNMENT) % ALIGNMENT;

	memcpy(to, "FB", 2);
	set16(to + 2, n);
	memset(to + 4, 'Z', n);
	return n + 4;
}

static int put_directory(struct torch_out *o, const char *name, size_t len,
			 uint32_t crc, uint64_t n, uint64_t offset)
{
	uint8_t head[ENTRY_BYTES] = {'P', 'K', 1, 2}, extra[32];
	size_t extra_n = zip64_field(extra, n, offset);

	set16(head + 8, 0x0808);
	set32(head + 16, crc);
	set32(head + 20, n < U32_MOST ? n : U32_MOST);
	set32(head + 24, n < U32_MOST ? n : U32_MOST);
	set16(head + 28, len);
	set16(head + 30, extra_n);
	set32(head + 42, offset < U32_MOST ? offset : U32_MOST);
	o->entries++;
	o->last = o->directory.len;
	return reel_buf_add(&o->directory, head, sizeof(head), o->err) ||
	       reel_buf_add(&o->directory, name, len, o->err) ||
	       reel_buf_add(&o->directory, extra, extra_n, o->err);
}

/* @data NULL: of the piece. *@offset: of the local header. */
static int put_record(struct torch_out *o, const char *record, const void *data,
		      uint64_t n, uint64_t *offset)
{
	uint8_t head[LOCAL_HEAD] = {'P', 'K', 3, 4}, extra[32];
	uint8_t padding[4 + ALIGNMENT], end[24] = {'P', 'K', 7, 8};
	char name[CHECKPOINT_PATH + 64];
	size_t len = (size_t)snprintf(name, sizeof(name), "%s/%s",
				      o->map.archive, record);
	uint64_t begin = o->at;
	size_t extra_n = zip64_field(extra, n, begin);
	size_t padding_n =
		padding_field(padding, begin + LOCAL_HEAD + len + extra_n);
	uint32_t crc = o->dry ? 0
		       : data ? (uint32_t)crc32(0, data, (unsigned int)n)
			      : piece_crc(o->s, n);

	if (offset)
		*offset = begin;
	set16(head + 6, 0x0808);
	set16(head + 26, len);
	set16(head + 28, extra_n + padding_n);
	set32(end + 4, crc);
	set32(end + 8, n);
	set32(end + 12, n);
	if (extra_n) {
		set64(end + 8, n);
		set64(end + 16, n);
	}
	return put(o, head, sizeof(head)) || put(o, name, len) ||
	       (extra_n && put(o, extra, extra_n)) ||
	       put(o, padding, padding_n) || put(o, data, n) ||
	       put(o, end, extra_n ? 24 : 16) ||
	       put_directory(o, name, len, crc, n, begin);
}

/* --- the file ------------------------------------------------------------- */

/* The name without its folder and its last ending, where the form has none. */
static void set_archive(struct torch_map *m, const struct torch_form *form,
			const char *path)
{
	const char *name = strrchr(path, '/'), *dot;

	if (form->archive && form->archive[0]) {
		snprintf(m->archive, sizeof(m->archive), "%s", form->archive);
		return;
	}
	name = name ? name + 1 : path;
	dot = strrchr(name, '.');
	snprintf(m->archive, sizeof(m->archive), "%.*s",
		 (int)(dot ? dot - name : (long)strlen(name)), name);
}

/* Pad the directory by the comment of its last entry. */
static int pad_directory(struct torch_out *o)
{
	uint64_t least = (uint64_t)o->form->directory_bytes, n;

	if (o->directory.len >= least)
		return 0;
	n = least - o->directory.len;
	n = n < COMMENT_MOST ? n : COMMENT_MOST;
	set16((uint8_t *)o->directory.data + o->last + 32, n);
	while (n--)
		if (reel_buf_add(&o->directory, " ", 1, o->err))
			return -1;
	return 0;
}

static int put_end(struct torch_out *o)
{
	uint8_t end[END_BYTES] = {'P', 'K', 6, 6};
	uint64_t few = o->entries < 0xffff ? o->entries : 0xffff;
	uint64_t size, at = o->at, records;

	if (pad_directory(o))
		return -1;
	size = o->directory.len;
	records = at + size;
	o->map.directory = at;
	o->map.directory_bytes = size;
	set64(end + 4, 44);
	set16(end + 12, 0x031e);
	set16(end + 14, 45);
	set64(end + 24, o->entries);
	set64(end + 32, o->entries);
	set64(end + 40, size);
	set64(end + 48, at);
	memcpy(end + 56, "PK\6\7", 4);
	set64(end + 64, records);
	set32(end + 72, 1);
	memcpy(end + 76, "PK\5\6", 4);
	set16(end + 84, few);
	set16(end + 86, few);
	set32(end + 88, size < U32_MOST ? size : U32_MOST);
	set32(end + 92, at < U32_MOST ? at : U32_MOST);
	return put(o, reel_buf_text(&o->directory), size) || put(o, end, 56) ||
	       put(o, end + 56, 20) || put(o, end + 76, 22);
}

/* The tensor of @n whose record follows that of @i, but for the last: before 2.7 by
 * its number as text (0, 1, 10, 100, 101 ... 11, 110 ...). */
static int64_t next_tensor(const struct torch_out *o, int64_t i, int64_t n)
{
	if (o->form->release == WORKLOAD_TORCH_2_7 || !i)
		return i + 1;
	if (i * 10 < n)
		return i * 10;
	while (i % 10 == 9 || i + 1 >= n)
		i /= 10;
	return i + 1;
}

static int put_tensors(struct torch_out *o, const int64_t *bytes, int64_t n)
{
	for (int64_t done = 0, i = 0; done < n;) {
		char record[32];

		snprintf(record, sizeof(record), "data/%lld", (long long)i);
		if (put_record(o, record, NULL, (uint64_t)bytes[i],
			       o->map.tensor ? &o->map.tensor[i] : NULL))
			return -1;
		if (!o->dry && stop_signal())
			return 1;
		if (++done < n)
			i = next_tensor(o, i, n);
	}
	return 0;
}

static int put_head(struct torch_out *o, const int64_t *bytes, int64_t n)
{
	struct reel_buf p = REEL_BUF_INIT;
	int rc = torch_pickle(&p, bytes, n, o->form->pickle_bytes, o->err);

	o->map.pickle_bytes = p.len;
	if (!rc)
		rc = put_record(o, "data.pkl", reel_buf_text(&p), p.len,
				&o->map.pickle);
	if (!rc && o->form->release == WORKLOAD_TORCH_2_7)
		rc = put_record(o, ".format_version", "1", 1,
				&o->map.format_version) ||
		     put_record(o, ".storage_alignment", "64", 2, NULL);
	if (!rc && o->form->release != WORKLOAD_TORCH_1_6)
		rc = put_record(o, "byteorder", "little", 6, NULL);
	reel_buf_fini(&p);
	return rc ? -1 : 0;
}

static int put_last_records(struct torch_out *o, int64_t n)
{
	char id[ID_DIGITS + 1];

	snprintf(id, sizeof(id), "%040llu",
		 (unsigned long long)n * 2654435761u);
	return put_record(o, "version", "3\n", 2, &o->map.version) ||
			       (o->form->release != WORKLOAD_TORCH_1_6 &&
				put_record(o, ".data/serialization_id", id,
					   ID_DIGITS, &o->map.serialization_id))
		       ? -1
		       : 0;
}

static int put_tail(struct torch_out *o, int64_t n)
{
	if (put_last_records(o, n) || put_end(o))
		return -1;
	if (o->dry)
		return o->fill ? count_write(o, o->fill) : 0;
	return o->fill ? io_write_all(o->s->io, o->fd, o->buffer, o->fill,
				      o->err)
		       : 0;
}

/* 0, 1 (a signal), or -1. */
static int put_all(struct torch_out *o, const int64_t *bytes, int64_t n)
{
	int rc = put_head(o, bytes, n);

	if (!rc)
		rc = put_tensors(o, bytes, n);
	return rc ? rc : put_tail(o, n);
}

int torch_write(struct checkpoint_source *s, const char *path,
		const struct torch_form *form, const int64_t *bytes, int64_t n,
		bool fsync, struct reel_error *err)
{
	struct torch_out o = {.s = s, .form = form, .err = err};
	int rc;

	set_archive(&o.map, form, path);
	o.fd = io_create(s->io, path, err);
	if (o.fd < 0)
		return -1;
	rc = put_all(&o, bytes, n);
	if (!rc && fsync)
		rc = io_fsync(s->io, o.fd, err);
	if (io_close(s->io, o.fd, err))
		rc = -1;
	reel_buf_fini(&o.directory);
	return rc;
}

/* --- from writes ---------------------------------------------------------- */

/* The bytes of a record @record whose data end where the file has @end bytes;
 * negative where it would begin behind that. */
static int64_t record_bytes(const struct torch_out *o, const char *record,
			    uint64_t end)
{
	uint8_t unused[4 + ALIGNMENT];
	uint64_t begin = o->at + LOCAL_HEAD + strlen(o->map.archive) + 1 +
			 strlen(record);

	begin += zip64_field(unused, end > begin ? end - begin : 0, o->at);
	begin += padding_field(unused, begin);
	return (int64_t)(end - begin);
}

/* Writes of a recording, and the tensors that they may be. */
struct undo {
	struct torch_form *form;
	const int64_t *write;
	uint32_t n;
	const int64_t *about; /* sizes as long in the pickle as the tensors' */
	int64_t *tensor, tensors;
	struct reel_error *err;
};

static void begin_dry(struct torch_out *o, const struct undo *u)
{
	*o = (struct torch_out){.form = u->form, .dry = true, .err = u->err};
	set_archive(&o->map, u->form, "");
}

/* Does the first write hold the pickle? Small pickles share it with a tensor. */
static int first_is_pickle(const struct undo *u, bool *out)
{
	struct torch_out head;
	int rc;

	begin_dry(&head, u);
	rc = put_head(&head, u->about, u->tensors);
	*out = head.writes ||
	       record_bytes(&head, "data/0", (uint64_t)u->write[0]) <
		       STREAM_DIRECT;
	reel_buf_fini(&head.directory);
	return rc;
}

/* The tensors that end where large writes do, from @write[0] on, of which the file
 * has @end bytes before. 0; 1: there are others between. */
static int tensors_that_end(struct torch_out *o, const int64_t *write,
			    uint64_t end, int64_t *tensor, int64_t n)
{
	for (int64_t done = 0, i = 0; done < n;) {
		char record[32];

		snprintf(record, sizeof(record), "data/%lld", (long long)i);
		end += (uint64_t)write[done];
		tensor[i] = record_bytes(o, record, end);
		if (tensor[i] < 1)
			return 1;
		if (put_record(o, record, NULL, (uint64_t)tensor[i], NULL))
			return -1;
		if (++done < n)
			i = next_tensor(o, i, n);
	}
	return 0;
}

/* Writes of the pickle, of the tensors, and the rest: all of the end, or a part. */
static int undo_writes(struct torch_out *o, struct undo *u)
{
	uint32_t rest = u->n > 1 && u->write[u->n - 1] <= END_BYTES ? 2 : 1;
	uint64_t size = 0;
	bool pickle;
	int rc;

	for (uint32_t i = 0; i < u->n; i++)
		size += (uint64_t)u->write[i];
	u->form->pickle_bytes = u->form->directory_bytes = 0;
	u->tensors = (int64_t)u->n - rest;
	if (u->tensors < 1)
		return 1;
	if (first_is_pickle(u, &pickle))
		return -1;
	if (pickle) {
		u->form->pickle_bytes =
			record_bytes(o, "data.pkl", (uint64_t)u->write[0]);
		u->tensors--;
	}
	if (u->tensors < 1 || u->form->pickle_bytes < 0)
		return 1;
	if (put_head(o, u->about, u->tensors))
		return -1;
	rc = tensors_that_end(o, u->write + pickle,
			      pickle ? (uint64_t)u->write[0] : 0, u->tensor,
			      u->tensors);
	if (rc || put_last_records(o, u->tensors))
		return rc ? rc : -1;
	u->form->directory_bytes = (int64_t)(size - END_BYTES - o->at);
	return u->form->directory_bytes < (int64_t)o->directory.len;
}

/* Has the directory of @form the records of @o, and tensors that are too small for a
 * write of their own? */
static bool is_directory_of(const struct torch_out *o, int64_t tensors)
{
	int64_t len = (int64_t)o->directory.len;
	char record[32];

	for (; len < o->form->directory_bytes; tensors++)
		len += ENTRY_BYTES + (int64_t)strlen(o->map.archive) + 1 +
		       snprintf(record, sizeof(record), "data/%lld",
				(long long)tensors);
	return len == o->form->directory_bytes;
}

/* Do the tensors make these writes, and no others? 0, 1: no; -1. */
static int compare_writes(const struct undo *u)
{
	struct torch_out o;
	int rc;

	begin_dry(&o, u);
	o.expect = u->write;
	o.expect_n = u->n;
	rc = put_all(&o, u->tensor, u->tensors);
	reel_buf_fini(&o.directory);
	return rc ? -1 : o.equal != u->n || o.writes != u->n;
}

static int undo_once(struct undo *u, bool directory)
{
	struct torch_out o;
	int rc;

	begin_dry(&o, u);
	rc = undo_writes(&o, u);
	if (!rc && directory && !is_directory_of(&o, u->tensors))
		rc = 1;
	reel_buf_fini(&o.directory);
	return rc ? rc : compare_writes(u);
}

/* As the release and the stream of the form write. @directory: of no other records
 * than theirs. 0, 1 when it cannot be, or -1. */
static int undo_form(struct undo *u, bool directory)
{
	int rc;

	u->about = u->write;
	rc = undo_once(u, directory);
	/* The pickle of the tensors may be some bytes shorter than that of the writes,
	 * which made the first tensor too small. */
	u->about = u->tensor;
	return rc > 0 && u->tensors > 0 ? undo_once(u, directory) : rc;
}

/* The first of the streams that makes the writes; @seen: and the only one. */
static int undo_streams(struct undo *u, bool directory, bool *seen)
{
	int rc;

	*seen = true;
	u->form->stream = WORKLOAD_STREAM_13;
	rc = undo_form(u, directory);
	if (rc < 0)
		return -1;
	*seen = rc != 0;
	u->form->stream = WORKLOAD_STREAM_12;
	rc = undo_form(u, directory);
	if (rc > 0 && !*seen) {
		*seen = true;
		u->form->stream = WORKLOAD_STREAM_13;
		rc = undo_form(u, directory);
	}
	return rc;
}

/* The release whose records fill the directory; where none does, because tensors
 * share the directory's write, the newest. */
static int undo_releases(struct undo *u, struct torch_seen *seen)
{
	int known = u->form->release, rc = 1;

	for (int directory = 1; rc > 0 && directory >= 0; directory--)
		for (int i = WORKLOAD_TORCH_2_7;
		     rc > 0 && i <= WORKLOAD_TORCH_1_6; i++) {
			if (seen->release && i != known)
				continue;
			u->form->release = i;
			rc = undo_streams(u, directory, &seen->stream);
			if (!rc)
				seen->release |= directory;
		}
	return rc;
}

int64_t torch_tensors_of(struct torch_form *form, const int64_t *write,
			 uint32_t n, int64_t **tensor, struct torch_seen *seen,
			 struct reel_error *err)
{
	struct undo u = {.form = form, .write = write, .n = n, .err = err};
	int rc;

	*tensor = reel_alloc((size_t)n + 1, sizeof(**tensor), err);
	if (!*tensor)
		return -1;
	u.tensor = *tensor;
	rc = undo_releases(&u, seen);
	if (!rc)
		return u.tensors;
	free(*tensor);
	*tensor = NULL;
	return rc < 0 ? -1 : 0;
}

/* --- loading -------------------------------------------------------------- */

/* Python's BufferedReader on the file: [begin, end) is in its buffer. */
struct torch_in {
	struct checkpoint_source *s;
	int fd;
	struct reel_error *err;
	uint64_t size, begin, end, at;
};

static int seek_to(struct torch_in *in, uint64_t to)
{
	if (in->at < in->end && to >= in->begin && to <= in->end) {
		in->at = to;
		return 0;
	}
	in->begin = in->end = in->at = to;
	return io_seek(in->s->io, in->fd, (int64_t)to, SEEK_SET, in->err);
}

/* One call for @n bytes at the position of the file. */
static int fetch(struct torch_in *in, uint64_t n, uint64_t *got)
{
	ssize_t done = io_read_repeated(in->s->io, in->fd, in->s->piece,
					CHECKPOINT_PIECE, n, -1, in->err);

	if (done < 0)
		return -1;
	if (!done)
		return reel_fail(in->err, REEL_E_FORMAT,
				 "a checkpoint is shorter than it was written");
	*got = (uint64_t)done;
	return 0;
}

static int take(struct torch_in *in, uint64_t from, uint64_t n)
{
	uint64_t has, got = 0;

	if (seek_to(in, from))
		return -1;
	has = in->end - in->at < n ? in->end - in->at : n;
	in->at += has;
	for (n -= has; n; n -= got) {
		if (n > READER_BUFFER) {
			if (fetch(in, n, &got))
				return -1;
			in->begin = in->end = in->at += got;
			continue;
		}
		if (fetch(in, READER_BUFFER, &got))
			return -1;
		in->begin = in->at;
		in->end = in->begin + got;
		got = got < n ? got : n;
		in->at += got;
	}
	return 0;
}

/* A record behind its local header at @offset. */
static int take_record(struct torch_in *in, const struct torch_map *m,
		       const char *record, uint64_t offset, uint64_t n)
{
	uint8_t extra[32];
	uint64_t fixed = offset + LOCAL_HEAD + strlen(m->archive) + 1 +
			 strlen(record) + zip64_field(extra, n, offset);
	uint64_t data = fixed + 4;

	data += (ALIGNMENT - data % ALIGNMENT) % ALIGNMENT;
	return take(in, offset, LOCAL_HEAD) || (n && take(in, data, n));
}

/* The kind of the file, then the directory from its end. */
static int take_directory(struct torch_in *in, const struct torch_map *m)
{
	uint64_t size = in->size;
	uint64_t tail = size < 4096 ? size : 4096;

	if (io_fstat(in->s->io, in->fd, &in->size, in->err))
		return -1;
	if (!in->s->io->null && in->size != size)
		return reel_fail(in->err, REEL_E_FORMAT,
				 "a checkpoint is not as it was written");
	if (take(in, 0, 4) || io_seek(in->s->io, in->fd, 0, SEEK_END, in->err))
		return -1;
	in->begin = in->end = in->at = size;
	return take(in, 0, 8) || take(in, size - tail, tail) ||
	       take(in, size - 22, 22) || take(in, size - 42, 20) ||
	       take(in, size - 98, 56) ||
	       take(in, m->directory, m->directory_bytes);
}

static int take_all(struct torch_in *in, const struct torch_map *m, int release,
		    const int64_t *bytes, int64_t n)
{
	if (take_directory(in, m) ||
	    (release != WORKLOAD_TORCH_1_6 &&
	     take_record(in, m, ".data/serialization_id", m->serialization_id,
			 ID_DIGITS)) ||
	    take_record(in, m, "version", m->version, 2) ||
	    (release == WORKLOAD_TORCH_2_7 &&
	     take_record(in, m, ".format_version", m->format_version, 1)) ||
	    take_record(in, m, "data.pkl", m->pickle, m->pickle_bytes))
		return -1;
	for (int64_t i = 0; i < n; i++) {
		char record[32];

		snprintf(record, sizeof(record), "data/%lld", (long long)i);
		if (take_record(in, m, record, m->tensor[i],
				(uint64_t)bytes[i]))
			return -1;
	}
	return 0;
}

int torch_read(struct checkpoint_source *s, const char *path,
	       const struct torch_form *form, const int64_t *bytes, int64_t n,
	       struct reel_error *err)
{
	struct torch_out o = {.s = s, .form = form, .err = err, .dry = true};
	struct torch_in in = {.s = s, .err = err};
	int rc;

	set_archive(&o.map, form, path);
	o.map.tensor = reel_alloc((size_t)n + 1, sizeof(*o.map.tensor), err);
	rc = o.map.tensor ? put_all(&o, bytes, n) : -1;
	reel_buf_fini(&o.directory);
	in.size = o.at;
	in.fd = rc ? -1 : io_open(s->io, path, false, err);
	if (in.fd >= 0) {
		rc = take_all(&in, &o.map, form->release, bytes, n);
		if (io_close(s->io, in.fd, err))
			rc = -1;
	}
	free(o.map.tensor);
	return rc || in.fd < 0 ? -1 : 0;
}
