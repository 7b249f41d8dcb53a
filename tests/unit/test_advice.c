/* SPDX-License-Identifier: MIT */
/* Advice: which numbers make which codes, and which make none. */
#include <string.h>

#include "lib/error.h"

#include "analyzer/report/report.h"

#include "tests/lib/tap.h"

#define S INT64_C(1000000000)
#define MIB INT64_C(1048576)

static struct reel_error err;

/* 10 s with 1.9 s of I/O in 10,000 large reads of 10 files, nothing wrong. */
static struct report quiet(void)
{
	struct report r = {.span_ns = 10 * S,
			   .wall_ns = 10 * S,
			   .io_ns = 19 * S / 10,
			   .calls = 10020,
			   .median_file_bytes = 1 << 30,
			   .data_files = 10};

	r.transfer[0].calls = 10000;
	r.transfer[0].opens_read = 10;
	r.transfer[0].in_order_share = 1;
	r.group[REEL_GROUP_READ].calls = 10000;
	r.group[REEL_GROUP_READ].dur_ns = 5 * S;
	r.group[REEL_GROUP_OPEN].calls = 10;
	r.group[REEL_GROUP_CLOSE].calls = 10;
	r.group_sum_ns = 5 * S;
	return r;
}

/* A rank that waits @stall of its loop for workers that are @busy. */
static struct report_rank rank_of(double stall, double busy, double io)
{
	return (struct report_rank){.steps = 10,
				    .steady_steps = 9,
				    .loop_ns = 10 * S,
				    .loop_wait_ns = (int64_t)(stall * 10 * S),
				    .own_io_ns = 0,
				    .steady_ns = 9 * S,
				    .median_fetch_ns = S / 10,
				    .stall_share = stall,
				    .wait_share = stall,
				    .wait_most_share = REPORT_NONE,
				    .workers = 2,
				    .worker_busy_share = busy,
				    .worker_io_share = io,
				    .headroom = 0.5,
				    .exposed_ns = 1,
				    .io_ns = 19 * S / 10};
}

static char verdict[512]; /* of the last has() */

static bool has(struct report *r, const char *code)
{
	bool found = false;
	int i;

	r->advices = 0;
	if (advise(r, &err))
		ok(0, "advise: %s", err.text);
	for (i = 0; i < r->advices; i++)
		found |= !strcmp(r->advice[i].code, code);
	snprintf(verdict, sizeof(verdict), "%s", r->verdict);
	free(r->verdict);
	r->verdict = NULL;
	return found;
}

/* An import without durations: nothing can be judged, and nothing is fine. */
static void unknown_times(void)
{
	struct report r = quiet();

	r.io_ns = REPORT_NONE;
	r.group_sum_ns = r.group[REEL_GROUP_READ].dur_ns = 0;
	ok(!has(&r, "NO-PROBLEM"), "no verdict without times");
	is(r.advices, 0, "no advice");
	ok(strstr(verdict, "no call has a duration"), "%s", verdict);
	memset(r.group, 0, sizeof(r.group));
	ok(has(&r, "NO-PROBLEM"), "a job without calls on files is fine");
	ok(strstr(verdict, "did no I/O on files"), "%s", verdict);
}

static void opens(void)
{
	struct report r = quiet();

	ok(has(&r, "NO-PROBLEM"), "NO-PROBLEM is a verdict");
	r.group[REEL_GROUP_OPEN].calls = 3000;
	r.group[REEL_GROUP_OPEN].dur_ns = 2 * S;
	r.group_sum_ns = 6 * S;
	ok(has(&r, "FILE-OPEN"), "FILE-OPEN: opens that cost time");
	ok(strstr(r.advice[0].try_this, "shards"), "of many files: fewer");
	r.checkpoint_opens = 8;
	r.checkpoint_meta_ns = 19 * S / 10;
	ok(!has(&r, "FILE-OPEN"), "not where checkpoints took the time");
	r.group[REEL_GROUP_SYNC].dur_ns = 19 * S / 10;
	ok(has(&r, "FILE-OPEN"), "the time of a checkpoint may be its syncs");
	r.group[REEL_GROUP_SYNC].dur_ns = 0;
	r.checkpoint_opens = r.checkpoint_meta_ns = 0;
	r.data_files = 4;
	r.data_opens = 2400;
	r.epochs = 2;
	has(&r, "FILE-OPEN");
	ok(strstr(r.advice[0].text,
		  "4 data files are opened 300 times each in an epoch"),
	   "opens of the same files");
	ok(strstr(r.advice[0].try_this, "stay open"), "of few: they stay open");
	r.io_ns = S / 10;
	ok(!has(&r, "FILE-OPEN"), "not where I/O costs no time");
}

