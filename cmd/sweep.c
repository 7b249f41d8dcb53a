/* SPDX-License-Identifier: MIT */
/* ioreel sweep: a workload over a grid of values. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"
#include "lib/output.h"
#include "lib/progress.h"

#include "cmd/commands.h"
#include "cmd/ranks.h"
#include "replay/comm/comm.h"
#include "replay/generate/generate.h"
#include "replay/pipeline/stop.h"
#include "replay/sweep/sweep.h"
#include "replay/workload/workload.h"

#define WORDS 64 /* of --launch */

static int run(int argc, char **argv);

const struct reel_command cmd_sweep = {
	.name = "sweep",
	.task = "run a workload over a grid of values",
	.usage = "--data DIR --set KEY=A,B,... [--repeat N] [--metric KEY] "
		 "[--launch COMMAND] [--csv FILE] [--svg FILE] F.json",
	.examples = "ioreel sweep train.json --data /scratch/sweep --set "
		    "pipeline.readers=1,2,4,8\n"
		    "ioreel sweep train.json --data /scratch/sweep --set "
		    "cache=cold,warm --csv sweep.csv\n",
	.about = "Runs the workload at every point of the grid, N times each "
		 "in turn, and prints means with 95 % confidence intervals. A "
		 "winner is named only when its interval is apart from all "
		 "others. Data sets are made below DIR, one for each that "
		 "differs. Ctrl-C prints the runs until then.",
	.run = run,
};

struct sweeping {
	struct sweep grid;
	const char *file, *data, *metric, *launch, *csv, *svg;
	int64_t repeats, done;
	bool quiet;
	char program[PATH_MAX]; /* that runs a workload */
};

static int point_path(const struct sweeping *s, const struct sweep_point *p,
		      struct reel_buf *out, struct reel_error *err)
{
	return reel_buf_printf(out, err, "%s/point-%03d.json", s->data,
			       (int)(p - s->grid.point));
}

static int data_path(const struct sweeping *s, int number, struct reel_buf *out,
		     struct reel_error *err)
{
	return reel_buf_printf(out, err, "%s/data-%03d", s->data, number);
}

/* --- one run -------------------------------------------------------------- */

/* The workload at @p, written to its file too. */
static int point_workload(const struct sweeping *s, const struct sweep_point *p,
			  struct workload *w, struct reel_error *err)
{
	struct reel_buf setting = REEL_BUF_INIT, text = REEL_BUF_INIT;
	struct reel_buf path = REEL_BUF_INIT;
	int rc = workload_read(w, s->file, NULL, err);

	for (int a = 0; !rc && a < s->grid.axes; a++) {
		reel_buf_reset(&setting);
		rc = sweep_setting(&s->grid, p, a, &setting, err) ||
		     workload_set(w, reel_buf_text(&setting), err);
	}
	rc = rc || workload_check(w, NULL, err) ||
	     workload_write(w, &text, err) || point_path(s, p, &path, err) ||
	     reel_buf_write_file(&text, reel_buf_text(&path), err);
	reel_buf_fini(&setting);
	reel_buf_fini(&text);
	reel_buf_fini(&path);
	return rc ? -1 : 0;
}

/* Make the data set of @w in the first folder that is free, or has it already. */
static int make_data(const struct sweeping *s, const struct workload *w,
		     int *number, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct generate_result made;
	int rc = -1;

	for (int i = 0; i < SWEEP_POINTS; i++) {
		struct generate_options options = {0};
		struct reel_error differs = {0};

		reel_buf_reset(&path);
		if (data_path(s, i, &path, err))
			break;
		options.dir = reel_buf_text(&path);
		if (!access(options.dir, F_OK) &&
		    dataset_is_of(w, options.dir, &differs))
			continue;
		*number = i;
		rc = dataset_generate(w, &options, &comm_single, &made, err);
		break;
	}
	reel_buf_fini(&path);
	return rc;
}

/* All points are checked before the first data set is made. */
static int prepare(struct sweeping *s, struct reel_error *err)
{
	int n = s->grid.points, rc = 0;

	for (int i = 0; !rc && i < 2 * n; i++) {
		struct sweep_point *p = &s->grid.point[i % n];
		struct workload w;

		rc = point_workload(s, p, &w, err);
		if (!rc && i >= n)
			rc = make_data(s, &w, &p->data_set, err);
		workload_fini(&w);
	}
	return rc;
}

/* "a run with KEY=VALUE ... failed", as @err. */
static int run_failed(const struct sweeping *s, const struct sweep_point *p,
		      struct reel_error *err)
{
	struct reel_buf text = REEL_BUF_INIT;
	int rc = 0;

	for (int a = 0; !rc && a < s->grid.axes; a++)
		rc = reel_buf_puts(&text, " ", err) ||
		     sweep_setting(&s->grid, p, a, &text, err);
	reel_fail(err, REEL_E_IO, "the run with%s failed",
		  reel_buf_text(&text));
	reel_buf_fini(&text);
	return -1;
}

