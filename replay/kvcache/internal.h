/* SPDX-License-Identifier: MIT */
/* Shared by the files of the room. */
#ifndef REPLAY_KVCACHE_INTERNAL_H
#define REPLAY_KVCACHE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/error.h"

#include "replay/io/io.h"
#include "replay/kvcache/gate.h"
#include "replay/kvcache/kvcache.h"
#include "replay/kvcache/object.h"
#include "replay/kvcache/room.h"
#include "replay/kvcache/tiers.h"

/* A trial of a rank. */
struct kvcache {
	const struct workload_kvcache *is;
	struct tiers tiers;
	struct gate gate;
	struct room noise; /* larger than an object, which begins anywhere */
	int64_t deadline_ns;
	atomic_bool failed;
	pthread_mutex_t lock; /* for err */
	struct reel_error err;
};

/* A user, a thread. */
struct kvcache_user {
	struct kvcache *cache;
	struct io io;
	uint64_t random;
	int number;
	struct room target;
	struct kvcache_counts n;
	struct latency request, read, write, sync;
	/* The conversation: its objects, an array of is->turns. */
	struct kv_object **turn;
	uint32_t turns;
	uint64_t objects; /* made so far, for their names */
	pthread_t thread;
	bool started;
};

/* Is the trial over: by time, signal or failure? */
bool kvcache_over(struct kvcache *c);
/* The thread of a user; @arg: the user. */
void *kvcache_user_main(void *arg);

/* Write @o, with its times and counts. 0, or -1 with @err. */
int kvcache_write(struct kvcache_user *u, const struct kv_object *o,
		  struct reel_error *err);

#endif
