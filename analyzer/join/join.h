/* SPDX-License-Identifier: MIT */
/*
 * Sources of one job joined into one store: a storage log and a profile of a
 * framework, on one clock.
 */
#ifndef ANALYZER_JOIN_JOIN_H
#define ANALYZER_JOIN_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;
struct reel_event;
struct reel_open_row;
struct reel_store;

/* The method that puts the times of a source on the clock of the first one. */
enum join_method {
	JOIN_ANY,     /* the first of the following that works */
	JOIN_CLOCKS,  /* both have the time of day */
	JOIN_ANCHORS, /* spans of the same names in both */
	JOIN_READS,   /* reads of one beside fetch spans of the other */
};

struct join_source {
	struct reel_store *st; /* borrowed, open for reading */
	const char *name;      /* as the user named it; borrowed */
	const char *format;    /* when the store has no sources: "ioreel" */
};

/* Changes to the only source while it is copied: a replay needs more than formats
 * have. Ids and times are those of the source. */
struct join_patch {
	/* Change an event; false: leave it out. */
	bool (*event)(void *arg, struct reel_event *ev);
	void *arg;
	/* Events without duration to add, in the order of their times: at one
	 * time opens are before the others, closes behind. */
	const struct reel_event *made;
	size_t mades;
	const struct reel_open_row *open; /* rows of open files */
	size_t opens;
};

struct join_options {
	enum join_method method;
	/* For each source but the first: added to its times, on the clock of its
	 * store, for the clock of the first one. NULL: found by @method. */
	const int64_t *shift_ns;
	const struct join_patch *patch; /* NULL: none */
};

#define JOIN_SOURCES_MOST 64

/*
 * Join @n sources into the fresh store @out, which the caller finishes. Each is
 * aligned to the first. A process that two sources have becomes one row; of
 * events and of spans of a kind that both have for it, those of the earlier
 * source count. Returns the number of events, or -1 with @err: REEL_E_FORMAT
 * ("cannot align ...") beside those of the writer.
 */
int64_t reel_join(struct reel_store *out, const struct join_source *source,
		  int n, const struct join_options *options,
		  struct reel_error *err);

#endif
