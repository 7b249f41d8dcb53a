/* SPDX-License-Identifier: MIT */
/*
 * The state of STDIO streams between wrapped calls.
 *
 * Many calls on a stream are not wrapped: getc, printf, scanf cost 2 ns. Their
 * effect is found at the next wrapped call, because the pointers of the buffer
 * differ from those that the last wrapped call left; the part stdio_read or
 * stdio_write then records the bytes and the position. All of it is read from
 * the fields that glibc's public struct FILE shows, so that no libc function
 * runs inside a wrapper.
 *
 * Consecutive small transfers of the same size between buffer and caller become
 * one record, updated in place: see stream_run_more().
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

#define STREAM_SMALL 512 /* largest transfer that joins a run */

/*
 * A stream, in the slot of its descriptor number. The slots are a cache: the
 * last stream used has it. A torn update by two threads costs one lseek().
 */
struct stream {
	const FILE *f;			 /* NULL: the slot is free */
	const char *read, *write;	 /* pointers after the last call */
	const struct shim_thread *owner; /* the first thread that used it */
	bool shared; /* by threads: its pointers may move at any time */
	bool forked; /* a copy: unbuffered writes may be the parent's */
	uint32_t desc;
	uint32_t call, bytes; /* of its last record */
	const uint8_t *last;  /* the end of that record */
	uint32_t inherited;   /* unwritten bytes that fork() copied */
	uint32_t end; /* of the read buffer: a refill may end elsewhere */
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

/* Does a transfer of @bytes need no system call? */
HOT bool stream_buffered(const FILE *f, bool write, size_t bytes)
{
	return write ? (size_t)(f->_IO_write_end - f->_IO_write_ptr) >= bytes &&
			       f->_IO_write_end > f->_IO_write_ptr
		     : (size_t)(f->_IO_read_end - f->_IO_read_ptr) >= bytes;
}

/* The descriptor id of @f if it is recorded, or 0: pass through. */
uint32_t stream_desc(const FILE *f);

/* After an open of @f or a wrapped call on it: save its buffer pointers. */
void stream_remember(const FILE *f, uint32_t desc);

/* After a seek on @f: while calls are counted, take its new position. */
void stream_sample_pos(const FILE *f);

/* Before a wrapped call on @f: record the bytes that unwrapped calls moved. */
void stream_record_moved(const FILE *f, uint32_t desc);

/* Before @f is closed. */
void stream_closing(const FILE *f);

/*
 * Before a stream is closed: record the bytes that unwrapped calls moved, and
 * remove its descriptor from the table. Returns its id, or 0: not recorded.
 */
uint32_t shim_stream_closing(FILE *f);

/* Before and after fflush(NULL): record the bytes that printf left. */
void stream_flushing(void);
void stream_flushed(void);

/* At the start of the program: read the positions of its standard streams. */
void stream_start(void);

/*
 * Before a fork: record the bytes that the standard streams moved, while only
 * this process moves the position. Nothing is flushed: the child's copies of
 * the buffers would lose their bytes.
 */
void stream_forking(void);

/* In the child after fork(), which has copies of all buffers. */
void stream_forked(void);

/* In the parent after fork(): the child moves the positions from now on. */
void stream_split(void);

/* At the end of the process, which flushes its streams if @flushes. */
void stream_finish(bool flushes);

/* The same for standard streams only, without a flush: _exit(). */
void stream_leaving(void);

/* --- one record for many calls -------------------------------------------- */

/* Does the call join the run untimed? */
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
 * Add a call to the run: one store to size and count of its record. False: a
 * signal handler has appended a record meanwhile.
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

/* A transfer that is not added to a run untimed. */
struct stream_call {
	uint32_t call, desc;
	bool write, buffered;
	bool more; /* it may have read more than @got */
	uint64_t start, end;
	int64_t asked, got;
	int err;
	const char *at; /* the write pointer before the call */
};

/* Before the call of @bytes. False: the stream is not recorded. */
bool stream_before(struct stream_call *c, const FILE *f, size_t bytes);
/* Instead of stream_before(): the call was made untimed but left the run. */
void stream_untimed(struct stream_call *c, const FILE *f);
/* After the call: record it. */
void stream_after(struct stream_call *c, const FILE *f);

#endif
