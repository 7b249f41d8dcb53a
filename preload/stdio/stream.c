/* SPDX-License-Identifier: MIT */
/*
 * Streams: where they stand, and runs of small transfers (stream.h).
 */
#include "preload/stdio/stream.h"

#include <sys/stat.h>

#include "schemas/syscall.h"

#include "preload/core/counters.h"
#include "preload/core/memory.h"
#include "preload/core/symbols.h"
#include "preload/core/wrap.h"

#define RUN_MOST 0x3fff /* calls in a record */
#define RUN_TIMED 64	/* calls 2, 4, 8 ... and then each 64th are timed */
#define RUN_TIME_MOST (1u << 28)
#define MAGIC 0xfbad0000u

struct stream streams[STREAMS];
/* Where the standard streams stood as the process began; -1: does not matter. */
#define STANDARD 3
static int64_t born[STANDARD] = {-1, -1, -1};
static uint32_t born_pid; /* not that of a child of vfork() */
static bool forked;	  /* some of them may have bytes of our parent's */
/*
 * Where streams stand whose calls are counted: no reader adds up what is told
 * of their positions. 1 + the position; 0: not looked at yet; < 0: not to be
 * known, as others move it too.
 */
static struct counted {
	int64_t at;
	int64_t raw; /* the kernel's */
} counted[STREAMS];

/* Was nobody told of its descriptor? */
static bool unheard(uint32_t entry)
{
	return entry == SHIM_FD_UNKNOWN || entry == SHIM_FD_PARENTS;
}

static int64_t pending(const FILE *f);
static bool untold(const FILE *f);
static void tell_untold(const FILE *f, bool flushes);

uint32_t stream_desc(const FILE *f)
{
	uint32_t entry;

	if (unlikely(!shim_hot.on || shim_null(f)))
		return 0;
	if (unlikely((unsigned int)f->_fileno < STANDARD) && untold(f))
		tell_untold(f, true);
	entry = shim_fd(f->_fileno);
	if (likely(shim_is_desc(entry)))
		return entry;
	if (shim_is_counted(entry))
		shim_count(REEL_CODE_CALLS, 1);
	return 0;
}

static bool wide(const FILE *f)
{
	return f->_mode > 0; /* its bytes are converted elsewhere */
}

static bool is_new(const FILE *f)
{
	return f->_IO_read_end == f->_IO_read_base &&
	       f->_IO_write_ptr == f->_IO_write_base && !f->_IO_buf_base;
}

static struct counted *counted_slot(const FILE *f)
{
	return &counted[stream_slot(f) - streams];
}

COLD static void counted_seen(const FILE *f, bool other)
{
	struct counted *k = counted_slot(f);

	if (other)
		k->at = f->_fileno < STANDARD ? -1 : 0;
	if (!k->at)
		stream_placed(f);
}

/* At the end of the file the buffer looks as before its first read. */
static uint32_t read_end(const FILE *f)
{
	return (uint32_t)(uintptr_t)f->_IO_read_end ^
	       (f->_flags & STREAM_END ? 1u << 31 : 0);
}

static void remember(struct stream *s, const FILE *f)
{
	s->read = f->_IO_read_ptr;
	s->write = f->_IO_write_ptr;
	s->end = read_end(f);
}

void stream_seen(const FILE *f, uint32_t desc)
{
	struct stream *s = stream_slot(f);
	bool other = s->f != f;

	if (f->_fileno < 0)
		return;
	if (other || s->desc != desc)
		*s = (struct stream){.f = f, .desc = desc};
	remember(s, f);
	if (unlikely(shim_counting))
		counted_seen(f, other);
}

/* A standard stream has no mode: its descriptor may have been given to append. */
static bool appends(const FILE *f)
{
	int64_t flags;

	if (f->_flags & STREAM_APPENDING ||
	    (unsigned int)f->_fileno >= STANDARD)
		return f->_flags & STREAM_APPENDING;
	flags = raw3(SYS_fcntl, f->_fileno, F_GETFL, 0);
	return flags >= 0 && flags & O_APPEND;
}

