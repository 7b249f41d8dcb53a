/* SPDX-License-Identifier: MIT */
/* Steps and overlap: known answers, and random jobs checked ns by ns. */
#include "tests/unit/test_metric.h"

/* Main process 1 with workers 2 and 3; process 4 is not its child. */
static void processes(struct job *j, int64_t end_ns)
{
	job_process(j, 1, 0, "main", end_ns);
	job_process(j, 2, 1, "worker", end_ns);
	job_process(j, 3, 1, "worker", end_ns);
	job_process(j, 4, 0, "child", end_ns);
}

static void io_event(struct job *j, uint32_t process, int64_t start_ns,
		     int64_t end_ns, int64_t bytes)
{
	struct reel_event ev =
		moved(REEL_CALL_READ, start_ns, end_ns - start_ns, 0, bytes);

	ev.process = ev.thread = ev.open = process;
	job_feed(j, ev);
}

/*
 * step   [0,100)   [100,200)      [200,300)
 * fetch  [0,40)    [100,120)      [200,210)
 * I/O    [10,60) by 2, [50,70) by 3; [150,250) by 2; process 4 all the time
 */
static void known_steps(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 300);
	io_event(&j, 2, 10, 60, 500);
	io_event(&j, 3, 50, 70, 200);
	job_span(&j, 1, REEL_SPAN_FETCH, 0, 0, 40);
	job_span(&j, 1, REEL_SPAN_STEP, 0, 0, 100);
	job_span(&j, 1, REEL_SPAN_FETCH, 1, 100, 120);
	job_span(&j, 1, REEL_SPAN_STEP, 1, 100, 200);
	job_span(&j, 1, REEL_SPAN_FETCH, 2, 200, 210);
	io_event(&j, 2, 150, 250, 1001);
	job_span(&j, 1, REEL_SPAN_CHECKPOINT, 0, 280, 300);
	job_span(&j, 1, REEL_SPAN_STEP, 2, 200, 300);
	job_span(&j, 1, REEL_SPAN_EPOCH, 7, 0, 300);
	io_event(&j, 4, 0, 300, 9999);
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM step"), 3, "steps");
	is(job_int(&j, "SELECT io_ns FROM step WHERE ordinal = 1"), 60,
	   "I/O of a step: workers merged, other processes left out");
	is(job_int(&j, "SELECT hidden_ns FROM step WHERE ordinal = 1"), 30,
	   "hidden: the I/O after the fetch");
	is(job_int(&j, "SELECT io_ns FROM step WHERE ordinal = 2"), 50,
	   "a call over the edge is clipped: before");
	is(job_int(&j, "SELECT io_ns FROM step WHERE ordinal = 3"), 50,
	   "and after it");
	is(job_int(&j, "SELECT sum(read_bytes) FROM step"), 1701,
	   "bytes are spread and add up");
	is(job_int(&j, "SELECT read_bytes FROM step WHERE ordinal = 2"), 500,
	   "in proportion");
	is(job_int(&j, "SELECT compute_ns FROM step WHERE ordinal = 3"), 70,
	   "a checkpoint is not computation");
	is(job_int(&j, "SELECT other_ns FROM step WHERE ordinal = 3"), 20,
	   "but other time");
	is(job_int(&j, "SELECT epoch FROM step WHERE ordinal = 3"), 7, "epoch");
	is(job_int(&j, "SELECT io_ns FROM v_overlap"), 160, "I/O of the rank");
	is(job_int(&j, "SELECT hidden_ns FROM v_overlap"), 30 + 50 + 40,
	   "hidden I/O of the rank");
	is(job_int(&j, "SELECT exposed_ns FROM v_overlap"), 40, "exposed");
	is(job_int(&j, "SELECT round(1000 * computing_share) FROM v_overlap"),
	   (80 + 70) * 1000 / 200, "AU: without the first step");
	is(job_int(&j, "SELECT median_fetch_ns FROM rank_time"), 15,
	   "median of the steady steps");
	is(job_int(&j, "SELECT fetch_ns FROM v_overlap"), 70, "data stall");
	job_end(&j);
}

