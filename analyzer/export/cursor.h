/* SPDX-License-Identifier: MIT */
/*
 * One cursor over all events and spans of a run, in the order of their ends:
 * the input of every exporter.
 *
 * Paths, processes and threads are held in memory, events are not.
 */
#ifndef ANALYZER_EXPORT_CURSOR_H
#define ANALYZER_EXPORT_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/store/event.h"

struct reel_error;
struct reel_store;

struct export_process {
	int64_t process_id, pid, rank; /* rank -1: none */
	int64_t parent_id, parent_pid; /* 0: no process of the run */
	char *command, *host;	       /* "": not known */
};

struct export_thread {
	int64_t thread_id, tid;
	const struct export_process *process;
};

struct export_record {
	bool is_span;
	int64_t start_ns, dur_ns; /* since the job's first event */
	const struct export_thread *thread;
	/* An event. Paths: NULL without a file. */
	struct reel_event event;
	const char *call, *path, *path2;
	/* A span. */
	int64_t span_id, detail; /* detail -1: none */
	const char *name;
	bool closed;
};

struct export_cursor;

/*
 * Open the records of @st (borrowed) that overlap the time from @from_ns to
 * @to_ns. Gives *@out. 0, or -1 with @err.
 */
int export_cursor_open(struct export_cursor **out, struct reel_store *st,
		       int64_t from_ns, int64_t to_ns, struct reel_error *err);
/* 1 and @rec, whose texts are borrowed until the next call; 0 at the end; -1
 * with @err. */
int export_cursor_next(struct export_cursor *c, struct export_record *rec,
		       struct reel_error *err);
void export_cursor_close(struct export_cursor *c);

/* The processes and the threads of the run, in the order of their ids. */
int64_t export_processes(const struct export_cursor *c,
			 const struct export_process **out);
int64_t export_threads(const struct export_cursor *c,
		       const struct export_thread **out);

#endif
