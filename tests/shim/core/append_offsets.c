/* SPDX-License-Identifier: MIT */
/*
 * Writes at offsets that no open flag shows: an appending stream on a
 * descriptor that does not append, a file that looked like a directory, an
 * appending temporary file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void show(const char *what, long r)
{
	printf("%s %s\n", what, r < 0 ? "failed" : "done");
}

static void append_by_stream(void)
{
	char bytes[100] = "";
	int fd = open("stream.tail", O_RDWR | O_CREAT | O_TRUNC, 0600);
	FILE *f;

	show("write", write(fd, bytes, 100));
	show("lseek", lseek(fd, 10, SEEK_SET));
	f = fdopen(fd, "a");
	show("fwrite", fwrite(bytes, 1, 20, f) == 20 ? 0 : -1);
	show("fclose", fclose(f));
}

static void file_as_directory(void)
{
	int fd = open("no.dir", O_RDWR | O_CREAT | O_TRUNC, 0600), again;

	show("openat", openat(fd, "inside", O_RDONLY));
	again = open("no.dir", O_WRONLY | O_TRUNC);
	show("write", write(again, "12345", 5));
	close(again);
	close(fd);
}

static void append_to_temporary(void)
{
	char name[] = "temp.XXXXXX";
	int fd = mkostemp(name, O_APPEND);

	show("pwrite", pwrite(fd, "1234567890", 10, 0));
	show("lseek", lseek(fd, 2, SEEK_SET));
	show("write", write(fd, "12", 2));
	show("unlink", unlink(name));
	close(fd);
}

int main(void)
{
	append_by_stream();
	file_as_directory();
	append_to_temporary();
	return 0;
}
