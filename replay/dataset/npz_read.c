/* SPDX-License-Identifier: MIT */
/*
 * The calls of np.load() for an npz archive: Python's zipfile and NumPy's reader of
 * arrays, which takes 256 KiB at once. zipfile reads as many compressed bytes as it is
 * asked for bytes, less those that it has left over, and 4 KiB at least.
 *
 * NumPy before 2.3 opens a member twice: for its first bytes, then to read it. Python
 * before 3.13 reads on to the end of the archive where it looks for the directory.
 *
 * Source: CPython 3.11's zipfile; strace of NumPy 1.24, 2.4 and CPython 3.11.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/error.h"

#include "replay/dataset/codec/inflate.h"
#include "replay/io/io.h"
#include "replay/dataset/npz.h"
#include "replay/dataset/python_file.h"

#define NUMPY_READ 262144 /* of a member at once */
#define NUMPY_MAGIC 6	  /* bytes, which tell that a member is an array */
#define ZIP_LEAST 4096	  /* that zipfile reads at once */

/* A member that zipfile has open: each read of it is a seek (within the buffer
 * mostly), a read, and a tell. */
struct zip_member {
	struct python_file *f;
	uint64_t offset, left;	  /* in the archive; of the member there */
	uint8_t ahead[ZIP_LEAST]; /* read and not returned */
	size_t at, n;
	/* of a deflated one: what was read and not decompressed */
	struct inflater inflater;
	uint8_t *packed;
	size_t packed_at, packed_n;
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
				 "it is shorter than it was made (at %llu)",
				 (unsigned long long)z->offset);
	z->offset += n;
	return python_tell(z->f, err);
}

static void zip_close(struct zip_member *z)
{
	inflate_close(&z->inflater);
	free(z->packed);
}

/* zip_close() after it, in any case. */
static int zip_open(struct zip_member *z, struct python_file *f,
		    const struct npz_member *m, struct reel_error *err)
{
	uint8_t head[NPZ_LOCAL_HEADER];

	memset(z, 0, sizeof(*z));
	z->f = f;
	z->offset = m->offset;
	z->left = m->packed;
	if (m->deflated) {
		z->packed = reel_alloc(NUMPY_READ + ZIP_LEAST, 1, err);
		if (!z->packed || inflate_open(&z->inflater, INFLATE_RAW, err))
			return -1;
	}
	return zip_read(z, head, NPZ_LOCAL_HEADER, err) ||
	       zip_read(z, head, NPZ_NAME, err) ||
	       zip_read(z, head, NPZ_EXTRA, err);
}

static int damaged(const char *how, struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "it is damaged or shorter than it was made: %s", how);
}

/* At most @n bytes more, through z->ahead when they are few. The number, or -1. */
static int64_t zip_inflate(struct zip_member *z, uint8_t *to, uint64_t n,
			   struct reel_error *err)
{
	size_t tail = z->packed_n - z->packed_at;
	struct reel_error why = {0};
	uint64_t ask;
	int64_t got;

	memmove(z->packed, z->packed + z->packed_at, tail);
	z->packed_at = 0;
	z->packed_n = tail;
	if (n > tail && z->left) {
		ask = n - tail > ZIP_LEAST ? n - tail : ZIP_LEAST;
		if (ask > z->left)
			ask = z->left;
		if (zip_read(z, z->packed + tail, ask, err))
			return -1;
		z->left -= ask;
		z->packed_n += ask;
	}
	z->at = z->n = 0;
	got = inflate_some(&z->inflater, z->packed, &z->packed_at, z->packed_n,
			   n < ZIP_LEAST ? z->ahead : to,
			   n < ZIP_LEAST ? ZIP_LEAST : n, &why);
	if (got < 0)
		return damaged(why.text, err);
	if (!got && (z->inflater.ended || (!z->left && !z->packed_n)))
		return damaged("a member ends", err);
	if (n >= ZIP_LEAST)
		return got;
	z->n = (size_t)got;
	z->at = z->n < n ? z->n : (size_t)n;
	memcpy(to, z->ahead, z->at);
	return (int64_t)z->at;
}

