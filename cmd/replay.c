/* SPDX-License-Identifier: MIT */
/*
 * "ioreel replay": compile a plan; rebuild the files, replay under the shim,
 * load and compare, once or several times.
 *
 * There is one way out, whatever fails: all files are removed, except those
 * that the user asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/progress.h"
#include "lib/store/store.h"
#include "lib/terminal.h"

#include "analyzer/compare/likeness.h"
#include "analyzer/load/load.h"
#include "analyzer/report/report.h"
#include "analyzer/run/playable.h"
#include "analyzer/run/run.h"
#include "cmd/commands.h"
#include "cmd/ranks.h"
#include "cmd/record_summary.h"
#include "cmd/replay_summary.h"
#include "record/record.h"
#include "replay/engine/fileset.h"
#include "replay/engine/interrupt.h"
#include "replay/engine/player.h"
#include "replay/sandbox/sandbox.h"
#include "replay/engine/shared_state.h"
#include "replay/model/plan.h"

struct replay {
	const char *run, *output, *root, *plan_file;
	int64_t runs;
	double max_error; /* in percent; -1: no limit */
	bool afap, think, timed, keep, burn, cold, warm;
	enum fileset_cache cache;
	enum replay_mode mode;
	struct reel_store *recorded, *replayed;
	struct reel_store *playable; /* of an import; NULL: as recorded */
	struct reel_store *kept;     /* becomes the output */
	struct plan *plan;
	struct sandbox sandbox;
	struct result result;
	char dir[64];		       /* of the trace and the plan; "": none */
	char trace[96], plan_path[96]; /* of the current run */
	char result_path[96];	       /* "": none */
	struct reel_record_result ran;
	struct result_total total;
	struct reel_likeness likeness;
	pthread_t watcher;
	bool watching;
};

/* A folder for the plan and the trace; shared memory for the results. */
static int make_work_files(struct replay *r, struct reel_error *err)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	if (!tmp || strlen(tmp) > 30)
		tmp = "/tmp";
	snprintf(r->dir, sizeof(r->dir), "%s/ioreel-replay.XXXXXX", tmp);
	if (!mkdtemp(r->dir)) {
		r->dir[0] = '\0';
		return reel_fail(err, REEL_E_IO,
				 "cannot make a folder in '%s': "
				 "%s",
				 tmp, strerror(errno));
	}
	snprintf(r->plan_path, sizeof(r->plan_path), "%s/plan", r->dir);
	/* On a disk a write to the mapping could wait for writeback. */
	strcpy(r->result_path, "/dev/shm/ioreel-replay.XXXXXX");
	fd = mkstemp(r->result_path);
	if (fd < 0) {
		snprintf(r->result_path, sizeof(r->result_path),
			 "%s/result.XXXXXX", r->dir);
		fd = mkstemp(r->result_path);
	}
	if (fd < 0) {
		r->result_path[0] = '\0';
		return reel_fail(err, REEL_E_IO,
				 "cannot make a file in '%s': "
				 "%s",
				 r->dir, strerror(errno));
	}
	close(fd);
	return 0;
}

static int make_plan(struct replay *r, struct reel_error *err)
{
	const char *path = r->plan_file ? r->plan_file : r->plan_path;

	if (replay_report_named(r->recorded, err) ||
	    plan_compile(r->playable ? r->playable : r->recorded, path, err))
		return -1;
	if (interrupt_check(err) || plan_open(&r->plan, path, err)) {
		unlink(path); /* a plan file is complete, or absent */
		return -1;
	}
	if (r->plan_file)
		return 0;
	if (!r->plan->head->calls)
		return reel_fail(err, REEL_E_FORMAT,
				 "nothing to replay: '%s' has no calls",
				 r->run);
	return 0;
}

static int build_sandbox(struct replay *r, struct reel_error *err)
{
	if (sandbox_make(&r->sandbox, r->root, err) ||
	    fileset_build(r->plan, &r->sandbox, r->cache, err))
		return -1;
	replay_report_built(r->plan, &r->sandbox, r->cache);
	return result_make(r->result_path, r->plan, err) ||
			       result_open(&r->result, r->result_path, r->plan,
					   err)
		       ? -1
		       : 0;
}

