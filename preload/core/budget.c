/* SPDX-License-Identifier: MIT */
/*
 * --max-size: the bytes that all processes of the job may write. They share the
 * counts in job.counts.
 */
#include "preload/core/budget.h"

#include "preload/core/counters.h"
#include "preload/core/window.h"

/* Events may use three quarters of the budget; counters have the rest. */
#define EVENTS_SHARE(bytes) ((bytes) / 4 * 3)

static uint64_t own_window; /* bytes of this window in job.counts */

static uint64_t load_count(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/*
 * A window's blocks are also written to a log, and a process notices only then
 * that the events' share is spent: count each window twice until then.
 */
static bool room_for_events(const struct reel_counts *c)
{
	return load_count(&c->used_bytes) + 2 * load_count(&c->window_bytes) <=
	       EVENTS_SHARE(c->budget_bytes);
}

static void check_budget(struct reel_counts *c)
{
	uint64_t none = 0;

	if (room_for_events(c) && !load_count(&c->full_real_ns))
		return;
	__atomic_compare_exchange_n(&c->full_real_ns, &none,
				    shim_clock_ns(CLOCK_REALTIME), false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	shim_counting_from_now();
}

static bool take_bytes(struct reel_counts *c, uint64_t *of, uint64_t bytes)
{
	__atomic_fetch_add(of, bytes, __ATOMIC_RELAXED);
	if (load_count(&c->used_bytes) + load_count(&c->window_bytes) <=
	    c->budget_bytes)
		return true;
	__atomic_fetch_sub(of, bytes, __ATOMIC_RELAXED);
	return false;
}

bool shim_budget_log(size_t bytes)
{
	struct reel_counts *c = shim.counts;

	return !c || !c->budget_bytes || take_bytes(c, &c->used_bytes, bytes);
}

void shim_budget_written(size_t bytes, bool good)
{
	struct reel_counts *c = shim.counts;

	if (!c || !c->budget_bytes)
		return;
	if (!good)
		__atomic_fetch_sub(&c->used_bytes, bytes, __ATOMIC_RELAXED);
	check_budget(c);
}

bool shim_budget_window(size_t bytes, bool more)
{
	struct reel_counts *c = shim.counts;

	if (!c || !c->budget_bytes)
		return true;
	if (more &&
	    (shim_counting_always() ||
	     load_count(&c->used_bytes) + 2 * load_count(&c->window_bytes) +
			     2 * bytes >
		     EVENTS_SHARE(c->budget_bytes)))
		return false; /* small blocks will do */
	if (!take_bytes(c, &c->window_bytes, bytes))
		return false;
	__atomic_fetch_add(&own_window, bytes, __ATOMIC_RELAXED);
	if (shim.head)
		check_budget(c);
	return true;
}

void shim_budget_begin(void)
{
	own_window = 0;
}

void shim_budget_window_gone(uint32_t head_bytes)
{
	struct reel_counts *c = shim.counts;

	if (c && c->budget_bytes) {
		__atomic_fetch_add(&c->used_bytes, head_bytes,
				   __ATOMIC_RELAXED);
		__atomic_fetch_sub(&c->window_bytes, own_window,
				   __ATOMIC_RELAXED);
	}
	own_window = 0;
}

uint32_t shim_budget_level(void)
{
	const struct reel_counts *c = shim.counts;
	uint64_t used, share, left;
	uint32_t level = 0;

	if (!c || !c->budget_bytes)
		return 0;
	used = load_count(&c->used_bytes) + load_count(&c->window_bytes);
	left = used < c->budget_bytes ? c->budget_bytes - used : 0;
	share = c->budget_bytes - EVENTS_SHARE(c->budget_bytes);
	while (level < SHIM_DOUBLINGS && left < share >> level)
		level++;
	return level;
}
