/* SPDX-License-Identifier: MIT */
/* Advice on reports that are made by hand. */
#ifndef TESTS_UNIT_TEST_ADVICE_H
#define TESTS_UNIT_TEST_ADVICE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "analyzer/report/report.h"

#include "tests/lib/tap.h"

#define S INT64_C(1000000000)
#define MIB INT64_C(1048576)

static struct reel_error err;

/* 10 s with 1.9 s of I/O in 10,000 large reads of 10 files, nothing wrong. */
static struct report quiet(void)
{
	struct report r = {.span_ns = 10 * S,
			   .wall_ns = 10 * S,
			   .io_ns = 19 * S / 10,
			   .calls = 10020,
			   .median_file_bytes = 1 << 30,
			   .first_epoch_wait = REPORT_NONE,
			   .later_epochs_wait = REPORT_NONE,
			   .data_files = 10};

	r.transfer[0].calls = 10000;
	r.transfer[0].opens_read = 10;
	r.transfer[0].in_order_share = 1;
	r.group[REEL_GROUP_READ].calls = 10000;
	r.group[REEL_GROUP_READ].dur_ns = 5 * S;
	r.group[REEL_GROUP_OPEN].calls = 10;
	r.group[REEL_GROUP_CLOSE].calls = 10;
	r.group_sum_ns = 5 * S;
	return r;
}

/* A rank that waits @stall of its loop for workers that are @busy. */
static struct report_rank rank_of(double stall, double busy, double io)
{
	return (struct report_rank){.steps = 10,
				    .steady_steps = 9,
				    .loop_ns = 10 * S,
				    .loop_wait_ns = (int64_t)(stall * 10 * S),
				    .own_io_ns = 0,
				    .steady_ns = 9 * S,
				    .median_fetch_ns = S / 10,
				    .stall_share = stall,
				    .wait_share = stall,
				    .exposed_wait_share = stall,
				    .wait_most_share = REPORT_NONE,
				    .workers = 2,
				    .worker_busy_share = busy,
				    .worker_io_share = io,
				    .headroom = 0.5,
				    .exposed_ns = 1,
				    .io_ns = 19 * S / 10};
}

static char verdict[512]; /* of the last has() */

static bool has(struct report *r, const char *code)
{
	bool found = false;
	int i;

	r->advices = 0;
	if (advise(r, &err))
		ok(0, "advise: %s", err.text);
	for (i = 0; i < r->advices; i++)
		found |= !strcmp(r->advice[i].code, code);
	snprintf(verdict, sizeof(verdict), "%s", r->verdict);
	free(r->verdict);
	r->verdict = NULL;
	return found;
}

/* Exactly one code, and the first line is about it. */
static bool only(struct report *r, const char *code, const char *words)
{
	return has(r, code) && r->advices == 1 && strstr(verdict, words);
}

#endif
