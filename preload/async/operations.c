/* SPDX-License-Identifier: MIT */
/*
 * The table of operations in flight, and functions shared by the interfaces.
 *
 * The table is on MADV_WIPEONFORK pages that the first operation maps: a forked
 * child has none of its parent's operations. No locks: one compare-and-swap of
 * its state claims a slot; the thread that claims it again checks the content.
 */
#include "preload/async/operations.h"

#include <link.h>
#include <string.h>
#include <sys/uio.h>

#include "schemas/syscall.h"

#include "preload/core/encode.h"
#include "preload/core/dlfcn_compat.h"
#include "preload/core/memory.h"
#include "preload/core/symbols.h"
#include "preload/core/wrap.h"
#include "preload/elf/object.h"

#pragma weak dladdr1 /* another C library's programs load us too */

#define OPS (1u << 16)
#define QUEUES 256
/* Few operations are in flight as a rule: probe a small part of the table,
 * which stays in the cache, then the rest. */
#define NEAR 1024
#define NEAR_PROBES 32
#define PROBES 160

enum { FREE, BUSY, LIVE };

struct slot {
	uint32_t state;
	struct shim_async op;
} __attribute__((aligned(64)));

struct queue {
	uint64_t id; /* queue_id(); 0: free */
	uint32_t depth;
	uint32_t ring_pos; /* 1 + position in its ring; 0: unknown */
};

struct table {
	uint32_t live[NEAR]; /* operations by hash: a quick test for none */
	struct slot slot[OPS];
	struct queue queue[QUEUES];
};

int shim_async_used;
static struct table *table;

static struct table *table_get(void)
{
	return shim_wiped((void **)&table, sizeof(*table));
}

static uint64_t queue_id(enum reel_async by, uint64_t queue)
{
	return queue << 2 | by;
}

static uint32_t mix_bits(uint64_t v)
{
	return (uint32_t)((v * 0x9e3779b97f4a7c15ull) >> 32);
}

/* The last queue is shared by all that find no free one. */
static struct queue *queue_of(struct table *t, enum reel_async by,
			      uint64_t queue)
{
	uint64_t id = queue_id(by, queue), free = 0;
	uint32_t h = mix_bits(id);

	for (uint32_t i = 0; i < QUEUES - 1; i++) {
		struct queue *q = &t->queue[(h + i) % (QUEUES - 1)];
		uint64_t have = __atomic_load_n(&q->id, __ATOMIC_ACQUIRE);

		if (!have && __atomic_compare_exchange_n(
				     &q->id, &free, id, false, __ATOMIC_ACQ_REL,
				     __ATOMIC_ACQUIRE))
			have = id;
		else if (!have)
			have = free;
		free = 0;
		if (have == id)
			return q;
	}
	return &t->queue[QUEUES - 1];
}

static uint32_t *depth_of(struct table *t, enum reel_async by, uint64_t queue)
{
	return &queue_of(t, by, queue)->depth;
}

uint32_t *shim_async_ring_pos(enum reel_async by, uint64_t queue)
{
	struct table *t = table_get();
	struct queue *q = t ? queue_of(t, by, queue) : NULL;

	return q && q != &t->queue[QUEUES - 1] ? &q->ring_pos : NULL;
}

uint32_t shim_async_depth(enum reel_async by, uint64_t queue)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);

	return t ? __atomic_load_n(depth_of(t, by, queue), __ATOMIC_RELAXED)
		 : 0;
}

static uint32_t op_hash(enum reel_async by, uint64_t queue, uint64_t key)
{
	return mix_bits(key ^ (uint64_t)mix_bits(queue_id(by, queue)) << 20);
}

/* The @i-th slot to probe. */
static struct slot *probe_slot(struct table *t, uint32_t h, uint32_t i)
{
	if (i < NEAR_PROBES)
		return &t->slot[(h + i) % NEAR];
	return &t->slot[NEAR + (h + i) % (OPS - NEAR)];
}

