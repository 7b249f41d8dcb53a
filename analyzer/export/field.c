/* SPDX-License-Identifier: MIT */
/* The fields of a record. */
#include "analyzer/export/field.h"

#include <stddef.h>

#include "lib/calls.h"
#include "lib/store/file_class.h"

#include "analyzer/export/cursor.h"

enum field {
	RECORD,
	START_NS,
	DUR_NS,
	PID,
	TID,
	RANK,
	PROCESS_ID,
	THREAD_ID,
	CALL,
	LAYER,
	CALL_GROUP,
	PATH,
	PATH2,
	CLASS,
	KIND,
	FD,
	OPEN_ID,
	OFFSET,
	ASKED,
	BYTES,
	RESULT,
	ERRNO,
	ARG,
	CALLS,
	SPAN_ID,
	SPAN,
	DETAIL,
	CLOSED,
	FIELDS
};

static const char *const names[FIELDS] = {
	[RECORD] = "record",
	[START_NS] = "start_ns",
	[DUR_NS] = "dur_ns",
	[PID] = "pid",
	[TID] = "tid",
	[RANK] = "rank",
	[PROCESS_ID] = "process_id",
	[THREAD_ID] = "thread_id",
	[CALL] = "call",
	[LAYER] = "layer",
	[CALL_GROUP] = "call_group",
	[PATH] = "path",
	[PATH2] = "path2",
	[CLASS] = "class",
	[KIND] = "kind",
	[FD] = "fd",
	[OPEN_ID] = "open_id",
	[OFFSET] = "offset",
	[ASKED] = "asked",
	[BYTES] = "bytes",
	[RESULT] = "result",
	[ERRNO] = "errno",
	[ARG] = "arg",
	[CALLS] = "calls",
	[SPAN_ID] = "span_id",
	[SPAN] = "span",
	[DETAIL] = "detail",
	[CLOSED] = "closed",
};

const char *export_field_name(int i)
{
	return i < FIELDS ? names[i] : NULL;
}

static struct export_value number(int64_t v)
{
	return (struct export_value){.kind = EXPORT_INT, .number = v};
}

static struct export_value number_unless(int64_t v, int64_t none)
{
	return v == none ? (struct export_value){.kind = EXPORT_NULL}
			 : number(v);
}

static struct export_value text(const char *s)
{
	return (struct export_value){.kind = s ? EXPORT_TEXT : EXPORT_NULL,
				     .text = s};
}

static struct export_value span_field(const struct export_record *r, int i)
{
	switch (i) {
	case SPAN_ID:
		return number(r->span_id);
	case SPAN:
		return text(r->name);
	case DETAIL:
		return number_unless(r->detail, -1);
	case CLOSED:
		return number(r->closed);
	default:
		return text(NULL);
	}
}

static struct export_value event_field(const struct export_record *r, int i)
{
	const struct reel_event *e = &r->event;

	switch (i) {
	case CALL:
		return text(r->call);
	case LAYER:
		return text(reel_layer_name(e->layer));
	case CALL_GROUP:
		return text(reel_group_name(e->group));
	case PATH:
		return text(r->path);
	case PATH2:
		return text(r->path2);
	case CLASS:
		return text(r->path ? reel_class_name(e->class_) : NULL);
	case KIND:
		return text(r->path ? reel_kind_name(e->kind) : NULL);
	case FD:
		return number_unless(e->fd, -1);
	case OPEN_ID:
		return number_unless(e->open, 0);
	case OFFSET:
		return number_unless(e->offset, REEL_NO_OFFSET);
	case ASKED:
		return number_unless(e->asked, REEL_NO_SIZE);
	case BYTES:
		if (e->err || (e->group != REEL_GROUP_READ &&
			       e->group != REEL_GROUP_WRITE))
			return text(NULL);
		return number(e->result);
	case RESULT:
		return number(e->result);
	case ERRNO:
		return number(e->err);
	case ARG:
		return number(e->arg);
	case CALLS:
		return number(e->count);
	default:
		return text(NULL);
	}
}

struct export_value export_field(const struct export_record *r, int i)
{
	switch (i) {
	case RECORD:
		return text(r->is_span ? "span" : "event");
	case START_NS:
		return number(r->start_ns);
	case DUR_NS:
		return number(r->dur_ns);
	case PID:
		return number(r->thread->process->pid);
	case TID:
		return number(r->thread->tid);
	case RANK:
		return number_unless(r->thread->process->rank, -1);
	case PROCESS_ID:
		return number(r->thread->process->process_id);
	case THREAD_ID:
		return number(r->thread->thread_id);
	default:
		return r->is_span ? span_field(r, i) : event_field(r, i);
	}
}
