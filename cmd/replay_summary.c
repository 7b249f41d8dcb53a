/* SPDX-License-Identifier: MIT */
/* Prints the results of a replay. */
#include "cmd/replay_summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/store/event.h"
#include "lib/store/view.h"
#include "lib/terminal.h"

#include "analyzer/compare/likeness.h"
#include "record/record.h"

static const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

static void print_cache_state(const struct plan *p, enum fileset_cache cache,
			      uint64_t files)
{
	char a[REEL_NUM], b[REEL_NUM];
	uint64_t cold = 0, fetches = p->head->fetches;
	int64_t bytes = 0;

	for (uint32_t i = 0; i < p->head->files; i++)
		if (fileset_cold(&p->file[i], cache)) {
			cold++;
			bytes += fileset_filled_bytes(p, &p->file[i]);
		}
	if (cold && (cache == FILESET_COLD || cold == files)) {
		fputs("; the page cache is cold\n", stderr);
		return;
	}
	if (cold)
		fprintf(stderr, "; all but %s (%s) are in the page cache",
			reel_num_count(a, (int64_t)cold),
			reel_num_bytes(b, (double)bytes));
	else
		fputs("; they are in the page cache", stderr);
	if (fetches && cache != FILESET_WARM)
		fprintf(stderr, ", except the data that %s %s",
			reel_num_count(a, (int64_t)fetches),
			plural(fetches, "read fetches", "reads fetch"));
	fputc('\n', stderr);
}

void replay_report_built(const struct plan *p, const struct sandbox *sb,
			 enum fileset_cache cache)
{
	const struct plan_head *h = p->head;
	const char *base = strrchr(sb->root, '/');
	char a[REEL_NUM], b[REEL_NUM], c[REEL_NUM], d[REEL_NUM];
	uint64_t processes = 0, files = 0;

	for (uint32_t i = 0; i < h->processes; i++)
		processes += p->process[i].streams > 0;
	for (uint32_t i = 0; i < h->files; i++)
		files += p->file[i].kind == PLAN_FILE_REGULAR;
	fprintf(stderr, "ioreel replay: %s %s, %s %s, %s %s (%s",
		reel_num_count(a, (int64_t)processes),
		plural(processes, "process", "processes"),
		reel_num_count(b, (int64_t)h->calls),
		plural(h->calls, "call", "calls"),
		reel_num_count(c, (int64_t)files),
		plural(files, "file", "files"),
		reel_num_bytes(d, (double)h->file_total_bytes));
	if (h->hole_total_bytes)
		fprintf(stderr, ", %s of it filled",
			reel_num_bytes(a, (double)(h->file_total_bytes -
						   h->hole_total_bytes)));
	fputs(") rebuilt in ", stderr);
	reel_terminal_name(stderr, base ? base + 1 : sb->root);
	print_cache_state(p, cache, files);
	if (h->async)
		fprintf(stderr,
			"ioreel replay: %s asynchronous %s played one after "
			"the other\n",
			reel_num_count(a, (int64_t)h->async),
			plural(h->async, "operation is", "operations are"));
	if (h->collectives)
		fprintf(stderr,
			"ioreel replay: ranks wait for each other in %s %s of "
			"MPI\n",
			reel_num_count(a, (int64_t)h->collectives),
			plural(h->collectives, "collective", "collectives"));
	if (h->skipped)
		fprintf(stderr,
			"ioreel replay: %s %s cannot be replayed: calls "
			"unknown to this version\n",
			reel_num_count(a, (int64_t)h->skipped),
			plural(h->skipped, "event", "events"));
}

int replay_report_named(struct reel_store *st, struct reel_error *err)
{
	static const char sql[] =
		"SELECT sum(c.calls) AS calls, "
		"group_concat(c.call, ', ') AS names FROM (SELECT call, "
		"sum(calls) AS calls FROM v_call_count WHERE call_id >= "
		"?1 GROUP BY call ORDER BY sum(calls) DESC LIMIT 8) c";
	struct reel_view v;
	char num[REEL_NUM];

	reel_view_open(&v, st, sql, err);
	reel_view_bind(&v, 1, REEL_CALL_NAMED);
	if (reel_view_next(&v) && reel_view_int(&v, "calls") > 0) {
		int64_t calls = reel_view_int(&v, "calls");

		fprintf(stderr,
			"ioreel replay: %s %s not replayed, as ioreel does "
			"not know %s: ",
			reel_num_count(num, calls),
			plural((uint64_t)calls, "call is", "calls are"),
			plural((uint64_t)calls, "it", "them"));
		reel_terminal_name(stderr, reel_view_text(&v, "names"));
		fputc('\n', stderr);
	}
	return reel_view_close(&v);
}

