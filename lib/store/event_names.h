/* SPDX-License-Identifier: MIT */
/*
 * The names of the ids in events: threads, calls and files of a store, in memory.
 * Texts stay where they are until reel_event_names_free(), so that SQLite takes
 * them without a copy. This file goes into ioreel_sqlite.so too.
 */
#ifndef LIB_STORE_EVENT_NAMES_H
#define LIB_STORE_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;

struct reel_name {
	const char *text; /* NULL: none */
	int len;
};

struct reel_event_thread {
	int64_t thread, process, pid, tid;
};

struct reel_event_call {
	int64_t call;
	struct reel_name name, layer, group;
};

struct reel_event_file {
	struct reel_name path;
	const char *kind, *class_;
	bool passing; /* the path is valid until the next look-up only */
};

struct reel_event_names;

/* Read the names of the store @db, or NULL with @why. Borrows @db. */
struct reel_event_names *reel_event_names_new(struct sqlite3 *db,
					      const char **why);
void reel_event_names_free(void *names); /* takes NULL */

/* All threads by id, all calls by id. */
const struct reel_event_thread *
reel_event_names_threads(const struct reel_event_names *n, size_t *count);
const struct reel_event_call *
reel_event_names_calls(const struct reel_event_names *n, size_t *count);

/* NULL: the store has none of that id. */
const struct reel_event_thread *
reel_event_names_thread(const struct reel_event_names *n, int64_t id);
const struct reel_event_call *
reel_event_names_call(const struct reel_event_names *n, int64_t id);
/* For each id below REEL_EVENT_CALLS, and REEL_EVENT_CALLS for any other: 1 if the
 * call moves bytes, else 0. */
#define REEL_EVENT_CALLS 65536
const uint8_t *reel_event_names_moves(const struct reel_event_names *n);
/* The file @id; its path is NULL if the store has none. 0, or -1 with @why. */
int reel_event_names_file(struct reel_event_names *n, int64_t id,
			  struct reel_event_file *out, const char **why);
/* Call @each for every file until it returns -1; its path is only valid there. 0,
 * or -1 with @why. */
int reel_event_names_each_file(struct reel_event_names *n,
			       int (*each)(void *arg, int64_t id,
					   const struct reel_event_file *file),
			       void *arg, const char **why);

#endif
