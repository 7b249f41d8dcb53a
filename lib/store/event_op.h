/* SPDX-License-Identifier: MIT */
/*
 * The classification of events for the metrics: read, write, metadata, message
 * and so on. One place for these rules, so that two metrics cannot disagree.
 *
 * Every metric gets struct metric_event: the event and its derived values.
 */
#ifndef LIB_STORE_EVENT_OP_H
#define LIB_STORE_EVENT_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/store/event.h"

/* Limits for damaged traces: times are in 0 to 104 days and the bytes of an
 * event below 1 PiB, so that sums of thousands do not overflow. */
#define METRIC_TIME_MAX (INT64_C(1) << 53)
#define METRIC_BYTES_MAX (INT64_C(1) << 50)

enum metric_op {
	METRIC_READ,
	METRIC_WRITE,
	METRIC_META,	/* any other call on files */
	METRIC_OPS,	/* the number of kinds of I/O */
	METRIC_MESSAGE, /* on a pipe or socket: a wait, not I/O */
	/* In a layer above the one that does the I/O: MPI-IO, submission and
	 * completion of asynchronous operations; or of unknown purpose. */
	METRIC_HIGHER_LAYER,
	METRIC_MAPPED, /* bytes through a mapping, without exact times */
	METRIC_IGNORE, /* a mark */
};

/* Reads and writes alternate at random in many jobs: no branch tells them apart. */
static inline enum metric_op metric_op(const struct reel_event *ev)
{
	bool transfer =
		ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE;

	if (ev->group == REEL_GROUP_MARK || ev->group == REEL_GROUP_NONE ||
	    ev->group == REEL_GROUP_PROCESS)
		return METRIC_IGNORE;
	if (ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET)
		return METRIC_MESSAGE;
	if (reel_call_is_higher(ev->layer, ev->group))
		return METRIC_HIGHER_LAYER;
	if (!transfer)
		return METRIC_META;
	if (ev->layer == REEL_LAYER_MMAP)
		return METRIC_MAPPED;
	return ev->group == REEL_GROUP_WRITE ? METRIC_WRITE : METRIC_READ;
}

static inline bool metric_failed(const struct reel_event *ev)
{
	return ev->err != 0;
}

/* Bytes that a read or write transferred; 0 for an error, at end of file, and
 * for any other call (the result of mmap is an address). */
static inline int64_t metric_bytes(const struct reel_event *ev)
{
	if (ev->group != REEL_GROUP_READ && ev->group != REEL_GROUP_WRITE)
		return 0;
	if (ev->err || ev->result <= 0)
		return 0;
	return ev->result < METRIC_BYTES_MAX ? ev->result : METRIC_BYTES_MAX;
}

static inline uint32_t metric_calls(const struct reel_event *ev)
{
	return ev->count ? ev->count : 1;
}

/*
 * An event as it is fed to the metrics, with values derived once for all of them: two
 * lines of a cache. Its times are in their limits.
 */
struct metric_event {
	union {
		struct reel_event raw;
		struct {
			int64_t start_ns, dur_ns;
		};
	};
	int64_t bytes;
	uint32_t calls;
	uint8_t op;	 /* enum metric_op */
	uint8_t storage; /* enum metric_storage */
	/* The write side of a copy whose read side is I/O and was fed before:
	 * its time is counted already. */
	bool again;
	/* This event and those after it that are alike: metric_run_extend(). 1 in
	 * all of them but the first. */
	uint8_t run;
};

_Static_assert(offsetof(struct reel_event, start_ns) == 0 &&
		       offsetof(struct reel_event, dur_ns) == 8,
	       "the times of struct metric_event are those of its event");
_Static_assert(sizeof(struct metric_event) == 128, "two lines of a cache");

/* The source of a read's bytes. */
enum metric_storage {
	METRIC_CACHED, /* from the page cache, or unknown */
	METRIC_FETCHED,
	METRIC_WAITED, /* for pages that earlier reads fetched: read_ahead.h */
};

/* A read that returned 0: end of file. An untouched mapping is not one. */
static inline bool metric_eof(const struct metric_event *m)
{
	const struct reel_event *ev = &m->raw;

	return !m->bytes && ev->group == REEL_GROUP_READ &&
	       ev->layer != REEL_LAYER_MMAP && ev->err == 0 &&
	       ev->result == 0 && ev->asked != REEL_NO_SIZE;
}

