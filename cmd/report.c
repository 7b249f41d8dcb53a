/* SPDX-License-Identifier: MIT */
/*
 * ioreel report: describe a run in sentences and figures.
 *
 * Without options one screen; each section's option prints its first rows
 * instead.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cli.h"
#include "lib/error.h"
#include "lib/store/store.h"

#include "analyzer/report/render.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "cmd/commands.h"

/* Rows of a section unless --top says otherwise. */
#define TOP 20

static int report(const char *renderer, const struct report_options *o,
		  struct reel_error *err)
{
	struct reel_store *st = NULL;
	struct report r = {0};
	int rc = -1;

	if (!reel_run_open(&st, o->run, err) && !report_read(&r, st, err))
		rc = report_renderer_find(renderer)->render(&r, o, err);
	report_fini(&r);
	reel_store_close(st);
	return rc;
}

/* Parse --top: "all" is 0. false: it is neither that nor a number. */
static bool read_top(const char *text, int64_t *top)
{
	char *end;

	if (!strcmp(text, "all")) {
		*top = 0;
		return true;
	}
	errno = 0;
	*top = strtoll(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

static int run(int argc, char **argv)
{
	struct report_options o = {.top = TOP};
	bool json = false;
	const char *top = NULL;
	const struct reel_opt opts[] = {
		{"json", 0, REEL_OPT_FLAG, &json, NULL,
		 "all of it as one JSON document", 0, 0},
		{"files", 0, REEL_OPT_FLAG, &o.files, NULL,
		 "files with their calls, bytes and time", 0, 0},
		{"steps", 0, REEL_OPT_FLAG, &o.steps, NULL, "training steps", 0,
		 0},
		{"ranks", 0, REEL_OPT_FLAG, &o.ranks, NULL,
		 "ranks and processes", 0, 0},
		{"time", 0, REEL_OPT_FLAG, &o.time, NULL, "seconds of the run",
		 0, 0},
		{"losses", 0, REEL_OPT_FLAG, &o.losses, NULL,
		 "what is missing, and why", 0, 0},
		{"stacks", 0, REEL_OPT_FLAG, &o.stacks, NULL,
		 "the source lines behind it (record --stacks)", 0, 0},
		{"other-tools", 0, REEL_OPT_FLAG, &o.other_tools, NULL,
		 "figures by the rules of Darshan, VaniDL, TimeLogger", 0, 0},
		{"top", 0, REEL_OPT_TEXT, &top, "N",
		 "rows of a section (20; all: every one)", 0, 0},
		{"all", 'a', REEL_OPT_FLAG, &o.launchers, NULL,
		 "the processes and files of launchers (pyenv, conda), too", 0,
		 0},
		{NULL, 0, REEL_OPT_FLAG, NULL, NULL, NULL, 0, 0},
	};
	struct reel_error err = {0};
	int at = reel_cli_parse(&cmd_report, opts, false, argc, argv);

	if (at < 0)
		return at == -2 ? 0 : 2;
	if (argc - at != 1)
		return reel_cli_usage(&cmd_report, "wants one run, got %d",
				      argc - at);
	if (top && !read_top(top, &o.top))
		return reel_cli_usage(&cmd_report,
				      "--top wants a number or all, got '%s'",
				      top);
	o.run = argv[at];
	if (report(json ? "json" : "text", &o, &err))
		return reel_cli_fail(&cmd_report, &err);
	return 0;
}

const struct reel_command cmd_report = {
	.name = "report",
	.task = "say what happened, and whether it was the I/O",
	.usage = "[--json] [--files | --ranks | ...] [--top N] [-a] RUN",
	.examples = "ioreel report train.reel\n"
		    "ioreel report --files --top 50 train.db\n",
	.about = "RUN is a store or a trace directory. A section's option "
		 "prints its first rows and how many more there are.",
	.run = run,
};
