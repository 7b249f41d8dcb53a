/* SPDX-License-Identifier: MIT */
/*
 * TFRecord: each record is its length, a masked CRC-32C of the length, the bytes,
 * and a masked CRC-32C of these. A record here is a tf.train.Example with the
 * features "image" (bytes: the payload) and "size" (int64).
 *
 * With dataset.compression the whole file is a gzip file, as TFRecordOptions("GZIP")
 * makes it, and has no index: offsets in it lead nowhere.
 *
 * The reader is TensorFlow's: pread of 256 KiB after 256 KiB to the end of the file; a
 * buffer that was not filled is read on, until a read gives nothing.
 *
 * Source: TensorFlow's documentation of TFRecord; the encoding of protocol buffers;
 * strace of TensorFlow 2.21.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/codec/byte_stream.h"
#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/io/io.h"

#define HEAD_BYTES 12 /* length and its checksum */
#define TAIL_BYTES 4
#define TF_BUFFER (256u << 10)
#define WRAP_MOST 64 /* bytes of an Example beside its payload */

/* --- the record ----------------------------------------------------------- */

static size_t varint_bytes(uint64_t v)
{
	size_t n = 1;

	while (v >>= 7)
		n++;
	return n;
}

static size_t put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	return n;
}

/* A length-delimited field @number of @bytes: its tag and length. */
static size_t put_field(uint8_t *p, unsigned int number, uint64_t bytes)
{
	p[0] = (uint8_t)(number << 3 | 2);
	return 1 + put_varint(p + 1, bytes);
}

static uint64_t field_bytes(uint64_t bytes)
{
	return 1 + varint_bytes(bytes) + bytes;
}

/* Lengths of the messages, from the innermost out. */
struct example {
	uint8_t head[WRAP_MOST], tail[WRAP_MOST]; /* around the payload */
	size_t head_n, tail_n;
	uint64_t bytes; /* all of it */
};

static size_t put_name(uint8_t *p, const char *name)
{
	size_t n = put_field(p, 1, strlen(name));

	memcpy(p + n, name, strlen(name));
	return n + strlen(name);
}

/* Example{1: Features{1: entry{1: "image", 2: Feature{1: BytesList{1: payload}}},
 * 1: entry{1: "size", 2: Feature{3: Int64List{1: packed}}}}} */
static void example_of(struct example *e, uint64_t payload)
{
	uint64_t list = field_bytes(payload), feature = field_bytes(list);
	uint64_t image = field_bytes(5) + field_bytes(feature);
	uint64_t integers = field_bytes(varint_bytes(payload));
	uint64_t size = field_bytes(4) + field_bytes(field_bytes(integers));
	uint64_t features = field_bytes(image) + field_bytes(size);
	uint8_t *p = e->head;
	size_t n = 0;

	n += put_field(p + n, 1, features);
	n += put_field(p + n, 1, image);
	n += put_name(p + n, "image");
	n += put_field(p + n, 2, feature);
	n += put_field(p + n, 1, list);
	n += put_field(p + n, 1, payload);
	e->head_n = n;
	p = e->tail;
	n = put_field(p, 1, size);
	n += put_name(p + n, "size");
	n += put_field(p + n, 2, field_bytes(integers));
	n += put_field(p + n, 3, integers);
	n += put_field(p + n, 1, varint_bytes(payload));
	n += put_varint(p + n, payload);
	e->tail_n = n;
	e->bytes = field_bytes(features);
}

