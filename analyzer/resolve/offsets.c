/* SPDX-License-Identifier: MIT */
/*
 * The resolver's positions: where a read or write happened.
 *
 * The kernel's offset belongs to the open file description (dup and fork share
 * it), a stream's to the descriptor. A position that somebody else may have
 * moved is not guessed: it is unknown until a seek or a mark tells it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>

#include "lib/calls.h"

#include "analyzer/resolve/internal.h"

static struct answer *answer_of(struct files *f, uint32_t body)
{
	struct answer *a = &f->answer[body % ANSWERS];

	if (a->body != body)
		*a = (struct answer){.body = body, .before = -1};
	return a;
}

/*
 * An open that appends asks for the size when it has ended: soon, but when the
 * processor is taken from it. Records of other threads come at most so late.
 */
#define ASKED_AFTER_NS 10000
#define LATE_NS 1000000000

/* What is known after @told: an answer may be older than what is @known. */
static int64_t answer_take(struct answer *a, const struct step *s,
			   int64_t known, int64_t told)
{
	bool open = s->ev->group == REEL_GROUP_OPEN;

	if (told >= 0 && told < known && a->moved_ns > s->ev->start_ns)
		return known;
	if (told == known && known >= 0)
		return known;
	if (known < 0 || told < known)
		a->before = -1;
	else if (a->before < 0 || s->ev->start_ns - a->asked_ns > LATE_NS)
		a->before = known; /* else what was missing then may still be */
	a->asked_ns = s->end_ns + (open ? ASKED_AFTER_NS : 0);
	a->late_ns = s->end_ns + (open ? LATE_NS : 0);
	a->thread = s->thread;
	return told;
}

/* Where a call was that @known holds already, as the kernel was asked while it
 * was under way; -1: it does not. */
static int64_t answer_holds(struct answer *a, const struct step *s,
			    int64_t known)
{
	int64_t at = a->before, missing = known - at;

	if (at < 0 || s->thread == a->thread || s->ev->result > missing ||
	    s->ev->start_ns >=
		    (s->ev->result == missing ? a->late_ns : a->asked_ns))
		return -1;
	a->before = s->ev->result < missing ? at + s->ev->result : -1;
	return at;
}

void resolve_told_pos(struct step *s, struct opened *o, int64_t pos)
{
	o->pos = answer_take(&o->answer, s, o->pos, pos);
}

void resolve_told_size(struct step *s, uint32_t file, uint32_t body,
		       int64_t size)
{
	struct files *f = &s->r->files;

	files_set_size(f, file, body,
		       answer_take(answer_of(f, body), s, f->size[body], size));
}

/* preadv2 and pwritev2 at -1 read and write at the position. */
static bool at_position(const struct reel_record *rec)
{
	return rec->offset == -1 && (rec->call == REEL_CALL_PREADV2 ||
				     rec->call == REEL_CALL_PWRITEV2);
}

/* Linux appends whatever offset pwrite names, where the file is open so. */
static bool appends(const struct step *s, const struct opened *o)
{
	if (s->ev->group != REEL_GROUP_WRITE || s->ev->layer == REEL_LAYER_MMAP)
		return false;
	return o->append || (s->rec->call == REEL_CALL_PWRITEV2 &&
			     s->rec->has_arg && s->rec->arg & RWF_APPEND);
}

/* The position that a read or write at @pos moves on, and where it happened. */
static void transfer_at(struct step *s, int64_t *pos, struct opened *o)
{
	struct reel_event *ev = s->ev;
	int64_t size = s->r->files.size[o->body];
	bool moves = ev->result > 0 && !ev->err;
	struct answer *a = pos == &o->pos ? &o->answer : NULL;

	if (appends(s, o) && !moves) { /* the position stays */
		ev->offset = size >= 0 ? size : REEL_NO_OFFSET;
		return;
	}
	if (appends(s, o)) {
		*pos = size >= 0 ? size : POS_UNKNOWN;
		a = answer_of(&s->r->files, o->body);
	}
	if (*pos < 0)
		return;
	ev->offset = moves && a ? answer_holds(a, s, *pos) : -1;
	if (ev->offset >= 0)
		return;
	ev->offset = *pos;
	if (moves && *pos <= INT64_MAX - ev->result)
		*pos += ev->result;
	if (moves && a)
		a->moved_ns = s->end_ns;
	if (*pos > o->reach)
		o->reach = *pos;
}

/* The parts for what a stream's other calls (printf, getc) moved. */
static bool is_told_later(const struct reel_record *rec)
{
	return rec->call == REEL_CALL_STDIO_READ ||
	       rec->call == REEL_CALL_STDIO_WRITE;
}

/*
 * How much a stream that stands at @to has moved, from where its last call left
 * it. @shown is what it knows itself: what went through its buffer, or all since
 * the process began; of a stream that threads share, or of a position that
 * others move too, some of it is told already. What is appended goes to the end
 * of the file, wherever the stream stood.
 */
static int64_t stream_moved(const struct step *s, const struct desc *d,
			    int64_t to, int64_t shown)
{
	const struct opened *o = open_of(s, d);
	int64_t from = d->stream_pos == NO_STREAM ? o->pos : d->stream_pos;
	bool alone = !o->shared && o->row.open_ns != NO_NS;

	if (o->append && s->ev->group == REEL_GROUP_WRITE) {
		from = s->r->files.size[o->body];
		return from >= 0 && to >= from ? to - from : shown;
	}
	if (alone && d->stream_pos >= 0 && to >= from)
		return to - from;
	if (!alone && o->reach > 0 && to > o->reach && to - o->reach < shown)
		return to - o->reach;
	if (!alone && from >= 0 && from < o->reach)
		from = o->reach;
	return from >= 0 && to - from > shown ? to - from : shown;
}