static void calls(void)
{
	struct report r = quiet();

	r.small[0].calls = 9000;
	r.small[0].ns = 4 * S;
	ok(has(&r, "SMALL-READ"), "small reads");
	r.transfer[0].opens_read = 5000;
	ok(!has(&r, "SMALL-READ"), "not for small files that are read whole");

	r = quiet();
	r.transfer[0].random = 5000;
	r.transfer[0].random_share = 0.5;
	ok(has(&r, "RANDOM-READ"), "reads that go back");
	r.transfer[0].opens_read = 5000;
	ok(!has(&r, "RANDOM-READ"), "not for reading the head of a file twice");

	r = quiet();
	r.transfer[1].calls = 9000;
	r.transfer[1].files = 3;
	r.small[1].calls = 8000;
	r.small[1].ns = S / 10;
	r.flush_ns = 4 * S;
	ok(has(&r, "SMALL-WRITE"), "small writes, by their flushes");
	r.transfer[1].files = 9000;
	ok(!has(&r, "SMALL-WRITE"), "not for many small files");

	r = quiet();
	r.group[REEL_GROUP_SYNC].calls = 20;
	r.group[REEL_GROUP_SYNC].dur_ns = 2 * S;
	r.group_sum_ns = 7 * S;
	ok(has(&r, "WRITE-FSYNC") && strstr(r.advice[0].try_this, "one sync"),
	   "syncs");
	r.journal_ns = S;
	ok(has(&r, "WRITE-FSYNC") && !strstr(r.advice[0].try_this, "none") &&
		   strstr(r.advice[0].try_this, "transaction"),
	   "a database has to sync: %s", r.advice[0].text);
	r.journal_ns = S - 1;
	ok(has(&r, "WRITE-FSYNC") && strstr(r.advice[0].try_this, "one sync"),
	   "a database with less than half of the syncs");
	r.flushes = 15;
	r.flush_ns = S;
	ok(!has(&r, "WRITE-FSYNC"), "flushes of streams are no syncs");

	r = quiet();
	r.group[REEL_GROUP_STAT].calls = 50000;
	r.group[REEL_GROUP_STAT].dur_ns = 4 * S;
	r.group_sum_ns = 9 * S;
	ok(has(&r, "META-HEAVY") && strstr(r.advice[0].try_this, "a list"),
	   "look-ups");
	r.code_meta_share = 0.5;
	ok(has(&r, "META-HEAVY") && strstr(r.advice[0].text, "50 % of") &&
		   strstr(r.advice[0].try_this, "fewer imports"),
	   "look-ups of code: %s", r.advice[0].text);

	r = quiet();
	r.checkpoints = 2;
	r.checkpoint_ns = S;
	ok(has(&r, "CHECKPOINT"), "checkpoints");
}

