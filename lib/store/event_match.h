/* SPDX-License-Identifier: MIT */
/*
 * Conditions of a query on names of events, evaluated once for each thread, call
 * or file of the store: the ids that match are sets for the scan.
 *
 * A condition that cannot be decided here matches all; SQLite checks such rows
 * again. This file goes into ioreel_sqlite.so too.
 */
#ifndef LIB_STORE_EVENT_MATCH_H
#define LIB_STORE_EVENT_MATCH_H

#include "lib/store/event_names.h"
#include "lib/store/event_scan.h"
#include "lib/store/vtab.h"

enum reel_match_of {
	REEL_MATCH_NOTHING,
	REEL_MATCH_START, /* the time, no name */
	REEL_MATCH_THREAD,
	REEL_MATCH_PROCESS,
	REEL_MATCH_PID,
	REEL_MATCH_TID,
	REEL_MATCH_CALL_ID,
	REEL_MATCH_CALL,
	REEL_MATCH_LAYER,
	REEL_MATCH_GROUP,
	REEL_MATCH_FILE_ID,
	REEL_MATCH_PATH,
	REEL_MATCH_CLASS,
	REEL_MATCH_KIND,
};

/* Values of text, not numbers. */
static inline bool reel_match_is_text(enum reel_match_of of)
{
	return (of >= REEL_MATCH_CALL && of <= REEL_MATCH_GROUP) ||
	       of >= REEL_MATCH_PATH;
}

#define REEL_MATCH_EQUAL '='
#define REEL_MATCH_IN '@' /* one of a list, given as a whole */
#define REEL_MATCH_LIKE '~'
#define REEL_MATCH_GLOB '*'

struct reel_match_value {
	int64_t number;
	struct reel_name text;
};

struct reel_match {
	enum reel_match_of of;
	char op;
	bool any; /* undecided: matches all */
	struct reel_match_value *value;
	size_t values, room;
};

/* Take the value @v of a condition; texts are borrowed until
 * reel_match_fini(). SQLite's result code. */
int reel_match_init(struct reel_match *m, enum reel_match_of of, char op,
		    sqlite3_value *v);
void reel_match_fini(struct reel_match *m);

/* Add the ids that match all of @m to the sets of @w, which are empty. 0, or -1
 * with @why. */
int reel_match_ids(const struct reel_match *m, size_t n,
		   struct reel_event_names *names, struct reel_event_wanted *w,
		   const char **why);

#endif
