/* SPDX-License-Identifier: MIT */
/* The calls on code and system files that a run has, or has only counted. */
#include "analyzer/compare/code_files.h"

#include "lib/store/view.h"

/* Table code_io has the calls that are counted only, of both classes. */
static const char sql[] =
	"SELECT r.calls, code, system, "
	"(SELECT sum(calls) FROM code_io) AS counted, "
	"CASE WHEN json_valid(job_json) "
	"THEN json_extract(job_json, '$.options.all') = 0 END AS refused "
	"FROM run r, "
	"(SELECT sum(reads + writes + meta_calls) "
	"FILTER (WHERE class = 'code') AS code, "
	"sum(reads + writes + meta_calls) "
	"FILTER (WHERE class = 'system') AS system "
	"FROM v_file WHERE class IN ('code', 'system'))";

int reel_code_files_read(struct reel_code_files *out, struct reel_store *st,
			 struct reel_error *err)
{
	struct reel_view v;

	*out = (struct reel_code_files){0};
	reel_view_open(&v, st, sql, err);
	if (reel_view_next(&v))
		*out = (struct reel_code_files){
			.calls = reel_view_int(&v, "calls"),
			.code = reel_view_int(&v, "code"),
			.system = reel_view_int(&v, "system"),
			.counted = reel_view_int(&v, "counted"),
			.refused = reel_view_int(&v, "refused") != 0,
		};
	return reel_view_close(&v);
}

int64_t reel_code_files_calls(const struct reel_code_files *c)
{
	return c->code + c->system;
}

double reel_code_files_share(const struct reel_code_files *c)
{
	double calls = (double)reel_code_files_calls(c);

	return calls < (double)c->calls ? calls / (double)c->calls : 1;
}

/* Some calls on them are in every recording: exec, and files that the job wrote. */
static bool has_files(const struct reel_code_files *c)
{
	int64_t calls = reel_code_files_calls(c);

	return !c->refused && calls / 10 >= c->counted && calls > 0 &&
	       calls >= c->calls / 100;
}

bool reel_code_files_lack(const struct reel_code_files *run,
			  const struct reel_code_files *other)
{
	return has_files(other) && run->counted > reel_code_files_calls(run) &&
	       run->counted >= run->calls / 100;
}

int reel_code_files_find(const struct reel_code_files *c, int n, int run)
{
	int most = -1;

	for (int i = 0; i < n; i++)
		if (reel_code_files_lack(&c[run], &c[i]) &&
		    (most < 0 || reel_code_files_calls(&c[i]) >
					 reel_code_files_calls(&c[most])))
			most = i;
	return most;
}
