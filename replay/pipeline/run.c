/* SPDX-License-Identifier: MIT */
/* The loop of the stepping thread. */
#include "replay/pipeline/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/progress.h"

#include "replay/comm/comm.h"
#include "replay/dataset/format.h"
#include "replay/pipeline/access.h"
#include "replay/pipeline/cache.h"
#include "replay/pipeline/checkpoint.h"
#include "replay/pipeline/reader.h"
#include "replay/pipeline/run_log.h"
#include "replay/pipeline/stop.h"
#include "replay/pipeline/work.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

/* Ranks look for a signal after so much time, or so many steps. */
#define LOOK_NS 100000000
#define LOOK_MOST 16

struct running {
	const struct workload *w;
	const struct run_options *options;
	const struct comm *comm;
	struct run_result *result;
	struct readers *readers, *evaluators;
	struct schedule schedule, evaluation;
	struct workload
		evaluated; /* @w with the sample times of its evaluation */
	struct work_steps compute;
	struct checkpoints *checkpoints;
	struct reel_progress progress;
	int64_t start_ns;
	uint64_t turn; /* the reader whose batch comes next */
	uint64_t evaluations;
	uint32_t steps_room;
	/* Steps since the ranks looked for a signal; so many lie between. */
	uint64_t unlooked, look_every;
	int64_t looked_ns;
	int64_t *gradient; /* of the allreduce */
	int gradient_n;
};

/* --- bytes that the kernel fetched ---------------------------------------- */

