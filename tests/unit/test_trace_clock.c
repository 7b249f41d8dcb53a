/* SPDX-License-Identifier: MIT */
/*
 * Ticks to nanoseconds: noisy pairs, wrong pairs, a single pair, several hosts.
 * The true clock is ns = T + ticks * 1000 / 2995.
 */
#include <sys/stat.h>

#include "lib/error.h"
#include "lib/trace/reader.h"
#include "tests/lib/tap.h"
#include "tests/data/trace_writer.h"

#define MONO 7000000000000ull

static char dir[1024];
static struct tw_block block;

static uint64_t true_ns(uint64_t ticks)
{
	return MONO + (uint64_t)((unsigned __int128)ticks * 1000 / 2995);
}

/* -@width .. +@width, the same in every run. */
static int64_t noise(uint64_t i, int64_t width)
{
	i = (i + 1) * 0x9e3779b97f4a7c15ull;
	return (int64_t)((i >> 33) % (uint64_t)(2 * width + 1)) - width;
}

static const char *in_dir(uint32_t pid)
{
	static char path[2048];

	snprintf(path, sizeof(path), "%s/%u.log", dir, pid);
	return path;
}

/* Add a process whose counter is @ticks at its start, with exact pairs. */
static struct reel_head tsc_head(uint32_t pid, uint64_t ticks)
{
	struct reel_head h = tw_head(pid, true_ns(ticks));

	h.clock = REEL_CLOCK_TSC;
	h.start_ticks = ticks;
	h.start_boot_ns = true_ns(ticks);
	return h;
}

static void write_log(const struct reel_head *h)
{
	tw_write(in_dir(h->pid), "ab", h, sizeof(*h));
}

static void write_block(uint32_t pid, uint32_t seq, uint64_t ticks, uint64_t ns)
{
	size_t bytes;

	tw_reads(&block, pid, seq, ticks - 100, 10);
	bytes = tw_seal(&block, ticks, ns);
	tw_write(in_dir(pid), "ab", block.data, bytes);
}

/* The index of the process @pid. */
static int find_process(const struct reel_trace *tr, uint32_t pid)
{
	for (int i = 0; i < reel_trace_processes(tr); i++)
		if (reel_trace_process(tr, i)->head.pid == pid)
			return i;
	return 0;
}

static struct reel_trace *open_trace(void)
{
	struct reel_error err = {0};
	struct reel_trace *tr = NULL;

	if (reel_trace_open(&tr, dir, &err) < 0) {
		printf("# %s\n", err.text);
		exit(1);
	}
	return tr;
}

/* The largest error over a run of @to ticks. */
static int64_t worst_error(struct reel_trace *tr, int p, uint64_t from,
			   uint64_t to)
{
	int64_t most = 0;

	for (int i = 0; i <= 1000; i++) {
		uint64_t t = from + (to - from) / 1000 * (uint64_t)i;
		int64_t d = reel_trace_ns(tr, p, t) - (int64_t)true_ns(t);

		d = d < 0 ? -d : d;
		most = d > most ? d : most;
	}
	return most;
}

static void long_run(void)
{
	uint64_t t0 = 40000000000ull, step = 2995000000ull * 5;
	struct reel_head h = tsc_head(10, t0);
	struct reel_trace *tr;

	tw_tempdir(dir, sizeof(dir));
	h.start_mono_ns += 30;
	h.end_ticks = t0 + 300 * step;
	h.end_mono_ns = true_ns(h.end_ticks) - 30;
	write_log(&h);
	for (uint32_t i = 1; i < 300; i++)
		write_block(10, i - 1, t0 + i * step,
			    true_ns(t0 + i * step) + (uint64_t)noise(i, 40) +
				    (i % 10 ? 0 : 300000)); /* interrupted */
	/* Heads of two more processes, with wrong pairs. */
	h = tsc_head(11, t0 + step);
	h.start_mono_ns = 12345;
	write_log(&h);
	h = tsc_head(12, t0 + 2 * step);
	h.start_mono_ns |= 1ull << 63;
	write_log(&h);
	tr = open_trace();
	ok(worst_error(tr, find_process(tr, 10), t0, t0 + 300 * step) <= 15,
	   "noise of 40 ns: the line is more exact, over 25 minutes");
	ok(reel_trace_clock_error_ns(tr) >= 140 &&
		   reel_trace_clock_error_ns(tr) < 200,
	   "the error covers the pairs and the counter (%lld ns)",
	   (long long)reel_trace_clock_error_ns(tr));
	reel_trace_close(tr);
	tw_remove(dir);
}

static void short_run(void)
{
	struct reel_head h = tsc_head(10, 1ull << 45);
	struct reel_trace *tr;
	uint64_t last = 0;
	int back = 0;

	tw_tempdir(dir, sizeof(dir));
	h.end_ticks = h.start_ticks + 2995000;
	h.end_mono_ns = true_ns(h.end_ticks);
	write_log(&h);
	tr = open_trace();
	ok(worst_error(tr, 0, h.start_ticks, h.end_ticks) <= 2,
	   "two pairs, a millisecond apart");
	for (uint64_t t = h.start_ticks; t < h.start_ticks + 20000; t++) {
		uint64_t ns = (uint64_t)reel_trace_ns(tr, 0, t);

		back += ns < last;
		last = ns;
	}
	is(back, 0, "it never goes backwards");
	ok(reel_trace_ns(tr, 0, UINT64_MAX) > 0 && reel_trace_ns(tr, 0, 0) >= 0,
	   "and stays in range");
	reel_trace_close(tr);
	tw_remove(dir);
}

