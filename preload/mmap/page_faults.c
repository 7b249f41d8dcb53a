/* SPDX-License-Identifier: MIT */
/*
 * IOREEL_MMAP=faults: the page faults in mappings of recorded files, each with
 * its time and address, from the sample rings of perf_event_open(2).
 *
 * A ring exists as long as it is mapped, so its descriptor is closed at once.
 * There is one ring for each processor, and later threads inherit it. A forked
 * child has no rings: it opens its own when it maps a file, or at its first mark
 * when it has inherited mappings. The rings are read when a mapping is made,
 * changed or ended, and at the marks of spans: they hold all page faults of the
 * process, so they fill soon. A sample that did not fit until then is lost and
 * counted, but its page is in the total of the mapping.
 */
#include "preload/mmap/page_faults.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#include "schemas/syscall.h"

#include "preload/async/operations.h"
#include "preload/core/memory.h"
#include "preload/core/symbols.h"
#include "preload/core/window.h"
#include "preload/mmap/mappings.h"

#define CPUS 256
#define PAGE 4096u

struct rings {
	uint32_t n;
	uint32_t busy;
	uint32_t opened;
	uint64_t lost, seen;
	uint64_t before; /* faults of the process until the rings were opened */
	bool full; /* a ring was: what followed may be lost without a record */
	uint64_t ticks, ns; /* one time on both clocks */
	struct perf_event_mmap_page *ring[CPUS];
	size_t bytes[CPUS]; /* size of the ring's data */
};

static struct rings *rings;
bool shim_faults_wanted;

struct sample {
	struct perf_event_header head;
	uint32_t pid, tid;
	uint64_t ns, addr;
};
struct lost {
	struct perf_event_header head;
	uint64_t id, n;
};

/* False: the rings of other processors would fail too. */
static bool open_ring(struct rings *r, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type =
			PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
		.inherit = 1,
		.inherit_thread = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	long fd = raw(SYS_perf_event_open, (long)&attr, 0, cpu, -1,
		      PERF_FLAG_FD_CLOEXEC, 0),
	     at = -1;
	size_t pages;

	if (fd < 0)
		return fd == -ENODEV || fd == -EINVAL;
	/* An unprivileged user may lock 128 + 1 pages. */
	for (pages = 128; pages >= 8 && at < 0 && at > -4096; pages /= 4)
		at = raw(SYS_mmap, 0, (long)((pages + 1) * PAGE),
			 PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raw(SYS_close, fd);
	if ((unsigned long)at > -4096ul)
		return false;
	r->ring[r->n] = (void *)at;
	r->bytes[r->n++] = pages * 4 * PAGE;
	return true;
}

static struct rings *open_rings(void)
{
	struct rings *r = shim_wiped((void **)&rings, sizeof(*rings));

	if (!r || __atomic_exchange_n(&r->opened, 1, __ATOMIC_ACQ_REL))
		return r;
	__atomic_store_n(&r->busy, 1, __ATOMIC_RELAXED);
	r->before = shim_page_faults();
	for (int cpu = 0; cpu < CPUS && open_ring(r, cpu); cpu++)
		;
	__atomic_store_n(&r->busy, 0, __ATOMIC_RELEASE);
	return r;
}

void shim_faults_open(void)
{
	struct rings *r;

	if (likely(!shim_faults_wanted))
		return;
	r = open_rings();
	if (!r || r->ns)
		return;
	r->ticks = shim_clock();
	r->ns = shim_clock_ns(CLOCK_MONOTONIC);
}

/* Copy @n bytes at position @at of ring @i, which may wrap around. */
static void copy_sample(const struct rings *r, uint32_t i, uint64_t at,
			void *out, size_t n)
{
	const char *data = (const char *)r->ring[i] + PAGE;
	size_t from = at % r->bytes[i], first = r->bytes[i] - from;

	if (first > n)
		first = n;
	memcpy(out, data + from, first);
	memcpy((char *)out + first, data, n - first);
}

/* One fault, ended now: the records of a thread are in order of their ends. */
static void record_fault(const struct sample *s, uint64_t start, uint64_t now)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_MAP_READ};
	struct shim_map page;

	if (!shim_map_fault(s->addr & -(uint64_t)PAGE, &page))
		return;
	ev.desc = page.desc;
	ev.offset = page.offset;
	ev.size = (int64_t)page.len;
	ev.arg = 1;
	ev.arg2 = s->tid;
	shim_record_full(&ev, start < now ? start : now, now, (int64_t)page.len,
			 0);
}

