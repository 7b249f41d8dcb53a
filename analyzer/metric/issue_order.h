/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes in the order in which the program issued them.
 *
 * Events come in the order of their ends, and asynchronous operations end in
 * any order: from the first one on, accesses are held back until
 * REEL_ISSUE_ORDER_HELD others came, more than queues are deep. A job without
 * any pays nothing.
 */
#ifndef ANALYZER_METRIC_ISSUE_ORDER_H
#define ANALYZER_METRIC_ISSUE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;

#define REEL_ISSUE_ORDER_HELD 4096u

/* A read or write that transferred bytes. */
struct reel_access {
	int64_t issued_ns; /* the sort key */
	int64_t offset, bytes;
	uint32_t process, thread, file, open, calls;
	bool write, async;
};

typedef int reel_access_fn(void *ctx, const struct reel_access *a,
			   struct reel_error *err);

struct reel_issued {
	int64_t issued_ns;
	struct reel_access *access; /* in held */
};

/* Zeroed except @fn and @ctx: valid and empty. */
struct reel_issue_order {
	reel_access_fn *fn;
	void *ctx;
	struct reel_access *held; /* NULL until one is async */
	/* @n of held from @first on, sorted by issued_ns and arrival. */
	struct reel_issued *order;
	uint32_t first, n;
};

/* Is an access next in the order, without a call of reel_issue_order_add()? */
static inline bool reel_issue_order_is_next(const struct reel_issue_order *o,
					    bool async)
{
	return !o->held && !async;
}
/* Pass @a, or held accesses, to @fn. 0, or -1 with @err: from @fn, or
 * REEL_E_MEMORY. */
int reel_issue_order_add(struct reel_issue_order *o,
			 const struct reel_access *a, struct reel_error *err);
/* Pass all held accesses to @fn. */
int reel_issue_order_flush(struct reel_issue_order *o, struct reel_error *err);
void reel_issue_order_fini(struct reel_issue_order *o);

#endif
