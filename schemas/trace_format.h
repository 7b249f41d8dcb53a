/* SPDX-License-Identifier: MIT */
/*
 * The trace on disk, which the shim writes and the reader checks before use.
 * This comment is the specification; ioreel-trace(5) repeats it.
 *
 * A trace is a directory, mode 0700:
 *
 *   job.json         written by "ioreel record" before the job, and again after
 *   job.counts       4,096 bytes, struct reel_counts: counters of the whole job
 *   PID.log          one per process image; PID.1.log, ... after exec or a
 *                    reused pid. One or more concatenated logs
 *   PACK-BOOT.log    concatenated logs of processes that have ended; a log that
 *                    its own file still contains counts once
 *   windows/PID.win  the same process while it runs, or after it was killed
 *
 * Everything is little-endian. LOG is a head and its blocks:
 *
 *   OFFSET     SIZE        FIELD
 *   0          640         struct reel_head
 *   640        text_bytes  text: "key=value" strings, each ended by NUL:
 *                          exe, cwd, host, kernel, timens ("SECONDS NS", the
 *                          offset of CLOCK_MONOTONIC in a time namespace),
 *                          and arg once per argument;
 *                          padded with NUL to a multiple of 8
 *   head_bytes             blocks (head_bytes = 640 + text_bytes)
 *   log_bytes              end of this log; 0: the end of the file
 *
 * WINDOW is a page for the head and its text, then one slot per thread:
 *
 *   0                          4096       struct reel_head and its text
 *   4096 + i * REEL_SLOT_BYTES            slot i: a block under construction;
 *                                         free while its tid is 0. Only the
 *                                         first part of a slot may exist.
 *
 * BLOCK is struct reel_block_head and `used` bytes of records of one thread,
 * padded with NUL to a multiple of 8. `slot` numbers the threads of the
 * process, because a tid may be reused. Two blocks with equal (tid, slot, seq)
 * and base_ticks, in the log and in the window, are one block: the longer one
 * counts. In a log a block whose head fails its check is damage: the reader
 * counts it and searches the next REEL_BLOCK_MAGIC at a multiple of 8 from the
 * log's start.
 *
 * In a slot `used` is 0 while the block is under construction: its records end
 * at the first call byte that is 0. The bytes after them are zero, except for
 * the rest of a record that a killed thread was writing: the first byte of a
 * record is stored last, so the window of a killed process is consistent.
 *
 * RECORD
 *
 *   call       1 or 2 bytes: b < 240: b; else 240 + ((b - 240) << 8 | next).
 *              0 ends the block
 *   flags      1 byte, see REEL_F_*
 *   more       1 byte, when REEL_F_MORE, see REEL_M_*
 *   end        varint: ticks from the end of the previous record in the block
 *              (from base_ticks for the first). Records are in order of their
 *              ends, since nested calls end before their callers
 *   dur        varint: ticks from start to end
 *   desc       varint, F_DESC_NEW: the descriptor's id; F_DESC_SAME: that of
 *              the previous record in the block that had one, or its newdesc
 *              if it had that
 *   offset     zigzag, F_OFFSET: the offset that the call named, minus the
 *              end (offset + size asked) of the previous record in the block
 *              that had F_OFFSET (0 before the first)
 *   size       varint, F_SIZE_NEW: bytes asked; F_SIZE_SAME: that of the
 *              previous record in the block that had a size
 *   result     F_RES_EXPECTED: the size, or 0 without a size;
 *              F_RES_OTHER: zigzag; F_RES_ERROR: varint errno, the call's
 *              result being -1 (or NULL); F_RES_ZERO: 0
 *   newdesc    varint, M_NEWDESC: id of the descriptor that this call created;
 *              varint fd: its number. 0 and a number with EBADF: the number
 *              that the program passed
 *   arg        zigzag, M_ARG: flags, whence, mode: see calls.def
 *   arg2       zigzag, M_ARG2
 *   pos        varint, M_POS: size of the file (stat, O_APPEND opens), or the
 *              position of a stream or an inherited descriptor; the position
 *              after fread or fgets, if they consumed more than the result
 *   count      varint, M_COUNT: calls that this record stands for; its size,
 *              result and dur are their sums
 *   path       M_PATH: varint n, varint m, m bytes: the first n bytes of the
 *              previous path in the block (of the kept first
 *              REEL_PATH_SHARED bytes), then the m bytes. As the program passed
 *              it: relative to `at`, or to the last CWD mark of the process.
 *              A file opened as /dev/fd/N or alike has its own path.
 *              Absolute if its directory's descriptor is not recorded, and
 *              with path patterns or counters in use
 *   at         varint, M_AT: descriptor of the directory to which path is
 *              relative. REEL_NO_DESC: it was not open, or has no name
 *   path2      M_PATH2: varint m, m bytes: second path (or symlink's target)
 *   at2        varint, with M_PATH2 always: descriptor of its directory, or 0
 *
 * Varints are LEB128 of at most 10 bytes; zigzag is (n << 1) ^ (n >> 63).
 *
 * DESCRIPTORS. A descriptor id identifies one file descriptor from its creation
 * to its close. A process assigns ids from next_desc on. A forked child
 * inherits its parent's ids below its head's first_desc and assigns the rest
 * itself, so an id below first_desc has the meaning of the log whose uid is
 * parent_uid. A dup has F_DESC (the source) and M_NEWDESC; both refer to one
 * open file description. 0 is "unknown".
 *
 * PARTS are records with the id of a PART row in calls.def, beside that of the
 * call:
 *   copy_out    the write side of copy_file_range, sendfile, splice, tee: the
 *               next record of the thread after the call's own (which has the
 *               read side, and in arg2 the descriptor number of this one), with
 *               the same times; desc, offset (if the call named one), size
 *               and result of the destination. Alone if the read side is not
 *               recorded; absent if the call failed
 *   stdio_read, stdio_write
 *               bytes that unwrapped calls on a stream (printf, getc) moved
 *               since its last record; pos: the position now; size, result:
 *               the bytes that the buffer shows, a lower bound. Before the
 *               stream's next record, its close, the end of the process
 *   async_read, async_write, async_sync
 *               one asynchronous operation, from its submission until the
 *               program learned of its completion; desc, offset, size,
 *               result; arg = enum reel_async; arg2 = operations in flight at
 *               its submission, itself included. Without a known completion the
 *               error is ECANCELED, or EINPROGRESS at the end of the process
 *   map_read, map_write
 *               a mapping at its end (munmap, mremap, exit): desc, offset and
 *               size of the mapping in its file; result = bytes of the pages
 *               that the process touched, or (map_write) changed; without
 *               duration, as the time of access is unknown. arg: pages touched;
 *               arg2: page faults of this process (arg -1: unknown)
 *
 * A record with M_COUNT stands for several calls of one kind on one descriptor:
 * small transfers of a stream, or, with arg2 = REEL_COUNTED, calls that were
 * counted (INTERVALS). With arg2 = 1 its end and dur are those of the whole run
 * of calls, else dur is the sum of their durations. Of a stream's small
 * transfers the first, those at powers of two and every 64th are timed: the
 * last of these is the end, and dur extrapolates from them.
 *
 * INTERVALS (minor 3). Where calls are counted, the records of a thread form
 * intervals, each of which begins with a mark "counted" without arg: its end is
 * the beginning, its size the ticks until the end of the last call or span. An
 * interval ends with the thread's block, or at the end of a step (without
 * steps, at a call) if it is at least a second old, or older if the trace would
 * grow too fast; and after the first step of a thread, after the first of an
 * epoch, and after a checkpoint or an evaluation. It contains
 *   one mark "counted" with arg = enum reel_span for each of the kinds STEP to
 *       PREPROCESS: count spans of that kind (0: the first has not ended),
 *       which have no marks of their own; end: the begin of the first (pos
 *       ticks earlier, if that was before the interval), arg2: its detail; dur:
 *       the sum of their durations; size: ticks from end to the end of the last
 *   one record with arg2 = REEL_COUNTED for each (descriptor, call, errno or
 *       power of two of the result, phase, whether it fetched from the storage):
 *       dur, size, result: sums; end: that of the first call; arg: the phase,
 *       the outermost open span of the thread that is a FETCH, COMPUTE,
 *       PREPROCESS, CHECKPOINT or EVAL, else a STEP, else 0 or absent; pos:
 *       bytes fetched, if any
 * Its descriptor stands for all opens of a name, and a close does not end it.
 * A name is a path with "*" for each number in its last part, for all but its
 * extension, or for all of it; or a directory, followed by "/".
 * Numbers that change are varints of 8 bytes, updated in place in the window.
 *
 * MARKS are records with the id of a MARK row in calls.def:
 *   desc        a descriptor that no recorded call made: newdesc and its fd,
 *               arg = enum reel_kind, arg2 = open flags, pos, path (absolute)
 *   cwd         path: the working directory of the process from now on
 *   span_begin  arg = enum reel_span, arg2 = detail (epoch, step ...), path =
 *               name when arg is REEL_SPAN_USER
 *               It began dur before its end. With a size: the span is complete,
 *               recorded at its end, and does not nest
 *   span_end    the innermost open span of that arg (and path) in the thread
 *   span_cancel the same, but the span is void (a fetch that hit the end)
 *   note        path = "key=value", once: framework versions, hook states
 *   site        the place in the program that made the thread's next record:
 *               arg = number of the call site in the process; path, the first
 *               time only = frames, innermost first, separated by newlines:
 *               "py FILE:LINE FUNCTION" or "c MODULE+0xOFFSET"
 *   size        pos = size of the file of desc at a time between the mark's
 *               start and its end; after each open that appends (minor 1)
 *   counted     the beginning of an interval, or spans in it: INTERVALS (minor 3)
 *
 * TIME is in ticks of the clock that head.clock names. Pairs of (ticks,
 * CLOCK_MONOTONIC) are in the head (start, end) and in each block head.
 *
 * VERSIONS. Minor: additions at the end, new marks, parts, calls, counters in
 * the reserved words. Major: anything else; a reader refuses a greater one.
 * In major 1 F_DESC_SAME never referred to a newdesc.
 */