/*
 * Where what waits in the buffer will be written, the kernel standing at @pos:
 * after reads that is behind them, and libc goes back only as it writes. What
 * is appended goes to the end, wherever the kernel stands.
 */
static int64_t write_base(const FILE *f, int64_t pos)
{
	struct stat st;

	if (!appends(f))
		return pos - (f->_IO_read_end - f->_IO_write_base);
	if (f->_IO_write_ptr == f->_IO_write_base ||
	    raw2(SYS_fstat, f->_fileno, &st))
		return pos;
	return st.st_size;
}

/* Where the program stands in the file, or < 0. */
static int64_t position(const FILE *f)
{
	int64_t pos = raw3(SYS_lseek, f->_fileno, 0, SEEK_CUR);

	if (pos < 0)
		return pos;
	if (f->_flags & STREAM_PUTTING)
		return write_base(f, pos) +
		       (f->_IO_write_ptr - f->_IO_write_base);
	pos -= f->_IO_read_end - f->_IO_read_ptr;
	if (f->_flags & STREAM_BACKUP)
		pos -= f->_IO_save_end - f->_IO_save_base;
	return pos;
}

/*
 * Bytes that went through the buffer since @s, which may be another's slot, as
 * far as the buffer shows: there are no fewer.
 */
static int64_t passed(const struct stream *s, const FILE *f)
{
	bool known = s->f == f && !s->shared;
	const char *from;

	if (f->_flags & STREAM_PUTTING) {
		from = known && s->write >= f->_IO_write_base
			       ? s->write
			       : f->_IO_write_base;
		return f->_IO_write_ptr > from ? f->_IO_write_ptr - from : 0;
	}
	if (f->_flags & STREAM_BACKUP)
		return 0;
	from = known && s->read >= f->_IO_read_base ? s->read
						    : f->_IO_read_base;
	return f->_IO_read_ptr > from ? f->_IO_read_ptr - from : 0;
}

COLD void stream_placed(const FILE *f)
{
	struct counted *k = counted_slot(f);
	struct stat st;

	if (!shim_counting || k->at < 0)
		return;
	k->raw = raw3(SYS_lseek, f->_fileno, 0, SEEK_CUR);
	k->at = position(f) + 1;
	if (!(f->_flags & STREAM_APPENDING) || k->raw < 0)
		return;
	/* Its reads stand elsewhere than its writes. */
	k->at = -1;
	if (f->_flags & STREAM_NO_READS && !raw2(SYS_fstat, f->_fileno, &st))
		k->at = st.st_size + pending(f) + 1;
}

/* Bytes moved by calls that have no record, up to @pos; or what is @shown. */
static int64_t counted_moved(const FILE *f, int64_t pos, int64_t shown)
{
	struct counted *k = counted_slot(f);
	int64_t bytes = pos + 1 - k->at, raw;

	if (k->at <= 0 || pos < 0 || stream_slot(f)->f != f)
		return shown;
	if (f->_flags & STREAM_APPENDING) {
		/* Others may append, too: as long as it has written nothing
		 * itself, all of it is in the buffer. */
		raw = raw3(SYS_lseek, f->_fileno, 0, SEEK_CUR);
		if (raw == k->raw)
			bytes = shown;
		k->raw = raw;
	}
	if (bytes <= 0)
		return 0;
	k->at += bytes;
	return bytes;
}

void stream_split(void)
{
	for (int i = 0; shim_counting && i < STREAMS; i++)
		counted[i].at = -1;
}

/* Bytes of the buffer that are still to be written. */
static int64_t pending(const FILE *f)
{
	return f->_flags & STREAM_PUTTING ? f->_IO_write_ptr - f->_IO_write_base
					  : 0;
}

static void tell_bytes(const FILE *f, uint32_t desc, int64_t bytes, int64_t pos)
{
	struct shim_event ev = {SHIM_EVENT_NONE};
	uint64_t now = shim_clock();

	ev.call =
		f->_flags & STREAM_PUTTING ? CALL_STDIO_WRITE : CALL_STDIO_READ;
	ev.desc = desc;
	ev.size = bytes;
	if (pos >= 0)
		ev.pos = pos;
	if (pos >= 0 || ev.size)
		shim_record_full(&ev, now, now, ev.size, 0);
}

