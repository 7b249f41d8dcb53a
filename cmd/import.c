/* SPDX-License-Identifier: MIT */
/* ioreel import: a foreign format into a store. */
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
#include "lib/output.h"
#include "lib/terminal.h"

#include "analyzer/import/import.h"
#include "analyzer/run/run.h"
#include "cmd/commands.h"
#include "cmd/store_output.h"

static int print_list(void)
{
	for (int i = 0; reel_importers[i]; i++) {
		const struct reel_importer *as = reel_importers[i];

		printf("%s: %s\n    not in it: ", as->name, as->about);
		for (int k = 0; as->missing[k]; k++)
			printf("%s%s", k ? ", " : "", as->missing[k]);
		putchar('\n');
	}
	return 0;
}

/* Name the file that is missing, not the store that cannot be beside it. */
static int check_readable(char *const *file, int n, struct reel_error *err)
{
	for (int i = 0; i < n; i++)
		if (access(file[i], R_OK))
			return reel_fail_io(err, "open", file[i], errno);
	return 0;
}

#define STANDARD_INPUT "/dev/stdin"
#define COPY_BYTES (1u << 20)

/* All of standard input into @fd. 0, or -1. */
static int copy_input(int fd, struct reel_error *err)
{
	char *buf = reel_alloc(COPY_BYTES, 1, err);
	ssize_t n = buf ? 1 : -1, put = 0;

	while (n > 0) {
		n = read(STDIN_FILENO, buf, COPY_BYTES);
		if (n < 0)
			reel_fail_io(err, "read", STANDARD_INPUT, errno);
		for (ssize_t at = 0; at < n; at += put) {
			put = write(fd, buf + at, (size_t)(n - at));
			if (put < 0) {
				free(buf);
				return reel_fail_io(err, "write",
						    "a temporary file", errno);
			}
		}
	}
	free(buf);
	return n ? -1 : 0;
}

/* Formats read a file more than once, from its beginning: make standard input a
 * file, if it is none. 0, or -1. */
static int keep_input(struct reel_error *err)
{
	struct stat st;
	int fd, rc;

	if (isatty(STDIN_FILENO))
		return reel_fail(err, REEL_E_USAGE,
				 "standard input is a terminal");
	if (!fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode))
		return 0;
	fd = reel_output_temporary(err);
	if (fd < 0)
		return -1;
	rc = copy_input(fd, err);
	if (!rc && dup2(fd, STDIN_FILENO) < 0)
		rc = reel_fail_io(err, "read", STANDARD_INPUT, errno);
	close(fd);
	return rc;
}

/* "-" among the files is standard input. 0, or -1. */
static int name_input(char **file, int n, struct reel_error *err)
{
	static char name[] = STANDARD_INPUT;
	bool named = false;

	for (int i = 0; i < n; i++) {
		if (strcmp(file[i], "-") != 0)
			continue;
		file[i] = name;
		named = true;
	}
	return named ? keep_input(err) : 0;
}

/* job.strace.gz -> job.db, beside it; a folder's name without its slash. */
static int default_output(struct reel_buf *out, const char *path,
			  struct reel_error *err)
{
	char *name = reel_output_stem(path, err);
	const char *dot;
	int rc = name ? reel_buf_puts(out, name, err) : -1;

	free(name);
	if (rc)
		return -1;
	if (out->len > 3 && !strcmp(out->data + out->len - 3, ".gz"))
		out->data[out->len -= 3] = '\0';
	dot = strrchr(out->data, '.');
	if (dot && dot > out->data && dot[-1] != '/' && !strchr(dot, '/')) {
		out->len = (size_t)(dot - out->data);
		out->data[out->len] = '\0';
	}
	return reel_buf_puts(out, ".db", err);
}

struct import {
	char *const *file;
	int files;
	struct reel_run_import options;
};

static int64_t fill(struct reel_store *st, const void *arg,
		    struct reel_error *err)
{
	const struct import *im = arg;

	return reel_run_import(st, im->file, im->files, &im->options, err);
}

/* Seconds, as the user wrote them, into ns: @ns has room for each. */
static int parse_shifts(int64_t *ns, const struct reel_opt_list *list,
			struct reel_error *err)
{
	for (int i = 0; i < list->n; i++) {
		char *end;
		double s = strtod(list->item[i], &end);

		if (end == list->item[i] || *end || !(fabs(s) < 4e9))
			return reel_fail(err, REEL_E_USAGE,
					 "--shift takes seconds, not '%s'",
					 list->item[i]);
		ns[i] = llround(s * 1e9);
	}
	return 0;
}

