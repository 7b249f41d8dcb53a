/* SPDX-License-Identifier: MIT */
/*
 * ioreel record: run a command, record its I/O, print a summary.
 *
 * The exit status is that of the job. A later error is printed but does not
 * change it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/job_name.h"
#include "lib/num.h"
#include "lib/terminal.h"

#include "cmd/commands.h"
#include "cmd/record_summary.h"
#include "record/internal.h"

#define STACKS_DEFAULT "1"
#define NAME_MOST 200 /* bytes of the job's name in the directory's name */

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n > k && !strcmp(s + n - k, suffix);
}

/*
 * Create the first of train.reel, train.2.reel ... that does not exist yet, as
 * several recordings may start at once. Ranks of one job (@g) take the first
 * that they can share.
 */
static int default_dir(char out[static NAME_MAX + 1], char **argv,
		       struct record_group *g, struct reel_error *err)
{
	size_t words = 0, n;
	const char *word;
	const char *dash;
	int i, rc;

	while (argv[words])
		words++;
	word = reel_job_name((const char *const *)argv, words);
	/* "report -x.reel" would parse it as an option. */
	dash = word[0] == '-' ? "_" : "";
	n = strlen(word);
	if (has_suffix(word, ".py") || has_suffix(word, ".sh"))
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
		rc = g ? record_group_join(g, out, err) : mkdir(out, 0700);
		if (rc <= 0 && (g || !rc))
			return rc;
		if (!g && errno != EEXIST)
			break;
	}
	return reel_fail(err, REEL_E_IO, "cannot create '%s': %s; try: -o DIR",
			 out, strerror(errno));
}

/* Ranks that their launcher restarted get a directory of their own. */
static const char *attempt_dir(char out[static PATH_MAX], const char *dir,
			       const struct record_group *g)
{
	if (!g || g->restart <= 0 ||
	    snprintf(out, PATH_MAX, "%s.restart-%d", dir, g->restart) >=
		    PATH_MAX)
		return dir;
	return out;
}

/* The wait status of the job; with ranks, of the first that failed. */
static int job_status(const struct reel_record_result *res)
{
	if (!res->ranks)
		return res->wait_status;
	return res->failed_rank < 0 ? 0 : res->failed_status;
}

/* Print "python3 ended by signal 9 after 8.1 s; " unless it succeeded. */
static void print_end(FILE *f, const char *program,
		      const struct reel_record_result *res)
{
	int w = job_status(res);
	char t[REEL_NUM];

	if (WIFEXITED(w) && !WEXITSTATUS(w))
		return;
	if (res->ranks)
		fprintf(f, "rank %d, ", res->failed_rank);
	reel_terminal_name(f, reel_path_base(program));
	if (res->ranks)
		fputc(',', f);
	if (WIFSIGNALED(w))
		fprintf(f, " ended by signal %d", WTERMSIG(w));
	else
		fprintf(f, " ended with status %d", WEXITSTATUS(w));
	if (!res->ranks)
		fprintf(f, " after %s", reel_num_time(t, (double)res->wall_ns));
	fputs("; ", f);
}

static void print_totals(FILE *f, const char *program,
			 const struct reel_record_result *res,
			 const struct record_summary *s)
{
	int status = job_status(res);
	bool good = WIFEXITED(status) && !WEXITSTATUS(status);
	char n[REEL_NUM], e[REEL_NUM], t[REEL_NUM], r[REEL_NUM], w[REEL_NUM];

	fputs("ioreel: ", f);
	print_end(f, program, res);
	if (res->ranks)
		fprintf(f, "%s rank%s, ", reel_num_count(n, res->ranks),
			res->ranks == 1 ? "" : "s");
	fprintf(f, "%s process%s", reel_num_count(n, s->processes),
		s->processes == 1 ? "" : "es");
	if (s->calls > s->events)
		fprintf(f, ", %s calls in",
			reel_num_count(n, (int64_t)s->calls));
	else if (s->walked)
		fputc(',', f);
	if (s->walked)
		fprintf(f, " %s event%s", reel_num_count(e, (int64_t)s->events),
			s->events == 1 ? "" : "s");
	if (good)
		fprintf(f, " in %s", reel_num_time(t, (double)res->wall_ns));
	if (s->walked)
		fprintf(f, "; %s%s read, %s%s written in %s file%s",
			s->mapped_read_bytes ? "up to " : "",
			reel_num_bytes(r, (double)s->read_bytes),
			s->mapped_write_bytes ? "up to " : "",
			reel_num_bytes(w, (double)s->write_bytes),
			reel_num_count(n, (int64_t)s->files),
			s->files == 1 ? "" : "s");
	if (res->running)
		fprintf(f, "; %d process%s still running", res->running,
			res->running == 1 ? "" : "es");
	fputc('\n', f);
}