/* The metric in the output @f of the process @pid, which a signal to us ends. */
static int read_metric(const struct sweeping *s, const struct sweep_point *p,
		       FILE *f, pid_t pid, double *value,
		       struct reel_error *err)
{
	struct reel_buf text = REEL_BUF_INIT;
	int status = 0, rc = 0, c;
	json_t *doc;

	while (!rc && !stop_signal() && (c = getc(f)) != EOF) {
		char byte = (char)c;

		rc = reel_buf_add(&text, &byte, 1, err);
	}
	if (rc || stop_signal())
		kill(pid, SIGTERM);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		if (stop_signal())
			kill(pid, SIGTERM);
	doc = json_loadb(reel_buf_text(&text), text.len, 0, NULL);
	if (!rc && !stop_signal())
		rc = status || !doc
			     ? run_failed(s, p, err)
			     : sweep_metric_value(s->metric, doc, value, err);
	json_decref(doc);
	reel_buf_fini(&text);
	return rc;
}

/* Replace this process by the run. --launch is split at blanks. */
static void start_run(const struct sweeping *s, const char *data,
		      const char *file)
{
	char launch[PATH_MAX], *state = NULL, *word;
	const char *argv[WORDS + 8];
	int n = 0;

	snprintf(launch, sizeof(launch), "%s", s->launch ? s->launch : "");
	for (word = strtok_r(launch, " \t", &state); word && n < WORDS;
	     word = strtok_r(NULL, " \t", &state))
		argv[n++] = word;
	argv[n++] = s->program;
	argv[n++] = "run";
	argv[n++] = "-q";
	argv[n++] = "--json";
	argv[n++] = "--data";
	argv[n++] = data;
	argv[n++] = file;
	argv[n] = NULL;
	execvp(argv[0], (char **)argv);
	fprintf(stderr, "ioreel sweep: cannot run '%s': %s\n", argv[0],
		strerror(errno));
	_exit(127);
}

/* Each run is a process of its own, as users start it. */
static int run_once(const struct sweeping *s, struct sweep_point *p,
		    struct reel_error *err)
{
	struct reel_buf file = REEL_BUF_INIT, data = REEL_BUF_INIT;
	int out[2] = {-1, -1}, rc = -1;
	FILE *f = NULL;
	pid_t pid;

	if (point_path(s, p, &file, err) ||
	    data_path(s, p->data_set, &data, err))
		goto done;
	if (pipe2(out, O_CLOEXEC) || !(f = fdopen(out[0], "r"))) {
		reel_fail(err, REEL_E_IO, "cannot make a pipe: %s",
			  strerror(errno));
		goto done;
	}
	pid = fork();
	if (pid < 0) {
		reel_fail(err, REEL_E_IO, "cannot fork: %s", strerror(errno));
		goto done;
	}
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		start_run(s, reel_buf_text(&data), reel_buf_text(&file));
	}
	close(out[1]);
	out[1] = -1;
	rc = read_metric(s, p, f, pid, &p->sample[p->samples], err);
	if (!rc && !stop_signal())
		p->samples++;
done:
	if (f)
		fclose(f);
	else if (out[0] >= 0)
		close(out[0]);
	if (out[1] >= 0)
		close(out[1]);
	reel_buf_fini(&file);
	reel_buf_fini(&data);
	return rc;
}

/* --- all runs ------------------------------------------------------------- */

/* Repeats are the outer loop, so that a slow minute hits all points alike; each
 * begins one point later. */
static int run_all(struct sweeping *s, struct reel_error *err)
{
	struct reel_progress progress = {0};
	int64_t n = s->grid.points, most = n * s->repeats;
	int rc = 0;

	stop_begin();
	if (!s->quiet)
		reel_progress_start(&progress, "sweep", "runs", (uint64_t)most);
	for (int64_t i = 0; !rc && !stop_signal() && i < most; i++) {
		rc = run_once(s, &s->grid.point[(i % n + i / n) % n], err);
		if (!rc && !stop_signal())
			s->done++;
		reel_progress_at(&progress, (uint64_t)s->done);
	}
	reel_progress_stop(&progress);
	return rc ? -1 : 0;
}

static void print_winner(const struct sweeping *s)
{
	const char *why;
	const struct sweep_point *best =
		sweep_winner(&s->grid, sweep_metric_is_low(s->metric), &why);

	if (!best) {
		printf("no winner: %s\n", why);
		return;
	}
	printf("winner:");
	for (int a = 0; a < s->grid.axes; a++)
		printf(" %s=%s", s->grid.axis[a].key,
		       s->grid.axis[a].value[best->at[a]]);
	putchar('\n');
}

static int write_file(const struct sweeping *s, const char *path,
		      int (*make)(const struct sweep *, const char *,
				  struct reel_buf *, struct reel_error *),
		      struct reel_error *err)
{
	struct reel_buf text = REEL_BUF_INIT;
	int rc = 0;

	if (path)
		rc = make(&s->grid, s->metric, &text, err) ||
		     reel_output_write(&text, path, err);
	reel_buf_fini(&text);
	return rc ? -1 : 0;
}

