/* SPDX-License-Identifier: MIT */
/* Files by their names: renames, links, and the entries of directories. */
#include "tests/unit/test_fsstate.h"

static void test_renames(void)
{
	uint32_t inode;

	begin();
	play(two_path_event(REEL_CALL_RENAME, file, file2, 0));
	ok(effects.file == EFFECT_REMOVE && effects.file2 == EFFECT_CREATE,
	   "a rename() removes a path and creates one");
	play(open_event(ofd2, 3, O_RDONLY));
	play(READ(ofd2, 3, 0, 100, 30));
	initial("/d/file", "file 30", "the size of a file, by its new path");
	initial("/d/file2", "-", "which did not exist");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR));
	inode = effects.inode;
	ok(inode != 0, "an open file has an inode");
	play(two_path_event(REEL_CALL_RENAME, file, file2, 0));
	play(READ(ofd, 3, 0, 100, 100));
	ok(effects.inode == inode && inodes.path[inode] == file2,
	   "a rename() keeps it");
	play(open_event(ofd2, 4, O_RDWR));
	is(effects.inode, inode, "an open of the new path gets it");
	play(path_event(REEL_CALL_UNLINK, file2, 0));
	play(READ(ofd, 3, 100, 100, 100));
	is(effects.inode, inode, "it survives unlink() while it is open");
	play(open_event(ofd2, 5, O_RDWR | O_CREAT | O_EXCL));
	ok(effects.inode != inode, "a new file of that path is another");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR));
	inode = effects.inode;
	play(two_path_event(REEL_CALL_RENAME, file, file2, 0));
	play(READ(ofd, 3, 0, 100, 30));
	initial("/d/file", "file 30", "the size of a file renamed while open");
	play(open_event(ofd, 5, O_RDWR | O_CREAT | O_EXCL));
	ok(effects.inode != inode && inodes.path[inode] == file2,
	   "a new file of the old path has another inode");
	end();
}

static void test_renamed_sizes(void)
{
	begin();
	play(two_path_event(REEL_CALL_RENAME, file, file2, 0));
	play(open_event(ofd2, 3, O_RDWR));
	play(WRITE(ofd2, 3, 0, 10));
	play(READ(ofd2, 3, 10, 100, 50));
	initial("/d/file", "file 0", "no size from reads after a write");
	end();

	begin();
	play(stat_event(file, 40 * MIB));
	play(two_path_event(REEL_CALL_RENAME, file, file2, 0));
	play(open_event(ofd2, 3, O_RDONLY));
	play(READ(ofd2, 3, 0, MIB, MIB));
	initial("/d/file", "file 41943040 hole 1572864+40370176",
		"a read by the new path uses parts of the file");
	end();

	begin();
	play(open_event(ofd2, 3, O_RDONLY));
	play(open_event(ofd, 4, O_RDONLY));
	play(two_path_event(REEL_CALL_RENAME, file, file2, 0));
	play(READ(ofd2, 3, 0, 100, 22));
	initial("/d/file", "file 0",
		"a read of the replaced file shows no other's size");
	end();

	begin();
	play(open_event(ofd2, 3, O_RDONLY));
	play(two_path_event(REEL_CALL_RENAME, file, file2, 0));
	play(READ(ofd2, 3, 0, 100, 22));
	initial("/d/file", "file 0",
		"nor when the job never opened the other one");
	end();
}

static void test_exchanges(void)
{
	struct reel_event ev;
	uint32_t inode;

	begin();
	play(open_event(ofd, 3, O_RDONLY));
	inode = effects.inode;
	play(open_event(ofd2, 4, O_RDONLY));
	ev = two_path_event(REEL_CALL_RENAMEAT2, file, file2, 0);
	ev.arg = RENAME_EXCHANGE;
	play(ev);
	ok(effects.file == EFFECT_CREATE && effects.file2 == EFFECT_CREATE,
	   "RENAME_EXCHANGE creates both paths");
	play(READ(ofd, 3, 0, 100, 11));
	play(READ(ofd2, 4, 0, 100, 22));
	initial("/d/file", "file 11",
		"the size of the first, in its new place");
	initial("/d/file2", "file 22", "and of the second");
	play(open_event(ofd2, 5, O_RDONLY));
	is(effects.inode, inode, "the paths have exchanged their inodes");
	end();

	begin();
	play(two_path_event(REEL_CALL_RENAME, file, file2, ENOTEMPTY));
	initial("/d/file2", "dir 0", "ENOTEMPTY is about the target");
	initial("/d/file", "file 0", "of a source that existed");
	end();

	begin();
	play(stat_event(file, 11));
	play(stat_event(file2, 22));
	play(two_path_event(REEL_CALL_RENAMEAT2, file, file2, 0));
	initial("/d/file2", "file 22", "a replaced file existed");
	end();
}

