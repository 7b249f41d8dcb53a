/* SPDX-License-Identifier: MIT */
/* The parts of a join. Only files of this room include it. */
#ifndef ANALYZER_JOIN_INTERNAL_H
#define ANALYZER_JOIN_INTERNAL_H

#include <sqlite3.h>

#include "schemas/trace_format.h"

#include "lib/buf.h"
#include "lib/intmap.h"
#include "lib/store/store.h"

#include "analyzer/join/align.h"
#include "analyzer/write/writer.h"

/* Ids of a source by its own ids; 0: no such row. */
struct join_ids {
	uint32_t *id;
	uint32_t room;
};

/* A source, and the place of its rows in the joined store. */
struct join_part {
	const struct join_source *source;
	struct join_shift shift;
	int64_t base_ns; /* added to its times in the joined store */
	struct join_ids process, thread, file, host;
	/* Added to ids that need no map. */
	uint32_t open_base, span_base, source_base, record_base;
	uint32_t processes, by_pid, by_rank; /* the latter: of earlier parts */
	uint32_t by_time; /* no other one lived at the time of theirs */
	bool alone;	  /* the only process of each is the same one */
	int64_t events;
	uint64_t seen_twice; /* events that an earlier part has too */
	/* Processes with events or counted calls, of this part; of an earlier one. */
	uint32_t io_own, io_earlier;
	/* By reel_writer_counter: calls of processes whose events an earlier part has. */
	uint64_t code_twice[REEL_WRITER_COUNTERS];
};

/* A process of the joined store. */
struct join_process {
	struct reel_writer_process row; /* its texts are kept in texts */
	int first_part, last_part;	/* that have it */
	int64_t last_end_ns;		/* of the last row of last_part */
	int io_part;			/* the part whose events count; -1 */
	int span_part[REEL_SPANS];	/* the same for spans, by kind */
	/* From the first fetch to the end of the last one; 0: none. */
	int64_t loop_start_ns, loop_end_ns;
	bool shares_pid; /* with another one at the same time, of another host */
};

struct join_thread {
	struct reel_writer_thread row;
	int first_part, last_part; /* that have it */
};

struct join_host {
	char *name, *boot_id;
};

struct join_file {
	size_t path; /* in paths */
	uint32_t len;
	uint8_t kind, class_;
	int64_t size_bytes;
};

struct join {
	struct join_part *part;
	int parts;
	const struct join_patch *patch; /* NULL: none */
	struct reel_writer *writer;
	struct join_process *process;
	uint32_t processes, process_room;
	bool has_workers; /* the loader, by a profile */
	struct join_thread *thread;
	uint32_t threads, thread_room;
	struct join_host *host;
	uint32_t hosts, host_room;
	struct join_file *file;
	uint32_t files, file_room;
	struct reel_buf paths;
	struct reel_intmap by_path;
	char **text; /* texts of processes */
	uint32_t texts, text_room;
};

/* A row of a query on the store of a part. 0, or -1 with @err. */
typedef int join_row_fn(struct join *j, struct join_part *p, sqlite3_stmt *q,
			struct reel_error *err);

/* join.c: call @fn for each row of @sql in the store of @p. 0, or -1 with @err. */
int join_each_row(struct join *j, struct join_part *p, const char *sql,
		  join_row_fn *fn, struct reel_error *err);
/* Room for the object @n of an array: reel_array_reach(). */
#define JOIN_REACH(array, room, n, err)                                        \
	reel_array_reach(&(array), &(room), n, sizeof(*(array)), err)
int join_ids_set(struct join_ids *ids, int64_t from, uint32_t to,
		 struct reel_error *err);
/* 0: none. */
uint32_t join_id(const struct join_ids *ids, int64_t from);
/* An integer of a column; NULL: @none. */
int64_t join_int(sqlite3_stmt *q, int column, int64_t none);

/* processes.c: hosts, processes and threads of @p, matched with those of the
 * parts before. */
int join_processes_read(struct join *j, struct join_part *p,
			struct reel_error *err);
/* ... and the roles of loader workers, once all parts are read: a profile says that
 * there are some, a log of I/O shows processes. */
int join_workers_mark(struct join *j, struct reel_error *err);
/* files.c: its files by their paths. */
int join_files_read(struct join *j, struct join_part *p,
		    struct reel_error *err);
/* merge.c: events and spans of all parts in the order of their ends. */
int join_merge(struct join *j, struct reel_error *err);
/* rows.c: the other rows, while the writer is open, and the row of the run. */
int join_rows_write(struct join *j, struct reel_error *err);
int join_run_write(struct join *j, struct reel_error *err);

#endif
