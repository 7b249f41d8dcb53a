/* SPDX-License-Identifier: MIT */
/* A run with the calls on files of some classes only: a benchmark does the I/O on
 * data and checkpoints, the job beside it reads settings and writes logs. */
#ifndef ANALYZER_RUN_CLASSES_H
#define ANALYZER_RUN_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;
struct reel_store;

#define REEL_RUN_ALL_CLASSES UINT32_MAX

/* The job of a store that ioreel run wrote. */
#define REEL_RUN_BENCHMARK "{\"made_by\":\"ioreel run\"}"

/*
 * Read "data,checkpoint" into the bits 1 << enum reel_class of *@out; "all" is
 * REEL_RUN_ALL_CLASSES. 0, or -1 with @err (REEL_E_USAGE).
 */
int reel_run_parse_classes(const char *words, uint32_t *out,
			   struct reel_error *err);

/*
 * The classes to compare where no one says: those of a benchmark, data and
 * checkpoints, where some of the @n stores are of ioreel run and some are not; else
 * all. 0, or -1 with @err (REEL_E_DB).
 */
int reel_run_default_classes(struct reel_store *const *st, size_t n,
			     uint32_t *out, struct reel_error *err);

/*
 * Replace *@st by a temporary store of the calls on files of @classes, with its
 * metrics. The spans stay. 0, or -1 with @err: REEL_E_DB, REEL_E_MEMORY,
 * REEL_E_IO; *@st is for reel_store_close() either way.
 */
int reel_run_keep_classes(struct reel_store **st, uint32_t classes,
			  struct reel_error *err);

#endif
