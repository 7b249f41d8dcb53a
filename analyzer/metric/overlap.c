/* SPDX-License-Identifier: MIT */
/*
 * I/O time of each process, steps, and the overlap of I/O with computation.
 *
 * During load the I/O of each process is kept as a log of intervals: the rank
 * of a process and the starts of the steps are known only at the end. Then each
 * rank is swept once: overlap_rank.c.
 */
#include "analyzer/metric/overlap.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/metric.h"
#include "analyzer/metric/overlap_time.h"
#include "analyzer/metric/spill_log.h"

static const char schema[] =
#include "schemas/metric_overlap.sql.inc"
	;

#define LOG_BYTES (24u << 20)

/* The I/O of a process. */
struct io {
	uint64_t calls, sum_ns;
	int64_t first_ns, last_ns;
	struct overlap_stream *stream; /* of its threads */
	struct overlap_time time;      /* of its calls */
};

/* One call may nest in many calls of the first processes with several threads,
 * in few of later ones: memory is bounded by 16 MiB. */
#define TIMES_MANY 4u
#define TIMES 256u
#define TIME_HELD_MANY 65536u
#define TIME_HELD 1024u

struct overlap {
	struct reel_spill_log *log;
	uint32_t streams; /* ids of the log in use */
	struct io **io;	  /* by process_id */
	uint32_t io_room;
	struct overlap_stream **stream; /* by thread_id and kind */
	uint32_t stream_room;
	struct overlap_span *span;
	uint32_t spans, span_room;
	struct overlap_process *process; /* by process_id, at the end */
	uint32_t processes;
	uint32_t times;		     /* processes of several threads */
	struct overlap_time fetched; /* of the job's reads from storage */
};

static int overlap_init(void *state, struct reel_error *err)
{
	struct overlap *o = state;

	return reel_spill_log_new(&o->log, LOG_BYTES, err);
}

static inline struct io *find_io(struct overlap *o, uint32_t process,
				 struct reel_error *err)
{
	struct io *io;

	if (reel_array_reach(&o->io, &o->io_room, process, sizeof(struct io *),
			     err))
		return NULL;
	io = o->io[process];
	if (!io) {
		io = o->io[process] = reel_alloc(1, sizeof(*io), err);
		if (!io)
			return NULL;
		io->first_ns = INT64_MAX;
	}
	return io;
}

/* The calls that may be held for a process that has several threads now. */
static uint32_t time_held(struct overlap *o)
{
	if (o->times == TIMES)
		return 0;
	return o->times++ < TIMES_MANY ? TIME_HELD_MANY : TIME_HELD;
}

/* The time of the job's reads from storage, or of a process's calls, has one
 * stream more. */
static int begin_time(struct overlap *o, struct io *io,
		      const struct overlap_stream *s, struct reel_error *err)
{
	if (s->kind == OVERLAP_FETCHED)
		return overlap_time_stream(&o->fetched, &s->s, TIME_HELD_MANY,
					   err);
	return overlap_time_stream(&io->time, &s->s,
				   io->time.streams == 1 ? time_held(o) : 0,
				   err);
}

/* The calls of a thread nest, so it holds few intervals; asynchronous
 * operations end in any order. */
static struct overlap_stream *new_stream(struct overlap *o, struct io *io,
					 uint32_t thread,
					 enum overlap_kind kind,
					 struct reel_error *err)
{
	struct overlap_stream *s = reel_alloc(1, sizeof(*s), err);

	if (!s)
		return NULL;
	reel_interval_stream_begin(&s->s, o->log, o->streams++,
				   kind == OVERLAP_ASYNC ? OVERLAP_HELD_MANY
							 : OVERLAP_HELD);
	s->thread = thread;
	s->kind = kind;
	if (begin_time(o, io, s, err)) {
		free(s);
		return NULL;
	}
	s->next = io->stream;
	io->stream = s;
	return s;
}

