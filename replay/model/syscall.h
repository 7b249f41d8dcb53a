/* SPDX-License-Identifier: MIT */
/*
 * System calls without libc, for the engine's own work between the calls of
 * the job. The shim wraps symbols of libc only, so none of them is in the trace
 * of a replay.
 *
 * Each returns the result of the kernel, or -errno.
 */
#ifndef REPLAY_MODEL_SYSCALL_H
#define REPLAY_MODEL_SYSCALL_H

#include "schemas/syscall.h"

#define RAW_GET(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define RAW1(n) raw6(n, 0, 0, 0, 0, 0, 0)
#define RAW2(n, a) raw6(n, (long)(a), 0, 0, 0, 0, 0)
#define RAW3(n, a, b) raw6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define RAW4(n, a, b, c) raw6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RAW5(n, a, b, c, d)                                                    \
	raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define RAW6(n, a, b, c, d, e)                                                 \
	raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define RAW7(n, a, b, c, d, e, f)                                              \
	raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),         \
	     (long)(f))

/* raw(SYS_close, fd) */
#define raw(...)                                                               \
	RAW_GET(__VA_ARGS__, RAW7, RAW6, RAW5, RAW4, RAW3, RAW2, RAW1, )       \
	(__VA_ARGS__)

#endif
