/* SPDX-License-Identifier: MIT */
/*
 * Counters instead of events: --events none, steps A-B, a spent --max-size.
 *
 * A counter is a record with a count in the thread's window. Its numbers have a
 * fixed width and are changed in place, each by one store: it survives SIGKILL
 * as events do. There is one for each (directory, call, power of two of the
 * result, error, phase, from the storage or not) in an interval; the spans of
 * an interval are summed in the same way (trace_format.h, "INTERVALS"). An
 * interval ends with a step, at most once a second, and lasts longer where the
 * job would write more than PACE_RATE. A full block goes to the log with short
 * numbers.
 */
#include "preload/counters.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/raw.h"
#include "preload/real.h"
#include "preload/storage.h"
#include "preload/types.h"
#include "preload/window.h"

#define ENTRIES 1024 /* of a thread, a power of two */
#define ENTRIES_USED 640
#define FILES 8192 /* of the process, a power of two */
/* Number of names after which fold() keeps less of each: a pattern for the first
 * names, then the ending, then the directory. */
#define NAMES_PATTERN 64
#define NAMES_ENDING 1024
#define NAMES_DIR 4096
#define FIELD_MAX ((1ull << 56) - 1)
#define FIELD_BYTES 8
#define OPEN_SPANS 32 /* of a thread at a time; more are not summed */
#define BASE_BYTES 256
/* Limit on what the intervals of a job write: a start value and a rate. */
#define PACE_START (2u << 20)
#define PACE_RATE 500
#define PACED_LONGEST 16 /* doublings of the second */
#define MARKS_EACH 64	 /* spans of an interval with marks of their own */

struct counter {
	uint64_t key; /* 0: free */
	uint8_t *at;  /* dur; the others lie so many bytes behind it */
	uint8_t size_at, result_at, fetched_at, count_at;
	uint64_t dur, size, result, fetched, count;
};

/* The spans of a kind in an interval. */
struct span_sum {
	uint8_t *at; /* dur; NULL: no record in this interval */
	uint8_t size_at, count_at;
	uint64_t begin, dur, count;
};

struct open_span {
	uint64_t start, name;
	int64_t detail;
	uint8_t kind;
	bool dropped; /* its mark is not written */
};

