/* SPDX-License-Identifier: MIT */
/* The readers of a rank. */
#include "replay/pipeline/reader.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/error.h"

#include "replay/dataset/format.h"
#include "replay/pipeline/stop.h"
#include "replay/pipeline/work.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"
#include "schemas/ioreel.h"

#define LOOK_NS 100000000 /* between two looks at a reader that is waited for */

/* A reader's part of the shared memory; the slots of its queue follow it. */
struct shared {
	sem_t go, filled, free;
	atomic_uint_fast64_t epoch;
	atomic_bool quit, abandon, ended;
	atomic_int_fast64_t storage_ns, decode_ns;
	struct io io;	       /* its counts, after each batch */
	struct reel_error err; /* of the batch that could not be read */
	uint32_t slots;
	struct reader_batch slot[];
};

/* The working half, in the reader's thread or process. */
struct worker {
	const struct reader_plan *plan;
	struct shared *shared; /* NULL: the stepping thread reads itself */
	uint64_t index;
	struct io io;
	int64_t decode_ns;
	uint64_t random;
	struct schedule_cursor cursor;
	void *file; /* the open one; NULL: none */
	uint64_t file_number;
	uint32_t put; /* next slot */
};

struct one {
	struct shared *shared;
	pthread_t thread;
	pid_t pid;	     /* 0: a thread, or gone */
	bool started, ended; /* of the epoch */
	uint32_t take;	     /* next slot */
	struct worker worker;
};

struct readers {
	struct reader_plan plan;
	uint64_t n;
	bool inside;  /* the stepping thread reads */
	size_t bytes; /* of each shared part */
	struct one one[];
};

/* --- reading -------------------------------------------------------------- */

static void publish(struct worker *w)
{
	if (!w->shared)
		return;
	atomic_store(&w->shared->storage_ns, w->io.storage_ns);
	atomic_store(&w->shared->decode_ns, w->decode_ns);
}

static int close_file(struct worker *w, struct reel_error *err)
{
	void *file = w->file;

	w->file = NULL;
	return w->plan->format->close(file, err);
}

static int file_of_sample(struct worker *w, uint64_t sample,
			  struct reel_error *err)
{
	const struct dataset *d = &w->plan->schedule.data;
	uint64_t file = sample / d->samples_per_file;

	if (w->file && w->file_number == file)
		return 0;
	if (w->file && close_file(w, err))
		return -1;
	w->file_number = file;
	return w->plan->format->open(&w->file, d, file, &w->io, err);
}

static int read_sample(struct worker *w, uint64_t sample,
		       struct reel_error *err)
{
	const struct workload *of = w->plan->w;
	int64_t start = work_now_ns(), storage = w->io.storage_ns, spent;
	struct format_sample got;

	if (file_of_sample(w, sample, err) ||
	    w->plan->format->read(w->file, sample, &got, err))
		return -1;
	if (!w->plan->null && got.number != UINT64_MAX && got.number != sample)
		return reel_fail(err, REEL_E_FORMAT,
				 "sample %llu of the data set says that it is "
				 "%llu: the data set is of another workload",
				 (unsigned long long)sample,
				 (unsigned long long)got.number);
	if (of->preprocess.sample_ns.n) {
		double ns = (double)quantiles_at(&of->preprocess.sample_ns,
						 random_share(&w->random));

		work_spend((int64_t)(ns * of->what_if.preprocess_scale),
			   of->preprocess.on);
	}
	spent = work_now_ns() - start;
	w->decode_ns += spent - (w->io.storage_ns - storage);
	publish(w);
	return 0;
}

static uint64_t mixed(uint64_t number)
{
	return random_next(&number);
}

/* Read the next batch of the epoch. 0 or -1 with @err. */
static int read_batch(struct worker *w, struct reader_batch *b,
		      struct reel_error *err)
{
	uint64_t sample;

	memset(b, 0, sizeof(*b));
	while (schedule_next(&w->plan->schedule, &w->cursor, &sample,
			     &b->end)) {
		if (read_sample(w, sample, err))
			return -1;
		b->samples++;
		b->checksum += mixed(sample);
		b->order = mixed(b->order ^ sample);
	}
	/* A stream's last read is that of the end of the file. */
	if (b->end && w->file && !w->plan->schedule.any_order)
		return close_file(w, err);
	return 0;
}

