/* SPDX-License-Identifier: MIT */
/*
 * The calls of a benchmark, logged: each thread fills a buffer of its own; full
 * buffers become blocks of one file. All threads of a rank, and the readers that it
 * forks, write to one open file description, so that blocks never mix.
 *
 * The file is for the same program on the same kind of machine, within one run: its
 * numbers are in the order of the machine.
 */
#ifndef REPLAY_IO_CALL_LOG_H
#define REPLAY_IO_CALL_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/trace_format.h" /* enum reel_span */

struct call_log;
struct reel_error;

/* Fields of an entry that the call has. */
enum call_log_has {
	CALL_HAS_FD = 1,
	CALL_HAS_SIZE = 2,
	CALL_HAS_OFFSET = 4,
	CALL_HAS_ARG = 8,
	CALL_HAS_ARG2 = 16,
	CALL_HAS_FILE_SIZE = 32,
};

/* A call, a mark of schemas/calls.def, or CALL_LOG_BEGIN. Times are those of
 * reel_now_ns(). */
struct call_entry {
	int64_t start_ns, dur_ns;
	int64_t offset, size;
	int64_t result;
	int64_t arg, arg2; /* as in calls.def */
	int64_t file_size;
	int32_t fd;
	int32_t err;   /* errno, 0: success */
	uint16_t call; /* enum reel_call, or enum reel_mark */
	uint16_t has;  /* of enum call_log_has */
	uint16_t path_bytes,
		path2_bytes; /* with their NUL; filled by the log */
};

/* The first entry of a thread: arg its process, arg2 its number; size 1: the
 * process begins with it, else it is a thread of the stepping process. */
#define CALL_LOG_BEGIN 0

/* Open files of MPI-IO have numbers behind those of descriptors, from this one on:
 * fd of the calls on them, of MPI_File_open() too. */
#define MPIIO_NUMBER 65536
#define MPIIO_NUMBERS 4096

/*
 * A log number @number for one thread, which writes to @fd; both are borrowed, as is
 * @failed, which becomes the errno of the first write that failed. Gives *@out for
 * call_log_free(). 0, or -1 with @err (REEL_E_MEMORY).
 */
int call_log_new(struct call_log **out, int fd, uint32_t number,
		 atomic_int *failed, struct reel_error *err);
/* The calling thread has it from now on. */
void call_log_begin(struct call_log *log, bool is_process);
/* Keep @e, whose errno is taken when the result is negative and @e->err 0. Paths are
 * copied; NULL: none. errno stays as it is. */
void call_log_add(struct call_log *log, const struct call_entry *e,
		  const char *path, const char *path2);
/* A mark of a span, REEL_MARK_SPAN_BEGIN or _END, now. @detail -1: none. */
void call_log_span(struct call_log *log, uint16_t mark, enum reel_span span,
		   int64_t detail);
/* Write the rest of the buffer: the last call of the thread. */
void call_log_flush(struct call_log *log);
void call_log_free(struct call_log *log);

/* --- reading -------------------------------------------------------------- */

/* The entries of one thread in the blocks of a file. */
struct call_stream {
	const uint8_t *blocks; /* borrowed */
	size_t bytes;
	uint32_t number;
	/* the next entry, and the end of its block */
	size_t at, end;
	bool damaged; /* a length is wrong: the rest is not read */
	struct call_entry entry;
	const char *path, *path2; /* NULL: none */
};

/* The thread numbers in @blocks are below the result. */
uint32_t call_log_numbers(const uint8_t *blocks, size_t bytes);
void call_stream_begin(struct call_stream *s, const uint8_t *blocks,
		       size_t bytes, uint32_t number);
/* The next entry is in @s->entry and its paths. False: there is none. */
bool call_stream_next(struct call_stream *s);

#endif