/* Two workers make a batch in 100 ns each; the model uses one in 80 ns. */
static void headroom(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 1000);
	for (i = 0; i < 10; i++) {
		job_span(&j, 2 + (uint32_t)i % 2, REEL_SPAN_PREPROCESS, -1,
			 100 * (i / 2), 100 * (i / 2) + 100);
		job_span(&j, 1, REEL_SPAN_FETCH, -1, 100 * i, 100 * i + 20);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
	}
	io_event(&j, 2, 450, 900, 1);
	job_finish(&j);
	is(job_int(&j, "SELECT workers FROM v_overlap"), 2, "workers");
	is(job_int(&j, "SELECT round(1000 * headroom) FROM v_overlap"), 1600,
	   "headroom: supply 2 / 100 over demand 1 / 80");
	is(job_int(&j, "SELECT round(1000 * worker_busy_share) FROM v_overlap"),
	   500, "workers were busy half of the time");
	is(job_int(&j, "SELECT round(1000 * worker_io_share) FROM v_overlap"),
	   50, "I/O of busy workers, not of other threads");
	job_end(&j);
}

/* The loop is left: its last step lasts until the epoch ends, and workers wait. */
static void left_loop(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 1000);
	job_span(&j, 1, REEL_SPAN_EPOCH, 0, 0, 1000);
	for (int64_t i = 0; i < 4; i++) {
		for (uint32_t worker = 2; worker <= 3; worker++)
			job_span(&j, worker, REEL_SPAN_PREPROCESS, -1, 10 * i,
				 10 * i + 10);
		job_span(&j, 1, REEL_SPAN_FETCH, i, 10 * i, 10 * i + 5);
		job_span(&j, 1, REEL_SPAN_OPTIMIZER, -1, 10 * i + 6,
			 10 * i + 8);
		job_span(&j, 1, REEL_SPAN_STEP, i, 10 * i,
			 i < 3 ? 10 * i + 10 : 1000);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT loop_ns FROM v_overlap"), 38,
	   "the last step ends with its training");
	is(job_int(&j, "SELECT round(1000 * worker_busy_share) FROM v_overlap"),
	   1000, "what follows is no time of idle workers");
	job_end(&j);
}

/* Steps with unrecorded fetches, and reads during them. */
static void unrecorded_fetches(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 400);
	for (i = 0; i < 4; i++) {
		io_event(&j, 1, 100 * i, 100 * i + 90, 1);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
	}
	job_finish(&j);
	is(job_int(&j,
		   "SELECT count(*) FROM v_overlap WHERE stall_share IS NULL "
		   "AND computing_share IS NULL AND hidden_ns IS NULL AND "
		   "fetch_ns IS NULL AND compute_source IS NULL"),
	   1, "without a fetch the wait of a rank is unknown");
	is(job_int(&j, "SELECT count(*) FROM v_step WHERE fetch_ns IS NULL AND "
		       "compute_ns IS NULL AND other_ns IS NULL AND "
		       "hidden_share IS NULL"),
	   4, "and of each step");
	is(job_int(&j, "SELECT sum(dur_ns + io_ns) FROM v_step"), 760,
	   "the duration and the I/O of a step are known");
	job_end(&j);
}

static void declared_compute(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 100);
	io_event(&j, 2, 0, 10, 1);
	job_span(&j, 1, REEL_SPAN_COMPUTE, -1, 5, 50);
	job_span(&j, 1, REEL_SPAN_STEP, 0, 0, 100);
	job_finish(&j);
	is(job_int(&j, "SELECT hidden_ns FROM v_overlap"), 5,
	   "declared computation takes precedence");
	is(job_int(&j, "SELECT count(*) FROM v_overlap WHERE compute_source = "
		       "'compute spans'"),
	   1, "and is named");
	is(job_int(&j, "SELECT other_ns FROM step"), 55,
	   "the rest is other time");
	is(job_int(&j, "SELECT count(*) FROM step WHERE fetch_ns IS NULL"), 1,
	   "with an unrecorded fetch in it");
	is(job_int(&j, "SELECT computing_share FROM v_overlap"), -1,
	   "one step: no steady step, NULL");
	job_end(&j);
}

