/* SPDX-License-Identifier: MIT */
/*
 * The reader of traces: a directory, its processes, their threads, their
 * records. It checks every length, allocates bounded memory, and counts damage
 * instead of failing. Errors are only: the directory is not a trace, or it has
 * another major version.
 *
 * Times are raw ticks here; reel_trace_ns() converts them to nanoseconds.
 */
#ifndef LIB_TRACE_READER_H
#define LIB_TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "schemas/trace_format.h"

struct reel_error;
struct reel_trace;  /* an indexed directory */
struct reel_stream; /* one thread's records, in the order of their end */

/* A string from the head of a process. */
struct reel_text {
	const char *key;
	const char *value;
};

/* A process image. Borrowed from the trace. */
struct reel_trace_process {
	struct reel_head head; /* of its window, else of its log */
	const char *log_path;  /* source of the head, for messages */
	const struct reel_text *text;
	int texts;
	int first_thread; /* its threads are [first_thread, + threads) */
	int threads;
	int parent;  /* index of the process whose uid is parent_uid, or -1 */
	bool window; /* its window still existed: it did not exit normally */
};

/* A thread of a process image. */
struct reel_trace_thread {
	int process;
	uint32_t tid;
	uint32_t blocks;
	uint64_t bytes;	      /* of records */
	uint64_t lost;	      /* lost events, from its block heads */
	uint64_t first_ticks; /* base of its first block */
};

/* Unreadable data, summed over the directory. */
struct reel_trace_damage {
	uint64_t cut_bytes;    /* skipped in damaged logs */
	uint32_t cut_places;   /* number of stretches */
	uint32_t bad_files;    /* logs and windows without a usable head */
	uint32_t denied_files; /* files without read permission */
	uint32_t seq_gaps;     /* blocks missing between two of one thread */
	char first[512]; /* "'t/3141.log': block 17 at byte 1,048,576 is cut
				  short (wanted 65,536, found 1,204)"; or "" */
};

/*
 * A decoded record. Strings live until the next reel_stream_next() of the
 * stream, and are NUL-terminated.
 */
struct reel_record {
	uint64_t end_ticks;
	uint64_t dur_ticks; /* <= end_ticks */
	uint16_t call;	    /* enum reel_call; unknown ids are passed on */
	bool has_offset, has_size, has_pos, has_arg, has_arg2;
	uint32_t desc;	  /* 0: none */
	uint32_t newdesc; /* 0: none */
	int32_t newfd;	  /* with newdesc */
	uint32_t at, at2; /* 0: none */
	int32_t err;	  /* errno, 0: success */
	int64_t offset;
	int64_t size; /* bytes requested */
	int64_t result;
	int64_t arg, arg2;
	int64_t pos;
	uint64_t count;		  /* >= 1 */
	bool counted;		  /* calls in any order, without offsets */
	const char *path, *path2; /* NULL: none */
	uint32_t path_len, path2_len;
};

/*
 * Open the trace in directory @dir: reads job.json, the heads, and the block
 * heads (not the records). Gives *@out for reel_trace_close().
 *
 * 0, or -1 with @err filled: REEL_E_IO, REEL_E_FORMAT (not a trace),
 * REEL_E_VERSION. Source: ioreel-trace(5).
 */
int reel_trace_open(struct reel_trace **out, const char *dir,
		    struct reel_error *err);
void reel_trace_close(struct reel_trace *tr);

/* Processes and threads: their number, and one by its index. Borrowed until
 * close. */
int reel_trace_processes(const struct reel_trace *tr);
const struct reel_trace_process *reel_trace_process(const struct reel_trace *tr,
						    int i);
int reel_trace_threads(const struct reel_trace *tr);
const struct reel_trace_thread *reel_trace_thread(const struct reel_trace *tr,
						  int i);
/* Unreadable data; all 0 if there is none. Borrowed. */
const struct reel_trace_damage *reel_trace_damage(const struct reel_trace *tr);

/* job.json, or an empty object when it is missing or unreadable. Borrowed. */
const json_t *reel_trace_job(const struct reel_trace *tr);

/* job.counts, all zero when it is missing. */
const struct reel_counts *reel_trace_counts(const struct reel_trace *tr);

/*
 * Length of the valid records in the @room bytes at @records: up to the first
 * call byte that is 0, or the first invalid record. It is the content of a
 * window's slot while the `used` of its head is 0. The 256 bytes after @room
 * are read and must be zero.
 */
uint32_t reel_records_bytes(const uint8_t *records, uint32_t room);

/* First value of @key in the text of process @p, or NULL. */
const char *reel_trace_text(const struct reel_trace_process *p,
			    const char *key);

/* True when @dir looks like a trace (a job.json, or a log with our magic). */
bool reel_trace_is(const char *dir);

/*
 * Convert @ticks of process @process to CLOCK_MONOTONIC nanoseconds of its
 * host, fitted over all clock pairs of that host. Monotonic.
 */
int64_t reel_trace_ns(const struct reel_trace *tr, int process, uint64_t ticks);

/*
 * The fitted clock of process @i, for conversions in a loop; borrowed. Nearly
 * all ticks come soon after the base: they need one multiplication.
 */
struct reel_clock_fit {
	uint64_t base_ticks;
	uint64_t fast_ticks; /* limit of the fast path, from the base on */
	uint64_t mult;
	unsigned int shift; /* 1 to 63 */
	int64_t base_ns;
};

const struct reel_clock_fit *reel_trace_clock_fit(const struct reel_trace *tr,
						  int i);
/* The general case of reel_clock_fit_ns(); @l must come from the trace. */
int64_t reel_clock_fit_slow_ns(const struct reel_clock_fit *l, uint64_t ticks);

/* As reel_trace_ns(). */
static inline int64_t reel_clock_fit_ns(const struct reel_clock_fit *l,
					uint64_t ticks)
{
	uint64_t since = ticks - l->base_ticks;
	unsigned __int128 p = (unsigned __int128)since * l->mult;

	if (since >= l->fast_ticks)
		return reel_clock_fit_slow_ns(l, ticks);
	return l->base_ns + (int64_t)((uint64_t)(p >> 64) << (64 - l->shift) |
				      (uint64_t)p >> l->shift);
}

int64_t reel_trace_clock_error_ns(const struct reel_trace *tr);

/*
 * Times of process @i are CLOCK_MONOTONIC of the host of the returned process:
 * MPI rank 0, if the two clocks were compared, else @i itself.
 */
int reel_trace_clock_process(const struct reel_trace *tr, int i);

/*
 * Read the records of thread @i from its first block. Holds one block in
 * memory. Gives *@out for reel_stream_close().
 */
int reel_stream_open(struct reel_stream **out, struct reel_trace *tr, int i,
		     struct reel_error *err);

/*
 * 1 and @rec filled; 0 at the end; -1 with @err filled (REEL_E_IO: the file
 * changed while it was read). An invalid record ends its block: the rest of the
 * block is counted as damage.
 */
int reel_stream_next(struct reel_stream *s, struct reel_record *rec,
		     struct reel_error *err);
void reel_stream_close(struct reel_stream *s);

#endif
