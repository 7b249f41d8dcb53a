/* SPDX-License-Identifier: MIT */
/*
 * Calls that a recorder may miss or misinterpret. Run as: log_append CASE, in a
 * folder with a file "in". The output must be the same, bare and recorded.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char buf[4096];

/* A log that is opened to append a few lines and closed; another kept open. */
static void do_append(void)
{
	FILE *f;

	for (int i = 0; i < 5; i++) {
		f = fopen("log", "a");
		fprintf(f, "line %d of a log\n", i);
		fflush(f);
		fprintf(f, "more\n");
		fclose(f);
	}
	f = fopen("log", "a");
	setvbuf(f, NULL, _IOLBF, 0);
	for (int i = 0; i < 3; i++)
		fprintf(f, "line %d\n", i);
	fclose(f);
	f = fopen("log", "a+");
	fseek(f, 0, SEEK_SET);
	printf("%d\n", fgetc(f));
	fseek(f, 0, SEEK_CUR);
	fputs("end\n", f);
	fclose(f);
	f = fopen("log", "a");
	for (int i = 0; i < 5000; i++)
		fprintf(f, "%d\n", i);
	fclose(f);
}

static void *two_lines(void *f)
{
	for (int i = 0; i < 2; i++) {
		fwrite("a line of the log\n", 1, 18, f);
		fflush(f);
	}
	return NULL;
}

/* A log to which threads write in turn. */
static void do_shared(void)
{
	FILE *f = fopen("log", "w");
	pthread_t t;

	for (int i = 0; i < 20; i++) {
		two_lines(f);
		if (!pthread_create(&t, NULL, two_lines, f))
			pthread_join(t, NULL);
	}
	fclose(f);
}

static __attribute__((format(printf, 2, 3))) int print(int fd,
						       const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vdprintf(fd, format, args);
	va_end(args);
	return n;
}

static void do_dprintf(void)
{
	int fd = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644), sum = 0;

	for (int i = 0; i < 9; i++)
		sum += dprintf(fd, "%d %f %s %.3Lf %g %g %g %g %g %g %g %g\n",
			       i, 1.5 * i, "text", 3.25L, 1., 2., 3., 4., 5.,
			       6., 7., 8.);
	sum += print(fd, "%g %3000d\n", 7.25, 1);
	dprintf(fd, "%s", "");
	printf("%d %d\n", sum, dprintf(-1, "nothing"));
	close(fd);
}

/* Standard streams: most calls on them have no record. */
static void do_print(void)
{
	for (int i = 0; i < 5000; i++)
		printf("line %d\n", i);
}

static void do_flush(void)
{
	do_print();
	fflush(stdout);
	do_print();
}

static void do_scan(void)
{
	long sum = 0;
	int n;

	while (scanf("%d", &n) == 1)
		sum += n;
	fprintf(stderr, "%ld\n", sum);
}

/* One call site: with a file, and without. */
static void do_nofile(void)
{
	int fd = open("in", O_RDONLY);
	struct stat st;

	for (int i = 0; i < 4; i++)
		printf("%zd %d\n", read(i % 2 ? fd : 999, buf, 10),
		       stat(i % 2 ? "in" : (char *)8, &st));
}

static void opens(void)
{
	int in = open("in", O_RDONLY), out[2];

	for (int i = 0; i < 2; i++)
		out[i] = open(i ? "a" : "b", O_RDWR | O_CREAT | O_TRUNC, 0644);
	printf("%d %d %d\n", in, out[0], out[1]);
	for (int i = 0; i < 5; i++) {
		printf("%zd\n", read(in, buf, 10));
		if (write(out[0], "abc", 3) != 3 || write(out[1], "x", 1) != 1)
			_exit(97);
	}
	printf("%ld %ld\n", (long)lseek(out[0], 0, SEEK_END),
	       (long)lseek(out[1], 0, SEEK_END));
}

/* Calls from code that is generated at run time, without unwind tables. */
static void do_jit(void)
{
#if defined(__x86_64__)
	/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5,
					     0xff, 0xd7, 0x5d, 0xc3};
	void *at = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(void (*)(void));

	if (at == MAP_FAILED)
		return;
	memcpy(at, code, sizeof(code));
	memcpy(&call, &at, sizeof(call));
	call(opens);
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	call(opens);
#endif
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "append"))
		do_append();
	else if (!strcmp(what, "shared"))
		do_shared();
	else if (!strcmp(what, "dprintf"))
		do_dprintf();
	else if (!strcmp(what, "print"))
		do_print();
	else if (!strcmp(what, "flush"))
		do_flush();
	else if (!strcmp(what, "scan"))
		do_scan();
	else if (!strcmp(what, "nofile"))
		do_nofile();
	else if (!strcmp(what, "jit"))
		do_jit();
	else
		return 2;
	return 0;
}
