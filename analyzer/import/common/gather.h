/* SPDX-License-Identifier: MIT */
/*
 * Events and spans of a format that brings its own paths, offsets and threads, in
 * any order: kept in memory, sorted by their ends, and written.
 *
 * Times are ns of the format's clock; time 0 of the store is the first one.
 * Functions that give an id return 0 with @err (REEL_E_MEMORY), the others 0 or
 * -1 with @err.
 */
#ifndef ANALYZER_IMPORT_GATHER_H
#define ANALYZER_IMPORT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/write/writer.h"

struct import_gather;
struct reel_error;

/*
 * Events, and processes that are new, are of source @id from now on: the row of
 * each source gets their counts.
 */
int gather_source(struct import_gather *g, uint32_t id, struct reel_error *err);

/* Borrows the writer. Gives *@out. */
int gather_new(struct import_gather **out, struct reel_writer *w,
	       struct reel_error *err);
void gather_free(struct import_gather *g);

/*
 * The process with @key, which the format chooses (a rank, a pid); made when it
 * is new. gather_process_row() is its row, to be filled by the caller; its start,
 * end and events are counted. Its texts are borrowed until gather_finish():
 * gather_keep() gives copies that live as long.
 */
uint32_t gather_process(struct import_gather *g, uint64_t key,
			struct reel_error *err);
/* Their number. */
uint32_t gather_processes(const struct import_gather *g);
struct reel_writer_process *gather_process_row(struct import_gather *g,
					       uint32_t process);
/* @process is a child of the process with the pid @parent on the same host. If that
 * one fetches batches meanwhile, and the child runs the same command and reads, it
 * is a loader worker. */
void gather_parent(struct import_gather *g, uint32_t process, int64_t parent);
/* A copy of @text that lives as long as @g. NULL with @err. */
const char *gather_keep(struct import_gather *g, const char *text,
			struct reel_error *err);
/* The thread @tid of @process. */
uint32_t gather_thread(struct import_gather *g, uint32_t process, int64_t tid,
		       struct reel_error *err);
uint32_t gather_host(struct import_gather *g, const char *name,
		     struct reel_error *err);
/* The file of @path, which is copied. */
uint32_t gather_file(struct import_gather *g, const char *path, size_t len,
		     enum reel_kind kind, struct reel_error *err);

/* A POSIX, STDIO or MPI-IO event: call, thread, file, times, offset, asked,
 * result, err are the caller's; the rest is filled. Copied. */
int gather_event(struct import_gather *g, const struct reel_event *ev,
		 struct reel_error *err);
/* The same for a span: parent and id are found. @name: a user's, copied; NULL. */
int gather_span(struct import_gather *g, const struct reel_span_event *sp,
		const char *name, struct reel_error *err);
/*
 * Fetches are waits of the thread that has the steps, or without steps of those
 * that compute: another thread that fetches prepares batches, and its fetches become
 * spans of the user. Not for formats where a framework fetches in threads of its own.
 */
void gather_fetches_of_loop(struct import_gather *g);
/* Spans of preprocessing are batches. Else those of loader workers become spans of the
 * user, as metrics take them for whole batches: most tools mark each sample. */
void gather_batches(struct import_gather *g);
/* Does @thread only prepare batches, by the spans so far? */
bool gather_prepares(const struct import_gather *g, uint32_t thread);
/* Time 0, when it is before the first event: the start of the job. */
void gather_origin(struct import_gather *g, int64_t ns);

/* Write all of it, and finish the writer. Times of @run are the format's. */
int gather_finish(struct import_gather *g, struct reel_writer_run *run,
		  struct reel_error *err);

#endif
