/* SPDX-License-Identifier: MIT */
/*
 * A driver of libhdf5 for counted calls. Its features are those of the library's
 * own driver for POSIX files, which decide what is read at once.
 *
 * Source: HDF5's reference manual, "Virtual File Layer"; strace of h5py 3.
 */
#include "replay/dataset/hdf5_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#define DRIVER_NUMBER 511 /* of those for tests: no file holds it */
#endif

#include "replay/io/io.h"

struct file {
	H5FD_t base; /* the library's; first */
	struct hdf5_use *use;
	int fd;
	haddr_t end, allocated;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hdf5_lock(void)
{
	pthread_mutex_lock(&lock);
}

void hdf5_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* Keep the first error. */
static void keep(struct hdf5_use *use, const struct reel_error *err)
{
	if (!use->err.code)
		use->err = *err;
}

static int open_to_read(struct hdf5_use *use, uint64_t *size)
{
	struct reel_error err = {0};
	int fd = io_open(use->io, use->path, true, &err);

	if (fd >= 0 && (io_fstat(use->io, fd, size, &err) ||
			io_lock(use->io, fd, LOCK_SH | LOCK_NB, &err))) {
		io_close(use->io, fd, NULL);
		fd = -1;
	}
	if (fd < 0)
		keep(use, &err);
	return fd;
}

/* The library first looks whether there is a file. */
static int open_to_write(struct hdf5_use *use, bool make)
{
	struct reel_error err = {0};
	int fd = open(use->path,
		      O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_EXCL : 0), 0666);

	if (fd < 0 && make) {
		reel_fail(&err, REEL_E_IO, "cannot create '%s': %s", use->path,
			  strerror(errno));
		keep(use, &err);
	}
	return fd;
}

static H5FD_t *driver_open(const char *name, unsigned int flags, hid_t access,
			   haddr_t most)
{
	struct hdf5_use *const *use = H5Pget_driver_info(access);
	struct file *f = calloc(1, sizeof(*f));
	uint64_t size = 0;

	if (!f)
		return NULL;
	f->use = *use;
	f->fd = f->use->io ? open_to_read(f->use, &size)
			   : open_to_write(f->use, flags & H5F_ACC_CREAT);
	if (f->fd < 0) {
		free(f);
		return NULL;
	}
	f->end = size;
	return &f->base;
}

static struct file *file_of(const H5FD_t *base)
{
	return (struct file *)base;
}

static herr_t driver_close(H5FD_t *base)
{
	struct file *f = file_of(base);
	struct reel_error err = {0};
	int rc;

	if (f->use->io)
		rc = io_close(f->use->io, f->fd, &err);
	else if ((rc = close(f->fd)))
		reel_fail(&err, REEL_E_IO, "cannot write '%s': %s",
			  f->use->path, strerror(errno));
	if (rc)
		keep(f->use, &err);
	free(f);
	return 0;
}

/* Each open file is its own, as its calls are counted for its reader. */
static int driver_cmp(const H5FD_t *a, const H5FD_t *b)
{
	return a < b ? -1 : a > b;
}

static herr_t driver_query(const H5FD_t *base, unsigned long *flags)
{
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
		 H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
		 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
	return 0;
}

static haddr_t driver_get_allocated(const H5FD_t *base, H5FD_mem_t type)
{
	return file_of(base)->allocated;
}

static herr_t driver_set_allocated(H5FD_t *base, H5FD_mem_t type, haddr_t to)
{
	file_of(base)->allocated = to;
	return 0;
}

static haddr_t driver_get_end(const H5FD_t *base, H5FD_mem_t type)
{
	return file_of(base)->end;
}

