/* SPDX-License-Identifier: MIT */
/* State that the two passes of the plan compiler share: compile.c, emit.c. */
#ifndef REPLAY_PLAN_COMPILE_H
#define REPLAY_PLAN_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/calls.h"
#include "lib/progress.h"
#include "lib/store/event.h"

#include "replay/deps/deps.h"
#include "replay/fsstate/inodes.h"
#include "replay/fsstate/page_cache.h"
#include "replay/model/annotations.h"
#include "replay/model/classify.h"
#include "replay/model/plan.h"
#include "replay/plan/enclosing.h"

struct job;
struct reel_error;
struct reel_store;

/* The last copy_file_range() or such of a stream: the next event, COPY_OUT, has
 * its target. */
struct last_copy {
	int64_t start_ns, dur_ns;
	bool any;
};

/* A record that a COPY_OUT may still complete. */
struct held {
	struct plan_record r;
	struct plan_more m;
	struct last_copy copy;
	bool any;
};

/*
 * Records of a stream that are no calls of the job: forks, begins and ends of
 * spans, the end of the process. They are sorted by stream and time, and merged
 * into the streams as the second pass writes these.
 */
struct lifecycle_event {
	int64_t at_ns;
	int64_t arg, arg2;
	uint32_t stream;
	uint32_t order;
	char *name;  /* of a user's span, NULL: none */
	uint16_t op; /* enum plan_op */
};

struct lifecycle {
	struct lifecycle_event *at;
	uint32_t n, room;
};

/* A collective whose arrival is written: calls of its thread may come before
 * the thread leaves it. */
struct leaving {
	int64_t start_ns, end_ns;
};

struct compiler {
	struct reel_store *st;
	struct reel_error *err;
	struct job *job;
	struct annotations annotations;
	struct listings *listings;
	struct inodes inodes;
	struct pending_changes pending;
	struct fsstate *fsstate;
	struct residency residency;
	struct deps *deps;
	struct messages *messages;
	struct collectives *collectives;
	struct fd_objects *fd_objects;
	struct forks forks;
	struct enclosing enclosing;
	struct lifecycle lifecycle;
	struct plan_writer *out;
	struct reel_progress progress;
	uint32_t *calls;	/* by stream */
	int64_t *idle_ns;	/* end of its last call, by stream */
	struct last_copy *copy; /* by stream */
	struct call_ref *msync; /* the last of its mappings, by open id */
	uint8_t *opens_fds;	/* it makes descriptors, by stream */
	uint8_t *changes_dir;	/* it calls chdir(), by process */
	uint32_t *name_of;	/* by file id, 1 + name */
	uint64_t events, skipped, async, phases, fetches;
	int64_t lead_ns; /* from the start of the job to the time 0 */
	/* The second pass: */
	size_t next_annotation, next_lifecycle;
	int64_t at_ns; /* end of the stream so far */
	/* Asynchronous operations: sum of times, and union per thread. */
	int64_t async_sum_ns, async_union_ns, async_end_ns;
	struct held held;
	struct leaving *leaving; /* the next one first */
	uint32_t leavings, leaving_room;
};

static inline void note_copy(struct last_copy *c, const struct reel_event *ev)
{
	*c = (struct last_copy){ev->start_ns, ev->dur_ns,
				is_two_fd_copy(ev->call)};
}

/* Is @ev the target side of the copy? */
static inline bool is_target_of(const struct last_copy *c,
				const struct reel_event *ev)
{
	return c->any && ev->call == REEL_CALL_COPY_OUT && ev->fd >= 0 &&
	       c->start_ns == ev->start_ns && c->dur_ns == ev->dur_ns;
}

/* *@name: the index of @file's path in the plan, PLAN_NONE: no path. 0, or -1
 * with the error filled. */
int compile_name(struct compiler *c, uint32_t file, uint32_t *name);

/* The second pass: the records of @stream. 0, or -1 with the error filled. */
int compile_stream(struct compiler *c, uint32_t stream);

/* @in is zeroed before; lifecycle_fini() in any case. 0, or -1 with @err
 * (REEL_E_DB, REEL_E_MEMORY). */
int lifecycle_read(struct lifecycle *in, struct job *job, struct reel_store *st,
		   struct reel_error *err);
void lifecycle_fini(struct lifecycle *in);

#endif
