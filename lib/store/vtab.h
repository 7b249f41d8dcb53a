/* SPDX-License-Identifier: MIT */
/*
 * Functions shared by the virtual tables. Only vtab*.c use them; they go into
 * ioreel_sqlite.so too.
 */
#ifndef LIB_STORE_VTAB_H
#define LIB_STORE_VTAB_H

#include <stdbool.h>
#include <stdint.h>

#ifdef REEL_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

struct reel_vtab {
	sqlite3_vtab base;
	sqlite3 *db;
	const void *aux; /* of the module */
	bool busy;	 /* reads tables of the store */
	void *own;	 /* of the module; freed with it */
	void (*own_free)(void *own);
};

/* The name of the module of table NAME; an SQLite without it names the file to
 * load in its message: "no such module: ioreel_sqlite_event". */
#define REEL_VTAB_MODULE "ioreel_sqlite_"

/* xConnect and xDisconnect of a module that only reads. @schema, the second
 * argument of xConnect, has to be main: the blocks are read from there. */
int reel_vtab_connect(sqlite3 *db, const char *schema, const char *columns,
		      const void *aux, sqlite3_vtab **out, char **message);
int reel_vtab_disconnect(sqlite3_vtab *tab);

/*
 * Around each read of a table of the store: in a hostile one that table may be a
 * view on this virtual table. Enter returns SQLITE_ERROR, with a message, if @t
 * is being read already.
 */
int reel_vtab_enter(struct reel_vtab *t);
void reel_vtab_leave(struct reel_vtab *t);

/* Returns SQLITE_ERROR, with @why as the message of the table. */
int reel_vtab_fail(sqlite3_vtab *tab, const char *why);

/* The value of an equality on an id, > 0; false: no row can match. */
bool reel_vtab_id(sqlite3_value *v, int64_t *out);

/* Register table `event`. Returns SQLite's result code. */
int reel_vtab_event_register(sqlite3 *db);

#endif
