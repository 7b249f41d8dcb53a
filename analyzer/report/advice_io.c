/* SPDX-License-Identifier: MIT */
/*
 * Advice on I/O that takes the job's time: I/O of the thread that steps,
 * checkpoints, reads from storage, and all I/O in a job without steps.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/calls.h"
#include "lib/columns.h"
#include "lib/num.h"

#include "analyzer/report/advice_rules.h"
#include "analyzer/report/report.h"

#define LARGE_BYTES (1 << 20) /* of a transfer */
#define FEW_CALLS 100
#define LOCK_SHARE 0.5 /* of the time of REEL_GROUP_STAT: locks, not storage */

/* Page-cache misses outside of computation. */
bool advice_storage_bound(const struct report *r, struct advice *a)
{
	double share = advice_of_run(r, r->storage_wait.exposed_ns);
	char time[REEL_NUM], part[REEL_NUM], bytes[REEL_NUM], num[REEL_NUM],
		each[REEL_NUM], rate[REEL_NUM], run[ADVICE_RUN];
	int64_t reads = r->storage_wait.reads, ns = r->storage_wait.read_ns;

	if (reads <= 0 || ns <= 0 || share < advice_threshold.storage_share)
		return false;
	advice_append(a->text,
		      "reads that wait for the storage take %s of %s (%s)%s: "
		      "%s in %s %s, %s each, %s.",
		      reel_num_time(time, (double)r->storage_wait.exposed_ns),
		      advice_run(run, r), reel_columns_percent(part, share),
		      report_slowest(r) ? " outside computation" : "",
		      reel_num_bytes(bytes, (double)r->storage_wait.bytes),
		      reel_num_count(num, reads),
		      advice_number(reads, "read", "reads"),
		      reel_num_time(each, (double)ns / (double)reads),
		      reel_num_rate(rate, (double)r->storage_wait.bytes * 1e9 /
						  (double)ns));
	advice_fact(a, "exposed_storage", "ns",
		    (double)r->storage_wait.exposed_ns);
	advice_fact(a, "exposed_storage_share", "share", share);
	advice_fact(a, "storage_reads", "calls", (double)reads);
	advice_fact(a, "storage_bytes", "B", (double)r->storage_wait.bytes);
	advice_fact(a, "storage_latency", "ns", (double)ns / (double)reads);
	advice_fact(a, "storage_rate", "B/s",
		    (double)r->storage_wait.bytes * 1e9 / (double)ns);
	advice_append(
		a->try_this,
		"several reads at a time, or larger ones; data on faster or "
		"local storage; data that fits into memory read ahead.");
	return true;
}

const struct report_rank *advice_own_io_rank(const struct report *r,
					     double *share)
{
	const struct report_rank *most = NULL;
	int64_t i;

	*share = 0;
	for (i = 0; i < r->ranks; i++) {
		const struct report_rank *k = &r->rank[i];
		double own = advice_share(k->own_io_ns, k->loop_ns);

		if (own > *share) {
			*share = own;
			most = k;
		}
	}
	return most;
}

/* An IterableDataset that does not look which worker it is in, ranks that all pass over
 * the whole data set. */
bool advice_repeated_read(const struct report *r, struct advice *a)
{
	char files[REEL_NUM], bytes[REEL_NUM];
	int64_t times = r->repeated.times;

	if (!times)
		return false;
	advice_append(
		a->text,
		"each epoch reads %s %s (%s) %lld times: each of %lld "
		"processes reads all of %s, so each sample comes "
		"%lld times.",
		reel_num_count(files, r->repeated.files),
		advice_number(r->repeated.files, "data file", "data files"),
		reel_num_bytes(bytes, (double)r->repeated.size_bytes),
		(long long)times, (long long)times,
		r->repeated.files == 1 ? "it" : "them", (long long)times);
	advice_fact(a, "times", "", (double)times);
	advice_fact(a, "files", "", (double)r->repeated.files);
	advice_fact(a, "size", "B", (double)r->repeated.size_bytes);
	advice_fact(a, "read", "B", (double)r->repeated.read_bytes);
	advice_append(a->try_this, "%s",
		      r->uses.tensorflow && !r->uses.pytorch
			      ? "shard() of tf.data, or a distributed data "
				"set, so that each rank reads its part; ranks "
				"that share a model need the same samples."
			      : "a part of the data for each loader worker "
				"(get_worker_info() in an IterableDataset, "
				"split_by_worker of WebDataset) and each rank "
				"(DistributedSampler, split_by_node); ranks "
				"that share a model need the same samples.");
	return true;
}