/* What others moved; and what our parent left in the buffer, as its copy is
 * written by us, too. */
static void tell(struct stream *s, const FILE *f, uint32_t desc)
{
	int64_t bytes = passed(s, f), pos = position(f);

	if (unlikely(shim_counting))
		bytes = counted_moved(f, pos, bytes);
	if (s->f == f) {
		bytes += s->inherited;
		s->inherited = 0;
	}
	tell_bytes(f, desc, bytes, pos);
}

/* The buffer is not going to be written. */
static void tell_written(const FILE *f, uint32_t desc)
{
	int64_t pos = position(f), bytes = 0;

	if (pos < 0)
		return;
	pos -= pending(f);
	if (shim_counting)
		bytes = counted_moved(f, pos, 0);
	tell_bytes(f, desc, bytes, pos);
}

/*
 * A standard stream that has moved its file, by calls that have no record, and
 * nobody was told of either. In a child what its parent moves is not its own.
 */
static bool untold(const FILE *f)
{
	bool putting = f->_flags & STREAM_PUTTING;

	return (unsigned int)f->_fileno < STANDARD && born[f->_fileno] >= 0 &&
	       unheard(shim_fd_entry(f->_fileno)) && stream_slot(f)->f != f &&
	       f->_IO_buf_base && (putting || f->_fileno == STDIN_FILENO) &&
	       (!forked || (pending(f) && !wide(f)));
}

/* What libc is about to write anyway it writes now. */
static void flush_wide(const FILE *f)
{
	int saved = errno;

	if (f->_flags & STREAM_PUTTING)
		real.fflush((FILE *)(uintptr_t)f);
	errno = saved;
}

/* Where it stands; without what waits in its buffer unless it @flushes. */
static int64_t untold_end(const FILE *f, bool flushes)
{
	if (!wide(f))
		return position(f) - (flushes ? 0 : pending(f));
	if (flushes)
		flush_wide(f);
	return raw3(SYS_lseek, f->_fileno, 0, SEEK_CUR);
}

COLD static void tell_untold(const FILE *f, bool flushes)
{
	int64_t pos = untold_end(f, flushes), bytes = pos - born[f->_fileno];
	uint32_t desc;

	if (!flushes && bytes <= 0)
		return;
	/* Where a child's stream was born, its file may have been another. */
	if (flushes && bytes < pending(f))
		bytes = pending(f);
	desc = bytes > 0 ? shim_known(f->_fileno) : 0;
	born[f->_fileno] = -1;
	if (!desc)
		return;
	tell_bytes(f, desc, bytes, pos);
	stream_seen(f, desc);
	if (!flushes)
		stream_slot(f)->write = f->_IO_write_base;
}

/* Of characters, which libc converts where nobody looks, the kernel tells. */
static void tell_wide(const FILE *f, uint32_t desc, int64_t from)
{
	int64_t pos = raw3(SYS_lseek, f->_fileno, 0, SEEK_CUR);
	int64_t bytes = from >= 0 && pos > from ? pos - from : 0;

	if (from < 0 && shim_counting)
		bytes = counted_moved(f, pos, 0);
	if (pos >= 0)
		tell_bytes(f, desc, bytes, pos);
}

/* Each line, or each byte, was moved at once: the pointers tell nothing. */
static bool went_at_once(const FILE *f)
{
	if (f->_flags & STREAM_PUTTING)
		return f->_flags & STREAM_LINES ||
		       (f->_flags & STREAM_UNBUFFERED &&
			f->_IO_write_ptr == f->_IO_write_base);
	return f->_flags & STREAM_UNBUFFERED &&
	       (f->_IO_read_end != f->_IO_read_base || f->_flags & STREAM_END);
}

