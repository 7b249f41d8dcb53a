/* SPDX-License-Identifier: MIT */
/* Events and spans in any order: kept, sorted by their ends, and written. */
#include "analyzer/import/common/gather.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/file_class.h"

#include "analyzer/import/common/event_list.h"
#include "analyzer/import/common/sorter.h"

#define SPAN_BYTES (2u << 20) /* in memory, of each of the two orders */
/* A thread with less than this part of the computation only prepares. */
#define PREPARES_BELOW 20

struct gather_file {
	char *path;
	size_t len;
	enum reel_kind kind;
	int64_t size_bytes;
	bool written;
	uint8_t class_; /* enum reel_class, while the timeline is written */
};

/* A span around others, while parents are found. */
struct gather_nest {
	int64_t end_ns;
	uint32_t id;
};

struct gather_thread {
	struct reel_writer_thread row;
	struct gather_nest *nest;
	uint32_t depth, room;
	int64_t compute_ns; /* sum of its spans, as with the process */
	uint64_t written;   /* events, of row.events */
	bool steps;	    /* it has some */
};

/* Small, as some profiles have millions. */
struct gather_span {
	int64_t start_ns, dur_ns, detail;
	uint32_t thread, kind, count;
	uint32_t id; /* in the order of arrival, then of starts */
	uint32_t parent;
	uint32_t name; /* of kept, plus one; 0: that of its kind */
};

struct gather_source {
	int64_t ranks, events;
};

/* The part of a process that is not in its row. */
struct gather_process {
	uint32_t source;		      /* 0: none */
	int64_t parent_pid;		      /* 0: not known */
	int64_t fetch_start_ns, fetch_end_ns; /* of all its fetches */
	uint64_t reads;			      /* that moved bytes */
	int64_t compute_ns;
	bool steps;
};

struct import_gather {
	struct reel_writer *writer;
	struct reel_writer_process *process;
	struct gather_thread *thread;
	struct gather_file *file;
	struct event_list events;
	struct sorter *by_start, *by_end; /* spans */
	struct gather_process *more;	  /* by index of process */
	struct gather_source *source;	  /* by id - 1 */
	uint32_t sources, at_source, more_room;
	char **host;
	struct reel_texts kept;
	uint32_t processes, threads, files, hosts;
	uint32_t process_room, thread_room, file_room, host_room;
	struct reel_intmap by_process, by_thread, by_path;
	uint32_t last_thread; /* that was asked for; 0: none */
	int64_t origin_ns;
	bool fetches_of_loop, batches;
};

/* If two spans begin together, the longer one is outside. */
static int by_span_start(const void *a, const void *b)
{
	const struct gather_span *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->dur_ns != y->dur_ns)
		return x->dur_ns > y->dur_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_span_end(const void *a, const void *b)
{
	const struct gather_span *x = a, *y = b;
	int64_t ex = x->start_ns + x->dur_ns, ey = y->start_ns + y->dur_ns;

	if (ex != ey)
		return ex < ey ? -1 : 1;
	return x->id > y->id ? -1 : x->id < y->id; /* the inner one first */
}

int gather_new(struct import_gather **out, struct reel_writer *w,
	       struct reel_error *err)
{
	*out = reel_alloc(1, sizeof(**out), err);
	if (!*out)
		return -1;
	(*out)->writer = w;
	(*out)->origin_ns = INT64_MAX;
	if (sorter_new(&(*out)->by_start, sizeof(struct gather_span),
		       by_span_start, SPAN_BYTES, err) ||
	    sorter_new(&(*out)->by_end, sizeof(struct gather_span), by_span_end,
		       SPAN_BYTES, err)) {
		gather_free(*out);
		*out = NULL;
		return -1;
	}
	return 0;
}

void gather_free(struct import_gather *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->files; i++)
		free(g->file[i].path);
	for (size_t i = 0; i < g->threads; i++)
		free(g->thread[i].nest);
	for (size_t i = 0; i < g->hosts; i++)
		free(g->host[i]);
	reel_texts_fini(&g->kept);
	free(g->more);
	free(g->source);
	free(g->process);
	free(g->thread);
	free(g->file);
	event_list_fini(&g->events);
	sorter_free(g->by_start);
	sorter_free(g->by_end);
	free(g->host);
	reel_intmap_fini(&g->by_process);
	reel_intmap_fini(&g->by_thread);
	reel_intmap_fini(&g->by_path);
	free(g);
}