static void io_thread(struct job *j, uint32_t process, uint32_t thread,
		      int64_t start_ns, int64_t end_ns)
{
	struct reel_event ev =
		moved(REEL_CALL_WRITE, start_ns, end_ns - start_ns, 0, 1);

	ev.process = ev.open = process;
	ev.thread = thread;
	job_feed(j, ev);
}

/*
 * step        [0,100)  [100,200)             [200,300)
 * fetch       [0,40)   [100,120)             [200,210)
 * own calls            [110,130) [150,180)   [280,290) [295,310)
 * checkpoint                                 [270,290)
 * a helper thread's    [160,190)
 */
static void own_io(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 400);
	job_span(&j, 1, REEL_SPAN_FETCH, 0, 0, 40);
	job_span(&j, 1, REEL_SPAN_STEP, 0, 0, 100);
	job_span(&j, 1, REEL_SPAN_FETCH, 1, 100, 120);
	io_thread(&j, 1, 1, 110, 130);
	io_thread(&j, 1, 1, 150, 180);
	io_thread(&j, 1, 10, 160, 190);
	job_span(&j, 1, REEL_SPAN_STEP, 1, 100, 200);
	job_span(&j, 1, REEL_SPAN_FETCH, 2, 200, 210);
	io_thread(&j, 1, 1, 280, 290);
	job_span(&j, 1, REEL_SPAN_CHECKPOINT, 0, 270, 290);
	job_span(&j, 1, REEL_SPAN_STEP, 2, 200, 300);
	io_thread(&j, 1, 1, 295, 310);
	job_finish(&j);
	is(job_int(&j, "SELECT own_io_ns FROM v_step WHERE ordinal = 2"), 40,
	   "own I/O: of the stepping thread, outside of its fetches");
	is(job_int(&j, "SELECT compute_ns FROM step WHERE ordinal = 2"), 40,
	   "a step that waits for its own I/O does not compute meanwhile");
	is(job_int(&j, "SELECT hidden_ns FROM step WHERE ordinal = 2"), 10,
	   "nor hides it; writes of another thread are hidden");
	is(job_int(&j, "SELECT other_ns FROM step WHERE ordinal = 2"), 0,
	   "fetch, computation and own I/O are the whole step");
	is(job_int(&j, "SELECT own_io_ns FROM step WHERE ordinal = 3"), 5,
	   "calls in a checkpoint belong to the checkpoint");
	is(job_int(&j, "SELECT compute_ns FROM step WHERE ordinal = 3"), 65,
	   "calls after it are own I/O");
	is(job_int(&j, "SELECT other_ns FROM step WHERE ordinal = 3"), 20,
	   "the checkpoint is other time");
	is(job_int(&j, "SELECT io_ns - 1000 * hidden_ns FROM v_overlap"),
	   60 + 10 + 15 - 10000, "the rank's I/O, and the hidden part");
	is(job_int(&j, "SELECT compute_ns FROM v_overlap"), 60 + 40 + 65,
	   "the rank's computation");
	is(job_int(&j, "SELECT own_io_ns FROM v_overlap"), 45,
	   "the rank's own I/O");
	is(job_int(&j, "SELECT round(1000 * computing_share) FROM v_overlap"),
	   (40 + 65) * 1000 / 200, "share of time computing");
	is(job_int(&j, "SELECT round(1000 * wait_share) FROM v_overlap"),
	   70 * 1000 / 300, "share of the loop spent waiting");
	is(job_int(&j, "SELECT median_own_io_ns FROM rank_time"), (40 + 5) / 2,
	   "median of own I/O");
	job_end(&j);
}

