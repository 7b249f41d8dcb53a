/* SPDX-License-Identifier: MIT */
/*
 * Nonblocking collectives, which one call starts and another completes.
 *
 * A nonblocking collective has a record of its start, with the same fields as a
 * blocking one, and a record of the call that completed it. Until then its
 * request is identified by the handle, which MPI replaces on completion in
 * every one of its calls. While none is in flight a wait costs one test.
 */
#include "preload/mpi/mpi.h"

#define REQUESTS 256 /* at a time: ends of others have no record */
#define HELD ((uintptr_t)1)

struct request {
	uintptr_t handle;   /* 0: free, HELD: being filled in or waited for */
	const void *waiter; /* a stack address of the call that holds it */
	uintptr_t was;	    /* the handle, while it is held */
	int at;		    /* its index in the waiter's list */
	int64_t id, number, pos;
};

static struct request requests[REQUESTS];
static uint32_t used;	   /* slots ever used */
static uint32_t in_flight; /* slots not free */

static bool swap_handle(struct request *q, uintptr_t from, uintptr_t to)
{
	return __atomic_compare_exchange_n(&q->handle, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void add_request(const void *handle, const struct shim_event *ev)
{
	for (uint32_t i = 0; i < REQUESTS; i++) {
		struct request *q = &requests[i];
		uint32_t high = __atomic_load_n(&used, __ATOMIC_RELAXED);

		if (!swap_handle(q, 0, HELD))
			continue;
		q->waiter = NULL;
		q->id = ev->arg;
		q->number = ev->arg2;
		q->pos = ev->pos;
		while (high <= i && !__atomic_compare_exchange_n(
					    &used, &high, i + 1, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
		__atomic_fetch_add(&in_flight, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&q->handle, (uintptr_t)handle,
				 __ATOMIC_RELEASE);
		return;
	}
}

static void record_start(uint32_t call, void *comm, int root,
			 const void *request, uint64_t start, int code)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};
	uint64_t end = shim_clock();
	int saved = errno;

	shim_mpi_fill_comm(&ev, comm, root, code);
	shim_record_full(&ev, start, end, code ? -1 : 0, shim_mpi_errno(code));
	if (!code && ev.pos >= 4) /* of two processes or more */
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
			record_start(CALL_MPI_##CALL, (void *)COMM##n,         \
				     (int)(root), (void *)REQUEST##n, start,   \
				     r);                                       \
		return r;                                                      \
	}
MPI_STARTED(X)
#undef X

/* --- completion ----------------------------------------------------------- */

static const void *slot(const void *reqs, int i)
{
	size_t bytes =
		mpi.kind == MPI_MPICH ? sizeof(uint32_t) : sizeof(void *);

	return (const char *)reqs + (size_t)i * bytes;
}

/*
 * Hold the collectives among the @n requests at @reqs for @waiter: as soon as
 * the call completes one, another thread may get its handle. Returns how many.
 */
static int hold_requests(const void *reqs, int n, const void *waiter)
{
	uint32_t high = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
	int held = 0;

	for (int at = 0; !shim_null(reqs) && at < n; at++) {
		uintptr_t handle =
			(uintptr_t)shim_mpi_handle_at(slot(reqs, at));

		for (uint32_t i = 0; handle > HELD && i < high; i++) {
			struct request *q = &requests[i];

			if (!swap_handle(q, handle, HELD))
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

static void record_completion(struct request *q, uint64_t start, uint64_t end)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_MPI_COMPLETED};

	ev.arg = q->id;
	ev.arg2 = q->number;
	ev.pos = q->pos;
	__atomic_store_n(&q->handle, 0, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&in_flight, 1, __ATOMIC_RELAXED);
	if (shim_hot.on)
		shim_record_full(&ev, start, end, 0, 0);
}

static void release_requests(const void *reqs, int n, const void *waiter,
			     uint64_t start)
{
	uint32_t high = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
	uint64_t end = shim_clock();
	int saved = errno;

	for (uint32_t i = 0; i < high; i++) {
		struct request *q = &requests[i];

		if (__atomic_load_n(&q->waiter, __ATOMIC_ACQUIRE) != waiter)
			continue;
		q->waiter = NULL;
		/* from a call that never returned: it stays held */
		if (q->at >= n)
			continue;
		if ((uintptr_t)shim_mpi_handle_at(slot(reqs, q->at)) != q->was)
			record_completion(q, start, end);
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
		if (likely(!__atomic_load_n(&in_flight, __ATOMIC_RELAXED)))    \
			return mpi_real.fn args;                               \
		held = hold_requests(req, count, &held);                       \
		start = shim_clock();                                          \
		r = mpi_real.fn args;                                          \
		if (held)                                                      \
			release_requests(req, count, &held, start);            \
		return r;                                                      \
	}
MPI_WAITS(X)