/* The same of a stored member. */
static int64_t zip_stored(struct zip_member *z, uint8_t *to, uint64_t n,
			  struct reel_error *err)
{
	if (n >= ZIP_LEAST) {
		z->left -= n;
		return zip_read(z, to, n, err) ? -1 : (int64_t)n;
	}
	z->n = z->left < ZIP_LEAST ? (size_t)z->left : ZIP_LEAST;
	z->at = (size_t)n;
	if (n > z->n)
		return damaged("a member ends", err);
	if (zip_read(z, z->ahead, z->n, err))
		return -1;
	z->left -= z->n;
	memcpy(to, z->ahead, (size_t)n);
	return (int64_t)n;
}

/* ZipExtFile.read(n): what is there, then at least ZIP_LEAST more. */
static int zip_take(struct zip_member *z, uint8_t *to, uint64_t n,
		    struct reel_error *err)
{
	size_t some = z->n - z->at < n ? z->n - z->at : (size_t)n;

	memcpy(to, z->ahead + z->at, some);
	z->at += some;
	while (some < n) {
		int64_t got = z->packed
				      ? zip_inflate(z, to + some, n - some, err)
				      : zip_stored(z, to + some, n - some, err);

		if (got < 0)
			return -1;
		some += (size_t)got;
	}
	return 0;
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
	bool all = f->io->access->read_end;
	uint8_t end[PYTHON_BUFFER];

	if (python_seek(f, 0, SEEK_END, err) || python_tell(f, err) ||
	    python_seek(f, -NPZ_END, SEEK_END, err) ||
	    (all && (python_tell(f, err) ||
		     python_read_rest(f, end, sizeof(end), err))) ||
	    (!all && python_read(f, end, NPZ_END, err) < 0) ||
	    python_seek(f, -NPZ_END - NPZ_LOCATOR, SEEK_END, err) ||
	    python_read(f, end, NPZ_LOCATOR, err) < 0 ||
	    python_seek(f, (int64_t)at, SEEK_SET, err))
		return -1;
	return python_read(f, end, bytes, err) < 0 ? -1 : 0;
}

static int load_member(struct python_file *f, const struct npz_member *m,
		       uint8_t *to, uint64_t n, struct reel_error *err)
{
	uint8_t magic[NUMPY_MAGIC];
	struct zip_member z;
	int rc = 0;

	for (int64_t i = f->io->access->member_opens; i && !rc; i--) {
		rc = zip_open(&z, f, m, err) ||
		     (i > 1 ? zip_take(&z, magic, NUMPY_MAGIC, err)
			    : zip_array(&z, to, n, err));
		zip_close(&z);
	}
	return rc ? -1 : 0;
}

int npz_load(struct numpy_array *a, const char *path, struct reel_error *err)
{
	uint64_t n = a->d->samples_per_file, directory, end, size;
	struct python_file f = {.fd = -1};
	struct npz_member m[NPZ_MEMBERS + 1];
	uint8_t *numbers;
	int members = npz_members(a->d, a->sample / n, m), rc = -1;

	if (m[0].deflated && a->io->null) /* nothing to decompress */
		return 0;
	end = directory = m[members].offset;
	for (int i = 0; i < members; i++)
		end += NPZ_CENTRAL_HEADER + NPZ_NAME +
		       28 * npz_needs_zip64(&m[i]);
	size = end + NPZ_END + (directory > INT32_MAX ? NPZ_ZIP64_END : 0);
	numbers = reel_alloc(n, 8, err);
	if (!numbers)
		return -1;
	if (!python_open(&f, a->io, path, size, err) &&
	    !python_expect(&f, size, err) &&
	    python_read(&f, numbers, NUMPY_MAGIC, err) >= 0 &&
	    !python_seek(&f, -NUMPY_MAGIC, SEEK_CUR, err) &&
	    !zip_directory(&f, directory, end - directory, err) &&
	    !load_member(&f, &m[0], a->array, a->bytes, err))
		rc = a->d->is->labels
			     ? load_member(&f, &m[1], numbers, 8 * n, err)
			     : 0;
	free(numbers);
	if (python_close(&f, err))
		rc = -1;
	return rc;
}