/* Two threads step at a time: a step of one is not cut at a begin of the other's. */
static void two_trainers(void)
{
	struct job j;
	uint32_t i;

	job_begin(&j);
	processes(&j, 1000);
	for (i = 0; i < 8; i++) {
		int64_t at = 100 * (i / 2) + 30 * (i % 2);

		job_span_of(&j, 1, 1 + 10 * (i % 2), REEL_SPAN_STEP, i, at,
			    at + 100);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM step"), 4,
	   "of threads that step at a time the steps of the first");
	is(job_int(&j, "SELECT count(*) FROM step WHERE dur_ns = 100"), 4,
	   "each as long as it was");
	job_end(&j);
}

/* Two threads step in turn; each has calls in the other's steps. */
static void two_threads(void)
{
	struct job j;
	uint32_t i;

	job_begin(&j);
	processes(&j, 400);
	for (i = 0; i < 4; i++) {
		int64_t at = 100 * i;

		job_span_of(&j, 1, 1 + 10 * (i % 2), REEL_SPAN_FETCH, i, at,
			    at + 20);
		io_thread(&j, 1, 1, at + 30, at + 50);
		io_thread(&j, 1, 11, at + 40, at + 80);
		job_span_of(&j, 1, 1 + 10 * (i % 2), REEL_SPAN_STEP, i, at,
			    at + 100);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT own_io_ns FROM step WHERE ordinal = 3"), 20,
	   "of several stepping threads the step's own thread counts");
	is(job_int(&j, "SELECT own_io_ns FROM step WHERE ordinal = 2"), 40,
	   "in each of them");
	is(job_int(&j, "SELECT hidden_ns FROM v_overlap"), 2 * 30 + 2 * 10,
	   "calls of the other thread may be hidden");
	job_end(&j);
}

/* Summed steps: another thread reports its fetches once a second. */
static void summed(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 900);
	for (i = 0; i < 8; i++)
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
	job_span(&j, 1, REEL_SPAN_EPOCH, 0, 0, 400);
	job_span(&j, 1, REEL_SPAN_EPOCH, 1, 400, 800);
	j.span_count = 4;
	job_span_of(&j, 1, 3, REEL_SPAN_FETCH, 0, 210, 230);
	job_finish(&j);
	is(job_int(&j, "SELECT unknown_steps FROM v_epoch WHERE epoch = 0"), 0,
	   "a sum of fetches makes the steps of its epoch known");
	is(job_int(&j, "SELECT sum(fetch_ns) FROM v_step WHERE epoch = 0"), 20,
	   "and counts once");
	is(job_int(&j, "SELECT unknown_steps FROM v_epoch WHERE epoch = 1"), 4,
	   "but not of another epoch");
	job_end(&j);
}

/* A fetch before the training, then steps with unrecorded fetches. */
static void early_fetch(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 400);
	job_span(&j, 1, REEL_SPAN_FETCH, -1, 0, 50);
	job_span(&j, 1, REEL_SPAN_FETCH, -1, 60, 62);
	for (i = 1; i < 4; i++) {
		io_event(&j, 2, 100 * i, 100 * i + 90, 1);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
	}
	job_span(&j, 1, REEL_SPAN_EPOCH, 0, 90, 400);
	job_finish(&j);
	is(job_int(&j, "SELECT unknown_steps FROM v_overlap"), 3,
	   "a fetch before the steps leaves the steps unknown");
	is(job_int(&j, "SELECT unknown_steps FROM v_epoch"), 3,
	   "and the epoch");
	is(job_int(&j,
		   "SELECT count(*) FROM v_step WHERE fetch_ns IS NULL AND "
		   "compute_ns IS NULL AND other_ns IS NULL AND hidden_ns IS "
		   "NULL AND own_io_ns IS NULL"),
	   3, "they are unknown");
	is(job_int(&j, "SELECT count(*) FROM v_overlap WHERE computing_share "
		       "IS NULL AND stall_share IS NULL AND fetch_ns IS NULL "
		       "AND hidden_ns IS NULL AND exposed_ns IS NULL AND "
		       "wait_share IS NULL AND loop_ns IS NULL"),
	   1, "and so is the rank");
	job_end(&j);
}

