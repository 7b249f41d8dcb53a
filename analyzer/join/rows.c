/* SPDX-License-Identifier: MIT */
/* Rows of the sources that are copied with other ids, and the row of the run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/error.h"
#include "lib/store/insert.h"

#include "analyzer/join/internal.h"

static const char *text_of(sqlite3_stmt *q, int column)
{
	const char *text = (const char *)sqlite3_column_text(q, column);

	return text ? text : "";
}

/* --- rows of each source -------------------------------------------------- */

/* Open files belong to the events of their process. */
static int put_open(struct join *j, struct join_part *p, sqlite3_stmt *q,
		    struct reel_error *err)
{
	uint32_t process = join_id(&p->process, join_int(q, 2, 0));
	int64_t open_ns = join_int(q, 5, REEL_NO_OFFSET);
	int64_t close_ns = join_int(q, 6, REEL_NO_OFFSET);
	struct reel_open_row row = {
		.open_id = (uint32_t)join_int(q, 0, 0) + p->open_base,
		.file_id = join_id(&p->file, join_int(q, 1, 0)),
		.process_id = process,
		.fd = (int32_t)join_int(q, 3, -1),
		.flags = join_int(q, 4, -1),
		.open_ns = open_ns == REEL_NO_OFFSET ? open_ns
						     : open_ns + p->base_ns,
		.close_ns = close_ns == REEL_NO_OFFSET ? close_ns
						       : close_ns + p->base_ns};

	if (!process || j->process[process - 1].io_part != p - j->part)
		return 0;
	return reel_writer_open(j->writer, &row, err);
}

/* Rows of the patch: the ids of processes and files are those of the part. */
static int put_patch_opens(struct join *j, struct reel_error *err)
{
	const struct join_part *p = &j->part[0];

	for (size_t i = 0; j->patch && i < j->patch->opens; i++) {
		struct reel_open_row row = j->patch->open[i];

		row.process_id = join_id(&p->process, row.process_id);
		row.file_id = join_id(&p->file, row.file_id);
		row.open_ns += p->base_ns;
		row.close_ns += p->base_ns;
		if (row.process_id && reel_writer_open(j->writer, &row, err))
			return -1;
	}
	return 0;
}

static int put_note(struct join *j, struct join_part *p, sqlite3_stmt *q,
		    struct reel_error *err)
{
	uint32_t process = join_id(&p->process, join_int(q, 0, 0));
	uint32_t thread = join_id(&p->thread, join_int(q, 1, 0));

	if (!process || !thread)
		return 0;
	return reel_writer_note(j->writer, process, thread, text_of(q, 2),
				text_of(q, 3), err);
}

static int put_loss(struct join *j, struct join_part *p, sqlite3_stmt *q,
		    struct reel_error *err)
{
	return reel_writer_loss(
		j->writer, join_id(&p->process, join_int(q, 0, 0)),
		text_of(q, 1), text_of(q, 2), (uint64_t)join_int(q, 3, 0), err);
}

/* Programs that wrote no log are counted for the whole job alone: where all its processes
 * are also in earlier parts, so are these. */
static int put_code(struct join *j, struct join_part *p, sqlite3_stmt *q,
		    struct reel_error *err)
{
	(void)err;
	if (p->io_earlier && !p->io_own)
		return 0;
	for (int i = 0; i < REEL_WRITER_COUNTERS; i++) {
		uint64_t n = (uint64_t)join_int(q, i, 0);
		uint64_t twice = p->code_twice[i];

		reel_writer_counter(j->writer, (enum reel_writer_counter)i,
				    n > twice ? n - twice : 0);
	}
	return 0;
}

static int put_record(struct join *j, struct join_part *p, sqlite3_stmt *q,
		      struct reel_error *err)
{
	struct reel_writer_record row = {
		.record_id = (uint32_t)join_int(q, 0, 0) + p->record_base,
		.source_id = (uint32_t)join_int(q, 1, 0) + p->source_base,
		.module = text_of(q, 2),
		.record = text_of(q, 3),
		.rank = join_int(q, 4, REEL_NO_OFFSET),
		.path = (const char *)sqlite3_column_text(q, 5)};

	return reel_writer_record(j->writer, &row, err);
}

static int put_value(struct join *j, struct join_part *p, sqlite3_stmt *q,
		     struct reel_error *err)
{
	int type = sqlite3_column_type(q, 2);
	struct reel_writer_number value = {
		.is_real = type == SQLITE_FLOAT,
		.integer = sqlite3_column_int64(q, 2),
		.real = sqlite3_column_double(q, 2),
		.text = type == SQLITE_TEXT ? text_of(q, 2) : NULL};

	return reel_writer_value(j->writer,
				 (uint32_t)join_int(q, 0, 0) + p->record_base,
				 text_of(q, 1), &value, err);
}

static int put_missing(struct join *j, struct join_part *p, sqlite3_stmt *q,
		       struct reel_error *err)
{
	return reel_writer_missing(j->writer,
				   (uint32_t)join_int(q, 0, 0) + p->source_base,
				   text_of(q, 1), err);
}

