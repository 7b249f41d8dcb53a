/* SPDX-License-Identifier: MIT */
/*
 * A job that an importer sees call by call: processes, threads and descriptors
 * appear as the calls come. The resolver follows descriptors, names, offsets
 * and sizes as it does for our own traces; the events go to the writer.
 *
 * For formats of system calls. A format that brings its own offsets and paths
 * per event can use analyzer/write/writer.h alone.
 *
 * Calls come in the order of their ends; times are ns of the format's clock.
 * Functions return 0 (or an index >= 0), or -1 with @err.
 */
#ifndef ANALYZER_IMPORT_JOB_H
#define ANALYZER_IMPORT_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/trace/reader.h" /* struct reel_record */

#include "analyzer/write/writer.h"

struct import_job;
struct reel_error;

/* A descriptor as a call names it. */
struct import_fd {
	int64_t fd; /* JOB_NO_FD: none */
	const char
		*path; /* as the kernel names it; NULL: the format has none */
	uint32_t path_len;
};
#define JOB_NO_FD (-1)

/* One call. */
struct import_call {
	/* As in a trace, without descriptors: desc, newdesc, at, at2. */
	struct reel_record rec;
	struct import_fd fd;	  /* that it uses */
	struct import_fd at, at2; /* directories of rec.path and rec.path2;
				     AT_FDCWD or JOB_NO_FD: the working one */
	struct import_fd made;	  /* the new descriptor */
	bool cloexec;		  /* of the new descriptor */
	/* fd and made are no descriptors but handles of a library, numbered by
	 * the format: an event has no descriptor. */
	bool handle;
	/* Its start is no tick of a coarse clock: its descriptors are those of that
	 * time. A close() may return after another thread has the number. */
	bool exact;
	/* Descriptors change at that time; not after its end: at its end. */
	int64_t changed_ns;
	bool is_event; /* out: it is one, and not of a terminal or socket */
	/* The call lasted for that much longer than its end, its place in the
	 * order. */
	int64_t more_ns;
};

/* Borrows the writer. Time 0 is @origin_ns. Gives *@out. */
int import_job_new(struct import_job **out, struct reel_writer *w,
		   int64_t origin_ns, struct reel_error *err);
void import_job_free(struct import_job *j);

/*
 * A process with its first thread; @parent -1: not seen. A child has the
 * descriptors and the working directory that its parent has now. The index.
 */
int import_job_process(struct import_job *j, int parent, int64_t pid,
		       int64_t ns, struct reel_error *err);
/* @process, just born, has not a copy of its parent's descriptors but the same table:
 * a number that one of them changes is of an unknown file in the other. */
void import_job_share(struct import_job *j, int process);
/* The process of @thread has a table of its own from now on, as after exec. */
void import_job_unshare(struct import_job *j, int thread);
int import_job_thread(struct import_job *j, int process, int64_t tid,
		      int64_t ns, struct reel_error *err);
/* The live thread @tid, or -1; its process. */
int import_job_find_thread(const struct import_job *j, int64_t tid);
int import_job_process_of(const struct import_job *j, int thread);
/* The thread @tid, and its process, have the pid @now. The thread, or -1. */
int import_job_rename(struct import_job *j, int64_t tid, int64_t now,
		      struct reel_error *err);
/* It ended at @ns; with its last thread the process ends. @ended: "exit". */
int import_job_thread_end(struct import_job *j, int thread, int64_t ns,
			  const char *ended, struct reel_error *err);
/* The process of @thread runs @exe: descriptors with O_CLOEXEC are closed. */
int import_job_exec(struct import_job *j, int thread, const char *exe,
		    const char *command, int64_t ns, struct reel_error *err);

/* Facts of a process that no call shows; NULL: not known. */
struct import_process {
	const char *host;
	int rank; /* -1: not known */
	const char *role, *exe, *command, *cwd;
};
/* Copied. Once, before the calls of the process. */
int import_job_describe(struct import_job *j, int process,
			const struct import_process *is,
			struct reel_error *err);

/* FD_CLOEXEC of @fd was set or cleared. */
void import_job_set_cloexec(struct import_job *j, int thread, int64_t fd,
			    bool cloexec);
/* The command of the first process that no other one forked and that called exec;
 * "": none did. */
const char *import_job_command(const struct import_job *j);

/*
 * A call of @thread. Calls on descriptors that are no files, directories, pipes
 * or sockets (epoll, timers) are followed and not written.
 */
int import_job_call(struct import_job *j, int thread, struct import_call *call,
		    int64_t start_ns, int64_t end_ns, struct reel_error *err);
/* A new descriptor without a path: a pipe, a socket, or (@kind REEL_KIND_OTHER)
 * one whose calls are no I/O. */
int import_job_made(struct import_job *j, int thread,
		    const struct import_fd *made, enum reel_kind kind,
		    bool cloexec, int64_t ns, struct reel_error *err);

/* The rows, and the end of the writer. Fills @run's cwd where it is NULL. */
int import_job_finish(struct import_job *j, struct reel_writer_run *run,
		      struct reel_error *err);

#endif
