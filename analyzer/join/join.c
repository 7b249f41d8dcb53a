/* SPDX-License-Identifier: MIT */
/*
 * Sources into one store: align, match processes and files, merge.
 *
 * Each source is a store already, so ids of all its rows are known before the
 * first event passes.
 */
#include "analyzer/join/join.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"

#include "analyzer/join/internal.h"

#define SMALL_EVENTS 400000 /* compressed as well as possible */

/* --- helpers of the room -------------------------------------------------- */

int join_each_row(struct join *j, struct join_part *p, const char *sql,
		  join_row_fn *fn, struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int step = SQLITE_DONE;
	int rc = reel_store_prepare(p->source->st, &q, sql, err);

	while (!rc && (step = sqlite3_step(q)) == SQLITE_ROW)
		rc = fn(j, p, q, err) ? -1 : 0;
	if (!rc && step != SQLITE_DONE)
		rc = reel_fail(err, REEL_E_DB, "cannot read '%s': %s",
			       p->source->name,
			       sqlite3_errmsg(p->source->st->db));
	sqlite3_finalize(q);
	return rc;
}

/* Ids of a store count from 1 without large gaps; others are damage. */
int join_ids_set(struct join_ids *ids, int64_t from, uint32_t to,
		 struct reel_error *err)
{
	if (from <= 0 || from > UINT32_MAX / 4)
		return reel_fail(err, REEL_E_FORMAT,
				 "an id of a source is out of range");
	if (reel_array_reach(&ids->id, &ids->room, (uint32_t)from,
			     sizeof(*ids->id), err))
		return -1;
	ids->id[from] = to;
	return 0;
}

uint32_t join_id(const struct join_ids *ids, int64_t from)
{
	return from > 0 && from < ids->room ? ids->id[from] : 0;
}

int64_t join_int(sqlite3_stmt *q, int column, int64_t none)
{
	return sqlite3_column_type(q, column) == SQLITE_NULL
		       ? none
		       : sqlite3_column_int64(q, column);
}

/* --- the parts ------------------------------------------------------------ */

static int align_parts(struct join *j, const struct join_options *o,
		       struct reel_error *err)
{
	int64_t first_ns = 0;

	j->part[0].shift = (struct join_shift){0, 0, "first"};
	for (int i = 1; i < j->parts; i++) {
		struct join_part *p = &j->part[i];

		if (o->shift_ns)
			p->shift = (struct join_shift){
				o->shift_ns[i - 1], REEL_NO_OFFSET, "--shift"};
		else if (join_align(&p->shift, j->part[0].source, p->source,
				    o->method, err))
			return -1;
		if (p->shift.ns < first_ns)
			first_ns = p->shift.ns;
	}
	for (int i = 0; i < j->parts; i++)
		j->part[i].base_ns = j->part[i].shift.ns - first_ns;
	return 0;
}

/* The largest id of @sql is the base of the next part. */
static int add_base(uint32_t *base, const struct join_part *p, const char *sql,
		    struct reel_error *err)
{
	int64_t most = 0, sum;
	bool has;

	if (reel_store_int(p->source->st, sql, &most, &has, err))
		return -1;
	sum = *base + most;
	if (most < 0 || sum > UINT32_MAX / 2)
		return reel_fail(err, REEL_E_FORMAT,
				 "cannot join '%s': too many rows",
				 p->source->name);
	*base = (uint32_t)sum;
	return 0;
}

static int set_bases(struct join *j, struct reel_error *err)
{
	for (int i = 1; i < j->parts; i++) {
		const struct join_part *p = &j->part[i - 1];
		struct join_part *to = &j->part[i];

		to->open_base = p->open_base;
		to->span_base = p->span_base;
		to->source_base = p->source_base;
		to->record_base = p->record_base;
		if (add_base(&to->open_base, p,
			     "SELECT max(max_open_id) FROM open_block", err) ||
		    add_base(&to->span_base, p,
			     "SELECT max(max_span_id) FROM span_block", err) ||
		    add_base(&to->source_base, p,
			     "SELECT max(1, coalesce(max(source_id), 1)) "
			     "FROM source",
			     err) ||
		    add_base(&to->record_base, p,
			     "SELECT max(record_id) FROM counter_record", err))
			return -1;
	}
	return 0;
}

static bool is_small(const struct join *j)
{
	int64_t sum = 0, n = 0;
	bool has;

	for (int i = 0; i < j->parts; i++)
		if (!reel_store_int(j->part[i].source->st,
				    "SELECT events FROM run", &n, &has, NULL))
			sum += n;
	return sum < SMALL_EVENTS;
}

static int join(struct join *j, struct reel_store *out,
		const struct join_options *o, struct reel_error *err)
{
	struct reel_writer_options options = {.small = is_small(j)};

	if (align_parts(j, o, err) || set_bases(j, err))
		return -1;
	for (int i = 0; i < j->parts; i++)
		if (join_processes_read(j, &j->part[i], err) ||
		    join_files_read(j, &j->part[i], err))
			return -1;
	return join_workers_mark(j, err) ||
			       reel_writer_new(&j->writer, out, &options,
					       err) ||
			       join_merge(j, err) || join_rows_write(j, err) ||
			       join_run_write(j, err)
		       ? -1
		       : 0;
}

static void join_fini(struct join *j)
{
	for (int i = 0; j->part && i < j->parts; i++) {
		free(j->part[i].process.id);
		free(j->part[i].thread.id);
		free(j->part[i].file.id);
		free(j->part[i].host.id);
	}
	for (uint32_t i = 0; i < j->hosts; i++) {
		free(j->host[i].name);
		free(j->host[i].boot_id);
	}
	for (uint32_t i = 0; i < j->texts; i++)
		free(j->text[i]);
	reel_writer_free(j->writer);
	reel_intmap_fini(&j->by_path);
	reel_buf_fini(&j->paths);
	free(j->part);
	free(j->process);
	free(j->thread);
	free(j->host);
	free(j->file);
	free(j->text);
}

int64_t reel_join(struct reel_store *out, const struct join_source *source,
		  int n, const struct join_options *options,
		  struct reel_error *err)
{
	struct join j = {.parts = n, .patch = options->patch};
	int64_t rc = -1;

	j.part = reel_alloc((size_t)n, sizeof(*j.part), err);
	for (int i = 0; j.part && i < n; i++)
		j.part[i].source = &source[i];
	if (j.part && !join(&j, out, options, err))
		rc = (int64_t)reel_writer_events(j.writer);
	join_fini(&j);
	return rc;
}
