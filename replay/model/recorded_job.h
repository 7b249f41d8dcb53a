/* SPDX-License-Identifier: MIT */
/*
 * The dimensions of a recorded job, in arrays: the plan compiler looks them up
 * for every event. Indices count from 0 and are those of the plan; ids are
 * those of the store.
 */
#ifndef REPLAY_MODEL_RECORDED_JOB_H
#define REPLAY_MODEL_RECORDED_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/trace_format.h" /* enum reel_kind */

struct reel_error;
struct reel_store;

#define JOB_NONE UINT32_MAX

struct job_process {
	uint32_t id, pid;
	uint32_t parent;      /* index; JOB_NONE: the root starts it */
	uint32_t fork_stream; /* that forks it; JOB_NONE with parent */
	bool exits;	      /* it ended by exit(); else a signal or exec */
	int64_t start_ns;     /* of its fork, or when it was first seen */
	int64_t end_ns;
	uint32_t stream, streams; /* [stream, + streams), the main one first */
};

struct job_stream {
	uint32_t id;	  /* thread_id */
	uint32_t process; /* index */
	uint64_t events;
	int64_t start_ns;
};

struct job_file {
	char *path;	 /* NULL: no such id */
	uint32_t parent; /* file id of its directory, 0: not in the table */
	uint8_t kind;	 /* enum reel_kind */
	bool fetches_counted; /* the trace has fetched bytes: page_cache.h */
	int64_t size_bytes;   /* -1: not seen */
};

struct job_open {
	uint32_t file;	  /* id */
	uint32_t process; /* index */
	int32_t fd;
	int32_t flags; /* -1: not known */
};

struct job {
	struct job_process *process;
	uint32_t processes;
	struct job_stream *stream;
	uint32_t streams;
	struct job_file *file; /* by id */
	uint32_t files;	       /* ids are below */
	struct job_open *open; /* by id */
	uint32_t opens;	       /* ids are below */
	uint32_t *stream_of;   /* by thread_id */
	uint32_t thread_ids;
	int64_t origin_ns; /* start of its first process */
	int64_t wall_ns;
	uint64_t events;
	uint32_t *path_slot; /* file ids by hash of the path: job_find() */
	uint32_t path_mask;
};

/* Gives *@out for job_free(). 0, or -1 with @err (REEL_E_DB, REEL_E_FORMAT). */
int job_read(struct job **out, struct reel_store *st, struct reel_error *err);
void job_free(struct job *job);

/* Build the index of paths for job_find(), and fill job_file.parent. 0, or -1
 * with @err (REEL_E_MEMORY). */
int job_index_paths(struct job *job, struct reel_error *err);

/* The id of the file with @path, or 0. */
uint32_t job_find(const struct job *job, const char *path, size_t len);

/* The length of the path above the first @n bytes of @path, 0 for the root. */
static inline size_t job_dir_bytes(const char *path, size_t n)
{
	while (n > 1 && path[n - 1] != '/')
		n--;
	return n > 1 ? n - 1 : 0;
}

struct sqlite3_stmt;
typedef int job_row(struct job *job, struct sqlite3_stmt *q, void *arg,
		    struct reel_error *err);
/* Call @row with each row of @sql, until it fails. 0, or -1 with @err. */
int job_each_row(struct job *job, struct reel_store *st, const char *sql,
		 job_row *row, void *arg, struct reel_error *err);

#endif
