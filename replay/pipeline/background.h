/* SPDX-License-Identifier: MIT */
/* A thread of a rank that does one job at a time while the steps go on. */
#ifndef REPLAY_PIPELINE_BACKGROUND_H
#define REPLAY_PIPELINE_BACKGROUND_H

struct background;
struct call_log;
struct reel_error;

typedef int (*background_job)(void *arg, struct reel_error *err);

/* Start the thread, which does nothing yet. @log: of its calls, NULL: none. @arg and
 * @log are borrowed. Gives *@out for background_free(). 0 or -1. */
int background_new(struct background **out, background_job job, void *arg,
		   struct call_log *log, struct reel_error *err);
/* Do the job once. The last one has been waited for. */
void background_start(struct background *b);
/* Wait for the job: what it returned, and @err of it; 0 where none was started. */
int background_wait(struct background *b, struct reel_error *err);
/* Waits, too. NULL too. */
void background_free(struct background *b);

#endif
