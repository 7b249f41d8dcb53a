/* SPDX-License-Identifier: MIT */
/*
 * One resolved I/O event of a job: made by load from a trace's record, fed to
 * the metrics, kept in the store, compiled by replay. Its ids are those of the
 * store's dimension tables.
 */
#ifndef LIB_STORE_EVENT_H
#define LIB_STORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "schemas/trace_format.h" /* enum reel_kind, enum reel_span */

#define REEL_NO_OFFSET INT64_MIN /* unknown, or the call has none */
#define REEL_NO_SIZE (-1)
#define REEL_ERRNO_UNKNOWN (-1) /* the call failed; its source has no errno */

/* The purpose of a file. The order is on disk: add at the end. */
enum reel_class {
	REEL_CLASS_NONE = 0, /* no file */
	REEL_CLASS_DATA,
	REEL_CLASS_CHECKPOINT,
	REEL_CLASS_LOG,
	REEL_CLASS_CODE,
	REEL_CLASS_SYSTEM,
	REEL_CLASS_PIPE, /* pipes and sockets: messages, not I/O */
	REEL_CLASSES
};

/*
 * The order matters for speed alone: what differs between the reads of one file
 * comes first and fills a line of the cache, so that a metric that looks the rest up
 * once for a run of events (event_op.h) needs one line of each.
 */
struct reel_event {
	int64_t start_ns; /* since the job's first event */
	int64_t dur_ns;
	/* Offset of a read or write (tracked per OFD), or the call's argument
	 * (truncate, seek: the position after it); REEL_NO_OFFSET. */
	int64_t offset;
	int64_t arg; /* flags, whence, mode, prot: see calls.def */
	int64_t arg2;
	int64_t pos;   /* file size (stat), stream position; REEL_NO_OFFSET */
	int64_t asked; /* bytes requested, REEL_NO_SIZE: the call has no size */
	int64_t result;	  /* return value; -1 on error */
	uint32_t process; /* process.process_id */
	uint32_t thread;  /* thread.thread_id */
	uint32_t file;	  /* file.file_id, 0: none */
	uint32_t open;	  /* open_file.open_id: the OFD; 0: none */
	int32_t fd;	  /* descriptor used or created; -1: none */
	int32_t fd2;	  /* dup: the new one (fd is the source); else -1 */
	int32_t err;	  /* errno, 0: success; or REEL_ERRNO_UNKNOWN */
	uint16_t call;	  /* enum reel_call */
	uint8_t layer;	  /* enum reel_layer */
	uint8_t group;	  /* enum reel_group */
	uint8_t kind;	  /* enum reel_kind of file */
	uint8_t class_;	  /* enum reel_class of file */
	bool counted;	  /* of counters: its start is an estimate */
	uint32_t file2;	  /* of rename, link, symlink; 0: none */
	uint32_t count;	  /* calls that this event represents, >= 1 */
	uint32_t site;	  /* site.site_id: the call site; 0: not recorded */
};

/* Bytes transferred: > 0 for a read or write that transferred some, else 0. */
static inline int64_t reel_event_bytes(const struct reel_event *e)
{
	return e->asked != REEL_NO_SIZE && e->result > 0 ? e->result : 0;
}

/* A closed span of an anchor. */
struct reel_span_event {
	int64_t start_ns, dur_ns;
	/* span.span_id, from 1, in order of start; behind them the steps that are
	 * made of optimizer spans. */
	uint32_t span_id;
	uint32_t parent; /* enclosing span in its thread, 0: none */
	uint32_t process, thread;
	uint32_t kind; /* enum reel_span */
	/* Spans that it represents, >= 1: start and detail of the first, the
	 * sum of their durations. */
	uint32_t count;
	bool open;	  /* its process ended inside it */
	int64_t detail;	  /* epoch or step number; -1: none */
	const char *name; /* "epoch", or the user's name */
};

/* Is a span of computation with @name of an accelerator, from its profile? */
static inline bool reel_span_is_of_device(const char *name)
{
	return !strcmp(name, "kernel") || !strcmp(name, "memcpy");
}

/* A file, anything that has a path: a row of file. */
struct reel_file_row {
	uint32_t file_id;
	const char *path; /* borrowed until the next file */
	uint32_t path_len;
	enum reel_kind kind;
	enum reel_class class_;
	int64_t size_bytes; /* the largest seen; -1: not known */
};

/* An open file description: a row of open_file. */
struct reel_open_row {
	uint32_t open_id, file_id, process_id;
	int32_t fd;		   /* the first descriptor; -1: not known */
	int64_t flags;		   /* -1: not known */
	int64_t open_ns, close_ns; /* REEL_NO_OFFSET: not seen */
};

#endif
