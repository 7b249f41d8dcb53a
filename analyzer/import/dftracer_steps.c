/* SPDX-License-Identifier: MIT */
/*
 * DFTracer's application events as spans, and the steps in them.
 *
 * Source: names and categories of DLIO, of dftracer.python (iter(), ai) and of
 * the layers in DFAnalyzer.
 */
#include "analyzer/import/dftracer_steps.h"

#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/trace_events.h"

#define NO_MARK (-1)

/* A name of the application; category or name NULL: any. @last: the part of
 * the name after its last dot is compared, else all of it. */
struct dftracer_meaning {
	const char *category, *name;
	bool last;
	enum reel_span kind;
	int mark; /* enum dftracer_mark_kind, or NO_MARK */
};

static const struct dftracer_meaning meanings[] = {
	{NULL, "<module>.iter", false, REEL_SPAN_FETCH, DFTRACER_FETCH},
	{NULL, "fetch-data.iter", false, REEL_SPAN_FETCH, DFTRACER_FETCH},
	{NULL, "loop.iter", false, REEL_SPAN_FETCH, DFTRACER_FETCH},
	{NULL, "<module>.yield", false, REEL_SPAN_USER, DFTRACER_BODY},
	{NULL, "fetch-data.yield", false, REEL_SPAN_USER, DFTRACER_BODY},
	{NULL, "loop.yield", false, REEL_SPAN_USER, DFTRACER_BODY},
	{NULL, "<module>.block", false, REEL_SPAN_USER, DFTRACER_BODY},
	{NULL, "fetch-data.block", false, REEL_SPAN_USER, DFTRACER_BODY},
	{NULL, "loop.block", false, REEL_SPAN_USER, DFTRACER_BODY},
	{"dataloader", "fetch", false, REEL_SPAN_FETCH, DFTRACER_FETCH},
	{"dataloader", "fetch.iter", false, REEL_SPAN_FETCH, DFTRACER_FETCH},
	{"dataloader", "fetch.yield", false, REEL_SPAN_USER, DFTRACER_BODY},
	{"dataloader", "fetch.block", false, REEL_SPAN_USER, DFTRACER_BODY},
	{"data_loader", "next", true, REEL_SPAN_USER, DFTRACER_NEXT},
	{"data_loader", "fetch", true, REEL_SPAN_FETCH, DFTRACER_FETCH},
	{"data_loader", "finalize", true, REEL_SPAN_USER, DFTRACER_DONE},
	{"ai_framework", "trace_object", true, REEL_SPAN_USER, DFTRACER_READY},
	{"ai_framework", "compute", true, REEL_SPAN_COMPUTE, DFTRACER_COMPUTE},
	{"ai_framework", "checkpoint", true, REEL_SPAN_CHECKPOINT,
	 DFTRACER_CHECKPOINT},
	{"checkpoint", "checkpoint", true, REEL_SPAN_CHECKPOINT,
	 DFTRACER_CHECKPOINT},
	{"checkpoint", "save_checkpoint", true, REEL_SPAN_CHECKPOINT,
	 DFTRACER_CHECKPOINT},
	{"checkpoint", "capture", false, REEL_SPAN_CHECKPOINT,
	 DFTRACER_CHECKPOINT},
	{"compute", "compute", true, REEL_SPAN_COMPUTE, DFTRACER_COMPUTE},
	{"compute", "forward", false, REEL_SPAN_FORWARD, NO_MARK},
	{"compute", "backward", false, REEL_SPAN_BACKWARD, NO_MARK},
	{"compute", "step", false, REEL_SPAN_OPTIMIZER, NO_MARK},
	{"dlio_benchmark", "_train", true, REEL_SPAN_EPOCH, DFTRACER_EPOCH},
	{"dlio_benchmark", "_eval", true, REEL_SPAN_EVAL, NO_MARK},
	{"pipeline", "epoch", false, REEL_SPAN_EPOCH, DFTRACER_EPOCH},
	{"pipeline", "epoch.block", false, REEL_SPAN_EPOCH, DFTRACER_EPOCH},
	{"pipeline", "evaluate", false, REEL_SPAN_EVAL, NO_MARK},
	{"reader", "preprocess", true, REEL_SPAN_PREPROCESS, NO_MARK},
	{"data", "preprocess", false, REEL_SPAN_PREPROCESS, NO_MARK},
};

static const struct dftracer_meaning *find_meaning(const struct trace_event *ev)
{
	const char *dot = strrchr(ev->name.s, '.');
	const char *last = dot ? dot + 1 : ev->name.s;

	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		const struct dftracer_meaning *m = &meanings[i];

		if (!strcmp(m->name, m->last ? last : ev->name.s) &&
		    (!m->category || !strcmp(m->category, ev->category.s)))
			return m;
	}
	return NULL;
}

