/* SPDX-License-Identifier: MIT */
/*
 * Sources and their counters. Names repeat from record to record, mostly in one
 * order: the name behind the last one is tried first.
 */
#include <stdlib.h>
#include <string.h>

#include "schemas/hash.h"

#include "lib/error.h"
#include "lib/store/schema.h"

#include "analyzer/write/internal.h"

static const char counter_sql[] =
#include "schemas/counter.sql.inc"
	;

/* The tables, with the first row. */
static int need_tables(struct reel_writer *w, struct reel_error *err)
{
	struct writer_counters *c = &w->counters;

	if (c->tables)
		return 0;
	if (!writer_has_table(w, "source") &&
	    reel_schema_create(w->st->db, counter_sql) != SQLITE_OK)
		return reel_fail(err, REEL_E_DB,
				 "cannot create tables of counters: %s",
				 sqlite3_errmsg(w->st->db));
	c->tables = true;
	return reel_insert_open(&c->source, w->st,
				"INSERT INTO source VALUES "
				"(?, ?, ?, ?, ?, ?, ?, ?, ?)",
				err) ||
			       reel_insert_open(
				       &c->missing, w->st,
				       "INSERT INTO source_missing VALUES "
				       "(?, ?)",
				       err) ||
			       reel_insert_open(
				       &c->counts, w->st,
				       "UPDATE source SET ranks = ?, events = "
				       "? WHERE source_id = ?",
				       err) ||
			       reel_insert_open(
				       &c->record, w->st,
				       "INSERT INTO counter_record VALUES "
				       "(?, ?, ?, ?, ?, ?)",
				       err) ||
			       reel_insert_open(
				       &c->name, w->st,
				       "INSERT INTO counter_name VALUES (?, ?)",
				       err) ||
			       reel_insert_open(
				       &c->value, w->st,
				       "INSERT INTO counter VALUES (?, ?, ?)",
				       err)
		       ? -1
		       : 0;
}

void writer_counters_fini(struct reel_writer *w)
{
	struct writer_counters *c = &w->counters;

	reel_insert_close(&c->source, 0);
	reel_insert_close(&c->missing, 0);
	reel_insert_close(&c->counts, 0);
	reel_insert_close(&c->record, 0);
	reel_insert_close(&c->name, 0);
	reel_insert_close(&c->value, 0);
	for (uint32_t i = 0; i < c->names; i++)
		free(c->text[i]);
	free(c->text);
	reel_intmap_fini(&c->by_hash);
}

static void put_known(struct reel_insert *out, int64_t v, int64_t unknown)
{
	if (v == unknown)
		reel_insert_null(out);
	else
		reel_insert_int(out, v);
}

int reel_writer_source(struct reel_writer *w,
		       const struct reel_writer_source *row,
		       struct reel_error *err)
{
	struct reel_insert *out = &w->counters.source;

	if (need_tables(w, err))
		return -1;
	w->counters.sources++;
	reel_insert_int(out, row->source_id);
	reel_insert_text(out, row->file);
	reel_insert_text(out, row->format);
	put_known(out, row->ranks, -1);
	put_known(out, row->events, -1);
	put_known(out, row->aligned_by ? row->shift_ns : REEL_NO_OFFSET,
		  REEL_NO_OFFSET);
	put_known(out, row->aligned_by ? row->shift_error_ns : REEL_NO_OFFSET,
		  REEL_NO_OFFSET);
	reel_insert_text(out, row->aligned_by);
	reel_insert_text(out, row->joined);
	return reel_insert_done(out, err);
}

int reel_writer_missing(struct reel_writer *w, uint32_t id, const char *value,
			struct reel_error *err)
{
	struct reel_insert *out = &w->counters.missing;

	reel_insert_int(out, id);
	reel_insert_text(out, value);
	return reel_insert_done(out, err);
}

int reel_writer_source_counts(struct reel_writer *w, uint32_t id, int64_t ranks,
			      int64_t events, struct reel_error *err)
{
	struct reel_insert *out = &w->counters.counts;

	w->counters.counted = true;
	put_known(out, ranks, -1);
	put_known(out, events, -1);
	reel_insert_int(out, id);
	return reel_insert_done(out, err);
}

int writer_source_finish(struct reel_writer *w,
			 const struct reel_writer_run *run,
			 struct reel_error *err)
{
	if (w->counters.sources != 1 || w->counters.counted)
		return 0;
	return reel_writer_source_counts(w, 1, run->ranks ? run->ranks : -1,
					 (int64_t)w->events, err);
}

int reel_writer_record(struct reel_writer *w,
		       const struct reel_writer_record *row,
		       struct reel_error *err)
{
	struct reel_insert *out = &w->counters.record;

	if (need_tables(w, err))
		return -1;
	reel_insert_int(out, row->record_id);
	reel_insert_int(out, row->source_id);
	reel_insert_text(out, row->module);
	reel_insert_text(out, row->record);
	if (row->rank == REEL_NO_OFFSET)
		reel_insert_null(out);
	else
		reel_insert_int(out, row->rank);
	reel_insert_text(out, row->path);
	return reel_insert_done(out, err);
}

static uint32_t add_name(struct reel_writer *w, const char *name,
			 struct reel_error *err)
{
	struct writer_counters *c = &w->counters;
	struct reel_insert *out = &c->name;

	if (c->names == c->room) {
		uint32_t room = c->room ? 2 * c->room : 256;

		if (reel_grow(&c->text, room, sizeof(*c->text), err))
			return 0;
		c->room = room;
	}
	c->text[c->names] = reel_strdup(name, err);
	if (!c->text[c->names])
		return 0;
	reel_insert_int(out, ++c->names);
	reel_insert_text(out, name);
	return reel_insert_done(out, err) ? 0 : c->names;
}

/* The id of @name, from 1; 0 with @err. */
static uint32_t name_id(struct reel_writer *w, const char *name,
			struct reel_error *err)
{
	struct writer_counters *c = &w->counters;
	uint64_t hash;

	if (c->next < c->names && !strcmp(c->text[c->next], name))
		return ++c->next;
	for (hash = reel_fnv1a(REEL_FNV_SEED, name, strlen(name));; hash++) {
		uint32_t i = reel_intmap_get(&c->by_hash, hash, err);

		if (i == REEL_NO_INDEX)
			return 0;
		if (i == c->names && !add_name(w, name, err))
			return 0;
		if (!strcmp(c->text[i], name)) {
			c->next = i + 1;
			return i + 1;
		}
	}
}

int reel_writer_value(struct reel_writer *w, uint32_t record, const char *name,
		      const struct reel_writer_number *value,
		      struct reel_error *err)
{
	struct reel_insert *out = &w->counters.value;
	uint32_t id = name_id(w, name, err);

	if (!id)
		return -1;
	reel_insert_int(out, record);
	reel_insert_int(out, id);
	if (value->text)
		reel_insert_text(out, value->text);
	else if (value->is_real)
		reel_insert_real(out, value->real);
	else
		reel_insert_int(out, value->integer);
	return reel_insert_done(out, err);
}
