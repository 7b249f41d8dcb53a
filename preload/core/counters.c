/* SPDX-License-Identifier: MIT */
/*
 * Counters instead of events: --events none, steps A-B, a spent --max-size.
 *
 * A counter is a record with a count in the thread's window. Its numbers have a
 * fixed width and are updated in place, each by one store, so it survives
 * SIGKILL as events do. In an interval there is one for each combination of
 * directory, call, power of two of the result, error, phase, and fetched from
 * storage or not. The spans of an interval are summed in the same way
 * (interval.h).
 */
#include "preload/core/counters.h"

#include <string.h>

#include "schemas/hash.h"

#include "preload/core/block_io.h"
#include "preload/core/counted_name.h"
#include "preload/core/interval.h"
#include "preload/core/symbols.h"
#include "preload/core/types.h"
#include "preload/core/window.h"

#define MARKS_EACH 64 /* spans of an interval with marks of their own */

int shim_counting;

static bool always; /* to the end of the process: none, or a spent budget */
static int64_t first_step = -1, last_step = -1;

/* --- which calls are counted ---------------------------------------------- */

static const char *parse_number(const char *s, int64_t *n)
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
	} else if ((s = parse_number(s, &a)) && *s == '-' &&
		   (s = parse_number(s + 1, &b)) && !*s) {
		first_step = a;
		last_step = b;
	}
	shim_counting = always || last_step >= 0;
}

/*
 * Send all records to the slow path, by taking the room of the fast ones away.
 * A thread in the middle of a record may restore its limit, and then takes the
 * fast path to the end of its block.
 */
static void stop_fast_records(void)
{
	uint32_t high = __atomic_load_n(&shim.slots_high, __ATOMIC_ACQUIRE);

	for (uint32_t i = shim.slots_base; i < high; i++) {
		struct shim_thread *t = &shim.threads[i];
		intptr_t limit = __atomic_load_n(&t->limit, __ATOMIC_RELAXED);

		__atomic_store_n(&t->room, 0, __ATOMIC_RELAXED);
		/* The mark of a busy thread stays. */
		if (limit > 0)
			__atomic_compare_exchange_n(&t->limit, &limit, 0, false,
						    __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
		__atomic_store_n(&t->last_desc, 0, __ATOMIC_RELAXED);
	}
}

void shim_counting_from_now(void)
{
	if (always && shim.head->counted_ticks)
		return;
	always = true;
	if (!shim.head->counted_ticks)
		shim.head->counted_ticks = shim_clock();
	__atomic_store_n(&shim_counting, 1, __ATOMIC_RELEASE);
	stop_fast_records();
}

bool shim_counting_always(void)
{
	return always;
}

void shim_counting_start(void)
{
	if (always || (shim.counts && shim.counts->full_real_ns))
		shim_counting_from_now();
}

/*
 * The reader gives a child its parent's open descriptors. An id that many files
 * share may seem closed there, so a child names its files again.
 */
void shim_counting_forked(void)
{
	shim_names_forget();
	for (uint32_t fd = 0; fd <= shim_hot.fd_high; fd++)
		if (shim_is_desc(shim_fd_entry((int)fd)))
			shim_fd_enter((int)fd, SHIM_FD_PARENTS);
}

/* Is this a step of A-B, which is recorded? job.counts says it to all processes
 * of the job. */
static bool is_recorded_step(void)
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
		stop_fast_records();
}

/* --- the counters --------------------------------------------------------- */

