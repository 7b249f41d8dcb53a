/* SPDX-License-Identifier: MIT */
/* A thread that does jobs when it is told to. */
#include "replay/pipeline/background.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "replay/io/call_log.h"
#include "replay/pipeline/work.h"

struct background {
	background_job job;
	void *arg;
	struct call_log *log;
	pthread_t thread;
	sem_t go, done;
	bool busy; /* a job was started and not waited for */
	bool quit;
	int rc; /* of the last job */
	struct reel_error err;
};

static void wait_for(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

static void *background_main(void *arg)
{
	struct background *b = arg;

	work_begin();
	if (b->log)
		call_log_begin(b->log, false);
	for (;;) {
		wait_for(&b->go);
		if (b->quit)
			break;
		b->rc = b->job(b->arg, &b->err);
		sem_post(&b->done);
	}
	if (b->log)
		call_log_flush(b->log);
	return NULL;
}

/* The stepping thread gets the signals that end the run: they end its pauses. */
static int start_thread(struct background *b)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&b->thread, NULL, background_main, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int background_new(struct background **out, background_job job, void *arg,
		   struct call_log *log, struct reel_error *err)
{
	struct background *b = reel_alloc(1, sizeof(*b), err);
	int rc;

	if (!b)
		return -1;
	*b = (struct background){.job = job, .arg = arg, .log = log};
	sem_init(&b->go, 0, 0);
	sem_init(&b->done, 0, 0);
	rc = start_thread(b);
	if (rc) {
		free(b);
		return reel_fail(err, REEL_E_IO, "cannot start a thread: %s",
				 strerror(rc));
	}
	*out = b;
	return 0;
}

void background_start(struct background *b)
{
	b->err = (struct reel_error){0};
	b->busy = true;
	sem_post(&b->go);
}

int background_wait(struct background *b, struct reel_error *err)
{
	if (!b->busy)
		return 0;
	wait_for(&b->done);
	b->busy = false;
	if (b->rc < 0)
		*err = b->err;
	return b->rc;
}

void background_free(struct background *b)
{
	struct reel_error err;

	if (!b)
		return;
	background_wait(b, &err);
	b->quit = true;
	sem_post(&b->go);
	pthread_join(b->thread, NULL);
	sem_destroy(&b->go);
	sem_destroy(&b->done);
	free(b);
}
