/* SPDX-License-Identifier: MIT */
/*
 * The one parser of command lines, and the words that every command shares.
 *
 * A command is a row in main.c's table and one file cmd_NAME.c that defines a
 * struct reel_command. Options are a table too, so that --help, the parser and
 * the manual's synopsis cannot drift apart.
 */
#ifndef LIB_CLI_H
#define LIB_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct reel_buf;
struct reel_error;

enum reel_opt_type {
	REEL_OPT_FLAG,	/* bool * */
	REEL_OPT_TEXT,	/* const char **: never empty */
	REEL_OPT_MAYBE, /* const char **: what follows after '=', or "" alone */
	REEL_OPT_LIST,	/* struct reel_opt_list *: may be given many times */
	REEL_OPT_INT,	/* int64_t *, within [min, max] */
	REEL_OPT_DOUBLE, /* double *, within [min, max] */
	REEL_OPT_CHOICE, /* int *: index into choices, "a|b|c" */
};

struct reel_opt_list {
	const char **item; /* borrowed words in an array of ours */
	int n;
};

struct reel_opt {
	const char *name; /* "output": --output; NULL ends the table */
	char letter;	  /* 'o', or 0 */
	enum reel_opt_type type;
	void *value;
	const char
		*arg; /* "DIR" for the help, or choices "a|b|c"; NULL: none */
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
 * when @stop_at_word, at the first word that is no option. Long options may be
 * given as --name=value or --name value; letters as -o value, -ovalue.
 * --help prints the help of @cmd on stdout.
 *
 * Returns the index of the first word left (words are moved behind options),
 * or -1: an error was printed with a line of usage, exit with 2; or -2: help
 * was printed, exit with 0.
 */
int reel_cli_parse(const struct reel_command *cmd, const struct reel_opt *opts,
		   bool stop_at_word, int argc, char **argv);

/* "ioreel CMD: TEXT" on stderr. Returns the exit status that @err asks for. */
int reel_cli_fail(const struct reel_command *cmd, const struct reel_error *err);

/* Wrong usage: the message and one line of usage. Returns 2. */
int reel_cli_usage(const struct reel_command *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "ioreel: next: ioreel VERB A B" on stderr, only when it is a terminal, the
 * names quoted as the shell wants them; @b may be NULL. */
void reel_cli_next(const char *verb, const char *a, const char *b);

/*
 * Numbers for people, three significant digits. Each writes into @out
 * and returns it. NULL-like input (has == false) gives "-".
 */
#define REEL_NUM 32
char *reel_num_count(char out[static REEL_NUM], int64_t n);    /* 61,204 */
char *reel_num_size(char out[static REEL_NUM], double bytes);  /* 39.2 KiB */
char *reel_num_bytes(char out[static REEL_NUM], double bytes); /* 413 MB */
char *reel_num_time(char out[static REEL_NUM], double ns);     /* 57.8 ms */
char *reel_num_rate(char out[static REEL_NUM],
		    double bytes_per_s);			 /* 1.21 GB/s */
char *reel_num_percent(char out[static REEL_NUM], double share); /* 38 % */

/* Does the stream take colour, and block characters? */
bool reel_cli_colour(FILE *f);
bool reel_cli_utf8(void);

/* @share in 0..1 of a bar of @width cells; ASCII when the locale is not UTF-8.
 * Writes at most 4 * width + 1 bytes. */
char *reel_cli_bar(char *out, int width, double share);

/* Add a file name as a word that can be copied into a shell; one that cannot be
 * printed, and so not be copied, as reel_cli_name() has it. A name that begins
 * with '-' becomes ./-, since it is no option. */
void reel_cli_word(struct reel_buf *b, const char *name);

/* Print a file name as reel_text_escape() has it. */
void reel_cli_name(FILE *f, const char *name);

#endif
