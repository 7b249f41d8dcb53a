/* SPDX-License-Identifier: MIT */
/*
 * Advice on mapped files, memory locks, and rarer calls on paths and folders.
 * Prints values that must be the same bare and traced.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096l

static void said(const char *what, long r)
{
	printf("%s %ld %s\n", what, r, r < 0 ? strerror(errno) : "-");
	errno = 0;
}

static void mapped(void)
{
	int fd = open("advised.bin", O_RDWR | O_CREAT | O_TRUNC, 0644);
	char *p, *nameless;

	if (fd < 0 || ftruncate(fd, 16 * PAGE))
		exit(2);
	p = mmap(NULL, 16 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	nameless =
		mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	close(fd);
	said("will need", posix_madvise(p, 8 * PAGE, POSIX_MADV_WILLNEED));
	said("not needed", posix_madvise(p, PAGE, POSIX_MADV_DONTNEED));
	said("no advice", posix_madvise(p, PAGE, 77));
	said("nameless", posix_madvise(nameless, PAGE, POSIX_MADV_RANDOM));
	said("mlock", mlock(p + PAGE, PAGE));
	said("mlock2", mlock2(p, PAGE, MLOCK_ONFAULT));
	said("mlock2, bad flags", mlock2(p, PAGE, 77));
	said("munlock", munlock(p, 2 * PAGE));
	said("mlock, nameless", mlock(nameless, PAGE));
	said("munmap", munmap(p, 16 * PAGE));
	said("after", posix_madvise(p, PAGE, POSIX_MADV_WILLNEED));
}

static int no_dots(const struct dirent *de)
{
	return de->d_name[0] != '.';
}

static int count(DIR *dir)
{
	int n = 0;

	while (readdir(dir))
		n++;
	return n;
}

static void listed(int at)
{
	struct dirent **list = NULL;
	char buf[4096];
	off_t base = 0;
	int n = scandirat(at, "listed", &list, no_dots, alphasort);
	int fd = openat(at, "listed", O_RDONLY | O_DIRECTORY);
	DIR *dir;

	said("scandirat", n);
	while (n > 0)
		free(list[--n]);
	free(list);
	said("scandirat, none",
	     scandirat(at, "none", &list, no_dots, alphasort));
	said("getdirentries", getdirentries(fd, buf, sizeof(buf), &base) > 0);
	said("at the end", getdirentries(fd, buf, sizeof(buf), &base));
	close(fd);
	dir = opendir("folder/listed");
	said("readdir", count(dir));
	rewinddir(dir);
	said("again", count(dir));
	rewinddir(dir);
	said("one", readdir(dir) != NULL);
	rewinddir(dir);
	said("once more", count(dir));
	closedir(dir);
}

static void handles(int at)
{
	struct {
		struct file_handle h;
		unsigned char room[MAX_HANDLE_SZ];
	} handle = {.h = {.handle_bytes = MAX_HANDLE_SZ}};
	const char *volatile bad = (const char *)8;
	int mount;

	said("handle", name_to_handle_at(at, "f0", &handle.h, &mount, 0));
	handle.h.handle_bytes = 0;
	said("no room", name_to_handle_at(at, "f0", &handle.h, &mount, 0));
	handle.h.handle_bytes = MAX_HANDLE_SZ;
	said("of none", name_to_handle_at(at, "none", &handle.h, &mount, 0));
	said("bad", name_to_handle_at(at, bad, &handle.h, &mount, 0));
	said("by number",
	     syscall(SYS_name_to_handle_at, at, "f1", &handle.h, &mount, 0));
}

int main(void)
{
	int at;

	mkdir("folder", 0755);
	mkdir("folder/listed", 0755);
	for (int i = 0; i < 5; i++) {
		char name[64];

		snprintf(name, sizeof(name), "folder/%sf%d",
			 i < 3 ? "listed/" : "", i % 3);
		close(open(name, O_WRONLY | O_CREAT, 0644));
	}
	at = open("folder", O_RDONLY | O_DIRECTORY);
	mapped();
	listed(at);
	handles(at);
	return 0;
}
