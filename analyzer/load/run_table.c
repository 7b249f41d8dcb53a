/* SPDX-License-Identifier: MIT */
/*
 * Table run: one row, from job.json, the heads and the loader's counts. Without
 * job.json the first process gives the command.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/job_name.h"

#include "analyzer/load/internal.h"
#include "analyzer/load/launcher.h"

/* The words of the job: of job.json, or of the first process. */
struct words {
	const char **word;
	size_t n;
};

static int words_of_job(const struct load *l, struct words *w,
			struct reel_error *err)
{
	const json_t *list = json_object_get(reel_trace_job(l->tr), "command");
	const struct reel_trace_process *tp;
	size_t n = json_is_array(list) ? json_array_size(list) : 0;

	tp = !n && l->processes
		     ? reel_trace_process(l->tr, l->process[0].trace_index)
		     : NULL;
	w->word = reel_alloc(n + (tp ? (size_t)tp->texts : 0) + 1,
			     sizeof(*w->word), err);
	if (!w->word)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *s = json_string_value(json_array_get(list, i));

		w->word[w->n++] = s ? s : "";
	}
	for (int i = 0; tp && i < tp->texts; i++)
		if (!strcmp(tp->text[i].key, "arg"))
			w->word[w->n++] = tp->text[i].value;
	return 0;
}

/* The program of the first process that is not a launcher's; "": none. */
static const char *program_of_job(const struct load *l)
{
	for (int i = 0; i < l->processes; i++)
		if (!l->process[i].launcher)
			return reel_launcher_runs(reel_trace_process(
				l->tr, l->process[i].trace_index));
	return "";
}

/* A launcher gives way to the program that it started. */
static const char *name_of(const struct load *l, const struct words *w)
{
	const char *name, *program;

	if (!w->n)
		return "unknown";
	name = reel_job_name(w->word, w->n);
	if (!reel_launcher_is(w->word[0]) ||
	    strcmp(name, reel_path_base(w->word[0])) != 0)
		return name;
	program = program_of_job(l);
	return *program ? reel_path_base(program) : name;
}

/* The integer @key of job.json; REEL_NO_OFFSET: there is none. */
static int64_t job_int(const json_t *job, const char *key)
{
	const json_t *v = json_object_get(job, key);

	return json_is_integer(v) ? json_integer_value(v) : REEL_NO_OFFSET;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Distinct MPI ranks; 1 without MPI. */
static int64_t count_ranks(const struct load *l, struct reel_error *err)
{
	int *rank = reel_alloc((size_t)l->processes + 1, sizeof(*rank), err);
	int64_t n = 0;
	int k = 0;

	if (!rank)
		return -1;
	for (int i = 0; i < l->processes; i++)
		if (l->process[i].rank >= 0)
			rank[k++] = l->process[i].rank;
	qsort(rank, (size_t)k, sizeof(*rank), by_value);
	for (int i = 0; i < k; i++)
		n += !i || rank[i] != rank[i - 1];
	free(rank);
	return n ? n : 1;
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The most workers alive at one time: each epoch may make new ones. */
static int64_t count_workers(const struct load *l, struct reel_error *err)
{
	int64_t *start =
		reel_alloc(2 * (size_t)l->processes + 2, sizeof(*start), err);
	int64_t *end = start + l->processes + 1, now = 0, most = 0;
	size_t n = 0;

	if (!start)
		return -1;
	for (int i = 0; i < l->processes; i++) {
		if (!l->process[i].worker)
			continue;
		start[n] = l->process[i].start_ns;
		end[n++] = l->process[i].end_ns;
	}
	qsort(start, n, sizeof(*start), by_time);
	qsort(end, n, sizeof(*end), by_time);
	for (size_t i = 0, k = 0; i < n; i++) {
		now++;
		while (k < n && end[k] <= start[i]) {
			now--;
			k++;
		}
		if (now > most)
			most = now;
	}
	free(start);
	return most;
}

/* CLOCK_REALTIME of time 0: the job's clock is the first host's. 0: unknown. */
static int64_t start_real_ns(const struct load *l)
{
	int64_t real_ns;

	if (!l->hosts || __builtin_add_overflow(l->host[0].boot_real_ns,
						l->origin_ns, &real_ns))
		return 0;
	return real_ns;
}

/* The sum of a counter over all processes, also those without a log. */
static uint64_t sum_counter(const struct load *l, enum reel_counter which)
{
	uint64_t sum = reel_trace_counts(l->tr)->counter[which];

	for (int i = 0; i < l->processes; i++)
		sum += reel_trace_process(l->tr, i)->head.counter[which];
	return sum;
}

void load_code_counters(struct load *l)
{
	reel_writer_counter(l->writer, REEL_WRITER_CODE_OPENS,
			    sum_counter(l, REEL_CODE_OPENS));
	reel_writer_counter(l->writer, REEL_WRITER_CODE_CALLS,
			    sum_counter(l, REEL_CODE_CALLS));
	reel_writer_counter(l->writer, REEL_WRITER_CODE_READ_BYTES,
			    sum_counter(l, REEL_CODE_READ_BYTES));
}

int load_run_finish(struct load *l, int64_t lost, struct reel_error *err)
{
	const json_t *job = reel_trace_job(l->tr);
	struct reel_buf command = REEL_BUF_INIT;
	struct words w = {0};
	char *dump = json_dumps(job, JSON_COMPACT);
	int64_t ranks = count_ranks(l, err), workers = count_workers(l, err);
	struct reel_writer_run run;
	int rc = -1;

	if (ranks < 0 || workers < 0 || words_of_job(l, &w, err) ||
	    load_gaps(l, start_real_ns(l), err))
		goto out;
	for (size_t i = 0; i < w.n; i++)
		if ((i && reel_buf_puts(&command, " ", err)) ||
		    reel_buf_quote(&command, w.word[i], err))
			goto out;
	run = (struct reel_writer_run){
		.name = name_of(l, &w),
		.command = reel_buf_text(&command),
		.cwd = json_string_value(json_object_get(job, "cwd")),
		.start_real_ns = start_real_ns(l),
		.wall_ns = job_int(job, "wall_ns"),
		.exit_status = job_int(job, "exit_status"),
		.exit_signal = job_int(job, "exit_signal"),
		.host = l->hosts ? l->host[0].name : NULL,
		.framework = l->framework[0] ? l->framework : NULL,
		.ranks = ranks,
		.workers = workers,
		.clock_error_ns = reel_trace_clock_error_ns(l->tr),
		.lost = lost,
		.job_json = dump ? dump : "{}",
	};
	rc = reel_writer_finish(l->writer, &run, err);
out:
	free(dump);
	free(w.word);
	reel_buf_fini(&command);
	return rc;
}
