/* SPDX-License-Identifier: MIT */
/*
 * The writer: plain rows and events in, a store with its metrics out. Every
 * producer (our own traces, each foreign format) uses it, so that all stores
 * have the same tables and the same metrics.
 *
 * Order of the calls: events in the order of their ends over the whole job, a
 * span when it closes, after the events before it. Hosts, processes, threads,
 * files and losses may come at any time before reel_writer_finish(), usually at
 * the end, when start, end and sizes are known; events name them by their ids
 * before. Ids count from 1; 0 is none. A value that a format cannot know is
 * REEL_NO_OFFSET in a time, NULL in a text, -1 where a field says so: the store
 * gets NULL.
 *
 * Each function returns 0, or -1 with @err: REEL_E_DB, REEL_E_MEMORY. Strings
 * are borrowed for the call unless a function says otherwise.
 */
#ifndef ANALYZER_WRITE_WRITER_H
#define ANALYZER_WRITE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/calls.h"
#include "lib/store/event.h"

struct reel_error;
struct reel_ranks;
struct reel_store;
struct reel_writer;

/* A row of table process. */
struct reel_writer_process {
	uint32_t process_id;
	uint32_t parent_id; /* 0: none or not known */
	uint32_t host_id;
	int64_t pid;
	int rank;			 /* -1: not known */
	const char *role;		 /* "main", "worker", "child" */
	const char *exe, *command, *cwd; /* NULL: not known */
	int64_t fork_ns;		 /* REEL_NO_OFFSET: not seen */
	uint32_t fork_thread;		 /* id; 0: not seen */
	int64_t start_ns, end_ns;
	const char *ended; /* "exit", "_exit", "unknown" */
	uint64_t events, lost;
	/* Calls on code and system files that were only counted. */
	uint64_t code_opens, code_calls, code_read_bytes;
	const char *launcher; /* NULL: a process of the job */
};

/* A row of table thread. */
struct reel_writer_thread {
	uint32_t thread_id, process_id;
	int64_t tid;
	int64_t start_ns, end_ns;
	uint64_t events, lost;
};

/* The row of table run. The writer counts its events, calls and span. */
struct reel_writer_run {
	const char *name;
	const char *command;
	const char *cwd;
	int64_t start_real_ns; /* CLOCK_REALTIME of time 0; 0: not known */
	int64_t wall_ns;       /* REEL_NO_OFFSET: not known; these three */
	int64_t exit_status, exit_signal;
	const char *host;
	const char *framework;
	int64_t ranks, workers;
	int64_t clock_error_ns; /* a bound; REEL_NO_OFFSET: not known */
	int64_t lost;		/* events lost, for all reasons */
	const char *job_json;	/* "{}" */
};

/* Calls on code and system files that were only counted. */
enum reel_writer_counter {
	REEL_WRITER_CODE_OPENS,
	REEL_WRITER_CODE_CALLS,
	REEL_WRITER_CODE_READ_BYTES,
	REEL_WRITER_COUNTERS
};

/* A row of table source: a file, and how it was joined to the first one. */
struct reel_writer_source {
	uint32_t source_id;
	const char *file, *format;
	int64_t ranks, events;		  /* -1: not known */
	int64_t shift_ns, shift_error_ns; /* REEL_NO_OFFSET: not known */
	const char *aligned_by, *joined;  /* NULL: not joined */
};

/* Counters that a format holds instead of events: tables in counter.sql. */
struct reel_writer_record {
	uint32_t record_id, source_id;
	const char *module, *record;
	int64_t rank;	  /* -1: of all ranks; REEL_NO_OFFSET: not known */
	const char *path; /* NULL: not known */
};

struct reel_writer_number {
	bool is_real;
	int64_t integer;
	double real;
	const char *text; /* not NULL: it is no number */
};

struct reel_writer_options {
	bool counts_only; /* no events, open files and spans, and only the
			     metrics that count: see struct reel_load_options */
	bool small;	  /* few events: compress as well as possible */
	/* Threads, with the caller's; 0 is 1. The store does not depend on
	 * it. */
	int threads;
	/* Compress blocks, too; NULL: none. Borrowed. */
	const struct reel_ranks *ranks;
};

/*
 * Write into the fresh store @st, which is borrowed until reel_writer_free().
 * Creates the tables of the metrics, unless a writer before, which wrote nothing,
 * has made them. Gives *@out.
 */
int reel_writer_new(struct reel_writer **out, struct reel_store *st,
		    const struct reel_writer_options *options,
		    struct reel_error *err);
void reel_writer_free(struct reel_writer *w);

/*
 * Room for the next event: fill it and pass it to reel_writer_event(), which
 * then copies nothing. Borrowed until then; it may be left unused.
 */
struct reel_event *reel_writer_slot(struct reel_writer *w);
/*
 * Store @ev and feed it to the metrics. ev->thread may be any id from 1 on;
 * memory grows with the largest.
 */
