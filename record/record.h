/* SPDX-License-Identifier: MIT */
/* Run a command under the shim: behind "ioreel record" and "ioreel replay". */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/trace_format.h"

#include "lib/cli.h" /* struct reel_opt_list */

struct json_t;
struct record_group;
struct reel_error;

struct record_summary;

struct reel_record_options {
	/* Sums up the trace. A callback, as this room must not load traces. */
	int (*summarize)(const char *dir, bool records,
			 struct record_summary *s, struct reel_error *err);
	const char *dir; /* trace directory: created, or empty */
	bool all;	 /* record code and system files too */
	struct reel_opt_list
		include; /* globs, "*" matches "/" too; overrides the rest */
	struct reel_opt_list exclude;
	const char *path_root;	  /* for job.json: load strips it; or NULL */
	struct json_t *launchers; /* of a replay: {recorded process id:
				    * launcher}, for job.json; or NULL */
	bool no_hooks;		  /* leave PYTHONPATH unchanged */
	bool follow_env;    /* trace programs with a cleared environment */
	bool complete;	    /* record raw system calls too */
	bool mmap_faults;   /* record the times of page faults */
	const char *events; /* "none", "A-B" (steps), NULL: all */
	const char *profile_steps; /* "A-B", or NULL */
	const char *stacks; /* N: a call stack for every Nth call; or NULL */
	int64_t max_bytes;  /* of the trace; 0: no limit */
	bool count;	    /* summarize events, bytes and hooks too */
	struct record_group *group; /* the ranks that share dir, or NULL */
};

/* The hidden command of the signal sentinel. */
extern const struct reel_command cmd_signal_sentinel;

/* Hooks and their states from the trace: "torch", "on, without loader". */
#define RECORD_HOOKS 16
struct record_hooks {
	int n;
	struct {
		char name[64], state[160];
	} hook[RECORD_HOOKS];
};

struct record_summary {
	int processes; /* of the job, like the sums; without launchers */
	int launcher_processes;
	const char *launcher;	 /* name, static; NULL: no launcher */
	bool launchers;		 /* there are further launchers */
	uint64_t launcher_files; /* read or written by launchers */
	uint64_t trace_bytes;	 /* of the directory's files */
	uint64_t lost[REEL_COUNTERS];
	uint64_t cut_bytes;
	uint32_t bad_files;	/* unreadable files of the trace */
	bool walked;		/* false: the fields below are not set */
	uint64_t events, calls; /* calls includes those in counters */
	uint64_t read_bytes, write_bytes, files;
	/* Bytes of them through mappings, at most, as the kernel maps pages by itself. */
	uint64_t mapped_read_bytes, mapped_write_bytes;
	struct record_hooks hooks;
};

/* The limit of CPU time of the job's control group. */
struct cpu_limit {
	int64_t millicpus;    /* thousandths of a processor; 0: no limit */
	int64_t throttled_ns; /* in which it stopped the group, of all CPUs */
};

/* CPU time of the machine while the job ran. The kernel's counters advance in
 * ticks of mostly 10 ms. */
struct cpu_usage {
	bool has;	   /* /proc/stat exists */
	int64_t busy_ns;   /* of all processes, including interrupts */
	int64_t stolen_ns; /* steal time: given to other guests by the host */
	int64_t job_ns;	   /* of the job's reaped processes */
	int64_t own_ns;	   /* of this process */
	struct cpu_limit limit;
};

struct reel_record_result {
	int wait_status; /* from waitpid() */
	int64_t wall_ns; /* from before fork to the end of the command */
	struct cpu_usage cpu;
	int running;	/* traced processes that outlived the command */
	int tty_signal; /* SIGINT or SIGQUIT from the terminal ended it; or 0 */
	int exec_errno; /* of the failed exec; 0: the command ran */
	bool hooks;	/* the job got the Python hooks */
	bool others;	/* other ranks still record in the directory */
	int ranks;	/* ranks that recorded; 0: no launcher of ranks */
	int failed_rank;   /* the first rank that failed, or -1 */
	int failed_status; /* its status from waitpid() */
	struct record_summary summary;
	bool summed; /* the summary is filled */
};

/*
 * Keys of job.json. Written before the job: command [words], cwd,
 * start_real_ns, host {name, boot_id, kernel, cpus, cpus_allowed,
 * memory_bytes}, environment {NAME: value}, mounts [{path, type, source}],
 * options {all, include, exclude, hooks}, path_root, launchers (or absent),
 * versions {ioreel, trace}. Added after it: end_real_ns, wall_ns, exit_status
 * (null after a signal), exit_signal (null without one), processor {job_ns,
 * others_ns, stolen_ns} (absent without /proc/stat; others includes other
 * ranks), cpu_limit {millicpus, throttled_ns} (absent without a limit),
 * processes, running, lost {reason: count}, code {opens, calls, read_bytes,
 * write_bytes}, hooks {name: state}. If a launcher started several ranks: ranks
 * [{rank, host, command, environment ..., exit_status, exit_signal, wall_ns,
 * processor, cpu_limit}]; each rank writes its entry to job.RANK.json, and the
 * last one merges them. Bytes that are not UTF-8 become \xNN.
 */

/*
 * Create the trace directory, run @argv under the shim with signals forwarded,
 * wait, merge the windows of ended processes into their logs, complete
 * job.json. 0, or -1 with @err: REEL_E_IO (directory; command not found, with
 * the text "cannot run 'pyhton3': not found in PATH").
 *
 * Environment of the job: LD_PRELOAD (full path of libioreel.so first),
 * IOREEL_DIR (absolute), IOREEL_ALL=1, IOREEL_INCLUDE and IOREEL_EXCLUDE
 * (globs separated by newlines), PYTHONPATH (hooks first), IOREEL_LAUNCHER
 * (schemas/launcher.h). The user's IOREEL_CLOCK=tsc|monotonic stays.
 */
int reel_record(const struct reel_record_options *opt, char **argv,
		struct reel_record_result *res, struct reel_error *err);

#endif
