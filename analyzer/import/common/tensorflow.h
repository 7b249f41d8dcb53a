/* SPDX-License-Identifier: MIT */
/*
 * The waits of TensorFlow for batches of tf.data, and the steps that follow
 * from them where a profile numbers none: shared by its formats.
 */
#ifndef ANALYZER_IMPORT_TENSORFLOW_H
#define ANALYZER_IMPORT_TENSORFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_gather;
struct reel_error;

struct tensorflow_fetch {
	int64_t start_ns, dur_ns;
	uint32_t thread;
	bool sized; /* the size of the batch is known: there was one */
};

/* Zeroed is empty. */
struct tensorflow_fetches {
	struct tensorflow_fetch *at;
	size_t n, room;
	bool sized; /* any of them */
};

/* Does an event, or an operator, of this name wait for a batch? */
bool tensorflow_is_fetch(const char *name);

int tensorflow_fetches_add(struct tensorflow_fetches *f,
			   const struct tensorflow_fetch *fetch,
			   struct reel_error *err);
/*
 * Spans of the fetches; one that finds the end of the data is none. @steps:
 * each also begins a step, numbered from 0, which lasts to the next one of
 * either sort; the last is left out when none follows. 0, or -1 with @err.
 */
int tensorflow_fetches_put(struct tensorflow_fetches *f,
			   struct import_gather *g, bool steps,
			   struct reel_error *err);
void tensorflow_fetches_fini(struct tensorflow_fetches *f); /* empty again */

#endif
