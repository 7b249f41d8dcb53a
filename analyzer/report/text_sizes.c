/* SPDX-License-Identifier: MIT */
/* The histogram of transfer sizes; rare sizes share a row. */
#include "analyzer/report/text.h"

#include <stdio.h>

#include "lib/num.h"
#include "lib/columns.h"

#include "analyzer/report/report.h"

#define ROWS_MOST 10

static double share_of(int64_t part, int64_t all)
{
	return all > 0 ? (double)part / (double)all : 0;
}

/* The largest share of a bin: of the calls, the bytes or the time. */
static double bin_weight(const struct report_sizes *b, int i)
{
	double w = share_of(b->bin[i].calls, b->sum.calls);
	double bytes = share_of(b->bin[i].bytes, b->sum.bytes);
	double time = share_of(b->bin[i].dur_ns, b->sum.dur_ns);

	w = bytes > w ? bytes : w;
	return time > w ? time : w;
}

static void fold_bins(const struct report_sizes *b,
		      bool shown[REPORT_SIZE_BINS])
{
	int rows = b->bins, empty = 0, i;

	/* Rows of 0 % in all three columns are folded when there are several. */
	for (i = 0; i < b->bins; i++)
		empty += bin_weight(b, i) < 0.005;
	for (i = 0; i < b->bins; i++) {
		shown[i] = empty < 2 || bin_weight(b, i) >= 0.005;
		rows -= !shown[i];
	}
	while (rows > ROWS_MOST) {
		int least = -1;

		for (i = 0; i < b->bins; i++)
			if (shown[i] &&
			    (least < 0 ||
			     bin_weight(b, i) < bin_weight(b, least)))
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
		snprintf(num, sizeof(num), "%.0f %%",
			 100 * share_of(part, all));
	reel_columns_right(at, num, 8);
}

static void print_row(const struct report_sizes *b, const char *name,
		      const struct report_size_bin *bin)
{
	char num[REEL_NUM];
	int at = 2;

	fputs("  ", stdout);
	reel_columns_left(&at, name, 19);
	reel_columns_bar(&at, bar_columns(),
			 share_of(bin->calls, b->most_calls));
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

static void print_bin(const struct report_sizes *b,
		      const struct report_size_bin *bin)
{
	char low[REEL_NUM], high[REEL_NUM], range[2 * REEL_NUM + 4];

	reel_num_size(low, (double)bin->low_bytes);
	reel_num_size(high, 2 * (double)bin->low_bytes);
	snprintf(range, sizeof(range), "%s - %s", low, high);
	print_row(b, range, bin);
}

void text_sizes(const struct report *r)
{
	bool shown[REPORT_SIZE_BINS] = {false};
	const char *op = r->transfer[0].calls > 0 ? "read" : "write";
	struct report_size_bin rest = {0};
	const struct report_sizes *b = &r->sizes[*op == 'w'];
	int i, folded = 0;

	if (!b->bins)
		return;
	fold_bins(b, shown);
	putchar('\n');
	print_titles(*op == 'r' ? "Read sizes" : "Write sizes");
	for (i = 0; i < b->bins; i++) {
		if (shown[i]) {
			print_bin(b, &b->bin[i]);
			continue;
		}
		folded++;
		rest.calls += b->bin[i].calls;
		rest.bytes += b->bin[i].bytes;
		rest.dur_ns += b->bin[i].dur_ns;
	}
	if (!folded)
		return;
	print_row(b, "other sizes", &rest);
}
