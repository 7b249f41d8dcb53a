/* SPDX-License-Identifier: MIT */
/*
 * Streams with unrecorded calls, and pipes, in a process and its forked child:
 * the bytes read and written are known exactly. Arguments: a directory, and how
 * the child ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES 3000

static FILE *in(const char *name, const char *mode)
{
	FILE *f = fopen(name, mode);

	if (!f)
		exit(2);
	return f;
}

static void streams(const char *out, const char *from)
{
	FILE *w = in(out, "w"), *r = in(from, "r");
	int c, n = 0;

	for (int i = 0; i < LINES; i++) {
		fprintf(w, "line %d\n", i);
		if (i % 7 == 0)
			putc('x', w);
		if (i % 500 == 0)
			fwrite("0123456789", 1, 10, w);
	}
	while (n < 20000 && (c = getc(r)) != EOF)
		n++;
	fseek(r, 100, SEEK_CUR);
	for (n = 0; n < 5000 && getc(r) != EOF; n++)
		;
	fclose(w);
	fclose(r);
}

static void pipes(void)
{
	char buf[300];
	int p[2], q[2];

	if (pipe(p) || pipe(q))
		exit(3);
	memset(buf, 0, sizeof(buf));
	for (int i = 0; i < 3; i++) {
		if (write(p[1], buf, 200) != 200 || read(p[0], buf, 150) != 150)
			exit(4);
		if (write(q[1], buf, 70) != 70 || read(q[0], buf, 70) != 70)
			exit(4);
	}
}

int main(int argc, char **argv)
{
	FILE *both, *log;
	int status;

	if (argc < 3 || chdir(argv[1]))
		return 1;
	streams("out.parent", "in");
	pipes();
	fflush(NULL);
	both = in("both", "w");
	fprintf(both, "%0500d", 1);
	log = in("log", "a");
	fprintf(log, "%0300d", 1);
	fflush(log);
	if (fork() == 0) {
		streams("out.child", "in");
		pipes();
		fprintf(both, "%030d", 1);
		fprintf(log, "%0110d", 1);
		fflush(log);
		if (*argv[2] == '_')
			_exit(0);
		exit(0);
	}
	wait(&status);
	fprintf(both, "%020d", 1);
	fprintf(log, "%060d", 1);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
