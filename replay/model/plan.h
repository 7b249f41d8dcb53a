/* SPDX-License-Identifier: MIT */
/*
 * The plan: the calls that a replay issues, compiled from a store into one file
 * that every process of the replay maps.
 *
 * One thread of the job is one stream: fixed records of 32 bytes in the order
 * of their starts, and beside them the rarer fields ("more", 104 bytes) of the
 * records that have PLAN_F_MORE, in the same order. A stream is read once from
 * front to back and its pages are dropped: memory does not grow with it.
 *
 * A plan is made and used on one machine: numbers have the host's byte order.
 * plan_open() checks every offset, index and length once.
 *
 * Descriptors keep the numbers they had in the job. A descriptor that no
 * recorded call of its process made gets an object.
 */
#ifndef REPLAY_MODEL_PLAN_H
#define REPLAY_MODEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;
struct reel_store;

#define PLAN_MAGIC 0x0a314e414c504f49ull /* "IOPLAN1\n" */
#define PLAN_VERSION 10
#define PLAN_NONE UINT32_MAX
#define PLAN_NO_OFFSET INT64_MIN
#define PLAN_NO_SIZE (-1)
/* Threads whose writes are no larger may all write from the same memory. */
#define PLAN_SHARED_BYTES (64 << 10)

/* Ops are ids of calls.def, and these, above REEL_CALL_MAX. */
enum plan_op {
	PLAN_OP_FORK = 1024, /* more.arg: index of the process to start */
	PLAN_OP_SPAN_BEGIN, /* more.arg: kind, arg2: detail, name: the user's */
	PLAN_OP_SPAN_END,
	PLAN_OP_COLLECTIVE, /* a phase of an MPI collective: waits, counts */
	PLAN_OP_END,	    /* the process ends; main streams only */
	PLAN_OPS
};

#define PLAN_F_MORE 0x0001
#define PLAN_F_FULL 0x0002	 /* result is size; else, without more, 0 */
#define PLAN_F_POST 0x0004	 /* another stream waits for its end */
#define PLAN_F_WAIT_FIRST 0x0008 /* the waits, then more.after_ns */
#define PLAN_F_MAKES_FD 0x0010	 /* its result is a descriptor: more.fd2 */
#define PLAN_F_MESSAGE 0x0020	 /* moves bytes through a pipe or a socket */
#define PLAN_F_APPEAR 0x0080	 /* make its file first: more.appear_bytes */
#define PLAN_F_APPEAR_DIR 0x0100
#define PLAN_F_APPEAR_SOCKET 0x2000 /* a bound socket, never closed */
#define PLAN_F_VANISH 0x0200	    /* remove its file first */
#define PLAN_F_ENTRIES 0x0400	    /* fill its directory: more.entries */
#define PLAN_F_EXTERNAL (PLAN_F_APPEAR | PLAN_F_VANISH | PLAN_F_ENTRIES)
#define PLAN_F_LINES 0x0040 /* a read ends with a newline; a write: more.line */
#define PLAN_F_DIRTY 0x1000 /* an msync(): dirty more.dirty_bytes first */
#define PLAN_F_ASYNC 0x0800 /* its thread does not wait for it */
#define PLAN_F_FETCH 0x4000 /* evict more.lost_bytes of its file first */
#define PLAN_F_NAMED 0x8000 /* of O_TMPFILE: link it at its path */

struct plan_record {
	uint32_t gap_ns; /* from the end of the previous record */
	uint32_t dur_ns; /* as recorded */
	int64_t offset;	 /* PLAN_NO_OFFSET */
	int64_t size;	 /* bytes asked, PLAN_NO_SIZE */
	int32_t fd;	 /* the job's number; -1 */
	uint16_t op;
	uint16_t flags;
};
_Static_assert(sizeof(struct plan_record) == 32, "streams are arrays of it");

