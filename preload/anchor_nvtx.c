/* SPDX-License-Identifier: MIT */
/*
 * Ranges that a program pushes and pops through NVTX, as spans "nvtx:NAME".
 *
 * NVTX 3 is headers only; its first call loads what NVTX_INJECTION64_PATH
 * names, which must be this library, and calls it. We enter functions into its
 * table; they return what NVTX returns without a tool. A pop has no name, so
 * the names of a thread's open ranges are kept, as numbers in a table of names
 * of the process, which never forgets one: what does not fit is called "nvtx:".
 */
#include "preload/ioreel.h"

#include <string.h>

#include "preload/real.h"

#define NAMES 512
#define NAME_BYTES 64
#define DEPTH 28
#define NO_TRACKING (-2) /* NVTX_NO_PUSH_POP_TRACKING */

/* Modules and entries of NVTX's tables; nvtxTypes.h of NVTX 3. */
enum { CALLBACKS = 1, CORE = 1, CORE2 = 5 };
enum { PUSH_EX = 8, PUSH_A = 9, POP = 11 };
enum { DOMAIN_PUSH_EX = 4, DOMAIN_POP = 5, DOMAIN_REGISTER_A = 10 };
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
	uint32_t state; /* 0: free, 1: being written, 2: there */
	char text[NAME_BYTES];
} names[NAMES] = {{2, "nvtx:"}};

static _Thread_local struct {
	uint32_t depth;
	uint16_t name[DEPTH];
} ranges __attribute__((tls_model("initial-exec")));

/* The number of a name, the same for the same text; 0: no room. */
static uint16_t number(const char *s)
{
	char text[NAME_BYTES] = "nvtx:";
	uint32_t hash = 2166136261u;

	if (!s)
		return 0;
	strncat(text, s, sizeof(text) - sizeof("nvtx:"));
	for (const char *p = text; *p; p++)
		hash = (hash ^ (uint8_t)*p) * 16777619u;
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

static int push(uint16_t name)
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
	return push(number(text));
}

/* A registered string is what we gave for it: the text of its name. */
static int push_ex(const struct attributes *a)
{
	size_t at;

	if (!a || a->size < sizeof(*a))
		return push(0);
	if (a->message_type == MESSAGE_ASCII)
		return push_text(a->message);
	at = ((uintptr_t)a->message - (uintptr_t)names) / sizeof(names[0]);
	if (a->message_type != MESSAGE_REGISTERED || at >= NAMES)
		at = 0;
	return push((uint16_t)at);
}

static int pop(void)
{
	if (!ranges.depth)
		return NO_TRACKING;
	if (--ranges.depth < DEPTH)
		ioreel_end(names[ranges.name[ranges.depth]].text);
	return NO_TRACKING;
}

static int domain_push_ex(void *domain, const struct attributes *a)
{
	return push_ex(a);
}

static int domain_pop(void *domain)
{
	return pop();
}

static const void *domain_register(void *domain, const char *text)
{
	return names[number(text)].text;
}

static void enter(void ***table, unsigned int entries, unsigned int at,
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
		enter(table, n, PUSH_EX, (void *)push_ex);
		enter(table, n, PUSH_A, (void *)push_text);
		enter(table, n, POP, (void *)pop);
	}
	if (c->table(CORE2, &table, &n)) {
		enter(table, n, DOMAIN_PUSH_EX, (void *)domain_push_ex);
		enter(table, n, DOMAIN_POP, (void *)domain_pop);
		enter(table, n, DOMAIN_REGISTER_A, (void *)domain_register);
	}
	return 1;
}
