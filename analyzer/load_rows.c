/* SPDX-License-Identifier: MIT */
/*
 * The loader's rows: what streams out while events pass, and the dimensions at
 * the end, when what they say is complete.
 */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/load_internal.h"
#include "analyzer/site_place.h"

/* Values of integers that mean NULL. */
#define NONE REEL_NO_OFFSET

static const char *const stmt_sql[STMTS] = {
	[STMT_BLOCK] = "INSERT INTO event_block (thread_id, events, "
		"min_start_ns, max_end_ns, data) VALUES (?, ?, ?, ?, ?)",
	[STMT_OPENS] = "INSERT INTO open_block (opens, min_open_id, "
		"max_open_id, data) VALUES (?, ?, ?, ?)",
	[STMT_NOTE] = "INSERT INTO note VALUES (?, ?, ?, ?)",
	[STMT_SITE] = "INSERT INTO site VALUES (?, ?, ?)",
};

int load_rows_prepare(struct load *l, struct reel_error *err)
{
	for (int i = 0; i < STMTS; i++)
		if (reel_store_prepare(l->st, &l->stmt[i], stmt_sql[i], err))
			return -1;
	return 0;
}

void load_rows_fini(struct load *l)
{
	for (int i = 0; i < STMTS; i++)
		sqlite3_finalize(l->stmt[i]);
}

int load_row_done(struct load *l, sqlite3_stmt *stmt, struct reel_error *err)
{
	int rc = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	if (rc != SQLITE_DONE)
		return reel_fail(err, REEL_E_DB, "cannot write store '%s': %s",
				 l->st->path, sqlite3_errmsg(l->st->db));
	return 0;
}

int load_rows_block(struct load *l, sqlite3_stmt *stmt, struct reel_rows *r,
		    struct reel_error *err)
{
	const void *blob;
	size_t len;

	if (!r->n)
		return 0;
	if (reel_rows_encode(l->codec, r, &blob, &len))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	sqlite3_bind_int64(stmt, 1, r->n);
	sqlite3_bind_int64(stmt, 2, r->id[0]);
	sqlite3_bind_int64(stmt, 3, r->id[r->n - 1]);
	sqlite3_bind_blob64(stmt, 4, blob, len, SQLITE_STATIC);
	r->n = 0;
	r->text_len = 0;
	return load_row_done(l, stmt, err);
}

/* The next parameters of @stmt, from *@i on. */
static void put(sqlite3_stmt *stmt, int *i, int64_t v)
{
	if (v == NONE)
		sqlite3_bind_null(stmt, ++*i);
	else
		sqlite3_bind_int64(stmt, ++*i, v);
}

static void put_text(sqlite3_stmt *stmt, int *i, const char *s)
{
	sqlite3_bind_text(stmt, ++*i, s, -1, SQLITE_STATIC);
}

/* --- while events pass ---------------------------------------------------- */

static int on_span(void *arg, const struct reel_span_event *sp, bool closed,
		   struct reel_error *err)
{
	struct load *l = arg;

	if (sp->start_ns + sp->dur_ns > l->span_ns)
		l->span_ns = sp->start_ns + sp->dur_ns;
	if (load_span_add(l, sp, closed, err))
		return -1;
	for (int m = 0; m < l->metrics; m++)
		if (reel_metrics[m]->span &&
		    reel_metrics[m]->span(l->metric[m], sp, err))
			return -1;
	return 0;
}

static int on_open(void *arg, const struct reel_open_row *row,
		   struct reel_error *err)
{
	return load_open_add(arg, row, err);
}

static int on_note(void *arg, uint32_t process, uint32_t thread,
		   const char *key, const char *value, struct reel_error *err)
{
	struct load *l = arg;
	sqlite3_stmt *stmt = l->stmt[STMT_NOTE];
	int i = 0;

	if (!strcmp(key, "role") && !strcmp(value, "worker"))
		l->process[process - 1].worker = true;
	if (!strcmp(key, "framework") && !l->framework[0])
		strncpy(l->framework, value, sizeof(l->framework) - 1);
	put(stmt, &i, process);
	put(stmt, &i, thread);
	put_text(stmt, &i, key);
	put_text(stmt, &i, value);
	return load_row_done(l, stmt, err);
}

