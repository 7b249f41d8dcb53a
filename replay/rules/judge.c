/* SPDX-License-Identifier: MIT */
/*
 * The table of rules. Source: the rules of MLPerf Storage 2.0 (2025) and 3.0 (2026),
 * github.com/mlcommons/storage; the requirement stands at each, with its version.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/num.h"

#include "replay/pipeline/access.h"
#include "replay/rules/rules.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define STEPS_LEAST 500		/* of an epoch */
#define MEMORY_TIMES 5		/* the data set, of the memory of all hosts */
#define SPREAD_MOST 0.05	/* of the measured runs */
#define CHECKPOINTS 10		/* written, and read */
#define CHECKPOINT_MEMORY 3	/* times the memory of a host */
#define GAP_MOST_NS 30000000000 /* between the writes and the reads */
#define CACHED_MOST 0.05 /* of the bytes read, for a cache that was emptied */

#define V2 (1u << RULES_MLPERF_2_0)
#define V3 (1u << RULES_MLPERF_3_0)
enum applies {
	TRAINING = 1,
	CHECKPOINTING = 2,
	BOTH = TRAINING | CHECKPOINTING,
	CACHING = 4,
	ALL = BOTH | CACHING
};

static void text(struct rules_verdict *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void text(struct rules_verdict *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->text, sizeof(v->text), fmt, ap);
	va_end(ap);
}

/* NaN passes nothing. */
static void at_least(struct rules_verdict *v, double is, double bound)
{
	v->is = is;
	v->bound = bound;
	v->outcome = is >= bound ? RULES_PASS : RULES_FAIL;
}

static void at_most(struct rules_verdict *v, double is, double bound)
{
	v->is = is;
	v->bound = bound;
	v->outcome = is <= bound ? RULES_PASS : RULES_FAIL;
}

/* --- training ------------------------------------------------------------- */

double rules_samples_least(const struct rules_case *c, double *by_steps,
			   double *by_memory)
{
	const struct quantiles *q = &c->w->dataset.sample_bytes;
	/* The published size is the centre of a normal distribution, whose mean
	 * rises where it is cut at 0. */
	double record = fmin(quantiles_mean(q), (double)quantiles_at(q, 0.5));

	*by_steps = STEPS_LEAST * (double)c->w->pipeline.batch *
		    (double)c->accelerators;
	*by_memory = ceil(MEMORY_TIMES * (double)c->hosts *
			  (double)c->memory_bytes / record);
	return fmax(*by_steps, *by_memory);
}

static void dataset_size(const struct rules_case *c, struct rules_verdict *v)
{
	const struct workload_dataset *d = &c->w->dataset;
	char is[REEL_NUM], least[REEL_NUM], steps[REEL_NUM], memory[REEL_NUM];
	double by_steps, by_memory;

	at_least(v, (double)d->files * (double)d->samples_per_file,
		 rules_samples_least(c, &by_steps, &by_memory));
	text(v,
	     "%s samples of at least %s (%s by %d steps, %s by %d times the "
	     "memory)",
	     reel_num_count(is, (int64_t)v->is),
	     reel_num_count(least, (int64_t)v->bound),
	     reel_num_count(steps, (int64_t)by_steps), STEPS_LEAST,
	     reel_num_count(memory, (int64_t)by_memory), MEMORY_TIMES);
}

static void runs(const struct rules_case *c, struct rules_verdict *v)
{
	int complete = 0;

	for (int i = 0; i < c->runs; i++)
		complete += !c->run[i].stopped;
	at_least(v, complete, RULES_RUNS);
	text(v, "%d complete runs of %d in a row, the first is the warm-up",
	     complete, RULES_RUNS);
}

/*
 * Orders that six runs with six seeds are sure to have. Few files or samples
 * have few orders, so that two seeds can give the same one.
 */
