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

#include "analyzer/import/profile/intervals.h"

struct import_gather;
struct reel_error;

/* By the name of an event or operator. Those of the first kind in a file count. */
enum tensorflow_wait {
	TENSORFLOW_FETCH,  /* of an operator that takes a batch */
	TENSORFLOW_LOOP,   /* of a loop inside a graph, whose body is a scan */
	TENSORFLOW_PYTHON, /* of Python for a batch of tf.data */
	TENSORFLOW_LOADER, /* of Python for one of PyTorch's loader */
	TENSORFLOW_REDUCE, /* of another reduction */
	TENSORFLOW_NO_WAIT,
};

struct tensorflow_fetch {
	int64_t start_ns, dur_ns;
	uint32_t thread;
	bool sized; /* the size of the batch is known: there was one */
	enum tensorflow_wait wait;
};

/* Zeroed is empty. */
struct tensorflow_fetches {
	struct tensorflow_fetch *at;
	size_t n, room;
	bool sized;			   /* any of them */
	bool tf_data;			   /* any is of tf.data */
	struct profile_intervals training; /* operators of gradients, or
					    * runs of functions with them */
};

/*
 * Does an event, or an operator, of this name wait for a batch? AutoGraph makes a
 * loop over a data set a reduction of a scan, which runs the body of the loop.
 * Profiles of JAX have the functions of Python, but no events of other frameworks.
 */
enum tensorflow_wait tensorflow_wait_of(const char *name);

/* Has JAX an event of this name, and TensorFlow none? */
bool tensorflow_is_jax(const char *name);
/* The frameworks of a job whose profiles have the names of TensorFlow's; @fetches: of
 * tf.data, which jobs of JAX use, too. */
const char *tensorflow_frameworks(bool jax, bool fetches);

/* Is it an operator of a gradient, as functions that train have, and others not? JSON
 * files, of which TensorFlow leaves out events, may lack them for some steps:
 * tensorflow_runs.h. */
bool tensorflow_trains(const char *name);

int tensorflow_fetches_add(struct tensorflow_fetches *f,
			   const struct tensorflow_fetch *fetch,
			   struct reel_error *err);
/* All are added: sort them, and keep those that count. */
void tensorflow_fetches_settle(struct tensorflow_fetches *f);
/* Then: the first fetch that does not start before @ns. */
size_t tensorflow_fetches_from(const struct tensorflow_fetches *f, int64_t ns);
/* Then: does a fetch from @start_ns to @end_ns find the end of the data, none a batch,
 * and does nothing train there? False where no training is seen at all. */
bool tensorflow_finds_end(const struct tensorflow_fetches *f, int64_t start_ns,
			  int64_t end_ns);
/*
 * Spans of the settled fetches; one that finds the end of the data is none. @steps: each also
 * begins a step, numbered from 0, which lasts to the next one; those of several threads
 * at the same time begin one together. The last is left out when none follows. Where
 * some of them are followed by training, two and more that are not, one behind the
 * other, are an evaluation. 0, or -1 with @err.
 */
int tensorflow_fetches_put(const struct tensorflow_fetches *f,
			   struct import_gather *g, bool steps,
			   struct reel_error *err);
void tensorflow_fetches_fini(struct tensorflow_fetches *f); /* empty again */

#endif
