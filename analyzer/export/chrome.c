/* SPDX-License-Identifier: MIT */
/*
 * Export as Chrome's trace events, a JSON format that Perfetto
 * (ui.perfetto.dev) and chrome://tracing open.
 *
 * A thread's complete events ("X") have to nest. An asynchronous operation, and
 * any record that overlaps another of its thread in part, becomes a pair of "b"
 * and "e", which viewers show in tracks of their own. Records come in the order of
 * their ends, so a short stack per thread suffices to find partial overlap.
 *
 * Source: "Trace Event Format", Google, 2016.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/export/cursor.h"
#include "analyzer/export/exporter.h"
#include "analyzer/export/out.h"

#define OPEN_MOST 32	  /* remembered intervals of a thread */
#define COMMAND_BYTES 128 /* of a process's name */

/* Intervals that no later record has contained yet, by start. */
struct intervals {
	struct {
		int64_t start_ns, end_ns;
	} at[OPEN_MOST];
	int n;
};

struct chrome {
	const struct export_thread *first;
	bool many_hosts; /* pids may repeat: processes get their ids */
	uint64_t pairs;
	const char *between; /* written before the next event */
	struct intervals thread[];
};

static int64_t chrome_pid(const struct chrome *s,
			  const struct export_process *p)
{
	return s->many_hosts ? p->process_id : p->pid;
}

static void put_number(struct export_out *o, const char *key, int64_t v)
{
	export_puts(o, key);
	export_put_int(o, v);
}

static void put_text(struct export_out *o, const char *key, const char *text)
{
	export_puts(o, key);
	export_put_json(o, text);
}

static void put_metadata(struct export_out *o, struct chrome *s,
			 const char *name, int64_t pid, int64_t tid)
{
	export_puts(o, s->between);
	s->between = ",\n";
	export_puts(o, "{\"name\":\"");
	export_puts(o, name);
	put_number(o, "\",\"ph\":\"M\",\"ts\":0,\"pid\":", pid);
	put_number(o, ",\"tid\":", tid);
	export_puts(o, ",\"args\":{");
}

/* "rank 3: python3 train.py", "... (pid 17 on node2)". */
static void put_process_name(struct export_out *o, const struct chrome *s,
			     const struct export_process *p)
{
	char name[COMMAND_BYTES + 512];
	int n = 0;

	if (p->rank >= 0)
		n = snprintf(name, sizeof(name),
			     "rank %lld: ", (long long)p->rank);
	n += snprintf(name + n, sizeof(name) - (size_t)n, "%.*s", COMMAND_BYTES,
		      *p->command ? p->command : "process");
	if (s->many_hosts)
		snprintf(name + n, sizeof(name) - (size_t)n,
			 " (pid %lld on %.255s)", (long long)p->pid, p->host);
	put_text(o, "\"name\":", name);
}

static void put_process(struct export_out *o, struct chrome *s,
			const struct export_process *p)
{
	int64_t pid = chrome_pid(s, p);

	put_metadata(o, s, "process_name", pid, 0);
	put_process_name(o, s, p);
	if (p->parent_id)
		put_number(o, ",\"parent\":",
			   s->many_hosts ? p->parent_id : p->parent_pid);
	export_puts(o, "}}");
	put_metadata(o, s, "process_sort_index", pid, 0);
	put_number(o, "\"sort_index\":", p->process_id);
	export_puts(o, "}}");
}

static void put_thread(struct export_out *o, struct chrome *s,
		       const struct export_thread *t)
{
	bool main_thread = t->tid == t->process->pid;

	put_metadata(o, s, "thread_name", chrome_pid(s, t->process), t->tid);
	put_text(o, "\"name\":", main_thread ? "main thread" : "thread");
	export_puts(o, "}}");
}

static int chrome_begin(void **state, const struct export_cursor *c,
			struct export_out *o, struct reel_error *err)
{
	const struct export_process *p;
	const struct export_thread *t;
	int64_t processes = export_processes(c, &p);
	int64_t threads = export_threads(c, &t);
	struct chrome *s;

	s = reel_alloc(1, sizeof(*s) + (size_t)threads * sizeof(s->thread[0]),
		       err);
	if (!s)
		return -1;
	*state = s;
	s->first = t;
	s->between = "";
	for (int64_t i = 1; i < processes; i++)
		s->many_hosts |= strcmp(p[i].host, p[0].host) != 0;
	export_puts(o, "{\"traceEvents\":[\n");
	for (int64_t i = 0; i < processes; i++)
		put_process(o, s, &p[i]);
	for (int64_t i = 0; i < threads; i++)
		put_thread(o, s, &t[i]);
	return 0;
}

