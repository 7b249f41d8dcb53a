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

/*
 * The used paths as a tree: the nearest known directory above a path, and the
 * paths below a directory that were used since they were last taken.
 */
struct path_tree_node {
	uint32_t above;	      /* the nearest directory that has an id, or 0 */
	uint32_t first, next; /* used path in it; next one in `above` */
	bool known;	      /* `above` is computed */
	bool listed;	      /* in the list of `above`, like all above it */
};

struct path_tree {
	const struct job *job;
	struct path_tree_node *node; /* by file id */
};

/* The wait of a stream for the most calls of another. */
struct waited {
	uint32_t calls;
	uint32_t by; /* the waiting call: it covers itself and later ones */
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
	struct waited *waited;
	uint32_t waited_room;
	struct reel_intmap numbers; /* process, fd -> number */
	struct fd_number *number;
	uint32_t number_room;
	/* The current call, for the rules. A call that ended before since_ns
	 * comes before it. The first failure is in err. */
	const struct reel_event *ev;
	const struct call_ref *call;
	int64_t since_ns;
	struct reel_error *err;
};

/* Make the current call wait for @before if that was over when it began. */
void deps_after(struct deps *d, const struct call_ref *before);

/* The same for every use so far; @process: only the uses by that process, or
 * JOB_NONE. */
void deps_after_users(struct deps *d, const struct users *u, uint32_t process);

void users_add(struct users *u, const struct call_ref *call,
	       struct reel_error *err);
void users_clear(struct users *u);

/* The state of @inode, which @file is a path of; NULL without memory. */
struct inode_uses *deps_inode(struct deps *d, uint32_t inode, uint32_t file);

/* The call uses the open file description ev->open. */
void deps_on_ofd(struct deps *d);

/* One of the paths of a call. */
struct path_use {
	uint32_t file;
	enum effect effect;
	/* Before the call, the path appeared or vanished by no recorded one. */
	bool external;
	uint32_t renamed_to;	  /* of a directory that is renamed, else 0 */
	struct inode_uses *inode; /* behind the path, NULL: not known */
};

void deps_on_path(struct deps *d, const struct path_use *use);

/* A path that appeared or vanished for earlier calls did so by this one: it
 * waits for the uses of @file before that change. */
void deps_after_old_uses(struct deps *d, uint32_t file);

/* The call lists the directory ev->file through a descriptor. */
void deps_on_entries(struct deps *d);

/* The call may read or write bytes of @inode through a descriptor. */
void deps_on_bytes(struct deps *d, struct inode_uses *inode);

/* The call truncates @inode. */
void deps_on_truncate(struct deps *d, struct inode_uses *inode);

/* The call depends on the bytes or the size of @inode. */
void deps_after_writers(struct deps *d, const struct inode_uses *inode);

/*
 * The call is a read or a write; calls come in the order of their ends. *@order,
 * of one inode, begins as NULL, for append_order_free().
 */
void append_order_event(struct deps *d, struct append_order **order);
void append_order_free(struct append_order *o);

/* Borrows @job for its life. 0, or -1 with @err (REEL_E_MEMORY). */
int path_tree_init(struct path_tree *t, const struct job *job,
		   struct reel_error *err);
void path_tree_fini(struct path_tree *t);

/* The nearest directory above @file that has an id, or 0. */
uint32_t path_tree_above(struct path_tree *t, uint32_t file);

/* Note the use of @file. */
void path_tree_add(struct path_tree *t, uint32_t file);

/* Remove a used path from the tree below @dir and return it; 0: none left. */
uint32_t path_tree_take(struct path_tree *t, uint32_t dir);

#endif
