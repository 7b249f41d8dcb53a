/* SPDX-License-Identifier: MIT */
/*
 * MPI_Init, MPI_Finalize, and the collectives, which order the calls of ranks.
 *
 * The record of a collective has its communicator (arg), its number among the
 * collectives on it (arg2), and twice the number of members, plus one in the
 * root (pos). All members derive the same values without a message: the id of a
 * communicator is a hash of its members and of the number of communicators with
 * the same members before it.
 */
#include <string.h>

#include "schemas/launcher.h"

#include "preload/mpi/mpi.h"

#define COMMS 64 /* at a time: collectives of others have no id */
#define CHUNK 64
#define SEED 0xcbf29ce484222325ull

struct comm {
	uintptr_t handle; /* 0: free, 1: being filled in */
	int64_t id, next; /* id: four bytes in a record */
	int rank, size;	  /* our rank, number of members */
};

extern char **environ;

static struct comm comms[COMMS];
static bool spawned; /* by other ranks, which have the same numbers */

/* The number of communicators so far with the same members. */
static struct {
	uint64_t members; /* 0: free */
	int64_t made;
} families[COMMS];

static uint64_t mix_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/*
 * The launcher's name of the job, since spawned and concurrent jobs have the
 * same ranks. NULL: it has none.
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
	uint64_t h = mix_hash(SEED, spawned);

	for (const char *p = job_name(); p && *p; p++)
		h = mix_hash(h, (unsigned char)*p);
	return h;
}

/* A hash of the ranks in MPI_COMM_WORLD of @group's members; 0: unknown. */
static uint64_t hash_members(void *group, void *world)
{
	int in[CHUNK], out[CHUNK], size = 0;
	uint64_t h;

	if (mpi.Group_size(group, &size))
		return 0;
	h = mix_hash(hash_job(), (uint64_t)size);
	for (int from = 0; from < size; from += CHUNK) {
		int n = size - from < CHUNK ? size - from : CHUNK;

		for (int i = 0; i < n; i++)
			in[i] = from + i;
		if (mpi.Group_translate_ranks(group, n, in, world, out))
			return 0;
		for (int i = 0; i < n; i++)
			h = mix_hash(h, (uint32_t)out[i]);
	}
	return h;
}

/* With sessions only, a use of MPI_COMM_WORLD would abort the program. */
static bool has_world(void)
{
	int yes = 0, over = 1;

	return mpi.Initialized && mpi.Finalized && !mpi.Initialized(&yes) &&
	       !mpi.Finalized(&over) && yes && !over;
}

static uint64_t comm_members(void *comm)
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

/* The communicator's number among those of the same members; NONE: too many. */
static int64_t family_number(uint64_t members)
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

/* Fill in id, rank and size. False: the communicator gets no id. */
static bool fill_comm(struct comm *c, void *comm)
{
	uint64_t members = comm_members(comm);
	int64_t like = members ? family_number(members) : NONE;

	if (like == NONE || !mpi.Comm_rank || !mpi.Comm_size ||
	    mpi.Comm_rank(comm, &c->rank) || mpi.Comm_size(comm, &c->size))
		return false;
	c->id = (int64_t)(mix_hash(members, (uint64_t)like) >> 37);
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
		known = fill_comm(c, (void *)handle);
		__atomic_store_n(&c->handle, known ? handle : 0,
				 __ATOMIC_RELEASE);
		return known ? c : NULL;
	}
	return NULL;
}

void shim_mpi_fill_comm(struct shim_event *ev, void *comm, int root,
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

static void remove_comm(void *comm)
{
	uintptr_t handle = (uintptr_t)shim_mpi_handle(comm);
	struct comm *c = handle > 1 ? find_comm(handle) : NULL;

	if (c)
		__atomic_store_n(&c->handle, 0, __ATOMIC_RELEASE);
}

static void add_event(uint32_t call, void *comm, int root, uint64_t start,
		      uint64_t end, int code)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};
	int saved = errno;

	if (comm)
		shim_mpi_fill_comm(&ev, comm, root, code);
	shim_record_full(&ev, start, end, code ? -1 : 0, shim_mpi_errno(code));
	errno = saved;
}

/* Note "mpi_world=RANKS NAME": two worlds may have the same rank numbers. */
static void note_world(int ranks)
{
	const char *name = job_name();
	char text[256], *end = text + 16, *at = end;

	for (; ranks; ranks /= 10)
		*--at = (char)('0' + ranks % 10);
	strcpy(end, spawned ? " spawned" : "");
	if (name && strlen(name) < 128)
		strcat(strcat(end, " "), name);
	shim_note_text("mpi_world", at);
}

/*
 * A world of one that no launcher made: mpi4py makes one where it is imported, in
 * each process that a framework starts. Its rank 0 is no rank of the job.
 */
static bool is_alone(int ranks)
{
	return ranks == 1 && !spawned && !shim_mpi_launched;
}

static bool was_spawned(void)
{
	void *parent = mpi.no_comm;

	return mpi.Comm_get_parent && !mpi.Comm_get_parent(&parent) &&
	       shim_mpi_handle(parent) != mpi.no_comm;
}

static void record_init(uint32_t call, uint64_t start, uint64_t end, int code)
{
	int saved = errno, rank = -1, ranks = 0;

	add_event(call, NULL, -1, start, end, code);
	spawned = !code && was_spawned();
	if (!code && mpi.Comm_size && !mpi.Comm_size(mpi.world, &ranks) &&
	    ranks > 0 && !is_alone(ranks)) {
		if (mpi.Comm_rank && !mpi.Comm_rank(mpi.world, &rank) &&
		    rank >= 0 && shim.head)
			shim.head->mpi_rank = (uint32_t)rank + 1;
		note_world(ranks);
	}
	if (!code)
		shim_mpi_clock(AT_INIT);
	errno = saved;
}

int shim_mpi_Init(int *argc, char ***argv)
{
	uint64_t start = shim_clock();
	int r = mpi_real.Init(argc, argv);

	if (shim_hot.on)
		record_init(CALL_MPI_INIT, start, shim_clock(), r);
	return r;
}

int shim_mpi_Init_thread(int *argc, char ***argv, int want, int *got)
{
	uint64_t start = shim_clock();
	int r = mpi_real.Init_thread(argc, argv, want, got);

	if (shim_hot.on)
		record_init(CALL_MPI_INIT_THREAD, start, shim_clock(), r);
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
		add_event(CALL_MPI_FINALIZE, NULL, -1, start, shim_clock(), r);
	return r;
}

/* Removed before the call: another thread may get the handle at once. */
int shim_mpi_Comm_free(void **comm)
{
	if (shim_hot.on && comm)
		remove_comm(shim_mpi_handle_at(comm));
	return mpi_real.Comm_free(comm);
}

int shim_mpi_Comm_disconnect(void **comm)
{
	if (shim_hot.on && comm)
		remove_comm(shim_mpi_handle_at(comm));
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
			add_event(CALL_MPI_##CALL, (void *)LAST##n,            \
				  (int)(root), start, shim_clock(), r);        \
		return r;                                                      \
	}
MPI_COLLECTIVES(X)