static void print_launcher(FILE *f, const struct record_summary *s)
{
	char n[REEL_NUM];

	if (!s->launcher)
		return;
	fprintf(f, "ioreel: launcher: %s process%s of %s%s",
		reel_num_count(n, s->launcher_processes),
		s->launcher_processes == 1 ? "" : "es", s->launcher,
		s->launchers ? " and others" : "");
	if (s->walked)
		fprintf(f, ", %s file%s",
			reel_num_count(n, (int64_t)s->launcher_files),
			s->launcher_files == 1 ? "" : "s");
	fputs(": not counted; ioreel report --all shows them\n", f);
}

static const struct {
	enum reel_counter counter;
	const char *words;
} losses[] = {
	{REEL_LOST_DISK, "that could not be written"},
	{REEL_LOST_SIGNAL, "in signal handlers"},
	{REEL_LOST_WINDOW, "without memory or disk for a window"},
	{REEL_LOST_LIMIT, "past the tables or without a record"},
};

static void print_losses(FILE *f, const struct record_summary *s)
{
	const char *between = " (";
	char n[REEL_NUM];
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		sum += s->lost[losses[i].counter];
	fputs("ioreel: ", f);
	if (!sum && !s->cut_bytes && !s->bad_files && !s->lost[REEL_LOST_START])
		fputs("nothing lost", f);
	if (sum)
		fprintf(f, "%s event%s LOST", reel_num_count(n, (int64_t)sum),
			sum == 1 ? "" : "s");
	for (i = 0; sum && i < sizeof(losses) / sizeof(losses[0]); i++) {
		uint64_t one = s->lost[losses[i].counter];

		if (!one)
			continue;
		fprintf(f, "%s%s %s", between, reel_num_count(n, (int64_t)one),
			losses[i].words);
		between = ", ";
	}
	if (sum)
		fputc(')', f);
	if (s->lost[REEL_LOST_START])
		fprintf(f, "%s%s process%s could not record", sum ? "; " : "",
			reel_num_count(n, (int64_t)s->lost[REEL_LOST_START]),
			s->lost[REEL_LOST_START] == 1 ? "" : "es");
	if (s->cut_bytes)
		fprintf(f, "%s%s of damaged records",
			sum || s->lost[REEL_LOST_START] ? "; " : "",
			reel_num_bytes(n, (double)s->cut_bytes));
	if (s->bad_files)
		fprintf(f, "%s%s file%s of the trace unreadable",
			sum || s->lost[REEL_LOST_START] || s->cut_bytes ? "; "
									: "",
			reel_num_count(n, s->bad_files),
			s->bad_files == 1 ? "" : "s");
	if (s->lost[REEL_CODE_OPENS])
		fprintf(f,
			"; %s open%s of code and system files counted, "
			"not recorded (--all records them)",
			reel_num_count(n, (int64_t)s->lost[REEL_CODE_OPENS]),
			s->lost[REEL_CODE_OPENS] == 1 ? "" : "s");
	fputc('\n', f);
}

/* Programs that @counter counts. Those that could not start are lost events. */
static int64_t untraced_count(const struct record_summary *s,
			      unsigned int counter)
{
	return reel_counter_untraced(counter) && counter != REEL_LOST_START
		       ? (int64_t)s->lost[counter]
		       : 0;
}

static void print_untraced(FILE *f, const struct record_summary *s)
{
	const char *between = " (";
	char n[REEL_NUM];
	int64_t sum = 0;
	unsigned int i;

	for (i = 0; i < REEL_COUNTERS; i++)
		sum += untraced_count(s, i);
	if (sum <= 0)
		return;
	fprintf(f, "ioreel: %s program%s NOT TRACED", reel_num_count(n, sum),
		sum == 1 ? "" : "s");
	for (i = 0; i < REEL_COUNTERS; i++) {
		int64_t one = untraced_count(s, i);

		if (one <= 0)
			continue;
		fprintf(f, "%s%s %s", between, reel_num_count(n, one),
			reel_counter_untraced(i));
		between = ", ";
	}
	fputc(')', f);
	if (s->lost[REEL_UNTRACED_ENV])
		fputs("; try: --follow-env", f);
	if (s->lost[REEL_UNTRACED_ENV] && record_is_launched())
		fputs(", or ioreel record -- LAUNCHER ...", f);
	fputc('\n', f);
}

