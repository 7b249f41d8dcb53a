/* SPDX-License-Identifier: MIT */
/*
 * What the files of the trace reader share: the index of a directory, the
 * decoder of one block, the clocks. Nobody else includes it, but the tests.
 *
 * Everything here comes from a file that anybody may have written: indices are
 * ours, every number that was read is checked where it is read.
 */
#ifndef LIB_TRACE_INTERNAL_H
#define LIB_TRACE_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "schemas/trace_format.h"

#include "lib/trace/reader.h"

struct reel_error;

/* Bytes of records that one block may hold: a block is at most a slot. */
#define TRACE_USED_MAX (REEL_SLOT_BYTES - sizeof(struct reel_block_head))
/* No record is longer: 4 bytes, 17 varints, two paths. */
#define TRACE_RECORD_MAX (4 + 17 * 10 + 2 * REEL_PATH_BYTES)
/* Readable bytes that must follow the bytes to decode, all zero. */
#define TRACE_SLACK 256
/* Bytes of text (exe, args ...) that are kept of a head. */
#define TRACE_TEXT_MAX 65536
/* Slots that a window may have: 64 GiB of threads. */
#define TRACE_SLOTS_MAX (1u << 20)

/* One block, found by its head. */
struct trace_block {
	int64_t at; /* of its head in the file */
	uint64_t base_ticks;
	uint32_t file; /* index into reel_trace.file */
	uint32_t process;
	uint32_t tid;
	uint32_t seq;
	uint32_t used;	 /* bytes of records that are there */
	uint32_t wanted; /* bytes that its head promises: > used when cut */
	uint32_t lost;
	uint32_t slot;	 /* another one: another life of the thread id */
	uint32_t number; /* of the block in its log, for messages */
};

struct trace_file {
	char *path;
	bool window;
};

/* A clock pair: what the counter and CLOCK_MONOTONIC said at one moment. */
struct trace_pair {
	uint64_t ticks;
	uint64_t ns;
	uint32_t image; /* as indexed; after trace_order() its clock */
};

/*
 * The clock of one host (one boot_id and kind of clock), fitted. Where time
 * namespaces move CLOCK_MONOTONIC and it is the clock, each has its own.
 */
struct trace_clock {
	struct reel_clock_fit near; /* first; of ticks that are not far off */
	/* ns = base_ns + (ticks - base_ticks) * mult / 2^shift */
	uint64_t base_ticks;
	int64_t base_ns;
	uint64_t mult;
	unsigned int shift;
	int64_t error_ns;
	/* Against MPI rank 0's node: what is added at two times; at[0] 0: no. */
	int64_t peer_ns[2];
	int64_t peer_at[2];
};

/* A process image: the public part and what goes with it. */
struct trace_image {
	struct reel_trace_process pub;
	struct reel_text *text;
	char *text_bytes;    /* what text points into */
	uint32_t text_room;  /* of it, without the NUL behind */
	uint32_t clock;	     /* index into reel_trace.clock */
	uint64_t last_ticks; /* base of its last block */
	int64_t timens_ns;   /* its CLOCK_MONOTONIC before the host's */
};

struct trace_thread {
	struct reel_trace_thread pub;
	uint32_t first_block; /* its blocks are [first_block, + pub.blocks) */
};

struct reel_trace {
	char *dir;
	json_t *job;
	struct reel_counts counts;
	struct trace_file *file;
	uint32_t files, file_room;
	struct trace_image *image;
	uint32_t images, image_room;
	struct trace_block *block;
	uint32_t blocks, block_room;
	struct trace_thread *thread;
	uint32_t threads;
	struct trace_pair *pair; /* of blocks; freed once fitted */
	uint32_t pairs, pair_room;
	uint32_t pair_stride, pair_skip; /* one of stride pairs is kept */
	struct trace_clock *clock;
	uint32_t clocks;
	int rank0;	      /* its image, -1: none */
	char *other;	      /* a head of another major, said; or NULL */
	pthread_mutex_t lock; /* of damage: streams may run in threads */
	struct reel_trace_damage damage;
};

