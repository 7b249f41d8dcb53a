/* SPDX-License-Identifier: MIT */
/*
 * NumPy's npz: a zip archive, stored, of x.npy, the samples, and y.npy, their
 * numbers. The local headers have zip64 fields, as NumPy writes them.
 *
 * The reader is np.load(path) with both arrays taken from it.
 *
 * Source: PKWARE's APPNOTE.TXT (zip); strace of NumPy 2.4 and CPython 3.11.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/dataset/io.h"
#include "replay/dataset/numpy.h"
#include "replay/dataset/python_file.h"

#define LOCAL_HEADER 30
#define ZIP64_EXTRA 20
#define CENTRAL_HEADER 46
#define END_RECORD 22
#define NAME_BYTES 5 /* "x.npy" */
#define MEMBER_HEADER (LOCAL_HEADER + NAME_BYTES + ZIP64_EXTRA)
#define DOS_DATE 0x21	  /* 1980-01-01, as files are the same at any time */
#define NUMPY_READ 262144 /* of a member at once */
#define ZIP_LEAST 4096	  /* that zipfile reads at once */

struct member {
	const char *name;
	uint64_t offset, bytes; /* of its local header; of the npy in it */
	uint32_t crc;
};

static void local_header(struct file_out *out, const struct member *m)
{
	file_out_u32(out, 0x04034b50);
	file_out_u16(out, 45); /* version: zip64 */
	file_out_u16(out, 0);
	file_out_u16(out, 0); /* stored */
	file_out_u16(out, 0);
	file_out_u16(out, DOS_DATE);
	file_out_u32(out, 0); /* the CRC comes when it is known */
	file_out_u32(out, UINT32_MAX);
	file_out_u32(out, UINT32_MAX);
	file_out_u16(out, NAME_BYTES);
	file_out_u16(out, ZIP64_EXTRA);
	file_out_put(out, m->name, NAME_BYTES);
	file_out_u16(out, 1);
	file_out_u16(out, ZIP64_EXTRA - 4);
	file_out_u64(out, m->bytes);
	file_out_u64(out, m->bytes);
}

static void begin_member(struct file_out *out, struct member *m)
{
	m->offset = out->offset;
	local_header(out, m);
	out->crc = CRC32;
	out->crc32 = 0;
}

static void end_member(struct file_out *out, struct member *m)
{
	uint8_t crc[4];

	out->crc = NO_CRC;
	m->crc = out->crc32;
	for (int i = 0; i < 4; i++)
		crc[i] = (uint8_t)(m->crc >> (8 * i));
	file_out_again(out, m->offset + 14, crc, sizeof(crc));
}

/* Zip64 where a value does not fit, as zipfile does. */
static bool needs_zip64(const struct member *m)
{
	return m->bytes > INT32_MAX || m->offset > INT32_MAX;
}

static void central_header(struct file_out *out, const struct member *m)
{
	bool large = needs_zip64(m);

	file_out_u32(out, 0x02014b50);
	file_out_u16(out, 0x032d);
	file_out_u16(out, 45);
	file_out_u16(out, 0);
	file_out_u16(out, 0);
	file_out_u16(out, 0);
	file_out_u16(out, DOS_DATE);
	file_out_u32(out, m->crc);
	file_out_u32(out, large ? UINT32_MAX : (uint32_t)m->bytes);
	file_out_u32(out, large ? UINT32_MAX : (uint32_t)m->bytes);
	file_out_u16(out, NAME_BYTES);
	file_out_u16(out, large ? 28 : 0);
	file_out_u16(out, 0);
	file_out_u16(out, 0);
	file_out_u16(out, 0);
	file_out_u32(out, 0600u << 16);
	file_out_u32(out, large ? UINT32_MAX : (uint32_t)m->offset);
	file_out_put(out, m->name, NAME_BYTES);
	if (!large)
		return;
	file_out_u16(out, 1);
	file_out_u16(out, 24);
	file_out_u64(out, m->bytes);
	file_out_u64(out, m->bytes);
	file_out_u64(out, m->offset);
}

#define ZIP64_END 56
#define ZIP64_LOCATOR 20

