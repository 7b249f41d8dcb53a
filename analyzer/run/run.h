/* SPDX-License-Identifier: MIT */
/* The RUN argument of the commands: a store, a trace, or a foreign format; and
 * several files of one job. */
#ifndef ANALYZER_RUN_RUN_H
#define ANALYZER_RUN_RUN_H

#include <stdint.h>

#include "analyzer/import/import.h" /* struct reel_import_options */
#include "analyzer/join/join.h"	    /* enum join_method */

struct reel_error;
struct reel_store;

/*
 * Open @run as a store. A trace directory, or a file or folder of a format that
 * an importer knows, is loaded into a temporary store first (in memory when
 * small), with a progress line.
 *
 * Gives *@out for reel_store_close(). 0, or -1 with @err: REEL_E_IO,
 * REEL_E_FORMAT ("'notes.txt' is neither a trace nor a store, nor ..."), REEL_E_DB,
 * REEL_E_MEMORY.
 */
int reel_run_open(struct reel_store **out, const char *run,
		  struct reel_error *err);

struct reel_run_import {
	struct reel_import_options import;
	enum join_method align;
	const int64_t *shift_ns; /* of each source but the first; or NULL */
	int shifts;
};

/*
 * Import the @n files or folders @path of one job into the fresh store @st. Files
 * of one format are one import. Files of several formats, traces and stores are
 * joined: analyzer/join/join.h. The number of events, or -1 with @err:
 * REEL_E_USAGE (the number of shifts) beside those of reel_run_open().
 */
int64_t reel_run_import(struct reel_store *st, char *const *path, int n,
			const struct reel_run_import *options,
			struct reel_error *err);

#endif
