/* SPDX-License-Identifier: MIT */
/* The result of a run. */
#include "replay/pipeline/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "lib/error.h"
#include "lib/json.h"
#include "lib/num.h"

#include "replay/comm/comm.h"
#include "replay/pipeline/run.h"
#include "replay/workload/workload.h"

#define FORMAT "ioreel-result-1"
#define STEPS_MOST 10000 /* in the document */

/* --- over all ranks ------------------------------------------------------- */

static void sum_io(struct io *io, const struct comm *comm)
{
	int64_t v[IO_LATENCY_BINS];
	int64_t counts[] = {
		(int64_t)io->read_calls,  (int64_t)io->read_bytes,
		(int64_t)io->write_calls, (int64_t)io->write_bytes,
		(int64_t)io->other_calls, io->storage_ns,
	};

	comm->allreduce(counts, sizeof(counts) / sizeof(counts[0]), COMM_SUM);
	io->read_calls = (uint64_t)counts[0];
	io->read_bytes = (uint64_t)counts[1];
	io->write_calls = (uint64_t)counts[2];
	io->write_bytes = (uint64_t)counts[3];
	io->other_calls = (uint64_t)counts[4];
	io->storage_ns = counts[5];
	for (int i = 0; i < IO_LATENCY_BINS; i++)
		v[i] = (int64_t)io->latency[i];
	comm->allreduce(v, IO_LATENCY_BINS, COMM_SUM);
	for (int i = 0; i < IO_LATENCY_BINS; i++)
		io->latency[i] = (uint64_t)v[i];
}

int run_result_reduce(struct run_result *r, const struct comm *comm,
		      struct reel_error *err)
{
	int64_t known = r->fetched_bytes >= 0, longest = r->wall_ns;
	int64_t sums[] = {(int64_t)r->samples, (int64_t)r->checkpoint_bytes,
			  r->fetched_bytes,    r->time.storage_ns,
			  r->time.decode_ns,   r->time.queue_ns,
			  r->time.compute_ns,  r->time.barrier_ns,
			  r->time.own_ns,      r->epochs_n > 0 && !r->samples};
	int64_t *t = sums + 3;

	/* A rank that ends early waits for the last: else the times would not
	 * sum to the wall time. */
	comm->allreduce(&longest, 1, COMM_MAX);
	t[4] += longest - r->wall_ns;
	r->wall_ns = longest;
	comm->allreduce(&known, 1, COMM_MIN);
	comm->allreduce(sums, sizeof(sums) / sizeof(sums[0]), COMM_SUM);
	r->samples = (uint64_t)sums[0];
	r->checkpoint_bytes = (uint64_t)sums[1];
	r->fetched_bytes = known ? sums[2] : -1;
	r->idle_ranks = r->stopped ? 0 : (int)sums[9];
	for (int i = 0; i < 6; i++)
		t[i] /= comm->size;
	r->time = (struct run_times){t[0], t[1], t[2], t[3], t[4], t[5]};
	sum_io(&r->io, comm);
	for (uint32_t i = 0; i < r->epochs_n; i++) {
		struct run_epoch *e = &r->epochs[i];
		int64_t v[] = {(int64_t)e->samples, (int64_t)e->checksum};

		comm->allreduce(v, 2, COMM_SUM);
		comm->allreduce(&e->wall_ns, 1, COMM_MAX);
		e->samples = (uint64_t)v[0];
		e->checksum = (uint64_t)v[1];
	}
	return 0;
}

/* --- JSON ----------------------------------------------------------------- */

static json_t *seconds(int64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *maybe_real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *times(const struct run_times *t)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "storage_s",
			 seconds(t->storage_ns), "decode_s",
			 seconds(t->decode_ns), "queue_s", seconds(t->queue_ns),
			 "compute_s", seconds(t->compute_ns), "barrier_s",
			 seconds(t->barrier_ns), "own_s", seconds(t->own_ns));
}

/* The latency at @share of the reads: the middle of its bin. */
static double latency_ns(const struct io *io, double share)
{
	uint64_t want = (uint64_t)ceil(share * (double)io->read_calls),
		 seen = 0;

	for (int i = 0; i < IO_LATENCY_BINS; i++) {
		seen += io->latency[i];
		if (seen && seen >= want)
			return exp2(i / 8) * (1 + (i % 8 + 0.5) / 8);
	}
	return NAN;
}

