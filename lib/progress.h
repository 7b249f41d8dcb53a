/* SPDX-License-Identifier: MIT */
/*
 * The one progress line: on stderr, only on a terminal, only after a second,
 * gone when done. Honours NO_COLOR, TERM=dumb and the locale.
 */
#ifndef LIB_PROGRESS_H
#define LIB_PROGRESS_H

#include <stdint.h>

/* Zeroed is valid and silent. */
struct reel_progress {
	const char *what; /* "loading train.reel" */
	const char *unit; /* "events" or "B" */
	uint64_t total;	  /* 0: not known */
	int64_t start_ns, shown_ns;
	int64_t left_ns; /* as the caller knows it; 0: by the rate so far */
	int width;	 /* 0: silent */
};

/* Borrows @what and @unit until the stop; @total 0: not known. */
void reel_progress_start(struct reel_progress *p, const char *what,
			 const char *unit, uint64_t total);
void reel_progress_at(struct reel_progress *p, uint64_t done); /* cheap: look at
	the clock once in many calls, or call it per block */
void reel_progress_stop(struct reel_progress *p);

#endif
