/* SPDX-License-Identifier: MIT */
/* Checkpoints. */
#include "replay/pipeline/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/error.h"

#include "replay/comm/comm.h"
#include "replay/io/io.h"
#include "replay/pipeline/background.h"
#include "replay/pipeline/checkpoint_files.h"
#include "replay/pipeline/checkpoint_layout.h"
#include "replay/pipeline/run.h"
#include "replay/pipeline/run_log.h"
#include "replay/pipeline/stop.h"
#include "replay/pipeline/work.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

struct checkpoints {
	const struct workload_checkpoint *is;
	const struct comm *comm;
	struct run_result *result; /* of the run in progress */
	int on; /* enum workload_work: of the work before the writes */
	int64_t worked_ns;
	bool cold;    /* empty the page cache of them before they are read */
	struct io io; /* root: the folder of the checkpoints */
	uint64_t written;
	uint64_t random;
	struct checkpoint_source source;
	struct checkpoint_files list;
	struct background *background; /* its thread writes; NULL: the caller */
};

static int make_piece(struct checkpoints *c, struct reel_error *err)
{
	c->source.io = &c->io;
	c->source.piece = reel_alloc(CHECKPOINT_PIECE, 1, err);
	if (!c->source.piece)
		return -1;
	for (size_t i = 0; i < CHECKPOINT_PIECE; i += sizeof(uint64_t)) {
		uint64_t word = random_next(&c->random);

		memcpy(c->source.piece + i, &word, sizeof(word));
	}
	return 0;
}

static void free_checkpoints(struct checkpoints *c)
{
	checkpoint_files_fini(&c->list);
	free(c->source.piece);
	free(c);
}

static int write_next(void *arg, struct reel_error *err);

static int start_background(struct checkpoints *c, struct run_log *log,
			    struct reel_error *err)
{
	if (log && run_log_thread(log, &c->io.log, err))
		return -1;
	return background_new(&c->background, write_next, c, c->io.log, err);
}

int checkpoints_new(struct checkpoints **out, const struct workload *w,
		    const struct run_options *options, const struct comm *comm,
		    struct run_result *result, struct reel_error *err)
{
	struct checkpoints *c = reel_alloc(1, sizeof(*c), err);
	bool any = w->checkpoint.files_n || w->checkpoint.transformer.layers;
	const char *folder = options->checkpoints;

	if (!c)
		return -1;
	c->is = &w->checkpoint;
	c->on = w->compute.on;
	c->comm = comm;
	c->result = result;
	c->cold = w->cache == WORKLOAD_COLD;
	c->io.root = folder;
	c->io.null = options->null;
	*out = c;
	if (checkpoint_files_of(&c->list, c->is, comm, err) ||
	    (any && make_piece(c, err)))
		return -1;
	if (any && !c->io.null && mkdir(folder, 0777) && errno != EEXIST)
		return reel_fail(err, REEL_E_IO, "cannot make '%s': %s", folder,
				 strerror(errno));
	return c->is->background ? start_background(c, options->log, err) : 0;
}

/* --- names ---------------------------------------------------------------- */

/* The first file of TensorFlow has its usual name, others say whose they are. */
static void tensorflow_prefix(const struct checkpoints *c,
			      const struct checkpoint_file *f, int64_t copy,
			      const char *word, char *out, size_t room)
{
	if (!c->comm->rank && !f->number && !copy)
		snprintf(out, room, "%s", word);
	else
		snprintf(out, room, "%s_rank_%05d_%u_%lld", word, c->comm->rank,
			 f->number, (long long)copy);
}

static void name_of(const struct checkpoints *c, uint64_t number,
		    const struct checkpoint_file *f, int64_t copy, char *out,
		    size_t room)
{
	char prefix[64];

	if (!f->as) {
		snprintf(out, room, "global_step%llu/%s",
			 (unsigned long long)number, f->name);
	} else if (f->layout == WORKLOAD_TENSORFLOW) {
		tensorflow_prefix(c, f, copy, "ckpt", prefix, sizeof(prefix));
		snprintf(out, room, "%s-%llu", prefix,
			 (unsigned long long)number + 1);
	} else {
		snprintf(out, room, "checkpoint_%06llu_rank_%05d_%u_%lld.%s",
			 (unsigned long long)number, c->comm->rank, f->number,
			 (long long)copy,
			 f->layout == WORKLOAD_TORCH ? "pt" : "bin");
	}
}

