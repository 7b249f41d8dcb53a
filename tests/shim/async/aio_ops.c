/* SPDX-License-Identifier: MIT */
/*
 * POSIX aio: every way to submit and to wait. Prints the operations that the
 * trace must contain. The last read never ends.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 32
#define BYTES 4096

static struct aiocb cb[N];
static char buf[N][BYTES];
static long reads, read_bytes, writes, write_bytes, syncs, failed;

static void fill(int i, int fd, off_t off, size_t len)
{
	memset(&cb[i], 0, sizeof(cb[i]));
	cb[i].aio_fildes = fd;
	cb[i].aio_offset = off;
	cb[i].aio_buf = buf[i];
	cb[i].aio_nbytes = len;
	cb[i].aio_sigevent.sigev_notify = SIGEV_NONE;
}

static ssize_t end(int i)
{
	const struct aiocb *one[1] = {&cb[i]};

	while (aio_error(&cb[i]) == EINPROGRESS)
		aio_suspend(one, 1, NULL);
	return aio_return(&cb[i]);
}

static void tally(int i, int write)
{
	ssize_t r = end(i);

	*(write ? &writes : &reads) += 1;
	if (r < 0)
		failed++;
	else
		*(write ? &write_bytes : &read_bytes) += r;
}

int main(int argc, char **argv)
{
	struct aiocb *list[N];
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), i, p[2];

	if (fd < 0 || pipe(p))
		return 2;
	for (i = 0; i < N; i++) {
		fill(i, fd, (off_t)i * BYTES, BYTES);
		if (aio_write(&cb[i]))
			return 3;
	}
	for (i = 0; i < N; i++)
		tally(i, 1);
	fill(0, fd, 0, 0);
	if (aio_fsync(O_DSYNC, &cb[0]) || end(0))
		return 4;
	syncs++;
	for (i = 0; i < N; i++) { /* the last one hits the end of the file */
		fill(i, fd, (off_t)(i + 1) * BYTES, BYTES);
		cb[i].aio_lio_opcode = LIO_READ;
		list[i] = &cb[i];
	}
	if (lio_listio(LIO_WAIT, list, N, NULL))
		return 5;
	for (i = 0; i < N; i++)
		tally(i, 0);
	i = open("/dev/null", O_WRONLY);
	if (dup2(i, 90) != 90 || dup2(fd, 91) != 91 || close(i))
		return 6;
	fill(0, open(argv[1], O_WRONLY), 0, BYTES); /* not open for reading */
	if (aio_read(&cb[0]))
		return 7;
	tally(0, 0);
	fill(1, 999, 0, BYTES);
	i = aio_read(&cb[1]);
	if (!i)
		printf("bad descriptor: %zd\n", end(1));
	else
		printf("bad descriptor: refused\n");
	fill(2, p[0], 0, 1);
	if (aio_read(&cb[2]))
		return 8;
	printf("async_read\t%ld\t%ld\t%ld\n", reads, read_bytes, failed);
	printf("async_sync\t%ld\t0\t0\n", syncs);
	printf("async_write\t%ld\t%ld\t0\n", writes, write_bytes);
	return 0;
}
