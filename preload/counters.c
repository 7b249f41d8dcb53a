/* SPDX-License-Identifier: MIT */
/*
 * Counters instead of events: --events none, steps A-B, a spent --max-size.
 *
 * A counter is a record with a count in the thread's window, whose numbers have
 * a fixed width and are changed in place, each by one store: it survives
 * SIGKILL as events do, and needs no reader of its own. There is one for each
 * (descriptor, call, power of two of the size, error). A descriptor is a path
 * here: opens of one that is known get its id, so that what is written does not
 * grow with the calls. Nor does it with time: counters are begun anew after a
 * second at first, and after ever longer; nor with files: when many blocks have
 * been written, paths are folded into their directories, then into one.
 */
#include "preload/counters.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/raw.h"
#include "preload/real.h"
#include "preload/window.h"

#define ENTRIES 1024 /* of a thread, a power of two */
#define ENTRIES_USED 640
#define FILES 8192 /* of the process, a power of two */
#define FILES_USED 6144
#define FOLD_DIRS 64 /* blocks of a process, 4 MiB */
#define FOLD_ALL 128
#define RENEWALS 32		   /* until the interval doubles */
#define SECOND_TICKS 2000000000ull /* more or less: of either clock */
#define FIELD_MAX ((1ull << 56) - 1)
#define FIELD_BYTES 8

struct counter {
	uint64_t key; /* 0: free */
	uint8_t *at;  /* of its first field */
	uint64_t dur, size, result, count;
};

/* One thread's, on pages of its own that a forked child does not get. */
struct shim_counters {
	uint64_t base;	/* of the block that the counters are in */
	uint64_t since; /* ticks */
	uint64_t interval;
	uint32_t seq, serial, used, renewals;
	struct counter counter[ENTRIES];
};

struct known_file {
	uint64_t hash;
	uint32_t desc;
};

int shim_counting;

static struct known_file known[FILES];
static uint32_t known_n;
static bool always; /* for the whole life: none, or the budget is spent */
static int64_t first_step = -1, last_step = -1;

/* --- what is wanted ------------------------------------------------------- */

static const char *number(const char *s, int64_t *n)
{
	if (*s < '0' || *s > '9')
		return NULL;
	for (*n = 0; *s >= '0' && *s <= '9' && *n < 1ll << 50; s++)
		*n = 10 * *n + (*s - '0');
	return s;
}

void shim_counting_ask(const char *events)
{
	const char *s = events;
	int64_t a, b;

	if (!s)
		return;
	if (!strcmp(s, "none")) {
		always = true;
	} else if ((s = number(s, &a)) && *s == '-' &&
		   (s = number(s + 1, &b)) && !*s) {
		first_step = a;
		last_step = b;
	}
	shim_counting = always || last_step >= 0;
}

/*
 * No fast record may go on: there is no room for it. A thread that is in the
 * middle of one may put its limit back, and go on for a block.
 */