static bool is_hdf5(const char *name)
{
	static const char *const suffix[] = {".h5",  ".hdf5", ".hdf",
					     ".he5", ".nc",   ".nc4"};
	size_t n = strlen(name), len;

	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		len = strlen(suffix[i]);
		if (n > len && !strcasecmp(name + n - len, suffix[i]))
			return true;
	}
	return false;
}

/* The reads of the same part by each open of its file: of a header or an index. */
static void append_opens(const struct report *r, double read, const char *name,
			 struct advice *a)
{
	char files[REEL_NUM], opens[REEL_NUM], size[REEL_NUM], bytes[REEL_NUM];

	advice_append(a->text, "an epoch opens %s %s%s %s times, and ",
		      reel_num_count(files, r->reread.files),
		      advice_number(r->reread.files, "data file", "data files"),
		      name, reel_num_count(opens, r->reread.opens));
	reel_num_bytes(size, (double)r->reread.size_bytes);
	reel_num_bytes(bytes, read);
	advice_fact(a, "opens", "", (double)r->reread.opens);
	if (r->reread.whole) {
		advice_append(a->text, "reads all %s of it each time: %s.",
			      size, bytes);
		advice_append(
			a->try_this,
			"each loader worker reads the file once and keeps "
			"it in memory, or a file for each sample.");
		return;
	}
	advice_append(a->text, "most opens read the same %s of %s: %s.", size,
		      r->reread.files == 1 ? "it" : "them", bytes);
	advice_append(a->try_this,
		      "each loader worker opens the file once and keeps it "
		      "open, or keeps what it read of that part.");
}

/* A reader gets whole chunks or blocks, and has forgotten them when the next sample of
 * one comes. */
bool advice_reread(const struct report *r, struct advice *a)
{
	const struct report_rank *k = report_slowest(r);
	char files[REEL_NUM], size[REEL_NUM], bytes[REEL_NUM], factor[REEL_NUM],
		name[96] = "";
	double read, times;

	if (!r->reread.files || r->repeated.times || !k || r->epochs <= 0 ||
	    r->reread.size_bytes <= 0 ||
	    (double)r->reread.read_bytes < advice_threshold.repeated_share *
						   (double)r->data_read_bytes ||
	    (k->exposed_wait_share < advice_threshold.wait_share &&
	     advice_of_run(r, r->io_ns) < advice_threshold.matters_share))
		return false;
	read = (double)r->reread.read_bytes / (double)r->epochs;
	times = read / (double)r->reread.size_bytes;
	if (r->reread.files == 1)
		snprintf(name, sizeof(name), " (%s)", r->reread.name);
	advice_fact(a, "times", "", times);
	advice_fact(a, "files", "", (double)r->reread.files);
	advice_fact(a, "size", "B", (double)r->reread.size_bytes);
	advice_fact(a, "read", "B", (double)r->reread.read_bytes);
	if (r->reread.opens) {
		append_opens(r, read, name, a);
		return true;
	}
	advice_append(a->text,
		      "an epoch reads %s of %s %s%s of %s: each byte %s times.",
		      reel_num_bytes(bytes, read),
		      reel_num_count(files, r->reread.files),
		      advice_number(r->reread.files, "data file", "data files"),
		      name, reel_num_bytes(size, (double)r->reread.size_bytes),
		      reel_num_factor(factor, times));
	advice_append(a->try_this, "%s",
		      is_hdf5(r->reread.name)
			      ? "a chunk cache that holds the chunks in use "
				"(rdcc_nbytes of h5py.File, H5Pset_cache), "
				"samples in the order of the chunks, or chunks "
				"as small as a sample."
			      : "samples in the order in which they lie in the "
				"file, a cache of what was read, or blocks as "
				"small as a sample.");
	return true;
}

/* The kinds of calls of the process that took most time. */
static void append_busiest(const struct report *r, char *out)
{
	char time[REEL_NUM];
	int n = 0;

	while (n < REPORT_BUSIEST && r->busiest[n].dur_ns > 0) {
		advice_append(
			out, "%s%s %s",
			n ? ", " : " Its process spent: ", r->busiest[n].group,
			reel_num_time(time, (double)r->busiest[n].dur_ns));
		n++;
	}
	if (n)
		advice_append(out, ".");
}

double advice_step_write_share(const struct report *r)
{
	return advice_share(r->step_write.ns, r->step_write.loop_ns);
}

/* Where the waits of steps are not known, nor is the rest of their own I/O: reads may
 * be waits. */