/* The state of decoding one block. Memory: see trace_decoder_fini(). */
struct trace_decoder {
	const uint8_t *p;
	const uint8_t *end;  /* TRACE_SLACK zero bytes follow */
	uint64_t ticks;	     /* end of the previous record */
	uint64_t offset_end; /* of the previous record with an offset */
	uint64_t size;
	uint32_t desc;
	bool has_size, has_desc;
	bool first_format; /* major 1: a newdesc is not the last desc */
	char *path;	   /* the previous path, kept: prefixes refer to it */
	char *path2;
	uint32_t path_len;
	uint32_t path_room, path2_room;
};

/* trace_block.c */

/* Make @d ready for the first record of a block. */
void trace_decoder_begin(struct trace_decoder *d, uint64_t base_ticks);
void trace_decoder_fini(struct trace_decoder *d);

/*
 * Decode the record at d->p and move behind it. Strings of @rec are @d's.
 *
 * 1: done. 0: the end, or the 0 that ends a block; d->p stands there. -1: what
 * stands at d->p is no record (d->p stays), or with @err filled: no memory.
 */
int trace_decode(struct trace_decoder *d, struct reel_record *rec,
		 struct reel_error *err);

/* trace_head.c */

/* A file being read: where it is and how long it was when opened. */
struct trace_input {
	int fd;
	const char *path;
	int64_t bytes;
};

/* 0 and @in open, or -1 when it is no file that can be read (errno). */
int trace_input_open(struct trace_input *in, const char *path);
void trace_input_close(struct trace_input *in);
/* True when all @len bytes at @at were read. */
bool trace_input_read(const struct trace_input *in, void *buf, size_t len,
		      int64_t at);
/* The first offset >= @at that lies in no hole, or the size of the file. */
int64_t trace_input_data(const struct trace_input *in, int64_t at);

/* Is @head one of ours, with @room bytes there from its beginning? */
bool trace_head_good(const struct reel_head *head, int64_t room);

enum trace_verdict { TRACE_GOOD, TRACE_BAD, TRACE_FAILED };

/*
 * Read the head at @at, of a log or window, into @head, and add its process
 * image. BAD: it is no head of ours (another major is noted in tr->other).
 * FAILED: no memory.
 */
enum trace_verdict trace_head_read(struct reel_trace *tr,
				   const struct trace_input *in, int64_t at,
				   bool window, struct reel_head *head,
				   struct reel_error *err);

/* trace_index.c */

/*
 * Add the heads and block heads of the window or log @path. Damage is counted;
 * -1 with @err filled only for want of memory. A window gives its image's index
 * in *@image, or -1; the blocks of a log without a head belong to @image.
 */
int trace_index_window(struct reel_trace *tr, const char *path, int64_t *image,
		       struct reel_error *err);
int trace_index_log(struct reel_trace *tr, const char *path, int64_t image,
		    struct reel_error *err);

/* trace_order.c */

/*
 * Turn what was indexed into processes, their threads and each thread's
 * blocks; count what is missing.
 */
int trace_order(struct reel_trace *tr, struct reel_error *err);

/* trace_clock.c */

/* Keep a pair of image @i's clock. */
int trace_clock_pair(struct reel_trace *tr, uint32_t i, uint64_t ticks,
		     uint64_t ns, struct reel_error *err);
/* Find the hosts and fit their clocks; after trace_order(). */
int trace_clock_fit(struct reel_trace *tr, struct reel_error *err);

/* trace_peer.c */

/* Find what MPI measured between hosts; the clocks are fitted. */
void trace_peer_find(struct reel_trace *tr);
/* @ns of @c, by the clock of MPI rank 0's node. */
int64_t trace_peer_ns(const struct trace_clock *c, int64_t ns);

/* trace_damage.c */

/* Count @bytes and a place; the first that says something is kept. */
void trace_damage_cut(struct reel_trace *tr, uint64_t bytes, const char *fmt,
		      ...) __attribute__((format(printf, 3, 4)));
/* Count a file that cannot be used. */
void trace_damage_file(struct reel_trace *tr, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Count the file @path, which open() refused with errno @why: damage, unless
 * permission was denied. */
void trace_damage_open(struct reel_trace *tr, const char *path, int why);

#endif
