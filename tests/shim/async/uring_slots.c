/* SPDX-License-Identifier: MIT */
/*
 * An operation of the ring replaces the file of a registered slot: a later
 * write through the slot goes to the new file.
 */
#ifdef WITH_LIBURING
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <unistd.h>

static int done(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int r = io_uring_submit_and_wait(ring, 1);

	if (r < 0 || io_uring_wait_cqe(ring, &cqe))
		return -1;
	r = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return r;
}

int main(void)
{
	int fd = open("first", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct io_uring ring;
	struct io_uring_sqe *sqe;

	if (io_uring_queue_init(8, &ring, 0) ||
	    io_uring_register_files(&ring, &fd, 1))
		return 77;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_write(sqe, 0, "one", 3, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	printf("first %d\n", done(&ring));
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_openat_direct(sqe, AT_FDCWD, "second",
				    O_RDWR | O_CREAT | O_TRUNC, 0600, 0);
	if (done(&ring) < 0)
		return 77;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_write(sqe, 0, "second", 6, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	printf("second %d\n", done(&ring));
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