static bool append_step_writes(const struct report *r, struct advice *a)
{
	double share = advice_step_write_share(r);
	char own[REEL_NUM], loop[REEL_NUM], part[REEL_NUM];

	if (share < advice_threshold.own_share)
		return false;
	if (r->ranks > 1)
		advice_append(a->text, "on rank %lld ",
			      (long long)r->step_write.rank);
	advice_append(
		a->text,
		"the thread that steps spends %s of %s (%s) in writes, syncs "
		"and renames, outside checkpoints, and computes nothing "
		"meanwhile.",
		reel_num_time(own, (double)r->step_write.ns),
		reel_num_time(loop, (double)r->step_write.loop_ns),
		reel_columns_percent(part, share));
	advice_fact(a, "own_write", "ns", (double)r->step_write.ns);
	advice_fact(a, "own_write_share", "share", share);
	advice_fact(a, "loop", "ns", (double)r->step_write.loop_ns);
	advice_append(a->try_this,
		      "another thread that writes from a copy; fewer "
		      "writes and syncs.");
	return true;
}

int64_t advice_step_io_ns(const struct report *r)
{
	double share;
	const struct report_rank *k = advice_own_io_rank(r, &share);

	return k && share >= advice_threshold.own_share ? k->own_io_ns
							: r->step_write.ns;
}

bool advice_step_io(const struct report *r, struct advice *a)
{
	double share;
	const struct report_rank *k = advice_own_io_rank(r, &share);
	char own[REEL_NUM], loop[REEL_NUM], part[REEL_NUM];

	if (!k || share < advice_threshold.own_share)
		return append_step_writes(r, a);
	if (r->ranks > 1)
		advice_append(a->text, "on rank %lld ", (long long)k->rank);
	advice_append(
		a->text,
		"the thread that steps spends %s of %s (%s) in I/O of its "
		"own, outside fetches and checkpoints, and computes nothing "
		"meanwhile.",
		reel_num_time(own, (double)k->own_io_ns),
		reel_num_time(loop, (double)k->loop_ns),
		reel_columns_percent(part, share));
	append_busiest(r, a->text);
	advice_fact(a, "own_io", "ns", (double)k->own_io_ns);
	advice_fact(a, "own_io_share", "share", share);
	advice_fact(a, "loop", "ns", (double)k->loop_ns);
	advice_append(a->try_this,
		      "another thread that writes from a copy; fewer "
		      "writes and syncs.");
	return true;
}

/* A lower bound of the I/O time of processes outside the ranks' trees: a script
 * that copies data before it trains. */
static int64_t unranked_io(const struct report *r)
{
	int64_t ns = r->io_ns > 0 ? r->io_ns : 0, i;

	for (i = 0; i < r->ranks && ns > 0; i++)
		if (r->rank[i].io_ns > 0)
			ns -= r->rank[i].io_ns;
	return ns > 0 ? ns : 0;
}

int64_t advice_exposed_io(const struct report *r)
{
	int64_t ns = REPORT_NONE, i;

	for (i = 0; i < r->ranks; i++)
		if (r->rank[i].exposed_ns > ns)
			ns = r->rank[i].exposed_ns;
	return ns == REPORT_NONE ? ns : ns + unranked_io(r);
}

/* I/O time beyond the fetches, checkpoints and own I/O of any rank. */
static int64_t unnamed_io(const struct report *r)
{
	int64_t most = 0, i;

	for (i = 0; i < r->ranks; i++) {
		const struct report_rank *k = &r->rank[i];
		int64_t ns = k->exposed_ns - r->checkpoint_ns;

		if (k->loop_wait_ns > 0)
			ns -= k->loop_wait_ns;
		if (k->own_io_ns > 0)
			ns -= k->own_io_ns;
		if (ns > most)
			most = ns;
	}
	return most + unranked_io(r);
}

/* Are several asynchronous operations in flight on average while there is I/O, and
 * is most I/O asynchronous? */
static bool has_several_in_flight(const struct report *r)
{
	int64_t ns = r->rank_io.ranks > 1 ? r->rank_io.sum_ns : r->io_ns;

	return ns > 0 && r->async.flight_ns / 2 >= ns &&
	       r->async.flight_ns > r->group_sum_ns / 2;
}

