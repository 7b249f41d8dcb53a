/* SPDX-License-Identifier: MIT */
/*
 * Copies inside the kernel, successful and failed: copy_file_range, sendfile,
 * splice, tee, vmsplice; by name, and by syscall() ("syscall").
 *
 * Prints results, errno and positions, which must be the same bare and traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int raw;

static ssize_t range(int from, off64_t *a, int to, off64_t *b, size_t n)
{
	return raw ? syscall(SYS_copy_file_range, from, a, to, b, n, 0u)
		   : copy_file_range(from, a, to, b, n, 0);
}

static ssize_t send_to(int to, int from, off_t *off, size_t n)
{
	return raw ? syscall(SYS_sendfile, to, from, off, n)
		   : sendfile(to, from, off, n);
}

static ssize_t join(int from, off64_t *a, int to, off64_t *b, size_t n)
{
	return raw ? syscall(SYS_splice, from, a, to, b, n, 0u)
		   : splice(from, a, to, b, n, 0);
}

static ssize_t twin(int from, int to, size_t n)
{
	return raw ? syscall(SYS_tee, from, to, n, 0u) : tee(from, to, n, 0);
}

static void said(const char *what, long r, long long a, long long b)
{
	printf("%s %ld %s %lld %lld\n", what, r, r < 0 ? strerror(errno) : "-",
	       a, b);
	errno = 0;
}

static void ranges(int from, int to)
{
	off64_t a = 1000, b = 50;
	long r = range(from, &a, to, &b, 3000);

	said("range", r, a, b);
	r = range(from, NULL, to, NULL, 5000);
	said("range at position", r, lseek(from, 0, SEEK_CUR),
	     lseek(to, 0, SEEK_CUR));
	r = range(from, NULL, to, NULL, (size_t)1 << 40);
	said("range to the end", r, lseek(from, 0, SEEK_CUR),
	     lseek(to, 0, SEEK_CUR));
	said("range past the end", range(from, NULL, to, NULL, 10), 0, 0);
	said("range, bad fd", range(-1, NULL, to, NULL, 10), 0, 0);
	said("range, bad pointer", range(from, (off64_t *)8, to, NULL, 10), 0,
	     0);
}

static void pipes(int from, int to)
{
	char text[] = "vmsplice writes this";
	struct iovec iov = {text, sizeof(text)};
	int p[2], q[2];
	off64_t a = 4096, b = 8192;

	if (pipe(p) || pipe(q))
		exit(1);
	said("splice in", join(from, &a, p[1], NULL, 700), a, 0);
	said("tee", twin(p[0], q[1], 700), 0, 0);
	said("splice out", join(p[0], NULL, to, &b, 700), b, 0);
	said("splice out 2", join(q[0], NULL, to, NULL, 300), 0, 0);
	said("vmsplice",
	     raw ? syscall(SYS_vmsplice, p[1], &iov, 1ul, 0u)
		 : vmsplice(p[1], &iov, 1, 0),
	     0, 0);
	said("splice, two files", join(from, NULL, to, NULL, 10), 0, 0);
}

int main(int argc, char **argv)
{
	static char data[20000];
	int from = open("from.bin", O_RDWR | O_CREAT | O_TRUNC, 0644);
	int to = open("to.bin", O_RDWR | O_CREAT | O_TRUNC, 0644);
	off_t off = 100;
	long r;

	raw = argc > 1;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7);
	if (write(from, data, sizeof(data)) != sizeof(data))
		return 1;
	lseek(from, 0, SEEK_SET);
	ranges(from, to);
	r = send_to(to, from, &off, 400);
	said("sendfile", r, off, lseek(to, 0, SEEK_CUR));
	lseek(from, 200, SEEK_SET);
	r = send_to(to, from, NULL, 500);
	said("sendfile at position", r, lseek(from, 0, SEEK_CUR),
	     lseek(to, 0, SEEK_CUR));
	said("sendfile, bad fd", send_to(to, -1, NULL, 1), 0, 0);
	pipes(from, to);
	said("size", lseek(to, 0, SEEK_END), 0, 0);
	close(from);
	close(to);
	return 0;
}