/* The names of the files on storage that @path stands for; false behind the last. */
static bool stored_name(const struct checkpoint_file *f, const char *path,
			int i, char *out, size_t room)
{
	static const char *const suffix[] = {".index", ".data-00000-of-00001"};
	bool two = f->layout == WORKLOAD_TENSORFLOW;

	snprintf(out, room, "%s%s", path, two && i < 2 ? suffix[i] : "");
	return i < (two ? 2 : 1);
}

/* --- writing -------------------------------------------------------------- */

static int write_plain(struct checkpoints *c, const struct checkpoint_file *f,
		       const char *path, struct reel_error *err)
{
	const struct workload_checkpoint_file *as = f->as;
	const struct quantiles *q = &as->write_bytes;
	int64_t bytes = f->bytes;
	uint32_t writes = 0;
	int fd = io_create(&c->io, path, err), rc = 0;

	if (fd < 0)
		return -1;
	while (bytes && !rc) {
		int64_t n =
			as->series_bytes_n
				? as->series_bytes[writes % as->series_bytes_n]
			: q->n ? quantiles_at(q, random_share(&c->random))
			       : bytes;

		writes++;
		n = n < bytes ? n : bytes;
		rc = io_write_repeated(&c->io, fd, NULL, 0, c->source.piece,
				       CHECKPOINT_PIECE, (uint64_t)n, err);
		bytes -= n;
		if (!rc && bytes && stop_signal())
			rc = 1;
	}
	if (!rc && f->fsync)
		rc = io_fsync(&c->io, fd, err);
	if (io_close(&c->io, fd, err))
		rc = -1;
	return rc;
}

/* Rank 0 names the last checkpoint, as DeepSpeed does in "latest". */
static int write_latest(struct checkpoints *c, struct reel_error *err)
{
	char tag[64];
	int n = snprintf(tag, sizeof(tag), "global_step%llu",
			 (unsigned long long)c->written);
	int fd = io_create(&c->io, "latest", err), rc;

	if (fd < 0)
		return -1;
	rc = io_write_all(&c->io, fd, tag, (size_t)n, err);
	return io_close(&c->io, fd, err) || rc ? -1 : 0;
}

/* The state names the oldest one until that is removed. */
static int write_state(struct checkpoints *c, const struct checkpoint_file *f,
		       int64_t copy, bool removed, struct reel_error *err)
{
	uint64_t keep = (uint64_t)c->is->keep, last = c->written + 1, first = 1;
	char path[64], prefix[72];

	if (keep && last > keep)
		first = last - keep + removed;
	tensorflow_prefix(c, f, copy, "checkpoint", path, sizeof(path));
	tensorflow_prefix(c, f, copy, "ckpt", prefix, sizeof(path));
	strcat(prefix, "-");
	return tensorflow_write_state(&c->source, path, prefix, first, last,
				      err);
}

static int write_last_state(struct checkpoints *c, uint64_t number,
			    const struct checkpoint_file *f, int64_t copy,
			    struct reel_error *err)
{
	return f->layout == WORKLOAD_TENSORFLOW
		       ? write_state(c, f, copy, true, err)
		       : 0;
}

/* A file under its final name is whole: what a failure or a signal left of it is
 * removed. 0, 1 (a signal), or -1. */
static int write_one(struct checkpoints *c, uint64_t number,
		     const struct checkpoint_file *f, int64_t copy,
		     struct reel_error *err)
{
	char final[CHECKPOINT_PATH], path[CHECKPOINT_PATH];
	struct reel_error ignored = {0};
	int rc;

	name_of(c, number, f, copy, final, sizeof(final));
	c->source.saves = number + 1;
	snprintf(path, sizeof(path), "%.150s%s", final,
		 f->rename ? ".part" : "");
	if (f->layout == WORKLOAD_TENSORFLOW) {
		rc = tensorflow_write(&c->source, path, f->tensor, f->tensors,
				      f->fsync, err);
		return rc ? rc : write_state(c, f, copy, false, err);
	}
	rc = f->layout == WORKLOAD_TORCH
		     ? torch_write(&c->source, path, &f->form, f->tensor,
				   f->tensors, f->fsync, err)
		     : write_plain(c, f, path, err);
	if (!rc && f->rename)
		rc = io_rename(&c->io, path, final, err);
	if (rc)
		io_unlink(&c->io, path, &ignored);
	return rc;
}

