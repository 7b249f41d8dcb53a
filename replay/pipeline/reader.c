/* SPDX-License-Identifier: MIT */
/* The readers of a rank. */
#include "replay/pipeline/reader.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
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

#include "lib/clock.h"
#include "lib/error.h"

#include "replay/comm/comm.h"
#include "replay/dataset/format.h"
#include "replay/mpiio/mpiio.h"
#include "replay/pipeline/open_files.h"
#include "replay/pipeline/run_log.h"
#include "replay/pipeline/stop.h"
#include "replay/pipeline/together.h"
#include "replay/pipeline/work.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"
#include "schemas/ioreel.h"

#define LOOK_NS 100000000 /* between two looks at a reader that is waited for */
/* Waits begin as sched_yield() for about the time that a sleep and its wake-up by
 * futex() take: twice the cost of the better choice at most. */
#define YIELD_NS 20000
/* A long time is spent in slices, with a look between them whether the run ends. */
#define SLICE_NS 100000000

/* A look at the clock takes longer than a sample of a few bytes. */
#define UNSEEN_MOST 64

/* A reader's part of the shared memory; the slots of its queue follow it. */
struct shared {
	sem_t go, filled, free;
	atomic_uint_fast64_t epoch;
	/* Epochs below it are ended early: a reader may be ahead of them. */
	atomic_uint_fast64_t abandon;
	atomic_bool quit, ended;
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
	int64_t seen_ns, seen_storage_ns; /* at the last look at the clock */
	uint32_t unseen;		  /* samples since then */
	uint64_t random;
	struct schedule_cursor cursor;
	uint64_t passes; /* over the data, with the one that goes on */
	struct open_files *files;
	struct together *together; /* NULL: the ranks read alone */
	uint32_t put;		   /* next slot */
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
	bool inside;   /* the stepping thread reads */
	bool dropping; /* what is left of the epoch */
	uint64_t epoch;
	uint64_t random;
	size_t bytes; /* of each shared part */
	struct one one[];
};

/* --- reading -------------------------------------------------------------- */

static void begin_account(struct worker *w)
{
	w->seen_ns = reel_now_ns();
	w->seen_storage_ns = w->io.storage_ns;
	w->unseen = 0;
}

/* The time since the last look, without that in calls, is decoding. */
static void account(struct worker *w)
{
	int64_t was_ns = w->seen_ns, storage_ns = w->seen_storage_ns;

	begin_account(w);
	w->decode_ns += w->seen_ns - was_ns - (w->seen_storage_ns - storage_ns);
	if (!w->shared)
		return;
	atomic_store(&w->shared->storage_ns, w->io.storage_ns);
	atomic_store(&w->shared->decode_ns, w->decode_ns);
}

/* Does this pass over the data find what the first one read and preprocessed? */
static bool is_cached(const struct worker *w)
{
	return w->passes > 1 &&
	       w->plan->w->pipeline.in_memory == WORKLOAD_CACHED;
}

static bool is_in_memory(const struct worker *w)
{
	return is_cached(w) ||
	       w->plan->w->pipeline.in_memory == WORKLOAD_PRELOADED;
}

/* The run ends. A reader of its own learns it from the stepping thread. */
static bool is_over(const struct worker *w)
{
	return w->shared ? atomic_load(&w->shared->quit) : stop_signal() != 0;
}

/* Spend @ns, or less where the run ends meanwhile. */
static void spend(const struct worker *w, int64_t ns, int on)
{
	while (ns > SLICE_NS && !is_over(w)) {
		int64_t took = work_spend(SLICE_NS, on);

		ns -= on == WORKLOAD_PROCESSOR ? SLICE_NS : took;
	}
	if (!is_over(w))
		work_spend(ns, on);
}

static int read_sample(struct worker *w, uint64_t sample,
		       struct reel_error *err)
{
	const struct workload *of = w->plan->w;
	struct format_sample got;

	if (w->together ? together_read(w->together, &got, err)
			: open_files_read(w->files, sample, &got, err))
		return -1;
	if (sample == MPIIO_NONE) /* this rank only met the others */
		return 0;
	if (!w->io.null && got.number != UINT64_MAX && got.number != sample)
		return reel_fail(err, REEL_E_FORMAT,
				 "sample %llu of the data set says that it is "
				 "%llu: the data set is of another workload",
				 (unsigned long long)sample,
				 (unsigned long long)got.number);
	if (of->preprocess.sample_ns.n && !is_cached(w)) {
		double ns = (double)quantiles_at(&of->preprocess.sample_ns,
						 random_share(&w->random));

		spend(w, (int64_t)(ns * of->what_if.preprocess_scale),
		      of->preprocess.on);
		account(w);
	} else if (w->io.storage_ns != w->seen_storage_ns ||
		   ++w->unseen == UNSEEN_MOST) {
		account(w);
	}
	return 0;
}

