/* SPDX-License-Identifier: MIT */
/* Plain rows into the store's tables: one prepared INSERT each. */
#include "lib/error.h"

#include "analyzer/write/internal.h"

static const char *const insert_sql[INSERTS] = {
	[INSERT_BLOCK] =
		"INSERT INTO event_block (thread_id, events, "
		"min_start_ns, max_end_ns, data) VALUES (?, ?, ?, ?, ?)",
	[INSERT_OPENS] = "INSERT INTO open_block (opens, min_open_id, "
			 "max_open_id, data) VALUES (?, ?, ?, ?)",
	[INSERT_FILES] = "INSERT INTO file_block (files, min_file_id, "
			 "max_file_id, data) VALUES (?, ?, ?, ?)",
	[INSERT_NOTE] = "INSERT INTO note VALUES (?, ?, ?, ?)",
	[INSERT_SITE] = "INSERT INTO site VALUES (?, ?, ?)",
	[INSERT_HOST] = "INSERT INTO host VALUES (?, ?, ?)",
	[INSERT_PROCESS] = "INSERT INTO process VALUES (?, ?, ?, ?, ?, ?, ?, "
			   "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_THREAD] = "INSERT INTO thread VALUES (?, ?, ?, ?, ?, ?, ?)",
	[INSERT_LOSS] = "INSERT INTO loss VALUES (?, ?, ?, ?)",
};

int writer_inserts_open(struct reel_writer *w, struct reel_error *err)
{
	for (int i = 0; i < INSERTS; i++)
		if (reel_insert_open(&w->insert[i], w->st, insert_sql[i], err))
			return -1;
	return 0;
}

void writer_inserts_close(struct reel_writer *w)
{
	for (int i = 0; i < INSERTS; i++)
		reel_insert_close(&w->insert[i], 0);
}

/* REEL_NO_OFFSET is NULL. */
static void put_int(struct reel_insert *out, int64_t v)
{
	if (v == REEL_NO_OFFSET)
		reel_insert_null(out);
	else
		reel_insert_int(out, v);
}

