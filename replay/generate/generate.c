/* SPDX-License-Identifier: MIT */
/* Write a data set. */
#include "replay/generate/generate.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/progress.h"

#include "replay/comm/comm.h"
#include "replay/dataset/format.h"
#include "replay/generate/mark.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define THREADS_MOST 256
#define SAMPLES_MANY 1000000 /* counting each takes a noticeable time */

/* The work of all threads of a rank on one part. */
struct making {
	struct dataset d;
	const struct format *format;
	const char *dir;
	bool (*stopped)(void);
	uint64_t first, step; /* files first, first + step ... are ours */
	atomic_uint_fast64_t next;
	atomic_bool stop;
	pthread_mutex_t lock; /* for all below */
	struct generate_result *result;
	struct reel_progress progress;
	struct reel_error err;
};

static bool is_stopped(const struct making *m)
{
	return m->stopped && m->stopped();
}

static int full_path(const struct making *m, uint64_t file, const char *suffix,
		     struct reel_buf *out, struct reel_error *err)
{
	reel_buf_reset(out);
	if (reel_buf_printf(out, err, "%s/", m->dir) ||
	    dataset_path(&m->d, file, out, err))
		return -1;
	return reel_buf_puts(out, suffix, err);
}

/* Make the folders of @path, which is below the data set's folder. */
static int make_folders(const struct making *m, char *path,
			struct reel_error *err)
{
	for (char *p = path + strlen(m->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0777) && errno != EEXIST) {
			reel_fail(err, REEL_E_IO, "cannot make '%s': %s", path,
				  strerror(errno));
			*p = '/';
			return -1;
		}
		*p = '/';
	}
	return 0;
}

static int size_of(const char *path, struct stat *st, struct reel_error *err)
{
	return stat(path, st)
		       ? reel_fail(err, REEL_E_IO, "cannot look at '%s': %s",
				   path, strerror(errno))
		       : 0;
}

/* Can a file of @size be file @file, complete? One whose size is not known before has
 * its payload at least. */
static bool is_complete(const struct making *m, uint64_t file, int64_t size)
{
	const struct workload_dataset *d = m->d.is;
	uint64_t least = 1;

	if (m->format->file_bytes)
		return (uint64_t)size == m->format->file_bytes(&m->d, file);
	if (!d->compression && !d->columns_n)
		least = dataset_file_bytes(&m->d, file);
	return size > 0 && (uint64_t)size >= least;
}

static int move(const char *from, const char *to, struct reel_error *err)
{
	return rename(from, to)
		       ? reel_fail(err, REEL_E_IO, "cannot rename '%s': %s",
				   from, strerror(errno))
		       : 0;
}

/* The index beside a file, where its format writes one. */
static int move_index(const char *part, const char *path,
		      struct reel_error *err)
{
	struct reel_buf from = REEL_BUF_INIT, to = REEL_BUF_INIT;
	static const char *const kind[] = {".idx", ".off.idx", ".sz.idx"};
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(kind) / sizeof(kind[0]); i++) {
		reel_buf_reset(&from);
		reel_buf_reset(&to);
		rc = reel_buf_printf(&from, err, "%s%s", part, kind[i]) ||
		     reel_buf_printf(&to, err, "%s%s", path, kind[i]);
		if (!rc && !access(reel_buf_text(&from), F_OK))
			rc = move(reel_buf_text(&from), reel_buf_text(&to),
				  err);
	}
	reel_buf_fini(&from);
	reel_buf_fini(&to);
	return rc ? -1 : 0;
}

/* Remove the leftovers of a run that was ended. */
static void remove_part(const char *part)
{
	static const char *const kind[] = {"", ".idx", ".off.idx", ".sz.idx"};
	struct reel_buf path = REEL_BUF_INIT;

	for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		reel_buf_reset(&path);
		if (!reel_buf_printf(&path, NULL, "%s%s", part, kind[i]))
			unlink(reel_buf_text(&path));
	}
	reel_buf_fini(&path);
}

/* 1: made, with its size; @again: in place of one of another size. 0: it was there;
 * -1 with @err. */
static int make_file(struct making *m, uint64_t file, uint64_t *bytes,
		     bool *again, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT, part = REEL_BUF_INIT;
	struct stat st;
	int rc = -1;

	if (full_path(m, file, "", &path, err) ||
	    full_path(m, file, ".part", &part, err))
		goto out;
	*again = !stat(reel_buf_text(&path), &st);
	if (*again && !S_ISREG(st.st_mode)) {
		reel_fail(err, REEL_E_FORMAT, "'%s' is no file",
			  reel_buf_text(&path));
		goto out;
	}
	if (*again && is_complete(m, file, st.st_size)) {
		rc = 0;
		goto out;
	}
	remove_part(reel_buf_text(&part));
	if (make_folders(m, part.data, err))
		goto out;
	if (m->format->write(&m->d, file, reel_buf_text(&part), err) ||
	    size_of(reel_buf_text(&part), &st, err) ||
	    move_index(reel_buf_text(&part), reel_buf_text(&path), err) ||
	    move(reel_buf_text(&part), reel_buf_text(&path), err)) {
		remove_part(reel_buf_text(&part));
		goto out;
	}
	*bytes = (uint64_t)st.st_size;
	rc = 1;
out:
	reel_buf_fini(&path);
	reel_buf_fini(&part);
	return rc;
}

