/* SPDX-License-Identifier: MIT */
/* Threads that run tasks, under one lock. */
#include "lib/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/error.h"

#define THREADS_MOST 8

struct task_list {
	struct reel_task *first, *last;
};

struct pool_thread {
	struct reel_pool *pool;
	pthread_t id;
	int number;
};

struct reel_pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct task_list urgent, other;
	struct pool_thread *thread; /* [0] is the owner's */
	int threads;
	bool stop;
};

static struct reel_task *take_first(struct task_list *l)
{
	struct reel_task *t = l->first;

	if (t)
		l->first = t->next;
	return t;
}

static struct reel_task *take_task(struct reel_pool *p, bool urgent)
{
	struct reel_task *t = take_first(&p->urgent);

	return t || urgent ? t : take_first(&p->other);
}

struct reel_task *reel_pool_take_urgent(struct reel_pool *p)
{
	return take_first(&p->urgent);
}

void reel_pool_put(struct reel_pool *p, struct reel_task *task, bool urgent)
{
	struct task_list *l = urgent ? &p->urgent : &p->other;

	task->next = NULL;
	if (l->first)
		l->last->next = task;
	else
		l->first = task;
	l->last = task;
	pthread_cond_broadcast(&p->changed);
}

void reel_pool_wake(struct reel_pool *p)
{
	pthread_cond_broadcast(&p->changed);
}

void reel_pool_help(struct reel_pool *p, int thread, bool urgent)
{
	struct reel_task *t = take_task(p, urgent);

	if (!t) {
		pthread_cond_wait(&p->changed, &p->lock);
		return;
	}
	pthread_mutex_unlock(&p->lock);
	t->run(t, thread);
	pthread_mutex_lock(&p->lock);
	pthread_cond_broadcast(&p->changed);
}

void reel_pool_wait(struct reel_pool *p, long timeout_ns)
{
	struct timespec until;

	if (!timeout_ns) {
		pthread_cond_wait(&p->changed, &p->lock);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += timeout_ns;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&p->changed, &p->lock, &until);
}

void reel_pool_lock(struct reel_pool *p)
{
	pthread_mutex_lock(&p->lock);
}

void reel_pool_unlock(struct reel_pool *p)
{
	pthread_mutex_unlock(&p->lock);
}

static void *run_thread(void *arg)
{
	struct pool_thread *t = arg;
	struct reel_pool *p = t->pool;

	pthread_mutex_lock(&p->lock);
	while (!p->stop)
		reel_pool_help(p, t->number, false);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int reel_pool_thread(pthread_t *id, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(id, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* Start threads until @threads or the system's limit are reached. */
static void start_threads(struct reel_pool *p, int threads)
{
	for (p->threads = 1; p->threads < threads; p->threads++) {
		struct pool_thread *t = &p->thread[p->threads];

		*t = (struct pool_thread){.pool = p, .number = p->threads};
		if (reel_pool_thread(&t->id, run_thread, t))
			break;
	}
}

int reel_pool_new(struct reel_pool **out, int threads, struct reel_error *err)
{
	struct reel_pool *p = reel_alloc(1, sizeof(*p), err);

	if (!p)
		return -1;
	p->thread = reel_alloc((size_t)threads, sizeof(*p->thread), err);
	if (!p->thread) {
		free(p);
		return -1;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	start_threads(p, threads);
	*out = p;
	return 0;
}

void reel_pool_free(struct reel_pool *p)
{
	if (!p)
		return;
	reel_pool_lock(p);
	p->stop = true;
	p->urgent.first = p->other.first = NULL;
	reel_pool_wake(p);
	reel_pool_unlock(p);
	for (int i = 1; i < p->threads; i++)
		pthread_join(p->thread[i].id, NULL);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p->thread);
	free(p);
}

int reel_pool_threads(const struct reel_pool *p)
{
	return p ? p->threads : 1;
}

int reel_pool_threads_for(int asked, bool small)
{
	int n = asked ? asked : small ? 1 : reel_pool_processors();

	return n < THREADS_MOST ? n : THREADS_MOST;
}

int reel_pool_processors(void)
{
	cpu_set_t set;
	long n;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return CPU_COUNT(&set);
	n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (int)n : 1;
}
