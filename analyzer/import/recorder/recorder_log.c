/* SPDX-License-Identifier: MIT */
/* A folder of Recorder: metadata, and the files of ranks. */
#include "analyzer/import/recorder/recorder_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "analyzer/import/recorder/recorder_file.h"
#include "analyzer/import/recorder/recorder_grammar.h"

#define RANKS_MOST (1 << 24)
#define FUNCTIONS 256
#define FIRST_NAMES "creat\ncreat64\nopen\nopen64\nclose\n"

struct recorder_log {
	char *dir;
	struct recorder_file mt; /* names are in it, NUL-terminated */
	const char *function[FUNCTIONS];
	int major, minor;
	int ranks;
	bool one_ts;	  /* recorder.ts of all ranks: Recorder 3 */
	bool ts_deflated; /* compressed with zlib */
	bool merged;	  /* one table of signatures, few grammars */
	double start_s, tick_s;
	/* Those of all ranks, where merged; else of the last rank. */
	struct recorder_signatures signatures;
	struct recorder_file *grammars; /* by grammar */
	uint32_t grammar_count;
	struct recorder_file grammar_of; /* ug.mt: the grammar of each rank */
	struct recorder_file times; /* recorder.ts; read at the first use */
};

/* --- metadata -------------------------------------------------------------- */

static const char *find_names(const char *bytes, size_t n)
{
	return memmem(bytes, n, FIRST_NAMES, strlen(FIRST_NAMES));
}

bool recorder_log_detect(const char *bytes, size_t n)
{
	const char *names = find_names(bytes, n);

	return names && names - bytes >= 32 && names - bytes <= 1024;
}

/* @mt: the file that was named. */
static int read_version(struct recorder_log *log, const char *mt,
			struct reel_error *err)
{
	struct recorder_file f = {0};
	struct reel_error why = {0};
	char text[32] = "";
	int rc = recorder_file_read(&f, log->dir, "VERSION", &why);

	if (rc)
		return reel_fail(err, why.code,
				 "'%s' is no file of a folder of Recorder: %s",
				 mt, why.text);
	snprintf(text, sizeof(text), "%.*s", (int)(f.bytes < 31 ? f.bytes : 31),
		 (const char *)f.data);
	if (sscanf(text, "%d.%d", &log->major, &log->minor) != 2 ||
	    log->major < 2 || log->major > 3 ||
	    (log->major == 2 && log->minor < 3))
		rc = reel_fail(err, REEL_E_FORMAT,
			       "'%s' is of a version of Recorder that ioreel "
			       "does not read: 2.3 to 3 are",
			       f.path);
	recorder_file_fini(&f);
	return rc;
}

/* A line each, by number. */
static void read_functions(struct recorder_log *log)
{
	char *at = (char *)log->mt.data;
	char *end = at + log->mt.bytes;
	const char *names = find_names(at, log->mt.bytes);

	if (!names)
		return;
	at += names - at;
	for (int i = 0; i < FUNCTIONS && at < end; i++) {
		char *stop = memchr(at, '\n', (size_t)(end - at));

		if (!stop)
			break;
		*stop = '\0';
		log->function[i] = at;
		at = stop + 1;
	}
}

/*
 * The C structs of the versions, as their compilers lay them out: total_ranks at 0;
 * in Recorder 3 flags from 4 on, start 16, tick 24, flags 36 to 39; before start 8,
 * tick 16, and from 2.4 on the flag of one table for all at 32.
 */
static int read_metadata(struct recorder_log *log, struct reel_error *err)
{
	const uint8_t *p;
	const char *names;
	char ts[16];

	if (recorder_file_read(&log->mt, log->dir, "recorder.mt", err))
		return -1;
	p = log->mt.data;
	names = find_names((const char *)p, log->mt.bytes);
	if (log->mt.bytes < 40 || !names || names < (const char *)p + 32)
		return recorder_file_bad(&log->mt, 0, "is no metadata", err);
	log->ranks = (int32_t)recorder_u32(p);
	if (log->ranks < 1 || log->ranks > RANKS_MOST)
		return recorder_file_bad(&log->mt, 0, "has no ranks", err);
	snprintf(ts, sizeof(ts), "recorder.ts");
	log->one_ts = recorder_file_exists(log->dir, ts);
	log->start_s = recorder_real(p + (log->one_ts ? 16 : 8));
	log->tick_s = recorder_real(p + (log->one_ts ? 24 : 16));
	if (log->one_ts) {
		log->ts_deflated = p[36];
		log->merged = p[37];
	} else if (names >= (const char *)p + 40) {
		log->merged = recorder_u32(p + 32);
	}
	if (!(log->tick_s >= 1e-9 && log->tick_s <= 1))
		return recorder_file_bad(&log->mt, log->one_ts ? 24 : 16,
					 "has no resolution of time", err);
	read_functions(log);
	return 0;
}