/* The columns below are those of ioreel-trace(5). */
/* clang-format off */
#ifndef SCHEMAS_TRACE_FORMAT_H
#define SCHEMAS_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define REEL_TRACE_MAJOR 2
#define REEL_TRACE_MAJOR_OLDEST 1 /* the oldest that is read */
#define REEL_TRACE_MINOR 4

#define REEL_HEAD_MAGIC  0x0a314c4545524f49ull /* "IOREEL1\n" */
#define REEL_BLOCK_MAGIC 0x4b4c425fa5c31e9dull
#define REEL_COUNTS_MAGIC 0x0a31544e43524f49ull /* "IORCNT1\n" */

#define REEL_WINDOW_HEAD_BYTES 4096
#define REEL_SLOT_BYTES 65536
#define REEL_PATH_SHARED 512
#define REEL_PATH_BYTES 4096
#define REEL_FILES_SEEN 2048
#define REEL_NO_DESC UINT32_MAX /* an id that is never assigned */

/* flags */
#define REEL_F_DESC_NEW 0x01
#define REEL_F_DESC_SAME 0x02
#define REEL_F_OFFSET 0x04
#define REEL_F_SIZE_NEW 0x08
#define REEL_F_SIZE_SAME 0x10
#define REEL_F_RES 0x60 /* two bits */
#define REEL_F_RES_EXPECTED 0x00
#define REEL_F_RES_OTHER 0x20
#define REEL_F_RES_ERROR 0x40
#define REEL_F_RES_ZERO 0x60
#define REEL_F_MORE 0x80

