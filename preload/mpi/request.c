/* SPDX-License-Identifier: MIT */
/*
 * Collectives that are started by one call and ended by another.
 *
 * A nonblocking collective has a record where it was started, which says what
 * a blocking one's does, and another of the call that found it complete. Its
 * request is known by the handle until then; MPI puts another in its place
 * when it is complete, whichever of its calls was asked. As long as none is
 * under way a wait costs one test.
 */
#include "preload/mpi/mpi.h"

#define REQUESTS 256 /* more at a time: their ends have no record */
#define HELD ((uintptr_t)1)

struct request {
	uintptr_t handle;   /* 0: free, HELD: being filled in or waited for */
	const void *waiter; /* who holds it: an address of its stack */
	uintptr_t was;	    /* the handle, while it is held */
	int at;		    /* its place among those that are waited for */
	int64_t id, number, pos;
};

static struct request requests[REQUESTS];
static uint32_t used;	   /* those above were never */
static uint32_t under_way; /* not free */

static bool change(struct request *q, uintptr_t from, uintptr_t to)
{
	return __atomic_compare_exchange_n(&q->handle, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void add_request(const void *handle, const struct shim_event *ev)
{
	for (uint32_t i = 0; i < REQUESTS; i++) {
		struct request *q = &requests[i];
		uint32_t high = __atomic_load_n(&used, __ATOMIC_RELAXED);

		if (!change(q, 0, HELD))
			continue;
		q->waiter = NULL;
		q->id = ev->arg;
		q->number = ev->arg2;
		q->pos = ev->pos;
		while (high <= i && !__atomic_compare_exchange_n(
					    &used, &high, i + 1, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
		__atomic_fetch_add(&under_way, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&q->handle, (uintptr_t)handle,
				 __ATOMIC_RELEASE);
		return;
	}
}

static void started(uint32_t call, void *comm, int root, const void *request,
		    uint64_t start, int code)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};
	uint64_t end = shim_clock();
	int saved = errno;

	shim_mpi_tell_comm(&ev, comm, root, code);
	shim_record_full(&ev, start, end, code ? -1 : 0, shim_mpi_errno(code));
	if (!code && ev.pos >= 4) /* of two processes, or more */
		add_request(shim_mpi_handle_at(request), &ev);
	errno = saved;
}

#define COMM2 a
#define COMM6 e
#define COMM7 f
#define COMM8 g
#define COMM9 h
#define COMM10 i
#define REQUEST2 b
#define REQUEST6 f
#define REQUEST7 g
#define REQUEST8 h
#define REQUEST9 i
#define REQUEST10 j

#define X(CALL, fn, n, root)                                                   \
	int shim_mpi_##fn(MPI_A##n)                                            \
	{                                                                      \
		uint64_t start = shim_clock();                                 \
		int r = mpi_real.fn(MPI_ARGS##n);                              \
                                                                               \
		if (shim_hot.on)                                               \
			started(CALL_MPI_##CALL, (void *)COMM##n, (int)(root), \
				(void *)REQUEST##n, start, r);                 \
		return r;                                                      \
	}
MPI_STARTED(X)
#undef X

/* --- until it is complete ------------------------------------------------- */

static const void *place(const void *reqs, int i)
{
	size_t bytes =
		mpi.kind == MPI_MPICH ? sizeof(uint32_t) : sizeof(void *);

	return (const char *)reqs + (size_t)i * bytes;
}

/*
 * Hold those of ours among the @n at @reqs for @waiter: once the call has
 * ended one, another thread may be given its handle. Returns how many.
 */
static int hold(const void *reqs, int n, const void *waiter)
{
	uint32_t high = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
	int held = 0;

	for (int at = 0; !shim_null(reqs) && at < n; at++) {
		uintptr_t handle =
			(uintptr_t)shim_mpi_handle_at(place(reqs, at));

		for (uint32_t i = 0; handle > HELD && i < high; i++) {
			struct request *q = &requests[i];

			if (!change(q, handle, HELD))
				continue;
			q->was = handle;
			q->at = at;
			__atomic_store_n(&q->waiter, waiter, __ATOMIC_RELEASE);
			held++;
			break;
		}
	}
	return held;
}

static void completed(struct request *q, uint64_t start, uint64_t end)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_MPI_COMPLETED};

	ev.arg = q->id;
	ev.arg2 = q->number;
	ev.pos = q->pos;
	__atomic_store_n(&q->handle, 0, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
	if (shim_hot.on)
		shim_record_full(&ev, start, end, 0, 0);
}

static void let_go(const void *reqs, int n, const void *waiter, uint64_t start)
{
	uint32_t high = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
	uint64_t end = shim_clock();
	int saved = errno;

	for (uint32_t i = 0; i < high; i++) {
		struct request *q = &requests[i];

		if (__atomic_load_n(&q->waiter, __ATOMIC_ACQUIRE) != waiter)
			continue;
		q->waiter = NULL;
		/* left from a call that never returned: it stays held */
		if (q->at >= n)
			continue;
		if ((uintptr_t)shim_mpi_handle_at(place(reqs, q->at)) != q->was)
			completed(q, start, end);
		else
			__atomic_store_n(&q->handle, q->was, __ATOMIC_RELEASE);
	}
	errno = saved;
}

#define X(fn, params, args, count)                                             \
	int shim_mpi_##fn params                                               \
	{                                                                      \
		uint64_t start;                                                \
		int r, held = 0;                                               \
                                                                               \
		if (likely(!__atomic_load_n(&under_way, __ATOMIC_RELAXED)))    \
			return mpi_real.fn args;                               \
		held = hold(req, count, &held);                                \
		start = shim_clock();                                          \
		r = mpi_real.fn args;                                          \
		if (held)                                                      \
			let_go(req, count, &held, start);                      \
		return r;                                                      \
	}
MPI_WAITS(X)
