/* SPDX-License-Identifier: MIT */
/*
 * Streams: wrapped calls mixed with unwrapped ones, seeks, pushed-back bytes,
 * streams without a descriptor, misuse. Prints results, which tracing must not
 * change, and positions, which the trace must reproduce.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static FILE *volatile null_stream;

static void said(const char *what, long r)
{
	printf("%s %ld %s\n", what, r, errno ? strerror(errno) : "-");
	errno = 0;
}

/* 10,000 bytes by fprintf, putc, fputs, fwrite in turn. */
static void mixed_write(void)
{
	FILE *f = fopen("mixed", "w");
	char block[100];

	memset(block, 'b', sizeof(block));
	for (int i = 0; i < 50; i++) {
		fprintf(f, "%049d\n", i);
		putc('c', f);
		fputs("123456789", f);
		if (fwrite(block, 10, 14, f) != 10) /* larger than the buffer */
			clearerr(f);
		fseek(f, i * 200L + 160, SEEK_SET);
		fwrite(block, 1, 40, f);
	}
	said("ftell", ftell(f));
	said("fclose", fclose(f));
}

static void mixed_read(void)
{
	FILE *f = fopen("mixed", "r");
	char block[200], word[64];
	int n = 0;

	said("fread", (long)fread(block, 1, 60, f));
	for (int i = 0; i < 500; i++)
		n += getc(f) == 'b';
	said("getc", n);
	said("ungetc", ungetc('u', f));
	said("fread, pushed back", (long)fread(block, 1, 5, f));
	printf("%.5s\n", block);
	said("ftell", ftell(f));
	said("fscanf", fscanf(f, "%60s", word));
	said("ftell after it", ftell(f));
	fseek(f, 4000, SEEK_SET);
	said("fgets",
	     fgets(block, sizeof(block), f) ? (long)strlen(block) : -1);
	while (getc(f) != EOF)
		;
	said("ftell at the end", ftell(f));
	said("feof", feof(f) != 0);
	said("fread at the end", (long)fread(block, 1, 9, f));
	fclose(f);
}

/* Transfers of 8 bytes, a few of another size between. */
static void small(void)
{
	FILE *f = fopen("small", "w+");
	char block[16] = "abcdefghijklmno";
	long sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += (long)fwrite(block, 8, 1, f);
	rewind(f);
	for (int i = 0; i < 3000; i++)
		sum += (long)fread(block, 8, 1, f);
	sum += (long)fread(block, 3, 4, f);
	for (int i = 0; i < 1000; i++)
		sum += (long)fread(block, 8, 1, f);
	said("small", sum);
	fclose(f);
}

static void no_descriptor(void)
{
	char buf[64] = "memory", *grown = NULL, text[16];
	size_t n = 0;
	FILE *f = fmemopen(buf, sizeof(buf), "r+");

	errno = 0;
	said("fmemopen read", (long)fread(text, 1, 3, f));
	said("fmemopen fileno", fileno(f));
	said("fmemopen seek", fseek(f, 1, SEEK_SET));
	said("fmemopen write", (long)fwrite("XX", 1, 2, f));
	said("fmemopen flush", fflush(f));
	said("fmemopen close", fclose(f));
	f = open_memstream(&grown, &n);
	said("memstream", fprintf(f, "%d", 12345));
	said("memstream write", (long)fwrite("abc", 1, 3, f));
	fclose(f);
	said(grown, (long)n);
	free(grown);
}

static void misuse(void)
{
	char text[8];
	FILE *f;

	said("fread of nothing", (long)fread(text, 0, 5, null_stream));
	said("fflush of all", fflush(NULL));
	f = fopen("mixed", "r");
	said("write to a reader", (long)fwrite("x", 1, 1, f));
	clearerr(f);
	said("after it", (long)fread(text, 1, 3, f));
	close(fileno(f));
	said("fread, closed", (long)fread(text, 1, 3, f));
	fseek(f, 9000, SEEK_SET);
	said("fread, closed, elsewhere", (long)fread(text, 1, 3, f));
	said("fclose, closed", fclose(f));
	said("fopen, bad mode", fopen("mixed", "q") != NULL);
	said("fopen, none", fopen("no/such", "r") != NULL);
}

static void reopened(void)
{
	FILE *f = fopen("mixed", "r");
	char text[8];

	said("read", (long)fread(text, 1, 5, f));
	f = freopen(NULL, "r", f);
	said("freopen, no path", f != NULL);
	said("ftell", f ? ftell(f) : -1);
	said("read", f ? (long)fread(text, 1, 5, f) : -1);
	f = freopen("again", "w", f);
	said("fprintf", fprintf(f, "written again"));
	fclose(f);
}

static void wide(void)
{
	FILE *f = fopen("wide", "w+");
	wchar_t line[32];

	setlocale(LC_ALL, "C.UTF-8");
	said("fwprintf", fwprintf(f, L"\u00e4\u00f6\u00fc %d\n", 42));
	rewind(f);
	said("fgetws", fgetws(line, 32, f) ? (long)wcslen(line) : -1);
	fclose(f);
}

/* After a flush the buffer pointers are as before the first write. */
static void flushed(void)
{
	FILE *f = fopen("flushed", "w");

	fwrite("abc", 1, 3, f);
	fflush(f);
	fprintf(f, "%020d", 7);
	fflush(NULL);
	fwrite("xyz", 1, 3, f);
	fflush(f);
	fprintf(f, "%030d", 7);
	fflush(NULL);
	fclose(f);
}

/* Calls that consume more bytes than their results show. */
static void unreturned(int mode)
{
	static const char lines[] = "a\0b\nc d\0\0\n1 2 3 4 5";
	char block[200], word[20];
	FILE *f = fopen("unreturned", "w");
	int a, b;

	fwrite(lines, 1, sizeof(lines) - 1, f);
	fclose(f);
	f = fopen("unreturned", "r");
	setvbuf(f, NULL, mode, BUFSIZ);
	said("fgets, a zero", fgets(block, sizeof(block), f) != NULL);
	said("fscanf", fscanf(f, "%1s", word));
	said("fgets, the rest", fgets(block, sizeof(block), f) != NULL);
	said("fscanf", fscanf(f, "%d %d", &a, &b));
	said("fread", (long)fread(block, 1, 1, f));
	said("getc", getc(f));
	said("fread, no whole item", (long)fread(block, 100, 1, f));
	said("ftell", ftell(f));
	fseek(f, 0, SEEK_SET);
	said("fread", (long)fread(block, 1, 1, f));
	fclose(f);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	mixed_write();
	mixed_read();
	small();
	no_descriptor();
	misuse();
	reopened();
	wide();
	flushed();
	unreturned(_IOFBF);
	unreturned(_IONBF);
	return 0;
}
