/* SPDX-License-Identifier: MIT */
/*
 * The trace on disk: what the shim writes and the reader believes only after
 * checking. This comment is the specification; ioreel-trace(5) repeats it.
 *
 * A trace is a directory, mode 0700:
 *
 *   job.json         written by "ioreel record" before the job, and again after
 *   job.counts       4,096 bytes, struct reel_counts: what no process could say
 *   PID.log          one per process image; PID.1.log, ... after exec or a
 *                    reused pid. One or more logs, one behind the other
 *   PACK-BOOT.log    logs of processes that have ended, one behind the other;
 *                    one that its own file still holds counts once
 *   windows/PID.win  the same process while it runs, or when it was killed
 *
 * Everything is little-endian. LOG is a head and its blocks:
 *
 *   OFFSET     SIZE        FIELD
 *   0          640         struct reel_head
 *   640        text_bytes  text: "key=value" strings, each ended by NUL:
 *                          exe, cwd, host, kernel, timens ("SECONDS NS", by
 *                          what a time namespace has moved
 *                          CLOCK_MONOTONIC), and arg once per argument;
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
 * padded with NUL to a multiple of 8. `slot` numbers the lives of threads in the
 * process: a tid may come back. Blocks of one (tid, slot, seq) and base_ticks
 * found twice, in the log and in the window, are one: the longer one counts. In a
 * log a block whose head does not check is damage: the reader counts it and
 * looks for the next REEL_BLOCK_MAGIC at a multiple of 8 from the log's start.
 *
 * In a slot `used` is 0 while the block is under construction: its records end
 * at the first call byte that is 0. What follows them is zero, but for the
 * rest of a record that a killed thread was writing: the first byte of a record
 * is stored last, so a window of a killed process is whole.
 *
 * RECORD
 *
 *   call       1 or 2 bytes: b < 240: b; else 240 + ((b - 240) << 8 | next).
 *              0 ends the block
 *   flags      1 byte, see REEL_F_*
 *   more       1 byte, when REEL_F_MORE, see REEL_M_*
 *   end        varint: ticks from the end of the previous record in the block
 *              (from base_ticks for the first). Records stand in order of
 *              their end, as nested calls end before their callers
 *   dur        varint: ticks from start to end
 *   desc       varint, F_DESC_NEW: the descriptor's id; F_DESC_SAME: that of
 *              the previous record in the block that had one, or newdesc
 *              where it made one
 *   offset     zigzag, F_OFFSET: the offset that the call named, minus the
 *              end (offset + size asked) of the previous record in the block
 *              that had F_OFFSET (0 before the first)
 *   size       varint, F_SIZE_NEW: bytes asked; F_SIZE_SAME: that of the
 *              previous record in the block that had a size
 *   result     F_RES_EXPECTED: the size, or 0 where there is none;
 *              F_RES_OTHER: zigzag; F_RES_ERROR: varint errno, the call's
 *              result being -1 (or NULL); F_RES_ZERO: 0
 *   newdesc    varint, M_NEWDESC: id of the descriptor that this call made;
 *              varint fd: its number. 0 and a number with EBADF: the number
 *              that the program gave
 *   arg        zigzag, M_ARG: flags, whence, mode: what calls.def says
 *   arg2       zigzag, M_ARG2
 *   pos        varint, M_POS: size of the file (stat, O_APPEND opens), or the
 *              position of a stream or an inherited descriptor; where fread or
 *              fgets left it, when that is more than the result says
 *   count      varint, M_COUNT: calls that this record stands for; its size,
 *              result and dur are their sums
 *   path       M_PATH: varint n, varint m, m bytes: the first n bytes of the
 *              previous path in the block (of the kept first
 *              REEL_PATH_SHARED bytes), then the m bytes. As the program gave
 *              it: relative to `at`, or to the last CWD mark of the process.
 *              A file opened as /dev/fd/N or alike has its own path.
 *              Absolute, where its directory's descriptor is not recorded, and
 *              where patterns or counters are in force
 *   at         varint, M_AT: descriptor of the directory; path is under it.
 *              REEL_NO_DESC: of one that was not open, or has no name
 *   path2      M_PATH2: varint m, m bytes: second path (or symlink's target)
 *   at2        varint, with M_PATH2 always: descriptor of its directory, or 0
 *
 * Varints are LEB128 of at most 10 bytes; zigzag is (n << 1) ^ (n >> 63).
 *
 * DESCRIPTORS. A descriptor id names one life of one file descriptor. Ids are
 * given out by a process from next_desc on; a forked child inherits its
 * parent's ids below its head's first_desc and gives out the rest itself, so
 * an id below first_desc means what it means in the log whose uid is
 * parent_uid. A dup has F_DESC (the source) and M_NEWDESC; both name one open
 * file description. 0 is "not known".
 *
 * PARTS are records with the id of a PART row in calls.def, beside that of the
 * call:
 *   copy_out    what copy_file_range, sendfile, splice, tee wrote: the next
 *               record of the thread after the call's own (which tells the
 *               read side, and in arg2 this one's descriptor number), with
 *               the same times; desc, offset (where the call named one), size
 *               and result of the destination. Alone where the read side is
 *               not recorded; absent where the call failed
 *   stdio_read, stdio_write
 *               what calls on a stream that have no record (printf, getc) moved
 *               since its last record; pos: where it stands now; size, result:
 *               the bytes that its buffer shows, the least that they moved.
 *               Before the stream's next record, its close, the process's end
 *   async_read, async_write, async_sync
 *               one asynchronous operation, from its submission to when the
 *               program was told that it is complete; desc, offset, size,
 *               result; arg = enum reel_async; arg2 = operations in flight at
 *               its submission, itself included. Never told: no result but
 *               ECANCELED or EINPROGRESS, at the end of the process
 *   map_read, map_write
 *               a mapping at its end (munmap, mremap, exit): desc, offset and
 *               size of the mapping in its file; result = bytes of the pages
 *               that the process touched, or (map_write) changed; without
 *               duration, as when is not known. arg: pages touched, then
 *               through faults of this process (-1: not known)
 *
 * A record with M_COUNT stands for several calls of one kind on one descriptor:
 * small transfers of a stream, or, with arg2 = REEL_COUNTED, calls that were
 * counted (INTERVALS). Its end and dur are those of the whole run of calls when
 * arg2 = 1, else dur is the sum of theirs. Of a stream's small transfers the
 * first, those at powers of two and each 64th are timed: the last of them is
 * the end, and dur takes them for all.
 *
 * INTERVALS (minor 3). Where calls are counted, the records of a thread lie in
 * intervals, each of which begins with a mark "counted" without arg: its end is
 * the beginning, its size the ticks until the end of the last call or span. An
 * interval ends with the thread's block, or at the end of a step (without one,
 * at a call) when it is at least a second old, or longer where the trace would
 * grow too fast; and after the first step of a thread, of an epoch, and behind
 * a checkpoint or an evaluation. In it there is
 *   one mark "counted" with arg = enum reel_span for each of the kinds STEP to
 *       PREPROCESS: count spans of that kind (0: the first has not ended), which
 *       have no marks of their own; end: when the first began (pos ticks earlier,
 *       when it began before the interval), arg2: its detail; dur: the sum of
 *       theirs; size: ticks from end to when the last ended
 *   one record with arg2 = REEL_COUNTED for each (descriptor, call, errno or
 *       power of two of the result, phase, whether it fetched from the storage):
 *       dur, size, result: sums; end: that of the first call; arg: the phase,
 *       that is the outermost open span of the thread that is a FETCH, COMPUTE,
 *       PREPROCESS, CHECKPOINT or EVAL, else a STEP, else 0 or absent; pos:
 *       bytes fetched, when they did
 * Its descriptor stands for all opens of a name, and a close of it ends none.
 * A name is a path with "*" for each number in its last part, for all but its
 * ending, or for all of it; or a folder, with a "/" behind it.
 * The numbers that change are varints of 8 bytes in a window, changed in place.
 *
 * MARKS are records with the id of a MARK row in calls.def:
 *   desc        a descriptor that no recorded call made: newdesc and its fd,
 *               arg = enum reel_kind, arg2 = open flags, pos, path (absolute)
 *   cwd         path: the working directory of the process from here on
 *   span_begin  arg = enum reel_span, arg2 = detail (epoch, step ...), path =
 *               name when arg is REEL_SPAN_USER
 *               It began its dur before. With a size: told as a whole at its
 *               end, and lies in no other span
 *   span_end    the innermost open span of that arg (and path) in the thread
 *   span_cancel the same, but the span never was (the fetch that found the end)
 *   note        path = "key=value", said once: framework versions, hook states
 *   site        where in the program the next record of the thread was made:
 *               arg = number of the call site in the process; path, the first
 *               time only = frames, innermost first, parted by newlines:
 *               "py FILE:LINE FUNCTION" or "c MODULE+0xOFFSET"
 *   size        pos = how large the file of desc was, asked between the mark's
 *               start and its end; after each open that appends (minor 1)
 *   counted     the beginning of an interval, or spans in it: INTERVALS (minor 3)
 *
 * TIME is in ticks of the clock that head.clock names. Pairs of (ticks,
 * CLOCK_MONOTONIC) stand in the head (start, end) and in each block head.
 *
 * VERSIONS. Minor: additions at the end, new marks, parts, calls, counters in
 * the reserved words. Major: anything else; a reader refuses a greater one.
 * In major 1 F_DESC_SAME meant no newdesc.
 */