/* The word of @ev: few names stand in many events. NULL with @err. */
static const struct dftracer_word *find_word(struct dftracer_marks *m,
					     const struct trace_event *ev,
					     struct reel_error *err)
{
	const struct trace_text *category = &ev->category, *name = &ev->name;
	uint64_t hash = reel_hash_bytes(
		reel_hash_bytes(REEL_HASH_FIRST, category->s, category->len),
		name->s, name->len);
	struct dftracer_word *w = &m->word[hash % DFTRACER_WORDS];
	struct reel_buf text = REEL_BUF_INIT;

	if (w->text && w->category_len == category->len &&
	    !memcmp(w->text, category->s, category->len) &&
	    !strcmp(w->text + category->len + 1, name->s))
		return w;
	if (reel_buf_printf(&text, err, "%s:%s", category->s, name->s))
		return NULL;
	free(w->text);
	*w = (struct dftracer_word){.text = text.data,
				    .category_len = strlen(category->s),
				    .meaning = find_meaning(ev)};
	return w;
}

static int64_t number_arg(const struct trace_event *ev, const char *key)
{
	int64_t n;

	return trace_text_int(trace_event_arg(ev, key), &n) && n >= 0 ? n : -1;
}

static bool ends_with(const struct trace_text *name, const char *end)
{
	size_t n = strlen(end);

	return name->len > n && !strcmp(name->s + name->len - n, end);
}

/* The number of a step; since 2.0 that of a turn of its loop. */
static int64_t step_of(const struct trace_event *ev)
{
	int64_t step = number_arg(ev, "step");

	return step < 0 && (ends_with(&ev->name, ".iter") ||
			    ends_with(&ev->name, ".block"))
		       ? number_arg(ev, "count")
		       : step;
}

static int add_mark(struct dftracer_marks *m, int kind, uint32_t thread,
		    const struct trace_event *ev, struct reel_error *err)
{
	if (m->marks == m->room) {
		size_t more = m->room ? 2 * m->room : 64;

		if (reel_grow(&m->mark, more, sizeof(*m->mark), err))
			return -1;
		m->room = more;
	}
	m->mark[m->marks++] = (struct dftracer_mark){
		.kind = (enum dftracer_mark_kind)kind,
		.thread = thread,
		.start_ns = ev->ts_ns,
		.end_ns = ev->ts_ns + ev->dur_ns,
		.epoch = number_arg(
			ev,
			kind == DFTRACER_EPOCH && ends_with(&ev->name, ".block")
				? "count"
				: "epoch"),
		.step = step_of(ev)};
	return 0;
}

static int add_span(struct import_gather *g, enum reel_span kind,
		    uint32_t thread, int64_t start_ns, int64_t end_ns,
		    int64_t detail, struct reel_error *err)
{
	struct reel_span_event sp = {.start_ns = start_ns,
				     .dur_ns = end_ns - start_ns,
				     .thread = thread,
				     .kind = kind,
				     .detail = detail};

	return gather_span(g, &sp, reel_span_name(sp.kind), err);
}

int dftracer_add_span(struct dftracer_marks *m, struct import_gather *g,
		      const struct trace_event *ev, uint32_t thread,
		      struct reel_error *err)
{
	const struct dftracer_word *word = find_word(m, ev, err);
	const struct dftracer_meaning *meaning = word ? word->meaning : NULL;
	struct reel_span_event sp = {.start_ns = ev->ts_ns,
				     .dur_ns = ev->dur_ns,
				     .thread = thread,
				     .detail = step_of(ev)};

	if (!word)
		return -1;
	if (meaning && meaning->mark != NO_MARK &&
	    add_mark(m, meaning->mark, thread, ev, err))
		return -1;
	if (meaning && meaning->kind == REEL_SPAN_EPOCH)
		return 0; /* its number may come from events inside */
	if (meaning && meaning->kind != REEL_SPAN_USER) {
		sp.kind = meaning->kind;
		return gather_span(g, &sp, reel_span_name(sp.kind), err);
	}
	return gather_span(g, &sp, word->text, err);
}

