/* SPDX-License-Identifier: MIT */
/* The store that a command writes: nothing is left of it when it is
 * interrupted. */
#ifndef CMD_STORE_OUTPUT_H
#define CMD_STORE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct reel_store;

/* A command that fills a store. */
struct store_producer {
	const char *verb;    /* of messages: "cannot VERB 'SOURCE': NOTHING" */
	const char *source;  /* the name of its input */
	const char *nothing; /* why no process is in it */
	/* Fill the fresh @st: the number of events, or -1 with @err. */
	int64_t (*fill)(struct reel_store *st, const void *arg,
			struct reel_error *err);
	const void *arg;
};

/*
 * Create the store @path, let @producer fill it, and finish it; then a line on
 * stderr, unless @quiet: events, time, size. A signal that ends the program
 * removes the unfinished file. 0, or -1 with @err.
 */
int store_output_write(const char *path, const struct store_producer *producer,
		       bool quiet, struct reel_error *err);

#endif
