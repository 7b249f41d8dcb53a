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
struct call_ref;

struct append_order; /* of a file */

/*
 * The read or write @ev, call @me; in the order of ends. *@tail begins as NULL,
 * for append_order_free(). 0, or -1 with @err.
 */
int append_order_event(struct edges *e, struct append_order **tail,
		       const struct reel_event *ev, const struct call_ref *me,
		       struct reel_error *err);
void append_order_free(struct append_order *t);

#endif
