/* SPDX-License-Identifier: MIT */
/*
 * MPI's life of a process, and the collectives that order what ranks do.
 *
 * A collective's record has its communicator (arg), its number among the
 * collectives on it (arg2), and twice the number of the members, plus one for
 * the root (pos); all members say the same, without a message: a communicator
 * is told by who its members are, and how many like it came before.
 */
#include <string.h>

#include "schemas/launcher.h"

#include "preload/anchors/spans.h"
#include "preload/mpi/mpi.h"

#define COMMS 64 /* more at a time: their collectives have no id */
#define CHUNK 64
#define SEED 0xcbf29ce484222325ull

struct comm {
	uintptr_t handle; /* 0: free, 1: being filled in */
	int64_t id, next; /* id: four bytes in a record */
	int rank, size;	  /* of ours; of all */
};

extern char **environ;

static struct comm comms[COMMS];
static bool spawned; /* by other ranks, whose numbers ours are too */

/* How many communicators of these members there have been. */
static struct {
	uint64_t members; /* 0: free */
	int64_t made;
} families[COMMS];

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/*
 * What the launcher calls this job: those that were spawned, and others that
 * run beside it, have the same ranks. NULL: it has no name.
 */
static const char *job_name(void)
{
	const char *said = NULL;

	for (size_t i = 0; !said && i < REEL_LAUNCHERS; i++)
		if (reel_launchers[i].kind != REEL_LAUNCHER_TORCH &&
		    reel_launchers[i].job)
			said = shim_env(environ, reel_launchers[i].job);
	return said;
}

static uint64_t hash_job(void)
{
	uint64_t h = mix(SEED, spawned);

	for (const char *p = job_name(); p && *p; p++)
		h = mix(h, (unsigned char)*p);
	return h;
}

/* The ranks in MPI_COMM_WORLD of @group's members, mixed; 0: not known. */
static uint64_t hash_members(void *group, void *world)
{
	int in[CHUNK], out[CHUNK], size = 0;
	uint64_t h;

	if (mpi.Group_size(group, &size))
		return 0;
	h = mix(hash_job(), (uint64_t)size);
	for (int from = 0; from < size; from += CHUNK) {
		int n = size - from < CHUNK ? size - from : CHUNK;

		for (int i = 0; i < n; i++)
			in[i] = from + i;
		if (mpi.Group_translate_ranks(group, n, in, world, out))
			return 0;
		for (int i = 0; i < n; i++)
			h = mix(h, (uint32_t)out[i]);
	}
	return h;
}

/* A program with sessions only has no MPI_COMM_WORLD: to ask it is to die. */
static bool has_world(void)
{
	int yes = 0, over = 1;

	return mpi.Initialized && mpi.Finalized && !mpi.Initialized(&yes) &&
	       !mpi.Finalized(&over) && yes && !over;
}

static uint64_t members_of(void *comm)
{
	void *group = NULL, *world = NULL;
	int between = 0;
	uint64_t h = 0;

	if (!mpi.Group_translate_ranks || !mpi.Group_size || !mpi.Group_free ||
	    !mpi.Comm_group || !mpi.Comm_test_inter || !has_world())
		return 0;
	if (mpi.Comm_test_inter(comm, &between) || between ||
	    mpi.Comm_group(comm, &group))
		return 0;
	if (!mpi.Comm_group(mpi.world, &world)) {
		h = hash_members(shim_mpi_handle(group),
				 shim_mpi_handle(world));
		mpi.Group_free(&world);
	}
	mpi.Group_free(&group);
	return h;
}

static struct comm *find_comm(uintptr_t handle)
{
	for (int i = 0; i < COMMS; i++)
		if (__atomic_load_n(&comms[i].handle, __ATOMIC_ACQUIRE) ==
		    handle)
			return &comms[i];
	return NULL;
}

