/* SPDX-License-Identifier: MIT */
/*
 * Most calls of the table, from two threads and two processes, with the results
 * that are hardest to replay: short reads, ends of files, errors, shared
 * offsets, reused descriptor numbers.
 *
 * Runs in an empty directory; with "make" it makes its own input first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/replay/job.h"

static char buf[300000];

static void make_file(const char *name, size_t bytes)
{
	FILE *f = fopen(name, "w");

	must(f != NULL, name);
	for (size_t i = 0; i < bytes; i++)
		fputc(i % 61 == 60 ? '\n' : 'a' + (int)(i % 26), f);
	fclose(f);
}

static int make_input(void)
{
	must(!mkdir("in", 0755), "in");
	make_file("in/a.bin", 200000);
	make_file("in/b0.bin", 70001);
	make_file("in/b1.bin", 70001);
	make_file("in/lines.csv", 5000);
	make_file("in/empty.dat", 0);
	make_file("in/never_touched", 10);
	must(!symlink("a.bin", "in/link"), "link");
	make_file("in/other.log", 100);
	return 0;
}

static void *reader(void *arg)
{
	/*
	 * A file each: Darshan's order of accesses to one file depends on the
	 * timing.
	 */
	for (int i = 0; i < 20; i++) {
		int fd = open(arg, O_RDONLY | O_CLOEXEC);
		ssize_t n;
		char part[20000];

		while ((n = read(fd, part, sizeof(part))) > 0)
			;
		must(pread(fd, part, 100, 70000) == 1, "pread");
		must(lseek(fd, -5, SEEK_END) == 69996, "lseek");
		must(lseek(fd, 2, SEEK_CUR) == 69998, "lseek");
		must(read(fd, part, 10) == 3, "tail");
		close(fd);
		usleep(200);
	}
	return NULL;
}

static void positions(void)
{
	struct iovec iov[2] = {{buf, 1000}, {buf + 5000, 3000}};
	struct stat st;
	struct statfs fs;
	int fd = open("in/a.bin", O_RDONLY), copy;
	FILE *f;

	must(!fstat(fd, &st) && st.st_size == 200000, "fstat");
	must(readv(fd, iov, 2) == 4000, "readv");
	must(preadv(fd, iov, 2, 198000) == 2000, "preadv");
	copy = dup(fd);
	must(read(copy, buf, 10) == 10 && lseek(fd, 0, SEEK_CUR) == 4010,
	     "dup");
	must(dup2(fd, 20) == 20 && dup3(fd, 21, O_CLOEXEC) == 21, "dup2");
	must(fcntl(fd, F_DUPFD, 30) == 30, "F_DUPFD");
	must(fcntl(fd, F_GETFL) >= 0, "F_GETFL");
	close(20);
	close(21);
	close(30);
	close(copy);
	must(!posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL), "fadvise");
	must(!flock(fd, LOCK_SH) && !flock(fd, LOCK_UN), "flock");
	must(!fstatfs(fd, &fs) && !statfs("in", &fs), "statfs");
	f = fdopen(fd, "r");
	must(f && fread(buf, 1, 100, f) == 100, "fdopen");
	fclose(f);
}

static void failures(void)
{
	struct stat st;

	must(open("in/no_such_file", O_RDONLY) < 0 && errno == ENOENT,
	     "ENOENT");
	must(stat("no/such/dir", &st) < 0, "stat");
	must(mkdir("in", 0700) < 0 && errno == EEXIST, "EEXIST");
	must(rmdir("in") < 0 && errno == ENOTEMPTY, "ENOTEMPTY");
	must(open("in", O_WRONLY) < 0 && errno == EISDIR, "EISDIR");
	must(unlink("in/no_such_file") < 0, "unlink");
	must(readlink("in/a.bin", buf, 100) < 0 && errno == EINVAL, "EINVAL");
	must(readlink("in/link", buf, 100) == 5, "readlink");
	must(!lstat("in/link", &st) && S_ISLNK(st.st_mode), "lstat");
	must(!access("in/a.bin", R_OK) && access("in/x", F_OK), "access");
	must(open("in/a.bin", O_CREAT | O_EXCL | O_WRONLY, 0600) < 0, "EXCL");
}

