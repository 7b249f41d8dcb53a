/* SPDX-License-Identifier: MIT */
/*
 * The verdict and the advice: rules in a table, thresholds in another.
 *
 * The rules are made for deep learning: reading a file whole is sequential, a
 * read at its end is no small read, and I/O hidden behind computation costs
 * nothing. A rule states a fact and its cost, or is silent.
 */
#include "analyzer/report/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/columns.h"
#include "lib/error.h"
#include "lib/num.h"

#include "analyzer/report/advice_rules.h"
#include "analyzer/report/report.h"
#include "analyzer/report/tracer.h"

const struct advice_threshold advice_threshold = {
	.wait_share = 0.05,
	.bound_share = 0.20,
	.own_share = 0.05,
	.io_share = 0.20,
	.storage_share = 0.20,
	.idle_share = 0.50,
	.empty_share = 0.10,
	.unready_share = 0.50,
	.starved_share = 0.50,
	.worker_io = 0.30,
	.mapped_share = 0.50,
	.own_batch = 0.50,
	.throttled = 0.10,
	.matters_share = 0.05,
	.open_share = 0.30,
	.opens = 100,
	.opens_of_file = 8,
	.meta_share = 0.30,
	.meta_calls = 1000,
	.code_share = 0.50,
	.small_share = 0.20,
	.small_count = 0.50,
	.small_calls = 1000,
	.reads_per_open = 8,
	.random_share = 0.20,
	.unnamed_share = 0.05,
	.random_calls = 1000,
	.random_time = 0.10,
	.sync_share = 0.20,
	.sync_calls = 10,
	.journal_share = 0.50,
	.checkpoint_share = 0.05,
	.epoch_share = 0.05,
	.evaluation_share = 0.05,
	.repeated_share = 0.50,
	.step_read_bytes = 1 << 20,
	.step_read_share = 0.50,
};

void advice_fact(struct advice *a, const char *name, const char *unit,
		 double value)
{
	if (a->facts == ADVICE_FACTS)
		return;
	a->fact[a->facts].name = name;
	a->fact[a->facts].unit = unit;
	a->fact[a->facts++].value = value;
}

void advice_append(char out[static ADVICE_TEXT], const char *fmt, ...)
{
	size_t len = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + len, ADVICE_TEXT - len, fmt, ap);
	va_end(ap);
}

double advice_share(int64_t ns, int64_t of_ns)
{
	return ns > 0 && of_ns > 0 ? (double)ns / (double)of_ns : 0;
}

bool advice_run_unknown(const struct report *r)
{
	return report_is_untimed(r) ||
	       (r->clock_error_ns > 0 && r->clock_error_ns >= report_run_ns(r));
}

bool advice_is_in_flight(const struct report *r)
{
	int64_t mean_ns, io_ns = report_io_ns(r, &mean_ns);

	return r->async.flight_ns > 0 && report_blocking_ns(r) * 2 < io_ns;
}

const char *advice_verb(const struct report *r)
{
	return advice_is_in_flight(r)	 ? "is in flight for"
	       : advice_files_unknown(r) ? "takes at most"
					 : "takes";
}

bool advice_files_unknown(const struct report *r)
{
	return advice_share(r->completeness.unnamed_ns, r->group_sum_ns) >=
	       advice_threshold.unnamed_share;
}

double advice_of_run(const struct report *r, int64_t ns)
{
	return advice_run_unknown(r) ? 0 : advice_share(ns, report_run_ns(r));
}

char *advice_run(char out[static ADVICE_RUN], const struct report *r)
{
	char num[REEL_NUM];

	reel_num_time(num, (double)report_run_ns(r));
	snprintf(out, ADVICE_RUN,
		 report_run_is_job(r)
			 ? "the run's %s"
			 : "the %s from the first to the last event",
		 num);
	return out;
}

