/* SPDX-License-Identifier: MIT */
/*
 * WebDataset: a tar archive (ustar); a sample is two members, NNNNNN.bin, the
 * payload, and NNNNNN.cls, its number as text. With dataset.compression the archive
 * is a gzip file.
 *
 * The reader is the webdataset library: Python's tarfile in its stream mode, which
 * reads 512 bytes, then records of 10 KiB through Python's file, until it has the
 * empty block that ends the archive.
 *
 * Source: POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar's manual for sizes
 * from 8 GiB on; strace of webdataset 1.0 and CPython 3.11.
 */
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
#include "replay/dataset/python_file.h"

#define BLOCK 512
#define RECORD 10240
#define PACKED_MEMBERS                                                         \
	160 /* bytes of a sample's headers, compressed, at most */
#define OCTAL_MOST 077777777777ull /* of the 11 digits of a size */

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], check[8];
	char type, link[100], magic[6], version[2], user[32], group[32];
	char major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static uint64_t blocks(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static unsigned int checksum(const struct header *h)
{
	const uint8_t *p = (const uint8_t *)h;
	unsigned int sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= offsetof(struct header, check) &&
				       i < offsetof(struct header, type)
			       ? ' '
			       : p[i];
	return sum;
}

/* --- writing -------------------------------------------------------------- */

static void header_of(struct header *h, uint64_t sample, const char *suffix,
		      uint64_t size)
{
	memset(h, 0, sizeof(*h));
	snprintf(h->name, sizeof(h->name), "%06llu.%s",
		 (unsigned long long)sample, suffix);
	memcpy(h->mode, "0000644", 8);
	memcpy(h->uid, "0000000", 8);
	memcpy(h->gid, "0000000", 8);
	if (size <= OCTAL_MOST) {
		snprintf(h->size, sizeof(h->size), "%011llo",
			 (unsigned long long)size);
	} else { /* binary, as GNU tar does */
		h->size[0] = (char)0x80;
		for (int i = 0; i < 8; i++)
			h->size[11 - i] = (char)(size >> (8 * i));
	}
	memcpy(h->mtime, "00000000000", 12);
	h->type = '0';
	memcpy(h->magic, "ustar", 6);
	memcpy(h->version, "00", 2);
	snprintf(h->check, sizeof(h->check), "%06o", checksum(h));
	h->check[7] = ' ';
}

static void put_zeros(struct file_out *out, uint64_t n)
{
	static const uint8_t zeros[BLOCK];

	for (uint64_t some; n; n -= some) {
		some = n < BLOCK ? n : BLOCK;
		file_out_put(out, zeros, some);
	}
}

/* The blocks of a sample as put_member() writes it, but for those of its payload. */
#define MEMBER_BYTES (3 * BLOCK)

static void put_member(struct file_out *out, const struct dataset *d,
		       uint64_t sample)
{
	uint64_t bytes = dataset_sample_bytes(d, sample);
	char number[24];
	struct header h;
	size_t n = (size_t)snprintf(number, sizeof(number), "%llu",
				    (unsigned long long)sample);

	header_of(&h, sample, "bin", bytes);
	file_out_put(out, &h, sizeof(h));
	file_out_payload(out, d, sample, 0, bytes);
	put_zeros(out, blocks(bytes) - bytes);
	header_of(&h, sample, "cls", n);
	file_out_put(out, &h, sizeof(h));
	file_out_put(out, number, n);
	put_zeros(out, BLOCK - n);
}

static uint64_t archive_bytes(const struct dataset *d, uint64_t file)
{
	uint64_t first = file * d->samples_per_file,
		 bytes = (uint64_t)2 * BLOCK;

	for (uint64_t i = 0; i < d->samples_per_file; i++)
		bytes += MEMBER_BYTES +
			 blocks(dataset_sample_bytes(d, first + i));
	return (bytes + RECORD - 1) / RECORD * RECORD;
}

static uint64_t packed_bytes(const struct dataset *d, uint64_t file)
{
	return deflated_bytes(dataset_file_bytes(d, file), d->samples_per_file,
			      1 - d->is->compressibility) +
	       d->samples_per_file * PACKED_MEMBERS;
}

static int tar_write(const struct dataset *d, uint64_t file, const char *path,
		     struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file;
	uint64_t bytes = archive_bytes(d, file), done = (uint64_t)2 * BLOCK;
	struct file_out out;

	if (file_out_open(&out, path, err))
		return -1;
	if (d->is->compression)
		file_out_gzip(&out, d->is->compression_level, bytes,
			      packed_bytes(d, file));
	for (uint64_t i = 0; i < d->samples_per_file; i++) {
		put_member(&out, d, first + i);
		done += MEMBER_BYTES +
			blocks(dataset_sample_bytes(d, first + i));
	}
	put_zeros(&out, (uint64_t)2 * BLOCK + bytes - done);
	if (d->is->compression)
		file_out_gzip_end(&out);
	return file_out_close(&out, err);
}

static uint64_t tar_disk_bytes(const struct dataset *d, uint64_t file)
{
	if (d->is->compression)
		return packed_bytes(d, file) + GZIP_AROUND;
	return dataset_file_bytes(d, file) + d->samples_per_file * 4 * BLOCK +
	       2 * RECORD;
}

static uint64_t tar_file_bytes(const struct dataset *d, uint64_t file)
{
	return d->is->compression ? packed_bytes(d, file) + GZIP_AROUND
				  : archive_bytes(d, file);
}

/* --- the reader ----------------------------------------------------------- */

struct tar {
	const struct dataset *d;
	struct io *io;
	struct python_file f;
	uint64_t end; /* sample behind the last one of the file */
	uint64_t next;
	bool begun;
	struct byte_stream bytes;
	uint8_t record[RECORD]; /* the last one */
};

static int tar_close(void *state, struct reel_error *err);

/* The first read is that of a block. */
static int fill(void *state, struct reel_error *err)
{
	struct tar *r = state;
	int64_t got =
		python_read(&r->f, r->record, r->begun ? RECORD : BLOCK, err);

	if (got < 0)
		return -1;
	r->begun = true;
	r->bytes.at = 0;
	r->bytes.n = (size_t)got;
	return 0;
}

static int damaged(void *state, const char *how, struct reel_error *err)
{
	struct tar *r = state;

	return reel_fail(
		err, REEL_E_FORMAT,
		"it is damaged or shorter than it was made: %s (at %llu)", how,
		(unsigned long long)r->f.offset);
}

static int tar_open(void **state, const struct dataset *d, uint64_t file,
		    struct io *io, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct tar *r = reel_alloc(1, sizeof(*r), err);
	int rc = -1;

	if (!r)
		return -1;
	r->d = d;
	r->io = io;
	r->f.fd = -1;
	r->next = file * d->samples_per_file;
	r->end = r->next + d->samples_per_file;
	r->bytes = (struct byte_stream){
		.state = r, .fill = fill, .fail = damaged, .piece = r->record};
	if (!(d->is->compression && byte_stream_gzip(&r->bytes, err)) &&
	    !dataset_path(d, file, &path, err))
		rc = io->null ? 0
			      : python_open(&r->f, io, reel_buf_text(&path), 0,
					    err);
	reel_buf_fini(&path);
	if (rc) {
		r->next = r->end + 1; /* there is nothing to end */
		tar_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

/* The header has to be the one that write() made. */
static int pass_header(struct tar *r, uint64_t sample, const char *suffix,
		       uint64_t size, struct reel_error *err)
{
	struct header h, want;

	if (byte_stream_pass(&r->bytes, BLOCK, &h, BLOCK, err))
		return -1;
	header_of(&want, sample, suffix, size);
	return memcmp(&h, &want, sizeof(h))
		       ? reel_fail(err, REEL_E_FORMAT,
				   "its next member is not %s with %llu bytes: "
				   "the "
				   "data set is of another workload",
				   want.name, (unsigned long long)size)
		       : 0;
}

static int tar_read(void *state, uint64_t sample, struct format_sample *out,
		    struct reel_error *err)
{
	struct tar *r = state;
	char number[24];
	uint8_t payload[8];
	uint64_t n = (uint64_t)snprintf(number, sizeof(number), "%llu",
					(unsigned long long)sample);

	out->bytes = dataset_sample_bytes(r->d, sample);
	out->number = UINT64_MAX;
	r->next = sample + 1;
	if (r->io->null)
		return 0;
	if (pass_header(r, sample, "bin", out->bytes, err) ||
	    byte_stream_pass(&r->bytes, blocks(out->bytes), payload,
			     sizeof(payload), err) ||
	    pass_header(r, sample, "cls", n, err) ||
	    byte_stream_pass(&r->bytes, BLOCK, NULL, 0, err))
		return -1;
	out->number = dataset_payload_number(payload, out->bytes < 8 ? 0 : 8);
	return 0;
}

/* A stream that is read to its end ends with an empty block. */
static int tar_close(void *state, struct reel_error *err)
{
	struct tar *r = state;
	int rc = 0;

	if (!r)
		return 0;
	if (r->f.fd >= 0) {
		if (r->next == r->end)
			rc = byte_stream_pass(&r->bytes, BLOCK, NULL, 0, err);
		if (python_close(&r->f, err))
			rc = -1;
	}
	byte_stream_close(&r->bytes);
	free(r);
	return rc;
}

/* --- files of others ------------------------------------------------------ */

/* A number of @digits octal digits, or binary; UINT64_MAX: neither. */
static uint64_t number_of(const char *p, size_t n)
{
	uint64_t v = 0;

	if ((uint8_t)p[0] == 0x80) {
		for (size_t i = n - 8; i < n; i++)
			v = v << 8 | (uint8_t)p[i];
		return v;
	}
	for (size_t i = 0; i < n && p[i] && p[i] != ' '; i++) {
		if (p[i] < '0' || p[i] > '7')
			return UINT64_MAX;
		v = v << 3 | (uint64_t)(p[i] - '0');
	}
	return v;
}

/* Bytes of the key of a sample: the name up to the first dot of its last part. */
static size_t key_bytes(const char *name, size_t n)
{
	const char *slash = memrchr(name, '/', n);
	size_t from = slash ? (size_t)(slash - name) + 1 : 0;
	const char *dot = memchr(name + from, '.', n - from);

	return dot ? (size_t)(dot - name) : n;
}

/* Let @sample of a payload take @used bytes of its archive: those of the headers of
 * more members, or of PAX, are payload of the benchmark's one. */
static void fill_blocks(int64_t *sample, uint64_t used)
{
	int64_t more = (int64_t)used -
		       (int64_t)(MEMBER_BYTES + blocks((uint64_t)*sample));

	if (*sample + more > 0)
		*sample += more;
}

/* A sample is the files with one key, one after another, but for its class. */
static int tar_inspect(const char *path, int64_t **sizes, uint32_t *n,
		       uint32_t *room, struct reel_error *err)
{
	gzFile f = gzopen(path, "rbe"); /* a plain archive too */
	char key[sizeof(((struct header *)0)->name)] = "";
	uint32_t n_before = *n;
	size_t key_n = 0;
	struct header h;
	struct stat st;
	uint64_t at = 0, size, most, used = 0, before = 0;
	int rc = 0;

	if (!f || stat(path, &st))
		goto out;
	most = (uint64_t)st.st_size * (gzdirect(f) ? 1 : INFLATE_MOST);
	while (!rc && gzread(f, &h, BLOCK) == BLOCK && h.name[0]) {
		size_t name_n = strnlen(h.name, sizeof(h.name));
		size_t of = key_bytes(h.name, name_n);
		bool label =
			name_n == of + 4 && !memcmp(h.name + of, ".cls", 4);

		size = number_of(h.size, sizeof(h.size));
		if (memcmp(h.magic, "ustar", 5) ||
		    number_of(h.check, 7) != checksum(&h) || at > most ||
		    size > most - at)
			break;
		at += BLOCK + blocks(size);
		before += BLOCK + blocks(size);
		if (gzseek(f, (z_off_t)at, SEEK_SET) < 0)
			break;
		if (h.type && h.type != '0') /* a folder, or about the next */
			continue;
		if (*n == n_before || of != key_n || memcmp(key, h.name, of)) {
			rc = reel_array_reach(sizes, room, *n, sizeof(**sizes),
					      err);
			if (rc)
				break;
			if (*n > n_before)
				fill_blocks(&(*sizes)[*n - 1], used);
			(*sizes)[(*n)++] = 0;
			memcpy(key, h.name, of);
			key_n = of;
			used = 0;
		}
		(*sizes)[*n - 1] += label ? 0 : (int64_t)size;
		used += before;
		before = 0;
	}
	if (*n > n_before)
		fill_blocks(&(*sizes)[*n - 1], used);
out:
	if (f)
		gzclose(f);
	return rc;
}

const struct format format_tar = {
	.name = "tar",
	.suffix = "tar",
	.gzip = true,
	.write = tar_write,
	.disk_bytes = tar_disk_bytes,
	.file_bytes = tar_file_bytes,
	.inspect = tar_inspect,
	.storage = gzip_storage,
	.open = tar_open,
	.read = tar_read,
	.close = tar_close,
};
