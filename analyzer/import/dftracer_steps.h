/* SPDX-License-Identifier: MIT */
/*
 * DFTracer's application events as spans: the meaning of their names, and the
 * steps that follow from fetches and computation.
 */
#ifndef ANALYZER_IMPORT_DFTRACER_STEPS_H
#define ANALYZER_IMPORT_DFTRACER_STEPS_H

#include <stddef.h>
#include <stdint.h>

struct import_gather;
struct dftracer_meaning;
struct reel_error;
struct trace_event;

/* An event of a training loop. */
enum dftracer_mark_kind {
	DFTRACER_EPOCH,
	DFTRACER_NEXT,	/* the data loader's iterator is made */
	DFTRACER_FETCH, /* a wait for a batch, recorded as such */
	DFTRACER_BODY,	/* the body of a loop over batches */
	DFTRACER_READY, /* a batch has arrived */
	DFTRACER_COMPUTE,
	DFTRACER_CHECKPOINT,
	DFTRACER_DONE, /* the data loader is finalized */
};

struct dftracer_mark {
	enum dftracer_mark_kind kind;
	uint32_t thread;
	int64_t start_ns, end_ns;
	int64_t epoch, step; /* -1: not known */
};

#define DFTRACER_WORDS 256 /* names of spans that are kept, by hash */

/* The name of a span, "category:name", and what it means: NULL, nothing. */
struct dftracer_word {
	char *text;
	size_t category_len;
	const struct dftracer_meaning *meaning;
};

/* Zeroed is empty. */
struct dftracer_marks {
	struct dftracer_mark *mark;
	size_t marks, room;
	struct dftracer_word word[DFTRACER_WORDS];
};

/* Add the span of @ev, an event of an application in @thread; events that
 * show steps are kept in @m. 0, or -1 with @err (REEL_E_MEMORY). */
int dftracer_add_span(struct dftracer_marks *m, struct import_gather *g,
		      const struct trace_event *ev, uint32_t thread,
		      struct reel_error *err);

/*
 * Add the epochs, and the steps of each thread.
 *
 * A step begins with a fetch and ends with the last computation, or body of the
 * loop, before the next fetch. DLIO's loop leaves out the fetch of an epoch's last
 * step, which lasts from the end of the step before to the arrival of its batch.
 * DLIO without spans of its loop has no fetches:
 * there a fetch begins when the data loader is asked for its first batch, or when
 * the computation (and the checkpoint) before it ends, and ends where the next
 * computation begins.
 */
int dftracer_add_steps(struct dftracer_marks *m, struct import_gather *g,
		       struct reel_error *err);
void dftracer_marks_fini(struct dftracer_marks *m);

#endif