/* A worker of a data loader marks its batches in the same way. */
static int marked_batch(struct worker *w, struct reader_batch *b,
			struct reel_error *err)
{
	int rc;

	IOREEL_BEGIN("preprocess", -1);
	rc = read_batch(w, b, err);
	IOREEL_END("preprocess");
	return rc;
}

static void worker_init(struct worker *w, const struct reader_plan *plan,
			uint64_t index, struct shared *shared)
{
	memset(w, 0, sizeof(*w));
	w->plan = plan;
	w->index = index;
	w->shared = shared;
	w->random =
		plan->schedule.seed * 4096 + plan->schedule.rank * 64 + index;
	w->io.root = plan->root;
	w->io.null = plan->null;
	w->io.transfer_bytes = plan->w->access.transfer_bytes;
	w->io.direct = plan->w->access.direct;
}

/* --- the loop of a reader ------------------------------------------------- */

static void wait_for(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

static void put(struct worker *w, const struct reader_batch *b)
{
	struct shared *s = w->shared;

	s->slot[w->put++ % s->slots] = *b;
	s->io = w->io;
	sem_post(&s->filled);
}

static bool run_epoch(struct worker *w)
{
	struct shared *s = w->shared;
	struct reader_batch b = {.end = false};

	schedule_begin(&w->cursor, atomic_load(&s->epoch), w->index);
	while (!b.end) {
		struct reel_error err = {0};

		wait_for(&s->free);
		if (atomic_load(&s->abandon) || atomic_load(&s->quit)) {
			b = (struct reader_batch){.end = true};
		} else if (marked_batch(w, &b, &err)) {
			s->err = err;
			b = (struct reader_batch){.end = true};
		}
		put(w, &b);
	}
	return !s->err.code;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	work_begin();
	for (;;) {
		wait_for(&w->shared->go);
		if (atomic_load(&w->shared->quit) || !run_epoch(w))
			break;
	}
	close_file(w, NULL);
	w->shared->io = w->io;
	return NULL;
}

static int start_process(struct one *o, struct reel_error *err)
{
	pid_t parent = getpid();

	o->pid = fork();
	if (o->pid < 0)
		return reel_fail(err, REEL_E_IO, "cannot start a reader: %s",
				 strerror(errno));
	if (o->pid)
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	if (getppid() == parent)
		worker_main(&o->worker);
	_exit(0);
}

static int start(struct readers *r, uint64_t i, struct reel_error *err)
{
	struct one *o = &r->one[i];
	struct shared *s = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t slots = (uint32_t)r->plan.w->pipeline.prefetch;
	int rc;

	if (s == MAP_FAILED)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	o->shared = s;
	s->slots = slots;
	sem_init(&s->go, 1, 0);
	sem_init(&s->filled, 1, 0);
	sem_init(&s->free, 1, slots);
	worker_init(&o->worker, &r->plan, i, s);
	if (r->plan.w->pipeline.unit == WORKLOAD_PROCESS) {
		rc = start_process(o, err);
	} else {
		rc = pthread_create(&o->thread, NULL, worker_main, &o->worker);
		if (rc)
			rc = reel_fail(err, REEL_E_IO,
				       "cannot start a reader: %s",
				       strerror(rc));
	}
	o->started = !rc;
	return rc;
}

/* --- the stepping thread's side ------------------------------------------- */

int readers_new(struct readers **out, const struct reader_plan *plan,
		struct reel_error *err)
{
	uint64_t wanted = (uint64_t)plan->w->pipeline.readers;
	uint64_t n = wanted ? wanted : 1;
	struct readers *r =
		reel_alloc(1, sizeof(*r) + n * sizeof(r->one[0]), err);

	if (!r)
		return -1;
	r->plan = *plan;
	r->inside = !wanted;
	r->bytes = sizeof(struct shared) + (size_t)plan->w->pipeline.prefetch *
						   sizeof(struct reader_batch);
	r->n = n;
	if (r->inside)
		worker_init(&r->one[0].worker, &r->plan, 0, NULL);
	for (uint64_t i = 0; i < wanted; i++)
		if (start(r, i, err)) {
			readers_free(r, NULL);
			return -1;
		}
	*out = r;
	return 0;
}

void readers_epoch(struct readers *r, uint64_t epoch)
{
	if (r->inside)
		schedule_begin(&r->one[0].worker.cursor, epoch, 0);
	for (uint64_t i = 0; i < r->n; i++) {
		r->one[i].ended = false;
		if (r->inside)
			continue;
		atomic_store(&r->one[i].shared->epoch, epoch);
		atomic_store(&r->one[i].shared->abandon, false);
		sem_post(&r->one[i].shared->go);
	}
}

/* 1: it is filled; 0: it was stopped by a signal; -1 with @err: the reader is
 * gone. */
static int wait_filled(struct one *o, struct reel_error *err)
{
	for (;;) {
		struct timespec until;
		int64_t at;

		if (!sem_trywait(&o->shared->filled))
			return 1;
		at = work_now_ns() + LOOK_NS;
		until.tv_sec = at / 1000000000;
		until.tv_nsec = at % 1000000000;
		if (!sem_clockwait(&o->shared->filled, CLOCK_MONOTONIC, &until))
			return 1;
		if (stop_signal())
			return 0;
		if (o->pid > 0 && waitpid(o->pid, NULL, WNOHANG) == o->pid) {
			o->pid = 0;
			o->started = false;
			if (!sem_trywait(&o->shared->filled))
				return 1;
			return reel_fail(err, REEL_E_IO, "a reader was killed");
		}
	}
}

int readers_take(struct readers *r, uint64_t i, struct reader_batch *batch,
		 struct reel_error *err)
{
	struct one *o = &r->one[i];
	int rc;

	memset(batch, 0, sizeof(*batch));
	if (o->ended) {
		batch->end = true;
		return 0;
	}
	if (r->inside) {
		rc = read_batch(&o->worker, batch, err);
	} else {
		rc = wait_filled(o, err);
		if (rc <= 0)
			return rc;
		*batch = o->shared->slot[o->take++ % o->shared->slots];
		sem_post(&o->shared->free);
		rc = batch->end && o->shared->err.code
			     ? reel_fail(err, o->shared->err.code, "%s",
					 o->shared->err.text)
			     : 0;
	}
	o->ended = batch->end;
	return rc;
}

int readers_end_epoch(struct readers *r, struct reel_error *err)
{
	struct reader_batch batch;
	int rc = 0;

	for (uint64_t i = 0; !r->inside && i < r->n; i++)
		atomic_store(&r->one[i].shared->abandon, true);
	for (uint64_t i = 0; !rc && !r->inside && i < r->n; i++)
		while (!rc && !r->one[i].ended && !stop_signal())
			rc = readers_take(r, i, &batch, err);
	if (r->inside && r->one[0].worker.file)
		rc = close_file(&r->one[0].worker, err);
	return rc;
}

struct reader_progress readers_progress(const struct readers *r, uint64_t i)
{
	const struct one *o = &r->one[i];
	struct reader_progress p;

	if (r->inside) {
		p.storage_ns = o->worker.io.storage_ns;
		p.decode_ns = o->worker.decode_ns;
	} else {
		p.storage_ns = atomic_load(&o->shared->storage_ns);
		p.decode_ns = atomic_load(&o->shared->decode_ns);
	}
	return p;
}

void readers_free(struct readers *r, struct io *io)
{
	if (!r)
		return;
	for (uint64_t i = 0; !r->inside && i < r->n; i++) {
		struct one *o = &r->one[i];

		if (!o->started)
			continue;
		atomic_store(&o->shared->quit, true);
		sem_post(&o->shared->go);
		sem_post(&o->shared->free);
	}
	for (uint64_t i = 0; i < r->n; i++) {
		struct one *o = &r->one[i];

		if (r->inside)
			close_file(&o->worker, NULL);
		else if (o->started && o->pid > 0)
			waitpid(o->pid, NULL, 0);
		else if (o->started &&
			 r->plan.w->pipeline.unit == WORKLOAD_THREAD)
			pthread_join(o->thread, NULL);
		if (io)
			io_add(io, o->shared ? &o->shared->io : &o->worker.io);
		if (o->shared)
			munmap(o->shared, r->bytes);
	}
	free(r);
}