/* --- tables ---------------------------------------------------------------- */

/* @name, in Recorder 3 one block of zlib. */
static int read_table(struct recorder_log *log, struct recorder_file *f,
		      const char *name, struct reel_error *err)
{
	struct recorder_file raw = {0};
	size_t at = 0;
	int rc;

	if (!log->one_ts)
		return recorder_file_read(f, log->dir, name, err);
	rc = recorder_file_read(&raw, log->dir, name, err);
	if (!rc)
		rc = recorder_file_inflate(f, &raw, &at, raw.bytes, err);
	recorder_file_fini(&raw);
	return rc;
}

static int read_signatures(struct recorder_log *log, const char *name,
			   struct reel_error *err)
{
	struct recorder_file f = {0};
	bool ranked = log->major > 2 || log->minor > 3;

	recorder_signatures_fini(&log->signatures);
	if (read_table(log, &f, name, err)) {
		recorder_file_fini(&f);
		return -1;
	}
	return recorder_signatures_read(&log->signatures, &f, ranked, err);
}

/* The grammars that the ranks share. */
static int read_grammars(struct recorder_log *log, struct reel_error *err)
{
	struct recorder_file all = {0};
	size_t at = 0, words = (size_t)log->ranks + 1;
	char name[32];
	int rc;

	if (recorder_file_read(&log->grammar_of, log->dir, "ug.mt", err))
		return -1;
	if (log->grammar_of.bytes < 4 * words)
		return recorder_file_bad(&log->grammar_of,
					 log->grammar_of.bytes, "is cut off",
					 err);
	log->grammar_count =
		recorder_u32(log->grammar_of.data + 4 * (words - 1));
	if (log->grammar_count < 1 || log->grammar_count > (uint32_t)log->ranks)
		return recorder_file_bad(&log->grammar_of, 4 * (words - 1),
					 "has no number of grammars", err);
	log->grammars =
		reel_alloc(log->grammar_count, sizeof(*log->grammars), err);
	rc = log->grammars ? 0 : -1;
	if (!rc && log->one_ts)
		rc = recorder_file_read(&all, log->dir, "ug.cfg", err);
	for (uint32_t i = 0; !rc && i < log->grammar_count; i++) {
		snprintf(name, sizeof(name), "%u.cfg", i);
		rc = log->one_ts
			     ? recorder_file_inflate(&log->grammars[i], &all,
						     &at, all.bytes, err)
			     : recorder_file_read(&log->grammars[i], log->dir,
						  name, err);
	}
	recorder_file_fini(&all);
	return rc;
}

int recorder_log_open(struct recorder_log **out, const char *mt,
		      struct reel_error *err)
{
	struct recorder_log *log = reel_alloc(1, sizeof(*log), err);
	const char *slash = strrchr(mt, '/');

	if (!log)
		return -1;
	log->dir = slash ? strndup(mt, (size_t)(slash - mt) + 1)
			 : reel_strdup("./", err);
	if (!log->dir) {
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		goto fail;
	}
	if (read_version(log, mt, err) || read_metadata(log, err))
		goto fail;
	if (log->merged &&
	    (read_signatures(log, log->one_ts ? "recorder.cst" : "0.cst",
			     err) ||
	     read_grammars(log, err)))
		goto fail;
	*out = log;
	return 0;
fail:
	recorder_log_close(log);
	return -1;
}

void recorder_log_close(struct recorder_log *log)
{
	if (!log)
		return;
	for (uint32_t i = 0; log->grammars && i < log->grammar_count; i++)
		recorder_file_fini(&log->grammars[i]);
	free(log->grammars);
	recorder_signatures_fini(&log->signatures);
	recorder_file_fini(&log->grammar_of);
	recorder_file_fini(&log->mt);
	recorder_file_fini(&log->times);
	free(log->dir);
	free(log);
}

int recorder_log_ranks(const struct recorder_log *log)
{
	return log->ranks;
}

int64_t recorder_log_start_ns(const struct recorder_log *log)
{
	return log->start_s > 0 && log->start_s < 4e9
		       ? (int64_t)llround(log->start_s * 1e9)
		       : 0;
}