char *advice_most_of(char out[static ADVICE_MOST_OF], int64_t mean_ns)
{
	char num[REEL_NUM];

	*out = '\0';
	if (mean_ns != REPORT_NONE)
		snprintf(out, ADVICE_MOST_OF,
			 " in the rank with the most (mean %s)",
			 reel_num_time(num, (double)mean_ns));
	return out;
}

static double of_io(const struct report *r, int64_t ns)
{
	return advice_share(ns, r->group_sum_ns);
}

/* I/O that runs behind computation, or in idle workers, costs nothing. */
static bool io_matters(const struct report *r)
{
	const struct report_rank *k = report_slowest(r);
	int64_t ns = advice_exposed_io(r);

	if (k && k->wait_share >= advice_threshold.matters_share &&
	    k->workers > 0 &&
	    k->worker_busy_share >= advice_threshold.idle_share &&
	    k->worker_io_share >= advice_threshold.matters_share)
		return true;
	return advice_of_run(r,
			     ns == REPORT_NONE ? report_blocking_ns(r) : ns) >=
	       advice_threshold.matters_share;
}

/* An import may lack the opens. */
static double reads_per_open(const struct report *r)
{
	const struct report_transfer *m = &r->transfer[0];
	int64_t opens = m->opens_read > 0 ? m->opens_read : m->files;

	return opens > 0 ? (double)m->calls / (double)opens : (double)m->calls;
}

bool advice_is_start_up(const struct report *r, struct advice *a)
{
	char part[REEL_NUM];

	if (!(r->code_meta_share >= advice_threshold.code_share))
		return false;
	advice_append(a->text,
		      "; %s of the time in calls other than reads and writes "
		      "is for code and system files",
		      reel_columns_percent(part, r->code_meta_share));
	advice_fact(a, "code_share", "share", r->code_meta_share);
	advice_append(a->try_this,
		      "fewer imports; code on local storage, or in one archive "
		      "or image.");
	return true;
}

/* Opens of a data file in an epoch: a reader that opens it for each sample has many. */
static double opens_of_file(const struct report *r)
{
	int64_t epochs = r->epochs > 1 ? r->epochs : 1;

	return r->data_files ? (double)r->data_opens / (double)r->data_files /
				       (double)epochs
			     : 0;
}

/* The time in opens and closes of checkpoints, at least: their other calls that move
 * no bytes are syncs. To open one frees the blocks of the one before it, which takes
 * long and is not for their number. */
static int64_t checkpoint_open_ns(const struct report *r)
{
	int64_t ns = r->checkpoint_meta_ns - r->group[REEL_GROUP_SYNC].dur_ns;

	return ns > 0 ? ns : 0;
}