/* The same after an evaluation, in steps of no epoch. */
static void early_evaluation(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 400);
	job_span(&j, 1, REEL_SPAN_FETCH, -1, 10, 50);
	job_span(&j, 1, REEL_SPAN_EVAL, 0, 0, 90);
	for (i = 1; i < 4; i++) {
		io_event(&j, 2, 100 * i, 100 * i + 90, 1);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT unknown_steps FROM v_overlap"), 3,
	   "the fetch of an evaluation leaves the steps unknown");
	is(job_int(&j, "SELECT hidden_ns IS NULL FROM v_overlap"), 1,
	   "so is the hidden I/O");
	job_end(&j);
}

/* Twenty known steps, and @unknown steps of twice the length. */
static double unknown_share(int unknown, const char *sql)
{
	struct job j;
	int64_t at = 0, i;
	double v;

	job_begin(&j);
	processes(&j, 10000);
	for (i = 0; i < 20 + unknown; i++) {
		int64_t end = at + (i < 20 ? 100 : 200);

		if (i < 20)
			job_span(&j, 1, REEL_SPAN_FETCH, i, at, at + 30);
		io_event(&j, 2, at + 20, at + 60, 1);
		job_span(&j, 1, REEL_SPAN_STEP, i, at, end);
		at = end;
	}
	job_finish(&j);
	v = job_ask(&j, sql);
	job_end(&j);
	return v;
}

static void partly_known(void)
{
	is((int64_t)(1000 *
		     unknown_share(0, "SELECT wait_share FROM v_overlap")),
	   300, "share of waiting");
	is((int64_t)unknown_share(2, "SELECT wait_share FROM v_overlap"), -1,
	   "NULL while 5 %% of the time or more is unknown");
	is((int64_t)unknown_share(
		   2, "SELECT 1000 * computing_share FROM v_overlap"),
	   700, "the share computing is of known steps");
	is((int64_t)unknown_share(2,
				  "SELECT 1000 * hidden_share FROM v_overlap"),
	   750, "and that of hidden I/O");
	is((int64_t)unknown_share(2, "SELECT io_ns - exposed_ns - hidden_ns "
				     "FROM v_overlap"),
	   80, "I/O in unknown steps is neither hidden nor exposed");
	is((int64_t)unknown_share(2, "SELECT unknown_steps FROM v_epoch"), 2,
	   "unknown steps are counted");
	is((int64_t)unknown_share(2, "SELECT median_compute_ns FROM rank_time"),
	   70, "medians are of known steps");
}

/* Fetches outside of the steps. */
static void fetches_between(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 400);
	for (i = 0; i < 3; i++) {
		job_span(&j, 1, REEL_SPAN_FETCH, i, 100 * i, 100 * i + 30);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i + 40, 100 * i + 100);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT unknown_steps FROM v_overlap"), 0,
	   "a fetch right before a step makes it known");
	is(job_int(&j, "SELECT compute_ns FROM step WHERE ordinal = 2"), 60,
	   "such a step only computes");
	is(job_int(&j, "SELECT loop_ns FROM v_overlap"), 300,
	   "the loop begins with the first fetch");
	is(job_int(&j, "SELECT round(1000 * wait_share) FROM v_overlap"), 300,
	   "fetches outside of steps are waits of the loop");
	job_end(&j);
}

/* A helper's call around hundreds of calls of the main thread, and one around
 * all. */