/* Each loader has its own options; advice names no option of another. */
static void loaders(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.4, 0.97, 0.8);
	const char *tip = r.advice[0].try_this;

	r.rank = &k;
	r.ranks = 1;
	k.workers = REPORT_NONE;
	r.uses.tensorflow = true;
	ok(has(&r, "INPUT-BOUND") && strstr(tip, "AUTOTUNE") &&
		   !strstr(tip, "num_workers"),
	   "tf.data's: %s", tip);
	r.noted_loader = "PyDataset of threads";
	ok(has(&r, "INPUT-BOUND") && strstr(tip, "use_multiprocessing") &&
		   !strstr(tip, "tf.data"),
	   "those of a PyDataset: %s", tip);
	r.noted_loader = "generator";
	ok(has(&r, "INPUT-BOUND") && strstr(tip, "a PyDataset with workers"),
	   "those of a generator: %s", tip);
	r.uses.tensorflow = false;
	r.noted_loader = "NVIDIA DALI";
	ok(has(&r, "INPUT-BOUND") && strstr(tip, "num_threads") &&
		   !strstr(tip, "num_workers"),
	   "those of DALI: %s", tip);
	r.uses.tensorflow = true;
	r.noted_loader = NULL;
	r.uses.grain = true; /* Keras imports it */
	ok(has(&r, "INPUT-BOUND") && strstr(tip, "AUTOTUNE"),
	   "tf.data with Grain imported: %s", tip);
	r.uses.tensorflow = false;
	ok(has(&r, "INPUT-BOUND") && strstr(tip, "worker_count") &&
		   !strstr(tip, "num_workers"),
	   "Grain's: %s", tip);
	r.uses.pytorch = true; /* the model's: PyTorch does not load Grain */
	k = rank_of(0.4, 0.05, 0.8);
	ok(has(&r, "INPUT-BOUND") && strstr(tip, "worker_buffer_size") &&
		   !strstr(tip, "prefetch_factor"),
	   "Grain's workers': %s", tip);
	r.workers = 2;
	r.epochs = 3;
	r.epoch_start_ns = S;
	ok(has(&r, "EPOCH-START") &&
		   strstr(r.advice[1].try_this, "num_epochs") &&
		   strstr(r.advice[1].text, "2 epochs after the first take 1"),
	   "starts of epochs with Grain: %s", r.advice[1].try_this);
	r.uses.grain = false;
	r.worker_restarts = k.worker_restarts = 2;
	ok(has(&r, "EPOCH-START") &&
		   strstr(r.advice[1].try_this, "persistent_workers=True") &&
		   strstr(r.advice[1].text, "restarted") &&
		   strstr(tip, "persistent_workers, a larger prefetch_factor"),
	   "PyTorch's: %s", tip);
	r.worker_restarts = k.worker_restarts = 0;
	ok(has(&r, "EPOCH-START") &&
		   !strstr(r.advice[1].try_this, "persistent") &&
		   strstr(r.advice[1].text, "stay") &&
		   !strstr(tip, "persistent"),
	   "PyTorch with persistent workers: %s", r.advice[1].try_this);
}

static void steps(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.4, 0.97, 0.8), two[2];

	r.uses.pytorch = true;
	r.rank = &k;
	r.ranks = 1;
	ok(has(&r, "INPUT-BOUND"), "a job that waits");
	ok(strstr(r.advice[0].try_this, "more workers"),
	   "busy workers: more of them");
	k = rank_of(0.4, 0.97, 0.01);
	ok(has(&r, "INPUT-BOUND") && strstr(r.advice[0].try_this, "preparing"),
	   "workers that preprocess rather than read");
	k = rank_of(0.4, 0.05, 0.8);
	ok(has(&r, "INPUT-BOUND") &&
		   !strstr(r.advice[0].try_this, "more workers"),
	   "idle workers: no more of them");
	k.workers = REPORT_NONE;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].try_this, "num_workers"),
	   "no workers: start some");
	k.workers = 2;
	k.worker_busy_share = k.worker_io_share = REPORT_NONE;
	k.worker_call_share = 0.3;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "30 % of the time of the 2") &&
		   strstr(r.advice[0].try_this, "larger files"),
	   "workers of an import, whose batches are not known");
	k.worker_call_share = 0.29;
	ok(has(&r, "INPUT-BOUND") && strstr(r.advice[0].try_this, "less work"),
	   "and that do little I/O");
	k = rank_of(0.01, 0.5, 0.8);
	ok(!has(&r, "INPUT-BOUND"), "a job that does not wait");
	r.small[0].calls = 9000;
	r.small[0].ns = 4 * S;
	ok(!has(&r, "SMALL-READ"), "I/O behind computation costs nothing");
	k.exposed_ns = 2 * S;
	ok(has(&r, "SMALL-READ"), "exposed I/O does");

	two[0] = rank_of(0.2, 0.97, 0.8);
	two[1] = rank_of(0.4, 0.97, 0.8);
	two[1].rank = 7;
	r.rank = two;
	r.ranks = 2;
	ok(has(&r, "INPUT-BOUND") && strstr(verdict, "rank 7") &&
		   strstr(r.advice[0].text, "on rank 7 "),
	   "the rank that waits most is named");

	r = quiet();
	r.calls = 0;
	ok(has(&r, "NO-PROBLEM"), "an empty run");
}

