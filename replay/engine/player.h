/* SPDX-License-Identifier: MIT */
/*
 * The state of a replay that all files of the engine share: the engine itself,
 * a replayed process, one of its threads, and the call that it issues.
 */
#ifndef REPLAY_ENGINE_PLAYER_H
#define REPLAY_ENGINE_PLAYER_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "replay/engine/buffers.h"
#include "replay/sandbox/confine.h"
#include "replay/engine/fdtable.h"
#include "replay/engine/pacing.h"
#include "replay/sandbox/sandbox.h"
#include "replay/engine/shared_state.h"
#include "replay/model/plan.h"

enum replay_mode { REPLAY_THINK, REPLAY_TIMED, REPLAY_AFAP };

struct engine {
	const struct plan *plan;
	struct result result;
	struct sandbox sandbox;
	struct wait_clock clock;
	enum replay_mode mode;
	bool warm;		  /* never evict pages for PLAN_F_FETCH */
	enum confinement confine; /* the required one; CONFINE_NONE: any */
	/* Descriptors of the engine, above all of the job. */
	int base;   /* the first; pipe i is at pipes + 2 i (read), + 1 */
	int null;   /* /dev/null */
	int empty;  /* the read end of an empty pipe, nonblocking */
	int broken; /* the write end of a pipe without a reader */
	int pipes;
	int spare; /* from here on: descriptors that are kept open */
};

struct mapping; /* call_mmap.c */

struct player_process {
	const struct engine *engine;
	uint32_t index;
	int64_t base_ns;   /* CLOCK_MONOTONIC of its start, as planned */
	struct slot *slot; /* plan.head.fds of them */
	uint8_t *number;   /* enum number, likewise */
	uint32_t floor;	   /* all lower numbers are in use */
	uint32_t lock;	   /* of number, slot, mapping */
	bool many_makers;  /* two or more threads make descriptors */
	bool any_number;   /* recorded numbers are not kept any more */
	uint32_t turns_lost;
	bool elsewhere; /* the working directory may not be the sandbox */
	int root_fd;	/* the sandbox, for beneath.h; -1: not needed */
	struct mapping *mapping;
};

/* One thread. */
struct player {
	struct player_process *process;
	const struct engine *engine;
	const struct plan_stream *stream;
	struct result_stream *result;
	uint32_t index;	   /* of the stream */
	uint8_t *in, *out; /* the next call reads into, writes from */
	/* Used by buffers.c only. */
	uint8_t *in_pages, *in_map;
	uint64_t in_map_bytes;
	uint8_t *out_pages; /* out_bytes, and REEL_PLACE_BYTES more */
	size_t out_bytes;
	struct fresh_share fresh[64]; /* by power of two of the size */
	int64_t at_ns; /* the plan's time that the thread has reached */
	bool held;     /* it holds the lock of the process: its turn */
	int spawned;   /* opened for a child of posix_spawn, or -1 */
	char path[PATH_MAX], path2[PATH_MAX];
};

/* A call as it has to be issued. */
struct call_spec {
	const struct plan_record *r;
	const struct plan_more *m; /* never NULL */
	int fd;			   /* the replay's number for r->fd, or -1 */
	int to;			   /* of a copy: the one for m->fd2 */
	struct slot *slot;	   /* of r->fd, or NULL */
	const char *path;	   /* in the sandbox */
	const char *path2;	   /* or NULL */
	const char *target;	   /* path2 as the text of a symbolic link */
	int64_t size, offset;
	int64_t want;  /* the recorded result */
	int64_t moved; /* bytes, by earlier calls of the record */
	int flags;     /* more.arg, or 0 */
};

/* An argument that was not recorded is 0. */
static inline int64_t spec_arg2(const struct call_spec *s)
{
	return s->m->arg2 == PLAN_NO_OFFSET ? 0 : s->m->arg2;
}

static inline int64_t spec_length(const struct call_spec *s)
{
	return s->offset == PLAN_NO_OFFSET ? 0 : s->offset;
}

/* The descriptor of an "at" call: paths need none, -1 makes it fail again. */
static inline int spec_dir(const struct call_spec *s)
{
	return s->m->err == EBADF ? -1 : AT_FDCWD;
}

/* Issue a call. Returns its result as it is recorded, -1 with errno. */
typedef int64_t player_call(struct player *p, const struct call_spec *s);

/* In the thread of @p, before its first call. */
void player_begin(struct player *p);

/* Play the stream to its end. */
void player_run(struct player *p);

#endif
