/* SPDX-License-Identifier: MIT */
/*
 * The file that all processes of a replay map: the progress of each stream,
 * which waits depend on, and the results. The launcher reads it while the
 * replay runs.
 */
#ifndef REPLAY_ENGINE_SHARED_STATE_H
#define REPLAY_ENGINE_SHARED_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct plan;
struct reel_error;

#define RESULT_MAGIC 0x0a31534552504f49ull /* "IOPRES1\n" */
#define RESULT_DIFFERENCES 16

enum stream_state {
	STREAM_IDLE = 0,
	STREAM_RUNS,
	STREAM_WAITS, /* for another stream */
	STREAM_DONE,
};

/* One stream: two cache lines, because its thread writes them at every call. */
struct result_stream {
	uint32_t posted;  /* calls done up to the last record with waiters */
	uint32_t waiters; /* threads that wait for posted */
	uint32_t state;
	uint32_t calls; /* records that were played */
	uint64_t same;	/* calls with the recorded result */
	uint64_t differ;
	uint64_t late;
	uint64_t skipped;
	int64_t late_most_ns;
	uint32_t forked; /* its process was forked, or will not be */
	uint32_t reserved;
	int64_t plan_ns;       /* the time of the job that has been played */
	int64_t waited_ns;     /* for other streams */
	int64_t job_waited_ns; /* the same, of the job */
	uint64_t reserved2[5];
};
_Static_assert(sizeof(struct result_stream) == 128, "two cache lines");

/* Has the stream @s reached the call that an edge to @calls waits for? */
static inline bool result_reached(const struct result_stream *s, uint32_t calls)
{
	return calls ? __atomic_load_n(&s->posted, __ATOMIC_ACQUIRE) >= calls
		     : __atomic_load_n(&s->forked, __ATOMIC_ACQUIRE);
}

/* A call with another result than the recorded one. */
struct result_difference {
	uint32_t stream, call;
	uint32_t op, name;
	int64_t want, got;
	int32_t want_err, got_err;
	uint32_t set; /* written last */
	uint32_t reserved;
};

struct result_head {
	uint64_t magic;
	uint64_t bytes;
	uint32_t streams, processes, pipes;
	uint32_t stop;	   /* the signal that ended the replay, or 0 */
	uint32_t released; /* waits were released for lack of progress */
	uint32_t spinning; /* threads that spin now */
	uint32_t full;	   /* the disk, but not the job's */
	uint32_t confined; /* enum confinement; the weakest of all processes */
	int64_t origin_ns; /* CLOCK_MONOTONIC of the job's start */
	int64_t begin_ns, end_ns;
	uint32_t differences; /* all of them; the first ones are stored below */
	uint32_t failed;      /* processes that could not be started */
	uint32_t unconfined;  /* of them: those that could not be confined */
	uint32_t reserved;
	struct result_difference difference[RESULT_DIFFERENCES];
};

struct result {
	struct result_head *head;
	struct result_stream *stream; /* by index in the plan */
	uint32_t *pid;		      /* of each process, 0: not started */
	uint32_t *lock;		      /* of each pipe */
};

/* Make the file @path for @p. 0, or -1 with @err (REEL_E_IO). */
int result_make(const char *path, const struct plan *p, struct reel_error *err);

/* Map the file, which has to belong to @p. By raw calls only. */
int result_open(struct result *res, const char *path, const struct plan *p,
		struct reel_error *err);

/* Unmap it; takes one that is closed, too. */
void result_close(struct result *res);

/* Sums over all streams. */
struct result_total {
	uint64_t same, differ, late, skipped;
	int64_t late_most_ns;
	int64_t waited_ns, job_waited_ns;
	uint32_t unfinished; /* streams */
};

/* Add up the counts of all streams. */
void result_sum(const struct result *res, struct result_total *out);

#endif