static void one_pair(void)
{
	uint64_t t0 = 1ull << 45, second = 2995000000ull;
	struct reel_head h = tsc_head(10, t0);
	struct reel_trace *tr;
	int64_t ns;

	tw_tempdir(dir, sizeof(dir));
	h.start_boot_ns = t0 / 3;
	write_log(&h);
	tr = open_trace();
	ns = reel_trace_ns(tr, 0, t0 + second) - (int64_t)true_ns(t0);
	ok(ns > 990000000 && ns < 1010000000,
	   "one pair: the rate since boot (%lld)", (long long)ns);
	reel_trace_close(tr);

	h = tsc_head(11, t0 + second);
	h.end_ticks = t0 + 2 * second;
	h.end_mono_ns = true_ns(h.end_ticks);
	write_log(&h);
	tr = open_trace();
	ok(worst_error(tr, find_process(tr, 10), t0, t0 + second) <= 2,
	   "another process of the host gives the rate");
	reel_trace_close(tr);
	tw_remove(dir);
}

static void hosts(void)
{
	struct reel_head h = tsc_head(10, 1000000), m = tw_head(11, MONO);
	struct reel_trace *tr;
	int a, b;

	tw_tempdir(dir, sizeof(dir));
	h.end_ticks = 5000000000ull;
	h.end_mono_ns = true_ns(h.end_ticks);
	write_log(&h);
	h = tsc_head(12, 1000000);
	strcpy(h.boot_id, "another");
	h.start_mono_ns = 500;
	h.end_ticks = h.start_ticks + 2000000000ull;
	h.end_mono_ns = 500 + 1000000000ull;
	write_log(&h);
	write_log(&m);
	tr = open_trace();
	a = find_process(tr, 10);
	b = find_process(tr, 12);
	ok(worst_error(tr, a, 1000000, 5000000000ull) <= 2,
	   "each host has its line");
	is(reel_trace_ns(tr, b, 1000000 + 1000000000ull), 500 + 500000000ll,
	   "and its rate");
	is(reel_trace_ns(tr, find_process(tr, 11), MONO + 123), MONO + 123,
	   "ticks of CLOCK_MONOTONIC are its nanoseconds");
	reel_trace_close(tr);
	tw_remove(dir);
}

/* A host whose clock is 10 ppm faster than rank 0's and 1,000 s behind. */
static uint64_t by_rank0(uint64_t ns)
{
	return ns + 1000000000000ull - ns / 100000;
}

static struct reel_head measured_head(uint32_t pid, uint64_t ns)
{
	struct reel_head h = tw_head(pid, ns);

	strcpy(h.boot_id, "far");
	h.mpi_rank = pid;
	h.peer_mono_ns[0] = ns;
	h.peer_ns[0] = (int64_t)(by_rank0(ns) - ns);
	h.peer_error_ns[0] = 700;
	h.peer_mono_ns[1] = ns + 60000000000ull;
	h.peer_ns[1] =
		(int64_t)(by_rank0(ns + 60000000000ull) - ns - 60000000000ull);
	h.peer_error_ns[1] = 900;
	return h;
}

static void mpi_offsets(void)
{
	struct reel_head zero = tw_head(10, MONO),
			 far = measured_head(11, MONO / 2);
	struct reel_head beside = tw_head(12, MONO / 2);
	uint64_t mid = MONO / 2 + 20000000000ull;
	struct reel_trace *tr;

	tw_tempdir(dir, sizeof(dir));
	zero.mpi_rank = 1;
	strcpy(beside.boot_id, "far");
	write_log(&zero);
	write_log(&far);
	write_log(&beside);
	tr = open_trace();
	ok(llabs(reel_trace_ns(tr, find_process(tr, 11), mid) -
		 (int64_t)by_rank0(mid)) <= 1,
	   "MPI's measurements: a line between them");
	ok(llabs(reel_trace_ns(tr, find_process(tr, 12), mid) -
		 (int64_t)by_rank0(mid)) <= 1,
	   "for every process of the host");
	is(reel_trace_ns(tr, find_process(tr, 10), mid), mid,
	   "rank 0's clock is unchanged");
	is(reel_trace_clock_error_ns(tr), 900,
	   "the error bound includes the wider measurement");
	is(reel_trace_clock_process(tr, find_process(tr, 12)),
	   find_process(tr, 10), "the clock belongs to rank 0");
	is(reel_trace_clock_process(tr, find_process(tr, 10)),
	   find_process(tr, 10), "or to the process");
	reel_trace_close(tr);
	tw_remove(dir);

	tw_tempdir(dir, sizeof(dir));
	write_log(&zero);
	far.peer_ns[1] += 1000000000;
	write_log(&far);
	tr = open_trace();
	is(reel_trace_ns(tr, find_process(tr, 11), mid),
	   mid + (uint64_t)far.peer_ns[0], "an impossible drift is ignored");
	reel_trace_close(tr);
	tw_remove(dir);

	tw_tempdir(dir, sizeof(dir));
	write_log(&zero);
	far.peer_ns[0] = INT64_MIN;
	far.peer_ns[1] = INT64_MAX;
	write_log(&far);
	tr = open_trace();
	is(reel_trace_ns(tr, find_process(tr, 11), mid), mid,
	   "implausible measurements are ignored");
	reel_trace_close(tr);
	tw_remove(dir);
}

int main(void)
{
	long_run();
	short_run();
	one_pair();
	hosts();
	mpi_offsets();
	free(block.data);
	return done();
}