/*
 * The remaining time of the replay. It follows the job's time, not the calls,
 * which are not spread evenly; and it goes on between two calls.
 */
struct pace {
	int64_t start_ns, moved_ns; /* CLOCK_MONOTONIC */
	int64_t at_ns;		    /* the job's time at moved_ns */
};

static int64_t time_left(struct pace *pace, const struct replay *r, int64_t now)
{
	const struct plan *p = r->plan;
	double wall = (double)p->head->wall_ns, at, slower = 1;

	for (uint32_t i = 0; i < p->head->streams; i++) {
		int64_t ns = r->result.stream[i].plan_ns +
			     p->process[p->stream[i].process].start_ns;

		if (r->result.stream[i].plan_ns && ns > pace->at_ns) {
			pace->at_ns = ns;
			pace->moved_ns = now;
		}
	}
	at = (double)(pace->at_ns + now - pace->moved_ns);
	if (at > 0 && (double)(now - pace->start_ns) > at)
		slower = (double)(now - pace->start_ns) / at;
	return at < wall ? (int64_t)((wall - at) * slower) : 0;
}

/* Draw the progress line, from the state that the processes share. */
static void *show_progress(void *arg)
{
	struct replay *r = arg;
	struct reel_progress progress;
	char what[64] = "replaying";
	struct pace pace = {.start_ns = reel_now_ns(),
			    .moved_ns = reel_now_ns()};

	reel_progress_start(&progress, what, "calls", r->plan->head->calls);
	while (__atomic_load_n(&r->watching, __ATOMIC_ACQUIRE)) {
		struct timespec pause = {0, 50000000};
		struct result_total t;
		uint64_t done;

		nanosleep(&pause, NULL);
		result_sum(&r->result, &t);
		done = t.same + t.differ + t.skipped;
		if (done && r->mode != REPLAY_AFAP)
			snprintf(what, sizeof(what),
				 "replaying, late calls %.2f %%",
				 100.0 * (double)t.late / (double)done);
		if (r->mode != REPLAY_AFAP)
			progress.left_ns = time_left(&pace, r, reel_now_ns());
		reel_progress_at(&progress, done);
	}
	reel_progress_stop(&progress);
	return NULL;
}

/* A glob that matches the paths below @root, whatever bytes it has. */
static void sandbox_glob(const char *root, char out[static PATH_MAX + 3])
{
	char *p = out;

	for (; *root; root++)
		*p++ = strchr("*?[]\\\n", *root) ? '?' : *root;
	strcpy(p, "/*");
}

/* Processes of launchers in the job: metrics of both runs leave them out. */
static json_t *launcher_processes(struct reel_store *st)
{
	json_t *o = json_object();
	sqlite3_stmt *q = NULL;

	if (!reel_store_prepare(st, &q,
				"SELECT process_id, launcher FROM process "
				"WHERE launcher IS NOT NULL",
				NULL))
		while (sqlite3_step(q) == SQLITE_ROW)
			json_object_set_new(
				o, (const char *)sqlite3_column_text(q, 0),
				reel_json_name(
					(const char *)sqlite3_column_text(q,
									  1)));
	sqlite3_finalize(q);
	return o;
}