void replay_report_confined(const struct result *res, const char *program)
{
	if (res->head->confined)
		fprintf(stderr,
			"%s: writes are confined to the sandbox by %s\n",
			program, confine_name(res->head->confined));
}

static void print_outcome(int64_t result, int err)
{
	if (err)
		fputs(err == REEL_ERRNO_UNKNOWN ? "an error" : strerror(err),
		      stdout);
	else
		printf("%lld", (long long)result);
}

static void print_difference(const struct plan *p,
			     const struct result_difference *d)
{
	const struct reel_call_info *info = reel_call_info(d->op);

	printf("  thread %u, call %u: %s", p->stream[d->stream].thread_id,
	       d->call, info ? info->name : "?");
	if (d->name != PLAN_NONE) {
		fputs(" '", stdout);
		reel_terminal_name(stdout, plan_name(p, d->name));
		putchar('\'');
	}
	fputs(" gave ", stdout);
	print_outcome(d->got, d->got_err);
	fputs(", recorded ", stdout);
	print_outcome(d->want, d->want_err);
	putchar('\n');
}

void replay_print_calls(const struct plan *p, const struct result *res,
			const struct reel_record_result *ran,
			const struct result_total *t)
{
	const struct result_head *h = res->head;
	uint64_t all = p->head->calls;
	char a[REEL_NUM], b[REEL_NUM];

	printf("replayed in %s", reel_num_time(a, (double)ran->wall_ns));
	printf(" (recorded %s); ", reel_num_time(a, (double)p->head->wall_ns));
	printf("%s of %s %s gave the recorded result\n",
	       reel_num_count(a, (int64_t)t->same),
	       reel_num_count(b, (int64_t)all), plural(all, "call", "calls"));
	if (h->full)
		return; /* a single error reports it */
	for (uint32_t i = 0; i < RESULT_DIFFERENCES && i < h->differences; i++)
		if (h->difference[i].set)
			print_difference(p, &h->difference[i]);
	if (h->differences > RESULT_DIFFERENCES)
		printf("  and %s more\n",
		       reel_num_count(a, h->differences - RESULT_DIFFERENCES));
	if (t->late)
		printf("late: %s %s began more than 1 ms after the time (%s at "
		       "most)\n",
		       reel_num_count(a, (int64_t)t->late),
		       plural(t->late, "call", "calls"),
		       reel_num_time(b, (double)t->late_most_ns));
}

void replay_print_likeness(const struct reel_likeness *l)
{
	int worst = reel_likeness_largest(l);

	if (!l->has_cosine) {
		puts("likeness -: no factor was measured in both runs");
		return;
	}
	printf("likeness %.4f", l->cosine);
	if (worst >= 0 && isinf(reel_factor_change(&l->factor[worst])))
		printf(" (only one run has %s)", l->factor[worst].name);
	else if (worst >= 0)
		printf(" (worst factor: %s, %+.1f %%)", l->factor[worst].name,
		       100 * reel_factor_change(&l->factor[worst]));
	if (l->has_same)
		printf("; call sequence identical in %lld of %lld threads",
		       (long long)l->threads_same,
		       (long long)(l->threads_a > l->threads_b ? l->threads_a
							       : l->threads_b));
	putchar('\n');
}

struct replay_run replay_run_of(int64_t number, const struct reel_likeness *l)
{
	struct replay_run run = {.number = number};

	if (l->has_cosine)
		snprintf(run.likeness, sizeof(run.likeness), "%.4f", l->cosine);
	else
		strcpy(run.likeness, "-");
	for (int i = 0; i < l->factors; i++)
		if (!strcmp(l->factor[i].name, "I/O time"))
			run.io_ns = l->factor[i].b;
	return run;
}

