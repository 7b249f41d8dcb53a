/* SPDX-License-Identifier: MIT */
/* Views on the tables of several metrics: spread, layers, loader queues. */
#include "tests/unit/test_metric.h"

static const char views_sql[] =
#include "schemas/views.sql.inc"
	;
static const char loader_sql[] =
#include "schemas/metric_loader.sql.inc"
	;
static const char layer_sql[] =
#include "schemas/metric_layer.sql.inc"
	;
static const char spread_sql[] =
#include "schemas/metric_spread.sql.inc"
	;

static void create_views(struct job *j)
{
	job_sql(j, views_sql);
	job_sql(j, loader_sql);
	job_sql(j, spread_sql);
}

static void feed(struct job *j, uint32_t process, int64_t start_ns,
		 int64_t dur_ns, int64_t bytes)
{
	struct reel_event ev =
		moved(REEL_CALL_READ, start_ns, dur_ns, 0, bytes);

	ev.process = ev.thread = process;
	job_feed(j, ev);
}

/* Two main processes that read 100 and 300 bytes, a worker that reads none. */
static void spread(void)
{
	struct job j;

	job_begin(&j);
	create_views(&j);
	job_process(&j, 1, 0, "main", 1000);
	job_process(&j, 2, 0, "main", 1000);
	job_process(&j, 3, 1, "worker", 1000);
	job_file(&j, 1, "/a", "file");
	feed(&j, 1, 0, 10, 100);
	feed(&j, 2, 0, 10, 100);
	feed(&j, 2, 5, 20, 200); /* overlaps with the one before */
	job_finish(&j);

#define OF(column, figure)                                                     \
	job_ask(&j, "SELECT " column " FROM v_spread WHERE role = 'main' "     \
		    "AND figure = '" figure "'")
	is(OF("processes", "read_bytes"), 2, "processes of the group");
	is(OF("mean", "read_bytes"), 200, "mean");
	is(OF("min", "read_bytes"), 100, "min");
	is(OF("max", "read_bytes"), 300, "max");
	is(OF("most_pid", "read_bytes"), 102, "the process with the most");
	ok(fabs(OF("imbalance", "read_bytes") - 1.5) < 1e-12, "max over mean");
	is(OF("max", "io_ns"), 25, "I/O time is a union");
	is(OF("max", "sum_ns"), 30, "and beside it the sum");
	is(job_ask(&j, "SELECT max FROM v_spread WHERE role = 'worker' AND "
		       "figure = 'io_ns'"),
	   0, "no calls take no time");
	is(job_ask(&j, "SELECT imbalance FROM v_spread WHERE role = 'worker' "
		       "AND figure = 'reads'"),
	   -1, "nothing cannot be uneven");
	job_end(&j);

	job_begin(&j);
	create_views(&j);
	job_process(&j, 1, 0, "main", 1000);
	feed(&j, 1, 0, 0, 100); /* of a format without durations */
	job_finish(&j);
	is(OF("max", "io_ns"), -1, "unknown durations are no time of 0");
	is(OF("max", "read_bytes"), 100, "bytes are known");
	job_sql(&j, "UPDATE run SET events = 0");
	is(job_ask(&j, "SELECT count(*) FROM v_spread"), 0,
	   "no spread without events");
	job_end(&j);
#undef OF
}

static void layers(void)
{
	struct job j;

	job_begin(&j);
	job_sql(&j, layer_sql);
	job_process(&j, 1, 0, "main", 1000);
	job_feed(&j, moved(REEL_CALL_FREAD, 0, 5, 0, 7));
	job_feed(&j, moved(REEL_CALL_PREAD, 10, 5, 0, 100));
	job_feed(&j, moved(REEL_CALL_MPI_FILE_READ, 5, 20, 0, 100));
	job_finish(&j);
	is(job_ask(&j, "SELECT sum(read_bytes) FROM v_layer WHERE in_total"),
	   107, "a stream and POSIX are in the total, MPI-IO above is not");
	is(job_ask(&j, "SELECT read_bytes FROM v_layer WHERE layer = 'MPIIO'"),
	   100, "though it is shown");
	job_end(&j);

	job_begin(&j);
	job_sql(&j, layer_sql);
	job_process(&j, 1, 0, "main", 1000);
	job_feed(&j, moved(REEL_CALL_MPI_FILE_READ, 5, 20, 0, 100));
	job_finish(&j);
	is(job_ask(&j, "SELECT sum(read_bytes) FROM v_layer WHERE in_total"),
	   100, "without a layer below it is the total");
	job_end(&j);
}

/*
 * Two workers, four batches in a pass. Batch 1 (of the second worker) is ready
 * at 50, after batch 2 (at 40), which is early.
 */
