/* SPDX-License-Identifier: MIT */
/*
 * The progress line: on stderr, only on a terminal, only after a second,
 * removed at the end. Respects NO_COLOR, TERM=dumb and the locale.
 */
#ifndef LIB_PROGRESS_H
#define LIB_PROGRESS_H

#include <stdint.h>

/* Zeroed is valid and silent. */
struct reel_progress {
	const char *title; /* "loading train.reel" */
	const char *unit;  /* "events" or "B" */
	uint64_t total;	   /* 0: unknown */
	int64_t start_ns, shown_ns;
	int64_t left_ns; /* estimated by the caller; 0: by the rate so far */
	int width;	 /* 0: silent */
};

/* Start a progress line. Borrows @title and @unit until the stop; @total 0:
 * unknown. */
void reel_progress_start(struct reel_progress *p, const char *title,
			 const char *unit, uint64_t total);
/* Redraw it now and then. Reads the clock: call it once per block. */
void reel_progress_at(struct reel_progress *p, uint64_t done);
/* Remove the line. */
void reel_progress_stop(struct reel_progress *p);

#endif
