/* SPDX-License-Identifier: MIT */
/*
 * Completeness of a trace: losses, programs without the shim, hooks that are not
 * in place, calls of MPI that are counted only.
 */
#ifndef ANALYZER_REPORT_COMPLETENESS_H
#define ANALYZER_REPORT_COMPLETENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/trace_format.h" /* REEL_COUNTERS */

struct reel_buf;
struct reel_error;
struct reel_store;

#define REPORT_HOOKS 16 /* failures that are named */
#define REPORT_WORLDS 8 /* worlds whose size is named */

#define REPORT_SOURCES 4 /* kinds of files of an import that are described */

/* A file of an import: v_report_source. */
/* Files of an import of which the same is to be said, one behind the other. */
struct report_source {
	char *file, *format; /* the first one */
	int64_t files;
	char *missing;			  /* "files; calls"; "": nothing */
	char *aligned_by, *joined;	  /* "": not joined */
	int64_t shift_ns, shift_error_ns; /* the latter -1: not known */
};

enum report_mpi_counted { MPI_MESSAGES, MPI_ONE_SIDED, MPI_COLLECTIVES };

struct report_completeness {
	bool losses; /* there are reasons, if only for uncounted ones */
	int64_t lost_events;
	int64_t damaged_bytes, damaged_places; /* of logs, skipped */
	char *damaged_from; /* "offset N of FILE" of an import; or NULL */
	int64_t unreadable_files, missing_blocks;
	int64_t left_out;	  /* modules of an import, in part or all */
	int64_t other_format;	  /* files of an import's folder, left out */
	int64_t empty_files;	  /* named for an import, left out */
	int64_t trailing_bytes;	  /* behind compressed data, ignored */
	int64_t partial_files;	  /* read up to their damage */
	int64_t unreliable_files; /* of these, the ones with wrong events */
	int64_t denied_files;	  /* that load had no permission to read */
	int64_t counted;	  /* > 0: counters in place of events */
	int64_t counted_files;	  /* files opened while counting */
	int64_t only_failed; /* calls of an import, of which none succeeded */
	bool filtered;	     /* a log that can lack calls of I/O: v_log_scope */
	bool no_seeks;	     /* such a log has no seek */
	int64_t unnamed, unnamed_ns; /* reads and writes of unknown files */
	int64_t no_time, no_duration, no_size; /* calls of an import */
	int64_t counted_after_ns; /* > 0: events until then, counters after */
	int64_t untraced[REEL_COUNTERS]; /* by reel_counter_untraced() */
	int64_t untraced_programs;
	char *untraced_names; /* the most frequent ones; NULL: not known */
	struct {
		char *hook, *reason;
	} hook_failure[REPORT_HOOKS];
	int hook_failures;
	char *launchers; /* their names; NULL: none */
	int64_t launcher_processes, launcher_files;
	int64_t running_processes; /* they outlived the command */
	bool command_running;	   /* no end of the command was recorded */
	int64_t unfinished_saves;  /* checkpoints that processes ended in */
	bool unfinished_unknown;   /* a job that goes on, or an import */
	char *unfinished_path;	   /* a file of one; NULL: not known */
	int64_t job_ids;	   /* of the logs of an import */
	int64_t apart, apart_ns;   /* groups of processes of several files of an
				    * import, the longest time between two */
	int64_t mpi_counted[3];	   /* by enum report_mpi_counted */
	char *mpi_unrecorded;	   /* names of libraries; NULL: none */
	int64_t worlds, world_ranks[REPORT_WORLDS];
	struct report_source source[REPORT_SOURCES];
	int sources;	     /* in source[] */
	int64_t other_files; /* of an import, behind those */
};

/* Read it from @st (borrowed) into @c. 0, or -1 with @err. Call
 * report_completeness_fini() for both. */
int report_completeness_read(struct report_completeness *c,
			     struct reel_store *st, struct reel_error *err);
void report_completeness_fini(struct report_completeness *c);

bool report_is_damaged(const struct report_completeness *c);
/* No event lost, no program untraced, no log damaged or denied. */
bool report_is_complete(const struct report_completeness *c);

/* Append a line without a full stop on what the figures lack to @out: "incomplete:
 * 3 events lost". false: they lack nothing, and @out is as it was. */
bool report_incomplete_words(const struct report_completeness *c,
			     struct reel_buf *out);

/* Print the losses of the run @name in @st and the CPU contention of its machine,
 * as a likeness depends on both. */
void report_print_caveats(const char *name, struct reel_store *st);

#endif
