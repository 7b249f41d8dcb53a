/* SPDX-License-Identifier: MIT */
/*
 * Names of every kind, in memory that ends at their NUL. Each call on one is
 * printed as "CALL PATH", for the test to compare with the trace: files of one
 * directory, as loaders read them, at every offset in a word; names that begin
 * or end like those of code; names in the place of a directory; long ones.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char *page_end;
static unsigned long seed = 1;

static unsigned int below(unsigned int n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % n;
}

static void use_at(const char *at, const char *path)
{
	struct stat st;
	int fd;

	switch (below(4)) {
	case 0:
		printf("stat %d %s\n", stat(at, &st) ? -1 : 0, path);
		return;
	case 1:
		printf("lstat %d %s\n", lstat(at, &st) ? -1 : 0, path);
		return;
	case 2:
		fd = open(at, O_RDONLY);
		printf("open %d %s\n", fd, path);
		break;
	default:
		fd = openat(AT_FDCWD, at, O_RDONLY | O_CLOEXEC);
		printf("openat %d %s\n", fd, path);
	}
	if (fd >= 0 && below(8)) { /* some stay open, to change the numbers */
		char byte;

		printf("read %zd %s\n", read(fd, &byte, 1), path);
		close(fd);
		printf("close 0 %s\n", path);
	}
}

/* One call on @path, at the end of a page or at any offset. */
static void use(const char *path)
{
	size_t n = strlen(path) + 1;
	char *own = below(2) ? strdup(path) : NULL;
	char *at = page_end - n - (below(2) ? below(40) : 0);

	memset(page_end - 4096, 'x', 4096);
	memcpy(at, path, n);
	use_at(own ? own : at, path);
	free(own);
}

static void make(const char *path)
{
	int fd = creat(path, 0600);

	printf("creat %d %s\n", fd, path);
	if (fd >= 0) {
		printf("write %zd %s\n", write(fd, "data", 4), path);
		close(fd);
		printf("close 0 %s\n", path);
	}
}

int main(void)
{
	static const char *const dir[] = {
		"",	 "a/",	  "./a/",
		"a/bb/", "/../",  "a//",
		"lib/",	 "a/../", "a/site-packages/",
	};
	static const char *const name[] = {
		"x",
		"img_1.jpg",
		"img_10.jpg",
		"img_100.jpg",
		"img_1.jpgx",
		"data.npy",
		"m.h5",
		"run.py",
		"libz.so.1",
		"libz.so.1x",
		"pyvenv.cfg",
		"python312.zip",
		"pip",
		"site",
		"dist-x",
		"__x",
		"shard-00012",
		"train.tfrecord-00001-of-00002",
		"bb",
		"bb/y",
		"\n",
		"a\tb",
		"\xff\xfe",
		"missing",
		".",
		"..",
		"",
		"a-rather-long-name-that-takes-more-than-a-hundred-bytes-of-"
		"the-"
		"record-and-then-some-more-so-that-it-is-written-the-slow-way",
	};
	char cwd[2048], path[8192], all[18][2100];
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int dirs = sizeof(dir) / sizeof(dir[0]);
	int names = sizeof(name) / sizeof(name[0]);

	if (map == MAP_FAILED || mprotect(map + 4096, 4096, PROT_NONE))
		return 1;
	page_end = map + 4096;
	printf("mkdir %d\n", mkdir("a", 0700));
	printf("mkdir %d\n", mkdir("a/bb", 0700));
	printf("mkdir %d\n", mkdir("a/site-packages", 0700));
	printf("mkdir %d\n", mkdir("lib", 0700));
	if (!getcwd(cwd, sizeof(cwd)))
		return 1;
	for (int d = 0; d < dirs; d++) {
		snprintf(all[d], sizeof(all[d]), "%s", dir[d]);
		snprintf(all[dirs + d], sizeof(all[d]), "%s/%s", cwd, dir[d]);
		for (int i = 0; i < names; i++) {
			snprintf(path, sizeof(path), "%s%s", dir[d], name[i]);
			/* Create nothing in the root directory. */
			if (*path != '/' && !strstr(path, "missing") &&
			    below(3))
				make(path);
		}
	}
	for (int round = 0; round < 400; round++) {
		const char *in = all[below(2 * (unsigned int)dirs)];

		for (unsigned int i = 1 + below(12); i; i--) {
			snprintf(path, sizeof(path), "%s%s", in,
				 name[below((unsigned int)names)]);
			use(path);
		}
	}
	return 0;
}
