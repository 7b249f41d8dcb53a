/* SPDX-License-Identifier: MIT */
/*
 * Sizes of reads and writes: percentiles, exact for few distinct sizes, else
 * from a log-linear histogram; and Darshan's ten bins, exact.
 *
 * The size is the return value; errors and reads at end of file have none.
 * Darshan counts reads at end of file in its first bin, so they are stored
 * beside it.
 */
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/distinct.h"
#include "analyzer/metric/distribution.h"
#include "analyzer/metric/histogram.h"
#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_transfer_size.sql.inc"
	;

#define DARSHAN_BINS 10
enum { ALL, POSIX }; /* calls; Darshan has sizes of its POSIX module */

static const int64_t darshan_upper[DARSHAN_BINS] = {
	100,	 1024,	   10240,     102400,	  1048576,
	4194304, 10485760, 104857600, 1073741824, INT64_MAX,
};

struct bin {
	uint64_t calls, bytes, dur_ns;
};

struct transfer_size {
	struct bin bin[2][64];	       /* powers of two */
	struct reel_histogram size[2]; /* METRIC_READ, METRIC_WRITE */
	struct reel_distinct distinct[2];
	struct {
		uint64_t bin[2][DARSHAN_BINS], eof_reads;
	} darshan[2]; /* ALL, POSIX */
};

static const char *const op_name[] = {"read", "write"};

/* The bin of @bytes (> 0). No branch: sizes may come in any order. */
static inline uint32_t darshan_bin(int64_t bytes)
{
	/* of the first size in each power of two, which has at most two */
	static const uint8_t first[64] = {
		[7 ... 10] = 1,	 [11 ... 13] = 2, [14 ... 16] = 3,
		[17 ... 20] = 4, [21 ... 22] = 5, [23] = 6,
		[24 ... 26] = 7, [27 ... 30] = 8, [31 ... 63] = 9,
	};
	uint32_t bin = first[metric_size_bin(bytes)];

	return bin + (bytes > darshan_upper[bin]);
}

static inline int add_size(struct transfer_size *t, enum metric_op op,
			   bool posix, int64_t size, uint64_t calls,
			   struct reel_error *err)
{
	uint32_t bin = darshan_bin(size);

	reel_histogram_add(&t->size[op], size, calls);
	t->darshan[ALL].bin[op][bin] += calls;
	if (posix)
		t->darshan[POSIX].bin[op][bin] += calls;
	return reel_distinct_add(&t->distinct[op], size, calls, err);
}

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct transfer_size *t = state;
	enum metric_op op = ev->op;
	int64_t bytes = ev->bytes, size = bytes;
	uint64_t calls = ev->calls, more = 0;
	bool posix = ev->raw.layer == REEL_LAYER_POSIX;
	struct bin *bin;

	if (op != METRIC_READ && op != METRIC_WRITE)
		return 0;
	if (!bytes) {
		if (metric_eof(ev))
			t->darshan[ALL].eof_reads += n * calls;
		if (metric_eof(ev) && posix)
			t->darshan[POSIX].eof_reads += n * calls;
		return 0;
	}
	/* Counted calls have a mean size, but their bytes are exact: the
	 * remainder makes some of them a byte larger. */
	if (calls > (uint64_t)bytes)
		calls = (uint64_t)bytes;
	if (calls > 1) {
		size = bytes / (int64_t)calls;
		more = (uint64_t)bytes % calls;
	}
	bin = &t->bin[op][metric_size_bin(size)];
	bin->calls += n * calls;
	bin->bytes += n * (uint64_t)bytes;
	bin->dur_ns += metric_run_dur_ns(ev, n);
	if (add_size(t, op, posix, size, n * (calls - more), err))
		return -1;
	return more ? add_size(t, op, posix, size + 1, n * more, err) : 0;
}

METRIC_FEED_RUNS(transfer_size_feed)

static int write_size(struct reel_insert *out, const char *op,
		      const struct reel_histogram *h,
		      const struct reel_distinct *d, struct reel_error *err)
{
	static const unsigned int percent[] = {1, 5, 25, 50, 75, 95, 99};
	size_t i;

	reel_insert_text(out, op);
	reel_insert_int(out, (int64_t)h->n);
	reel_insert_stat(out, reel_histogram_sum(h));
	reel_insert_stat(out, h->n ? (double)reel_histogram_min(h) : -1);
	reel_insert_stat(out, h->n ? (double)h->max : -1);
	reel_insert_stat(out, reel_histogram_mean(h));
	for (i = 0; i < sizeof(percent) / sizeof(percent[0]); i++)
		reel_insert_stat(
			out, d->many ? reel_histogram_percentile(h, percent[i])
				     : (double)reel_distinct_percentile(
					       d, percent[i]));
	reel_insert_int(out, !d->many);
	return reel_insert_done(out, err);
}

