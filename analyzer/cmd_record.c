/* SPDX-License-Identifier: MIT */
/*
 * ioreel record: run a command, record its I/O, say what came of it.
 *
 * The job's exit status is ours: a line that fails after it is printed, never
 * returned.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/commands.h"
#include "analyzer/record_internal.h"

#define NAME_MOST 200 /* bytes of the directory's name that come from us */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n > k && !strcmp(s + n - k, suffix);
}

/*
 * The word that names the job: the first Python script in the command, the
 * script of an interpreter, else the program itself.
 */
static const char *job_word(char **argv)
{
	static const char *const interpreter[] = {
		"python", "sh",	     "bash",  "dash", "zsh",  "perl",
		"ruby",	  "Rscript", "julia", "lua",  "node",
	};
	const char *base = base_of(argv[0]);
	size_t i, n;
	char **a;

	for (a = argv; *a; a++)
		if (ends(*a, ".py"))
			return base_of(*a);
	for (i = 0; i < sizeof(interpreter) / sizeof(interpreter[0]); i++) {
		n = strlen(interpreter[i]);
		if (strncmp(base, interpreter[i], n) ||
		    base[n + strspn(base + n, "0123456789.")])
			continue;
		for (a = argv + 1; *a && **a == '-'; a++)
			if (!strcmp(*a, "-m") && a[1])
				return a[1];
		if (*a && argv[1][0] != '-' && !access(*a, R_OK))
			return base_of(*a);
	}
	return base;
}

/* Make the first of train.reel, train.2.reel ... that does not exist yet:
 * several may start at once, as under mpirun. */
static int default_dir(char out[static NAME_MAX + 1], char **argv,
		       struct reel_error *err)
{
	const char *word = job_word(argv);
	/* "report -x.reel" would read it as an option. */
	const char *dash = word[0] == '-' ? "_" : "";
	size_t n = strlen(word);
	int i;

	if (ends(word, ".py") || ends(word, ".sh"))
		n -= 3;
	if (n > NAME_MOST)
		n = NAME_MOST;
	for (i = 1; i < 100000; i++) {
		if (i == 1)
			snprintf(out, NAME_MAX + 1, "%s%.*s.reel", dash, (int)n,
				 word);
		else
			snprintf(out, NAME_MAX + 1, "%s%.*s.%d.reel", dash,
				 (int)n, word, i);
		if (!mkdir(out, 0700))
			return 0;
		if (errno != EEXIST)
			break;
	}
	return reel_fail(err, REEL_E_IO, "cannot create '%s': %s; try: -o DIR",
			 out, strerror(errno));
}

static void print_name(const char *name)
{
	reel_cli_name(stderr, name);
}

/* "python3 ended by signal 9 after 8.1 s; ", or nothing for success. */
static void print_end(const char *program, const struct reel_record_result *res)
{
	int w = res->wait_status;
	char t[REEL_NUM];

	if (WIFEXITED(w) && !WEXITSTATUS(w))
		return;
	print_name(base_of(program));
	if (WIFSIGNALED(w))
		fprintf(stderr, " ended by signal %d", WTERMSIG(w));
	else
		fprintf(stderr, " ended with status %d", WEXITSTATUS(w));
	fprintf(stderr, " after %s; ", reel_num_time(t, (double)res->wall_ns));
}

