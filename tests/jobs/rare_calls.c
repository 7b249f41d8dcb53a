/* SPDX-License-Identifier: MIT */
/*
 * Rare calls, one case each: rare_calls CASE, in the folder DATA. strace is the
 * oracle, so each case uses only calls that a tracer sees, and prints results
 * that are equal in bare and recorded runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>

static char buf[65536];

static void must(bool good)
{
	if (good)
		return;
	perror("stranger_more");
	_exit(99);
}

static int made(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0 && write(fd, buf, bytes) == (ssize_t)bytes);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Writes after reads: libc's position is beyond the bytes that it writes next. */
static void update(void)
{
	FILE *f = fopen("DATA/update", "w+");

	for (int i = 0; i < 3000; i++)
		fprintf(f, "%d line\n", i);
	rewind(f);
	must(fgets(buf, 100, f));
	fseek(f, 3, SEEK_SET);
	getc(f);
	fseek(f, 0, SEEK_CUR);
	fprintf(f, "M%d", 1);
	fputc('c', f);
	fflush(f);
	fclose(f);
	f = fopen("DATA/update", "a+");
	must(fgets(buf, 100, f));
	fseek(f, 0, SEEK_CUR);
	fprintf(f, "%d", 12345);
	fputc('a', f);
	fclose(f);
}

/* Wide characters, which libc converts in a separate buffer. */
static void wide(const char *end)
{
	FILE *f;

	setlocale(LC_ALL, "C.UTF-8");
	f = fopen("DATA/wide", "w");
	for (int i = 0; i < 3000; i++)
		fwprintf(f, L"\x20ac %d\n", i);
	fflush(f);
	fputws(L"more", f);
	fseek(f, 10, SEEK_SET);
	fputwc(L'x', f);
	fclose(f);
	f = fopen("DATA/wide", "a");
	fputws(L"appended", f);
	f = freopen("DATA/again", "w", f);
	fputws(L"not closed", f);
	wprintf(L"\x20ac\n");
	if (!strcmp(end, "wide_exit"))
		_exit(0); /* discards the buffers */
}

static void vectors(void)
{
	static struct iovec v[IOV_MAX + 1];
	int fd = made("DATA/v", sizeof(buf));

	for (int i = 0; i <= IOV_MAX; i++)
		v[i] = (struct iovec){buf + i * 50, (size_t)i % 50};
	printf("%zd ", readv(fd, v, 0));
	printf("%zd ", readv(fd, v, IOV_MAX));
	printf("%zd ", readv(fd, v, IOV_MAX + 1));
	v[0].iov_len = SIZE_MAX;
	printf("%zd ", writev(fd, v, 2));
	v[0].iov_len = 5;
	printf("%zd ", preadv(fd, v, 3, (off_t)sizeof(buf) - 2));
	printf("%zd ", pwritev(fd, v, 7, 200000));
	printf("%zd ", preadv2(fd, v, 3, -1, 0));
	printf("%zd ", pwritev2(fd, v, 7, 0, RWF_APPEND));
	printf("%ld\n", (long)lseek(fd, 0, SEEK_CUR));
}

/* A descriptor that is passed through a socket, with a shared position. */
static void passed(void)
{
	char room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec v = {buf, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	int s[2], fd;

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	if (!fork()) {
		struct cmsghdr *h = CMSG_FIRSTHDR(&m);

		fd = made("DATA/passed", 5000);
		lseek(fd, 100, SEEK_SET);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &fd, sizeof(fd));
		must(sendmsg(s[1], &m, 0) == 1);
		_exit(0);
	}
	must(recvmsg(s[0], &m, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	wait(NULL);
	printf("%zd\n", read(fd, buf, 50));
	must(write(fd, "ab", 2) == 2);
	close(fd);
}

static ucontext_t back, at[8];

static void routine(int k)
{
	char name[32];

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "DATA/co%d", k);
		int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0644);

		must(write(fd, name, (size_t)k + 1) == k + 1);
		swapcontext(&at[k], &back);
		close(fd);
	}
}

/* Small stacks between which one thread switches. */
static void coroutines(void)
{
	static char stack[8][16384];

	for (int k = 0; k < 8; k++) {
		getcontext(&at[k]);
		at[k].uc_stack.ss_sp = stack[k];
		at[k].uc_stack.ss_size = sizeof(stack[k]);
		at[k].uc_link = &back;
		makecontext(&at[k], (void (*)(void))routine, 1, k);
	}
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 8; k++)
			swapcontext(&back, &at[k]);
}

static void cleanup(void *unused)
{
	int fd = open("DATA/cleanup", O_WRONLY | O_CREAT, 0644);

	(void)unused;
	must(write(fd, "clean", 5) == 5);
}

static void *blocked(void *pipe_end)
{
	pthread_cleanup_push(cleanup, NULL);
	must(read(*(int *)pipe_end, buf, 1) < 0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *leaving(void *n)
{
	int fd = open("DATA/left", O_WRONLY | O_CREAT | O_APPEND, 0644);

	must(write(fd, buf, (size_t)n) == (ssize_t)n);
	pthread_exit(NULL);
}

static void threads(void)
{
	pthread_t t[50];
	int p[2];

	must(!pipe(p));
	pthread_create(&t[0], NULL, blocked, &p[0]);
	for (size_t i = 1; i < 50; i++)
		pthread_create(&t[i], NULL, leaving, (void *)i);
	usleep(20000);
	pthread_cancel(t[0]);
	for (int i = 0; i < 50; i++)
		pthread_join(t[i], NULL);
}

static void names(void)
{
	char link[64], dir[] = "DATA/dXXXXXX";
	int fd = open("DATA", O_TMPFILE | O_RDWR, 0644);

	must(fd >= 0 && write(fd, buf, 7) == 7);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	must(!linkat(AT_FDCWD, link, AT_FDCWD, "DATA/linked",
		     AT_SYMLINK_FOLLOW));
	close(made("DATA/e1", 5));
	close(made("DATA/e2", 50));
	must(!renameat2(AT_FDCWD, "DATA/e1", AT_FDCWD, "DATA/e2",
			RENAME_EXCHANGE));
	fd = open("DATA/e1", O_RDONLY);
	printf("%zd\n", read(fd, buf, 99));
	must(mkdtemp(dir) && !rmdir(dir));
}

static void copies(void)
{
	int a = made("DATA/c1", sizeof(buf)), b = made("DATA/c2", 0), s[2];
	off_t from = 10;
	ssize_t n;

	must(!pipe(s));
	printf("%zd ", sendfile(s[1], a, NULL, 3000));
	printf("%zd ", splice(s[0], NULL, b, NULL, 3000, 0));
	printf("%zd ", sendfile(b, a, &from, 777));
	while ((n = splice(a, NULL, s[1], NULL, 4096, SPLICE_F_MOVE)) > 0)
		while (n > 0)
			n -= splice(s[0], NULL, b, NULL, (size_t)n, 0);
	printf("%zd %ld\n", copy_file_range(b, &from, a, NULL, 500, 0),
	       (long)lseek(b, 0, SEEK_CUR));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {{"update", update},	 {"vectors", vectors},
		   {"passed", passed},	 {"coroutines", coroutines},
		   {"threads", threads}, {"names", names},
		   {"copies", copies}};

	memset(buf, 'm', sizeof(buf));
	if (!strncmp(what, "wide", 4)) {
		wide(what);
		return 0;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].name, what)) {
			all[i].run();
			return 0;
		}
	return 2;
}