/* The rule by which a process of @p was matched with one of an earlier source. */
static const char *process_words(const struct join *j,
				 const struct join_part *p,
				 char out[static 160])
{
	uint32_t all = p->by_pid + p->by_rank + p->by_time;

	if (p == j->part)
		return NULL;
	if (p->alone && p->processes == 1)
		snprintf(out, 160,
			 "its only process joined to the only one before");
	else if (!all)
		snprintf(out, 160,
			 "0 of %" PRIu32
			 " processes joined: no pid or rank in common with the "
			 "sources before",
			 p->processes);
	else
		snprintf(out, 160,
			 "%" PRIu32 " of %" PRIu32
			 " processes joined to those of the sources before by "
			 "%s%s%s%s%s",
			 all, p->processes, p->by_pid ? "pid" : "",
			 p->by_pid && p->by_rank + p->by_time ? " and " : "",
			 p->by_rank ? "rank" : "",
			 p->by_rank && p->by_time ? " and " : "",
			 p->by_time ? "time" : "");
	return out;
}

static int put_source(struct join *j, struct join_part *p, sqlite3_stmt *q,
		      struct reel_error *err)
{
	char words[160];
	struct reel_writer_source row = {
		.source_id = (uint32_t)join_int(q, 0, 0) + p->source_base,
		.file = text_of(q, 1),
		.format = text_of(q, 2),
		.ranks = join_int(q, 3, -1),
		.events = join_int(q, 4, -1),
		.shift_ns = join_int(q, 5, 0) + p->shift.ns,
		.shift_error_ns = p->shift.error_ns,
		.aligned_by = p->shift.by,
		.joined = process_words(j, p, words)};

	return reel_writer_source(j->writer, &row, err);
}

/* A trace of our own has no row of table source. */
static const char own_source_sql[] =
	"SELECT 1, ?1, ?2, ranks, events, 0 FROM run "
	"WHERE NOT EXISTS (SELECT 1 FROM source)";

