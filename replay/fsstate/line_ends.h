/* SPDX-License-Identifier: MIT */
/*
 * Line ends that the job read with fgets() or getline() in bytes that it had
 * written itself: the writes of the replay must put newlines there.
 *
 * A file has a new generation of bytes when it is created or truncated, and a
 * rename moves the generation with the file. A status file that is rewritten
 * again and again has other lines each time.
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

/* Borrows @job for its life. Gives *@out for lines_free(). 0, or -1. */
int lines_new(struct lines **out, const struct job *job,
	      struct reel_error *err);
void lines_free(struct lines *l);

/* The bytes of @file are a new generation. */
void lines_new_generation(struct lines *l, uint32_t file);

/* @to gets the generation of @file, and @file a new one unless it is a @link.
 */
void lines_rename(struct lines *l, uint32_t file, uint32_t to, bool link);

/* Is @ev on the generation that the file had before the job? */
bool lines_is_initial(const struct lines *l, const struct reel_event *ev);

/*
 * Note the lines that @ev read, if the job @changed the file. Events come in
 * the order of their ends, after lines_new_generation() and lines_rename() for
 * them. 0, or -1 with @err.
 */
int lines_event(struct lines *l, const struct reel_event *ev, bool changed,
		struct reel_error *err);

/*
 * After the last event: the newlines, sorted, in [@from, @to) of the generation
 * that @open wrote to. Returns their number; *@at borrows the first.
 */
size_t lines_in_range(struct lines *l, uint32_t open, int64_t from, int64_t to,
		      const int64_t **at);

#endif
