/* SPDX-License-Identifier: MIT */
/*
 * State that the resource rules share: deps.c holds the graph and dispatches,
 * fd_rules.c, path_rules.c and byte_rules.c each know one kind of resource.
 */
#ifndef REPLAY_DEPS_INTERNAL_H
#define REPLAY_DEPS_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/intmap.h"

#include "replay/deps/deps.h"
#include "replay/deps/path_tree.h"
#include "replay/model/recorded_job.h"

#define USERS_MOST 64
#define NO_CALL ((struct call_ref){.stream = JOB_NONE})

struct append_order;

/* The last use of a resource by each stream. Most resources have one user and
 * need no allocation. */
struct users {
	struct call_ref one;
	struct call_ref *more;
	uint32_t n, room; /* of more */
};

/* An open file description. */
struct ofd_uses {
	struct call_ref opener, last_move; /* of the position */
	struct users users;
};

struct path_uses {
	struct call_ref change;	      /* the last: created, removed, ... */
	struct call_ref entry_change; /* the last of an entry of it */
	struct users users;
	/* The same, from before the last change that no recorded call made. */
	struct call_ref old_change;
	struct users old_users;
	struct users listers; /* of a directory: calls that read its entries */
	bool writable;	      /* it was opened for writing */
	bool removed;	      /* by its last change */
};

/* The bytes of an inode, whatever its path is by now. */
struct inode_uses {
	struct call_ref last_write, last_truncate;
	struct users transfers; /* reads and writes of the present bytes */
	struct users eof_reads; /* reads that hit EOF, since the last write */
	struct users writers;
	struct append_order *order;
	bool known;
	bool writable; /* a path of it was opened for writing */
};

/*
 * A descriptor number of a process. The kernel frees it early in close(), so
 * the next open may return with it before the close does: `next_opener` waits
 * for the close of the descriptor before.
 */
struct fd_number {
	struct call_ref closer; /* the last close of the number */
	struct call_ref opener; /* since this call `ofd` has the number */
	uint32_t ofd; /* id; the owner, or the owner before next_opener */
	uint32_t next_ofd;
	struct call_ref next_opener;
	/* next_ofd is closed too, before the close of this one has ended. */
	uint32_t unclosed_ofd;
	struct call_ref unclosed_next_opener;
};

struct deps {
	const struct job *job;
	struct annotations *annotations;
	struct inodes *inodes;
	struct ofd_uses *ofd;	  /* by open id */
	struct path_uses *path;	  /* by file id */
	struct inode_uses *inode; /* by inode */
	uint32_t inode_room;
	struct path_tree tree;
	struct reel_intmap pairs; /* waiting stream, awaited stream -> waited */
	uint32_t *waited;	  /* calls of it that are waited for already */
	uint32_t waited_room;
	struct reel_intmap numbers; /* process, fd -> number */
	struct fd_number *number;
	uint32_t number_room;
};

/* Add a wait of @call for @before if that was over when @ev began. */
int deps_after(struct deps *d, const struct call_ref *before,
	       const struct reel_event *ev, const struct call_ref *call,
	       struct reel_error *err);

/* The same for every use so far; @process: only the uses by that process, or
 * JOB_NONE. */
int deps_after_users(struct deps *d, const struct users *u, uint32_t process,
		     const struct reel_event *ev, const struct call_ref *call,
		     struct reel_error *err);

int users_add(struct users *u, const struct call_ref *call,
	      struct reel_error *err);
void users_clear(struct users *u);

/* The state of @inode, which @file is a path of; NULL without memory. */
struct inode_uses *deps_inode(struct deps *d, uint32_t inode, uint32_t file,
			      struct reel_error *err);

/* @ev uses the open file description ev->open. */
int deps_on_ofd(struct deps *d, const struct reel_event *ev,
		const struct call_ref *call, struct reel_error *err);

/* One of the paths of a call. */
struct path_use {
	uint32_t file;
	enum effect effect;
	/* Before the call, the path appeared or vanished by no recorded one. */
	bool external;
	uint32_t renamed_to;	  /* of a directory that is renamed, else 0 */
	struct inode_uses *inode; /* behind the path, NULL: not known */
};

int deps_on_path(struct deps *d, const struct reel_event *ev,
		 const struct path_use *use, const struct call_ref *call,
		 struct reel_error *err);

/* A path that appeared or vanished for earlier calls did so by @ev: it waits
 * for the uses of @file before that change. */
int deps_after_old_uses(struct deps *d, const struct reel_event *ev,
			uint32_t file, const struct call_ref *call,
			struct reel_error *err);

/* @ev lists the directory ev->file through a descriptor. */
int deps_on_entries(struct deps *d, const struct reel_event *ev,
		    const struct call_ref *call, struct reel_error *err);

/* @ev may read or write bytes of @inode through a descriptor. */
int deps_on_bytes(struct deps *d, const struct reel_event *ev,
		  struct inode_uses *inode, const struct call_ref *call,
		  struct reel_error *err);

/* @ev truncates @inode. */
int deps_on_truncate(struct deps *d, const struct reel_event *ev,
		     struct inode_uses *inode, const struct call_ref *call,
		     struct reel_error *err);

/* @ev depends on the bytes or the size of @inode. */
int deps_after_writers(struct deps *d, const struct inode_uses *inode,
		       const struct reel_event *ev, const struct call_ref *call,
		       struct reel_error *err);

#endif