/* Room for element @n, which is zeroed. 0, or -1. */
#define ONE_MORE(array, n, room, err)                                          \
	reel_array_reach(&(array), &(room), n, sizeof(*(array)), err)

int gather_source(struct import_gather *g, uint32_t id, struct reel_error *err)
{
	if (id > g->sources) {
		if (reel_grow(&g->source, id, sizeof(*g->source), err))
			return -1;
		memset(g->source + g->sources, 0,
		       (id - g->sources) * sizeof(*g->source));
		g->sources = id;
	}
	g->at_source = id;
	return 0;
}

uint32_t gather_process(struct import_gather *g, uint64_t key,
			struct reel_error *err)
{
	uint32_t i = reel_intmap_get(&g->by_process, key, err);
	struct reel_writer_process *p;

	if (i == REEL_NO_INDEX)
		return 0;
	if (i < g->processes)
		return i + 1;
	if (ONE_MORE(g->process, g->processes, g->process_room, err))
		return 0;
	if (reel_array_reach(&g->more, &g->more_room, i, sizeof(*g->more), err))
		return 0;
	g->more[i] = (struct gather_process){.source = g->at_source,
					     .fetch_start_ns = INT64_MAX,
					     .fetch_end_ns = INT64_MIN};
	p = &g->process[g->processes++];
	*p = (struct reel_writer_process){.process_id = i + 1,
					  .rank = -1,
					  .role = "main",
					  .fork_ns = REEL_NO_OFFSET,
					  .start_ns = INT64_MAX,
					  .end_ns = INT64_MIN,
					  .ended = "unknown"};
	return i + 1;
}

void gather_parent(struct import_gather *g, uint32_t process, int64_t parent)
{
	g->more[process - 1].parent_pid = parent;
}

uint32_t gather_processes(const struct import_gather *g)
{
	return (uint32_t)g->processes;
}

struct reel_writer_process *gather_process_row(struct import_gather *g,
					       uint32_t process)
{
	return &g->process[process - 1];
}

const char *gather_keep(struct import_gather *g, const char *text,
			struct reel_error *err)
{
	uint32_t i = reel_texts_keep(&g->kept, text, err);

	return i == REEL_NO_INDEX ? NULL : g->kept.text[i];
}

uint32_t gather_thread(struct import_gather *g, uint32_t process, int64_t tid,
		       struct reel_error *err)
{
	uint64_t key = (uint64_t)tid * 0x9e3779b97f4a7c15u ^ process;
	struct gather_thread *t;

	if (g->last_thread) { /* that of the event before */
		t = &g->thread[g->last_thread - 1];
		if (t->row.tid == tid && t->row.process_id == process)
			return g->last_thread;
	}
	for (;; key++) { /* two threads may have one key */
		uint32_t i = reel_intmap_get(&g->by_thread, key, err);

		if (i == REEL_NO_INDEX)
			return 0;
		if (i < g->threads) {
			t = &g->thread[i];
			if (t->row.tid == tid && t->row.process_id == process)
				return g->last_thread = i + 1;
			continue;
		}
		if (ONE_MORE(g->thread, g->threads, g->thread_room, err))
			return 0;
		t = &g->thread[g->threads++];
		t->row = (struct reel_writer_thread){.thread_id = i + 1,
						     .process_id = process,
						     .tid = tid,
						     .start_ns = INT64_MAX,
						     .end_ns = INT64_MIN};
		return i + 1;
	}
}

uint32_t gather_host(struct import_gather *g, const char *name,
		     struct reel_error *err)
{
	for (size_t i = 0; i < g->hosts; i++)
		if (!strcmp(g->host[i], name))
			return (uint32_t)i + 1;
	if (ONE_MORE(g->host, g->hosts, g->host_room, err))
		return 0;
	g->host[g->hosts] = reel_strdup(name, err);
	return g->host[g->hosts] ? (uint32_t)++g->hosts : 0;
}

