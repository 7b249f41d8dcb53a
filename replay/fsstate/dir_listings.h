/* SPDX-License-Identifier: MIT */
/*
 * The number of entries that a directory had each time the job listed it.
 *
 * A trace has the number of entries that a listing returned, not their names.
 * Many of them were never used by a recorded call: unread data, code, sockets,
 * files of other programs. The replay adds as many placeholder entries as are
 * missing before it lists a directory.
 */
#ifndef REPLAY_FSSTATE_DIR_LISTINGS_H
#define REPLAY_FSSTATE_DIR_LISTINGS_H

#include <stdint.h>

#include "replay/model/annotations.h"

struct job;
struct reel_error;
struct reel_event;

struct listings;

/* Borrows both for its life. Gives *@out for listings_free(). 0, or -1. */
int listings_new(struct listings **out, const struct job *job,
		 struct annotations *annotations, struct reel_error *err);
void listings_free(struct listings *l);

/* The directory @dir (a file id) was created, empty. */
void listings_dir_created(struct listings *l, uint32_t dir);

/* @dir got @n entries; no other function counts them. */
void listings_add_entries(struct listings *l, uint32_t dir, int n);

/*
 * A path in @dir is found for the first time: count it as an initial entry.
 * Returns 0 when it cannot be one, because a listing returned no more entries
 * than those counted already.
 */
int listings_take_initial(struct listings *l, uint32_t dir);

/* @call removes @dir: placeholder entries have to be removed first. */
int listings_dir_removed(struct listings *l, uint32_t dir,
			 const struct call_ref *call, struct reel_error *err);

/* @call is a READDIR or a SCANDIR without an error. */
int listings_event(struct listings *l, const struct reel_event *ev,
		   const struct call_ref *call, struct reel_error *err);

/* @open is closed or rewound: an unfinished listing is a lower bound. */
int listings_end(struct listings *l, uint32_t open, struct reel_error *err);

/* Entries of @dir before the job, with "." and "..", at least; -1: any. */
int64_t listings_initial_entries(const struct listings *l, uint32_t dir);

#endif