static bool file_open(const struct report *r, struct advice *a)
{
	double of_file = opens_of_file(r);
	bool again = of_file >= advice_threshold.opens_of_file;
	const struct report_group *o = &r->group[REEL_GROUP_OPEN];
	const struct report_group *c = &r->group[REEL_GROUP_CLOSE];
	int64_t calls = o->calls - r->checkpoint_opens;
	int64_t ns = o->dur_ns + c->dur_ns - checkpoint_open_ns(r);
	double share = of_io(r, ns);
	char num[REEL_NUM], part[REEL_NUM], each[REEL_NUM], size[REEL_NUM];

	if (calls < advice_threshold.opens ||
	    share < advice_threshold.open_share || !io_matters(r))
		return false;
	advice_append(a->text,
		      "opening and closing files %s times is %s of the time in "
		      "I/O calls "
		      "(%s each",
		      reel_num_count(num, calls),
		      reel_columns_percent(part, share),
		      reel_num_time(each, (double)(ns / calls)));
	if (r->median_file_bytes != REPORT_NONE)
		advice_append(
			a->text, "; median data file %s",
			reel_num_size(size, (double)r->median_file_bytes));
	advice_append(a->text, ")");
	if (again)
		advice_append(
			a->text, "; %s data %s opened %.3g times each%s",
			reel_num_count(num, r->data_files),
			advice_number(r->data_files, "file is", "files are"),
			of_file, r->epochs > 1 ? " in an epoch" : "");
	advice_fact(a, "opens_of_file", "", of_file);
	advice_fact(a, "opens", "calls", (double)calls);
	advice_fact(a, "open_close_share", "share", share);
	advice_fact(a, "median_file", "B", (double)r->median_file_bytes);
	if (!advice_is_start_up(r, a))
		advice_append(a->try_this, "%s",
			      r->transfer[1].calls > r->transfer[0].calls
				      ? "fewer, larger files to write, or "
					"files that stay open."
			      : again ? "files that stay open from one sample "
					"to the next: a worker opens each "
					"once."
				      : "samples packed into TFRecord, "
					"WebDataset or HDF5 shards.");
	advice_append(a->text, ".");
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
	if (calls < advice_threshold.meta_calls ||
	    share < advice_threshold.meta_share || !io_matters(r))
		return false;
	advice_append(
		a->text,
		"%s calls that look up, seek, list, rename or remove are %s "
		"of the "
		"time in I/O calls",
		reel_num_count(num, calls), reel_columns_percent(part, share));
	if (errors * 10 > calls)
		advice_append(a->text, "; %s of them failed",
			      reel_num_count(num, errors));
	advice_fact(a, "meta_calls", "calls", (double)calls);
	advice_fact(a, "meta_share", "share", share);
	advice_fact(a, "failed", "calls", (double)errors);
	if (!advice_is_start_up(r, a))
		advice_append(a->try_this, "%s",
			      r->group[REEL_GROUP_META].dur_ns * 2 > ns
				      ? "fewer, larger files to make, rename "
					"and remove."
				      : "a list of the files made once, "
					"without a look at each of them.");
	advice_append(a->text, ".");
	return true;
}

static bool small_read(const struct report *r, struct advice *a)
{
	const struct report_transfer *m = &r->transfer[0];
	double share = of_io(r, r->small[0].ns);
	double per_open = reads_per_open(r);
	char num[REEL_NUM], part[REEL_NUM], size[REEL_NUM], per[REEL_NUM];

	/* FILE-OPEN covers small files that are read whole. */
	if (r->small[0].calls < advice_threshold.small_calls ||
	    (double)r->small[0].calls <
		    advice_threshold.small_count * (double)m->calls ||
	    share < advice_threshold.small_share ||
	    per_open < advice_threshold.reads_per_open || !io_matters(r) ||
	    advice_files_unknown(r))
		return false;
	advice_append(
		a->text,
		"%s reads of less than 16 KiB are %s of the time in I/O calls "
		"(median read %s, %s reads per %sfile).",
		reel_num_count(num, r->small[0].calls),
		reel_columns_percent(part, share),
		reel_num_size(size, (double)m->median_bytes),
		reel_num_count(per, llround(per_open)),
		m->opens_read > 0 ? "open " : "");
	advice_fact(a, "small_reads", "calls", (double)r->small[0].calls);
	advice_fact(a, "small_read_share", "share", share);
	advice_fact(a, "median_read", "B", (double)m->median_bytes);
	advice_fact(a, "reads_per_open", "calls", per_open);
	advice_append(a->try_this,
		      "whole records in one read, a larger buffer, larger "
		      "chunks in HDF5.");
	return true;
}

