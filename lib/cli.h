/* SPDX-License-Identifier: MIT */
/*
 * The parser of command lines and the error output of all commands.
 *
 * A command is a row in the table of cmd/main.c and a file cmd/NAME.c that
 * defines a struct reel_command. Options are a table too, so that --help, the
 * parser and the synopsis in the manual agree.
 */
#ifndef LIB_CLI_H
#define LIB_CLI_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;

enum reel_opt_type {
	REEL_OPT_FLAG,	 /* bool * */
	REEL_OPT_TEXT,	 /* const char **: never empty */
	REEL_OPT_MAYBE,	 /* const char **: the value after '=', or "" */
	REEL_OPT_LIST,	 /* struct reel_opt_list *: may be repeated */
	REEL_OPT_INT,	 /* int64_t *, within [min, max] */
	REEL_OPT_SIZE,	 /* int64_t *, bytes above 0: 4096, 500M, 20G, 1TiB */
	REEL_OPT_DOUBLE, /* double *, within [min, max] */
	REEL_OPT_CHOICE, /* int *: index into choices, "a|b|c" */
};

struct reel_opt_list {
	const char **item; /* borrowed words in an allocated array */
	int n;
};

struct reel_opt {
	const char *name; /* "output": --output; NULL ends the table */
	char letter;	  /* 'o', or 0 */
	enum reel_opt_type type;
	void *value;
	const char *arg;  /* "DIR" for the help; choices "a|b|c"; or NULL */
	const char *help; /* one line, lower case */
	int64_t min, max; /* INT, DOUBLE; both 0: any */
};

struct reel_command {
	const char *program; /* NULL: "ioreel" */
	const char *name;
	const char *task;     /* one line for "ioreel" alone */
	const char *usage;    /* "[-o DIR] [opts] -- CMD ..." */
	const char *examples; /* two lines, each a command; ends with \n */
	const char *about;    /* a paragraph, may be NULL */
	int (*run)(int argc, char **argv); /* exit status; argv[0] = "record" */
};

/*
 * Parse @argv against @opts (ended by a NULL name). Stops at "--" (dropped) or,
 * when @stop_at_word, at the first word that is no option. Long options are
 * given as --name=value or --name value; letters as -o value, -ovalue. --help
 * prints the help of @cmd on stdout.
 *
 * Returns the index of the first remaining word (words are moved after the
 * options), or -1: an error was printed with a line of usage, exit with 2; or
 * -2: help was printed, exit with 0.
 */
int reel_cli_parse(const struct reel_command *cmd, const struct reel_opt *opts,
		   bool stop_at_word, int argc, char **argv);

/* The exit status for a failure. */
int reel_cli_status(const struct reel_error *err);
/* Print "ioreel CMD: TEXT" on stderr. Returns the exit status for @err. */
int reel_cli_fail(const struct reel_command *cmd, const struct reel_error *err);

/* Wrong usage: print the message and one line of usage. Returns 2. */
int reel_cli_usage(const struct reel_command *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