static int certain_orders(const struct workload *w)
{
	const struct workload_dataset *d = &w->dataset;
	double shuffled = (double)d->files; /* of streams */

	if (access_any_order(w))
		shuffled *=
			(double)d->samples_per_file / (double)w->pipeline.block;
	if (w->pipeline.order == WORKLOAD_SEQUENTIAL || shuffled >= 8)
		return RULES_RUNS;
	return shuffled > 2 ? 2 : 1;
}

/* A pair of runs with one order would read what the cache still has. */
static void orders(const struct rules_case *c, struct rules_verdict *v)
{
	int distinct = 0, certain = certain_orders(c->w);

	for (int i = 0; i < c->runs; i++) {
		bool seen = false;

		for (int j = 0; j < i; j++)
			seen = seen || c->run[j].order == c->run[i].order;
		distinct += !seen;
	}
	at_least(v, distinct, certain);
	text(v,
	     "%d distinct orders of the samples in %d runs, with the seeds "
	     "%" PRId64 " to %" PRId64 "%s",
	     distinct, c->runs, c->run[0].seed,
	     c->run[0].seed + (c->runs ? c->runs - 1 : 0),
	     certain < RULES_RUNS ? "; the data set has few orders" : "");
}

static void utilization(const struct rules_case *c, struct rules_verdict *v)
{
	double least = INFINITY;
	int worst = 0;

	for (int i = RULES_WARM_UP; i < c->runs; i++)
		if (!(c->run[i].au_percent >= least)) {
			least = c->run[i].au_percent;
			worst = i;
		}
	if (!(c->w->rules.au_percent > 0)) {
		v->outcome = RULES_FAIL;
		text(v, "the workload gives no rules.au_percent");
		return;
	}
	at_least(v, worst ? least : NAN, c->w->rules.au_percent);
	text(v,
	     "accelerator utilization %.2f %% in run %d, the lowest; at least "
	     "%.4g %% (without the first step)",
	     v->is, worst, v->bound);
}

static void spread(const struct rules_case *c, struct rules_verdict *v)
{
	double least = INFINITY, most = 0, sum = 0;

	for (int i = RULES_WARM_UP; i < c->runs; i++) {
		double s = c->run[i].samples_per_s;

		least = fmin(least, s);
		most = fmax(most, s);
		sum += s;
	}
	at_most(v,
		c->runs == RULES_RUNS ? (most - least) / (sum / RULES_MEASURED)
				      : NAN,
		SPREAD_MOST);
	text(v,
	     "%.2f %% between the slowest and the fastest measured run "
	     "(%.4g to %.4g samples/s); at most %.0f %%",
	     100 * v->is, least, most, 100 * v->bound);
}

/* --- checkpoints ---------------------------------------------------------- */

static void checkpoint_counts(const struct rules_case *c,
			      struct rules_verdict *v)
{
	const struct workload_checkpoint *k = &c->w->checkpoint;

	at_least(v, (double)(k->writes < k->reads ? k->writes : k->reads),
		 CHECKPOINTS);
	if (c->runs != 1 || c->run[0].stopped)
		v->outcome = RULES_FAIL;
	text(v,
	     "%" PRId64 " checkpoints written and %" PRId64
	     " read; %d of each%s",
	     k->writes, k->reads, CHECKPOINTS,
	     c->run[0].stopped ? "; stopped by a signal" : "");
}

/* As many processes as the model is published for. */
static void processes(const struct rules_case *c, struct rules_verdict *v)
{
	v->is = (double)c->accelerators;
	v->bound = (double)c->w->ranks;
	v->outcome = c->accelerators == c->w->ranks ? RULES_PASS : RULES_FAIL;
	text(v, "%" PRId64 " processes; %" PRId64 " for this model",
	     c->accelerators, c->w->ranks);
}

static void synced(const struct rules_case *c, struct rules_verdict *v)
{
	const struct workload_checkpoint *k = &c->w->checkpoint;
	uint32_t n = 0, kinds = k->files_n;

	for (uint32_t i = 0; i < k->files_n; i++)
		n += k->files[i].fsync;
	if (k->transformer.layers) {
		n += k->transformer.fsync;
		kinds++;
	}
	at_least(v, n, kinds);
	text(v, "%u of %u kinds of files are synced", n, kinds);
}

