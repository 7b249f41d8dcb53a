/* SPDX-License-Identifier: MIT */
/*
 * One rank's time: its steps, what they waited for, what they computed, and
 * how much of the I/O of its process tree ran behind the computation.
 *
 * All is exact: the I/O of the tree's processes is merged as a stream of
 * intervals and swept once against the steps and the computation.
 */
#include <stdlib.h>

#include "schemas/trace_format.h"

#include "lib/error.h"

#include "analyzer/metric_overlap.h"
#include "analyzer/stream_log.h"

struct source {
	struct reel_stream_reader *reader;
	struct reel_interval iv; /* next to come */
	uint32_t step;		 /* first that does not end before iv */
	struct reel_union busy;	 /* a worker's: when it made batches */
	uint32_t at;		 /* cursor there */
};

struct sweep {
	struct overlap_rank *rank;
	const struct overlap_span *span;
	uint32_t spans;
	struct source *source;
	uint32_t *heap; /* of sources, by the start of iv */
	uint32_t sources, heaped;
	struct reel_interval io; /* of the tree, still growing */
	bool any;
	uint32_t step, compute; /* cursors */
};

/* Spans of @process and @kind: from the returned index on, @n of them. */
static uint32_t find_spans(const struct overlap_span *span, uint32_t spans,
			   uint32_t process, uint32_t kind, uint32_t *n)
{
	uint64_t want = (uint64_t)process << 32 | kind;
	uint32_t low = 0, high = spans;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		uint64_t key =
			(uint64_t)span[mid].process << 32 | span[mid].kind;

		if (key < want)
			low = mid + 1;
		else
			high = mid;
	}
	for (*n = 0; low + *n < spans && span[low + *n].process == process &&
		     span[low + *n].kind == kind;)
		++*n;
	return low;
}

static int add_spans(struct reel_union *u, const struct overlap_span *span,
		     uint32_t spans, uint32_t process, uint32_t kind,
		     struct reel_error *err)
{
	uint32_t n, i = find_spans(span, spans, process, kind, &n);

	for (; n; n--, i++) {
		struct reel_interval iv = {span[i].start_ns, span[i].end_ns, 0,
					   0};

		if (reel_union_add(u, &iv, err))
			return -1;
	}
	return 0;
}

/*
 * What in a step is neither wait nor computation. A checkpoint that another
 * thread writes behind the steps is none of it, nor is what was open already
 * when they began: an iterator of a data set to evaluate with, say, that a
 * training takes a batch from now and then.
 */
static int add_phase(struct overlap_rank *r, const struct overlap_span *span,
		     uint32_t spans, uint32_t kind, struct reel_error *err)
{
	uint32_t steps, n;
	uint32_t step =
		find_spans(span, spans, r->process, REEL_SPAN_STEP, &steps);
	uint32_t i = find_spans(span, spans, r->process, kind, &n), at = 0;

	for (; n; n--, i++) {
		struct reel_interval iv = {span[i].start_ns, span[i].end_ns, 0,
					   0};

		if (steps && (span[i].thread != span[step].thread ||
			      !reel_union_within(&r->step_time, iv.start_ns,
						 iv.start_ns + 1, &at)))
			continue;
		if (reel_union_add(&r->phase, &iv, err))
			return -1;
	}
	return 0;
}

/*
 * Computation: declared, or else what of the steps is neither wait nor phase.
 * Steps without any fetch have one that nobody saw, as in TensorFlow's graphs.
 */
static int find_compute(struct overlap_rank *r, const struct overlap_span *span,
			uint32_t spans, struct reel_error *err)
{
	struct reel_union declared = {.most = REEL_UNION_ALL};
	struct reel_union fed = {.most = REEL_UNION_ALL};
	int rc = -1;

	if (add_spans(&declared, span, spans, r->process, REEL_SPAN_COMPUTE,
		      err))
		goto out;
	if (declared.n) {
		r->compute_source = "compute spans";
		rc = reel_union_cut(&r->compute, &declared, &r->fetch, false,
				    err);
		goto out;
	}
	if (r->step_time.n && r->fetch.n) {
		r->compute_source = "step minus fetch";
		if (reel_union_cut(&fed, &r->step_time, &r->fetch, false,
				   err) ||
		    reel_union_cut(&r->compute, &fed, &r->phase, false, err))
			goto out;
	}
	rc = 0;
out:
	reel_union_fini(&declared);
	reel_union_fini(&fed);
	return rc;
}