/* The results of all runs that ended, also when a later one failed. */
static int write_results(struct sweeping *s, struct reel_error *err)
{
	sweep_summarize(&s->grid);
	sweep_print(&s->grid, s->metric);
	print_winner(s);
	return write_file(s, s->csv, sweep_csv, err) ||
			       write_file(s, s->svg, sweep_svg, err)
		       ? -1
		       : 0;
}

/* A folder that cannot be written is known before hours of runs. */
static int check_output(const char *path, struct reel_error *err)
{
	struct reel_buf dir = REEL_BUF_INIT;
	const char *slash = path ? strrchr(path, '/') : NULL;
	int rc = 0;

	if (slash)
		rc = reel_buf_add(&dir, path, (size_t)(slash - path + 1), err);
	else
		rc = reel_buf_puts(&dir, ".", err);
	if (!rc && path && access(reel_buf_text(&dir), W_OK | X_OK))
		rc = reel_fail(err, REEL_E_IO, "cannot write '%s': %s", path,
			       strerror(errno));
	reel_buf_fini(&dir);
	return rc;
}

/* The program beside this one: with --launch the one for MPI. */
static int find_program(struct sweeping *s, struct reel_error *err)
{
	ssize_t n = readlink("/proc/self/exe", s->program,
			     sizeof(s->program) - sizeof("-mpi"));

	if (n < 0)
		return reel_fail(err, REEL_E_IO,
				 "cannot read /proc/self/exe: "
				 "%s",
				 strerror(errno));
	s->program[n] = '\0';
	if (!s->launch)
		return 0;
	memcpy(s->program + n, "-mpi", sizeof("-mpi"));
	if (strlen(s->launch) >= PATH_MAX)
		return reel_fail(err, REEL_E_USAGE, "--launch is too long");
	return access(s->program, X_OK)
		       ? reel_fail(err, REEL_E_USAGE, "--launch needs '%s': %s",
				   s->program, strerror(errno))
		       : 0;
}

static int sweep(struct sweeping *s, struct reel_error *err)
{
	int rc = find_program(s, err) || check_output(s->csv, err) ||
		 check_output(s->svg, err);

	if (!rc && mkdir(s->data, 0777) && errno != EEXIST)
		rc = reel_fail(err, REEL_E_IO, "cannot make '%s': %s", s->data,
			       strerror(errno));
	if (rc || prepare(s, err))
		return -1;
	rc = run_all(s, err);
	return (s->done && write_results(s, err)) || rc ? -1 : 0;
}

static int run(int argc, char **argv)
{
	struct sweeping s = {.metric = "samples_per_s", .repeats = 5};
	struct reel_opt_list sets = {0};
	struct reel_error err = {0};
	struct reel_opt opts[] = {
		{"data", 'd', REEL_OPT_TEXT, &s.data, "DIR",
		 "folder for the data sets", 0, 0},
		{"set", 0, REEL_OPT_LIST, &sets, "KEY=A,B,...",
		 "values of a key; up to four keys", 0, 0},
		{"repeat", 0, REEL_OPT_INT, &s.repeats, "N",
		 "runs of each point (default: 5)", 1, SWEEP_REPEATS},
		{"metric", 0, REEL_OPT_TEXT, &s.metric, "KEY",
		 "number of the result (default: samples_per_s)", 0, 0},
		{"launch", 0, REEL_OPT_TEXT, &s.launch, "COMMAND",
		 "start each run by it, as \"mpirun -n 4\"", 0, 0},
		{"csv", 0, REEL_OPT_TEXT, &s.csv, "FILE", "every run", 0, 0},
		{"svg", 0, REEL_OPT_TEXT, &s.svg, "FILE", "a chart", 0, 0},
		{"quiet", 'q', REEL_OPT_FLAG, &s.quiet, NULL,
		 "no progress line", 0, 0},
		{0},
	};
	int first = reel_cli_parse(&cmd_sweep, opts, false, argc, argv);
	int rc;

	if (first < 0)
		return first == -2 ? 0 : 2;
	if (argc - first != 1 || !s.data || !sets.n) {
		free(sets.item);
		return reel_cli_usage(&cmd_sweep,
				      "a workload, --data and --set are "
				      "needed");
	}
	if (ranks_refuse(&cmd_sweep,
			 "start sweep once, not on each rank: --launch "
			 "\"mpirun -n N\" starts the ranks of each run",
			 &rc)) {
		free(sets.item);
		return rc;
	}
	s.file = argv[first];
	rc = sweep_init(&s.grid, sets.item, sets.n, (int)s.repeats, &err) ||
	     sweep(&s, &err);
	sweep_fini(&s.grid);
	free(sets.item);
	if (rc)
		return reel_cli_fail(&cmd_sweep, &err);
	if (stop_signal()) {
		fprintf(stderr,
			"ioreel sweep: stopped by a signal after %lld "
			"runs\n",
			(long long)s.done);
		return 128 + stop_signal();
	}
	return 0;
}
