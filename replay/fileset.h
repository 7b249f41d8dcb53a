/* SPDX-License-Identifier: MIT */
/* The files that the job found, made again in the sandbox. */
#ifndef REPLAY_FILESET_H
#define REPLAY_FILESET_H

#include <signal.h>
#include <stdbool.h>

struct plan;
struct reel_error;
struct sandbox;

/*
 * Make every file, directory and link of @p under @sb: with the sizes they
 * had, filled with pseudo-random bytes that depend on the plan only (a sparse
 * file would read too fast), read back and written to the disk, so that the
 * replay finds them clean in the page cache and used before, or with @cold not
 * there. Space and inodes are looked at first.
 *
 * Shows progress; gives up when *@stop becomes true. 0, or -1 with @err:
 * REEL_E_IO (also "not enough room ...").
 */
int fileset_build(const struct plan *p, const struct sandbox *sb, bool cold,
		  const volatile sig_atomic_t *stop, struct reel_error *err);

#endif
