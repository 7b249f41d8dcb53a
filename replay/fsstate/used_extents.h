/* SPDX-License-Identifier: MIT */
/*
 * Which parts of a file a job used: the rest of a large one need not be made.
 */
#ifndef REPLAY_FSSTATE_USED_EXTENTS_H
#define REPLAY_FSSTATE_USED_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "replay/model/plan.h"

struct reel_error;
struct reel_event;

/* Of one file; NULL is a file of which nothing was used. */
struct extents;

/* @ev, by a descriptor, is about the file. 0, or -1 with @err. */
int extents_event(struct extents **e, const struct reel_event *ev,
		  struct reel_error *err);

/*
 * What of a file of @size_bytes may be holes, in order and apart. Gives *@out
 * for free(); their number in *@n. 0, or -1 with @err.
 */
int extents_holes(const struct extents *e, int64_t size_bytes,
		  struct plan_hole **out, uint32_t *n, struct reel_error *err);

void extents_free(struct extents *e);

#endif
