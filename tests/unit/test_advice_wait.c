/* SPDX-License-Identifier: MIT */
/* Advice on loops: their waits, loaders, starts, evaluations and own I/O. */
#include "tests/unit/test_advice.h"

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
	r.uses.generator = true;
	ok(has(&r, "INPUT-BOUND") && strstr(tip, "the work of the generator") &&
		   !strstr(tip, "interleave"),
	   "those of its generators, which no parallel call helps: %s", tip);
	r.uses.generator = false;
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

/* Waits that more workers do not mend. */
static void passing(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.4, 0.97, 0.8);

	r.uses.pytorch = true;
	r.rank = &k;
	r.ranks = 1;
	r.first_epoch_wait = 0.9;
	r.later_epochs_wait = 0.049;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "epoch waits 90 % of its time, "
					    "later ones 4.9 %") &&
		   strstr(r.advice[0].try_this, "nothing where many epochs") &&
		   strstr(verdict, "; 4.9 % in the epochs after the first"),
	   "a wait in the first epoch alone: %s", r.advice[0].text);
	r.later_epochs_wait = 0.05;
	ok(has(&r, "INPUT-BOUND") && !strstr(r.advice[0].text, "first epoch"),
	   "and in others, too");
	r.repeated.times = k.workers;
	ok(has(&r, "REPEATED-READ") &&
		   !strstr(r.advice[0].try_this, "more workers (") &&
		   strstr(r.advice[0].try_this, "a part of the data"),
	   "each worker makes all samples: %s", r.advice[0].try_this);
}

static void several_loaders(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.4, 0.05, 0.8);

	r.uses.pytorch = true;
	r.rank = &k;
	r.ranks = 1;
	r.queue.several = true;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "which of them it waits for") &&
		   !strstr(r.advice[0].text, "not for reading"),
	   "idle workers of several loaders: %s", r.advice[0].text);
	k = rank_of(0.4, 0.6, 0.01);
	r.queue.first_ns = S / 10;
	r.queue.others_ns = 3 * S;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text,
			  "100 ms for its first batch, 3.00 s for the") &&
		   !strstr(r.advice[0].text, "times as fast") &&
		   strstr(r.advice[0].try_this, "a step's later batches"),
	   "busy workers of a slow loader beside a fast one: %s",
	   r.advice[0].text);
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
	k.worker_mapped_share = 0.51;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text,
			  "51 % of their bytes come through") &&
		   !strstr(r.advice[0].text, "with I/O") &&
		   !strstr(r.advice[0].try_this, "preparing"),
	   "workers that read through mappings: %s", r.advice[0].text);
	k = rank_of(0.4, 0.05, 0.8);
	ok(has(&r, "INPUT-BOUND") &&
		   !strstr(r.advice[0].try_this, "more workers"),
	   "idle workers: no more of them");
	k.own_batch_ns = 21 * S / 10;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text,
			  "for 2.10 s of it the loop makes") &&
		   strstr(r.advice[0].try_this, "num_workers=2"),
	   "idle workers beside a loader without any: %s", r.advice[0].text);
	k.own_batch_ns = 2 * S;
	ok(has(&r, "INPUT-BOUND") && strstr(r.advice[0].text, "busy 5.0 %"),
	   "half of the wait is no most of it");
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
	r.io_ns = S;
	k.fetch_ns = S;
	ok(only(&r, "WAIT-UNKNOWN", "10 %; how long the job waits for") &&
		   strstr(r.advice[0].text, "fetches take 1.00 s"),
	   "fetches without a step: %s", r.advice[0].text);
	r.ranks = 0;
	ok(only(&r, "NO-PROBLEM", "10 %."), "a job that may have no loop");
	r.framework = "PyTorch 2.13.0";
	ok(only(&r, "WAIT-UNKNOWN", "is not known"),
	   "a framework without a step");
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

