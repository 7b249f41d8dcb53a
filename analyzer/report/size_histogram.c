/* SPDX-License-Identifier: MIT */
/*
 * The histogram of transfer sizes: powers of two, what is rare folded away.
 */
#include "analyzer/report/size_histogram.h"

#include <stdio.h>
#include <string.h>

#include "lib/columns.h"
#include "lib/num.h"
#include "lib/store/store.h"

#include "analyzer/report/report.h"

#define BINS 64
#define ROWS_MOST 10

struct bin {
	int64_t low_bytes, calls, bytes, dur_ns;
};

struct bins {
	struct bin bin[BINS];
	int n;
	struct bin sum;
	int64_t most_calls;
};

static void read_bins(const struct report *r, const char *op, struct bins *b)
{
	sqlite3_stmt *q = NULL;

	memset(b, 0, sizeof(*b));
	if (reel_store_prepare(r->st, &q,
			       "SELECT low_bytes, calls, bytes, dur_ns "
			       "FROM v_transfer_size WHERE op = ? "
			       "ORDER BY low_bytes",
			       NULL))
		return;
	sqlite3_bind_text(q, 1, op, -1, SQLITE_STATIC);
	while (b->n < BINS && sqlite3_step(q) == SQLITE_ROW) {
		struct bin *bin = &b->bin[b->n++];

		bin->low_bytes = report_int(q, 0);
		bin->calls = report_int(q, 1);
		bin->bytes = report_int(q, 2);
		bin->dur_ns = report_int(q, 3);
		b->sum.calls += bin->calls;
		b->sum.bytes += bin->bytes;
		b->sum.dur_ns += bin->dur_ns;
		if (bin->calls > b->most_calls)
			b->most_calls = bin->calls;
	}
	sqlite3_finalize(q);
}

static double share(int64_t part, int64_t all)
{
	return all > 0 ? (double)part / (double)all : 0;
}

/* What weighs most in any of the three stays; the rest is folded. */
static double weight(const struct bins *b, int i)
{
	double w = share(b->bin[i].calls, b->sum.calls);
	double bytes = share(b->bin[i].bytes, b->sum.bytes);
	double time = share(b->bin[i].dur_ns, b->sum.dur_ns);

	w = bytes > w ? bytes : w;
	return time > w ? time : w;
}

static void fold(const struct bins *b, bool shown[BINS])
{
	int rows = b->n, empty = 0, i;

	/* A row of 0 % thrice says nothing; a single one has a line anyway. */
	for (i = 0; i < b->n; i++)
		empty += weight(b, i) < 0.005;
	for (i = 0; i < b->n; i++) {
		shown[i] = empty < 2 || weight(b, i) >= 0.005;
		rows -= !shown[i];
	}
	while (rows > ROWS_MOST) {
		int least = -1;

		for (i = 0; i < b->n; i++)
			if (shown[i] &&
			    (least < 0 || weight(b, i) < weight(b, least)))
				least = i;
		shown[least] = false;
		rows--;
	}
}

static int bar_columns(void)
{
	return reel_columns_bar_width(20, 21 + 12 + 8 + 8);
}

static void put_share(int *at, int64_t part, int64_t all)
{
	char num[REEL_NUM] = "-";

	if (all > 0)
		snprintf(num, sizeof(num), "%.0f %%", 100 * share(part, all));
	reel_columns_right(at, num, 8);
}

static void print_row(const struct bins *b, const char *name,
		      const struct bin *bin)
{
	char num[REEL_NUM];
	int at = 2;

	fputs("  ", stdout);
	reel_columns_left(&at, name, 19);
	reel_columns_bar(&at, bar_columns(), share(bin->calls, b->most_calls));
	reel_columns_right(&at, reel_num_count(num, bin->calls), 12);
	put_share(&at, bin->bytes, b->sum.bytes);
	put_share(&at, bin->dur_ns, b->sum.dur_ns);
	putchar('\n');
}

static void print_titles(const char *title)
{
	int at = 0;

	reel_columns_left(&at, title, 21);
	if (bar_columns())
		reel_columns_left(&at, "", 1 + bar_columns());
	reel_columns_right(&at, "calls", 12);
	reel_columns_right(&at, "bytes", 8);
	reel_columns_right(&at, "time", 8);
	putchar('\n');
}

static void print_bin(const struct bins *b, const struct bin *bin)
{
	char low[REEL_NUM], high[REEL_NUM], range[2 * REEL_NUM + 4];

	reel_num_size(low, (double)bin->low_bytes);
	reel_num_size(high, 2 * (double)bin->low_bytes);
	snprintf(range, sizeof(range), "%s - %s", low, high);
	print_row(b, range, bin);
}

void report_sizes(const struct report *r)
{
	bool shown[BINS] = {false};
	const char *op = r->moved[0].calls > 0 ? "read" : "write";
	struct bin rest = {0};
	struct bins b;
	int i, folded = 0;

	read_bins(r, op, &b);
	if (!b.n)
		return;
	fold(&b, shown);
	putchar('\n');
	print_titles(*op == 'r' ? "Read sizes" : "Write sizes");
	for (i = 0; i < b.n; i++) {
		if (shown[i]) {
			print_bin(&b, &b.bin[i]);
			continue;
		}
		folded++;
		rest.calls += b.bin[i].calls;
		rest.bytes += b.bin[i].bytes;
		rest.dur_ns += b.bin[i].dur_ns;
	}
	if (!folded)
		return;
	print_row(&b, "other sizes", &rest);
}
