/* SPDX-License-Identifier: MIT */
/* Writes a plan, section by section, in constant memory per stream. */
#ifndef REPLAY_PLAN_WRITE_H
#define REPLAY_PLAN_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "replay/model/plan.h"

struct plan_writer;

/*
 * Start the plan that becomes @path at plan_writer_finish(). Gives *@out for
 * plan_writer_free(), which removes what is not finished.
 */
int plan_writer_new(struct plan_writer **out, const char *path,
		    struct reel_error *err);
void plan_writer_free(struct plan_writer *w);

/* Streams in their order: begin, records, end. @more is NULL or kept with @r. */
int plan_writer_stream(struct plan_writer *w, const struct plan_stream *s,
		       struct reel_error *err);
int plan_writer_record(struct plan_writer *w, const struct plan_record *r,
		       const struct plan_more *more, struct reel_error *err);

/*
 * Each goes behind those of its kind; *@index: its place there. A name has less
 * than 4,096 bytes. 0, or -1 with @err (REEL_E_IO, REEL_E_LIMIT: too many).
 */
int plan_writer_process(struct plan_writer *w, const struct plan_process *p,
			struct reel_error *err);
int plan_writer_edge(struct plan_writer *w, const struct plan_edge *e,
		     uint32_t *index, struct reel_error *err);
int plan_writer_name(struct plan_writer *w, const char *name, size_t bytes,
		     uint32_t *index, struct reel_error *err);
/* A newline of the record that comes next. */
int plan_writer_line(struct plan_writer *w, int64_t at, uint32_t *index,
		     struct reel_error *err);
/* The holes of the file that comes next, which has them. */
int plan_writer_holes(struct plan_writer *w, struct plan_file *f,
		      const struct plan_hole *hole, uint32_t n,
		      struct reel_error *err);
int plan_writer_file(struct plan_writer *w, struct plan_file *f,
		     const int64_t *line, struct reel_error *err);
int plan_writer_objects(struct plan_writer *w, const struct plan_object *o,
			uint32_t n, const struct plan_pipe *p, uint32_t pipes,
			struct reel_error *err);

/* @head gives wall_ns, calls and fds; the rest is counted here. */
int plan_writer_finish(struct plan_writer *w, const struct plan_head *head,
		       struct reel_error *err);

#endif