static bool is_slot_of(const struct slot *s, enum reel_async by, uint64_t queue,
		       uint64_t key)
{
	return s->op.key == key && s->op.queue == queue && s->op.by == by;
}

/* A live slot of this operation, or NULL. Slots are freed in any order, so a
 * free one does not end the probe. */
static struct slot *find_slot(enum reel_async by, uint64_t queue, uint64_t key)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	uint32_t h = op_hash(by, queue, key);

	if (!t || !__atomic_load_n(&t->live[h % NEAR], __ATOMIC_ACQUIRE))
		return NULL;
	for (uint32_t i = 0; i < PROBES; i++) {
		struct slot *s = probe_slot(t, h, i);

		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == LIVE &&
		    is_slot_of(s, by, queue, key))
			return s;
	}
	return NULL;
}

bool shim_async_known(enum reel_async by, uint64_t queue, uint64_t key)
{
	return shim_async_used && find_slot(by, queue, key);
}

static bool claim_slot(struct slot *s, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&s->state, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void shim_async_begin(struct shim_async *op)
{
	struct table *t = table_get();
	uint32_t h = op_hash(op->by, op->queue, op->key), *depth;

	__atomic_store_n(&shim_async_used, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; t && i < PROBES; i++) {
		struct slot *s = probe_slot(t, h, i);

		if (s->state != FREE || !claim_slot(s, FREE, BUSY))
			continue;
		__atomic_fetch_add(&t->live[h % NEAR], 1, __ATOMIC_RELAXED);
		depth = depth_of(t, op->by, op->queue);
		op->depth = __atomic_add_fetch(depth, 1, __ATOMIC_RELAXED);
		s->op = *op;
		__atomic_store_n(&s->state, LIVE, __ATOMIC_RELEASE);
		return;
	}
	shim_count(REEL_LOST_LIMIT, 1);
}

static void free_slot(struct slot *s)
{
	uint32_t *depth = depth_of(table, s->op.by, s->op.queue);
	uint32_t h = op_hash(s->op.by, s->op.queue, s->op.key);

	__atomic_store_n(&s->state, FREE, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&table->live[h % NEAR], 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(depth, 1, __ATOMIC_RELAXED);
}

bool shim_async_take(enum reel_async by, uint64_t queue, uint64_t key,
		     struct shim_async *op)
{
	struct slot *s;

	if (!shim_async_used)
		return false;
	while ((s = find_slot(by, queue, key))) {
		if (!claim_slot(s, LIVE, BUSY))
			continue;
		if (!is_slot_of(s, by, queue, key)) { /* reused meanwhile */
			__atomic_store_n(&s->state, LIVE, __ATOMIC_RELEASE);
			continue;
		}
		*op = s->op;
		free_slot(s);
		return true;
	}
	return false;
}

/* An asynchronous open: the program may have freed the path, so ask the kernel
 * for that of the new descriptor. */
static void end_open(const struct shim_async *op, int64_t result, uint64_t end)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_OPENAT};
	char path[REEL_PATH_BYTES];

	if (result < 0 || result > INT32_MAX)
		return;
	if (shim_fd_path((int)result, path, sizeof(path)))
		ev.path = path;
	ev.arg = op->offset;
	shim_opened(&ev, op->start, end, (int)result);
}

static void record_op(const struct shim_async *op, int64_t result, uint64_t end)
{
	static const uint16_t call[] = {
		[SHIM_ASYNC_READ] = CALL_ASYNC_READ,
		[SHIM_ASYNC_WRITE] = CALL_ASYNC_WRITE,
		[SHIM_ASYNC_SYNC] = CALL_ASYNC_SYNC,
		[SHIM_ASYNC_OPEN] = 0,
		[SHIM_ASYNC_CLOSE] = CALL_CLOSE,
	};
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call[op->kind]};

	if (op->kind == SHIM_ASYNC_OPEN) {
		end_open(op, result, end);
		return;
	}
	ev.desc = op->desc;
	ev.size = op->size;
	ev.offset = op->offset;
	if (op->kind != SHIM_ASYNC_CLOSE) {
		ev.arg = op->by;
		ev.arg2 = op->depth;
	}
	shim_record_full(&ev, op->start, end, result < 0 ? -1 : result,
			 result < 0 ? (int)-result : 0);
}

