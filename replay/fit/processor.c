/* SPDX-License-Identifier: MIT */
/*
 * Processor time of the job. Where other programs kept the machine busy, or a CPU
 * limit stopped the job, a recorded time holds waits for a processor, and a benchmark
 * that took it for work would wait for a processor once more.
 */
#include "lib/error.h"

#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

#define OF_JOB(key) "SELECT json_extract(job_json, '$." key "') FROM run"
#define BUSY_LEAST 0.1 /* of all processors, by others: as in the report */
#define IDLE_MOST 0.1  /* of all processors, where the job waits for one */
#define USED_LEAST 50  /* % of what others left, likewise */
#define SHARE_LEAST 0.01

#define LOOP_LEAST 0.35 /* of a processor, where the steps compute on it */

struct processor {
	int64_t wall_ns, cpus, job_ns, others_ns, stolen_ns;
	int64_t millicpus, throttled_ns; /* of its limit, or 0 */
	/* Sums over the processes that step, from their first step on; 0: unknown. */
	int64_t loop_ns, loop_wall_ns;
};

static int read_processor(struct fit *f, struct processor *p)
{
	return fit_ask(f, OF_JOB("wall_ns"), 0, &p->wall_ns) ||
	       fit_ask(f, OF_JOB("host.cpus"), 1, &p->cpus) ||
	       fit_ask(f, OF_JOB("processor.job_ns"), -1, &p->job_ns) ||
	       fit_ask(f, OF_JOB("processor.others_ns"), 0, &p->others_ns) ||
	       fit_ask(f, OF_JOB("processor.stolen_ns"), 0, &p->stolen_ns) ||
	       fit_ask(f, OF_JOB("cpu_limit.millicpus"), 0, &p->millicpus) ||
	       fit_ask(f, OF_JOB("cpu_limit.throttled_ns"), 0,
		       &p->throttled_ns) ||
	       fit_ask(f,
		       "SELECT sum(CAST(value AS INTEGER)) FROM note WHERE "
		       "key = 'loop.cpu_ns' AND process_id IN (SELECT "
		       "process_id FROM rank_time)",
		       0, &p->loop_ns) ||
	       fit_ask(f,
		       "SELECT sum(p.end_ns - s.start_ns) FROM process p JOIN "
		       "(SELECT process_id, min(start_ns) AS start_ns FROM "
		       "step GROUP BY process_id) s USING (process_id)",
		       0, &p->loop_wall_ns);
}

/* Time in which the stepping threads and the workers had work to do, not counted
 * their reads. */
static int ask_demand(struct fit *f, const struct processor *p, double *demand)
{
	int64_t reads, fetches = 0, batches = 0;

	if (fit_ask(f,
		    "SELECT sum(dur_ns) FROM v_event WHERE call_group = "
		    "'read' AND kind = 'file'",
		    0, &reads))
		return -1;
	if (f->w->pipeline.readers &&
	    (fit_ask(f, "SELECT sum(dur_ns) FROM v_span WHERE name = 'fetch'",
		     0, &fetches) ||
	     fit_ask(f,
		     "SELECT sum(dur_ns) FROM v_span WHERE name = 'preprocess' "
		     "AND closed",
		     0, &batches)))
		return -1;
	*demand = (double)p->wall_ns * (double)(f->ranks ? f->ranks : 1) -
		  (double)fetches + (double)batches - (double)reads;
	return 0;
}

/* Processor time that others and the job's limit left to it; sets busy, limited. */
static double time_left(struct fit *f, const struct processor *p, double all)
{
	double left = all - (double)p->others_ns - (double)p->stolen_ns,
	       most = (double)p->wall_ns * (double)p->millicpus / 1000;

	f->busy = all - left >= BUSY_LEAST * all;
	f->limited = p->millicpus > 0 && most < left &&
		     (double)p->throttled_ns >=
			     BUSY_LEAST * ((double)p->throttled_ns +
					   (double)p->job_ns);
	if (!f->limited)
		return left;
	f->busy = true;
	return most;
}

int fit_processor(struct fit *f)
{
	const struct workload_pipeline *to = &f->w->pipeline;
	int64_t ranks = f->ranks ? f->ranks : 1;
	double all, left, most, demand;
	struct processor p;

	f->share = 1;
	f->job_percent = -1;
	if (read_processor(f, &p))
		return -1;
	if (p.job_ns < 0 || p.wall_ns <= 0)
		return 0;
	all = (double)p.wall_ns * (double)p.cpus;
	left = time_left(f, &p, all);
	most = (double)p.wall_ns * (double)ranks;
	if (left < most)
		most = left > (double)p.job_ns ? left : (double)p.job_ns;
	f->job_percent = most > 0 ? 100 * (double)p.job_ns / most : -1;
	/* The start of a framework computes, whatever the steps do. */
	if (p.loop_ns > 0 &&
	    (double)p.loop_ns < LOOP_LEAST * (double)p.loop_wall_ns)
		f->job_percent =
			100 * (double)p.loop_ns / (double)p.loop_wall_ns;
	/* A job that leaves processors idle sleeps, or has an accelerator: its time is
	 * no wait for a processor. Threads of a pool do not say when they work. */
	if (!f->busy || left - (double)p.job_ns >= IDLE_MOST * all ||
	    f->job_percent < USED_LEAST ||
	    (to->readers && to->unit != WORKLOAD_PROCESS))
		return 0;
	if (ask_demand(f, &p, &demand))
		return -1;
	if ((double)p.job_ns < demand)
		f->share = (double)p.job_ns / demand;
	if (f->share < SHARE_LEAST)
		f->share = SHARE_LEAST;
	return 0;
}

int fit_work(const struct fit *f, int64_t *value, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		value[i] = (int64_t)((double)value[i] * f->share);
	return f->share < 1 ? WORKLOAD_PROCESSOR : WORKLOAD_CPU;
}

const char *fit_busy_words(const struct fit *f)
{
	if (f->limited)
		return f->share < 1
			       ? "; its CPU limit stopped the job: the share "
				 "of it that the job's processor time is"
			       : "; its CPU limit stopped the job: it holds "
				 "waits for a processor";
	return f->share < 1 ? "; other programs kept the machine busy: the "
			      "share of it that the job's processor time is"
	       : f->busy ? "; other programs kept the machine busy: it holds "
			   "waits for a processor"
			 : "";
}