static int write_sizes(struct transfer_size *t, struct reel_store *st,
		       struct reel_error *err)
{
	struct reel_insert out;
	int rc = reel_insert_open(&out, st,
				  "INSERT INTO transfer_size VALUES "
				  "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
				  err);
	int op;

	for (op = METRIC_READ; !rc && op <= METRIC_WRITE; op++)
		rc = write_size(&out, op_name[op], &t->size[op],
				&t->distinct[op], err);
	reel_histogram_merge(&t->size[METRIC_READ], &t->size[METRIC_WRITE]);
	if (!rc)
		rc = reel_distinct_merge(&t->distinct[METRIC_READ],
					 &t->distinct[METRIC_WRITE], err);
	if (!rc)
		rc = write_size(&out, "all", &t->size[METRIC_READ],
				&t->distinct[METRIC_READ], err);
	return reel_insert_close(&out, rc);
}

static int write_darshan(const struct transfer_size *t, struct reel_store *st,
			 struct reel_error *err)
{
	struct reel_insert out;
	int rc = reel_insert_open(
		&out, st, "INSERT INTO darshan_size VALUES (?,?,?,?,?,?,?)",
		err);
	int op, bin;

	for (op = METRIC_READ; op <= METRIC_WRITE; op++) {
		for (bin = 0; !rc && bin < DARSHAN_BINS; bin++) {
			bool eof = op == METRIC_READ && bin == 0;

			reel_insert_text(&out, op_name[op]);
			reel_insert_int(&out, bin);
			if (bin < DARSHAN_BINS - 1)
				reel_insert_int(&out, darshan_upper[bin]);
			else
				reel_insert_null(&out);
			for (int of = ALL; of <= POSIX; of++) {
				reel_insert_int(
					&out,
					(int64_t)t->darshan[of].bin[op][bin]);
				reel_insert_int(
					&out,
					eof ? (int64_t)t->darshan[of].eof_reads
					    : 0);
			}
			rc = reel_insert_done(&out, err);
		}
	}
	return reel_insert_close(&out, rc);
}

static int write_bins(const struct transfer_size *t, struct reel_store *st,
		      struct reel_error *err)
{
	struct reel_insert out;
	int rc = reel_insert_open(
		&out, st, "INSERT INTO transfer_bin VALUES (?,?,?,?,?)", err);
	int op, i;

	for (op = METRIC_READ; op <= METRIC_WRITE; op++) {
		for (i = 0; !rc && i < 64; i++) {
			const struct bin *bin = &t->bin[op][i];

			if (!bin->calls)
				continue;
			reel_insert_text(&out, op_name[op]);
			reel_insert_int(&out, i);
			reel_insert_int(&out, (int64_t)bin->calls);
			reel_insert_int(&out, (int64_t)bin->bytes);
			reel_insert_int(&out, (int64_t)bin->dur_ns);
			rc = reel_insert_done(&out, err);
		}
	}
	return reel_insert_close(&out, rc);
}

static int write_distribution(const struct transfer_size *t,
			      struct reel_store *st, struct reel_error *err)
{
	struct reel_insert out;
	int op, rc = reel_distribution_open(&out, st, err);

	for (op = METRIC_READ; !rc && op <= METRIC_WRITE; op++)
		rc = reel_distribution_write(&out, "size", op_name[op],
					     &t->size[op], false, err);
	return reel_insert_close(&out, rc);
}

static int transfer_size_finish(void *state, struct reel_store *st,
				struct reel_error *err)
{
	if (write_darshan(state, st, err) || write_bins(state, st, err) ||
	    write_distribution(state, st, err))
		return -1;
	return write_sizes(state, st, err);
}

static void transfer_size_fini(void *state)
{
	struct transfer_size *t = state;

	reel_distinct_fini(&t->distinct[METRIC_READ]);
	reel_distinct_fini(&t->distinct[METRIC_WRITE]);
}

const struct reel_metric reel_metric_transfer_size = {
	.name = "transfer_size",
	.schema = schema,
	.state_bytes = sizeof(struct transfer_size),
	.of_calls = true,
	.feed = transfer_size_feed,
	.finish = transfer_size_finish,
	.fini = transfer_size_fini,
};