/* more */
#define REEL_M_NEWDESC 0x01
#define REEL_M_ARG 0x02
#define REEL_M_ARG2 0x04
#define REEL_M_POS 0x08
#define REEL_M_COUNT 0x10
#define REEL_M_PATH 0x20
#define REEL_M_AT 0x40
#define REEL_M_PATH2 0x80

#define REEL_CALL_WIDE 240

enum reel_clock { REEL_CLOCK_TSC = 1, REEL_CLOCK_MONOTONIC = 2 };

/* The kind of file of a descriptor. */
enum reel_kind {
	REEL_KIND_UNKNOWN = 0,
	REEL_KIND_FILE = 1,
	REEL_KIND_DIR = 2,
	REEL_KIND_PIPE = 3,
	REEL_KIND_SOCKET = 4,
	REEL_KIND_DEVICE = 5,
	REEL_KIND_MEMORY = 6, /* memfd, shared memory */
	REEL_KIND_OTHER = 7,
};

/*
 * A read, pread, write or pwrite of at least REEL_LARGE_BYTES has an arg: the
 * offset of its buffer in a page of 4,096 bytes, which affects the speed of the
 * copy.
 */
#define REEL_LARGE_BYTES 65536
#define REEL_PLACE_BYTES 4096

/*
 * FETCHED: arg2 of a read, readv, pread, preadv or preadv2 that took long: the
 * bytes that its thread read from storage since the previous record with it, by
 * the kernel's count, including readahead; REEL_FETCHED_NONE: no bytes. Absent:
 * not measured, or page faults on mapped files contributed. File systems that
 * use neither a block device nor NFS are not counted (minor 2).
 */
#define REEL_FETCHED_NONE (-1)