static void test_links(void)
{
	struct reel_event ev;

	begin();
	play(path_event(REEL_CALL_STAT, file, ENOENT));
	play(path_event(REEL_CALL_LSTAT, file, 0));
	initial("/d/file", "link of 0 to nothing 0",
		"stat() misses it, lstat() finds it: a dangling link");
	end();

	begin();
	play(path_event(REEL_CALL_LSTAT, file, 0));
	play(path_event(REEL_CALL_STAT, file, ENOENT));
	initial("/d/file", "link of 0 to nothing 0", "the same in other order");
	ok(!effects.vanished, "it did not vanish");
	end();

	begin();
	play(two_path_event(REEL_CALL_SYMLINK, file, file2, 0));
	play(stat_event(file, 33));
	initial("/d/file2", "file 33", "a path is followed to its target");
	end();

	begin();
	ev = path_event(REEL_CALL_READLINK, file, 0);
	ev.result = 7;
	play(ev);
	play(stat_event(file, 5));
	initial("/d/file", "link of 7 to file 5", "readlink() and a size");
	play(path_event(REEL_CALL_STAT, file2, ELOOP));
	initial("/d/file2", "link of 0 to itself 0", "ELOOP: a link to itself");
	end();

	begin();
	play(two_path_event(REEL_CALL_SYMLINK, file, file2, 0));
	play(two_path_event(REEL_CALL_LINK, file, file2, EEXIST));
	initial("/d/file", "-", "a symlink() creates a path");
	end();
}

static struct reel_event listed(int64_t entries)
{
	struct reel_event ev = fd_event(REEL_CALL_READDIR, ofd_dir, 3);

	ev.result = entries ? 1 : 0;
	ev.count = (uint32_t)entries;
	return ev;
}

static size_t annotated(enum annotation_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < annotations.n; i++)
		n += annotations.list[i].kind == kind;
	return n;
}

static void test_listings(void)
{
	begin();
	play(open_event(ofd_dir, 3, O_RDONLY | O_DIRECTORY));
	play(listed(7));
	play(listed(0));
	initial("/d/dir", "dir 0 of 7", "the entries of the first listing");
	play(path_event(REEL_CALL_MKDIR, sub, 0));
	play(listed(8));
	play(listed(0));
	is(annotated(ANNOTATION_ENTRIES), 0,
	   "a listing with the job's own entry is explained");
	play(listed(12));
	play(listed(0));
	is(annotated(ANNOTATION_ENTRIES), 1, "one with more entries is not");
	is(annotations.list[0].ns, 12, "the replay adds placeholders");
	end();

	begin();
	play(open_event(ofd_dir, 3, O_RDONLY | O_DIRECTORY));
	play(listed(2));
	play(listed(0));
	play(stat_event(sub, 5));
	initial("/d/dir/sub", "-", "an empty directory has no initial path");
	ok(effects.appeared, "it appeared");
	end();
}

/* Listings of a directory that the job, or another program, changed. */
static void test_entries(void)
{
	begin();
	play(open_event(ofd_dir, 3, O_RDONLY | O_DIRECTORY));
	play(listed(7));
	play(listed(0));
	play(stat_event(sub, 5));
	play(path_event(REEL_CALL_UNLINK, sub, 0));
	play(listed(6));
	play(listed(0));
	is(annotated(ANNOTATION_ENTRIES), 0, "an unlink() removes an entry");
	play(path_event(REEL_CALL_STAT, sub, ENOENT));
	play(stat_event(sub, 5));
	play(listed(7));
	play(listed(0));
	is(annotated(ANNOTATION_ENTRIES), 0, "an external file is an entry");
	play(path_event(REEL_CALL_RMDIR, dir, 0));
	is(annotated(ANNOTATION_ENTRIES), 1, "placeholders go before rmdir()");
	is(annotations.list[0].ns, 2, "all but two entries");
	end();

	begin();
	play(path_event(REEL_CALL_MKDIR, dir, 0));
	play(open_event(ofd_dir, 3, O_RDONLY | O_DIRECTORY));
	play(listed(2));
	play(listed(0));
	is(annotated(ANNOTATION_ENTRIES), 0, "a new directory has two entries");
	end();

	begin();
	play(path_event(REEL_CALL_MKDIR, dir, 0));
	play(open_event(ofd_dir, 3, O_RDONLY | O_DIRECTORY));
	play(listed(3));
	play(listed(0));
	play(listed(3));
	play(listed(0));
	is(annotated(ANNOTATION_ENTRIES), 1, "a third one is external, once");
	end();
}

static void test_entries_of_changes(void)
{
	begin();
	play(path_event(REEL_CALL_STAT, dir, ENOENT));
	play(path_event(REEL_CALL_STAT, dir, 0));
	play(open_event(ofd_dir, 3, O_RDONLY | O_DIRECTORY));
	play(listed(3));
	play(listed(0));
	is(annotated(ANNOTATION_ENTRIES), 1, "so has one that appeared");
	end();

	begin();
	play(open_event(ofd_dir, 3, O_RDONLY | O_DIRECTORY));
	play(listed(3));
	play(listed(0));
	play(stat_event(sub, 5));
	play(stat_event(sub2, 5));
	initial("/d/dir/sub", "file 5", "the one entry of a listing");
	initial("/d/dir/sub2", "-", "leaves no room for another");
	end();

	begin();
	play(open_event(ofd_dir, 3, O_RDONLY | O_DIRECTORY));
	play(listed(5));
	play(fd_event(REEL_CALL_CLOSEDIR, ofd_dir, 3));
	initial("/d/dir", "dir 0 of 5", "an unfinished listing counts");
	end();
}

int main(void)
{
	test_renames();
	test_renamed_sizes();
	test_exchanges();
	test_links();
	test_listings();
	test_entries();
	test_entries_of_changes();
	return done();
}