struct plan_more {
	int64_t result; /* -1 on error */
	int64_t arg;	/* PLAN_NO_OFFSET: none */
	int64_t arg2;
	int64_t pos; /* of a copy: the offset written; PLAN_F_FETCH: the offset
			of the evicted bytes */
	uint32_t name; /* PLAN_NONE: none */
	uint32_t name2;
	int32_t err;
	int32_t fd2;	/* made by the call, or target of a dup or a copy; -1 */
	uint32_t count; /* calls that the record stands for */
	uint32_t object;  /* put behind fd before the call; PLAN_NONE */
	uint32_t object2; /* the same for the fd2 of a copy */
	uint32_t open;	  /* open id: tells mappings of one fd apart */
	uint32_t edge;	  /* [edge, + edges) to wait for */
	uint32_t edges;
	uint32_t gap_high; /* high halves of gap_ns and dur_ns */
	uint32_t dur_high;
	uint32_t line;	  /* of a write: [line, + lines) are newlines in it, */
	uint32_t lines;	  /* offsets from its first byte */
	int64_t after_ns; /* PLAN_F_WAIT_FIRST: the gap, after the waits */
	union {
		int64_t appear_bytes;
		int64_t entries;     /* PLAN_F_ENTRIES */
		int64_t dirty_bytes; /* PLAN_F_DIRTY */
		int64_t lost_bytes;  /* PLAN_F_FETCH */
	};
};

/* The defaults. */
#define PLAN_MORE_NONE                                                         \
	{                                                                      \
		.arg = PLAN_NO_OFFSET, .arg2 = PLAN_NO_OFFSET,                 \
		.pos = PLAN_NO_OFFSET, .name = PLAN_NONE, .name2 = PLAN_NONE,  \
		.fd2 = -1, .count = 1, .object = PLAN_NONE,                    \
		.object2 = PLAN_NONE                                           \
	}
_Static_assert(sizeof(struct plan_more) == 104, "streams are arrays of it");

/* Wait until @stream has done @calls calls of the job; a PLAN_OP_COLLECTIVE
 * counts as one. 0: until the process of this main stream is forked. */
struct plan_edge {
	uint32_t stream;
	uint32_t calls;
};

struct plan_process {
	uint32_t process_id; /* of the store */
	uint32_t parent;     /* index, PLAN_NONE: started by the root */
	uint32_t stream;     /* [stream, + streams), the main thread's first */
	uint32_t streams;
	int64_t start_ns; /* since the origin: fork, or first seen */
	int64_t end_ns;
	uint32_t fds;	 /* 1 + the highest descriptor number */
	uint32_t makers; /* streams of it that make descriptors */
	uint32_t moves;	 /* 1: it, or a process before it, calls chdir() */
	uint32_t exits;	 /* 1: its end was an exit(): streams are flushed */
};

struct plan_stream {
	uint32_t thread_id;	      /* of the store */
	uint32_t process;	      /* index */
	uint64_t records_at, records; /* byte offset, count */
	uint64_t more_at, mores;
	uint64_t calls;	    /* calls of the job; the rest are PLAN_OP_* */
	int64_t start_ns;   /* first call, since the process's start */
	uint64_t most_read; /* the sizes of its buffers */
	uint64_t most_written;
};

enum plan_object_kind {
	PLAN_OBJECT_PIPE_READ = 1, /* ends of pipe `pipe` */
	PLAN_OBJECT_PIPE_WRITE,
	PLAN_OBJECT_SOCKET,
	PLAN_OBJECT_EOF,    /* a pipe without a writer: reads are 0 */
	PLAN_OBJECT_EMPTY,  /* nonblocking, nothing in it: EAGAIN */
	PLAN_OBJECT_BROKEN, /* a pipe without a reader: EPIPE */
	PLAN_OBJECT_FILE,   /* name, flags, pos */
	PLAN_OBJECT_MEMORY, /* a memfd: name */
	PLAN_OBJECT_NULL,   /* /dev/null */
};

struct plan_object {
	uint32_t kind;
	uint32_t pipe;
	uint32_t name;
	int32_t flags;
	int64_t pos;
	/* PLAN_OBJECT_FILE: a descriptor to copy instead, or -1. */
	int32_t dup_of;
	uint32_t reserved;
};

struct plan_pipe {
	uint32_t socket; /* 1: a socket pair */
	uint32_t reserved;
	uint64_t most; /* largest message */
};

enum plan_file_kind {
	PLAN_FILE_REGULAR = 1,
	PLAN_FILE_DIR,
	PLAN_FILE_LINK, /* of size_bytes bytes; its target comes next */
	PLAN_FILE_FIFO,
	PLAN_FILE_LOOP, /* a link to itself, of size_bytes bytes at least */
};

