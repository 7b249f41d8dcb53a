/* SPDX-License-Identifier: MIT */
/*
 * The state of the file system before a job, inferred from the results of its
 * calls: a file too few and the replay fails, a file too many and a call
 * succeeds that failed in the job.
 */
#include "replay/fsstate/fsstate.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/inodes.h"
#include "replay/model/plan.h"
#include "tests/lib/replay_job.h"
#include "tests/lib/tap.h"

#define MIB (1 << 20)

static struct listings *listings;
static struct inodes inodes;
static struct fsstate *fsstate;
static struct effects effects; /* of the last event */

static uint32_t top, dir, sub, sub2, below, file, file2, ofd, ofd2, ofd_dir,
	ofd_again;

static void begin(void)
{
	job_begin();
	job_add_process(2, JOB_NONE, 0);
	top = job_add_file("/d");
	dir = job_add_file("/d/dir");
	sub = job_add_file("/d/dir/sub");
	below = job_add_file("/d/dir/sub/below");
	sub2 = job_add_file("/d/dir/sub2");
	file = job_add_file("/d/file");
	file2 = job_add_file("/d/file2");
	ofd = job_add_open(file, O_RDWR);
	ofd2 = job_add_open(file2, O_RDWR);
	ofd_dir = job_add_open(dir, O_RDONLY);
	ofd_again = job_add_open(file, O_RDWR);
	job_ready();
	if (listings_new(&listings, &job, &annotations, &err) ||
	    inodes_init(&inodes, &job, &err) ||
	    fsstate_new(&fsstate, &job, listings, &inodes, &err))
		abort();
}

static void end(void)
{
	fsstate_free(fsstate);
	inodes_fini(&inodes);
	listings_free(listings);
	job_end();
}

static void play(struct reel_event ev)
{
	struct call_ref call = next_call(0, &ev);

	if (fsstate_event(fsstate, &ev, &call, &effects, &err))
		abort();
}

/* The initial state of a path, as text: "-", or kind, size and the rest. */
struct wanted {
	const char *path;
	char got[128];
};

static int note_initial(void *arg, const struct initial_file *f,
			struct reel_error *e)
{
	struct wanted *w = arg;
	size_t n = strlen(w->path);

	(void)e;
	if (f->path_bytes != n || memcmp(f->path, w->path, n))
		return 0;
	n = 0;
	if (f->link)
		n += (size_t)snprintf(w->got, sizeof(w->got),
				      "link of %lld to ",
				      (long long)f->link_bytes);
	n += (size_t)snprintf(w->got + n, sizeof(w->got) - n, "%s %lld%s%s",
			      f->loop	    ? "itself"
			      : f->dangling ? "nothing"
			      : f->dir	    ? "dir"
			      : f->fifo	    ? "fifo"
					    : "file",
			      (long long)f->size_bytes,
			      f->denied ? " denied" : "",
			      f->exec ? " exec" : "");
	if (f->entries >= 0)
		n += (size_t)snprintf(w->got + n, sizeof(w->got) - n, " of %d",
				      (int)f->entries);
	for (uint32_t i = 0; i < f->lines; i++)
		n += (size_t)snprintf(w->got + n, sizeof(w->got) - n,
				      " line %d", (int)f->line[i]);
	for (uint32_t i = 0; i < f->holes; i++)
		n += (size_t)snprintf(
			w->got + n, sizeof(w->got) - n, " hole %lld+%lld",
			(long long)f->hole[i].at, (long long)f->hole[i].bytes);
	return 0;
}

static void initial(const char *path, const char *want, const char *title)
{
	struct wanted w = {.path = path, .got = "-"};

	if (fsstate_initial_files(fsstate, note_initial, &w, &err))
		abort();
	if (!ok(!strcmp(w.got, want), "%s", title))
		printf("# got '%s', want '%s'\n", w.got, want);
}

#define READ(open, fd, offset, asked, result)                                  \
	io_event(REEL_CALL_READ, open, fd, offset, asked, result)
#define WRITE(open, fd, offset, bytes)                                         \
	io_event(REEL_CALL_WRITE, open, fd, offset, bytes, bytes)

/* --- existence ----------------------------------------------------------- */

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

/* --- sizes --------------------------------------------------------------- */

