/* SPDX-License-Identifier: MIT */
/*
 * The kernel's aio through syscall(), or with -DWITH_LIBAIO through libaio.
 * Prints the operations that the trace must contain.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef WITH_LIBAIO
#include <libaio.h>
#else
#include <linux/aio_abi.h>
typedef aio_context_t io_context_t;
static long kernel(long r)
{
	return r < 0 ? -errno : r;
}
#define io_setup(n, ctx) kernel(syscall(SYS_io_setup, n, ctx))
#define io_submit(ctx, n, list) kernel(syscall(SYS_io_submit, ctx, n, list))
#define io_getevents(ctx, least, n, ev, ts)                                    \
	kernel(syscall(SYS_io_getevents, ctx, least, n, ev, ts))
#define io_destroy(ctx) kernel(syscall(SYS_io_destroy, ctx))
#endif

#define N 16
#define BYTES 8192
enum { PREAD, PWRITE, FSYNC, FDSYNC, PREADV = 7 };

/* libaio's struct iocb is the kernel's, under other names. */
struct block {
	unsigned long data;
	unsigned int key, flags;
	short op, prio;
	int fd;
	void *buf;
	size_t len;
	long long off;
	unsigned long more[2];
};

static struct block block[N], *list[N];
static char buf[N][BYTES];
static struct io_event event[N];

static void fill(int i, int op, int fd, void *at, size_t len, long long off)
{
	memset(&block[i], 0, sizeof(block[i]));
	block[i].op = (short)op;
	block[i].fd = fd;
	block[i].buf = at;
	block[i].len = len;
	block[i].off = off;
	list[i] = &block[i];
}

static long run(io_context_t ctx, int n)
{
	long sum = 0;
	int i;

	if (io_submit(ctx, n, (struct iocb **)list) != n)
		exit(3);
	for (int done = 0; done < n;) {
		int got = (int)io_getevents(ctx, 1, n, event, NULL);

		if (got < 1)
			exit(4);
		for (i = 0; i < got; i++)
			sum += (long)event[i].res;
		done += got;
	}
	return sum;
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), i;
	struct iovec iov[2] = {{buf[0], 100}, {buf[1], 1000}};
	io_context_t ctx = 0;
	long wrote, got;

	if (fd < 0 || io_setup(64, &ctx) < 0)
		return 2;
	for (i = 0; i < N; i++)
		fill(i, PWRITE, fd, buf[i], BYTES, (long long)i * BYTES);
	wrote = run(ctx, N);
	fill(0, FDSYNC, fd, NULL, 0, 0);
	run(ctx, 1);
	for (i = 0; i < N; i++) /* the last one is short */
		fill(i, PREAD, fd, buf[i], BYTES, (long long)i * BYTES + 100);
	got = run(ctx, N);
	fill(0, PREADV, fd, iov, 2, 0);
	got += run(ctx, 1);
	/* The kernel refuses the second and does not read the third. */
	fill(0, PREAD, fd, buf[0], BYTES, 0);
	fill(1, PREAD, 999, buf[1], BYTES, 0);
	fill(2, PREAD, fd, buf[2], BYTES, 0);
	printf("refused: %ld\n", (long)io_submit(ctx, 3, (struct iocb **)list));
	if (io_getevents(ctx, 1, N, event, NULL) != 1)
		return 5;
	got += (long)event[0].res;
	list[0] = (void *)8;
	printf("bad block: %ld\n",
	       (long)io_submit(ctx, 1, (struct iocb **)list));
	printf("bad list: %ld\n", (long)io_submit(ctx, 1, (struct iocb **)-64));
	if (io_destroy(ctx))
		return 6;
	printf("async_read\t%d\t%ld\t0\n", N + 2, got);
	printf("async_sync\t1\t0\t0\n");
	printf("async_write\t%d\t%ld\t0\n", N, wrote);
	return 0;
}
