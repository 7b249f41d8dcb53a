/* SPDX-License-Identifier: MIT */
/* Files of one job: those of one format are one source, sources are joined. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/trace/reader.h"

#include "analyzer/import/import.h"
#include "analyzer/run/internal.h"
#include "analyzer/run/run.h"

enum kind { FOREIGN, TRACE, STORE };

/* Files that become one store. */
struct source {
	enum kind kind;
	const struct reel_importer *as; /* of FOREIGN */
	char **path;			/* borrowed texts */
	int paths;
	struct reel_store *st;
};

struct sources {
	struct source at[JOIN_SOURCES_MOST];
	int n;
};

/* SQLite files of others, as exports of Nsight Systems, have another id. */
static bool is_store(const char *path)
{
	static const char magic[] = "SQLite format 3";
	uint8_t head[72] = {0};
	uint32_t id;
	struct stat st;
	/* A pipe would wait for its writer. */
	FILE *f = !stat(path, &st) && S_ISREG(st.st_mode) ? fopen(path, "re")
							  : NULL;
	bool is = f && fread(head, sizeof(head), 1, f) == 1 &&
		  !memcmp(head, magic, sizeof(magic));

	if (f)
		fclose(f);
	memcpy(&id, head + 68, sizeof(id));
	return is && be32toh(id) == REEL_STORE_APPLICATION_ID;
}

/* The source of @path: that of its format if there is one, else a new one. */
static struct source *source_of(struct sources *s, char *path,
				struct reel_error *err)
{
	struct source new = {.kind = reel_trace_is(path) ? TRACE
				     : is_store(path)	 ? STORE
							 : FOREIGN};

	if (new.kind == FOREIGN)
		new.as = reel_importer_detect(path);
	for (int i = 0; new.kind == FOREIGN &&i < s->n; i++)
		if (s->at[i].kind == FOREIGN && s->at[i].as == new.as)
			return &s->at[i];
	if (s->n == JOIN_SOURCES_MOST) {
		reel_fail(err, REEL_E_FORMAT,
			  "cannot join more than %d sources",
			  JOIN_SOURCES_MOST);
		return NULL;
	}
	s->at[s->n] = new;
	return &s->at[s->n++];
}

/* A process that is killed may leave an empty log beside those of others: it goes
 * to the first import, which counts it. */
static struct source *source_of_empty(struct sources *s)
{
	for (int i = 0; i < s->n; i++)
		if (s->at[i].kind == FOREIGN && s->at[i].as)
			return &s->at[i];
	return NULL;
}

static int sort_paths(struct sources *s, char *const *path, int n, bool empty,
		      struct reel_error *err)
{
	for (int i = 0; i < n; i++) {
		struct source *to = empty ? source_of_empty(s) : NULL;

		if (reel_import_is_empty(path[i]) != empty)
			continue;
		if (!to)
			to = source_of(s, path[i], err);
		if (!to || reel_grow(&to->path, (size_t)to->paths + 1,
				     sizeof(*to->path), err))
			return -1;
		to->path[to->paths++] = path[i];
	}
	return 0;
}

static int open_source(struct source *s, struct reel_error *err)
{
	if (s->kind == STORE)
		return reel_store_open(&s->st, s->path[0], err);
	if (s->kind == FOREIGN && !s->as)
		return reel_import_unknown(s->path[0], err)
			       ? -1
			       : reel_fail(err, REEL_E_FORMAT,
					   "'%s' is in no format that ioreel "
					   "imports (ioreel import --list "
					   "shows them), and neither a trace "
					   "nor a store",
					   s->path[0]);
	return run_load_temporary(&s->st, s->path, s->paths, s->as, err);
}

static int64_t join_sources(struct reel_store *st, struct sources *s,
			    const struct reel_run_import *o,
			    struct reel_error *err)
{
	struct join_source source[JOIN_SOURCES_MOST];
	struct join_options options = {.method = o->align,
				       .shift_ns = o->shift_ns};

	if (o->shift_ns && o->shifts != s->n - 1)
		return reel_fail(err, REEL_E_USAGE,
				 "--shift once for each source but the first: "
				 "%d, not %d",
				 s->n - 1, o->shifts);
	for (int i = 0; i < s->n; i++) {
		if (open_source(&s->at[i], err))
			return -1;
		source[i] = (struct join_source){
			.st = s->at[i].st,
			.name = s->at[i].path[0],
			.format = s->at[i].as ? s->at[i].as->name : "ioreel"};
	}
	return reel_join(st, source, s->n, &options, err);
}

/* One source is no join: there is nothing to do for a trace or store alone. */
static int64_t import_alone(struct reel_store *st, const struct source *s,
			    int n, const struct reel_run_import *o,
			    struct reel_error *err)
{
	if (s->kind == FOREIGN)
		return reel_import(st, s->path, n, &o->import, err);
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is in no format that ioreel imports: it is a "
			 "%s of ioreel; try: ioreel %s %s",
			 s->path[0], s->kind == TRACE ? "trace" : "store",
			 s->kind == TRACE ? "load" : "report", s->path[0]);
}

int64_t reel_run_import(struct reel_store *st, char *const *path, int n,
			const struct reel_run_import *options,
			struct reel_error *err)
{
	struct sources s = {0};
	int64_t rc = -1;

	if (options->import.as)
		return reel_import(st, path, n, &options->import, err);
	if (!sort_paths(&s, path, n, false, err) &&
	    !sort_paths(&s, path, n, true, err))
		rc = s.n > 1 ? join_sources(st, &s, options, err)
			     : import_alone(st, &s.at[0], n, options, err);
	for (int i = 0; i < s.n; i++) {
		reel_store_close(s.at[i].st);
		free(s.at[i].path);
	}
	return rc;
}