/* Either too much to be cached, or the cache was emptied: seen by the bytes that
 * the reads fetched. */
static void emptied_cache(const struct rules_case *c, struct rules_verdict *v)
{
	double data = (double)c->checkpoint_bytes *
		      (double)c->w->checkpoint.writes / (double)c->hosts;
	double bound = CHECKPOINT_MEMORY * (double)c->memory_bytes;
	char is[REEL_NUM], least[REEL_NUM], share[REEL_NUM];
	bool large = data > bound;

	v->is = data;
	v->bound = bound;
	v->outcome = large || c->run[0].cache_share <= CACHED_MOST ? RULES_PASS
								   : RULES_FAIL;
	text(v,
	     "%s written by each host, %s than %d times its memory (%s); the "
	     "cache was emptied, and gave %s of the bytes read",
	     reel_num_bytes(is, data), large ? "more" : "no more",
	     CHECKPOINT_MEMORY, reel_num_bytes(least, bound),
	     reel_num_percent(share, c->run[0].cache_share));
}

static void gap(const struct rules_case *c, struct rules_verdict *v)
{
	at_most(v, (double)c->checkpoint_gap_ns / 1e9, GAP_MOST_NS / 1e9);
	text(v,
	     "%.3f s between the last write and the first read; at most "
	     "%.0f s",
	     v->is, v->bound);
}

static void accelerator_memory(const struct rules_case *c,
			       struct rules_verdict *v)
{
	int64_t each = c->w->rules.accelerator_memory_bytes;
	char is[REEL_NUM], least[REEL_NUM];

	at_least(v, (double)each * (double)c->accelerators,
		 (double)c->checkpoint_bytes);
	if (each)
		text(v, "%s of accelerator memory for a checkpoint of %s",
		     reel_num_bytes(is, v->is),
		     reel_num_bytes(least, v->bound));
	else
		text(v, "the workload gives no "
			"rules.accelerator_memory_bytes");
	if (!each)
		v->outcome = RULES_FAIL;
}

/* --- key-value cache ------------------------------------------------------- */

#define CACHE_SEED 42
#define CACHE_TRIALS 3
#define CACHE_DURATION_NS 300000000000

/* The options of the closed division: the model decides the bytes of a token. */
static const struct cache_option {
	const char *name;
	int64_t users, in_flight, bytes_per_token, memory_bytes;
} cache_options[] = {
	{"1, Max Storage Stress", 200, 16, 131072, 0},
	{"2, Storage Throughput", 100, 16, 131072, INT64_C(4) << 30},
	{"3, Large Model", 70, 4, 327680, 0},
};

/* The published value at the scale of the run: that has a rule of its own. */
static int64_t at_scale(const struct rules_case *c, int64_t published)
{
	int64_t v = llround((double)published * c->scale);

	return v < 1 && published > 0 ? 1 : v;
}

static void cache_option(const struct rules_case *c, struct rules_verdict *v)
{
	const struct workload_kvcache *k = &c->w->kvcache;

	v->bound = sizeof(cache_options) / sizeof(*cache_options);
	v->outcome = RULES_FAIL;
	text(v,
	     "%" PRId64 " users, %" PRId64 " %s in flight, %" PRId64
	     " bytes a token: none of the options of the closed division",
	     k->users, k->in_flight,
	     k->limit == WORKLOAD_LIMIT_WRITES ? "writes" : "requests",
	     k->bytes_per_token);
	for (size_t i = 0; i < sizeof(cache_options) / sizeof(*cache_options);
	     i++) {
		const struct cache_option *o = &cache_options[i];

		if (k->users != o->users || k->in_flight != o->in_flight ||
		    k->limit != WORKLOAD_LIMIT_WRITES ||
		    k->bytes_per_token != at_scale(c, o->bytes_per_token) ||
		    k->memory_bytes != at_scale(c, o->memory_bytes))
			continue;
		v->is = (double)i + 1;
		v->outcome = RULES_PASS;
		text(v, "option %s: %" PRId64 " users of a client", o->name,
		     o->users);
	}
}

