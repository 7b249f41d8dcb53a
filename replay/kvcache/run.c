/* SPDX-License-Identifier: MIT */
/* The trials of a key-value cache. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/progress.h"

#include "replay/comm/comm.h"
#include "replay/kvcache/internal.h"
#include "replay/pipeline/run.h"
#include "replay/pipeline/run_log.h"
#include "replay/pipeline/stop.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define FOLDER ".kvcache"
#define NOISE_BYTES (64u << 20)	 /* distinct bytes that are written */
#define TARGET_BYTES (16u << 20) /* of a user's memory, at least */
#define MAPS_MOST 32768		 /* of a process: half of the kernel's bound */
#define FREE_SHARE 0.95
#define STACK_BYTES (512u << 10)
#define POLL_NS 100000000

/* All trials of a rank. */
struct running {
	const struct workload *w;
	const struct run_options *options;
	const struct comm *comm;
	struct run_result *run;
	struct kvcache_result *result;
	char folder[PATH_MAX], root[PATH_MAX];
	bool made; /* the root */
	struct kvcache_user *user;
	struct kvcache cache;
	struct reel_progress progress;
	int64_t start_ns;
};

/* --- folder --------------------------------------------------------------- */

static int make_folder(const char *path, bool fresh, struct reel_error *err)
{
	struct stat st;

	if (!mkdir(path, 0777))
		return 0;
	if (errno == EEXIST && fresh)
		return reel_fail(err, REEL_E_USAGE,
				 "'%s' holds the objects of a run that was "
				 "killed, or goes on: remove it",
				 path);
	if (errno != EEXIST)
		return reel_fail_io(err, "make", path, errno);
	/* A link would lead out of the folder of the user. */
	if (lstat(path, &st) || !S_ISDIR(st.st_mode))
		return reel_fail(err, REEL_E_IO, "'%s' is no folder", path);
	return 0;
}

static int make_folders(struct running *r, struct reel_error *err)
{
	const char *data = r->options->data;

	if (r->options->null)
		return 0;
	if (snprintf(r->folder, sizeof(r->folder), "%s/" FOLDER, data) +
		    (int)sizeof("/rank_2147483647") >
	    (int)sizeof(r->folder))
		return reel_fail(err, REEL_E_IO, "a path is too long: %s",
				 data);
	snprintf(r->root, sizeof(r->root), "%.4000s/rank_%d", r->folder,
		 r->comm->rank);
	if (mkdir(data, 0777) && errno != EEXIST)
		return reel_fail_io(err, "make", data, errno);
	if (make_folder(r->folder, false, err) ||
	    make_folder(r->root, true, err))
		return -1;
	r->made = true;
	return 0;
}

static int remove_folders(struct running *r, struct reel_error *err)
{
	if (!r->made)
		return 0;
	r->made = false;
	if (rmdir(r->root))
		return reel_fail_io(err, "remove", r->root, errno);
	rmdir(r->folder); /* fails while another rank has its own in it */
	return 0;
}

/* Bytes on storage that this rank may fill. */
static int capacity(const struct running *r, int64_t *bytes,
		    struct reel_error *err)
{
	struct statvfs fs;

	*bytes = r->w->kvcache.capacity_bytes;
	if (*bytes)
		return 0;
	*bytes = INT64_MAX / 2;
	if (r->options->null)
		return 0;
	if (statvfs(r->root, &fs))
		return reel_fail_io(err, "look at", r->root, errno);
	*bytes = (int64_t)((double)fs.f_bavail * (double)fs.f_frsize *
			   FREE_SHARE / r->comm->size);
	return 0;
}

/* --- users ---------------------------------------------------------------- */

static size_t largest_object(const struct workload_kvcache *k)
{
	const struct quantiles *q = &k->context_tokens;

	return (size_t)(q->value[q->n - 1] * k->bytes_per_token);
}

/* Few enough pieces for all users, each a power of two. */
static size_t piece_bytes(const struct workload_kvcache *k, size_t largest)
{
	size_t piece = TARGET_BYTES;

	while (largest / piece * (size_t)k->users > MAPS_MOST)
		piece *= 2;
	return piece;
}