static void put_count(struct reel_insert *out, uint64_t n)
{
	reel_insert_int(out, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

int reel_writer_host(struct reel_writer *w, uint32_t id, const char *name,
		     const char *boot_id, struct reel_error *err)
{
	struct reel_insert *out = &w->insert[INSERT_HOST];

	reel_insert_int(out, id);
	reel_insert_text(out, name);
	reel_insert_text(out, boot_id);
	return reel_insert_done(out, err);
}

int reel_writer_process(struct reel_writer *w,
			const struct reel_writer_process *row,
			struct reel_error *err)
{
	struct reel_insert *out = &w->insert[INSERT_PROCESS];

	reel_insert_int(out, row->process_id);
	reel_insert_int(out, row->pid);
	reel_insert_id(out, row->parent_id);
	reel_insert_int(out, row->host_id);
	put_int(out, row->rank < 0 ? REEL_NO_OFFSET : row->rank);
	reel_insert_text(out, row->role);
	reel_insert_text(out, row->exe);
	reel_insert_text(out, row->command);
	reel_insert_text(out, row->cwd);
	put_int(out, row->fork_ns);
	reel_insert_id(out, row->fork_thread);
	reel_insert_int(out, row->start_ns);
	reel_insert_int(out, row->end_ns);
	reel_insert_text(out, row->ended);
	reel_insert_int(out, (int64_t)row->events);
	reel_insert_int(out, (int64_t)row->lost);
	reel_insert_int(out, (int64_t)row->code_opens);
	reel_insert_int(out, (int64_t)row->code_calls);
	reel_insert_int(out, (int64_t)row->code_read_bytes);
	reel_insert_text(out, row->launcher);
	return reel_insert_done(out, err);
}

int reel_writer_thread(struct reel_writer *w,
		       const struct reel_writer_thread *row,
		       struct reel_error *err)
{
	struct reel_insert *out = &w->insert[INSERT_THREAD];

	reel_insert_int(out, row->thread_id);
	reel_insert_int(out, row->process_id);
	reel_insert_int(out, row->tid);
	reel_insert_int(out, row->start_ns);
	reel_insert_int(out, row->end_ns);
	reel_insert_int(out, (int64_t)row->events);
	reel_insert_int(out, (int64_t)row->lost);
	return reel_insert_done(out, err);
}

/* Rows that come between events keep their place among the blocks. */
static int put_texts(struct reel_writer *w, enum writer_what what,
		     const uint32_t id[2], const char *a, const char *b,
		     struct reel_error *err)
{
	struct writer_item *it = writer_item_add(w, what, err);

	if (!it)
		return -1;
	it->id[0] = id[0];
	it->id[1] = id[1];
	return writer_item_text(w, it, 0, a, err) ||
			       writer_item_text(w, it, 1, b, err)
		       ? -1
		       : 0;
}

int reel_writer_note(struct reel_writer *w, uint32_t process, uint32_t thread,
		     const char *key, const char *value, struct reel_error *err)
{
	const uint32_t id[] = {process, thread};

	return put_texts(w, ITEM_NOTE, id, key, value, err);
}

int reel_writer_site(struct reel_writer *w, uint32_t id, const char *place,
		     const char *frames, struct reel_error *err)
{
	const uint32_t ids[] = {id, 0};

	return put_texts(w, ITEM_SITE, ids, place, frames, err);
}

int reel_writer_loss(struct reel_writer *w, uint32_t process,
		     const char *reason, const char *unit, uint64_t count,
		     struct reel_error *err)
{
	struct reel_insert *out = &w->insert[INSERT_LOSS];

	reel_insert_id(out, process);
	reel_insert_text(out, reason);
	reel_insert_text(out, unit);
	put_count(out, count);
	return reel_insert_done(out, err);
}

int reel_writer_losses(struct reel_writer *w,
		       const struct reel_writer_loss *loss, size_t n,
		       struct reel_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (loss[i].count &&
		    reel_writer_loss(w, 0, loss[i].reason, loss[i].unit,
				     loss[i].count, err))
			return -1;
	return 0;
}

int writer_code_put(struct reel_writer *w, struct reel_error *err)
{
	struct reel_insert out;

	if (reel_insert_open(&out, w->st,
			     "INSERT INTO code_io VALUES (?, ?, ?)", err))
		return -1;
	for (int i = 0; i < REEL_WRITER_COUNTERS; i++)
		reel_insert_int(&out, (int64_t)w->counter[i]);
	return reel_insert_close(&out, reel_insert_done(&out, err));
}

static const char run_sql[] =
	"INSERT INTO run (run_id, name, command, cwd, start_real_ns, wall_ns, "
	"span_ns, exit_status, exit_signal, host, framework, ranks, workers, "
	"clock_error_ns, events, calls, lost, job_json, tool_version) "
	"VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

int writer_run_put(struct reel_writer *w, const struct reel_writer_run *run,
		   struct reel_error *err)
{
	struct reel_insert out;

	if (reel_insert_open(&out, w->st, run_sql, err))
		return -1;
	reel_insert_text(&out, run->name);
	reel_insert_text(&out, run->command);
	reel_insert_text(&out, run->cwd);
	put_int(&out, run->start_real_ns ? run->start_real_ns : REEL_NO_OFFSET);
	put_int(&out, run->wall_ns);
	put_int(&out, w->span_ns);
	put_int(&out, run->exit_status);
	put_int(&out, run->exit_signal);
	reel_insert_text(&out, run->host);
	reel_insert_text(&out, run->framework);
	reel_insert_int(&out, run->ranks);
	reel_insert_int(&out, run->workers);
	put_int(&out, run->clock_error_ns);
	reel_insert_int(&out, (int64_t)w->events);
	reel_insert_int(&out, (int64_t)w->calls);
	reel_insert_int(&out, run->lost);
	reel_insert_text(&out, run->job_json);
	reel_insert_text(&out, REEL_VERSION);
	return reel_insert_close(&out, reel_insert_done(&out, err));
}
