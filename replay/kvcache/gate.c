/* SPDX-License-Identifier: MIT */
/* A bound of how many threads are inside at a time. */
#include "replay/kvcache/gate.h"

#include <time.h>

#define MOMENT_NS 50000000

void gate_init(struct gate *g, int64_t most)
{
	*g = (struct gate){.lock = PTHREAD_MUTEX_INITIALIZER,
			   .left = PTHREAD_COND_INITIALIZER,
			   .most = most};
}

void gate_fini(struct gate *g)
{
	pthread_cond_destroy(&g->left);
	pthread_mutex_destroy(&g->lock);
}

void gate_wait(pthread_cond_t *when, pthread_mutex_t *lock)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += MOMENT_NS;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	pthread_cond_timedwait(when, lock, &t);
}

bool gate_enter(struct gate *g, bool (*over)(void *), void *arg)
{
	bool in;

	pthread_mutex_lock(&g->lock);
	while (g->most && g->inside >= g->most && !over(arg))
		gate_wait(&g->left, &g->lock);
	in = !over(arg) && (!g->most || g->inside < g->most);
	if (in && ++g->inside > g->peak)
		g->peak = g->inside;
	pthread_mutex_unlock(&g->lock);
	return in;
}

void gate_leave(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->inside--;
	pthread_cond_signal(&g->left);
	pthread_mutex_unlock(&g->lock);
}
