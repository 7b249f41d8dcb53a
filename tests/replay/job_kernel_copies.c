/* SPDX-License-Identifier: MIT */
/*
 * Moves bytes without a read or a write of the program: copies in the kernel,
 * streams, mappings, asynchronous operations, memory and named pipes. "make"
 * makes its input.
 */
#include <aio.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/replay/job.h"

#define IN_BYTES 150000

static char buf[IN_BYTES];

static int make_input(void)
{
	int fd = open("in", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0 && write(fd, buf, IN_BYTES) == IN_BYTES, "in");
	return close(fd);
}

/* Copies at the position and at given offsets. */
static void copy_files(int in, int out)
{
	loff_t from = 100, to = 60000;
	off_t at = 5000;

	must(sendfile(out, in, &at, 10000) == 10000, "sendfile");
	must(read(in, buf, 1000) == 1000, "the position stays");
	must(copy_file_range(in, NULL, out, NULL, 5000, 0) == 5000, "copy");
	must(copy_file_range(in, &from, out, &to, 5000, 0) == 5000, "copy at");
	must(copy_file_range(in, NULL, out, NULL, 1 << 30, 0) ==
		     IN_BYTES - 6000,
	     "copy the rest");
	must(copy_file_range(in, NULL, out, NULL, 10, 0) == 0, "the end");
	must(copy_file_range(in, NULL, 99, NULL, 10, 0) < 0, "no such number");
	must(copy_file_range(in, NULL, in, NULL, 10, 0) < 0, "read only");
}

static void copy_messages(int in, int out)
{
	struct iovec iov = {buf, 4000};
	loff_t from = 7000;
	off_t at = 0;
	int p[2], q[2], s[2];

	must(!pipe(p) && !pipe(q) && !socketpair(AF_UNIX, SOCK_STREAM, 0, s),
	     "pipe");
	must(splice(in, &from, p[1], NULL, 3000, 0) == 3000, "splice in");
	must(tee(p[0], q[1], 3000, 0) == 3000, "tee");
	must(splice(p[0], NULL, out, NULL, 3000, 0) == 3000, "splice out");
	must(read(q[0], buf, 9000) == 3000, "what tee left");
	must(vmsplice(q[1], &iov, 1, 0) == 4000, "vmsplice");
	must(read(q[0], buf, 4000) == 4000, "what vmsplice gave");
	must(sendfile(s[0], in, &at, 20000) == 20000, "sendfile");
	must(read(s[1], buf, 20000) == 20000, "what sendfile sent");
	for (int i = 0; i < 2; i++) {
		close(p[i]);
		close(q[i]);
		close(s[i]);
	}
}

/* Small reads, and calls without a record. */
static void streams(void)
{
	FILE *f = fopen("in", "r");
	int n = 0;

	must(f != NULL, "fopen");
	for (int i = 0; i < 10000; i++)
		n += (int)fread(buf, 1, 8, f);
	while (getc(f) != EOF)
		n++;
	must(n == IN_BYTES && !fclose(f), "fread");
	f = fopen("out.text", "w");
	must(f != NULL, "fopen");
	for (int i = 0; i < 1000; i++)
		fprintf(f, "%d words\n", i);
	fclose(f);
	f = popen("cat in", "r");
	must(f != NULL, "popen");
	for (n = 0; fread(buf, 1, 5000, f) == 5000;)
		n += 5000;
	must(n == IN_BYTES && !pclose(f), "popen");
}

/*
 * Two mappings of one descriptor number: one with msync(), one until the end.
 */
static void mappings(void)
{
	int fd = open("in", O_RDONLY), sum = 0;
	char *a = mmap(NULL, IN_BYTES, PROT_READ, MAP_SHARED, fd, 0), *b;

	close(fd);
	fd = open("out.map", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && !ftruncate(fd, 1 << 20), "ftruncate");
	b = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	must(a != MAP_FAILED && b != MAP_FAILED, "mmap");
	memset(b, 1, 1 << 19);
	must(!msync(b, 1 << 20, MS_SYNC) && !munmap(b, 1 << 20), "msync");
	for (int i = 0; i < IN_BYTES; i++)
		sum += a[i];
	a = mremap(a, IN_BYTES, 4096, 0);
	must(a != MAP_FAILED && !madvise(a, 4096, MADV_WILLNEED) && !sum,
	     "mremap");
	fd = memfd_create("mine", 0);
	must(fd >= 0 && write(fd, buf, 5000) == 5000, "memfd_create");
	close(fd);
	fd = shm_open("/ioreel-moves", O_RDWR | O_CREAT, 0600);
	must(fd >= 0 && !ftruncate(fd, 8192) && !shm_unlink("/ioreel-moves"),
	     "shm_open");
	close(fd);
}

static void async(int out)
{
	struct aiocb cb = {.aio_fildes = out,
			   .aio_buf = buf,
			   .aio_nbytes = 50000,
			   .aio_offset = 200000};
	const struct aiocb *list[] = {&cb};

	must(!aio_write(&cb) && !aio_suspend(list, 1, NULL) &&
		     aio_return(&cb) == 50000,
	     "aio_write");
	must(!aio_fsync(O_SYNC, &cb) && !aio_suspend(list, 1, NULL) &&
		     aio_return(&cb) == 0,
	     "aio_fsync");
}

static void named_pipe(void)
{
	int fd, status;
	pid_t pid;

	must(!mkfifo("fifo", 0600), "mkfifo");
	pid = fork();
	if (!pid) {
		fd = open("fifo", O_WRONLY);
		_exit(write(fd, buf, 100) != 100);
	}
	fd = open("fifo", O_RDONLY);
	must(read(fd, buf, 200) == 100 && read(fd, buf, 200) == 0, "fifo");
	must(waitpid(pid, &status, 0) == pid && !status, "child");
	close(fd);
	must(!unlink("fifo"), "unlink");
}

int main(int argc, char **argv)
{
	int in, out;
	FILE *late;

	if (argc > 1 && !strcmp(argv[1], "make"))
		return make_input();
	in = open("in", O_RDONLY);
	out = open("out.copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(in >= 0 && out >= 0, "open");
	copy_files(in, out);
	copy_messages(in, out);
	streams();
	mappings();
	async(out);
	named_pipe();
	must(read(77, buf, 1) < 0 && close(78) < 0, "closed");
	must(!close_range(50, 60, 0) &&
		     !close_range((unsigned int)in, (unsigned int)out, 0),
	     "close_range");
	late = fopen("out.late", "w");
	must(late && fputs("at the end", late) > 0, "fputs");
	return 0; /* writes out.late */
}