static json_t *latency(const struct io *io)
{
	static const struct {
		const char *name;
		double share;
	} of[] = {{"p50_us", 0.5},
		  {"p95_us", 0.95},
		  {"p99_us", 0.99},
		  {"p999_us", 0.999}};
	json_t *doc = json_object();

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		json_object_set_new(
			doc, of[i].name,
			maybe_real(latency_ns(io, of[i].share) / 1e3));
	return doc;
}

static json_t *epochs(const struct run_result *r)
{
	json_t *list = json_array();
	char checksum[32], order[32];

	for (uint32_t i = 0; i < r->epochs_n; i++) {
		const struct run_epoch *e = &r->epochs[i];

		snprintf(checksum, sizeof(checksum), "%016llx",
			 (unsigned long long)e->checksum);
		snprintf(order, sizeof(order), "%016llx",
			 (unsigned long long)e->order);
		json_array_append_new(
			list, json_pack("{s:o, s:I, s:I, s:s, s:s}", "wall_s",
					seconds(e->wall_ns), "steps",
					(json_int_t)e->steps, "samples",
					(json_int_t)e->samples, "checksum",
					checksum, "order", order));
	}
	return list;
}

static json_t *steps(const struct run_result *r)
{
	json_t *list = json_array();
	uint64_t n = r->steps_n < STEPS_MOST ? r->steps_n : STEPS_MOST;

	for (uint64_t i = 0; i < n; i++) {
		const struct run_step *s = &r->steps[i];

		json_array_append_new(
			list,
			json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "epoch",
				  (json_int_t)s->epoch, "samples",
				  (json_int_t)s->samples, "start_s",
				  seconds(s->start_ns), "wall_s",
				  seconds(s->wall_ns), "checkpoint_s",
				  seconds(s->checkpoint_ns), "time",
				  times(&s->time)));
	}
	return list;
}

static double cache_share(const struct run_result *r)
{
	double share;

	if (r->fetched_bytes < 0 || !r->io.read_bytes)
		return NAN;
	share = 1 - (double)r->fetched_bytes / (double)r->io.read_bytes;
	return share > 0 ? share : 0;
}

/* Did the run read, in the steps of the recorded job, whose reads are known? */
static bool is_as_job(const struct workload *w, const struct run_result *r,
		      int ranks)
{
	return !r->stopped && r->io.read_calls && w->job.steps > 0 &&
	       w->job.read_bytes > 0 && w->job.read_calls > 0 &&
	       w->job.steps == (int64_t)r->steps_n &&
	       (w->ranks > 1 ? w->ranks : 1) == ranks;
}

static json_t *job_document(const struct workload *w,
			    const struct run_result *r, int ranks)
{
	if (!is_as_job(w, r, ranks))
		return json_null();
	return json_pack("{s:I, s:I}", "read_bytes",
			 (json_int_t)w->job.read_bytes, "read_calls",
			 (json_int_t)w->job.read_calls);
}

json_t *run_result_document(const struct workload *w,
			    const struct run_result *r, int ranks)
{
	double wall_s = (double)r->wall_ns / 1e9;

	return json_pack(
		"{s:s, s:s, s:i, s:b, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, "
		"s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}",
		"format", FORMAT, "workload", w->name, "ranks", ranks,
		"complete", !r->stopped, "au_percent",
		maybe_real(run_au_percent(r, false)), "au_with_barrier_percent",
		maybe_real(run_au_percent(r, true)), "samples_per_s",
		maybe_real(wall_s > 0 ? (double)r->samples / wall_s : NAN),
		"samples", (json_int_t)r->samples, "steps",
		(json_int_t)r->steps_n, "read_bytes",
		(json_int_t)r->io.read_bytes, "read_calls",
		(json_int_t)r->io.read_calls, "write_bytes",
		(json_int_t)r->io.write_bytes, "write_calls",
		(json_int_t)r->io.write_calls, "other_calls",
		(json_int_t)r->io.other_calls, "job", job_document(w, r, ranks),
		"wall_s", seconds(r->wall_ns), "time", times(&r->time),
		"cache_share", maybe_real(cache_share(r)), "read_latency",
		latency(&r->io), "evaluation_s", seconds(r->evaluation_ns),
		"checkpoints", (json_int_t)r->checkpoints, "checkpoint_s",
		seconds(r->checkpoint_ns), "epochs", epochs(r), "per_step",
		steps(r));
}

