/* SPDX-License-Identifier: MIT */
/*
 * ioreel: one program with a table of commands.
 *
 * A new command is a row here and a file cmd_NAME.c. The rows stand in the
 * order of the work, not of the alphabet; one with no task is not shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/error.h"
#include "lib/terminal.h"

#include "cmd/commands.h"
#include "record/record.h"

static const struct reel_command *const commands[] = {
	&cmd_record, &cmd_load,		 &cmd_import,
	&cmd_report, &cmd_sql,		 &cmd_compare,
	&cmd_replay, &cmd_replay_engine, &cmd_signal_sentinel,
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_verbs(void)
{
	size_t i;

	reel_terminal_words(stdout,
			    "ioreel records the I/O of a deep-learning job, "
			    "explains it, and replays it.",
			    INT_MAX, 0, 0);
	puts("\n");
	for (i = 0; i < COMMANDS; i++) {
		if (!commands[i]->task)
			continue;
		printf("  %-9s ", commands[i]->name);
		reel_terminal_words(stdout, commands[i]->task, INT_MAX, 12, 12);
		putchar('\n');
	}
	puts("\nFirst:   ioreel record -- python3 train.py");
	reel_terminal_words(stdout,
			    "Details: ioreel VERB --help, man ioreel-VERB",
			    INT_MAX, 9, 0);
	putchar('\n');
}

static const struct reel_command *find(const char *name)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static int unknown(const char *word)
{
	struct reel_error err = {0};
	const char *near = NULL;
	int best = 3;
	size_t i;

	for (i = 0; i < COMMANDS; i++) {
		int d = reel_near(word, commands[i]->name);

		if (commands[i]->task && d < best) {
			best = d;
			near = commands[i]->name;
		}
	}
	reel_fail(&err, REEL_E_USAGE, "unknown %s '%s'",
		  word[0] == '-' ? "option" : "command", word);
	fprintf(stderr, "ioreel: %s", err.text);
	if (near)
		fprintf(stderr, "; did you mean '%s'?", near);
	fprintf(stderr,
		"\nusage: ioreel VERB [options]; ioreel alone lists the "
		"verbs\n");
	return 2;
}

static int run(int argc, char **argv)
{
	const struct reel_command *cmd = find(argv[0]);

	return cmd ? cmd->run(argc, argv) : unknown(argv[0]);
}

static int help(int argc, char **argv)
{
	char ask[] = "--help";
	char *words[] = {argc > 1 ? argv[1] : NULL, ask, NULL};

	if (argc > 1)
		return run(2, words);
	print_verbs();
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

/* A full disk behind stdout is a failure, a reader that left is not. */
static bool end_output(bool say)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return false;
	/* It failed earlier, and only the kernel knows why. */
	if (!errno && write(STDOUT_FILENO, "\n", 1) == 1)
		errno = EIO;
	if (errno == EPIPE)
		return false;
	if (say)
		fprintf(stderr, "ioreel: cannot write to standard output: %s\n",
			strerror(errno));
	return true;
}

int main(int argc, char **argv)
{
	int status;

	fill_standard_descriptors();
	setlocale(LC_CTYPE, "");
	status = dispatch(argc, argv);
	/* A command that failed has said why. */
	return end_output(status != 1) && !status ? 1 : status;
}
