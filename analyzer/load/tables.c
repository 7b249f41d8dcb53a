/* SPDX-License-Identifier: MIT */
/*
 * The loader's rows: what streams out while events pass, and the dimensions at
 * the end, when what they say is complete.
 */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/calls.h"

#include "analyzer/load/callsite_symbol.h"
#include "analyzer/load/internal.h"

/* Values of integers that mean NULL. */
#define NONE REEL_NO_OFFSET

static const char *const insert_sql[INSERTS] = {
	[INSERT_BLOCK] =
		"INSERT INTO event_block (thread_id, events, "
		"min_start_ns, max_end_ns, data) VALUES (?, ?, ?, ?, ?)",
	[INSERT_OPENS] = "INSERT INTO open_block (opens, min_open_id, "
			 "max_open_id, data) VALUES (?, ?, ?, ?)",
	[INSERT_NOTE] = "INSERT INTO note VALUES (?, ?, ?, ?)",
	[INSERT_SITE] = "INSERT INTO site VALUES (?, ?, ?)",
};

int load_rows_prepare(struct load *l, struct reel_error *err)
{
	for (int i = 0; i < INSERTS; i++)
		if (reel_insert_open(&l->insert[i], l->st, insert_sql[i], err))
			return -1;
	return 0;
}

void load_rows_fini(struct load *l)
{
	for (int i = 0; i < INSERTS; i++)
		reel_insert_close(&l->insert[i], 0);
}

static void put(struct reel_insert *out, int64_t v)
{
	if (v == NONE)
		reel_insert_null(out);
	else
		reel_insert_int(out, v);
}

/* --- while events pass ---------------------------------------------------- */

static int on_span(void *arg, const struct reel_span_event *sp, bool closed,
		   struct reel_error *err)
{
	struct load *l = arg;

	if (sp->start_ns + sp->dur_ns > l->span_ns)
		l->span_ns = sp->start_ns + sp->dur_ns;
	if (l->counts_only)
		return 0;
	if (load_span_add(l, sp, closed, err) || load_feed(l, err))
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
	struct load *l = arg;

	return l->counts_only ? 0 : load_open_add(l, row, err);
}

/* The process @id of a recording is replayed: as a process of its launcher? */
static const char *launcher_of(const struct load *l, const char *id)
{
	return json_string_value(json_object_get(
		json_object_get(reel_trace_job(l->tr), "launchers"), id));
}

static int on_note(void *arg, uint32_t process, uint32_t thread,
		   const char *key, const char *value, struct reel_error *err)
{
	struct load *l = arg;
	struct reel_insert *out = &l->insert[INSERT_NOTE];

	if (!strcmp(key, "role") && !strcmp(value, "worker"))
		l->process[process - 1].worker = true;
	if (!strcmp(key, "replay.process"))
		l->process[process - 1].launcher = launcher_of(l, value);
	if (!strcmp(key, "framework") && !l->framework[0])
		strncpy(l->framework, value, sizeof(l->framework) - 1);
	put(out, process);
	put(out, thread);
	reel_insert_text(out, key);
	reel_insert_text(out, value);
	return reel_insert_done(out, err);
}

static int on_site(void *arg, uint32_t site, const char *frames,
		   struct reel_error *err)
{
	struct load *l = arg;
	struct reel_insert *out = &l->insert[INSERT_SITE];
	char place[4096];

	reel_site_place(frames, place, sizeof(place));
	put(out, site);
	reel_insert_text(out, place);
	reel_insert_text(out, frames);
	return reel_insert_done(out, err);
}

const struct reel_resolve_sink load_sink = {
	.span = on_span,
	.open = on_open,
	.note = on_note,
	.site = on_site,
};

/* --- at the end ----------------------------------------------------------- */

static int put_hosts(struct load *l, struct reel_error *err)
{
	struct reel_insert out;
	int rc = reel_insert_open(&out, l->st,
				  "INSERT INTO host VALUES (?, ?, ?)", err);

	for (int h = 0; !rc && h < l->hosts; h++) {
		put(&out, h + 1);
		reel_insert_text(&out, l->host[h].name);
		reel_insert_text(&out, l->host[h].boot_id);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
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
		    reel_buf_quote(b, tp->text[i].value, err))
			return -1;
	}
	return 0;
}

