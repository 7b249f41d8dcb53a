/* SPDX-License-Identifier: MIT */
/* ioreel load: a trace into a store. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/error.h"
#include "lib/output.h"
#include "lib/terminal.h"
#include "lib/trace/reader.h"

#include "cmd/commands.h"
#include "cmd/load_arguments.h"
#include "cmd/store_output.h"

/* train.reel -> train.db, beside it. */
static int default_output(struct reel_buf *out, const char *dir,
			  struct reel_error *err)
{
	char *name = reel_output_stem(dir, err);
	size_t len = name ? strlen(name) : 0;
	int rc = -1;

	if (len > 5 && !memcmp(name + len - 5, ".reel", 5))
		len -= 5;
	if (name && !reel_buf_add(out, name, len, err))
		rc = reel_buf_puts(out, ".db", err);
	free(name);
	return rc;
}

static int check_trace(const char *dir, struct reel_error *err)
{
	struct stat sb;

	if (reel_trace_is(dir))
		return 0;
	if (stat(dir, &sb) || (S_ISDIR(sb.st_mode) && access(dir, R_OK | X_OK)))
		return reel_fail_io(err, "load", dir, errno);
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is not a trace (a trace is a directory that "
			 "ioreel record made)",
			 dir);
}

static int64_t fill(struct reel_store *st, const void *arg,
		    struct reel_error *err)
{
	const struct load_arguments *a = arg;

	return reel_load(st, a->dir, &a->options, err);
}

static int load(const struct load_arguments *a, struct reel_error *err)
{
	const struct store_producer producer = {
		.verb = "load",
		.source = a->dir,
		.nothing = "no process of the job left a log in it",
		.fill = fill,
		.arg = a};

	return check_trace(a->dir, err) ||
			       store_output_write(a->path, &producer, a->quiet,
						  err)
		       ? -1
		       : 0;
}

int load_arguments_parse(const struct reel_command *cmd,
			 struct load_arguments *a, int argc, char **argv)
{
	struct reel_error err = {0};
	int64_t threads = 0;
	struct reel_opt opts[] = {
		{"output", 'o', REEL_OPT_TEXT, &a->path, "RUN.db",
		 "the store to write", 0, 0},
		{"jobs", 'j', REEL_OPT_INT, &threads, "N",
		 "threads to work with (default: one per processor)", 1, 1024},
		{"quiet", 'q', REEL_OPT_FLAG, &a->quiet, NULL,
		 "no closing line", 0, 0},
		{0},
	};
	int first = reel_cli_parse(cmd, opts, false, argc, argv);

	if (first < 0)
		return first == -2 ? 0 : 2;
	if (first == argc)
		return reel_cli_usage(cmd, "no trace directory given");
	if (argc - first > 1)
		return reel_cli_usage(cmd,
				      "one trace directory at a "
				      "time: '%s' is one too many",
				      argv[first + 1]);
	a->dir = argv[first];
	a->options.threads = (int)threads;
	if (a->path)
		return -1;
	if (default_output(&a->name, a->dir, &err))
		return reel_cli_fail(cmd, &err);
	a->path = reel_buf_text(&a->name);
	return -1;
}

void load_arguments_fini(struct load_arguments *a)
{
	reel_buf_fini(&a->name);
}

int load_arguments_run(const struct reel_command *cmd,
		       const struct load_arguments *a)
{
	struct reel_error err = {0};

	if (load(a, &err))
		return reel_cli_fail(cmd, &err);
	reel_terminal_next("report", a->path, NULL);
	return 0;
}

static int run(int argc, char **argv)
{
	struct load_arguments a = {0};
	int status = load_arguments_parse(&cmd_load, &a, argc, argv);

	if (status < 0)
		status = load_arguments_run(&cmd_load, &a);
	load_arguments_fini(&a);
	return status;
}

const struct reel_command cmd_load = {
	.name = "load",
	.task = "merge the traces of a job into one store",
	.usage = LOAD_USAGE,
	.examples = "ioreel load train.reel\n"
		    "ioreel load train.reel -o monday.db\n",
	.about = "Reads the trace directory DIR and writes the store RUN.db "
		 "(default: DIR's name with .db). An existing store is "
		 "replaced once the new one is complete; another file is not. "
		 "The store is the same for every number of threads.",
	.run = run,
};
