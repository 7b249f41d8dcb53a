/* SPDX-License-Identifier: MIT */
/* Stream positions, and runs of small transfers (stream.h). */
#include "preload/stdio/stream.h"

#include <sys/stat.h>

#include "schemas/syscall.h"

#include "preload/core/counters.h"
#include "preload/core/memory.h"
#include "preload/core/symbols.h"
#include "preload/core/wrap.h"

#define RUN_MOST 0x3fff /* calls in a record */
#define RUN_TIMED 64	/* calls 2, 4, 8 ... and then every 64th are timed */
#define RUN_TIME_MOST (1u << 28)
#define MAGIC 0xfbad0000u

struct stream streams[STREAMS];
/* Initial positions of the standard streams; -1: none, or reported. */
#define STANDARD 3
static int64_t initial_pos[STANDARD] = {-1, -1, -1};
static uint32_t start_pid; /* not that of a child of vfork() */
static bool forked;	   /* buffers may hold bytes of the parent */
/*
 * Stream positions in counting mode, in which no reader derives them from the
 * records. pos + 1; 0: not sampled yet; < 0: unknown (shared with others).
 */
static struct counted {
	int64_t at;
	int64_t raw; /* the kernel's position */
} counted[STREAMS];

/* Has no record named the descriptor yet? */
static bool is_unidentified(uint32_t entry)
{
	return entry == SHIM_FD_UNKNOWN || entry == SHIM_FD_PARENTS;
}

static int64_t pending_bytes(const FILE *f);
static bool is_unreported(const FILE *f);
static void record_unreported(const FILE *f, bool flushes);

uint32_t stream_desc(const FILE *f)
{
	uint32_t entry;

	if (unlikely(!shim_hot.on || shim_null(f)))
		return 0;
	if (unlikely((unsigned int)f->_fileno < STANDARD) && is_unreported(f))
		record_unreported(f, true);
	entry = shim_fd(f->_fileno);
	if (likely(shim_is_desc(entry)))
		return entry;
	if (shim_is_counted(entry))
		shim_count(REEL_CODE_CALLS, 1);
	return 0;
}

