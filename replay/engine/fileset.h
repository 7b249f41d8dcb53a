/* SPDX-License-Identifier: MIT */
/* Rebuild in the sandbox the files that the job found when it started. */
#ifndef REPLAY_ENGINE_FILESET_H
#define REPLAY_ENGINE_FILESET_H

#include <stdbool.h>
#include <stdint.h>

struct plan;
struct plan_file;
struct reel_error;
struct sandbox;

/* Which files are in the page cache when the replay begins. */
enum fileset_cache {
	FILESET_AS_RECORDED, /* those that were for the job: page_cache.h */
	FILESET_COLD,	     /* none */
	FILESET_WARM,	     /* all */
};

/* Is the data of @f out of the page cache when the replay begins? */
bool fileset_cold(const struct plan_file *f, enum fileset_cache cache);

/* The bytes of @f that are filled: its size less its holes. */
int64_t fileset_filled_bytes(const struct plan *p, const struct plan_file *f);

/*
 * Make every file, directory and link of @p under @sb.
 *
 * Files have the recorded sizes and pseudo-random bytes that depend on the
 * plan only; ranges that the job never used are holes, all others are filled,
 * because a hole is read too fast. Files are written back and read once, so
 * that the replay finds clean and used pages; or none, as @cache says. Space
 * and inodes are checked first.
 *
 * Shows progress; stops after a signal (interrupt.h). 0, or -1 with @err:
 * REEL_E_IO (with "not enough room ..." or "interrupted", too).
 */
int fileset_build(const struct plan *p, const struct sandbox *sb,
		  enum fileset_cache cache, struct reel_error *err);

#endif
