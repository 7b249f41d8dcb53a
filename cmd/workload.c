/* SPDX-License-Identifier: MIT */
/* ioreel workload: check, change and print the description of a benchmark. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"
#include "lib/output.h"

#include "cmd/commands.h"
#include "replay/workload/dlio.h"
#include "replay/workload/export.h"
#include "replay/workload/keys.h"
#include "replay/workload/workload.h"

static int run(int argc, char **argv);

const struct reel_command cmd_workload = {
	.name = "workload",
	.task = "check or change the description of a benchmark",
	.usage = "check F.json | set F.json KEY=VALUE ... | keys | "
		 "import DLIO.yaml | export F.json --as dlio|fio|ior [-o FILE]",
	.examples = "ioreel workload check unet3d.json\n"
		    "ioreel workload import dlio.yaml -o unet3d.json\n",
	.about = "check prints every fault of F.json, a line each, with the "
		 "path of its key. set prints F.json with other values; F.json "
		 "itself stays. keys prints each key with its type, its range "
		 "and its default. import reads a workload of DLIO; export "
		 "writes one, or a job file of fio, or a command line of IOR.",
	.run = run,
};

static int check(const char *path)
{
	struct reel_buf faults = REEL_BUF_INIT;
	struct reel_error err = {0};
	struct workload w;
	int rc = workload_read(&w, path, &faults, &err);

	if (rc && faults.len)
		fputs(reel_buf_text(&faults), stderr);
	if (rc && !faults.len)
		reel_cli_fail(&cmd_workload, &err);
	if (!rc)
		printf("%s: %s, no fault found\n", path, w.name);
	workload_fini(&w);
	reel_buf_fini(&faults);
	return rc ? 1 : 0;
}

static int set(const char *path, int n, char **assignment)
{
	struct reel_buf text = REEL_BUF_INIT;
	struct reel_error err = {0};
	struct workload w;
	int rc = workload_read(&w, path, NULL, &err);

	for (int i = 0; !rc && i < n; i++)
		rc = workload_set(&w, assignment[i], &err);
	if (!rc)
		rc = workload_check(&w, NULL, &err);
	if (!rc)
		rc = workload_write(&w, &text, &err);
	if (!rc)
		fputs(reel_buf_text(&text), stdout);
	workload_fini(&w);
	reel_buf_fini(&text);
	return rc ? reel_cli_fail(&cmd_workload, &err) : 0;
}

/* --- keys ----------------------------------------------------------------- */

static const char *const type_names[] = {
	[KEY_INTEGER] = "integer",     [KEY_REAL] = "number",
	[KEY_BOOL] = "boolean",	       [KEY_WORD] = "word",
	[KEY_NAME] = "name",	       [KEY_TEXT] = "text",
	[KEY_QUANTILES] = "quantiles", [KEY_INTEGERS] = "integers",
	[KEY_REALS] = "numbers",       [KEY_GROUP] = "group",
	[KEY_LIST] = "list",
};

static void print_range(const struct workload_key *k)
{
	switch (k->type) {
	case KEY_WORD:
		for (int i = 0; k->words[i]; i++)
			printf("%s%s", i ? "|" : "", k->words[i]);
		printf("\t%s", k->words[(int)k->initial]);
		break;
	case KEY_BOOL:
		printf("true|false\t%s", k->initial ? "true" : "false");
		break;
	case KEY_INTEGER:
	case KEY_REAL:
		printf("%.16g to %.16g\t%.16g", k->least, k->most, k->initial);
		break;
	case KEY_QUANTILES:
	case KEY_INTEGERS:
	case KEY_REALS:
		printf("%.16g to %.16g, at most %u\t-", k->least, k->most,
		       k->elements);
		break;
	case KEY_LIST:
		printf("at most %u\t-", k->elements);
		break;
	default:
		printf("at most %zu bytes\t-", k->bytes - 1);
	}
}

static void print_keys(const struct workload_key *keys, const char *in)
{
	char path[WORKLOAD_TEXT];

	for (const struct workload_key *k = keys; k->name; k++) {
		snprintf(path, sizeof(path), "%s%s", in, k->name);
		if (k->type != KEY_GROUP) {
			printf("%s\t%s\t", path, type_names[k->type]);
			print_range(k);
			putchar('\n');
		}
		if (k->keys) {
			strncat(path, k->type == KEY_LIST ? "[]." : ".",
				sizeof(path) - strlen(path) - 1);
			print_keys(k->keys, path);
		}
	}
}

/* --- import, export ------------------------------------------------------- */

static int import(const char *path, const char *output)
{
	struct reel_buf notes = REEL_BUF_INIT, text = REEL_BUF_INIT;
	struct reel_error err = {0};
	struct workload w;
	int rc = dlio_import(&w, path, &notes, &err);

	if (!rc)
		rc = workload_write(&w, &text, &err) ||
		     reel_output_write(&text, output, &err);
	if (!rc && notes.len) {
		char *line = notes.data, *end;

		for (; (end = strchr(line, '\n')); line = end + 1)
			fprintf(stderr, "ioreel workload: %s: %.*s\n", path,
				(int)(end - line), line);
	}
	workload_fini(&w);
	reel_buf_fini(&notes);
	reel_buf_fini(&text);
	return rc ? reel_cli_fail(&cmd_workload, &err) : 0;
}

#define EXPORTS "dlio|fio|ior"

static int export(const char *path, int as, const char *output)
{
	static int (*const formats[])(
		const struct workload *, struct reel_buf *,
		struct reel_error *) = {dlio_export, export_fio, export_ior};
	struct reel_buf text = REEL_BUF_INIT;
	struct reel_error err = {0};
	struct workload w;
	int rc = workload_read(&w, path, NULL, &err);

	if (!rc)
		rc = formats[as](&w, &text, &err) ||
		     reel_output_write(&text, output, &err);
	workload_fini(&w);
	reel_buf_fini(&text);
	return rc ? reel_cli_fail(&cmd_workload, &err) : 0;
}

static int run(int argc, char **argv)
{
	const char *output = NULL, *verb;
	int as = -1, first, n;
	struct reel_opt opts[] = {
		{"as", 0, REEL_OPT_CHOICE, &as, EXPORTS,
		 "the benchmark to export for", 0, 0},
		{"output", 'o', REEL_OPT_TEXT, &output, "FILE",
		 "import, export: write to FILE", 0, 0},
		{0},
	};

	first = reel_cli_parse(&cmd_workload, opts, false, argc, argv);
	if (first < 0)
		return first == -2 ? 0 : 2;
	verb = argv[first] ? argv[first] : "";
	n = argc - first - 1;
	if (!strcmp(verb, "import") && n == 1)
		return import(argv[first + 1], output);
	if (!strcmp(verb, "export") && n == 1 && as >= 0)
		return export(argv[first + 1], as, output);
	if (output || as >= 0)
		return reel_cli_usage(&cmd_workload,
				      "-o and --as belong to import and "
				      "export; export needs --as");
	if (!strcmp(verb, "check") && n == 1)
		return check(argv[first + 1]);
	if (!strcmp(verb, "set") && n >= 2)
		return set(argv[first + 1], n - 1, argv + first + 2);
	if (!strcmp(verb, "keys") && !n) {
		print_keys(workload_keys, "");
		return 0;
	}
	return reel_cli_usage(&cmd_workload, "check, set, keys, import or "
					     "export, and the words after it");
}
