/* SPDX-License-Identifier: MIT */
/* Which files of an import are of one process, and which of other runs. */
#include "analyzer/import/profile/kineto_cycle.h"

#include <string.h>

#include "lib/error.h"

#include "analyzer/import/common/importer.h"

bool kineto_cycles_has_pid(const struct kineto_cycles *all, int64_t pid)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->at[i].pid == pid)
			return true;
	return false;
}

static bool is_same(const struct kineto_cycle *a, const struct kineto_cycle *b,
		    bool any_worker)
{
	if (a->pid < 0 || a->pid != b->pid || a->rank != b->rank)
		return false;
	return a->rank >= 0 || !strcmp(a->worker, b->worker) ||
	       (any_worker && !a->names_pid && !b->names_pid);
}

/* *@any: a file is of a process that is the same as that of @c, if none is there at
 * the time of @c. */
static uint32_t find_process(const struct kineto_cycles *all,
			     const struct kineto_cycle *c, bool any_worker,
			     bool *any)
{
	uint32_t process = 0;

	*any = false;
	for (uint32_t i = 0; i < all->n; i++) {
		const struct kineto_cycle *e = &all->at[i];

		if (!is_same(e, c, any_worker))
			continue;
		*any = true;
		if (c->start_ns < e->end_ns && e->start_ns < c->end_ns)
			return 0; /* two at a time: of two containers */
		process = e->process;
	}
	return process;
}

/* A process may name its files by what it profiles: Lightning's by hook, loops as
 * train.json and eval.json. Workers that a user named have files of their own. */
uint32_t kineto_cycles_process(const struct kineto_cycles *all,
			       const struct kineto_cycle *c)
{
	bool any;
	uint32_t process = find_process(all, c, false, &any);

	return any ? process : find_process(all, c, true, &any);
}

uint32_t kineto_cycles_most(const struct kineto_cycles *all)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < all->n; i++) {
		uint32_t n = 0;

		for (uint32_t k = 0; k < all->n; k++)
			n += all->at[k].process == all->at[i].process;
		most = n > most ? n : most;
	}
	return most;
}

/* The ns between files of two processes; below 0, they overlap or have no span. Sums of
 * times that a damaged file has may exceed 64 bits. */
static double gap_of(const struct kineto_cycle *a, const struct kineto_cycle *b)
{
	double base_ns = (double)b->base_ns - (double)a->base_ns, after, before;

	if (a->start_ns > a->end_ns || b->start_ns > b->end_ns)
		return -1;
	after = base_ns + (double)b->start_ns - (double)a->end_ns;
	before = (double)a->start_ns - (double)b->end_ns - base_ns;
	return after > before ? after : before;
}

static bool are_of_different_runs(const struct kineto_cycle *a,
				  const struct kineto_cycle *b)
{
	return a->rank < 0 && b->rank < 0 && a->process != b->process &&
	       gap_of(a, b) > (double)IMPORT_RUN_GAP_NS;
}

int kineto_cycles_refuse_runs(const struct kineto_cycles *all,
			      char *const *path, struct reel_error *err)
{
	for (uint32_t i = 1; i < all->n; i++)
		for (uint32_t k = 0; k < i; k++)
			if (are_of_different_runs(&all->at[k], &all->at[i]))
				return reel_fail(
					err, REEL_E_FORMAT,
					"'%s' and '%s' are of different runs, "
					"%.0f s apart: import each run alone",
					path[k], path[i],
					gap_of(&all->at[k], &all->at[i]) / 1e9);
	return 0;
}
