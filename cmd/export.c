/* SPDX-License-Identifier: MIT */
/*
 * ioreel export: the events and spans of a run in a format of other programs.
 *
 * A file is written under another name and renamed when it is whole.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/output.h"
#include "lib/store/store.h"
#include "lib/terminal.h"

#include "analyzer/export/exporter.h"
#include "analyzer/run/run.h"
#include "cmd/commands.h"

/* Viewers hold all events of Chrome's format in memory. */
#define CHROME_EVENTS 1000000
#define SECONDS_MOST 1000000000

struct output {
	const char *path; /* NULL: stdout */
	char *target;	  /* that @tmp replaces */
	struct reel_buf tmp;
	FILE *file;
};

/* A device or a pipe is written to; a file is replaced. */
static bool is_replaced(const char *path)
{
	struct stat st;

	return stat(path, &st) || S_ISREG(st.st_mode);
}

static int open_output(struct output *out, struct reel_error *err)
{
	const char *name = out->path;

	if (!name) {
		out->file = stdout;
		return 0;
	}
	if (is_replaced(name)) {
		out->target = reel_output_path(name, err);
		if (!out->target ||
		    reel_buf_printf(&out->tmp, err, "%s.tmp.%ld", out->target,
				    (long)getpid()))
			return -1;
		name = reel_buf_text(&out->tmp);
		reel_output_unfinished(name);
	}
	out->file = fopen(name, "we");
	return out->file ? 0 : reel_fail_io(err, "create", out->path, errno);
}

/* Close the output; keep it when @rc is 0, else remove it. Returns the new rc. */
static int close_output(struct output *out, int rc, struct reel_error *err)
{
	const char *tmp = out->tmp.len ? reel_buf_text(&out->tmp) : NULL;

	if (out->file && out->file != stdout && fclose(out->file) && !rc)
		rc = reel_fail_io(err, "write", out->path, errno);
	if (!rc && tmp && rename(tmp, out->target))
		rc = reel_fail_io(err, "create", out->path, errno);
	if (rc && tmp)
		unlink(tmp);
	reel_output_unfinished(NULL);
	reel_buf_fini(&out->tmp);
	free(out->target);
	return rc;
}

/* A reader that left is the end of the output. */
static int check_written(const struct output *out, int why,
			 struct reel_error *err)
{
	if (!why || why == EPIPE)
		return 0;
	if (!out->path)
		return reel_fail(err, REEL_E_IO,
				 "cannot write to standard output: %s",
				 strerror(why));
	return reel_fail(err, REEL_E_IO, "cannot write '%s': %s", out->path,
			 strerror(why));
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Print notes on stderr: the file, and whether it is too large for viewers. */
static void print_notes(const struct exporter *as, const struct output *out,
			const struct export_result *result)
{
	char num[REEL_NUM], bytes[REEL_NUM];
	int64_t n = result->events + result->spans;

	if (as == &export_chrome && n > CHROME_EVENTS)
		fprintf(stderr,
			"ioreel export: %s events: viewers may not cope with "
			"more than a million; --from S --to S export a part\n",
			reel_num_count(num, n));
	if (!out->path)
		return;
	fprintf(stderr, "ioreel export: %s events and spans (%s) in ",
		reel_num_count(num, n),
		reel_num_bytes(bytes, (double)result->bytes));
	reel_terminal_name(stderr, out->path);
	fputs(as == &export_chrome ? ": open it in https://ui.perfetto.dev or "
				     "chrome://tracing\n"
				   : "\n",
	      stderr);
}

static int export(const char *run, const struct exporter *as, const char *path,
		  const int64_t window_ns[2], struct reel_error *err)
{
	struct output out = {
		.path = path && reel_output_is_stdout(path) ? NULL : path};
	struct export_result result = {0};
	struct reel_store *st = NULL;
	int rc = -1;

	if (path && is_same_file(run, path))
		return reel_fail(err, REEL_E_USAGE,
				 "cannot create '%s': it is the run", path);
	if (open_output(&out, err))
		return close_output(&out, -1, err);
	if (!reel_run_open(&st, run, err))
		rc = export_run(as, st, window_ns[0], window_ns[1], out.file,
				&result, err);
	if (!rc)
		rc = check_written(&out, result.write_errno, err);
	rc = close_output(&out, rc, err);
	if (!rc)
		print_notes(as, &out, &result);
	reel_store_close(st);
	return rc;
}

static int64_t to_ns(double seconds)
{
	return llround(seconds * 1e9);
}

static int run(int argc, char **argv)
{
	int as = -1;
	const char *path = NULL;
	double from = 0, to = SECONDS_MOST;
	const struct reel_opt opts[] = {
		{"as", 0, REEL_OPT_CHOICE, &as, EXPORT_FORMATS, "the format", 0,
		 0},
		{"output", 'o', REEL_OPT_TEXT, &path, "FILE",
		 "where to write (standard output)", 0, 0},
		{"from", 0, REEL_OPT_DOUBLE, &from, "S",
		 "leave out what ended before second S of the run", 0,
		 SECONDS_MOST},
		{"to", 0, REEL_OPT_DOUBLE, &to, "S",
		 "leave out what began at second S or later", 0, SECONDS_MOST},
		{0},
	};
	struct reel_error err = {0};
	int64_t window_ns[2];
	int at = reel_cli_parse(&cmd_export, opts, false, argc, argv);

	if (at < 0)
		return at == -2 ? 0 : 2;
	if (argc - at != 1)
		return reel_cli_usage(&cmd_export, "wants one run, got %d",
				      argc - at);
	if (as < 0)
		return reel_cli_usage(&cmd_export,
				      "no format given: --as " EXPORT_FORMATS);
	if (from >= to)
		return reel_cli_usage(&cmd_export,
				      "empty window: --from %g is not before "
				      "--to %g",
				      from, to);
	window_ns[0] = to_ns(from);
	window_ns[1] = to < SECONDS_MOST ? to_ns(to) : INT64_MAX;
	if (export(argv[at], exporters[as], path, window_ns, &err))
		return reel_cli_fail(&cmd_export, &err);
	return 0;
}

const struct reel_command cmd_export = {
	.name = "export",
	.task = "give events to other programs: CSV, JSON, Chrome's traces",
	.usage = "--as " EXPORT_FORMATS " [-o FILE] [--from S] [--to S] RUN",
	.examples =
		"ioreel export --as chrome -o train.json train.reel\n"
		"ioreel export --as csv --from 10 --to 20 train.db >part.csv\n",
	.about = "RUN is a store or a trace directory. Every event and span "
		 "that overlaps the time from S to S, in the order of their "
		 "ends. chrome: ui.perfetto.dev and chrome://tracing open it.",
	.run = run,
};