uint32_t gather_file(struct import_gather *g, const char *path, size_t len,
		     enum reel_kind kind, struct reel_error *err)
{
	uint64_t key = reel_hash_bytes(REEL_HASH_FIRST, path, len);
	struct gather_file *f;

	for (;; key++) {
		uint32_t i = reel_intmap_get(&g->by_path, key, err);

		if (i == REEL_NO_INDEX)
			return 0;
		if (i < g->files) {
			f = &g->file[i];
			if (f->len == len && !memcmp(f->path, path, len))
				return i + 1;
			continue;
		}
		if (ONE_MORE(g->file, g->files, g->file_room, err))
			return 0;
		f = &g->file[g->files];
		f->path = strndup(path, len);
		if (!f->path) {
			reel_fail(err, REEL_E_MEMORY, "out of memory");
			return 0;
		}
		f->len = strlen(f->path);
		f->kind = kind;
		f->size_bytes = -1;
		g->files++;
		return i + 1;
	}
}

void gather_origin(struct import_gather *g, int64_t ns)
{
	if (ns < g->origin_ns)
		g->origin_ns = ns;
}

/* @thread was there from @start to @end. */
static void see_time(struct import_gather *g, uint32_t thread, int64_t start,
		     int64_t end)
{
	struct reel_writer_thread *t = &g->thread[thread - 1].row;
	struct reel_writer_process *p = &g->process[t->process_id - 1];

	if (start < t->start_ns)
		t->start_ns = start;
	if (end > t->end_ns)
		t->end_ns = end;
	if (start < p->start_ns)
		p->start_ns = start;
	if (end > p->end_ns)
		p->end_ns = end;
	gather_origin(g, start);
}

/* Learn the size of a file, and whether it is written, from an event. */
static void see_file(struct gather_file *f, const struct reel_event *ev)
{
	int64_t end;

	if (ev->group == REEL_GROUP_WRITE)
		f->written = true;
	if ((ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE) &&
	    ev->offset >= 0 && reel_event_bytes(ev) &&
	    !__builtin_add_overflow(ev->offset, ev->result, &end) &&
	    end > f->size_bytes)
		f->size_bytes = end;
}

int gather_event(struct import_gather *g, const struct reel_event *ev,
		 struct reel_error *err)
{
	const struct reel_call_info *info = reel_call_info(ev->call);
	struct gather_thread *t = &g->thread[ev->thread - 1];
	struct reel_event *to;

	to = event_list_add(&g->events, err);
	if (!to)
		return -1;
	*to = *ev;
	to->process = t->row.process_id;
	to->count = ev->count ? ev->count : 1;
	if (info) {
		to->layer = (uint8_t)info->layer;
		to->group = (uint8_t)info->group;
	}
	if (to->result < 0 && !to->err && to->call != REEL_CALL_MMAP) {
		to->result = -1;
		to->err = REEL_ERRNO_UNKNOWN;
	}
	t->row.events++;
	if (g->at_source)
		g->source[g->at_source - 1].events++;
	g->process[to->process - 1].events++;
	g->more[to->process - 1].reads +=
		to->group == REEL_GROUP_READ && to->result > 0;
	if (ev->file) {
		to->kind = (uint8_t)g->file[ev->file - 1].kind;
		see_file(&g->file[ev->file - 1], to);
	}
	see_time(g, ev->thread, ev->start_ns, ev->start_ns + ev->dur_ns);
	return 0;
}

static void see_fetch(struct import_gather *g, const struct reel_span_event *sp)
{
	struct gather_process *p =
		&g->more[g->thread[sp->thread - 1].row.process_id - 1];

	if (sp->start_ns < p->fetch_start_ns)
		p->fetch_start_ns = sp->start_ns;
	if (sp->start_ns + sp->dur_ns > p->fetch_end_ns)
		p->fetch_end_ns = sp->start_ns + sp->dur_ns;
}

