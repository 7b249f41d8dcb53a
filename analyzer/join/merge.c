/* SPDX-License-Identifier: MIT */
/*
 * Events and spans of all sources in the order of their ends: each source gives
 * its events and its spans in that order, and the earliest of all is the next.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/join/internal.h"

struct lane {
	struct join_part *part;
	struct reel_events *events;
	sqlite3_stmt *spans;
	struct reel_event event;
	struct reel_span_event span;
	char name[256]; /* of the span */
	bool has_event, has_span;
	/* With a patch: the next event of the source, and of those to add. */
	struct reel_event ahead;
	bool has_ahead;
	size_t made;
};

static const char span_sql[] =
	"SELECT span_id, start_ns, dur_ns, thread_id, parent_id, kind, name, "
	"detail, closed FROM span ORDER BY start_ns + dur_ns, start_ns DESC";

/* The next event of the source that the patch keeps. 1, 0, or -1 with @err. */
static int next_kept(const struct join *j, struct lane *l,
		     struct reel_error *err)
{
	int rc;

	do
		rc = reel_events_next(l->events, &l->ahead, err);
	while (rc == 1 && !j->patch->event(j->patch->arg, &l->ahead));
	l->has_ahead = rc == 1;
	return rc;
}

/* The next event of the source, with those of the patch between them. */
static int next_raw(const struct join *j, struct lane *l, struct reel_event *ev,
		    struct reel_error *err)
{
	const struct join_patch *patch = j->patch;
	const struct reel_event *made;
	int64_t end_ns;

	if (!patch)
		return reel_events_next(l->events, ev, err);
	end_ns = l->ahead.start_ns + l->ahead.dur_ns;
	made = l->made < patch->mades ? &patch->made[l->made] : NULL;
	if (made &&
	    (!l->has_ahead || made->start_ns < end_ns ||
	     (made->start_ns == end_ns && made->group == REEL_GROUP_OPEN))) {
		*ev = *made;
		l->made++;
		return 1;
	}
	if (!l->has_ahead)
		return 0;
	*ev = l->ahead;
	return next_kept(j, l, err) < 0 ? -1 : 1;
}

static int next_event(struct join *j, struct lane *l, struct reel_error *err)
{
	struct reel_event *ev = &l->event;
	int rc;

	while ((rc = next_raw(j, l, ev, err)) == 1) {
		ev->thread = join_id(&l->part->thread, ev->thread);
		if (!ev->thread)
			continue;
		ev->process = j->thread[ev->thread - 1].row.process_id;
		ev->start_ns += l->part->base_ns;
		ev->file = join_id(&l->part->file, ev->file);
		ev->file2 = join_id(&l->part->file, ev->file2);
		ev->open = ev->open ? ev->open + l->part->open_base : 0;
		if (ev->file) {
			ev->kind = j->file[ev->file - 1].kind;
			ev->class_ = j->file[ev->file - 1].class_;
		}
		break;
	}
	l->has_event = rc == 1;
	return rc < 0 ? -1 : 0;
}

/* A kind that an earlier source has for this process would count twice: it
 * becomes a range of the user with the name of its format. */
static void name_span(struct join *j, struct lane *l, const char *name)
{
	const struct join_process *p = &j->process[l->span.process - 1];
	uint32_t kind = l->span.kind;

	if (kind != REEL_SPAN_USER && kind != REEL_SPAN_COMPUTE &&
	    kind < REEL_SPANS && p->span_part[kind] != l->part - j->part) {
		l->span.kind = REEL_SPAN_USER;
		snprintf(l->name, sizeof(l->name), "%s: %s",
			 l->part->source->format, name);
	} else {
		snprintf(l->name, sizeof(l->name), "%s", name);
	}
	l->span.name = l->name;
}

static int db_fail(const struct lane *l, struct reel_error *err)
{
	return reel_fail(err, REEL_E_DB, "cannot read '%s': %s",
			 l->part->source->name,
			 sqlite3_errmsg(l->part->source->st->db));
}

/* The detail of a kernel is the number of a record. */
static int64_t detail_of(const struct lane *l, int64_t detail, const char *name)
{
	bool record = detail > 0 && reel_span_is_of_device(name);

	return record ? detail + l->part->record_base : detail;
}