static void print_no_record(FILE *f, char **argv)
{
	enum reel_counter which;
	const char *why = untraceable_reason(argv[0], &which);

	fputs("ioreel: nothing was recorded: ", f);
	if (why) {
		reel_terminal_name(f, why);
		fputs("; try: record the program that it runs, or a "
		      "dynamically linked build\n",
		      f);
		return;
	}
	reel_terminal_name(f, reel_path_base(argv[0]));
	fputs(" touched no data file, or its programs lost LD_PRELOAD (env -i, "
	      "sudo, ssh, a container); try: --all, or ioreel record inside "
	      "it\n",
	      f);
}

/* Frameworks of an unknown version, or without a part that we hook. */
static void print_hooks(FILE *f, const struct record_hooks *h)
{
	const char *between = "ioreel: not all hooks are in: ";
	int i;

	for (i = 0; i < h->n; i++) {
		if (!strcmp(h->hook[i].state, "on"))
			continue;
		fputs(between, f);
		reel_terminal_name(f, h->hook[i].name);
		fputs(" (", f);
		reel_terminal_name(f, h->hook[i].state);
		fputc(')', f);
		between = ", ";
	}
	if (*between == ',')
		fputs("; see ioreel-anchors(7)\n", f);
}

static void print_summary(char **argv, const struct reel_record_options *opt,
			  const struct reel_record_result *res)
{
	const struct record_summary *s = &res->summary;
	char n[REEL_NUM], *text = NULL;
	struct reel_buf next = REEL_BUF_INIT;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	print_totals(f, argv[0], res, s);
	print_launcher(f, s);
	if (!s->processes && !s->lost[REEL_LOST_START])
		print_no_record(f, argv);
	else
		print_losses(f, s);
	if (s->processes)
		print_untraced(f, s);
	print_hooks(f, &s->hooks);
	if (!res->hooks && !opt->no_hooks)
		fputs("ioreel: the Python hooks were not found: no steps are "
		      "marked; try: set IOREEL_HOOKS\n",
		      f);
	fputs("ioreel: trace ", f);
	reel_terminal_name(f, opt->dir);
	fprintf(f, " (%s)\n", reel_num_bytes(n, (double)s->trace_bytes));
	if (!fclose(f))
		reel_terminal_lines(stderr, text);
	free(text);
	/* Not wrapped, so that the command can be copied. */
	reel_terminal_word(&next, opt->dir);
	fprintf(stderr, "ioreel: next: ioreel report %s\n",
		reel_buf_text(&next));
	reel_buf_fini(&next);
}

/* 126 or 127, as shells return, if exec failed. */
static int not_run(const struct reel_record_result *res,
		   const struct reel_error *err)
{
	int status = reel_cli_fail(&cmd_record, err);

	if (res->exec_errno)
		return res->exec_errno == ENOENT ? 127 : 126;
	return status;
}

/*
 * End by the same signal as the job: a shell stops its loop if a command ended
 * by SIGINT, which an exit status does not show. Without a core file of ours.
 */
