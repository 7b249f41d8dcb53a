/* SPDX-License-Identifier: MIT */
/*
 * What stands behind every descriptor of every process, call by call. Where
 * the job's recorded calls do not explain it (a pipe, whose making is not
 * recorded; standard output; what exec kept open) the replay has to put an
 * object there.
 */
#ifndef REPLAY_FSSTATE_FD_OBJECTS_H
#define REPLAY_FSSTATE_FD_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/model/annotations.h"
#include "replay/model/plan.h"

struct job;
struct reel_error;
struct reel_event;

struct objects;

/* Gives *@out for objects_free(); borrows the job and the marks until then.
 * 0, or -1 with @err (REEL_E_MEMORY). */
int objects_new(struct objects **out, const struct job *job,
		struct marks *marks, struct reel_error *err);
void objects_free(struct objects *o);

/* Event @ev, call @call of @stream; in the order of ends. */
int objects_event(struct objects *o, const struct reel_event *ev,
		  uint32_t stream, uint32_t call, struct reel_error *err);

/* The tables for the plan; names of objects are file ids. Borrowed. */
const struct plan_object *objects_table(const struct objects *o, uint32_t *n);
const struct plan_pipe *objects_pipes(const struct objects *o, uint32_t *n);

/* Was @file, of O_TMPFILE, handed to a process that has to open it by name? */
bool objects_handed(const struct objects *o, uint32_t file);

/* Descriptors that @process uses are below. */
uint32_t objects_fds(const struct objects *o, uint32_t process);

#endif
