/* SPDX-License-Identifier: MIT */
/*
 * Advice on the time that a training loop waits for its batches.
 *
 * The loop of a rank is the time from its first fetch to the end of its last
 * step, or its evaluations where it has no step. Shares of the loop, of the steady
 * steps and of the run are three things: each is named.
 */
#include <string.h>

#include "lib/columns.h"
#include "lib/num.h"

#include "analyzer/report/advice_rules.h"
#include "analyzer/report/report.h"

/* A headroom below this is said as none. */
#define FASTER 1.05

/* The import has their calls, but not the batches that they make. */
static void append_worker_calls(const struct report_rank *k, struct advice *a)
{
	bool io = k->worker_call_share >= advice_threshold.worker_io;
	char calls[REEL_NUM];

	advice_fact(a, "workers", "", (double)k->workers);
	advice_fact(a, "worker_call_share", "share", k->worker_call_share);
	advice_append(
		a->text,
		"; calls of I/O are %s of the time of the %lld loader %s.",
		reel_columns_percent(calls, k->worker_call_share),
		(long long)k->workers,
		advice_number(k->workers, "worker", "workers"));
	advice_append(a->try_this, "more workers (%lld now), or %s.",
		      (long long)k->workers,
		      io ? "fewer, larger files"
			 : "less work for each sample: their I/O takes little");
}

bool advice_workers_idle(const struct report_rank *k)
{
	return k->wait_share >= advice_threshold.wait_share && k->workers > 0 &&
	       k->worker_busy_share != REPORT_NONE &&
	       k->worker_busy_share < advice_threshold.idle_share;
}

/* The wait of the loop for first batches beyond that for as many others. */
static int64_t first_wait_ns(const struct report_rank *k)
{
	int64_t epochs = k->epoch_first_wait_ns,
		evaluations = k->evaluation_first_wait_ns;

	return (epochs > 0 ? epochs : 0) + (evaluations > 0 ? evaluations : 0);
}

/* More than half of the wait was for first batches, as more workers start later. */
static bool waits_at_starts(const struct report_rank *k)
{
	return k->loop_wait_ns > 0 && first_wait_ns(k) > k->loop_wait_ns / 2;
}

static void append_headroom(const struct report_rank *k, struct advice *a)
{
	char factor[REEL_NUM];

	if (k->headroom != REPORT_NONE)
		advice_append(a->text, " (headroom %s)",
			      reel_num_factor(factor, k->headroom));
}

/* A loader hands batches over in order: one that takes long holds back the later
 * ones, and so the workers that make them. */
static void append_slow_batches(const struct report *r,
				const struct report_rank *k, struct advice *a)
{
	double share = r->queue.unready_share;
	char unready[REEL_NUM], depth[REEL_NUM];

	advice_append(a->text,
		      " So the wait is for single slow batches: for %s of it "
		      "the next batch is not ready, and %s later ones are on "
		      "average",
		      reel_columns_percent(unready, share),
		      reel_num_factor(depth, r->queue.mean_depth));
	append_headroom(k, a);
	advice_append(a->text, ".");
	advice_append(a->try_this,
		      "batches that take about as long as each other to make; "
		      "a loader that does not keep their order.");
	advice_fact(a, "queue_depth", "", r->queue.mean_depth);
	advice_fact(a, "queue_unready_share", "share", share);
}

static bool batches_are_ready(const struct report *r)
{
	return r->queue.mean_depth >= 1 &&
	       r->queue.empty_share < advice_threshold.empty_share;
}

static bool waits_for_slow_batches(const struct report *r)
{
	return r->queue.unready_share >= advice_threshold.unready_share &&
	       batches_are_ready(r);
}

