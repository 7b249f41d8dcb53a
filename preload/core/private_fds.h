/* SPDX-License-Identifier: MIT */
/* Work that needs a descriptor for a moment, and nobody may notice. */
#ifndef PRELOAD_CORE_PRIVATE_FDS_H
#define PRELOAD_CORE_PRIVATE_FDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * @fn(@arg), which opens files and closes them, with all signals blocked. Where
 * the process has other threads, in one with a table of descriptors of its own;
 * where it has used up its descriptors, or has lowered the size that its files
 * may have, in a child with limits of its own.
 */
bool shim_run_private_fds(bool (*fn)(void *), void *arg);

/* Has the process another thread than the calling one, or is that not known? */
bool shim_has_other_threads(void);

/* No such child from now on: the program restricts its system calls. */
void shim_private_fds_forbid(void);

/*
 * Between the two no signal handler of the program runs, but one of a filter of
 * its own for system calls, and ours go past --complete.
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
