/* SPDX-License-Identifier: MIT */
/* The result of a key-value cache. */
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "lib/error.h"
#include "lib/json.h"
#include "lib/num.h"

#include "replay/comm/comm.h"
#include "replay/kvcache/kvcache.h"
#include "replay/pipeline/result.h"
#include "replay/pipeline/run.h"
#include "replay/workload/workload.h"

/* --- over all ranks ------------------------------------------------------- */

static void reduce_latency(struct latency *l, double *p95_ns,
			   const struct comm *comm)
{
	double mine = latency_at(l, 0.95);
	int64_t longest = isfinite(mine) ? (int64_t)mine : -1;

	comm->allreduce(&longest, 1, COMM_MAX);
	if (p95_ns)
		*p95_ns = longest < 0 ? NAN : (double)longest;
	comm->allreduce((int64_t *)l->bin, LATENCY_BINS, COMM_SUM);
	comm->allreduce((int64_t *)&l->n, 1, COMM_SUM);
}

void kvcache_reduce(struct kvcache_result *result, const struct comm *comm)
{
	for (uint32_t i = 0; i < result->trials; i++) {
		struct kvcache_trial *t = &result->trial[i];

		comm->allreduce(&t->wall_ns, 1, COMM_MAX);
		comm->allreduce(&t->in_flight, 1, COMM_MAX);
		comm->allreduce((int64_t *)&t->n,
				sizeof(t->n) / sizeof(int64_t), COMM_SUM);
		reduce_latency(&t->request, NULL, comm);
		reduce_latency(&t->read, &t->read_p95_ns, comm);
		reduce_latency(&t->write, &t->write_p95_ns, comm);
		reduce_latency(&t->sync, &t->sync_p95_ns, comm);
	}
}

/* --- scores --------------------------------------------------------------- */

static double rate(int64_t of, int64_t ns)
{
	return ns > 0 ? (double)of / ((double)ns / 1e9) : NAN;
}

static double read_rate(const struct kvcache_trial *t)
{
	return rate(t->n.read_bytes, t->wall_ns);
}

static double write_rate(const struct kvcache_trial *t)
{
	return rate(t->n.written_bytes, t->wall_ns);
}

static double token_rate(const struct kvcache_trial *t)
{
	return rate(t->n.tokens, t->wall_ns);
}

/* By the time in calls on storage, of all users. */
static double storage_token_rate(const struct kvcache_trial *t)
{
	return rate(t->n.tokens, t->n.storage_ns);
}

static struct kvcache_score score(const struct kvcache_result *r,
				  double (*of)(const struct kvcache_trial *))
{
	double least = INFINITY, most = 0, sum = 0;

	for (uint32_t i = 0; i < r->trials; i++) {
		double v = of(&r->trial[i]);

		least = fmin(least, v);
		most = fmax(most, v);
		sum += v;
	}
	sum /= r->trials ? r->trials : NAN;
	return (struct kvcache_score){sum,
				      sum > 0 ? (most - least) / sum : NAN};
}

struct kvcache_score kvcache_read_rate(const struct kvcache_result *result)
{
	return score(result, read_rate);
}

struct kvcache_score kvcache_write_rate(const struct kvcache_result *result)
{
	return score(result, write_rate);
}

/* --- JSON ----------------------------------------------------------------- */

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *latency(const struct latency *l)
{
	return json_pack("{s:o, s:o, s:o}", "p50_us",
			 number(latency_at(l, 0.5) / 1e3), "p95_us",
			 number(latency_at(l, 0.95) / 1e3), "p99_us",
			 number(latency_at(l, 0.99) / 1e3));
}

static json_t *trial(const struct kvcache_trial *t)
{
	const struct kvcache_counts *n = &t->n;

	return json_pack(
		"{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
		"s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"wall_s", json_real((double)t->wall_ns / 1e9), "in_flight_most",
		(json_int_t)t->in_flight, "requests", (json_int_t)n->requests,
		"tokens", (json_int_t)n->tokens, "reads", (json_int_t)n->reads,
		"read_bytes", (json_int_t)n->read_bytes, "writes",
		(json_int_t)n->writes, "written_bytes",
		(json_int_t)n->written_bytes, "memory_reads",
		(json_int_t)n->memory_reads, "lost_reads",
		(json_int_t)n->lost_reads, "evictions",
		(json_int_t)n->evictions, "read_bytes_per_s",
		number(read_rate(t)), "write_bytes_per_s",
		number(write_rate(t)), "tokens_per_s", number(token_rate(t)),
		"storage_tokens_per_s", number(storage_token_rate(t)),
		"request_latency", latency(&t->request), "read_latency",
		latency(&t->read), "write_latency", latency(&t->write),
		"fsync_latency", latency(&t->sync));
}

