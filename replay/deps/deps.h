/* SPDX-License-Identifier: MIT */
/*
 * Which call of one thread has to wait for which call of another.
 *
 * The rules are about resources, never about clocks alone: a descriptor is
 * used after it is opened and closed after its last use, its number is given
 * again after the close, an offset that is shared is moved in turn, a path is
 * used between its making and its removal, bytes are read after they were
 * written. Time decides only which of two calls on one resource was first,
 * and two that overlapped are left to race as they did.
 *
 * A wait that an earlier wait of the same thread for the same thread covers is
 * not kept.
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

struct edges;

/* Gives *@out for edges_free(); borrows the others until then.
 * 0, or -1 with @err (REEL_E_MEMORY). */
int edges_new(struct edges **out, const struct job *job,
	      struct annotations *marks, struct inodes *inodes,
	      struct reel_error *err);
void edges_free(struct edges *e);

/* @after waits until @before has ended. 1 when the edge is kept, 0, or -1. */
int edges_add(struct edges *e, const struct call_ref *before,
	      const struct call_ref *after, struct reel_error *err);

/* The same, kept in any case: for a wait that is found out late. */
int edges_keep(struct edges *e, const struct call_ref *before,
	       const struct call_ref *after, struct reel_error *err);

/* Apply the rules to @ev, which is call @me. In the order of ends. */
int edges_event(struct edges *e, const struct reel_event *ev,
		const struct call_ref *me, const struct effects *effects,
		struct reel_error *err);

#endif
