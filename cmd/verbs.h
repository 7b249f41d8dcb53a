/* SPDX-License-Identifier: MIT */
/* The table of verbs of a program: its overview, its help, its dispatch. */
#ifndef CMD_VERBS_H
#define CMD_VERBS_H

#include <stddef.h>

struct reel_command;

struct verb_table {
	const char *program; /* "ioreel" */
	const char *about;   /* one sentence */
	const char *first;   /* the command to begin with */
	const char *details; /* commands that say more */
	/* In the order of the work; one without a task is not shown. */
	const struct reel_command *const *command;
	size_t commands;
};

/*
 * Run the verb argv[1] of @v: "help", --help and --version are answered here,
 * and no verb at all shows the verbs. Returns the exit status; 2, with two
 * lines on stderr, when there is no such verb.
 */
int verbs_run(const struct verb_table *v, int argc, char **argv);

#endif