/* The stream of @thread and @kind; NULL with @err. */
static inline struct overlap_stream *find_stream(struct overlap *o,
						 struct io *io, uint32_t thread,
						 enum overlap_kind kind,
						 struct reel_error *err)
{
	uint64_t wide = (uint64_t)thread * OVERLAP_KINDS + kind;
	uint32_t i = (uint32_t)wide;

	if (wide >= UINT32_MAX) {
		reel_fail(err, REEL_E_FORMAT, "too many threads");
		return NULL;
	}
	if (reel_array_reach(&o->stream, &o->stream_room, i,
			     sizeof(struct overlap_stream *), err))
		return NULL;
	if (!o->stream[i])
		o->stream[i] = new_stream(o, io, thread, kind, err);
	return o->stream[i];
}

static int add_fetched(struct overlap *o, struct io *io,
		       const struct metric_event *ev, struct reel_error *err)
{
	struct reel_interval iv = {
		ev->start_ns, metric_end(ev),
		metric_fetched(ev) ? metric_fetched_bytes(&ev->raw) : 0,
		ev->calls};
	struct overlap_stream *s =
		find_stream(o, io, ev->raw.thread, OVERLAP_FETCHED, err);

	if (!s)
		return -1;
	s->reads += iv.write_bytes;
	s->bytes += iv.read_bytes;
	return reel_interval_stream_add(&s->s, &iv, err) ||
			       overlap_time_add(&o->fetched, &iv, err)
		       ? -1
		       : 0;
}

/* Add the intervals of a run to those of its thread and process. */
static inline int add_intervals(struct io *io, struct overlap_stream *stream,
				const struct metric_event *ev, uint32_t n,
				struct reel_error *err)
{
	enum metric_op op = ev->op;
	/* Without branches, as reads and writes may alternate at random. */
	struct reel_interval iv = {
		.read_bytes =
			(uint64_t)ev->bytes & -(uint64_t)(op == METRIC_READ),
		.write_bytes =
			(uint64_t)ev->bytes & -(uint64_t)(op == METRIC_WRITE),
	};

	for (uint32_t i = 0; i < n; i++) {
		iv.start_ns = ev[i].start_ns;
		iv.end_ns = metric_end(&ev[i]);
		if (iv.start_ns < io->first_ns)
			io->first_ns = iv.start_ns;
		if (iv.end_ns > io->last_ns)
			io->last_ns = iv.end_ns;
		if (reel_interval_stream_add(&stream->s, &iv, err) ||
		    overlap_time_add(&io->time, &iv, err))
			return -1;
	}
	return 0;
}

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct overlap *o = state;
	struct overlap_stream *stream;
	struct io *io;

	if (ev->op >= METRIC_OPS)
		return 0;
	io = find_io(o, ev->raw.process, err);
	if (!io)
		return -1;
	io->calls += (uint64_t)n * ev->calls;
	if (!ev->again)
		io->sum_ns += metric_run_dur_ns(ev, n);
	if (ev->storage && add_fetched(o, io, ev, err)) /* a run of one */
		return -1;
	stream = find_stream(o, io, ev->raw.thread,
			     ev->raw.layer == REEL_LAYER_ASYNC ? OVERLAP_ASYNC
							       : OVERLAP_CALLS,
			     err);
	return stream ? add_intervals(io, stream, ev, n, err) : -1;
}

METRIC_FEED_RUNS(overlap_feed)

static int overlap_span(void *state, const struct reel_span_event *sp,
			struct reel_error *err)
{
	struct overlap *o = state;
	struct overlap_span *s;
	int64_t start_ns = sp->start_ns < 0 ? 0 : sp->start_ns;
	int64_t dur_ns = sp->dur_ns < 0 ? 0 : sp->dur_ns;

	if (sp->kind == REEL_SPAN_USER || sp->kind >= REEL_SPANS)
		return 0;
	if (start_ns > METRIC_TIME_MAX || dur_ns > METRIC_TIME_MAX)
		return 0;
	if (reel_array_append(&o->span, &o->span_room, o->spans, sizeof(*s),
			      err))
		return -1;
	s = &o->span[o->spans++];
	s->start_ns = start_ns;
	s->end_ns = start_ns + dur_ns;
	s->detail = sp->detail;
	s->process = sp->process;
	s->thread = sp->thread;
	s->kind = sp->kind;
	s->span_id = sp->span_id;
	s->count = sp->count;
	s->open = sp->open;
	s->device = sp->kind == REEL_SPAN_COMPUTE &&
		    reel_span_is_of_device(sp->name);
	return 0;
}