static void *make_files(void *arg)
{
	struct making *m = arg;

	while (!atomic_load(&m->stop) && !is_stopped(m)) {
		uint64_t i = atomic_fetch_add(&m->next, 1);
		uint64_t file = m->first + i * m->step, bytes = 0;
		struct reel_error err = {0};
		bool again = false;
		int made;

		if (file >= m->d.files)
			break;
		made = make_file(m, file, &bytes, &again, &err);
		pthread_mutex_lock(&m->lock);
		if (made < 0) {
			atomic_store(&m->stop, true);
			if (!m->err.code)
				m->err = err;
		}
		m->result->files += made == 1;
		m->result->again += made == 1 && again;
		m->result->kept += made == 0;
		m->result->bytes += bytes;
		reel_progress_at(&m->progress,
				 m->result->files + m->result->kept);
		pthread_mutex_unlock(&m->lock);
	}
	return NULL;
}

static int make_part(struct making *m, int64_t threads, struct reel_error *err)
{
	pthread_t thread[THREADS_MOST];
	int started = 0;

	if (threads > THREADS_MOST)
		threads = THREADS_MOST;
	for (; started < threads - 1; started++)
		if (pthread_create(&thread[started], NULL, make_files, m))
			break; /* the ones that run do it all */
	make_files(m);
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return m->err.code ? reel_fail(err, m->err.code, "%s", m->err.text) : 0;
}

/* --- before and around ---------------------------------------------------- */

/* Space that files need, and their number. */
struct need {
	double bytes, files;
};

/* A lower bound that needs no look at each sample: half of what samples of the mean
 * size have. It holds where many are drawn: their sum is close to the mean's. */
static void count_least(const struct making *m, struct need *need)
{
	const struct workload_dataset *d = m->d.is;
	double left = 1;

	need->files += (double)m->d.files;
	if (m->d.samples < SAMPLES_MANY || d->series_bytes_n)
		return;
	if (d->compression) /* numbers of CSV are packed too */
		left = (1 - d->compressibility) * 0.4;
	need->bytes += (double)m->d.samples *
		       quantiles_mean(m->d.sample_bytes) * left / 2;
}

/* Files of one size are not counted one by one. */
static void count_all(const struct making *m, struct need *need)
{
	need->files += (double)m->d.files;
	if (m->d.sample_bytes->n == 1 && m->d.files) {
		need->bytes += (double)m->format->disk_bytes(&m->d, 0) *
			       (double)m->d.files;
		return;
	}
	for (uint64_t i = 0; i < m->d.files && !is_stopped(m); i++)
		need->bytes += (double)m->format->disk_bytes(&m->d, i);
}

static int count_missing(const struct making *m, struct need *need,
			 struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct stat st;
	int rc = 0;

	for (uint64_t i = 0; !rc && i < m->d.files && !is_stopped(m); i++) {
		rc = full_path(m, i, "", &path, err);
		if (rc || (!stat(reel_buf_text(&path), &st) &&
			   is_complete(m, i, st.st_size)))
			continue;
		need->bytes += (double)m->format->disk_bytes(&m->d, i);
		need->files++;
	}
	reel_buf_fini(&path);
	return rc;
}

/* A file system without a limit of inodes says 0 of them. */
static bool is_enough(const struct need *need, const struct statvfs *fs)
{
	return need->bytes <= (double)fs->f_bavail * (double)fs->f_frsize &&
	       (!fs->f_files || need->files <= (double)fs->f_favail);
}

/* Not even the empty file system holds it. */
static bool is_too_large(const struct need *least, const struct statvfs *fs)
{
	return least->bytes > (double)fs->f_blocks * (double)fs->f_frsize ||
	       (fs->f_files && least->files > (double)fs->f_files);
}

static int refuse(const struct need *need, const char *at_least,
		  const struct statvfs *fs, const char *dir,
		  struct reel_error *err)
{
	char bytes[REEL_NUM], free_bytes[REEL_NUM];
	char files[REEL_NUM], inodes[REEL_NUM];

