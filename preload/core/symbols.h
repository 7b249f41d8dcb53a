/* SPDX-License-Identifier: MIT */
/*
 * The real functions behind the wrappers: one pointer for each exported symbol,
 * from calls.def.
 *
 * A pointer is NULL until it is resolved, not a stub: NULL needs no relocation,
 * so one test covers both a call before the constructor and a call before this
 * library is relocated (an IFUNC resolver of a program linked with -z now).
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
#include "schemas/calls.def"
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

/* Resolve one pointer by its name. If there is no such function, it gets one
 * that fails with ENOSYS; before relocation, a raw system call. */
#pragma GCC visibility push(hidden)
COLD void shim_resolve(void *pointer, const char *name);
void shim_resolve_all(void);
#pragma GCC visibility pop

/* By a loop: strcmp() needs relocation, and costs more for short names. */
static inline bool shim_same_text(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The result of a raw system call as libc returns it: -1 with errno. */
static inline long shim_libc_result(long r)
{
	if (r < 0 && r >= -4095) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

#define NEED(fn)                                                               \
	do {                                                                   \
		if (unlikely(!real.fn))                                        \
			shim_resolve(&real.fn, #fn);                           \
	} while (0)

/* While nothing is recorded, a call costs a few instructions more. */
#define PASS_IF_OFF(fn, args)                                                  \
	do {                                                                   \
		if (unlikely(!shim_hot.on)) {                                  \
			NEED(fn);                                              \
			return real.fn args;                                   \
		}                                                              \
	} while (0)

/* The same for a call that is not recorded under @condition. */
#define PASS_WHEN(condition, fn, args)                                         \
	do {                                                                   \
		NEED(fn);                                                      \
		if (unlikely(condition))                                       \
			return real.fn args;                                   \
	} while (0)

/* Make a call; its times go to start and end. */
#define TIMED(...)                                                             \
	do {                                                                   \
		start = shim_clock();                                          \
		__VA_ARGS__;                                                   \
		end = shim_clock();                                            \
	} while (0)

/*
 * The body of a wrapper: @other handles the first call and all calls while
 * recording. So a call that is only passed on saves no registers, which counts
 * for open() and close(): their code is cold after each system call.
 */
#define PASS_OR(other, fn, args)                                               \
	return unlikely(shim_hot.on || !real.fn) ? other args : real.fn args

enum shim_call_id {
#define CALL(id, NAME, ...) CALL_##NAME = id,
#define BY_HAND(id, NAME, ...) CALL_##NAME = id,
#define PART(id, NAME, ...) CALL_##NAME = id,
#define MARK(id, NAME, name) MARK_##NAME = id,
#include "schemas/calls.def"
};

#endif
