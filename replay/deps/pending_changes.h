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

struct claim {
	struct who who; /* has met it; end_ns 0: none */
	size_t mark;	/* 1 + what it made, 0: none */
	bool appeared;	/* or it vanished */
};

struct claims {
	struct marks *marks;
	struct edges *edges;
	struct claim *of_file; /* the last, by file id */
};

/* Borrows all for its life. 0, or -1 with @err; claims_fini() in any case. */
int claims_init(struct claims *c, const struct job *job, struct marks *marks,
		struct edges *edges, struct reel_error *err);
void claims_fini(struct claims *c);

/*
 * The call @me met what @effects tells of @effects->met; @marked: the last mark
 * is for it.
 */
void claims_add(struct claims *c, const struct who *me,
		const struct effects *effects, bool marked);

/* @ev, call @me, may have been it. In the order of ends; then @effects tells
 * no more of what it met itself. 0, or -1 with @err. */
int claims_event(struct claims *c, const struct reel_event *ev,
		 const struct who *me, struct effects *effects,
		 struct reel_error *err);

#endif
