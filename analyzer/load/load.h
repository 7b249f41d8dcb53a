/* SPDX-License-Identifier: MIT */
/* Traces into a store. */
#ifndef ANALYZER_LOAD_LOAD_H
#define ANALYZER_LOAD_LOAD_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct reel_ranks;
struct reel_store;

/* Zeroed: the defaults. */
struct reel_load_options {
	int threads; /* 0: as many as there are processors and as help */
	const struct reel_ranks *ranks; /* analyzer/write/ranks.h; or NULL */
	bool counts_only; /* without events, open files, spans and most
			     metrics: v_summary's events, calls, files and
			     bytes, and the notes, at a fifth of the cost */
};

/*
 * Load the trace directory @dir into the fresh store @st: dimensions, event
 * blocks, spans, losses, and every metric's rollups. Damage is counted in
 * table loss; only a trace that is unreadable as a whole fails. The bytes of the
 * store are the same for every number of threads. @options NULL: the defaults.
 *
 * Returns the number of events (>= 0), or -1 with @err: REEL_E_IO,
 * REEL_E_FORMAT, REEL_E_VERSION, REEL_E_DB, REEL_E_MEMORY.
 */
int64_t reel_load(struct reel_store *st, const char *dir,
		  const struct reel_load_options *options,
		  struct reel_error *err);

#endif