/* The flushes of a stream hand its writes to the kernel, so they count too. */
static bool small_write(const struct report *r, struct advice *a)
{
	const struct report_transfer *m = &r->transfer[1];
	int64_t calls = r->small[1].calls;
	double share = of_io(r, r->small[1].ns + r->flush_ns);
	double per_file = m->files > 0 ? (double)m->calls / (double)m->files
				       : (double)m->calls;
	char num[REEL_NUM], part[REEL_NUM], size[REEL_NUM], per[REEL_NUM];

	if (calls < advice_threshold.small_calls ||
	    (double)calls < advice_threshold.small_count * (double)m->calls ||
	    share < advice_threshold.small_share ||
	    per_file < advice_threshold.reads_per_open || !io_matters(r) ||
	    advice_files_unknown(r))
		return false;
	advice_append(
		a->text,
		"%s writes of less than 16 KiB, with their flushes, are %s "
		"of the "
		"time in I/O calls (median write %s, %s writes per file).",
		reel_num_count(num, calls), reel_columns_percent(part, share),
		reel_num_size(size, (double)m->median_bytes),
		reel_num_count(per, llround(per_file)));
	advice_fact(a, "small_writes", "calls", (double)calls);
	advice_fact(a, "small_write_share", "share", share);
	advice_fact(a, "median_write", "B", (double)m->median_bytes);
	advice_fact(a, "writes_per_file", "calls", per_file);
	advice_append(a->try_this,
		      "whole records in one write, a larger buffer, a flush "
		      "per step rather than per line.");
	return true;
}

static bool random_read(const struct report *r, struct advice *a)
{
	const struct report_transfer *m = &r->transfer[0];
	char num[REEL_NUM], part[REEL_NUM];

	/* Reading the head of a file twice is no random access. */
	if (m->random < advice_threshold.random_calls ||
	    reads_per_open(r) < advice_threshold.reads_per_open ||
	    m->random_share < advice_threshold.random_share ||
	    of_io(r, r->group[REEL_GROUP_READ].dur_ns) <
		    advice_threshold.random_time ||
	    !io_matters(r))
		return false;
	advice_append(a->text,
		      "%s reads (%s of those that follow another) go back in "
		      "their file; --files shows which.",
		      reel_num_count(num, m->random),
		      reel_columns_percent(part, m->random_share));
	advice_fact(a, "random_reads", "calls", (double)m->random);
	advice_fact(a, "random_share", "share", m->random_share);
	advice_append(a->try_this,
		      "shuffling shards and a buffer of samples rather than "
		      "single samples.");
	return true;
}

/* A flush of a stream hands its buffer to the kernel and waits for no storage, so
 * it is not counted. */
static bool write_fsync(const struct report *r, struct advice *a)
{
	int64_t calls = r->group[REEL_GROUP_SYNC].calls - r->flushes;
	int64_t dur_ns = r->group[REEL_GROUP_SYNC].dur_ns - r->flush_ns;
	double share = of_io(r, dur_ns);
	bool sqlite = (double)r->journal_ns >=
		      advice_threshold.journal_share * (double)dur_ns;
	char num[REEL_NUM], part[REEL_NUM], each[REEL_NUM];

	if (calls < advice_threshold.sync_calls ||
	    share < advice_threshold.sync_share || !io_matters(r))
		return false;
	if (calls <= r->checkpoints) /* CHECKPOINT has their time */
		return false;
	advice_append(a->text,
		      "%s syncs are %s of the time in I/O calls (%s each)%s.",
		      reel_num_count(num, calls),
		      reel_columns_percent(part, share),
		      reel_num_time(each, (double)(dur_ns / calls)),
		      sqlite ? ", most of it SQLite's" : "");
	advice_fact(a, "syncs", "calls", (double)calls);
	advice_fact(a, "sync_share", "share", share);
	advice_append(
		a->try_this, "%s",
		sqlite ? "several changes in each transaction: each that is "
			 "committed is synced, and must be."
		: calls <= r->checkpoint_opens /* one each, at most */
			? "fewer checkpoints, or another thread that writes "
			  "and syncs them while the job goes on."
			: "one sync per checkpoint, or none for logs.");
	return true;
}