static bool stream_told(struct step *s, struct desc *d)
{
	struct reel_event *ev = s->ev;
	int64_t bytes = s->rec->has_size ? s->rec->size : 0;
	int64_t to = s->rec->has_pos ? s->rec->pos : -1;
	struct opened *o;

	if (!d)
		return false;
	o = open_of(s, d);
	if (to >= 0) {
		bytes = stream_moved(s, d, to, bytes);
		d->stream_pos = to;
		d->others = o->moves;
		o->pos = POS_UNKNOWN;
		if (to > o->reach)
			o->reach = to;
	}
	if (bytes <= 0)
		return false;
	ev->asked = ev->result = bytes;
	ev->offset = to >= bytes ? to - bytes : REEL_NO_OFFSET;
	if (ev->group == REEL_GROUP_WRITE)
		files_set_written(&s->r->files, ev->file);
	if (to >= 0)
		files_reach(&s->r->files, ev->file, o->body, to,
			    ev->group == REEL_GROUP_WRITE);
	return true;
}

/*
 * A read of a stream that does not say how far it went (an item that is not
 * whole, a line with zeros) says where it stood then.
 */
static void stream_reached(struct step *s, struct desc *d)
{
	struct reel_event *ev = s->ev;
	int64_t to = s->rec->pos;

	if (!s->rec->has_pos || ev->group != REEL_GROUP_READ || ev->err ||
	    to < ev->result)
		return;
	if (d->stream_pos >= 0 && to >= d->stream_pos &&
	    to - d->stream_pos <= ev->asked)
		ev->result = to - d->stream_pos;
	d->stream_pos = to - ev->result;
}

void resolve_counted(struct step *s, struct desc *d)
{
	s->ev->offset = REEL_NO_OFFSET;
	if (!d)
		return;
	open_of(s, d)->pos = POS_UNKNOWN;
	d->stream_pos = POS_UNKNOWN;
	if (s->ev->group == REEL_GROUP_WRITE && s->ev->result > 0)
		files_set_written(&s->r->files, s->ev->file);
}

bool resolve_transfer(struct step *s, struct desc *d)
{
	struct reel_event *ev = s->ev;
	bool write = ev->group == REEL_GROUP_WRITE;
	struct opened *o;
	int64_t size;

	if (is_told_later(s->rec))
		return stream_told(s, d);
	if (!d)
		return true;
	o = open_of(s, d);
	if (ev->layer == REEL_LAYER_STDIO) {
		if (d->stream_pos == NO_STREAM)
			d->stream_pos = o->pos;
		else if (d->others != o->moves)
			d->stream_pos = POS_UNKNOWN;
		d->others = o->moves;
		stream_reached(s, d);
		transfer_at(s, &d->stream_pos, o);
		o->pos = POS_UNKNOWN;
	} else if (!s->rec->has_offset || at_position(s->rec)) {
		ev->offset = REEL_NO_OFFSET;
		/* A shared pointer is moved by other ranks too. */
		if (ev->layer != REEL_LAYER_MPIIO)
			transfer_at(s, &o->pos, o);
		if (ev->result > 0 && !ev->err)
			o->moves++;
	} else if (appends(s, o)) {
		size = s->r->files.size[o->body];
		ev->offset = size >= 0 ? size : REEL_NO_OFFSET;
	}
	if (write && ev->result > 0)
		files_set_written(&s->r->files, ev->file);
	if (ev->result > 0 && !ev->err && ev->offset >= 0 &&
	    ev->offset <= INT64_MAX - ev->result)
		files_reach(&s->r->files, ev->file, o->body,
			    ev->offset + ev->result, write);
	return true;
}

/* Where a stream stands after a seek, or POS_UNKNOWN. */
static int64_t stream_after(struct step *s, const struct desc *d)
{
	const struct reel_record *rec = s->rec;
	int64_t base = 0, sum;

	if (rec->has_pos)
		return rec->pos < 0 ? POS_UNKNOWN : rec->pos;
	if (rec->call == REEL_CALL_REWIND)
		return 0;
	if (!rec->has_offset)
		return POS_UNKNOWN;
	if (rec->arg == SEEK_CUR)
		base = d->stream_pos;
	else if (rec->arg == SEEK_END)
		base = s->r->files.size[open_of(s, d)->body];
	if (base < 0 || __builtin_add_overflow(base, rec->offset, &sum) ||
	    sum < 0)
		return POS_UNKNOWN;
	return sum;
}

void resolve_seek(struct step *s, struct desc *d)
{
	struct reel_event *ev = s->ev;

	ev->arg2 = s->rec->has_offset ? s->rec->offset : 0;
	ev->offset = REEL_NO_OFFSET;
	if (ev->err == ESPIPE && d &&
	    file_of(s, ev->file)->kind == REEL_KIND_FILE) {
		files_set_kind(&s->r->files, ev->file, REEL_KIND_PIPE);
		open_of(s, d)->pos = POS_UNKNOWN; /* a named pipe */
	}
	if (ev->err || !d)
		return;
	if (ev->layer == REEL_LAYER_STDIO) {
		d->stream_pos = stream_after(s, d);
		d->others = open_of(s, d)->moves;
		open_of(s, d)->pos = POS_UNKNOWN;
		if (d->stream_pos >= 0)
			ev->offset = d->stream_pos;
	} else if (ev->result >= 0) {
		if (s->rec->has_offset && !s->rec->offset &&
		    s->rec->arg == SEEK_CUR) {
			resolve_told_pos(s, open_of(s, d), ev->result);
		} else {
			open_of(s, d)->pos = ev->result;
			open_of(s, d)->moves++;
		}
		ev->offset = ev->result;
	}
}