/* Is @f in checkpoint @number? After n checkpoints it was in share * n of them. */
static bool is_part(const struct checkpoint_file *f, uint64_t number)
{
	double share = f->as ? f->as->share : 1;

	return round(share * (double)(number + 1)) >
	       round(share * (double)number);
}

/* Do @what for each file of checkpoint @number of this rank. */
static int each_file(struct checkpoints *c, uint64_t number,
		     int (*what)(struct checkpoints *, uint64_t,
				 const struct checkpoint_file *, int64_t,
				 struct reel_error *),
		     struct reel_error *err)
{
	for (uint32_t i = 0; i < c->list.n; i++) {
		const struct checkpoint_file *f = &c->list.file[i];
		int64_t copies = is_part(f, number) ? f->copies : 0;

		for (int64_t copy = 0; copy < copies; copy++) {
			int rc = what(c, number, f, copy, err);

			if (rc)
				return rc;
		}
	}
	return 0;
}

static int remove_one(struct checkpoints *c, uint64_t number,
		      const struct checkpoint_file *f, int64_t copy,
		      struct reel_error *err)
{
	char path[CHECKPOINT_PATH], name[CHECKPOINT_PATH + 32];

	name_of(c, number, f, copy, path, sizeof(path));
	for (int i = 0; stored_name(f, path, i, name, sizeof(name)); i++)
		if (io_unlink(&c->io, name, err))
			return -1;
	return 0;
}

static int folder_call(struct checkpoints *c, uint64_t number,
		       int (*call)(struct io *, const char *,
				   struct reel_error *),
		       struct reel_error *err)
{
	char path[64];

	snprintf(path, sizeof(path), "global_step%llu",
		 (unsigned long long)number);
	return c->is->transformer.layers ? call(&c->io, path, err) : 0;
}

static int remove_old(struct checkpoints *c, struct reel_error *err)
{
	uint64_t keep = (uint64_t)c->is->keep, old = c->written - keep;

	if (!keep || c->written < keep)
		return 0;
	return each_file(c, old, remove_one, err) ||
			       folder_call(c, old, io_rmdir, err)
		       ? -1
		       : 0;
}

/* 0, 1 (a signal), or -1. */
static int write_files(struct checkpoints *c, struct reel_error *err)
{
	int rc = 0;

	if (!c->io.null) {
		rc = folder_call(c, c->written, io_mkdir, err);
		if (!rc)
			rc = each_file(c, c->written, write_one, err);
		if (!rc && c->is->transformer.layers && !c->comm->rank)
			rc = write_latest(c, err);
		if (!rc)
			rc = remove_old(c, err);
		if (!rc)
			rc = each_file(c, c->written, write_last_state, err);
	}
	c->written += !rc;
	return rc;
}

static int write_next(void *arg, struct reel_error *err)
{
	struct checkpoints *c = arg;
	int rc;

	io_begin_span(&c->io, REEL_SPAN_CHECKPOINT, -1);
	c->worked_ns = c->is->work_ns ? work_spend(c->is->work_ns, c->on) : 0;
	rc = write_files(c, err);
	io_end_span(&c->io, REEL_SPAN_CHECKPOINT);
	return rc;
}

/* Note a signal that ended the writing. 0 or -1. */
static int end_writing(struct checkpoints *c, int rc)
{
	c->result->stopped = c->result->stopped || rc > 0;
	return rc < 0 ? -1 : 0;
}

int checkpoints_wait(struct checkpoints *c, struct reel_error *err)
{
	return c->background
		       ? end_writing(c, background_wait(c->background, err))
		       : 0;
}

int checkpoints_write(struct checkpoints *c, int64_t *worked_ns,
		      struct reel_error *err)
{
	int rc;

	*worked_ns = 0;
	if (!c->background) {
		c->io.log = c->result->io.log;
		rc = end_writing(c, write_next(c, err));
		*worked_ns = c->worked_ns;
		return rc;
	}
	if (checkpoints_wait(c, err))
		return -1;
	background_start(c->background);
	return 0;
}