/* Imports that lack what a recording has. */
static void imports(void)
{
	struct report r = quiet();
	struct report_rank k;

	r.uses.pytorch = true;
	r.calls = 0;
	r.sources = 1;
	k = rank_of(0.01, 0, 0);
	r.rank = &k;
	r.ranks = 1;
	ok(has(&r, "NO-PROBLEM") &&
		   strstr(r.advice[0].text, "checked: waiting;") &&
		   !strstr(r.advice[0].text, "opens"),
	   "a profile: what it lacks was not checked");
	k = rank_of(0.4, 0, 0);
	k.workers = 0;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].try_this, "num_workers"),
	   "the loader of a profile is PyTorch's");
	r.uses.pytorch = false;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].try_this, "threads or processes that") &&
		   !strstr(r.advice[0].try_this, "num_workers"),
	   "of no known loader no argument is named");
	r.uses.pytorch = true;
	r.other_readers = 2;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "2 other processes read,") &&
		   !strstr(r.advice[0].text, "was seen"),
	   "readers that may be its workers: %s", r.advice[0].text);
	r.other_readers = 0;
	r.uses.tensorflow = true;
	r.uses.pytorch = false;
	ok(has(&r, "INPUT-BOUND") && strstr(r.advice[0].try_this, "tf.data"),
	   "or that of its framework");
	r.uses.tensorflow = false;
	r.uses.pytorch = true;
	r.rank = NULL;
	r.ranks = 0;
	ok(!has(&r, "NO-PROBLEM") && !r.advices &&
		   strstr(verdict, "Nothing is known"),
	   "an empty import");
	r.counters = true;
	ok(!has(&r, "NO-PROBLEM") && !r.advices &&
		   strstr(verdict, "Darshan's counters"),
	   "an import of counters alone");
}

/* A rank that declares computation, but no steps. */
static void stepless(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(REPORT_NONE, 0, 0);

	r.rank = &k;
	r.ranks = 1;
	k.steps = k.steady_steps = 0;
	ok(has(&r, "NO-PROBLEM") && strstr(verdict, "I/O takes 1.90 s of"),
	   "a rank without steps is judged by its I/O: %s", verdict);
	r.io_ns = 2 * S;
	ok(has(&r, "IO-BOUND"), "IO-BOUND of a rank without steps");
}

/* Exactly one code, and the first line is about it. */
static bool only(struct report *r, const char *code, const char *words)
{
	return has(r, code) && r->advices == 1 && strstr(verdict, words);
}

/* The grades of the wait: 5 % and 20 % of the loop. */
static void grades(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.0499, 0.97, 0.8);

	r.rank = &k;
	r.ranks = 1;
	ok(only(&r, "NO-PROBLEM", "hardly waits"), "below 5 %%: %s", verdict);
	ok(strstr(verdict, "499 ms of 10.0 s"),
	   "with the times behind the share");
	k = rank_of(0.05, 0.97, 0.8);
	ok(only(&r, "INPUT-WAIT", "waits moderately"), "from 5 %%: %s",
	   verdict);
	k = rank_of(0.1999, 0.97, 0.8);
	ok(only(&r, "INPUT-WAIT", "waits moderately"), "below 20 %%");
	k = rank_of(0.20, 0.97, 0.8);
	ok(only(&r, "INPUT-BOUND", "job waits for its input: 20 %"),
	   "from 20 %%: %s", verdict);
	r.calls = r.io_ns = 0;
	ok(only(&r, "INPUT-BOUND", "job waits"),
	   "a job without calls may wait too: %s", verdict);
}

static void unknown(void)
{
	struct report r = quiet();
	struct report_rank two[2] = {rank_of(0.01, 0.97, 0.8),
				     rank_of(0.01, 0.97, 0.8)};

	r.rank = two;
	r.ranks = 1;
	two[0].unknown_steps = 1;
	ok(only(&r, "NO-PROBLEM", "hardly"),
	   "few unknown steps change nothing");
	two[0].unknown_steps = 9;
	two[0].wait_share = two[0].stall_share = REPORT_NONE;
	two[0].exposed_ns = two[0].own_io_ns = REPORT_NONE;
	ok(only(&r, "WAIT-UNKNOWN", "not known") &&
		   strstr(verdict, "9 of its 10 steps") &&
		   strstr(r.advice[0].try_this, "ioreel.steps"),
	   "many unknown steps: %s", verdict);
	two[0].wait_most_share = 0.05;
	ok(only(&r, "WAIT-UNKNOWN", "not known: at most 5.0 %"),
	   "an upper bound: %s", verdict);
	two[0].wait_most_share = 0.04;
	ok(only(&r, "NO-PROBLEM", "hardly waits for its input: at most 4.0 %"),
	   "a low one: %s", verdict);
	two[0].wait_most_share = REPORT_NONE;
	r.uses.tensorflow = true;
	ok(has(&r, "WAIT-UNKNOWN") &&
		   strstr(r.advice[0].try_this, "--profile-steps A-B"),
	   "TensorFlow: advice to use the profiler");
	r.ranks = 2;
	ok(only(&r, "WAIT-UNKNOWN", "for 9 of its 20 steps"),
	   "a known rank that does not wait does not decide");
	two[1] = rank_of(0.3, 0.97, 0.8);
	ok(has(&r, "WAIT-UNKNOWN") && has(&r, "INPUT-BOUND") &&
		   strstr(verdict, "job waits for its input: 30 %"),
	   "a known rank that waits decides: %s", verdict);
}