/* Larger transfers help small ones, fewer calls help many. */
static const char *remedy_of(const struct report *r, int group, int64_t calls,
			     int64_t bytes)
{
	bool large = calls > 0 && bytes / calls >= LARGE_BYTES;
	bool few = calls < FEW_CALLS;

	if (has_several_in_flight(r) &&
	    (group == REEL_GROUP_READ || group == REEL_GROUP_WRITE))
		return large ? "other work while they are in flight: they are "
			       "several at a time already."
			     : "larger transfers, or other work while they are "
			       "in flight: they are several at a time already.";
	switch (group) {
	case REEL_GROUP_READ:
		return large ? "several reads at a time, or a thread that "
			       "reads ahead."
			     : "larger reads, several at a time, or a thread "
			       "that reads ahead.";
	case REEL_GROUP_WRITE:
		return large ? "several writes at a time, or a thread of their "
			       "own."
			     : "larger writes, or a thread of their own.";
	case REEL_GROUP_SYNC:
		return few ? "syncs by a thread of their own." : "fewer syncs.";
	default:
		return few ? "storage that answers them faster: they are few."
			   : "fewer, larger files; several of them at a time.";
	}
}

static bool is_transfer(int group)
{
	return group == REEL_GROUP_READ || group == REEL_GROUP_WRITE ||
	       group == REEL_GROUP_SYNC;
}

/* The three kinds of calls that took most time; the remedy is for the first. */
static void append_groups(const struct report *r, struct advice *a)
{
	static const char *const names[REEL_GROUPS] = {
		[REEL_GROUP_META] = "metadata",
		[REEL_GROUP_DIR] = "directories",
	};
	bool said[REEL_GROUPS] = {false};
	char part[REEL_NUM];
	int n, g, first = -1;

	for (n = 0; n < 3; n++) {
		int most = -1;

		for (g = 0; g < REEL_GROUPS; g++)
			if (!said[g] && r->group[g].dur_ns > 0 &&
			    (most < 0 ||
			     r->group[g].dur_ns > r->group[most].dur_ns))
				most = g;
		if (most < 0 ||
		    advice_share(r->group[most].dur_ns, r->group_sum_ns) < 0.01)
			break;
		said[most] = true;
		advice_append(a->text, "%s%s %s",
			      n ? ", " : "; of its calls' time ",
			      names[most] ? names[most] : reel_group_name(most),
			      reel_columns_percent(
				      part, advice_share(r->group[most].dur_ns,
							 r->group_sum_ns)));
		if (!n)
			first = most;
	}
	if (first == REEL_GROUP_STAT &&
	    advice_share(r->lock_ns, r->group[first].dur_ns) >= LOCK_SHARE) {
		advice_append(
			a->text,
			"; of stat, %s is in calls on locks, which wait "
			"for other processes",
			reel_columns_percent(
				part, advice_share(r->lock_ns,
						   r->group[first].dur_ns)));
		advice_append(a->try_this,
			      "locks that are held for less time, or a file "
			      "for each process.");
	} else if (first >= 0 &&
		   (is_transfer(first) || !advice_is_start_up(r, a)))
		advice_append(a->try_this, "%s",
			      remedy_of(r, first, r->group[first].calls,
					r->group[first].bytes));
	advice_append(a->text, ".");
}

/* As long as no storage needs for an open, but one of a named pipe waits until another
 * process opens its other end. */
#define WAITING_OPEN_NS 1000000000

/* Does a call on metadata take so long that other processes may be its cause? */
static bool counted_waits(const struct report *r, char time[static REEL_NUM])
{
	int64_t calls = r->counted.calls[2];

	if (calls <= 0 || r->counted.meta_ns / calls < WAITING_OPEN_NS)
		return false;
	reel_num_time(time, (double)(r->counted.meta_ns / calls));
	return true;
}

/* Darshan's counters without calls: its time in metadata covers opens, stats, seeks
 * and syncs. */
