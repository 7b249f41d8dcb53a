/* SPDX-License-Identifier: MIT */
/* CPU time that the job did not get, in words and in JSON. */
#include "analyzer/report/cpu_contention.h"

#include <string.h>

#include "lib/buf.h"
#include "lib/num.h"
#include "lib/store/store.h"

/* Smaller amounts are within the clock ticks of the kernel's counters, and too
 * small to change a likeness. */
#define LEAST_NS INT64_C(50000000)
#define LEAST_STOLEN 0.02
#define LEAST_OTHERS 0.1

/* A count of job.json, or @none where it has no number >= 0. */
static int64_t number(const json_t *o, const char *key, int64_t none)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) && json_integer_value(v) >= 0
		       ? json_integer_value(v)
		       : none;
}

/* Read @job: job.json, or one rank of it. */
static struct reel_cpu_contention read_job(const json_t *job)
{
	const json_t *p = json_object_get(job, "processor"),
		     *host = json_object_get(job, "host"),
		     *limit = json_object_get(job, "cpu_limit");
	int64_t cpus = number(host, "cpus", 1);

	return (struct reel_cpu_contention){
		.has = json_is_object(p),
		.wall_ns = number(job, "wall_ns", 0),
		.cpus = cpus,
		.cpus_allowed = number(host, "cpus_allowed", cpus),
		.millicpus = number(limit, "millicpus", 0),
		.throttled_ns = number(limit, "throttled_ns", 0),
		.job_ns = number(p, "job_ns", 0),
		.others_ns = number(p, "others_ns", 0),
		.stolen_ns = number(p, "stolen_ns", 0),
	};
}

static double withheld_ns(const struct reel_cpu_contention *m)
{
	return (double)m->stolen_ns + (double)m->throttled_ns;
}

static struct reel_cpu_contention worst_rank(const json_t *ranks)
{
	struct reel_cpu_contention worst = {0}, m;
	const json_t *rank;
	size_t i;

	json_array_foreach(ranks, i, rank)
	{
		m = read_job(rank);
		m.ranks = true;
		if (m.has &&
		    (!worst.has || withheld_ns(&m) > withheld_ns(&worst)))
			worst = m;
	}
	return worst;
}

void reel_cpu_contention_read(struct reel_cpu_contention *m,
			      struct reel_store *st)
{
	sqlite3_stmt *q = NULL;
	json_t *job = NULL, *ranks;

	*m = (struct reel_cpu_contention){0};
	if (reel_store_prepare(st, &q, "SELECT job_json FROM run", NULL))
		return;
	if (sqlite3_step(q) == SQLITE_ROW)
		job = json_loadb((const char *)sqlite3_column_text(q, 0),
				 (size_t)sqlite3_column_bytes(q, 0), 0, NULL);
	sqlite3_finalize(q);
	ranks = json_object_get(job, "ranks");
	*m = json_array_size(ranks) ? worst_rank(ranks) : read_job(job);
	json_decref(job);
}

/* The share of the time wanted that was withheld. */
static double share_of(int64_t withheld_ns, double used_ns)
{
	return (double)withheld_ns / ((double)withheld_ns + used_ns + 1);
}

double reel_cpu_contention_throttled(const struct reel_cpu_contention *m)
{
	double share = share_of(m->throttled_ns, (double)m->job_ns);

	return m->has && m->throttled_ns >= LEAST_NS && share >= LEAST_STOLEN
		       ? share
		       : 0;
}

int64_t reel_cpu_contention_millicpus(const struct reel_cpu_contention *m)
{
	int64_t most = m->cpus;

	if (m->cpus_allowed > 0 && m->cpus_allowed < most)
		most = m->cpus_allowed;
	most = most < INT64_MAX / 1000 ? most * 1000 : INT64_MAX;
	return m->millicpus && m->millicpus < most ? m->millicpus : most;
}

static void append_limit(const struct reel_cpu_contention *m,
			 const char *before, struct reel_buf *out)
{
	char part[REEL_NUM];

	reel_buf_printf(
		out, NULL,
		"%sa CPU limit of %.4g processor%s withheld %s of the time "
		"that "
		"the job wanted (throttled)",
		before, (double)m->millicpus / 1000,
		m->millicpus == 1000 ? "" : "s",
		reel_num_percent(part, reel_cpu_contention_throttled(m)));
}

bool reel_cpu_contention_words(const struct reel_cpu_contention *m,
			       struct reel_buf *out)
{
	double others = (double)m->others_ns / ((double)m->wall_ns + 1),
	       stolen = share_of(m->stolen_ns,
				 (double)m->job_ns + (double)m->others_ns);
	bool shared = !m->ranks && m->others_ns >= LEAST_NS &&
		      others >= LEAST_OTHERS * (double)m->cpus,
	     withheld = m->stolen_ns >= LEAST_NS && stolen >= LEAST_STOLEN,
	     limited = reel_cpu_contention_throttled(m) > 0;
	char num[REEL_NUM], num2[REEL_NUM];

	if (!m->has || (!shared && !withheld && !limited))
		return false;
	if (shared || withheld)
		reel_buf_puts(out, "a busy machine: ", NULL);
	if (shared)
		reel_buf_printf(
			out, NULL,
			"other programs used %.1f of its %s processor%s",
			others, reel_num_count(num, m->cpus),
			m->cpus == 1 ? "" : "s");
	if (withheld)
		reel_buf_printf(out, NULL,
				"%sits host withheld %s of the time that its "
				"processors wanted (steal)",
				shared ? "; " : "",
				reel_num_percent(num2, stolen));
	if (limited)
		append_limit(m, shared || withheld ? "; " : "", out);
	reel_buf_puts(out, ", so times are longer", NULL);
	return true;
}

json_t *reel_cpu_contention_json(const struct reel_cpu_contention *m)
{
	if (!m->has)
		return json_null();
	return json_pack("{s:I, s:I, s:o, s:I, s:I, s:o, s:I}", "cpus",
			 (json_int_t)m->cpus, "job_ns", (json_int_t)m->job_ns,
			 "others_ns",
			 m->ranks ? json_null() : json_integer(m->others_ns),
			 "stolen_ns", (json_int_t)m->stolen_ns, "cpus_allowed",
			 (json_int_t)m->cpus_allowed, "limit_millicpus",
			 m->millicpus ? json_integer(m->millicpus)
				      : json_null(),
			 "throttled_ns", (json_int_t)m->throttled_ns);
}
