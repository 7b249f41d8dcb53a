/* SPDX-License-Identifier: MIT */
/*
 * Completions without a call: kernel aio whose ring the program reads itself,
 * and a ring of io_uring that a forked child continues to use. Arguments: a
 * file, and "aio" or "uring". Prints the operations and bytes reaped.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 200
#define DEPTH 24
#define BYTES 4096

struct ring {
	uint32_t id, entries, head, tail, magic, compat, incompat, head_bytes;
	struct io_event event[];
};
static char buf[DEPTH][BYTES];

/* Reap all completions; the control blocks are reused at once. */
static int reap(struct ring *ring, long *bytes)
{
	uint32_t tail, n = 0;

	while (ring->head !=
	       (tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE))) {
		*bytes += ring->event[ring->head].res;
		__atomic_store_n(&ring->head, (ring->head + 1) % ring->entries,
				 __ATOMIC_RELEASE);
		n++;
	}
	return (int)n;
}

/* Reap half of each round with the next one, and none of the last. */
static int aio(int fd)
{
	struct iocb cb[2][DEPTH], *list[DEPTH];
	aio_context_t ctx = 0;
	long bytes = 0, ops = 0;

	if (syscall(SYS_io_setup, DEPTH * 2, &ctx))
		return 77;
	for (int i = 0; i < ROUNDS; i++) {
		memset(cb[i % 2], 0, sizeof(cb[0]));
		for (int k = 0; k < DEPTH; k++) {
			struct iocb *c = list[k] = &cb[i % 2][k];

			c->aio_fildes = (uint32_t)fd;
			c->aio_lio_opcode = IOCB_CMD_PREAD;
			c->aio_buf = (uintptr_t)buf[k];
			c->aio_nbytes = (uint64_t)(BYTES - k);
			c->aio_offset = (i * DEPTH + k) % 64 * BYTES;
		}
		if (syscall(SYS_io_submit, ctx, DEPTH, list) != DEPTH)
			return 3;
		while (i < ROUNDS - 1 && ops < (long)DEPTH * (i + 1))
			ops += reap((struct ring *)ctx, &bytes);
	}
	printf("%ld %ld %d\n", ops, bytes, DEPTH);
	return 0;
}

/* One read by the parent, three by its child, through the same ring. */
static int uring(int fd)
{
	struct io_uring_params p;
	struct io_uring_sqe *sqe;
	unsigned int *tail, *array, mask;
	char *ring;
	int r, status;

	memset(&p, 0, sizeof(p));
	r = (int)syscall(SYS_io_uring_setup, 8, &p);
	if (r < 0 || !(p.features & IORING_FEAT_SINGLE_MMAP))
		return 77;
	ring = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, r, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, r, IORING_OFF_SQES);
	if (ring == MAP_FAILED || sqe == MAP_FAILED)
		return 77;
	tail = (void *)(ring + p.sq_off.tail);
	array = (void *)(ring + p.sq_off.array);
	mask = *(unsigned int *)(ring + p.sq_off.ring_mask);
	for (int i = 0; i < 4; i++) {
		unsigned int at = *tail & mask;

		if (i == 1 && fork()) {
			wait(&status);
			return WEXITSTATUS(status);
		}
		memset(&sqe[at], 0, sizeof(*sqe));
		sqe[at].opcode = IORING_OP_READ;
		sqe[at].fd = fd;
		sqe[at].addr = (uintptr_t)buf[0];
		sqe[at].len = BYTES;
		sqe[at].user_data = (uint64_t)i + 1;
		array[at] = at;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, r, 1, 1, IORING_ENTER_GETEVENTS,
			    NULL, 0) != 1)
			return 4;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "", O_RDONLY);

	if (fd < 0 || argc < 3)
		return 1;
	return *argv[2] == 'a' ? aio(fd) : uring(fd);
}
