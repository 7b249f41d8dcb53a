/* SPDX-License-Identifier: MIT */
/*
 * The parts of a file that a job used: the rest of a large file is a hole in
 * the replay.
 */
#ifndef REPLAY_FSSTATE_USED_EXTENTS_H
#define REPLAY_FSSTATE_USED_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "replay/model/plan.h"

struct reel_error;
struct reel_event;

/* The used parts of one file; NULL: none. */
struct extents;

/* Note the parts that @ev, a call on a descriptor of the file, uses. 0, or -1
 * with @err. */
int extents_event(struct extents **e, const struct reel_event *ev,
		  struct reel_error *err);

/*
 * The holes of a file of @size_bytes, sorted and disjoint. Gives *@out for
 * free(); their number in *@n. 0, or -1 with @err.
 */
int extents_holes(const struct extents *e, int64_t size_bytes,
		  struct plan_hole **out, uint32_t *n, struct reel_error *err);

void extents_free(struct extents *e);

#endif
