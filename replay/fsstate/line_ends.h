/* SPDX-License-Identifier: MIT */
/*
 * Where lines that the job read by fgets() or getline() ended, in what it had
 * written itself: the writes of the replay must put newlines there.
 *
 * What a file holds is a content: a new one when the file is made or emptied,
 * and renaming takes it along. A status file that is written again and again
 * has other lines each time.
 */
#ifndef REPLAY_FSSTATE_LINE_ENDS_H
#define REPLAY_FSSTATE_LINE_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job;
struct reel_error;
struct reel_event;

struct lines;

/* Borrows @job for its life. */
int lines_new(struct lines **out, const struct job *job,
	      struct reel_error *err);
void lines_free(struct lines *l);

/* What @file holds from now on is not what it held. */
void lines_fresh(struct lines *l, uint32_t file);

/* @to holds what @file holds; which is gone from there unless it is a @link. */
void lines_moved(struct lines *l, uint32_t file, uint32_t to, bool link);

/* Is @ev about what its file held before the job, changed or not? */
bool lines_old(const struct lines *l, const struct reel_event *ev);

/*
 * Events in the order of their end, after what they did to their file. What is
 * read of one that the job never @changed needs no writes. 0, or -1 with @err.
 */
int lines_event(struct lines *l, const struct reel_event *ev, bool changed,
		struct reel_error *err);

/*
 * After the last event: the newlines, sorted, in [@from, @to) of what the open
 * @open wrote to. Their number, and *@at borrows the first.
 */
size_t lines_of(struct lines *l, uint32_t open, int64_t from, int64_t to,
		const int64_t **at);

#endif
