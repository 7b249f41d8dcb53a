/* SPDX-License-Identifier: MIT */
/* The files of the data set that a reader has open. */
#include "replay/pipeline/open_files.h"

#include <stdlib.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/dataset.h"
#include "replay/dataset/format.h"
#include "replay/io/io.h"
#include "replay/workload/workload.h"

struct open_file {
	void *state;
	uint64_t file, used; /* used: the turn of its last use */
	uint64_t next;	     /* the sample behind the one that was read last */
};

struct open_files {
	const struct format *format;
	const struct dataset *d;
	struct io *io;
	uint64_t turn;
	uint32_t n, most, last; /* last: the one that was asked for */
	struct open_file at[];
};

int open_files_new(struct open_files **out, const struct format *format,
		   const struct dataset *d, struct io *io, uint32_t most,
		   struct reel_error *err)
{
	struct open_files *f = reel_alloc(
		1, sizeof(*f) + most * sizeof(struct open_file), err);

	if (!f)
		return -1;
	f->format = format;
	f->d = d;
	f->io = io;
	f->most = most;
	*out = f;
	return 0;
}

static int close_at(struct open_files *f, uint32_t i, struct reel_error *err)
{
	struct open_file was = f->at[i];
	struct reel_error why = {0};

	f->at[i] = f->at[--f->n];
	return f->format->close(was.state, &why)
		       ? dataset_fault(f->d, f->io->root, was.file, &why, err)
		       : 0;
}

/* The one to close for another. */
static uint32_t oldest(const struct open_files *f)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < f->n; i++)
		if (f->at[i].used < f->at[best].used)
			best = i;
	return best;
}

/* The index of @file; f->n: it is not open. */
static uint32_t find(const struct open_files *f, uint64_t file)
{
	uint32_t i = 0;

	if (f->last < f->n && f->at[f->last].file == file)
		return f->last;
	while (i < f->n && f->at[i].file != file)
		i++;
	return i;
}

/* An open before the one that reads: the start of the file. */
static int look_at(struct io *io, const char *path, struct reel_error *err)
{
	const struct workload_access *a = io->access;
	int64_t left = a->look_bytes;
	size_t most = (size_t)((left + a->look_reads - 1) / a->look_reads);
	int fd = io_open(io, path, true, err);
	ssize_t got = 1;

	if (fd < 0)
		return -1;
	if (io_room(io, most + 1, err))
		got = -1;
	while (got > 0 && left > 0) {
		size_t n = left < (int64_t)most ? (size_t)left : most;

		got = io_read(io, fd, io->bounce, n, err);
		left -= got;
	}
	return io_close(io, fd, got < 0 ? NULL : err) || got < 0 ? -1 : 0;
}

/* An open that reads all of @file, as a job does that loads a file twice. */
static int read_whole(struct open_files *f, uint64_t file,
		      struct reel_error *err)
{
	uint64_t first = file * f->d->samples_per_file;
	struct reel_error why = {0};
	struct format_sample got;
	void *opened = NULL;
	int rc = f->format->open(&opened, f->d, file, f->io, &why);

	if (rc)
		return dataset_fault(f->d, f->io->root, file, &why, err);
	for (uint64_t i = 0; !rc && i < f->d->samples_per_file; i++)
		rc = f->format->read(opened, first + i, &got, &why);
	if (f->format->close(opened, rc ? NULL : &why) || rc)
		return dataset_fault(f->d, f->io->root, file, &why, err);
	return 0;
}

static int look(struct open_files *f, uint64_t file, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	int rc = dataset_path(f->d, file, &path, err);

	for (int64_t i = 0; !rc && i < f->io->access->looks; i++)
		rc = f->io->access->look_whole
			     ? read_whole(f, file, err)
			     : look_at(f->io, reel_buf_text(&path), err);
	reel_buf_fini(&path);
	return rc;
}

/* A stream does not go back, and who reads a file again that is one sample opens it. */
static bool is_past(const struct open_files *f, const struct open_file *at,
		    uint64_t sample)
{
	return sample < at->next &&
	       (!f->format->any_order || f->d->samples_per_file == 1);
}

/* Where the file of @sample is open: it is opened where it is not, or where it is past
 * the sample. NULL with @err. */
static struct open_file *get(struct open_files *f, uint64_t sample,
			     struct reel_error *err)
{
	uint64_t file = sample / f->d->samples_per_file;
	uint32_t i = find(f, file);

	if (i < f->n && is_past(f, &f->at[i], sample)) {
		if (close_at(f, i, err))
			return NULL;
		i = f->n;
	}
	if (i == f->n) {
		struct reel_error why = {0};
		void *opened = NULL;

		if (f->n == f->most && close_at(f, oldest(f), err))
			return NULL;
		if (f->io->access->looks && look(f, file, err))
			return NULL;
		if (f->format->open(&opened, f->d, file, f->io, &why)) {
			dataset_fault(f->d, f->io->root, file, &why, err);
			return NULL;
		}
		i = f->n++;
		f->at[i] = (struct open_file){.state = opened, .file = file};
	}
	f->at[i].used = ++f->turn;
	f->at[i].next = sample + 1;
	f->last = i;
	return &f->at[i];
}

int open_files_read(struct open_files *f, uint64_t sample,
		    struct format_sample *out, struct reel_error *err)
{
	uint64_t file = sample / f->d->samples_per_file;
	const struct open_file *at = get(f, sample, err);
	struct reel_error why; /* not zeroed: this is done for each sample */

	why.code = REEL_OK;
	if (!at)
		return -1;
	if (f->format->read(at->state, sample, out, &why))
		return dataset_fault(f->d, f->io->root, file, &why, err);
	return f->io->access->reopen ? open_files_close(f, err) : 0;
}

int open_files_close(struct open_files *f, struct reel_error *err)
{
	int rc = 0;

	while (f->n)
		if (close_at(f, f->n - 1, rc ? NULL : err))
			rc = -1;
	return rc;
}

void open_files_free(struct open_files *f)
{
	if (f)
		open_files_close(f, NULL);
	free(f);
}