/* The epoch that was running when a step began; epochs are in order. */
static const struct overlap_span *epoch_at(const struct overlap_span *epoch,
					   uint32_t n, int64_t ns)
{
	uint32_t i = n;

	while (i && epoch[i - 1].end_ns < ns)
		i--;
	return i ? &epoch[i - 1] : NULL;
}

static int find_steps(struct overlap_rank *r, const struct overlap_span *span,
		      uint32_t spans, struct reel_error *err)
{
	uint32_t n, epochs, i;
	uint32_t at = find_spans(span, spans, r->process, REEL_SPAN_STEP, &n);
	uint32_t epoch =
		find_spans(span, spans, r->process, REEL_SPAN_EPOCH, &epochs);
	uint32_t seen = 0; /* epochs that began before the step */
	uint32_t at_fetch = 0, kept = 0;
	int64_t reach_ns = 0; /* the last end so far */

	r->step = reel_alloc(n, sizeof(*r->step), err);
	if (!r->step)
		return -1;
	for (i = 0; i < n; i++) {
		const struct overlap_span *s = &span[at + i], *in;
		struct overlap_step *step = &r->step[kept];

		/* A program's own mark of what a loader's step holds. */
		if (s->start_ns < reach_ns && s->end_ns <= reach_ns &&
		    r->fetch.n &&
		    !reel_union_within(&r->fetch, s->start_ns, s->end_ns,
				       &at_fetch))
			continue;
		/*
		 * Steps of nested loops, or of two threads, overlap: time is
		 * given once, to the one that began last.
		 */
		if (s->start_ns < reach_ns)
			step[-1].dur_ns = s->start_ns - step[-1].start_ns;
		if (s->end_ns > reach_ns)
			reach_ns = s->end_ns;
		step->start_ns = s->start_ns;
		step->dur_ns = reach_ns - s->start_ns;
		step->span_id = s->span_id;
		step->number = s->detail;
		while (seen < epochs &&
		       span[epoch + seen].start_ns <= step->start_ns)
			seen++;
		in = epoch_at(span + epoch, seen, step->start_ns);
		step->epoch = in ? in->detail : -1;
		step->epoch_span = in ? in->span_id : 0;
		kept++;
	}
	r->steps = kept;
	return 0;
}

static void measure_steps(struct overlap_rank *r)
{
	uint32_t fetch = 0, compute = 0, i;

	for (i = 0; i < r->steps; i++) {
		struct overlap_step *s = &r->step[i];
		int64_t end_ns = s->start_ns + s->dur_ns;

		s->fetch_ns = reel_union_within(&r->fetch, s->start_ns, end_ns,
						&fetch);
		s->compute_ns = reel_union_within(&r->compute, s->start_ns,
						  end_ns, &compute);
	}
}

/* A piece of the tree's I/O, final: what of it lies in steps and computation.
 */
static void take_io(struct sweep *w)
{
	struct overlap_rank *r = w->rank;
	int64_t start_ns = w->io.start_ns, end_ns = w->io.end_ns;
	uint32_t i;

	if (!w->any)
		return;
	r->io_ns += end_ns - start_ns;
	r->hidden_ns +=
		reel_union_within(&r->compute, start_ns, end_ns, &w->compute);
	while (w->step < r->steps &&
	       r->step[w->step].start_ns + r->step[w->step].dur_ns <= start_ns)
		w->step++;
	for (i = w->step; i < r->steps && r->step[i].start_ns < end_ns; i++) {
		struct overlap_step *s = &r->step[i];
		int64_t from = s->start_ns, to = from + s->dur_ns;
		uint32_t at = w->compute;

		from = from > start_ns ? from : start_ns;
		to = to < end_ns ? to : end_ns;
		s->io_ns += to - from;
		s->hidden_ns += reel_union_within(&r->compute, from, to, &at);
	}
}

