/* SPDX-License-Identifier: MIT */
/*
 * The inode behind a path. An inode survives the rename of its path, and its
 * unlink while it is open; afterwards the path may name another one. Inodes
 * are numbered from 1 on; only files that were opened or truncated get one.
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
	uint32_t *path;	   /* by inode: its file id, 0: unlinked */
	uint32_t n, room;  /* of path */
};

/* Borrows @job for its life. 0, or -1 with @err; inodes_fini() in any case. */
int inodes_init(struct inodes *in, const struct job *job,
		struct reel_error *err);
void inodes_fini(struct inodes *in);

/* The inode of the path @file now; 0 with @err when there is no memory. */
uint32_t inodes_of_file(struct inodes *in, uint32_t file,
			struct reel_error *err);

/* The inode of the open file description @open, whose path was @file. */
uint32_t inodes_of_open(struct inodes *in, uint32_t open, uint32_t file,
			struct reel_error *err);

/* Current path of @open's inode; 0 if unlinked and @file names another. */
uint32_t inodes_path(const struct inodes *in, uint32_t open, uint32_t file);

/* @file is unlinked, or names a new inode from now on. */
void inodes_unlink(struct inodes *in, uint32_t file);

/* @to names the inode of @file, and @file none unless @to is a hard @link. */
void inodes_rename(struct inodes *in, uint32_t file, uint32_t to, bool link);
void inodes_exchange(struct inodes *in, uint32_t file, uint32_t with);

#endif