/* By this process and its ended children; -1: not known. */
int64_t run_fetched_bytes(void)
{
	char line[128];
	long long n = -1;
	FILE *f = fopen("/proc/self/io", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "read_bytes: %lld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* --- a step --------------------------------------------------------------- */

/* Split a wait of @ns by what the reader spent meanwhile: no more than the wait
 * itself, as a call that was on its way before it counts whole. */
static void split_wait(struct run_times *t, int64_t ns,
		       struct reader_progress before,
		       struct reader_progress after)
{
	int64_t storage = after.storage_ns - before.storage_ns;
	int64_t decode = after.decode_ns - before.decode_ns;
	int64_t both = storage + decode;

	if (both > ns) {
		storage =
			(int64_t)((double)storage / (double)both * (double)ns);
		decode = ns - storage;
	}
	t->storage_ns += storage;
	t->decode_ns += decode;
	t->queue_ns += ns - storage - decode;
}

/* The next batch; readers that have ended are passed over. */
static int take_batch(struct running *r, struct run_step *step,
		      struct reader_batch *batch, struct reel_error *err)
{
	int64_t start = reel_now_ns();

	memset(batch, 0, sizeof(*batch));
	for (uint64_t tried = 0; tried < r->schedule.readers; tried++) {
		uint64_t i = r->turn++ % r->schedule.readers;
		struct reader_progress before = readers_progress(r->readers, i);
		int64_t now;

		if (readers_take(r->readers, i, batch, err))
			return -1;
		now = reel_now_ns();
		split_wait(&step->time, now - start - batch->take_ns, before,
			   readers_progress(r->readers, i));
		step->time.queue_ns += batch->take_ns;
		start = now;
		if (batch->samples || stop_signal())
			break;
	}
	return 0;
}

static void meet(struct running *r, struct run_step *step)
{
	int64_t start = reel_now_ns();

	if (r->w->synchronise.kind == WORKLOAD_BARRIER)
		r->comm->barrier();
	else if (r->w->synchronise.kind == WORKLOAD_ALLREDUCE)
		r->comm->allreduce(r->gradient, r->gradient_n, COMM_SUM);
	step->time.barrier_ns = reel_now_ns() - start;
}

/* All that no part of the step explains. */
static int64_t own_ns(int64_t wall_ns, const struct run_times *t)
{
	return wall_ns - t->storage_ns - t->decode_ns - t->queue_ns -
	       t->compute_ns - t->barrier_ns;
}

static void add_times(struct run_times *sum, const struct run_times *t)
{
	sum->storage_ns += t->storage_ns;
	sum->decode_ns += t->decode_ns;
	sum->queue_ns += t->queue_ns;
	sum->compute_ns += t->compute_ns;
	sum->barrier_ns += t->barrier_ns;
}

static int keep_step(struct running *r, const struct run_step *step,
		     struct reel_error *err)
{
	struct run_result *res = r->result;

	add_times(&res->time, &step->time);
	/* A wait that a signal ended is no step. Ranks count the same ones. */
	if (!step->samples && r->comm->size == 1 && stop_signal())
		return 0;
	if (reel_array_reach(&res->steps, &r->steps_room,
			     (uint32_t)res->steps_n, sizeof(*res->steps), err))
		return -1;
	res->steps[res->steps_n++] = *step;
	res->epochs[step->epoch].steps++;
	return 0;
}

static int take_step(struct running *r, uint32_t epoch, bool checkpoint,
		     struct reel_error *err)
{
	struct run_epoch *e = &r->result->epochs[epoch];
	struct io *io = &r->result->io;
	struct run_step step = {.epoch = epoch};
	int64_t start = reel_now_ns(), ns;
	struct reader_batch batch;

	step.start_ns = start - r->start_ns;
	io_begin_span(io, REEL_SPAN_STEP, (int64_t)r->result->steps_n);
	io_begin_span(io, REEL_SPAN_FETCH, -1);
	if (take_batch(r, &step, &batch, err))
		return -1;
	io_end_span(io, REEL_SPAN_FETCH);
	step.samples = batch.samples;
	ns = work_steps_next(&r->compute);
	/* A rank that has no batch left only meets the others. */
	if (batch.samples)
		step.time.compute_ns = work_spend(
			(int64_t)((double)ns * r->w->what_if.compute_scale),
			r->w->compute.on);
	meet(r, &step);
	if (checkpoint) {
		int64_t before = reel_now_ns(), worked_ns;

		if (checkpoints_write(r->checkpoints, &worked_ns, err))
			return -1;
		step.checkpoint_ns = reel_now_ns() - before;
		step.time.storage_ns += step.checkpoint_ns - worked_ns;
		step.time.decode_ns += worked_ns;
	}
	step.wall_ns = reel_now_ns() - start;
	step.time.own_ns = own_ns(step.wall_ns, &step.time);
	io_end_span(io, REEL_SPAN_STEP);
	e->samples += batch.samples;
	e->checksum += batch.checksum;
	e->order = e->order * 31 + batch.order;
	r->result->samples += batch.samples;
	r->result->checkpoint_ns += step.checkpoint_ns;
	return keep_step(r, &step, err);
}

/* --- epochs --------------------------------------------------------------- */

static uint64_t steps_of_epoch(const struct running *r)
{
	uint64_t steps = schedule_steps(&r->schedule);
	uint64_t most = (uint64_t)r->w->steps_per_epoch;
	uint64_t all = (uint64_t)r->w->total_steps;

	if (most && steps > most)
		steps = most;
	if (all && steps > all - r->result->steps_n)
		steps = all - r->result->steps_n;
	return steps;
}

/*
 * All ranks stop when one was told to. They look together, and often enough for
 * mpirun, which kills a rank a second after it was told to end.
 */
static bool stopped(struct running *r)
{
	int64_t seen[] = {stop_signal() != 0, 0}, start;

	if (r->comm->size > 1 && (r->w->synchronise.kind != WORKLOAD_ALONE ||
				  r->w->access.collective)) {
		if (++r->unlooked < r->look_every)
			return false;
		start = reel_now_ns();
		seen[1] = (start - r->looked_ns) / (int64_t)r->unlooked + 1;
		r->comm->allreduce(seen, 2, COMM_MAX);
		r->look_every = LOOK_NS / seen[1] < LOOK_MOST
					? (uint64_t)(LOOK_NS / seen[1])
					: LOOK_MOST;
		r->unlooked = 0;
		r->looked_ns = reel_now_ns();
		r->result->time.barrier_ns += r->looked_ns - start;
	}
	if (seen[0])
		r->result->stopped = true;
	return seen[0];
}

static struct reader_progress progress_of_all(const struct readers *readers,
					      uint64_t n)
{
	struct reader_progress sum = {0, 0};

	for (uint64_t i = 0; i < n; i++) {
		struct reader_progress p = readers_progress(readers, i);

		sum.storage_ns += p.storage_ns;
		sum.decode_ns += p.decode_ns;
	}
	return sum;
}

/* Readers finish their batches, and close their files: a wait as for a batch. */
static int end_epoch(struct running *r, struct readers *readers, uint64_t n,
		     struct reel_error *err)
{
	struct reader_progress before = progress_of_all(readers, n);
	int64_t start = reel_now_ns();
	int rc = readers_end_epoch(readers, err);

	split_wait(&r->result->time, reel_now_ns() - start, before,
		   progress_of_all(readers, n));
	return rc;
}

static bool evaluates(const struct running *r, uint32_t epoch)
{
	int64_t every = r->w->evaluation.every_epochs;

	return every && (epoch + 1) % every == 0;
}

/* Is there an evaluation after step @steps of the run, from 1? */
static bool evaluates_after(const struct running *r, uint64_t steps)
{
	uint64_t every = (uint64_t)r->w->evaluation.every_steps;

	return every && steps % every == 0;
}

/* Is there a checkpoint at the end of @epoch, @after its evaluation or before? */
static bool saves_at_end(const struct running *r, uint32_t epoch, bool after)
{
	const struct workload_checkpoint *c = &r->w->checkpoint;

	return c->every_epochs && (epoch + 1) % c->every_epochs == 0 &&
	       after == (c->after_evaluation && evaluates(r, epoch));
}

/* The checkpoint of an epoch is part of no step. */
static int save_at_end(struct running *r, struct reel_error *err)
{
	struct run_result *res = r->result;
	int64_t start = reel_now_ns(), worked_ns, ns;

	if (checkpoints_write(r->checkpoints, &worked_ns, err))
		return -1;
	ns = reel_now_ns() - start;
	res->checkpoint_ns += ns;
	res->time.storage_ns += ns - worked_ns;
	res->time.decode_ns += worked_ns;
	return 0;
}

/* A step of the evaluation: its time counts, it is in no table. */
static int evaluation_step(struct running *r, uint64_t reader, uint64_t *random,
			   struct reel_error *err)
{
	struct reader_progress before = readers_progress(r->evaluators, reader);
	struct run_times *t = &r->result->time;
	int64_t start = reel_now_ns();
	struct reader_batch batch;

	if (readers_take(r->evaluators, reader, &batch, err))
		return -1;
	split_wait(t, reel_now_ns() - start, before,
		   readers_progress(r->evaluators, reader));
	if (batch.samples)
		t->compute_ns +=
			work_spend(quantiles_at(&r->w->evaluation.step_ns,
						random_share(random)),
				   r->w->compute.on);
	return 0;
}

static int evaluate(struct running *r, struct reel_error *err)
{
	uint64_t steps = schedule_steps(&r->evaluation);
	uint64_t number = r->evaluations++;
	uint64_t random = (uint64_t)r->w->pipeline.seed + number;
	int64_t start = reel_now_ns();

	io_begin_span(&r->result->io, REEL_SPAN_EVAL, (int64_t)number);
	readers_epoch(r->evaluators, 0);
	/* Ranks that read together stop together: after it. */
	for (uint64_t i = 0; i < steps; i++) {
		if (stop_signal() && !r->w->access.collective)
			break;
		if (evaluation_step(r, i % r->evaluation.readers, &random, err))
			return -1;
	}
	if (end_epoch(r, r->evaluators, r->evaluation.readers, err))
		return -1;
	io_end_span(&r->result->io, REEL_SPAN_EVAL);
	r->result->evaluation_ns += reel_now_ns() - start;
	return 0;
}

static int run_epoch(struct running *r, uint32_t epoch, struct reel_error *err)
{
	const struct workload_checkpoint *c = &r->w->checkpoint;
	struct run_epoch *e = &r->result->epochs[epoch];
	uint64_t steps = steps_of_epoch(r);
	int64_t start = reel_now_ns(), before_ns = r->result->evaluation_ns;
	bool saved = false; /* after the last step */

	r->turn = 0;
	io_begin_span(&r->result->io, REEL_SPAN_EPOCH, epoch);
	readers_epoch(r->readers, epoch);
	for (uint64_t i = 0; i < steps; i++) {
		uint64_t done = r->result->steps_n + 1;

		saved = c->every_steps && done % (uint64_t)c->every_steps == 0;
		if (take_step(r, epoch, saved, err))
			return -1;
		reel_progress_at(&r->progress, r->result->samples);
		if (stopped(r))
			break;
		if (evaluates_after(r, r->result->steps_n) && evaluate(r, err))
			return -1;
	}
	if (!saved && !r->result->stopped && saves_at_end(r, epoch, false) &&
	    save_at_end(r, err))
		return -1;
	e->wall_ns =
		reel_now_ns() - start - (r->result->evaluation_ns - before_ns);
	io_end_span(&r->result->io, REEL_SPAN_EPOCH);
	return end_epoch(r, r->readers, r->schedule.readers, err);
}

/* All epochs. The number that began is in the result. */
static int run_epochs(struct running *r, struct reel_error *err)
{
	struct run_result *res = r->result;
	uint64_t all = (uint64_t)r->w->total_steps;

	for (uint32_t epoch = 0; epoch < (uint32_t)r->w->epochs; epoch++) {
		res->epochs_n = epoch + 1;
		if (run_epoch(r, epoch, err))
			return -1;
		if (!res->stopped && evaluates(r, epoch) &&
		    !evaluates_after(r, res->steps_n) && evaluate(r, err))
			return -1;
		if (!res->stopped && saves_at_end(r, epoch, true) &&
		    save_at_end(r, err))
			return -1;
		if (res->stopped || (all && res->steps_n >= all))
			break;
	}
	return 0;
}

/* --- data that stays in memory -------------------------------------------- */

/* Make the plan by which readers read @w. The caller adds the schedule. */
static struct reader_plan plan_of(const struct running *r,
				  const struct workload *w)
{
	return (struct reader_plan){.w = w,
				    .format = access_reader(w),
				    .comm = r->comm,
				    .root = r->options->data,
				    .null = r->options->null,
				    .log = r->options->log};
}

/* Read @part of the data set whole: waits of the run before its first step. */
static int preload_part(struct running *r, enum dataset_part part,
			struct reel_error *err)
{
	struct workload once = *r->w;
	struct reader_plan plan = plan_of(r, &once);
	struct reader_batch batch = {.end = false};
	struct readers *readers;
	int64_t start = reel_now_ns();
	struct reader_progress done;
	int rc;

	once.pipeline.readers = 0;
	once.pipeline.order = WORKLOAD_SEQUENTIAL;
	once.pipeline.repeats = 1;
	once.pipeline.drop_last = false;
	once.pipeline.in_memory = WORKLOAD_NOTHING;
	once.preprocess.sample_ns.n = 0;
	schedule_init(&plan.schedule, &once, part, true, 0, 1);
	if (!schedule_steps(&plan.schedule))
		return 0;
	if (readers_new(&readers, &plan, err))
		return -1;
	readers_epoch(readers, 0);
	do
		rc = readers_take(readers, 0, &batch, err);
	while (!rc && !batch.end && !stop_signal());
	if (readers_end_epoch(readers, rc ? NULL : err))
		rc = -1;
	done = readers_progress(readers, 0);
	split_wait(&r->result->time, reel_now_ns() - start,
		   (struct reader_progress){0, 0}, done);
	readers_free(readers, &r->result->io);
	return rc;
}

/* Each rank has the whole data set in its memory. */
static int preload(struct running *r, struct reel_error *err)
{
	if (r->w->pipeline.in_memory != WORKLOAD_PRELOADED || !r->w->epochs)
		return 0;
	return preload_part(r, DATASET_TRAIN, err) ||
	       (workload_evaluates(r->w) &&
		preload_part(r, DATASET_EVALUATION, err));
}

/* --- around it ------------------------------------------------------------ */

/* A file with one sample is a sample: any order of them will do. */
static void begin_schedule(const struct running *r, struct reader_plan *plan,
			   enum dataset_part part)
{
	int64_t each = part == DATASET_TRAIN
			       ? r->w->dataset.samples_per_file
			       : r->w->evaluation.samples_per_file;

	schedule_init(&plan->schedule, r->w, part,
		      access_any_order(r->w) || each == 1,
		      (uint64_t)r->comm->rank, (uint64_t)r->comm->size);
}

static int begin(struct running *r, struct reel_error *err)
{
	const struct workload *w = r->w;
	struct reader_plan plan = plan_of(r, w);
	struct reader_plan second = plan;

	r->evaluated = *w;
	if (w->evaluation.sample_ns.n)
		r->evaluated.preprocess.sample_ns = w->evaluation.sample_ns;
	second.w = &r->evaluated;
	if (!plan.format)
		return reel_fail(err, REEL_E_USAGE,
				 "this build has no format '%s'",
				 workload_format_name(w->dataset.format));
	if (access_check(w, r->options->data, r->comm, err))
		return -1;
	if (w->pipeline.start_once && !w->access.collective)
		plan.ahead_epochs = (uint64_t)w->epochs;
	begin_schedule(r, &plan, DATASET_TRAIN);
	begin_schedule(r, &second, DATASET_EVALUATION);
	r->schedule = plan.schedule;
	r->evaluation = second.schedule;
	if (w->epochs && !schedule_steps(&r->schedule))
		return reel_fail(
			err, REEL_E_USAGE,
			"pipeline.drop_last: no step is left: %llu samples in "
			"%llu files are too few for a batch of %llu on each of "
			"%d ranks",
			(unsigned long long)r->schedule.data.samples,
			(unsigned long long)r->schedule.data.files,
			(unsigned long long)r->schedule.batch, r->comm->size);
	work_steps_begin(&r->compute, &w->compute, (uint64_t)w->pipeline.seed);
	r->result->epochs = reel_alloc((size_t)w->epochs + 1,
				       sizeof(*r->result->epochs), err);
	r->gradient_n = (int)(w->synchronise.bytes / 8) + 1;
	r->gradient = reel_alloc((size_t)r->gradient_n, 8, err);
	if (!r->result->epochs || !r->gradient ||
	    checkpoints_new(&r->checkpoints, w, r->options, r->comm, r->result,
			    err))
		return -1;
	if (w->epochs && workload_evaluates(w) &&
	    readers_new(&r->evaluators, &second, err))
		return -1;
	return w->epochs ? readers_new(&r->readers, &plan, err) : 0;
}

static int wait_for_checkpoint(struct running *r, struct reel_error *err)
{
	int64_t start = reel_now_ns(), wait_ns;
	int rc = checkpoints_wait(r->checkpoints, err);

	wait_ns = reel_now_ns() - start;
	r->result->checkpoint_ns += wait_ns;
	r->result->time.storage_ns += wait_ns;
	return rc;
}

static void finish(struct running *r, int64_t fetched)
{
	struct run_result *res = r->result;
	int64_t now;

	res->wall_ns = reel_now_ns() - r->start_ns;
	res->time.own_ns = own_ns(res->wall_ns, &res->time);
	readers_free(r->readers, &res->io);
	readers_free(r->evaluators, &res->io);
	free(r->gradient);
	now = run_fetched_bytes(); /* with those of the readers, which have ended */
	res->fetched_bytes = fetched < 0 || now < 0 ? -1 : now - fetched;
	checkpoints_free(r->checkpoints);
}

int run_workload(const struct workload *w, const struct run_options *options,
		 const struct comm *comm, struct run_result *result,
		 struct reel_error *err)
{
	struct running r = {
		.w = w, .options = options, .comm = comm, .result = result};
	int64_t fetched;
	int rc;

	memset(result, 0, sizeof(*result));
	result->io.log = run_log_stepping(options->log);
	work_begin();
	if (!options->null && cache_prepare(w, options->data, comm, err))
		return -1;
	fetched = run_fetched_bytes();
	rc = comm_agree(comm, begin(&r, err), err);
	r.start_ns = reel_now_ns();
	if (!rc && comm->rank == 0 && !options->quiet)
		reel_progress_start(&r.progress, w->name, "samples",
				    r.schedule.samples * (uint64_t)w->epochs /
					    (uint64_t)comm->size);
	if (!rc) {
		rc = preload(&r, err) || run_epochs(&r, err) ||
		     wait_for_checkpoint(&r, err) ||
		     checkpoints_alone(r.checkpoints, err);
		if (rc)
			comm->abandon();
	}
	reel_progress_stop(&r.progress);
	finish(&r, fetched);
	return rc ? -1 : 0;
}

void run_result_fini(struct run_result *result)
{
	free(result->steps);
	free(result->epochs);
	memset(result, 0, sizeof(*result));
}

double run_au_percent(const struct run_result *result, bool barriers)
{
	double compute = 0, wall = 0;

	for (uint64_t i = 1; i < result->steps_n; i++) {
		const struct run_step *s = &result->steps[i];

		compute += (double)s->time.compute_ns;
		wall += (double)(s->wall_ns - s->checkpoint_ns);
		if (!barriers)
			wall -= (double)s->time.barrier_ns;
	}
	return wall > 0 ? 100 * compute / wall : NAN;
}
