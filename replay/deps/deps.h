/* SPDX-License-Identifier: MIT */
/*
 * Dependencies: which call of one thread has to wait for which call of another.
 *
 * The rules are about resources, never about clocks alone: a descriptor is
 * used after its open and closed after its last use, its number is reused
 * after the close, a shared position is moved in turn, a path is used between
 * its creation and its removal, bytes are read after they were written. Time
 * decides only which of two calls on one resource was first. Two calls that
 * overlapped race in the replay as they did in the job.
 *
 * A wait is dropped when an earlier wait of the same thread for the same
 * thread covers it.
 */
#ifndef REPLAY_DEPS_DEPS_H
#define REPLAY_DEPS_DEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/fsstate/fsstate.h"
#include "replay/model/annotations.h"

struct inodes;
struct job;
struct reel_error;
struct reel_event;

struct deps;

/* Gives *@out for deps_free(); borrows the others until then.
 * 0, or -1 with @err (REEL_E_MEMORY). */
int deps_new(struct deps **out, const struct job *job,
	     struct annotations *annotations, struct inodes *inodes,
	     struct reel_error *err);
void deps_free(struct deps *d);

/* Make @after wait for the end of @before. Returns 1 when the wait is kept, 0
 * when it is not needed, -1 with @err. */
int deps_add(struct deps *d, const struct call_ref *before,
	     const struct call_ref *after, struct reel_error *err);

/* The same without the test for earlier waits, which assumes that @after is
 * the newest call of its thread. */
int deps_add_late(struct deps *d, const struct call_ref *before,
		  const struct call_ref *after, struct reel_error *err);

/* Apply the rules to @ev, which is @call. Events come in the order of their
 * ends. 0, or -1 with @err. */
int deps_event(struct deps *d, const struct reel_event *ev,
	       const struct call_ref *call, const struct effects *effects,
	       struct reel_error *err);

/*
 * A child inherits the descriptors that are open at its fork. So a fork waits
 * for each open, dup and close that other threads of its process ended before
 * it, and those that they began after it wait for the fork.
 */

/* A fork of process @child waits for @before. */
struct fork_wait {
	uint32_t child;
	struct call_ref before;
};

struct forks {
	const struct job *job;
	struct annotations *annotations;
	struct call_ref *changed; /* the last open or close, by stream */
	uint32_t *waited_by;	  /* 1 + the stream whose fork waits for it */
	struct fork_wait *wait;	  /* by child */
	uint32_t waits, room;
	uint32_t *child;  /* processes that are forked: by parent, by time */
	uint32_t *forked; /* the same by time; done before next_fork */
	uint32_t children, next_fork;
	uint32_t *next; /* by stream: its first child without a wait */
};

/* Borrows both for its life. 0, or -1 with @err; forks_fini() in any case. */
int forks_init(struct forks *f, const struct job *job,
	       struct annotations *annotations, struct reel_error *err);
void forks_fini(struct forks *f);

/* @ev is the call @call. Events come in the order of their ends. 0, or -1 with
 * @err. */
int forks_event(struct forks *f, const struct reel_event *ev,
		const struct call_ref *call, struct reel_error *err);

/* After the last event: sort the waits by child. */
void forks_sort(struct forks *f);

/* The index of the first wait of @child, if it has any. */
size_t forks_first_wait(const struct forks *f, uint32_t child);

/*
 * Changes that no finished call explains. A call observed that a path appeared
 * or vanished. The change is blamed on another program, unless an overlapping
 * call later explains it: then the observer waits for that call instead.
 */
struct pending_change {
	struct call_ref observer; /* end_ns 0: none */
	size_t annotation;	  /* 1 + that of the change, 0: none */
	bool appeared;		  /* else it vanished */
};

struct pending_changes {
	struct annotations *annotations;
	struct deps *deps;
	struct pending_change *of_file; /* the last one, by file id */
};

/* Borrows all for its life. 0, or -1 with @err; pending_changes_fini() in any
 * case. */
int pending_changes_init(struct pending_changes *c, const struct job *job,
			 struct annotations *annotations, struct deps *deps,
			 struct reel_error *err);
void pending_changes_fini(struct pending_changes *c);

/*
 * @call observed the unexplained change in @effects. @annotated: the last
 * annotation is for it.
 */
void pending_changes_add(struct pending_changes *c, const struct call_ref *call,
			 const struct effects *effects, bool annotated);

/* @ev, which is @call, may explain a change; then it is removed from @effects
 * if @call observed it too. Events come in the order of their ends. 0, or -1
 * with @err. */
int pending_changes_event(struct pending_changes *c,
			  const struct reel_event *ev,
			  const struct call_ref *call, struct effects *effects,
			  struct reel_error *err);

/*
 * The write that gave a read of a pipe its bytes. A pipe is one stream of
 * bytes: the n-th byte read is the n-th byte written, by any process.
 *
 * A wait for a message is no think time. A reader that was plainly waiting for
 * one (it read as soon as the write ended) waits for the write first, and only
 * the rest of its gap is think time after it.
 */
struct messages;

/* Gives *@out for messages_free(); borrows the others until then. 0, or -1 with
 * @err (REEL_E_MEMORY). */
int messages_new(struct messages **out, const struct job *job,
		 struct deps *deps, struct annotations *annotations,
		 struct reel_error *err);
void messages_free(struct messages *m);

/*
 * @ev, which is @call, is on a pipe or socket; @idle_ns: the end of the
 * previous call of its thread. Events come in the order of their ends. 0, or -1
 * with @err.
 */
int messages_event(struct messages *m, const struct reel_event *ev,
		   const struct call_ref *call, int64_t idle_ns,
		   struct reel_error *err);

/* After the last event: match reads with writes. Bytes without a write came
 * from another program. 0, or -1 with @err. */
int messages_end(struct messages *m, struct reel_error *err);

/*
 * MPI collectives: which ranks wait for which.
 *
 * A rank has two records for a collective, which the replay does not issue as
 * calls: it arrives, and it leaves once the ranks that it waits for have
 * arrived. In a broadcast all wait for the root, in a gather the root waits for
 * all. Where all wait for all, they wait for the rank that arrived last in the
 * job, which waits for the others: dependencies grow with ranks, not with their
 * square. No rank waits for one that arrived after it had left. A nonblocking
 * collective has its two records from two calls, with others between.
 */
struct collectives;

/* Gives *@out for collectives_free(); borrows the others until then. 0, or -1
 * with @err (REEL_E_MEMORY). */
int collectives_new(struct collectives **out, struct deps *deps,
		    struct annotations *annotations, struct reel_error *err);
void collectives_free(struct collectives *c);

/* @ev has a collective_phase(); @arrive and @leave are its phases, where it has
 * them. 0, or -1 with @err. */
int collectives_event(struct collectives *c, const struct reel_event *ev,
		      const struct call_ref *arrive,
		      const struct call_ref *leave, struct reel_error *err);

/* The number of collectives with all their members in the trace. */
uint64_t collectives_complete(const struct collectives *c);

#endif
