/* SPDX-License-Identifier: MIT */
/* Find and run a verb of a program, or list its verbs. */
#include "cmd/verbs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/cli.h"
#include "lib/error.h"
#include "lib/terminal.h"

static void print_verbs(const struct verb_table *v)
{
	size_t i;

	reel_terminal_words(stdout, v->about, INT_MAX, 0, 0);
	puts("\n");
	for (i = 0; i < v->commands; i++) {
		if (!v->command[i]->task)
			continue;
		printf("  %-9s ", v->command[i]->name);
		reel_terminal_words(stdout, v->command[i]->task, INT_MAX, 12,
				    12);
		putchar('\n');
	}
	printf("\nFirst:   %s\nDetails: ", v->first);
	reel_terminal_words(stdout, v->details, INT_MAX, 9, 9);
	putchar('\n');
}

static const struct reel_command *find_verb(const struct verb_table *v,
					    const char *name)
{
	size_t i;

	for (i = 0; i < v->commands; i++)
		if (!strcmp(v->command[i]->name, name))
			return v->command[i];
	return NULL;
}

static int unknown_verb(const struct verb_table *v, const char *word)
{
	struct reel_error err = {0};
	const char *near = NULL;
	int best = 3;
	size_t i;

	for (i = 0; i < v->commands; i++) {
		int d = reel_edit_distance(word, v->command[i]->name);

		if (v->command[i]->task && d < best) {
			best = d;
			near = v->command[i]->name;
		}
	}
	reel_fail(&err, REEL_E_USAGE, "unknown %s '%s'",
		  word[0] == '-' ? "option" : "command", word);
	fprintf(stderr, "%s: %s", v->program, err.text);
	if (near)
		fprintf(stderr, "; did you mean '%s'?", near);
	fprintf(stderr,
		"\nusage: %s VERB [options]; %s alone lists the verbs\n",
		v->program, v->program);
	return 2;
}

static int run_verb(const struct verb_table *v, int argc, char **argv)
{
	const struct reel_command *cmd = find_verb(v, argv[0]);

	return cmd ? cmd->run(argc, argv) : unknown_verb(v, argv[0]);
}

static int run_help(const struct verb_table *v, int argc, char **argv)
{
	char ask[] = "--help";
	char *words[] = {argc > 1 ? argv[1] : NULL, ask, NULL};

	if (argc > 1)
		return run_verb(v, 2, words);
	print_verbs(v);
	return 0;
}

int verbs_run(const struct verb_table *v, int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "help";

	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		printf("%s " REEL_VERSION "\n", v->program);
		return 0;
	}
	if (!strcmp(word, "help") || !strcmp(word, "--help") ||
	    !strcmp(word, "-h"))
		return run_help(v, argc - 1, argc > 1 ? argv + 1 : argv);
	return run_verb(v, argc - 1, argv + 1);
}
