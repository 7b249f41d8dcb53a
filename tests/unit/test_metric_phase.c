/* SPDX-License-Identifier: MIT */
/* Phases of TimeLogger: sums, unions and shares of spans. */
#include "tests/unit/test_metric.h"

static uint32_t spans;

static void phase(struct job *j, uint32_t process, const char *name,
		  int64_t start_ns, int64_t dur_ns)
{
	struct reel_span_event sp = {
		.start_ns = start_ns,
		.dur_ns = dur_ns,
		.span_id = ++spans,
		.process = process,
		.thread = process,
		.kind = REEL_SPAN_USER,
		.count = 1,
		.detail = -1,
		.name = name,
	};

	for (int i = 0; reel_metrics[i]; i++)
		if (reel_metrics[i]->span &&
		    reel_metrics[i]->span(j->state[i], &sp, &j->err))
			ok(0, "span %s: %s", reel_metrics[i]->name,
			   j->err.text);
}

static double of(struct job *j, const char *column, const char *name)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT %s FROM v_phase WHERE phase = '%s'",
		 column, name);
	return job_ask(j, sql);
}

/* Rank 1 reads 30 of 400 ns of training, rank 2 10 of 600, partly at a time. */
static void shares(void)
{
	struct job j;

	job_begin(&j);
	job_process(&j, 1, 0, "main", 1000);
	job_process(&j, 2, 0, "main", 1000);
	phase(&j, 1, "read", 100, 10);
	phase(&j, 2, "read", 105, 10);
	phase(&j, 1, "read", 200, 20);
	phase(&j, 1, "load", 100, 50);
	phase(&j, 1, "training", 100, 400);
	phase(&j, 2, "training", 100, 600);
	phase(&j, 1, "validation", 0, 1000); /* no phase */
	job_finish(&j);

	is(of(&j, "spans", "read"), 3, "spans of all ranks");
	is(of(&j, "sum_ns", "read"), 40, "the sum is not merged");
	is(of(&j, "union_ns", "read"), 35, "the union is");
	ok(fabs(of(&j, "share", "read") - 40. / 1000) < 1e-12,
	   "TimeLogger's share: sum over sum");
	ok(fabs(of(&j, "union_share", "read") - 35. / 600) < 1e-12,
	   "the share of the unions is another number");
	ok(fabs(of(&j, "share", "load") - 50. / 1000) < 1e-12, "of load");
	is(of(&j, "processes", "read"), 2, "processes that have the phase");
	is(of(&j, "process_mean_ns", "read"), 20, "mean of a process");
	is(of(&j, "process_min_ns", "read"), 10, "least");
	is(of(&j, "process_max_ns", "read"), 30, "most");
	is(job_ask(&j, "SELECT count(*) FROM v_phase"), 3, "no other phase");
	job_end(&j);
}

/* Steps stand in for training only where no span is named so. */
static void stand_ins(void)
{
	struct job j;

	job_begin(&j);
	job_process(&j, 1, 0, "main", 1000);
	job_span(&j, 1, REEL_SPAN_STEP, 1, 100, 200);
	job_span(&j, 1, REEL_SPAN_PREPROCESS, -1, 110, 130);
	job_finish(&j);
	is(of(&j, "sum_ns", "training"), 100, "a step is training");
	is(of(&j, "sum_ns", "load"), 20, "preprocess is load");
	is(of(&j, "sum_ns", "read"), -2, "no read phase is made up");
	job_end(&j);

	job_begin(&j);
	job_process(&j, 1, 0, "main", 1000);
	job_span(&j, 1, REEL_SPAN_STEP, 1, 100, 200);
	phase(&j, 1, "training", 100, 90);
	phase(&j, 1, "read", 100, 9);
	job_finish(&j);
	is(of(&j, "sum_ns", "training"), 90, "a step does not count twice");
	ok(fabs(of(&j, "share", "read") - 0.1) < 1e-12, "its share");
	job_end(&j);
}

static void edges(void)
{
	struct job j;

	job_begin(&j);
	job_finish(&j);
	is(job_ask(&j, "SELECT count(*) FROM v_phase"), 0, "an empty run");
	job_end(&j);

	job_begin(&j);
	job_process(&j, 1, 0, "main", 1000);
	job_feed(&j, moved(REEL_CALL_READ, 1, 2, 0, 10)); /* a call, no phase */
	phase(&j, 1, "read", 5, 7);
	job_finish(&j);
	is(of(&j, "share IS NULL", "read"), 1, "no share without training");
	is(of(&j, "sum_ns", "read"), 7, "one span");
	job_end(&j);

	job_begin(&j);
	job_process(&j, 1, 0, "main", 1000);
	phase(&j, 1, "training", INT64_MAX, INT64_MAX);
	phase(&j, 1, "read", -5, INT64_MIN);
	job_finish(&j);
	is(of(&j, "sum_ns", "read"), 0, "times of a damaged run are limited");
	job_end(&j);
}

/* A row of the spreadsheets: epoch, rank, component, start and duration in
 * seconds. */
static int64_t feed_csv(struct job *j, const char *nodes)
{
	const char *data = getenv("IOREEL_DATA");
	char cmd[4096], line[256], component[32];
	int64_t n = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd),
		 "gzip -dc '%s/hepcnn/hepcnn_%s.csv.gz' 2>/dev/null", data,
		 nodes);
	f = popen(cmd, "r");
	while (f && fgets(line, sizeof(line), f)) {
		double start_s, dur_s;
		int epoch, rank;

		if (sscanf(line, "%d,%d,%31[^,],%lf,%lf", &epoch, &rank,
			   component, &start_s, &dur_s) != 5 ||
		    rank < 0)
			continue;
		phase(j, (uint32_t)rank + 1,
		      strcmp(component, "train_iter") ? component : "training",
		      llround(start_s * 1e9), llround(dur_s * 1e9));
		n++;
	}
	if (f)
		pclose(f);
	return n;
}

/* The shares that were published for HEPCNN. */
static void published(void)
{
	static const struct {
		const char *nodes;
		double percent, read_s;
	} t[] = {{"64", 3.60, 91.205},
		 {"128", 3.08, 41.874},
		 {"1024", 1.44, 2.539}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		double nodes = strtod(t[i].nodes, NULL);
		struct job j;

		job_begin(&j);
		if (!getenv("IOREEL_DATA") || !feed_csv(&j, t[i].nodes)) {
			ok(1, "HEPCNN, %s nodes # SKIP not there", t[i].nodes);
			job_finish(&j);
			job_end(&j);
			continue;
		}
		job_finish(&j);
		is(of(&j, "processes", "read"), nodes, "ranks that read");
		ok(fabs(100 * of(&j, "share", "read") - t[i].percent) < 0.005,
		   "%s nodes: %.3f %%, published %.2f", t[i].nodes,
		   100 * of(&j, "share", "read"), t[i].percent);
		ok(fabs(of(&j, "process_mean_ns", "read") / 1e9 - t[i].read_s) <
			   0.0006,
		   "mean of a rank: %.3f s", t[i].read_s);
		job_end(&j);
	}
}

int main(void)
{
	published();
	shares();
	stand_ins();
	edges();
	return done();
}
