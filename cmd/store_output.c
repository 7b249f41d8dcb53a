/* SPDX-License-Identifier: MIT */
/*
 * The store that load and import write.
 *
 * An interrupted command leaves nothing: the one file that exists while it runs
 * is unlinked by the signal handler, which then dies of the signal.
 */
#include "cmd/store_output.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/output.h"
#include "lib/store/store.h"
#include "lib/terminal.h"

static char unfinished[4096]; /* "" : nothing to remove */

static void on_signal(int sig)
{
	if (unfinished[0])
		unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void remove_on_signal(const struct reel_store *st)
{
	static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,
				      SIGPIPE, SIGXCPU, SIGXFSZ};
	struct sigaction sa = {.sa_handler = on_signal};

	if (strlen(st->tmp) >= sizeof(unfinished))
		return;
	strcpy(unfinished, st->tmp);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction was;

		/* a signal that nohup ignores stays ignored */
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
		remove_on_signal(*st);
	sigprocmask(SIG_SETMASK, &was, NULL);
	return rc;
}

/* A store of no process is refused. */
static int finish(struct reel_store *st, const struct store_producer *p,
		  struct reel_error *err)
{
	int64_t processes;
	bool has;

	if (reel_store_int(st, "SELECT count(*) FROM process", &processes, &has,
			   err))
		return -1;
	if (!processes)
		return reel_fail(err, REEL_E_FORMAT, "cannot %s '%s': %s",
				 p->verb, p->source, p->nothing);
	if (reel_store_finish(st, err))
		return -1;
	unfinished[0] = '\0';
	return 0;
}

static void print_summary(const char *path, int64_t events, int64_t start_ns)
{
	double s = (double)(reel_now_ns() - start_ns) / 1e9;
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

int store_output_write(const char *path, const struct store_producer *producer,
		       bool quiet, struct reel_error *err)
{
	int64_t start_ns = reel_now_ns();
	struct reel_store *st = NULL;
	int64_t events;
	int rc = -1;

	if (reel_output_is_stdout(path))
		return reel_fail(err, REEL_E_USAGE,
				 "a store cannot go to standard output: "
				 "-o takes the name of a file, as RUN.db");
	if (create(&st, path, err))
		return -1;
	events = producer->fill(st, producer->arg, err);
	if (events >= 0 && !finish(st, producer, err)) {
		if (!quiet)
			print_summary(path, events, start_ns);
		rc = 0;
	}
	reel_store_close(st);
	return rc;
}