/* Its number among those of the same members; NONE: there are too many. */
static int64_t number_in_family(uint64_t members)
{
	for (int i = 0; i < COMMS; i++) {
		uint64_t empty = 0;

		if (__atomic_compare_exchange_n(
			    &families[i].members, &empty, members, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    empty == members)
			return __atomic_fetch_add(&families[i].made, 1,
						  __ATOMIC_RELAXED);
	}
	return NONE;
}

/* Fill in what MPI knows of it. False: it has no id. */
static bool describe(struct comm *c, void *comm)
{
	uint64_t members = members_of(comm);
	int64_t like = members ? number_in_family(members) : NONE;

	if (like == NONE || !mpi.Comm_rank || !mpi.Comm_size ||
	    mpi.Comm_rank(comm, &c->rank) || mpi.Comm_size(comm, &c->size))
		return false;
	c->id = (int64_t)(mix(members, (uint64_t)like) >> 37);
	c->next = 0;
	return true;
}

static struct comm *add_comm(uintptr_t handle)
{
	for (int i = 0; i < COMMS; i++) {
		struct comm *c = &comms[i];
		uintptr_t empty = 0;
		bool known;

		if (!__atomic_compare_exchange_n(&c->handle, &empty, 1, false,
						 __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		known = describe(c, (void *)handle);
		__atomic_store_n(&c->handle, known ? handle : 0,
				 __ATOMIC_RELEASE);
		return known ? c : NULL;
	}
	return NULL;
}

void shim_mpi_tell_comm(struct shim_event *ev, void *comm, int root,
			bool failed)
{
	uintptr_t handle = (uintptr_t)shim_mpi_handle(comm);
	struct comm *c = find_comm(handle);

	if (!c && handle > 1 && !failed)
		c = add_comm(handle);
	if (!c)
		return;
	ev->arg = c->id;
	ev->arg2 = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED);
	ev->pos = 2 * (int64_t)c->size + (root == c->rank);
}

static void comm_gone(void *comm)
{
	uintptr_t handle = (uintptr_t)shim_mpi_handle(comm);
	struct comm *c = handle > 1 ? find_comm(handle) : NULL;

	if (c)
		__atomic_store_n(&c->handle, 0, __ATOMIC_RELEASE);
}

static void record(uint32_t call, void *comm, int root, uint64_t start,
		   uint64_t end, int code)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};
	int saved = errno;

	if (comm)
		shim_mpi_tell_comm(&ev, comm, root, code);
	shim_record_full(&ev, start, end, code ? -1 : 0, shim_mpi_errno(code));
	errno = saved;
}

/* "mpi_world=RANKS NAME": ranks of two worlds may have the same number. */
static void note_world(void)
{
	void *parent = mpi.no_comm;
	const char *name = job_name();
	char text[256], *end = text + 16, *at = end;
	int ranks = 0;

	if (!mpi.Comm_size || mpi.Comm_size(mpi.world, &ranks) || ranks < 1)
		return;
	spawned = mpi.Comm_get_parent && !mpi.Comm_get_parent(&parent) &&
		  shim_mpi_handle(parent) != mpi.no_comm;
	for (; ranks; ranks /= 10)
		*--at = (char)('0' + ranks % 10);
	strcpy(end, spawned ? " spawned" : "");
	if (name && strlen(name) < 128)
		strcat(strcat(end, " "), name);
	shim_note_text("mpi_world", at);
}

static void initialized(uint32_t call, uint64_t start, uint64_t end, int code)
{
	int saved = errno, rank = -1;

	record(call, NULL, -1, start, end, code);
	if (!code && mpi.Comm_rank && !mpi.Comm_rank(mpi.world, &rank) &&
	    rank >= 0 && shim.head)
		shim.head->mpi_rank = (uint32_t)rank + 1;
	if (!code)
		note_world();
	if (!code)
		shim_mpi_clock(AT_INIT);
	errno = saved;
}

int shim_mpi_Init(int *argc, char ***argv)
{
	uint64_t start = shim_clock();
	int r = mpi_real.Init(argc, argv);

	if (shim_hot.on)
		initialized(CALL_MPI_INIT, start, shim_clock(), r);
	return r;
}

int shim_mpi_Init_thread(int *argc, char ***argv, int want, int *got)
{
	uint64_t start = shim_clock();
	int r = mpi_real.Init_thread(argc, argv, want, got);

	if (shim_hot.on)
		initialized(CALL_MPI_INIT_THREAD, start, shim_clock(), r);
	return r;
}

int shim_mpi_Finalize(void)
{
	int saved = errno, r;
	uint64_t start;

	if (shim_hot.on) {
		shim_mpi_clock(AT_FINALIZE);
		shim_mpi_note_counts();
	}
	errno = saved;
	start = shim_clock();
	r = mpi_real.Finalize();
	if (shim_hot.on)
		record(CALL_MPI_FINALIZE, NULL, -1, start, shim_clock(), r);
	return r;
}

/* Forgotten before: the handle may be given to another at once. */
int shim_mpi_Comm_free(void **comm)
{
	if (shim_hot.on && comm)
		comm_gone(shim_mpi_handle_at(comm));
	return mpi_real.Comm_free(comm);
}

int shim_mpi_Comm_disconnect(void **comm)
{
	if (shim_hot.on && comm)
		comm_gone(shim_mpi_handle_at(comm));
	return mpi_real.Comm_disconnect(comm);
}

#define LAST1 a
#define LAST5 e
#define LAST6 f
#define LAST7 g
#define LAST8 h
#define LAST9 i

#define X(CALL, fn, n, root)                                                   \
	int shim_mpi_##fn(MPI_A##n)                                            \
	{                                                                      \
		uint64_t start = shim_clock();                                 \
		int r = mpi_real.fn(MPI_ARGS##n);                              \
                                                                               \
		if (shim_hot.on)                                               \
			record(CALL_MPI_##CALL, (void *)LAST##n, (int)(root),  \
			       start, shim_clock(), r);                        \
		return r;                                                      \
	}
MPI_COLLECTIVES(X)
