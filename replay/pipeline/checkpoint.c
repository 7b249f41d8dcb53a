/* SPDX-License-Identifier: MIT */
/* Checkpoints. */
#include "replay/pipeline/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/comm/comm.h"
#include "replay/dataset/io.h"
#include "replay/pipeline/run.h"
#include "replay/pipeline/work.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define PIECE (16u << 20) /* of the memory that writes come from */

struct checkpoints {
	const struct workload_checkpoint *is;
	const struct comm *comm;
	bool cold;    /* empty the page cache of them before they are read */
	struct io io; /* root: the folder of the checkpoints */
	uint64_t written;
	uint64_t random;
	uint8_t *piece;
};

int checkpoints_new(struct checkpoints **out, const struct workload *w,
		    const char *folder, bool null, const struct comm *comm,
		    struct reel_error *err)
{
	struct checkpoints *c = reel_alloc(1, sizeof(*c), err);

	if (!c)
		return -1;
	c->is = &w->checkpoint;
	c->comm = comm;
	c->cold = w->cache == WORKLOAD_COLD;
	c->io.root = folder;
	c->io.null = null;
	c->piece = c->is->files_n ? reel_alloc(PIECE, 1, err) : NULL;
	if (c->is->files_n && !c->piece)
		goto fail;
	if (c->is->files_n && !null && mkdir(folder, 0777) && errno != EEXIST) {
		reel_fail(err, REEL_E_IO, "cannot make '%s': %s", folder,
			  strerror(errno));
		goto fail;
	}
	for (size_t i = 0; c->piece && i < PIECE; i += sizeof(uint64_t)) {
		uint64_t word = random_next(&c->random);

		memcpy(c->piece + i, &word, sizeof(word));
	}
	*out = c;
	return 0;
fail:
	free(c->piece);
	free(c);
	return -1;
}

/* Is file @f written by this rank, and how much of it? */
static bool mine(const struct checkpoints *c,
		 const struct workload_checkpoint_file *f, int64_t *bytes)
{
	*bytes = f->bytes;
	if (f->owner == WORKLOAD_SHARD)
		*bytes = f->bytes / c->comm->size;
	return f->owner != WORKLOAD_ROOT || c->comm->rank == 0;
}

static void name_of(const struct checkpoints *c, uint64_t number, uint32_t file,
		    int64_t copy, const char *suffix, char *out, size_t room)
{
	snprintf(out, room, "checkpoint_%06llu_rank_%05d_%u_%lld.bin%s",
		 (unsigned long long)number, c->comm->rank, file,
		 (long long)copy, suffix);
}

static int write_file(struct checkpoints *c, uint32_t i, int64_t copy,
		      int64_t bytes, struct reel_error *err)
{
	const struct workload_checkpoint_file *f = &c->is->files[i];
	char path[96], final[96];
	int fd, rc = 0;

	name_of(c, c->written, i, copy, "", final, sizeof(final));
	name_of(c, c->written, i, copy, f->rename ? ".part" : "", path,
		sizeof(path));
	fd = io_create(&c->io, path, err);
	if (fd < 0)
		return -1;
	while (bytes && !rc) {
		int64_t n = f->write_bytes.n
				    ? quantiles_at(&f->write_bytes,
						   random_share(&c->random))
				    : PIECE;

		if (n > bytes)
			n = bytes;
		if (n > PIECE)
			n = PIECE;
		rc = io_write_all(&c->io, fd, c->piece, (size_t)n, err);
		bytes -= n;
	}
	if (!rc && f->fsync)
		rc = io_fsync(&c->io, fd, err);
	if (io_close(&c->io, fd, err))
		rc = -1;
	if (!rc && f->rename)
		rc = io_rename(&c->io, path, final, err);
	return rc;
}

/* Do @what for each file of checkpoint @number of this rank. */
static int each_file(struct checkpoints *c, uint64_t number,
		     int (*what)(struct checkpoints *, uint64_t, uint32_t,
				 int64_t, int64_t, struct reel_error *),
		     struct reel_error *err)
{
	for (uint32_t i = 0; i < c->is->files_n; i++) {
		int64_t bytes;

		if (!mine(c, &c->is->files[i], &bytes))
			continue;
		for (int64_t copy = 0; copy < c->is->files[i].count; copy++)
			if (what(c, number, i, copy, bytes, err))
				return -1;
	}
	return 0;
}

