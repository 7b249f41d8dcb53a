/* SPDX-License-Identifier: MIT */
/* The io_uring rings of the process. */
#ifndef PRELOAD_ASYNC_URING_H
#define PRELOAD_ASYNC_URING_H

#include <linux/io_uring.h>

#include "preload/core/shim.h"

#define SHIM_RING_MIXED (1u << 18) /* setup flag of rings not recorded */

struct shim_ring {
	uint32_t state;
	int fd;
	unsigned int flags;
	uint32_t sq_seen, cq_seen; /* entries read */
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

/* A new ring, which shim_ring_find() finds once it is ready; NULL: no room. */
struct shim_ring *shim_ring_new(int fd);
void shim_ring_ready(struct shim_ring *r);
/* Drop the ring and abandon its operations. */
void shim_ring_end(struct shim_ring *r);

/* Enter the operation of the entry @index, which is about to be submitted. */
void shim_ring_submit(const struct shim_ring *r, uint32_t index,
		      uint64_t start);

/* Record the completions since the last scan, as seen at @end. */
void shim_ring_scan(struct shim_ring *r, uint64_t end);

/* Record a call on the ring that submits @n operations. */
void shim_ring_record(uint32_t call, int64_t n, const struct shim_ring *r,
		      uint64_t start, uint64_t end, long result, int err);

/* After io_uring_register(@opcode, @arg, @n) succeeded. */
void shim_ring_registered(struct shim_ring *r, unsigned int opcode,
			  const void *arg, unsigned int n);

#endif
