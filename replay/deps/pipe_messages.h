/* SPDX-License-Identifier: MIT */
/*
 * Which write gave a read its bytes. A pipe is one stream of bytes: the n-th
 * byte read is the n-th byte written, whoever wrote and read them.
 *
 * A wait for a message is no think time: a reader that was plainly waiting for
 * one (it read at once when the write was done) waits for the write first and
 * lets only the rest of its gap go by after it.
 */
#ifndef REPLAY_DEPS_PIPE_MESSAGES_H
#define REPLAY_DEPS_PIPE_MESSAGES_H

#include <stdint.h>

#include "replay/deps/deps.h"

struct messages;

/* Gives *@out for messages_free(); borrows the job, the edges and the marks until then.
 * 0, or -1 with @err (REEL_E_MEMORY). */
int messages_new(struct messages **out, const struct job *job,
		 struct edges *edges, struct annotations *marks,
		 struct reel_error *err);
void messages_free(struct messages *m);

/*
 * Event @ev, call @me, on a pipe or socket; @idle_ns: when the thread's call
 * before it ended. In the order of ends. 0, or -1 with @err.
 */
int messages_event(struct messages *m, const struct reel_event *ev,
		   const struct call_ref *me, int64_t idle_ns,
		   struct reel_error *err);

/* No more events: match them. What is unexplained then came from outside the
 * job. 0, or -1 with @err. */
int messages_end(struct messages *m, struct reel_error *err);

#endif