static void late_calls(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 10000);
	for (i = 0; i < 1000; i++) {
		io_thread(&j, 2, 2, 10 * i, 10 * i + 4);
		if (i % 300 == 299)
			io_thread(&j, 2, 20, 10 * i - 2989, 10 * i + 4);
	}
	for (i = 0; i < 200; i++)
		io_thread(&j, 3, 3, 10 * i, 10 * i + 4);
	io_thread(&j, 3, 3, 5, 2005);
	job_finish(&j);
	is(job_int(&j, "SELECT union_ns FROM io_time WHERE process_id = 2"),
	   3 * 2993 + 3 * 1 + 100 * 4,
	   "I/O time of a process: a helper's late call is not cut off");
	is(job_int(&j, "SELECT union_ns FROM io_time WHERE process_id = 3"),
	   2004, "nor a call around hundreds of its thread's calls");
	is(job_int(&j, "SELECT sum(clipped) FROM io_time"), 0,
	   "no call is clipped");
	job_end(&j);
}

/* Processes of several threads: a call around 90,000 of another thread, more than
 * are held, and more processes than have a union of their own. */
static void late_calls_of_many(void)
{
	enum { MANY = 90000, PROCESSES = 20 };
	struct job j;
	int64_t i;

	job_begin(&j);
	for (int p = 1; p <= PROCESSES; p++)
		job_process(&j, p, 0, "main", 10 * MANY);
	for (i = 0; i < MANY; i++)
		io_thread(&j, 1, 1, 10 * i, 10 * i + 4);
	io_thread(&j, 1, 101, 95, 10 * MANY);
	io_thread(&j, 1, 102, 10 * MANY + 5, 10 * MANY + 7);
	for (int p = 2; p <= PROCESSES; p++) {
		for (i = 0; i < 100; i++)
			io_thread(&j, (uint32_t)p, (uint32_t)p, 10 * i,
				  10 * i + 4);
		io_thread(&j, (uint32_t)p, 200 + (uint32_t)p, 495, 1000 + p);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT union_ns FROM io_time WHERE process_id = 1"),
	   10 * 4 + 10 * MANY - 95 + 2,
	   "a call around 90,000 of another thread is not cut off");
	is(job_int(&j, "SELECT count(*) FROM io_time WHERE process_id > 1 AND "
		       "union_ns = 50 * 4 + 505 + process_id"),
	   PROCESSES - 1, "nor in 19 more processes");
	job_end(&j);
}

static void storage_event(struct job *j, uint32_t process, int64_t start_ns,
			  int64_t end_ns)
{
	struct reel_event ev =
		moved(REEL_CALL_READ, start_ns, end_ns - start_ns, 0, 1000);

	ev.process = ev.thread = ev.open = process;
	ev.arg2 = 4096;
	job_feed(j, ev);
}

/* A rank computes [20,60) and [80,100) of its steps; the third is unknown. */
static void storage(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 300);
	job_file(&j, 1, "/data", "file");
	job_span(&j, 1, REEL_SPAN_FETCH, 0, 0, 20);
	storage_event(&j, 2, 5, 30);  /* 15 exposed */
	storage_event(&j, 3, 25, 55); /* hidden */
	io_event(&j, 2, 40, 70, 1);   /* not from storage */
	storage_event(&j, 1, 60, 80); /* of the stepping thread: exposed */
	storage_event(&j, 3, 70, 90); /* 10 ns exposed, at the same time */
	job_span(&j, 1, REEL_SPAN_STEP, 0, 0, 100);
	storage_event(&j, 2, 110, 120); /* in an unknown step */
	job_span(&j, 1, REEL_SPAN_STEP, 1, 100, 200);
	job_span(&j, 1, REEL_SPAN_EPOCH, 1, 0, 200);
	storage_event(&j, 4, 190, 210); /* of a process without a rank */
	storage_event(&j, 2, 220, 230); /* outside of steps */
	job_finish(&j);
	is(job_int(&j, "SELECT storage_ns FROM v_storage_wait"),
	   50 + 30 + 10 + 20 + 10, "time of reads that fetched");
	is(job_int(&j, "SELECT exposed_ns FROM v_storage_wait"),
	   15 + 20 + 20 + 10, "without computation");
	is(job_int(&j, "SELECT reads FROM v_storage_wait"), 5,
	   "number of such reads");
	is(job_int(&j, "SELECT bytes FROM v_storage_wait"), 5 * 4096,
	   "bytes that they fetched");
	is(job_int(&j, "SELECT read_ns FROM v_storage_wait"),
	   25 + 20 + 20 + 20 + 10, "their time");
	is(job_int(&j, "SELECT wall_ns FROM v_storage_wait"), 1000,
	   "in relation to the wall time");
	job_end(&j);
	job_begin(&j);
	processes(&j, 300);
	io_event(&j, 1, 0, 10, 1);
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM v_storage_wait"), 0,
	   "no row without a fetch");
	job_end(&j);
}