static uint32_t masked(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static uint64_t record_bytes(const struct dataset *d, uint64_t sample)
{
	struct example e;

	example_of(&e, dataset_sample_bytes(d, sample));
	return HEAD_BYTES + e.bytes + TAIL_BYTES;
}

static void put_record(struct file_out *out, const struct dataset *d,
		       uint64_t sample)
{
	uint64_t bytes = dataset_sample_bytes(d, sample), length;
	struct example e;

	example_of(&e, bytes);
	length = htole64(e.bytes);
	file_out_put(out, &length, sizeof(length));
	file_out_u32(out, masked(crc32c(0, &length, sizeof(length))));
	out->crc = CRC32C;
	out->crc32c = 0;
	file_out_put(out, e.head, e.head_n);
	file_out_payload(out, d, sample, 0, bytes);
	file_out_put(out, e.tail, e.tail_n);
	out->crc = NO_CRC;
	file_out_u32(out, masked(out->crc32c));
}

/* "OFFSET LENGTH" of each record, a line each, as NVIDIA DALI reads it. */
static int write_index(const struct dataset *d, uint64_t file, const char *path,
		       struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file, offset = 0;
	struct reel_buf name = REEL_BUF_INIT;
	struct file_out out;
	int rc = -1;

	if (reel_buf_printf(&name, err, "%s.idx", path) ||
	    file_out_open(&out, reel_buf_text(&name), err))
		goto out;
	for (uint64_t i = 0; i < d->samples_per_file; i++) {
		uint64_t bytes = record_bytes(d, first + i);
		char line[48];

		file_out_put(&out, line,
			     (size_t)snprintf(line, sizeof(line), "%llu %llu\n",
					      (unsigned long long)offset,
					      (unsigned long long)bytes));
		offset += bytes;
	}
	rc = file_out_close(&out, err);
out:
	reel_buf_fini(&name);
	return rc;
}

static uint64_t file_bytes(const struct dataset *d, uint64_t file)
{
	uint64_t first = file * d->samples_per_file, bytes = 0;

	for (uint64_t i = 0; i < d->samples_per_file; i++)
		bytes += record_bytes(d, first + i);
	return bytes;
}

/* Compression leaves the bytes around the payloads as many. */
static uint64_t packed_bytes(const struct dataset *d, uint64_t file)
{
	uint64_t payload = dataset_file_bytes(d, file);

	return deflated_bytes(payload, d->samples_per_file,
			      1 - d->is->compressibility) +
	       file_bytes(d, file) - payload;
}

static int tfrecord_write(const struct dataset *d, uint64_t file,
			  const char *path, struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file;
	bool gzip = d->is->compression;
	struct file_out out;

	if ((!gzip && write_index(d, file, path, err)) ||
	    file_out_open(&out, path, err))
		return -1;
	if (gzip)
		file_out_gzip(&out, d->is->compression_level,
			      file_bytes(d, file), packed_bytes(d, file));
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		put_record(&out, d, first + i);
	if (gzip)
		file_out_gzip_end(&out);
	return file_out_close(&out, err);
}

static uint64_t tfrecord_disk_bytes(const struct dataset *d, uint64_t file)
{
	uint64_t around = HEAD_BYTES + TAIL_BYTES + 2 * WRAP_MOST + 48;

	if (d->is->compression)
		return packed_bytes(d, file) + GZIP_AROUND;
	return dataset_file_bytes(d, file) + d->samples_per_file * around;
}

static uint64_t tfrecord_file_bytes(const struct dataset *d, uint64_t file)
{
	return d->is->compression ? packed_bytes(d, file) + GZIP_AROUND
				  : file_bytes(d, file);
}

/* --- the reader ----------------------------------------------------------- */

struct reader {
	const struct dataset *d;
	struct io *io;
	int fd;
	uint64_t offset; /* in the file, of the next read */
	uint64_t size;	 /* known on null storage alone */
	uint8_t *buf;	 /* the last read */
	size_t room;
	bool gzip, ended;
	struct byte_stream bytes;
};

static ssize_t read_at(struct reader *r, size_t from, struct reel_error *err)
{
	ssize_t got = io_pread(r->io, r->fd, r->buf + from, r->room - from,
			       r->offset, err);

	if (got > 0 && r->io->null && (uint64_t)got > r->size - r->offset)
		got = (ssize_t)(r->size - r->offset);
	if (got > 0)
		r->offset += (uint64_t)got;
	return got;
}

/* Sets r->ended at the end of the file, behind which nothing is read. */
static int fill(void *state, struct reel_error *err)
{
	struct reader *r = state;
	struct byte_stream *s = &r->bytes;
	ssize_t got = !r->ended;

	s->at = s->n = 0;
	while (got && s->n < r->room) {
		got = read_at(r, s->n, err);
		if (got < 0)
			return -1;
		s->n += (size_t)got;
	}
	r->ended = !got;
	return 0;
}

static int damaged(void *state, const char *how, struct reel_error *err)
{
	const struct reader *r = state;

	return reel_fail(
		err, REEL_E_FORMAT,
		"it is damaged or shorter than it was made: %s (at %llu)", how,
		(unsigned long long)r->offset);
}

static int tfrecord_close(void *state, struct reel_error *err);

static int tfrecord_open(void **state, const struct dataset *d, uint64_t file,
			 struct io *io, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct reader *r = reel_alloc(1, sizeof(*r), err);

	if (!r)
		return -1;
	r->d = d;
	r->io = io;
	r->fd = -1;
	r->room = io->transfer_bytes ? (size_t)io->transfer_bytes : TF_BUFFER;
	r->gzip = d->is->compression;
	r->ended = r->gzip && io->null; /* there is nothing to decompress */
	/* Not zeroed, as the buffer of TensorFlow is not: only the pages that a
	 * read fills are touched. On failure it stays NULL. */
	(void)reel_grow(&r->buf, r->room, 1, err);
	if (io->null)
		r->size = file_bytes(d, file);
	r->bytes = (struct byte_stream){
		.state = r, .fill = fill, .fail = damaged, .piece = r->buf};
	if (r->buf && !(r->gzip && byte_stream_gzip(&r->bytes, err)) &&
	    !dataset_path(d, file, &path, err))
		r->fd = io_open(io, reel_buf_text(&path), true, err);
	reel_buf_fini(&path);
	if (r->fd < 0) {
		tfrecord_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

static int tfrecord_read(void *state, uint64_t sample,
			 struct format_sample *out, struct reel_error *err)
{
	struct reader *r = state;
	uint8_t head[HEAD_BYTES], payload[8];
	struct example e;
	uint64_t length;

	out->bytes = dataset_sample_bytes(r->d, sample);
	out->number = UINT64_MAX;
	if (r->gzip && r->io->null)
		return 0;
	example_of(&e, out->bytes);
	if (byte_stream_pass(&r->bytes, HEAD_BYTES, head, HEAD_BYTES, err))
		return -1;
	memcpy(&length, head, sizeof(length));
	if (!r->io->null && le64toh(length) != e.bytes)
		return reel_fail(err, REEL_E_FORMAT,
				 "sample %llu is a record of %llu bytes, not "
				 "%llu: the data set is of another workload",
				 (unsigned long long)sample,
				 (unsigned long long)le64toh(length),
				 (unsigned long long)e.bytes);
	if (byte_stream_pass(&r->bytes, e.head_n, NULL, 0, err) ||
	    byte_stream_pass(&r->bytes, out->bytes, payload, sizeof(payload),
			     err) ||
	    byte_stream_pass(&r->bytes, e.tail_n + TAIL_BYTES, NULL, 0, err))
		return -1;
	out->number = r->io->null ? UINT64_MAX
				  : dataset_payload_number(
					    payload, out->bytes < 8 ? 0 : 8);
	return 0;
}

static int tfrecord_close(void *state, struct reel_error *err)
{
	struct reader *r = state;
	int rc = 0;

	if (!r)
		return 0;
	if (r->fd >= 0) {
		while (!rc && !r->ended)
			rc = fill(r, err);
		if (io_close(r->io, r->fd, err))
			rc = -1;
	}
	byte_stream_close(&r->bytes);
	free(r->buf);
	free(r);
	return rc;
}

/* --- files of others ------------------------------------------------------ */

/* The lengths of the records, of a gzip file too; the payload is what an Example of
 * ours leaves. */
static int tfrecord_inspect(const char *path, int64_t **sizes, uint32_t *n,
			    uint32_t *room, struct reel_error *err)
{
	gzFile f = gzopen(path, "rbe");
	uint64_t at = 0, most, length;
	uint8_t head[HEAD_BYTES];
	struct example e;
	struct stat st;
	int rc = 0;

	if (!f || stat(path, &st))
		goto out;
	most = (uint64_t)st.st_size * (gzdirect(f) ? 1 : INFLATE_MOST);
	while (!rc && gzread(f, head, sizeof(head)) == sizeof(head)) {
		memcpy(&length, head, sizeof(length));
		length = le64toh(length);
		if (at > most || length > most - at)
			break;
		example_of(&e, length);
		rc = reel_array_reach(sizes, room, *n, sizeof(**sizes), err);
		if (!rc)
			(*sizes)[(*n)++] =
				(int64_t)(2 * length > e.bytes
						  ? 2 * length - e.bytes
						  : 0);
		at += HEAD_BYTES + length + TAIL_BYTES;
		if (gzseek(f, (z_off_t)at, SEEK_SET) < 0)
			break;
	}
out:
	if (f)
		gzclose(f);
	return rc;
}

const struct format format_tfrecord = {
	.name = "tfrecord",
	.suffix = "tfrecord",
	.gzip = true,
	.write = tfrecord_write,
	.disk_bytes = tfrecord_disk_bytes,
	.file_bytes = tfrecord_file_bytes,
	.inspect = tfrecord_inspect,
	.storage = gzip_storage,
	.open = tfrecord_open,
	.read = tfrecord_read,
	.close = tfrecord_close,
};