static void drain_ring(struct rings *r, uint32_t i, uint64_t rate, uint64_t now)
{
	struct perf_event_mmap_page *ring = r->ring[i];
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = ring->data_tail;

	r->full |= head - at + sizeof(struct lost) + sizeof(struct sample) >
		   r->bytes[i];
	while (at < head) {
		struct perf_event_header h;
		struct sample s;
		struct lost l;

		copy_sample(r, i, at, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - at)
			break;
		if (h.type == PERF_RECORD_SAMPLE && h.size >= sizeof(s)) {
			unsigned __int128 past;

			copy_sample(r, i, at, &s, sizeof(s));
			r->seen++;
			past = s.ns > r->ns ? s.ns - r->ns : 0;
			record_fault(&s,
				     r->ticks + (uint64_t)(past * rate >> 32),
				     now);
		} else if (h.type == PERF_RECORD_LOST && h.size >= sizeof(l)) {
			copy_sample(r, i, at, &l, sizeof(l));
			r->lost += l.n;
		}
		at += h.size;
	}
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
}

void shim_faults_read(void)
{
	struct rings *r = __atomic_load_n(&rings, __ATOMIC_ACQUIRE);
	uint64_t now, ns, rate;

	if (likely(!r) || !r->n || !r->ns ||
	    __atomic_exchange_n(&r->busy, 1, __ATOMIC_ACQ_REL))
		return;
	now = shim_clock();
	ns = shim_clock_ns(CLOCK_MONOTONIC) - r->ns;
	/* Ticks for each ns, times 2^32; both are below 2^63. */
	rate = now > r->ticks ? now - r->ticks : 0;
	rate = ns >> 16 ? ((rate << 8) / (ns >> 16)) << 8 : 1ull << 32;
	for (uint32_t i = 0; i < r->n; i++)
		drain_ring(r, i, rate, now);
	__atomic_store_n(&r->busy, 0, __ATOMIC_RELEASE);
}

void shim_faults_mark(void)
{
	const struct rings *r = __atomic_load_n(&rings, __ATOMIC_ACQUIRE);

	if (r && r->opened)
		shim_faults_read();
	else if (shim_maps_live && !shim_vfork_child())
		shim_faults_open();
}

/* The kernel tells of lost samples with the next one that fits. */
static uint64_t count_lost(const struct rings *r)
{
	uint64_t all = shim_page_faults() - r->before;

	return r->full && all > r->seen + r->lost ? all - r->seen : r->lost;
}

void shim_faults_finish(void)
{
	struct rings *r = __atomic_load_n(&rings, __ATOMIC_ACQUIRE);
	uint64_t lost;

	shim_faults_read();
	if (!r || !shim_maps_ever)
		return;
	lost = count_lost(r);
	if (!r->n)
		shim_note("mmap_faults_refused", 1);
	else if (lost)
		shim_note("mmap_faults_lost", lost);
	r->before += r->seen + lost;
	r->lost = r->seen = 0;
	r->full = false;
}

void shim_faults_ask(char **env)
{
	for (; *env; env++)
		if (!strcmp(*env, "IOREEL_MMAP=faults"))
			shim_faults_wanted = true;
	if (shim_faults_wanted) /* before the first thread; the clock is not set yet */
		open_rings();
}