/* Batches that are ready cannot be ready earlier: their way to the model costs. */
static void append_hand_over(const struct report *r,
			     const struct report_rank *k, struct advice *a)
{
	bool ready = batches_are_ready(r);
	char depth[REEL_NUM];

	advice_append(a->text, " So the %s is not for reading: ",
		      waits_at_starts(k) ? "rest" : "wait");
	if (ready)
		advice_append(a->text,
			      "%s batches are ready on average, and handing "
			      "them over takes the time",
			      reel_num_factor(depth, r->queue.mean_depth));
	else
		advice_append(a->text, "batches wait to be handed over");
	append_headroom(k, a);
	advice_append(a->text, ".");
	if (k->worker_restarts && advice_loader_of(r)->persistent)
		advice_append(a->try_this, "persistent_workers, ");
	advice_append(a->try_this, "%s",
		      ready ? "fewer and larger tensors in a batch; fewer "
			      "workers, or none where it takes less time to "
			      "make a batch than to hand it over."
			    : advice_loader_of(r)->hand_over);
	if (ready) {
		advice_fact(a, "queue_depth", "", r->queue.mean_depth);
		advice_fact(a, "queue_empty_share", "share",
			    r->queue.empty_share);
	}
}

/* Workers that are idle at the start and in checkpoints can be too slow in the steps:
 * mostly no batch is ready. */
static bool cannot_keep_up(const struct report *r, const struct report_rank *k)
{
	return k->headroom != REPORT_NONE && k->headroom < 1 &&
	       r->queue.empty_share != REPORT_NONE &&
	       r->queue.empty_share >= advice_threshold.starved_share;
}

static bool is_throttled(const struct report *r)
{
	return reel_cpu_contention_throttled(&r->cpu_contention) >=
	       advice_threshold.throttled;
}

/* May the job use fewer processors than the rank has workers? */
static bool fill_processors(const struct report *r, const struct report_rank *k)
{
	const struct reel_cpu_contention *cpu = &r->cpu_contention;

	return is_throttled(r) ||
	       (cpu->has && !cpu->ranks &&
		k->workers > reel_cpu_contention_millicpus(cpu) / 1000);
}

/* A limit that stops the job makes all of it slow, its workers or its loop. */
static void append_limit(const struct report *r, struct advice *a)
{
	const struct reel_cpu_contention *cpu = &r->cpu_contention;

	if (!is_throttled(r))
		return;
	advice_fact(a, "throttled_share", "share",
		    reel_cpu_contention_throttled(cpu));
	advice_append(a->try_this,
		      "a higher CPU limit (%.4g of %lld processors now), which "
		      "stops the job; then ",
		      (double)cpu->millicpus / 1000, (long long)cpu->cpus);
}

/* Do the workers read most of their data through mappings? The time of these reads is
 * not known. */
static bool map_most(const struct report_rank *k)
{
	return k->worker_mapped_share > advice_threshold.mapped_share;
}

static void append_worker_shares(const struct report_rank *k, struct advice *a)
{
	char busy[REEL_NUM], part[REEL_NUM];

	advice_fact(a, "workers", "", (double)k->workers);
	advice_fact(a, "worker_busy_share", "share", k->worker_busy_share);
	advice_append(a->text, "; the %lld loader %s busy %s of the time",
		      (long long)k->workers,
		      advice_number(k->workers, "worker is", "workers are"),
		      reel_columns_percent(busy, k->worker_busy_share));
	if (map_most(k)) {
		advice_fact(a, "worker_mapped_share", "share",
			    k->worker_mapped_share);
		advice_append(
			a->text,
			"; %s of %s bytes come through mappings, and how "
			"much of that time is page faults is not known.",
			reel_columns_percent(part, k->worker_mapped_share),
			k->workers == 1 ? "its" : "their");
	} else {
		advice_fact(a, "worker_io_share", "share", k->worker_io_share);
		advice_append(a->text, ", %s of that with I/O.",
			      reel_columns_percent(part, k->worker_io_share));
	}
}

/* Does each worker make all samples, so that one more only repeats them? */
static bool repeat_samples(const struct report *r, const struct report_rank *k)
{
	return r->ranks == 1 && k->workers > 1 &&
	       r->repeated.times == k->workers;
}