/* IO-BOUND advises what fits the calls that take the time. */
static void remedies(void)
{
	static const struct {
		int group;
		int64_t calls, bytes;
		const char *tip;
	} remedy[] = {
		{REEL_GROUP_WRITE, 1000, 1000 * MIB - 1, "larger writes, or"},
		{REEL_GROUP_WRITE, 1000, 1000 * MIB, "several writes"},
		{REEL_GROUP_READ, 1000, 1000 * MIB - 1, "larger reads, "},
		{REEL_GROUP_READ, 1000, 1000 * MIB, "several reads"},
		{REEL_GROUP_META, 99, 0, "storage that answers them faster"},
		{REEL_GROUP_META, 100, 0, "fewer, larger files"},
		{REEL_GROUP_SYNC, 99, 0, "syncs by a thread"},
		{REEL_GROUP_SYNC, 100, 0, "fewer syncs"},
	};
	struct report r = quiet();

	r.io_ns = r.group_sum_ns = 2 * S;
	for (size_t i = 0; i < sizeof(remedy) / sizeof(*remedy); i++) {
		memset(r.group, 0, sizeof(r.group));
		r.group[remedy[i].group].calls = remedy[i].calls;
		r.group[remedy[i].group].bytes = remedy[i].bytes;
		r.group[remedy[i].group].dur_ns = 2 * S;
		ok(has(&r, "IO-BOUND") &&
			   strstr(r.advice[0].try_this, remedy[i].tip) ==
				   r.advice[0].try_this,
		   "the remedy fits the calls: %s", r.advice[0].try_this);
	}

	/* stat has the calls on locks, too. */
	memset(r.group, 0, sizeof(r.group));
	r.group[REEL_GROUP_STAT].calls = 3;
	r.group[REEL_GROUP_STAT].dur_ns = 2 * S;
	r.lock_ns = S - 1;
	ok(has(&r, "IO-BOUND") && !strstr(r.advice[0].text, "locks") &&
		   strstr(r.advice[0].try_this, "storage"),
	   "few calls on locks: %s", r.advice[0].text);
	r.lock_ns = S;
	ok(has(&r, "IO-BOUND") &&
		   strstr(r.advice[0].text, "50 % is in calls on locks") &&
		   !strstr(r.advice[0].try_this, "storage"),
	   "locks wait for no storage: %s", r.advice[0].text);
}