/* True for calls for which Linux counts fetches from storage. */
static inline bool metric_can_fetch(const struct metric_event *m)
{
	return m->raw.call >= REEL_CALL_READ &&
	       m->raw.call <= REEL_CALL_PREADV2 &&
	       m->raw.kind == REEL_KIND_FILE && m->raw.file;
}

/* A side of a copy from one descriptor to another. */
static inline bool metric_is_copy(const struct reel_event *ev)
{
	return ev->call >= REEL_CALL_COPY_FILE_RANGE &&
	       ev->call <= REEL_CALL_TEE;
}

static inline int64_t metric_end(const struct metric_event *m)
{
	return m->start_ns + m->dur_ns;
}

static inline int64_t metric_time(int64_t ns)
{
	return ns < 0 ? 0 : ns < METRIC_TIME_MAX ? ns : METRIC_TIME_MAX;
}

static inline void metric_limit_times(struct reel_event *ev)
{
	ev->start_ns = metric_time(ev->start_ns);
	ev->dur_ns = metric_time(ev->dur_ns);
}

/* Derive the other members of @m from m->raw, whose times get their limits. */
static inline void metric_event_fill(struct metric_event *m)
{
	metric_limit_times(&m->raw);
	m->bytes = metric_bytes(&m->raw);
	m->calls = metric_calls(&m->raw);
	m->op = (uint8_t)metric_op(&m->raw);
	m->storage = m->raw.arg2 > 0 && metric_can_fetch(m) ? METRIC_FETCHED
							    : METRIC_CACHED;
	m->again = false;
	m->run = 1;
}

/* The bits in which eight bytes at @at of @a and @b differ. */
static inline uint64_t metric_other_bits(const void *a, const void *b,
					 size_t at)
{
	uint64_t x, y;

	memcpy(&x, (const char *)a + at, sizeof(x));
	memcpy(&y, (const char *)b + at, sizeof(y));
	return x ^ y;
}

/* Do @x and @y, neither of them rare, differ only in times, offset and arguments? */
static inline bool metric_is_alike(const struct reel_event *x,
				   const struct reel_event *y)
{
	/* from .thread to .class_, in words of which the last two overlap */
	const size_t first = offsetof(struct reel_event, thread);
	const size_t last = offsetof(struct reel_event, counted) - 8;
	uint64_t other = (uint64_t)(x->asked ^ y->asked) |
			 (uint64_t)(x->result ^ y->result);

	other |= metric_other_bits(x, y, first) |
		 metric_other_bits(x, y, first + 8) |
		 metric_other_bits(x, y, first + 16) |
		 metric_other_bits(x, y, last);
	other |= x->file2 | y->file2 | x->site | y->site | (x->count ^ 1) |
		 (y->count ^ 1) | (uint32_t)(x->counted | y->counted);
	return !other;
}

_Static_assert(offsetof(struct reel_event, counted) -
			       offsetof(struct reel_event, thread) <=
		       32,
	       "metric_is_alike() compares four words");

/*
 * Where m->raw is alike to the run of @first, which ends before @m, derive the other
 * members of @m from it and add @m to the run: a program reads a file piece by piece,
 * and the metrics look up its events together. False, without a change, where it is
 * not, or its arguments need a look: metric_event_fill().
 */
static inline bool metric_run_extend(struct metric_event *first,
				     struct metric_event *m)
{
	/* The next event is mostly another call, or of another file. */
	if (first->raw.call != m->raw.call || first->raw.open != m->raw.open ||
	    first->raw.result != m->raw.result)
		return false;
	if (first + first->run != m || first->run == UINT8_MAX ||
	    first->storage || m->raw.arg2 || metric_is_copy(&m->raw) ||
	    !metric_is_alike(&first->raw, &m->raw))
		return false;
	metric_limit_times(&m->raw);
	m->bytes = first->bytes;
	m->calls = first->calls;
	m->op = first->op;
	m->storage = METRIC_CACHED;
	m->again = false;
	m->run = 1;
	first->run++;
	return true;
}

