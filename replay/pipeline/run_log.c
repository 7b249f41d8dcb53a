/* SPDX-License-Identifier: MIT */
/* The calls of a run, over all ranks. */
#include "replay/pipeline/run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/error.h"

#include "replay/comm/comm.h"

#define MAGIC 0x31676f6c6e757269ull /* "irunlog1" */
#define CLOCK_ROUNDS 16

/* The head of a rank's file; blocks of call_log.h follow. */
struct head {
	uint64_t magic;
	int64_t shift_ns, error_ns;
	int32_t rank, ranks;
	char host[72];
	char cwd[4096];
};

struct run_log {
	const char *store;
	const struct comm *comm;
	struct head head;
	int fd;
	bool exists;	       /* the file has its name */
	atomic_int *failed;    /* shared with readers that are processes */
	struct call_log **log; /* by number; 0: of the stepping thread */
	uint32_t logs, room;
	struct run_log_rank *rank; /* on rank 0, after collecting */
};

static int name_of(const struct run_log *log, int rank, struct reel_buf *out,
		   struct reel_error *err)
{
	reel_buf_reset(out);
	return reel_buf_printf(out, err, "%s.calls.%d", log->store, rank);
}

/*
 * The lead of rank 0's clock over this one: it was read after this rank's
 * first look and before its second one. Of several rounds all are true. 0 where it
 * may be: two ranks of one host have one clock.
 */
static void compare_clocks(struct run_log *log)
{
	int64_t low = INT64_MIN, high = INT64_MAX;

	for (int i = 0; i < CLOCK_ROUNDS && log->comm->size > 1; i++) {
		int64_t before = reel_now_ns(), theirs, after;

		log->comm->barrier();
		theirs = log->comm->rank ? 0 : reel_now_ns();
		log->comm->allreduce(&theirs, 1, COMM_SUM);
		after = reel_now_ns();
		if (theirs - after > low)
			low = theirs - after;
		if (theirs - before < high)
			high = theirs - before;
	}
	if (log->comm->size == 1 || log->comm->rank == 0)
		return;
	log->head.error_ns = (high - low) / 2;
	if (low > 0 || high < 0)
		log->head.shift_ns = low + (high - low) / 2;
}

/* The file of an earlier run that was killed is replaced. */
static int make_file(struct run_log *log, struct reel_error *err)
{
	struct reel_buf name = REEL_BUF_INIT;
	int rc = name_of(log, log->comm->rank, &name, err);

	if (!rc) {
		unlink(reel_buf_text(&name));
		log->fd = open(reel_buf_text(&name),
			       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (log->fd < 0)
			rc = reel_fail_io(err, "create", reel_buf_text(&name),
					  errno);
		log->exists = !rc;
	}
	if (!rc &&
	    write(log->fd, &log->head, sizeof(log->head)) != sizeof(log->head))
		rc = reel_fail_io(err, "write", reel_buf_text(&name), errno);
	/* Only rank 0 reads its own: nothing is left of it after a SIGKILL. */
	if (!rc && log->comm->rank == 0 && !unlink(reel_buf_text(&name)))
		log->exists = false;
	reel_buf_fini(&name);
	return rc;
}

static int begin(struct run_log *log, struct reel_error *err)
{
	struct call_log *stepping;

	log->failed = mmap(NULL, sizeof(*log->failed), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (log->failed == MAP_FAILED) {
		log->failed = NULL;
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	}
	log->head.magic = MAGIC;
	log->head.rank = log->comm->rank;
	log->head.ranks = log->comm->size;
	gethostname(log->head.host, sizeof(log->head.host) - 8);
	if (!getcwd(log->head.cwd, sizeof(log->head.cwd)))
		log->head.cwd[0] = '\0';
	if (make_file(log, err) || run_log_thread(log, &stepping, err))
		return -1;
	call_log_begin(stepping, true);
	return 0;
}

int run_log_new(struct run_log **out, const char *store,
		const struct comm *comm, struct reel_error *err)
{
	struct run_log *log = reel_alloc(1, sizeof(*log), err);
	int rc = log ? 0 : -1;

	rc = comm_agree(comm, rc, err);
	if (log && !rc) {
		log->store = store;
		log->comm = comm;
		log->fd = -1;
		compare_clocks(log);
		rc = comm_agree(comm, begin(log, err), err);
	}
	if (rc)
		run_log_free(log);
	else
		*out = log;
	return rc;
}

struct call_log *run_log_stepping(const struct run_log *log)
{
	return log ? log->log[0] : NULL;
}

int run_log_thread(struct run_log *log, struct call_log **out,
		   struct reel_error *err)
{
	if (reel_array_reach(&log->log, &log->room, log->logs,
			     sizeof(struct call_log *), err) ||
	    call_log_new(&log->log[log->logs], log->fd, log->logs, log->failed,
			 err))
		return -1;
	*out = log->log[log->logs++];
	return 0;
}

/* --- collecting ----------------------------------------------------------- */

static int map_file(const struct run_log *log, int fd, int rank,
		    struct reel_error *err)
{
	struct run_log_rank *r = &log->rank[rank];
	const struct head *head;
	struct stat st;
	void *map;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(*head))
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s.calls.%d' is cut short", log->store,
				 rank);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	head = map;
	r->blocks = (const uint8_t *)map + sizeof(*head);
	r->bytes = (size_t)st.st_size - sizeof(*head);
	if (head->magic != MAGIC || head->rank != rank ||
	    head->ranks != log->comm->size)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s.calls.%d' is of another run", log->store,
				 rank);
	r->rank = rank;
	r->shift_ns = head->shift_ns;
	r->error_ns = head->error_ns;
	snprintf(r->host, sizeof(r->host), "%s", head->host);
	snprintf(r->cwd, sizeof(r->cwd), "%s", head->cwd);
	return 0;
}

