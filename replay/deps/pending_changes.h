/* SPDX-License-Identifier: MIT */
/*
 * Changes that no finished call explains. A call observed that a path appeared
 * or vanished. The change is blamed on another program, unless an overlapping
 * call later explains it: then the observer waits for that call instead.
 */
#ifndef REPLAY_DEPS_PENDING_CHANGES_H
#define REPLAY_DEPS_PENDING_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/model/annotations.h"

struct deps;
struct effects;
struct job;
struct reel_error;
struct reel_event;

struct pending_change {
	struct call_ref observer; /* end_ns 0: none */
	size_t annotation;	  /* 1 + that of the change, 0: none */
	bool appeared;		  /* else it vanished */
};

struct pending_changes {
	struct annotations *annotations;
	struct deps *deps;
	struct pending_change *of_file; /* the last one, by file id */
};

/* Borrows all for its life. 0, or -1 with @err; pending_changes_fini() in any
 * case. */
int pending_changes_init(struct pending_changes *c, const struct job *job,
			 struct annotations *annotations, struct deps *deps,
			 struct reel_error *err);
void pending_changes_fini(struct pending_changes *c);

/*
 * @call observed the unexplained change in @effects. @annotated: the last
 * annotation is for it.
 */
void pending_changes_add(struct pending_changes *c, const struct call_ref *call,
			 const struct effects *effects, bool annotated);

/* @ev, which is @call, may explain a change; then it is removed from @effects
 * if @call observed it too. Events come in the order of their ends. 0, or -1
 * with @err. */
int pending_changes_event(struct pending_changes *c,
			  const struct reel_event *ev,
			  const struct call_ref *call, struct effects *effects,
			  struct reel_error *err);

#endif