static int on_site(void *arg, uint32_t site, const char *frames,
		   struct reel_error *err)
{
	struct load *l = arg;
	sqlite3_stmt *stmt = l->stmt[STMT_SITE];
	char place[4096];
	int i = 0;

	reel_site_place(frames, place, sizeof(place));
	put(stmt, &i, site);
	put_text(stmt, &i, place);
	put_text(stmt, &i, frames);
	return load_row_done(l, stmt, err);
}

const struct reel_resolve_sink load_sink = {
	.span = on_span, .open = on_open, .note = on_note, .site = on_site,
};

/* --- at the end ----------------------------------------------------------- */

static int put_hosts(struct load *l, struct reel_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = -1;

	if (reel_store_prepare(l->st, &stmt, "INSERT INTO host VALUES (?, ?, ?)",
			       err))
		return -1;
	for (int h = 0; h < l->hosts; h++) {
		int i = 0;

		put(stmt, &i, h + 1);
		put_text(stmt, &i, l->host[h].name);
		put_text(stmt, &i, l->host[h].boot_id);
		if (load_row_done(l, stmt, err))
			goto out;
	}
	rc = 0;
out:
	sqlite3_finalize(stmt);
	return rc;
}

/* The thread of @parent that forked, as an id, or NONE. */
static int64_t fork_thread(const struct load *l, int parent, uint32_t tid)
{
	const struct load_process *p;

	if (parent < 0 || !tid)
		return NONE;
	p = &l->process[parent];
	for (int i = p->first_thread; i < p->first_thread + p->threads; i++)
		if (reel_trace_thread(l->tr, l->thread[i].index)->tid == tid)
			return i + 1;
	return NONE;
}

/* arg="..." strings of a head as one shell-quoted line. */
static int command_of(struct reel_buf *b, const struct reel_trace_process *tp,
		      struct reel_error *err)
{
	reel_buf_reset(b);
	for (int i = 0; i < tp->texts; i++) {
		if (strcmp(tp->text[i].key, "arg"))
			continue;
		if ((b->len && reel_buf_puts(b, " ", err)) ||
		    load_quote(b, tp->text[i].value, err))
			return -1;
	}
	return 0;
}

static const char *role_of(const struct load_process *p)
{
	if (p->worker)
		return "worker";
	return p->parent < 0 ? "main" : "child";
}

/* From the head, or from its events where they know better. */
static void life_of(struct load *l, struct load_process *p,
		    const struct reel_head *h)
{
	int64_t end_ns;

	p->start_ns = p->wake_ns - l->zero_ns;
	for (int t = p->first_thread; t < p->first_thread + p->threads; t++)
		if (l->thread[t].start_ns != NONE &&
		    l->thread[t].start_ns < p->start_ns)
			p->start_ns = l->thread[t].start_ns;
	if (h->end_ticks) {
		end_ns = load_ns(l, p, h->end_ticks) - l->zero_ns;
		if (end_ns > p->end_ns)
			p->end_ns = end_ns;
	}
	if (p->end_ns < p->start_ns)
		p->end_ns = p->start_ns;
}

static int put_process(struct load *l, sqlite3_stmt *stmt, int place,
		       struct reel_buf *command, struct reel_error *err)
{
	struct load_process *p = &l->process[place];
	const struct reel_trace_process *tp =
		reel_trace_process(l->tr, p->index);
	const struct reel_head *h = &tp->head;
	int i = 0;

