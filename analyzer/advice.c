/* SPDX-License-Identifier: MIT */
/*
 * The verdict and the advice: rules in a table, thresholds in another.
 *
 * Advice knows deep learning: reading a file whole is sequential, a read at
 * its end is no small read, and I/O behind computation costs nothing. A rule
 * says what is so and what it costs, or stays silent.
 */
#include "analyzer/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"

#include "analyzer/report.h"

/* From which value on a rule speaks. */
static const struct {
	double stall_share;   /* INPUT-BOUND: fetch of steady steps */
	double idle_share;    /* ... workers that are less busy are no limit */
	double worker_io;     /* ... with less I/O, preparing is the limit */
	double matters_share; /* I/O that costs time at all, of the run */
	double open_share;    /* FILE-OPEN: open and close, of all I/O time */
	int64_t opens;
	double meta_share; /* META-HEAVY: stat, seek, rename ..., likewise */
	int64_t meta_calls;
	double small_share; /* SMALL-READ, -WRITE: below 16 KiB, likewise */
	double small_count; /* ... of all reads, writes */
	int64_t small_calls;
	double reads_per_open; /* ... and so many of them per (open) file */
	double random_share;   /* RANDOM-READ: of reads that are not first */
	int64_t random_calls;
	double random_time; /* ... reads, of all I/O time; many per open file */
	double sync_share;  /* WRITE-FSYNC: of all I/O time */
	int64_t sync_calls;
	double journal_share;	 /* ... of their time: they are SQLite's */
	double checkpoint_share; /* CHECKPOINT: of the run */
	double epoch_share; /* EPOCH-START: to the first batch, of the run */
} threshold = {
	.stall_share = 0.10,
	.idle_share = 0.50,
	.worker_io = 0.30,
	.matters_share = 0.05,
	.open_share = 0.30,
	.opens = 100,
	.meta_share = 0.30,
	.meta_calls = 1000,
	.small_share = 0.20,
	.small_count = 0.50,
	.small_calls = 1000,
	.reads_per_open = 8,
	.random_share = 0.20,
	.random_calls = 1000,
	.random_time = 0.10,
	.sync_share = 0.20,
	.sync_calls = 10,
	.journal_share = 0.50,
	.checkpoint_share = 0.05,
	.epoch_share = 0.05,
};

/* To 1 in @parts; but less than all is not all, and a little is not nothing. */
static double rounded(double share, double parts)
{
	double r = round(share * parts) / parts;

	return (r == 0 && share > 0) || (r == 1 && share < 1) ? share : r;
}

static void fact(struct advice *a, const char *name, const char *unit,
		 double value)
{
	if (a->facts == ADVICE_FACTS)
		return;
	a->fact[a->facts].name = name;
	a->fact[a->facts].unit = unit;
	a->fact[a->facts++].value = value;
}

__attribute__((format(printf, 2, 3))) static void
say(char out[static ADVICE_TEXT], const char *fmt, ...)
{
	size_t len = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + len, ADVICE_TEXT - len, fmt, ap);
	va_end(ap);
}

