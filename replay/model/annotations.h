/* SPDX-License-Identifier: MIT */
/*
 * What compiling finds out about single calls before it writes them: a list,
 * sorted once by call, then read in step with the streams.
 */
#ifndef REPLAY_MODEL_ANNOTATIONS_H
#define REPLAY_MODEL_ANNOTATIONS_H

#include <stddef.h>
#include <stdint.h>

struct reel_error;

/* A call: the n-th of a stream, from 0, and its end. */
struct call_ref {
	uint32_t stream; /* JOB_NONE: nobody */
	uint32_t call;
	int64_t end_ns;
};

enum annotation_kind {
	ANNOTATION_NONE,   /* taken back */
	ANNOTATION_POST,   /* another stream waits for its end */
	ANNOTATION_WAIT,   /* until stream a has done b calls; 0: is forked */
	ANNOTATION_OBJECT, /* object a has to be behind its descriptor b */
	ANNOTATION_AFTER,  /* once the waits are over, ns go by before it */
	ANNOTATION_APPEAR, /* its file b is there before it: ns bytes, a: a directory */
	ANNOTATION_VANISH,  /* its file is not there any more */
	ANNOTATION_LONGER,  /* its own ns were a wait for somebody outside */
	ANNOTATION_ENTRIES, /* its directory has ns entries before it */
	ANNOTATION_WAITED,  /* of a collective: it waited for ns */
	ANNOTATION_DIRTY,   /* ns bytes of its mapping were changed before it */
	ANNOTATION_FETCH, /* its file has lost a bytes from ns on of the cache;
			* b: they had been there since the start of the job */
};

struct annotation {
	uint32_t stream, call; /* call: counted from 0 in the stream */
	uint32_t a, b;
	int64_t ns;
	uint32_t kind;
	uint32_t order; /* keeps the sort stable */
};

struct annotations {
	struct annotation *mark;
	size_t n, room;
};

/* A copy of @mark. 0, or -1 with @err (REEL_E_MEMORY). */
int annotations_add(struct annotations *m, const struct annotation *mark,
		    struct reel_error *err);
void annotations_sort(struct annotations *m); /* by stream, call, kind */
void annotations_fini(struct annotations *m);

#endif
