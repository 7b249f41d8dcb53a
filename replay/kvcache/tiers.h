/* SPDX-License-Identifier: MIT */
/*
 * Objects and their places. A new object is in memory where that has room, else on
 * storage; the least recently used ones make room: from memory to storage, from
 * storage away. An object that is pinned stays where it is.
 */
#ifndef REPLAY_KVCACHE_TIERS_H
#define REPLAY_KVCACHE_TIERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay/kvcache/object.h"

struct kvcache_user;
struct reel_error;

enum tier { TIER_MEMORY, TIER_STORAGE, TIERS, TIER_NONE = TIERS };

struct kv_object {
	struct object_shape shape;
	int user;
	uint64_t number; /* of the user's */
	int pins;	 /* not in a list while there are any */
	enum tier tier;	 /* where it is; TIER_NONE: removed */
	bool on_storage; /* its file exists, whole or not */
	struct kv_object *before, *after; /* in the list of its tier */
	struct kv_object *next;		  /* of all */
};

struct tiers {
	pthread_mutex_t lock;
	pthread_cond_t room; /* an object left, or is not pinned now */
	int64_t capacity[TIERS], used[TIERS]; /* bytes */
	struct kv_object used_last[TIERS];    /* rings: after it the oldest */
	struct kv_object *all;
};

#define KV_NAME 64

void tiers_init(struct tiers *t, int64_t memory, int64_t storage);
/*
 * A new object of @tokens, for @u, written where it is on storage; pinned. NULL with
 * @err, or without when the trial ended before.
 */
struct kv_object *tiers_add(struct tiers *t, struct kvcache_user *u,
			    uint64_t tokens, struct reel_error *err);
/* Pin it: its tier, TIER_NONE: it is gone, and is not pinned. */
enum tier tiers_pin(struct tiers *t, struct kv_object *o);
/* Now it is the last one used. */
void tiers_unpin(struct tiers *t, struct kv_object *o);
/* Remove all files, by the calls of @io, and free all objects. The first failure is
 * in @err. 0 or -1. */
int tiers_fini(struct tiers *t, struct io *io, struct reel_error *err);
/* The name of its file in the folder of the rank. */
void tiers_name(const struct kv_object *o, char name[static KV_NAME]);

#endif