static bool moved(const struct stream *s, const FILE *f, uint32_t desc)
{
	if (s->f != f || s->desc != desc)
		return !is_new(f);
	return s->read != f->_IO_read_ptr || s->write != f->_IO_write_ptr ||
	       s->end != read_end(f) || (!s->forked && went_at_once(f));
}

void stream_tell(const FILE *f, uint32_t desc)
{
	struct stream *s = stream_slot(f);

	if (desc && unlikely(wide(f))) {
		flush_wide(f);
		tell_wide(f, desc, -1);
	} else if (desc && (moved(s, f, desc) ||
			    (s->f == f && (s->shared || s->inherited)))) {
		tell(s, f, desc);
	}
}

/* Freed memory may be gone: asked of the kernel. */
static bool alive(const FILE *f)
{
	return f && shim_readable(f, sizeof(*f)) &&
	       ((unsigned int)f->_flags & 0xffff0000) == MAGIC &&
	       f->_fileno >= 0;
}

/* One that no wrapped call has met, with bytes that nobody told of. */
static bool unseen(const FILE *f)
{
	return alive(f) && stream_slot(f)->f != f && !wide(f) &&
	       f->_flags & STREAM_PUTTING &&
	       f->_IO_write_ptr > f->_IO_write_base;
}

void stream_start(void)
{
	struct stat st;

	born_pid = (uint32_t)raw0(SYS_getpid);
	for (int fd = 0; fd < STANDARD; fd++) {
		born[fd] = raw3(SYS_lseek, fd, 0, SEEK_CUR);
		/* Of what is appended to, the position tells nothing yet. */
		if (born[fd] >= 0 && raw3(SYS_fcntl, fd, F_GETFL, 0) & O_APPEND)
			born[fd] = raw2(SYS_fstat, fd, &st) ? -1 : st.st_size;
	}
}

void stream_closing(const FILE *f)
{
	struct stream *s = stream_slot(f);
	uint32_t desc;

	if (untold(f))
		tell_untold(f, true);
	desc = shim_fd_entry(f->_fileno);
	if (unheard(desc) && unseen(f))
		desc = shim_fd(f->_fileno);
	if (shim_is_desc(desc))
		stream_tell(f, desc);
	if (s->f == f)
		s->f = NULL;
}

/* That of the slot @s, if it is alive and still the slot's; else NULL. */
static const FILE *stream_of(const struct stream *s)
{
	return alive(s->f) && stream_slot(s->f) == s ? s->f : NULL;
}

void stream_forking(void)
{
	FILE *const all[STANDARD] = {stdin, stdout, stderr};

	if (!shim_hot.on || born_pid != (uint32_t)raw0(SYS_getpid))
		return;
	for (int fd = 0; fd < STANDARD; fd++)
		if (alive(all[fd]) && untold(all[fd]))
			tell_untold(all[fd], false);
}

void stream_forked(void)
{
	if (!shim_hot.on)
		return;
	forked = true;
	stream_start();
	stream_split();
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &streams[i];
		const FILE *f = stream_of(s);

		if (!f || wide(f))
			continue;
		if (shim_counting)
			s->desc = 0; /* it gets a name of ours */
		s->owner = NULL;
		s->shared = false;
		s->forked = true;
		s->last = NULL;
		remember(s, f);
		s->inherited = (uint32_t)pending(f);
	}
}

/* Streams whose buffers a fork copied: are they written by us, too? */
static void tell_inherited(void)
{
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &streams[i];
		const FILE *f = s->inherited ? stream_of(s) : NULL;
		uint32_t desc = f ? shim_known(f->_fileno) : 0;

		if (!desc || wide(f) || (s->desc && s->desc != desc))
			continue;
		tell(s, f, desc);
		stream_seen(f, desc);
	}
}

/* That of the slot, if no other thread is known to use it; else NULL. */
static const FILE *own_stream(const struct stream *s)
{
	const FILE *f;

	if (!s->f || !s->desc || s->shared ||
	    (s->owner && s->owner != shim_self()))
		return NULL;
	f = stream_of(s);
	return f && !wide(f) && shim_fd_entry(f->_fileno) == s->desc ? f : NULL;
}

