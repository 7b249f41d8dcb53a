/* SPDX-License-Identifier: MIT */
/* Shared by the files of this room and by cmd/record.c. */
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

/* --- rank_group.c, rank_files.c: ranks that share a trace directory ------- */

struct record_group {
	int rank, size;
	int local_size; /* ranks on this machine; -1: unknown */
	int restart;	/* the launcher's attempt; <= 0: the first */
	bool joined;	/* the directory contains our rank */
	bool first;	/* this rank created the directory */
	char id[256];	/* equal in all ranks of a job */
	char nonce[32]; /* differs between jobs with the same id */
};

/* True if a launcher started this process as one rank of several. */
bool record_group_find(struct record_group *g);
/*
 * Create @dir, or join the ranks that created it. 0; 1: @dir belongs to another
 * job or already has our rank; -1 with @err filled.
 */
int record_group_join(struct record_group *g, const char *dir,
		      struct reel_error *err);
/* True while ranks may still join or leave @dir. */
bool record_group_open(const char *dir);
/* Close @dir for further ranks. True for the one process that closed it. */
bool record_group_close(const char *dir);

/* Mark our rank as running: 0, or -1 with errno (EEXIST: the rank is taken). */
int record_rank_take(const struct record_group *g, const char *dir);
/* Remove our rank again, because its command never ran. */
void record_rank_remove(const struct record_group *g, const char *dir);
/* Write the file of our ended rank from @job. */
int record_rank_end(const struct record_group *g, const char *dir,
		    const json_t *job, struct reel_error *err);
/* @here: running ranks on this machine; @left: ranks of the job that have not
 * ended. */
void record_rank_count(const struct record_group *g, const char *dir, int *here,
		       int *left);
/* All ranks have ended: merge their files into @job, job.json and @res. */
int record_rank_merge(const struct record_group *g, const char *dir,
		      json_t *job, struct reel_record_result *res,
		      struct reel_error *err);

/* --- trace_dir.c: the trace directory ------------------------------------- */

struct record_dir {
	char path[PATH_MAX];	/* absolute, without symbolic links */
	char windows[PATH_MAX]; /* on tmpfs, the target of windows/; or "" */
	bool made;		/* created by us, so ours to remove */
	struct reel_counts *counts; /* our job.counts, mapped, or NULL */
	ino_t inode;		    /* of our job.counts */
};

/*
 * Create @name (it must be new or empty) with windows/ and job.counts in it. A
 * rank of the group @g (or NULL) creates only the parts that earlier ranks have
 * not created. @budget_bytes: --max-size. 0, or -1 with @err filled and nothing
 * left behind.
 */
int record_dir_create(struct record_dir *d, const char *name,
		      struct record_group *g, int64_t budget_bytes,
		      struct reel_error *err);
/* Remove the directory, because the command never ran. */
void record_dir_remove(struct record_dir *d);
void record_dir_fini(struct record_dir *d);
/*
 * Number of process images that began to record, even if another program
 * removed or replaced the directory meanwhile; 0: unknown.
 */
uint64_t record_dir_started(const struct record_dir *d);
/*
 * Update the budget of --max-size in @dir: a window of @window_bytes is gone,
 * and a log grew by @log_bytes, its head included.
 */
void record_counts_merged(const char *dir, uint64_t window_bytes,
			  uint64_t log_bytes);
/* Add @n to a counter of job.counts in @dir. False: the file is missing. */
bool record_counts_add(const char *dir, enum reel_counter which, uint64_t n);
/* Remove windows/ (and the target of its link) if it is empty. */
void record_dir_close(const char *path);
/* The ranks of this machine have ended: remove the local target of windows/. */
void record_dir_close_here(const char *path);
bool record_dir_on_network(const char *path);
bool record_dir_is_empty(const char *path);

/* --- environment.c: the shim, the hooks and the environment of the job ---- */

/* Path of the shim: from IOREEL_SHIM, else relative to this program. */
int record_find_shim(char out[static PATH_MAX], struct reel_error *err);
/* Path of the Python hooks, found the same way; false: not installed. */
bool record_find_hooks(char out[static PATH_MAX]);

/*
 * The environment of the job: our own, with LD_PRELOAD, IOREEL_* and PYTHONPATH
 * set for @opt. @shim is a path without space, colon or "$", @hooks one without colon, or NULL.
 * Gives an array of strings for record_env_free().
 */
char **record_env(const struct reel_record_options *opt, const char *dir,
		  const char *shim, const char *hooks, struct reel_error *err);
void record_env_free(char **env);
/* True if a launcher of ranks started us; it may start other programs too. */
bool record_is_launched(void);

/* child.c: the signals of the set @name, as "\nSigBlk:", in the text of
 * /proc/PID/status; all if unknown. */
uint64_t record_signal_set(const char *status, const char *name);

/* --- signal_sentinel.c: was a signal sent to our whole process group? ----- */

struct signal_sentinel {
	pid_t pid;
	int fd;			/* -1: no sentinel runs */
	int64_t seen_ns[_NSIG]; /* received by the sentinel, not yet queried */
	int64_t told_ns[_NSIG]; /* the last one returned to a query */
};
void signal_sentinel_start(struct signal_sentinel *w);
void signal_sentinel_stop(struct signal_sentinel *w);
/* Start a new sentinel if it was killed. Called after each SIGCHLD. */
void signal_sentinel_check(struct signal_sentinel *w);
/* True if the rest of our process group got @sig too. Waits up to 40 ms. */
bool signal_sentinel_saw(struct signal_sentinel *w, int sig);

