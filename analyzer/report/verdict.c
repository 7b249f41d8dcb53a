/* SPDX-License-Identifier: MIT */
/*
 * The verdict: the first line of the report, consistent with the codes of the
 * advice. Where there are steps it is about waiting; when these hardly wait, it
 * adds the first other cost.
 */
#include <math.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/columns.h"
#include "lib/error.h"
#include "lib/num.h"

#include "analyzer/report/advice_rules.h"
#include "analyzer/report/report.h"

#define LOOP "the time from its first fetch to the end of its last step"
#define CYCLES "the time of its steps in the profiles of each rank"
#define CLOCK_ERROR 0.05 /* of the run: it is said beside a share */
#define EVALUATION "the time of its loops, which train nothing"

static const struct advice *advice_of(const struct report *r, const char *code)
{
	int i;

	for (i = 0; i < r->advices; i++)
		if (!strcmp(r->advice[i].code, code))
			return &r->advice[i];
	return NULL;
}

static void add_step_io(struct reel_buf *b, const struct report *r)
{
	double own;
	bool known = advice_own_io_rank(r, &own) &&
		     own >= advice_threshold.own_share;
	char part[REEL_NUM];

	if (!known)
		own = advice_step_write_share(r);
	reel_buf_printf(b, NULL, ", but the thread that steps spends %s of %s",
			reel_columns_percent(part, own),
			known ? "that time in I/O of its own"
			      : "its loop in writes and syncs");
}

/* Append the first other cost when the steps do not wait for batches. */
static void add_but(struct reel_buf *b, const struct report *r)
{
	char time[REEL_NUM], part[REEL_NUM], run[ADVICE_RUN];
	int64_t exposed = advice_exposed_io(r);
	const struct advice *step_io = advice_of(r, "STEP-IO");
	const struct advice *checkpoint = advice_of(r, "CHECKPOINT");

	if (step_io && (!checkpoint || step_io < checkpoint)) {
		add_step_io(b, r);
	} else if (checkpoint) {
		reel_buf_printf(
			b, NULL, ", but %s take %s of %s",
			advice_saves_data(r) ? "saves" : "checkpoints",
			reel_columns_percent(
				part, advice_of_run(r, r->checkpoint_ns)),
			advice_run(run, r));
	} else if (advice_of(r, "EPOCH-START")) {
		reel_buf_printf(
			b, NULL, ", but starts of epochs take %s of %s",
			reel_columns_percent(
				part, advice_of_run(r, r->epoch_start_ns)),
			advice_run(run, r));
	} else if (advice_of(r, "EVAL-WAIT")) {
		const struct report_rank *k = advice_evaluating_rank(r);

		reel_buf_printf(
			b, NULL, ", but waits of evaluations take %s of %s",
			reel_columns_percent(
				part, advice_of_run(r, k->evaluation_wait_ns)),
			advice_run(run, r));
	} else if (advice_of(r, "REPEATED-READ")) {
		reel_buf_printf(b, NULL,
				", but each epoch reads its data %lld times",
				(long long)r->repeated.times);
	} else if (advice_of(r, "REREAD")) {
		reel_buf_puts(b,
			      ", but each epoch reads its data several times",
			      NULL);
	} else if (advice_of(r, "STORAGE-BOUND")) {
		reel_buf_printf(
			b, NULL, ", but fetches from storage take %s of %s",
			reel_num_time(time, (double)r->storage_wait.exposed_ns),
			advice_run(run, r));
	} else if (!advice_of(r, "NO-PROBLEM") &&
		   advice_of_run(r, exposed) >=
			   advice_threshold.matters_share) {
		reel_buf_printf(b, NULL,
				", but I/O outside computation takes %s of %s",
				reel_num_time(time, (double)exposed),
				advice_run(run, r));
	}
}

/* The part of the loop in which @k can wait. */
static void add_most(struct reel_buf *b, const struct report_rank *k)
{
	char part[REEL_NUM];

	reel_buf_printf(b, NULL,
			"at most %s, what computation, optimizer steps and "
			"checkpoints leave of its loop",
			reel_columns_percent(part, k->wait_most_share));
}

static void add_unknown(struct reel_buf *b, const struct report *r,
			const struct report_rank *k)
{
	char num[REEL_NUM], all[REEL_NUM];
	int64_t unknown, steps;

	reel_buf_puts(
		b, "How long the job waits for its input is not known: ", NULL);
	if (advice_reads_in_steps(r)) {
		reel_buf_printf(
			b, NULL,
			"its loop reads %s of its data outside of its fetches",
			reel_num_bytes(num, (double)r->step_read_bytes));
	} else if (k && k->wait_most_share != REPORT_NONE) {
		add_most(b, k);
	} else {
		advice_unknown_steps(r, &unknown, &steps);
		reel_buf_printf(b, NULL,
				"no fetch was recorded for %s of its %s steps",
				reel_num_count(num, unknown),
				reel_num_count(all, steps));
	}
}