static int run_engine(struct replay *r, struct reel_error *err)
{
	static const char *const modes[] = {"think", "timed", "afap"};
	char self[PATH_MAX], glob[PATH_MAX + 3], mode[32];
	const char *include[] = {glob, "/memfd:*"}, *exclude[] = {"*"};
	struct reel_record_options opt = {.summarize = record_summarize,
					  .dir = r->trace,
					  .include = {include, 2},
					  .exclude = {exclude, 1},
					  .path_root = r->sandbox.root,
					  .no_hooks = true};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char name[] = "replay-engine";
	char *argv[] = {self,		name, r->plan_path, r->sandbox.root,
			r->result_path, mode, NULL};

	if (n <= 0)
		return reel_fail(err, REEL_E_IO, "cannot find myself: %s",
				 strerror(errno));
	self[n] = '\0';
	sandbox_glob(r->sandbox.root, glob);
	snprintf(mode, sizeof(mode), "%s%s%s", modes[r->mode],
		 r->burn ? "+burn" : "", r->warm ? "+warm" : "");
	r->watching = true;
	if (pthread_create(&r->watcher, NULL, show_progress, r))
		return reel_fail(err, REEL_E_MEMORY, "cannot start a thread");
	opt.launchers = launcher_processes(r->recorded);
	n = reel_record(&opt, argv, &r->ran, err);
	json_decref(opt.launchers);
	__atomic_store_n(&r->watching, false, __ATOMIC_RELEASE);
	pthread_join(r->watcher, NULL);
	result_sum(&r->result, &r->total);
	if (n)
		return -1;
	if (r->result.head->stop || interrupt_signal ||
	    WIFSIGNALED(r->ran.wait_status)) {
		interrupt_signal = interrupt_signal ? interrupt_signal : SIGINT;
		return interrupt_check(err);
	}
	if (WEXITSTATUS(r->ran.wait_status))
		return reel_fail(err, REEL_E_IO, "the engine failed");
	return 0;
}

/* Kill processes that are left: they write into the sandbox, to be removed. */
static void end_processes(struct replay *r)
{
	if (!r->result.head)
		return;
	__atomic_store_n(&r->result.head->stop, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < r->plan->head->processes; i++) {
		const struct plan_process *pp = &r->plan->process[i];
		bool done = true;

		for (uint32_t k = 0; k < pp->streams; k++)
			done &= r->result.stream[pp->stream + k].state ==
				STREAM_DONE;
		if (!done && r->result.pid[i])
			kill((pid_t)r->result.pid[i], SIGKILL);
	}
}

/*
 * Remove all files of a run but its trace. False when the sandbox cannot be
 * removed.
 */
static bool end_run(struct replay *r, bool keep, struct reel_error *err)
{
	bool good = true;

	end_processes(r);
	if (r->sandbox.root[0] && keep) {
		fprintf(stderr, "ioreel replay: sandbox kept in ");
		reel_terminal_name(stderr, r->sandbox.root);
		fputc('\n', stderr);
	} else if (r->sandbox.root[0]) {
		good = !sandbox_remove(&r->sandbox, err);
		if (good && !interrupt_signal)
			fprintf(stderr, "ioreel replay: sandbox removed "
					"(--keep keeps it)\n");
	}
	memset(&r->sandbox, 0, sizeof(r->sandbox));
	result_close(&r->result);
	return good;
}

static void set_trace_path(struct replay *r, int64_t i)
{
	snprintf(r->trace, sizeof(r->trace), "%s/trace.%lld", r->dir,
		 (long long)i);
}

/* Open the store of the chosen run, in the output file if there is one. */
static int keep_store(struct replay *r, struct reel_error *err)
{
	reel_store_close(r->replayed);
	r->replayed = NULL;
	if (!r->output)
		return reel_run_open(&r->replayed, r->trace, err);
	if (reel_load(r->kept, r->trace, NULL, err) < 0 ||
	    reel_store_finish(r->kept, err))
		return -1;
	reel_store_close(r->kept);
	r->kept = NULL;
	return reel_store_open(&r->replayed, r->output, err);
}

static int play_run(struct replay *r, struct reel_error *err)
{
	double off;

	reel_store_close(r->replayed);
	r->replayed = NULL;
	if (build_sandbox(r, err) || run_engine(r, err))
		return -1;
	replay_report_confined(&r->result, "ioreel replay");
	replay_print_calls(r->plan, &r->result, &r->ran, &r->total);
	off = replay_print_times(r->plan, &r->total, (int64_t)r->ran.wall_ns,
				 r->mode);
	if (r->runs == 1 ? keep_store(r, err)
			 : reel_run_open(&r->replayed, r->trace, err))
		return -1;
	if (reel_compare(r->recorded, r->replayed, &r->likeness, err) ||
	    reel_compare_loops(r->recorded, r->replayed, &r->likeness, err))
		return -1;
	replay_print_likeness(&r->likeness);
	if (replay_judge(r->plan, &r->result, &r->total, r->mode, err))
		return -1;
	return r->max_error >= 0 && 100 * off > r->max_error
		       ? reel_fail(err, REEL_E_LIMIT,
				   "a time of the replay is off by %.1f %% "
				   "(--max-error %g)",
				   100 * off, r->max_error)
		       : 0;
}