/* Computation of the host. Sums of hostile times may not overflow. */
static void see_compute(struct import_gather *g,
			const struct reel_span_event *sp, const char *name)
{
	struct gather_thread *t = &g->thread[sp->thread - 1];
	struct gather_process *p = &g->more[t->row.process_id - 1];

	if (name && reel_span_is_of_device(name))
		return;
	if (sp->dur_ns < 0 || sp->dur_ns > INT64_MAX / 2 - p->compute_ns)
		return;
	t->compute_ns += sp->dur_ns;
	p->compute_ns += sp->dur_ns;
}

static void see_step(struct import_gather *g, const struct reel_span_event *sp)
{
	struct gather_thread *t = &g->thread[sp->thread - 1];

	t->steps = g->more[t->row.process_id - 1].steps = true;
}

void gather_fetches_of_loop(struct import_gather *g)
{
	g->fetches_of_loop = true;
}

void gather_batches(struct import_gather *g)
{
	g->batches = true;
}

bool gather_prepares(const struct import_gather *g, uint32_t thread)
{
	const struct gather_thread *t = &g->thread[thread - 1];
	const struct gather_process *p = &g->more[t->row.process_id - 1];

	if (p->steps)
		return !t->steps;
	return t->compute_ns < p->compute_ns / PREPARES_BELOW;
}

int gather_span(struct import_gather *g, const struct reel_span_event *sp,
		const char *name, struct reel_error *err)
{
	struct gather_span span = {.start_ns = sp->start_ns,
				   .dur_ns = sp->dur_ns,
				   .detail = sp->detail,
				   .thread = sp->thread,
				   .kind = sp->kind,
				   .count = sp->count ? sp->count : 1,
				   .id = (uint32_t)sorter_count(g->by_start)};
	uint32_t i = 0;

	if (name) {
		i = reel_texts_keep(&g->kept, name, err);
		if (i == REEL_NO_INDEX)
			return -1;
		span.name = i + 1;
	}
	if (sorter_add(g->by_start, &span, err))
		return -1;
	if (sp->kind == REEL_SPAN_FETCH)
		see_fetch(g, sp);
	if (sp->kind == REEL_SPAN_COMPUTE)
		see_compute(g, sp, name);
	if (sp->kind == REEL_SPAN_STEP)
		see_step(g, sp);
	see_time(g, sp->thread, sp->start_ns, sp->start_ns + sp->dur_ns);
	return 0;
}

/* The innermost span of @t that is around @span, and @span becomes it. */
static int nest_span(struct gather_thread *t, struct gather_span *span,
		     struct reel_error *err)
{
	int64_t end_ns = span->start_ns + span->dur_ns;

	while (t->depth && t->nest[t->depth - 1].end_ns < end_ns)
		t->depth--;
	span->parent = t->depth ? t->nest[t->depth - 1].id : 0;
	if (t->depth == t->room) {
		uint32_t room = t->room ? 2 * t->room : 8;

		if (reel_grow(&t->nest, room, sizeof(*t->nest), err))
			return -1;
		t->room = room;
	}
	t->nest[t->depth++] = (struct gather_nest){end_ns, span->id};
	return 0;
}

/* A fetch for which no loop waits becomes a span of the user. */
static void see_preparation(const struct import_gather *g,
			    struct gather_span *span, uint32_t name)
{
	if (!g->fetches_of_loop || span->kind != REEL_SPAN_FETCH ||
	    !gather_prepares(g, span->thread))
		return;
	span->kind = REEL_SPAN_USER;
	if (!span->name)
		span->name = name + 1;
}

/* Ids in the order of starts, and of each the innermost span around it. */
static int nest_spans(struct import_gather *g, struct reel_error *err)
{
	struct gather_span span;
	uint32_t id = 0;
	uint32_t name =
		reel_texts_keep(&g->kept, reel_span_name(REEL_SPAN_FETCH), err);
	int more = name == REEL_NO_INDEX ? -1 : sorter_finish(g->by_start, err);

	while (!more && (more = sorter_next(g->by_start, &span, err)) > 0) {
		see_preparation(g, &span, name);
		span.id = ++id;
		more = nest_span(&g->thread[span.thread - 1], &span, err) ||
				       sorter_add(g->by_end, &span, err)
			       ? -1
			       : 0;
	}
	sorter_free(g->by_start);
	g->by_start = NULL;
	return more ? -1 : sorter_finish(g->by_end, err);
}