/* The number of events of the run of @ev, at most @n; 1: @ev alone. */
static inline uint32_t metric_run(const struct metric_event *ev, uint32_t n)
{
	return ev->run < n ? ev->run : n;
}

static inline uint64_t metric_run_dur_ns(const struct metric_event *ev,
					 uint32_t n)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < n; i++)
		ns += (uint64_t)ev[i].dur_ns;
	return ns;
}

/* The read side of the last copy that is I/O; zeroed: none. */
struct metric_copy {
	int64_t start_ns, dur_ns;
	uint32_t thread;
	bool held;
};

/* Set m->again; @last is of the events before, and kept for those after. */
static inline void metric_copy_classify(struct metric_copy *last,
					struct metric_event *m)
{
	if (!metric_is_copy(&m->raw))
		return;
	if (m->raw.call == REEL_CALL_COPY_OUT) {
		m->again = last->held && last->thread == m->raw.thread &&
			   last->start_ns == m->start_ns &&
			   last->dur_ns == m->dur_ns && m->op < METRIC_OPS;
		last->held = false;
		return;
	}
	*last = (struct metric_copy){m->start_ns, m->dur_ns, m->raw.thread,
				     m->op < METRIC_OPS};
}

/* Properties that most events lack: of the metrics that need one of them. */
enum metric_rare {
	METRIC_RARE_ERROR = 1,
	METRIC_RARE_SITE = 2, /* the call site was recorded */
	METRIC_RARE_MAPPING = 4,
	METRIC_RARE_STORAGE = 8, /* not METRIC_CACHED */
};

/* Has @m any of these properties? Calls on mappings are of one layer. */
static inline bool metric_is_rare(const struct metric_event *m)
{
	return (uint32_t)m->raw.err | m->raw.site | m->storage |
	       (m->raw.layer == REEL_LAYER_MMAP);
}

/* A mask of enum metric_rare. */
static inline unsigned int metric_rare(const struct metric_event *m)
{
	bool mapping = m->raw.call == REEL_CALL_MMAP || m->op == METRIC_MAPPED;

	return (m->raw.err ? METRIC_RARE_ERROR : 0u) |
	       (m->raw.site ? METRIC_RARE_SITE : 0u) |
	       (mapping ? METRIC_RARE_MAPPING : 0u) |
	       (m->storage ? METRIC_RARE_STORAGE : 0u);
}

/* A read that fetched from storage, as Linux counted for its thread
 * (trace_format.h, FETCHED); a record of one call. */
static inline bool metric_fetched(const struct metric_event *m)
{
	return m->storage == METRIC_FETCHED;
}

static inline uint64_t metric_fetched_bytes(const struct reel_event *ev)
{
	return (uint64_t)(ev->arg2 < METRIC_BYTES_MAX ? ev->arg2
						      : METRIC_BYTES_MAX);
}

/* Define the feed() function @name, which calls add_event() for each event. */
#define METRIC_FEED(name)                                                      \
	static int name(void *state, const struct metric_event *ev,            \
			uint32_t n, struct reel_error *err)                    \
	{                                                                      \
		for (uint32_t i = 0; i < n; i++)                               \
			if (add_event(state, &ev[i], err))                     \
				return -1;                                     \
		return 0;                                                      \
	}

/*
 * The same of add_run(), which takes a run of events: metric_run(). It is compiled
 * twice, as METRIC_INLINE: most runs of most jobs are one event, which needs no loop.
 */
#define METRIC_INLINE inline __attribute__((always_inline))
#define METRIC_FEED_RUNS(name)                                                 \
	static int name(void *state, const struct metric_event *ev,            \
			uint32_t n, struct reel_error *err)                    \
	{                                                                      \
		for (uint32_t run; n; ev += run, n -= run) {                   \
			run = metric_run(ev, n);                               \
			if (run == 1 ? add_run(state, ev, 1, err)              \
				     : add_run(state, ev, run, err))           \
				return -1;                                     \
		}                                                              \
		return 0;                                                      \
	}

/* Power-of-two bin of a size (> 0): bin b holds [2^b, 2^(b+1)). */
static inline uint32_t metric_size_bin(int64_t bytes)
{
	return 63 - (uint32_t)__builtin_clzll((uint64_t)bytes);
}

#endif
