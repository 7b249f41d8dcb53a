/* SPDX-License-Identifier: MIT */
/*
 * The reader against gen_trace, which shares no code with it: every record,
 * name, descriptor, size, result and time must be read as written.
 */
#include <libgen.h>
#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/trace/reader.h"
#include "tests/lib/tap.h"
#include "tests/data/trace_writer.h"

#define DESCS 65536

static char gen[4096];

/* One line of what gen_trace expects. */
struct want {
	uint32_t pid, tid;
	char call[24], path[512];
	long long fd, offset, asked, result, start, dur;
	int err;
	bool has_offset, has_asked, seen;
};

struct expected_lines {
	struct want *w;
	size_t n;
};

/* The paths of descriptors per process, from the records. */
struct names {
	char *path[DESCS];
	int fd[DESCS];
};

static long long number(const char *s, bool *has)
{
	*has = strcmp(s, "-") != 0;
	return *has ? strtoll(s, NULL, 10) : 0;
}

static struct expected_lines read_expected(const char *path)
{
	struct expected_lines l = {NULL, 0};
	char line[2048];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		char *field[11], *p = line;
		struct want *w;
		bool has;

		for (int i = 0; i < 11; i++)
			field[i] = strsep(&p, "\t\n");
		l.w = realloc(l.w, (l.n + 1) * sizeof(*l.w));
		w = &l.w[l.n++];
		memset(w, 0, sizeof(*w));
		w->pid = (uint32_t)atoi(field[0]);
		w->tid = (uint32_t)atoi(field[1]);
		snprintf(w->call, sizeof(w->call), "%s", field[2]);
		snprintf(w->path, sizeof(w->path), "%s", field[3]);
		w->fd = number(field[4], &has);
		w->fd = has ? w->fd : -1;
		w->offset = number(field[5], &w->has_offset);
		w->asked = number(field[6], &w->has_asked);
		w->result = atoll(field[7]);
		w->err = atoi(field[8]);
		w->start = atoll(field[9]);
		w->dur = atoll(field[10]);
	}
	if (f)
		fclose(f);
	return l;
}

/* Collect the descriptors of process @p from its records. */
static void collect_descs(struct reel_trace *tr, int p, struct names *n)
{
	const struct reel_trace_process *pr = reel_trace_process(tr, p);
	struct reel_error err = {0};
	struct reel_record r;
	struct reel_stream *s;

	for (int i = 0; i < pr->threads; i++) {
		if (reel_stream_open(&s, tr, pr->first_thread + i, &err) < 0)
			return;
		while (reel_stream_next(s, &r, &err) > 0)
			if (r.newdesc && r.newdesc < DESCS) {
				n->fd[r.newdesc] = r.newfd;
				if (r.path)
					n->path[r.newdesc] = strdup(r.path);
			}
		reel_stream_close(s);
	}
}

/* The path of @desc; below first_desc it is the parent's descriptor. */
static const char *desc_path(struct reel_trace *tr, struct names *all, int p,
			     uint32_t desc, int *fd)
{
	const struct reel_trace_process *pr = reel_trace_process(tr, p);

	while (desc < pr->head.first_desc && pr->parent >= 0) {
		p = pr->parent;
		pr = reel_trace_process(tr, p);
	}
	*fd = all[p].fd[desc];
	return all[p].path[desc];
}

static bool record_matches(struct reel_trace *tr, struct names *all, int p,
			   const struct reel_record *r, const struct want *w)
{
	const struct reel_call_info *c = reel_call_info(r->call);
	int64_t start = reel_trace_ns(tr, p, r->end_ticks - r->dur_ticks);
	int64_t end = reel_trace_ns(tr, p, r->end_ticks);
	const char *path = r->path;
	int fd = r->newdesc ? r->newfd : -1;

	if (r->desc)
		path = desc_path(tr, all, p, r->desc, &fd);
	return c && strcmp(c->name, w->call) == 0 &&
	       strcmp(path ? path : "-", w->path) == 0 && fd == w->fd &&
	       r->result == w->result && r->err == w->err &&
	       r->has_size == w->has_asked && r->size == w->asked &&
	       (!r->has_offset || r->call == REEL_CALL_LSEEK ||
		r->offset == w->offset) &&
	       llabs(start - w->start) <= 2 &&
	       llabs(end - w->start - w->dur) <= 2;
}

/* Compare the records of thread @i with its lines. Returns wrong records. */
static size_t check_thread(struct reel_trace *tr, struct names *all, int i,
			   struct expected_lines *l, size_t *records)
{
	const struct reel_trace_thread *t = reel_trace_thread(tr, i);
	uint32_t pid = reel_trace_process(tr, t->process)->head.pid;
	struct reel_error err = {0};
	struct reel_record r;
	struct reel_stream *s;
	size_t bad = 0, k = 0;
	uint64_t last = 0;
	int rc;

