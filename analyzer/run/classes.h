/* SPDX-License-Identifier: MIT */
/* A run with the calls on files of some classes only: a benchmark does the I/O on
 * data and checkpoints, the job beside it reads settings and writes logs. */
#ifndef ANALYZER_RUN_CLASSES_H
#define ANALYZER_RUN_CLASSES_H

#include <stdint.h>

struct reel_error;
struct reel_store;

/*
 * Read "data,checkpoint" into the bits 1 << enum reel_class of *@out. 0, or -1
 * with @err (REEL_E_USAGE).
 */
int reel_run_parse_classes(const char *words, uint32_t *out,
			   struct reel_error *err);

/*
 * Replace *@st by a temporary store of the calls on files of @classes, with its
 * metrics. The spans stay. 0, or -1 with @err: REEL_E_DB, REEL_E_MEMORY,
 * REEL_E_IO; *@st is for reel_store_close() either way.
 */
int reel_run_keep_classes(struct reel_store **st, uint32_t classes,
			  struct reel_error *err);

#endif