int run_result_json(const struct workload *w, const struct run_result *r,
		    int ranks, struct reel_error *err)
{
	return reel_json_print(run_result_document(w, r, ranks), err);
}

/* --- text ----------------------------------------------------------------- */

static void print_times(const struct run_times *t)
{
	int64_t wall_ns = t->storage_ns + t->decode_ns + t->queue_ns +
			  t->compute_ns + t->barrier_ns + t->own_ns;
	const struct {
		const char *name;
		int64_t ns;
	} part[] = {{"storage", t->storage_ns}, {"decode", t->decode_ns},
		    {"queue", t->queue_ns},	{"compute", t->compute_ns},
		    {"barrier", t->barrier_ns}, {"own", t->own_ns}};

	printf("time of a rank ");
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		char share[REEL_NUM];

		printf("%s%s %s", i ? ", " : "", part[i].name,
		       reel_num_percent(share, wall_ns > 0
						       ? (double)part[i].ns /
								 (double)wall_ns
						       : NAN));
	}
	putchar('\n');
}

/* The difference of @is to @was, as "-3 %", "2.1 times" or "equal". */
static const char *difference(char out[REEL_NUM], double is, double was)
{
	if (is == was)
		return "equal";
	if (is >= 2 * was)
		snprintf(out, REEL_NUM, "%.3g times", is / was);
	else
		snprintf(out, REEL_NUM, "%+.2g %%", 100 * (is - was) / was);
	return out;
}

/* Print the reads of the job beside those of the run, which differ where a value of
 * fit is wrong. */
static void print_job(const struct workload *w, const struct run_result *r,
		      int ranks)
{
	char a[REEL_NUM], b[REEL_NUM], c[REEL_NUM], d[REEL_NUM];

	if (!is_as_job(w, r, ranks))
		return;
	printf("the job read  %s in %s calls; this run: bytes %s, calls %s\n",
	       reel_num_bytes(a, (double)w->job.read_bytes),
	       reel_num_count(b, w->job.read_calls),
	       difference(c, (double)r->io.read_bytes,
			  (double)w->job.read_bytes),
	       difference(d, (double)r->io.read_calls,
			  (double)w->job.read_calls));
}

int run_result_print(const struct workload *w, const struct run_result *r,
		     int ranks)
{
	char a[REEL_NUM], b[REEL_NUM], c[REEL_NUM], d[REEL_NUM];
	double wall_s = (double)r->wall_ns / 1e9;
	double au = run_au_percent(r, false);

	printf("%s: %s samples in %s steps of %d rank%s, %s\n", w->name,
	       reel_num_count(a, (int64_t)r->samples),
	       reel_num_count(b, (int64_t)r->steps_n), ranks,
	       ranks == 1 ? "" : "s", reel_num_time(c, (double)r->wall_ns));
	if (r->stopped)
		printf("stopped by a signal: these are the steps until then\n");
	if (w->ranks > 1 && w->ranks != ranks)
		printf("ranks         %d, the job had %lld: mpirun -n %lld "
		       "ioreel-mpi run\n",
		       ranks, (long long)w->ranks, (long long)w->ranks);
	if (r->idle_ranks)
		printf("idle          %d of %d ranks had no sample: too few "
		       "batches or files for all of them\n",
		       r->idle_ranks, ranks);
	printf("samples       %.4g samples/s\n", (double)r->samples / wall_s);
	printf("AU            %s\n", reel_num_percent(a, au / 100));
	printf("read          %s in %s calls, %s\n",
	       reel_num_bytes(a, (double)r->io.read_bytes),
	       reel_num_count(b, (int64_t)r->io.read_calls),
	       reel_num_rate(c, (double)r->io.read_bytes / wall_s));
	print_job(w, r, ranks);
	printf("page cache    %s of the bytes%s\n",
	       reel_num_percent(d, cache_share(r)),
	       cache_share(r) > 0.5 ? ": this measured the memory, not the "
				      "storage"
				    : "");
	print_times(&r->time);
	return 0;
}
