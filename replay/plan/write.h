/* SPDX-License-Identifier: MIT */
/* Writes a plan, section by section. Memory does not grow with the streams. */
#ifndef REPLAY_PLAN_WRITE_H
#define REPLAY_PLAN_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "replay/model/plan.h"

struct plan_writer;

/*
 * Start a plan, which gets the name @path at plan_writer_finish(). Gives *@out
 * for plan_writer_free(), which removes an unfinished plan. 0, or -1 with @err.
 */
int plan_writer_new(struct plan_writer **out, const char *path,
		    struct reel_error *err);
void plan_writer_free(struct plan_writer *w);

/* Begin the next stream; its records follow. @more is written if @r has
 * PLAN_F_MORE, else it may be NULL. 0, or -1 with @err (REEL_E_IO). */
int plan_writer_stream(struct plan_writer *w, const struct plan_stream *s,
		       struct reel_error *err);
int plan_writer_record(struct plan_writer *w, const struct plan_record *r,
		       const struct plan_more *more, struct reel_error *err);

/*
 * Append to the table of its kind; *@index: its index there. A name has less
 * than 4,096 bytes. 0, or -1 with @err (REEL_E_IO, REEL_E_LIMIT: too many).
 */
int plan_writer_process(struct plan_writer *w, const struct plan_process *p,
			struct reel_error *err);
int plan_writer_edge(struct plan_writer *w, const struct plan_edge *e,
		     uint32_t *index, struct reel_error *err);
int plan_writer_name(struct plan_writer *w, const char *name, size_t bytes,
		     uint32_t *index, struct reel_error *err);
/* A newline of the next record. */
int plan_writer_line(struct plan_writer *w, int64_t at, uint32_t *index,
		     struct reel_error *err);
/* The holes of @f, the next file: sets its hole and holes. */
int plan_writer_holes(struct plan_writer *w, struct plan_file *f,
		      const struct plan_hole *hole, uint32_t n,
		      struct reel_error *err);
int plan_writer_file(struct plan_writer *w, struct plan_file *f,
		     const int64_t *line, struct reel_error *err);
int plan_writer_objects(struct plan_writer *w, const struct plan_object *o,
			uint32_t n, const struct plan_pipe *p, uint32_t pipes,
			struct reel_error *err);

/* Complete @head, of which the caller knows the totals that the writer does not
 * count, and rename the plan to its path. 0, or -1 with @err. */
int plan_writer_finish(struct plan_writer *w, const struct plan_head *head,
		       struct reel_error *err);

#endif
