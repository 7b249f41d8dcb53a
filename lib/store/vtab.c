/* SPDX-License-Identifier: MIT */
/*
 * Functions shared by the virtual tables.
 *
 * A store declares them by CREATE VIRTUAL TABLE (schemas/). They work wherever
 * the modules are registered (vtab_tables.c), and read tables of schema main.
 */
#include "lib/store/vtab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int reel_vtab_connect(sqlite3 *db, const char *schema, const char *columns,
		      const void *aux, sqlite3_vtab **out, char **message)
{
	struct reel_vtab *t;
	int rc;

	if (strcmp(schema, "main")) {
		*message = sqlite3_mprintf(
			"the blocks of the attached store '%s' cannot be read: "
			"open it as the main database",
			schema);
		return SQLITE_ERROR;
	}
	rc = sqlite3_declare_vtab(db, columns);
	if (rc != SQLITE_OK)
		return rc;
	/* read-only: views of an untrusted store may use it */
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->db = db;
	t->aux = aux;
	*out = &t->base;
	return SQLITE_OK;
}

int reel_vtab_disconnect(sqlite3_vtab *tab)
{
	struct reel_vtab *t = (struct reel_vtab *)tab;

	if (t->own_free)
		t->own_free(t->own);
	free(t);
	return SQLITE_OK;
}

int reel_vtab_enter(struct reel_vtab *t)
{
	if (t->busy)
		return reel_vtab_fail(&t->base,
				      "a table of the store is made of itself");
	t->busy = true;
	return SQLITE_OK;
}

void reel_vtab_leave(struct reel_vtab *t)
{
	t->busy = false;
}

int reel_vtab_fail(sqlite3_vtab *tab, const char *why)
{
	sqlite3_free(tab->zErrMsg);
	tab->zErrMsg = sqlite3_mprintf("%s", why);
	return SQLITE_ERROR;
}

bool reel_vtab_id(sqlite3_value *v, int64_t *out)
{
	if (sqlite3_value_numeric_type(v) == SQLITE_FLOAT) {
		double d = sqlite3_value_double(v);

		if (!(d >= 1 && d <= UINT32_MAX) || d != floor(d))
			return false;
		*out = (int64_t)d;
		return true;
	}
	if (sqlite3_value_numeric_type(v) != SQLITE_INTEGER)
		return false;
	*out = sqlite3_value_int64(v);
	return *out >= 1;
}