/* A path that exists before the replay starts. */
struct plan_file {
	uint32_t name;
	uint32_t kind;
	uint32_t denied; /* 1: the job was refused (EACCES) */
	uint32_t line;	 /* [line, + lines): ends of lines in it */
	uint32_t lines;
	uint32_t exec; /* 1: the job found it executable */
	uint32_t cold; /* 1: not in the page cache at first */
	uint32_t hole; /* [hole, + holes): not filled, in their order */
	uint32_t holes;
	uint32_t piece_bytes; /* smallest part that is evicted alone, 0: any */
	int64_t size_bytes;
	int64_t entries; /* of a directory, "." and ".." too; -1: any number */
};

/* A part of a file that the job did not use. */
struct plan_hole {
	int64_t at;
	int64_t bytes;
};

struct plan_head {
	uint64_t magic;
	uint32_t version;
	uint32_t head_bytes;
	uint64_t file_bytes;
	uint32_t processes, streams, objects, pipes;
	uint32_t names, files;
	uint64_t edges, lines, holes;
	uint64_t process_at, stream_at, object_at, pipe_at;
	uint64_t edge_at, file_at, line_at, hole_at;
	uint64_t name_at; /* names + 1 offsets into the text, uint64_t */
	uint64_t text_at, text_bytes;
	int64_t wall_ns;      /* of the job, from its start to its end */
	uint64_t calls;	      /* of the job, in the streams */
	uint64_t skipped;     /* events that no engine can issue */
	uint64_t async;	      /* asynchronous operations among the calls */
	uint64_t collectives; /* in which ranks wait for each other */
	uint32_t fds;	      /* 1 + the highest descriptor number */
	uint32_t reserved;
	uint64_t file_total_bytes; /* of all plan_files */
	uint64_t hole_total_bytes; /* the part of them in holes */
	uint64_t fetches;	   /* records with PLAN_F_FETCH */
	uint64_t room_bytes; /* of disk that the job's writes add, at most */
	/* Asynchronous operations: sum of times, and union per thread. */
	int64_t async_sum_ns, async_union_ns;
};

/* A mapped plan. Read the sections through these. */
struct plan {
	const uint8_t *map;
	const struct plan_head *head;
	const struct plan_process *process;
	const struct plan_stream *stream;
	const struct plan_object *object;
	const struct plan_pipe *pipe;
	const struct plan_edge *edge;
	const struct plan_file *file;
	const int64_t *line; /* offsets of newlines */
	const struct plan_hole *hole;
	const uint64_t *name_at;
	const char *text;
};

/*
 * The sections behind the streams, in the order of the file: X(NAME, at, count,
 * items, beyond). head.count + beyond items of *plan.items are at head.at.
 */
#define PLAN_SECTIONS(X)                                                       \
	X(PROCESSES, process_at, processes, process, 0)                        \
	X(STREAMS, stream_at, streams, stream, 0)                              \
	X(EDGES, edge_at, edges, edge, 0)                                      \
	X(FILES, file_at, files, file, 0)                                      \
	X(LINES, line_at, lines, line, 0)                                      \
	X(HOLES, hole_at, holes, hole, 0)                                      \
	X(OBJECTS, object_at, objects, object, 0)                              \
	X(PIPES, pipe_at, pipes, pipe, 0)                                      \
	X(NAMES, name_at, names, name_at, 1)                                   \
	X(TEXT, text_at, text_bytes, text, 0)

/*
 * Map the plan at @path and check all of it. Holds no descriptor afterwards.
 * Gives *@out for plan_close(). 0, or -1 with @err: REEL_E_IO, REEL_E_FORMAT,
 * REEL_E_VERSION.
 */
int plan_open(struct plan **out, const char *path, struct reel_error *err);
void plan_close(struct plan *p);

/* The absolute path of the job that has this number, NUL-terminated. */
const char *plan_name(const struct plan *p, uint32_t name);
/* The index of the first of @n sorted newlines that is not before @at. */
uint32_t plan_line_from(const int64_t *line, uint32_t n, int64_t at);

/* Is it one of the calls that plan_edge counts? */
static inline bool plan_counts(const struct plan_record *r)
{
	return r->op < PLAN_OP_FORK || r->op == PLAN_OP_COLLECTIVE;
}

/* Does the record need a buffer of its size? Is that the buffer of writes? */
bool plan_needs_buffer(const struct plan_record *r);
bool plan_is_write(const struct plan_record *r);

/*
 * Compile the run @st into a plan at @path. 0, or -1 with @err: REEL_E_DB,
 * REEL_E_IO, REEL_E_FORMAT, REEL_E_MEMORY.
 */
int plan_compile(struct reel_store *st, const char *path,
		 struct reel_error *err);

#endif
