/* SPDX-License-Identifier: MIT */
/* What the files behind "ioreel record" share; nobody else includes it. */
#ifndef RECORD_INTERNAL_H
#define RECORD_INTERNAL_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include <jansson.h>

#include "schemas/trace_format.h"

#include "record/record.h"

struct reel_error;
struct stat;

/* --- record_group.c, record_ranks.c: ranks that share a directory --------- */

struct record_group {
	int rank, size;
	int local_size; /* on this machine; -1: not known */
	int restart;	/* of all ranks by their launcher; <= 0: none */
	bool joined;	/* the directory has our rank */
	bool first;	/* and we made it */
	char id[256];	/* the same in all ranks of a job */
	char nonce[32]; /* and of no other job */
};

/* Did a launcher start us as one rank of several? */
bool record_group_find(struct record_group *g);
/*
 * Make @dir, or join the ranks that did. 0; 1: it is another job's, or has our
 * rank already; -1 with @err filled.
 */
int record_group_join(struct record_group *g, const char *dir,
		      struct reel_error *err);
/* May ranks still come and go in @dir? */
bool record_group_open(const char *dir);
/* Nobody joins @dir any more. True for the one who made it so. */
bool record_group_close(const char *dir);

/* Our rank runs now: 0, or -1 with errno (EEXIST: somebody had it). */
int record_rank_take(const struct record_group *g, const char *dir);
/* Take the rank back: its command never ran. */
void record_rank_remove(const struct record_group *g, const char *dir);
/* Our rank has ended, as @job says. */
int record_rank_end(const struct record_group *g, const char *dir,
		    const json_t *job, struct reel_error *err);
/* @here: ranks of this machine that run; @left: ranks of the job that have not
 * ended. */
void record_rank_count(const struct record_group *g, const char *dir, int *here,
		       int *left);
/* All have ended: put what they said into @job, job.json and @res. */
int record_rank_merge(const struct record_group *g, const char *dir,
		      json_t *job, struct reel_record_result *res,
		      struct reel_error *err);

/* --- record_dir.c: the trace directory ------------------------------------ */

struct record_dir {
	char path[PATH_MAX];	/* absolute, no symbolic link in it */
	char windows[PATH_MAX]; /* on tmpfs, what windows/ links to; or "" */
	bool made;		/* the directory is ours to remove */
	struct reel_counts *counts; /* job.counts that we made, or NULL */
	ino_t inode;		    /* its */
};

/*
 * Make @name, new or empty, with windows/ and job.counts in it; with @g (or
 * NULL) only what the ranks before have not made. @budget_bytes: --max-size. 0, or -1 with @err filled
 * and nothing left behind.
 */
int record_dir_create(struct record_dir *d, const char *name,
		      struct record_group *g, int64_t budget_bytes,
		      struct reel_error *err);
/* Take it back: the command never ran. */
void record_dir_remove(struct record_dir *d);
void record_dir_fini(struct record_dir *d);
/*
 * How many process images have begun to record, whoever removed or replaced the
 * directory meanwhile; 0: not known.
 */
uint64_t record_dir_started(const struct record_dir *d);
/*
 * Update the budget of --max-size in @dir: a window of @window_bytes was removed,
 * and a log grew by @log_bytes, head included.
 */
void record_counts_merged(const char *dir, uint64_t window_bytes,
			  uint64_t log_bytes);
/* Add @n to a counter of job.counts in @dir. False: there is none. */
bool record_counts_add(const char *dir, enum reel_counter which, uint64_t n);
/* Remove windows/ (and what it links to) when nothing is left in it. */
void record_dir_close(const char *path);
/* Remove what windows/ links to on this machine, its ranks having ended. */
void record_dir_close_here(const char *path);
bool record_dir_on_network(const char *path);
bool record_dir_is_empty(const char *path);

/* --- record_env.c: what the job finds around it --------------------------- */

/* The shim, by IOREEL_SHIM or from where this program lies. */
int record_find_shim(char out[static PATH_MAX], struct reel_error *err);
/* The Python hooks, the same way; false: there are none. */
bool record_find_hooks(char out[static PATH_MAX]);

/*
 * The environment for the job: ours, with LD_PRELOAD, IOREEL_* and PYTHONPATH
 * set for @opt. @shim is a path without space or colon; @hooks may be NULL.
 * Gives an array of strings for record_env_free().
 */
char **record_env(const struct reel_record_options *opt, const char *dir,
		  const char *shim, const char *hooks, struct reel_error *err);
void record_env_free(char **env);
/* Did a launcher of ranks start us? It may start more without us. */
bool record_is_launched(void);

/* --- signal_sentinel.c: whom a signal was meant for ------------------------ */

struct signal_sentinel {
	pid_t pid;
	int fd;			/* -1: there is none */
	int64_t seen_ns[_NSIG]; /* by the witness, not asked for yet */
	int64_t told_ns[_NSIG]; /* the last that was */
};
void signal_sentinel_start(struct signal_sentinel *w);
void signal_sentinel_stop(struct signal_sentinel *w);
/* Start another where it was killed. Called after each SIGCHLD. */
void signal_sentinel_check(struct signal_sentinel *w);
/* Did the others of our process group get @sig too? Waits a moment. */
bool signal_sentinel_saw(struct signal_sentinel *w, int sig);