static int order_by_io(const void *a, const void *b)
{
	const struct replay_run *x = a, *y = b;

	if (x->io_ns != y->io_ns)
		return x->io_ns < y->io_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int64_t replay_print_runs(struct replay_run *run, int64_t n)
{
	const struct replay_run *middle;
	char least[REEL_NUM], median[REEL_NUM], most[REEL_NUM];

	qsort(run, (size_t)n, sizeof(*run), order_by_io);
	middle = &run[(n - 1) / 2];
	printf("%lld runs: I/O time %s to %s, median %s in run %lld, whose "
	       "likeness is %s\n",
	       (long long)n, reel_num_time(least, run[0].io_ns),
	       reel_num_time(most, run[n - 1].io_ns),
	       reel_num_time(median, middle->io_ns),
	       (long long)middle->number + 1, middle->likeness);
	return middle->number;
}

static bool is_notable(const struct plan *p, double off)
{
	return p->head->wall_ns > REPLAY_TIME_LEAST_NS &&
	       off > REPLAY_TIME_MOST;
}

static double print_wall(const struct plan *p, int64_t wall_ns)
{
	int64_t job_ns = p->head->wall_ns;
	double off =
		job_ns > 0 ? (double)(wall_ns - job_ns) / (double)job_ns : 0;

	if (is_notable(p, fabs(off)))
		printf("time: the replay took %.1f %% %s than the job\n",
		       100 * fabs(off), off > 0 ? "longer" : "less");
	return fabs(off);
}

/*
 * The difference of the waits, as a share of the job's waits or, when that is
 * longer, of its wall time.
 */
static double print_waits(const struct plan *p, const struct result_total *t)
{
	double job_ns = (double)t->job_waited_ns;
	double wall = (double)p->head->wall_ns;
	double whole = job_ns > wall ? job_ns : wall;
	double off =
		whole > 0 ? fabs((double)t->waited_ns - job_ns) / whole : 0;
	char a[REEL_NUM], b[REEL_NUM];

	if (is_notable(p, off))
		printf("waits: threads waited %s for each other, %s in the "
		       "job\n",
		       reel_num_time(a, (double)t->waited_ns),
		       reel_num_time(b, job_ns));
	return off;
}

/* A thread issues its asynchronous operations one after the other. */
static double print_depth(const struct plan *p)
{
	const struct plan_head *h = p->head;
	double depth = h->async_union_ns > 0 ? (double)h->async_sum_ns /
						       (double)h->async_union_ns
					     : 1;
	double off = depth > 1 ? 1 - 1 / depth : 0;

	if (is_notable(p, off))
		printf("depth: one asynchronous operation of a thread at a "
		       "time, %.1f in the job\n",
		       depth);
	return off;
}

double replay_print_times(const struct plan *p, const struct result_total *t,
			  int64_t wall_ns, enum replay_mode mode)
{
	double wall, waits, depth;

	if (mode == REPLAY_AFAP)
		return 0;
	wall = print_wall(p, wall_ns);
	waits = print_waits(p, t);
	depth = print_depth(p);
	return fmax(wall, fmax(waits, depth));
}

int replay_judge(const struct plan *p, const struct result *res,
		 const struct result_total *t, enum replay_mode mode,
		 struct reel_error *err)
{
	uint64_t all = p->head->calls;
	uint64_t lost = all - (t->same < all ? t->same : all);
	char a[REEL_NUM], b[REEL_NUM];

	if (res->head->unconfined)
		return reel_fail(err, REEL_E_IO,
				 "nothing was played: the writes of a process "
				 "cannot be confined to the sandbox in the way "
				 "that IOREEL_REPLAY_CONFINE asks for");
	if (res->head->full)
		return reel_fail(err, REEL_E_IO,
				 "the disk of the sandbox is full: %s of %s "
				 "calls did not give the recorded result",
				 reel_num_count(a, (int64_t)lost),
				 reel_num_count(b, (int64_t)all));
	if (res->head->released)
		return reel_fail(err, REEL_E_LIMIT,
				 "the order of calls could not be kept: all "
				 "threads waited for each other");
	if ((double)lost > REPLAY_DIFFER_MOST * (double)all)
		return reel_fail(err, REEL_E_LIMIT,
				 "%s of %s calls did not give the recorded "
				 "result (limit 0.1 %%)",
				 reel_num_count(a, (int64_t)lost),
				 reel_num_count(b, (int64_t)all));
	if (mode == REPLAY_TIMED &&
	    (double)t->late > REPLAY_LATE_MOST * (double)all)
		return reel_fail(err, REEL_E_LIMIT,
				 "could not keep up: %s of %s calls began more "
				 "than 1 ms late (limit 5 %%)",
				 reel_num_count(a, (int64_t)t->late),
				 reel_num_count(b, (int64_t)all));
	return 0;
}
