/* SPDX-License-Identifier: MIT */
/*
 * A child inherits the descriptors that are open at its fork. So a fork waits
 * for each open, dup and close that other threads of its process ended before
 * it, and those that they began after it wait for the fork.
 */
#ifndef REPLAY_DEPS_FORKS_H
#define REPLAY_DEPS_FORKS_H

#include "replay/model/annotations.h"

struct job;
struct reel_error;
struct reel_event;

/* A fork of process @child waits for @before. */
struct fork_wait {
	uint32_t child;
	struct call_ref before;
};

struct forks {
	const struct job *job;
	struct annotations *annotations;
	struct call_ref *changed; /* the last open or close, by stream */
	uint32_t *waited_by;	  /* 1 + the stream whose fork waits for it */
	struct fork_wait *wait;	  /* by child */
	uint32_t waits, room;
	uint32_t *child;  /* processes that are forked: by parent, by time */
	uint32_t *forked; /* the same by time; done before next_fork */
	uint32_t children, next_fork;
	uint32_t *next; /* by stream: its first child without a wait */
};

/* Borrows both for its life. 0, or -1 with @err; forks_fini() in any case. */
int forks_init(struct forks *f, const struct job *job,
	       struct annotations *annotations, struct reel_error *err);
void forks_fini(struct forks *f);

/* @ev is the call @call. Events come in the order of their ends. 0, or -1 with
 * @err. */
int forks_event(struct forks *f, const struct reel_event *ev,
		const struct call_ref *call, struct reel_error *err);

/* After the last event: sort the waits by child. */
void forks_sort(struct forks *f);

/* The index of the first wait of @child, if it has any. */
size_t forks_first_wait(const struct forks *f, uint32_t child);

#endif