/* Two iterations of a loop, each with two of an inner loop. */
static void nested_loops(void)
{
	struct job j;
	int64_t i, k;

	job_begin(&j);
	processes(&j, 400);
	for (i = 0; i < 2; i++) {
		int64_t at = 200 * i;

		job_span(&j, 1, REEL_SPAN_FETCH, i, at, at + 40);
		for (k = 0; k < 2; k++) {
			int64_t in = at + 50 + 60 * k;

			job_span(&j, 1, REEL_SPAN_FETCH, k, in, in + 10);
			job_span(&j, 1, REEL_SPAN_STEP, k, in, in + 60);
		}
		job_span(&j, 1, REEL_SPAN_STEP, i, at, at + 200);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT sum(dur_ns) FROM step"), 400,
	   "nested loops: all time is assigned once");
	is(job_int(&j, "SELECT group_concat(dur_ns, '') = '506090506090' FROM "
		       "(SELECT dur_ns FROM step ORDER BY start_ns)"),
	   1, "to the step that began last");
	is(job_int(&j, "SELECT sum(fetch_ns) FROM step"), 120,
	   "with the waits of both loops");
	is(job_int(&j, "SELECT median_fetch_ns FROM rank_time"), 10,
	   "a median step has its own wait");
	is(job_int(&j, "SELECT median_compute_ns FROM rank_time"), 50,
	   "and computes");
	job_end(&j);
}

/* A program declares a step inside of a loader's step. */
static void declared_twice(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 400);
	for (i = 0; i < 3; i++) {
		job_span(&j, 1, REEL_SPAN_FETCH, i, 100 * i, 100 * i + 40);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i + 40, 100 * i + 95);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM step WHERE dur_ns = 100"), 3,
	   "a step declared twice is one");
	is(job_int(&j, "SELECT 1000 * median_fetch_ns + median_compute_ns "
		       "FROM rank_time"),
	   40060, "with its wait and computation");
	job_end(&j);
}

/* Steps in an evaluation that began before them, and one in a step. */
static void evaluations(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 400);
	job_span(&j, 1, REEL_SPAN_FETCH, 0, 100, 110);
	job_span(&j, 1, REEL_SPAN_STEP, 0, 100, 200);
	job_span(&j, 1, REEL_SPAN_FETCH, 1, 200, 210);
	job_span(&j, 1, REEL_SPAN_EVAL, 1, 250, 270);
	job_span(&j, 1, REEL_SPAN_STEP, 1, 200, 300);
	job_span(&j, 1, REEL_SPAN_EVAL, 0, 50, 350);
	job_finish(&j);
	is(job_int(&j, "SELECT compute_ns FROM step WHERE ordinal = 1"), 90,
	   "an evaluation around the steps does not stop computation");
	is(job_int(&j, "SELECT compute_ns FROM step WHERE ordinal = 2"), 70,
	   "one within a step does");
	job_end(&j);
}

static uint32_t seed = 99;

static int64_t random_below(int64_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (int64_t)(seed >> 8) % n;
}

#define NS 400000