static int write_one(struct checkpoints *c, uint64_t number, uint32_t i,
		     int64_t copy, int64_t bytes, struct reel_error *err)
{
	return write_file(c, i, copy, bytes, err);
}

static int remove_one(struct checkpoints *c, uint64_t number, uint32_t i,
		      int64_t copy, int64_t bytes, struct reel_error *err)
{
	char path[96];

	name_of(c, number, i, copy, "", path, sizeof(path));
	return io_unlink(&c->io, path, err);
}

static int read_one(struct checkpoints *c, uint64_t number, uint32_t i,
		    int64_t copy, int64_t bytes, struct reel_error *err)
{
	char path[96];
	int fd, rc = 0;

	name_of(c, number, i, copy, "", path, sizeof(path));
	fd = io_open(&c->io, path, false, err);
	if (fd < 0)
		return -1;
	while (bytes > 0 && !rc) {
		size_t n = bytes < PIECE ? (size_t)bytes : PIECE;
		ssize_t got = io_read(&c->io, fd, c->piece, n, err);

		if (got < 0)
			rc = -1;
		else if (!got)
			rc = reel_fail(err, REEL_E_FORMAT,
				       "a checkpoint is shorter than it was "
				       "written: '%s'",
				       path);
		bytes -= got;
	}
	if (io_close(&c->io, fd, err))
		rc = -1;
	return rc;
}

int checkpoints_write(struct checkpoints *c, struct io *io,
		      struct reel_error *err)
{
	if (each_file(c, c->written, write_one, err))
		return -1;
	c->written++;
	if (c->is->keep && c->written > (uint64_t)c->is->keep)
		return each_file(c, c->written - 1 - (uint64_t)c->is->keep,
				 remove_one, err);
	return 0;
}

/* Pages that are not written yet cannot be dropped: they are written first. No part
 * of the benchmark: the calls are not counted. */
static int drop_one(struct checkpoints *c, uint64_t number, uint32_t i,
		    int64_t copy, int64_t bytes, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	char name[96];
	int fd, rc;

	name_of(c, number, i, copy, "", name, sizeof(name));
	rc = reel_buf_printf(&path, err, "%s/%s", c->io.root, name);
	fd = rc ? -1 : open(reel_buf_text(&path), O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
	reel_buf_fini(&path);
	return rc;
}

/* Each rank drops all files of its own; then no rank reads what another one holds
 * back. */
static int drop_pages(struct checkpoints *c, struct reel_error *err)
{
	int rc = 0;

	for (uint64_t i = 0; !rc && c->cold && !c->io.null && i < c->written;
	     i++)
		rc = each_file(c, i, drop_one, err);
	return comm_agree(c->comm, rc, err);
}

int checkpoints_alone(struct checkpoints *c, struct run_result *result,
		      struct reel_error *err)
{
	int64_t start = work_now_ns(), written;

	for (int64_t i = 0; i < c->is->writes; i++) {
		if (i)
			work_spend(c->is->pause_ns, WORKLOAD_SLEEP);
		if (checkpoints_write(c, &result->io, err))
			return -1;
	}
	written = work_now_ns();
	if (c->is->reads && drop_pages(c, err))
		return -1;
	result->checkpoint_gap_ns = work_now_ns() - written;
	for (int64_t i = 0; i < c->is->reads; i++)
		if (each_file(c, (uint64_t)i, read_one, err))
			return -1;
	if (c->is->writes)
		result->time.storage_ns += work_now_ns() - start;
	return 0;
}

void checkpoints_free(struct checkpoints *c, struct run_result *result)
{
	if (!c)
		return;
	result->checkpoints = c->written;
	result->checkpoint_bytes = c->io.write_bytes;
	io_add(&result->io, &c->io);
	free(c->piece);
	free(c);
}