/* --- record_run.c: the job ------------------------------------------------ */

struct record_signals {
	uint64_t opaque[64];
};
/*
 * Block the signals that are the job's, until record_run_end(). To be called
 * before the directory knows of us: a launcher that ends its ranks, because one
 * has failed, may do so before we have begun the job, and whom that would kill
 * had told the others to count on it.
 */
void record_run_begin(struct record_signals *sig);
/*
 * Run @argv with @env, wait, forward signals; now and then tidy @dir, so that
 * what ended processes left does not pile up. 0 and @res (wait_status,
 * wall_ns), or -1: it could not be run, res->exec_errno and @err say why.
 */
int record_run(char **argv, char **env, const char *dir,
	       struct record_signals *sig, struct reel_record_result *res,
	       struct reel_error *err);
/* What a clock shows, in ns. */
int64_t record_clock_ns(clockid_t clock);
/* Drop what came in meanwhile; signals are again as they were. */
void record_run_end(struct record_signals *sig);

/* --- record_machine.c: the processors meanwhile --------------------------- */

/* json_t of it: "processor" of job.json. */
json_t *cpu_usage_json(const struct record_machine *m);
/* What they did since the boot; then, in place, since that call. */
void cpu_usage_now(struct record_machine *m);
void cpu_usage_since(struct record_machine *m);

/* --- record_job.c: job.json ----------------------------------------------- */

/* Gives a reference for json_decref(), or NULL with @err filled. */
json_t *record_job_begin(const struct reel_record_options *opt, char **argv,
			 bool hooks, struct reel_error *err);
/* How the command ended. */
void record_job_ended(json_t *job, const struct reel_record_result *res);
/* How much of a trace it left, and job.json with all of it. */
int record_job_end(json_t *job, const char *dir,
		   const struct reel_record_result *res,
		   struct reel_error *err);
int record_job_write(const json_t *job, const char *dir,
		     struct reel_error *err);
/* As the whole of the file @path, or not at all. */
int record_json_write(const json_t *j, const char *path,
		      struct reel_error *err);

/* --- record_alive.c: this machine, and which processes live on it --------- */

/* The text of the kernel's boot_id, or "". */
void record_boot_id(char out[static 40]);

enum record_owner {
	RECORD_ENDED,
	RECORD_ALIVE,
	RECORD_ELSEWHERE /* in another pid namespace, on another machine */
};
struct record_alive {
	struct inner *inner; /* processes of namespaces below ours */
	size_t inners, room;
	bool looked;
};
/*
 * The process that called itself @pid and had begun by @since_boot_ns. @a is
 * zeroed before the first call, and remembers what it saw.
 */
enum record_owner record_alive(struct record_alive *a, uint32_t pid,
			       uint64_t since_boot_ns);
void record_alive_fini(struct record_alive *a);
/* When a file was last changed, at the latest, in ns since boot. */
uint64_t record_file_boot_ns(const struct stat *st);
/*
 * How many processes live that record into @dir: the @pids known ones, and those
 * that /proc shows with the shim and this directory.
 */
int record_alive_count(const char *dir, const uint32_t *pid, size_t pids);

/* --- record_collect.c, record_log.c --------------------------------------- */

struct record_collected {
	int running; /* processes that are still alive */
	int merged;  /* windows that are logs now */
	int left;    /* windows that could not be merged: @err says the first */
};
int record_collect(const char *dir, struct record_collected *c,
		   struct reel_error *err);
/* The same while the job runs: windows/ stays, others will come. */
int record_collect_now(const char *dir, struct record_collected *c,
		       struct reel_error *err);

/* A block of a window that its log may lack. */
struct record_block {
	struct reel_block_head head; /* used never past what is there */
	int64_t at;		     /* of the head, in the window */
	bool have;		     /* found whole in the log */
};
struct record_window {
	const char *path;
	int fd;
	struct reel_head head;
	char page[REEL_WINDOW_HEAD_BYTES];
	struct record_block *block;
	uint32_t blocks;
};
/* Bring the log @path up to @w: its blocks appended, its head final. */
int record_log_complete(struct record_window *w, const char *path,
			struct reel_error *err);

/*
 * Put the logs of ended processes of this machine into one file, when there are
 * many. @ended: the job has ended, all that have no window have. Returns how
 * many were packed, or -1 with @err filled and all logs still there.
 */
int record_pack(const char *dir, bool ended, struct reel_error *err);

/* --- untraceable.c ---------------------------------------------------- */

/*
 * Why the command @name cannot be recorded, as the end of a sentence:
 * "'/bin/busybox' is statically linked". NULL when its file gives no reason.
 * The text is static; *@which is the counter of such programs.
 */
const char *untraceable_reason(const char *name, enum reel_counter *which);
/* Count the command @name in job.counts, when it cannot be recorded. */
void record_why_count(const char *dir, const char *name);

#endif