/* Shares of the run: of the job's time, from its start to its end. */
static void run(void)
{
	struct report r = quiet();

	r.io_ns = 2 * S - 1;
	ok(only(&r, "NO-PROBLEM", "I/O takes 2.00 s of the run's 10.0 s"),
	   "I/O below 20 %% of the run: %s", verdict);
	ok(!strstr(r.advice[0].text, "not known"), "a program without loops");
	r.uses.python = true;
	ok(has(&r, "NO-PROBLEM") &&
		   strstr(r.advice[0].text, "is not known without steps."),
	   "Python without steps: %s", r.advice[0].text);
	r.uses.python = false;
	r.completeness.lost_events = 323;
	ok(has(&r, "NO-PROBLEM") &&
		   strstr(r.advice[0].text,
			  "; 323 lost events could not be checked."),
	   "lost events may be a problem: %s", r.advice[0].text);
	r.completeness.lost_events = 0;
	r.io_ns = 2 * S;
	ok(only(&r, "IO-BOUND", "I/O takes 2.00 s of the run's 10.0 s: 20 %"),
	   "from 20 %% on: %s", r.advice[0].text);
	r.wall_ns = 11 * S;
	ok(only(&r, "NO-PROBLEM", "18 %"),
	   "the share is of the job's time, not of the events' time");
	r.wall_ns = REPORT_NONE;
	ok(only(&r, "IO-BOUND", "from the first to the last event"),
	   "of the events' time where the job's is unknown: %s", verdict);
	r.wall_ns = 5 * S;
	ok(only(&r, "IO-BOUND", "20 %"), "and where events end after the job");

	r = quiet();
	r.io_ns = 8 * S;
	r.rank_io.ranks = 8;
	r.rank_io.mean_ns = S;
	r.rank_io.max_ns = 3 * S / 2;
	r.rank_io.sum_ns = 8 * S;
	ok(only(&r, "NO-PROBLEM",
		"I/O takes 1.50 s of the run's 10.0 s in the rank with the "
		"most (mean 1.00 s): 15 %"),
	   "ranks that take turns: %s", verdict);
	r.io_ns = 9 * S;
	ok(only(&r, "IO-BOUND", "I/O takes 2.50 s of"),
	   "the I/O of processes without a rank is added");
	r.rank_io.ranks = 1;
	ok(only(&r, "IO-BOUND", "I/O takes 9.00 s of the run's 10.0 s: 90 %"),
	   "a single rank: the I/O of the job");

	r = quiet();
	r.storage_wait.exposed_ns = 2 * S - 1;
	r.storage_wait.reads = 500;
	r.storage_wait.bytes = 1000000000;
	r.storage_wait.read_ns = 2 * S;
	ok(has(&r, "NO-PROBLEM"), "fetches below 20 %%");
	r.storage_wait.exposed_ns = 2 * S;
	ok(only(&r, "STORAGE-BOUND", "I/O takes") &&
		   strstr(r.advice[0].text, "4.00 ms each, 500 MB/s"),
	   "from 20 %% on, with latency and rate: %s", r.advice[0].text);
}

/* I/O of the stepping thread. */
static void own(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.01, 0.97, 0.8);

	r.rank = &k;
	r.ranks = 1;
	k.own_io_ns = S / 2 - 1;
	k.exposed_ns = 6 * S / 10;
	ok(only(&r, "NO-PROBLEM", "hardly"), "own I/O below 5 %% of the loop");
	k.own_io_ns = S / 2;
	ok(only(&r, "STEP-IO",
		"but the thread that steps spends 5.0 % of "
		"that time in I/O"),
	   "from 5 %% on: %s", verdict);
	k.own_io_ns = 0;
	k.exposed_ns = 21 * S / 10 - 1;
	ok(only(&r, "NO-PROBLEM", "hardly"), "exposed I/O that may be fetches");
	k.exposed_ns = 21 * S / 10;
	ok(only(&r, "IO-BOUND", "but I/O outside computation takes 2.10 s"),
	   "exposed I/O beyond them: %s", verdict);
	k.exposed_ns = S;
	r.io_ns = k.io_ns + S - 1;
	ok(only(&r, "NO-PROBLEM", "hardly"),
	   "I/O of other processes below 20 %%");
	r.io_ns += 11 * S / 10 + 1;
	ok(only(&r, "IO-BOUND", "but I/O outside computation takes 3.10 s") &&
		   strstr(r.advice[0].text, "I/O takes 3.00 s of the run's"),
	   "I/O of processes of no rank: %s", r.advice[0].text);
	r.io_ns = k.io_ns;
	k.exposed_ns = 21 * S / 10;
	r.checkpoints = 1;
	r.checkpoint_ns = S / 2;
	ok(only(&r, "CHECKPOINT", "but checkpoints take 5.0 % of the run's"),
	   "checkpoints from 5 %% on: %s", verdict);
	r.checkpoint_ns--;
	k.exposed_ns = S;
	ok(only(&r, "NO-PROBLEM", "hardly"), "checkpoints below 5 %%");
}

