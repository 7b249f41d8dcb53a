/* SPDX-License-Identifier: MIT */
/*
 * CPU time of the machine while the job ran. On a shared machine, or one whose
 * host steals CPU time, times differ from run to run for that reason alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/internal.h"

/* The fields of /proc/stat's first line, in clock ticks since the boot. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };

static int64_t rusage_ns(int who)
{
	struct rusage u = {0};

	getrusage(who, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

void cpu_usage_now(struct cpu_usage *m)
{
	int64_t f[FIELDS] = {0}, tick = sysconf(_SC_CLK_TCK);
	FILE *in = fopen("/proc/stat", "re");

	*m = (struct cpu_usage){0};
	if (in && tick > 0 &&
	    fscanf(in,
		   "cpu %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
		   " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64,
		   &f[USER], &f[NICE], &f[SYSTEM], &f[IDLE], &f[IOWAIT],
		   &f[IRQ], &f[SOFTIRQ], &f[STEAL]) == FIELDS) {
		tick = 1000000000 / tick;
		m->has = true;
		m->busy_ns =
			(f[USER] + f[NICE] + f[SYSTEM] + f[IRQ] + f[SOFTIRQ]) *
			tick;
		m->stolen_ns = f[STEAL] * tick;
	}
	if (in)
		fclose(in);
	m->job_ns = rusage_ns(RUSAGE_CHILDREN);
	m->own_ns = rusage_ns(RUSAGE_SELF);
	cpu_limit_now(&m->limit, "/proc/self/cgroup", "/sys/fs/cgroup");
}

/* Never below 0: the counters of a container's /proc may decrease. */
static int64_t since(int64_t now, int64_t then)
{
	return now > then ? now - then : 0;
}

void cpu_usage_since(struct cpu_usage *m)
{
	struct cpu_usage now;

	cpu_usage_now(&now);
	m->has = m->has && now.has;
	m->job_ns = since(now.job_ns, m->job_ns);
	m->own_ns = since(now.own_ns, m->own_ns);
	m->busy_ns = since(now.busy_ns, m->busy_ns);
	m->stolen_ns = since(now.stolen_ns, m->stolen_ns);
	m->limit.throttled_ns =
		since(now.limit.throttled_ns, m->limit.throttled_ns);
}

json_t *cpu_usage_json(const struct cpu_usage *m)
{
	return json_pack("{s:I, s:I, s:I}", "job_ns", (json_int_t)m->job_ns,
			 "others_ns",
			 (json_int_t)since(m->busy_ns, m->job_ns + m->own_ns),
			 "stolen_ns", (json_int_t)m->stolen_ns);
}