static bool counted_bound(const struct report *r, struct advice *a)
{
	int64_t ns = report_counted_ns(r), read_ns = r->counted.read_ns,
		write_ns = r->counted.write_ns, meta_ns = r->counted.meta_ns,
		sum_ns = read_ns + write_ns + meta_ns;
	double share = advice_of_run(r, ns);
	static const int group[] = {REEL_GROUP_READ, REEL_GROUP_WRITE,
				    REEL_GROUP_META};
	int most = read_ns >= write_ns && read_ns >= meta_ns ? 0
		   : write_ns >= meta_ns		     ? 1
							     : 2;
	char time[REEL_NUM], run[ADVICE_RUN], part[REEL_NUM], reads[REEL_NUM],
		writes[REEL_NUM], meta[REEL_NUM], each[REEL_NUM];
	bool waits = most == 2 && counted_waits(r, each);

	if (share < advice_threshold.io_share)
		return false;
	advice_append(
		a->text,
		"calls of %s take %s of %s (%s%s); of that read %s, write %s, "
		"metadata %s",
		r->counted.module, reel_num_time(time, (double)ns),
		advice_run(run, r), reel_columns_percent(part, share),
		share > 1 ? ": several threads at a time" : "",
		reel_columns_percent(reads, advice_share(read_ns, sum_ns)),
		reel_columns_percent(writes, advice_share(write_ns, sum_ns)),
		reel_columns_percent(meta, advice_share(meta_ns, sum_ns)));
	advice_append(
		a->text,
		waits ? ", %s for each open and stat: storage is slow, or "
			"opens of named pipes wait for other processes."
		      : ".",
		each);
	advice_append(
		a->try_this, "%s",
		waits ? "the same files alone, without the other processes."
		      : remedy_of(r, group[most], r->counted.calls[most],
				  most < 2 ? r->counted.bytes[most] : 0));
	advice_fact(a, "io", "ns", (double)ns);
	advice_fact(a, "io_share", "share", share);
	return true;
}

/* In a job with steps count only the I/O that no other rule names. */
bool advice_io_bound(const struct report *r, struct advice *a)
{
	bool all = !report_slowest(r);

	if (report_is_counted(r) && (all || !r->calls))
		return counted_bound(r, a);

	int64_t mean_ns, ns = report_io_ns(r, &mean_ns);
	char time[REEL_NUM], part[REEL_NUM], run[ADVICE_RUN],
		ranks[ADVICE_MOST_OF];

	if (!all)
		ns = unnamed_io(r);
	double share = advice_of_run(r, ns);

	if (share < advice_threshold.io_share ||
	    advice_of_run(r, ns - r->completeness.unnamed_ns) <
		    advice_threshold.io_share ||
	    (all && advice_of_run(r, report_blocking_ns(r)) <
			    advice_threshold.io_share))
		return false;
	advice_append(
		a->text, "I/O takes %s of %s (%s)%s",
		reel_num_time(time, (double)ns), advice_run(run, r),
		reel_columns_percent(part, share),
		all ? advice_most_of(ranks, mean_ns)
		    : " outside computation, fetches, checkpoints and I/O "
		      "of the steps");
	append_groups(r, a);
	advice_fact(a, "io", "ns", (double)ns);
	advice_fact(a, "io_share", "share", share);
	return true;
}

bool advice_saves_data(const struct report *r)
{
	for (int64_t i = 0; i < r->ranks; i++)
		if (r->rank[i].steps > 0)
			return false;
	return r->uses.pytorch;
}

/* The time of a checkpoint, without that of one that its process ended in. */
static void append_each(const struct report *r, struct advice *a)
{
	bool cut = r->unfinished_ns > 0;
	int64_t finished = r->checkpoints - cut;
	char each[REEL_NUM] = "";

	if (finished > 0)
		reel_num_time(each,
			      (double)((r->checkpoint_ns - r->unfinished_ns) /
				       finished));
	advice_append(a->text, "%s%s%s%s", each, finished > 1 ? " each" : "",
		      cut && finished > 0 ? "; " : "",
		      !cut		   ? ""
		      : r->checkpoints > 1 ? "the last did not finish"
					   : "it did not finish");
}

bool advice_checkpoint(const struct report *r, struct advice *a)
{
	bool data = advice_saves_data(r);
	double share = advice_of_run(r, r->checkpoint_ns);
	char num[REEL_NUM], part[REEL_NUM], run[ADVICE_RUN];

	if (!r->checkpoints || share < advice_threshold.checkpoint_share)
		return false;
	advice_append(
		a->text, "%s %s %s of %s (",
		reel_num_count(num, r->checkpoints),
		data ? advice_number(r->checkpoints, "save takes", "saves take")
		     : advice_number(r->checkpoints, "checkpoint takes",
				     "checkpoints take"),
		reel_columns_percent(part, share), advice_run(run, r));
	append_each(r, a);
	advice_append(a->text, "), while nothing else advances%s.",
		      data ? "; no training step was recorded, so they may "
			     "be data"
			   : "");
	advice_fact(a, "checkpoints", "", (double)r->checkpoints);
	advice_fact(a, "checkpoint_share", "share", share);
	advice_append(a->try_this,
		      data ? "a thread that writes from a copy."
			   : "fewer of them, or written by a thread from a "
			     "copy.");
	return true;
}