void shim_async_end(enum reel_async by, uint64_t queue, uint64_t key,
		    int64_t result, uint64_t end)
{
	struct shim_async op;

	if (shim_async_take(by, queue, key, &op))
		record_op(&op, result, end);
}

static void abandon_ops(int by, uint64_t queue, int err)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	uint64_t now = shim_clock();

	for (uint32_t i = 0; t && i < OPS; i++) {
		struct slot *s = &t->slot[i];
		struct shim_async op;

		if (s->state != LIVE || !claim_slot(s, LIVE, BUSY))
			continue;
		if (by && (s->op.by != by || s->op.queue != queue)) {
			__atomic_store_n(&s->state, LIVE, __ATOMIC_RELEASE);
			continue;
		}
		op = s->op;
		free_slot(s);
		record_op(&op, -err, now);
	}
}

void shim_async_abandon(enum reel_async by, uint64_t queue, int err)
{
	if (shim_async_depth(by, queue))
		abandon_ops(by, queue, err);
}

void shim_async_finish(void)
{
	uint32_t left = 0;

	shim_uring_finish();
	for (uint32_t i = 0; table && i < QUEUES; i++) {
		const struct queue *q = &table->queue[i];

		if (q->depth && q->ring_pos && (q->id & 3) == REEL_ASYNC_LIBAIO)
			shim_libaio_finish(q->id >> 2);
		left |= q->depth;
	}
	if (left)
		abandon_ops(0, 0, EINPROGRESS);
}

int64_t shim_async_iov(const void *iov, uint64_t n)
{
	const struct iovec *v = iov;
	int64_t sum = 0;

	if (n > 1024 || !shim_readable(v, n * sizeof(*v)))
		return NONE;
	for (uint64_t i = 0; i < n; i++)
		sum += (int64_t)v[i].iov_len;
	return sum;
}

/* The link map of @fn's file, if its name begins with @library. */
static struct link_map *library_map(const void *fn, const char *library)
{
	struct link_map *map = NULL;
	const char *base;
	Dl_info info;

	if (!fn || !dladdr1(fn, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return NULL;
	base = strrchr(map->l_name, '/');
	base = base ? base + 1 : map->l_name;
	return !strncmp(base, library, strlen(library)) ? map : NULL;
}

void *shim_find_from(const void *caller, const char *name, const void *own,
		     const char *library, bool *quiet)
{
	struct link_map *map, *from = NULL;
	struct shim_object o;
	int saved = errno;
	Dl_info info;
	void *fn = dlsym(RTLD_NEXT, name);

	if ((!fn || fn == own) &&
	    dladdr1(caller, &info, (void **)&from, RTLD_DL_LINKMAP) && from) {
		fn = dlsym(from, name);
		if (fn == own)
			fn = NULL;
	}
	map = library_map(fn, library);
	if (map)
		shim_object_of_map(&o, map);
	*quiet = !map || shim_object_imports(&o, "syscall");
	errno = saved;
	return fn;
}

uint64_t shim_async_before(long nr, const long a[6])
{
	switch (nr) {
	case SYS_io_submit:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_cancel:
	case SYS_io_destroy:
		return shim_libaio_before(nr, a);
	case SYS_io_uring_setup:
	case SYS_io_uring_enter:
	case SYS_io_uring_register:
		return shim_uring_before(nr, a);
	}
	return 0;
}

void shim_async_after(long nr, const long a[6], uint64_t start, uint64_t end,
		      long r, int err)
{
	if (nr == SYS_io_uring_setup || nr == SYS_io_uring_enter ||
	    nr == SYS_io_uring_register)
		shim_uring_after(nr, a, start, end, r, err);
	else
		shim_libaio_after(nr, a, start, end, r, err);
}
