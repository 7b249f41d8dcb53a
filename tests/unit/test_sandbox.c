/* SPDX-License-Identifier: MIT */
/* The sandbox: accepted and refused paths, and the files that it removes. */
#include "replay/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/error.h"
#include "tests/lib/tap.h"

static void put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, "precious\n", 9) != 9)
		abort();
	close(fd);
}

static int exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void test_paths(void)
{
	static const char *const bad[] = {"",	   "a",	      "../a", "/..",
					  "/a/..", "/a/../b", "/.",   "/a/./b",
					  "a/b",   "/a/b/.."};
	static const char *const good[] = {"/", "/a", "/...", "/a/..b/c.",
					   "/.hidden/x"};
	struct sandbox sb = {.root = "/box", .root_len = 4};
	char out[PATH_MAX], longest[PATH_MAX], want[PATH_MAX];

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(!sandbox_path(&sb, bad[i], out) && errno == EINVAL,
		   "'%s' is refused", bad[i]);
	for (unsigned int i = 0; i < sizeof(good) / sizeof(*good); i++) {
		snprintf(want, sizeof(want), "/box%s", good[i]);
		ok(sandbox_path(&sb, good[i], out) && !strcmp(out, want),
		   "'%s' is taken", good[i]);
	}
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[PATH_MAX - 5] = '\0';
	ok(sandbox_path(&sb, longest, out) && strlen(out) == PATH_MAX - 1,
	   "the longest path fits");
	longest[PATH_MAX - 5] = 'x';
	longest[PATH_MAX - 4] = '\0';
	ok(!sandbox_path(&sb, longest, out) && errno == ENAMETOOLONG,
	   "a path longer by a byte does not");
}

static void test_refusal(void)
{
	struct reel_error err = {0};
	struct sandbox sb;

	mkdir("full", 0700);
	put("full/data");
	ok(sandbox_make(&sb, "full", &err) && err.code == REEL_E_USAGE,
	   "a folder with files in it is refused");
	ok(exists("full/data"), "and stays unchanged");
	ok(!sb.root[0], "a failed call leaves no root");
	memset(&err, 0, sizeof(err));
	ok(!sandbox_remove(&sb, &err) && exists("full/data"),
	   "removal without a root removes nothing");
	mkdir("full/sub", 0700);
	ok(symlink("/etc/passwd", "full/sub/" SANDBOX_MARKER) == 0 &&
		   sandbox_make(&sb, "full/sub", &err),
	   "a symbolic link is not accepted as a marker");
}

static void test_removal(void)
{
	struct reel_error err = {0};
	struct sandbox sb;
	char path[PATH_MAX];

	mkdir("outside", 0700);
	put("outside/data");
	mkdir("box", 0700);
	ok(!sandbox_make(&sb, "box", &err) && !sb.made,
	   "an empty folder is used");
	symlink("../outside", "box/link");
	mkdir("box/d", 0700);
	put("box/d/file");
	mkdir("box/d/closed", 0000);
	ok(!sandbox_make(&sb, "box", &err) && !exists("box/d"),
	   "a sandbox is emptied and used again");
	symlink("../outside", "box/link");
	ok(!sandbox_remove(&sb, &err) && exists("box"),
	   "a folder of the user is emptied, not removed");
	ok(!exists("box/link") && exists("outside/data"),
	   "a link is removed, not followed");
	ok(!sandbox_make(&sb, NULL, &err) && sb.made &&
		   !strncmp(strrchr(sb.root, '/'), "/replay.", 8),
	   "without a name a new folder is made");
	strcpy(path, sb.root);
	ok(!sandbox_remove(&sb, &err) && !exists(path), "and removes it");
	ok(!sandbox_make(&sb, "new", &err) && sb.made && exists("new"),
	   "a missing folder is made");
	ok(!sandbox_remove(&sb, &err) && !exists("new"), "and removed");
}

int main(void)
{
	char dir[] = "/tmp/ioreel-test.XXXXXX";

	if (!mkdtemp(dir) || chdir(dir))
		return 1;
	test_paths();
	test_refusal();
	test_removal();
	if (chdir("/") || sandbox_remove_dir(dir))
		ok(0, "the test removes its files: %s", strerror(errno));
	return done();
}