	return reel_fail(
		err, REEL_E_IO,
		"the data set needs %s%s in %s files, '%s' has %s and %s files "
		"free",
		at_least, reel_num_bytes(bytes, need->bytes),
		reel_num_count(files, (int64_t)need->files), dir,
		reel_num_bytes(free_bytes,
			       (double)fs->f_bavail * (double)fs->f_frsize),
		fs->f_files ? reel_num_count(inodes, (int64_t)fs->f_favail)
			    : "no limit of");
}

/* Complete files need no space: they are looked for only where space for all
 * is not free. After a signal the rest is not counted, and nothing is made. */
static int check_space(const struct workload *w,
		       const struct generate_options *o, struct reel_error *err)
{
	struct making m = {.format = format_of(w->dataset.format),
			   .dir = o->dir,
			   .stopped = o->stopped};
	struct need least = {0}, need = {0};
	struct statvfs fs;

	if (statvfs(o->dir, &fs))
		return reel_fail(err, REEL_E_IO, "cannot look at '%s': %s",
				 o->dir, strerror(errno));
	for (int part = DATASET_TRAIN; part <= DATASET_EVALUATION; part++) {
		dataset_init(&m.d, w, (enum dataset_part)part);
		count_least(&m, &least);
	}
	if (is_too_large(&least, &fs))
		return refuse(&least, "at least ", &fs, o->dir, err);
	for (int part = DATASET_TRAIN; part <= DATASET_EVALUATION; part++) {
		dataset_init(&m.d, w, (enum dataset_part)part);
		count_all(&m, &need);
	}
	if (is_stopped(&m) || is_enough(&need, &fs))
		return 0;
	need = (struct need){0};
	for (int part = DATASET_TRAIN; part <= DATASET_EVALUATION; part++) {
		dataset_init(&m.d, w, (enum dataset_part)part);
		if (count_missing(&m, &need, err))
			return -1;
	}
	if (is_stopped(&m) || is_enough(&need, &fs))
		return 0;
	return refuse(&need, "", &fs, o->dir, err);
}

static int make_all(const struct workload *w, const struct generate_options *o,
		    const struct comm *comm, struct generate_result *result,
		    struct reel_error *err)
{
	int64_t threads = o->threads ? o->threads
				     : (int64_t)sysconf(_SC_NPROCESSORS_ONLN);
	int rc = 0;

	for (int part = DATASET_TRAIN; !rc && part <= DATASET_EVALUATION;
	     part++) {
		struct making m = {.format = format_of(w->dataset.format),
				   .dir = o->dir,
				   .stopped = o->stopped,
				   .first = (uint64_t)comm->rank,
				   .step = (uint64_t)comm->size,
				   .lock = PTHREAD_MUTEX_INITIALIZER,
				   .result = result};

		dataset_init(&m.d, w, (enum dataset_part)part);
		if (comm->rank == 0)
			reel_progress_start(&m.progress, "writing the data set",
					    "files",
					    m.d.files / (uint64_t)comm->size);
		rc = make_part(&m, threads, err);
		reel_progress_stop(&m.progress);
	}
	return rc;
}

/* Two that write the same files remove and rename those of each other. A file system
 * without locks, and a folder that cannot be opened, are no failure here. */
static int lock_folder(const char *dir, int *lock, struct reel_error *err)
{
	*lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) &&
	    errno == EWOULDBLOCK)
		return reel_fail(err, REEL_E_IO,
				 "another ioreel gen writes into '%s'", dir);
	return 0;
}

/* A folder that is refused stays as it was. @lock: a descriptor to close at the
 * end, or -1. */
static int claim(const struct workload *w, const struct generate_options *o,
		 int *lock, struct reel_error *err)
{
	bool was_there = !access(o->dir, F_OK), claimed;

	if (mkdir(o->dir, 0777) && errno != EEXIST)
		return reel_fail(err, REEL_E_IO, "cannot make '%s': %s", o->dir,
				 strerror(errno));
	if (lock_folder(o->dir, lock, err) ||
	    dataset_claim(w, o->dir, &claimed, err))
		return -1;
	if (!check_space(w, o, err))
		return 0;
	if (claimed)
		dataset_unmark(o->dir);
	if (!was_there)
		rmdir(o->dir);
	return -1;
}

int dataset_generate(const struct workload *w,
		     const struct generate_options *options,
		     const struct comm *comm, struct generate_result *result,
		     struct reel_error *err)
{
	const struct format *format = format_of(w->dataset.format);
	int rc = 0, lock = -1;

	memset(result, 0, sizeof(*result));
	if (!format)
		return reel_fail(err, REEL_E_USAGE,
				 "this build has no format '%s'",
				 workload_format_name(w->dataset.format));
	if (comm->rank == 0)
		rc = claim(w, options, &lock, err);
	rc = comm_agree(comm, rc, err);
	if (!rc) {
		rc = make_all(w, options, comm, result, err);
		rc = comm_agree(comm, rc, err);
	}
	if (lock >= 0)
		close(lock);
	return rc;
}
