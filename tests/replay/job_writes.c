/* SPDX-License-Identifier: MIT */
/* Writes to files and changes directories in every way, again and again. */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/replay/job.h"

#define ROUNDS 250

static void close_new(int fd, const char *path)
{
	must(fd >= 0, path);
	must(write(fd, "written\n", 8) == 8, path);
	close(fd);
}

static void one_round(void)
{
	FILE *f;

	must(!mkdir("d", 0700), "mkdir");
	f = fopen("d/one", "w");
	must(f && fputs("written\n", f) >= 0 && !fclose(f), "d/one");
	f = fopen("d/one", "a");
	must(f && fputs("appended\n", f) >= 0, "d/one");
	f = freopen("d/one", "r+", f);
	must(f && fputs("changed\n", f) >= 0 && !fclose(f), "d/one");
	close_new(open("d/two", O_WRONLY | O_CREAT | O_TRUNC, 0600), "d/two");
	close_new(creat("d/three", 0400), "d/three");
	close_new(openat(AT_FDCWD, "d/four", O_RDWR | O_CREAT | O_EXCL, 0600),
		  "d/four");
	must(!truncate("d/one", 3), "truncate");
	must(!rename("d/two", "d/five"), "rename");
	must(!link("d/five", "d/six"), "link");
	must(!symlink("five", "d/seven"), "symlink");
	close_new(open("d/seven", O_WRONLY), "d/seven");
	must(!mkdir("d/sub", 0700) && !mkfifo("d/sub/fifo", 0600), "d/sub");
	usleep(4000);
	must(!unlink("d/sub/fifo") && !rmdir("d/sub"), "d/sub");
	must(!unlink("d/one") && !unlink("d/three") && !unlink("d/four") &&
		     !remove("d/five") && !unlink("d/six") &&
		     !unlinkat(AT_FDCWD, "d/seven", 0) && !rmdir("d"),
	     "d");
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++)
		one_round();
	return bad;
}
