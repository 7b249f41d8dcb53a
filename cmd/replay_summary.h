/* SPDX-License-Identifier: MIT */
/* The messages and limits of "ioreel replay". */
#ifndef CMD_REPLAY_SUMMARY_H
#define CMD_REPLAY_SUMMARY_H

#include "replay/engine/fileset.h"
#include "replay/engine/player.h"

struct plan;
struct reel_error;
struct reel_likeness;
struct reel_record_result;
struct reel_store;
struct result;
struct result_total;
struct sandbox;

/* In a job longer than a second, larger differences of times are printed. */
#define REPLAY_TIME_MOST 0.05
#define REPLAY_TIME_LEAST_NS 1000000000

/* When more of the calls differ, or are late, the exit status is 3. */
#define REPLAY_DIFFER_MOST 0.001
#define REPLAY_LATE_MOST 0.05

/* Print on stderr the size of the job and the state of the rebuilt files. */
void replay_report_built(const struct plan *p, const struct sandbox *sb,
			 enum fileset_cache cache);
/* Print on stderr the calls of @st that the replay leaves out, as calls.def lacks
 * them. 0, or -1 with @err: REEL_E_DB. */
int replay_report_named(struct reel_store *st, struct reel_error *err);
/*
 * Print the way that confines writes to the sandbox, after the name @program.
 */
void replay_report_confined(const struct result *res, const char *program);

/* Print the time, the calls with other results, and the late ones. */
void replay_print_calls(const struct plan *p, const struct result *res,
			const struct reel_record_result *ran,
			const struct result_total *t);

/* One of several runs. */
struct replay_run {
	int64_t number; /* from 0 */
	double io_ns;
	char likeness[16]; /* as printed */
};

/* The run @number (from 0) with the likeness @l. */
struct replay_run replay_run_of(int64_t number, const struct reel_likeness *l);

/* Print all runs; sorts @run. Returns the number of the run of the median. */
int64_t replay_print_runs(struct replay_run *run, int64_t n);

/* Print the likeness, the worst factor and the call sequences in one line. */
void replay_print_likeness(const struct reel_likeness *l);

/*
 * Compare the times of the replay with the job's, and print those that differ
 * much: the whole time (@wall_ns), the waits of threads for each other, and the
 * number of asynchronous operations in flight. Returns the largest difference,
 * as a share of the job's time; 0 with REPLAY_AFAP, which keeps no times.
 */
double replay_print_times(const struct plan *p, const struct result_total *t,
			  int64_t wall_ns, enum replay_mode mode);

/*
 * Is the replay valid? 0, or -1 with @err: REEL_E_IO (not confined, disk full),
 * REEL_E_LIMIT (order not kept, too many other results or late calls).
 */
int replay_judge(const struct plan *p, const struct result *res,
		 const struct result_total *t, enum replay_mode mode,
		 struct reel_error *err);

#endif
