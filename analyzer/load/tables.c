/* SPDX-License-Identifier: MIT */
/*
 * The loader's rows: notes, spans, sites and open files while events pass, and
 * the dimensions at the end, when they are complete.
 */
#include <string.h>

#include "lib/buf.h"
#include "lib/calls.h"

#include "analyzer/load/callsite_symbol.h"
#include "analyzer/load/internal.h"

/* --- while events pass ---------------------------------------------------- */

static int on_span(void *arg, const struct reel_span_event *sp,
		   struct reel_error *err)
{
	return load_span(arg, sp, err);
}

static int on_open(void *arg, const struct reel_open_row *row,
		   struct reel_error *err)
{
	struct load *l = arg;

	return reel_writer_open(l->writer, row, err);
}

/* The launcher that process @id of the replayed recording belonged to, or NULL.
 */
static const char *launcher_of(const struct load *l, const char *id)
{
	return json_string_value(json_object_get(
		json_object_get(reel_trace_job(l->tr), "launchers"), id));
}

/* Is a framework with the first @n bytes of @name, its name and a blank, in the list? */
static bool has_framework(const struct load *l, const char *name, size_t n)
{
	for (const char *p = l->framework; p; p = strstr(p, ", ")) {
		p += *p == ',' ? 2 : 0;
		if (!strncmp(p, name, n))
			return true;
	}
	return false;
}

/*
 * Programs of one framework may import another: PyTorch's writer for TensorBoard
 * imports TensorFlow. All are named, each once; Keras is part of TensorFlow.
 */
static void add_framework(struct load *l, const char *value)
{
	size_t used = strlen(l->framework), room = sizeof(l->framework) - used;

	if (has_framework(l, value, strcspn(value, " ") + 1) ||
	    (!strncmp(value, "Keras ", 6) &&
	     has_framework(l, "TensorFlow ", 11)) ||
	    strlen(value) + 3 > room)
		return;
	snprintf(l->framework + used, room, "%s%s", used ? ", " : "", value);
}

static int on_note(void *arg, uint32_t process, uint32_t thread,
		   const char *key, const char *value, struct reel_error *err)
{
	struct load *l = arg;

	if (!strcmp(key, "role") && !strcmp(value, "worker"))
		l->process[process - 1].worker = true;
	if (!strcmp(key, "replay.process"))
		l->process[process - 1].launcher = launcher_of(l, value);
	if (!strcmp(key, "framework"))
		add_framework(l, value);
	return reel_writer_note(l->writer, process, thread, key, value, err);
}

static int on_site(void *arg, uint32_t site, const char *frames,
		   struct reel_error *err)
{
	struct load *l = arg;
	char place[4096];

	reel_site_place(frames, place, sizeof(place));
	return reel_writer_site(l->writer, site, place, frames, err);
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
	for (int h = 0; h < l->hosts; h++)
		if (reel_writer_host(l->writer, (uint32_t)h + 1,
				     l->host[h].name, l->host[h].boot_id, err))
			return -1;
	return 0;
}

/* The id of the thread of @parent that forked, or 0. */
static uint32_t fork_thread(const struct load *l, int parent, uint32_t tid)
{
	const struct load_process *p;

	if (parent < 0 || !tid)
		return 0;
	p = &l->process[parent];
	for (int i = p->first_thread; i < p->first_thread + p->threads; i++)
		if (reel_trace_thread(l->tr, l->thread[i].trace_index)->tid ==
		    tid)
			return (uint32_t)i + 1;
	return 0;
}

/* The arguments in a head as one shell-quoted line. */
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

