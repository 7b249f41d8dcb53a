/* SPDX-License-Identifier: MIT */
/*
 * Ranges that a program marks through NVTX, as spans "nvtx:NAME".
 *
 * NVTX 3 is headers only; its first call loads the library that
 * NVTX_INJECTION64_PATH names, which must be this one, and calls it. We enter
 * functions into its table, which return the same values as NVTX without a
 * tool, except for range ids. A pop has no name, so the names of a thread's
 * open ranges are kept, as numbers in a table of the process. Names stay in
 * that table; a name for which it has no room becomes "nvtx:".
 *
 * A range that is started and ended by its id does not nest, may overlap
 * another one of its name, and may end in another thread. It is recorded when
 * it ends: a begin with a duration and a size, which marks it as complete; and
 * its end.
 */
#include <string.h>

#include "schemas/hash.h"
#include "schemas/ioreel.h"

#include "preload/core/symbols.h"
#include "preload/core/types.h"

#define NAMES 512
#define NAME_BYTES 64
#define DEPTH 28
#define OPEN 1024	 /* ranges by id, at one time */
#define NO_TRACKING (-2) /* NVTX_NO_PUSH_POP_TRACKING */

/* Modules and entries of NVTX's tables; nvtxTypes.h of NVTX 3. */
enum { CALLBACKS = 1, CORE = 1, CORE2 = 5 };
enum { START_EX = 4, START_A = 5, END = 7, PUSH_EX = 8, PUSH_A = 9, POP = 11 };
enum {
	DOMAIN_START_EX = 2,
	DOMAIN_END = 3,
	DOMAIN_PUSH_EX = 4,
	DOMAIN_POP = 5,
	DOMAIN_REGISTER_A = 10
};
enum { MESSAGE_ASCII = 1, MESSAGE_REGISTERED = 3 };

struct attributes { /* nvtxEventAttributes_t, versions 1 and 2 */
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

struct callbacks { /* NvtxExportTableCallbacks */
	size_t size;
	int (*table)(int module, void ****out, unsigned int *entries);
};

static struct name {
	uint32_t state; /* 0: free, 1: being written, 2: valid */
	char text[NAME_BYTES];
} names[NAMES] = {{2, "nvtx:"}};

/*
 * Ranges by id. life modulo 4: 0 free, 1 being filled, 2 open, 3 being ended.
 * The id of a range has its life while open and its index.
 */
static struct {
	uint64_t life, start;
	uint16_t name;
} by_id[OPEN];

static _Thread_local struct {
	uint32_t depth;
	uint16_t name[DEPTH];
} ranges __attribute__((tls_model("initial-exec")));

/* The number of a name, the same for the same text; 0: no room. */
static uint16_t name_number(const char *s)
{
	char text[NAME_BYTES] = "nvtx:";
	uint64_t hash;

	if (!s)
		return 0;
	strncat(text, s, sizeof(text) - sizeof("nvtx:"));
	hash = reel_fnv1a(REEL_FNV_SEED, text, strlen(text));
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t at = 1 + (hash + i) % (NAMES - 1), state = 0;
		struct name *n = &names[at];

		if (__atomic_compare_exchange_n(&n->state, &state, 1, false,
						__ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE)) {
			memcpy(n->text, text, sizeof(text));
			__atomic_store_n(&n->state, 2, __ATOMIC_RELEASE);
			return (uint16_t)at;
		}
		if (state == 2 && !strcmp(n->text, text))
			return (uint16_t)at;
	}
	return 0;
}

static int push_range(uint16_t name)
{
	if (ranges.depth < DEPTH) {
		ranges.name[ranges.depth] = name;
		ioreel_begin(names[name].text, -1);
	}
	ranges.depth++;
	return NO_TRACKING;
}

static int push_text(const char *text)
{
	return push_range(name_number(text));
}

/* The handle of a registered string points to the text of its name. */
static uint16_t name_of(const struct attributes *a)
{
	size_t at;

	if (!a || a->size < sizeof(*a))
		return 0;
	if (a->message_type == MESSAGE_ASCII)
		return name_number(a->message);
	at = ((uintptr_t)a->message - (uintptr_t)names) / sizeof(names[0]);
	return a->message_type == MESSAGE_REGISTERED && at < NAMES
		       ? (uint16_t)at
		       : 0;
}

