/* SPDX-License-Identifier: MIT */
/* The RUN argument of the commands: a store, a trace, or a foreign format. */
#ifndef ANALYZER_RUN_RUN_H
#define ANALYZER_RUN_RUN_H

struct reel_error;
struct reel_store;

/*
 * Open @run as a store. A trace directory, or a file or folder of a format that
 * an importer knows, is loaded into a temporary store first (in memory when
 * small), with a progress line.
 *
 * Gives *@out for reel_store_close(). 0, or -1 with @err: REEL_E_IO,
 * REEL_E_FORMAT ("'notes.txt' is neither a trace nor a store (a trace is a
 * directory that ioreel record made)"), REEL_E_DB, REEL_E_MEMORY.
 */
int reel_run_open(struct reel_store **out, const char *run,
		  struct reel_error *err);

#endif
