/* SPDX-License-Identifier: MIT */
/*
 * The parser of command lines and the error output of all commands.
 *
 * Nothing here exits: the caller turns -1 into 2 and -2 into 0.
 */
#include "lib/cli.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/num.h"
#include "lib/terminal.h"

/* The state of parsing: the current word and the tables. */
struct walk {
	const struct reel_command *cmd;
	const struct reel_opt *opts;
	int argc, at;
	char **argv;
};

int reel_cli_usage(const struct reel_command *cmd, const char *fmt, ...)
{
	struct reel_error err = {0};
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	reel_fail(&err, REEL_E_USAGE, "%s", text ? text : fmt);
	free(text);
	return reel_cli_fail(cmd, &err);
}

#define HELP_COLUMNS 80

static const char *program_of(const struct reel_command *cmd)
{
	return cmd->program ? cmd->program : "ioreel";
}

/* Errors have it on one line. */
static void print_usage(FILE *f, const struct reel_command *cmd, int columns)
{
	int at = fprintf(f, "usage: %s %s ", program_of(cmd), cmd->name);

	reel_terminal_words(f, cmd->usage, columns, 7, at);
	putc('\n', f);
}

int reel_cli_status(const struct reel_error *err)
{
	return err->code == REEL_E_USAGE   ? 2
	       : err->code == REEL_E_LIMIT ? 3
					   : 1;
}

int reel_cli_fail(const struct reel_command *cmd, const struct reel_error *err)
{
	/* Results first: the error must be the last output on a terminal. */
	fflush(stdout);
	fprintf(stderr, "%s %s: %s\n", program_of(cmd), cmd->name,
		err->code == REEL_OK ? "failed for an unknown reason"
				     : err->text);
	if (err->code == REEL_E_USAGE)
		print_usage(stderr, cmd, INT_MAX);
	return reel_cli_status(err);
}

/* Print @text from column @at on. */
static void print_text(const char *text, int at)
{
	reel_terminal_words(stdout, text, HELP_COLUMNS, at, at);
	putchar('\n');
}

static void print_option(const struct reel_opt *o)
{
	/* The help text is beside the option, or below on a narrow terminal. */
	bool narrow = reel_terminal_line(stdout) < HELP_COLUMNS;
	int column = narrow ? 8 : 28;
	char left[64];
	int n = 0;

	if (o->letter)
		n = snprintf(left, sizeof(left), "-%c, ", o->letter);
	else
		n = snprintf(left, sizeof(left), "    ");
	snprintf(left + n, sizeof(left) - (size_t)n,
		 o->type == REEL_OPT_MAYBE ? "--%s%s[=%s]" : "--%s%s%s",
		 o->name, o->arg && o->type != REEL_OPT_MAYBE ? " " : "",
		 o->arg ? o->arg : "");
	if (narrow || strlen(left) > 24)
		printf("  %s\n%*s", left, column, "");
	else
		printf("  %-24s  ", left);
	print_text(o->help, column);
}

static void print_help(const struct reel_command *cmd,
		       const struct reel_opt *opts)
{
	static const struct reel_opt help = {
		.name = "help", .letter = 'h', .help = "this text"};
	const char *line = cmd->examples ? cmd->examples : "";

	while (*line) {
		size_t n = strcspn(line += strspn(line, " "), "\n");

		printf("  $ %.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
	putchar('\n');
	print_usage(stdout, cmd, HELP_COLUMNS);
	if (cmd->about) {
		putchar('\n');
		print_text(cmd->about, 0);
	}
	printf("\n");
	for (; opts && opts->name; opts++)
		print_option(opts);
	print_option(&help);
}

static int set_int(struct walk *w, const struct reel_opt *o, const char *text)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || *end) {
		reel_cli_usage(w->cmd, "--%s wants a whole number, not '%s'",
			       o->name, text);
		return -1;
	}
	if (errno || ((o->min || o->max) && (v < o->min || v > o->max))) {
		char lo[REEL_NUM], hi[REEL_NUM];

		reel_cli_usage(w->cmd, "--%s '%s' is not within %s and %s",
			       o->name, text,
			       reel_num_count(lo, errno ? INT64_MIN : o->min),
			       reel_num_count(hi, errno ? INT64_MAX : o->max));
		return -1;
	}
	*(int64_t *)o->value = v;
	return 0;
}

/* K, M, G and T are powers of 1024, with or without "B" and "iB". */
static int set_size(struct walk *w, const struct reel_opt *o, const char *text)
{
	static const char unit[] = "KMGT";
	const char *u;
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (*text < '0' || *text > '9' || errno)
		n = -1;
	u = *end ? strchr(unit, *end) : NULL;
	if (u)
		end++;
	end += u && !strcmp(end, "iB") ? 2 : !strcmp(end, "B");
	for (long i = u ? u - unit + 1 : 0; n > 0 && i > 0; i--)
		if (__builtin_mul_overflow(n, 1024ll, &n))
			n = -1;
	if (*end || n <= 0) {
		reel_cli_usage(w->cmd, "--%s wants a size, as 500M, not '%s'",
			       o->name, text);
		return -1;
	}
	*(int64_t *)o->value = n;
	return 0;
}

static int set_double(struct walk *w, const struct reel_opt *o,
		      const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !isfinite(v)) {
		reel_cli_usage(w->cmd, "--%s wants a number, not '%s'", o->name,
			       text);
		return -1;
	}
	if ((o->min || o->max) && (v < (double)o->min || v > (double)o->max)) {
		reel_cli_usage(w->cmd, "--%s '%s' is not within %lld and %lld",
			       o->name, text, (long long)o->min,
			       (long long)o->max);
		return -1;
	}
	*(double *)o->value = v;
	return 0;
}

