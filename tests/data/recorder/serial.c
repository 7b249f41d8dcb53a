/* SPDX-License-Identifier: MIT */
/* Made the samples serial2 and serial3 under Recorder. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
	char text[4096] = "";
	struct stat st;
	int fd = open("a", O_RDWR | O_CREAT | O_TRUNC, 0644), fd2;
	for (int i = 0; i < 30; i++)
		if (write(fd, text, i % 3 ? 100 : 512) < 0)
			return 1;
	lseek(fd, 300, SEEK_SET);
	if (read(fd, text, 200) < 0)
		return 1;
	lseek(fd, 50, SEEK_CUR);
	if (read(fd, text, 200) < 0)
		return 1;
	fd2 = open("a", O_RDONLY);
	if (read(fd2, text, 10) < 0)
		return 1;
	close(fd2);
	stat("a", &st);
	close(fd);
	FILE *f = fopen("b", "w");
	fwrite(text, 8, 20, f);
	fseek(f, 10, SEEK_SET);
	fwrite(text, 1, 5, f);
	fclose(f);
	rename("b", "c");
	unlink("c");
	return 0;
}
