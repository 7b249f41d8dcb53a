/* SPDX-License-Identifier: MIT */
/*
 * The functions behind ours: one pointer per exported symbol, from calls.def.
 *
 * The pointers are zero until resolved, not stubs: zero needs no relocation,
 * so a call that comes before this library was relocated (an IFUNC resolver of
 * a program linked with -z now) is met by the same test as one that comes
 * before the constructor.
 */
#ifndef PRELOAD_CORE_SYMBOLS_H
#define PRELOAD_CORE_SYMBOLS_H

#include "preload/core/shim.h"
#include "preload/core/types.h"

struct shim_real {
#define CALL(id, NAME, layer, group, traits, ret, fails, fn, params, ...)      \
	ret(*fn) params;
#define ALSO(NAME, ret, fails, fn, params, ...) ret(*fn) params;
#define BY_HAND(id, NAME, layer, group, traits, ret, fn, params)               \
	ret(*fn) params;
#define ALSO_BY_HAND(NAME, ret, fn, params) ret(*fn) params;
#define PART(...)
#define MARK(...)
#include "schemas/calls.def"
#undef CALL
#undef ALSO
#undef BY_HAND
#undef ALSO_BY_HAND
#undef PART
#undef MARK
	void (*_exit)(int) __attribute__((noreturn));
	void (*_Exit)(int) __attribute__((noreturn));
	void (*quick_exit)(int) __attribute__((noreturn));
	int (*system)(const char *);
	pid_t (*vfork)(void);
	int (*prctl)(int what, ...);
	int (*clone)(int (*fn)(void *), void *stack, int flags, void *arg, ...);
	long (*syscall)(long number, ...);
};

extern struct shim_real real __attribute__((visibility("hidden")));

/* Fill one pointer, by name; real.c. What cannot be had becomes a function
 * that fails with ENOSYS (or the raw system call, before relocation). */
#pragma GCC visibility push(hidden)
COLD void shim_resolve(void *pointer, const char *name);
void shim_resolve_all(void);
#pragma GCC visibility pop

#define NEED(fn)                                                               \
	do {                                                                   \
		if (unlikely(!real.fn))                                        \
			shim_resolve(&real.fn, #fn);                           \
	} while (0)

/* Recording nothing: calls are passed on, for a few instructions. */
#define PASS_IF_OFF(fn, args)                                                  \
	do {                                                                   \
		if (unlikely(!shim_hot.on)) {                                  \
			NEED(fn);                                              \
			return real.fn args;                                   \
		}                                                              \
	} while (0)

/*
 * A whole wrapper: @other does what is done while recording, and for the first
 * call. So a call that is passed on saves no register, which an open and a
 * close, whose code the kernel has pushed out of the caches, would feel.
 */
#define PASS_OR(other, fn, args)                                               \
	return unlikely(shim_hot.on || !real.fn) ? other args : real.fn args

enum shim_call_id {
#define CALL(id, NAME, ...) CALL_##NAME = id,
#define BY_HAND(id, NAME, ...) CALL_##NAME = id,
#define PART(id, NAME, ...) CALL_##NAME = id,
#define MARK(id, NAME, name) MARK_##NAME = id,
#define ALSO(...)
#define ALSO_BY_HAND(...)
#include "schemas/calls.def"
#undef CALL
#undef ALSO
#undef BY_HAND
#undef ALSO_BY_HAND
#undef PART
#undef MARK
};

#endif