static int map_rank(const struct run_log *log, int rank, struct reel_error *err)
{
	struct reel_buf name = REEL_BUF_INIT;
	int rc = name_of(log, rank, &name, err), fd = -1;

	if (!rc) {
		fd = open(reel_buf_text(&name), O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			rc = reel_fail(err, REEL_E_IO,
				       "cannot open '%s', which rank %d wrote: "
				       "%s (all ranks need the same folder for "
				       "the store)",
				       reel_buf_text(&name), rank,
				       strerror(errno));
	}
	if (!rc)
		rc = map_file(log, fd, rank, err);
	if (fd >= 0)
		close(fd);
	reel_buf_fini(&name);
	return rc;
}

static int map_all(struct run_log *log, struct reel_error *err)
{
	int rc;

	log->rank =
		reel_alloc((size_t)log->comm->size, sizeof(*log->rank), err);
	rc = !log->rank || map_file(log, log->fd, 0, err);
	for (int i = 1; !rc && i < log->comm->size; i++)
		rc = map_rank(log, i, err);
	return rc ? -1 : 0;
}

int run_log_collect(struct run_log *log, struct reel_error *err)
{
	int rc = 0;

	call_log_flush(log->log[0]);
	if (atomic_load(log->failed))
		rc = reel_fail(err, REEL_E_IO, "cannot write '%s.calls.%d': %s",
			       log->store, log->comm->rank,
			       strerror(atomic_load(log->failed)));
	rc = comm_agree(log->comm, rc, err);
	if (!rc)
		rc = comm_agree(log->comm,
				log->comm->rank ? 0 : map_all(log, err), err);
	return rc;
}

const struct run_log_rank *run_log_ranks(const struct run_log *log, int *n)
{
	*n = log->comm->size;
	return log->rank;
}

int64_t run_log_real_ns(int64_t ns)
{
	struct timespec real;

	clock_gettime(CLOCK_REALTIME, &real);
	return real.tv_sec * INT64_C(1000000000) + real.tv_nsec -
	       (reel_now_ns() - ns);
}

void run_log_abandon(const struct run_log *log)
{
	struct reel_buf name = REEL_BUF_INIT;

	for (int i = 1; log && i < log->comm->size; i++)
		if (!name_of(log, i, &name, NULL))
			unlink(reel_buf_text(&name));
	reel_buf_fini(&name);
}

void run_log_free(struct run_log *log)
{
	struct reel_buf name = REEL_BUF_INIT;

	if (!log)
		return;
	for (int i = 0; log->rank && i < log->comm->size; i++)
		if (log->rank[i].blocks)
			munmap((uint8_t *)log->rank[i].blocks -
				       sizeof(struct head),
			       log->rank[i].bytes + sizeof(struct head));
	free(log->rank);
	for (uint32_t i = 0; i < log->logs; i++)
		call_log_free(log->log[i]);
	free(log->log);
	if (log->failed)
		munmap(log->failed, sizeof(*log->failed));
	if (log->fd >= 0)
		close(log->fd);
	if (log->exists && !name_of(log, log->comm->rank, &name, NULL))
		unlink(reel_buf_text(&name));
	reel_buf_fini(&name);
	free(log);
}