static void append_worker_remedy(const struct report *r,
				 const struct report_rank *k, struct advice *a)
{
	if (repeat_samples(r, k))
		advice_append(a->try_this,
			      "a part of the data for each worker "
			      "(REPEATED-READ); until then, more workers only "
			      "make each sample more often.");
	else if (map_most(k))
		advice_append(a->try_this,
			      "more workers (%lld now); samples that lie next "
			      "to each other in the file, or a cache that "
			      "holds it: its pages are read at their first "
			      "use.",
			      (long long)k->workers);
	else if (k->worker_io_share >= advice_threshold.worker_io)
		advice_append(a->try_this,
			      "more workers (%lld now), or fewer, larger "
			      "files.",
			      (long long)k->workers);
	else if (fill_processors(r, k))
		advice_append(a->try_this,
			      "less work for each sample, to which most of the "
			      "workers' time goes: decode less, or once; more "
			      "than %lld workers only if they do not compute, "
			      "as the job may use %.4g of %lld %s.",
			      (long long)k->workers,
			      (double)reel_cpu_contention_millicpus(
				      &r->cpu_contention) /
				      1000,
			      (long long)r->cpu_contention.cpus,
			      advice_number(r->cpu_contention.cpus, "processor",
					    "processors"));
	else
		advice_append(a->try_this,
			      "more workers (%lld now); most of their time "
			      "goes into preparing samples: decode less, or "
			      "once.",
			      (long long)k->workers);
}

/* The waits for each loader, as the workers' figures are those of all loaders. */
static void append_several(const struct report *r, struct advice *a)
{
	int64_t first_ns = r->queue.first_ns, others_ns = r->queue.others_ns;
	char first[REEL_NUM], others[REEL_NUM];

	advice_append(a->text, " A step takes batches from several loaders: ");
	if (first_ns + others_ns <= 0) {
		advice_append(a->text, "which of them it waits for is not "
				       "known.");
		advice_append(a->try_this, "more workers for the loader whose "
					   "batches take longest to make.");
		return;
	}
	advice_append(a->text,
		      "the wait is %s for its first batch, %s for the others.",
		      reel_num_time(first, (double)first_ns),
		      reel_num_time(others, (double)others_ns));
	advice_append(a->try_this,
		      "more workers for the %s, or less work for each of %s "
		      "samples.",
		      first_ns > others_ns ? "loader of a step's first batch"
					   : "loaders of a step's later "
					     "batches",
		      first_ns > others_ns ? "its" : "their");
	advice_fact(a, "first_batch_wait", "ns", (double)first_ns);
	advice_fact(a, "other_batches_wait", "ns", (double)others_ns);
}

/* Does the model wait for the workers, and these for I/O? */
static void append_workers(const struct report *r, const struct report_rank *k,
			   struct advice *a)
{
	char factor[REEL_NUM];

	append_worker_shares(k, a);
	if (r->queue.several) {
		append_several(r, a);
		return;
	}
	advice_fact(a, "headroom", "factor", k->headroom);
	if (k->worker_busy_share < advice_threshold.idle_share &&
	    !cannot_keep_up(r, k)) {
		if (waits_for_slow_batches(r))
			append_slow_batches(r, k, a);
		else
			append_hand_over(r, k, a);
		return;
	}
	if (k->headroom != REPORT_NONE && k->headroom < 1)
		advice_append(
			a->text,
			" %s cannot keep up with the model (headroom %s).",
			k->workers == 1 ? "It" : "They",
			reel_num_factor(factor, k->headroom));
	else if (k->headroom != REPORT_NONE)
		advice_append(
			a->text,
			k->headroom < FASTER
				? " If %s always busy, %s could just keep "
				  "up with the model (headroom %s)."
				: " If %s always busy, %s could feed a "
				  "model %s times as fast.",
			k->workers == 1 ? "it were" : "they were",
			k->workers == 1 ? "it" : "they",
			reel_num_factor(factor, k->headroom));
	append_worker_remedy(r, k, a);
}

/* Does the process of the loop make the batches for most of the wait? */
static bool makes_own_batches(const struct report_rank *k)
{
	return k->own_batch_ns > 0 &&
	       (double)k->own_batch_ns >
		       advice_threshold.own_batch * (double)k->loop_wait_ns;
}

/* Another loader of the loop has no workers: its fetches make their batches. */
static void append_own_batches(const struct report *r,
			       const struct report_rank *k, struct advice *a)
{
	char own[REEL_NUM];

	advice_fact(a, "workers", "", (double)k->workers);
	advice_fact(a, "own_batch", "ns", (double)k->own_batch_ns);
	advice_append(a->text,
		      "; for %s of it the loop makes batches itself: a loader "
		      "has no workers, beside the %lld %s of another one.",
		      reel_num_time(own, (double)k->own_batch_ns),
		      (long long)k->workers,
		      advice_number(k->workers, "worker", "workers"));
	advice_append_start(r, a);
}

