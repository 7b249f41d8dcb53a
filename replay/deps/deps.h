/* SPDX-License-Identifier: MIT */
/*
 * Dependencies: which call of one thread has to wait for which call of another.
 *
 * The rules are about resources, never about clocks alone: a descriptor is
 * used after its open and closed after its last use, its number is reused
 * after the close, a shared position is moved in turn, a path is used between
 * its creation and its removal, bytes are read after they were written. Time
 * decides only which of two calls on one resource was first. Two calls that
 * overlapped race in the replay as they did in the job.
 *
 * A wait is dropped when an earlier wait of the same thread for the same
 * thread covers it.
 */
#ifndef REPLAY_DEPS_DEPS_H
#define REPLAY_DEPS_DEPS_H

#include <stdint.h>

#include "replay/fsstate/fsstate.h"
#include "replay/model/annotations.h"

struct inodes;
struct job;
struct reel_error;
struct reel_event;

struct deps;

/* Gives *@out for deps_free(); borrows the others until then.
 * 0, or -1 with @err (REEL_E_MEMORY). */
int deps_new(struct deps **out, const struct job *job,
	     struct annotations *annotations, struct inodes *inodes,
	     struct reel_error *err);
void deps_free(struct deps *d);

/* Make @after wait for the end of @before. Returns 1 when the wait is kept, 0
 * when it is not needed, -1 with @err. */
int deps_add(struct deps *d, const struct call_ref *before,
	     const struct call_ref *after, struct reel_error *err);

/* The same without the test for earlier waits, which assumes that @after is
 * the newest call of its thread. */
int deps_add_late(struct deps *d, const struct call_ref *before,
		  const struct call_ref *after, struct reel_error *err);

/* Apply the rules to @ev, which is @call. Events come in the order of their
 * ends. 0, or -1 with @err. */
int deps_event(struct deps *d, const struct reel_event *ev,
	       const struct call_ref *call, const struct effects *effects,
	       struct reel_error *err);

#endif
