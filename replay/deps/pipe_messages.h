/* SPDX-License-Identifier: MIT */
/*
 * The write that gave a read of a pipe its bytes. A pipe is one stream of
 * bytes: the n-th byte read is the n-th byte written, by any process.
 *
 * A wait for a message is no think time. A reader that was plainly waiting for
 * one (it read as soon as the write ended) waits for the write first, and only
 * the rest of its gap is think time after it.
 */
#ifndef REPLAY_DEPS_PIPE_MESSAGES_H
#define REPLAY_DEPS_PIPE_MESSAGES_H

#include <stdint.h>

#include "replay/deps/deps.h"

struct messages;

/* Gives *@out for messages_free(); borrows the others until then. 0, or -1 with
 * @err (REEL_E_MEMORY). */
int messages_new(struct messages **out, const struct job *job,
		 struct deps *deps, struct annotations *annotations,
		 struct reel_error *err);
void messages_free(struct messages *m);

/*
 * @ev, which is @call, is on a pipe or socket; @idle_ns: the end of the
 * previous call of its thread. Events come in the order of their ends. 0, or -1
 * with @err.
 */
int messages_event(struct messages *m, const struct reel_event *ev,
		   const struct call_ref *call, int64_t idle_ns,
		   struct reel_error *err);

/* After the last event: match reads with writes. Bytes without a write came
 * from another program. 0, or -1 with @err. */
int messages_end(struct messages *m, struct reel_error *err);

#endif