int reel_writer_event(struct reel_writer *w, const struct reel_event *ev,
		      struct reel_error *err);
/* Store @ev and keep it out of the metrics: a process of a launcher made it. */
int reel_writer_launcher_event(struct reel_writer *w,
			       const struct reel_event *ev,
			       struct reel_error *err);
/* The job lasts at least until @ns. Events and spans say so by themselves. */
void reel_writer_reach(struct reel_writer *w, int64_t ns);
/*
 * Thread @id begins to make events, and has made its last one. Optional: the
 * threads between the two share the memory for unwritten events.
 */
int reel_writer_thread_begin(struct reel_writer *w, uint32_t id,
			     struct reel_error *err);
int reel_writer_thread_end(struct reel_writer *w, uint32_t id,
			   struct reel_error *err);

/* A span. A parent that never comes itself becomes NULL. */
int reel_writer_span(struct reel_writer *w, const struct reel_span_event *sp,
		     struct reel_error *err);
/* Descriptions come in any order, each once; those closed early soon. */
int reel_writer_open(struct reel_writer *w, const struct reel_open_row *row,
		     struct reel_error *err);
/* Files come in the order of their ids. */
int reel_writer_file(struct reel_writer *w, const struct reel_file_row *row,
		     struct reel_error *err);
int reel_writer_host(struct reel_writer *w, uint32_t id, const char *name,
		     const char *boot_id, struct reel_error *err);
int reel_writer_process(struct reel_writer *w,
			const struct reel_writer_process *row,
			struct reel_error *err);
int reel_writer_thread(struct reel_writer *w,
		       const struct reel_writer_thread *row,
		       struct reel_error *err);
int reel_writer_note(struct reel_writer *w, uint32_t process, uint32_t thread,
		     const char *key, const char *value,
		     struct reel_error *err);
/* A call site: @frames as in ioreel-trace(5), @place the one for a reader. */
int reel_writer_site(struct reel_writer *w, uint32_t id, const char *place,
		     const char *frames, struct reel_error *err);
/*
 * @count @unit are missing because of @reason, in @process (0: the job). A
 * count of 0 is a row too.
 */
int reel_writer_loss(struct reel_writer *w, uint32_t process,
		     const char *reason, const char *unit, uint64_t count,
		     struct reel_error *err);
struct reel_writer_loss {
	const char *reason, *unit;
	uint64_t count;
};
/* @n losses of the job; one of 0 is no row. */
int reel_writer_losses(struct reel_writer *w,
		       const struct reel_writer_loss *loss, size_t n,
		       struct reel_error *err);
void reel_writer_counter(struct reel_writer *w, enum reel_writer_counter which,
			 uint64_t count);
/* A file that is imported; a record of counters of it; a counter. Ids from 1. */
int reel_writer_source(struct reel_writer *w,
		       const struct reel_writer_source *row,
		       struct reel_error *err);
/* A value that source @id lacks: "offsets". */
int reel_writer_missing(struct reel_writer *w, uint32_t id, const char *value,
			struct reel_error *err);
/* @ranks and @events are in source @id; -1: not known. */
int reel_writer_source_counts(struct reel_writer *w, uint32_t id, int64_t ranks,
			      int64_t events, struct reel_error *err);
int reel_writer_record(struct reel_writer *w,
		       const struct reel_writer_record *row,
		       struct reel_error *err);
int reel_writer_value(struct reel_writer *w, uint32_t record, const char *name,
		      const struct reel_writer_number *value,
		      struct reel_error *err);
/*
 * Wait until all events are in blocks and metrics. With several threads, before
 * the first row of a host, process, thread, file, loss or counter, and before
 * the caller writes to the store itself.
 */
int reel_writer_settle(struct reel_writer *w, struct reel_error *err);
/*
 * The id of a call that calls.def lacks, for reel_event.call: table call gets
 * @name with @layer and @group (REEL_LAYER_OTHER, REEL_GROUP_OTHER: not known),
 * those of the first use. The caller sets the event's layer and group, too. Names
 * of one store differ from those of calls.def. Equal names have equal ids in most
 * stores. Past REEL_WRITER_NAMES names it is the call "other". 0 with @err.
 */
#define REEL_WRITER_NAMES 1024
uint16_t reel_writer_call(struct reel_writer *w, const char *name,
			  enum reel_layer layer, enum reel_group group,
			  struct reel_error *err);
/* Events so far, without those of launchers. */
uint64_t reel_writer_events(const struct reel_writer *w);

/*
 * The last call: write the waiting rows, the row of @run and the metrics'
 * tables. reel_store_finish() makes the store of it.
 */
int reel_writer_finish(struct reel_writer *w, const struct reel_writer_run *run,
		       struct reel_error *err);

#endif
