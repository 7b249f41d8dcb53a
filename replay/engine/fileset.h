/* SPDX-License-Identifier: MIT */
/* The files that the job found, made again in the sandbox. */
#ifndef REPLAY_ENGINE_FILESET_H
#define REPLAY_ENGINE_FILESET_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct plan;
struct plan_file;
struct reel_error;
struct sandbox;

/* Which files are in the page cache when the replay begins. */
enum fileset_cache {
	FILESET_AS_RECORDED, /* those that the job found there: residency.h */
	FILESET_COLD,	     /* none */
	FILESET_WARM,	     /* all */
};

/* Is it of @f? */
bool fileset_cold(const struct plan_file *f, enum fileset_cache cache);

/* Of the size of @f: what is no hole. */
int64_t fileset_filled_bytes(const struct plan *p, const struct plan_file *f);

/*
 * Make every file, directory and link of @p under @sb: with the sizes they
 * had, filled with pseudo-random bytes that depend on the plan only (a hole would
 * be read too fast), but for holes where the job used nothing, read back and written to the disk, so that the
 * replay finds them clean in the page cache and used before, or not there, as
 * @cache says. Space and inodes are looked at first.
 *
 * Shows progress; gives up when *@stop becomes true. 0, or -1 with @err:
 * REEL_E_IO (also "not enough room ...").
 */
int fileset_build(const struct plan *p, const struct sandbox *sb,
		  enum fileset_cache cache, const volatile sig_atomic_t *stop,
		  struct reel_error *err);

#endif
