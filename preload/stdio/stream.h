/* SPDX-License-Identifier: MIT */
/*
 * What is known of STDIO streams between their calls.
 *
 * Many calls on a stream are not wrapped: getc, printf, scanf cost 2 ns. Where
 * such a call left a stream is seen at the next one that is wrapped, because
 * the pointers of its buffer are not where the last one left them; the part
 * stdio_read or stdio_write then tells the position. All of it is read from
 * the fields that glibc's public struct FILE shows, so that no libc function
 * runs inside a wrapper.
 *
 * Small transfers of the same size that follow each other and find their bytes
 * in the buffer become one record, updated in place: see stream_run_more().
 */
#ifndef PRELOAD_STDIO_STREAM_H
#define PRELOAD_STDIO_STREAM_H

#include "preload/core/shim.h"
#include "preload/core/types.h"

/* glibc's _flags, since 1997. */
#define STREAM_UNBUFFERED 0x2
#define STREAM_NO_READS 0x4
#define STREAM_END 0x10
#define STREAM_ERROR 0x20
#define STREAM_BACKUP 0x100
#define STREAM_LINES 0x200
#define STREAM_PUTTING 0x800
#define STREAM_APPENDING 0x1000

#define STREAM_SMALL 512 /* bytes that may be told together with others */

/*
 * A stream, in the slot of its descriptor's number: a cache, whoever comes
 * last has it. Two threads may tear it; that costs a look at the kernel's
 * position.
 */
struct stream {
	const FILE *f;			 /* NULL: nothing known */
	const char *read, *write;	 /* as its last call left them */
	const struct shim_thread *owner; /* that used it first */
	bool shared; /* by more: its pointers may move at any time */
	bool forked; /* is a copy: what it wrote at once may be the parent's */
	uint32_t desc;
	uint32_t call, bytes; /* of its last record */
	const uint8_t *last;  /* where that record ended */
	uint32_t inherited;   /* bytes to be written that fork() copied */
	uint32_t end; /* of what is read: a new buffer may end elsewhere */
} __attribute__((aligned(64)));

#define STREAMS 64
extern struct stream streams[STREAMS];

HOT struct stream *stream_slot(const FILE *f)
{
	return &streams[(unsigned int)f->_fileno % STREAMS];
}

HOT bool stream_failed(const FILE *f)
{
	return f->_flags & STREAM_ERROR;
}

/* Is a transfer of @bytes one between the buffer and the caller only? */
HOT bool stream_buffered(const FILE *f, bool write, size_t bytes)
{
	return write ? (size_t)(f->_IO_write_end - f->_IO_write_ptr) >= bytes &&
			       f->_IO_write_end > f->_IO_write_ptr
		     : (size_t)(f->_IO_read_end - f->_IO_read_ptr) >= bytes;
}

/* The descriptor id of @f if it is recorded, or 0: pass through. */
uint32_t stream_desc(const FILE *f);

/* @f is new, or stands where its call left it: remember. */
void stream_seen(const FILE *f, uint32_t desc);

/* @f was moved to where it stands: as stream_seen(). */
void stream_placed(const FILE *f);

/* Before a call on @f: tell what others did to it. */
void stream_tell(const FILE *f, uint32_t desc);

/* Before @f is closed. */
void stream_closing(const FILE *f);

/*
 * The stream is about to be closed: what no call told of it is recorded, and
 * its descriptor leaves the table. Its id, or 0: not recorded. wrap.c
 */
uint32_t shim_stream_closing(FILE *f);

/* All streams are about to be flushed: what printf left in stdout. */
void stream_flushing(void);
void stream_flushed(void);

/* The program begins: where does its standard output stand? */
void stream_start(void);

/*
 * A child comes: what the standard streams moved is told while the position is
 * only ours. Nothing is flushed: the child's copies would lose it.
 */
void stream_forking(void);

/* We are what fork() made, with copies of all buffers. */
void stream_forked(void);

/* We forked: others move our streams' positions from now on. */
void stream_split(void);

/* The process ends, and flushes its streams or does not. */
void stream_finish(bool flushes);

/* The same for standard streams only, without a flush: _exit(). */
void stream_leaving(void);

/* --- one record for many calls -------------------------------------------- */

/* A call that goes into the run as it is; no clock is read. */
HOT bool stream_run_ready(const FILE *f, uint32_t call, bool write,
			  size_t bytes)
{
	const struct shim_thread *t = shim_self();
	const struct stream *s;

	if (unlikely(shim_null(f)))
		return false;
	s = stream_slot(f);
	return t->run.stream == s && s->f == f && t->run.end == t->p &&
	       t->run.call == call && t->run.bytes == bytes &&
	       t->run.count + 1 != t->run.timed &&
	       shim_fd_entry(f->_fileno) == s->desc &&
	       (write ? s->write == f->_IO_write_ptr
		      : s->read == f->_IO_read_ptr) &&
	       stream_buffered(f, write, bytes);
}

/* Two numbers below 2^28, as varints of four bytes each. */
HOT uint64_t stream_pair(uint64_t a, uint64_t b)
{
	uint64_t x = a | b << 32;

	return (x & 0x0000007f0000007f) | (x & 0x00003f8000003f80) << 1 |
	       (x & 0x001fc000001fc000) << 2 | (x & 0x0fe000000fe00000) << 3 |
	       0x0080808000808080;
}

/*
 * One call more of the run: size and count of its record, one store. False: a
 * signal handler recorded something meanwhile.
 */
HOT bool stream_run_more(const FILE *f, bool write)
{
	struct shim_thread *t = shim_self();
	struct stream *s = stream_slot(f);

	t->limit = shim_busy();
	shim_barrier();
	if (unlikely(t->run.end != t->p || t->run.stream != s)) {
		t->limit = t->room;
		return false;
	}
	t->run.count++;
	shim_store(t->run.end - 8,
		   stream_pair((uint64_t)t->run.bytes * t->run.count,
			       t->run.count));
	t->events++;
	shim_barrier();
	t->limit = t->room;
	if (write)
		s->write = f->_IO_write_ptr;
	else
		s->read = f->_IO_read_ptr;
	return true;
}

/* A transfer that was timed; @bytes is NONE where the call has no size. */
struct stream_call {
	uint32_t call, desc;
	bool write, buffered;
	bool more; /* than @got may have been read */
	uint64_t start, end;
	int64_t asked, got;
	int err;
	const char *at; /* the buffer's pointer before it */
};

/* Before: false when the stream is not recorded. */
bool stream_before(struct stream_call *c, const FILE *f, size_t bytes);
/* Instead: a call that was to go into a run, and could not. */
void stream_untimed(struct stream_call *c, const FILE *f);
void stream_after(struct stream_call *c, const FILE *f);

#endif
