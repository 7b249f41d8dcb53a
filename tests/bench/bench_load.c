/* SPDX-License-Identifier: MIT */
/*
 * bench_load TRACE: what a load costs: processor time and memory per event,
 * bytes per event in the store; and what it costs to read the events back.
 * gen_trace -k loader makes a trace that is worth it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/load.h"
#include "analyzer/store.h"
#include "lib/error.h"

static double wall_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu_s(struct rusage *ru)
{
	getrusage(RUSAGE_SELF, ru);
	return (double)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) +
	       (double)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec) / 1e6;
}

static void say(const char *what, int64_t events, double wall, double cpu)
{
	printf("%-24s %10" PRId64 " events %7.2f s wall %7.2f s CPU "
	       "%8.2f M events/s of CPU\n", what, events, wall, cpu,
	       (double)events / cpu / 1e6);
}

static int read_back(struct reel_store *st, struct reel_error *err)
{
	double wall = wall_s(), cpu;
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
	say("events in order of end", n, wall_s() - wall, cpu_s(&ru) - cpu);
	wall = wall_s();
	cpu = cpu_s(&ru);
	if (rc || reel_store_int(st, "SELECT sum(result) FROM event", &n, &has,
				 err) ||
	    reel_store_int(st, "SELECT events FROM run", &n, &has, err))
		return -1;
	say("SQL: sum(result)", n, wall_s() - wall, cpu_s(&ru) - cpu);
	return 0;
}

int main(int argc, char **argv)
{
	struct reel_error err = { 0 };
	struct reel_store *st = NULL;
	double wall = wall_s(), cpu;
	struct rusage ru;
	struct stat sb = { 0 };
	char path[64];
	int64_t events;
	int rc = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_load TRACE\n");
		return 2;
	}
	snprintf(path, sizeof(path), "bench_load.%ld.db", (long)getpid());
	cpu = cpu_s(&ru);
	if (reel_store_create(&st, path, &err) ||
	    (events = reel_load(st, argv[1], &err)) < 0 ||
	    reel_store_finish(st, &err))
		goto out;
	say("load", events, wall_s() - wall, cpu_s(&ru) - cpu);
	stat(path, &sb);
	printf("%-24s %10.2f B per event in the store, %ld KiB resident\n", "",
	       (double)sb.st_size / (double)(events ? events : 1),
	       ru.ru_maxrss);
	rc = read_back(st, &err) ? 1 : 0;
out:
	if (err.code)
		fprintf(stderr, "bench_load: %s\n", err.text);
	reel_store_close(st);
	unlink(path);
	return rc;
}