static void streams(void)
{
	char line[256], *p = NULL;
	size_t room = 0, n = 0;
	FILE *f = fopen("in/lines.csv", "r");

	while (fgets(line, sizeof(line), f))
		n++;
	must(n == 82 && !fseek(f, 61, SEEK_SET), "fgets");
	while (getline(&p, &room, f) > 0)
		n++;
	must(n == 163, "getline");
	rewind(f);
	must(fgets(line, 10, f) && strlen(line) == 9, "short fgets");
	must(!fseek(f, -3, SEEK_CUR) && !fseek(f, -100, SEEK_END), "fseek");
	must(fread(line, 1, 200, f) == 100 && feof(f), "fread to the end");
	fclose(f);
	free(p);
	f = fopen("out/text.log", "w");
	must(f && fwrite("hello, world\n", 1, 13, f) == 13 && !fflush(f), "w");
	fclose(f);
	f = fopen("out/text.log", "a+");
	must(f && fwrite("again\n", 1, 6, f) == 6, "a+");
	fclose(f);
	f = fopen("out/zeros", "w+");
	must(f && fwrite("a\0b\nc\0\0\n0123456789", 1, 18, f) == 18, "zeros");
	rewind(f);
	must(fgets(line, sizeof(line), f) && fgets(line, 4, f),
	     "zeros in lines");
	must(fgetc(f) == '\n' && !fread(line, 100, 1, f), "no whole item");
	must(!fopen("out/zeros", "?") && errno == EINVAL, "EINVAL");
	fclose(f);
}

static void directories(void)
{
	struct dirent **list;
	DIR *dir = opendir("in");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	must(n == 10, "readdir");
	n = scandir("in", &list, NULL, alphasort);
	must(n == 10, "scandir");
	while (n)
		free(list[--n]);
	free(list);
	must(!mkdir("out/deep", 0755) && !mkdir("out/deep/er", 0755), "mkdir");
	must(!rmdir("out/deep/er") && !rename("out/deep", "out/moved"), "mv");
	must(!chdir("out") && !access("moved", F_OK) && !chdir(".."), "chdir");
}

static void writing(void)
{
	int fd = open("out/ckpt.tmp", O_RDWR | O_CREAT | O_TRUNC, 0644);

	must(write(fd, buf, 250000) == 250000, "write");
	must(pwrite(fd, buf, 1000, 400000) == 1000, "pwrite");
	must(!ftruncate(fd, 300000) && !fsync(fd) && !fdatasync(fd), "sync");
	must(pread(fd, buf, 100, 299950) == 50, "read what was written");
	close(fd);
	must(!rename("out/ckpt.tmp", "out/model.ckpt"), "rename");
	must(!link("out/model.ckpt", "out/hard") &&
		     !symlink("model.ckpt", "out/soft"),
	     "links");
	must(!truncate("out/hard", 1234), "truncate");
	fd = open("out/soft", O_RDONLY);
	must(read(fd, buf, 5000) == 1234, "through a link");
	close(fd);
	must(!unlink("out/hard") && !remove("out/soft"), "unlink");
	fd = open("in/other.log", O_WRONLY | O_APPEND);
	must(write(fd, "more\n", 5) == 5, "append");
	close(fd);
}

static void mappings(void)
{
	int fd = open("in/a.bin", O_RDONLY);
	char *p = mmap(NULL, 200000, PROT_READ, MAP_PRIVATE, fd, 0);

	close(fd);
	must(p != MAP_FAILED && p[199999] && !munmap(p, 200000), "mmap");
	fd = open("out/mapped.bin", O_RDWR | O_CREAT | O_EXCL, 0600);
	must(!ftruncate(fd, 8192), "ftruncate");
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(p != MAP_FAILED && memset(p, 1, 8192) && !msync(p, 8192, MS_SYNC),
	     "msync");
	munmap(p, 8192);
	close(fd);
}

/* A child shares an offset with its parent, and two pipes. */
static void processes(void)
{
	int shared = open("in/a.bin", O_RDONLY), ask[2], answer[2], status;
	pid_t pid;

	must(!pipe(ask) && !pipe(answer), "pipe");
	pid = fork();
	if (!pid) {
		close(ask[1]);
		close(answer[0]);
		while (read(ask[0], buf, 4) == 4) {
			ssize_t n = read(shared, buf, 30000);

			must(write(answer[1], buf, (size_t)n + 4) == n + 4,
			     "n");
		}
		_exit(0);
	}
	close(ask[0]);
	close(answer[1]);
	for (int i = 0; i < 8; i++) {
		size_t want = 30004, got = 0;

		if (i == 6)
			want = 20004;
		if (i == 7)
			want = 4;
		usleep(1000);
		must(write(ask[1], "next", 4) == 4, "ask");
		while (got < want) {
			ssize_t n = read(answer[0], buf, want - got);

			must(n > 0, "answer");
			got += (size_t)n;
		}
	}
	close(ask[1]);
	must(read(answer[0], buf, 10) == 0, "the end");
	must(waitpid(pid, &status, 0) == pid && !status, "child");
	close(answer[0]);
	close(shared);
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	if (argc > 1 && !strcmp(argv[1], "make"))
		return make_input();
	must(!mkdir("out", 0755), "out");
	for (int i = 0; i < 2; i++)
		must(!pthread_create(&t[i], NULL, reader,
				     i ? "in/b1.bin" : "in/b0.bin"),
		     "thread");
	positions();
	failures();
	streams();
	writing();
	mappings();
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	directories(); /* changes the working directory */
	processes();
	return 0;
}