/* Bytes behind the end are zero. */
static herr_t driver_read(H5FD_t *base, H5FD_mem_t type, hid_t transfer,
			  haddr_t at, size_t n, void *to)
{
	struct file *f = file_of(base);
	struct reel_error err = {0};
	uint8_t *p = to;

	while (n) {
		ssize_t got =
			f->use->io ? io_pread(f->use->io, f->fd, p, n, at, &err)
				   : pread(f->fd, p, n, (off_t)at);

		if (got < 0) {
			if (!f->use->io)
				reel_fail(&err, REEL_E_IO,
					  "cannot read '%s': %s", f->use->path,
					  strerror(errno));
			keep(f->use, &err);
			return -1;
		}
		if (!got)
			break;
		p += got;
		at += (haddr_t)got;
		n -= (size_t)got;
	}
	memset(p, 0, n);
	return 0;
}

static herr_t driver_write(H5FD_t *base, H5FD_mem_t type, hid_t transfer,
			   haddr_t at, size_t n, const void *from)
{
	struct file *f = file_of(base);
	const uint8_t *p = from;
	struct reel_error err = {0};

	while (n && !f->use->err.code) {
		ssize_t done = pwrite(f->fd, p, n, (off_t)at);

		if (done < 0) {
			reel_fail(&err, REEL_E_IO, "cannot write '%s': %s",
				  f->use->path, strerror(errno));
			keep(f->use, &err);
			break;
		}
		p += done;
		at += (haddr_t)done;
		n -= (size_t)done;
	}
	if (at + n > f->end)
		f->end = at + n;
	return 0;
}

/* The file ends where the library's allocation does. */
static herr_t driver_truncate(H5FD_t *base, hid_t transfer, hbool_t closing)
{
	struct file *f = file_of(base);
	struct reel_error err = {0};

	if (f->use->io || f->end == f->allocated)
		return 0;
	if (!f->use->err.code && ftruncate(f->fd, (off_t)f->allocated)) {
		reel_fail(&err, REEL_E_IO, "cannot write '%s': %s",
			  f->use->path, strerror(errno));
		keep(f->use, &err);
	}
	f->end = f->allocated;
	return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = DRIVER_NUMBER,
#endif
	.name = "counted",
	.maxaddr = (haddr_t)INT64_MAX,
	.fc_degree = H5F_CLOSE_WEAK,
	.fapl_size = sizeof(struct hdf5_use *),
	.open = driver_open,
	.close = driver_close,
	.cmp = driver_cmp,
	.query = driver_query,
	.get_eoa = driver_get_allocated,
	.set_eoa = driver_set_allocated,
	.get_eof = driver_get_end,
	.read = driver_read,
	.write = driver_write,
	.truncate = driver_truncate,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Registered once in a process. */
static hid_t driver_id(void)
{
	static hid_t id = -1;

	if (id < 0) {
		H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
		id = H5FDregister(&driver);
	}
	return id;
}

hid_t hdf5_open(struct hdf5_use *use, struct reel_error *err)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
	uint64_t size;

	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	if (access >= 0 && H5Pset_driver(access, driver_id(), &use) >= 0 &&
	    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
		file = use->io ? H5Fopen(use->path, H5F_ACC_RDONLY, access)
			       : H5Fcreate(use->path, H5F_ACC_EXCL, H5P_DEFAULT,
					   access);
	if (file < 0) /* the next call forgets why */
		hdf5_failed(use, err);
	if (access >= 0)
		H5Pclose(access);
	/* The library looks whether the name is a link. */
	if (file >= 0 && use->io && io_stat(use->io, use->path, &size, err)) {
		H5Fclose(file);
		return -1;
	}
	return file;
}

/* The innermost words, which come first. */
static herr_t first_words(unsigned int n, const H5E_error2_t *e, void *data)
{
	char *words = data;

	if (!*words && e->desc)
		snprintf(words, 160, "%s", e->desc);
	return 0;
}

int hdf5_failed(const struct hdf5_use *use, struct reel_error *err)
{
	char words[160] = "";

	if (use->err.code)
		return reel_fail(err, use->err.code, "%s", use->err.text);
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_words, words);
	if (!use->io)
		return reel_fail(err, REEL_E_IO,
				 "cannot write '%s': libhdf5: "
				 "%s",
				 use->path, words);
	return reel_fail(err, REEL_E_FORMAT,
			 "it is no HDF5 file of the data set: %s", words);
}
