/* SPDX-License-Identifier: MIT */
/* ioreel import: a foreign format into a store. */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/terminal.h"

#include "analyzer/import/import.h"
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

/* job.strace.gz -> job.db, beside it; a folder's name without its slash. */
static int default_output(struct reel_buf *out, const char *path,
			  struct reel_error *err)
{
	size_t len = strlen(path);
	const char *dot;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (reel_buf_add(out, path, len, err))
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

static int import(char *const *file, int n, const char *path,
		  const struct reel_importer *as, bool quiet,
		  struct reel_error *err)
{
	double start_s = store_output_now_s();
	struct reel_store *st = NULL;
	int64_t events;
	int rc = -1;

	if (store_output_create(&st, path, err))
		return -1;
	events = reel_import(st, file, n, as, err);
	if (events < 0 ||
	    store_output_finish(st, "import", file[0], "no process in it", err))
		goto out;
	if (!quiet)
		store_output_summary(path, events, start_s);
	rc = 0;
out:
	reel_store_close(st);
	return rc;
}

static int run(int argc, char **argv);

const struct reel_command cmd_import = {
	.name = "import",
	.task = "turn another tool's trace into a store",
	.usage = "[-o RUN.db] [--as NAME] [-q] FILE ...",
	.examples = "ioreel import strace.out -o monday.db\n"
		    "ioreel import --list\n",
	.about =
		"Reads the FILEs, or folders of files, that another tool wrote "
		"about one job, and writes the store RUN.db (default: the name "
		"of the first FILE with .db). The format is found by content. "
		"The other commands take such a FILE directly.",
	.run = run,
};

static int run(int argc, char **argv)
{
	struct reel_error err = {0};
	struct reel_buf name = REEL_BUF_INIT;
	const struct reel_importer *as = NULL;
	const char *path = NULL, *as_name = NULL;
	bool quiet = false, list = false;
	struct reel_opt opts[] = {
		{"output", 'o', REEL_OPT_TEXT, &path, "RUN.db",
		 "the store to write", 0, 0},
		{"as", 0, REEL_OPT_TEXT, &as_name, "NAME",
		 "the format, whatever the content looks like", 0, 0},
		{"list", 0, REEL_OPT_FLAG, &list, NULL,
		 "print the formats and the values that they lack", 0, 0},
		{"quiet", 'q', REEL_OPT_FLAG, &quiet, NULL, "no closing line",
		 0, 0},
		{0},
	};
	int first = reel_cli_parse(&cmd_import, opts, false, argc, argv);
	int rc = 0;

	if (first < 0)
		return first == -2 ? 0 : 2;
	if (list && first < argc)
		return reel_cli_usage(&cmd_import, "--list takes no file: '%s'",
				      argv[first]);
	if (list)
		return print_list();
	if (first == argc)
		return reel_cli_usage(&cmd_import, "no file given");
	if ((as_name && !(as = reel_importer_find(as_name, &err))) ||
	    (!path && default_output(&name, argv[first], &err))) {
		rc = reel_cli_fail(&cmd_import, &err);
		goto out;
	}
	if (!path)
		path = reel_buf_text(&name);
	if (import(argv + first, argc - first, path, as, quiet, &err))
		rc = reel_cli_fail(&cmd_import, &err);
	else
		reel_terminal_next("report", path, NULL);
out:
	reel_buf_fini(&name);
	return rc;
}
