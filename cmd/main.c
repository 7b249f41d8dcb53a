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

#include "cmd/commands.h"
#include "cmd/verbs.h"
#include "record/record.h"

static const struct reel_command *const commands[] = {
	&cmd_record,  &cmd_load,   &cmd_report,	       &cmd_sql,
	&cmd_compare, &cmd_replay, &cmd_replay_engine, &cmd_signal_sentinel,
};

static const struct verb_table verbs = {
	.program = "ioreel",
	.about = "ioreel records the I/O of a deep-learning job, "
		 "explains it, and replays it.",
	.first = "ioreel record -- python3 train.py",
	.details = "ioreel VERB --help, man ioreel-VERB",
	.command = commands,
	.commands = sizeof(commands) / sizeof(commands[0]),
};

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
	status = verbs_run(&verbs, argc, argv);
	/* A command that failed has said why. */
	return end_output(status != 1) && !status ? 1 : status;
}