static void cache_seed(const struct rules_case *c, struct rules_verdict *v)
{
	v->is = (double)c->w->kvcache.seed;
	v->bound = CACHE_SEED;
	v->outcome = c->w->kvcache.seed == CACHE_SEED ? RULES_PASS : RULES_FAIL;
	text(v, "seed %" PRId64 "; it is %d", c->w->kvcache.seed, CACHE_SEED);
}

static void cache_trials(const struct rules_case *c, struct rules_verdict *v)
{
	struct kvcache_score read = kvcache_read_rate(&c->cache);
	char rate[REEL_NUM], share[REEL_NUM];

	v->is = (double)c->cache.trials - c->run[0].stopped;
	v->bound = CACHE_TRIALS;
	v->outcome = v->is == v->bound ? RULES_PASS : RULES_FAIL;
	text(v, "%.0f complete trials of %d; they read %s, spread %s", v->is,
	     CACHE_TRIALS, reel_num_rate(rate, read.mean),
	     reel_num_percent(share, read.spread));
}

static void cache_duration(const struct rules_case *c, struct rules_verdict *v)
{
	int64_t least = at_scale(c, CACHE_DURATION_NS);

	v->is = (double)c->w->kvcache.duration_ns / 1e9;
	v->bound = (double)least / 1e9;
	v->outcome =
		c->w->kvcache.duration_ns == least ? RULES_PASS : RULES_FAIL;
	text(v, "%.9g s a trial; it is %.9g s at this scale", v->is, v->bound);
}

static void cache_calls(const struct rules_case *c, struct rules_verdict *v)
{
	const struct workload_kvcache *k = &c->w->kvcache;

	v->is = k->fsync + k->drop_cache;
	v->bound = 2;
	v->outcome = k->fsync && k->drop_cache ? RULES_PASS : RULES_FAIL;
	text(v,
	     "objects are %ssynced when written, the page cache is %s "
	     "before they are read",
	     k->fsync ? "" : "not ", k->drop_cache ? "dropped" : "kept");
}

/* A trial that only memory served has no latency of storage. */
static void cache_reads(const struct rules_case *c, struct rules_verdict *v)
{
	char is[REEL_NUM];

	v->is = INFINITY;
	for (uint32_t i = 0; i < c->cache.trials; i++)
		v->is = fmin(v->is, (double)c->cache.trial[i].n.reads);
	at_least(v, v->is, 1);
	text(v, "%s objects were read from storage in a trial, at least",
	     reel_num_count(is, isfinite(v->is) ? (int64_t)v->is : 0));
}

/* --- both ----------------------------------------------------------------- */

static void file_systems(const struct rules_case *c, struct rules_verdict *v)
{
	v->is = !c->one_file_system;
	v->bound = 1;
	v->outcome = c->one_file_system ? RULES_FAIL : RULES_PASS;
	text(v, "results and data are on %s (--results)",
	     c->one_file_system ? "one file system" : "two file systems");
}

static void whole_size(const struct rules_case *c, struct rules_verdict *v)
{
	at_least(v, c->scale, 1);
	text(v,
	     c->scale < 1 ? "--scale %.6g: no valid submission"
			  : "the workload in its own size (scale %.6g)",
	     c->scale);
}

static void measured_memory(const struct rules_case *c, struct rules_verdict *v)
{
	char bytes[REEL_NUM];

	v->is = (double)c->memory_bytes;
	v->bound = v->is;
	v->outcome = c->memory_given ? RULES_FAIL : RULES_PASS;
	text(v,
	     c->memory_given
		     ? "%s a host, given by --memory: no valid submission"
		     : "%s a host, as the kernel has it",
	     reel_num_bytes(bytes, v->is));
}