/* The first batches of later epochs, beyond a usual fetch. */
static void starts(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.01, 0.97, 0.8);

	r.uses.pytorch = true;
	r.rank = &k;
	r.ranks = 1;
	r.epochs = 3;
	r.epoch_start_ns = 7 * S / 10 - 1;
	ok(has(&r, "NO-PROBLEM"), "starts below 5 %% beyond two fetches");
	r.epoch_start_ns++;
	ok(only(&r, "EPOCH-START", "but starts of epochs take 7.0 % of"),
	   "from 5 %% on: %s", verdict);
	r.uses.tensorflow = true;
	r.uses.pytorch = false;
	k.workers = REPORT_NONE;
	ok(has(&r, "EPOCH-START") &&
		   strstr(r.advice[0].text, "fills its buffers"),
	   "without workers: %s", r.advice[0].text);
	k = rank_of(0.5, 0.01, 0.8);
	r.epoch_start_ns = 3 * S;
	k.epoch_first_wait_ns = k.loop_wait_ns / 2 + 1;
	ok(has(&r, "INPUT-BOUND") && has(&r, "EPOCH-START") &&
		   !strstr(r.advice[0].text, "handed over") &&
		   strstr(r.advice[0].text, "first batches"),
	   "a wait at starts of epochs is not blamed on idle workers: %s",
	   r.advice[0].text);
}

/* The same, of loader workers, in a job that waits for its input. */
static void starts_of_workers(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.5, 0.01, 0.8);

	r.rank = &k;
	r.ranks = 1;
	r.epochs = 3;
	r.uses.pytorch = true;
	k.workers = k.worker_restarts = r.worker_restarts = 2;
	k.epochs = k.evaluations = 3;
	k.worker_busy_share = 0.9;
	k.epoch_first_wait_ns = k.loop_wait_ns / 2;
	ok(has(&r, "INPUT-BOUND") && strstr(r.advice[0].text, "2 loader"),
	   "half of the wait is not most of it: %s", r.advice[0].text);
	k.worker_io_share = 0;
	r.cpu_contention.has = true;
	r.cpu_contention.cpus = 2;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].try_this, "more workers (2 now)"),
	   "a worker for each processor: %s", r.advice[0].try_this);
	r.cpu_contention.cpus = 1;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].try_this, "more than 2 workers only"),
	   "more workers than processors: %s", r.advice[0].try_this);
	r.cpu_contention.has = false;
	k.worker_io_share = 0.8;
	k.evaluation_first_wait_ns = k.loop_wait_ns / 4;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "of epochs and evaluations, for "
					    "which the workers start; the 2") &&
		   strstr(r.advice[0].try_this, "persistent_workers=True. Then "
						"more workers"),
	   "the rest of the wait is for busy workers: %s",
	   r.advice[0].try_this);
	k.epoch_first_wait_ns = k.loop_wait_ns * 19 / 20;
	k.evaluation_first_wait_ns = 0;
	ok(has(&r, "INPUT-BOUND") &&
		   !strstr(r.advice[0].try_this, "more workers"),
	   "there is no rest: %s", r.advice[0].try_this);
	k.epochs = 1;
	ok(has(&r, "INPUT-BOUND") && strstr(r.advice[0].try_this, "longer run"),
	   "a single epoch: %s", r.advice[0].try_this);
	k.epochs = 3;
	k.evaluations = 0;
	k.worker_restarts = r.worker_restarts = 0;
	r.epoch_start_ns = k.epoch_first_wait_ns / 2 - 1;
	k.median_fetch_ns = r.epoch_start_ns;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "first batches of the loop, for "
					    "which the workers start.") &&
		   strstr(r.advice[0].try_this, "longer run"),
	   "workers that stay start once: %s", r.advice[0].text);
	r.epoch_start_ns++;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "first batches of the epochs, "
					    "none of which is ready when an "
					    "epoch starts.") &&
		   strstr(r.advice[0].try_this, "longer epochs"),
	   "they have no batch ready when an epoch starts: %s",
	   r.advice[0].text);
}

