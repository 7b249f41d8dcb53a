/* SPDX-License-Identifier: MIT */
/*
 * Streams with unwritten bytes when their process forks or ends: bytes that
 * _exit() discards, and bytes that parent and child both write. One case a run.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *way;
static FILE *f;

static int is(const char *name)
{
	return !strcmp(way, name);
}

static void print_many(void)
{
	for (int i = 0; i < 1000; i++)
		fprintf(f, "%09d\n", i);
}

/* The parent has seven unwritten bytes in the buffer of f. "wrapped": written
 * by a call that the shim wraps. */
static void child(void)
{
	static char block[5000];
	char *const argv[] = {"true", NULL};

	if (is("_exit") || is("wrapped _exit"))
		_exit(0);
	if (is("exit") || is("wrapped exit"))
		exit(0);
	if (is("quick_exit"))
		quick_exit(0);
	if (is("exec"))
		execvp(argv[0], argv);
	if (is("fflush _exit")) {
		fflush(f);
		_exit(0);
	}
	if (is("fflush all _exit")) {
		fflush(NULL);
		_exit(0);
	}
	if (is("fwrite fclose")) {
		fwrite("abc", 1, 3, f);
		fclose(f);
		_exit(0);
	}
	if (is("fprintf exit")) {
		fprintf(f, "ab%d", 1);
		exit(0);
	}
	if (is("fprintf _exit")) {
		fprintf(f, "ab%d", 1);
		_exit(0);
	}
	if (is("fseek _exit")) {
		fseek(f, 0, SEEK_CUR);
		_exit(0);
	}
	if (is("fwrite past the buffer, fflush _exit")) {
		fwrite(block, 1, sizeof(block), f);
		fflush(f);
		_exit(0);
	}
	if (is("fprintf past the buffer, exit")) {
		print_many();
		exit(0);
	}
	if (is("unbuffered fwrite _exit")) {
		fwrite("abc", 1, 3, f);
		_exit(0);
	}
	if (is("grandchild exit")) {
		if (!fork())
			exit(0);
		wait(NULL);
		_exit(0);
	}
	_exit(9);
}

static int reads(void)
{
	int c = 0;

	f = fopen("in", "r");
	for (int i = 0; i < 3; i++)
		c += getc(f);
	if (!fork()) {
		c += getc(f);
		_exit(c < 0);
	}
	wait(NULL);
	return c < 0;
}

int main(int argc, char **argv)
{
	int status;

	way = argc > 1 ? argv[1] : "";
	if (is("reads"))
		return reads();
	f = strstr(way, "stdout ") ? stdout : fopen("out", "w");
	if (!f)
		return 1;
	if (f == stdout)
		way += strlen("stdout ");
	if (is("alone _exit")) {
		fprintf(f, "paren%d\n", 7);
		_exit(0);
	}
	if (is("alone past the buffer, _exit")) {
		print_many();
		_exit(0);
	}
	if (is("alone past the buffer, exit")) {
		print_many();
		return 0;
	}
	if (is("unbuffered fwrite _exit"))
		setvbuf(f, NULL, _IONBF, 0);
	if (!strncmp(way, "wrapped", 7))
		fwrite("parent\n", 1, 7, f);
	else
		fprintf(f, "paren%d\n", 7);
	if (!fork())
		child();
	wait(&status);
	if (f != stdout)
		fclose(f);
	return WEXITSTATUS(status);
}