static void print_totals(const char *program,
			 const struct reel_record_result *res,
			 const struct record_summary *s)
{
	bool good =
		WIFEXITED(res->wait_status) && !WEXITSTATUS(res->wait_status);
	char n[REEL_NUM], e[REEL_NUM], t[REEL_NUM], r[REEL_NUM], w[REEL_NUM];

	fputs("ioreel: ", stderr);
	print_end(program, res);
	fprintf(stderr, "%s process%s", reel_num_count(n, s->processes),
		s->processes == 1 ? "" : "es");
	if (s->walked)
		fprintf(stderr, ", %s event%s",
			reel_num_count(e, (int64_t)s->events),
			s->events == 1 ? "" : "s");
	if (good)
		fprintf(stderr, " in %s",
			reel_num_time(t, (double)res->wall_ns));
	if (s->walked)
		fprintf(stderr, "; %s read, %s written in %s file%s",
			reel_num_bytes(r, (double)s->read_bytes),
			reel_num_bytes(w, (double)s->write_bytes),
			reel_num_count(n, (int64_t)s->files),
			s->files == 1 ? "" : "s");
	if (res->running)
		fprintf(stderr, "; %d process%s still running", res->running,
			res->running == 1 ? "" : "es");
	fputc('\n', stderr);
}

static const struct {
	enum reel_counter counter;
	const char *what;
} losses[] = {
	{REEL_LOST_DISK, "the disk refused"},
	{REEL_LOST_SIGNAL, "in signal handlers"},
	{REEL_LOST_WINDOW, "without memory or disk for a window"},
	{REEL_LOST_LIMIT, "past the tables"},
};

static void print_losses(const struct record_summary *s)
{
	const char *between = " (";
	char n[REEL_NUM];
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		sum += s->lost[losses[i].counter];
	fputs("ioreel: ", stderr);
	if (!sum && !s->cut_bytes && !s->lost[REEL_LOST_START])
		fputs("nothing lost", stderr);
	if (sum)
		fprintf(stderr, "%s event%s LOST",
			reel_num_count(n, (int64_t)sum), sum == 1 ? "" : "s");
	for (i = 0; sum && i < sizeof(losses) / sizeof(losses[0]); i++) {
		uint64_t one = s->lost[losses[i].counter];

		if (!one)
			continue;
		fprintf(stderr, "%s%s %s", between,
			reel_num_count(n, (int64_t)one), losses[i].what);
		between = ", ";
	}
	if (sum)
		fputc(')', stderr);
	if (s->lost[REEL_LOST_START])
		fprintf(stderr, "%s%s process%s could not record",
			sum ? "; " : "",
			reel_num_count(n, (int64_t)s->lost[REEL_LOST_START]),
			s->lost[REEL_LOST_START] == 1 ? "" : "es");
	if (s->cut_bytes)
		fprintf(stderr, "%s%s of damaged records",
			sum || s->lost[REEL_LOST_START] ? "; " : "",
			reel_num_bytes(n, (double)s->cut_bytes));
	if (s->lost[REEL_CODE_OPENS])
		fprintf(stderr,
			"; %s open%s of code and system files counted, "
			"not recorded (--all records them)",
			reel_num_count(n, (int64_t)s->lost[REEL_CODE_OPENS]),
			s->lost[REEL_CODE_OPENS] == 1 ? "" : "s");
	fputc('\n', stderr);
}

static void print_nothing(char **argv)
{
	const char *why = record_why(argv[0]);

	fputs("ioreel: nothing was recorded: ", stderr);
	if (why) {
		print_name(why);
		fputs("; try: record the program that it runs, or a "
		      "dynamically linked build\n",
		      stderr);
		return;
	}
	print_name(base_of(argv[0]));
	fputs(" touched no data file, or what it ran lost LD_PRELOAD (env -i, "
	      "sudo, ssh, a container); try: --all, or ioreel record inside "
	      "it\n",
	      stderr);
}

static void print_summary(char **argv, const struct reel_record_options *opt,
			  const struct reel_record_result *res)
{
	struct reel_error err = {0};
	struct record_summary s;
	char n[REEL_NUM];

	if (record_summary(opt->dir, &s, &err)) {
		reel_cli_fail(&cmd_record, &err);
		return;
	}
	print_totals(argv[0], res, &s);
	if (!s.processes && !s.lost[REEL_LOST_START])
		print_nothing(argv);
	else
		print_losses(&s);
	if (!res->hooks && !opt->no_hooks)
		fputs("ioreel: the Python hooks were not found: no steps are "
		      "marked; try: set IOREEL_HOOKS\n",
		      stderr);
	fputs("ioreel: trace ", stderr);
	print_name(opt->dir);
	fprintf(stderr, " (%s)\n", reel_num_bytes(n, (double)s.trace_bytes));
	fputs("ioreel: next: ioreel report ", stderr);
	print_name(opt->dir);
	fputc('\n', stderr);
}