/*
 * A flush leaves the buffer's pointers where they may have been before what
 * went through it came, and what was read may be written next.
 */
static void tell_own(void)
{
	for (int i = 0; i < STREAMS; i++) {
		const struct stream *s = &streams[i];
		const FILE *f = own_stream(s);

		if (!f)
			continue;
		stream_tell(f, s->desc);
		stream_seen(f, s->desc);
	}
}

void stream_flushing(void)
{
	uint32_t desc;

	if (!shim_hot.on)
		return;
	if (forked)
		tell_inherited();
	tell_own();
	if (alive(stdout) && untold(stdout)) {
		tell_untold(stdout, true);
		return;
	}
	if (!unseen(stdout))
		return;
	desc = shim_known(stdout->_fileno);
	stream_tell(stdout, desc);
	if (desc)
		stream_seen(stdout, desc);
}

void stream_flushed(void)
{
	if (stream_slot(stdout)->f == stdout)
		stream_seen(stdout, stream_slot(stdout)->desc);
	for (int i = 0; i < STREAMS; i++) {
		const FILE *f = own_stream(&streams[i]);

		if (f)
			stream_seen(f, streams[i].desc);
	}
}

/* The standard streams, which programs use before anybody is told of them. */
static void finish_standard(bool flushes)
{
	FILE *const all[STANDARD] = {stdin, stdout, stderr};

	for (int fd = 0; fd < STANDARD; fd++) {
		const FILE *f = all[fd];

		if (!alive(f))
			continue;
		if (untold(f)) {
			tell_untold(f, flushes);
		} else if (flushes && wide(f) && born[fd] >= 0 && !forked &&
			   f->_fileno == fd && stream_slot(f)->f != f &&
			   shim_known(fd)) {
			flush_wide(f);
			tell_wide(f, shim_known(fd), born[fd]);
		}
	}
}

void stream_leaving(void)
{
	if (!forked && born_pid == (uint32_t)raw0(SYS_getpid))
		finish_standard(false);
}

void stream_finish(bool flushes)
{
	if (!shim_hot.on)
		return;
	if (flushes) {
		stream_flushing();
		finish_standard(true);
	} else {
		stream_leaving();
	}
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &streams[i];
		const FILE *f = stream_of(s);

		if (f && s->inherited && shim_counting)
			s->desc = shim_known(f->_fileno);
		if (!f || shim_fd_entry(f->_fileno) != s->desc || !s->desc)
			continue;
		if (!flushes && wide(f))
			tell_wide(f, s->desc, -1);
		else if (flushes || !pending(f))
			stream_tell(f, s->desc);
		else if (moved(s, f, s->desc))
			tell_written(f, s->desc);
	}
}

bool stream_before(struct stream_call *c, const FILE *f, size_t bytes)
{
	struct stream *s;

	c->desc = stream_desc(f);
	if (!c->desc)
		return false;
	s = stream_slot(f);
	if (s->f == f && s->owner && s->owner != shim_self())
		s->shared = true;
	/* Of a stream that several use, the pointers tell nothing. */
	if (unlikely(moved(s, f, c->desc) && !wide(f) &&
		     !(s->f == f && s->shared)))
		tell(s, f, c->desc);
	c->at = f->_IO_write_ptr;
	c->buffered =
		bytes - 1 < STREAM_SMALL && stream_buffered(f, c->write, bytes);
	return true;
}

void stream_untimed(struct stream_call *c, const FILE *f)
{
	c->desc = stream_slot(f)->desc;
	c->buffered = false;
	c->at = f->_IO_write_ptr;
	c->start = c->end = shim_clock();
}