static int import(char *const *file, int n, const char *path,
		  const char *as_name, const char *map, enum join_method align,
		  const struct reel_opt_list *shifts, int threads, bool partial,
		  bool quiet, struct reel_error *err)
{
	int64_t *ns = reel_alloc((size_t)shifts->n + 1, sizeof(*ns), err);
	struct import im = {.file = file,
			    .files = n,
			    .options = {.import = {.map = map,
						   .threads = threads,
						   .partial = partial},
					.align = align,
					.shift_ns = shifts->n ? ns : NULL,
					.shifts = shifts->n}};
	const struct store_producer producer = {.verb = "import",
						.source = file[0],
						.nothing = "no process in it",
						.fill = fill,
						.arg = &im};
	int rc = ns ? parse_shifts(ns, shifts, err) : -1;

	if (map && !as_name)
		as_name = "csv";
	if (!rc && as_name) {
		im.options.import.as = reel_importer_find(as_name, err);
		rc = im.options.import.as ? 0 : -1;
	}
	if (!rc)
		rc = check_readable(file, n, err);
	if (!rc)
		rc = store_output_write(path, &producer, quiet, err);
	free(ns);
	return rc;
}

static int run(int argc, char **argv);

const struct reel_command cmd_import = {
	.name = "import",
	.task = "turn another tool's trace into a store",
	.usage = "[-o RUN.db] [--as NAME] [--map FIELD=COLUMN,...] "
		 "[--partial] [--align HOW] [--shift S] [-j N] [-q] FILE ...",
	.examples = "ioreel import strace.out -o monday.db\n"
		    "ioreel import job.darshan job.pt.trace.json -o job.db\n",
	.about =
		"Reads the FILEs, or folders of files, that another tool wrote "
		"about one job, and writes the store RUN.db (default: the name "
		"of the first FILE with .db). The format is found by content. "
		"FILE - is standard input. FILEs of several formats, traces "
		"and stores are put on the "
		"clock of the first and joined. The other commands take a "
		"single FILE directly.",
	.run = run,
};

static int run(int argc, char **argv)
{
	struct reel_error err = {0};
	struct reel_buf name = REEL_BUF_INIT;
	struct reel_opt_list shifts = {0};
	const char *path = NULL, *as_name = NULL, *map = NULL;
	bool quiet = false, list = false, partial = false;
	int64_t threads = 0;
	int align = 0, rc = 0;
	struct reel_opt opts[] = {
		{"output", 'o', REEL_OPT_TEXT, &path, "RUN.db",
		 "the store to write", 0, 0},
		{"as", 0, REEL_OPT_TEXT, &as_name, "NAME",
		 "the format, whatever the content looks like", 0, 0},
		{"map", 0, REEL_OPT_TEXT, &map, "FIELD=COLUMN,...",
		 "the columns of a CSV file (format csv)", 0, 0},
		{"align", 0, REEL_OPT_CHOICE, &align,
		 "any|clocks|anchors|reads",
		 "how files of several formats get one clock", 0, 0},
		{"shift", 0, REEL_OPT_LIST, &shifts, "S",
		 "seconds to add to the times of the second source (again: of "
		 "the third ...)",
		 0, 0},
		{"partial", 0, REEL_OPT_FLAG, &partial, NULL,
		 "of a file that is damaged or cut off, take what is whole", 0,
		 0},
		{"list", 0, REEL_OPT_FLAG, &list, NULL,
		 "print the formats and the values that they lack", 0, 0},
		{"jobs", 'j', REEL_OPT_INT, &threads, "N",
		 "threads to work with (default: one per processor)", 1, 1024},
		{"quiet", 'q', REEL_OPT_FLAG, &quiet, NULL, "no closing line",
		 0, 0},
		{0},
	};
	int first = reel_cli_parse(&cmd_import, opts, false, argc, argv);

	if (first < 0)
		return first == -2 ? 0 : 2;
	if (list || first == argc)
		rc = list && first == argc ? print_list()
		     : list		   ? reel_cli_usage(&cmd_import,
							    "--list takes no file: '%s'",
							    argv[first])
			    : reel_cli_usage(&cmd_import, "no file given");
	else if (!path && !strcmp(argv[first], "-"))
		rc = reel_cli_usage(&cmd_import,
				    "standard input has no name for a store: "
				    "give -o RUN.db");
	else if (name_input(argv + first, argc - first, &err) ||
		 (!path && default_output(&name, argv[first], &err)) ||
		 import(argv + first, argc - first,
			path ? path : reel_buf_text(&name), as_name, map,
			(enum join_method)align, &shifts, (int)threads, partial,
			quiet, &err))
		rc = reel_cli_fail(&cmd_import, &err);
	else
		reel_terminal_next("report", path ? path : reel_buf_text(&name),
				   NULL);
	free(shifts.item);
	reel_buf_fini(&name);
	return rc;
}