/* arg2, with M_COUNT: counted, since events are off: INTERVALS. */
#define REEL_COUNTED 2

/* The interface of an asynchronous operation. */
enum reel_async {
	REEL_ASYNC_POSIX = 1, /* aio_read() ... */
	REEL_ASYNC_LIBAIO = 2,
	REEL_ASYNC_URING = 3,
};

/* arg of MPI_File_ reads and writes: bits. */
enum reel_mpi {
	REEL_MPI_COLLECTIVE = 1,
	REEL_MPI_NONBLOCKING = 2, /* recorded when submitted */
	REEL_MPI_SPLIT = 4,	  /* _begin; its _end has a record of its own */
	REEL_MPI_SHARED = 8,	  /* at the shared file pointer */
};

enum reel_span {
	REEL_SPAN_USER = 0,
	REEL_SPAN_EPOCH = 1,
	REEL_SPAN_STEP = 2,
	REEL_SPAN_FETCH = 3,
	REEL_SPAN_COMPUTE = 4,
	REEL_SPAN_FORWARD = 5,
	REEL_SPAN_BACKWARD = 6,
	REEL_SPAN_OPTIMIZER = 7,
	REEL_SPAN_PREPROCESS = 8,
	REEL_SPAN_CHECKPOINT = 9,
	REEL_SPAN_EVAL = 10,
	REEL_SPANS
};

/* The detail of a FETCH without a batch: the loop waits while its workers stop. */
#define REEL_FETCH_STOP (-2)

/* Names of the spans, except the user's. */
#define REEL_SPAN_NAMES(X)                                                     \
	X(EPOCH, "epoch")                                                      \
	X(STEP, "step")                                                        \
	X(FETCH, "fetch")                                                      \
	X(COMPUTE, "compute")                                                  \
	X(FORWARD, "forward")                                                  \
	X(BACKWARD, "backward")                                                \
	X(OPTIMIZER, "optimizer")                                              \
	X(PREPROCESS, "preprocess")                                            \
	X(CHECKPOINT, "checkpoint")                                            \
	X(EVAL, "eval")

/* The end of the process, as far as the shim saw it. */
enum reel_end {
	REEL_END_UNKNOWN = 0, /* killed, exec: the window was left */
	REEL_END_EXIT = 1,    /* exit(); other threads may go on a little */
	REEL_END_QUICK = 2,   /* _exit(), quick_exit(): no stream was flushed */
};

/* Indices of head.counter[] and of reel_counts.counter[]. */
enum reel_counter {
	REEL_LOST_DISK,      /* events in blocks that could not be written */
	REEL_LOST_SIGNAL,    /* calls made while the thread was in the shim */
	REEL_LOST_WINDOW,    /* events without a window: no memory, no disk */
	REEL_LOST_START,     /* processes that could not start recording */
	/* descriptors past the table, paths past 4,096, operations of io_uring
	 * that have no record */
	REEL_LOST_LIMIT,
	REEL_CODE_OPENS,     /* opens of code and system files: counted only */
	REEL_CODE_CALLS,     /* other calls on them */
	REEL_CODE_READ_BYTES,
	REEL_CODE_WRITE_BYTES,
	REEL_FLUSHES,
	/* Programs that a process of the job executed or started and that
	 * cannot be traced, by reason: */
	REEL_UNTRACED_STATIC, /* statically linked */
	REEL_UNTRACED_SETUID, /* other rights: the loader ignores LD_PRELOAD */
	REEL_UNTRACED_ENV,    /* an environment without LD_PRELOAD */
	REEL_UNTRACED_LIBC,   /* another C library */
	REEL_UNTRACED_ABI,    /* another machine architecture */
	REEL_UNTRACED_RAW,    /* its runtime makes system calls itself */
	REEL_UNTRACED_SECCOMP, /* from its seccomp filter on */
	REEL_UNTRACED_NAMESPACE, /* libraries that dlmopen() loaded */
	REEL_UNTRACED_RECORDING, /* another recording has it */
	REEL_COUNTERS = 24
};