static int put_own_source(struct join *j, struct join_part *p,
			  struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int rc = reel_store_prepare(p->source->st, &q, own_source_sql, err);

	if (!rc) {
		sqlite3_bind_text(q, 1, p->source->name, -1, SQLITE_STATIC);
		sqlite3_bind_text(q, 2, p->source->format, -1, SQLITE_STATIC);
		if (sqlite3_step(q) == SQLITE_ROW)
			rc = put_source(j, p, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

/* Tables in the order in which the writer needs them. */
static const struct {
	const char *sql;
	join_row_fn *fn;
} tables[] = {
	{"SELECT open_id, file_id, process_id, fd, flags, open_ns, close_ns "
	 "FROM open_file ORDER BY open_id",
	 put_open},
	{"SELECT process_id, thread_id, key, value FROM note", put_note},
	{"SELECT process_id, reason, unit, count FROM loss", put_loss},
	{"SELECT opens, calls, read_bytes FROM code_io", put_code},
	{"SELECT source_id, file, format, ranks, events, shift_ns FROM source "
	 "ORDER BY source_id",
	 put_source},
	{"SELECT source_id, value FROM source_missing", put_missing},
	{"SELECT record_id, source_id, module, record, rank, path "
	 "FROM counter_record ORDER BY record_id",
	 put_record},
	{"SELECT record_id, name, value FROM counter JOIN counter_name "
	 "USING (name_id)",
	 put_value},
};

/* Events do not hold their call site, so only the sums of a source had them. */
static int put_part_losses(struct join *j, struct join_part *p,
			   struct reel_error *err)
{
	int64_t sites = 0;
	bool has;

	if (reel_store_int(p->source->st, "SELECT count(*) FROM site", &sites,
			   &has, err) ||
	    (sites > 0 && reel_writer_loss(j->writer, 0, "call_sites", "sites",
					   (uint64_t)sites, err)))
		return -1;
	return p->seen_twice ? reel_writer_loss(j->writer, 0, "in_two_sources",
						"events", p->seen_twice, err)
			     : 0;
}

/* --- rows of the joined store --------------------------------------------- */

/* A process without a host may have got that of another source. */
static bool is_used(const struct join *j, uint32_t host)
{
	for (uint32_t i = 0; i < j->processes; i++)
		if (j->process[i].row.host_id == host)
			return true;
	return false;
}

static int put_dimensions(struct join *j, struct reel_error *err)
{
	for (uint32_t i = 0; i < j->hosts; i++)
		if (is_used(j, i + 1) &&
		    reel_writer_host(j->writer, i + 1, j->host[i].name,
				     j->host[i].boot_id, err))
			return -1;
	for (uint32_t i = 0; i < j->processes; i++)
		if (reel_writer_process(j->writer, &j->process[i].row, err))
			return -1;
	for (uint32_t i = 0; i < j->threads; i++)
		if (reel_writer_thread(j->writer, &j->thread[i].row, err))
			return -1;
	for (uint32_t i = 0; i < j->files; i++) {
		const struct join_file *f = &j->file[i];
		struct reel_file_row row = {.file_id = i + 1,
					    .path = reel_buf_text(&j->paths) +
						    f->path,
					    .path_len = f->len,
					    .kind = f->kind,
					    .class_ = f->class_,
					    .size_bytes = f->size_bytes};

		if (reel_writer_file(j->writer, &row, err))
			return -1;
	}
	return 0;
}

int join_rows_write(struct join *j, struct reel_error *err)
{
	for (int i = 0; i < j->parts; i++) {
		struct join_part *p = &j->part[i];

		for (size_t k = 0; k < sizeof(tables) / sizeof(*tables); k++)
			if (join_each_row(j, p, tables[k].sql, tables[k].fn,
					  err))
				return -1;
		if (put_own_source(j, p, err) || put_part_losses(j, p, err))
			return -1;
	}
	return put_patch_opens(j, err) || put_dimensions(j, err) ? -1 : 0;
}

/* --- the run -------------------------------------------------------------- */

struct run {
	struct reel_writer_run row;
	struct reel_buf text[5]; /* name, command, cwd, host, framework */
	json_t *job;		 /* members of all; NULL: none so far */
	bool clocks; /* each source knows the error of its clock so far */
};

static int add_job(struct run *r, const char *text, struct reel_error *err)
{
	json_t *job = json_loads(text, 0, NULL);
	int rc = 0;

	if (!json_is_object(job)) {
		json_decref(job); /* damaged */
		return 0;
	}
	if (!r->job) {
		r->job = job;
		return 0;
	}
	if (json_object_update_missing(r->job, job))
		rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
	json_decref(job);
	return rc;
}

/* Values that an earlier source lacks are those of the next one. */
static int add_run(struct run *r, const struct join_part *p, sqlite3_stmt *q,
		   struct reel_error *err)
{
	int64_t real_ns = join_int(q, 6, 0), error_ns = join_int(q, 12, -1);
	struct reel_writer_run *row = &r->row;

	for (int i = 0; i < 5; i++)
		if (!r->text[i].len &&
		    reel_buf_puts(&r->text[i], text_of(q, i), err))
			return -1;
	if (add_job(r, text_of(q, 5), err))
		return -1;
	if (!row->start_real_ns && real_ns)
		row->start_real_ns = real_ns - p->base_ns;
	if (row->wall_ns == REEL_NO_OFFSET)
		row->wall_ns = join_int(q, 7, REEL_NO_OFFSET);
	if (row->exit_status == REEL_NO_OFFSET &&
	    row->exit_signal == REEL_NO_OFFSET) {
		row->exit_status = join_int(q, 8, REEL_NO_OFFSET);
		row->exit_signal = join_int(q, 9, REEL_NO_OFFSET);
	}
	if (join_int(q, 10, 0) > row->ranks)
		row->ranks = join_int(q, 10, 0);
	if (join_int(q, 11, 0) > row->workers)
		row->workers = join_int(q, 11, 0);
	if (error_ns < 0 || p->shift.error_ns == REEL_NO_OFFSET)
		r->clocks = false;
	else if (error_ns + p->shift.error_ns > row->clock_error_ns)
		row->clock_error_ns = error_ns + p->shift.error_ns;
	row->lost += join_int(q, 13, 0);
	return 0;
}

static const char run_sql[] =
	"SELECT name, command, cwd, host, framework, job_json, start_real_ns, "
	"wall_ns, exit_status, exit_signal, ranks, workers, clock_error_ns, "
	"lost FROM run";

static int read_runs(struct run *r, struct join *j, struct reel_error *err)
{
	int rc = 0;

	for (int i = 0; !rc && i < j->parts; i++) {
		sqlite3_stmt *q = NULL;

		rc = reel_store_prepare(j->part[i].source->st, &q, run_sql,
					err);
		if (!rc && sqlite3_step(q) == SQLITE_ROW)
			rc = add_run(r, &j->part[i], q, err);
		sqlite3_finalize(q);
	}
	return rc;
}

static const char *known(const struct reel_buf *b)
{
	return b->len ? reel_buf_text(b) : NULL;
}

int join_run_write(struct join *j, struct reel_error *err)
{
	struct run r = {.row = {.wall_ns = REEL_NO_OFFSET,
				.exit_status = REEL_NO_OFFSET,
				.exit_signal = REEL_NO_OFFSET},
			.clocks = true};
	int rc = read_runs(&r, j, err);
	char *job = r.job ? json_dumps(r.job, JSON_COMPACT) : NULL;

	r.row.name = r.text[0].len ? reel_buf_text(&r.text[0]) : "unknown";
	r.row.command = reel_buf_text(&r.text[1]);
	r.row.cwd = known(&r.text[2]);
	r.row.host = known(&r.text[3]);
	r.row.framework = known(&r.text[4]);
	r.row.job_json = job ? job : "{}";
	if (!r.clocks)
		r.row.clock_error_ns = REEL_NO_OFFSET;
	if (!rc)
		rc = reel_writer_finish(j->writer, &r.row, err);
	for (int i = 0; i < 5; i++)
		reel_buf_fini(&r.text[i]);
	json_decref(r.job);
	free(job);
	return rc;
}