/* In the order of the report: the most costly first. */
static const struct {
	const char *code;
	advice_rule *rule;
} rules[] = {
	{"INPUT-BOUND", advice_input_bound},
	{"INPUT-WAIT", advice_input_wait},
	{"WAIT-UNKNOWN", advice_wait_unknown},
	{"EPOCH-START", advice_epoch_start},
	{"EVAL-WAIT", advice_evaluation_wait},
	{"REPEATED-READ", advice_repeated_read},
	{"REREAD", advice_reread},
	{"STEP-IO", advice_step_io},
	{"CHECKPOINT", advice_checkpoint},
	{"STORAGE-BOUND", advice_storage_bound},
	{"IO-BOUND", advice_io_bound},
	{"FILE-OPEN", file_open},
	{"META-HEAVY", meta_heavy},
	{"SMALL-READ", small_read},
	{"RANDOM-READ", random_read},
	{"SMALL-WRITE", small_write},
	{"WRITE-FSYNC", write_fsync},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))
_Static_assert(RULES < ADVICE_MOST, "raise ADVICE_MOST");

/* An import as that of DXT, which has reads and writes, but no opens. */
static bool has_transfers_only(const struct report *r)
{
	for (int g = 0; g < REEL_GROUPS; g++)
		if (g != REEL_GROUP_READ && g != REEL_GROUP_WRITE &&
		    r->group[g].calls > 0)
			return false;
	return r->sources && r->calls;
}

/* The topics of calls that a filtered log has: the absence of others proves nothing. */
static void append_filtered(const struct report *r, struct advice *a)
{
	const struct {
		const char *topic;
		bool seen;
	} topics[] = {
		{"opens", r->group[REEL_GROUP_OPEN].calls > 0},
		{"metadata", r->group[REEL_GROUP_STAT].calls > 0},
		{"small reads", r->transfer[0].calls > 0},
		{"random reads", r->transfer[0].random_share != REPORT_NONE},
		{"small writes", r->transfer[1].calls > 0},
		{"syncs", r->group[REEL_GROUP_SYNC].calls > 0},
		{"checkpoints", r->group[REEL_GROUP_OPEN].calls > 0 &&
					r->transfer[1].calls > 0},
	};
	const char *between = "checked, of the calls in the log: ";

	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
		if (!topics[i].seen)
			continue;
		advice_append(a->text, "%s%s", between, topics[i].topic);
		between = ", ";
	}
	advice_append(a->text, "%sa filter may have left out others",
		      *between == ',' ? "; " : "");
}

/* Append what the rules could not check. @steps: of the slowest rank, or NULL. */
static void append_unknown(const struct report *r,
			   const struct report_rank *steps, struct advice *a)
{
	char num[REEL_NUM];

	if (advice_is_in_flight(r))
		advice_append(a->text,
			      "; whether the job waits for operations in "
			      "flight is known only of calls on their "
			      "queues");
	if (!steps && r->uses.python && !report_is_imported(r))
		advice_append(a->text, "; how long the job waits for its input "
				       "is not known without steps");
	if (r->completeness.lost_events > 0)
		advice_append(a->text, "; %s lost %s could not be checked",
			      reel_num_count(num, r->completeness.lost_events),
			      advice_number(r->completeness.lost_events,
					    "event", "events"));
	if (advice_files_unknown(r))
		advice_append(a->text,
			      "; %s %s of unknown files or pipes could not be "
			      "checked",
			      reel_num_count(num, r->completeness.unnamed),
			      advice_number(r->completeness.unnamed,
					    "read or write",
					    "reads and writes"));
}