/* Starts of epochs count only beyond the usual wait for a batch. */
static bool starts_slowly(const struct report *r)
{
	const struct report_rank *k = r->ranks ? &r->rank[0] : NULL;
	double ns = (double)r->epoch_start_ns, run = (double)report_run_ns(r);

	if (k && k->median_fetch_ns > 0)
		ns -= (double)(r->epochs - 1) * (double)k->median_fetch_ns;
	return r->epochs > 1 && ns > 0 &&
	       ns >= advice_threshold.epoch_share * run;
}

static void append_epoch_remedy(const struct report *r, struct advice *a)
{
	const struct advice_loader *loader = advice_loader_of(r);

	advice_append(a->try_this, "%s",
		      r->worker_restarts > 0 || !loader->longer
			      ? loader->last
			      : loader->longer);
}

const struct report_rank *advice_evaluating_rank(const struct report *r)
{
	const struct report_rank *most = NULL;

	for (int64_t i = 0; i < r->ranks; i++) {
		const struct report_rank *k = &r->rank[i];

		if (k->evaluations > 0 &&
		    (!most || k->evaluation_wait_ns > most->evaluation_wait_ns))
			most = k;
	}
	return most;
}

/* The waits of evaluations beside a training. */
static bool evaluates_slowly(const struct report *r)
{
	const struct report_rank *loop = report_slowest(r);
	const struct report_rank *k = advice_evaluating_rank(r);

	return k && loop->steps > 0 &&
	       advice_of_run(r, k->evaluation_wait_ns) >=
		       advice_threshold.evaluation_share &&
	       advice_share(k->evaluation_wait_ns, k->evaluation_ns) >=
		       advice_threshold.wait_share;
}

/* More than half of the wait was for the batches of evaluations. */
static bool waits_in_evaluations(const struct report_rank *k)
{
	return k->evaluations > 0 && k->loop_wait_ns > 0 &&
	       k->evaluation_loop_wait_ns > k->loop_wait_ns / 2;
}

/* Most of the wait for first batches was in the first epoch, as workers that stay
 * start once. */
static bool starts_once(const struct report *r, const struct report_rank *k)
{
	if (k->evaluation_first_wait_ns > 0 || k->worker_restarts > 0)
		return false;
	return k->epochs <= 1 || r->epoch_start_ns < first_wait_ns(k) / 2;
}

/* The passes of @k with first batches; an evaluation after the loop has none. */
static const char *starts_of(const struct report *r,
			     const struct report_rank *k)
{
	if (k->evaluation_first_wait_ns <= 0)
		return k->epochs > 1 && !starts_once(r, k) ? "the epochs"
							   : "the loop";
	return k->steps > 0 ? "epochs and evaluations" : "the evaluations";
}

/*
 * Does the loop wait without its first batches, too? Workers are idle while others
 * start: idle ones explain only a rest that alone makes the loop INPUT-BOUND while
 * batches are ready. The steady steps are without the first batch of a single epoch.
 */
static bool waits_beyond_starts(const struct report *r,
				const struct report_rank *k)
{
	double share =
		advice_share(k->loop_wait_ns - first_wait_ns(k), k->loop_ns);

	if (k->epochs <= 1 && k->evaluations == 0 && k->stall_share > share)
		share = k->stall_share;
	if (advice_workers_idle(k))
		return share >= advice_threshold.bound_share &&
		       batches_are_ready(r);
	return share >= advice_threshold.wait_share;
}

static const char *cause_of_starts(const struct report *r,
				   const struct report_rank *k)
{
	if (k->workers <= 0)
		return "";
	if (k->worker_restarts > 0 || k->evaluation_first_wait_ns > 0 ||
	    starts_once(r, k))
		return ", for which the workers start";
	return ", none of which is ready when an epoch starts";
}

/* The text has no full stop yet. */
static void append_starts(const struct report *r, const struct report_rank *k,
			  struct advice *a)
{
	int64_t first_ns = first_wait_ns(k);
	char first[REEL_NUM];