/* The columns below are those of ioreel-trace(5). */
/* clang-format off */
#ifndef SCHEMAS_TRACE_FORMAT_H
#define SCHEMAS_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define REEL_TRACE_MAJOR 2
#define REEL_TRACE_MAJOR_OLDEST 1 /* that is read */
#define REEL_TRACE_MINOR 3

#define REEL_HEAD_MAGIC  0x0a314c4545524f49ull /* "IOREEL1\n" */
#define REEL_BLOCK_MAGIC 0x4b4c425fa5c31e9dull
#define REEL_COUNTS_MAGIC 0x0a31544e43524f49ull /* "IORCNT1\n" */

#define REEL_WINDOW_HEAD_BYTES 4096
#define REEL_SLOT_BYTES 65536
#define REEL_PATH_SHARED 512
#define REEL_PATH_BYTES 4096
#define REEL_FILES_SEEN 2048
#define REEL_NO_DESC UINT32_MAX /* an id that is never given out */

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

/* What stands behind a descriptor. */
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
 * A read, pread, write or pwrite of at least as many bytes has an arg: where in
 * a page of 4,096 bytes its memory began. It decides on the speed of the copy.
 */
#define REEL_LARGE_BYTES 65536
#define REEL_PLACE_BYTES 4096

/*
 * FETCHED: arg2 of a read, readv, pread, preadv or preadv2 that took long: the
 * bytes that its thread had asked the storage for since the record before that
 * has it, read-ahead included, by the kernel's count; or that there were none.
 * Absent: not looked, or faults on mapped files were among it. File systems that
 * fetch by other means than a block device or NFS are not counted (minor 2).
 */