static void test_sizes(void)
{
	struct reel_event ev;

	begin();
	play(open_event(ofd, 3, O_RDONLY));
	play(READ(ofd, 3, 0, 100, 100));
	initial("/d/file", "file 100", "a full read: at least its bytes");
	play(READ(ofd, 3, 100, 100, 20));
	initial("/d/file", "file 120", "a short read shows the end");
	play(stat_event(file, 500));
	initial("/d/file", "file 120", "which no later call changes");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR));
	play(WRITE(ofd, 3, 50, 100));
	play(stat_event(file, 150));
	initial("/d/file", "file 50", "a write at 50: bytes before existed");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR | O_TRUNC));
	play(WRITE(ofd, 3, 0, 100));
	play(READ(ofd, 3, 0, 100, 100));
	initial("/d/file", "file 0", "no size from reads of written bytes");
	end();

	begin();
	play(stat_event(file, 100));
	play(open_event(ofd, 3, O_RDWR | O_TRUNC));
	ok(effects.file == EFFECT_TRUNCATE, "O_TRUNC truncates");
	play(stat_event(file, 7));
	initial("/d/file", "file 100", "its initial size is that before");
	play(path_event(REEL_CALL_TRUNCATE, file2, 0));
	play(stat_event(file2, 10));
	initial("/d/file2", "file 0", "none is known after a truncate()");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR));
	play(fd_event(REEL_CALL_FTRUNCATE, ofd, 3));
	play(stat_event(file, 50));
	initial("/d/file", "file 0", "nor after an ftruncate()");
	play(open_event(ofd2, 4, O_RDWR));
	play(io_event(REEL_CALL_MAP_WRITE, ofd2, 4, 0, 4096, 4096));
	play(stat_event(file2, 50));
	initial("/d/file2", "file 0", "nor after a write to a mapping");
	end();

	begin();
	play(open_event(ofd, 3, O_RDONLY));
	ev = fd_event(REEL_CALL_FSTAT, ofd, 3);
	ev.pos = 60;
	play(ev);
	initial("/d/file", "file 60", "the size of fstat()");
	ev = open_event(ofd2, 4, O_WRONLY | O_APPEND);
	ev.pos = 0;
	play(stat_event(file2, 30));
	play(ev);
	initial("/d/file2", "file 0", "an O_APPEND open at 0: it was empty");
	end();

	begin();
	ev = open_event(ofd, 3, O_WRONLY | O_APPEND);
	ev.pos = 70;
	play(ev);
	initial("/d/file", "file 70", "the position of an O_APPEND open");
	end();

	begin();
	play(open_event(ofd, 3, O_RDONLY));
	ev = fd_event(REEL_CALL_LSEEK, ofd, 3);
	ev.arg = SEEK_SET;
	ev.offset = ev.result = 1000;
	play(ev);
	play(READ(ofd, 3, REEL_NO_OFFSET, 100, 30));
	initial("/d/file", "file 1030", "an unknown offset follows a seek");
	end();

	begin();
	play(open_event(ofd, 3, O_RDONLY));
	play(io_event(REEL_CALL_FGETS, ofd, 3, 0, 100, 10));
	play(io_event(REEL_CALL_FGETS, ofd, 3, 10, 5, 5));
	initial("/d/file", "file 15 line 9", "the lines that fgets() read");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR));
	ev = fd_event(REEL_CALL_LSEEK, ofd, 3);
	ev.arg = SEEK_END;
	ev.result = ev.offset = 90;
	play(ev);
	initial("/d/file", "file 90", "the result of SEEK_END");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR));
	ev = fd_event(REEL_CALL_MMAP, ofd, 3);
	ev.offset = 4096;
	ev.asked = 4096;
	play(ev);
	initial("/d/file", "file 8192", "a mapping reaches to its end");
	end();

	begin();
	play(open_event(ofd, 3, O_RDONLY));
	play(READ(ofd, 3, 0, 100, 100));
	play(READ(ofd, 3, REEL_NO_OFFSET, 100, 30));
	initial("/d/file", "file 130", "an unknown offset is the sum of reads");
	end();

	begin();
	play(stat_event(file, 40 * MIB));
	play(open_event(ofd, 3, O_RDONLY));
	play(READ(ofd, 3, 0, MIB, MIB));
	initial("/d/file", "file 41943040 hole 1572864+40370176",
		"an unused part of a large file is a hole");
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

/* --- renames, links, inodes ---------------------------------------------- */