/* One flag per ns: in a step, waiting, I/O of the tree. */
static void random_jobs(void)
{
	static char step[NS], fetch[NS], busy[NS], own[NS];
	int64_t end[5] = {0}, want_io = 0, want_hidden = 0, want_own = 0;
	int64_t want_compute = 0, i, at = 0, n = 0;
	struct job j;

	job_begin(&j);
	processes(&j, NS);
	/* Spans and calls come in the order of their ends. */
	for (i = 1; i < NS; i++) {
		uint32_t p = 1 + (uint32_t)random_below(4);

		if (i - at > 300 && random_below(50) == 0) {
			int64_t wait = random_below(200);

			job_span(&j, 1, REEL_SPAN_FETCH, n, at, at + wait);
			job_span(&j, 1, REEL_SPAN_STEP, n++, at, i);
			memset(step + at, 1, (size_t)(i - at));
			memset(fetch + at, 1, (size_t)wait);
			at = i + random_below(3);
		}
		if (random_below(40) == 0) {
			int64_t start = i - random_below(120);

			start = start > end[p] ? start : end[p];
			/* A second thread of process 1. */
			io_thread(&j, p < 4 ? p : 1, p, start, i);
			if (p == 1)
				memset(own + start, 1, (size_t)(i - start));
			memset(busy + start, 1, (size_t)(i - start));
			end[p] = i;
		}
	}
	job_finish(&j);
	for (i = 0; i < NS; i++) {
		want_io += busy[i];
		want_compute += step[i] && !fetch[i] && !own[i];
		want_hidden += busy[i] && step[i] && !fetch[i] && !own[i];
		want_own += step[i] && !fetch[i] && own[i];
	}
	is(job_int(&j, "SELECT io_ns FROM v_overlap"), want_io,
	   "I/O of the tree, exact");
	is(job_int(&j, "SELECT hidden_ns FROM v_overlap"), want_hidden,
	   "hidden I/O, exact");
	is(job_int(&j, "SELECT sum(hidden_ns) FROM step"), want_hidden,
	   "and over the steps");
	is(job_int(&j, "SELECT compute_ns FROM v_overlap"), want_compute,
	   "computation, exact");
	is(job_int(&j, "SELECT sum(compute_ns) FROM step"), want_compute,
	   "and over the steps");
	is(job_int(&j, "SELECT own_io_ns FROM v_overlap"), want_own,
	   "own I/O, exact");
	is(job_int(&j, "SELECT sum(own_io_ns) FROM step"), want_own,
	   "and over the steps");
	job_end(&j);
}

static void ranks(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 100);
	io_event(&j, 2, 10, 30, 5);
	io_event(&j, 4, 20, 40, 7);
	job_span(&j, 1, REEL_SPAN_STEP, 0, 0, 100);
	job_span(&j, 4, REEL_SPAN_STEP, 0, 0, 100);
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM v_overlap"), 2,
	   "each process with steps is a rank");
	is(job_int(&j, "SELECT io_ns FROM v_overlap WHERE rank = 0"), 20,
	   "with its own I/O");
	is(job_int(&j, "SELECT read_bytes FROM step WHERE rank = 1"), 7,
	   "and its own bytes");
	job_end(&j);
}

/* Two loaders, each with epochs numbered from 0. */
static void epochs(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 1000);
	for (i = 0; i < 6; i++) {
		job_span(&j, 1, REEL_SPAN_FETCH, -1, 100 * i, 100 * i + 30 - i);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
		if (i % 3 == 2)
			job_span(&j, 1, REEL_SPAN_EPOCH, 0, 100 * i - 200,
				 100 * i + 100);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM v_epoch"), 2,
	   "two epochs with one number stay two");
	is(job_int(&j, "SELECT sum(first_fetch_ns) FROM v_epoch"), 30 + 27,
	   "each with its first fetch");
	job_end(&j);
}

int main(void)
{
	epochs();
	known_steps();
	headroom();
	left_loop();
	unrecorded_fetches();
	declared_compute();
	nested_loops();
	evaluations();
	declared_twice();
	own_io();
	two_threads();
	two_trainers();
	early_fetch();
	early_evaluation();
	summed();
	partly_known();
	fetches_between();
	late_calls();
	late_calls_of_many();
	storage();
	random_jobs();
	ranks();
	return done();
}