	if (reel_stream_open(&s, tr, i, &err) < 0)
		return 1;
	while ((rc = reel_stream_next(s, &r, &err)) > 0) {
		bad += r.end_ticks < last;
		last = r.end_ticks;
		if (reel_call_info(r.call) &&
		    reel_call_info(r.call)->group == REEL_GROUP_MARK)
			continue;
		for (; k < l->n; k++)
			if (l->w[k].pid == pid && l->w[k].tid == t->tid)
				break;
		/* A dup has the path of its source. */
		if (r.newdesc && r.desc && !all[t->process].path[r.newdesc]) {
			int fd;
			const char *n =
				desc_path(tr, all, t->process, r.desc, &fd);

			all[t->process].path[r.newdesc] = n ? strdup(n) : NULL;
		}
		if (k < l->n &&
		    record_matches(tr, all, t->process, &r, &l->w[k]))
			l->w[k].seen = true;
		else if (bad++ == 0 && k < l->n)
			printf("# line %zu: %s %s\n", k + 1, l->w[k].call,
			       l->w[k].path);
		k++;
		(*records)++;
	}
	reel_stream_close(s);
	return bad + (rc < 0);
}

/* Compare the trace @dir with the lines of @tsv. */
static void compare_trace(const char *dir, const char *tsv)
{
	struct reel_error failure = {0};
	struct reel_trace *tr = NULL;
	size_t bad = 0, missing = 0, records = 0;
	struct expected_lines l = read_expected(tsv);
	struct names *all;

	is(reel_trace_open(&tr, dir, &failure), 0, "it opens: %s",
	   failure.text);
	if (!tr)
		return;
	all = calloc((size_t)reel_trace_processes(tr), sizeof(*all));
	for (int i = 0; i < reel_trace_processes(tr); i++)
		collect_descs(tr, i, &all[i]);
	for (int i = 0; i < reel_trace_threads(tr); i++)
		bad += check_thread(tr, all, i, &l, &records);
	is(bad, 0, "every record is read as written");
	is(records, l.n, "and there are as many");
	for (size_t i = 0; i < l.n; i++)
		missing += !l.w[i].seen;
	is(missing, 0, "none is missing");
	ok(l.n > 80, "and they are many (%zu)", l.n);
	is(reel_trace_damage(tr)->cut_places +
		   reel_trace_damage(tr)->bad_files +
		   reel_trace_damage(tr)->seq_gaps,
	   0, "no damage is seen: %s", reel_trace_damage(tr)->first);
	for (int i = 0; i < reel_trace_processes(tr); i++)
		for (int k = 0; k < DESCS; k++)
			free(all[i].path[k]);
	free(all);
	free(l.w);
	reel_trace_close(tr);
}

static void round_trip(const char *options)
{
	char cmd[8192], dir[1024], tsv[1100], trace[1100];

	tw_tempdir(dir, sizeof(dir));
	snprintf(tsv, sizeof(tsv), "%s/want", dir);
	snprintf(trace, sizeof(trace), "%s/t", dir);
	snprintf(cmd, sizeof(cmd), "'%s' %s -e %s %s", gen, options, tsv,
		 trace);
	ok(system(cmd) == 0, "gen_trace %s", options);
	compare_trace(trace, tsv);
	tw_remove(dir);
}

/* Written by the first version 1: it must load forever. */
static void old_versions(void)
{
	if (access("tests/data/trace-1.0", F_OK) == 0)
		compare_trace("tests/data/trace-1.0",
			      "tests/data/trace-1.0.tsv");
	else
		ok(1, "old versions # SKIP not in the source tree");
}

/* All streams at once, with fewer descriptors than logs. */
static void many_streams(void)
{
	char cmd[8192], dir[1024];
	struct rlimit lim = {24, 24};
	struct reel_error err = {0};
	struct reel_stream **s;
	struct reel_trace *tr = NULL;
	struct reel_record r;
	size_t records = 0;
	int n, left;

	tw_tempdir(dir, sizeof(dir));
	snprintf(cmd, sizeof(cmd), "'%s' -p 100 -t 3 -n 40 -k loader -w 3 %s/t",
		 gen, dir);
	ok(system(cmd) == 0, "100 processes of 3 threads");
	setrlimit(RLIMIT_NOFILE, &lim);
	snprintf(cmd, sizeof(cmd), "%s/t", dir);
	is(reel_trace_open(&tr, cmd, &err), 0, "open with 24 descriptors: %s",
	   err.text);
	if (!tr)
		return;
	n = left = reel_trace_threads(tr);
	is(n, 300, "all threads are there");
	s = calloc((size_t)n, sizeof(struct reel_stream *));
	for (int i = 0; i < n; i++)
		if (reel_stream_open(&s[i], tr, i, &err) < 0)
			break;
	while (left > 0) {
		left = 0;
		for (int i = 0; i < n; i++)
			if (s[i] && reel_stream_next(s[i], &r, &err) > 0) {
				left++;
				records++;
			}
	}
	is(records, 300 * 40, "all records, in turns");
	is(err.code, REEL_OK, "without an error: %s", err.text);
	for (int i = 0; i < n; i++)
		reel_stream_close(s[i]);
	free(s);
	reel_trace_close(tr);
	tw_remove(dir);
}

int main(int argc, char **argv)
{
	snprintf(gen, sizeof(gen), "%s/../data/gen_trace", dirname(argv[0]));
	if (access(gen, X_OK) != 0)
		skip_all("gen_trace is not built");
	round_trip("-k mixed -n 1500");
	round_trip("-k mixed -p 5 -t 4 -n 400 -b 1024 -w 2 -c");
	round_trip("-k mixed -p 3 -t 1 -n 900 -b 600 -m");
	round_trip("-k pread -p 2 -t 2 -n 700 -s 9");
	old_versions();
	many_streams();
	return done();
}
