/* SPDX-License-Identifier: MIT */
/*
 * Files that came or went by nobody's call, as far as is known when a call
 * meets that. It may have been a call that was still on its way: when that
 * ends, the other waits for it, and nothing is done for it from outside.
 */
#ifndef REPLAY_DEPS_PENDING_CHANGES_H
#define REPLAY_DEPS_PENDING_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/model/annotations.h"

struct edges;
struct effects;
struct job;
struct reel_error;
struct reel_event;

struct pending_change {
	struct call_ref who; /* has met it; end_ns 0: none */
	size_t mark;	     /* 1 + what it made, 0: none */
	bool appeared;	     /* or it vanished */
};

struct pending_changes {
	struct annotations *marks;
	struct edges *edges;
	struct pending_change *of_file; /* the last, by file id */
};

/* Borrows all for its life. 0, or -1 with @err; pending_changes_fini() in any case. */
int pending_changes_init(struct pending_changes *c, const struct job *job,
			 struct annotations *marks, struct edges *edges,
			 struct reel_error *err);
void pending_changes_fini(struct pending_changes *c);

/*
 * The call @me met what @effects tells of @effects->met; @marked: the last mark
 * is for it.
 */
void pending_changes_add(struct pending_changes *c, const struct call_ref *me,
			 const struct effects *effects, bool marked);

/* @ev, call @me, may have been it. In the order of ends; then @effects tells
 * no more of what it met itself. 0, or -1 with @err. */
int pending_changes_event(struct pending_changes *c,
			  const struct reel_event *ev,
			  const struct call_ref *me, struct effects *effects,
			  struct reel_error *err);

#endif