static const char *mb(int64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

static double of_run(const struct report *r, int64_t ns)
{
	return r->span_ns > 0 ? (double)ns / (double)r->span_ns : 0;
}

static double of_io(const struct report *r, int64_t ns)
{
	return r->group_sum_ns > 0 ? (double)ns / (double)r->group_sum_ns : 0;
}

/* I/O that runs behind computation, or in idle workers, costs nothing. */
static bool io_matters(const struct report *r)
{
	const struct report_rank *k = report_slowest(r);

	if (k && k->stall_share >= threshold.matters_share && k->workers > 0 &&
	    k->worker_busy_share >= threshold.idle_share &&
	    k->worker_io_share >= threshold.matters_share)
		return true;
	if (k && k->exposed_ns != REPORT_NONE)
		return of_run(r, k->exposed_ns) >= threshold.matters_share;
	return r->io_ns > 0 && of_run(r, r->io_ns) >= threshold.matters_share;
}

/*
 * What a loader calls its means. PyTorch's also where nothing is known: it is
 * what people know.
 */
struct loader {
	const char *none;	      /* no workers were seen: what is so */
	const char *start;	      /* ... and to try */
	const char *hand_over, *last; /* INPUT-BOUND, EPOCH-START: to try */
	const char *longer; /* the same, where workers stay; or NULL */
};

static const struct loader
	pytorch =
		{
			.none = "; no loader worker was seen, so computation "
				"waits for every "
				"batch.",
			.start = "loader workers (num_workers=2 or more), "
				 "which read while "
				 "the model computes.",
			.hand_over = "a larger prefetch_factor, and a "
				     "processor left free for each worker.",
			.last = "persistent_workers=True.",
			.longer = "fewer, longer epochs: a sampler that "
				  "passes over the data several times.",
},
	grain =
		{
			.none = "; no worker process of Grain was seen.",
			.start = "worker processes (worker_count=2 or more of "
				 "grain.DataLoader, mp_prefetch() of a "
				 "grain.IterDataset), or "
				 "more threads (num_threads and "
				 "prefetch_buffer_size of "
				 "grain.ReadOptions).",
			.hand_over =
				"a larger worker_buffer_size (mp_prefetch(): "
				"per_worker_buffer_size), and a processor left "
				"free for "
				"each worker.",
			.last = "one iterator over all epochs (num_epochs of "
				"the sampler, "
				"repeat() of a dataset).",
},
	tf_data = {
		.none = "; tf.data prepares batches in threads of the job "
			"itself.",
		.start = "prefetch(tf.data.AUTOTUNE) at the end of the "
			 "pipeline, "
			 "num_parallel_calls=tf.data.AUTOTUNE in map() and "
			 "interleave(), cache() for what fits into memory.",
		.hand_over = "prefetch(tf.data.AUTOTUNE) at the end of the "
			     "pipeline.",
		.last = "one pipeline over all epochs, with repeat().",
};

/* Keras looks for Grain in jobs of tf.data too, which has no processes. */
static const struct loader *loader_of(const struct report *r)
{
	const struct report_rank *k = report_slowest(r);
	bool workers = k && k->workers > 0;

	if (r->uses.grain && (workers || !r->uses.tensorflow))
		return &grain;
	return r->uses.tensorflow && !r->uses.pytorch ? &tf_data : &pytorch;
}

/* The workers: are they what the model waits for, and is it their I/O? */
static void judge_workers(const struct report *r, const struct report_rank *k,
			  struct advice *a)
{
	char busy[REEL_NUM], io[REEL_NUM];

	fact(a, "workers", "", (double)k->workers);
	fact(a, "worker_busy_share", "share", k->worker_busy_share);
	fact(a, "worker_io_share", "share", k->worker_io_share);
	fact(a, "headroom", "factor", k->headroom);
	say(a->text,
	    "; the %lld loader %s busy %s of the time, %s of that with "
	    "I/O.",
	    (long long)k->workers, mb(k->workers, "worker is", "workers are"),
	    reel_num_percent(busy, rounded(k->worker_busy_share, 100)),
	    reel_num_percent(io, rounded(k->worker_io_share, 100)));
	if (k->worker_busy_share < threshold.idle_share) {
		say(a->text,
		    " So the wait is not for reading: batches wait to "
		    "be handed over (headroom %.2g).",
		    k->headroom);
		say(a->try_this, "%s%s",
		    k->anew && loader_of(r) == &pytorch ? "persistent_workers, "
							: "",
		    loader_of(r)->hand_over);
		return;
	}
	say(a->text,
	    k->headroom < 1 ? " They cannot follow the model (headroom %.2g)."
			    : " Always busy, they could feed a model %.2g "
			      "times as fast.",
	    k->headroom);
	if (k->worker_io_share < threshold.worker_io)
		say(a->try_this,
		    "more workers (%lld now); most of their time "
		    "goes into preparing samples: decode less, or "
		    "once.",
		    (long long)k->workers);
	else
		say(a->try_this,
		    "more workers (%lld now), or fewer, larger "
		    "files.",
		    (long long)k->workers);
}

static bool input_bound(const struct report *r, struct advice *a)
{
	const struct report_rank *k = report_slowest(r);
	char fetch[REEL_NUM], step[REEL_NUM];

	if (!k || k->stall_share < threshold.stall_share)
		return false;
	if (r->ranks > 1)
		say(a->text, "on rank %lld ", (long long)k->rank);
	say(a->text, "fetch takes %s of a mean step of %s",
	    reel_num_time(fetch, (double)k->mean_fetch_ns),
	    reel_num_time(step, (double)k->mean_step_ns));
	fact(a, "stall_share", "share", k->stall_share);
	fact(a, "mean_fetch", "ns", (double)k->mean_fetch_ns);
	fact(a, "mean_step", "ns", (double)k->mean_step_ns);
	if (k->workers > 0) {
		judge_workers(r, k, a);
		return true;
	}
	say(a->text, "%s", loader_of(r)->none);
	say(a->try_this, "%s", loader_of(r)->start);
	return true;
}

static double reads_per_open(const struct report *r)
{
	const struct report_moved *m = &r->moved[0];

	return m->opens_read > 0 ? (double)m->calls / (double)m->opens_read
				 : (double)m->calls;
}

static bool file_open(const struct report *r, struct advice *a)
{
	const struct report_group *o = &r->group[REEL_GROUP_OPEN];
	const struct report_group *c = &r->group[REEL_GROUP_CLOSE];
	double share = of_io(r, o->dur_ns + c->dur_ns);
	char num[REEL_NUM], part[REEL_NUM], each[REEL_NUM], size[REEL_NUM];

	if (o->calls < threshold.opens || share < threshold.open_share ||
	    !io_matters(r))
		return false;
	say(a->text,
	    "opening and closing files %s times is %s of the I/O time "
	    "(%s each",
	    reel_num_count(num, o->calls),
	    reel_num_percent(part, rounded(share, 100)),
	    reel_num_time(each, (double)((o->dur_ns + c->dur_ns) / o->calls)));
	if (r->median_file_bytes != REPORT_NONE)
		say(a->text, "; median data file %s",
		    reel_num_size(size, (double)r->median_file_bytes));
	say(a->text, ").");
	fact(a, "opens", "calls", (double)o->calls);
	fact(a, "open_close_share", "share", share);
	fact(a, "median_file", "B", (double)r->median_file_bytes);
	say(a->try_this, "samples packed into TFRecord, WebDataset or HDF5 "
			 "shards.");
	return true;
}

static bool meta_heavy(const struct report *r, struct advice *a)
{
	static const enum reel_group groups[] = {
		REEL_GROUP_STAT, REEL_GROUP_SEEK, REEL_GROUP_META,
		REEL_GROUP_DIR,	 REEL_GROUP_DUP,
	};
	int64_t calls = 0, ns = 0, errors = 0;
	char num[REEL_NUM], part[REEL_NUM];
	double share;
	size_t i;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		calls += r->group[groups[i]].calls;
		ns += r->group[groups[i]].dur_ns;
		errors += r->group[groups[i]].errors;
	}
	share = of_io(r, ns);
	if (calls < threshold.meta_calls || share < threshold.meta_share ||
	    !io_matters(r))
		return false;
	say(a->text,
	    "%s calls that look up, seek, list or rename are %s of the "
	    "I/O time",
	    reel_num_count(num, calls),
	    reel_num_percent(part, rounded(share, 100)));
	if (errors * 10 > calls)
		say(a->text, "; %s of them failed",
		    reel_num_count(num, errors));
	say(a->text, ".");
	fact(a, "meta_calls", "calls", (double)calls);
	fact(a, "meta_share", "share", share);
	fact(a, "failed", "calls", (double)errors);
	say(a->try_this,
	    "a list of the files made once, without a look at each "
	    "of them.");
	return true;
}