int64_t recorder_log_tick_ns(const struct recorder_log *log)
{
	return llround(log->tick_s * 1e9);
}

/* --- calls ----------------------------------------------------------------- */

/* Times of a rank, and its position in them. */
struct replay {
	struct recorder_log *log;
	const struct recorder_signatures *signatures;
	struct recorder_file ts;
	size_t at;
	int64_t ticks; /* the start of the last call */
	uint64_t missing;
	recorder_call_fn *each;
	void *arg;
};

/* Where the times of @rank are in recorder.ts: after their sizes, rank by rank. */
static int find_times(const struct recorder_file *all, int rank, int ranks,
		      size_t *at, size_t *bytes, struct reel_error *err)
{
	*at = 8 * (size_t)ranks;
	*bytes = 0;
	if (all->bytes < *at)
		return recorder_file_bad(all, all->bytes, "is cut off", err);
	for (int i = 0; i <= rank; i++) {
		uint64_t size = recorder_u64(all->data + 8 * (size_t)i);

		*at += *bytes;
		*bytes = (size_t)size;
		if (size > all->bytes - *at)
			return recorder_file_bad(all, 8 * (uint64_t)i,
						 "is shorter than it says",
						 err);
	}
	return 0;
}

static int read_times(struct recorder_log *log, struct recorder_file *ts,
		      int rank, struct reel_error *err)
{
	size_t at, bytes;
	char name[32];

	snprintf(name, sizeof(name), "%d.ts", rank);
	if (!log->one_ts)
		return recorder_file_read(ts, log->dir, name, err);
	if (!log->times.data &&
	    recorder_file_read(&log->times, log->dir, "recorder.ts", err))
		return -1;
	if (find_times(&log->times, rank, log->ranks, &at, &bytes, err))
		return -1;
	return log->ts_deflated
		       ? recorder_file_inflate_all(ts, &log->times, at,
						   at + bytes, err)
		       : recorder_file_part(ts, &log->times, at, bytes, err);
}

/* One call: its signature, and the next pair of times. */
static int give_call(void *arg, uint32_t terminal, struct reel_error *err)
{
	struct replay *r = arg;
	struct recorder_call call = {0};
	unsigned int function;
	double tick_ns = r->log->tick_s * 1e9;

	if (r->at + 8 > r->ts.bytes) {
		r->missing++;
		return 1; /* no more of them */
	}
	if (!recorder_signature(r->signatures, terminal, &call, &function))
		return recorder_file_bad(&r->signatures->file, 0,
					 "lacks a signature of the grammar",
					 err);
	call.user = function == RECORDER_USER;
	call.name = call.user ? call.args > 1 ? call.arg[1] : ""
		    : r->log->function[function] ? r->log->function[function]
						 : "";
	call.end_ns = llround(
		(double)(r->ticks + recorder_u32(r->ts.data + r->at + 4)) *
		tick_ns);
	r->ticks += recorder_u32(r->ts.data + r->at);
	call.start_ns = llround((double)r->ticks * tick_ns);
	r->at += 8;
	return r->each(r->arg, &call, err);
}

int recorder_log_rank(struct recorder_log *log, int rank,
		      recorder_call_fn *each, void *arg, uint64_t *missing,
		      struct reel_error *err)
{
	struct replay r = {.log = log,
			   .signatures = &log->signatures,
			   .each = each,
			   .arg = arg};
	struct recorder_file own = {0}, *grammar = &own;
	char name[32];
	int rc = 0;

	if (log->merged) {
		uint32_t i =
			recorder_u32(log->grammar_of.data + 4 * (size_t)rank);

		if (i >= log->grammar_count)
			return recorder_file_bad(&log->grammar_of,
						 4 * (uint64_t)rank,
						 "names no grammar", err);
		grammar = &log->grammars[i];
	} else {
		snprintf(name, sizeof(name), "%d.cst", rank);
		rc = read_signatures(log, name, err);
		snprintf(name, sizeof(name), "%d.cfg", rank);
		if (!rc)
			rc = read_table(log, &own, name, err);
	}
	if (!rc)
		rc = read_times(log, &r.ts, rank, err);
	if (!rc)
		rc = recorder_grammar_walk(grammar, give_call, &r, err);
	*missing = r.missing;
	recorder_file_fini(&r.ts);
	recorder_file_fini(&own);
	return rc < 0 ? -1 : 0;
}
