/* SPDX-License-Identifier: MIT */
/*
 * ioreel load: a trace into a store.
 *
 * An interrupted load leaves nothing: the one file that exists while it runs
 * is unlinked by the signal handler, which then dies of the signal.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/store/store.h"
#include "lib/terminal.h"
#include "lib/trace/reader.h"

#include "analyzer/load/load.h"
#include "cmd/commands.h"

static char unfinished[4096]; /* "" : nothing to remove */

static void on_signal(int sig)
{
	if (unfinished[0])
		unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void guard(const struct reel_store *st)
{
	static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,
				      SIGPIPE, SIGXCPU, SIGXFSZ};
	struct sigaction sa = {.sa_handler = on_signal};

	if (strlen(st->tmp) >= sizeof(unfinished))
		return;
	strcpy(unfinished, st->tmp);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction was;

		/* what nohup ignores stays ignored */
		if (!sigaction(signals[i], NULL, &was) &&
		    was.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	}
}

/* No signal comes between making the file and knowing its name. */
static int create(struct reel_store **st, const char *path,
		  struct reel_error *err)
{
	sigset_t all, was;
	int rc;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &was);
	rc = reel_store_create(st, path, err);
	if (!rc)
		guard(*st);
	sigprocmask(SIG_SETMASK, &was, NULL);
	return rc;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void closing_line(const char *path, int64_t events, double s)
{
	char n[REEL_NUM], t[REEL_NUM], rate[REEL_NUM], size[REEL_NUM];
	struct stat st = {0};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	stat(path, &st);
	fprintf(f, "ioreel: %s event%s in %s (%s events/s); store ",
		reel_num_count(n, events), events == 1 ? "" : "s",
		reel_num_time(t, s * 1e9),
		reel_num_count(rate,
			       (int64_t)(s > 0 ? (double)events / s : 0)));
	reel_terminal_name(f, path);
	fprintf(f, " (%s", reel_num_bytes(size, (double)st.st_size));
	if (events)
		fprintf(f, ", %.1f B per event",
			(double)st.st_size / (double)events);
	fputs(")\n", f);
	if (!fclose(f))
		reel_terminal_lines(stderr, text);
	free(text);
}

/* train.reel -> train.db, beside it. */
static int default_output(struct reel_buf *out, const char *dir,
			  struct reel_error *err)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (len > 5 && !memcmp(dir + len - 5, ".reel", 5))
		len -= 5;
	if (reel_buf_add(out, dir, len, err))
		return -1;
	return reel_buf_puts(out, ".db", err);
}

/* A store of no process would say nothing. */
static int check_any(struct reel_store *st, const char *dir,
		     struct reel_error *err)
{
	int64_t processes;
	bool has;

	if (reel_store_int(st, "SELECT count(*) FROM process", &processes, &has,
			   err))
		return -1;
	if (!processes)
		return reel_fail(err, REEL_E_FORMAT,
				 "cannot load '%s': no process of the job left "
				 "a log in it",
				 dir);
	return 0;
}

static int load(const char *dir, const char *path, bool quiet,
		struct reel_error *err)
{
	struct reel_store *st = NULL;
	double start = now_s();
	int64_t events;
	int rc = -1;

	if (!reel_trace_is(dir)) {
		struct stat sb;

		if (stat(dir, &sb) ||
		    (S_ISDIR(sb.st_mode) && access(dir, R_OK | X_OK)))
			return reel_fail(err, REEL_E_IO, "cannot load '%s': %s",
					 dir, strerror(errno));
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s' is not a trace (a "
				 "trace is a directory that ioreel record "
				 "made)",
				 dir);
	}
	if (create(&st, path, err))
		return -1;
	events = reel_load(st, dir, err);
	if (events < 0 || check_any(st, dir, err) || reel_store_finish(st, err))
		goto out;
	unfinished[0] = '\0';
	if (!quiet)
		closing_line(path, events, now_s() - start);
	rc = 0;
out:
	reel_store_close(st);
	return rc;
}

static int run(int argc, char **argv);

const struct reel_command cmd_load = {
	.name = "load",
	.task = "merge the traces of a job into one store",
	.usage = "[-o RUN.db] [-q] DIR",
	.examples = "ioreel load train.reel\n"
		    "ioreel load train.reel -o monday.db\n",
	.about = "Reads the trace directory DIR and writes the store RUN.db "
		 "(default: DIR's name with .db). A store that stands there is "
		 "replaced once the new one is whole; another file is not.",
	.run = run,
};

static int run(int argc, char **argv)
{
	struct reel_error err = {0};
	struct reel_buf name = REEL_BUF_INIT;
	const char *path = NULL;
	bool quiet = false;
	struct reel_opt opts[] = {
		{"output", 'o', REEL_OPT_TEXT, &path, "RUN.db",
		 "the store to write", 0, 0},
		{"quiet", 'q', REEL_OPT_FLAG, &quiet, NULL, "no closing line",
		 0, 0},
		{0},
	};
	int first = reel_cli_parse(&cmd_load, opts, false, argc, argv);
	int rc = 0;

	if (first < 0)
		return first == -2 ? 0 : 2;
	if (first == argc)
		return reel_cli_usage(&cmd_load, "no trace directory given");
	if (argc - first > 1)
		return reel_cli_usage(&cmd_load,
				      "one trace directory at a "
				      "time: '%s' is one too many",
				      argv[first + 1]);
	if (!path && default_output(&name, argv[first], &err)) {
		rc = reel_cli_fail(&cmd_load, &err);
		goto out;
	}
	if (!path)
		path = reel_buf_text(&name);
	if (load(argv[first], path, quiet, &err))
		rc = reel_cli_fail(&cmd_load, &err);
	else
		reel_terminal_next("report", path, NULL);
out:
	reel_buf_fini(&name);
	return rc;
}
