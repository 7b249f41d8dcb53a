/* SPDX-License-Identifier: MIT */
/*
 * io_uring by syscall() and the program's own mapping of the rings (one mapping
 * or two), or with -DWITH_LIBURING through liburing. Prints the operations.
 * Exit status 77: io_uring is not available.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef WITH_LIBURING
#include <liburing.h>
#else
#include <linux/io_uring.h>
#endif

#define DEPTH 8
#define ROUNDS 64
#define BYTES 4096

static char buf[DEPTH][BYTES];
static long reads, read_bytes, writes, write_bytes;

static void tally(int writing, long res)
{
	*(writing ? &writes : &reads) += 1;
	*(writing ? &write_bytes : &read_bytes) += res;
}

#ifdef WITH_LIBURING

static long one(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	long res;

	if (io_uring_wait_cqe(ring, &cqe))
		exit(4);
	res = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

static void in_rounds(struct io_uring *ring, int fd)
{
	for (int k = 0; k < ROUNDS; k++) {
		for (int i = 0; i < DEPTH; i++) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
			off_t off = ((off_t)k * DEPTH + i) * BYTES;

			if (k & 1)
				io_uring_prep_write(sqe, fd, buf[i], BYTES,
						    off);
			else
				io_uring_prep_read(sqe, fd, buf[i], BYTES, off);
			io_uring_sqe_set_data(sqe, buf[i]);
		}
		if (io_uring_submit(ring) != DEPTH)
			exit(3);
		for (int i = 0; i < DEPTH; i++)
			tally(k & 1, one(ring));
	}
}

/* The ring opens a descriptor, reads through it as a registered file, closes
 * it. */
static void opened(struct io_uring *ring, const char *path, int *fd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_openat(sqe, AT_FDCWD, path, O_RDONLY, 0);
	if (io_uring_submit_and_wait(ring, 1) != 1)
		exit(5);
	fd[1] = (int)one(ring);
	if (fd[1] < 0 || io_uring_register_files(ring, fd, 2))
		exit(6);
	sqe = io_uring_get_sqe(ring);
	io_uring_prep_read(sqe, 1, buf[0], BYTES, BYTES);
	sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_submit(ring);
	tally(0, one(ring));
	sqe = io_uring_get_sqe(ring);
	io_uring_prep_close(sqe, fd[1]);
	io_uring_submit(ring);
	if (one(ring))
		exit(7);
}

static int run(const char *path, const char *more)
{
	int fd[2] = {open(path, O_RDWR), -1};
	struct io_uring ring;

	if (io_uring_queue_init(DEPTH, &ring, 0))
		return 77;
	in_rounds(&ring, fd[0]);
	opened(&ring, path, fd);
	io_uring_queue_exit(&ring);
	return 0;
}

#else

struct ring {
	unsigned int *tail, *mask, *array, *head, *done, *done_mask;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	int fd;
};

static void *map(int fd, size_t len, off_t what)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_POPULATE, fd, what);

	if (at == MAP_FAILED)
		exit(2);
	return at;
}

static void rounds(struct ring *r, int fd)
{
	for (int k = 0; k < ROUNDS; k++) {
		for (int i = 0; i < DEPTH; i++) {
			unsigned int t = *r->tail, at = t & *r->mask;
			struct io_uring_sqe *s = &r->sqe[at];

			memset(s, 0, sizeof(*s));
			s->opcode = k & 1 ? IORING_OP_WRITE : IORING_OP_READ;
			s->fd = fd;
			s->addr = (unsigned long)buf[i];
			s->len = BYTES;
			s->off = ((unsigned long)k * DEPTH + (unsigned int)i) *
				 BYTES;
			r->array[at] = at; /* all with the same user_data */
			__atomic_store_n(r->tail, t + 1, __ATOMIC_RELEASE);
		}
		if (syscall(SYS_io_uring_enter, r->fd, DEPTH, DEPTH,
			    IORING_ENTER_GETEVENTS, NULL, 0) != DEPTH)
			exit(3);
		while (*r->head != __atomic_load_n(r->done, __ATOMIC_ACQUIRE)) {
			tally(k & 1, r->cqe[*r->head & *r->done_mask].res);
			__atomic_store_n(r->head, *r->head + 1,
					 __ATOMIC_RELEASE);
		}
	}
}

/* An operation that is counted as lost. */
static void fallocates(struct ring *r, int fd)
{
	unsigned int t = *r->tail, at = t & *r->mask;
	struct io_uring_sqe *s = &r->sqe[at];

	memset(s, 0, sizeof(*s));
	s->opcode = IORING_OP_FALLOCATE;
	s->fd = fd;
	s->addr = BYTES;
	r->array[at] = at;
	__atomic_store_n(r->tail, t + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) != 1)
		exit(4);
}

static int run(const char *path, const char *more)
{
	struct io_uring_params p;
	int single = more && !strcmp(more, "single"), fd;
	struct ring r;
	size_t sq, cq;
	char *at, *at2;

	memset(&p, 0, sizeof(p));
	r.fd = (int)syscall(SYS_io_uring_setup, DEPTH, &p);
	if (r.fd < 0)
		return 77;
	sq = p.sq_off.array + p.sq_entries * sizeof(unsigned int);
	cq = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	if (single && cq > sq)
		sq = cq;
	at = map(r.fd, sq, IORING_OFF_SQ_RING);
	at2 = single ? at : map(r.fd, cq, IORING_OFF_CQ_RING);
	r.sqe = map(r.fd, p.sq_entries * sizeof(*r.sqe), IORING_OFF_SQES);
	r.tail = (void *)(at + p.sq_off.tail);
	r.mask = (void *)(at + p.sq_off.ring_mask);
	r.array = (void *)(at + p.sq_off.array);
	r.head = (void *)(at2 + p.cq_off.head);
	r.done = (void *)(at2 + p.cq_off.tail);
	r.done_mask = (void *)(at2 + p.cq_off.ring_mask);
	r.cqe = (void *)(at2 + p.cq_off.cqes);
	fd = open(path, O_RDWR);
	rounds(&r, fd);
	if (more && !single)
		fallocates(&r, fd);
	munmap(at, sq);
	return 0;
}

#endif

int main(int argc, char **argv)
{
	int rc = run(argv[1], argv[2]);

	if (rc)
		return rc;
	printf("async_read\t%ld\t%ld\t0\n", reads, read_bytes);
	printf("async_write\t%ld\t%ld\t0\n", writes, write_bytes);
	return 0;
}