	advice_fact(a, "first_wait", "ns", (double)first_ns);
	advice_append(a->text,
		      "; most of it, %s, is for the first batches of %s%s",
		      reel_num_time(first, (double)first_ns), starts_of(r, k),
		      cause_of_starts(r, k));
	if (starts_slowly(r)) /* EPOCH-START says it */
		return;
	if (k->evaluation_first_wait_ns > k->epoch_first_wait_ns) {
		if (!evaluates_slowly(r)) /* else EVAL-WAIT says it */
			advice_append_evaluation(r, a);
	} else if (k->epochs > 1 && !starts_once(r, k)) {
		append_epoch_remedy(r, a);
	} else if (!waits_beyond_starts(r, k)) {
		advice_append(a->try_this, "a longer run to judge the job by: "
					   "this wait comes once.");
	}
}

/* No worker was seen: there is none, or the profile does not show them. */
static void append_no_workers(const struct report *r, struct advice *a)
{
	const struct advice_loader *loader = advice_loader_of(r);

	if (r->loader && !strcmp(r->loader, "processes")) {
		advice_append(a->text, "; the loader has worker processes, "
				       "which the import does not show.");
		advice_append(a->try_this, "more workers than it has; less "
					   "work and I/O for each sample.");
		return;
	}
	if (r->other_readers > 0 && !r->loader) {
		char num[REEL_NUM];

		advice_append(a->text,
			      "; %s other %s, and the import does not say "
			      "whether they are loader workers.",
			      reel_num_count(num, r->other_readers),
			      advice_number(r->other_readers, "process reads",
					    "processes read"));
		advice_append(a->try_this, "more of them; if they are none: ");
	} else {
		advice_append(a->text, "%s",
			      r->sources && !r->events && !r->loader
				      ? loader->unseen
				      : loader->none);
	}
	advice_append_start(r, a);
}

bool advice_waits_once(const struct report *r)
{
	return r->later_epochs_wait != REPORT_NONE &&
	       r->later_epochs_wait < advice_threshold.wait_share &&
	       r->first_epoch_wait >= advice_threshold.wait_share;
}

static void append_first_epoch(const struct report *r, struct advice *a)
{
	char first[REEL_NUM], later[REEL_NUM];

	advice_append(a->text,
		      "; the first epoch waits %s of its time, later ones %s, "
		      "as with a cache that it fills",
		      reel_columns_percent(first, r->first_epoch_wait),
		      reel_columns_percent(later, r->later_epochs_wait));
	advice_fact(a, "first_epoch_wait", "share", r->first_epoch_wait);
	advice_fact(a, "later_epochs_wait", "share", r->later_epochs_wait);
	advice_append(a->try_this, "nothing where many epochs follow; else ");
}

static bool append_wait(const struct report *r, const struct report_rank *k,
			struct advice *a)
{
	char wait[REEL_NUM], loop[REEL_NUM], part[REEL_NUM], most[REEL_NUM];

	if (r->ranks > 1)
		advice_append(a->text, "on rank %lld ", (long long)k->rank);
	advice_append(a->text, "fetches take %s of %s%s",
		      reel_num_time(wait, (double)k->loop_wait_ns),
		      reel_num_time(loop, (double)k->loop_ns),
		      k->steps > 0 ? "" : " in loops that train nothing");
	if (k->stall_share != REPORT_NONE)
		advice_append(a->text, ", and %s of the steady steps",
			      reel_columns_percent(part, k->stall_share));
	advice_fact(a, "wait_share", "share", k->wait_share);
	advice_fact(a, "loop_wait", "ns", (double)k->loop_wait_ns);
	advice_fact(a, "loop", "ns", (double)k->loop_ns);
	if (k->stall_share != REPORT_NONE)
		advice_fact(a, "stall_share", "share", k->stall_share);
	if (waits_at_starts(k)) {
		append_starts(r, k, a);
		if (!waits_beyond_starts(r, k)) {
			advice_append(a->text, ".");
			return true;
		}
		if (a->try_this[0])
			advice_append(a->try_this, " Then ");
	} else if (waits_in_evaluations(k)) {
		advice_append(
			a->text,
			"; most of it, %s, is in evaluations, or passes that "
			"train nothing.",
			reel_num_time(most,
				      (double)k->evaluation_loop_wait_ns));
		if (!evaluates_slowly(r)) /* else EVAL-WAIT says it */
			advice_append_evaluation(r, a);
		return true;
	}
	if (advice_waits_once(r))
		append_first_epoch(r, a);
	append_limit(r, a);
	if (k->workers > 0) {
		if (makes_own_batches(k))
			append_own_batches(r, k, a);
		else if (k->worker_busy_share == REPORT_NONE)
			append_worker_calls(k, a);
		else
			append_workers(r, k, a);
		return true;
	}
	append_no_workers(r, a);
	return true;
}