static bool small_read(const struct report *r, struct advice *a)
{
	const struct report_moved *m = &r->moved[0];
	double share = of_io(r, r->small[0].ns);
	double per_open = reads_per_open(r);
	char num[REEL_NUM], part[REEL_NUM], size[REEL_NUM], per[REEL_NUM];

	/* A small file read whole is FILE-OPEN's business. */
	if (r->small[0].calls < threshold.small_calls ||
	    (double)r->small[0].calls <
		    threshold.small_count * (double)m->calls ||
	    share < threshold.small_share ||
	    per_open < threshold.reads_per_open || !io_matters(r))
		return false;
	say(a->text,
	    "%s reads of less than 16 KiB are %s of the I/O time "
	    "(median read %s, %s reads per open file).",
	    reel_num_count(num, r->small[0].calls),
	    reel_num_percent(part, rounded(share, 100)),
	    reel_num_size(size, (double)m->median_bytes),
	    reel_num_count(per, llround(per_open)));
	fact(a, "small_reads", "calls", (double)r->small[0].calls);
	fact(a, "small_read_share", "share", share);
	fact(a, "median_read", "B", (double)m->median_bytes);
	fact(a, "reads_per_open", "calls", per_open);
	say(a->try_this, "whole records in one read, a larger buffer, larger "
			 "chunks in HDF5.");
	return true;
}