static void test_renames(void)
{
	struct reel_event ev;
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

/* --- directories --------------------------------------------------------- */

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

static void test_disk_bytes(void)
{
	begin();
	play(open_event(ofd, 3, O_RDWR | O_CREAT | O_TRUNC));
	play(WRITE(ofd, 3, 0, 1000));
	play(WRITE(ofd, 3, 0, 1000));
	is(fsstate_peak_disk_bytes(fsstate), 1000,
	   "bytes that are overwritten count once");
	play(path_event(REEL_CALL_UNLINK, file, 0));
	play(open_event(ofd2, 4, O_RDWR | O_CREAT | O_TRUNC));
	play(WRITE(ofd2, 4, 0, 700));
	is(fsstate_peak_disk_bytes(fsstate), 1000,
	   "bytes of a removed file make room");
	play(WRITE(ofd2, 4, 700, 700));
	is(fsstate_peak_disk_bytes(fsstate), 1400, "the peak counts");
	play(open_event(ofd2, 4, O_RDWR | O_TRUNC));
	play(WRITE(ofd2, 4, 0, 1400));
	is(fsstate_peak_disk_bytes(fsstate), 1400, "O_TRUNC makes room");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR | O_CREAT | O_TRUNC));
	play(WRITE(ofd, 3, 0, 1000));
	play(open_event(ofd2, 4, O_RDWR | O_CREAT | O_TRUNC));
	play(WRITE(ofd2, 4, 0, 500));
	play(two_path_event(REEL_CALL_RENAME, file2, file, 0));
	play(open_event(ofd2, 5, O_RDWR | O_CREAT | O_EXCL));
	play(WRITE(ofd2, 5, 0, 1000));
	is(fsstate_peak_disk_bytes(fsstate), 1500,
	   "a rename() frees the replaced file");
	play(WRITE(ofd2, 5, 1000, 100));
	is(fsstate_peak_disk_bytes(fsstate), 1600,
	   "and moves the other's bytes");
	end();
}

/* Lines that the job reads in bytes that it wrote. */
static void test_written_lines(void)
{
	struct reel_event wrote, wrote2;

	const int64_t *at = NULL;

	begin();
	play(open_event(ofd, 3, O_RDWR | O_CREAT | O_TRUNC));
	wrote = WRITE(ofd, 3, 0, 30);
	play(wrote);
	play(io_event(REEL_CALL_FGETS, ofd, 3, 0, 100, 10));
	play(io_event(REEL_CALL_FGETS, ofd, 3, 10, 100, 20));
	is(fsstate_written_lines(fsstate, &wrote, &at), 2,
	   "two lines in the bytes of a write");
	ok(at && at[0] == 9 && at[1] == 29, "with their offsets");
	wrote = WRITE(ofd, 3, 30, 10);
	is(fsstate_written_lines(fsstate, &wrote, &at), 0,
	   "none in bytes that are not read");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR | O_CREAT | O_TRUNC));
	wrote = WRITE(ofd, 3, 0, 30);
	play(wrote);
	play(io_event(REEL_CALL_FGETS, ofd, 3, 0, 100, 10));

	play(open_event(ofd_again, 4, O_RDWR | O_TRUNC));
	wrote2 = WRITE(ofd_again, 4, 0, 30);
	play(wrote2);
	play(io_event(REEL_CALL_FGETS, ofd_again, 4, 0, 100, 25));
	ok(fsstate_written_lines(fsstate, &wrote, &at) == 1 && at[0] == 9,
	   "the lines before a truncation");
	ok(fsstate_written_lines(fsstate, &wrote2, &at) == 1 && at[0] == 24,
	   "and those after it are apart");
	end();

	begin();
	play(open_event(ofd, 3, O_RDWR | O_CREAT | O_TRUNC));
	wrote = WRITE(ofd, 3, 0, 30);
	play(wrote);
	play(two_path_event(REEL_CALL_RENAME, file, file2, 0));
	play(open_event(ofd2, 4, O_RDONLY));
	play(io_event(REEL_CALL_GETLINE, ofd2, 4, 0, 100, 10));
	ok(fsstate_written_lines(fsstate, &wrote, &at) == 1 && at[0] == 9,
	   "a rename() moves the lines");
	end();
}

int main(void)
{
	test_existence();
	test_kinds();
	test_fifos();
	test_external();
	test_sizes();
	test_o_creat();
	test_renames();
	test_links();
	test_listings();
	test_entries();
	test_disk_bytes();
	test_written_lines();
	return done();
}