/*
 * Play all runs, each with rebuilt files: their places in memory and on the
 * disk are a part of the difference between runs.
 */
static int play_runs(struct replay *r, struct reel_error *err)
{
	struct replay_run *run = reel_alloc((size_t)r->runs, sizeof(*run), err);
	struct reel_error unlike = {0}; /* a run with other results */
	int64_t middle;
	int rc = run ? 0 : -1;

	for (int64_t i = 0; !rc && i < r->runs; i++) {
		struct reel_error own = {0};

		printf("run %lld of %lld\n", (long long)i + 1,
		       (long long)r->runs);
		set_trace_path(r, i);
		if (play_run(r, &own) && own.code != REEL_E_LIMIT)
			rc = reel_fail(err, own.code, "%s", own.text);
		else if (own.code)
			reel_fail(&unlike, own.code, "%s", own.text);
		run[i] = replay_run_of(i, &r->likeness);
		if (!rc && i + 1 < r->runs && !end_run(r, false, err))
			rc = -1;
	}
	if (!rc) {
		middle = replay_print_runs(run, r->runs);
		set_trace_path(r, middle);
		rc = keep_store(r, err);
	}
	if (!rc && unlike.code)
		rc = reel_fail(err, unlike.code, "%s", unlike.text);
	free(run);
	return rc;
}

/* An import may lack descriptors and offsets. */
static int make_playable(struct replay *r, struct reel_error *err)
{
	struct reel_buf words = REEL_BUF_INIT;
	struct run_playable counts;
	int rc = reel_run_playable(&r->playable, &counts, r->recorded, err);

	reel_run_playable_words(&counts, &words);
	if (!rc && words.len)
		fprintf(stderr, "ioreel replay: %s\n", reel_buf_text(&words));
	reel_buf_fini(&words);
	return rc;
}

static int replay_job(struct replay *r, struct reel_error *err)
{
	int rc;

	if (make_work_files(r, err) ||
	    reel_run_open(&r->recorded, r->run, err) || interrupt_check(err))
		return -1;
	/* Create the output first, so that a bad path fails early. */
	if (r->output && reel_store_create(&r->kept, r->output, err))
		return -1;
	if (make_playable(r, err) || make_plan(r, err))
		return -1;
	if (r->plan_file)
		return 0;
	set_trace_path(r, 0);
	rc = r->runs == 1 ? play_run(r, err) : play_runs(r, err);
	if (r->replayed) {
		report_print_caveats("the job", r->recorded);
		report_print_caveats("the replay", r->replayed);
	}
	return rc;
}

static void clean_up(struct replay *r)
{
	struct reel_error err = {0};

	if (!end_run(r, r->keep, &err))
		reel_cli_fail(&cmd_replay, &err);
	reel_store_close(r->recorded);
	reel_store_close(r->playable);
	reel_store_close(r->replayed);
	reel_store_close(r->kept);
	plan_close(r->plan);
	if (r->result_path[0])
		unlink(r->result_path);
	if (r->dir[0])
		sandbox_remove_dir(r->dir);
}

static int check_usage(struct replay *r, int words)
{
	enum confinement way;
	struct reel_error err = {0};

	if (confine_wanted(&way, &err))
		return reel_cli_usage(&cmd_replay, "%s", err.text);
	if (words != 1)
		return reel_cli_usage(&cmd_replay,
				      words ? "more than one run given"
					    : "no run given");
	if (r->afap + r->think + r->timed > 1)
		return reel_cli_usage(&cmd_replay, "--think, --timed and "
						   "--afap exclude each other");
	if (r->max_error >= 0 && r->afap)
		return reel_cli_usage(&cmd_replay,
				      "--afap keeps no times, --max-error "
				      "compares them");
	if (r->burn && r->afap)
		return reel_cli_usage(&cmd_replay,
				      "--burn has no gaps to fill with --afap");
	if (r->plan_file && r->runs > 1)
		return reel_cli_usage(&cmd_replay,
				      "--plan plays nothing, so --runs has no "
				      "use");
	if (r->cold && r->warm)
		return reel_cli_usage(&cmd_replay,
				      "--cold and --warm exclude each other");
	r->cache = r->cold   ? FILESET_COLD
		   : r->warm ? FILESET_WARM
			     : FILESET_AS_RECORDED;
	r->mode = r->afap    ? REPLAY_AFAP
		  : r->timed ? REPLAY_TIMED
			     : REPLAY_THINK;
	return 0;
}

