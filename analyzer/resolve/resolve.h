/* SPDX-License-Identifier: MIT */
/*
 * Raw records into events: descriptors into open files, paths into file ids,
 * positions into offsets, marks into spans.
 *
 * Records must come in the order of their end over the whole job, and
 * reel_resolve_start() of a process before its first record, at the time of
 * its fork: a child inherits what its parent had open then.
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

/* An open file description that nobody can name any more: a row of the store. */
struct reel_open_row {
	uint32_t open_id, file_id, process_id;
	int32_t fd;
	int64_t flags;		   /* -1: not known */
	int64_t open_ns, close_ns; /* REEL_NO_OFFSET: not seen */
};

/* What comes out beside the events. Each returns 0, or -1 with err. */
struct reel_resolve_sink {
	void *arg;
	int (*span)(void *arg, const struct reel_span_event *sp, bool closed,
		    struct reel_error *err);
	int (*open)(void *arg, const struct reel_open_row *row,
		    struct reel_error *err);
	/* May be NULL. @frames: see ioreel-trace(5), "Marks". */
	int (*site)(void *arg, uint32_t site, const char *frames,
		    struct reel_error *err);
	int (*note)(void *arg, uint32_t process, uint32_t thread,
		    const char *key, const char *value, struct reel_error *err);
};

/* One process and one thread of the trace, as the resolver has to know them. */
struct reel_resolve_process {
	uint32_t process_id;
	uint32_t first_desc;
	int parent;	 /* index of whom it inherits from, -1: nobody */
	int follows;	 /* without parent: index of the image that became it by
			  * exec, or spawned it; itself or -1: none */
	const char *cwd; /* NULL: the parent's, or not known; borrowed */
	bool marks_sizes; /* beside the size in an open that appends */
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
 * Process @process begins, before its first record: it has from its parent what
 * that has now. The second time nothing happens. 0, or -1 with @err
 * (REEL_E_MEMORY).
 */
int reel_resolve_start(struct reel_resolver *r, int process,
		       struct reel_error *err);

/*
 * One record of thread @thread. 1 and @ev; 0: it was a mark; -1 with @err.
 */
int reel_resolve(struct reel_resolver *r, int thread,
		 const struct reel_record *rec, int64_t start_ns,
		 int64_t end_ns, struct reel_event *ev, struct reel_error *err);

/*
 * The last record of process @process was resolved, at @end_ns: the spans that
 * its threads left open end then; its descriptors are forgotten once no child
 * can inherit them.
 */
int reel_resolve_end_thread(struct reel_resolver *r, int thread, int64_t end_ns,
			    struct reel_error *err);
int reel_resolve_end(struct reel_resolver *r, int process,
		     struct reel_error *err);

/* Files, after the last record; ids are 1 .. reel_resolve_files(). */
struct reel_file_row {
	const char *path;
	uint32_t path_len;
	enum reel_kind kind;
	enum reel_class class_;
	int64_t size_bytes; /* -1: not seen */
};
uint32_t reel_resolve_files(const struct reel_resolver *r);
void reel_resolve_file(const struct reel_resolver *r, uint32_t id,
		       struct reel_file_row *row);

#endif