static const char *role_of(const struct load *l, const struct load_process *p)
{
	int parent = p->parent;

	if (p->worker)
		return "worker";
	while (!p->launcher && parent >= 0 && l->process[parent].launcher)
		parent = l->process[parent].parent; /* began before */
	return parent < 0 ? "main" : "child";
}

/* From the head, or from its events where they know better. */
static void life_of(struct load *l, struct load_process *p,
		    const struct reel_head *h)
{
	int64_t end_ns;

	p->start_ns = p->begin_ns - l->origin_ns;
	for (int t = p->first_thread; t < p->first_thread + p->threads; t++)
		if (l->thread[t].start_ns != NONE &&
		    l->thread[t].start_ns < p->start_ns)
			p->start_ns = l->thread[t].start_ns;
	if (h->end_ticks) {
		end_ns = load_ns(l, p, h->end_ticks) - l->origin_ns;
		if (end_ns > p->end_ns)
			p->end_ns = end_ns;
	}
	if (p->end_ns < p->start_ns)
		p->end_ns = p->start_ns;
}

static int put_process(struct load *l, struct reel_insert *out, int place,
		       struct reel_buf *command, struct reel_error *err)
{
	struct load_process *p = &l->process[place];
	const struct reel_trace_process *tp =
		reel_trace_process(l->tr, p->index);
	const struct reel_head *h = &tp->head;

	life_of(l, p, h);
	if (command_of(command, tp, err))
		return -1;
	put(out, place + 1);
	put(out, h->pid);
	put(out, p->parent < 0 ? NONE : p->parent + 1);
	put(out, p->host_id);
	put(out, p->rank < 0 ? NONE : p->rank);
	reel_insert_text(out, role_of(l, p));
	reel_insert_text(out, reel_trace_text(tp, "exe"));
	reel_insert_text(out, reel_buf_text(command));
	reel_insert_text(out, reel_trace_text(tp, "cwd"));
	put(out, p->fork_ns == NONE ? NONE : p->fork_ns - l->origin_ns);
	put(out, fork_thread(l, p->inherits_fds_from, h->fork_tid));
	put(out, p->start_ns);
	put(out, p->end_ns);
	reel_insert_text(out, h->end == REEL_END_EXIT	 ? "exit"
			      : h->end == REEL_END_QUICK ? "_exit"
							 : "unknown");
	put(out, (int64_t)p->events);
	put(out, (int64_t)p->lost);
	put(out, (int64_t)h->counter[REEL_CODE_OPENS]);
	put(out, (int64_t)h->counter[REEL_CODE_CALLS]);
	put(out, (int64_t)h->counter[REEL_CODE_READ_BYTES]);
	reel_insert_text(out, p->launcher);
	return reel_insert_done(out, err);
}