static uint64_t part(uint64_t bytes, const struct reel_interval *iv, int64_t at)
{
	if (iv->end_ns == iv->start_ns || at >= iv->end_ns)
		return bytes;
	if (at <= iv->start_ns)
		return 0;
	return (uint64_t)((unsigned __int128)bytes *
			  (uint64_t)(at - iv->start_ns) /
			  (uint64_t)(iv->end_ns - iv->start_ns));
}

/* Bytes go to the steps that the interval covers, in proportion. */
static void take_bytes(struct sweep *w, struct source *src)
{
	struct overlap_rank *r = w->rank;
	const struct reel_interval *iv = &src->iv;
	uint32_t i;

	while (src->step < r->steps &&
	       r->step[src->step].start_ns + r->step[src->step].dur_ns <=
		       iv->start_ns)
		src->step++;
	for (i = src->step; i < r->steps; i++) {
		struct overlap_step *s = &r->step[i];
		int64_t end_ns = s->start_ns + s->dur_ns;

		if (s->start_ns > iv->start_ns && s->start_ns >= iv->end_ns)
			break;
		s->read_bytes +=
			part(iv->read_bytes, iv, end_ns) -
			(s->start_ns > iv->start_ns
				 ? part(iv->read_bytes, iv, s->start_ns)
				 : 0);
		s->write_bytes +=
			part(iv->write_bytes, iv, end_ns) -
			(s->start_ns > iv->start_ns
				 ? part(iv->write_bytes, iv, s->start_ns)
				 : 0);
		if (iv->end_ns == iv->start_ns)
			break;
	}
}

static bool before(const struct sweep *w, uint32_t a, uint32_t b)
{
	int64_t x = w->source[w->heap[a]].iv.start_ns;
	int64_t y = w->source[w->heap[b]].iv.start_ns;

	return x < y || (x == y && w->heap[a] < w->heap[b]);
}

static void sift_down(struct sweep *w, uint32_t i)
{
	for (;;) {
		uint32_t least = i, l = 2 * i + 1, swap;

		if (l < w->heaped && before(w, l, least))
			least = l;
		if (l + 1 < w->heaped && before(w, l + 1, least))
			least = l + 1;
		if (least == i)
			return;
		swap = w->heap[i];
		w->heap[i] = w->heap[least];
		w->heap[least] = swap;
		i = least;
	}
}

/* The record after the one in @iv, which is zeroed at first. */
static int next_interval(struct reel_stream_reader *r, struct reel_interval *iv,
			 struct reel_error *err)
{
	uint64_t number[4];
	int more = reel_stream_reader_next(r, number, 4, err);

	if (more <= 0)
		return more;
	iv->start_ns = iv->end_ns + (int64_t)number[0];
	iv->end_ns = iv->start_ns + (int64_t)number[1];
	iv->read_bytes = number[2];
	iv->write_bytes = number[3];
	return 1;
}

/* Take the earliest interval. 1, 0 when none is left, -1 with @err. */
static int sweep_one(struct sweep *w, struct reel_error *err)
{
	struct source *src;
	int more;

	if (!w->heaped)
		return 0;
	src = &w->source[w->heap[0]];
	take_bytes(w, src);
	w->rank->worker_io_ns += reel_union_within(&src->busy, src->iv.start_ns,
						   src->iv.end_ns, &src->at);
	if (w->any && src->iv.start_ns <= w->io.end_ns) {
		if (src->iv.end_ns > w->io.end_ns)
			w->io.end_ns = src->iv.end_ns;
	} else {
		take_io(w);
		w->io = src->iv;
		w->any = true;
	}
	more = next_interval(src->reader, &src->iv, err);
	if (more < 0)
		return -1;
	if (!more)
		w->heap[0] = w->heap[--w->heaped];
	sift_down(w, 0);
	return 1;
}

static int open_sources(struct sweep *w, const struct overlap_process *process,
			struct reel_stream_log *log, struct reel_error *err)
{
	uint32_t first = process[w->rank->process].first, i, n = 0;