/* --- child.c: the job ----------------------------------------------------- */

struct record_signals {
	uint64_t opaque[64];
};
/*
 * Block the signals that are meant for the job, until record_run_end(). Call it
 * before our rank is entered in the directory: after a failure of another rank
 * the launcher may signal us before the job runs. If that killed us, the other
 * ranks would wait for a rank that never ends.
 */
void record_run_begin(struct record_signals *sig);
/*
 * Run @argv with @env, wait, forward signals. Merge the windows of ended
 * processes in @dir from time to time, so that they do not accumulate. 0 with
 * @res (wait_status, wall_ns), or -1 with res->exec_errno and @err.
 */
int record_run(char **argv, char **env, const char *dir,
	       struct record_signals *sig, struct reel_record_result *res,
	       struct reel_error *err);
/* The time of @clock in ns. */
int64_t record_clock_ns(clockid_t clock);
/* Discard pending signals; restore the signal mask and SIGCHLD. */
void record_run_end(struct record_signals *sig);

/* --- cpu_usage.c: CPU time of the machine while the job ran --------------- */

/* The object "processor" of job.json. */
json_t *cpu_usage_json(const struct cpu_usage *m);
/* CPU time since boot; then, in place, since that call. */
void cpu_usage_now(struct cpu_usage *m);
void cpu_usage_since(struct cpu_usage *m);

/* --- cpu_limit.c: the limit of CPU time of the job's control group -------- */

/* Read it; @groups: /proc/self/cgroup, @root: the folder of all groups. The time is
 * that since the group exists. */
void cpu_limit_now(struct cpu_limit *l, const char *groups, const char *root);
/* The object "cpu_limit" of job.json. */
json_t *cpu_limit_json(const struct cpu_limit *l);

/* --- job_json.c: job.json ------------------------------------------------- */

/* Gives a reference for json_decref(), or NULL with @err filled. */
json_t *record_job_begin(const struct reel_record_options *opt, char **argv,
			 bool hooks, struct reel_error *err);
/* Add how the command ended. */
void record_job_ended(json_t *job, const struct reel_record_result *res);
/* Add the counts of the trace and write job.json. */
int record_job_end(json_t *job, const char *dir,
		   const struct reel_record_result *res,
		   struct reel_error *err);
int record_job_write(const json_t *job, const char *dir,
		     struct reel_error *err);
/* Write @j as the file @path, entirely or not at all. */
int record_json_write(const json_t *j, const char *path,
		      struct reel_error *err);

/* --- liveness.c: this machine, and its living processes ------------------- */

/* The text of the kernel's boot_id, or "". */
void record_boot_id(char out[static 40]);

enum record_owner {
	RECORD_ENDED,
	RECORD_ALIVE,
	RECORD_ELSEWHERE /* in another pid namespace, on another machine */
};
struct record_alive {
	struct inner *inner; /* processes of namespaces below ours */
	uint32_t inners, room;
	bool looked;
};
/*
 * State of the process with the id @pid in its own namespace that had begun by
 * @since_boot_ns. Zero @a before the first call; it caches the scan of /proc.
 */
enum record_owner record_alive(struct record_alive *a, uint32_t pid,
			       uint64_t since_boot_ns);
void record_alive_fini(struct record_alive *a);
/* Upper bound for the last change of a file, in ns since boot. */
uint64_t record_file_boot_ns(const struct stat *st);
/*
 * Number of living processes that record into @dir: the @pids known ones, and
 * those that /proc shows with the shim and this directory.
 */
int record_alive_count(const char *dir, const uint32_t *pid, size_t pids);

/* --- collect.c, log_merge.c, log_archive.c -------------------------------- */

struct record_collected {
	int running; /* processes that are still alive */
	int merged;  /* windows merged into logs */
	int left; /* windows that failed to merge; @err has the first reason */
};
int record_collect(const char *dir, struct record_collected *c,
		   struct reel_error *err);
/* The same while the job runs: windows/ stays for further processes. */
int record_collect_now(const char *dir, struct record_collected *c,
		       struct reel_error *err);

/* A block of a window that may be missing in its log. */
struct record_block {
	struct reel_block_head head; /* used: clipped to the bytes that exist */
	int64_t at;		     /* offset of the head in the window */
	bool have;		     /* the log has the whole block */
};
struct record_window {
	const char *path;
	int fd;
	struct reel_head head;
	char page[REEL_WINDOW_HEAD_BYTES];
	struct record_block *block;
	uint32_t blocks;
};
/* Complete the log @path from @w: append its blocks, write the final head. */
int record_log_complete(struct record_window *w, const char *path,
			struct reel_error *err);

/*
 * Pack the logs of ended processes of this machine into one file, if there are
 * many. @ended: the job has ended, so a log without a window is complete.
 * Returns the number of packed logs, or -1 with @err filled and no log lost.
 */
int record_pack(const char *dir, bool ended, struct reel_error *err);

/* --- untraceable.c: programs without LD_PRELOAD --------------------------- */

/*
 * The reason why the command @name cannot be recorded, to end a sentence:
 * "'/bin/busybox' is statically linked". NULL if its file gives no reason.
 * The text is static; *@which is the counter of such programs.
 */
const char *untraceable_reason(const char *name, enum reel_counter *which);
/* Count the command @name in job.counts if it cannot be recorded. */
void untraceable_count(const char *dir, const char *name);

#endif
