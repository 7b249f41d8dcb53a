/* SPDX-License-Identifier: MIT */
/*
 * Findings of the first compiler pass about single calls: a list, sorted once
 * by call, then read in step with the streams by the second pass.
 */
#ifndef REPLAY_MODEL_ANNOTATIONS_H
#define REPLAY_MODEL_ANNOTATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;

/* A call: the index-th of a stream, from 0, and when it ended. */
struct call_ref {
	uint32_t stream; /* JOB_NONE: no call */
	uint32_t index;
	int64_t end_ns;
};

enum annotation_kind {
	ANNOTATION_NONE,	    /* withdrawn */
	ANNOTATION_POST,	    /* another stream waits for its end */
	ANNOTATION_WAIT,	    /* it waits for another stream: wait */
	ANNOTATION_OBJECT,	    /* a descriptor needs an object: object */
	ANNOTATION_DELAY,	    /* ns of think time, after the waits */
	ANNOTATION_APPEAR,	    /* its path is made before it: appear */
	ANNOTATION_VANISH,	    /* its path is removed before it */
	ANNOTATION_EXTERNAL_WAIT,   /* ns of it: a wait for another program */
	ANNOTATION_ENTRIES,	    /* its directory has ns entries before it */
	ANNOTATION_COLLECTIVE_WAIT, /* ns of a collective: a wait for ranks */
	ANNOTATION_DIRTY, /* ns bytes of its mapping are dirtied before it */
	ANNOTATION_FETCH, /* bytes leave the page cache before it: fetch */
};

struct annotation {
	uint32_t stream, call; /* call: its index in the stream */
	union {
		/* Until @stream has done @calls calls; 0: it is forked. */
		struct {
			uint32_t stream, calls;
		} wait;
		/* Index of a plan object, for the descriptor @fd. */
		struct {
			uint32_t index, fd;
		} object;
		struct {
			uint32_t is_dir, file;
		} appear;
		/* @cached: the job had read or written there before. */
		struct {
			uint32_t bytes, cached;
		} fetch;
	};
	int64_t ns; /* or bytes, entries, the offset of a fetch */
	uint32_t kind;
	uint32_t order; /* keeps the sort stable */
};
_Static_assert(sizeof(struct annotation) == 32, "there are many");

struct annotations {
	struct annotation *list;
	uint32_t n, room;
};

/* Append a copy of @annotation. 0, or -1 with @err (REEL_E_MEMORY). */
int annotations_add(struct annotations *a, const struct annotation *annotation,
		    struct reel_error *err);
void annotations_sort(struct annotations *a); /* by stream, call, kind */
void annotations_fini(struct annotations *a);

#endif
