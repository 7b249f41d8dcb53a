/* SPDX-License-Identifier: MIT */
/*
 * The store of a benchmark's calls: the logs of all threads, merged, through the
 * resolver that follows descriptors for importers of system calls.
 */
#include "cmd/run_store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/merge_heap.h"
#include "lib/store/file_class.h"
#include "lib/store/store.h"

#include "analyzer/import/common/job.h"
#include "analyzer/run/classes.h"
#include "analyzer/write/writer.h"
#include "cmd/store_output.h"
#include "replay/pipeline/run_log.h"

/* A thread. */
struct thread {
	const struct run_log_rank *rank;
	struct call_stream stream;
	int *stepping_process; /* of its rank: index in the job; -1: none yet */
	int thread;	       /* index in the job; -1: none yet */
	int64_t last_ns;
};

struct filling {
	const struct run_store *of;
	struct reel_writer *writer;
	struct import_job *job;
	struct thread *thread;
	uint32_t threads;
	int *process; /* of the stepping threads, by rank */
	struct reel_merge_heap heap;
};

/* The number of a descriptor is free when close() begins, taken when open() ends:
 * with this order no call finds the file of another thread. */
static int64_t order_ns(const struct call_entry *e)
{
	return e->call == REEL_CALL_CLOSE ? e->start_ns
					  : e->start_ns + e->dur_ns;
}

static int next_entry(struct thread *t, bool *more, struct reel_error *err)
{
	*more = call_stream_next(&t->stream);
	return t->stream.damaged ? reel_fail(err, REEL_E_FORMAT,
					     "the calls of rank %d are damaged",
					     t->rank->rank)
				 : 0;
}

static int open_streams(struct filling *f, struct reel_error *err)
{
	int ranks;
	const struct run_log_rank *rank = run_log_ranks(f->of->log, &ranks);
	uint32_t n = 0;

	for (int i = 0; i < ranks; i++)
		f->threads += call_log_numbers(rank[i].blocks, rank[i].bytes);
	f->thread = reel_alloc(f->threads + 1, sizeof(*f->thread), err);
	f->process = reel_alloc((size_t)ranks, sizeof(*f->process), err);
	f->heap.item = reel_alloc(f->threads + 1, sizeof(*f->heap.item), err);
	if (!f->thread || !f->process || !f->heap.item)
		return -1;
	for (int i = 0; i < ranks; i++) {
		uint32_t of_rank =
			call_log_numbers(rank[i].blocks, rank[i].bytes);

		f->process[i] = -1;
		for (uint32_t k = 0; k < of_rank; k++) {
			struct thread *t = &f->thread[n];
			bool more;

			t->rank = &rank[i];
			t->stepping_process = &f->process[i];
			t->thread = -1;
			call_stream_begin(&t->stream, rank[i].blocks,
					  rank[i].bytes, k);
			if (next_entry(t, &more, err))
				return -1;
			if (more)
				reel_merge_heap_add(
					&f->heap,
					(struct reel_merge_item){
						order_ns(&t->stream.entry) +
							t->rank->shift_ns,
						n, t});
			n++;
		}
	}
	return 0;
}

/* --- one thread's entries ------------------------------------------------- */

/* The first entry of @t: a process, or a thread of its rank's stepping process. */
static int begin_thread(struct filling *f, struct thread *t, int64_t ns,
			struct reel_error *err)
{
	const struct call_entry *e = &t->stream.entry;
	int parent = *t->stepping_process, process;
	struct import_process is = {.host = t->rank->host,
				    .rank = t->rank->rank,
				    .cwd = t->rank->cwd,
				    .command = f->of->command,
				    .role = parent < 0 ? "main" : "worker"};

	if (parent >= 0 && !e->size) {
		t->thread = import_job_thread(f->job, parent, e->arg2, ns, err);
		return t->thread < 0 ? -1 : 0;
	}
	process = import_job_process(f->job, parent, e->arg, ns, err);
	if (process < 0 || import_job_describe(f->job, process, &is, err))
		return -1;
	t->thread = import_job_find_thread(f->job, e->arg);
	if (parent < 0)
		*t->stepping_process = process;
	return 0;
}

static struct import_fd path_base(const struct thread *t)
{
	return (struct import_fd){AT_FDCWD, t->rank->cwd,
				  (uint32_t)strlen(t->rank->cwd)};
}

/* The descriptor that the call made is its result. */
static void fill_made(struct import_call *c, const struct call_entry *e)
{
	bool dup = e->call == REEL_CALL_FCNTL && e->arg == F_DUPFD_CLOEXEC;

	if (e->call == REEL_CALL_MPI_FILE_OPEN && !e->err && e->fd)
		c->made.fd = e->fd;
	if (e->result < 0 || (e->call != REEL_CALL_OPEN && !dup))
		return;
	c->made.fd = e->result;
	c->cloexec = dup || e->arg & O_CLOEXEC;
}

