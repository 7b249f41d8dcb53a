/* SPDX-License-Identifier: MIT */
/*
 * A file that grows while others read it: of a write and a read at one time,
 * what the read found tells whom the kernel served first.
 *
 * A thread may lose its processor in the middle of a call, for as long as others
 * make thousands of theirs: so the calls of the last HOLD_NS are remembered,
 * of a file that two streams use at one time.
 */
#ifndef REPLAY_DEPS_APPEND_ORDER_H
#define REPLAY_DEPS_APPEND_ORDER_H

struct edges;
struct reel_error;
struct reel_event;
struct who;

struct tail; /* of a file */

/*
 * The read or write @ev, call @me; in the order of ends. *@tail begins as NULL,
 * for tails_free(). 0, or -1 with @err.
 */
int tails_event(struct edges *e, struct tail **tail,
		const struct reel_event *ev, const struct who *me,
		struct reel_error *err);
void tails_free(struct tail *t);

#endif