static uint64_t mixed(uint64_t number)
{
	return random_next(&number);
}

static bool next_sample(struct worker *w, uint64_t *sample, bool *end)
{
	return w->together ? together_next(w->together, sample, end)
			   : schedule_next(&w->plan->schedule, &w->cursor,
					   sample, end);
}

static void begin_epoch(struct worker *w, uint64_t epoch)
{
	w->io.epoch = epoch;
	w->passes++;
	schedule_begin(&w->plan->schedule, &w->cursor, epoch, w->index);
	if (w->together)
		together_epoch(w->together, epoch);
}

/* Read the next batch of the epoch. 0 or -1 with @err. */
static int read_batch(struct worker *w, struct reader_batch *b,
		      struct reel_error *err)
{
	uint64_t sample;
	int rc = 0;

	memset(b, 0, sizeof(*b));
	begin_account(w);
	/* No file is read on in another epoch, when the last one ended early. */
	if (!w->cursor.batch) {
		if (open_files_close(w->files, err))
			return -1;
		w->io.null = w->plan->null || is_in_memory(w);
	}
	/* No one takes a batch any more; ranks without readers count this one. */
	while (!(w->shared && is_over(w)) && next_sample(w, &sample, &b->end)) {
		if (read_sample(w, sample, err)) {
			rc = -1;
			if (!w->together)
				return -1;
		}
		if (sample == MPIIO_NONE)
			continue;
		b->samples++;
		b->checksum += mixed(sample);
		b->order = mixed(b->order ^ sample);
	}
	/* A stream's last read is that of the end of the file. */
	if (b->end && !w->together)
		rc = open_files_close(w->files, err);
	account(w);
	/* A failure of one rank ends the reads of all. */
	return w->together ? comm_agree(w->plan->comm, rc, err) : rc;
}

/* A worker of a data loader marks its batches in the same way. */
static int marked_batch(struct worker *w, struct reader_batch *b,
			struct reel_error *err)
{
	int rc;

	io_begin_span(&w->io, REEL_SPAN_PREPROCESS, -1);
	rc = read_batch(w, b, err);
	io_end_span(&w->io, REEL_SPAN_PREPROCESS);
	return rc;
}

static int worker_init(struct worker *w, const struct reader_plan *plan,
		       uint64_t index, struct shared *shared,
		       struct reel_error *err)
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
	w->io.files = plan->comm->files;
	w->io.access = &plan->w->access;
	w->io.seed = (uint64_t)plan->w->pipeline.seed;
	return open_files_new(&w->files, plan->format, &plan->schedule.data,
			      &w->io, (uint32_t)plan->w->access.open_files,
			      err);
}

/* --- the loop of a reader ------------------------------------------------- */

/* A thread that only spun would keep the CPU from the one it waits for, when both
 * share it. */
static bool yield_for(sem_t *s)
{
	int64_t end = reel_now_ns() + YIELD_NS;

	do {
		if (!sem_trywait(s))
			return true;
		sched_yield();
	} while (reel_now_ns() < end);
	return false;
}

