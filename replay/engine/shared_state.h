/* SPDX-License-Identifier: MIT */
/*
 * What all processes of a replay share: how far each stream is, which is what
 * waits look at, and what comes out in the end. One file, mapped shared; the
 * launcher reads it while the replay runs.
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

/* One stream; a cache line pair, as its thread writes it at every call. */
struct result_stream {
	uint32_t
		posted; /* calls done, at the last record that others wait for */
	uint32_t waiters; /* threads that wait on posted */
	uint32_t state;
	uint32_t calls; /* records done */
	uint64_t same;	/* calls with the recorded result */
	uint64_t differ;
	uint64_t late;
	uint64_t skipped;
	int64_t late_most_ns;
	uint32_t forked; /* of a main stream: by its parent, or never */
	uint32_t reserved;
	int64_t plan_ns;       /* the job's time that has been played */
	int64_t waited_ns;     /* for other streams */
	int64_t job_waited_ns; /* the same, of the job */
	uint64_t reserved2[5];
};
_Static_assert(sizeof(struct result_stream) == 128, "two cache lines");

/* What an edge to @calls waits for has come. */
static inline bool result_reached(const struct result_stream *s, uint32_t calls)
{
	return calls ? __atomic_load_n(&s->posted, __ATOMIC_ACQUIRE) >= calls
		     : __atomic_load_n(&s->forked, __ATOMIC_ACQUIRE);
}

/* A call that ended otherwise than recorded. */
struct result_difference {
	uint32_t stream, call;
	uint32_t op, name;
	int64_t want, got;
	int32_t want_err, got_err;
	uint32_t set; /* last */
	uint32_t reserved;
};

struct result_head {
	uint64_t magic;
	uint64_t bytes;
	uint32_t streams, processes, pipes;
	uint32_t stop;	   /* give up: the signal that asked for it */
	uint32_t released; /* waits that led nowhere were broken off */
	uint32_t spinning; /* threads that spin right now */
	uint32_t full;	   /* the disk, and the job's was not */
	uint32_t confined; /* enum confinement; the weakest of all processes */
	int64_t origin_ns; /* CLOCK_MONOTONIC of the job's start */
	int64_t begin_ns, end_ns;
	uint32_t differences; /* all; the first have a place below */
	uint32_t failed;      /* processes that could not be started */
	uint32_t unconfined;  /* of them: because none of the ways worked */
	uint32_t reserved;
	struct result_difference difference[RESULT_DIFFERENCES];
};

struct result {
	struct result_head *head;
	struct result_stream *stream; /* by index in the plan */
	uint32_t *pid;		      /* of each process, 0: not started */
	uint32_t *lock;		      /* of each pipe */
};

/* Make the file @path for @p, blank. 0, or -1 with @err (REEL_E_IO). */
int result_make(const char *path, const struct plan *p, struct reel_error *err);

/* Map it; it must fit @p. Without a trace under the shim. */
int result_open(struct result *res, const char *path, const struct plan *p,
		struct reel_error *err);
void result_close(struct result *res);

/* Sums over all streams. */
struct result_total {
	uint64_t same, differ, late, skipped;
	int64_t late_most_ns;
	int64_t waited_ns, job_waited_ns;
	uint32_t unfinished; /* streams */
};
void result_sum(const struct result *res, struct result_total *out);

#endif