/* 126 and 127 as shells give them; without the job nothing else was tried. */
static int not_run(const struct reel_record_result *res,
		   const struct reel_error *err)
{
	int status = reel_cli_fail(&cmd_record, err);

	if (res->exec_errno)
		return res->exec_errno == ENOENT ? 127 : 126;
	return status;
}

/* @argv is the job's. The exit status. */
static int record(const struct reel_record_options *asked, char **argv,
		  bool quiet)
{
	struct reel_record_options mine = *asked, *opt = &mine;
	struct reel_record_result res;
	struct reel_error err = {0};
	char name[NAME_MAX + 1];

	if (!opt->dir) {
		if (default_dir(name, argv, &err))
			return reel_cli_fail(&cmd_record, &err);
		opt->dir = name;
	}
	if (reel_record(opt, argv, &res, &err)) {
		if (!res.wall_ns || res.exec_errno) {
			if (opt->dir == name)
				rmdir(name);
			return not_run(&res, &err);
		}
		reel_cli_fail(&cmd_record, &err);
	}
	if (!quiet)
		print_summary(argv, opt, &res);
	if (WIFSIGNALED(res.wait_status))
		return 128 + WTERMSIG(res.wait_status);
	return WEXITSTATUS(res.wait_status);
}

static int run(int argc, char **argv)
{
	struct reel_record_options opt = {0};
	bool quiet = false;
	const struct reel_opt opts[] = {
		{"output", 'o', REEL_OPT_TEXT, &opt.dir, "DIR",
		 "trace directory (default: NAME.reel, never overwritten)", 0,
		 0},
		{"all", 'a', REEL_OPT_FLAG, &opt.all, NULL,
		 "record code and system files too", 0, 0},
		{"include", 'i', REEL_OPT_LIST, &opt.include, "GLOB",
		 "record these files, whatever they are", 0, 0},
		{"exclude", 'x', REEL_OPT_LIST, &opt.exclude, "GLOB",
		 "count these files only", 0, 0},
		{"no-hooks", 0, REEL_OPT_FLAG, &opt.no_hooks, NULL,
		 "leave PYTHONPATH alone: no steps are marked", 0, 0},
		{"quiet", 'q', REEL_OPT_FLAG, &quiet, NULL,
		 "no lines at the end", 0, 0},
		{0},
	};
	int at = reel_cli_parse(&cmd_record, opts, true, argc, argv);
	int status;

	if (at < 0)
		status = at == -2 ? 0 : 2;
	else if (at == argc || !argv[at][0])
		status = reel_cli_usage(&cmd_record, "no command given");
	else if (opt.dir && !*opt.dir)
		status = reel_cli_usage(&cmd_record, "--output wants DIR");
	else
		status = record(&opt, argv + at, quiet);
	free(opt.include.item);
	free(opt.exclude.item);
	return status;
}

const struct reel_command cmd_record = {
	.name = "record",
	.task = "run a command and record its I/O",
	.usage = "[-o DIR] [options] [--] CMD [ARG ...]",
	.examples = "ioreel record -- python3 train.py --epochs 2\n"
		    "ioreel record -o run1.reel -x '*.log' -- ./train.sh\n",
	.about =
		"Runs CMD as it is, with every process and thread it starts, "
		"and writes what they read and write to a trace directory. The "
		"exit status is that of CMD; 128 + n when signal n ended it. "
		"In GLOB, * matches / too; one without / is matched with the "
		"base name; --include wins over --exclude and over the rules "
		"that leave out code.",
	.run = run,
};
