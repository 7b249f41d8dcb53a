/* SPDX-License-Identifier: MIT */
/* A bound of how many threads are inside at a time. */
#ifndef REPLAY_KVCACHE_GATE_H
#define REPLAY_KVCACHE_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t left;
	int64_t most; /* 0: no bound */
	int64_t inside, peak;
};

void gate_init(struct gate *g, int64_t most);
void gate_fini(struct gate *g);
/* Wait for a place. False, and none is taken: @over(@arg) came first. */
bool gate_enter(struct gate *g, bool (*over)(void *), void *arg);
void gate_leave(struct gate *g);
/* Wait until @when signals or a moment passes: a signal handler wakes nothing. */
void gate_wait(pthread_cond_t *when, pthread_mutex_t *lock);

#endif