static void spoil(void)
{
	uint32_t high = __atomic_load_n(&shim.slots_high, __ATOMIC_ACQUIRE);

	for (uint32_t i = shim.slots_base; i < high; i++) {
		struct shim_thread *t = &shim.threads[i];
		intptr_t limit = __atomic_load_n(&t->limit, __ATOMIC_RELAXED);

		__atomic_store_n(&t->room, 0, __ATOMIC_RELAXED);
		/* Not over the mark of a busy one. */
		if (limit > 0)
			__atomic_compare_exchange_n(&t->limit, &limit, 0, false,
						    __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
		__atomic_store_n(&t->last_desc, 0, __ATOMIC_RELAXED);
	}
}

static void count_from_now(void)
{
	if (always && shim.head->counted_ticks)
		return;
	always = true;
	if (!shim.head->counted_ticks)
		shim.head->counted_ticks = shim_clock();
	__atomic_store_n(&shim_counting, 1, __ATOMIC_RELEASE);
	spoil();
}

void shim_counting_start(void)
{
	if (always || (shim.counts && shim.counts->full_real_ns))
		count_from_now();
}

/*
 * The reader gives a child the descriptors that its parent had open; an id that
 * stands for a path may seem closed. A child names its files anew.
 */
void shim_counting_forked(void)
{
	memset(known, 0, sizeof(known));
	known_n = 0;
	for (uint32_t fd = 0; fd <= shim_hot.fd_high; fd++)
		if (shim_is_desc(shim_fd_entry((int)fd)))
			shim_fd_enter((int)fd, SHIM_FD_PARENTS);
}

void shim_budget_used(size_t bytes)
{
	struct reel_counts *c = shim.counts;
	uint64_t none = 0;
	struct timespec now;

	if (!c || !c->budget_bytes)
		return;
	if (__atomic_add_fetch(&c->used_bytes, bytes, __ATOMIC_RELAXED) <=
	    c->budget_bytes)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	__atomic_compare_exchange_n(&c->full_real_ns, &none,
				    (uint64_t)now.tv_sec * 1000000000u +
					    (uint64_t)now.tv_nsec,
				    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	count_from_now();
}

/* In the wanted steps? The job's other processes hear of it by job.counts. */
static bool in_steps(void)
{
	return !always && last_step >= 0 && shim.counts &&
	       __atomic_load_n(&shim.counts->in_steps, __ATOMIC_RELAXED);
}

static void step_begins(int64_t step)
{
	bool wanted = step >= first_step && step <= last_step;

	if (always || last_step < 0 || !shim.counts)
		return;
	__atomic_store_n(&shim.counts->in_steps, wanted, __ATOMIC_RELAXED);
	if (!wanted)
		spoil();
}

/* --- the files ------------------------------------------------------------ */

static uint64_t hash_bytes(uint64_t h, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3ull;
	return h;
}

static uint64_t hash_path(const struct shim_event *ev, const char *path,
			  size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	if (*path != '/' && ev->call != MARK_DESC) {
		if (ev->at != AT_FDCWD)
			h ^= (uint64_t)shim_fd(ev->at) << 32;
		else
			h = hash_bytes(h, shim.cwd, strlen(shim.cwd));
		h = hash_bytes(h, "/", 1);
	}
	h = hash_bytes(h, path, n);
	return h ? h : 1;
}

static struct known_file *find(uint64_t hash)
{
	for (uint32_t i = 0; i < FILES; i++) {
		struct known_file *f = &known[(hash + i) & (FILES - 1)];
		uint64_t h = __atomic_load_n(&f->hash, __ATOMIC_ACQUIRE);

		if (h == hash || !h)
			return f;
	}
	return NULL;
}

/* The id of the file, or 0: it is not known, and @desc becomes it. */
static uint32_t file_desc(uint64_t hash, uint32_t desc)
{
	struct known_file *f = find(hash);
	uint64_t none = 0;

	if (!f)
		return 0;
	if (f->hash == hash)
		return __atomic_load_n(&f->desc, __ATOMIC_ACQUIRE);
	if (!desc || known_n >= FILES_USED ||
	    !__atomic_compare_exchange_n(&f->hash, &none, hash, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return 0;
	__atomic_fetch_add(&known_n, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&f->desc, desc, __ATOMIC_RELEASE);
	return 0;
}

/* As much of the path as tells files apart now; @n of its length. */
static size_t fold(const char *path, size_t n)
{
	uint64_t blocks = shim.head->counter[REEL_FLUSHES];

	if (!strncmp(path, "pipe:[", 6) || !strncmp(path, "socket:[", 8))
		return 5;
	if (blocks >= FOLD_ALL)
		return 0;
	if (blocks >= FOLD_DIRS || known_n >= FILES_USED - ENTRIES)
		while (n && path[n - 1] != '/')
			n--;
	return n;
}

/* --- the counters --------------------------------------------------------- */

/* 56 bits in a varint of eight bytes. */
static void put_field(uint8_t *at, uint64_t v)
{
	uint64_t word = 0;

	if (v > FIELD_MAX)
		v = FIELD_MAX;
	for (int i = 0; i < FIELD_BYTES; i++)
		word |= (((v >> (7 * i)) & 0x7f) |
			 (i < FIELD_BYTES - 1 ? 0x80u : 0))
			<< (8 * i);
	shim_store(at, word);
}

static struct shim_counters *counters_of(struct shim_thread *t, uint64_t now)
{
	struct shim_counters *c = t->counters;

	if (unlikely(!c)) {
		c = (void *)raw6(SYS_mmap, 0, sizeof(*c),
				 PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if ((unsigned long)c > -4096ul)
			return NULL;
		raw3(SYS_madvise, c, sizeof(*c), MADV_DONTFORK);
		c->interval = SECOND_TICKS;
		t->counters = c;
	}
	if (c->base == t->block->base_ticks && c->seq == t->seq &&
	    c->serial == t->serial && c->used < ENTRIES_USED &&
	    now - c->since < c->interval)
		return c;
	if (now - c->since >= c->interval && ++c->renewals % RENEWALS == 0)
		c->interval *= 2;
	if (c->used)
		memset(c->counter, 0, sizeof(c->counter));
	c->used = 0;
	c->since = now;
	c->base = t->block->base_ticks;
	c->seq = t->seq;
	c->serial = t->serial;
	return c;
}

static struct counter *slot_of(struct shim_counters *c, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = (uint32_t)(h >> 40);; i++) {
		struct counter *k = &c->counter[i & (ENTRIES - 1)];

		if (k->key == key || !k->key)
			return k;
	}
}

struct call {
	uint32_t call, desc;
	int64_t size, result;
	int err;
	uint64_t start, end;
};

/* Its record: the fields follow as add() changes them. */
static void begin(struct shim_thread *t, struct counter *k,
		  const struct call *c)
{
	uint8_t *p = t->p + (c->call < REEL_CALL_WIDE ? 1 : 2), *head = t->p;
	uint64_t end = c->end < t->last_end ? t->last_end : c->end;

	*p++ = (c->desc ? REEL_F_DESC_NEW : 0) |
	       (c->size != NONE ? REEL_F_SIZE_NEW : 0) | REEL_F_MORE |
	       (c->err		  ? REEL_F_RES_ERROR
		: c->size != NONE ? REEL_F_RES_OTHER
				  : REEL_F_RES_EXPECTED);
	*p++ = REEL_M_ARG2 | REEL_M_COUNT;
	p = shim_put(p, end - t->last_end);
	t->last_end = end;
	k->at = p;
	put_field(p, 0);
	p += FIELD_BYTES;
	if (c->desc)
		p = shim_put(p, c->desc);
	if (c->size != NONE) {
		put_field(p, 0);
		p += FIELD_BYTES;
	}
	if (c->err) {
		p = shim_put(p, (uint64_t)c->err);
	} else if (c->size != NONE) {
		put_field(p, 0);
		p += FIELD_BYTES;
	}
	p = shim_put(p, shim_zigzag(REEL_COUNTED));
	put_field(p, 1);
	p += FIELD_BYTES;
	t->last_desc = 0;
	t->last_size = UINT64_MAX;
	shim_barrier();
	if (c->call >= REEL_CALL_WIDE) {
		head[1] = (uint8_t)(c->call - REEL_CALL_WIDE);
		shim_barrier();
		head[0] = (uint8_t)(REEL_CALL_WIDE +
				    ((c->call - REEL_CALL_WIDE) >> 8));
	} else {
		head[0] = (uint8_t)c->call;
	}
	t->p = p;
}

/* The count last: killed in between, a call is missing and not one too many. */
static void add(struct counter *k, const struct call *c)
{
	uint8_t *p = k->at;

	k->count++;
	k->dur += c->end - c->start;
	if (c->size != NONE) {
		k->size += (uint64_t)c->size;
		k->result += c->result > 0 ? (uint64_t)c->result : 0;
	}
	put_field(p, k->dur);
	p += FIELD_BYTES;
	if (c->desc)
		while (*p++ & 0x80)
			;
	if (c->size != NONE) {
		put_field(p, k->size);
		p += FIELD_BYTES;
	}
	if (c->err) {
		while (*p++ & 0x80)
			;
	} else if (c->size != NONE) {
		put_field(p, k->result << 1); /* zigzag */
		p += FIELD_BYTES;
	}
	put_field(p + 1, k->count);
}

static void count(const struct call *c)
{
	uint64_t bin =
		c->size > 0 ? 64 - (uint64_t)__builtin_clzll((uint64_t)c->size)
			    : 0;
	struct shim_thread *t = shim_begin(SHIM_RECORD_MAX, c->start);
	struct shim_counters *all;
	struct counter *k;

	if (!t)
		return;
	all = counters_of(t, c->end);
	if (!all) {
		t->limit = t->room;
		shim_count(REEL_LOST_WINDOW, 1);
		return;
	}
	if (c->size == NONE)
		bin = 127;
	k = slot_of(all, (uint64_t)c->desc << 32 |
				 (uint64_t)(c->call & 0xffff) << 16 | bin << 8 |
				 (uint64_t)(c->err & 0xff));
	if (!k->key || k->count == UINT32_MAX) {
		memset(k, 0, sizeof(*k));
		k->key = (uint64_t)c->desc << 32 |
			 (uint64_t)(c->call & 0xffff) << 16 | bin << 8 |
			 (uint64_t)(c->err & 0xff);
		all->used++;
		begin(t, k, c);
	}
	add(k, c);
	shim_end(t, t->p);
}

/* --- records that ask ----------------------------------------------------- */

/* Spans that come with each step would grow with time. */
static bool is_step_span(const struct shim_event *ev)
{
	return ev->arg >= REEL_SPAN_STEP && ev->arg <= REEL_SPAN_PREPROCESS;
}

static bool counted_mark(const struct shim_event *ev)
{
	return ev->call >= MARK_SPAN_BEGIN && ev->call <= MARK_SPAN_CANCEL &&
	       is_step_span(ev);
}

/* A call that made a descriptor: the file's, when it is known. */
static bool counted_made(struct shim_event *ev, struct call *c)
{
	uint32_t desc = c->desc;

	if (ev->path) {
		size_t all = strlen(ev->path), n = fold(ev->path, all);

		desc = file_desc(hash_path(ev, ev->path, n), ev->newdesc);
		if (!desc && !n) {
			ev->path = *ev->path == '/' ? "/" : ".";
			ev->path_len = 1;
		} else if (!desc && n < all && ev->call != MARK_DESC) {
			ev->path_len = (uint32_t)n; /* it stands for them all */
		}
	}
	if (!desc)
		return false;
	shim_fd_set(ev->newfd, desc);
	c->desc = desc;
	if (ev->call != MARK_DESC)
		count(c);
	return true;
}

bool shim_counted(struct shim_event *ev, uint64_t start, uint64_t end,
		  int64_t result, int err)
{
	struct call c = {ev->call, ev->desc, ev->size, result, err, start, end};

	if (ev->call == MARK_SPAN_BEGIN && ev->arg == REEL_SPAN_STEP)
		step_begins(ev->arg2);
	if (in_steps())
		return false;
	if (!shim_process_ready())
		return true; /* lost, counted */
	if (ev->newdesc && !err)
		return counted_made(ev, &c);
	if (ev->call < CALL_OPEN)
		return counted_mark(ev);
	if (!ev->size &&
	    (ev->call == CALL_STDIO_READ || ev->call == CALL_STDIO_WRITE))
		return true; /* a position, which nobody asks for */
	if (ev->path && !ev->desc && err != EFAULT)
		c.desc =
			file_desc(hash_path(ev, ev->path, strlen(ev->path)), 0);
	count(&c);
	return true;
}

bool shim_counted_io(uint32_t call, uint32_t desc, int64_t size, uint64_t start,
		     uint64_t end, int64_t result, int err)
{
	const struct call c = {call, desc, size, result, err, start, end};

	if (in_steps())
		return false;
	count(&c);
	return true;
}