static void end_by_signal(int sig)
{
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Run the command @argv. Returns the exit status. */
static int record_job(const struct reel_record_options *asked, char **argv,
		      bool quiet)
{
	struct reel_record_options mine = *asked, *opt = &mine;
	struct reel_record_result res;
	struct reel_error err = {0};
	struct record_group group;
	char name[NAME_MAX + 1], again[PATH_MAX];

	opt->count = true;
	if (record_group_find(&group))
		opt->group = &group;
	if (opt->dir) {
		opt->dir = attempt_dir(again, opt->dir, opt->group);
	} else {
		if (default_dir(name, argv, opt->group, &err))
			return reel_cli_fail(&cmd_record, &err);
		opt->dir = name;
	}
	if (reel_record(opt, argv, &res, &err)) {
		if (!res.wall_ns || res.exec_errno) {
			if (opt->dir == name && !opt->group)
				rmdir(name);
			return not_run(&res, &err);
		}
		reel_cli_fail(&cmd_record, &err);
	}
	signal(SIGPIPE,
	       SIG_IGN); /* a closed stderr must not change the status */
	if (!quiet && res.summed)
		print_summary(argv, opt, &res);
	if (res.tty_signal)
		end_by_signal(res.tty_signal);
	if (WIFSIGNALED(res.wait_status))
		return 128 + WTERMSIG(res.wait_status);
	return WEXITSTATUS(res.wait_status);
}

/* True for "A-B" with A <= B. */
static bool is_range(const char *s)
{
	unsigned long long a, b;
	int end = 0;

	return *s >= '0' && *s <= '9' &&
	       sscanf(s, "%llu-%llu%n", &a, &b, &end) == 2 && !s[end] && a <= b;
}

/* Turn "--events steps A-B" into "--events A-B", as the parser takes one word.
 */
static int join_steps_option(int argc, char **argv)
{
	int i, end = 0;

	while (end < argc && strcmp(argv[end], "--"))
		end++;
	for (i = 1; i < end && end < argc; i++) {
		if (strcmp(argv[i], "--events") || i + 2 >= end ||
		    strcmp(argv[i + 1], "steps"))
			continue;
		memmove(&argv[i + 1], &argv[i + 2],
			(size_t)(argc - i - 1) * sizeof(*argv));
		argc--;
		end--;
	}
	return argc;
}

/* Check and convert the values of options that are more than plain text. */
static int parse_values(struct reel_record_options *opt, const char *events,
			int map)
{
	if (events && !strncmp(events, "steps ", 6))
		events += 6;
	if (events && strcmp(events, "all"))
		opt->events = events;
	if (events && opt->events && strcmp(events, "none") &&
	    !is_range(events))
		return reel_cli_usage(&cmd_record,
				      "--events wants all, none or steps A-B");
	if (opt->profile_steps && !is_range(opt->profile_steps))
		return reel_cli_usage(&cmd_record, "--profile-steps wants A-B");
	if (opt->stacks && !*opt->stacks)
		opt->stacks = STACKS_DEFAULT;
	if (opt->stacks && (opt->stacks[strspn(opt->stacks, "0123456789")] ||
			    strlen(opt->stacks) > 9 || !atoi(opt->stacks)))
		return reel_cli_usage(&cmd_record,
				      "--stacks wants a number from 1, not "
				      "'%s'",
				      opt->stacks);
	opt->mmap_faults = map == 1;
	return 0;
}

static int run(int argc, char **argv)
{
	struct reel_record_options opt = {.summarize = record_summarize};
	const char *events = NULL;
	int map = 0;
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
		 "leave PYTHONPATH unchanged: no steps, no spans", 0, 0},
		{"events", 0, REEL_OPT_TEXT, &events, "WHICH",
		 "all, none (only count calls), or steps A-B", 0, 0},
		{"max-size", 0, REEL_OPT_SIZE, &opt.max_bytes, "SIZE",
		 "limit of the trace; then counters (500M, 20G)", 0, 0},
		{"follow-env", 0, REEL_OPT_FLAG, &opt.follow_env, NULL,
		 "trace programs started with a cleared environment", 0, 0},
		{"complete", 0, REEL_OPT_FLAG, &opt.complete, NULL,
		 "record system calls outside the C library too", 0, 0},
		{"mmap", 0, REEL_OPT_CHOICE, &map, "pages|faults",
		 "faults: record the times of page faults too", 0, 0},
		{"stacks", 0, REEL_OPT_MAYBE, &opt.stacks, "N",
		 "record the call stack of one call in N", 0, 0},
		{"profile-steps", 0, REEL_OPT_TEXT, &opt.profile_steps, "A-B",
		 "profile these steps in TensorFlow", 0, 0},
		{"quiet", 'q', REEL_OPT_FLAG, &quiet, NULL,
		 "no summary at the end", 0, 0},
		{0},
	};
	int at, status;

	argc = join_steps_option(argc, argv);
	at = reel_cli_parse(&cmd_record, opts, true, argc, argv);

	if (at < 0)
		status = at == -2 ? 0 : 2;
	else if (at == argc || !argv[at][0])
		status = reel_cli_usage(&cmd_record, "no command given");
	else
		status = parse_values(&opt, events, map);
	if (!status && at >= 0)
		status = record_job(&opt, argv + at, quiet);
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
	.about = "Runs CMD as it is, with every process and thread it starts, "
		 "and records their I/O in a trace directory. The "
		 "exit status is that of CMD; 128 + n when signal n ended it. "
		 "In GLOB, * matches / too; one without / is matched with the "
		 "base name; --include overrides --exclude and the rules that "
		 "leave out code. Recording adds 20 to 100 ns to a call, "
		 "below 2 % to a training job; the trace takes about 12 bytes "
		 "an event. In a source tree, after make: "
		 "export PATH=\"$PWD/build:$PATH\"",
	.run = run,
};
