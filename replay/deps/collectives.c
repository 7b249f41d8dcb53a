/* SPDX-License-Identifier: MIT */
/*
 * Gathers the members of each collective. Its waits are added as soon as the
 * last member has left, so that memory holds only the collectives in progress;
 * a communicator that is created again may then count from 0 again.
 */
#include "replay/deps/deps.h"

#include <stdlib.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event.h"

#include "replay/model/classify.h"

#define MEMBERS_MOST (1 << 20)

struct member {
	struct call_ref arrive, leave;
	int64_t start_ns;	 /* of the arrival */
	int64_t wait_ns, end_ns; /* of the call that leaves */
	uint32_t process;
	bool root, left;
};

struct collective {
	int64_t comm, number;
	struct member *member;
	uint32_t n, room, left;
	uint16_t call;
	bool broken; /* it seems to be two collectives */
};

struct collectives {
	struct deps *deps;
	struct annotations *annotations;
	struct reel_intmap index; /* comm, number -> collective */
	struct collective *list;
	uint32_t room;
	uint64_t complete;
};

int collectives_new(struct collectives **out, struct deps *deps,
		    struct annotations *annotations, struct reel_error *err)
{
	struct collectives *c = reel_alloc(1, sizeof(*c), err);

	if (!c)
		return -1;
	c->deps = deps;
	c->annotations = annotations;
	*out = c;
	return 0;
}

void collectives_free(struct collectives *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->index.used; i++)
		free(c->list[i].member);
	reel_intmap_fini(&c->index);
	free(c->list);
	free(c);
}

/* @a leaves after the arrival of @b, unless it left earlier in the job. */
static int wait_for_member(struct collectives *c, const struct member *a,
			   const struct member *b, struct reel_error *err)
{
	if (b->start_ns > a->end_ns)
		return 0;
	return deps_add_late(c->deps, &b->arrive, &a->leave, err) < 0 ? -1 : 0;
}

/* @a waited until @until_ns: that time is no work of its own. */
static int add_wait_time(struct collectives *c, const struct member *a,
			 int64_t until_ns, struct reel_error *err)
{
	struct annotation note = {.stream = a->leave.stream,
				  .call = a->leave.index,
				  .ns = until_ns - a->wait_ns,
				  .kind = ANNOTATION_COLLECTIVE_WAIT};

	if (until_ns <= a->wait_ns || until_ns > a->end_ns)
		return 0;
	return annotations_add(c->annotations, &note, err);
}

static const struct member *last_to_arrive(const struct collective *g)
{
	const struct member *last = &g->member[0];

	for (uint32_t i = 1; i < g->n; i++)
		if (g->member[i].start_ns > last->start_ns)
			last = &g->member[i];
	return last;
}

static const struct member *root_of(const struct collective *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->member[i].root)
			return &g->member[i];
	return NULL;
}

static int add_waits_all(struct collectives *c, const struct collective *g,
			 struct reel_error *err)
{
	const struct member *last = last_to_arrive(g);

	for (uint32_t i = 0; i < g->n; i++) {
		const struct member *a = &g->member[i];

		if (a == last)
			continue;
		if (deps_add_late(c->deps, &a->arrive, &last->arrive, err) <
			    0 ||
		    wait_for_member(c, a, last, err) ||
		    add_wait_time(c, a, last->start_ns, err))
			return -1;
	}
	return 0;
}

static int add_waits_for_root(struct collectives *c, const struct collective *g,
			      const struct member *root, struct reel_error *err)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct member *a = &g->member[i];

		if (a != root && (wait_for_member(c, a, root, err) ||
				  add_wait_time(c, a, root->start_ns, err)))
			return -1;
	}
	return 0;
}

static int add_waits_of_root(struct collectives *c, const struct collective *g,
			     const struct member *root, struct reel_error *err)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (&g->member[i] != root &&
		    wait_for_member(c, root, &g->member[i], err))
			return -1;
	return add_wait_time(c, root, last_to_arrive(g)->start_ns, err);
}

static int add_waits(struct collectives *c, const struct collective *g,
		     struct reel_error *err)
{
	const struct member *root = root_of(g);
	unsigned int traits = reel_call_traits(g->call);

	if (traits & REEL_TRAIT_FROM_ROOT)
		return root ? add_waits_for_root(c, g, root, err) : 0;
	if (traits & REEL_TRAIT_TO_ROOT)
		return root ? add_waits_of_root(c, g, root, err) : 0;
	return add_waits_all(c, g, err);
}

static struct collective *collective_of(struct collectives *c,
					const struct reel_event *ev,
					struct reel_error *err)
{
	uint64_t key = (uint64_t)ev->arg << 36 ^ (uint64_t)ev->arg2;
	uint32_t i = reel_intmap_get(&c->index, key, err);
	struct collective *g;

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&c->list, &c->room, i, sizeof(*c->list), err))
		return NULL;
	g = &c->list[i];
	if (!g->n) {
		g->comm = ev->arg;
		g->number = ev->arg2;
		g->call = ev->call;
	}
	return g;
}

static int add_member(struct collective *g, const struct reel_event *ev,
		      const struct call_ref *call, struct reel_error *err)
{
	struct member a = {.arrive = *call,
			   .start_ns = ev->start_ns,
			   .process = ev->process,
			   .root = ev->pos & 1};

	if (reel_array_reach(&g->member, &g->room, g->n, sizeof(*g->member),
			     err))
		return -1;
	g->member[g->n++] = a;
	return 0;
}

/* The member of @ev's process leaves, as call @left. */
static void remove_member(struct collective *g, const struct reel_event *ev,
			  const struct call_ref *left)
{
	/* Mostly they leave in the order in which they arrived. */
	for (uint32_t i = 0; i < g->n; i++) {
		struct member *a = &g->member[(g->left + i) % g->n];

		if (a->process != ev->process || a->left)
			continue;
		a->leave = *left;
		a->wait_ns = ev->start_ns;
		a->end_ns = ev->start_ns + ev->dur_ns;
		a->left = true;
		g->left++;
		return;
	}
	g->broken = true;
}

int collectives_event(struct collectives *c, const struct reel_event *ev,
		      const struct call_ref *arrive,
		      const struct call_ref *leave, struct reel_error *err)
{
	int64_t members = ev->pos / 2;
	unsigned int phase = collective_phase(ev);
	struct collective *g;
	int rc = 0;

	if (members < 2 || members > MEMBERS_MOST)
		return 0;
	g = collective_of(c, ev, err);
	if (!g || (phase & COLLECTIVE_ARRIVE && add_member(g, ev, arrive, err)))
		return -1;
	if (phase & COLLECTIVE_LEAVE)
		remove_member(g, ev, leave);
	if (ev->arg != g->comm || ev->arg2 != g->number ||
	    (phase & COLLECTIVE_ARRIVE && ev->call != g->call))
		g->broken = true;
	if (g->n < (uint32_t)members || g->left < g->n)
		return 0;
	if (!g->broken)
		rc = add_waits(c, g, err);
	c->complete += !g->broken;
	free(g->member);
	*g = (struct collective){0};
	return rc;
}

uint64_t collectives_complete(const struct collectives *c)
{
	return c->complete;
}