static int begin_users(struct running *r, struct reel_error *err)
{
	const struct workload_kvcache *k = &r->w->kvcache;
	size_t largest = largest_object(k), piece = piece_bytes(k, largest);

	r->user = reel_alloc((size_t)k->users, sizeof(*r->user), err);
	if (!r->user)
		return -1;
	for (int64_t i = 0; i < k->users; i++) {
		struct kvcache_user *u = &r->user[i];

		u->cache = &r->cache;
		u->number = (int)i;
		u->io.root = r->root;
		u->io.null = r->options->null;
		u->io.transfer_bytes = r->w->access.transfer_bytes;
		u->turn = reel_alloc((size_t)k->turns, sizeof(*u->turn), err);
		if (!u->turn ||
		    (r->options->log &&
		     run_log_thread(r->options->log, &u->io.log, err)))
			return -1;
		if (room_map(&u->target, largest, piece, err))
			return -1;
	}
	if (room_map(&r->cache.noise, largest + NOISE_BYTES, NOISE_BYTES, err))
		return -1;
	if (!r->options->null)
		room_noise(&r->cache.noise, NOISE_BYTES,
			   (uint64_t)k->seed + (uint64_t)r->comm->rank);
	return 0;
}

static void end_users(struct running *r)
{
	for (int64_t i = 0; r->user && i < r->w->kvcache.users; i++) {
		io_add(&r->run->io, &r->user[i].io);
		io_fini(&r->user[i].io);
		room_unmap(&r->user[i].target);
		free(r->user[i].turn);
	}
	free(r->user);
	room_unmap(&r->cache.noise);
}

/* The same users again, with other requests. */
static void reset_user(struct running *r, struct kvcache_user *u,
		       uint32_t trial)
{
	memset(&u->n, 0, sizeof(u->n));
	memset(&u->request, 0, sizeof(u->request));
	memset(&u->read, 0, sizeof(u->read));
	memset(&u->write, 0, sizeof(u->write));
	memset(&u->sync, 0, sizeof(u->sync));
	u->turns = 0;
	u->objects = 0;
	u->random = (uint64_t)r->w->kvcache.seed ^ (uint64_t)trial << 48 ^
		    (uint64_t)r->comm->rank << 24 ^ (uint64_t)u->number;
	random_next(&u->random);
}

/* --- trials --------------------------------------------------------------- */

static void add_user(struct kvcache_trial *t, const struct kvcache_user *u)
{
	const int64_t *from = (const int64_t *)&u->n;
	int64_t *to = (int64_t *)&t->n;

	for (size_t i = 0; i < sizeof(t->n) / sizeof(*to); i++)
		to[i] += from[i];
	latency_merge(&t->request, &u->request);
	latency_merge(&t->read, &u->read);
	latency_merge(&t->write, &u->write);
	latency_merge(&t->sync, &u->sync);
}

static int start_users(struct running *r, struct reel_error *err)
{
	pthread_attr_t attr;
	int rc = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int64_t i = 0; !rc && i < r->w->kvcache.users; i++) {
		struct kvcache_user *u = &r->user[i];

		rc = pthread_create(&u->thread, &attr, kvcache_user_main, u);
		u->started = !rc;
	}
	pthread_attr_destroy(&attr);
	return rc ? reel_fail(err, REEL_E_IO, "cannot start a user: %s",
			      strerror(rc))
		  : 0;
}

static void wait_for_users(struct running *r)
{
	while (!kvcache_over(&r->cache)) {
		int64_t left = r->cache.deadline_ns - reel_now_ns();
		struct timespec nap = {0, left < POLL_NS ? left : POLL_NS};

		if (left > 0)
			nanosleep(&nap, NULL);
		reel_progress_at(&r->progress,
				 (uint64_t)(reel_now_ns() - r->start_ns) /
					 1000000000);
	}
	for (int64_t i = 0; i < r->w->kvcache.users; i++)
		if (r->user[i].started)
			pthread_join(r->user[i].thread, NULL);
}

static int run_users(struct running *r, struct kvcache_trial *t,
		     struct reel_error *err)
{
	struct kvcache *c = &r->cache;
	int64_t start = reel_now_ns();
	int rc;

	c->deadline_ns = start + r->w->kvcache.duration_ns;
	rc = start_users(r, err);
	if (rc)
		atomic_store(&c->failed, true);
	wait_for_users(r);
	t->wall_ns = reel_now_ns() - start;
	t->in_flight = c->gate.peak;
	for (int64_t i = 0; i < r->w->kvcache.users; i++)
		add_user(t, &r->user[i]);
	if (!rc && c->err.code) {
		*err = c->err;
		rc = -1;
	}
	return rc;
}

