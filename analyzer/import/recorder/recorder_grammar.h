/* SPDX-License-Identifier: MIT */
/*
 * Recorder's compression of a rank's calls: signatures, each of which is there
 * once, and a grammar (Sequitur) that gives their order.
 */
#ifndef ANALYZER_IMPORT_RECORDER_GRAMMAR_H
#define ANALYZER_IMPORT_RECORDER_GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/import/recorder/recorder_file.h"

struct recorder_call;
struct reel_error;

/* Zeroed is empty. Signatures are found by terminal. */
struct recorder_signatures {
	struct recorder_file file;
	uint32_t *at; /* of the key in the file; 0: there is none */
	uint32_t n;
};

/* Take @f over, even on failure. @ranked: entries have a rank and a count. 0, or
 * -1 with @err: REEL_E_FORMAT, REEL_E_MEMORY. */
int recorder_signatures_read(struct recorder_signatures *s,
			     struct recorder_file *f, bool ranked,
			     struct reel_error *err);
void recorder_signatures_fini(struct recorder_signatures *s);
/* Arguments and thread of the call with @terminal; its function's number. False:
 * there is none. */
bool recorder_signature(const struct recorder_signatures *s, uint32_t terminal,
			struct recorder_call *call, unsigned int *function);

/* Each terminal; not 0: stop, and give that back. */
typedef int recorder_terminal_fn(void *arg, uint32_t terminal,
				 struct reel_error *err);
/*
 * Give the terminals of the grammar @f in their order. The work grows with the
 * terminals given. 0, what @each gave, or -1 with @err.
 */
int recorder_grammar_walk(const struct recorder_file *f,
			  recorder_terminal_fn *each, void *arg,
			  struct reel_error *err);

#endif
