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
	/* Sums up the trace: loading one is above this room. */
	int (*summarize)(const char *dir, bool records,
			 struct record_summary *s, struct reel_error *err);
	const char *dir; /* trace directory; made, must be new or empty */
	bool all;	 /* code and system files too */
	struct reel_opt_list
		include; /* globs, "*" matches "/" too; win over all */
	struct reel_opt_list exclude;
	const char *path_root;	   /* into job.json: load strips it; or NULL */
	struct json_t *launchers;  /* of a replay: {process id of the recording:
				     * its launcher}, into job.json; or NULL */
	bool no_hooks;		   /* leave PYTHONPATH alone */
	bool follow_env;	   /* into programs that clear it */
	bool complete;		   /* raw system calls too */
	bool mmap_faults;	   /* time page faults on mappings */
	const char *events;	   /* "none", "A-B" (steps), NULL: all */
	const char *profile_steps; /* "A-B", or NULL */
	const char *stacks;	   /* one call in so many, or NULL */
	int64_t max_bytes;	   /* of the trace; 0: no limit */
	bool count;		   /* events, bytes and hooks of the trace */
	struct record_group *group; /* ranks that share dir, or NULL */
};

/* The hidden command of the signal sentinel. */
extern const struct reel_command cmd_signal_sentinel;

/* States of hooks, "torch" and "on, without loader", as the job noted them. */
#define RECORD_HOOKS 16
struct record_hooks {
	int n;
	struct {
		char name[64], state[160];
	} hook[RECORD_HOOKS];
};

struct record_summary {
	int processes; /* of the job, as are the sums; launchers are apart */
	int launcher_processes;
	const char *launcher;	 /* static; NULL: there was none */
	bool launchers;		 /* and others */
	uint64_t launcher_files; /* that they read or wrote */
	uint64_t trace_bytes;	 /* of the directory's files */
	uint64_t lost[REEL_COUNTERS];
	uint64_t cut_bytes;
	uint32_t bad_files;	/* of the trace, that cannot be read */
	bool walked;		/* false: what follows was not counted */
	uint64_t events, calls; /* counters stand for many calls */
	uint64_t read_bytes, write_bytes, files;
	struct record_hooks hooks;
};

/* CPU time of the machine while the job ran; its counters tick, mostly each
 * 10 ms. */
struct record_machine {
	bool has;	   /* there is a /proc/stat */
	int64_t busy_ns;   /* of all processes, interrupts with them */
	int64_t stolen_ns; /* the host of a virtual machine gave to others */
	int64_t job_ns;	   /* of the job's processes that were waited for */
	int64_t own_ns;	   /* of this process */
};

struct reel_record_result {
	int wait_status; /* as waitpid() gave it */
	int64_t wall_ns; /* from before fork to the end of the command */
	struct record_machine machine;
	int running;	 /* traced processes still alive when it ended */
	int tty_signal;	 /* SIGINT or SIGQUIT of the terminal ended it; or 0 */
	int exec_errno;	 /* why the command could not be run; 0: it ran */
	bool hooks;	 /* the Python hooks were given to the job */
	bool others;	 /* other ranks still record in the directory */
	int ranks;	 /* that recorded in it; 0: there are none */
	int failed_rank; /* the first that did not end well, or -1 */
	int failed_status; /* as waitpid() gave it there */
	struct record_summary summary;
	bool summed; /* there is one */
};

/*
 * Keys of job.json. Before the job: command [words], cwd, start_real_ns, host
 * {name, boot_id, kernel, cpus, cpus_allowed, memory_bytes}, environment
 * {NAME: value}, mounts [{path, type, source}], options {all, include, exclude,
 * hooks}, path_root, launchers (or absent), versions {ioreel, trace}. After it:
 * end_real_ns, wall_ns, exit_status (null when it was a signal), exit_signal
 * (null when it was none), processor {job_ns, others_ns, stolen_ns} (absent
 * without /proc/stat; others: the other ranks, too), processes, running, lost
 * {reason: count}, code {opens, calls, read_bytes, write_bytes}, hooks {name:
 * state}. Where a launcher started several ranks of it: ranks [{rank, host,
 * command, environment ..., exit_status, exit_signal, wall_ns, processor}], which
 * stand in job.RANK.json until the last has ended. Bytes that are no UTF-8
 * stand as \xNN.
 */

/*
 * Make the trace directory, run @argv under the shim with signals forwarded,
 * wait, merge the windows of ended processes into their logs, complete
 * job.json. 0, or -1 with @err: REEL_E_IO (directory; command not found: text
 * "cannot run 'pyhton3': not found in PATH").
 *
 * Environment for the job: LD_PRELOAD (full path of libioreel.so first),
 * IOREEL_DIR (absolute), IOREEL_ALL=1, IOREEL_INCLUDE and IOREEL_EXCLUDE
 * (globs separated by newlines), PYTHONPATH (hooks first), IOREEL_LAUNCHER
 * (schemas/launcher.h). Read by the shim
 * too when the user set it: IOREEL_CLOCK=tsc|monotonic.
 */
int reel_record(const struct reel_record_options *opt, char **argv,
		struct reel_record_result *res, struct reel_error *err);

#endif