static void end_records(struct file_out *out, uint64_t start)
{
	uint64_t end = out->offset, size = end - start;
	bool large = start > INT32_MAX;

	if (large) {
		file_out_u32(out, 0x06064b50);
		file_out_u64(out, ZIP64_END - 12);
		file_out_u16(out, 45);
		file_out_u16(out, 45);
		file_out_u32(out, 0);
		file_out_u32(out, 0);
		file_out_u64(out, 2);
		file_out_u64(out, 2);
		file_out_u64(out, size);
		file_out_u64(out, start);
		file_out_u32(out, 0x07064b50);
		file_out_u32(out, 0);
		file_out_u64(out, end);
		file_out_u32(out, 1);
	}
	file_out_u32(out, 0x06054b50);
	file_out_u16(out, 0);
	file_out_u16(out, 0);
	file_out_u16(out, 2);
	file_out_u16(out, 2);
	file_out_u32(out, (uint32_t)size);
	file_out_u32(out, large ? UINT32_MAX : (uint32_t)start);
	file_out_u16(out, 0);
}

static void members_of(const struct dataset *d, uint64_t file,
		       struct member m[static 2])
{
	m[0] = (struct member){.name = "x.npy",
			       .bytes = NUMPY_HEADER +
					dataset_file_bytes(d, file)};
	m[1] = (struct member){.name = "y.npy",
			       .offset = MEMBER_HEADER + m[0].bytes,
			       .bytes = NUMPY_HEADER + 8 * d->samples_per_file};
}

static int npz_write(const struct dataset *d, uint64_t file, const char *path,
		     struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file, central;
	char head[NUMPY_HEADER];
	struct member m[2];
	struct file_out out;

	if (file_out_open(&out, path, err))
		return -1;
	members_of(d, file, m);
	begin_member(&out, &m[0]);
	numpy_header_of_file(d, file, head);
	file_out_put(&out, head, sizeof(head));
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		file_out_payload(&out, d, first + i, 0,
				 dataset_sample_bytes(d, first + i));
	end_member(&out, &m[0]);
	begin_member(&out, &m[1]);
	numpy_header_of_numbers(d->samples_per_file, head);
	file_out_put(&out, head, sizeof(head));
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		file_out_u64(&out, first + i);
	end_member(&out, &m[1]);
	central = out.offset;
	central_header(&out, &m[0]);
	central_header(&out, &m[1]);
	end_records(&out, central);
	return file_out_close(&out, err);
}

static uint64_t npz_disk_bytes(const struct dataset *d, uint64_t file)
{
	return dataset_file_bytes(d, file) + 8 * d->samples_per_file +
	       2 * (NUMPY_HEADER + MEMBER_HEADER + CENTRAL_HEADER + 64) +
	       END_RECORD + ZIP64_END + ZIP64_LOCATOR;
}

/* --- how zipfile and NumPy read it ---------------------------------------- */

/* A member that zipfile has open: each read of it is a seek (within the buffer
 * mostly), a read, and a tell. */
struct zip_member {
	struct python_file *f;
	uint64_t offset, left;	  /* in the archive; of the member */
	uint8_t ahead[ZIP_LEAST]; /* read and not returned */
	size_t at, n;
};

static int zip_read(struct zip_member *z, void *to, uint64_t n,
		    struct reel_error *err)
{
	int64_t got;

	if (python_seek(z->f, (int64_t)z->offset, SEEK_SET, err))
		return -1;
	got = python_read(z->f, to, n, err);
	if (got < 0)
		return -1;
	if ((uint64_t)got < n)
		return reel_fail(err, REEL_E_FORMAT,
				 "an npz file of the data set is shorter than "
				 "it was made");
	z->offset += n;
	return python_tell(z->f, err);
}

static int zip_open(struct zip_member *z, struct python_file *f,
		    const struct member *m, struct reel_error *err)
{
	uint8_t head[LOCAL_HEADER];

	z->f = f;
	z->offset = m->offset;
	z->left = m->bytes;
	z->at = z->n = 0;
	return zip_read(z, head, LOCAL_HEADER, err) ||
	       zip_read(z, head, NAME_BYTES, err) ||
	       zip_read(z, head, ZIP64_EXTRA, err);
}

/* ZipExtFile.read(n): what is there, then at least ZIP_LEAST more. */
static int zip_take(struct zip_member *z, uint8_t *to, uint64_t n,
		    struct reel_error *err)
{
	size_t some = z->n - z->at < n ? z->n - z->at : (size_t)n;