/* One thread's, on pages of its own that a forked child does not get. */
struct shim_counters {
	uint64_t base;	/* of the block that the counters are in */
	uint64_t since; /* ticks at which the interval began */
	uint32_t seq, serial, used;
	uint32_t level;	 /* it lasts a second, doubled so often */
	uint8_t *extent; /* field of its head */
	uint32_t marks;	 /* of spans in this interval */
	bool closing;	 /* the next record begins another one */
	bool close_step; /* the end of this step closes it */
	uint32_t depth, phase;
	uint32_t made, made_as; /* by the last call that made a descriptor */
	struct open_span open[OPEN_SPANS];
	struct span_sum sum[REEL_SPANS];
	struct counter counter[ENTRIES];
	uint32_t fields; /* of fixed width in the block */
	uint16_t field[REEL_SLOT_BYTES / FIELD_BYTES];
	_Alignas(8) uint8_t packed[REEL_SLOT_BYTES];
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

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- --max-size ----------------------------------------------------------- */

/* Events may take three quarters; the rest is for counters. */
#define EVENTS_SHARE(bytes) ((bytes) / 4 * 3)

static uint64_t own_window; /* bytes of it that are counted in job.counts */

static uint64_t load(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/*
 * A window's content is also written to a log, and its process learns only then
 * that the budget of events is spent: count each window twice until then.
 */
static bool room_for_events(const struct reel_counts *c)
{
	return load(&c->used_bytes) + 2 * load(&c->window_bytes) <=
	       EVENTS_SHARE(c->budget_bytes);
}

static void look_at_budget(struct reel_counts *c)
{
	uint64_t none = 0;

	if (room_for_events(c) && !load(&c->full_real_ns))
		return;
	__atomic_compare_exchange_n(&c->full_real_ns, &none, real_ns(), false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	count_from_now();
}

static bool take(struct reel_counts *c, uint64_t *of, uint64_t bytes)
{
	__atomic_fetch_add(of, bytes, __ATOMIC_RELAXED);
	if (load(&c->used_bytes) + load(&c->window_bytes) <= c->budget_bytes)
		return true;
	__atomic_fetch_sub(of, bytes, __ATOMIC_RELAXED);
	return false;
}

bool shim_budget_log(size_t bytes)
{
	struct reel_counts *c = shim.counts;

	return !c || !c->budget_bytes || take(c, &c->used_bytes, bytes);
}

void shim_budget_written(size_t bytes, bool good)
{
	struct reel_counts *c = shim.counts;

	if (!c || !c->budget_bytes)
		return;
	if (!good)
		__atomic_fetch_sub(&c->used_bytes, bytes, __ATOMIC_RELAXED);
	look_at_budget(c);
}

bool shim_budget_window(size_t bytes, bool more)
{
	struct reel_counts *c = shim.counts;

	if (!c || !c->budget_bytes)
		return true;
	if (more &&
	    (always ||
	     load(&c->used_bytes) + 2 * load(&c->window_bytes) + 2 * bytes >
		     EVENTS_SHARE(c->budget_bytes)))
		return false; /* small blocks will do */
	if (!take(c, &c->window_bytes, bytes))
		return false;
	__atomic_fetch_add(&own_window, bytes, __ATOMIC_RELAXED);
	if (shim.head)
		look_at_budget(c);
	return true;
}

void shim_budget_begin(void)
{
	own_window = 0;
}

void shim_budget_window_gone(uint32_t head_bytes)
{
	struct reel_counts *c = shim.counts;

	if (c && c->budget_bytes) {
		__atomic_fetch_add(&c->used_bytes, head_bytes,
				   __ATOMIC_RELAXED);
		__atomic_fetch_sub(&c->window_bytes, own_window,
				   __ATOMIC_RELAXED);
	}
	own_window = 0;
}

/* Number of doublings of the interval: one for each halving of the free budget. */
static uint32_t level_of_budget(void)
{
	const struct reel_counts *c = shim.counts;
	uint64_t used, share, left;
	uint32_t level = 0;

	if (!c || !c->budget_bytes)
		return 0;
	used = load(&c->used_bytes) + load(&c->window_bytes);
	left = used < c->budget_bytes ? c->budget_bytes - used : 0;
	share = c->budget_bytes - EVENTS_SHARE(c->budget_bytes);
	while (level < PACED_LONGEST && left < share >> level)
		level++;
	return level;
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
	if (!desc || known_n >= FILES / 2 ||
	    !__atomic_compare_exchange_n(&f->hash, &none, hash, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return 0;
	__atomic_fetch_add(&known_n, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&f->desc, desc, __ATOMIC_RELEASE);
	return 0;
}

/* A file's name as counters have it: @dir bytes of the path, and @base. */
struct folded {
	size_t dir, base_len;
	char base[BASE_BYTES];
	uint64_t hash, whole; /* of the shared name, of the path */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The name with a star for each number; of a very long one, for the rest. */
static size_t fold_digits(char *out, const char *base, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (len == BASE_BYTES - 1) {
			out[len - 1] = '*';
			break;
		}
		if (!is_digit(base[i]))
			out[len++] = base[i];
		else if (!len || out[len - 1] != '*')
			out[len++] = '*';
	}
	return len;
}

/* A star and the ending: letters, as only they say what a file is. */
static size_t fold_ending(char *out, const char *base, size_t n)
{
	size_t dot = n;

	while (dot && n - dot < 12 &&
	       ((base[dot - 1] | 32) >= 'a' && (base[dot - 1] | 32) <= 'z'))
		dot--;
	out[0] = '*';
	if (!dot || base[dot - 1] != '.')
		return 1;
	memcpy(out + 1, base + dot - 1, n - dot + 1);
	return n - dot + 2;
}

static bool is_directory(const struct shim_event *ev)
{
	if (ev->call == MARK_DESC)
		return ev->arg == REEL_KIND_DIR;
	if (ev->call == CALL_OPEN || ev->call == CALL_OPENAT)
		return ev->arg != NONE && ev->arg & O_DIRECTORY;
	return ev->call == CALL_OPENDIR;
}

/*
 * The fewer names are left to give, the more files share one. Directories keep
 * theirs, as other names are relative to them.
 */
static void fold(struct folded *f, const struct shim_event *ev,
		 const char *path)
{
	size_t n = strlen(path), dir = n;
	uint32_t used = known_n;

	f->base_len = 0;
	if (ev->call == MARK_DESC && *path != '/') /* "pipe:[123]" */
		dir = strcspn(path, "[");
	else if (!is_directory(ev))
		while (dir && path[dir - 1] != '/')
			dir--;
	if (used >= NAMES_DIR)
		dir = *path == '/';
	f->dir = dir;
	if (dir == n || used >= NAMES_ENDING || *path == '\0' ||
	    (ev->call == MARK_DESC && *path != '/'))
		goto out;
	f->base_len = used < NAMES_PATTERN
			      ? fold_digits(f->base, path + dir, n - dir)
			      : fold_ending(f->base, path + dir, n - dir);
out:
	f->hash = 0xcbf29ce484222325ull;
	if (*path != '/' && ev->call != MARK_DESC) {
		if (ev->at != AT_FDCWD)
			f->hash ^= (uint64_t)shim_fd(ev->at) << 32;
		else
			f->hash =
				hash_bytes(f->hash, shim.cwd, strlen(shim.cwd));
		f->hash = hash_bytes(f->hash, "/", 1);
	}
	f->hash = hash_bytes(f->hash, path, dir);
	f->whole = hash_bytes(f->hash, path + dir, n - dir);
	f->hash = hash_bytes(f->hash, f->base, f->base_len);
	f->hash += !f->hash;
}

/* The file was opened: how many were is known, about. */
static void see_file(uint64_t hash)
{
	uint8_t *at, zeros, was;

	if (!shim.counts)
		return;
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull;
	hash ^= hash >> 32;
	at = &shim.counts->file[hash >> 53];
	zeros = (uint8_t)(1 + __builtin_clzll(hash << 11 | 1u << 10));
	was = __atomic_load_n(at, __ATOMIC_RELAXED);
	while (was < zeros &&
	       !__atomic_compare_exchange_n(at, &was, zeros, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* --- fields --------------------------------------------------------------- */

/* 56 bits in a varint of eight bytes. */
static void put_field(uint8_t *at, uint64_t v)
{
	if (v > FIELD_MAX)
		v = FIELD_MAX;
	/* Two of 28 bits, four of 14, eight of 7. */
	v = (v & 0xfffffff) | (v & 0xfffffff0000000) << 4;
	v = (v & 0x3fff00003fff) | (v & 0xfffc0000fffc000) << 2;
	v = (v & 0x7f007f007f007f) | (v & 0x3f803f803f803f80) << 1;
	shim_store(at, v | 0x80808080808080);
}

static uint64_t get_field(const uint8_t *at)
{
	uint64_t v = 0;

	for (int i = 0; i < FIELD_BYTES; i++)
		v |= (uint64_t)(at[i] & 0x7f) << (7 * i);
	return v;
}

/* A field of @v at @p; returns what is behind it. */
static uint8_t *new_field(struct shim_thread *t, uint8_t *p, uint64_t v)
{
	struct shim_counters *c = t->counters;

	put_field(p, v);
	c->field[c->fields++] = (uint16_t)(p - (uint8_t *)t->block);
	return p + FIELD_BYTES;
}

static struct reel_counts *pace_of_job(void);

size_t shim_counted_pack(struct shim_thread *t, const void **data)
{
	struct shim_counters *c = t->counters;
	const struct reel_block_head *b = t->block;
	struct reel_block_head *head;
	const uint8_t *from = (const uint8_t *)b, *end = t->p;
	uint8_t *to;
	size_t n;

	if (!c || !c->fields || c->base != b->base_ticks || c->seq != t->seq ||
	    c->serial != t->serial)
		return 0;
	to = c->packed;
	for (uint32_t i = 0; i < c->fields; i++) {
		const uint8_t *field = (const uint8_t *)b + c->field[i];

		n = (size_t)(field - from);
		memcpy(to, from, n);
		to = shim_put(to + n, get_field(field));
		from = field + FIELD_BYTES;
	}
	n = (size_t)(end - from);
	memcpy(to, from, n);
	to += n;
	head = (void *)c->packed;
	head->used = (uint32_t)(to - (uint8_t *)(head + 1));
	head->check = reel_block_check(head);
	while ((to - c->packed) % 8)
		*to++ = 0;
	*data = c->packed;
	n = (size_t)(to - c->packed);
	__atomic_fetch_add(&pace_of_job()->counted_bytes, n, __ATOMIC_RELAXED);
	return n;
}

/* --- intervals ------------------------------------------------------------ */

/* Ticks of a second, as far as is known: rather more than one. */
static uint64_t second_ticks(void)
{
	static uint64_t known_ticks;
	uint64_t ticks = __atomic_load_n(&known_ticks, __ATOMIC_RELAXED), ns;
	const struct reel_head *h = shim.head;

	if (shim_hot.clock == REEL_CLOCK_MONOTONIC)
		return 1000000000;
	if (ticks)
		return ticks;
	shim_clock_pair(&ticks, &ns);
	ticks -= h->start_ticks;
	ns -= h->start_mono_ns;
	if (ns < 20000000 || ns > 1ull << 40)
		return 4000000000;
	ticks = (uint64_t)((unsigned __int128)ticks * 1000000000 / ns);
	__atomic_store_n(&known_ticks, ticks, __ATOMIC_RELAXED);
	return ticks;
}

/* The job's, or this process's where there is none. */
static struct reel_counts *pace_of_job(void)
{
	static struct reel_counts own;
	struct reel_counts *c = shim.counts ? shim.counts : &own;
	uint64_t none = 0;

	if (!__atomic_load_n(&c->counted_real_ns, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(&c->counted_real_ns, &none,
					    real_ns(), false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	return c;
}

/* Have the job's counters taken more than their share of the disk? */
static bool overdrawn(void)
{
	struct reel_counts *c = pace_of_job();
	uint64_t now = real_ns(), since = c->counted_real_ns;

	return __atomic_load_n(&c->counted_bytes, __ATOMIC_RELAXED) >
	       PACE_START + (now > since ? now - since : 0) /
				    (1000000000 / PACE_RATE);
}

static struct shim_counters *counters_page(struct shim_thread *t)
{
	struct shim_counters *c = t->counters;

	if (likely(c != NULL))
		return c;
	c = (void *)raw6(SYS_mmap, 0, sizeof(*c), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((unsigned long)c > -4096ul)
		return NULL;
	raw3(SYS_madvise, c, sizeof(*c), MADV_DONTFORK);
	t->counters = c;
	return c;
}

static bool is_summed(uint32_t kind)
{
	return kind >= REEL_SPAN_STEP && kind <= REEL_SPAN_PREPROCESS;
}

static bool in_summed(const struct shim_counters *c)
{
	for (uint32_t i = 0; i < c->depth; i++)
		if (is_summed(c->open[i].kind))
			return true;
	return false;
}

/* The outermost span that says what the thread's calls are for. */
static uint32_t phase_of(const struct shim_counters *c)
{
	const uint32_t says = 1u << REEL_SPAN_FETCH | 1u << REEL_SPAN_COMPUTE |
			      1u << REEL_SPAN_PREPROCESS |
			      1u << REEL_SPAN_CHECKPOINT | 1u << REEL_SPAN_EVAL;
	uint32_t phase = 0;

	for (uint32_t i = 0; i < c->depth; i++) {
		if (says >> c->open[i].kind & 1)
			return c->open[i].kind;
		if (c->open[i].kind == REEL_SPAN_STEP)
			phase = REEL_SPAN_STEP;
	}
	return phase;
}

/* The record from t->p to @p is complete: its first byte makes it one. */
static void put_record(struct shim_thread *t, uint8_t *p, uint32_t call)
{
	uint8_t *head = t->p;

	t->last_desc = 0;
	t->last_size = UINT64_MAX;
	shim_barrier();
	if (call >= REEL_CALL_WIDE) {
		head[1] = (uint8_t)(call - REEL_CALL_WIDE);
		shim_barrier();
		head[0] = (uint8_t)(REEL_CALL_WIDE +
				    ((call - REEL_CALL_WIDE) >> 8));
	} else {
		head[0] = (uint8_t)call;
	}
	t->p = p;
}

/* A record's end, in order: what it is counted from, in a varint. */
static uint8_t *put_end(struct shim_thread *t, uint8_t *p, uint64_t end)
{
	if (end < t->last_end)
		end = t->last_end;
	p = shim_put(p, end - t->last_end);
	t->last_end = end;
	return p;
}

static void put_head(struct shim_thread *t, struct shim_counters *c,
		     uint64_t now)
{
	uint8_t *p = t->p;

	p[1] = REEL_F_SIZE_NEW | REEL_F_RES_EXPECTED;
	p = shim_put(put_end(t, p + 2, now), 0);
	c->since = t->last_end;
	c->extent = p;
	put_record(t, new_field(t, p, 0), MARK_COUNTED);
}

/* The spans of @kind in this interval; the first of them began at @start. */
static struct span_sum *span_sum(struct shim_thread *t, uint32_t kind,
				 int64_t detail, uint64_t start)
{
	struct shim_counters *c = t->counters;
	struct span_sum *s = &c->sum[kind];
	uint8_t *p = t->p;

	if (s->at)
		return s;
	p[1] = REEL_F_SIZE_NEW | REEL_F_RES_EXPECTED | REEL_F_MORE;
	p[2] = REEL_M_ARG | REEL_M_ARG2 | REEL_M_POS | REEL_M_COUNT;
	p = put_end(t, p + 3, start);
	*s = (struct span_sum){.at = p, .begin = t->last_end};
	p = new_field(t, p, 0);
	s->size_at = (uint8_t)(p - s->at);
	p = new_field(t, p, 0);
	p = shim_put(p, shim_zigzag(kind));
	p = shim_put(p, shim_zigzag(detail));
	/* One that began in an earlier interval. */
	p = shim_put(p, start < s->begin ? s->begin - start : 0);
	s->count_at = (uint8_t)(p - s->at);
	put_record(t, new_field(t, p, 0), MARK_COUNTED);
	return s;
}

/* Is the interval in the block that @t writes? */
static bool is_here(const struct shim_thread *t, const struct shim_counters *c)
{
	return c->base == t->block->base_ticks && c->seq == t->seq &&
	       c->serial == t->serial;
}

static bool is_over(const struct shim_counters *c, uint64_t now)
{
	return now > c->since && now - c->since >= second_ticks() << c->level;
}

/* Another interval begins at @now; spans that are open go on in it. */
static void renew(struct shim_thread *t, struct shim_counters *c, uint64_t now)
{
	if (!c->base || c->serial != t->serial) {
		c->depth = c->phase = c->level = 0;
		c->close_step = true;
	} else if (!overdrawn()) {
		c->level -= c->level > 0;
	} else if (c->level < PACED_LONGEST) {
		c->level++;
	}
	if (c->level < level_of_budget())
		c->level = level_of_budget();
	if (c->used)
		memset(c->counter, 0, sizeof(c->counter));
	memset(c->sum, 0, sizeof(c->sum));
	if (!is_here(t, c))
		c->fields = 0;
	c->used = c->marks = 0;
	c->closing = false;
	c->base = t->block->base_ticks;
	c->seq = t->seq;
	c->serial = t->serial;
	put_head(t, c, now);
	for (uint32_t i = 0; i < c->depth; i++)
		if (is_summed(c->open[i].kind))
			span_sum(t, c->open[i].kind, c->open[i].detail,
				 c->open[i].start);
}

/* Room for a record and all that an interval begins with. */
#define RENEWED_MAX (SHIM_RECORD_MAX + REEL_SPANS * 64)

/*
 * This thread, busy, and its counters in the interval of @now. NULL: lost,
 * counted.
 */
static struct shim_counters *begin(struct shim_thread **thread, uint64_t now)
{
	struct shim_thread *t = shim_begin(RENEWED_MAX, now);
	struct shim_counters *c;

	*thread = t;
	if (!t)
		return NULL;
	c = counters_page(t);
	if (!c) {
		t->limit = t->room;
		shim_count(REEL_LOST_WINDOW, 1);
		return NULL;
	}
	if (!is_here(t, c) || c->used >= ENTRIES_USED || c->closing ||
	    (is_over(c, now) && !in_summed(c)))
		renew(t, c, now);
	return c;
}

/* --- the counters --------------------------------------------------------- */

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
	int64_t size, result, fetched;
	int err;
	uint64_t start, end;
};

static bool is_sized(const struct call *c)
{
	return c->size != NONE;
}

/* Descriptor, call, what came of it, phase, from the storage: 61 bits. */
static uint64_t key_of(const struct call *c, uint32_t phase)
{
	uint64_t what = 0;

	if (c->err)
		what = 256 | (uint8_t)c->err;
	else if (!is_sized(c))
		what = 255;
	else if (c->result > 0)
		what = 64 - (uint64_t)__builtin_clzll((uint64_t)c->result);
	return (uint64_t)c->desc << 29 | what << 20 |
	       (uint64_t)(c->fetched > 0) << 19 | (uint64_t)phase << 14 |
	       (c->call & 0x3fff);
}

/* Its record: the fields follow as add() changes them. */
static void new_counter(struct shim_thread *t, struct counter *k,
			const struct call *c, uint32_t phase)
{
	uint8_t *p = t->p + (c->call < REEL_CALL_WIDE ? 1 : 2);

	*p++ = (c->desc ? REEL_F_DESC_NEW : 0) |
	       (is_sized(c) ? REEL_F_SIZE_NEW : 0) | REEL_F_MORE |
	       (c->err	      ? REEL_F_RES_ERROR
		: is_sized(c) ? REEL_F_RES_OTHER
			      : REEL_F_RES_EXPECTED);
	*p++ = REEL_M_ARG2 | REEL_M_COUNT | (phase ? REEL_M_ARG : 0) |
	       (c->fetched > 0 ? REEL_M_POS : 0);
	p = put_end(t, p, c->end);
	k->at = p;
	p = new_field(t, p, 0);
	if (c->desc)
		p = shim_put(p, c->desc);
	k->size_at = (uint8_t)(p - k->at);
	if (is_sized(c))
		p = new_field(t, p, 0);
	k->result_at = (uint8_t)(p - k->at);
	if (c->err)
		p = shim_put(p, (uint64_t)c->err);
	else if (is_sized(c))
		p = new_field(t, p, 0);
	if (phase)
		p = shim_put(p, shim_zigzag(phase));
	p = shim_put(p, shim_zigzag(REEL_COUNTED));
	k->fetched_at = (uint8_t)(p - k->at);
	if (c->fetched > 0)
		p = new_field(t, p, 0);
	k->count_at = (uint8_t)(p - k->at);
	put_record(t, new_field(t, p, 1), c->call);
}

/* The count last: killed in between, a call is missing and not one too many. */
static void add(struct counter *k, const struct call *c)
{
	k->count++;
	k->dur += c->end - c->start;
	put_field(k->at, k->dur);
	if (is_sized(c)) {
		k->size += (uint64_t)c->size;
		put_field(k->at + k->size_at, k->size);
	}
	if (is_sized(c) && !c->err) {
		k->result += c->result > 0 ? (uint64_t)c->result : 0;
		put_field(k->at + k->result_at, k->result << 1); /* zigzag */
	}
	if (c->fetched > 0) {
		k->fetched += (uint64_t)c->fetched;
		put_field(k->at + k->fetched_at, k->fetched);
	}
	put_field(k->at + k->count_at, k->count);
}

/* The interval reaches as far as @end. */
static void extend(struct shim_counters *c, uint64_t end)
{
	if (end > c->since)
		put_field(c->extent, end - c->since);
}

static void count(const struct call *c)
{
	struct shim_thread *t;
	struct shim_counters *all = begin(&t, c->start);
	struct counter *k;
	uint64_t key;

	if (!all)
		return;
	key = key_of(c, all->phase);
	k = slot_of(all, key);
	if (!k->key || k->count == UINT32_MAX) {
		memset(k, 0, sizeof(*k));
		k->key = key;
		all->used++;
		new_counter(t, k, c, all->phase);
	}
	add(k, c);
	extend(all, c->end);
	shim_end(t, t->p);
}

/* --- spans ---------------------------------------------------------------- */

static uint64_t name_hash(const struct shim_event *ev)
{
	return ev->path ? hash_bytes(1, ev->path, strlen(ev->path)) : 0;
}

/* An epoch, a checkpoint, a user's own: is it written as it is? */
static bool span_marked(struct shim_counters *c, uint32_t kind)
{
	if (kind != REEL_SPAN_USER)
		c->close_step = true;
	if (!in_summed(c) && kind != REEL_SPAN_USER)
		c->closing = true;
	return ++c->marks <= MARKS_EACH;
}

static bool span_begins(struct shim_thread *t, struct shim_counters *c,
			const struct shim_event *ev, uint64_t start)
{
	uint32_t kind = (uint32_t)ev->arg;
	struct open_span *o = &c->open[c->depth];

	if (c->depth == OPEN_SPANS)
		return true;
	*o = (struct open_span){
		.start = start,
		.name = name_hash(ev),
		.detail = ev->arg2 == NONE ? -1 : ev->arg2,
		.kind = (uint8_t)kind,
	};
	if (is_summed(kind))
		span_sum(t, kind, o->detail, start);
	else
		o->dropped = !span_marked(c, kind);
	c->depth++;
	c->phase = phase_of(c);
	return is_summed(kind) || o->dropped;
}

/* The one that ends: the innermost of its kind. */
static struct open_span *span_open(struct shim_counters *c,
				   const struct shim_event *ev)
{
	uint64_t name = name_hash(ev);

	for (uint32_t i = c->depth; i--;)
		if (c->open[i].kind == ev->arg && c->open[i].name == name)
			return &c->open[i];
	return NULL;
}

static void sum_span(struct shim_thread *t, struct shim_counters *c,
		     const struct open_span *o, uint64_t end)
{
	struct span_sum *s = span_sum(t, o->kind, o->detail, o->start);

	s->dur += end > o->start ? end - o->start : 0;
	s->count++;
	put_field(s->at, s->dur);
	put_field(s->at + s->size_at, end > s->begin ? end - s->begin : 0);
	put_field(s->at + s->count_at, s->count);
	extend(c, end);
}

static bool span_ends(struct shim_thread *t, struct shim_counters *c,
		      const struct shim_event *ev, uint64_t end)
{
	struct open_span *o = span_open(c, ev), was;

	if (!o)
		return false;
	was = *o;
	c->depth--;
	memmove(o, o + 1, (size_t)(&c->open[c->depth] - o) * sizeof(*o));
	c->phase = phase_of(c);
	if (!is_summed(was.kind)) {
		if (!was.dropped)
			span_marked(c, was.kind);
		return was.dropped;
	}
	if (ev->call == MARK_SPAN_END)
		sum_span(t, c, &was, end);
	if (in_summed(c))
		return true;
	if (is_over(c, end) ||
	    (c->close_step && was.kind == REEL_SPAN_STEP && !c->level)) {
		c->closing = true;
		c->close_step = false;
	}
	return true;
}

/* False: the mark is to be written. */
static bool counted_span(const struct shim_event *ev, uint64_t start,
			 uint64_t end)
{
	struct shim_thread *t;
	struct shim_counters *c = begin(&t, start);
	bool done;

	if (!c)
		return true;
	done = ev->call == MARK_SPAN_BEGIN ? span_begins(t, c, ev, start)
					   : span_ends(t, c, ev, end);
	t->limit = t->room;
	return done;
}

/* These steps are recorded: what is open began before, or in them. */
static void forget_spans(void)
{
	struct shim_counters *c = shim_self()->counters;

	if (c) {
		c->depth = c->phase = 0;
		c->closing = true;
	}
}

/* --- records that ask ----------------------------------------------------- */

/* The first of a name is recorded, with the name that it shares. */
static COLD void record_folded(struct shim_event *ev, const struct folded *f,
			       uint64_t start, uint64_t end, int64_t result)
{
	char path[f->dir + f->base_len + 2];

	memcpy(path, ev->path, f->dir);
	memcpy(path + f->dir, f->base, f->base_len);
	path[f->dir + f->base_len] = '\0';
	if (!*path)
		memcpy(path, ".", 2);
	ev->path = path;
	ev->path_len = (uint32_t)strlen(path);
	shim_record_now(ev, start, end, result, 0);
}

/* A call that made a descriptor: the directory's, when it is known. */
static void counted_made(struct shim_event *ev, struct call *c)
{
	uint32_t desc = c->desc;
	struct folded f;

	if (!ev->path && !desc) {
		shim_record_now(ev, c->start, c->end, c->result, 0);
		return;
	}
	if (ev->path) {
		fold(&f, ev, ev->path);
		if (ev->call != MARK_DESC && !is_directory(ev))
			see_file(f.whole);
		desc = file_desc(f.hash, ev->newdesc);
		if (!desc) {
			record_folded(ev, &f, c->start, c->end, c->result);
			return;
		}
		if (ev->call == MARK_DESC &&
		    (ev->arg == REEL_KIND_PIPE || ev->arg == REEL_KIND_SOCKET))
			shim_storage_not(desc);
	}
	shim_fd_set(ev->newfd, desc);
	c->desc = desc;
	if (ev->call != MARK_DESC)
		count(c);
	if (ev->newfd < 0 && shim_self()->counters) {
		shim_self()->counters->made = ev->newdesc;
		shim_self()->counters->made_as = desc;
	}
}

uint32_t shim_counted_desc(uint32_t made)
{
	const struct shim_counters *c = shim_self()->counters;

	return shim_counting && c && c->made == made ? c->made_as : made;
}

bool shim_counted(struct shim_event *ev, uint64_t start, uint64_t end,
		  int64_t result, int err)
{
	struct call c = {.call = ev->call,
			 .desc = ev->desc,
			 .size = ev->size,
			 .result = result,
			 .err = err,
			 .start = start,
			 .end = end};
	struct folded f;

	if (ev->call == MARK_SPAN_BEGIN && ev->arg == REEL_SPAN_STEP)
		step_begins(ev->arg2);
	if (in_steps()) {
		forget_spans();
		return false;
	}
	if (!shim_process_ready())
		return true; /* lost, counted */
	if (ev->newdesc && !err) {
		counted_made(ev, &c);
		return true;
	}
	if (ev->call >= MARK_SPAN_BEGIN && ev->call <= MARK_SPAN_CANCEL)
		return counted_span(ev, start, end);
	if (ev->call < CALL_OPEN)
		return false;
	if (!ev->size &&
	    (ev->call == CALL_STDIO_READ || ev->call == CALL_STDIO_WRITE))
		return true; /* a position, which nobody asks for */
	if (ev->call >= CALL_READ && ev->call <= CALL_PREADV2 &&
	    ev->arg2 != NONE)
		c.fetched = ev->arg2;
	if (ev->path && !ev->desc && err != EFAULT) {
		fold(&f, ev, ev->path);
		c.desc = file_desc(f.hash, 0);
	}
	count(&c);
	return true;
}

bool shim_counted_io(uint32_t call, uint32_t desc, int64_t size, uint64_t start,
		     uint64_t end, int64_t result, int err)
{
	struct call c = {.call = call,
			 .desc = desc,
			 .size = size,
			 .result = result,
			 .err = err,
			 .start = start,
			 .end = end};
	int64_t fetched;

	if (in_steps())
		return false;
	fetched = shim_storage(call, desc, end - start, result);
	if (fetched != NONE)
		c.fetched = fetched;
	count(&c);
	return true;
}
