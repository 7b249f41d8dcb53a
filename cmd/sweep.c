/* SPDX-License-Identifier: MIT */
/* ioreel sweep: a workload over a grid of values. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
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
#include "lib/progress.h"

#include "cmd/commands.h"
#include "replay/comm/comm.h"
#include "replay/dataset/generate.h"
#include "replay/sweep/sweep.h"
#include "replay/workload/workload.h"

static int run(int argc, char **argv);

const struct reel_command cmd_sweep = {
	.name = "sweep",
	.task = "run a workload over a grid of values",
	.usage = "--data DIR --set KEY=A,B,... [--repeat N] [--metric KEY] "
		 "[--csv FILE] [--svg FILE] F.json",
	.examples = "ioreel sweep train.json --data /scratch/sweep --set "
		    "pipeline.readers=1,2,4,8\n"
		    "ioreel sweep train.json --data /scratch/sweep --set "
		    "access.transfer_bytes=65536,1048576 --set cache=cold,warm "
		    "--svg sweep.svg\n",
	.about = "Runs the workload at every point of the grid, N times each "
		 "in turn, and prints means with 95 % confidence intervals. A "
		 "winner is named only when its interval lies apart from all "
		 "others. Data sets are made below DIR, one for each that "
		 "differs.",
	.run = run,
};

struct sweeping {
	struct sweep grid;
	const char *file, *data, *metric;
	int64_t repeats;
	bool quiet;
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

static int prepare(const struct sweeping *s, struct sweep_point *p,
		   struct reel_error *err)
{
	struct workload w;
	int rc = point_workload(s, p, &w, err);

	if (!rc)
		rc = make_data(s, &w, &p->data_set, err);
	workload_fini(&w);
	return rc;
}

/* The metric in the output of a run. */
static int read_metric(const struct sweeping *s, FILE *f, double *value,
		       struct reel_error *err)
{
	json_error_t why;
	json_t *doc = json_loadf(f, 0, &why), *v;

	v = json_object_get(doc, s->metric);
	*value = json_is_number(v) ? json_number_value(v) : NAN;
	if (doc && !v)
		reel_fail(err, REEL_E_USAGE,
			  "a result has no number '%s' (samples_per_s, "
			  "au_percent, wall_s, read_bytes ...)",
			  s->metric);
	json_decref(doc);
	return doc && v ? 0 : reel_fail(err, REEL_E_IO, "a run failed");
}

/* Each run is a process of its own, as users start it. */
static int run_once(const struct sweeping *s, const struct sweep_point *p,
		    double *value, struct reel_error *err)
{
	struct reel_buf file = REEL_BUF_INIT, data = REEL_BUF_INIT;
	int out[2] = {-1, -1}, status = 0, rc = -1;
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
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		execl("/proc/self/exe", "ioreel", "run", "-q", "--json",
		      "--data", reel_buf_text(&data), reel_buf_text(&file),
		      (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	out[1] = -1;
	rc = read_metric(s, f, value, err);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (status)
		rc = reel_fail(err, REEL_E_IO, "a run failed");
done:
	if (f)
		fclose(f);
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
	int n = s->grid.points, rc = 0;

	for (int i = 0; !rc && i < n; i++)
		rc = prepare(s, &s->grid.point[i], err);
	if (!rc && !s->quiet)
		reel_progress_start(&progress, "sweep", "runs",
				    (uint64_t)(n * s->repeats));
	for (int64_t k = 0; !rc && k < s->repeats; k++)
		for (int i = 0; !rc && i < n; i++) {
			struct sweep_point *p = &s->grid.point[(i + k) % n];

			rc = run_once(s, p, &p->sample[p->samples], err);
			p->samples++;
			reel_progress_at(&progress, (uint64_t)(k * n + i + 1));
		}
	reel_progress_stop(&progress);
	return rc ? -1 : 0;
}

static void print_winner(const struct sweeping *s)
{
	bool low = strstr(s->metric, "_s") && !strstr(s->metric, "per_s");
	const struct sweep_point *best = sweep_winner(&s->grid, low);

	if (!best) {
		printf("no winner: the intervals overlap\n");
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
		     reel_buf_write_file(&text, path, err);
	reel_buf_fini(&text);
	return rc ? -1 : 0;
}

static int run(int argc, char **argv)
{
	struct sweeping s = {.metric = "samples_per_s", .repeats = 5};
	struct reel_opt_list sets = {0};
	struct reel_error err = {0};
	const char *csv = NULL, *svg = NULL;
	struct reel_opt opts[] = {
		{"data", 'd', REEL_OPT_TEXT, &s.data, "DIR",
		 "folder for the data sets", 0, 0},
		{"set", 0, REEL_OPT_LIST, &sets, "KEY=A,B,...",
		 "values of a key; up to four keys", 0, 0},
		{"repeat", 0, REEL_OPT_INT, &s.repeats, "N",
		 "runs of each point (default: 5)", 1, SWEEP_REPEATS},
		{"metric", 0, REEL_OPT_TEXT, &s.metric, "KEY",
		 "number of the result (default: samples_per_s)", 0, 0},
		{"csv", 0, REEL_OPT_TEXT, &csv, "FILE", "every run", 0, 0},
		{"svg", 0, REEL_OPT_TEXT, &svg, "FILE", "a chart", 0, 0},
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
	s.file = argv[first];
	rc = sweep_init(&s.grid, sets.item, sets.n, (int)s.repeats, &err);
	if (!rc && mkdir(s.data, 0777) && errno != EEXIST)
		rc = reel_fail(&err, REEL_E_IO, "cannot make '%s': %s", s.data,
			       strerror(errno));
	if (!rc)
		rc = run_all(&s, &err);
	if (!rc) {
		sweep_summarize(&s.grid);
		sweep_print(&s.grid, s.metric);
		print_winner(&s);
		rc = write_file(&s, csv, sweep_csv, &err) ||
		     write_file(&s, svg, sweep_svg, &err);
	}
	sweep_fini(&s.grid);
	free(sets.item);
	return rc ? reel_cli_fail(&cmd_sweep, &err) : 0;
}
