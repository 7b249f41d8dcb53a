/* SPDX-License-Identifier: MIT */
/*
 * Calls during which their thread began others: asynchronous operations, and
 * collectives of MPI that do I/O. The first pass meets events in the order of
 * their ends, but a plan has the order of starts. So these calls are found
 * before, and get their numbers when the first call after their start needs
 * one.
 */
#ifndef REPLAY_PLAN_ENCLOSING_H
#define REPLAY_PLAN_ENCLOSING_H

#include <stdint.h>

struct enclosing_call;
struct job;
struct reel_error;
struct reel_event;
struct reel_store;

struct enclosing {
	struct enclosing_call *at; /* by stream, then by start */
	uint32_t n, room;
	uint32_t *first; /* by stream, and the end */
	uint32_t *next;	 /* the first one without a number, by stream */
};

/* Reads the events of processes that have such calls. @e is zeroed before;
 * enclosing_fini() in any case. 0, or -1 with @err (REEL_E_DB, REEL_E_FORMAT,
 * REEL_E_MEMORY). */
int enclosing_read(struct enclosing *e, const struct job *job,
		   struct reel_store *st, struct reel_error *err);
void enclosing_fini(struct enclosing *e);

/* The number of @ev in its stream; @calls: the next number. Events come in the
 * order of their ends. */
uint32_t enclosing_number(struct enclosing *e, uint32_t stream,
			  const struct reel_event *ev, uint32_t *calls);

/* Number the calls of the stream that began before @until_ns. */
void enclosing_number_until(struct enclosing *e, uint32_t stream,
			    int64_t until_ns, uint32_t *calls);

#endif