bool advice_is_one_step(const struct report_rank *k)
{
	return k->steps == 1 && k->evaluations <= 0;
}

bool advice_input_bound(const struct report *r, struct advice *a)
{
	const struct report_rank *k = report_slowest(r);

	return k && k->exposed_wait_share >= advice_threshold.bound_share &&
	       !advice_is_one_step(k) && append_wait(r, k, a);
}

bool advice_input_wait(const struct report *r, struct advice *a)
{
	const struct report_rank *k = report_slowest(r);

	return k && k->exposed_wait_share >= advice_threshold.wait_share &&
	       k->exposed_wait_share < advice_threshold.bound_share &&
	       !advice_is_one_step(k) && !advice_reads_in_steps(r) &&
	       append_wait(r, k, a);
}

bool advice_unknown_steps(const struct report *r, int64_t *unknown,
			  int64_t *steps)
{
	bool any = false;
	int64_t i;

	*unknown = *steps = 0;
	for (i = 0; i < r->ranks; i++) {
		const struct report_rank *k = &r->rank[i];

		if (__builtin_add_overflow(*unknown, k->unknown_steps,
					   unknown) ||
		    __builtin_add_overflow(*steps, k->steps, steps))
			*unknown = *steps = 0; /* no real store */
		any |= k->steps > 0 && k->wait_share == REPORT_NONE &&
		       (k->wait_most_share == REPORT_NONE ||
			k->wait_most_share >= advice_threshold.wait_share);
	}
	return any;
}

bool advice_reads_in_steps(const struct report *r)
{
	return r->step_read_bytes >= advice_threshold.step_read_bytes &&
	       (double)r->step_read_bytes >= advice_threshold.step_read_share *
						     (double)r->data_read_bytes;
}

/* A loop that reads its data by itself. */
static bool append_own_loop(const struct report *r, struct advice *a)
{
	const struct report_rank *k = report_slowest(r);
	char num[REEL_NUM], all[REEL_NUM];

	if (advice_reads_in_steps(r)) {
		advice_append(a->text,
			      "the loop reads %s of its data outside of its "
			      "fetches: that time counts as computation.",
			      reel_num_bytes(num, (double)r->step_read_bytes));
		advice_fact(a, "step_read", "bytes",
			    (double)r->step_read_bytes);
	} else if (r->uses.own_loop && k) {
		if (k->unknown_steps < k->steps)
			advice_append(a->text,
				      "%s of %s steps take their batch from",
				      reel_num_count(num, k->unknown_steps),
				      reel_num_count(all, k->steps));
		else
			advice_append(a->text,
				      "the job takes its batches from");
		advice_append(a->text,
			      " no loader that the hooks mark; a step is the "
			      "time from one optimizer step to the next.");
	} else {
		return false;
	}
	advice_append(a->try_this,
		      "a mark around what makes a batch: with "
		      "ioreel.span(\"fetch\"): in Python, ioreel.h in C (man "
		      "ioreel-anchors).");
	return true;
}

/* Is there a loop, by its fetches or its framework, and no step that shows it? */
static bool append_no_loop(const struct report *r, struct advice *a)
{
	const char *fetches = NULL;
	char num[REEL_NUM];

	if (report_slowest(r) || report_is_counted(r) || !r->calls)
		return false;
	for (int64_t i = 0; i < r->ranks; i++)
		if (r->rank[i].fetch_ns > 0)
			fetches =
				reel_num_time(num, (double)r->rank[i].fetch_ns);
	if (!fetches && (report_is_imported(r) || !r->framework))
		return false;
	advice_append(a->text,
		      "no step of a loop is marked, so the share that it waits "
		      "for its batches is not known");
	if (fetches)
		advice_append(a->text, "; fetches take %s", fetches);
	advice_append(a->text, ".");
	advice_append(a->try_this, "%s",
		      report_is_imported(r)
			      ? "a profile of the loop beside it, or ioreel "
				"record."
			      : "marks around the batches: "
				"ioreel.steps(batches) in Python, ioreel.h "
				"in C (man ioreel-anchors).");
	return true;
}