static struct import_call call_of(const struct thread *t)
{
	const struct call_entry *e = &t->stream.entry;
	const struct import_fd none = {JOB_NO_FD, NULL, 0};
	const struct reel_call_info *info;
	struct import_call c = {
		.rec = {.call = e->call,
			.count = 1,
			.result = e->result,
			.err = e->err,
			.has_size = e->has & CALL_HAS_SIZE,
			.size = e->size,
			.has_offset = e->has & CALL_HAS_OFFSET,
			.offset = e->offset,
			.has_arg = e->has & CALL_HAS_ARG,
			.arg = e->arg,
			.has_arg2 = e->has & CALL_HAS_ARG2,
			.arg2 = e->arg2,
			.has_pos = e->has & CALL_HAS_FILE_SIZE,
			.pos = e->file_size,
			.path = t->stream.path,
			.path_len = t->stream.path ? e->path_bytes - 1 : 0,
			.path2 = t->stream.path2,
			.path2_len = t->stream.path2 ? e->path2_bytes - 1 : 0},
		.fd = none,
		.at = t->stream.path ? path_base(t) : none,
		.at2 = t->stream.path2 ? path_base(t) : none,
		.made = none,
	};

	info = reel_call_info(e->call);
	c.handle = info && info->layer == REEL_LAYER_MPIIO;
	if (e->has & CALL_HAS_FD)
		c.fd.fd = e->fd;
	if (e->call == REEL_CALL_CLOSE)
		c.more_ns = e->dur_ns;
	fill_made(&c, e);
	return c;
}

/* MPI looks for its parts when the first file is opened: a recorder counts such
 * calls only. */
static bool looks_for_code(const struct thread *t)
{
	return t->stream.entry.call == REEL_CALL_STAT &&
	       reel_file_class(t->stream.path, REEL_KIND_FILE, false) ==
		       REEL_CLASS_CODE;
}

static int put_entry(struct filling *f, struct thread *t,
		     struct reel_error *err)
{
	const struct call_entry *e = &t->stream.entry;
	int64_t start_ns = e->start_ns + t->rank->shift_ns;
	int64_t end_ns = order_ns(e) + t->rank->shift_ns;
	struct import_call c;

	t->last_ns = end_ns;
	if (looks_for_code(t))
		return 0;
	if (e->call == CALL_LOG_BEGIN)
		return begin_thread(f, t, start_ns, err);
	if (t->thread < 0)
		return reel_fail(err, REEL_E_FORMAT,
				 "the calls of rank %d are damaged",
				 t->rank->rank);
	c = call_of(t);
	return import_job_call(f->job, t->thread, &c, start_ns, end_ns, err);
}

static int merge(struct filling *f, struct reel_error *err)
{
	while (f->heap.n) {
		struct thread *t = f->heap.item[0].stream;
		bool more;

		if (put_entry(f, t, err) || next_entry(t, &more, err))
			return -1;
		if (more) {
			reel_merge_heap_next(&f->heap,
					     order_ns(&t->stream.entry) +
						     t->rank->shift_ns);
			continue;
		}
		reel_merge_heap_drop(&f->heap);
		if (t->thread >= 0 &&
		    import_job_thread_end(f->job, t->thread, t->last_ns, "exit",
					  err))
			return -1;
	}
	return 0;
}

/* --- the store ------------------------------------------------------------ */

static int64_t error_ns(const struct run_log *log)
{
	int ranks;
	const struct run_log_rank *rank = run_log_ranks(log, &ranks);
	int64_t most = 0;

	for (int i = 0; i < ranks; i++)
		if (rank[i].error_ns > most)
			most = rank[i].error_ns;
	return most;
}

static int write_calls(struct filling *f, struct reel_error *err)
{
	const struct run_store *of = f->of;
	struct reel_writer_run run = {
		.name = of->name,
		.command = of->command,
		.wall_ns = of->wall_ns,
		.exit_signal = REEL_NO_OFFSET,
		.ranks = of->ranks,
		.workers = of->readers,
		.clock_error_ns = error_ns(of->log),
		.job_json = REEL_RUN_BENCHMARK,
	};
	int64_t origin_ns;

	if (open_streams(f, err))
		return -1;
	if (!f->heap.n)
		return reel_fail(err, REEL_E_FORMAT, "the run made no call");
	origin_ns = f->heap.item[0].time_ns;
	run.start_real_ns = run_log_real_ns(origin_ns);
	run.host = run_log_ranks(of->log, &(int){0})[0].host;
	return import_job_new(&f->job, f->writer, origin_ns, err) ||
			       merge(f, err) ||
			       import_job_finish(f->job, &run, err)
		       ? -1
		       : 0;
}

static int64_t fill(struct reel_store *st, const void *arg,
		    struct reel_error *err)
{
	struct filling f = {.of = arg};
	const struct reel_writer_options options = {.threads = 1};
	int64_t events = -1;

	if (!reel_writer_new(&f.writer, st, &options, err) &&
	    !write_calls(&f, err))
		events = (int64_t)reel_writer_events(f.writer);
	import_job_free(f.job);
	reel_writer_free(f.writer);
	free(f.thread);
	free(f.process);
	free(f.heap.item);
	return events;
}

int run_store_write(const char *path, const struct run_store *of, bool quiet,
		    struct reel_error *err)
{
	const struct store_producer producer = {.verb = "run",
						.source = of->name,
						.nothing = "it made no call",
						.fill = fill,
						.arg = of};

	return store_output_write(path, &producer, quiet, err);
}

int run_store_check(const char *path, struct reel_error *err)
{
	struct reel_store *st = NULL;
	int rc = reel_store_create(&st, path, err);

	reel_store_close(st); /* without a finish nothing remains */
	return rc;
}
