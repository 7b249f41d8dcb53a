/* SPDX-License-Identifier: MIT */
/*
 * Raw records into events: descriptors into open files, paths into file ids,
 * positions into offsets, marks into spans.
 *
 * Records must come in the order of their end over the whole job, and
 * reel_resolve_start() of a process before its first record, at the time of
 * its fork: a child inherits the descriptors that its parent has then.
 */
#ifndef ANALYZER_RESOLVE_RESOLVE_H
#define ANALYZER_RESOLVE_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/store/event.h"
#include "lib/trace/reader.h"

struct reel_error;
struct reel_resolver;

/* Outputs beside the events. Each returns 0, or -1 with err. */
struct reel_resolve_sink {
	void *arg;
	int (*span)(void *arg, const struct reel_span_event *sp,
		    struct reel_error *err);
	int (*open)(void *arg, const struct reel_open_row *row,
		    struct reel_error *err);
	/* May be NULL. @frames: see ioreel-trace(5), "Marks". */
	int (*site)(void *arg, uint32_t site, const char *frames,
		    struct reel_error *err);
	int (*note)(void *arg, uint32_t process, uint32_t thread,
		    const char *key, const char *value, struct reel_error *err);
};

/* A process and a thread of the trace, as far as the resolver needs them. */
struct reel_resolve_process {
	uint32_t process_id;
	uint32_t first_desc;
	int parent;	  /* index of the process that forked it; -1: none */
	int follows;	  /* without parent: index of the image that it replaced
			  * by exec, or that spawned it; itself or -1: none */
	const char *cwd;  /* NULL: the parent's, or not known; borrowed */
	bool marks_sizes; /* an open that appends is followed by a SIZE mark */
};
struct reel_resolve_thread {
	uint32_t thread_id;
	int process; /* index */
};

/*
 * @path_root (or NULL) is stripped from paths. Borrows the sink's arg only.
 * 0, or -1 with @err (REEL_E_MEMORY). Gives *@out for reel_resolver_free().
 */
int reel_resolver_new(struct reel_resolver **out,
		      const struct reel_resolve_process *process, int processes,
		      const struct reel_resolve_thread *thread, int threads,
		      const char *path_root,
		      const struct reel_resolve_sink *sink,
		      struct reel_error *err);
void reel_resolver_free(struct reel_resolver *r);
/*
 * One more process or thread, behind those of reel_resolver_new(): a foreign
 * format does not know them before. Its parent must not have ended yet.
 */
int reel_resolver_add_process(struct reel_resolver *r,
			      const struct reel_resolve_process *process,
			      struct reel_error *err);
int reel_resolver_add_thread(struct reel_resolver *r,
			     const struct reel_resolve_thread *thread,
			     struct reel_error *err);

/*
 * Process @process begins, before its first record: it inherits the descriptors
 * that its parent has now. A second call does nothing. 0, or -1 with @err
 * (REEL_E_MEMORY).
 */
int reel_resolve_start(struct reel_resolver *r, int process,
		       struct reel_error *err);

/* Prefetch the file that @rec names: the record is resolved soon, after others. It
 * changes no state. */
void reel_resolve_soon(const struct reel_resolver *r,
		       const struct reel_record *rec);

/*
 * One record of thread @thread. 1 and @ev; 0: it was a mark; -1 with @err.
 */
int reel_resolve(struct reel_resolver *r, int thread,
		 const struct reel_record *rec, int64_t start_ns,
		 int64_t end_ns, struct reel_event *ev, struct reel_error *err);

/*
 * After the last record of a thread, or of process @process: open spans of the
 * thread end at @end_ns; the descriptors of the process are freed once no child
 * can inherit them.
 */
int reel_resolve_end_thread(struct reel_resolver *r, int thread, int64_t end_ns,
			    struct reel_error *err);
int reel_resolve_end(struct reel_resolver *r, int process,
		     struct reel_error *err);

/* Files, after the last record; ids are 1 .. reel_resolve_files(). */
uint32_t reel_resolve_files(const struct reel_resolver *r);
void reel_resolve_file(const struct reel_resolver *r, uint32_t id,
		       struct reel_file_row *row);

#endif
