/* SPDX-License-Identifier: MIT */
/*
 * ioreel: one program with a table of commands.
 *
 * A new command is a row here and a file cmd_NAME.c. The rows stand in the
 * order of the work, not of the alphabet; one with no task is not shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/error.h"
#include "lib/terminal.h"

#include "analyzer/commands.h"

/* Until each file is there: a weak reference does not draw from an archive. */
#if !__has_include("analyzer/cmd_record.c")
#pragma weak cmd_record
#endif
#if !__has_include("analyzer/cmd_load.c")
#pragma weak cmd_load
#endif
#if !__has_include("analyzer/cmd_report.c")
#pragma weak cmd_report
#endif
#if !__has_include("analyzer/cmd_sql.c")
#pragma weak cmd_sql
#endif
#if !__has_include("analyzer/cmd_compare.c")
#pragma weak cmd_compare
#endif
#if !__has_include("replay/cmd_replay.c")
#pragma weak cmd_replay
#endif
#if !__has_include("replay/cmd_engine.c")
#pragma weak cmd_replay_engine
#endif

static const struct row {
	const char *name;
	const struct reel_command *cmd;
} rows[] = {
	{ "record", &cmd_record },   { "load", &cmd_load },
	{ "report", &cmd_report },   { "sql", &cmd_sql },
	{ "compare", &cmd_compare }, { "replay", &cmd_replay },
	{ "replay-engine", &cmd_replay_engine },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void print_verbs(FILE *f)
{
	size_t i;

	fputs("ioreel records the I/O of a deep-learning job, explains it, and "
	      "replays it.\n\n",
	      f);
	for (i = 0; i < ROWS; i++)
		if (rows[i].cmd && rows[i].cmd->task)
			fprintf(f, "  %-9s %s\n", rows[i].name,
				rows[i].cmd->task);
	fputs("\nFirst:   ioreel record -- python3 train.py\n"
	      "Details: ioreel VERB --help, man ioreel-VERB\n",
	      f);
}

static const struct row *find(const char *name)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static int unknown(const char *word)
{
	struct reel_error err = { 0 };
	const char *near = NULL;
	int best = 3;
	size_t i;

	for (i = 0; i < ROWS; i++) {
		int d = reel_near(word, rows[i].name);

		if (rows[i].cmd && rows[i].cmd->task && d < best) {
			best = d;
			near = rows[i].name;
		}
	}
	reel_fail(&err, REEL_E_USAGE, "unknown %s '%s'",
		  word[0] == '-' ? "option" : "command", word);
	fprintf(stderr, "ioreel: %s", err.text);
	if (near)
		fprintf(stderr, "; did you mean '%s'?", near);
	fprintf(stderr, "\nusage: ioreel VERB [options]; ioreel alone lists the "
			"verbs\n");
	return 2;
}

static int run(int argc, char **argv)
{
	const struct row *row = find(argv[0]);

	if (!row)
		return unknown(argv[0]);
	if (!row->cmd) {
		fprintf(stderr, "ioreel: '%s' is not built\n", row->name);
		return 1;
	}
	return row->cmd->run(argc, argv);
}

static int help(int argc, char **argv)
{
	char ask[] = "--help";
	char *words[] = { argc > 1 ? argv[1] : NULL, ask, NULL };

	if (argc > 1)
		return run(2, words);
	print_verbs(stdout);
	return 0;
}

static int dispatch(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "help";

	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		puts("ioreel " REEL_VERSION);
		return 0;
	}
	if (!strcmp(word, "help") || !strcmp(word, "--help") ||
	    !strcmp(word, "-h"))
		return help(argc - 1, argc > 1 ? argv + 1 : argv);
	return run(argc - 1, argv + 1);
}

/*
 * Started without descriptor 0, 1 or 2, the next file opened would become it,
 * and messages would land in a trace or a store. The stand-in refuses what
 * does not fit it, and is closed on exec: a recorded job finds none, as before.
 */
static void fill_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	} while (fd >= 0 && fd < STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	int status;

	fill_standard_descriptors();
	setlocale(LC_CTYPE, "");
	status = dispatch(argc, argv);
	/* A full disk behind stdout is a failure, a reader that left is not. */
	errno = 0;
	if ((fflush(stdout) || ferror(stdout)) && errno != EPIPE) {
		fprintf(stderr, "ioreel: cannot write the result: %s\n",
			strerror(errno ? errno : EIO));
		if (!status)
			status = 1;
	}
	return status;
}