/* Idle workers: their queue is empty now and then, or batches are always ready. */
static void queue(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.3, 0.1, 0.8);

	r.uses.pytorch = true;
	r.rank = &k;
	r.ranks = 1;
	r.queue.mean_depth = r.queue.empty_share = REPORT_NONE;
	r.queue.unready_share = REPORT_NONE;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "wait to be handed over") &&
		   strstr(r.advice[0].try_this, "prefetch_factor"),
	   "of an unknown queue: %s", r.advice[0].text);
	r.queue.mean_depth = 3.7;
	r.queue.empty_share = 0.1;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].try_this, "prefetch_factor"),
	   "of a queue that is often empty: %s", r.advice[0].try_this);
	r.queue.empty_share = 0.09;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "3.7 batches are ready") &&
		   !strstr(r.advice[0].try_this, "prefetch_factor"),
	   "more batches are no remedy where they are ready: %s",
	   r.advice[0].try_this);
	r.queue.unready_share = 0.5;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "single slow batches: for 50 %") &&
		   strstr(r.advice[0].text, "3.7 later ones") &&
		   !strstr(r.advice[0].text, "hand") &&
		   !strstr(r.advice[0].try_this, "fewer workers"),
	   "later batches are ready, and the next one is not: %s",
	   r.advice[0].text);
	r.queue.empty_share = 0.5;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "cannot keep up") &&
		   strstr(r.advice[0].try_this, "more workers"),
	   "workers that are too slow in the steps: %s", r.advice[0].text);
	k.headroom = 1.1;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "wait to be handed over"),
	   "workers that could feed a faster model: %s", r.advice[0].text);
}

/* Evaluations of a training, and loops of a job that has nothing else. */
static void evaluations(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.3, 0.01, 0.8);

	r.rank = &k;
	r.ranks = 1;
	k.evaluations = 4;
	k.evaluation_ns = 3 * S;
	k.evaluation_wait_ns = 2 * S;
	k.evaluation_loop_wait_ns = 2 * S;
	ok(has(&r, "INPUT-BOUND") && has(&r, "EVAL-WAIT") &&
		   strstr(r.advice[0].text, "is in evaluations") &&
		   !strstr(r.advice[0].text, "handed over"),
	   "waits of evaluations are not blamed on idle workers: %s",
	   r.advice[0].text);
	k.evaluation_loop_wait_ns = S;
	ok(has(&r, "INPUT-BOUND") && !strstr(r.advice[0].text, "evaluations"),
	   "those behind the last step are no part of the loop: %s",
	   r.advice[0].text);
	k.wait_share = 0.01;
	k.loop_wait_ns = S / 10;
	k.evaluation_wait_ns = S / 2;
	ok(only(&r, "EVAL-WAIT", "but waits of evaluations take 5.0 % of"),
	   "EVAL-WAIT from 5 %% on: %s", verdict);
	k.evaluation_wait_ns--;
	ok(only(&r, "NO-PROBLEM", "hardly"), "not below");

	k = rank_of(0.3, 0.9, 0.1);
	k.steps = k.steady_steps = 0;
	k.evaluations = 1;
	k.evaluation_ns = k.loop_ns;
	k.evaluation_wait_ns = k.loop_wait_ns;
	k.evaluation_loop_wait_ns = REPORT_NONE;
	k.stall_share = k.headroom = REPORT_NONE;
	ok(only(&r, "INPUT-BOUND", "its loops, which train nothing") &&
		   strstr(r.advice[0].text, "3.00 s of 10.0 s in loops") &&
		   !strstr(r.advice[0].text, "headroom"),
	   "a job that only evaluates waits: %s", r.advice[0].text);
	k.wait_share = 0.01;
	ok(only(&r, "NO-PROBLEM", "hardly waits"), "... or hardly waits: %s",
	   verdict);
}

static void repeated(void)
{
	struct report r = quiet();

	r.repeated.times = 4;
	r.repeated.files = 1;
	r.repeated.size_bytes = 1000000;
	ok(has(&r, "REPEATED-READ") && !has(&r, "NO-PROBLEM"),
	   "REPEATED-READ alone is a problem");
	ok(strstr(r.advice[0].text, "1 data file (1.00 MB) 4 times: each of 4 "
				    "processes reads all of it"),
	   "its text: %s", r.advice[0].text);
	ok(strstr(r.advice[0].try_this, "get_worker_info"), "PyTorch's");
	r.uses.tensorflow = true;
	ok(has(&r, "REPEATED-READ") && strstr(r.advice[0].try_this, "tf.data"),
	   "TensorFlow's");
}

int main(void)
{
	unknown_times();
	repeated();
	opens();
	calls();
	loaders();
	steps();
	imports();
	grades();
	unknown();
	remedies();
	run();
	own();
	starts();
	starts_of_workers();
	queue();
	evaluations();
	stepless();
	is(err.code, REEL_OK, "no error: %s", err.text);
	return done();
}
