/* SPDX-License-Identifier: MIT */
/* Work that needs a descriptor for a moment, hidden from the program. */
#ifndef PRELOAD_CORE_PRIVATE_FDS_H
#define PRELOAD_CORE_PRIVATE_FDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Run @fn(@arg), which opens and closes files, with all signals blocked. If the
 * process has other threads, it runs in a clone with a private descriptor
 * table; if it then fails because of RLIMIT_NOFILE or RLIMIT_FSIZE, in a child
 * with limits of its own. Returns the result of @fn.
 */
bool shim_run_private_fds(bool (*fn)(void *), void *arg);

/* Has the process other threads than the calling one, or is it unknown? */
bool shim_has_other_threads(void);

/* Make no clone from now on: the program restricts its system calls. */
void shim_private_fds_forbid(void);

/*
 * Block all signals but SIGSYS, which a seccomp filter of the program may
 * raise, and exempt our system calls from --complete; until the release.
 */
struct shim_held {
	uint64_t signals;
	char selector;
};

/*
 * Syscall user dispatch of this thread (--complete): BLOCK turns system calls
 * from outside libc into SIGSYS, async/syscall_dispatch.c. Ours are made with
 * ALLOW.
 */
#define SHIM_DISPATCH_ALLOW 0
#define SHIM_DISPATCH_BLOCK 1
extern _Thread_local volatile char shim_selector
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

void shim_signals_hold(struct shim_held *before);
void shim_signals_release(const struct shim_held *before);

#endif
