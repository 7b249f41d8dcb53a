/* SPDX-License-Identifier: MIT */
/*
 * What is behind a name: a file keeps what it holds when it is renamed, linked
 * or removed while somebody has it open; and another may get its name. A
 * content is a number from 1 on, given to what was opened or cut.
 */
#ifndef REPLAY_FSSTATE_INODES_H
#define REPLAY_FSSTATE_INODES_H

#include <stdbool.h>
#include <stdint.h>

struct job;
struct reel_error;

struct inodes {
	const struct job *job;
	uint32_t *of_file; /* by file id; 0: none yet */
	uint32_t *of_open; /* by open id, likewise */
	uint32_t *name;	   /* by content: its file, 0: it has no name */
	uint32_t n, room;  /* of name */
};

/* Borrows @job for its life. 0, or -1 with @err; inodes_fini() in any case.
 */
int inodes_init(struct inodes *c, const struct job *job,
		struct reel_error *err);
void inodes_fini(struct inodes *c);

/* What @file is the name of now; 0 with @err when there is no memory. */
uint32_t inodes_named(struct inodes *c, uint32_t file, struct reel_error *err);

/* What is behind the open file @open, which was opened as @file. */
uint32_t inodes_opened(struct inodes *c, uint32_t open, uint32_t file,
		       struct reel_error *err);

/* The name that what is behind @open has now: 0, when that is no longer any. */
uint32_t inodes_name(const struct inodes *c, uint32_t open, uint32_t file);

/* @file is the name of nothing, or of something new. */
void inodes_gone(struct inodes *c, uint32_t file);

/* What @file names is @to, and no more @file unless it is a @link. */
void inodes_moved(struct inodes *c, uint32_t file, uint32_t to, bool link);
void inodes_swapped(struct inodes *c, uint32_t file, uint32_t with);

#endif
