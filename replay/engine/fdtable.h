/* SPDX-License-Identifier: MIT */
/*
 * The descriptor table of a replayed process.
 *
 * A slot is a descriptor number of the job. The replay has a descriptor of the
 * same number wherever it can: before an open, lower numbers that the job used
 * for descriptors outside the trace are "parked" on /dev/null, so that the
 * kernel gives the open the recorded number. When that fails, slot.fd is
 * another number, and only the numbers in the replay's trace differ.
 */
#ifndef REPLAY_ENGINE_FDTABLE_H
#define REPLAY_ENGINE_FDTABLE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct call_spec;
struct engine;
struct player;
struct player_process;
struct reel_error;

struct slot {
	int fd;		 /* -1: closed, or never opened */
	uint32_t object; /* assigned by the plan; PLAN_NONE: a call opened it */
	FILE *file;
	DIR *dir;
	uint32_t writer; /* 1 + the process whose bytes file may still hold */
};

/* The use of each descriptor number in a process. */
enum number { NUMBER_FREE, NUMBER_PARKED, NUMBER_INHERITED, NUMBER_USED };

/* Open the descriptors of the engine itself. 0, or -1 with @err. */
int fdtable_open_own(struct engine *e, struct reel_error *err);

/*
 * The table of a first process. Descriptors of the launcher are closed; 0 to 2,
 * if open, count as parked. 0, or -1 with @err.
 */
int fdtable_init(struct player_process *p, struct reel_error *err);

/* The slot of the job's number @fd, or NULL. */
struct slot *fdtable_slot(struct player_process *p, int32_t fd);

/* For a number that was closed in the job: unpark it. Is it closed now? */
bool fdtable_ensure_closed(struct player_process *p, int32_t fd);

/*
 * Around a call that makes the descriptor @s->m->fd2: arrange that the kernel
 * gives this number, and store the number it gave (@got; -1: the call failed),
 * which is returned. Threads that make descriptors take turns; but a slow open
 * does not keep the others, and numbers may differ from then on. FDTABLE_OPEN()
 * does all three; @call is the expression that makes the descriptor.
 */
void fdtable_before_open(struct player *p, const struct call_spec *s);
int64_t fdtable_after_open(struct player *p, const struct call_spec *s,
			   int got);
#define FDTABLE_OPEN(p, s, call)                                               \
	(fdtable_before_open(p, s), fdtable_after_open(p, s, call))

/*
 * Around a call that uses a number for a moment, or closes the job's @fd: no
 * other thread may get the number between the call and the update of the
 * table. fdtable_closed() ends the turn, too. All of them preserve errno.
 */
void fdtable_take_turn(struct player *p);
void fdtable_end_turn(struct player *p);
void fdtable_closed(struct player *p, int32_t fd);

/* Numbers [@first, @last] of the replay were closed; the turn continues. */
void fdtable_range_closed(struct player *p, uint32_t first, uint32_t last);

/*
 * In a child after fork(): descriptors of its parent may be replaced when the
 * job had another use for the number, because a thread of the parent can open
 * earlier here than in the job.
 */
void fdtable_inherited(struct player_process *p);

/*
 * Assign @object to the job's @fd, a descriptor of @s. A pipe that is read once
 * (PLAN_OBJECT_EOF) is filled with the bytes that @s reads.
 */
void fdtable_provide(struct player *p, const struct call_spec *s, int32_t fd,
		     uint32_t object);

#endif
