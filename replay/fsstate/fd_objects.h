/* SPDX-License-Identifier: MIT */
/*
 * The file descriptor table of every process, call by call. A descriptor that
 * no recorded call of its process made (a pipe, standard output, one inherited
 * across exec) needs an object: the replay puts it there before its first use.
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

/* Gives *@out for fd_objects_free(); borrows the others until then. 0, or -1
 * with @err (REEL_E_MEMORY). */
int fd_objects_new(struct fd_objects **out, const struct job *job,
		   struct annotations *annotations, struct reel_error *err);
void fd_objects_free(struct fd_objects *o);

/* @ev is the @index-th call of @stream. Events come in the order of their ends.
 * 0, or -1 with @err. */
int fd_objects_event(struct fd_objects *o, const struct reel_event *ev,
		     uint32_t stream, uint32_t index, struct reel_error *err);

/* The tables of the plan, borrowed; the names of objects are file ids. */
const struct plan_object *fd_objects_table(const struct fd_objects *o,
					   uint32_t *n);
const struct plan_pipe *fd_objects_pipes(const struct fd_objects *o,
					 uint32_t *n);

/* Does an object open @file by its path? A file of O_TMPFILE needs one then. */
bool fd_objects_needs_path(const struct fd_objects *o, uint32_t file);

/* 1 + the highest descriptor number of @process. */
uint32_t fd_objects_fds(const struct fd_objects *o, uint32_t process);

#endif
