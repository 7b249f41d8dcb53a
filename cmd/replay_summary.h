/* SPDX-License-Identifier: MIT */
/* What "ioreel replay" says: the words and the limits. */
#ifndef CMD_REPLAY_SUMMARY_H
#define CMD_REPLAY_SUMMARY_H

#include "replay/engine/fileset.h"
#include "replay/engine/player.h"

struct plan;
struct reel_error;
struct reel_likeness;
struct reel_record_result;
struct result;
struct result_total;
struct sandbox;

/* Times of a job of a second that are off by more than this are printed. */
#define REPLAY_TIME_MOST 0.05
#define REPLAY_TIME_LEAST_NS 1000000000

/* More of the calls than this differ, or are late: exit status 3. */
#define REPLAY_DIFFER_MOST 0.001
#define REPLAY_LATE_MOST 0.05

void replay_say_built(const struct plan *p, const struct sandbox *sb,
		      enum fileset_cache cache);
/* Which way kept the writes in the sandbox; @program begins the line. */
void replay_say_confined(const struct result *res, const char *program);
void replay_print_calls(const struct plan *p, const struct result *res,
			const struct reel_record_result *ran,
			const struct result_total *t);
/* One of several runs, as they are told apart. */
struct replay_run {
	int64_t number; /* from 0 */
	double io_ns;
	char likeness[16]; /* as it is printed */
};
struct replay_run replay_run_of(int64_t number, const struct reel_likeness *l);
/* Prints them all; sorts @run. Returns the number of the one in the middle. */
int64_t replay_print_runs(struct replay_run *run, int64_t n);

void replay_print_likeness(const struct reel_likeness *l);

/*
 * By which share of the job's the times of the replay are off, in lines where
 * that is much: all of it (@wall_ns), the waits of threads for each other, and
 * how many asynchronous operations there are at a time. Returns the largest;
 * 0 with REPLAY_AFAP, which keeps no times.
 */
double replay_print_times(const struct plan *p, const struct result_total *t,
			  int64_t wall_ns, enum replay_mode mode);

/* 0, or -1 with @err (REEL_E_LIMIT): the replay is not what was recorded. */
int replay_judge(const struct plan *p, const struct result *res,
		 const struct result_total *t, enum replay_mode mode,
		 struct reel_error *err);

#endif
