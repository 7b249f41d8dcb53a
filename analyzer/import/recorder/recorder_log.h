/* SPDX-License-Identifier: MIT */
/*
 * A folder of Recorder: the calls of its ranks, in the order in which they were
 * written.
 *
 * Each rank has a table of call signatures (function and arguments), a grammar
 * whose terminals are the signatures, and a pair of times for each call. Recorder
 * 2.3 to 2.5 writes N.cst, N.cfg and N.ts for each rank N; Recorder 3 writes
 * recorder.ts, and with compression over ranks recorder.cst and ug.cfg for all.
 *
 * Functions return 0, or -1 with @err: REEL_E_IO, REEL_E_FORMAT with file and
 * offset, REEL_E_MEMORY.
 */
#ifndef ANALYZER_IMPORT_RECORDER_LOG_H
#define ANALYZER_IMPORT_RECORDER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;
struct recorder_log;

#define RECORDER_ARGS 32  /* of a call, at most; further ones are left out */
#define RECORDER_USER 255 /* function number of a function of the program */

/* One call. Texts are borrowed from the log. */
struct recorder_call {
	const char *name; /* "open64"; "" when its number has none */
	bool user;	  /* a function of the program, not a call */
	const char *arg[RECORDER_ARGS];
	unsigned int args;
	uint64_t tid; /* 0: not recorded */
	unsigned int depth;
	int64_t start_ns, end_ns; /* since the start of the rank */
};

typedef int recorder_call_fn(void *arg, const struct recorder_call *call,
			     struct reel_error *err);

/* Open the folder of the file @mt, recorder.mt. Gives *@out. */
int recorder_log_open(struct recorder_log **out, const char *mt,
		      struct reel_error *err);
void recorder_log_close(struct recorder_log *log); /* NULL too */
int recorder_log_ranks(const struct recorder_log *log);
/* CLOCK_REALTIME of the start; 0: not known. */
int64_t recorder_log_start_ns(const struct recorder_log *log);
/* ns of a tick of its clock. */
int64_t recorder_log_tick_ns(const struct recorder_log *log);
/* Is @bytes the beginning of a recorder.mt? */
bool recorder_log_detect(const char *bytes, size_t n);

/*
 * Give each call of @rank to @each. *@missing: calls without times, as the file of
 * times was cut off.
 */
int recorder_log_rank(struct recorder_log *log, int rank,
		      recorder_call_fn *each, void *arg, uint64_t *missing,
		      struct reel_error *err);

#endif
