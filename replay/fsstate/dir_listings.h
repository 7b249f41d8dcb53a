/* SPDX-License-Identifier: MIT */
/*
 * How many entries a directory had each time the job listed it.
 *
 * A trace has the number of entries that a listing gave, not their names, and
 * many were never touched by a recorded call: data that nobody read, code,
 * sockets, files of other programs. The replay's directories get as many
 * stand-ins before they are listed as are missing.
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
		 struct annotations *marks, struct reel_error *err);
void listings_free(struct listings *l);

/* The directory @dir (a file id) is new, and empty. */
void listings_made(struct listings *l, uint32_t dir);

/* A path in @dir came (+1) or went (-1); no other call does that to it. */
void listings_change(struct listings *l, uint32_t dir, int n);

/*
 * A path in @dir was seen for the first time: was it there before the job? 0:
 * no, a listing gave no more than those that were seen already.
 */
int listings_room(struct listings *l, uint32_t dir);

/* @me removes @dir: what stands in for others has to go first. */
int listings_removed(struct listings *l, uint32_t dir,
		     const struct call_ref *me, struct reel_error *err);

/* @me, a READDIR or a SCANDIR that was no error. */
int listings_read(struct listings *l, const struct reel_event *ev,
		  const struct call_ref *me, struct reel_error *err);

/* @open is closed: a listing that was broken off counts as far as it went. */
int listings_closed(struct listings *l, uint32_t open, struct reel_error *err);

/* Entries of @dir before the job, "." and ".." too; at least. -1: any. */
int64_t listings_before(const struct listings *l, uint32_t dir);

#endif
