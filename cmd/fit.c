/* SPDX-License-Identifier: MIT */
/* ioreel fit: a recorded job becomes the description of a benchmark. */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"
#include "lib/output.h"
#include "lib/store/store.h"
#include "lib/terminal.h"

#include "analyzer/run/run.h"
#include "cmd/commands.h"
#include "replay/fit/fit.h"
#include "replay/workload/workload.h"

static int run(int argc, char **argv);

const struct reel_command cmd_fit = {
	.name = "fit",
	.task = "derive a benchmark from a run",
	.usage = "[-o F.json] [-q] RUN",
	.examples = "ioreel fit train.reel -o train.json\n"
		    "ioreel fit train.darshan -o train.json\n",
	.about = "Writes the workload of RUN: its data set, its order of "
		 "reading, its readers, batches, steps and checkpoints. Each "
		 "key is printed with the confidence and the reason of its "
		 "value; they stand in the file too. Without -o the workload "
		 "goes to standard output.",
	.run = run,
};

static void print_reasons(const struct workload *w)
{
	for (uint32_t i = 0; i < w->fit_n; i++)
		fprintf(stderr, "%-26s %3.0f %%  %s\n", w->fit[i].key,
			100 * w->fit[i].confidence, w->fit[i].reason);
}

static int fit(const char *run_path, const char *output, bool quiet,
	       struct reel_error *err)
{
	struct reel_buf text = REEL_BUF_INIT;
	struct reel_store *st = NULL;
	struct workload w;
	int rc;

	workload_init(&w);
	rc = reel_run_open(&st, run_path, err);
	if (!rc)
		rc = workload_fit(&w, st, err);
	if (!rc)
		rc = workload_check(&w, NULL, err);
	if (!rc)
		rc = workload_write(&w, &text, err);
	if (!rc && !quiet)
		print_reasons(&w);
	if (!rc)
		rc = reel_output_write(&text, output, err);
	reel_store_close(st);
	workload_fini(&w);
	reel_buf_fini(&text);
	return rc;
}

static int run(int argc, char **argv)
{
	struct reel_error err = {0};
	const char *output = NULL;
	bool quiet = false;
	struct reel_opt opts[] = {
		{"output", 'o', REEL_OPT_TEXT, &output, "F.json",
		 "the workload to write", 0, 0},
		{"quiet", 'q', REEL_OPT_FLAG, &quiet, NULL, "no reasons", 0, 0},
		{0},
	};
	int first = reel_cli_parse(&cmd_fit, opts, false, argc, argv);

	if (first < 0)
		return first == -2 ? 0 : 2;
	if (argc - first != 1)
		return reel_cli_usage(&cmd_fit, "one run is needed");
	if (fit(argv[first], output, quiet, &err))
		return reel_cli_fail(&cmd_fit, &err);
	if (output && !quiet)
		reel_terminal_next("workload check", output, NULL);
	return 0;
}