/* A class of waits: INPUT-BOUND, INPUT-WAIT, or less. */
static int class_of(double share)
{
	return (share >= advice_threshold.wait_share) +
	       (share >= advice_threshold.bound_share);
}

/* The fetches take much of the loop, but the GPU computes meanwhile. */
static void add_busy_wait(struct reel_buf *b, const struct report_rank *k,
			  const char *how)
{
	char part[REEL_NUM], idle[REEL_NUM];

	reel_buf_printf(
		b, NULL,
		"The job %s for its input: its fetches take %s of its loop, "
		"and the GPU is idle meanwhile in %s of the loop",
		how, reel_columns_percent(part, k->wait_share),
		reel_columns_percent(idle, k->exposed_wait_share));
}

static void add_wait(struct reel_buf *b, const struct report *r,
		     const struct report_rank *k)
{
	char part[REEL_NUM], wait[REEL_NUM], loop[REEL_NUM];
	const char *how = advice_of(r, "INPUT-BOUND")  ? "waits"
			  : advice_of(r, "INPUT-WAIT") ? "waits moderately"
						       : "hardly waits";

	if (k->wait_share == REPORT_NONE && k->wait_most_share != REPORT_NONE) {
		reel_buf_puts(b, "The job hardly waits for its input: ", NULL);
		add_most(b, k);
		return;
	}
	if (class_of(k->exposed_wait_share) < class_of(k->wait_share)) {
		add_busy_wait(b, k, how);
		return;
	}
	reel_buf_printf(b, NULL, "The job %s for its input: %s of %s (%s of %s",
			how, reel_columns_percent(part, k->wait_share),
			k->steps <= 0	? EVALUATION
			: r->cycles > 1 ? CYCLES
					: LOOP,
			reel_num_time(wait, (double)k->loop_wait_ns),
			reel_num_time(loop, (double)k->loop_ns));
	if (r->ranks > 1 && k->wait_share > 0)
		reel_buf_printf(b, NULL, ", on rank %lld, which waits most",
				(long long)k->rank);
	reel_buf_puts(b, ")", NULL);
	if (k->wait_share >= advice_threshold.wait_share &&
	    advice_waits_once(r))
		reel_buf_printf(
			b, NULL, "; %s in the epochs after the first",
			reel_columns_percent(part, r->later_epochs_wait));
}

/* A run that is no longer than the error of its times: no part of it is known. */
static void add_no_share(struct reel_buf *b, const struct report *r,
			 const char *whose)
{
	char error[REEL_NUM];

	reel_buf_printf(b, NULL,
			"; %s share of the run is not known: times are known "
			"to within %s",
			whose, reel_num_time(error, (double)r->clock_error_ns));
}

/* The times of Darshan's counters. */
static void add_counted(struct reel_buf *b, const struct report *r)
{
	int64_t ns = report_counted_ns(r);
	char part[REEL_NUM], time[REEL_NUM], run[ADVICE_RUN];

	if (ns <= 0 || report_run_ns(r) <= 0) {
		reel_buf_puts(
			b,
			"The figures are Darshan's counters: steps, waits "
			"and single calls are not known",
			NULL);
		return;
	}
	reel_buf_printf(b, NULL, "Calls of %s take %s", r->counted.module,
			reel_num_time(time, (double)ns));
	if (advice_run_unknown(r))
		add_no_share(b, r, "their");
	else
		reel_buf_printf(
			b, NULL, " of %s: %s", advice_run(run, r),
			reel_columns_percent(part, advice_of_run(r, ns)));
	reel_buf_printf(b, NULL, " (Darshan's counters%s). %s are not known",
			r->ranks_declared > 1 ? ", mean of the ranks" : "",
			r->calls ? "Steps and waits"
				 : "Steps, waits and single calls");
}

/* A profile without steps. */
static void add_kernels(struct reel_buf *b, const struct report *r)
{
	char part[REEL_NUM], time[REEL_NUM], run[ADVICE_RUN], num[REEL_NUM];

	reel_buf_printf(
		b, NULL, "Kernels run on the GPU %s of %s: %s",
		reel_num_time(time, r->kernels.busy_ns), advice_run(run, r),
		reel_columns_percent(
			part, advice_of_run(r, llround(r->kernels.busy_ns))));
	if (r->kernels.processes > 1)
		reel_buf_printf(b, NULL, " (mean of %s processes)",
				reel_num_count(num, r->kernels.processes));
	reel_buf_puts(
		b,
		". The profile marks no steps, so the waits for input are "
		"not known",
		NULL);
}

