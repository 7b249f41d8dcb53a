/* SPDX-License-Identifier: MIT */
/* The calls of a store: those of calls.def, and those that only it names. */
#ifndef LIB_STORE_CALL_TABLE_H
#define LIB_STORE_CALL_TABLE_H

#include "lib/calls.h"

struct reel_error;
struct reel_store;
struct reel_call_table;

/* Read table call of @st. NULL with @err: REEL_E_DB, REEL_E_MEMORY. */
struct reel_call_table *reel_call_table_read(struct reel_store *st,
					     struct reel_error *err);
void reel_call_table_free(struct reel_call_table *t);
/* Borrowed from @t; NULL: neither has @id. */
const struct reel_call_info *
reel_call_table_info(const struct reel_call_table *t, uint64_t id);
/* The id of the call @name that calls.def lacks; @none: @t does not have it. */
int64_t reel_call_table_find(const struct reel_call_table *t, const char *name,
			     int64_t none);

#endif