struct reel_head {
	uint64_t magic;        /*   0 REEL_HEAD_MAGIC */
	uint16_t major;        /*   8 */
	uint16_t minor;        /*  10 */
	uint32_t head_bytes;   /*  12 640 + text, a multiple of 8 */
	uint64_t log_bytes;    /*  16 0: to the end of the file */
	uint64_t uid;          /*  24 of this process image, unique in the job */
	uint64_t parent_uid;   /*  32 of the image that forked it, which may have no
				  log; 0: none traced */
	uint32_t pid;          /*  40 */
	uint32_t ppid;         /*  44 */
	uint32_t clock;        /*  48 enum reel_clock */
	uint32_t first_desc;   /*  52 ids below are the parent's */
	uint64_t start_ticks;  /*  56 */
	uint64_t start_mono_ns; /* 64 */
	uint64_t start_real_ns; /* 72 */
	uint64_t start_boot_ns; /* 80 */
	uint64_t end_ticks;    /*  88 0: it was killed or replaced by exec */
	uint64_t end_mono_ns;  /*  96 */
	uint64_t fork_ticks;   /* 104 parent's clock just before fork(); 0: none */
	uint32_t end;          /* 112 enum reel_end */
	uint32_t pair_error_ticks; /* 116 width of the start pair's bracket */
	char boot_id[40];      /* 120 text of the kernel's random/boot_id */
	uint64_t counter[REEL_COUNTERS]; /* 160 enum reel_counter */
	uint32_t slots;        /* 352 slots ever used in the window */
	uint32_t text_bytes;   /* 356 */
	uint32_t fork_tid;     /* 360 the parent's thread that called fork */
	uint32_t mpi_rank;     /* 364 rank + 1; 0: not known */
	uint64_t counted_ticks; /* 368 from here on calls are counted only;
				   0: never */
	int64_t peer_ns[2];    /* 376 CLOCK_MONOTONIC of MPI rank 0's node minus
				  ours: at MPI_Init, at MPI_Finalize */
	uint64_t peer_mono_ns[2]; /* 392 its time on our clock; 0: not measured */
	uint64_t peer_error_ns[2]; /* 408 half the round trip */
	uint64_t text_uid;     /* 424 uid of the log that has the text: the one
				  before, or the one to which that refers */
	uint64_t reserved[26]; /* 432 zero */
};
_Static_assert(sizeof(struct reel_head) == 640, "raise the version");
_Static_assert(offsetof(struct reel_head, counter) == 160, "layout moved");

struct reel_block_head {
	uint64_t magic;       /*  0 REEL_BLOCK_MAGIC */
	uint32_t used;        /*  8 bytes of records; 0 in a slot */
	uint32_t tid;         /* 12 */
	uint32_t seq;         /* 16 from 0 in each thread */
	uint32_t lost;        /* 20 events of this thread lost before this block */
	uint64_t base_ticks;  /* 24 */
	uint64_t pair_ticks;  /* 32 clock pair at the flush; 0: none */
	uint64_t pair_mono_ns; /* 40 */
	uint32_t check;       /* 48 reel_block_check(), set at the flush */
	uint32_t slot;        /* 52 number of the thread in its process */
};
_Static_assert(sizeof(struct reel_block_head) == 56, "raise the version");

/* job.counts: shared by every process of the job, added to atomically. */
struct reel_counts {
	uint64_t magic;
	uint64_t counter[REEL_COUNTERS];
	uint64_t processes; /* images that started recording */
	uint64_t budget_bytes; /* --max-size; 0: none */
	uint64_t used_bytes;   /* of the budget, by this file and logs */
	uint64_t full_real_ns; /* when the budget was used up; 0: not yet */
	uint64_t in_steps;     /* with --events steps A-B: 1 from A to B */
	uint64_t counted_real_ns; /* when intervals of counters began */
	uint64_t counted_bytes;	  /* of intervals, written so far */
	uint64_t window_bytes;	  /* of the budget, by windows */
	/* HyperLogLog estimate of the files opened while opens are counted: for
	 * each 11-bit prefix of the path hashes the largest number of zeros that
	 * follow it, plus 1. */
	uint8_t file[REEL_FILES_SEEN];
};
_Static_assert(sizeof(struct reel_counts) <= 4096, "job.counts is a page");

static inline uint32_t reel_block_check(const struct reel_block_head *b)
{
	uint64_t h = b->magic ^ ((uint64_t)b->used << 32 | b->tid);

	h = h * 0x9e3779b97f4a7c15ull ^ ((uint64_t)b->seq << 32 | b->lost);
	h = h * 0x9e3779b97f4a7c15ull ^ b->base_ticks;
	h = h * 0x9e3779b97f4a7c15ull ^ b->pair_ticks;
	h = h * 0x9e3779b97f4a7c15ull ^ b->pair_mono_ns;
	h = h * 0x9e3779b97f4a7c15ull ^ b->slot;
	return (uint32_t)(h >> 32) | 1;
}

#endif
