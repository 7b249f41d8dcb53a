/* SPDX-License-Identifier: MIT */
/* The runs that the rules ask for, in a row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/error.h"

#include "replay/comm/comm.h"
#include "replay/pipeline/result.h"
#include "replay/pipeline/run.h"
#include "replay/rules/rules.h"
#include "replay/workload/transformer.h"
#include "replay/workload/workload.h"
#include "schemas/hash.h"

/* Distinct names of hosts: each turn finds the next larger hash of all ranks. */
static int64_t count_hosts(const struct comm *comm)
{
	char name[256] = "";
	int64_t mine, last = -1, n = 0;

	gethostname(name, sizeof(name) - 1);
	mine = (int64_t)(reel_fnv1a(REEL_FNV_SEED, name, strlen(name)) >> 1);
	for (;;) {
		int64_t next = mine > last ? mine : INT64_MAX;

		comm->allreduce(&next, 1, COMM_MIN);
		if (next == INT64_MAX)
			return n;
		last = next;
		n++;
	}
}

int64_t rules_host_memory(void)
{
	return (int64_t)sysconf(_SC_PHYS_PAGES) *
	       (int64_t)sysconf(_SC_PAGE_SIZE);
}

/* A folder that is missing is made by the run, in its parent. */
static bool same_file_system(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev;
}

/* DLIO's mean over the ranks. NaN when a rank has none. */
static double mean_au(const struct run_result *r, const struct comm *comm)
{
	double au = run_au_percent(r, false);
	int64_t v[] = {isfinite(au) ? (int64_t)(au * 1e9) : 0, !isfinite(au)};

	comm->allreduce(v, 2, COMM_SUM);
	return v[1] ? NAN : (double)v[0] / 1e9 / comm->size;
}

/* The order of the first epoch, over all ranks. @r is that of this rank. */
static uint64_t order_of_ranks(const struct run_result *r,
			       const struct comm *comm)
{
	uint64_t mine = r->epochs_n ? r->epochs[0].order : 0;
	int64_t sum = (int64_t)(mine * (2 * (uint64_t)comm->rank + 1) >> 16);

	comm->allreduce(&sum, 1, COMM_SUM);
	return (uint64_t)sum;
}

/* The share of the bytes read that the page cache had. NaN: not known. */
static double cached(const struct run_result *r)
{
	if (r->fetched_bytes < 0 || !r->io.read_bytes)
		return NAN;
	return fmax(0, 1 - (double)r->fetched_bytes / (double)r->io.read_bytes);
}

static int run_one(const struct workload *w, const struct run_options *options,
		   const struct comm *comm, struct rules_case *c,
		   struct reel_error *err)
{
	struct rules_run *to = &c->run[c->runs];
	struct run_result r = {0};
	int64_t stopped;
	int rc = run_workload(w, options, comm, &r, err);

	if (!rc) {
		to->seed = w->pipeline.seed;
		to->au_percent = mean_au(&r, comm);
		to->order = order_of_ranks(&r, comm);
		stopped = r.stopped;
		comm->allreduce(&stopped, 1, COMM_MAX);
		to->stopped = stopped;
		comm->allreduce(&r.checkpoint_gap_ns, 1, COMM_MAX);
		c->checkpoint_gap_ns = r.checkpoint_gap_ns;
		rc = run_result_reduce(&r, comm, err);
	}
	if (!rc) {
		to->wall_s = (double)r.wall_ns / 1e9;
		to->samples_per_s = (double)r.samples / to->wall_s;
		to->cache_share = cached(&r);
		c->runs++;
	}
	run_result_fini(&r);
	return rc;
}

/* One run of all trials. */
static int run_cache(const struct workload *w,
		     const struct run_options *options, const struct comm *comm,
		     struct rules_case *c, struct reel_error *err)
{
	struct rules_run *to = &c->run[0];
	struct run_result r = {0};
	int rc = kvcache_run(w, options, comm, &r, &c->cache, err);

	if (!rc)
		rc = run_result_reduce(&r, comm, err);
	if (!rc) {
		kvcache_reduce(&c->cache, comm);
		to->seed = w->kvcache.seed;
		to->samples_per_s = to->au_percent = NAN;
		to->wall_s = (double)r.wall_ns / 1e9;
		to->cache_share = cached(&r);
		to->stopped = r.stopped;
		c->runs = 1;
	}
	run_result_fini(&r);
	return rc;
}

void rules_fini(struct rules_case *c)
{
	kvcache_result_fini(&c->cache);
}

static int run_series(const struct workload *w,
		      const struct run_options *options,
		      const struct comm *comm, struct rules_case *c,
		      struct reel_error *err)
{
	struct workload changed = *w; /* its lists stay @w's */
	int runs = w->epochs ? RULES_RUNS : 1;

	if (w->kvcache.users)
		return run_cache(w, options, comm, c, err);
	if (!w->epochs)
		changed.cache = WORKLOAD_COLD;
	for (int i = 0; i < runs; i++) {
		changed.pipeline.seed = w->pipeline.seed + i;
		if (run_one(&changed, options, comm, c, err))
			return -1;
		if (c->run[i].stopped)
			break;
	}
	return 0;
}

void rules_begin(const struct workload *w, const struct comm *comm,
		 int64_t memory_bytes, struct rules_case *c)
{
	int64_t bytes = rules_host_memory();

	comm->allreduce(&bytes, 1, COMM_MAX); /* the largest of all hosts */
	c->w = w;
	c->accelerators = comm->size;
	c->hosts = count_hosts(comm);
	c->memory_given = memory_bytes > 0;
	c->memory_bytes = memory_bytes > 0 ? memory_bytes : bytes;
	c->checkpoint_bytes =
		(int64_t)checkpoint_bytes(&w->checkpoint, comm->size);
}

int rules_run(const struct workload *w, const struct run_options *options,
	      const struct comm *comm, const char *results,
	      struct rules_case *c, struct reel_error *err)
{
	const char *data = w->epochs || w->kvcache.users ? options->data
							 : options->checkpoints;
	int64_t differs;

	c->runs = 0;
	if (run_series(w, options, comm, c, err))
		return -1;
	/* After the runs, which make the folder of checkpoints. */
	differs = !same_file_system(data, results);
	comm->allreduce(&differs, 1, COMM_MIN);
	c->one_file_system = !differs;
	return 0;
}