/* What a stream writes, its flushes hand to the system. */
static bool small_write(const struct report *r, struct advice *a)
{
	const struct report_moved *m = &r->moved[1];
	int64_t calls = r->small[1].calls;
	double share = of_io(r, r->small[1].ns + r->flush_ns);
	double per_file = m->files > 0 ? (double)m->calls / (double)m->files
				       : (double)m->calls;
	char num[REEL_NUM], part[REEL_NUM], size[REEL_NUM], per[REEL_NUM];

	if (calls < threshold.small_calls ||
	    (double)calls < threshold.small_count * (double)m->calls ||
	    share < threshold.small_share ||
	    per_file < threshold.reads_per_open || !io_matters(r))
		return false;
	say(a->text,
	    "%s writes of less than 16 KiB, with their flushes, are %s of the "
	    "I/O time (median write %s, %s writes per file).",
	    reel_num_count(num, calls),
	    reel_num_percent(part, rounded(share, 100)),
	    reel_num_size(size, (double)m->median_bytes),
	    reel_num_count(per, llround(per_file)));
	fact(a, "small_writes", "calls", (double)calls);
	fact(a, "small_write_share", "share", share);
	fact(a, "median_write", "B", (double)m->median_bytes);
	fact(a, "writes_per_file", "calls", per_file);
	say(a->try_this, "whole records in one write, a larger buffer, a flush "
			 "per step rather than per line.");
	return true;
}

static bool random_read(const struct report *r, struct advice *a)
{
	const struct report_moved *m = &r->moved[0];
	char num[REEL_NUM], part[REEL_NUM];

	/* A second look at the head of a file is no random access. */
	if (m->random < threshold.random_calls ||
	    reads_per_open(r) < threshold.reads_per_open ||
	    m->random_share < threshold.random_share ||
	    of_io(r, r->group[REEL_GROUP_READ].dur_ns) <
		    threshold.random_time ||
	    !io_matters(r))
		return false;
	say(a->text,
	    "%s reads (%s of those that follow another) go back in "
	    "their file; --files shows which.",
	    reel_num_count(num, m->random),
	    reel_num_percent(part, rounded(m->random_share, 100)));
	fact(a, "random_reads", "calls", (double)m->random);
	fact(a, "random_share", "share", m->random_share);
	say(a->try_this, "shuffling shards and a buffer of samples rather than "
			 "single samples.");
	return true;
}

/* A stream's flush hands its buffer to the system: it waits for no storage. */
static bool write_fsync(const struct report *r, struct advice *a)
{
	int64_t calls = r->group[REEL_GROUP_SYNC].calls - r->flushes;
	int64_t dur_ns = r->group[REEL_GROUP_SYNC].dur_ns - r->flush_ns;
	double share = of_io(r, dur_ns);
	bool sqlite = (double)r->journal_ns >=
		      threshold.journal_share * (double)dur_ns;
	char num[REEL_NUM], part[REEL_NUM], each[REEL_NUM];

	if (calls < threshold.sync_calls || share < threshold.sync_share ||
	    !io_matters(r))
		return false;
	say(a->text, "%s syncs are %s of the I/O time (%s each)%s.",
	    reel_num_count(num, calls),
	    reel_num_percent(part, rounded(share, 100)),
	    reel_num_time(each, (double)(dur_ns / calls)),
	    sqlite ? ", most of it SQLite's" : "");
	fact(a, "syncs", "calls", (double)calls);
	fact(a, "sync_share", "share", share);
	say(a->try_this, "%s",
	    sqlite ? "several changes in each transaction: each that is "
		     "committed is synced, and must be."
		   : "one sync per checkpoint, or none for logs.");
	return true;
}

static bool checkpoint(const struct report *r, struct advice *a)
{
	double share = of_run(r, r->checkpoint_ns);
	char num[REEL_NUM], part[REEL_NUM], each[REEL_NUM];

	if (!r->checkpoints || share < threshold.checkpoint_share)
		return false;
	say(a->text,
	    "%s %s %s of the run (%s each), while nothing else "
	    "advances.",
	    reel_num_count(num, r->checkpoints),
	    mb(r->checkpoints, "checkpoint takes", "checkpoints take"),
	    reel_num_percent(part, rounded(share, 100)),
	    reel_num_time(each, (double)(r->checkpoint_ns / r->checkpoints)));
	fact(a, "checkpoints", "", (double)r->checkpoints);
	fact(a, "checkpoint_share", "share", share);
	say(a->try_this, "fewer of them, or written by a thread from a copy.");
	return true;
}

