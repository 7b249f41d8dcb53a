/* SPDX-License-Identifier: MIT */
/*
 * ioreel: one program with a table of commands.
 *
 * A new command is a row here and a file cmd/NAME.c. The rows are in the order
 * of use, not of the alphabet; a command without a task is hidden.
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
	&cmd_record,   &cmd_load,	   &cmd_import,
	&cmd_report,   &cmd_sql,	   &cmd_export,
	&cmd_compare,  &cmd_replay,	   &cmd_fit,
	&cmd_workload, &cmd_gen,	   &cmd_run,
	&cmd_sweep,    &cmd_replay_engine, &cmd_signal_sentinel,
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
 * If descriptor 0, 1 or 2 is closed, the next opened file would get its number,
 * and messages would be written into a trace or a store. Fill the gap with a
 * read-only /dev/null, closed on exec: a recorded job sees no difference.
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

/* True on failure: a full disk is one, a closed pipe (EPIPE) is not. */
static bool end_output(bool say)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return false;
	/* An earlier write failed: write again to get its errno. */
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
	/* A failed command has already printed its error. */
	return end_output(status != 1) && !status ? 1 : status;
}
