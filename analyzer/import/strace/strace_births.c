/* SPDX-License-Identifier: MIT */
/* Parents by a look ahead: a queue of returns for each child and each parent. */
#include "analyzer/import/strace/strace_births.h"

#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"

#include "analyzer/import/strace/strace_call.h"
#include "analyzer/import/strace/strace_line.h"
#include "analyzer/import/strace/strace_source.h"

#define REJECTED_MOST 8 /* of a thread, one after the other */

/* Indices of births, plus 1; 0: none. */
struct strace_birth {
	int64_t child, parent;
	uint32_t next_of_child, next_of_parent;
};

struct strace_birth_queue {
	uint32_t first, last;
};

static struct strace_birth_queue *queue_of(struct reel_intmap *map,
					   struct strace_birth_queue **queue,
					   uint32_t *room, int64_t tid,
					   struct reel_error *err)
{
	uint32_t i = reel_intmap_get(map, (uint64_t)tid, err);

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(queue, room, i, sizeof(**queue), err))
		return NULL;
	return &(*queue)[i];
}

static int add_birth(struct strace_births *b, int64_t parent, int64_t child,
		     struct reel_error *err)
{
	if (reel_array_append(&b->birth, &b->room, b->births, sizeof(*b->birth),
			      err))
		return -1;
	b->birth[b->births++] =
		(struct strace_birth){.child = child, .parent = parent};
	return 0;
}

/* Put birth @i into its queues. */
static int link_birth(struct strace_births *b, uint32_t i,
		      struct reel_error *err)
{
	struct strace_birth_queue *of_child, *of_parent;

	of_child = queue_of(&b->of_child, &b->child, &b->child_room,
			    b->birth[i].child, err);
	of_parent = queue_of(&b->of_parent, &b->parent, &b->parent_room,
			     b->birth[i].parent, err);
	if (!of_child || !of_parent)
		return -1;
	if (of_child->first)
		b->birth[of_child->last - 1].next_of_child = i + 1;
	else
		of_child->first = i + 1;
	if (of_parent->first)
		b->birth[of_parent->last - 1].next_of_parent = i + 1;
	else
		of_parent->first = i + 1;
	of_child->last = of_parent->last = i + 1;
	return 0;
}

/* "7 1.5 <... clone resumed>) = 8 <0.1>" */
static int see_line(void *arg, struct strace_line *line, struct reel_error *err)
{
	struct strace_births *b = arg;
	const struct strace_call_info *info;

	if (line->pid < 0)
		return 0;
	if (line->pid != b->last_pid &&
	    reel_intmap_get(&b->seen, (uint64_t)line->pid, err) ==
		    REEL_NO_INDEX)
		return -1;
	b->last_pid = line->pid;
	info = line->what == STRACE_RESUMED ? strace_call_find(line->name)
					    : NULL;
	if (!info || info->effect != STRACE_FORK)
		return 0;
	if (!strace_line_join(line, line->args.at, line->args.len) ||
	    !line->has_result || line->result <= 0)
		return 0;
	return add_birth(b, line->pid, line->result, err);
}

bool strace_births_has_lines(const struct strace_births *b, int64_t tid)
{
	return reel_intmap_find(&b->seen, (uint64_t)tid) != REEL_NO_INDEX;
}

int strace_births_read(struct strace_births *b, struct strace_sources *ss,
		       struct reel_error *err)
{
	b->last_pid = -1;
	if (strace_sources_scan(ss, see_line, b, err))
		return -1;
	for (uint32_t i = 0; i < b->births; i++)
		if (strace_births_has_lines(b, b->birth[i].child) &&
		    link_birth(b, i, err))
			return -1;
	return 0;
}

static const struct strace_birth *
first_of(const struct strace_births *b, const struct reel_intmap *map,
	 const struct strace_birth_queue *queue, int64_t tid)
{
	uint32_t i = reel_intmap_find(map, (uint64_t)tid);
	uint32_t first = i == REEL_NO_INDEX ? 0 : queue[i].first;

	return first ? &b->birth[first - 1] : NULL;
}

int64_t strace_births_parent(const struct strace_births *b, int64_t child)
{
	const struct strace_birth *birth =
		first_of(b, &b->of_child, b->child, child);

	return birth ? birth->parent : -1;
}

int64_t strace_births_child(const struct strace_births *b, int64_t parent)
{
	const struct strace_birth *birth =
		first_of(b, &b->of_parent, b->parent, parent);

	return birth ? birth->child : -1;
}

void strace_births_returned(struct strace_births *b, int64_t parent,
			    int64_t child)
{
	const struct strace_birth *birth =
		first_of(b, &b->of_parent, b->parent, parent);
	uint32_t of_parent, of_child;

	/* A return that the importer rejects does not hold up the ones behind it. */
	for (int i = 0; birth && birth->child != child; i++)
		birth = birth->next_of_parent && i < REJECTED_MOST
				? &b->birth[birth->next_of_parent - 1]
				: NULL;
	if (!birth)
		return;
	of_parent = reel_intmap_find(&b->of_parent, (uint64_t)parent);
	of_child = reel_intmap_find(&b->of_child, (uint64_t)child);
	b->parent[of_parent].first = birth->next_of_parent;
	/* Returns of a child's number are in the order of the file, too. */
	b->child[of_child].first = birth->next_of_child;
}

void strace_births_fini(struct strace_births *b)
{
	reel_intmap_fini(&b->seen);
	reel_intmap_fini(&b->of_child);
	reel_intmap_fini(&b->of_parent);
	free(b->child);
	free(b->parent);
	free(b->birth);
}
