/* SPDX-License-Identifier: MIT */
/*
 * Gathers the members of each collective. It is settled as soon as the last
 * has come by, so that memory holds those only that some rank is still in; a
 * communicator that is made anew may then count from 0 again.
 */
#include "replay/deps/collectives.h"

#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event.h"

#include "replay/model/classify.h"

#define MEMBERS_MOST (1 << 20)

struct member {
	struct call_ref who, left;	   /* arriving, leaving */
	int64_t start_ns, wait_ns, end_ns; /* it came, waited, and went */
	uint32_t process;
	bool root, gone;
};

struct collective {
	int64_t comm, number;
	struct member *member;
	uint32_t n, room, gone;
	uint16_t call;
	bool broken; /* two collectives seem to be one */
};

struct collectives {
	struct edges *edges;
	struct annotations *marks;
	struct reel_intmap index; /* comm, number -> meeting */
	struct collective *meeting;
	uint32_t room;
	uint64_t settled;
};

int collectives_new(struct collectives **out, struct edges *edges,
		    struct annotations *marks, struct reel_error *err)
{
	struct collectives *m = reel_alloc(1, sizeof(*m), err);

	if (!m)
		return -1;
	m->edges = edges;
	m->marks = marks;
	*out = m;
	return 0;
}

void collectives_free(struct collectives *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->index.used; i++)
		free(m->meeting[i].member);
	reel_intmap_fini(&m->index);
	free(m->meeting);
	free(m);
}

/* @a leaves when @b has arrived; if that was so in the job. */
static int wait_for_member(struct collectives *m, const struct member *a,
			   const struct member *b, struct reel_error *err)
{
	if (b->start_ns > a->end_ns)
		return 0;
	return edges_keep(m->edges, &b->who, &a->left, err) < 0 ? -1 : 0;
}

/* Until @from_ns it waited. */
static int waited(struct collectives *m, const struct member *a,
		  int64_t from_ns, struct reel_error *err)
{
	struct annotation mark = {.stream = a->left.stream,
				  .call = a->left.call,
				  .ns = from_ns - a->wait_ns,
				  .kind = ANNOTATION_WAITED};

	if (from_ns <= a->wait_ns || from_ns > a->end_ns)
		return 0;
	return annotations_add(m->marks, &mark, err);
}

static const struct member *last_to_come(const struct collective *g)
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

static int settle_all(struct collectives *m, const struct collective *g,
		      struct reel_error *err)
{
	const struct member *last = last_to_come(g);

	for (uint32_t i = 0; i < g->n; i++) {
		const struct member *a = &g->member[i];

		if (a == last)
			continue;
		if (edges_keep(m->edges, &a->who, &last->who, err) < 0 ||
		    wait_for_member(m, a, last, err) ||
		    waited(m, a, last->start_ns, err))
			return -1;
	}
	return 0;
}

static int settle_from_root(struct collectives *m, const struct collective *g,
			    const struct member *root, struct reel_error *err)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct member *a = &g->member[i];

		if (a != root && (wait_for_member(m, a, root, err) ||
				  waited(m, a, root->start_ns, err)))
			return -1;
	}
	return 0;
}

static int settle_to_root(struct collectives *m, const struct collective *g,
			  const struct member *root, struct reel_error *err)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (&g->member[i] != root &&
		    wait_for_member(m, root, &g->member[i], err))
			return -1;
	return waited(m, root, last_to_come(g)->start_ns, err);
}

static int settle(struct collectives *m, const struct collective *g,
		  struct reel_error *err)
{
	const struct member *root = root_of(g);

	switch (g->call) {
	case REEL_CALL_MPI_BCAST:
	case REEL_CALL_MPI_SCATTER:
	case REEL_CALL_MPI_SCATTERV:
	case REEL_CALL_MPI_IBCAST:
	case REEL_CALL_MPI_ISCATTER:
	case REEL_CALL_MPI_ISCATTERV:
		return root ? settle_from_root(m, g, root, err) : 0;
	case REEL_CALL_MPI_REDUCE:
	case REEL_CALL_MPI_GATHER:
	case REEL_CALL_MPI_GATHERV:
	case REEL_CALL_MPI_IREDUCE:
	case REEL_CALL_MPI_IGATHER:
	case REEL_CALL_MPI_IGATHERV:
		return root ? settle_to_root(m, g, root, err) : 0;
	default:
		return settle_all(m, g, err);
	}
}

static struct collective *collective_of(struct collectives *m,
					const struct reel_event *ev,
					struct reel_error *err)
{
	uint64_t key = (uint64_t)ev->arg << 36 ^ (uint64_t)ev->arg2;
	uint32_t i = reel_intmap_get(&m->index, key, err);
	struct collective *g;

	if (i == REEL_NO_INDEX || reel_array_reach(&m->meeting, &m->room, i,
						   sizeof(*m->meeting), err))
		return NULL;
	g = &m->meeting[i];
	if (!g->n) {
		g->comm = ev->arg;
		g->number = ev->arg2;
		g->call = ev->call;
	}
	return g;
}

static int add_member(struct collective *g, const struct reel_event *ev,
		      const struct call_ref *me, struct reel_error *err)
{
	struct member a = {.who = *me,
			   .start_ns = ev->start_ns,
			   .process = ev->process,
			   .root = ev->pos & 1};

	if (g->n == g->room) {
		uint32_t room = g->room ? 2 * g->room : 4;

		if (reel_grow(&g->member, room, sizeof(*g->member), err))
			return -1;
		g->room = room;
	}
	g->member[g->n++] = a;
	return 0;
}

/* Its process leaves, as call @left. */
static void leave(struct collective *g, const struct reel_event *ev,
		  const struct call_ref *left)
{
	/* mostly they go in the order in which they came */
	for (uint32_t i = 0; i < g->n; i++) {
		struct member *a = &g->member[(g->gone + i) % g->n];

		if (a->process != ev->process || a->gone)
			continue;
		a->left = *left;
		a->wait_ns = ev->start_ns;
		a->end_ns = ev->start_ns + ev->dur_ns;
		a->gone = true;
		g->gone++;
		return;
	}
	g->broken = true;
}

int collectives_event(struct collectives *m, const struct reel_event *ev,
		      const struct call_ref *me, struct reel_error *err)
{
	int64_t members = ev->pos / 2;
	unsigned int halves = collective_phase(ev);
	struct call_ref left = *me;
	struct collective *g;
	int rc = 0;

	if (members < 2 || members > MEMBERS_MOST)
		return 0;
	g = collective_of(m, ev, err);
	if (!g || (halves & COLLECTIVE_ARRIVE && add_member(g, ev, me, err)))
		return -1;
	left.call += halves == (COLLECTIVE_ARRIVE | COLLECTIVE_LEAVE);
	if (halves & COLLECTIVE_LEAVE)
		leave(g, ev, &left);
	if (ev->arg != g->comm || ev->arg2 != g->number ||
	    (halves & COLLECTIVE_ARRIVE && ev->call != g->call))
		g->broken = true;
	if (g->n < (uint32_t)members || g->gone < g->n)
		return 0;
	if (!g->broken)
		rc = settle(m, g, err);
	m->settled += !g->broken;
	free(g->member);
	*g = (struct collective){0};
	return rc;
}

uint64_t collectives_settled(const struct collectives *m)
{
	return m->settled;
}