static json_t *score_doc(struct kvcache_score s)
{
	return json_pack("{s:o, s:o}", "mean", number(s.mean), "spread",
			 number(s.spread));
}

enum of { READ, WRITE, SYNC };

/* The longest of all ranks and trials. */
static double worst(const struct kvcache_result *r, enum of what)
{
	double most = NAN;

	for (uint32_t i = 0; i < r->trials; i++) {
		const struct kvcache_trial *t = &r->trial[i];

		most = fmax(most, what == READ	  ? t->read_p95_ns
				  : what == WRITE ? t->write_p95_ns
						  : t->sync_p95_ns);
	}
	return most;
}

int kvcache_json(const struct workload *w, const struct run_result *run,
		 const struct kvcache_result *result, int ranks,
		 struct reel_error *err)
{
	json_t *doc = run_result_document(w, run, ranks),
	       *trials = json_array();

	for (uint32_t i = 0; i < result->trials; i++)
		json_array_append_new(trials, trial(&result->trial[i]));
	json_object_set_new(
		doc, "kvcache",
		json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			  "users", (json_int_t)w->kvcache.users,
			  "read_bytes_per_s",
			  score_doc(score(result, read_rate)),
			  "write_bytes_per_s",
			  score_doc(score(result, write_rate)), "tokens_per_s",
			  score_doc(score(result, token_rate)),
			  "storage_tokens_per_s",
			  score_doc(score(result, storage_token_rate)),
			  "read_p95_us", number(worst(result, READ) / 1e3),
			  "write_p95_us", number(worst(result, WRITE) / 1e3),
			  "fsync_p95_us", number(worst(result, SYNC) / 1e3),
			  "trials", trials));
	return reel_json_print(doc, err);
}

/* --- text ----------------------------------------------------------------- */

static void print_latency(const char *name, const struct latency *l)
{
	char a[REEL_NUM], b[REEL_NUM], c[REEL_NUM];

	if (l->n)
		printf("  %-8s P50 %s, P95 %s, P99 %s\n", name,
		       reel_num_time(a, latency_at(l, 0.5)),
		       reel_num_time(b, latency_at(l, 0.95)),
		       reel_num_time(c, latency_at(l, 0.99)));
}

static void print_trial(uint32_t i, const struct kvcache_trial *t)
{
	char a[REEL_NUM], b[REEL_NUM], c[REEL_NUM], d[REEL_NUM];

	printf("trial %u: %s requests in %s, %.4g tokens/s\n", i + 1,
	       reel_num_count(a, t->n.requests),
	       reel_num_time(b, (double)t->wall_ns), token_rate(t));
	printf("  read     %s objects, %s, %s\n", reel_num_count(a, t->n.reads),
	       reel_num_bytes(b, (double)t->n.read_bytes),
	       reel_num_rate(c, read_rate(t)));
	printf("  written  %s objects, %s, %s; %s removed for new ones\n",
	       reel_num_count(a, t->n.writes),
	       reel_num_bytes(b, (double)t->n.written_bytes),
	       reel_num_rate(c, write_rate(t)),
	       reel_num_count(d, t->n.evictions));
	print_latency("request", &t->request);
	print_latency("read", &t->read);
	print_latency("write", &t->write);
	print_latency("fsync", &t->sync);
}

int kvcache_print(const struct workload *w, const struct run_result *run,
		  const struct kvcache_result *result, int ranks)
{
	struct kvcache_score read = score(result, read_rate);
	struct kvcache_score write = score(result, write_rate);
	char a[REEL_NUM], b[REEL_NUM], c[REEL_NUM], d[REEL_NUM];

	printf("%s: %s users of %d rank%s, %s\n", w->name,
	       reel_num_count(a, w->kvcache.users * ranks), ranks,
	       ranks == 1 ? "" : "s", reel_num_time(b, (double)run->wall_ns));
	if (run->stopped)
		printf("stopped by a signal: these are the requests until "
		       "then\n");
	for (uint32_t i = 0; i < result->trials; i++)
		print_trial(i, &result->trial[i]);
	printf("mean     read %s (spread %s), written %s (spread %s)\n",
	       reel_num_rate(a, read.mean), reel_num_percent(b, read.spread),
	       reel_num_rate(c, write.mean), reel_num_percent(d, write.spread));
	return 0;
}