static int push_ex(const struct attributes *a)
{
	return push_range(name_of(a));
}

static int pop_range(void)
{
	if (!ranges.depth)
		return NO_TRACKING;
	if (--ranges.depth < DEPTH)
		ioreel_end(names[ranges.name[ranges.depth]].text);
	return NO_TRACKING;
}

static uint64_t start_range(uint16_t name)
{
	static uint32_t hand;
	uint32_t from = __atomic_fetch_add(&hand, 1, __ATOMIC_RELAXED);

	for (uint32_t i = 0; shim_hot.on && i < OPEN; i++) {
		uint32_t at = (from + i) % OPEN;
		uint64_t life =
			__atomic_load_n(&by_id[at].life, __ATOMIC_RELAXED);

		if (life % 4 || !__atomic_compare_exchange_n(
					&by_id[at].life, &life, life + 1, false,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		by_id[at].name = name;
		by_id[at].start = shim_clock();
		__atomic_store_n(&by_id[at].life, life + 2, __ATOMIC_RELEASE);
		return (life + 2) * OPEN + at;
	}
	if (shim_hot.on)
		shim_count(REEL_LOST_LIMIT, 1);
	return 0;
}

static uint64_t start_text(const char *text)
{
	return start_range(name_number(text));
}

static uint64_t start_ex(const struct attributes *a)
{
	return start_range(name_of(a));
}

static void record_range(uint16_t name, uint64_t begun)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = MARK_SPAN_BEGIN};
	uint64_t now = shim_clock();

	ev.arg = REEL_SPAN_USER;
	ev.arg2 = -1;
	ev.size = 0;
	ev.path = names[name].text;
	shim_record_full(&ev, begun, now, 0, 0);
	ev.call = MARK_SPAN_END;
	ev.size = NONE;
	ev.arg2 = NONE;
	shim_record_full(&ev, now, now, 0, 0);
}

static void end_range(uint64_t id)
{
	uint32_t at = id % OPEN;
	uint64_t life = id / OPEN, begun;
	uint16_t name;

	if (life % 4 != 2 || !__atomic_compare_exchange_n(
				     &by_id[at].life, &life, life + 1, false,
				     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return; /* not our range, or already ended */
	name = by_id[at].name;
	begun = by_id[at].start;
	__atomic_store_n(&by_id[at].life, life + 2, __ATOMIC_RELEASE);
	if (shim_hot.on)
		record_range(name, begun);
}

static uint64_t domain_start_ex(void *domain, const struct attributes *a)
{
	return start_range(name_of(a));
}

static void domain_end(void *domain, uint64_t id)
{
	end_range(id);
}

static int domain_push_ex(void *domain, const struct attributes *a)
{
	return push_ex(a);
}

static int domain_pop(void *domain)
{
	return pop_range();
}

static const void *domain_register(void *domain, const char *text)
{
	return names[name_number(text)].text;
}

static void set_entry(void ***table, unsigned int entries, unsigned int at,
		      void *fn)
{
	if (at < entries && table[at])
		*table[at] = fn;
}

EXPORT int InitializeInjectionNvtx2(const void *(*exported)(uint32_t))
{
	const struct callbacks *c = shim_hot.on ? exported(CALLBACKS) : NULL;
	unsigned int n = 0;
	void ***table;

	if (!c || c->size < sizeof(*c))
		return 0;
	if (c->table(CORE, &table, &n)) {
		set_entry(table, n, START_EX, (void *)start_ex);
		set_entry(table, n, START_A, (void *)start_text);
		set_entry(table, n, END, (void *)end_range);
		set_entry(table, n, PUSH_EX, (void *)push_ex);
		set_entry(table, n, PUSH_A, (void *)push_text);
		set_entry(table, n, POP, (void *)pop_range);
	}
	if (c->table(CORE2, &table, &n)) {
		set_entry(table, n, DOMAIN_START_EX, (void *)domain_start_ex);
		set_entry(table, n, DOMAIN_END, (void *)domain_end);
		set_entry(table, n, DOMAIN_PUSH_EX, (void *)domain_push_ex);
		set_entry(table, n, DOMAIN_POP, (void *)domain_pop);
		set_entry(table, n, DOMAIN_REGISTER_A, (void *)domain_register);
	}
	return 1;
}
