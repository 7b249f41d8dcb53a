/* SPDX-License-Identifier: MIT */
/* The memory that the calls of a thread read into and write from. */
#ifndef REPLAY_ENGINE_BUFFERS_H
#define REPLAY_ENGINE_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

struct call_spec;
struct player;

/* For reads of one size: how much of their memory is fresh from the kernel. */
struct fresh_share {
	int16_t now;  /* in 128ths; below 0: the replay is slower without any */
	int16_t step; /* by which the next read moves it */
	int16_t seen; /* reads, up to a limit */
	int64_t want_ns; /* the median time of the job's reads so far */
};

/* Fill the memory of small writes; once, before any fork. */
void buffers_fill_text(void);

/* Allocate the memory of @p. False when there is not enough. */
bool buffers_init(struct player *p);

/* Free it by raw calls: the shim would record others. */
void buffers_free(struct player *p);

/* Choose the memory of the call @s; @fills: it is a read of a file. */
void buffers_before(struct player *p, const struct call_spec *s, bool fills);

/* After such a read, which took @want_ns in the job. */
void buffers_after_read(struct player *p, const struct call_spec *s,
			int64_t start_ns, int64_t end_ns, int64_t want_ns);

#endif