static int next_span(struct join *j, struct lane *l, struct reel_error *err)
{
	int step;

	l->has_span = false;
	while ((step = sqlite3_step(l->spans)) == SQLITE_ROW) {
		const char *name =
			(const char *)sqlite3_column_text(l->spans, 6);
		uint32_t thread =
			join_id(&l->part->thread, join_int(l->spans, 3, 0));
		int64_t parent = join_int(l->spans, 4, 0);

		if (!thread || !name)
			continue;
		l->span = (struct reel_span_event){
			.span_id = (uint32_t)join_int(l->spans, 0, 0) +
				   l->part->span_base,
			.start_ns = join_int(l->spans, 1, 0) + l->part->base_ns,
			.dur_ns = join_int(l->spans, 2, 0),
			.thread = thread,
			.process = j->thread[thread - 1].row.process_id,
			.parent = parent ? (uint32_t)parent + l->part->span_base
					 : 0,
			.kind = (uint32_t)join_int(l->spans, 5, 0),
			.count = 1,
			.detail =
				detail_of(l, join_int(l->spans, 7, -1), name)};
		l->span.open = !join_int(l->spans, 8, 1);
		name_span(j, l, name);
		l->has_span = true;
		return 0;
	}
	return step == SQLITE_DONE ? 0 : db_fail(l, err);
}

static int lane_open(struct join *j, struct lane *l, struct join_part *p,
		     struct reel_error *err)
{
	l->part = p;
	return reel_events_open(&l->events, p->source->st, 0, err) ||
			       reel_store_prepare(p->source->st, &l->spans,
						  span_sql, err) ||
			       (j->patch && next_kept(j, l, err) < 0) ||
			       next_event(j, l, err) || next_span(j, l, err)
		       ? -1
		       : 0;
}

static int put_event(struct join *j, struct lane *l, struct reel_error *err)
{
	const struct join_process *p = &j->process[l->event.process - 1];
	int rc = 0;

	if (p->io_part != l->part - j->part)
		l->part->seen_twice++;
	else if (p->row.launcher)
		rc = reel_writer_launcher_event(j->writer, &l->event, err);
	else
		rc = reel_writer_event(j->writer, &l->event, err);
	l->part->events++;
	return rc ? -1 : next_event(j, l, err);
}

static int put_span(struct join *j, struct lane *l, struct reel_error *err)
{
	return reel_writer_span(j->writer, &l->span, err) ||
			       next_span(j, l, err)
		       ? -1
		       : 0;
}

/* A lane's next record. At one time events are before spans, and the span that
 * began later, which is inside the other, first. */
struct next {
	struct lane *lane;
	bool is_span;
	int64_t end_ns, start_ns;
};

static void consider(struct next *best, const struct next *c)
{
	if (!best->lane || c->end_ns < best->end_ns ||
	    (c->end_ns == best->end_ns &&
	     (c->is_span < best->is_span ||
	      (c->is_span && best->is_span && c->start_ns > best->start_ns))))
		*best = *c;
}

static struct next find_next(struct lane *lane, int lanes)
{
	struct next best = {0};

	for (int i = 0; i < lanes; i++) {
		struct lane *l = &lane[i];

		if (l->has_event)
			consider(&best, &(struct next){l, false,
						       l->event.start_ns +
							       l->event.dur_ns,
						       l->event.start_ns});
		if (l->has_span)
			consider(&best, &(struct next){l, true,
						       l->span.start_ns +
							       l->span.dur_ns,
						       l->span.start_ns});
	}
	return best;
}

int join_merge(struct join *j, struct reel_error *err)
{
	struct lane *lane = reel_alloc((size_t)j->parts, sizeof(*lane), err);
	struct next next;
	int rc = lane ? 0 : -1;

	for (int i = 0; !rc && i < j->parts; i++)
		rc = lane_open(j, &lane[i], &j->part[i], err);
	while (!rc && (next = find_next(lane, j->parts)).lane)
		rc = next.is_span ? put_span(j, next.lane, err)
				  : put_event(j, next.lane, err);
	for (int i = 0; lane && i < j->parts; i++) {
		reel_events_close(lane[i].events);
		sqlite3_finalize(lane[i].spans);
	}
	free(lane);
	return rc;
}