/* Two workers of a job that may not use all processors of its machine. */
static void limits_of_workers(struct report *r)
{
	struct reel_cpu_contention *cpu = &r->cpu_contention;

	cpu->cpus = 64;
	cpu->cpus_allowed = 1;
	ok(has(r, "INPUT-BOUND") &&
		   strstr(r->advice[0].try_this,
			  "the job may use 1 of 64 processors"),
	   "one of many processors: %s", r->advice[0].try_this);
	cpu->cpus_allowed = 64;
	cpu->millicpus = 1500;
	ok(has(r, "INPUT-BOUND") &&
		   strstr(r->advice[0].try_this, "use 1.5 of 64 processors") &&
		   !strstr(r->advice[0].try_this, "CPU limit"),
	   "a limit that stopped nothing: %s", r->advice[0].try_this);
	cpu->millicpus = 4000;
	cpu->job_ns = cpu->throttled_ns = 4000000000;
	ok(has(r, "INPUT-BOUND") &&
		   strstr(r->advice[0].try_this,
			  "a higher CPU limit (4 of 64") &&
		   strstr(r->advice[0].try_this, "more than 2 workers only"),
	   "a limit that stopped the workers: %s", r->advice[0].try_this);
	cpu->throttled_ns = 200000000;
	ok(has(r, "INPUT-BOUND") &&
		   strstr(r->advice[0].try_this, "more workers (2 now)"),
	   "one that hardly did: %s", r->advice[0].try_this);
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
	limits_of_workers(&r);
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

/* Idle workers, with batches that are ready, and more than their start to wait for. */
static void rest_of_starts(void)
{
	struct report r = quiet();
	struct report_rank k = rank_of(0.6, 0.1, 0.8);

	r.uses.pytorch = true;
	r.rank = &k;
	r.ranks = 1;
	k.epoch_first_wait_ns = k.loop_wait_ns * 6 / 10;
	r.queue.mean_depth = 3.9;
	r.queue.empty_share = 0.05;
	ok(has(&r, "INPUT-BOUND") &&
		   strstr(r.advice[0].text, "first batches of the loop") &&
		   strstr(r.advice[0].text, "So the rest is not for reading: "
					    "3.9 batches are ready") &&
		   strstr(r.advice[0].try_this, "fewer workers, or none"),
	   "the rest of the wait is for batches that are ready: %s",
	   r.advice[0].text);
	r.queue.empty_share = 0.5;
	ok(has(&r, "INPUT-BOUND") && !strstr(r.advice[0].text, "the rest") &&
		   strstr(r.advice[0].try_this, "longer run"),
	   "not of a queue that is often empty: %s", r.advice[0].text);
	r.queue.empty_share = 0.05;
	k.epoch_first_wait_ns = k.loop_wait_ns * 9 / 10;
	k.stall_share = 0.1;
	ok(has(&r, "INPUT-BOUND") && !strstr(r.advice[0].text, "the rest") &&
		   strstr(r.advice[0].try_this, "longer run"),
	   "not of a small rest: %s", r.advice[0].text);
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
	k.wait_share = k.exposed_wait_share = 0.01;
	k.loop_wait_ns = S / 10;
	k.evaluation_wait_ns = S / 2;
	ok(only(&r, "EVAL-WAIT", "but waits of evaluations take 5.0 % of"),
	   "EVAL-WAIT from 5 %% on: %s", verdict);
	r.uses.python = r.uses.pytorch = true;
	k.evaluation_loop_wait_ns = k.evaluation_wait_ns;
	k.evaluation_first_wait_ns = k.evaluation_loop_wait_ns / 2;
	ok(has(&r, "EVAL-WAIT") &&
		   strstr(r.advice[0].try_this, "more loader workers"),
	   "batches that take long: %s", r.advice[0].try_this);
	k.evaluation_first_wait_ns++;
	ok(has(&r, "EVAL-WAIT") &&
		   strstr(r.advice[0].try_this, "not more of them"),
	   "workers that start take longer if they are more: %s",
	   r.advice[0].try_this);
	r.uses.python = r.uses.pytorch = false;
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
	k.wait_share = k.exposed_wait_share = 0.01;
	ok(only(&r, "NO-PROBLEM", "hardly waits"), "... or hardly waits: %s",
	   verdict);
}

int main(void)
{
	loaders();
	passing();
	several_loaders();
	steps();
	stepless();
	own();
	starts();
	starts_of_workers();
	rest_of_starts();
	queue();
	evaluations();
	is(err.code, REEL_OK, "no error: %s", err.text);
	return done();
}
