/* SPDX-License-Identifier: MIT */
/* Which paths existed before the job, and of which kind? */
#include "tests/unit/test_fsstate.h"

static void test_existence(void)
{
	begin();
	play(stat_event(file, 100));
	initial("/d/file", "file 100", "stat() found it: it existed");
	initial("/d", "dir 0", "and the directory above");
	initial("/d/file2", "-", "a path without a call did not");
	play(path_event(REEL_CALL_STAT, below, ENOENT));
	play(open_event(ofd2, 3, O_RDWR | O_CREAT | O_EXCL));
	initial("/d/dir/sub/below", "-", "ENOENT: it did not exist");
	initial("/d/file2", "-", "nor did a path that O_EXCL created");
	play(path_event(REEL_CALL_UNLINK, file, 0));
	play(path_event(REEL_CALL_STAT, file, ENOENT));
	initial("/d/file", "file 100", "a file existed before its unlink()");
	ok(!effects.vanished, "which explains the ENOENT");
	end();

	begin();
	play(path_event(REEL_CALL_MKDIR, dir, 0));
	play(stat_event(sub, 1));
	initial("/d/dir", "-", "mkdir(): the directory did not exist");
	initial("/d/dir/sub", "-", "nor did anything below it");
	ok(effects.appeared && effects.changed_file == sub,
	   "a path below a new directory appeared");
	initial("/d", "dir 0", "the directory above the new one existed");
	end();

	begin();
	play(path_event(REEL_CALL_MKDIR, dir, EEXIST));
	play(path_event(REEL_CALL_RMDIR, sub, ENOTEMPTY));
	play(path_event(REEL_CALL_ACCESS, file, EACCES));
	initial("/d/dir", "dir 0", "EEXIST of mkdir(): a directory");
	initial("/d/dir/sub", "dir 0", "ENOTEMPTY: a directory");
	initial("/d/file", "file 0 denied", "EACCES: it existed, closed to us");
	end();

	begin();
	play(two_path_event(REEL_CALL_RENAME, file, file2, ENOENT));
	initial("/d/file", "-", "a rename() got ENOENT for its source");
	play(two_path_event(REEL_CALL_LINK, file2, dir, EEXIST));
	initial("/d/file2", "file 0", "a link() found its source");
	end();
}

/* The kind of a path, from calls that only some kinds allow. */
static void test_kinds(void)
{
	struct reel_event ev;

	begin();
	play(path_event(REEL_CALL_MKDIR, file, EEXIST));
	initial("/d/file", "dir 0",
		"EEXIST of mkdir(): most likely a directory");
	play(stat_event(file, 100));
	initial("/d/file", "file 100", "unless stat() finds a file");
	play(path_event(REEL_CALL_MKDIR, file2, EEXIST));
	play(open_event(ofd2, 3, O_WRONLY));
	initial("/d/file2", "file 0", "or open() can write it");
	end();

	begin();
	play(open_event(ofd, 3, O_RDONLY | O_DIRECTORY));
	initial("/d/file", "dir 0", "O_DIRECTORY opens a directory");
	play(path_event(REEL_CALL_STAT, file2, 0));
	initial("/d/file2", "dir 0", "stat() without a size: a directory");
	ok(!fsstate_is_used(fsstate, file2), "which is only probed");
	play(path_event(REEL_CALL_UNLINK, file2, 0));
	ok(fsstate_not_dir(fsstate, file2), "unless unlink() removes it");
	initial("/d/file2", "file 0", "as a file");
	ok(fsstate_is_used(fsstate, file), "an open is a use");
	end();

	begin();
	play(stat_event(below, 5));
	initial("/d/dir/sub", "dir 0", "a path above another is a directory");
	job.open[ofd2].file = sub;
	play(open_event(ofd2, 3, O_WRONLY));
	initial("/d/dir/sub", "link of 0 to dir 0",
		"or a link, when open() can write it");
	end();

	begin();
	ev = path_event(REEL_CALL_ACCESS, file, 0);
	ev.arg = X_OK;
	play(ev);
	initial("/d/file", "file 0 exec", "access() found it executable");
	play(READ(ofd2, 0, 0, 100, 100));
	initial("/d/file2", "file 100", "an inherited descriptor: it existed");
	ev = fd_event(REEL_CALL_READDIR, ofd_dir, 1);
	ev.result = 1;
	play(ev);
	initial("/d/dir", "dir 0", "the same of a directory");
	end();
}

