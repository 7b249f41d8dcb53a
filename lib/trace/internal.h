/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the trace reader: the index of a directory, the
 * decoder of one block, the clocks. Only these files and the tests include it.
 *
 * All input is untrusted: an index is made by the reader, and each number from
 * a file is checked where it is read.
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

/* Bytes of records in one block: a block is at most a slot. */
#define TRACE_USED_MAX (REEL_SLOT_BYTES - sizeof(struct reel_block_head))
/* The longest record: 4 bytes, 17 varints, two paths. */
#define TRACE_RECORD_MAX (4 + 17 * 10 + 2 * REEL_PATH_BYTES)
/* Zero bytes that must be readable after the bytes to decode. */
#define TRACE_SLACK 256
/* Bytes of text (exe, args ...) kept from a head. */
#define TRACE_TEXT_MAX 65536
/* The most slots in a window: 64 GiB of threads. */
#define TRACE_SLOTS_MAX (1u << 20)

/* A block, found by its head. */
struct trace_block {
	int64_t at; /* offset of its head in the file */
	uint64_t base_ticks;
	uint32_t file; /* index into reel_trace.file */
	uint32_t process;
	uint32_t tid;
	uint32_t seq;
	uint32_t used;	 /* bytes of records present */
	uint32_t wanted; /* bytes in its head: > used when cut short */
	uint32_t lost;
	uint32_t slot;	 /* differs: the thread id was reused */
	uint32_t number; /* its position in its log, for messages */
};

struct trace_file {
	char *path;
	bool window;
};

/* A clock pair: the counter and CLOCK_MONOTONIC read at one moment. */
struct trace_pair {
	uint64_t ticks;
	uint64_t ns;
	uint32_t image; /* image; in trace_clock_fit() the index of its clock */
};

/*
 * The fitted clock of one host (one boot_id and kind of clock). If the clock is
 * CLOCK_MONOTONIC, each time namespace has a clock of its own.
 */
struct trace_clock {
	struct reel_clock_fit fit; /* first member: the fast path */
	/* ns = base_ns + (ticks - base_ticks) * mult / 2^shift */
	uint64_t base_ticks;
	int64_t base_ns;
	uint64_t mult;
	unsigned int shift;
	int64_t error_ns;
	/* Offset to the clock of MPI rank 0's node, at two times. peer_at[0] is
	 * 0 without a measurement. */
	int64_t peer_ns[2];
	int64_t peer_at[2];
};

/* A process image: the public part and private data. */
struct trace_image {
	struct reel_trace_process pub;
	struct reel_text *text;
	char *text_bytes;    /* text points into it */
	uint32_t text_room;  /* its bytes, without the final NUL */
	uint32_t clock;	     /* index into reel_trace.clock */
	uint64_t last_ticks; /* base of its last block */
	int64_t timens_ns;   /* its CLOCK_MONOTONIC minus the host's */
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
	struct trace_pair *pair; /* of block heads; freed after the fit */
	uint32_t pairs, pair_room;
	uint32_t pair_stride, pair_skip; /* one of stride pairs is kept */
	struct trace_clock *clock;
	uint32_t clocks;
	int rank0;	   /* image of MPI rank 0, -1: none */
	char *other_major; /* message about a head of another major, or NULL */
	pthread_mutex_t lock; /* of damage: streams may be read in threads */
	struct reel_trace_damage damage;
};

/* The state of decoding one block; trace_decoder_fini() frees it. */
/* The values that a record takes from those before it in the block. */
struct trace_previous {
	uint64_t ticks;	     /* end of the previous record */
	uint64_t offset_end; /* of the previous record with an offset */
	uint64_t size;
	uint32_t desc;
	uint32_t path_len;
	bool has_size, has_desc;
};

struct trace_decoder {
	const uint8_t *p;
	const uint8_t *end; /* TRACE_SLACK zero bytes follow */
	struct trace_previous was;
	bool first_format; /* major 1: a newdesc does not become desc */
	char *path;	   /* the previous path: prefixes refer to it */
	char *path2;
	uint32_t path_room, path2_room;
};

/* decode.c */

/* Prepare @d for the first record of a block. */
void trace_decoder_begin(struct trace_decoder *d, uint64_t base_ticks);
void trace_decoder_fini(struct trace_decoder *d);

/*
 * Decode the record at d->p and advance d->p. Strings of @rec belong to @d.
 *
 * Returns 1; 0 at the end, or at the 0 that ends a block (d->p is there); -1
 * when d->p holds no valid record (d->p unchanged), or with @err filled:
 * REEL_E_MEMORY.
 */
int trace_decode(struct trace_decoder *d, struct reel_record *rec,
		 struct reel_error *err);

/* head.c */

/* An open file and its size at open. */
struct trace_input {
	int fd;
	const char *path;
	int64_t bytes;
};

/* Open @path, a regular file, for reading. 0, or -1 with errno. */
int trace_input_open(struct trace_input *in, const char *path);
void trace_input_close(struct trace_input *in);
/* True when all @len bytes at @at were read. */
bool trace_input_read(const struct trace_input *in, void *buf, size_t len,
		      int64_t at);
/* The first offset >= @at outside of a hole, or the size of the file. */
int64_t trace_input_data(const struct trace_input *in, int64_t at);

/* True when @head is valid and fits the @room bytes from its beginning. */
bool trace_head_good(const struct reel_head *head, int64_t room);

enum trace_verdict { TRACE_GOOD, TRACE_BAD, TRACE_FAILED };

/*
 * Read the head at @at of a log or window into @head, and add its process
 * image. TRACE_BAD: no valid head (another major is noted in tr->other_major).
 * TRACE_FAILED: out of memory.
 */
enum trace_verdict trace_head_read(struct reel_trace *tr,
				   const struct trace_input *in, int64_t at,
				   bool window, struct reel_head *head,
				   struct reel_error *err);

/* index.c */

/*
 * Add the heads and block heads of the window or log @path. Damage is counted;
 * -1 with @err filled only for REEL_E_MEMORY. A window gives the index of its
 * image in *@image, or -1; the blocks of a log without a head belong to @image.
 */
int trace_index_window(struct reel_trace *tr, const char *path, int64_t *image,
		       struct reel_error *err);
int trace_index_log(struct reel_trace *tr, const char *path, int64_t image,
		    struct reel_error *err);

/* order.c */

/*
 * Build the processes, their threads and each thread's list of blocks from the
 * index; count missing blocks.
 */
int trace_order(struct reel_trace *tr, struct reel_error *err);

/* clock.c */

/* Keep a clock pair of image @i. */
int trace_clock_pair(struct reel_trace *tr, uint32_t i, uint64_t ticks,
		     uint64_t ns, struct reel_error *err);
/* Find the hosts and fit their clocks; after trace_order(). */
int trace_clock_fit(struct reel_trace *tr, struct reel_error *err);

/* mpi_clock.c */

/* Apply the offsets that MPI measured between hosts; after the fit. */
void trace_peer_find(struct reel_trace *tr);
/* Convert @ns of @c to the clock of MPI rank 0's node. */
int64_t trace_peer_ns(const struct trace_clock *c, int64_t ns);

/* damage.c */

/* Count a damaged stretch of @bytes; the first message is kept. */
void trace_damage_cut(struct reel_trace *tr, uint64_t bytes, const char *fmt,
		      ...) __attribute__((format(printf, 3, 4)));
/* Count an unusable file. */
void trace_damage_file(struct reel_trace *tr, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Count the file @path, whose open() failed with errno @why: damage, unless
 * permission was denied. */
void trace_damage_open(struct reel_trace *tr, const char *path, int why);

#endif