static int put_processes(struct load *l, struct reel_error *err)
{
	struct reel_buf command = REEL_BUF_INIT;
	struct reel_insert out;
	int rc = reel_insert_open(
		&out, l->st,
		"INSERT INTO process VALUES (?, ?, ?, ?, ?, ?, ?, "
		"?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		err);

	for (int place = 0; !rc && place < l->processes; place++)
		rc = put_process(l, &out, place, &command, err);
	reel_buf_fini(&command);
	return reel_insert_close(&out, rc);
}

static int put_threads(struct load *l, struct reel_error *err)
{
	struct reel_insert out;
	int rc = reel_insert_open(
		&out, l->st, "INSERT INTO thread VALUES (?, ?, ?, ?, ?, ?, ?)",
		err);

	for (int place = 0; !rc && place < l->threads; place++) {
		const struct load_thread *t = &l->thread[place];
		const struct reel_trace_thread *tt =
			reel_trace_thread(l->tr, t->index);
		int64_t start_ns = t->start_ns == NONE
					   ? t->begin_ns - l->origin_ns
					   : t->start_ns;

		put(&out, place + 1);
		put(&out, t->process + 1);
		put(&out, tt->tid);
		put(&out, start_ns);
		put(&out, t->end_ns < start_ns ? start_ns : t->end_ns);
		put(&out, (int64_t)t->events);
		put(&out, (int64_t)tt->lost);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static int put_calls(struct load *l, struct reel_error *err)
{
	const unsigned int most = sizeof(l->seen_call);
	struct reel_insert out;
	int rc = reel_insert_open(&out, l->st,
				  "INSERT INTO call VALUES (?, ?, ?, ?)", err);

	for (unsigned int id = 0; !rc && id < most; id++) {
		const struct reel_call_info *info = reel_call_info(id);
		char name[32];

		if (!l->seen_call[id])
			continue;
		/* of a trace that a newer shim wrote */
		snprintf(name, sizeof(name), "call_%u", id);
		put(&out, id);
		reel_insert_text(&out, info ? info->name : name);
		reel_insert_text(&out,
				 info ? reel_layer_name(info->layer) : "");
		reel_insert_text(&out,
				 info ? reel_group_name(info->group) : "");
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static int put_loss(struct reel_insert *out, int64_t process,
		    const char *reason, const char *unit, uint64_t count,
		    struct reel_error *err)
{

	if (!count)
		return 0;
	put(out, process);
	reel_insert_text(out, reason);
	reel_insert_text(out, unit);
	put(out, count > INT64_MAX ? INT64_MAX : (int64_t)count);
	return reel_insert_done(out, err);
}

static const char *unit_of(int counter)
{
	return counter == REEL_LOST_START ? "processes" : "events";
}

/*
 * The losses of one head, or of job.counts. Blocks count the same events again,
 * by thread (@blocks), but not those past a limit: what they count beyond the
 * head is a reason of its own. Returns the events lost, or -1.
 */
static int64_t put_counters(struct reel_insert *out, int64_t process,
			    const uint64_t *counter, uint64_t blocks,
			    struct reel_error *err)
{
	uint64_t events = 0;

	for (int c = REEL_LOST_DISK; c <= REEL_LOST_LIMIT; c++) {
		if (put_loss(out, process, reel_counter_name((unsigned)c),
			     unit_of(c), counter[c], err))
			return -1;
		if (c != REEL_LOST_START && c != REEL_LOST_LIMIT)
			events += counter[c];
	}
	if (blocks > events) {
		if (put_loss(out, process, "thread", "events", blocks - events,
			     err))
			return -1;
		events = blocks;
	}
	if (__builtin_add_overflow(events, counter[REEL_LOST_LIMIT], &events))
		events = UINT64_MAX;
	return events > INT64_MAX ? INT64_MAX : (int64_t)events;
}

static int put_damage(struct load *l, struct reel_insert *out,
		      struct reel_error *err)
{
	const struct reel_trace_damage *d = reel_trace_damage(l->tr);

	return put_loss(out, NONE, "damaged", "bytes", d->cut_bytes, err) ||
			       put_loss(out, NONE, "damaged", "places",
					d->cut_places, err) ||
			       put_loss(out, NONE, "unreadable", "files",
					d->bad_files, err) ||
			       put_loss(out, NONE, "denied", "files",
					d->denied_files, err) ||
			       put_loss(out, NONE, "missing", "blocks",
					d->seq_gaps, err)
		       ? -1
		       : 0;
}

/* Returns the events lost over the job, or -1. */
static int64_t put_losses(struct load *l, struct reel_error *err)
{
	struct reel_insert out;
	int64_t sum = -1, lost;

	if (reel_insert_open(&out, l->st,
			     "INSERT INTO loss VALUES (?, ?, ?, ?)", err))
		return -1;
	lost = put_counters(&out, NONE, reel_trace_counts(l->tr)->counter, 0,
			    err);
	if (lost < 0 || put_damage(l, &out, err))
		goto out;
	sum = lost;
	for (int place = 0; place < l->processes; place++) {
		struct load_process *p = &l->process[place];
		uint64_t blocks = 0;

		for (int i = 0; i < p->threads; i++)
			blocks += reel_trace_thread(
					  l->tr,
					  l->thread[p->first_thread + i].index)
					  ->lost;
		lost = put_counters(
			&out, place + 1,
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
	reel_insert_close(&out, 0);
	return sum;
}

int load_rows_finish(struct load *l, struct reel_error *err)
{
	int64_t lost = put_losses(l, err);

	if (lost < 0 || load_open_flush(l, err) || put_hosts(l, err) ||
	    put_processes(l, err) || put_threads(l, err) ||
	    load_files(l, err) || put_calls(l, err) || load_spans(l, err) ||
	    load_code_row(l, err) || load_launcher_row(l, err))
		return -1;
	return load_run_row(l, lost, err);
}