static int run_trial(struct running *r, uint32_t number, struct reel_error *err)
{
	const struct workload_kvcache *k = &r->w->kvcache;
	struct kvcache_trial *t = &r->result->trial[number];
	struct kvcache *c = &r->cache;
	int64_t bytes;
	int rc = capacity(r, &bytes, err);

	for (int64_t i = 0; i < k->users; i++) {
		reset_user(r, &r->user[i], number);
		r->user[i].started = false;
	}
	atomic_store(&c->failed, false);
	memset(&c->err, 0, sizeof(c->err));
	gate_init(&c->gate, k->in_flight);
	tiers_init(&c->tiers, k->memory_bytes, bytes);
	if (!rc && (int64_t)largest_object(k) > bytes)
		rc = reel_fail(err, REEL_E_IO,
			       "'%s' has room for %" PRId64
			       " bytes, the largest object has %zu",
			       r->root, bytes, largest_object(k));
	rc = comm_agree(r->comm, rc, err);
	r->comm->barrier();
	if (!rc)
		rc = run_users(r, t, err);
	/* The first failure stays in @err. */
	if (tiers_fini(&c->tiers, &r->run->io, err))
		rc = -1;
	gate_fini(&c->gate);
	return comm_agree(r->comm, rc, err);
}

static int run_trials(struct running *r, struct reel_error *err)
{
	const struct workload_kvcache *k = &r->w->kvcache;
	int64_t stop = 0;

	for (uint32_t i = 0; i < k->trials && !stop; i++) {
		r->result->trials = i + 1;
		if (run_trial(r, i, err))
			return -1;
		stop = stop_signal() != 0;
		r->comm->allreduce(&stop, 1, COMM_MAX);
	}
	r->run->stopped = stop;
	return 0;
}

/* Times of a rank: those of its users, on average. */
static void set_times(struct running *r)
{
	struct run_times *t = &r->run->time;

	r->run->wall_ns = reel_now_ns() - r->start_ns;
	for (uint32_t i = 0; i < r->result->trials; i++)
		t->storage_ns +=
			r->result->trial[i].n.storage_ns / r->w->kvcache.users;
	t->own_ns = r->run->wall_ns - t->storage_ns;
}

static int begin(struct running *r, struct reel_error *err)
{
	const struct workload_kvcache *k = &r->w->kvcache;

	pthread_mutex_init(&r->cache.lock, NULL);
	r->cache.is = k;
	r->result->trial =
		reel_alloc((size_t)k->trials, sizeof(*r->result->trial), err);
	return !r->result->trial || make_folders(r, err) || begin_users(r, err)
		       ? -1
		       : 0;
}

int kvcache_run(const struct workload *w, const struct run_options *options,
		const struct comm *comm, struct run_result *run,
		struct kvcache_result *result, struct reel_error *err)
{
	struct running r = {.w = w,
			    .options = options,
			    .comm = comm,
			    .run = run,
			    .result = result};
	int64_t fetched = run_fetched_bytes(), now;
	int rc;

	memset(run, 0, sizeof(*run));
	memset(result, 0, sizeof(*result));
	rc = comm_agree(comm, begin(&r, err), err);
	run->io.log = run_log_stepping(options->log);
	run->io.root = r.root;
	run->io.null = options->null;
	r.start_ns = reel_now_ns();
	if (!rc && comm->rank == 0 && !options->quiet)
		reel_progress_start(
			&r.progress, w->name, "s",
			(uint64_t)(w->kvcache.duration_ns * w->kvcache.trials) /
				1000000000);
	if (!rc)
		rc = run_trials(&r, err);
	reel_progress_stop(&r.progress);
	if (result->trial)
		set_times(&r);
	now = run_fetched_bytes();
	run->fetched_bytes = fetched < 0 || now < 0 ? -1 : now - fetched;
	end_users(&r);
	if (remove_folders(&r, err))
		rc = -1;
	pthread_mutex_destroy(&r.cache.lock);
	run->io.root = NULL;
	return comm_agree(comm, rc, err);
}

void kvcache_result_fini(struct kvcache_result *result)
{
	free(result->trial);
	memset(result, 0, sizeof(*result));
}