/* I/O time and its share of the run. An import may have times in whole seconds, or
 * none. */
static void add_io_time(struct reel_buf *b, const struct report *r)
{
	int64_t mean_ns, io_ns = report_io_ns(r, &mean_ns);
	char part[REEL_NUM], time[REEL_NUM], run[ADVICE_RUN],
		ranks[ADVICE_MOST_OF], error[REEL_NUM];

	if (report_is_untimed(r)) {
		reel_buf_printf(
			b, NULL,
			"The calls of I/O take %s together; their share of the "
			"run is not known: they have no times",
			reel_num_time(time, (double)r->group_sum_ns));
		return;
	}
	if (advice_run_unknown(r)) {
		reel_buf_printf(b, NULL, "I/O takes %s",
				reel_num_time(time, (double)io_ns));
		add_no_share(b, r, "its");
		return;
	}
	reel_buf_printf(b, NULL, "I/O %s %s of %s%s: %s", advice_verb(r),
			reel_num_time(time, (double)io_ns), advice_run(run, r),
			advice_most_of(ranks, mean_ns),
			reel_columns_percent(part, advice_of_run(r, io_ns)));
	if (r->tracer.call_ns > 0)
		reel_buf_puts(b, ", without what strace adds", NULL);
	if (advice_is_in_flight(r))
		reel_buf_printf(
			b, NULL,
			"; calls that submit it or wait for it take %s",
			reel_num_time(time, (double)report_blocking_ns(r)));
	if (advice_of(r, "WAIT-UNKNOWN"))
		reel_buf_puts(b,
			      "; how long the job waits for its input is not "
			      "known",
			      NULL);
	if ((double)r->clock_error_ns >= CLOCK_ERROR * (double)report_run_ns(r))
		reel_buf_printf(
			b, NULL, " (times are known to within %s)",
			reel_num_time(error, (double)r->clock_error_ns));
}

bool advice_time_unknown(const struct report *r)
{
	if (r->tracer.call_ns > 0) /* the times may be all its own */
		return false;
	for (int g = 0; g < REEL_GROUPS; g++)
		if (r->group[g].calls > 0)
			return r->io_ns <= 0 && r->group_sum_ns <= 0;
	return false;
}

char *advice_verdict(const struct report *r, struct reel_error *err)
{
	const struct report_rank *k = report_slowest(r);
	int64_t unknown, steps;
	bool known = !advice_unknown_steps(r, &unknown, &steps) &&
		     !advice_reads_in_steps(r);
	struct reel_buf b = REEL_BUF_INIT;
	bool waits = k &&
		     k->exposed_wait_share >= advice_threshold.wait_share &&
		     !advice_is_one_step(k);

	if (report_is_counted(r) && !k) {
		add_counted(&b, r);
	} else if (!r->calls && !k && r->kernels.processes > 0) {
		add_kernels(&b, r);
	} else if (r->mpiio_only && !k) {
		reel_buf_puts(&b,
			      "How long the I/O takes is not known: only calls "
			      "of MPI-IO moved data, and none below them was "
			      "recorded",
			      err);
	} else if (!r->calls && !k && r->sources) {
		reel_buf_puts(&b,
			      "Nothing is known: the imported files have no "
			      "I/O event, no counter of a read or a write, and "
			      "no step",
			      err);
	} else if (!r->calls && !k) {
		reel_buf_puts(&b,
			      "Nothing was recorded: the job touched no data "
			      "file that the shim could see",
			      err);
	} else if (!known && (!waits || advice_reads_in_steps(r))) {
		add_unknown(&b, r, k);
		add_but(&b, r);
	} else if (k && advice_is_one_step(k)) {
		reel_buf_puts(&b,
			      "How long the job waits for its input is not "
			      "known: it has one step, the first",
			      err);
		add_but(&b, r);
	} else if (k) {
		add_wait(&b, r, k);
		if (!waits)
			add_but(&b, r);
	} else if (r->io_ns > 0 || r->tracer.call_ns > 0) {
		add_io_time(&b, r);
	} else if (advice_time_unknown(r)) {
		reel_buf_puts(&b,
			      "How long the I/O takes is not known: no call "
			      "has a duration",
			      err);
	} else {
		reel_buf_puts(&b, "The job did no I/O on files", err);
	}
	if (reel_buf_puts(&b, ".", err)) {
		reel_buf_fini(&b);
		return NULL;
	}
	return b.data;
}