static struct reel_event fifo_event(struct reel_event ev)
{
	ev.kind = REEL_KIND_PIPE;
	return ev;
}

static void test_fifos(void)
{
	begin();
	play(fifo_event(open_event(ofd, 3, O_RDONLY)));
	ok(effects.file == EFFECT_USE, "an open of a named pipe is a use");
	initial("/d/file", "fifo 0", "which existed");
	play(fifo_event(path_event(REEL_CALL_UNLINK, file, 0)));
	ok(effects.file == EFFECT_REMOVE, "unlink() removes it");
	play(fifo_event(path_event(REEL_CALL_MKFIFO, file2, 0)));
	ok(effects.file == EFFECT_CREATE, "mkfifo() creates one");
	play(fifo_event(open_event(ofd2, 3, O_RDONLY)));
	initial("/d/file2", "-", "which did not exist");
	end();
}

/* Changes that no call of the job made. */
static void test_external(void)
{
	begin();
	play(stat_event(file, 100));
	play(path_event(REEL_CALL_STAT, file, ENOENT));
	ok(effects.vanished && effects.changed_file == file,
	   "found, then ENOENT: it vanished");
	play(stat_event(file, 200));
	ok(effects.appeared && effects.changed_file == file,
	   "found again: it appeared");
	initial("/d/file", "file 100", "its initial size is that before");
	play(stat_event(file, 200));
	ok(!effects.appeared && !effects.vanished, "found twice: no change");
	play(open_event(ofd, 3, O_RDWR | O_CREAT | O_EXCL));
	ok(effects.vanished, "O_EXCL created a path that had been found");
	end();

	begin();
	play(path_event(REEL_CALL_STAT, below, ENOENT));
	play(stat_event(below, 200));
	initial("/d/dir/sub/below", "-", "ENOENT, then found: not initial");
	initial("/d/dir/sub", "dir 0", "but its directory is");
	play(path_event(REEL_CALL_STAT, file, ENOENT));
	play(path_event(REEL_CALL_STAT, file, 0));
	ok(effects.appeared && effects.dir, "a directory appeared");
	end();
}

/* open(O_CREAT) of a path without calls before. */
static void test_o_creat(void)
{
	begin();
	play(open_event(ofd, 3, O_RDWR | O_CREAT));
	play(WRITE(ofd, 3, 0, 100));
	play(READ(ofd, 3, 0, 100, 100));
	initial("/d/file", "-", "O_CREAT: the file did not exist");
	play(READ(ofd, 3, 100, 50, 50));
	initial("/d/file", "file 150", "unless no call wrote its bytes");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR | O_CREAT));
	play(READ(ofd, 3, 0, 50, 50));
	play(READ(ofd, 3, 50, 100, 20));
	play(stat_event(file, 900));
	initial("/d/file", "file 70", "its size is that of later reads");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR | O_CREAT));
	play(READ(ofd, 3, 0, 100, 0));
	play(READ(ofd, 3, 0, 100, 100));
	initial("/d/file", "-", "bytes after an EOF at 0: written meanwhile");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR | O_CREAT | O_TRUNC));
	play(READ(ofd, 3, 0, 100, 100));
	initial("/d/file", "-", "nor does O_TRUNC leave initial bytes");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR | O_TMPFILE));
	ok(effects.file == EFFECT_NONE, "O_TMPFILE has no effect on a path");
	play(WRITE(ofd, 3, 0, 100));
	play(READ(ofd, 3, 0, 100, 100));
	initial("/d/file", "-", "and no initial file");
	end();
}

int main(void)
{
	test_existence();
	test_kinds();
	test_fifos();
	test_external();
	test_o_creat();
	return done();
}