static struct shim_counter *slot_of(struct shim_counters *c, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = (uint32_t)(h >> 40);; i++) {
		struct shim_counter *k = &c->counter[i & (ENTRIES - 1)];

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

/* Descriptor, result or error, fetched or not, phase, call: 61 bits. */
static uint64_t key_of(const struct call *c, uint32_t phase)
{
	uint64_t outcome = 0;

	if (c->err)
		outcome = 256 | (uint8_t)c->err;
	else if (!is_sized(c))
		outcome = 255;
	else if (c->result > 0)
		outcome = 64 - (uint64_t)__builtin_clzll((uint64_t)c->result);
	return (uint64_t)c->desc << 29 | outcome << 20 |
	       (uint64_t)(c->fetched > 0) << 19 | (uint64_t)phase << 14 |
	       (c->call & 0x3fff);
}

/* Write the record of a new counter, with the fields that add_call()
 * updates. */
static void new_counter(struct shim_thread *t, struct shim_counter *k,
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
	p = shim_put_end(t, p, c->end);
	k->at = p;
	p = shim_new_field(t, p, 0);
	if (c->desc)
		p = shim_put(p, c->desc);
	k->size_at = (uint8_t)(p - k->at);
	if (is_sized(c))
		p = shim_new_field(t, p, 0);
	k->result_at = (uint8_t)(p - k->at);
	if (c->err)
		p = shim_put(p, (uint64_t)c->err);
	else if (is_sized(c))
		p = shim_new_field(t, p, 0);
	if (phase)
		p = shim_put(p, shim_zigzag(phase));
	p = shim_put(p, shim_zigzag(REEL_COUNTED));
	k->fetched_at = (uint8_t)(p - k->at);
	if (c->fetched > 0)
		p = shim_new_field(t, p, 0);
	k->count_at = (uint8_t)(p - k->at);
	shim_put_record(t, shim_new_field(t, p, 1), c->call);
}

/* The count is updated last: if the process is killed in between, a call is
 * missing rather than counted without its time. */
static void add_call(struct shim_counter *k, const struct call *c)
{
	k->count++;
	k->dur += c->end - c->start;
	shim_put_field(k->at, k->dur);
	if (is_sized(c)) {
		k->size += (uint64_t)c->size;
		shim_put_field(k->at + k->size_at, k->size);
	}
	if (is_sized(c) && !c->err) {
		k->result += c->result > 0 ? (uint64_t)c->result : 0;
		shim_put_field(k->at + k->result_at,
			       k->result << 1); /* zigzag */
	}
	if (c->fetched > 0) {
		k->fetched += (uint64_t)c->fetched;
		shim_put_field(k->at + k->fetched_at, k->fetched);
	}
	shim_put_field(k->at + k->count_at, k->count);
}

/* Extend the interval to @end. */
static void extend_interval(struct shim_counters *c, uint64_t end)
{
	if (end > c->since)
		shim_put_field(c->extent, end - c->since);
}

static void count_call(const struct call *c)
{
	struct shim_thread *t;
	struct shim_counters *all = shim_interval_begin(&t, c->start);
	struct shim_counter *k;
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
	add_call(k, c);
	extend_interval(all, c->end);
	shim_end(t, t->p);
}

/* --- spans ---------------------------------------------------------------- */

static uint64_t name_hash(const struct shim_event *ev)
{
	return ev->path ? reel_fnv1a(1, ev->path, strlen(ev->path)) : 0;
}

/* The kind of the outermost span that explains the thread's calls. */
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

/* An epoch, a checkpoint or a span of the user. True: write its mark as it
 * is. */
static bool span_marked(struct shim_counters *c, uint32_t kind)
{
	if (kind != REEL_SPAN_USER)
		c->close_step = true;
	if (!shim_in_summed(c) && kind != REEL_SPAN_USER)
		c->closing = true;
	return ++c->marks <= MARKS_EACH;
}

static bool span_begins(struct shim_thread *t, struct shim_counters *c,
			const struct shim_event *ev, uint64_t start)
{
	uint32_t kind = (uint32_t)ev->arg;
	struct shim_open_span *o = &c->open[c->depth];

	if (c->depth == OPEN_SPANS)
		return true;
	*o = (struct shim_open_span){
		.start = start,
		.name = name_hash(ev),
		.detail = ev->arg2 == NONE ? -1 : ev->arg2,
		.kind = (uint8_t)kind,
	};
	if (shim_is_summed(kind))
		shim_interval_sum(t, kind, o->detail, start);
	else
		o->dropped = !span_marked(c, kind);
	c->depth++;
	c->phase = phase_of(c);
	return shim_is_summed(kind) || o->dropped;
}

/* The open span that @ev ends: the innermost of its kind and name. */
static struct shim_open_span *span_open(struct shim_counters *c,
					const struct shim_event *ev)
{
	uint64_t name = name_hash(ev);

	for (uint32_t i = c->depth; i--;)
		if (c->open[i].kind == ev->arg && c->open[i].name == name)
			return &c->open[i];
	return NULL;
}

static void sum_span(struct shim_thread *t, struct shim_counters *c,
		     const struct shim_open_span *o, uint64_t end)
{
	struct shim_span_sum *s =
		shim_interval_sum(t, o->kind, o->detail, o->start);

	s->dur += end > o->start ? end - o->start : 0;
	s->count++;
	shim_put_field(s->at, s->dur);
	shim_put_field(s->at + s->size_at, end > s->begin ? end - s->begin : 0);
	shim_put_field(s->at + s->count_at, s->count);
	extend_interval(c, end);
}

static bool span_ends(struct shim_thread *t, struct shim_counters *c,
		      const struct shim_event *ev, uint64_t end)
{
	struct shim_open_span *o = span_open(c, ev), was;

	if (!o)
		return false;
	was = *o;
	c->depth--;
	memmove(o, o + 1, (size_t)(&c->open[c->depth] - o) * sizeof(*o));
	c->phase = phase_of(c);
	if (!shim_is_summed(was.kind)) {
		if (!was.dropped)
			span_marked(c, was.kind);
		return was.dropped;
	}
	if (ev->call == MARK_SPAN_END)
		sum_span(t, c, &was, end);
	if (shim_in_summed(c))
		return true;
	if (shim_interval_is_over(c, end) ||
	    (c->close_step && was.kind == REEL_SPAN_STEP && !c->level)) {
		c->closing = true;
		c->close_step = false;
	}
	return true;
}

/* False: the caller must write the mark. */
static bool counted_span(const struct shim_event *ev, uint64_t start,
			 uint64_t end)
{
	struct shim_thread *t;
	struct shim_counters *c = shim_interval_begin(&t, start);
	bool done;

	if (!c)
		return true;
	done = ev->call == MARK_SPAN_BEGIN ? span_begins(t, c, ev, start)
					   : span_ends(t, c, ev, end);
	t->limit = t->room;
	return done;
}

/* Recording is on in these steps: forget the open spans, which began before or
 * in them. */
static void forget_spans(void)
{
	struct shim_counters *c = shim_self()->counters;

	if (c) {
		c->depth = c->phase = 0;
		c->closing = true;
	}
}

/* --- called for each record ----------------------------------------------- */

/* Record the first call of a shared name, with that name. */
static COLD void record_folded(struct shim_event *ev,
			       const struct shim_folded *f, uint64_t start,
			       uint64_t end, int64_t result)
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

/* A call that made a descriptor: replace its id by that of its shared name, if
 * the name is known. */
static void counted_made(struct shim_event *ev, struct call *c)
{
	uint32_t desc = c->desc;
	struct shim_folded f;

	if (!ev->path && !desc) {
		shim_record_now(ev, c->start, c->end, c->result, 0);
		return;
	}
	if (ev->path) {
		shim_name_fold(&f, ev, ev->path);
		if (ev->call != MARK_DESC && !shim_opens_directory(ev))
			shim_name_seen(f.whole);
		desc = shim_name_desc(f.hash, ev->newdesc);
		if (!desc) {
			record_folded(ev, &f, c->start, c->end, c->result);
			return;
		}
		if (ev->call == MARK_DESC &&
		    (ev->arg == REEL_KIND_PIPE || ev->arg == REEL_KIND_SOCKET))
			shim_block_io_exclude(desc);
	}
	shim_fd_set(ev->newfd, desc);
	c->desc = desc;
	if (ev->call != MARK_DESC)
		count_call(c);
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
	struct shim_folded f;

	if (ev->call == MARK_SPAN_BEGIN && ev->arg == REEL_SPAN_STEP)
		step_begins(ev->arg2);
	if (is_recorded_step()) {
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
		return true; /* a stream position, which counters lack */
	if (ev->call >= CALL_READ && ev->call <= CALL_PREADV2 &&
	    ev->arg2 != NONE)
		c.fetched = ev->arg2;
	if (ev->path && !ev->desc && err != EFAULT) {
		shim_name_fold(&f, ev, ev->path);
		c.desc = shim_name_desc(f.hash, 0);
	}
	count_call(&c);
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

	if (is_recorded_step())
		return false;
	fetched = shim_fetched(call, desc, end - start, result);
	if (fetched != NONE)
		c.fetched = fetched;
	count_call(&c);
	return true;
}