/* --- parents -------------------------------------------------------------- */

static bool same_command(const struct reel_writer_process *a,
			 const struct reel_writer_process *b)
{
	return !a->command || !b->command || !strcmp(a->command, b->command);
}

static void set_parent(struct import_gather *g, uint32_t child, uint32_t parent)
{
	struct reel_writer_process *p = &g->process[child];
	const struct gather_process *up = &g->more[parent];
	bool worker = g->more[child].reads && p->start_ns < up->fetch_end_ns &&
		      p->end_ns > up->fetch_start_ns &&
		      same_command(p, &g->process[parent]);

	p->parent_id = parent + 1;
	p->role = worker ? "worker" : "child";
	p->fork_ns = p->start_ns - g->origin_ns;
}

static uint64_t pid_key(const struct reel_writer_process *p, int64_t pid)
{
	return reel_hash_number(reel_hash_number(REEL_HASH_FIRST, p->host_id),
				(uint64_t)pid);
}

static int set_parents(struct import_gather *g, struct reel_error *err)
{
	struct reel_intmap by_pid = {0};
	uint32_t *at = reel_alloc((size_t)g->processes + 1, sizeof(*at), err);
	int rc = at ? 0 : -1;

	for (uint32_t i = 0; !rc && i < g->processes; i++) {
		uint32_t k = reel_intmap_get(
			&by_pid, pid_key(&g->process[i], g->process[i].pid),
			err);

		if (k == REEL_NO_INDEX)
			rc = -1;
		else if (!at[k])
			at[k] = i + 1;
	}
	for (uint32_t i = 0; !rc && i < g->processes; i++) {
		const struct reel_writer_process *p = &g->process[i];
		int64_t pid = g->more[i].parent_pid;
		uint32_t k =
			pid > 0 ? reel_intmap_find(&by_pid, pid_key(p, pid))
				: REEL_NO_INDEX;

		if (k != REEL_NO_INDEX && at[k] && at[k] != i + 1 &&
		    g->process[at[k] - 1].start_ns <= p->start_ns)
			set_parent(g, i, at[k] - 1);
	}
	reel_intmap_fini(&by_pid);
	free(at);
	return rc;
}

/* --- all rows ------------------------------------------------------------- */

static int write_span(struct import_gather *g, const struct gather_span *s,
		      struct reel_error *err)
{
	struct reel_span_event ev = {
		.start_ns = s->start_ns - g->origin_ns,
		.dur_ns = s->dur_ns,
		.span_id = s->id,
		.parent = s->parent,
		.process = g->thread[s->thread - 1].row.process_id,
		.thread = s->thread,
		.kind = s->kind,
		.count = s->count,
		.detail = s->detail,
		.name = s->name ? g->kept.text[s->name - 1]
				: reel_span_name(s->kind)};

	if (!g->batches && ev.kind == REEL_SPAN_PREPROCESS &&
	    !strcmp(g->process[ev.process - 1].role, "worker")) {
		ev.kind = REEL_SPAN_USER;
		ev.name = "preprocess_sample";
	}
	return reel_writer_span(g->writer, &ev, err);
}

/* Write spans that end before @end_ns, from *@span on, which is there if
 * *@more. */
static int write_spans(struct import_gather *g, int64_t end_ns,
		       struct gather_span *span, int *more,
		       struct reel_error *err)
{
	while (*more > 0 &&
	       span->start_ns - g->origin_ns + span->dur_ns < end_ns) {
		if (write_span(g, span, err))
			return -1;
		*more = sorter_next(g->by_end, span, err);
	}
	return *more < 0 ? -1 : 0;
}

/* An event. The threads between their first and their last one share the memory for
 * blocks. */
static int write_event(struct import_gather *g, const struct reel_event *ev,
		       struct reel_error *err)
{
	struct gather_thread *t = &g->thread[ev->thread - 1];