/* --- reading -------------------------------------------------------------- */

static int read_plain(struct checkpoints *c, const struct checkpoint_file *f,
		      const char *path, struct reel_error *err)
{
	int64_t bytes = f->bytes;
	int fd = io_open(&c->io, path, false, err), rc = 0;

	if (fd < 0)
		return -1;
	while (bytes > 0 && !rc) {
		size_t n = bytes < CHECKPOINT_PIECE ? (size_t)bytes
						    : CHECKPOINT_PIECE;
		ssize_t got = io_read(&c->io, fd, c->source.piece, n, err);

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

static int read_one(struct checkpoints *c, uint64_t number,
		    const struct checkpoint_file *f, int64_t copy,
		    struct reel_error *err)
{
	char path[CHECKPOINT_PATH];

	name_of(c, number, f, copy, path, sizeof(path));
	c->source.saves = number + 1;
	if (stop_signal())
		return 1;
	return f->layout == WORKLOAD_TORCH
		       ? torch_read(&c->source, path, &f->form, f->tensor,
				    f->tensors, err)
	       : f->layout == WORKLOAD_TENSORFLOW
		       ? tensorflow_read(&c->source, path, f->tensor,
					 f->tensors, err)
		       : read_plain(c, f, path, err);
}

/* Pages that are not written yet cannot be dropped: they are written first. No part
 * of the benchmark: the calls are not counted. */
static int drop_name(struct checkpoints *c, const char *name,
		     struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	int rc = reel_buf_printf(&path, err, "%s/%s", c->io.root, name);
	int fd = rc ? -1 : open(reel_buf_text(&path), O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
	reel_buf_fini(&path);
	return rc;
}

static int drop_one(struct checkpoints *c, uint64_t number,
		    const struct checkpoint_file *f, int64_t copy,
		    struct reel_error *err)
{
	char path[CHECKPOINT_PATH], name[CHECKPOINT_PATH + 32];

	name_of(c, number, f, copy, path, sizeof(path));
	for (int i = 0; stored_name(f, path, i, name, sizeof(name)); i++)
		if (drop_name(c, name, err))
			return -1;
	return 0;
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

/* Did a signal reach any rank? Then all end here. */
static bool all_stop(struct checkpoints *c)
{
	int64_t stop = stop_signal() != 0;

	c->comm->allreduce(&stop, 1, COMM_MAX);
	c->result->stopped = c->result->stopped || stop;
	return stop;
}

static int read_all(struct checkpoints *c, struct reel_error *err)
{
	uint64_t last = c->written, first = last - (uint64_t)c->is->reads;

	for (uint64_t i = first; i < last && !c->io.null; i++) {
		int rc = each_file(c, i, read_one, err);

		if (rc > 0)
			c->result->stopped = true;
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	return 0;
}

int checkpoints_alone(struct checkpoints *c, struct reel_error *err)
{
	struct run_times *t = &c->result->time;
	int64_t start, written, worked_ns;
	bool stop;
	int rc = 0;

	for (int64_t i = 0; i < c->is->writes && !rc && !stop_signal(); i++) {
		if (i)
			t->compute_ns +=
				work_spend(c->is->pause_ns, WORKLOAD_SLEEP);
		if (stop_signal())
			break;
		start = reel_now_ns();
		rc = checkpoints_write(c, &worked_ns, err);
		t->storage_ns += reel_now_ns() - start - worked_ns;
		t->decode_ns += worked_ns;
	}
	written = reel_now_ns();
	if (comm_agree(c->comm, rc, err))
		return -1;
	stop = c->is->writes && all_stop(c);
	t->barrier_ns += reel_now_ns() - written;
	if (stop)
		return 0;
	c->io.log = c->result->io.log;
	if (c->is->reads && drop_pages(c, err))
		return -1;
	start = reel_now_ns();
	c->result->checkpoint_gap_ns = start - written;
	rc = read_all(c, err);
	t->storage_ns += reel_now_ns() - start;
	return rc;
}

void checkpoints_free(struct checkpoints *c)
{
	if (!c)
		return;
	background_free(c->background);
	c->result->checkpoints = c->written;
	c->result->checkpoint_bytes = c->io.write_bytes;
	io_add(&c->result->io, &c->io);
	free_checkpoints(c);
}
