/* SPDX-License-Identifier: MIT */
/* The calls of a store: those of calls.def, and those that only it names. */
#include "lib/store/call_table.h"

#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/store/store.h"

struct reel_call_table {
	struct reel_call_info named[REEL_CALL_IDS - REEL_CALL_NAMED];
};

struct reel_call_table *reel_call_table_read(struct reel_store *st,
					     struct reel_error *err)
{
	struct reel_call_table *t = reel_alloc(1, sizeof(*t), err);
	sqlite3_stmt *stmt = NULL;
	int step = SQLITE_ERROR;

	if (!t || reel_store_prepare(st, &stmt,
				     "SELECT call_id, name, layer, call_group "
				     "FROM call WHERE call_id >= ? "
				     "AND call_id < ?",
				     err))
		goto out;
	sqlite3_bind_int(stmt, 1, REEL_CALL_NAMED);
	sqlite3_bind_int(stmt, 2, REEL_CALL_IDS);
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct reel_call_info *c =
			&t->named[sqlite3_column_int(stmt, 0) -
				  REEL_CALL_NAMED];
		const char *name = (const char *)sqlite3_column_text(stmt, 1);
		const char *layer = (const char *)sqlite3_column_text(stmt, 2);
		const char *group = (const char *)sqlite3_column_text(stmt, 3);

		if (c->name || !name || !layer || !group)
			continue;
		c->name = reel_strdup(name, err);
		if (!c->name)
			goto out;
		c->layer = reel_layer_of_name(layer);
		c->group = reel_group_of_name(group);
	}
	if (step != SQLITE_DONE)
		reel_fail(err, REEL_E_DB, "cannot read store '%s': %s",
			  st->path, sqlite3_errmsg(st->db));
out:
	sqlite3_finalize(stmt);
	if (step == SQLITE_DONE)
		return t;
	reel_call_table_free(t);
	return NULL;
}

void reel_call_table_free(struct reel_call_table *t)
{
	if (!t)
		return;
	for (int i = 0; i < REEL_CALL_IDS - REEL_CALL_NAMED; i++)
		free((char *)t->named[i].name);
	free(t);
}

int64_t reel_call_table_find(const struct reel_call_table *t, const char *name,
			     int64_t none)
{
	for (int i = 0; i < REEL_CALL_IDS - REEL_CALL_NAMED; i++)
		if (t->named[i].name && !strcmp(t->named[i].name, name))
			return REEL_CALL_NAMED + i;
	return none;
}

const struct reel_call_info *
reel_call_table_info(const struct reel_call_table *t, uint64_t id)
{
	if (id < REEL_CALL_MAX)
		return reel_call_info((unsigned int)id);
	if (id < REEL_CALL_NAMED || id >= REEL_CALL_IDS ||
	    !t->named[id - REEL_CALL_NAMED].name)
		return NULL;
	return &t->named[id - REEL_CALL_NAMED];
}