static int by_process_kind_start(const void *a, const void *b)
{
	const struct overlap_span *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->span_id < y->span_id ? -1 : x->span_id > y->span_id;
}

static int read_process(struct overlap *o, sqlite3_stmt *q,
			struct reel_error *err)
{
	sqlite3_int64 id = sqlite3_column_int64(q, 0);
	sqlite3_int64 parent = sqlite3_column_int64(q, 1);
	const char *role = (const char *)sqlite3_column_text(q, 3);
	struct overlap_process *p;

	if (id <= 0 || id >= UINT32_MAX)
		return 0;
	if (reel_array_reach(&o->process, &o->processes, (uint32_t)id,
			     sizeof(*p), err))
		return -1;
	p = &o->process[id];
	p->known = true;
	p->process = (uint32_t)id;
	p->parent = parent > 0 && parent < UINT32_MAX ? (uint32_t)parent : 0;
	p->rank = sqlite3_column_type(q, 2) == SQLITE_NULL
			  ? -1
			  : sqlite3_column_int(q, 2);
	p->worker = role && !strcmp(role, "worker");
	p->end_ns = sqlite3_column_int64(q, 4);
	if ((uint32_t)id < o->io_room && o->io[id])
		p->stream = o->io[id]->stream;
	return 0;
}

static int read_processes(struct overlap *o, struct reel_store *st,
			  struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int rc, step = SQLITE_DONE;

	rc = reel_store_prepare(st, &q,
				"SELECT process_id, parent_id, rank, role, "
				"end_ns FROM process ORDER BY process_id",
				err);
	while (!rc && (step = sqlite3_step(q)) == SQLITE_ROW)
		rc = read_process(o, q, err);
	if (!rc && step != SQLITE_DONE)
		rc = reel_fail(err, REEL_E_DB, "cannot read the processes: %s",
			       sqlite3_errmsg(st->db));
	sqlite3_finalize(q);
	return rc;
}

static struct overlap_process *process_at(struct overlap *o, uint32_t id)
{
	return id < o->processes && o->process[id].known ? &o->process[id]
							 : NULL;
}

/* Mark processes with steps as ranks; without steps, those with fetches or
 * compute spans. */
static bool mark_ranks(struct overlap *o, bool steps)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < o->spans; i++) {
		uint32_t kind = o->span[i].kind;
		struct overlap_process *p = process_at(o, o->span[i].process);

		if (!p || p->worker)
			continue;
		if (steps ? kind == REEL_SPAN_STEP
			  : kind == REEL_SPAN_FETCH ||
				    kind == REEL_SPAN_COMPUTE) {
			p->root = p->process;
			any = true;
		}
	}
	return any;
}

/* Each process belongs to the nearest rank among its ancestors. Each is visited
 * once, so that a long chain is cheap; a damaged store may hold a cycle. */
static void find_roots(struct overlap *o)
{
	uint32_t i, root;

	for (i = 0; i < o->processes; i++) {
		struct overlap_process *p = process_at(o, i), *up = p;

		for (; up && !up->root && !up->visited;
		     up = process_at(o, up->parent))
			up->visited = true;
		root = up ? up->root : 0;
		for (up = p; root && !up->root; up = process_at(o, up->parent))
			up->root = root;
	}
}

/* Build the list of each rank's processes: there may be thousands of ranks. */
static void list_ranks(struct overlap *o)
{
	uint32_t i;

	for (i = o->processes; i--;) {
		struct overlap_process *p = process_at(o, i), *root;

		root = p ? process_at(o, p->root) : NULL;
		if (!root || root->root != p->root)
			continue;
		p->next = root->first;
		root->first = i;
	}
}

