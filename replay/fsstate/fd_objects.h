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

struct fd_objects;

/* Gives *@out for fd_objects_free(); borrows the job and the marks until then.
 * 0, or -1 with @err (REEL_E_MEMORY). */
int fd_objects_new(struct fd_objects **out, const struct job *job,
		   struct annotations *marks, struct reel_error *err);
void fd_objects_free(struct fd_objects *o);

/* Event @ev, call @call of @stream; in the order of ends. */
int fd_objects_event(struct fd_objects *o, const struct reel_event *ev,
		     uint32_t stream, uint32_t call, struct reel_error *err);

/* The tables for the plan; names of objects are file ids. Borrowed. */
const struct plan_object *fd_objects_table(const struct fd_objects *o,
					   uint32_t *n);
const struct plan_pipe *fd_objects_pipes(const struct fd_objects *o,
					 uint32_t *n);

/* Was @file, of O_TMPFILE, handed to a process that has to open it by name? */
bool fd_objects_handed(const struct fd_objects *o, uint32_t file);

/* Descriptors that @process uses are below. */
uint32_t fd_objects_fds(const struct fd_objects *o, uint32_t process);

#endif
