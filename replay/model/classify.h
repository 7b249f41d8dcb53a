/* SPDX-License-Identifier: MIT */
/*
 * Classes of events and calls. Both passes of the plan compiler, and all the
 * state that they keep, must classify alike.
 */
#ifndef REPLAY_MODEL_CLASSIFY_H
#define REPLAY_MODEL_CLASSIFY_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "lib/calls.h"
#include "lib/store/event.h"
#include "lib/store/event_op.h"

/* An asynchronous operation: it overlaps other calls of its thread. */
static inline bool is_async(const struct reel_event *ev)
{
	return ev->layer == REEL_LAYER_ASYNC && ev->group != REEL_GROUP_QUEUE;
}

/* The bytes read or written through a mapping. */
static inline bool is_mapped_access(uint16_t call)
{
	return call == REEL_CALL_MAP_READ || call == REEL_CALL_MAP_WRITE;
}

/*
 * Is it a call of the plan? Not in a layer above the one that does the I/O, nor
 * an asynchronous operation whose result the job never got.
 */
static inline bool is_replayable(const struct reel_event *ev)
{
	if (ev->call >= REEL_CALL_NAMED || metric_op(ev) == METRIC_IGNORE ||
	    metric_op(ev) == METRIC_HIGHER_LAYER ||
	    ev->group == REEL_GROUP_QUEUE || ev->layer == REEL_LAYER_MPIIO)
		return false;
	if (is_async(ev))
		return ev->err != ECANCELED && ev->err != EINPROGRESS;
	return !is_mapped_access(ev->call) || ev->result > 0;
}

/*
 * The phases of a collective that @ev stands for: arrival, leaving, or both; 0
 * for any other call, and for a collective whose ranks are not known.
 */
enum {
	COLLECTIVE_ARRIVE = REEL_TRAIT_ARRIVES,
	COLLECTIVE_LEAVE = REEL_TRAIT_LEAVES
};

static inline unsigned int collective_phase(const struct reel_event *ev)
{
	if (ev->err || ev->pos < 2)
		return 0;
	return reel_call_traits(ev->call) &
	       (REEL_TRAIT_ARRIVES | REEL_TRAIT_LEAVES);
}

/* Is the call about a symbolic link itself, not its target? */
static inline bool is_nofollow(const struct reel_event *ev)
{
	int64_t flags = ev->arg == REEL_NO_OFFSET ? 0 : ev->arg;

	if (ev->call == REEL_CALL_FSTATAT || ev->call == REEL_CALL_STATX)
		return flags & AT_SYMLINK_NOFOLLOW;
	return reel_call_traits(ev->call) & REEL_TRAIT_NOFOLLOW ||
	       (ev->group == REEL_GROUP_OPEN && flags & (O_NOFOLLOW | O_EXCL));
}

/* stat, access, unlink: also valid on a bound socket. */
static inline bool is_probe(uint16_t call)
{
	return reel_call_traits(call) & REEL_TRAIT_PROBES;
}

/* May the file have another size after @ev? A hole and reserved blocks keep it. */
static inline bool is_resize(const struct reel_event *ev)
{
	return reel_call_traits(ev->call) & REEL_TRAIT_RESIZES &&
	       !(ev->call == REEL_CALL_FALLOCATE && ev->arg != REEL_NO_OFFSET &&
		 ev->arg & FALLOC_FL_KEEP_SIZE);
}

/* Calls of two descriptors. */
static inline bool is_two_fd_copy(uint16_t call)
{
	return reel_call_traits(call) & REEL_TRAIT_COPIES;
}

/* Calls on a mapping by its address; the descriptor may be closed. */
static inline bool is_by_address(uint16_t call)
{
	return reel_call_traits(call) & REEL_TRAIT_BY_ADDRESS;
}

/* Does the call use the position of its open file description? */
static inline bool uses_position(const struct reel_event *ev)
{
	return !(reel_call_traits(ev->call) &
		 (REEL_TRAIT_AT_OFFSET | REEL_TRAIT_BY_ADDRESS));
}

#endif