/* An operation that runs while its thread goes on. */
static bool is_async(const struct export_record *r)
{
	return !r->is_span && r->event.layer == REEL_LAYER_ASYNC &&
	       r->event.group != REEL_GROUP_QUEUE;
}

/* Does the record nest with the earlier records of its thread? */
static bool nests(struct chrome *s, const struct export_record *r)
{
	struct intervals *open = &s->thread[r->thread - s->first];
	int n = open->n;

	while (n && open->at[n - 1].start_ns >= r->start_ns)
		n--;
	if (n && open->at[n - 1].end_ns > r->start_ns)
		return false;
	if (n == OPEN_MOST) {
		n--;
		memmove(&open->at[0], &open->at[1],
			(size_t)n * sizeof(open->at[0]));
	}
	open->at[n].start_ns = r->start_ns;
	open->at[n].end_ns = r->start_ns + r->dur_ns;
	open->n = n + 1;
	return true;
}

/* Put the start of an event, up to its phase: {"name":"read","cat":"POSIX" */
static void put_name(struct export_out *o, struct chrome *s,
		     const struct export_record *r)
{
	export_puts(o, s->between);
	s->between = ",\n";
	put_text(o, "{\"name\":", r->is_span ? r->name : r->call);
	put_text(o, ",\"cat\":",
		 r->is_span ? "span" : reel_layer_name(r->event.layer));
}

static void put_track(struct export_out *o, const struct chrome *s,
		      const struct export_record *r, int64_t ts_ns)
{
	export_puts(o, ",\"ts\":");
	export_put_us(o, ts_ns);
	put_number(o, ",\"pid\":", chrome_pid(s, r->thread->process));
	put_number(o, ",\"tid\":", r->thread->tid);
}

static void put_event_args(struct export_out *o, const struct export_record *r)
{
	const struct reel_event *e = &r->event;

	put_number(o, "\"result\":", e->result);
	if (r->path)
		put_text(o, ",\"path\":", r->path);
	if (r->path2)
		put_text(o, ",\"path2\":", r->path2);
	if (e->fd >= 0)
		put_number(o, ",\"fd\":", e->fd);
	if (e->offset != REEL_NO_OFFSET)
		put_number(o, ",\"offset\":", e->offset);
	if (e->asked != REEL_NO_SIZE)
		put_number(o, ",\"asked\":", e->asked);
	if (!e->err &&
	    (e->group == REEL_GROUP_READ || e->group == REEL_GROUP_WRITE))
		put_number(o, ",\"bytes\":", e->result);
	if (e->err)
		put_number(o, ",\"errno\":", e->err);
	if (e->count > 1)
		put_number(o, ",\"calls\":", e->count);
}

static void put_args(struct export_out *o, const struct export_record *r)
{
	export_puts(o, ",\"args\":{");
	if (!r->is_span) {
		put_event_args(o, r);
	} else {
		if (r->detail >= 0)
			put_number(o, "\"detail\":", r->detail);
		if (!r->closed)
			export_puts(o, r->detail >= 0 ? ",\"closed\":0"
						      : "\"closed\":0");
	}
	export_puts(o, "}}");
}

static void chrome_record(void *state, const struct export_record *r,
			  struct export_out *o)
{
	struct chrome *s = state;

	put_name(o, s, r);
	if (!is_async(r) && nests(s, r)) {
		export_puts(o, ",\"ph\":\"X\",\"dur\":");
		export_put_us(o, r->dur_ns);
		put_track(o, s, r, r->start_ns);
		put_args(o, r);
		return;
	}
	put_number(o, ",\"ph\":\"b\",\"id\":", (int64_t)++s->pairs);
	put_track(o, s, r, r->start_ns);
	put_args(o, r);
	put_name(o, s, r);
	put_number(o, ",\"ph\":\"e\",\"id\":", (int64_t)s->pairs);
	put_track(o, s, r, r->start_ns + r->dur_ns);
	export_puts(o, ",\"args\":{}}");
}

static void chrome_end(void *state, struct export_out *o)
{
	export_puts(o, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{"
		       "\"clock\":\"time since the first event of the job\""
		       "}}\n");
}

const struct exporter export_chrome = {
	.name = "chrome",
	.begin = chrome_begin,
	.record = chrome_record,
	.end = chrome_end,
};