/* A record that calls like it can be added to. */
static bool run_begin(struct stream *s, const struct stream_call *c)
{
	struct shim_thread *t = shim_begin(SHIM_RECORD_MAX, c->start);
	uint64_t delta, dur = c->end - c->start;
	uint8_t *p;

	if (!t)
		return true; /* lost, counted */
	delta = c->end - t->last_end;
	if ((delta | dur) >= RUN_TIME_MOST || t->last_desc != c->desc ||
	    t->p != s->last) {
		t->limit = t->room;
		return false;
	}
	t->run = (struct shim_run){
		.stream = s,
		.end = t->p + 19,
		.before = t->last_end,
		.dur = dur,
		.call = c->call,
		.bytes = (uint32_t)c->asked,
		.count = 1,
		.timed = 2,
	};
	t->last_end = c->end;
	t->last_size = UINT64_MAX; /* the sum, which nobody repeats */
	p = t->p;
	shim_store(p + 3, stream_pair(delta, dur));
	shim_store(p + 11, stream_pair(t->run.bytes, 1));
	p[2] = REEL_M_COUNT;
	p[1] = REEL_F_DESC_SAME | REEL_F_SIZE_NEW | REEL_F_MORE;
	shim_barrier();
	p[0] = (uint8_t)c->call;
	shim_end(t, p + 19);
	return true;
}

/* A call of the run whose time was taken stands for those since the last. */
static bool run_timed(struct stream *s, const struct stream_call *c,
		      const FILE *f)
{
	struct shim_thread *t = shim_self();
	struct shim_run *run = &t->run;
	uint64_t dur = c->end - c->start, delta = c->end - run->before;
	uint32_t step = run->timed < RUN_TIMED ? run->timed : RUN_TIMED;
	uint32_t since = run->timed <= RUN_TIMED ? run->timed / 2 : RUN_TIMED;

	if (run->stream != s || run->end != t->p || run->call != c->call ||
	    run->bytes != c->asked || run->count + 1 != run->timed ||
	    run->timed + RUN_TIMED > RUN_MOST)
		return false;
	dur = run->dur + dur * since;
	if (dur > delta) /* timing a call costs as much again */
		dur = delta;
	if ((delta | dur) >= RUN_TIME_MOST || !stream_run_more(f, c->write))
		return false;
	run->dur = dur;
	run->timed += step;
	t->last_end = c->end;
	shim_store(run->end - 16, stream_pair(delta, dur));
	return true;
}

static bool add_to_run(struct stream *s, const struct stream_call *c,
		       const FILE *f)
{
	const struct shim_thread *t = shim_self();

	if (!c->buffered || c->got != c->asked || c->err || shim_counting ||
	    shim_sites)
		return false;
	if (run_timed(s, c, f))
		return true;
	return s->last == t->p && s->call == c->call && s->bytes == c->asked &&
	       run_begin(s, c);
}

/* More went through the buffer than it has room for: all of it is written. */
static void overran(struct stream *s, const struct stream_call *c,
		    const FILE *f)
{
	int64_t pos = position(f);

	tell_bytes(f, c->desc, s->inherited, pos < 0 ? pos : pos - c->got);
	s->inherited = 0;
}

/* A read that does not say how far it went: where the stream stands does. */
COLD static void record_reached(const struct stream_call *c, const FILE *f)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = c->call};
	int64_t got = c->got, pos = position(f);

	ev.desc = c->desc;
	ev.size = c->asked;
	if (pos >= 0)
		ev.pos = pos;
	if (shim_counting)
		got += counted_moved(f, pos, 0);
	shim_record_full(&ev, c->start, c->end, got, 0);
}

void stream_after(struct stream_call *c, const FILE *f)
{
	struct stream *s = stream_slot(f);

	if (unlikely(s->inherited) && s->f == f && c->write &&
	    f->_IO_write_ptr - c->at != c->got)
		overran(s, c, f);
	stream_seen(f, c->desc);
	if (unlikely(shim_counting) && c->got > 0 && counted_slot(f)->at > 0)
		counted_slot(f)->at += c->got;
	if (!s->owner)
		s->owner = shim_self();
	if (unlikely(c->more) && !wide(f) && !s->shared)
		record_reached(c, f);
	else if (!add_to_run(s, c, f))
		shim_record_io(c->call, c->desc, c->asked, NONE, c->start,
			       c->end, c->got, c->err);
	s->call = c->call;
	s->bytes = (uint32_t)c->asked;
	s->last = shim_self()->p;
}