/* If marks begin together, the longer one is outside. */
static int by_thread_start(const void *a, const void *b)
{
	const struct dftracer_mark *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

/* Epochs, with the number that they or an event inside them have. */
static int add_epochs(const struct dftracer_mark *mark, size_t n,
		      struct import_gather *g, struct reel_error *err)
{
	for (size_t i = 0; i < n; i++) {
		int64_t epoch = mark[i].epoch;

		if (mark[i].kind != DFTRACER_EPOCH)
			continue;
		for (size_t k = i + 1;
		     k < n && epoch < 0 && mark[k].start_ns < mark[i].end_ns &&
		     mark[k].kind != DFTRACER_EPOCH;
		     k++)
			epoch = mark[k].epoch;
		if (add_span(g, REEL_SPAN_EPOCH, mark[i].thread,
			     mark[i].start_ns, mark[i].end_ns, epoch, err))
			return -1;
	}
	return 0;
}

/* The step of a thread whose fetches were recorded, as far as its marks were seen. */
struct fetched_step {
	int64_t start_ns; /* of its fetch; -1: no step */
	int64_t number;	  /* or -1 */
	int64_t end_ns; /* of its computation or its loop's body; 0: none yet */
	int64_t busy_ns; /* as end_ns, with checkpoints */
};

static int end_step(struct fetched_step *s, uint32_t thread,
		    struct import_gather *g, struct reel_error *err)
{
	if (s->start_ns < 0 || s->end_ns <= s->start_ns)
		return 0;
	return add_span(g, REEL_SPAN_STEP, thread, s->start_ns, s->end_ns,
			s->number, err);
}

/*
 * A batch arrived after the computation of @s: DLIO leaves its loop in the last turn of
 * an epoch, before the loop's wrapper can record that turn's fetch and body.
 */
static int begin_last_step(struct fetched_step *s,
			   const struct dftracer_mark *ready,
			   struct import_gather *g, struct reel_error *err)
{
	int64_t from = s->busy_ns;

	if (end_step(s, ready->thread, g, err))
		return -1;
	*s = (struct fetched_step){
		.start_ns = from, .number = s->number < 0 ? -1 : s->number + 1};
	return add_span(g, REEL_SPAN_FETCH, ready->thread, from,
			ready->start_ns, s->number, err);
}

/* The steps of a thread whose fetches were recorded. */
static int add_fetched_steps(const struct dftracer_mark *mark, size_t n,
			     struct import_gather *g, struct reel_error *err)
{
	struct fetched_step s = {.start_ns = -1};

	for (size_t i = 0; i < n; i++) {
		const struct dftracer_mark *m = &mark[i];

		switch (m->kind) {
		case DFTRACER_FETCH:
			if (end_step(&s, m->thread, g, err))
				return -1;
			s = (struct fetched_step){.start_ns = m->start_ns,
						  .number = m->step};
			break;
		case DFTRACER_READY:
			if (s.end_ns && m->start_ns >= s.busy_ns &&
			    begin_last_step(&s, m, g, err))
				return -1;
			break;
		case DFTRACER_COMPUTE:
		case DFTRACER_BODY:
			if (m->end_ns > s.end_ns)
				s.end_ns = m->end_ns;
			/* fall through */
		case DFTRACER_CHECKPOINT:
			if (m->end_ns > s.busy_ns)
				s.busy_ns = m->end_ns;
			break;
		default:
			break;
		}
	}
	return n ? end_step(&s, mark->thread, g, err) : 0;
}

/* The steps of a thread of DLIO whose fetches are the gaps. */
static int add_gap_steps(const struct dftracer_mark *mark, size_t n,
			 struct import_gather *g, struct reel_error *err)
{
	int64_t from = -1, ready = -1; /* -1: no fetch, no batch */

	for (size_t i = 0; i < n; i++) {
		const struct dftracer_mark *m = &mark[i];

		switch (m->kind) {
		case DFTRACER_NEXT:
			from = m->start_ns;
			ready = -1;
			break;
		case DFTRACER_READY:
			if (from >= 0 && ready < 0)
				ready = m->start_ns;
			break;
		case DFTRACER_CHECKPOINT:
			if (from >= 0 && m->end_ns > from)
				from = m->end_ns;
			break;
		case DFTRACER_COMPUTE:
			if (from < 0 || m->start_ns < from)
				break;
			if (ready < from)
				ready = m->start_ns;
			if (add_span(g, REEL_SPAN_STEP, m->thread, from,
				     m->end_ns, -1, err) ||
			    add_span(g, REEL_SPAN_FETCH, m->thread, from, ready,
				     -1, err))
				return -1;
			from = m->end_ns;
			ready = -1;
			break;
		default: /* an epoch ends, or begins */
			from = -1;
		}
	}
	return 0;
}

int dftracer_add_steps(struct dftracer_marks *m, struct import_gather *g,
		       struct reel_error *err)
{
	if (m->marks)
		qsort(m->mark, m->marks, sizeof(*m->mark), by_thread_start);
	for (size_t i = 0, n; i < m->marks; i += n) {
		const struct dftracer_mark *mark = &m->mark[i];
		bool fetched = false;
		int rc;

		for (n = 0; i + n < m->marks && mark[n].thread == mark->thread;
		     n++)
			fetched |= mark[n].kind == DFTRACER_FETCH;
		rc = add_epochs(mark, n, g, err);
		if (!rc && !(fetched && gather_prepares(g, mark->thread)))
			rc = fetched ? add_fetched_steps(mark, n, g, err)
				     : add_gap_steps(mark, n, g, err);
		if (rc)
			return -1;
	}
	return 0;
}

void dftracer_marks_fini(struct dftracer_marks *m)
{
	for (size_t i = 0; i < DFTRACER_WORDS; i++)
		free(m->word[i].text);
	free(m->mark);
	*m = (struct dftracer_marks){0};
}