	if (!t->written++ &&
	    reel_writer_thread_begin(g->writer, ev->thread, err))
		return -1;
	if (reel_writer_event(g->writer, ev, err))
		return -1;
	return t->written < (uint64_t)t->row.events
		       ? 0
		       : reel_writer_thread_end(g->writer, ev->thread, err);
}

/* Events, and spans after the events before their ends. */
static int write_timeline(struct import_gather *g, struct reel_error *err)
{
	struct gather_span span;
	int more = sorter_next(g->by_end, &span, err), found;
	struct reel_event *ev;

	for (size_t i = 0; i < g->files; i++)
		g->file[i].class_ = (uint8_t)reel_file_class(
			g->file[i].path, g->file[i].kind, g->file[i].written);
	while ((found = event_list_next(&g->events, &ev, err)) > 0) {
		ev->start_ns -= g->origin_ns;
		if (ev->file)
			ev->class_ = g->file[ev->file - 1].class_;
		if (write_spans(g, ev->start_ns + ev->dur_ns, &span, &more,
				err) ||
		    write_event(g, ev, err))
			return -1;
	}
	return found ? -1 : write_spans(g, INT64_MAX, &span, &more, err);
}

static int write_rows(struct import_gather *g, struct reel_error *err)
{
	if (!g->hosts && !gather_host(g, "unknown", err))
		return -1;
	for (size_t i = 0; i < g->hosts; i++)
		if (reel_writer_host(g->writer, (uint32_t)i + 1, g->host[i], "",
				     err))
			return -1;
	for (size_t i = 0; i < g->processes; i++) {
		struct reel_writer_process *p = &g->process[i];

		if (p->start_ns > p->end_ns) /* without events */
			p->start_ns = p->end_ns = g->origin_ns;
		p->start_ns -= g->origin_ns;
		p->end_ns -= g->origin_ns;
		if (!p->host_id)
			p->host_id = 1;
		if (reel_writer_process(g->writer, p, err))
			return -1;
	}
	for (size_t i = 0; i < g->threads; i++) {
		struct reel_writer_thread *t = &g->thread[i].row;

		if (t->start_ns > t->end_ns)
			t->start_ns = t->end_ns = g->origin_ns;
		t->start_ns -= g->origin_ns;
		t->end_ns -= g->origin_ns;
		if (reel_writer_thread(g->writer, t, err))
			return -1;
	}
	for (size_t i = 0; i < g->files; i++) {
		const struct gather_file *f = &g->file[i];
		struct reel_file_row row = {
			.file_id = (uint32_t)i + 1,
			.path = f->path,
			.path_len = (uint32_t)f->len,
			.kind = f->kind,
			.class_ = reel_file_class(f->path, f->kind, f->written),
			.size_bytes = f->size_bytes};

		if (reel_writer_file(g->writer, &row, err))
			return -1;
	}
	return 0;
}

/* With a single source, its ranks are those of the run. */
static int write_sources(struct import_gather *g, struct reel_error *err)
{
	if (g->sources < 2)
		return 0;
	for (size_t i = 0; i < g->processes; i++)
		if (g->more[i].source && g->process[i].rank >= 0)
			g->source[g->more[i].source - 1].ranks++;
	for (uint32_t i = 0; i < g->sources; i++)
		if (reel_writer_source_counts(
			    g->writer, i + 1,
			    g->source[i].ranks ? g->source[i].ranks : -1,
			    g->source[i].events, err))
			return -1;
	return 0;
}

int gather_finish(struct import_gather *g, struct reel_writer_run *run,
		  struct reel_error *err)
{
	if (g->origin_ns == INT64_MAX)
		g->origin_ns = 0;
	if (event_list_sort(&g->events, err) || nest_spans(g, err) ||
	    set_parents(g, err) || write_timeline(g, err) ||
	    reel_writer_settle(g->writer, err) || write_rows(g, err) ||
	    write_sources(g, err))
		return -1;
	/* The metrics need memory now. */
	sorter_free(g->by_end);
	event_list_fini(&g->events);
	g->by_end = NULL;
	return reel_writer_finish(g->writer, run, err);
}
