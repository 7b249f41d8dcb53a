/* SPDX-License-Identifier: MIT */
/*
 * bench_load TRACE: the cost of a load, and of reading the events back: lines
 * of a name and a number. gen_trace -k loader makes a suitable trace.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/load/load.h"
#include "lib/store/store.h"
#include "lib/error.h"

static double cpu_s(struct rusage *ru)
{
	getrusage(RUSAGE_SELF, ru);
	return (double)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) +
	       (double)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec) / 1e6;
}

/* By CPU time: on a busy machine wall time includes other programs. */
static void say(const char *what, int64_t events, double cpu)
{
	printf("%s, M events per CPU second\t%.2f\n", what,
	       (double)events / cpu / 1e6);
}

/* The wall time of a load with @threads, or -1 with @err. */
static double load_s(const char *dir, int threads, struct reel_error *err)
{
	const struct reel_load_options options = {.threads = threads};
	struct reel_store *st = NULL;
	struct timespec from, to;
	double s = -1;

	clock_gettime(CLOCK_MONOTONIC, &from);
	if (!reel_store_temporary(&st, dir, err) &&
	    reel_load(st, dir, &options, err) >= 0 &&
	    !reel_store_finish(st, err)) {
		clock_gettime(CLOCK_MONOTONIC, &to);
		s = (double)(to.tv_sec - from.tv_sec) +
		    (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	}
	reel_store_close(st);
	return s;
}

static int read_back(struct reel_store *st, struct reel_error *err)
{
	double cpu;
	struct reel_events *it = NULL;
	struct reel_event ev;
	struct rusage ru;
	int64_t n = 0;
	bool has;
	int rc;

	cpu = cpu_s(&ru);
	if (reel_events_open(&it, st, 0, err))
		return -1;
	while ((rc = reel_events_next(it, &ev, err)) == 1)
		n++;
	reel_events_close(it);
	say("events in order of their end", n, cpu_s(&ru) - cpu);
	cpu = cpu_s(&ru);
	if (rc ||
	    reel_store_int(st, "SELECT sum(result) FROM event", &n, &has,
			   err) ||
	    reel_store_int(st, "SELECT events FROM run", &n, &has, err))
		return -1;
	say("SQL sum(result) over all", n, cpu_s(&ru) - cpu);
	return 0;
}

int main(int argc, char **argv)
{
	struct reel_error err = {0};
	struct reel_store *st = NULL;
	double cpu;
	struct rusage ru;
	struct stat sb = {0};
	const struct reel_load_options one = {.threads = 1};
	char path[64];
	int64_t events;
	double one_s;
	int rc = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_load TRACE\n");
		return 2;
	}
	snprintf(path, sizeof(path), "bench_load.%ld.db", (long)getpid());
	cpu = cpu_s(&ru);
	if (reel_store_create(&st, path, &err) ||
	    (events = reel_load(st, argv[1], &one, &err)) < 0 ||
	    reel_store_finish(st, &err))
		goto out;
	say("load", events, cpu_s(&ru) - cpu);
	stat(path, &sb);
	printf("load, MiB resident\t%.1f\n", (double)ru.ru_maxrss / 1024);
	printf("load, B per event in the store\t%.2f\n",
	       (double)sb.st_size / (double)(events ? events : 1));
	one_s = load_s(argv[1], 1, &err);
	printf("load, time of one thread by that of two\t%.2f\n",
	       one_s / load_s(argv[1], 2, &err));
	rc = err.code || read_back(st, &err) ? 1 : 0;
out:
	if (err.code)
		fprintf(stderr, "bench_load: %s\n", err.text);
	reel_store_close(st);
	unlink(path);
	return rc;
}
