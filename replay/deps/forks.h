/* SPDX-License-Identifier: MIT */
/*
 * A child inherits the descriptors that are open at its fork: so a fork waits
 * for what other threads of its process had opened, duplicated and closed before
 * it; and what they began of that after it waits for the fork.
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
	struct annotations *marks;
	struct call_ref *changed; /* the last open or close, by stream */
	uint32_t *told;		  /* 1 + the stream whose fork waits for it */
	struct fork_wait *wait;	  /* by child */
	size_t waits, room;
	uint32_t *child; /* that a thread forks: by parent, then by time */
	uint32_t
		*forked; /* the same by time; those before next_fork are done */
	uint32_t children, next_fork;
	uint32_t *next; /* by stream: the first child it does not know of */
};

/* Borrows both for its life. 0, or -1 with @err; forks_fini() in any case. */
int forks_init(struct forks *f, const struct job *job,
	       struct annotations *marks, struct reel_error *err);
void forks_fini(struct forks *f);

/* @ev is call @me. In the order of ends. */
int forks_event(struct forks *f, const struct reel_event *ev,
		const struct call_ref *me, struct reel_error *err);

/* After the last event: those of a child come together. */
void forks_sort(struct forks *f);

/* The first wait of @child, waits when it has none. */
size_t forks_of(const struct forks *f, uint32_t child);

#endif