/* Start and end from the head, widened by the events. */
static void set_lifetime(struct load *l, struct load_process *p,
			 const struct reel_head *h)
{
	int64_t end_ns;

	p->start_ns = p->begin_ns - l->origin_ns;
	for (int t = p->first_thread; t < p->first_thread + p->threads; t++)
		if (l->thread[t].start_ns != REEL_NO_OFFSET &&
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

static const char *end_of(const struct reel_head *h)
{
	return h->end == REEL_END_EXIT	  ? "exit"
	       : h->end == REEL_END_QUICK ? "_exit"
					  : "unknown";
}

static int put_process(struct load *l, int index, struct reel_buf *command,
		       struct reel_error *err)
{
	struct load_process *p = &l->process[index];
	const struct reel_trace_process *tp =
		reel_trace_process(l->tr, p->trace_index);
	const struct reel_head *h = &tp->head;
	struct reel_writer_process row;

	set_lifetime(l, p, h);
	if (command_of(command, tp, err))
		return -1;
	row = (struct reel_writer_process){
		.process_id = (uint32_t)index + 1,
		.parent_id = (uint32_t)(p->parent + 1),
		.host_id = p->host_id,
		.pid = h->pid,
		.rank = p->rank,
		.role = role_of(l, p),
		.exe = reel_trace_text(tp, "exe"),
		.command = reel_buf_text(command),
		.cwd = reel_trace_text(tp, "cwd"),
		.fork_ns = p->fork_ns == REEL_NO_OFFSET
				   ? REEL_NO_OFFSET
				   : p->fork_ns - l->origin_ns,
		.fork_thread =
			fork_thread(l, p->inherits_fds_from, h->fork_tid),
		.start_ns = p->start_ns,
		.end_ns = p->end_ns,
		.ended = end_of(h),
		.events = p->events,
		.lost = p->lost,
		.code_opens = h->counter[REEL_CODE_OPENS],
		.code_calls = h->counter[REEL_CODE_CALLS],
		.code_read_bytes = h->counter[REEL_CODE_READ_BYTES],
		.launcher = p->launcher,
	};
	return reel_writer_process(l->writer, &row, err);
}

static int put_processes(struct load *l, struct reel_error *err)
{
	struct reel_buf command = REEL_BUF_INIT;
	int rc = 0;

	for (int index = 0; !rc && index < l->processes; index++)
		rc = put_process(l, index, &command, err);
	reel_buf_fini(&command);
	return rc;
}

static int put_threads(struct load *l, struct reel_error *err)
{
	for (int index = 0; index < l->threads; index++) {
		const struct load_thread *t = &l->thread[index];
		const struct reel_trace_thread *tt =
			reel_trace_thread(l->tr, t->trace_index);
		struct reel_writer_thread row = {
			.thread_id = (uint32_t)index + 1,
			.process_id = (uint32_t)t->process + 1,
			.tid = tt->tid,
			.start_ns = t->start_ns == REEL_NO_OFFSET
					    ? t->begin_ns - l->origin_ns
					    : t->start_ns,
			.events = t->events,
			.lost = tt->lost,
		};

		row.end_ns =
			t->end_ns < row.start_ns ? row.start_ns : t->end_ns;
		if (reel_writer_thread(l->writer, &row, err))
			return -1;
	}
	return 0;
}

static int put_files(struct load *l, struct reel_error *err)
{
	struct reel_file_row row;

	for (uint32_t id = 1; id <= reel_resolve_files(l->resolver); id++) {
		reel_resolve_file(l->resolver, id, &row);
		if (reel_writer_file(l->writer, &row, err))
			return -1;
	}
	return 0;
}

/* A count of 0 makes no row. */
static int put_loss(struct load *l, uint32_t process, const char *reason,
		    const char *unit, uint64_t count, struct reel_error *err)
{
	return count ? reel_writer_loss(l->writer, process, reason, unit, count,
					err)
		     : 0;
}

static const char *unit_of(int counter)
{
	return counter == REEL_LOST_START ? "processes" : "events";
}

/*
 * The losses of one head, or of job.counts. Block heads count the same events
 * by thread (@blocks), without those past a limit: their surplus over the head
 * becomes a reason of its own. Returns the events lost, or -1.
 */
static int64_t put_counters(struct load *l, uint32_t process,
			    const uint64_t *counter, uint64_t blocks,
			    struct reel_error *err)
{
	uint64_t events = 0;

	for (int c = REEL_LOST_DISK; c <= REEL_LOST_LIMIT; c++) {
		if (put_loss(l, process, reel_counter_name((unsigned)c),
			     unit_of(c), counter[c], err))
			return -1;
		if (c != REEL_LOST_START && c != REEL_LOST_LIMIT)
			events += counter[c];
	}
	if (blocks > events) {
		if (put_loss(l, process, "thread", "events", blocks - events,
			     err))
			return -1;
		events = blocks;
	}
	if (__builtin_add_overflow(events, counter[REEL_LOST_LIMIT], &events))
		events = UINT64_MAX;
	return events > INT64_MAX ? INT64_MAX : (int64_t)events;
}

static int put_damage(struct load *l, struct reel_error *err)
{
	const struct reel_trace_damage *d = reel_trace_damage(l->tr);

	return put_loss(l, 0, "damaged", "bytes", d->cut_bytes, err) ||
			       put_loss(l, 0, "damaged", "places",
					d->cut_places, err) ||
			       put_loss(l, 0, "unreadable", "files",
					d->bad_files, err) ||
			       put_loss(l, 0, "denied", "files",
					d->denied_files, err) ||
			       put_loss(l, 0, "missing", "blocks", d->seq_gaps,
					err)
		       ? -1
		       : 0;
}

/* Returns the events lost over the job, or -1. */
static int64_t put_losses(struct load *l, struct reel_error *err)
{
	int64_t sum, lost;

	sum = put_counters(l, 0, reel_trace_counts(l->tr)->counter, 0, err);
	if (sum < 0 || put_damage(l, err))
		return -1;
	for (int index = 0; index < l->processes; index++) {
		struct load_process *p = &l->process[index];
		uint64_t blocks = 0;

		for (int i = 0; i < p->threads; i++)
			blocks += reel_trace_thread(
					  l->tr, l->thread[p->first_thread + i]
							 .trace_index)
					  ->lost;
		lost = put_counters(
			l, (uint32_t)index + 1,
			reel_trace_process(l->tr, p->trace_index)->head.counter,
			blocks, err);
		if (lost < 0)
			return -1;
		p->lost = (uint64_t)lost;
		if (__builtin_add_overflow(sum, lost, &sum))
			sum = INT64_MAX;
	}
	return sum;
}

int load_rows_finish(struct load *l, struct reel_error *err)
{
	int64_t lost = put_losses(l, err);

	if (lost < 0 || put_hosts(l, err) || put_processes(l, err) ||
	    put_threads(l, err) || put_files(l, err) ||
	    load_launcher_row(l, err))
		return -1;
	load_code_counters(l);
	return load_run_finish(l, lost, err);
}