#define REEL_FETCHED_NONE (-1)

/* arg2, with M_COUNT: counted, as events were not asked for: INTERVALS. */
#define REEL_COUNTED 2

/* Who ran an asynchronous operation. */
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

/* Their names, of all but a user's. */
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

/* How the process ended, as far as the shim saw. */
enum reel_end {
	REEL_END_UNKNOWN = 0, /* killed, exec: the window was left */
	REEL_END_EXIT = 1,    /* exit(); other threads may go on a little */
	REEL_END_QUICK = 2,   /* _exit(), quick_exit(): no stream was flushed */
};

/* Indices of head.counter[] and of reel_counts.counter[]. */
enum reel_counter {
	REEL_LOST_DISK,      /* events in blocks that the disk refused */
	REEL_LOST_SIGNAL,    /* calls met while the thread was in the shim */
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
	/* Programs that a process of the job became or started, and why they
	 * cannot be seen: */
	REEL_UNTRACED_STATIC, /* statically linked */
	REEL_UNTRACED_SETUID, /* other rights: the loader ignores LD_PRELOAD */
	REEL_UNTRACED_ENV,    /* an environment without LD_PRELOAD */
	REEL_UNTRACED_LIBC,   /* another C library */
	REEL_UNTRACED_ABI,    /* another kind of machine */
	REEL_UNTRACED_RAW,    /* its runtime makes its system calls itself */
	REEL_UNTRACED_SECCOMP, /* from where it forbade itself system calls on */
	REEL_UNTRACED_NAMESPACE, /* libraries that dlmopen() loaded */
	REEL_COUNTERS = 24
};

struct reel_head {
	uint64_t magic;        /*   0 REEL_HEAD_MAGIC */
	uint16_t major;        /*   8 */
	uint16_t minor;        /*  10 */
	uint32_t head_bytes;   /*  12 640 + text, a multiple of 8 */
	uint64_t log_bytes;    /*  16 0: to the end of the file */
	uint64_t uid;          /*  24 of this process image, unique in the job */
	uint64_t parent_uid;   /*  32 of the image that forked it, which may have left
				  no log; 0: none traced */
	uint32_t pid;          /*  40 */
	uint32_t ppid;         /*  44 */
	uint32_t clock;        /*  48 enum reel_clock */
	uint32_t first_desc;   /*  52 ids below are the parent's */
	uint64_t start_ticks;  /*  56 */
	uint64_t start_mono_ns; /* 64 */
	uint64_t start_real_ns; /* 72 */
	uint64_t start_boot_ns; /* 80 */
	uint64_t end_ticks;    /*  88 0: not ended by itself */
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
	uint64_t peer_mono_ns[2]; /* 392 when, by ours; 0: not measured */
	uint64_t peer_error_ns[2]; /* 408 half the round trip */
	uint64_t text_uid;     /* 424 the text is that of the log before, or of
				  the one whose text that one has: its uid */
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
	uint64_t budget_bytes; /* --max-size; 0: there is none */
	uint64_t used_bytes;   /* of it, by this file and logs */
	uint64_t full_real_ns; /* when it was spent; 0: not yet */
	uint64_t in_steps;     /* of --events steps A-B: 1 between them */
	uint64_t counted_real_ns; /* when intervals of counters began */
	uint64_t counted_bytes;	  /* of them, as written so far */
	uint64_t window_bytes;	  /* of --max-size, by windows */
	/* Files opened while opens were counted, about, as HyperLogLog does: of
	 * the hashes of their paths that begin with the 11 bits of an index, the
	 * most zeros that follow, and 1. */
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