	life_of(l, p, h);
	if (command_of(command, tp, err))
		return -1;
	put(stmt, &i, place + 1);
	put(stmt, &i, h->pid);
	put(stmt, &i, p->parent < 0 ? NONE : p->parent + 1);
	put(stmt, &i, p->host_id);
	put(stmt, &i, p->rank < 0 ? NONE : p->rank);
	put_text(stmt, &i, role_of(p));
	put_text(stmt, &i, reel_trace_text(tp, "exe"));
	put_text(stmt, &i, reel_buf_text(command));
	put_text(stmt, &i, reel_trace_text(tp, "cwd"));
	put(stmt, &i, p->fork_ns == NONE ? NONE : p->fork_ns - l->zero_ns);
	put(stmt, &i, fork_thread(l, p->heir_of, h->fork_tid));
	put(stmt, &i, p->start_ns);
	put(stmt, &i, p->end_ns);
	put_text(stmt, &i, h->end == REEL_END_EXIT ? "exit" : "unknown");
	put(stmt, &i, (int64_t)p->events);
	put(stmt, &i, (int64_t)p->lost);
	put(stmt, &i, (int64_t)h->counter[REEL_CODE_OPENS]);
	put(stmt, &i, (int64_t)h->counter[REEL_CODE_CALLS]);
	put(stmt, &i, (int64_t)h->counter[REEL_CODE_READ_BYTES]);
	return load_row_done(l, stmt, err);
}

static int put_processes(struct load *l, struct reel_error *err)
{
	struct reel_buf command = REEL_BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	int rc = -1;

	if (reel_store_prepare(l->st, &stmt, "INSERT INTO process VALUES (?, ?, "
			       "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
			       "?)", err))
		return -1;
	for (int place = 0; place < l->processes; place++)
		if (put_process(l, stmt, place, &command, err))
			goto out;
	rc = 0;
out:
	reel_buf_fini(&command);
	sqlite3_finalize(stmt);
	return rc;
}

static int put_threads(struct load *l, struct reel_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = -1;

	if (reel_store_prepare(l->st, &stmt, "INSERT INTO thread VALUES (?, ?, "
			       "?, ?, ?, ?, ?)", err))
		return -1;
	for (int place = 0; place < l->threads; place++) {
		const struct load_thread *t = &l->thread[place];
		const struct reel_trace_thread *tt =
			reel_trace_thread(l->tr, t->index);
		int64_t start_ns = t->start_ns == NONE ?
				   t->wake_ns - l->zero_ns : t->start_ns;
		int i = 0;

		put(stmt, &i, place + 1);
		put(stmt, &i, t->process + 1);
		put(stmt, &i, tt->tid);
		put(stmt, &i, start_ns);
		put(stmt, &i, t->end_ns < start_ns ? start_ns : t->end_ns);
		put(stmt, &i, (int64_t)t->events);
		put(stmt, &i, (int64_t)tt->lost);
		if (load_row_done(l, stmt, err))
			goto out;
	}
	rc = 0;
out:
	sqlite3_finalize(stmt);
	return rc;
}

static int put_calls(struct load *l, struct reel_error *err)
{
	const unsigned int most = sizeof(l->seen_call);
	sqlite3_stmt *stmt = NULL;
	int rc = -1;

	if (reel_store_prepare(l->st, &stmt, "INSERT INTO call VALUES (?, ?, ?, "
			       "?)", err))
		return -1;
	for (unsigned int id = 0; id < most; id++) {
		const struct reel_call_info *info = reel_call_info(id);
		char name[32];
		int i = 0;

		if (!l->seen_call[id])
			continue;
		/* of a trace that a newer shim wrote */
		snprintf(name, sizeof(name), "call_%u", id);
		put(stmt, &i, id);
		put_text(stmt, &i, info ? info->name : name);
		put_text(stmt, &i, info ? reel_layer_name(info->layer) : "");
		put_text(stmt, &i, info ? reel_group_name(info->group) : "");
		if (load_row_done(l, stmt, err))
			goto out;
	}
	rc = 0;
out:
	sqlite3_finalize(stmt);
	return rc;
}

