/* SPDX-License-Identifier: MIT */
/*
 * One record in, one event out: its descriptor, its file, and the offset of each read
 * and write.
 *
 * The kernel's offset belongs to the open file description (dup and fork share
 * it), a stream's to the descriptor. A position that another process or thread
 * may have moved is unknown until a seek or a mark reports it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/resolve/internal.h"
#include "analyzer/resolve/resolve.h"

/* --- positions ------------------------------------------------------------ */

static struct answer *answer_of(struct files *f, uint32_t inode)
{
	struct answer *a = &f->answer[inode % ANSWERS];

	if (a->inode != inode)
		*a = (struct answer){.inode = inode, .before = -1};
	return a;
}

/*
 * An open that appends asks for the size after its end: at once, unless the
 * thread loses the processor. LATE_NS bounds that delay.
 */
#define ASKED_AFTER_NS 10000
#define LATE_NS 1000000000

/* The value after the kernel reported @told, which may be older than @known. */
static int64_t answer_take(struct answer *a, const struct resolve_step *s,
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
		a->before = known; /* else calls missing then may still come */
	a->asked_ns = s->end_ns + (open ? ASKED_AFTER_NS : 0);
	a->late_ns = s->end_ns + (open ? LATE_NS : 0);
	a->thread = s->thread;
	return told;
}

/* The offset of a call that overlapped the query, if the value @known includes
 * it; -1: it does not. */
