/* SPDX-License-Identifier: MIT */
/*
 * The order of reads and writes of a growing file that overlap in time: the
 * bytes that the read returned prove which call the kernel served first.
 *
 * A thread may lose its processor in the middle of a call while other threads
 * make thousands of calls. So the calls of the last HOLD_NS are remembered for
 * a file that two streams use at one time.
 */
#ifndef REPLAY_DEPS_APPEND_ORDER_H
#define REPLAY_DEPS_APPEND_ORDER_H

struct deps;
struct reel_error;
struct reel_event;
struct call_ref;

struct append_order; /* of one inode */

/*
 * @ev is a read or a write, and @call; events come in the order of their ends.
 * *@order begins as NULL, for append_order_free(). 0, or -1 with @err.
 */
int append_order_event(struct deps *d, struct append_order **order,
		       const struct reel_event *ev, const struct call_ref *call,
		       struct reel_error *err);
void append_order_free(struct append_order *o);

#endif
