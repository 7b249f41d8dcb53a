/* SPDX-License-Identifier: MIT */
/* The rings of io_uring that are followed. */
#ifndef PRELOAD_ASYNC_URING_H
#define PRELOAD_ASYNC_URING_H

#include <linux/io_uring.h>

#include "preload/core/shim.h"

#define SHIM_RING_MIXED (1u << 18) /* a set-up that is not followed */

struct shim_ring {
	uint32_t state;
	int fd;
	unsigned int flags;
	uint32_t sq_seen, cq_seen; /* entries looked at */
	unsigned int *sq_head, *sq_tail, *sq_mask, *array;
	unsigned char *sqes;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	unsigned char *cqes;
	struct io_sqring_offsets sq_off;
	struct io_cqring_offsets cq_off;
	uint32_t *files; /* registered descriptors */
	uint32_t files_n;
	bool raw; /* set up without liburing */
};

/* The ring with descriptor @fd, or NULL. */
struct shim_ring *shim_ring_find(int fd);

/* A new one, which others find when it is ready; NULL: no room. */
struct shim_ring *shim_ring_new(int fd);
void shim_ring_ready(struct shim_ring *r);
void shim_ring_end(struct shim_ring *r);

/* The entry @index is about to be submitted. */
void shim_ring_submit(const struct shim_ring *r, uint32_t index,
		      uint64_t start);

/* Completions that appeared since the last look are told at @end. */
void shim_ring_scan(struct shim_ring *r, uint64_t end);

/* Record a call on the ring; @n: the operations that it submits. */
void shim_ring_record(uint32_t call, int64_t n, const struct shim_ring *r,
		      uint64_t start, uint64_t end, long result, int err);

/* io_uring_register(@what, @arg, @n) succeeded. */
void shim_ring_registered(struct shim_ring *r, unsigned int what,
			  const void *arg, unsigned int n);

#endif
