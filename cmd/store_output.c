/* SPDX-License-Identifier: MIT */
/*
 * The store that load and import write.
 *
 * An interrupted command leaves nothing: a signal removes the one file that exists
 * while it runs.
 */
#include "cmd/store_output.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/output.h"
#include "lib/store/store.h"
#include "lib/terminal.h"

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
		reel_output_unfinished((*st)->tmp);
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
	reel_output_unfinished(NULL);
	return 0;
}

/* The rows of @table; 0 as well where that is not known. */
static int64_t rows_of(struct reel_store *st, const char *table)
{
	char sql[64];
	struct reel_error err = {0};
	int64_t n = 0;
	bool has;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	return reel_store_int(st, sql, &n, &has, &err) ? 0 : n;
}

/* The events that were written; of an import that has none its spans or counters. */
static void print_amount(FILE *f, struct reel_store *st, int64_t events,
			 double s)
{
	const char *unit = "event";
	char n[REEL_NUM], t[REEL_NUM], rate[REEL_NUM];
	int64_t amount = events;

	if (!amount && (amount = rows_of(st, "span")))
		unit = "span";
	if (!amount && (amount = rows_of(st, "v_counter")))
		unit = "counter";
	fprintf(f, "%s %s%s in %s", reel_num_count(n, amount), unit,
		amount == 1 ? "" : "s", reel_num_time(t, s * 1e9));
	if (events && s > 0)
		fprintf(f, " (%s events/s)",
			reel_num_count(rate, (int64_t)((double)events / s)));
}

static void print_summary(struct reel_store *st, const char *path,
			  int64_t events, int64_t start_ns)
{
	double s = (double)(reel_now_ns() - start_ns) / 1e9;
	char size[REEL_NUM];
	struct stat file = {0};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	stat(path, &file);
	fputs("ioreel: ", f);
	print_amount(f, st, events, s);
	fputs("; store ", f);
	reel_terminal_name(f, path);
	fprintf(f, " (%s", reel_num_bytes(size, (double)file.st_size));
	if (events)
		fprintf(f, ", %.1f B per event",
			(double)file.st_size / (double)events);
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
			print_summary(st, path, events, start_ns);
		rc = 0;
	}
	reel_store_close(st);
	return rc;
}
