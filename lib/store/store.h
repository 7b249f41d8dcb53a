/* SPDX-License-Identifier: MIT */
/*
 * The store: one SQLite file, see ioreel-store(5). Written to NAME.tmp and
 * renamed, so that a store never half exists. Events live in compressed column
 * blocks (table event_block), read through reel_events_* in C and through the
 * virtual table `event` in SQL.
 */
#ifndef LIB_STORE_STORE_H
#define LIB_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "lib/store/event.h"

struct reel_error;

#define REEL_STORE_APPLICATION_ID 0x696f7231 /* "ior1" */
#define REEL_STORE_VERSION 3

struct reel_store {
	sqlite3 *db;
	char *path; /* as the user named it */
	char *tmp;  /* not NULL: being written, path does not exist yet */
};

/*
 * Create an empty store that will become @path at reel_store_finish().
 * Gives *@out. Until then only "@path.tmp.PID" exists; reel_store_close()
 * without finish removes it.
 */
int reel_store_create(struct reel_store **out, const char *path,
		      struct reel_error *err);
/*
 * The same without a file: in memory while it is small, and gone at close.
 * @name is what messages call it.
 */
int reel_store_temporary(struct reel_store **out, const char *name,
			 struct reel_error *err);
int reel_store_finish(struct reel_store *st, struct reel_error *err);

/* The name of an SQLite VFS that opens what has a name for reading only. */
const char *reel_store_vfs(void);

/* Open an existing store read-only; the `event` table and views work. */
int reel_store_open(struct reel_store **out, const char *path,
		    struct reel_error *err);
void reel_store_close(struct reel_store *st);

/* Prepare @sql, which is static text from a .sql file or this program. */
int reel_store_prepare(struct reel_store *st, sqlite3_stmt **out,
		       const char *sql, struct reel_error *err);
/* One integer of a query without parameters; *has = false when NULL or none. */
int reel_store_int(struct reel_store *st, const char *sql, int64_t *value,
		   bool *has, struct reel_error *err);

/*
 * Register the virtual tables on @db: event, open_file, file, file_io and
 * span (used by reel_store_open() and by ioreel_sqlite.so). SQLite's result code.
 */
int reel_vtab_register(sqlite3 *db);

/*
 * Events of one thread in the order of their start (thread_id > 0), or of the
 * whole job merged in the order of their end (thread_id 0).
 */
struct reel_events;
int reel_events_open(struct reel_events **out, struct reel_store *st,
		     uint32_t thread_id, struct reel_error *err);
/* 1 and @ev, 0 at the end, -1 with @err. */
int reel_events_next(struct reel_events *it, struct reel_event *ev,
		     struct reel_error *err);
void reel_events_close(struct reel_events *it);

#endif