static bool epoch_start(const struct report *r, struct advice *a)
{
	double share = of_run(r, r->epoch_start_ns);
	char num[REEL_NUM], part[REEL_NUM], all[REEL_NUM];
	const struct loader *loader = loader_of(r);
	bool anew = r->anew > 0;

	if (r->epochs < 2 || r->workers <= 0 || share < threshold.epoch_share)
		return false;
	say(a->text,
	    "%s %s after the first %s %s, %s of the run, to the first "
	    "batch: the workers %s.",
	    reel_num_count(num, r->epochs - 1),
	    mb(r->epochs - 1, "epoch", "epochs"),
	    mb(r->epochs - 1, "takes", "take"),
	    reel_num_time(all, (double)r->epoch_start_ns),
	    reel_num_percent(part, rounded(share, 100)),
	    anew ? "start anew" : "stay, but begin each with nothing made");
	fact(a, "epochs", "", (double)r->epochs);
	fact(a, "epoch_start", "ns", (double)r->epoch_start_ns);
	fact(a, "epoch_start_share", "share", share);
	say(a->try_this, "%s",
	    anew || !loader->longer ? loader->last : loader->longer);
	return true;
}

/* In the order of the report: what costs most comes first. */
static const struct {
	const char *code;
	bool (*rule)(const struct report *r, struct advice *a);
} rules[] = {
	{"INPUT-BOUND", input_bound}, {"EPOCH-START", epoch_start},
	{"CHECKPOINT", checkpoint},   {"FILE-OPEN", file_open},
	{"META-HEAVY", meta_heavy},   {"SMALL-READ", small_read},
	{"RANDOM-READ", random_read}, {"SMALL-WRITE", small_write},
	{"WRITE-FSYNC", write_fsync},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))
_Static_assert(RULES < ADVICE_MOST, "raise ADVICE_MOST");

static void no_problem(const struct report *r, struct advice *a)
{
	const struct report_rank *k = report_slowest(r);
	char part[REEL_NUM], num[REEL_NUM];

	memset(a, 0, sizeof(*a));
	a->code = "NO-PROBLEM";
	if (!r->calls) {
		say(a->text, "no call on a data file was recorded, so nothing "
			     "could be looked at.");
		return;
	}
	say(a->text,
	    "looked at %sopens, metadata, small and random reads, small "
	    "writes, syncs, checkpoints",
	    k && k->stall_share >= 0 ? "waiting, " : "");
	if (k && k->stall_share >= 0) {
		say(a->text, "; fetch takes %s of the steps",
		    reel_num_percent(part, rounded(k->stall_share, 1000)));
		fact(a, "stall_share", "share", k->stall_share);
	}
	if (r->io_ns > 0) {
		if (k)
			say(a->text, "; I/O takes %s, %s of the run",
			    reel_num_time(num, (double)r->io_ns),
			    reel_num_percent(
				    part, rounded(of_run(r, r->io_ns), 1000)));
		fact(a, "io_share", "share", of_run(r, r->io_ns));
	}
	say(a->text, ".");
}

static int verdict(struct report *r, struct reel_error *err)
{
	const struct report_rank *k = report_slowest(r);
	struct reel_buf b = REEL_BUF_INIT;
	char part[REEL_NUM], io[REEL_NUM], span[REEL_NUM], who[64] = "";
	int rc;

	if (r->ranks > 1 && k->stall_share > 0)
		snprintf(who, sizeof(who), " (rank %lld, which waits most)",
			 (long long)k->rank);
	if (!r->calls)
		rc = reel_buf_puts(&b,
				   "Nothing was recorded: the job touched "
				   "no data file that the shim could see.",
				   err);
	else if (k && k->stall_share >= threshold.stall_share)
		rc = reel_buf_printf(
			&b, err,
			"The job waits for its input %s of the time%s.",
			reel_num_percent(part, rounded(k->stall_share, 100)),
			who);
	else if (k && k->stall_share != REPORT_NONE)
		rc = reel_buf_printf(
			&b, err,
			"The job hardly waits for its input: %s of the time%s.",
			reel_num_percent(part, rounded(k->stall_share, 1000)),
			who);
	else if (r->io_ns > 0)
		rc = reel_buf_printf(
			&b, err, "I/O takes %s of %s, %s of the time.",
			reel_num_time(io, (double)r->io_ns),
			reel_num_time(span, (double)r->span_ns),
			reel_num_percent(part,
					 rounded(of_run(r, r->io_ns), 1000)));
	else
		rc = reel_buf_puts(&b, "The job did no I/O on files.", err);
	r->verdict = b.data; /* given away */
	return rc;
}

int advise(struct report *r, struct reel_error *err)
{
	size_t i;

	for (i = 0; i < RULES; i++) {
		struct advice *a = &r->advice[r->advices];

		memset(a, 0, sizeof(*a));
		a->code = rules[i].code;
		if (rules[i].rule(r, a))
			r->advices++;
	}
	if (!r->advices)
		no_problem(r, &r->advice[r->advices++]);
	return verdict(r, err);
}