static bool is_wide(const FILE *f)
{
	return f->_mode > 0; /* the buffer holds wide characters */
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

COLD static void counted_update(const FILE *f, bool other)
{
	struct counted *k = counted_slot(f);

	if (other)
		k->at = f->_fileno < STANDARD ? -1 : 0;
	if (!k->at)
		stream_sample_pos(f);
}

/* At EOF the pointers are as before the first read: add the EOF flag. */
static uint32_t read_end(const FILE *f)
{
	return (uint32_t)(uintptr_t)f->_IO_read_end ^
	       (f->_flags & STREAM_END ? 1u << 31 : 0);
}

static void save_pointers(struct stream *s, const FILE *f)
{
	s->read = f->_IO_read_ptr;
	s->write = f->_IO_write_ptr;
	s->end = read_end(f);
}

void stream_remember(const FILE *f, uint32_t desc)
{
	struct stream *s = stream_slot(f);
	bool other = s->f != f;

	if (f->_fileno < 0)
		return;
	if (other || s->desc != desc)
		*s = (struct stream){.f = f, .desc = desc};
	save_pointers(s, f);
	if (unlikely(shim_counting))
		counted_update(f, other);
}

/* A standard stream has no mode: ask its descriptor for O_APPEND. */
static bool is_appending(const FILE *f)
{
	int64_t flags;

	if (f->_flags & STREAM_APPENDING ||
	    (unsigned int)f->_fileno >= STANDARD)
		return f->_flags & STREAM_APPENDING;
	flags = raw(SYS_fcntl, f->_fileno, F_GETFL, 0);
	return flags >= 0 && flags & O_APPEND;
}

/*
 * The offset at which the buffer will be written; @pos: the kernel's position,
 * which after reads is past the data, as libc seeks back only when it writes.
 * An appending stream writes at the end of the file.
 */
static int64_t write_base(const FILE *f, int64_t pos)
{
	struct stat st;

	if (!is_appending(f))
		return pos - (f->_IO_read_end - f->_IO_write_base);
	if (f->_IO_write_ptr == f->_IO_write_base ||
	    raw(SYS_fstat, f->_fileno, &st))
		return pos;
	return st.st_size;
}

/* The position that the program sees, or < 0. */
static int64_t position(const FILE *f)
{
	int64_t pos = raw(SYS_lseek, f->_fileno, 0, SEEK_CUR);

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
 * Bytes that went through the buffer since @s (perhaps another stream's slot),
 * as far as the buffer shows: a lower bound.
 */
static int64_t bytes_passed(const struct stream *s, const FILE *f)
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

COLD void stream_sample_pos(const FILE *f)
{
	struct counted *k = counted_slot(f);
	struct stat st;

	if (!shim_counting || k->at < 0)
		return;
	k->raw = raw(SYS_lseek, f->_fileno, 0, SEEK_CUR);
	k->at = position(f) + 1;
	if (!(f->_flags & STREAM_APPENDING) || k->raw < 0)
		return;
	/* Reads and writes have positions of their own. */
	k->at = -1;
	if (f->_flags & STREAM_NO_READS && !raw(SYS_fstat, f->_fileno, &st))
		k->at = st.st_size + pending_bytes(f) + 1;
}

/* Bytes moved by unwrapped calls, up to @pos; @shown when @pos is no help. */
static int64_t counted_bytes(const FILE *f, int64_t pos, int64_t shown)
{
	struct counted *k = counted_slot(f);
	int64_t bytes = pos + 1 - k->at, raw;

	if (k->at <= 0 || pos < 0 || stream_slot(f)->f != f)
		return shown;
	if (f->_flags & STREAM_APPENDING) {
		/* Others may append too: while the stream has written nothing
		 * itself, all its bytes are in the buffer. */
		raw = raw(SYS_lseek, f->_fileno, 0, SEEK_CUR);
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

/* Unwritten bytes of the buffer. */
static int64_t pending_bytes(const FILE *f)
{
	return f->_flags & STREAM_PUTTING ? f->_IO_write_ptr - f->_IO_write_base
					  : 0;
}

static void add_bytes(const FILE *f, uint32_t desc, int64_t bytes, int64_t pos)
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

/* Record the bytes moved by unwrapped calls, and those that the parent left in
 * the buffer, since this process writes its copy of them too. */
static void record_unwrapped(struct stream *s, const FILE *f, uint32_t desc)
{
	int64_t bytes = bytes_passed(s, f), pos = position(f);

	if (unlikely(shim_counting))
		bytes = counted_bytes(f, pos, bytes);
	if (s->f == f) {
		bytes += s->inherited;
		s->inherited = 0;
	}
	add_bytes(f, desc, bytes, pos);
}

/* Record the written bytes of a stream whose buffer will be discarded. */
static void record_written(const FILE *f, uint32_t desc)
{
	int64_t pos = position(f), bytes = 0;

	if (pos < 0)
		return;
	pos -= pending_bytes(f);
	if (shim_counting)
		bytes = counted_bytes(f, pos, 0);
	add_bytes(f, desc, bytes, pos);
}

/*
 * A standard stream used by unwrapped calls only, none of which is recorded
 * yet. A child counts unwritten bytes alone: its parent moves the position too.
 */
static bool is_unreported(const FILE *f)
{
	bool putting = f->_flags & STREAM_PUTTING;

	return (unsigned int)f->_fileno < STANDARD &&
	       initial_pos[f->_fileno] >= 0 &&
	       is_unidentified(shim_fd_entry(f->_fileno)) &&
	       stream_slot(f)->f != f && f->_IO_buf_base &&
	       (putting || f->_fileno == STDIN_FILENO) &&
	       (!forked || (pending_bytes(f) && !is_wide(f)));
}

/* Flush now: libc would write these bytes soon anyway. */
static void flush_wide(const FILE *f)
{
	int saved = errno;

	if (f->_flags & STREAM_PUTTING)
		real.fflush((FILE *)(uintptr_t)f);
	errno = saved;
}

/* The position; without the unwritten bytes unless the stream @flushes. */
static int64_t unreported_end(const FILE *f, bool flushes)
{
	if (!is_wide(f))
		return position(f) - (flushes ? 0 : pending_bytes(f));
	if (flushes)
		flush_wide(f);
	return raw(SYS_lseek, f->_fileno, 0, SEEK_CUR);
}

COLD static void record_unreported(const FILE *f, bool flushes)
{
	int64_t pos = unreported_end(f, flushes),
		bytes = pos - initial_pos[f->_fileno];
	uint32_t desc;

	if (!flushes && bytes <= 0)
		return;
	/* In a child the initial position may be of another file. */
	if (flushes && bytes < pending_bytes(f))
		bytes = pending_bytes(f);
	desc = bytes > 0 ? shim_known(f->_fileno) : 0;
	initial_pos[f->_fileno] = -1;
	if (!desc)
		return;
	add_bytes(f, desc, bytes, pos);
	stream_remember(f, desc);
	if (!flushes)
		stream_slot(f)->write = f->_IO_write_base;
}

/* Wide characters: libc converts them internally, so ask for the position. */
static void record_wide(const FILE *f, uint32_t desc, int64_t from)
{
	int64_t pos = raw(SYS_lseek, f->_fileno, 0, SEEK_CUR);
	int64_t bytes = from >= 0 && pos > from ? pos - from : 0;

	if (from < 0 && shim_counting)
		bytes = counted_bytes(f, pos, 0);
	if (pos >= 0)
		add_bytes(f, desc, bytes, pos);
}

/* Each line or byte was transferred at once: the pointers show no move. */
static bool hides_moves(const FILE *f)
{
	if (f->_flags & STREAM_PUTTING)
		return f->_flags & STREAM_LINES ||
		       (f->_flags & STREAM_UNBUFFERED &&
			f->_IO_write_ptr == f->_IO_write_base);
	return f->_flags & STREAM_UNBUFFERED &&
	       (f->_IO_read_end != f->_IO_read_base || f->_flags & STREAM_END);
}

static bool has_moved(const struct stream *s, const FILE *f, uint32_t desc)
{
	if (s->f != f || s->desc != desc)
		return !is_new(f);
	return s->read != f->_IO_read_ptr || s->write != f->_IO_write_ptr ||
	       s->end != read_end(f) || (!s->forked && hides_moves(f));
}

void stream_record_moved(const FILE *f, uint32_t desc)
{
	struct stream *s = stream_slot(f);

	if (desc && unlikely(is_wide(f))) {
		flush_wide(f);
		record_wide(f, desc, -1);
	} else if (desc && (has_moved(s, f, desc) ||
			    (s->f == f && (s->shared || s->inherited)))) {
		record_unwrapped(s, f, desc);
	}
}

/* Is @f still a stream? The kernel checks memory that may be unmapped. */
static bool is_alive(const FILE *f)
{
	return f && shim_readable(f, sizeof(*f)) &&
	       ((unsigned int)f->_flags & 0xffff0000) == MAGIC &&
	       f->_fileno >= 0;
}

/* Unwritten bytes that no record covers, in a stream without a slot. */
static bool is_unrecorded(const FILE *f)
{
	return is_alive(f) && stream_slot(f)->f != f && !is_wide(f) &&
	       f->_flags & STREAM_PUTTING &&
	       f->_IO_write_ptr > f->_IO_write_base;
}

void stream_start(void)
{
	struct stat st;

	start_pid = (uint32_t)raw(SYS_getpid);
	for (int fd = 0; fd < STANDARD; fd++) {
		initial_pos[fd] = raw(SYS_lseek, fd, 0, SEEK_CUR);
		/* O_APPEND moves the position at the first write only. */
		if (initial_pos[fd] >= 0 &&
		    raw(SYS_fcntl, fd, F_GETFL, 0) & O_APPEND)
			initial_pos[fd] =
				raw(SYS_fstat, fd, &st) ? -1 : st.st_size;
	}
}

void stream_closing(const FILE *f)
{
	struct stream *s = stream_slot(f);
	uint32_t desc;

	if (is_unreported(f))
		record_unreported(f, true);
	desc = shim_fd_entry(f->_fileno);
	if (is_unidentified(desc) && is_unrecorded(f))
		desc = shim_fd(f->_fileno);
	if (shim_is_desc(desc))
		stream_record_moved(f, desc);
	if (s->f == f)
		s->f = NULL;
}

/* The stream of slot @s, if it still exists and has that slot; else NULL. */
static const FILE *stream_of(const struct stream *s)
{
	return is_alive(s->f) && stream_slot(s->f) == s ? s->f : NULL;
}

void stream_forking(void)
{
	FILE *const all[STANDARD] = {stdin, stdout, stderr};

	if (!shim_hot.on || start_pid != (uint32_t)raw(SYS_getpid))
		return;
	for (int fd = 0; fd < STANDARD; fd++)
		if (is_alive(all[fd]) && is_unreported(all[fd]))
			record_unreported(all[fd], false);
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

		if (!f || is_wide(f))
			continue;
		if (shim_counting)
			s->desc = 0; /* the child identifies it again */
		s->owner = NULL;
		s->shared = false;
		s->forked = true;
		s->last = NULL;
		save_pointers(s, f);
		s->inherited = (uint32_t)pending_bytes(f);
	}
}

/* Record the bytes of copied buffers that this process is about to write. */
static void record_inherited(void)
{
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &streams[i];
		const FILE *f = s->inherited ? stream_of(s) : NULL;
		uint32_t desc = f ? shim_known(f->_fileno) : 0;

		if (!desc || is_wide(f) || (s->desc && s->desc != desc))
			continue;
		record_unwrapped(s, f, desc);
		stream_remember(f, desc);
	}
}

/* The stream of the slot, if no other thread is known to use it; else NULL. */
static const FILE *own_stream(const struct stream *s)
{
	const FILE *f;

	if (!s->f || !s->desc || s->shared ||
	    (s->owner && s->owner != shim_self()))
		return NULL;
	f = stream_of(s);
	return f && !is_wide(f) && shim_fd_entry(f->_fileno) == s->desc ? f
									: NULL;
}

/*
 * Before a flush, which may reset the pointers to their former values. A stream
 * that was read may be written next.
 */
static void record_own(void)
{
	for (int i = 0; i < STREAMS; i++) {
		const struct stream *s = &streams[i];
		const FILE *f = own_stream(s);

		if (!f)
			continue;
		stream_record_moved(f, s->desc);
		stream_remember(f, s->desc);
	}
}

void stream_flushing(void)
{
	uint32_t desc;

	if (!shim_hot.on)
		return;
	if (forked)
		record_inherited();
	record_own();
	if (is_alive(stdout) && is_unreported(stdout)) {
		record_unreported(stdout, true);
		return;
	}
	if (!is_unrecorded(stdout))
		return;
	desc = shim_known(stdout->_fileno);
	stream_record_moved(stdout, desc);
	if (desc)
		stream_remember(stdout, desc);
}

void stream_flushed(void)
{
	if (stream_slot(stdout)->f == stdout)
		stream_remember(stdout, stream_slot(stdout)->desc);
	for (int i = 0; i < STREAMS; i++) {
		const FILE *f = own_stream(&streams[i]);

		if (f)
			stream_remember(f, streams[i].desc);
	}
}

/* Standard streams that no record has named yet. */
static void finish_standard(bool flushes)
{
	FILE *const all[STANDARD] = {stdin, stdout, stderr};

	for (int fd = 0; fd < STANDARD; fd++) {
		const FILE *f = all[fd];

		if (!is_alive(f))
			continue;
		if (is_unreported(f)) {
			record_unreported(f, flushes);
		} else if (flushes && is_wide(f) && initial_pos[fd] >= 0 &&
			   !forked && f->_fileno == fd &&
			   stream_slot(f)->f != f && shim_known(fd)) {
			flush_wide(f);
			record_wide(f, shim_known(fd), initial_pos[fd]);
		}
	}
}

void stream_leaving(void)
{
	if (!forked && start_pid == (uint32_t)raw(SYS_getpid))
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
		if (!flushes && is_wide(f))
			record_wide(f, s->desc, -1);
		else if (flushes || !pending_bytes(f))
			stream_record_moved(f, s->desc);
		else if (has_moved(s, f, s->desc))
			record_written(f, s->desc);
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
	/* The pointers of a shared stream show the moves of other threads. */
	if (unlikely(has_moved(s, f, c->desc) && !is_wide(f) &&
		     !(s->f == f && s->shared)))
		record_unwrapped(s, f, c->desc);
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

/* Append a record that later calls of the same size can join. */
static bool begin_run(struct stream *s, const struct stream_call *c)
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
	t->last_size = UINT64_MAX; /* a sum: no later size refers to it */
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

/* Add a timed call to the run: it counts for all since the last timed one. */
static bool add_timed(struct stream *s, const struct stream_call *c,
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
	if (dur > delta) /* the clock reads took part of it */
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
	if (add_timed(s, c, f))
		return true;
	return s->last == t->p && s->call == c->call && s->bytes == c->asked &&
	       begin_run(s, c);
}

/* The buffer overflowed, so its inherited bytes were written: record them. */
static void record_overrun(struct stream *s, const struct stream_call *c,
			   const FILE *f)
{
	int64_t pos = position(f);

	add_bytes(f, c->desc, s->inherited, pos < 0 ? pos : pos - c->got);
	s->inherited = 0;
}

/* A read whose result does not show all it consumed: record the position. */
COLD static void record_reached(const struct stream_call *c, const FILE *f)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = c->call};
	int64_t got = c->got, pos = position(f);

	ev.desc = c->desc;
	ev.size = c->asked;
	if (pos >= 0)
		ev.pos = pos;
	if (shim_counting)
		got += counted_bytes(f, pos, 0);
	shim_record_full(&ev, c->start, c->end, got, 0);
}

void stream_after(struct stream_call *c, const FILE *f)
{
	struct stream *s = stream_slot(f);

	if (unlikely(s->inherited) && s->f == f && c->write &&
	    f->_IO_write_ptr - c->at != c->got)
		record_overrun(s, c, f);
	stream_remember(f, c->desc);
	if (unlikely(shim_counting) && c->got > 0 && counted_slot(f)->at > 0)
		counted_slot(f)->at += c->got;
	if (!s->owner)
		s->owner = shim_self();
	if (unlikely(c->more) && !is_wide(f) && !s->shared)
		record_reached(c, f);
	else if (!add_to_run(s, c, f))
		shim_record_io(c->call, c->desc, c->asked, NONE, c->start,
			       c->end, c->got, c->err);
	s->call = c->call;
	s->bytes = (uint32_t)c->asked;
	s->last = shim_self()->p;
}