static int run(int argc, char **argv)
{
	struct replay r = {.runs = 1, .max_error = -1};
	struct reel_error err = {0};
	const struct reel_opt opts[] = {
		{"output", 'o', REEL_OPT_TEXT, &r.output, "FILE",
		 "keep the store of the replay", 0, 0},
		{"runs", 0, REEL_OPT_INT, &r.runs, "N",
		 "replay N times; FILE is the run of the median I/O time", 1,
		 1000},
		{"root", 0, REEL_OPT_TEXT, &r.root, "DIR",
		 "replay in DIR, which must be empty (default: a new "
		 "replay.XXXXXX here)",
		 0, 0},
		{"think", 0, REEL_OPT_FLAG, &r.think, NULL,
		 "keep the pauses between calls (the default)", 0, 0},
		{"timed", 0, REEL_OPT_FLAG, &r.timed, NULL,
		 "begin every call when it began in the job", 0, 0},
		{"afap", 0, REEL_OPT_FLAG, &r.afap, NULL,
		 "as fast as possible: only the order is kept", 0, 0},
		{"burn", 0, REEL_OPT_FLAG, &r.burn, NULL,
		 "compute through the pauses instead of sleeping", 0, 0},
		{"cold", 0, REEL_OPT_FLAG, &r.cold, NULL,
		 "begin with all rebuilt files out of the page cache", 0, 0},
		{"warm", 0, REEL_OPT_FLAG, &r.warm, NULL,
		 "begin with all of them in it, and keep them there "
		 "(default: as for the job)",
		 0, 0},
		{"max-error", 0, REEL_OPT_DOUBLE, &r.max_error, "P",
		 "exit with 3 when a time is off by more than P % of the job's",
		 0, 1000000},
		{"keep", 0, REEL_OPT_FLAG, &r.keep, NULL,
		 "leave the rebuilt files where they are", 0, 0},
		{"plan", 0, REEL_OPT_TEXT, &r.plan_file, "FILE",
		 "write the plan for ioreel-mpi replay, and stop", 0, 0},
		{0},
	};
	int at = reel_cli_parse(&cmd_replay, opts, false, argc, argv), status;

	if (at < 0)
		return at == -2 ? 0 : 2;
	status = check_usage(&r, argc - at);
	if (status ||
	    ranks_refuse(&cmd_replay,
			 "start it once with --plan FILE, and then mpirun -n N "
			 "ioreel-mpi replay FILE DIR",
			 &status))
		return status;
	r.run = argv[at];
	interrupt_catch();
	/* stdout may be closed: go on, to remove the files. */
	signal(SIGPIPE, SIG_IGN);
	if (replay_job(&r, &err)) {
		status = reel_cli_fail(&cmd_replay, &err);
		if (interrupt_signal)
			status = 128 + interrupt_signal;
	} else if (r.output) {
		reel_terminal_next("compare", r.run, r.output);
	}
	clean_up(&r);
	return status;
}

const struct reel_command cmd_replay = {
	.name = "replay",
	.task = "play a recorded run back, without its program and data",
	.usage = "RUN [-o FILE] [--root DIR] [--think|--timed|--afap] "
		 "[--cold|--warm] [options]",
	.examples =
		"  ioreel replay train.reel\n"
		"  ioreel replay train.reel -o again.db --root /scratch/r\n",
	.about = "Rebuilds the files that the job found (names and sizes; the "
		 "bytes are random) in "
		 "a folder of its own, and issues every recorded call again: "
		 "in the same processes "
		 "and threads, in the same order, with the same pauses. "
		 "Nothing outside that folder "
		 "is opened for writing. Exits with 3 when calls ended "
		 "otherwise than recorded, or "
		 "when --timed could not keep up.",
	.run = run,
};