	for (i = first; i; i = process[i].next)
		n++;
	w->source = reel_alloc(n, sizeof(*w->source), err);
	w->heap = reel_alloc(n, sizeof(*w->heap), err);
	if (!w->source || !w->heap)
		return -1;
	for (i = first; i; i = process[i].next) {
		struct source *src = &w->source[w->sources];
		int more;

		if (reel_stream_reader_open(&src->reader, log, i, err))
			return -1;
		w->sources++;
		src->busy.most = REEL_UNION_ALL;
		if (process[i].worker &&
		    add_spans(&src->busy, w->span, w->spans, i,
			      REEL_SPAN_PREPROCESS, err))
			return -1;
		more = next_interval(src->reader, &src->iv, err);
		if (more < 0)
			return -1;
		if (more)
			w->heap[w->heaped++] = w->sources - 1;
	}
	for (i = w->heaped / 2; i--;)
		sift_down(w, i);
	return 0;
}

static int sweep_io(struct sweep *w, const struct overlap_process *process,
		    struct reel_stream_log *log, struct reel_error *err)
{
	int rc = open_sources(w, process, log, err);
	uint32_t i;

	while (!rc) {
		int more = sweep_one(w, err);

		if (more <= 0) {
			rc = more;
			break;
		}
	}
	take_io(w);
	for (i = 0; i < w->sources; i++) {
		reel_stream_reader_close(w->source[i].reader);
		reel_union_fini(&w->source[i].busy);
	}
	free(w->source);
	free(w->heap);
	return rc;
}

/* A worker is busy while it makes a batch, alive from its first batch on. */
static int measure_worker(struct overlap_rank *r,
			  const struct overlap_process *p,
			  const struct overlap_span *span, uint32_t spans,
			  struct reel_error *err)
{
	struct reel_union busy = {.most = REEL_UNION_ALL};
	struct reel_interval alive = {0, 0, 0, 0};
	uint32_t n;
	int rc;

	find_spans(span, spans, p->process, REEL_SPAN_PREPROCESS, &n);
	if (!n)
		return 0;
	rc = add_spans(&busy, span, spans, p->process, REEL_SPAN_PREPROCESS,
		       err);
	if (!rc && busy.n) {
		int64_t last_ns =
			r->step_time.n
				? r->step_time.iv[r->step_time.n - 1].end_ns
				: INT64_MAX;

		alive.start_ns = busy.iv[0].start_ns;
		alive.end_ns = p->end_ns < last_ns ? p->end_ns : last_ns;
		if (alive.end_ns < busy.iv[busy.n - 1].end_ns)
			alive.end_ns = busy.iv[busy.n - 1].end_ns;
		r->batches += n;
		r->worker_processes++;
		r->worker_busy_ns += reel_union_ns(&busy);
		r->worker_alive_ns += alive.end_ns - alive.start_ns;
		rc = reel_union_add(&r->worker_time, &alive, err);
	}
	reel_union_fini(&busy);
	return rc;
}

int overlap_rank_measure(struct overlap_rank *r,
			 const struct overlap_span *span, uint32_t spans,
			 const struct overlap_process *process,
			 struct reel_stream_log *log, struct reel_error *err)
{
	struct sweep w = {.rank = r, .span = span, .spans = spans};
	uint32_t i;

	r->step_time.most = r->fetch.most = r->compute.most = r->phase.most =
		r->worker_time.most = REEL_UNION_ALL;
	if (add_spans(&r->step_time, span, spans, r->process, REEL_SPAN_STEP,
		      err) ||
	    add_spans(&r->fetch, span, spans, r->process, REEL_SPAN_FETCH,
		      err) ||
	    add_phase(r, span, spans, REEL_SPAN_CHECKPOINT, err) ||
	    add_phase(r, span, spans, REEL_SPAN_EVAL, err))
		return -1;
	if (find_steps(r, span, spans, err) ||
	    find_compute(r, span, spans, err))
		return -1;
	measure_steps(r);
	for (i = process[r->process].first; i; i = process[i].next)
		if (process[i].worker &&
		    measure_worker(r, &process[i], span, spans, err))
			return -1;
	return sweep_io(&w, process, log, err);
}

void overlap_rank_fini(struct overlap_rank *r)
{
	free(r->step);
	reel_union_fini(&r->step_time);
	reel_union_fini(&r->fetch);
	reel_union_fini(&r->compute);
	reel_union_fini(&r->phase);
	reel_union_fini(&r->worker_time);
}
