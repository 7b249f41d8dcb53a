/* SPDX-License-Identifier: MIT */
/*
 * The store: one SQLite file, see ioreel-store(5). It is written to NAME.tmp and
 * renamed when it is whole. Events live in compressed column
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
#define REEL_STORE_VERSION 7

struct reel_store {
	sqlite3 *db;
	char *path;   /* as the user named it */
	char *target; /* of a new one: path, or the file that this link names */
	char *tmp;    /* not NULL: being written, target is the old file */
};

/*
 * Create an empty store that will become @path at reel_store_finish().
 * Gives *@out. Until then only "@path.tmp.PID" exists; reel_store_close()
 * without finish removes it. A link stays: the file that it names becomes the
 * store.
 */
int reel_store_create(struct reel_store **out, const char *path,
		      struct reel_error *err);
/*
 * Create a store without a file: in memory while it is small, deleted at close.
 * Messages name it @name.
 */
int reel_store_temporary(struct reel_store **out, const char *name,
			 struct reel_error *err);
/* Complete the schema, commit, and rename the file; then the store is read-only.
 * 0, or -1 with @err (REEL_E_DB, REEL_E_IO). */
int reel_store_finish(struct reel_store *st, struct reel_error *err);

/* The name of an SQLite VFS that opens named files for reading only. */
const char *reel_store_vfs(void);

/* Open an existing store read-only; virtual tables and views work. Gives *@out.
 * 0, or -1 with @err. */
int reel_store_open(struct reel_store **out, const char *path,
		    struct reel_error *err);
void reel_store_close(struct reel_store *st);

/* Prepare @sql, static text. Gives *@out. 0, or -1 with @err. */
int reel_store_prepare(struct reel_store *st, sqlite3_stmt **out,
		       const char *sql, struct reel_error *err);
/* Read one integer by a query without parameters; *@has = false: NULL or no row. */
int reel_store_int(struct reel_store *st, const char *sql, int64_t *value,
		   bool *has, struct reel_error *err);

/*
 * Register the modules of the virtual tables event, open_file, file, file_io and
 * span on @db (reel_store_open() and ioreel_sqlite.so do). SQLite's result code.
 */
int reel_vtab_register(sqlite3 *db);

/*
 * Read the events of one thread in the order of their start (thread_id > 0), or of
 * the whole job merged in the order of their end (thread_id 0).
 */
struct reel_events;
int reel_events_open(struct reel_events **out, struct reel_store *st,
		     uint32_t thread_id, struct reel_error *err);
/* 1 and @ev, 0 at the end, -1 with @err. */
int reel_events_next(struct reel_events *it, struct reel_event *ev,
		     struct reel_error *err);
void reel_events_close(struct reel_events *it);

#endif