static void wait_for(sem_t *s, bool is_short)
{
	if (is_short && yield_for(s))
		return;
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

static bool run_epoch(struct worker *w, uint64_t epoch)
{
	const struct workload_pipeline *p = &w->plan->w->pipeline;
	struct shared *s = w->shared;
	struct reader_batch b = {.end = false};

	begin_epoch(w, epoch);
	if (!w->put || !p->start_once)
		spend(w, p->start_ns, WORKLOAD_SLEEP);
	while (!b.end) {
		struct reel_error err = {0};

		wait_for(&s->free, true);
		if (atomic_load(&s->abandon) > epoch || atomic_load(&s->quit)) {
			b = (struct reader_batch){.end = true};
		} else if (marked_batch(w, &b, &err)) {
			s->err = err;
			b = (struct reader_batch){.end = true};
		}
		put(w, &b);
	}
	return !s->err.code;
}

static bool is_process(const struct reader_plan *plan)
{
	return plan->w->pipeline.unit == WORKLOAD_PROCESS;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	work_begin();
	if (w->io.log)
		call_log_begin(w->io.log, is_process(w->plan));
	for (uint64_t epoch = 0;; epoch++) {
		if (!epoch || epoch >= w->plan->ahead_epochs) {
			wait_for(&w->shared->go, false);
			epoch = atomic_load(&w->shared->epoch);
		}
		if (atomic_load(&w->shared->quit) || !run_epoch(w, epoch))
			break;
	}
	open_files_close(w->files, NULL);
	if (w->io.log)
		call_log_flush(w->io.log);
	io_fini(&w->io);
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
	/* Signals to the whole group end the run, which ends its readers. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	IOREEL_NOTE("role", "worker");
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
	if (worker_init(&o->worker, &r->plan, i, s, err))
		return -1;
	if (r->plan.log && run_log_thread(r->plan.log, &o->worker.io.log, err))
		return -1;
	if (is_process(&r->plan)) {
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
	if (r->inside) {
		if (worker_init(&r->one[0].worker, &r->plan, 0, NULL, err)) {
			free(r);
			return -1;
		}
		r->one[0].worker.io.log = run_log_stepping(plan->log);
	}
	if (plan->w->access.collective &&
	    together_new(&r->one[0].worker.together, &r->plan.schedule,
			 &r->one[0].worker.io, err)) {
		readers_free(r, NULL);
		return -1;
	}
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
	r->epoch = epoch;
	if (r->inside)
		begin_epoch(&r->one[0].worker, epoch);
	for (uint64_t i = 0; i < r->n; i++) {
		r->one[i].ended = false;
		if (r->inside || (epoch && epoch < r->plan.ahead_epochs))
			continue;
		atomic_store(&r->one[i].shared->epoch, epoch);
		atomic_store(&r->one[i].shared->abandon, 0);
		sem_post(&r->one[i].shared->go);
	}
}

/* 1: it is filled; 0: it was stopped by a signal; -1 with @err: the reader is
 * gone. */
static int wait_filled(struct one *o, struct reel_error *err)
{
	if (yield_for(&o->shared->filled))
		return 1;
	for (;;) {
		struct timespec until;
		int64_t at;

		if (!sem_trywait(&o->shared->filled))
			return 1;
		at = reel_now_ns() + LOOK_NS;
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

/*
 * Spend the time in which a batch that is ready is taken. A loader asks a worker for
 * the next batch when it has this one; a thread goes on when its queue has given the
 * batch: for tf.data in a graph after about a third of the time, in an eager loop later.
 */
static void spend_take(struct readers *r, struct one *o,
		       struct reader_batch *batch)
{
	const struct workload *w = r->plan.w;
	int64_t ns = 0, before;

	if (batch->samples && w->pipeline.take_ns.n && !r->dropping)
		ns = quantiles_at(&w->pipeline.take_ns,
				  random_share(&r->random));
	before = is_process(&r->plan) ? ns : ns / 3;
	if (before)
		batch->take_ns = work_spend(before, w->compute.on);
	sem_post(&o->shared->free);
	if (ns > before)
		batch->take_ns += work_spend(ns - before, w->compute.on);
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
		spend_take(r, o, batch);
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

	r->dropping = true;
	for (uint64_t i = 0; !r->inside && i < r->n; i++)
		atomic_store(&r->one[i].shared->abandon, r->epoch + 1);
	for (uint64_t i = 0; !rc && !r->inside && i < r->n; i++)
		while (!rc && !r->one[i].ended && !stop_signal())
			rc = readers_take(r, i, &batch, err);
	r->dropping = false;
	if (r->inside && open_files_close(r->one[0].worker.files, err))
		rc = -1;
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

		if (r->inside) {
			open_files_close(o->worker.files, NULL);
			together_free(o->worker.together, NULL);
			io_fini(&o->worker.io);
		} else if (o->started && o->pid > 0) {
			waitpid(o->pid, NULL, 0);
		} else if (o->started && !is_process(&r->plan)) {
			pthread_join(o->thread, NULL);
		}
		open_files_free(o->worker.files);
		if (io)
			io_add(io, o->shared ? &o->shared->io : &o->worker.io);
		if (o->shared)
			munmap(o->shared, r->bytes);
	}
	free(r);
}