static int64_t answer_includes(struct answer *a, const struct resolve_step *s,
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

void resolve_observed_pos(struct resolve_step *s, struct ofd *o, int64_t pos)
{
	o->pos = answer_take(&o->answer, s, o->pos, pos);
}

void resolve_observed_size(struct resolve_step *s, uint32_t file,
			   uint32_t inode, int64_t size)
{
	struct files *f = &s->r->files;

	files_set_size(
		f, file, inode,
		answer_take(answer_of(f, inode), s, f->size[inode], size));
}

/* preadv2 and pwritev2 at offset -1 use the position. */
static bool at_position(const struct reel_record *rec)
{
	return rec->offset == -1 && (rec->call == REEL_CALL_PREADV2 ||
				     rec->call == REEL_CALL_PWRITEV2);
}

/* On a descriptor with O_APPEND, Linux appends even with pwrite(). */
static bool appends(const struct resolve_step *s, const struct ofd *o)
{
	bool asked = s->rec->call == REEL_CALL_PWRITEV2 && s->rec->has_arg &&
		     s->rec->arg & RWF_APPEND;

	return (o->append || asked) && s->ev->group == REEL_GROUP_WRITE &&
	       s->ev->layer != REEL_LAYER_MMAP;
}

/* A read or write at @pos: set the event's offset and advance @pos. */
static void transfer_at(struct resolve_step *s, int64_t *pos, struct ofd *o)
{
	struct reel_event *ev = s->ev;
	int64_t size = s->r->files.size[o->inode];
	bool moves = ev->result > 0 && !ev->err;
	struct answer *a = pos == &o->pos ? &o->answer : NULL;

	if (appends(s, o) && !moves) { /* the position stays */
		ev->offset = size >= 0 ? size : REEL_NO_OFFSET;
		return;
	}
	if (appends(s, o)) {
		*pos = size >= 0 ? size : POS_UNKNOWN;
		a = answer_of(&s->r->files, o->inode);
	}
	if (*pos < 0)
		return;
	ev->offset = moves && a ? answer_includes(a, s, *pos) : -1;
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

/* A record for the bytes that a stream's untraced calls (printf, getc)
 * moved. */
static bool is_stream_part(const struct reel_record *rec)
{
	return rec->call == REEL_CALL_STDIO_READ ||
	       rec->call == REEL_CALL_STDIO_WRITE;
}

/*
 * Bytes that a stream at position @to moved since its last known position.
 * @shown is the stream's own count: bytes through its buffer, or all bytes
 * since the process began. If threads share the stream, or other descriptors
 * move the position, part of @shown was recorded before. Appended bytes go to
 * the end of the file, whatever the position was.
 */
static int64_t stream_bytes(const struct resolve_step *s, const struct desc *d,
			    int64_t to, int64_t shown)
{
	const struct ofd *o = ofd_of(s, d);
	int64_t from = d->stream_pos == NO_STREAM ? o->pos : d->stream_pos;
	bool alone = !o->shared && o->row.open_ns != NO_NS;

	if (o->append && s->ev->group == REEL_GROUP_WRITE) {
		from = s->r->files.size[o->inode];
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

static bool stream_part(struct resolve_step *s, struct desc *d)
{
	struct reel_event *ev = s->ev;
	int64_t bytes = s->rec->has_size ? s->rec->size : 0;
	int64_t to = s->rec->has_pos ? s->rec->pos : -1;
	struct ofd *o;

	if (!d)
		return false;
	o = ofd_of(s, d);
	if (to >= 0) {
		bytes = stream_bytes(s, d, to, bytes);
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
		files_reach(&s->r->files, ev->file, o->inode, to,
			    ev->group == REEL_GROUP_WRITE);
	return true;
}

/*
 * A stream read whose result does not give the bytes (a partial item, a line
 * with NULs) records the position after it instead.
 */
static void stream_reached(struct resolve_step *s, struct desc *d)
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

/* A record of counted calls: their offsets are unknown. */
static void resolve_counted(struct resolve_step *s, struct desc *d)
{
	s->ev->offset = REEL_NO_OFFSET;
	if (!d)
		return;
	ofd_of(s, d)->pos = POS_UNKNOWN;
	d->stream_pos = POS_UNKNOWN;
	if (s->ev->group == REEL_GROUP_WRITE && s->ev->result > 0)
		files_set_written(&s->r->files, s->ev->file);
}

/* The offset of the read or write of @d (or NULL). False: it is no event. */
static bool resolve_transfer(struct resolve_step *s, struct desc *d)
{
	struct reel_event *ev = s->ev;
	bool write = ev->group == REEL_GROUP_WRITE;
	bool stream = ev->layer == REEL_LAYER_STDIO;
	struct ofd *o;
	int64_t size;

	if (stream && is_stream_part(s->rec))
		return stream_part(s, d);
	if (!d)
		return true;
	o = ofd_of(s, d);
	if (stream) {
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
		size = s->r->files.size[o->inode];
		ev->offset = size >= 0 ? size : REEL_NO_OFFSET;
	}
	/* Most are live when they are written again. Reads and writes may
	 * alternate at random, so that is asked first. */
	if (!file_of(s, ev->file)->live && write && ev->result > 0)
		files_set_written(&s->r->files, ev->file);
	if (ev->result > 0 && !ev->err && ev->offset >= 0 &&
	    ev->offset <= INT64_MAX - ev->result)
		files_reach(&s->r->files, ev->file, o->inode,
			    ev->offset + ev->result, write);
	return true;
}

/* The stream's position after a seek, or POS_UNKNOWN. */
static int64_t stream_after(struct resolve_step *s, const struct desc *d)
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
		base = s->r->files.size[ofd_of(s, d)->inode];
	if (base < 0 || __builtin_add_overflow(base, rec->offset, &sum) ||
	    sum < 0)
		return POS_UNKNOWN;
	return sum;
}

/* offset becomes the new position; arg2 keeps the offset that was asked. */
static void resolve_seek(struct resolve_step *s, struct desc *d)
{
	struct reel_event *ev = s->ev;

	ev->arg2 = s->rec->has_offset ? s->rec->offset : 0;
	ev->offset = REEL_NO_OFFSET;
	if (ev->err == ESPIPE && d &&
	    file_of(s, ev->file)->kind == REEL_KIND_FILE) {
		files_set_kind(&s->r->files, ev->file, REEL_KIND_PIPE);
		ofd_of(s, d)->pos = POS_UNKNOWN; /* a named pipe */
	}
	if (ev->err || !d)
		return;
	if (ev->layer == REEL_LAYER_STDIO) {
		d->stream_pos = stream_after(s, d);
		d->others = ofd_of(s, d)->moves;
		ofd_of(s, d)->pos = POS_UNKNOWN;
		if (d->stream_pos >= 0)
			ev->offset = d->stream_pos;
	} else if (ev->result >= 0) {
		if (s->rec->has_offset && !s->rec->offset &&
		    s->rec->arg == SEEK_CUR) {
			resolve_observed_pos(s, ofd_of(s, d), ev->result);
		} else {
			ofd_of(s, d)->pos = ev->result;
			ofd_of(s, d)->moves++;
		}
		ev->offset = ev->result;
	}
}

/* --- the event ------------------------------------------------------------ */

/* A descriptor that the parent made just before the fork may be missing, by the
 * error of the clocks: copy it now. */
struct desc *resolve_late_desc(struct resolve_step *s, uint32_t id)
{
	struct desc *of;

	if (id >= s->p->is.first_desc || s->p->is.parent < 0)
		return NULL;
	of = descs_find(&s->r->process[s->p->is.parent].descs, id);
	if (!of)
		return NULL;
	return descs_add(s->r, &s->p->descs, id, of->fd, of->open, s->end_ns,
			 s->err);
}

/*
 * The duration of the event. The record of a page fault ends where the fault was read
 * from the kernel, as the records of a thread are in the order of their ends. How long it
 * took is not known: its event has 1 ns, that of the end of a mapping 0.
 */
static int64_t duration_ns(const struct reel_record *rec, int64_t start_ns,
			   int64_t end_ns)
{
	bool mapped = rec->call == REEL_CALL_MAP_READ ||
		      rec->call == REEL_CALL_MAP_WRITE;

	return mapped ? end_ns > start_ns : end_ns - start_ns;
}

/* Each member is named: gcc clears omitted members with "rep stos", which takes
 * as long as all the rest. */
static void fill(struct resolve_step *s, int64_t start_ns)
{
	const struct reel_record *rec = s->rec;
	const struct reel_call_info *info = reel_call_info(rec->call);
	const struct thread *t = &s->r->thread[s->thread];

	*s->ev = (struct reel_event){
		.start_ns = start_ns,
		.dur_ns = duration_ns(rec, start_ns, s->end_ns),
		.process = s->p->is.process_id,
		.thread = t->is.thread_id,
		.file = 0,
		.file2 = 0,
		.open = 0,
		.count = rec->count > UINT32_MAX ? UINT32_MAX
						 : (uint32_t)rec->count,
		.site = 0,
		.fd = -1,
		.fd2 = -1,
		.err = rec->err,
		.call = rec->call,
		.layer = info ? (uint8_t)info->layer : REEL_LAYER_NONE,
		.group = info ? (uint8_t)info->group : REEL_GROUP_NONE,
		.kind = REEL_KIND_UNKNOWN,
		.class_ = REEL_CLASS_NONE,
		.counted = rec->counted,
		.offset = rec->has_offset ? rec->offset : REEL_NO_OFFSET,
		.asked = rec->has_size && rec->size >= 0 ? rec->size
							 : REEL_NO_SIZE,
		.result = rec->result,
		.arg = rec->has_arg ? rec->arg : 0,
		.arg2 = rec->has_arg2 ? rec->arg2 : 0,
		.pos = rec->has_pos ? rec->pos : REEL_NO_OFFSET,
	};
}

/* A stat with AT_EMPTY_PATH is an fstat(), as Rust calls it. */
static uint32_t desc_of(const struct reel_record *rec)
{
	bool stat =
		rec->call == REEL_CALL_FSTATAT || rec->call == REEL_CALL_STATX;

	return stat && rec->path && !rec->path_len ? rec->at : rec->desc;
}

/* A write inside a checkpoint span, but not to the standard streams. */
static bool writes_checkpoint(const struct resolve_step *s)
{
	const struct spans *spans = &s->r->thread[s->thread].spans;

	if (!spans->n || s->ev->group != REEL_GROUP_WRITE ||
	    s->ev->result <= 0 || s->ev->fd <= STDERR_FILENO)
		return false;
	for (uint32_t i = spans->n; i--;)
		if (spans->span[i].kind == REEL_SPAN_CHECKPOINT)
			return true;
	return false;
}

/*
 * A close of @d found its file renamed by a raw system call: the event is as of
 * rename(). False: a recorded rename() explains it.
 */
static bool is_unseen_rename(struct resolve_step *s, const struct desc *d)
{
	struct reel_event *ev = s->ev;

	ev->fd = -1;
	ev->open = 0;
	return !ev->file2 ||
	       file_of(s, ev->file2)->inode != ofd_of(s, d)->inode;
}

void reel_resolve_soon(const struct reel_resolver *r,
		       const struct reel_record *rec)
{
	if (rec->path && rec->path[0] == '/')
		files_soon(&r->files, rec->path, rec->path_len);
}

/* Does the event of a known descriptor need resolve_transfer() alone? Most do. */
static bool is_plain_transfer(const struct reel_record *rec,
			      const struct reel_event *ev)
{
	return (ev->group == REEL_GROUP_READ ||
		ev->group == REEL_GROUP_WRITE) &&
	       !rec->counted && !rec->newdesc && !rec->path && !rec->path2;
}

/* The names, the new descriptor and the effects of an event. 1; 0: it is none;
 * -1 with the step's err. */
static int resolve_effects(struct resolve_step *s, struct desc *d)
{
	const struct reel_record *rec = s->rec;
	struct reel_event *ev = s->ev;

	if (ev->err == EBADF && !rec->desc && !rec->newdesc && !rec->path &&
	    ev->group != REEL_GROUP_OPEN)
		ev->fd = rec->newfd;
	if ((rec->path || rec->path2) && resolve_names(s))
		return -1;
	if (d && ev->call == REEL_CALL_RENAME && !is_unseen_rename(s, d))
		return 0;
	if (rec->newdesc && !ev->err) {
		if (resolve_new_desc(s, d))
			return -1;
		d = d ? descs_find(&s->p->descs, rec->desc) : NULL; /* moved */
	}
	switch (rec->counted ? REEL_GROUP_NONE : ev->group) {
	case REEL_GROUP_READ:
	case REEL_GROUP_WRITE:
		return resolve_transfer(s, d);
	case REEL_GROUP_SEEK:
		resolve_seek(s, d);
		break;
	case REEL_GROUP_OPEN:
		resolve_open_size(s);
		break;
	case REEL_GROUP_NONE:
		resolve_counted(s, d);
		resolve_counted_time(s);
		break;
	case REEL_GROUP_CLOSE:
		if (rec->desc && ev->err != EBADF &&
		    descs_close(s->r, &s->p->descs, rec->desc, s->end_ns,
				s->err))
			return -1;
		/* fall through */
	default:
		if (resolve_side_effects(s, d))
			return -1;
	}
	return 1;
}

int reel_resolve(struct reel_resolver *r, int thread,
		 const struct reel_record *rec, int64_t start_ns,
		 int64_t end_ns, struct reel_event *ev, struct reel_error *err)
{
	int process = r->thread[thread].is.process, rc;
	struct resolve_step s = {
		r, &r->process[process], rec, ev, end_ns, process, thread, err};
	uint32_t desc = desc_of(rec);
	struct desc *d = NULL;

	fill(&s, start_ns);
	if (ev->group == REEL_GROUP_MARK)
		return resolve_mark(&s);
	ev->site = r->thread[thread].site;
	r->thread[thread].site = 0;
	if (desc) {
		d = resolve_find_desc(&s, desc);
		if (!d && err->code)
			return -1;
		if (d) {
			const struct ofd *o = ofd_of(&s, d);

			ev->fd = d->fd;
			ev->open = o->row.open_id;
			ev->file = o->row.file_id;
		}
	}
	rc = d && is_plain_transfer(rec, ev) ? resolve_transfer(&s, d)
					     : resolve_effects(&s, d);
	if (rc <= 0)
		return rc;
	if (writes_checkpoint(&s))
		files_set_saved(&r->files, ev->file);
	if (ev->file) {
		ev->kind = r->files.file[ev->file].kind;
		ev->class_ = r->files.file[ev->file].class_;
	}
	return 1;
}