static int set_choice(struct walk *w, const struct reel_opt *o,
		      const char *text)
{
	const char *c = o->arg;
	size_t len = strlen(text);
	int i;

	for (i = 0; *c; i++) {
		size_t n = strcspn(c, "|");

		if (n == len && !memcmp(c, text, n)) {
			*(int *)o->value = i;
			return 0;
		}
		c += n + (c[n] == '|');
	}
	reel_cli_usage(w->cmd, "--%s is one of %s, not '%s'", o->name, o->arg,
		       text);
	return -1;
}

/* The list is never freed: it lives as long as the command. */
static int set_list(struct walk *w, const struct reel_opt *o, const char *text)
{
	struct reel_opt_list *list = o->value;
	struct reel_error err = {0};

	if (reel_grow(&list->item, (size_t)list->n + 1, sizeof(*list->item),
		      &err)) {
		reel_cli_fail(w->cmd, &err);
		return -1;
	}
	list->item[list->n++] = text;
	return 0;
}

static int set_value(struct walk *w, const struct reel_opt *o, const char *text)
{
	switch (o->type) {
	case REEL_OPT_FLAG:
		*(bool *)o->value = true;
		return 0;
	case REEL_OPT_TEXT:
	case REEL_OPT_MAYBE:
		*(const char **)o->value = text;
		return 0;
	case REEL_OPT_LIST:
		return set_list(w, o, text);
	case REEL_OPT_INT:
		return set_int(w, o, text);
	case REEL_OPT_SIZE:
		return set_size(w, o, text);
	case REEL_OPT_DOUBLE:
		return set_double(w, o, text);
	case REEL_OPT_CHOICE:
		return set_choice(w, o, text);
	}
	return 0;
}

/* Set @o from @here, the value in the same word, or else from the next word. */
static int set_option(struct walk *w, const struct reel_opt *o,
		      const char *here)
{
	if (o->type == REEL_OPT_FLAG && here) {
		reel_cli_usage(w->cmd, "--%s takes no value", o->name);
		return -1;
	}
	if (o->type == REEL_OPT_MAYBE && !here)
		here = "";
	if (o->type != REEL_OPT_FLAG && !here && w->at + 1 < w->argc)
		here = w->argv[++w->at];
	/* An empty value is an error (usually an unset shell variable). */
	if (o->type != REEL_OPT_FLAG &&
	    (!here || (o->type == REEL_OPT_TEXT && !*here))) {
		reel_cli_usage(w->cmd, "--%s wants %s", o->name,
			       o->arg ? o->arg : "a value");
		return -1;
	}
	return set_value(w, o, here);
}

static int fail_unknown(struct walk *w, const char *word)
{
	const char *near = NULL;
	int best = 3, d;
	const struct reel_opt *o;

	for (o = w->opts; o && o->name && word[1] == '-'; o++) {
		d = reel_edit_distance(word + 2, o->name);
		if (d < best)
			best = d, near = o->name;
	}
	if (near)
		reel_cli_usage(w->cmd,
			       "unknown option '%s'; did you mean '--%s'?",
			       word, near);
	else
		reel_cli_usage(w->cmd, "unknown option '%s'", word);
	return -1;
}

static int parse_long(struct walk *w, const char *word)
{
	const char *name = word + 2;
	size_t n = strcspn(name, "=");
	const struct reel_opt *o;

	if (n == 4 && !memcmp(name, "help", 4))
		return -2;
	for (o = w->opts; o && o->name; o++)
		if (strlen(o->name) == n && !memcmp(o->name, name, n))
			return set_option(w, o, name[n] ? name + n + 1 : NULL);
	return fail_unknown(w, word);
}

/* Parse -q, -qv, -oDIR, -o DIR. */
static int parse_letters(struct walk *w, const char *word)
{
	const char *p;

	for (p = word + 1; *p; p++) {
		const struct reel_opt *o = w->opts;

		if (*p == 'h')
			return -2;
		while (o && o->name && o->letter != *p)
			o++;
		if (!o || !o->name)
			return fail_unknown(w, word);
		if (o->type != REEL_OPT_FLAG)
			return set_option(w, o, p[1] ? p + 1 : NULL);
		if (set_option(w, o, NULL))
			return -1;
	}
	return 0;
}

/* "-" is a word, and so is SQL that begins with a comment. */
static bool is_option(const char *a)
{
	return a[0] == '-' && a[1] && (a[1] != '-' || !strchr(" \t\n", a[2]));
}

int reel_cli_parse(const struct reel_command *cmd, const struct reel_opt *opts,
		   bool stop_at_word, int argc, char **argv)
{
	struct walk w = {
		.cmd = cmd, .opts = opts, .argc = argc, .argv = argv, .at = 1};
	struct reel_error err = {0};
	char **word = reel_alloc((size_t)argc + 1, sizeof(*word), &err);
	int words = 0, options = 1, rc = 0;

	if (!word) {
		reel_cli_fail(cmd, &err);
		return -1;
	}
	for (; w.at < argc; w.at++) {
		char *a = argv[w.at];
		int from = w.at;

		if (!is_option(a)) {
			bool end = !strcmp(a, "--");

			if (!end && !stop_at_word) {
				word[words++] = a;
				continue;
			}
			if (end)
				argv[options++] = a;
			for (w.at += end; w.at < argc; w.at++)
				word[words++] = argv[w.at];
			break;
		}
		rc = a[1] == '-' ? parse_long(&w, a) : parse_letters(&w, a);
		if (rc)
			break;
		while (from <= w.at)
			argv[options++] = argv[from++];
	}
	if (!rc)
		memcpy(argv + options, word, (size_t)words * sizeof(*word));
	free(word);
	if (rc == -2)
		print_help(cmd, opts);
	return rc ? rc : options;
}