static int put_loss(struct load *l, sqlite3_stmt *stmt, int64_t process,
		    const char *reason, const char *unit, uint64_t count,
		    struct reel_error *err)
{
	int i = 0;

	if (!count)
		return 0;
	put(stmt, &i, process);
	put_text(stmt, &i, reason);
	put_text(stmt, &i, unit);
	put(stmt, &i, count > INT64_MAX ? INT64_MAX : (int64_t)count);
	return load_row_done(l, stmt, err);
}

static const char *unit_of(int counter)
{
	return counter == REEL_LOST_START ? "processes" :
	       counter == REEL_LOST_LIMIT ? "files" : "events";
}

/*
 * The losses of one head, or of job.counts. Blocks count the same events again,
 * by thread (@blocks): what they count beyond the head is a reason of its own.
 * Returns the events lost, or -1.
 */
static int64_t put_counters(struct load *l, sqlite3_stmt *stmt, int64_t process,
			    const uint64_t *counter, uint64_t blocks,
			    struct reel_error *err)
{
	uint64_t events = 0;

	for (int c = REEL_LOST_DISK; c <= REEL_LOST_LIMIT; c++) {
		if (put_loss(l, stmt, process, reel_counter_name((unsigned)c),
			     unit_of(c), counter[c], err))
			return -1;
		if (!strcmp(unit_of(c), "events"))
			events += counter[c];
	}
	if (blocks > events) {
		if (put_loss(l, stmt, process, "thread", "events",
			     blocks - events, err))
			return -1;
		events = blocks;
	}
	return events > INT64_MAX ? INT64_MAX : (int64_t)events;
}

static int put_damage(struct load *l, sqlite3_stmt *stmt,
		      struct reel_error *err)
{
	const struct reel_trace_damage *d = reel_trace_damage(l->tr);

	return put_loss(l, stmt, NONE, "damaged", "bytes", d->cut_bytes, err) ||
	       put_loss(l, stmt, NONE, "damaged", "places", d->cut_places,
			err) ||
	       put_loss(l, stmt, NONE, "unreadable", "files", d->bad_files,
			err) ||
	       put_loss(l, stmt, NONE, "missing", "blocks", d->seq_gaps, err) ?
	       -1 : 0;
}

/* Returns the events lost over the job, or -1. */
static int64_t put_losses(struct load *l, struct reel_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int64_t sum = -1, lost;

	if (reel_store_prepare(l->st, &stmt, "INSERT INTO loss VALUES (?, ?, ?, "
			       "?)", err))
		return -1;
	lost = put_counters(l, stmt, NONE, reel_trace_counts(l->tr)->counter, 0,
			    err);
	if (lost < 0 || put_damage(l, stmt, err))
		goto out;
	sum = lost;
	for (int place = 0; place < l->processes; place++) {
		struct load_process *p = &l->process[place];
		uint64_t blocks = 0;

		for (int i = 0; i < p->threads; i++)
			blocks += reel_trace_thread(l->tr,
				l->thread[p->first_thread + i].index)->lost;
		lost = put_counters(l, stmt, place + 1,
			reel_trace_process(l->tr, p->index)->head.counter,
			blocks, err);
		if (lost < 0) {
			sum = -1;
			break;
		}
		p->lost = (uint64_t)lost;
		if (__builtin_add_overflow(sum, lost, &sum))
			sum = INT64_MAX;
	}
out:
	sqlite3_finalize(stmt);
	return sum;
}

int load_rows_finish(struct load *l, struct reel_error *err)
{
	int64_t lost = put_losses(l, err);

	if (lost < 0 || load_open_flush(l, err) || put_hosts(l, err) ||
	    put_processes(l, err) ||
	    put_threads(l, err) || load_files(l, err) || put_calls(l, err) ||
	    load_spans(l, err) || load_code_row(l, err))
		return -1;
	return load_run_row(l, lost, err);
}