static void no_problem(const struct report *r, struct advice *a)
{
	const struct report_rank *k = report_slowest(r);
	char part[REEL_NUM], num[REEL_NUM], run[ADVICE_RUN],
		ranks[ADVICE_MOST_OF];
	int64_t mean_ns, io_ns = report_io_ns(r, &mean_ns);
	double share = advice_of_run(r, io_ns);
	bool judged = k && !advice_is_one_step(k);

	memset(a, 0, sizeof(*a));
	a->code = "NO-PROBLEM";
	if (report_is_counted(r) && !k) {
		advice_append(a->text,
			      r->calls
				      ? "checked: the time in calls; small and "
					"random reads, small writes among the "
					"segments of DXT; waits are not known."
				      : "checked: the time in calls; the "
					"counters do not tell waits and sizes "
					"of single calls.");
		advice_fact(a, "io_share", "share",
			    advice_of_run(r, report_counted_ns(r)));
		return;
	}
	if (!r->calls && !judged) {
		advice_append(a->text,
			      "no call on a data file was recorded, so "
			      "nothing could be checked.");
		return;
	}
	if (r->completeness.filtered)
		append_filtered(r, a);
	else if (has_transfers_only(r))
		advice_append(
			a->text,
			"checked: small and random reads, small writes; opens, "
			"metadata, syncs and waits are not in the imported "
			"files");
	else if (!r->calls)
		advice_append(a->text, r->sources ? "checked: waiting; the "
						    "imported files have no "
						    "calls of I/O"
						  : "checked: waiting; no call "
						    "on a data file was "
						    "recorded");
	else
		advice_append(a->text,
			      "checked: %sopens, metadata, %ssyncs, "
			      "checkpoints%s",
			      judged ? "waiting, " : "",
			      r->completeness.no_size
				      ? ""
				      : "small and random reads, small "
					"writes, ",
			      r->completeness.no_size
				      ? "; not all calls have a size"
				      : "");
	if (k)
		advice_fact(a, "wait_share", "share", k->wait_share);
	if (io_ns > 0) {
		if (k)
			advice_append(a->text, "; I/O %s %s of %s%s, %s",
				      advice_verb(r),
				      reel_num_time(num, (double)io_ns),
				      advice_run(run, r),
				      advice_most_of(ranks, mean_ns),
				      reel_columns_percent(part, share));
		advice_fact(a, "io_share", "share", share);
	}
	append_unknown(r, k, a);
	if (r->completeness.empty_files > 0)
		advice_append(a->text, "; an empty file may be the log of a "
				       "process that was killed");
	advice_append(a->text, ".");
}

/* Put the longer of STEP-IO and CHECKPOINT first. */
static void longer_first(struct report *r)
{
	for (int i = 0; i + 1 < r->advices; i++) {
		struct advice *a = &r->advice[i], swap = *a;

		if (strcmp(a->code, "STEP-IO") ||
		    strcmp(a[1].code, "CHECKPOINT") ||
		    r->checkpoint_ns <= advice_step_io_ns(r))
			continue;
		a[0] = a[1];
		a[1] = swap;
	}
}

static int find_problems(struct report *r, struct reel_error *err)
{
	size_t i;

	for (i = 0; i < RULES; i++) {
		struct advice *a = &r->advice[r->advices];

		memset(a, 0, sizeof(*a));
		a->code = rules[i].code;
		if (rules[i].rule(r, a))
			r->advices++;
	}
	longer_first(r);
	/* Without events, counters or times nothing of an import was checked. */
	if (!r->advices && !r->completeness.only_failed &&
	    (r->calls || report_slowest(r) || !r->sources ||
	     report_counted_ns(r) > 0) &&
	    ((!advice_time_unknown(r) && !advice_run_unknown(r)) ||
	     report_slowest(r)))
		no_problem(r, &r->advice[r->advices++]);
	r->verdict = advice_verdict(r, err);
	return r->verdict ? 0 : -1;
}

int advise(struct report *r, struct reel_error *err)
{
	struct report *own;
	int rc;

	if (r->tracer.call_ns <= 0)
		return find_problems(r, err);
	own = reel_alloc(1, sizeof(*own), err);
	if (!own)
		return -1;
	rc = report_untraced(own, r, err) || find_problems(own, err) ? -1 : 0;
	report_untraced_fini(own, r);
	free(own);
	return rc;
}