static const struct rule {
	const char *name;
	unsigned int versions;
	enum applies applies;
	bool before; /* known before the runs */
	void (*judge)(const struct rules_case *c, struct rules_verdict *v);
} table[] = {
	/* 2.0, 3.0, data set of a training: max(500 x batch x accelerators,
	 * 5 x hosts x memory / record) samples. */
	{"dataset-size", V2 | V3, TRAINING, true, dataset_size},
	/* 2.0, 3.0: a warm-up and five measured runs in a row. */
	{"runs", V2 | V3, TRAINING, false, runs},
	/* 2.0, 3.0: the seed changes in every run. */
	{"seeds", V2 | V3, TRAINING, false, orders},
	/* 2.0, 3.0: AU, from the second step on, of at least 90 % (unet3d, resnet50), 85 %
	 * (retinanet), 70 % (cosmoflow, dlrm); the key rules.au_percent. */
	{"utilization", V2 | V3, TRAINING, false, utilization},
	/* 2.0, 3.0: runs can be repeated within 5 %. */
	{"spread", V2 | V3, TRAINING, false, spread},
	/* 2.0, 3.0: ten are written, then ten are read. */
	{"checkpoint-counts", V2 | V3, CHECKPOINTING, false, checkpoint_counts},
	/* 2.0, 3.0, by model: 8, 64, 512 and 1024 processes. */
	{"processes", V2 | V3, CHECKPOINTING, true, processes},
	/* 2.0, 3.0: each checkpoint is synced. */
	{"checkpoint-sync", V2 | V3, CHECKPOINTING, true, synced},
	/* 3.0: data of more than 3 times the memory of a
	 * host, else caches are cleared between writes and reads; 2.0: they
	 * are cleared. */
	{"checkpoint-cache", V2 | V3, CHECKPOINTING, false, emptied_cache},
	/* 3.0: reads begin at most 30 s after the writes end. */
	{"checkpoint-gap", V3, CHECKPOINTING, false, gap},
	/* 3.0: simulated memory (180 or 288 GB)
	 * times their number holds the checkpoint. */
	{"accelerator-memory", V3, CHECKPOINTING, true, accelerator_memory},
	/* 3.0, table of options: users, allocations in flight, model, memory. */
	{"cache-option", V3, CACHING, true, cache_option},
	/* 3.0: 42. */
	{"cache-seed", V3, CACHING, true, cache_seed},
	/* 3.0: three scored trials. */
	{"cache-trials", V3, CACHING, false, cache_trials},
	/* 3.0: 300 s. */
	{"cache-duration", V3, CACHING, true, cache_duration},
	/* 3.0: np.save() and fsync(), POSIX_FADV_DONTNEED and np.load(). */
	{"cache-calls", V3, CACHING, true, cache_calls},
	/* 3.0: at least a client reads from storage. */
	{"cache-reads", V3, CACHING, false, cache_reads},
	/* 3.0: results and data are on different file systems. */
	{"file-systems", V3, ALL, false, file_systems},
	/* 2.0, 3.0: the sizes of a workload are those published. */
	{"scale", V2 | V3, ALL, true, whole_size},
	/* 2.0, 3.0: the formulas are about the memory that a host has. */
	{"memory", V2 | V3, BOTH, true, measured_memory},
};

int rules_judge(const struct rules_case *c, bool before,
		struct rules_verdict verdict[static RULES_MOST])
{
	unsigned int kind = c->w->epochs	  ? TRAINING
			    : c->w->kvcache.users ? CACHING
						  : CHECKPOINTING;
	int n = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct rule *r = &table[i];

		if (!(r->applies & kind) || !(r->versions & 1u << c->version) ||
		    (before && !r->before))
			continue;
		verdict[n] = (struct rules_verdict){.rule = r->name};
		r->judge(c, &verdict[n++]);
	}
	return n;
}

const char *rules_name(enum rules_version version)
{
	return version == RULES_MLPERF_3_0 ? "mlperf-3.0" : "mlperf-2.0";
}