/* Write the rows of a rank, and add its reads from storage. */
static int measure_rank(struct overlap_job *job, struct overlap_rank *r,
			int32_t ordinal, struct overlap_rows *rows,
			struct overlap_storage *storage, struct reel_error *err)
{
	return overlap_rank_measure(r, job, err) ||
			       overlap_rows_write(rows, r, job, ordinal, err) ||
			       overlap_storage_rank(storage, job, r, err)
		       ? -1
		       : 0;
}

static int measure_ranks(struct overlap_job *job,
			 struct overlap_storage *storage,
			 struct overlap_rows *rows, struct reel_error *err)
{
	int32_t ordinal = 0;
	uint32_t i;

	for (i = 0; i < job->processes; i++) {
		struct overlap_process *p = &job->process[i];
		struct overlap_rank r = {.process = i, .rank = p->rank};
		int rc = 0;

		if (p->known && !p->root)
			rc = overlap_storage_process(storage, p, err);
		else if (p->known && p->root == i)
			rc = measure_rank(job, &r, ordinal++, rows, storage,
					  err);
		overlap_rank_fini(&r);
		if (rc)
			return -1;
	}
	return 0;
}

/* Add the streams of a process: those of reads from storage (@fetched) or the
 * others. Returns 0, or -1 with @err. */
static int add_streams(struct reel_interval_merge *m, const struct io *io,
		       bool fetched, struct reel_error *err)
{
	const struct overlap_stream *s = io ? io->stream : NULL;

	for (; s; s = s->next)
		if ((s->kind == OVERLAP_FETCHED) == fetched &&
		    reel_interval_merge_add(m, &s->s, 0, err))
			return -1;
	return 0;
}

/* The I/O time of a process, threads merged; -1 with @err. */
static int64_t io_union_ns(const struct io *io, struct reel_error *err)
{
	struct reel_interval_merge m = {0};
	int64_t ns;

	if (overlap_time_ns(&io->time, &ns))
		return ns;
	ns = -1;
	if (!add_streams(&m, io, false, err))
		ns = reel_interval_merge_union_ns(&m, err);
	reel_interval_merge_fini(&m);
	return ns;
}

/* The time of the job's reads from storage; -1 with @err. */
static int64_t storage_ns(const struct overlap *o, struct reel_error *err)
{
	struct reel_interval_merge m = {0};
	int64_t ns = 0;
	uint32_t i;

	if (overlap_time_ns(&o->fetched, &ns))
		return ns;
	for (i = 0; i < o->io_room && !ns; i++)
		ns = add_streams(&m, o->io[i], true, err);
	if (!ns)
		ns = reel_interval_merge_union_ns(&m, err);
	reel_interval_merge_fini(&m);
	return ns;
}

static int end_streams(struct overlap *o, struct reel_error *err)
{
	uint32_t i;

	for (i = 0; i < o->stream_room; i++)
		if (o->stream[i] &&
		    reel_interval_stream_end(&o->stream[i]->s, err))
			return -1;
	return 0;
}

/* Write the processes' rows of table io_time, from the unions kept here. */
static int write_io_time(struct overlap *o, struct reel_store *st,
			 struct reel_error *err)
{
	struct reel_insert out;
	uint32_t i;
	int rc = reel_insert_open(&out, st,
				  "INSERT INTO io_time VALUES "
				  "(?,?,?,?,?,?,?,?,?)",
				  err);

