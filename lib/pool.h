/* SPDX-License-Identifier: MIT */
/*
 * Threads that run tasks. The owner of the pool is its thread 0: it runs tasks
 * whenever it would wait otherwise, so that a pool of one thread works too.
 *
 * One lock protects the pool and the state that its users share. Tasks must be
 * long against a lock: a block of data, not a record.
 */
#ifndef LIB_POOL_H
#define LIB_POOL_H

#include <pthread.h>
#include <stdbool.h>

struct reel_error;
struct reel_pool;

/* The first member of a user's struct. Borrowed from put to the end of run. */
struct reel_task {
	/* Called without the lock, in thread @thread of the pool. */
	void (*run)(struct reel_task *task, int thread);
	struct reel_task *next;
};

/*
 * A pool of @threads threads, the caller among them; fewer, if the system
 * refuses to start them. Signals are left to the caller's thread. Gives *@out
 * for reel_pool_free(). 0, or -1 with @err (REEL_E_MEMORY).
 */
int reel_pool_new(struct reel_pool **out, int threads, struct reel_error *err);
/* Wait for the tasks that run, forget those that wait; takes NULL. */
void reel_pool_free(struct reel_pool *p);
/* The threads of @p, with the caller; 1 for NULL. */
int reel_pool_threads(const struct reel_pool *p);
/* Processors that this process may use. */
int reel_pool_processors(void);
/* The threads for a task of one producer, which leaves more than 8 without work:
 * @asked, or if that is 0, one for each processor, or a single one if @small. */
int reel_pool_threads_for(int asked, bool small);

/* A thread beside the pool, which gets no signals either. 0, or an errno. */
int reel_pool_thread(pthread_t *id, void *(*run)(void *), void *arg);

void reel_pool_lock(struct reel_pool *p);
void reel_pool_unlock(struct reel_pool *p);

/* The following are called with the lock held. */

/* Let a thread run @task; @urgent: before all tasks that are not. */
void reel_pool_put(struct reel_pool *p, struct reel_task *task, bool urgent);
/*
 * Run a waiting task (@urgent: only an urgent one) in thread @thread, which is
 * the caller's; if there is none, wait until a task was put or ended, or
 * reel_pool_wake() was called. The lock is free meanwhile: test the reason to
 * wait again.
 */
void reel_pool_help(struct reel_pool *p, int thread, bool urgent);
/* As reel_pool_help(), without running a task; at most @timeout_ns, 0: for
 * ever. */
void reel_pool_wait(struct reel_pool *p, long timeout_ns);
/* The shared state changed. */
void reel_pool_wake(struct reel_pool *p);
/* The urgent task that waits longest, for a caller that runs it elsewhere, or
 * NULL. */
struct reel_task *reel_pool_take_urgent(struct reel_pool *p);

#endif