	memcpy(to, z->ahead + z->at, some);
	z->at += some;
	n -= some;
	if (!n)
		return 0;
	if (n < ZIP_LEAST) {
		z->n = z->left < ZIP_LEAST ? (size_t)z->left : ZIP_LEAST;
		z->at = (size_t)n;
		if (n > z->n)
			return reel_fail(err, REEL_E_FORMAT,
					 "an npz file of the data set has a "
					 "short member");
		if (zip_read(z, z->ahead, z->n, err))
			return -1;
		z->left -= z->n;
		memcpy(to + some, z->ahead, (size_t)n);
		return 0;
	}
	z->left -= n;
	return zip_read(z, to + some, n, err);
}

static int zip_array(struct zip_member *z, uint8_t *to, uint64_t n,
		     struct reel_error *err)
{
	uint8_t head[NUMPY_HEADER];
	int rc;

	/* magic and version; length; the dictionary */
	rc = zip_take(z, head, 8, err) || zip_take(z, head, 2, err) ||
	     zip_take(z, head, NUMPY_HEADER - 10, err);
	for (uint64_t done = 0; !rc && done < n; done += NUMPY_READ)
		rc = zip_take(z, to + done,
			      n - done < NUMPY_READ ? n - done : NUMPY_READ,
			      err);
	return rc ? -1 : 0;
}

/* The look for the directory at the end of the archive. */
static int zip_directory(struct python_file *f, uint64_t at, uint64_t bytes,
			 struct reel_error *err)
{
	uint8_t end[PYTHON_BUFFER];

	if (python_seek(f, 0, SEEK_END, err) || python_tell(f, err) ||
	    python_seek(f, -END_RECORD, SEEK_END, err) || python_tell(f, err) ||
	    python_read_rest(f, end, sizeof(end), err) ||
	    python_seek(f, -END_RECORD - ZIP64_LOCATOR, SEEK_END, err) ||
	    python_read(f, end, ZIP64_LOCATOR, err) < 0 ||
	    python_seek(f, (int64_t)at, SEEK_SET, err))
		return -1;
	return python_read(f, end, bytes, err) < 0 ? -1 : 0;
}

static int npz_load(struct numpy_array *a, const char *path,
		    struct reel_error *err)
{
	uint64_t n = a->d->samples_per_file, directory, end;
	uint64_t file = a->sample / n;
	struct python_file f = {.fd = -1};
	uint8_t *numbers = malloc(8 * n);
	struct zip_member z;
	struct member m[2];
	int rc = -1;

	members_of(a->d, file, m);
	directory = m[1].offset + MEMBER_HEADER + m[1].bytes;
	end = directory + (uint64_t)2 * (CENTRAL_HEADER + NAME_BYTES) +
	      28 * (needs_zip64(&m[0]) + needs_zip64(&m[1]));
	if (!numbers)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	if (!python_open(&f, a->io, path,
			 end + END_RECORD +
				 (directory > INT32_MAX
					  ? ZIP64_END + ZIP64_LOCATOR
					  : 0),
			 err) &&
	    python_read(&f, numbers, 6, err) >= 0 && /* which kind of file? */
	    !python_seek(&f, -6, SEEK_CUR, err) &&
	    !zip_directory(&f, directory, end - directory, err) &&
	    !zip_open(&z, &f, &m[0], err) &&
	    !zip_array(&z, a->array, a->bytes, err) &&
	    !zip_open(&z, &f, &m[1], err))
		rc = zip_array(&z, numbers, 8 * n, err);
	free(numbers);
	if (python_close(&f, err))
		rc = -1;
	return rc;
}

static int npz_open(void **state, const struct dataset *d, uint64_t file,
		    struct io *io, struct reel_error *err)
{
	return numpy_open(state, d, file, io, npz_load, err);
}

static uint64_t npz_payload(uint64_t size, uint64_t samples)
{
	uint64_t own = 2 * (NUMPY_HEADER + MEMBER_HEADER + CENTRAL_HEADER +
			    NAME_BYTES) +
		       END_RECORD + 8 * samples;

	return size > own ? size - own : 0;
}

const struct format format_npz = {
	.name = "npz",
	.suffix = "npz",
	.write = npz_write,
	.disk_bytes = npz_disk_bytes,
	.payload = npz_payload,
	.open = npz_open,
	.read = numpy_read,
	.close = numpy_close,
};