	for (i = 0; !rc && i < o->io_room; i++) {
		const struct io *io = o->io[i];
		int64_t ns = io ? io_union_ns(io, err) : 0;

		if (!io)
			continue;
		if (ns < 0) {
			rc = -1;
			break;
		}
		reel_insert_int(&out, i);
		reel_insert_text(&out, "io");
		reel_insert_int(&out, (int64_t)io->calls);
		reel_insert_int(&out, ns);
		reel_insert_int(&out, (int64_t)io->sum_ns);
		reel_insert_int(&out, io->first_ns);
		reel_insert_int(&out, io->last_ns);
		reel_insert_int(&out, 0);
		reel_insert_int(&out, 0);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static void sort_spans(struct overlap *o)
{
	qsort(o->span, o->spans, sizeof(*o->span), by_process_kind_start);
}

/* Steps that are none of a rank's, by @leave. */
static void leave_steps(struct overlap *o, const struct overlap_job *job,
			bool leave(const struct overlap_job *,
				   struct overlap_span *, uint32_t))
{
	bool left = false;

	for (uint32_t i = 0; i < o->processes; i++)
		if (process_at(o, i))
			left |= leave(job, o->span, i);
	if (left)
		sort_spans(o);
}

static int write_ranks(struct overlap *o, struct overlap_job *job,
		       struct overlap_storage *storage, struct reel_store *st,
		       struct reel_error *err)
{
	struct overlap_rows rows;
	int rc;

	if (o->spans && (mark_ranks(o, true) || mark_ranks(o, false))) {
		find_roots(o);
		list_ranks(o);
		sort_spans(o);
		leave_steps(o, job, overlap_leave_evaluated);
		leave_steps(o, job, overlap_leave_threads);
	}
	rc = overlap_rows_open(&rows, st, err);
	if (!rc)
		rc = measure_ranks(job, storage, &rows, err);
	return overlap_rows_close(&rows, rc);
}

static int write_storage(struct overlap *o, struct overlap_storage *s,
			 struct reel_store *st, struct reel_error *err)
{
	int64_t ns = storage_ns(o, err), exposed_ns = -1;
	struct reel_insert out;
	int rc;

	if (ns > 0)
		exposed_ns = overlap_storage_exposed_ns(s, ns, err);
	if (ns <= 0 || exposed_ns < 0)
		return ns ? -1 : 0;
	rc = reel_insert_open(
		&out, st, "INSERT INTO storage_wait VALUES (?,?,?,?,?)", err);
	if (!rc) {
		reel_insert_int(&out, ns);
		reel_insert_int(&out, exposed_ns);
		reel_insert_int(&out, (int64_t)s->reads);
		reel_insert_int(&out, (int64_t)s->bytes);
		reel_insert_int(&out, s->read_ns);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static int read_gaps(struct overlap_job *job, struct reel_store *st,
		     struct reel_error *err)
{
	int64_t cycles = 0;
	bool has;

	if (reel_store_int(st,
			   "SELECT json_extract(job_json, '$.cycles') FROM run",
			   &cycles, &has, err))
		return -1;
	job->has_gaps = has && cycles > 1;
	return 0;
}

static int overlap_finish(void *state, struct reel_store *st,
			  struct reel_error *err)
{
	struct overlap *o = state;
	struct overlap_storage storage = {0};
	struct overlap_job job;
	int rc = -1;

	if (end_streams(o, err) || write_io_time(o, st, err) ||
	    read_processes(o, st, err))
		return -1;
	job = (struct overlap_job){o->span,	 o->spans, o->process,
				   o->processes, o->log,   o->streams,
				   false};
	if (read_gaps(&job, st, err))
		return -1;
	if (!write_ranks(o, &job, &storage, st, err))
		rc = write_storage(o, &storage, st, err);
	overlap_storage_fini(&storage);
	return rc;
}

static void overlap_fini(void *state)
{
	struct overlap *o = state;
	uint32_t i;

	for (i = 0; i < o->stream_room; i++) {
		if (o->stream[i])
			reel_interval_stream_fini(&o->stream[i]->s);
		free(o->stream[i]);
	}
	for (i = 0; i < o->io_room; i++) {
		if (o->io[i])
			overlap_time_fini(&o->io[i]->time);
		free(o->io[i]);
	}
	overlap_time_fini(&o->fetched);
	free(o->stream);
	free(o->io);
	free(o->span);
	free(o->process);
	reel_spill_log_close(o->log);
}

const struct reel_metric reel_metric_overlap = {
	.name = "overlap",
	.schema = schema,
	.state_bytes = sizeof(struct overlap),
	.init = overlap_init,
	.feed = overlap_feed,
	.span = overlap_span,
	.finish = overlap_finish,
	.fini = overlap_fini,
};