static void loader(void)
{
	static const struct {
		uint32_t worker;
		int64_t start_ns, end_ns;
	} batch[] = {{2, 10, 20}, {2, 20, 40}, {3, 10, 50}, {3, 50, 60}};
	static const int64_t fetched_ns[] = {30, 55, 60, 70};
	struct job j;

	job_begin(&j);
	create_views(&j);
	job_process(&j, 1, 0, "main", 1000);
	job_process(&j, 2, 1, "worker", 1000);
	job_process(&j, 3, 1, "worker", 1000);
	job_span(&j, 1, REEL_SPAN_EPOCH, 0, 5, 100);
	for (int64_t i = 0; i < 4; i++) {
		job_span(&j, batch[i].worker, REEL_SPAN_PREPROCESS, -1,
			 batch[i].start_ns, batch[i].end_ns);
		job_span(&j, 1, REEL_SPAN_FETCH, i, fetched_ns[i] - 2,
			 fetched_ns[i]);
		job_span(&j, 1, REEL_SPAN_STEP, i, fetched_ns[i] - 2,
			 fetched_ns[i] + 3);
	}
	job_finish(&j);

	is(job_ask(&j, "SELECT batches FROM v_loader WHERE rank = 0"), 4,
	   "batches");
	is(job_ask(&j, "SELECT group_concat(number, '') FROM (SELECT number "
		       "FROM v_worker_batch WHERE worker = 3 ORDER BY 1)"),
	   13, "the second worker makes batches 1 and 3");
	is(job_ask(&j, "SELECT early FROM v_loader"), 1, "one is early");
	is(job_ask(&j, "SELECT number FROM v_worker_batch WHERE early"), 2,
	   "the one that was ready before batch 1");
	/* 20: 1, 30: 0, 40: 1, 50: 2, 55: 1, 60: 2 and 1, 70: 0. */
	is(job_ask(&j, "SELECT max_depth FROM v_loader"), 2, "depth");
	ok(fabs(job_ask(&j, "SELECT mean_depth FROM v_loader") -
		(10 * 1 + 10 * 0 + 10 * 1 + 5 * 2 + 5 * 1 + 10 * 1) / 50.) <
		   1e-12,
	   "its mean over time");
	ok(fabs(job_ask(&j, "SELECT empty_share FROM v_loader") - 0.2) < 1e-12,
	   "it is empty from 30 to 40");
	ok(job_ask(&j, "SELECT headroom > 0 AND abs(headroom - "
		       "supply_batches_per_s / demand_batches_per_s) < 1e-9 "
		       "FROM v_headroom") == 1,
	   "the headroom is supply over demand");
	ok(job_ask(&j, "SELECT unready_share FROM v_loader") == 0,
	   "each fetch found its batch ready");
	/* Batch 3 is ready at 60; batches 0 and 1 are the first of a worker. */
	job_sql(&j, "UPDATE span SET start_ns = 56, dur_ns = 14 "
		    "WHERE name = 'fetch' AND detail = 3");
	ok(fabs(job_ask(&j, "SELECT unready_share FROM v_loader") - 4 / 16.) <
		   1e-12,
	   "the last one waited 4 ns for it, and 12 ns more");
	job_sql(&j, "UPDATE span SET detail = NULL WHERE name = 'fetch'");
	ok(fabs(job_ask(&j, "SELECT empty_share FROM v_loader") - 0.2) < 1e-12,
	   "fetches without numbers take batches, too");
	/* The loop is left: its last fetch ends at 60, and batch 3 is ready at 80. */
	job_sql(&j, "DELETE FROM span WHERE name = 'fetch' AND start_ns = 56");
	job_sql(&j, "UPDATE span SET dur_ns = 30 "
		    "WHERE name = 'preprocess' AND start_ns = 50");
	ok(fabs(job_ask(&j, "SELECT mean_depth FROM v_loader") -
		(10 * 1 + 10 * 0 + 10 * 1 + 5 * 2 + 5 * 1) / 40.) < 1e-12,
	   "the depth is measured until the last fetch");
	ok(fabs(job_ask(&j, "SELECT empty_share FROM v_loader") - 0.25) < 1e-12,
	   "and so is the time with an empty queue");
	job_sql(&j, "UPDATE step SET steps = 2");
	is(job_ask(&j, "SELECT count(*) FROM v_loader"), 0,
	   "sums of spans say nothing about order");
	job_end(&j);

	job_begin(&j);
	create_views(&j);
	job_finish(&j);
	is(job_ask(&j, "SELECT count(*) FROM v_loader"), 0, "no workers");
	is(job_ask(&j, "SELECT count(*) FROM v_headroom"), 0, "no headroom");
	job_end(&j);
}

/* A training that makes its batches itself, and two evaluations with a worker. */
static void evaluation(void)
{
	struct job j;

	job_begin(&j);
	create_views(&j);
	job_process(&j, 1, 0, "main", 1000);
	job_process(&j, 2, 1, "worker", 1000);
	job_process(&j, 3, 1, "worker", 1000);
	for (int64_t i = 0; i < 2; i++) {
		int64_t at_ns = 200 * i;

		job_span(&j, 1, REEL_SPAN_EPOCH, i, at_ns, at_ns + 100);
		job_span(&j, 1, REEL_SPAN_FETCH, i, at_ns, at_ns + 20);
		job_span(&j, 1, REEL_SPAN_STEP, i, at_ns, at_ns + 100);
		job_span(&j, 1, REEL_SPAN_EVAL, i, at_ns + 100, at_ns + 200);
		job_span(&j, (uint32_t)(2 + i), REEL_SPAN_PREPROCESS, -1,
			 at_ns + 100, at_ns + 150);
		job_span(&j, (uint32_t)(2 + i), REEL_SPAN_PREPROCESS, -1,
			 at_ns + 200, at_ns + 250);
	}
	job_finish(&j);
	is(job_ask(&j, "SELECT group_concat(worker, '') FROM "
		       "evaluation_worker WHERE process_id = 1"),
	   23, "workers that begin in an evaluation are its workers");
	is(job_ask(&j, "SELECT workers IS NULL AND worker_busy_share IS NULL "
		       "AND headroom IS NULL FROM v_overlap"),
	   1, "the training has none");
	is(job_ask(&j, "SELECT count(*) FROM v_loader"), 0,
	   "and no queue of batches");
	job_end(&j);
}

int main(void)
{
	spread();
	layers();
	loader();
	evaluation();
	return done();
}
