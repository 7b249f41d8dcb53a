/* SPDX-License-Identifier: MIT */
/* Advice: which numbers make which codes, and which make none. */
#include "tests/unit/test_advice.h"

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
	r.checkpoint_opens = 20;
	ok(has(&r, "WRITE-FSYNC") &&
		   !strstr(r.advice[0].try_this, "one sync") &&
		   strstr(r.advice[0].try_this, "fewer checkpoints"),
	   "checkpoints that are synced once each: %s", r.advice[0].try_this);
	r.checkpoint_opens = 0;
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

/* Times in whole seconds, as strace may have them. */
static void coarse(void)
{
	struct report r = quiet();

	r.sources = 1;
	r.clock_error_ns = S / 2 - 1;
	ok(only(&r, "NO-PROBLEM", ": 19 %."), "%s", verdict);
	r.clock_error_ns = S / 2;
	ok(only(&r, "NO-PROBLEM", ": 19 % (times are known to within 500 ms)."),
	   "an error beside the share: %s", verdict);
	r.io_ns = 5 * S;
	ok(has(&r, "IO-BOUND"), "much I/O");
	r.clock_error_ns = 10 * S;
	ok(!has(&r, "IO-BOUND") && !r.advices &&
		   strstr(verdict, "its share of the run is not known"),
	   "an error as long as the run: %s", verdict);
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
	r.uses.prefetch = r.uses.cache = true;
	ok(has(&r, "INPUT-BOUND") &&
		   !strcmp(r.advice[0].try_this,
			   "num_parallel_calls=tf.data.AUTOTUNE in map() and "
			   "interleave()."),
	   "without the stages that it has: %s", r.advice[0].try_this);
	r.uses.parallel = true;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].try_this, "less work for each sample"),
	   "or all of them: %s", r.advice[0].try_this);
	r.uses.prefetch = r.uses.parallel = r.uses.cache = false;
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
	two[0].wait_share = two[0].exposed_wait_share = REPORT_NONE;
	two[0].stall_share = REPORT_NONE;
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

/* Operations in flight are no wait: the calls on their queues are. */
static void in_flight(void)
{
	struct report r = quiet();

	r.io_ns = 9 * S;
	r.group_sum_ns = 20 * S;
	r.async.flight_ns = 20 * S;
	r.async.call_ns = 2 * S;
	ok(only(&r, "IO-BOUND", "I/O is in flight for 9.00 s of"),
	   "calls that wait: %s", verdict);
	r.group[REEL_GROUP_READ].calls = 1000;
	r.group[REEL_GROUP_READ].dur_ns = 20 * S;
	ok(has(&r, "IO-BOUND") &&
		   strstr(r.advice[0].try_this, "several at a time already"),
	   "reads that are in flight together: %s", r.advice[0].try_this);
	r.async.flight_ns = 18 * S - 2;
	ok(has(&r, "IO-BOUND") &&
		   strstr(r.advice[0].try_this, "larger reads, several at a"),
	   "one after the other: %s", r.advice[0].try_this);
	r.async.flight_ns = 20 * S;
	memset(&r.group[REEL_GROUP_READ], 0, sizeof(r.group[0]));
	r.async.call_ns = 2 * S - 1;
	ok(only(&r, "NO-PROBLEM", "submit it or wait for it take 2.00 s."),
	   "calls that wait for less: %s", verdict);
	ok(strstr(r.advice[0].text, "known only of calls on their queues."),
	   "other ways to wait are not known: %s", r.advice[0].text);
	r.group_sum_ns = 22 * S;
	ok(has(&r, "IO-BOUND"), "calls that do their I/O themselves count");
	r.async.call_ns = 8 * S;
	ok(only(&r, "IO-BOUND", "I/O takes 9.00 s of"),
	   "most of it is waited for: %s", verdict);
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

/* Without the stops of strace. */
static void traced(void)
{
	struct report r = quiet();

	r.io_ns = 4 * S;
	ok(has(&r, "IO-BOUND"), "I/O that takes long");
	r.tracer.call_ns = 400000;
	r.tracer.io_share = 0.8;
	ok(only(&r, "NO-PROBLEM", "I/O takes 800 ms of the run's 10.0 s"),
	   "is that of strace: %s", verdict);
	ok(strstr(verdict, "8.0 %, without what strace adds"),
	   "which the verdict leaves out: %s", verdict);
	ok(r.io_ns == 4 * S && r.group_sum_ns == 5 * S, "and the tables keep");
	r.tracer.io_share = 0.2;
	ok(has(&r, "IO-BOUND"), "the rest of a slow read is the job's");
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
	traced();
	opens();
	calls();
	coarse();
	imports();
	grades();
	unknown();
	remedies();
	in_flight();
	run();
	is(err.code, REEL_OK, "no error: %s", err.text);
	return done();
}