bool advice_wait_unknown(const struct report *r, struct advice *a)
{
	char num[REEL_NUM], all[REEL_NUM];
	int64_t unknown, steps;

	if (append_no_loop(r, a))
		return true;
	if (!advice_unknown_steps(r, &unknown, &steps) &&
	    !advice_reads_in_steps(r))
		return false;
	if (append_own_loop(r, a))
		return true;
	advice_append(
		a->text,
		"no fetch was recorded for %s of %s steps, so the time that "
		"they wait for their batches is not known.",
		reel_num_count(num, unknown), reel_num_count(all, steps));
	advice_fact(a, "unknown_steps", "", (double)unknown);
	advice_fact(a, "steps", "", (double)steps);
	advice_append(
		a->try_this, "%s",
		report_is_imported(r)
			? "a profile of the loop that takes batches from its "
			  "loader (a DataLoader, tf.data), or ioreel record."
		: r->uses.tensorflow
			? "ioreel record --profile-steps A-B: the profile "
			  "beside the trace shows the fetches inside the "
			  "graph in steps A to B."
			: "marks around the fetches: ioreel.steps(batches) "
			  "in Python, ioreel.h in C (man ioreel-anchors).");
	return true;
}

static const char *epoch_why(const struct report *r)
{
	if (r->workers <= 0)
		return advice_loader_of(r)->cold;
	return r->worker_restarts > 0
		       ? "the workers are restarted"
		       : "the workers stay, but start each epoch with no batch "
			 "ready";
}

bool advice_epoch_start(const struct report *r, struct advice *a)
{
	double share = advice_of_run(r, r->epoch_start_ns);
	char num[REEL_NUM], part[REEL_NUM], all[REEL_NUM], run[ADVICE_RUN];

	if (!starts_slowly(r))
		return false;
	advice_append(
		a->text,
		"%s %s after the first %s %s, %s of %s, to the first batch: "
		"%s.",
		reel_num_count(num, r->epochs - 1),
		advice_number(r->epochs - 1, "epoch", "epochs"),
		advice_number(r->epochs - 1, "takes", "take"),
		reel_num_time(all, (double)r->epoch_start_ns),
		reel_columns_percent(part, share), advice_run(run, r),
		epoch_why(r));
	advice_fact(a, "epochs", "", (double)r->epochs);
	advice_fact(a, "epoch_start", "ns", (double)r->epoch_start_ns);
	advice_fact(a, "epoch_start_share", "share", share);
	append_epoch_remedy(r, a);
	return true;
}

bool advice_evaluation_wait(const struct report *r, struct advice *a)
{
	const struct report_rank *k = advice_evaluating_rank(r);
	char wait[REEL_NUM], all[REEL_NUM], part[REEL_NUM], run[ADVICE_RUN],
		num[REEL_NUM];
	double share;

	if (!evaluates_slowly(r))
		return false;
	share = advice_of_run(r, k->evaluation_wait_ns);
	if (r->ranks > 1)
		advice_append(a->text, "on rank %lld ", (long long)k->rank);
	advice_append(a->text, "%s %s for batches %s of %s: %s of %s.",
		      reel_num_count(num, k->evaluations),
		      advice_number(k->evaluations, "evaluation waits",
				    "evaluations wait"),
		      reel_num_time(wait, (double)k->evaluation_wait_ns),
		      reel_num_time(all, (double)k->evaluation_ns),
		      reel_columns_percent(part, share), advice_run(run, r));
	advice_fact(a, "evaluations", "", (double)k->evaluations);
	advice_fact(a, "evaluation_wait", "ns", (double)k->evaluation_wait_ns);
	advice_fact(a, "evaluation", "ns", (double)k->evaluation_ns);
	advice_fact(a, "evaluation_wait_share", "share", share);
	advice_append_evaluation(r, a);
	return true;
}
