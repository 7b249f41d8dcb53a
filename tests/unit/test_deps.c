/* SPDX-License-Identifier: MIT */
/*
 * The dependency rules: for each, calls of several threads and the waits that
 * must result, and must not. A wait too few lets the replay race where the job
 * could not; a wait too many serializes it.
 */
#include "replay/deps/deps.h"

#include <errno.h>
#include <unistd.h>

#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/inodes.h"
#include "tests/lib/replay_job.h"
#include "tests/lib/tap.h"

static struct listings *listings;
static struct inodes inodes;
static struct fsstate *fsstate;
static struct pending_changes pending;
static struct forks forks;
static struct deps *deps;

/* Threads 0, 1, 2 of a process; thread 3 is a process of its own. */
static uint32_t dir, file, file2, below, other, ofd, ofd2, ofd_below;
static uint32_t below_other, ofd_dir, ofd_again;

static void begin(void)
{
	job_begin();
	job_add_process(3, JOB_NONE, 0);
	job_add_process(1, 0, 500);
	job_add_file("/d");
	dir = job_add_file("/d/dir");
	below = job_add_file("/d/dir/below");
	file = job_add_file("/d/file");
	file2 = job_add_file("/d/file2");
	other = job_add_file("/d/other");
	below_other = job_add_file("/d/other/below");
	ofd = job_add_open(file, O_RDWR);
	ofd2 = job_add_open(file2, O_RDWR);
	ofd_below = job_add_open(below, O_RDWR);
	ofd_dir = job_add_open(dir, O_RDONLY | O_DIRECTORY);
	ofd_again = job_add_open(file, O_RDWR);
	job_ready();
	if (listings_new(&listings, &job, &annotations, &err) ||
	    inodes_init(&inodes, &job, &err) ||
	    fsstate_new(&fsstate, &job, listings, &inodes, &err) ||
	    deps_new(&deps, &job, &annotations, &inodes, &err) ||
	    pending_changes_init(&pending, &job, &annotations, deps, &err) ||
	    forks_init(&forks, &job, &annotations, &err))
		abort();
}

static void end(void)
{
	forks_fini(&forks);
	pending_changes_fini(&pending);
	deps_free(deps);
	fsstate_free(fsstate);
	inodes_fini(&inodes);
	listings_free(listings);
	job_end();
}

/* As the first compiler pass does. Returns the index of the call. */
static uint32_t play(uint32_t stream, struct reel_event ev)
{
	struct call_ref call = next_call(stream, &ev);
	struct effects effects;

	if (fsstate_event(fsstate, &ev, &call, &effects, &err) ||
	    forks_event(&forks, &ev, &call, &err) ||
	    pending_changes_event(&pending, &ev, &call, &effects, &err) ||
	    deps_event(deps, &ev, &call, &effects, &err))
		abort();
	if (effects.appeared || effects.vanished)
		pending_changes_add(&pending, &call, &effects, false);
	return call.index;
}

static uint32_t all_waits(void)
{
	uint32_t n = 0;

	for (size_t i = 0; i < annotations.n; i++)
		n += annotations.list[i].kind == ANNOTATION_WAIT;
	return n;
}

#define READ(open, fd, offset, asked, result)                                  \
	io_event(REEL_CALL_READ, open, fd, offset, asked, result)
#define PREAD(open, fd, offset, asked, result)                                 \
	io_event(REEL_CALL_PREAD, open, fd, offset, asked, result)
#define PWRITE(open, fd, offset, bytes)                                        \
	io_event(REEL_CALL_PWRITE, open, fd, offset, bytes, bytes)

static struct reel_event dup_event(uint16_t call, uint32_t open, int fd,
				   int fd2)
{
	struct reel_event ev = fd_event(call, open, fd);

	ev.fd2 = fd2;
	return ev;
}

/* --- descriptors --------------------------------------------------------- */

static void test_descriptors(void)
{
	uint32_t opened, r0, r1, r3, w;

	begin();
	opened = play(0, open_event(ofd, 3, O_RDONLY));
	r1 = play(1, PREAD(ofd, 3, 0, 10, 10));
	ok(waits(1, r1, 0, opened), "a read waits for the open");
	r0 = play(0, PREAD(ofd, 3, 0, 10, 10));
	ok(all_waits() == 1, "pread() of two threads: no order");
	r0 = play(0, READ(ofd, 3, 0, 10, 10));
	r1 = play(1, READ(ofd, 3, 10, 10, 10));
	ok(waits(1, r1, 0, r0), "read() waits for the one that moved the "
				"position");
	w = play(2, fd_event(REEL_CALL_CLOSE, ofd, 3));
	ok(waits(2, w, 0, r0) && waits(2, w, 1, r1),
	   "close() waits for the last use by each thread");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	r3 = play(3, PREAD(ofd, 3, 0, 10, 10));
	w = play(1, fd_event(REEL_CALL_CLOSE, ofd, 3));
	ok(!waits(1, w, 3, r3), "but not for uses by another process");
	end();

	begin();
	opened = play(0, open_event(ofd, 3, O_RDONLY));
	play(0, PREAD(ofd, 3, 0, 10, 10));
	r1 = play(1, timed(PREAD(ofd, 3, 0, 10, 10), clock_ns - 15, clock_ns));
	ok(waits(1, r1, 0, opened) && all_waits() == 1,
	   "overlapping calls do not wait for each other");
	play(1, PREAD(ofd, 3, 0, 10, 10));
	is(all_waits(), 1, "a wait that an earlier one covers is dropped");
	end();
}

static void test_freed_numbers(void)
{
	struct reel_event ev;
	uint32_t closed, opened, r;

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	closed = play(0, fd_event(REEL_CALL_CLOSE, ofd, 3));
	opened = play(1, open_event(ofd2, 3, O_RDONLY));
	ok(waits(1, opened, 0, closed),
	   "an open waits for the close that freed its number");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	closed = play(0, fd_event(REEL_CALL_CLOSE, ofd, 3));
	opened = play(1, open_event(ofd2, 4, O_RDONLY));
	ok(!waits(1, opened, 0, closed), "but not with another number");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	ev = fd_event(REEL_CALL_CLOSE, ofd, 3);
	opened = play(1, timed(open_event(ofd2, 3, O_RDONLY), ev.start_ns + 2,
			       ev.start_ns + 4));
	closed = play(0, ev);
	ok(waits(1, opened, 0, closed),
	   "an open that ends before that close waits for it too");
	r = play(2, PREAD(ofd2, 3, 0, 10, 10));
	ok(waits(2, r, 1, opened) && !waits(2, r, 0, closed),
	   "and the number is the new description's");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	ev = fd_event(REEL_CALL_CLOSE, ofd, 3);
	opened = play(1, timed(open_event(ofd2, 3, O_RDONLY), ev.start_ns + 1,
			       ev.start_ns + 2));
	play(1, timed(fd_event(REEL_CALL_CLOSE, ofd2, 3), ev.start_ns + 3,
		      ev.start_ns + 4));
	closed = play(0, ev);
	ok(waits(1, opened, 0, closed),
	   "even if the new descriptor is closed by then");
	end();
}

static void test_copied_numbers(void)
{
	struct reel_event ev;
	uint32_t closed, opened, r, w;

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	play(0, open_event(ofd2, 4, O_RDONLY));
	r = play(1, PREAD(ofd2, 4, 0, 10, 10));
	w = play(2, dup_event(REEL_CALL_DUP2, ofd, 3, 4));
	ok(waits(2, w, 1, r), "dup2() waits for uses of the old number");
	r = play(0, PREAD(ofd, 4, 0, 10, 10));
	ok(waits(0, r, 2, w), "and uses of the copy wait for it");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	play(0, open_event(ofd2, 4, O_RDONLY));
	closed = play(1, fd_event(REEL_CALL_CLOSE, ofd2, 4));
	w = play(2, dup_event(REEL_CALL_DUP2, ofd, 3, 4));
	ok(waits(2, w, 1, closed), "and for the close() of that number");
	w = play(1, dup_event(REEL_CALL_DUP, ofd, 3, 5));
	r = play(2, PREAD(ofd, 5, 0, 10, 10));
	ok(waits(2, r, 1, w), "a use of a copy waits for dup()");
	w = play(0, dup_event(REEL_CALL_DUP2, ofd2, 6, 5));
	ok(waits(0, w, 2, r), "dup2() over a copy waits for its use");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	opened = play(1, open_event(ofd2, 4, O_RDONLY));
	w = play(2, dup_event(REEL_CALL_DUP2, ofd, 3, 4));
	ok(waits(2, w, 1, opened), "dup2() waits for the open it replaces");
	opened = play(1, open_event(ofd_again, 4, O_RDONLY));
	ok(waits(1, opened, 2, w),
	   "an open waits for uses before a close that is not in the trace");
	w = play(0, dup_event(REEL_CALL_DUP2, ofd2, 6, 4));
	ok(waits(0, w, 1, opened), "dup2() waits for that open too");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	play(0, open_event(ofd2, 4, O_RDONLY));
	ev = fd_event(REEL_CALL_CLOSE, ofd2, 4);
	w = play(1, timed(dup_event(REEL_CALL_DUP, ofd, 3, 4), ev.start_ns + 1,
			  ev.start_ns + 2));
	r = play(2, timed(PREAD(ofd, 4, 0, 10, 10), ev.start_ns + 3,
			  ev.start_ns + 4));
	ok(waits(2, r, 1, w), "a use waits for the dup() inside a close()");
	closed = play(0, ev);
	ok(waits(1, w, 0, closed), "which waits for that close()");
	r = play(2, PREAD(ofd, 4, 0, 10, 10));
	w = play(1, fd_event(REEL_CALL_CLOSE, ofd, 4));
	ok(waits(1, w, 2, r), "its number is closed after its uses");
	r = play(0, open_event(ofd_again, 4, O_RDONLY));
	ok(waits(0, r, 1, w), "and opened again after its close");
	end();
}

static void test_used_numbers(void)
{
	uint32_t r, w;

	begin();
	w = play(0, open_event(ofd, 3, O_RDONLY));
	r = play(3, PREAD(ofd, 3, 0, 10, 10));
	ok(waits(3, r, 0, w), "a use by a child waits for the open");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDONLY));
	w = play(0, fd_event(REEL_CALL_MMAP, ofd, 3));
	r = play(1, fd_event(REEL_CALL_MUNMAP, ofd, -1));
	ok(waits(1, r, 0, w), "munmap() waits for the mmap()");
	end();
}

/* --- paths --------------------------------------------------------------- */

static void test_paths(void)
{
	uint32_t a, b, c;

	begin();
	a = play(0, open_event(ofd, 3, O_RDWR | O_CREAT | O_EXCL));
	b = play(1, stat_event(file, 0));
	ok(waits(1, b, 0, a), "stat() waits for the creation of the path");
	c = play(2, path_event(REEL_CALL_UNLINK, file, 0));
	ok(waits(2, c, 1, b), "unlink() waits for uses of the path");
	a = play(0, path_event(REEL_CALL_STAT, file, ENOENT));
	ok(waits(0, a, 2, c), "ENOENT waits for the unlink()");
	a = play(0, stat_event(other, 5));
	b = play(1, stat_event(other, 5));
	ok(!waits(1, b, 0, a), "two stat() of a path have no order");
	end();

	begin();
	a = play(0, two_path_event(REEL_CALL_RENAME, file, file2, 0));
	b = play(1, stat_event(file2, 5));
	c = play(2, path_event(REEL_CALL_STAT, file, ENOENT));
	ok(waits(1, b, 0, a) && waits(2, c, 0, a),
	   "uses of both paths wait for a rename()");
	b = play(1, stat_event(other, 5));
	is(all_waits(), 2, "a use of a third path does not");
	a = play(0, path_event(REEL_CALL_UNLINK, other, 0));
	ok(waits(0, a, 1, b), "that waits for no rename(), but for the stat()");
	end();
}

static void test_directories(void)
{
	uint32_t a, b, c;

	begin();
	a = play(0, path_event(REEL_CALL_MKDIR, dir, 0));
	b = play(1, open_event(ofd_below, 3, O_RDWR | O_CREAT | O_EXCL));
	ok(waits(1, b, 0, a), "a file waits for the mkdir() above it");
	c = play(2, path_event(REEL_CALL_SCANDIR, dir, 0));
	ok(waits(2, c, 1, b), "a listing waits for the creation of entries");
	a = play(0, path_event(REEL_CALL_UNLINK, below, 0));
	ok(waits(0, a, 2, c), "a change of an entry waits for the listing");
	b = play(1, path_event(REEL_CALL_RMDIR, dir, 0));
	ok(waits(1, b, 0, a), "rmdir() waits for the removal of entries");
	end();

	begin();
	a = play(0, stat_event(below, 5));
	b = play(1, two_path_event(REEL_CALL_RENAME, dir, other, 0));
	ok(waits(1, b, 0, a), "rename() of a directory waits for uses below");
	c = play(2, path_event(REEL_CALL_STAT, below, ENOENT));
	ok(waits(2, c, 1, b), "and the old paths below wait for it");
	end();

	begin();
	a = play(0, open_event(ofd_below, 3, O_RDWR | O_CREAT | O_EXCL));
	b = play(1, two_path_event(REEL_CALL_RENAME, dir, other, 0));
	ok(waits(1, b, 0, a), "and for the creation of files below");
	end();

	begin();
	play(0, open_event(ofd_below, 3, O_RDWR));
	a = play(2, PWRITE(ofd_below, 3, 0, 100));
	b = play(1, two_path_event(REEL_CALL_RENAME, dir, other, 0));
	ok(waits(1, b, 2, a), "and for writes of them");
	c = play(0, stat_event(below_other, 100));
	ok(waits(0, c, 2, a) && waits(0, c, 1, b),
	   "their new path waits for these, and for the rename()");
	end();
}

static void test_directory_names(void)
{
	uint32_t a, b, c;

	begin();
	a = play(0, timed(path_event(REEL_CALL_RMDIR, dir, 0), 1000, 1100));
	b = play(1,
		 timed(path_event(REEL_CALL_STAT, below, ENOENT), 1050, 1110));
	c = play(2,
		 timed(path_event(REEL_CALL_STAT, below, EACCES), 1060, 1120));
	ok(waits(1, b, 0, a),
	   "a call that overlaps the rmdir() and gets ENOENT waits for it");
	ok(!waits(2, c, 0, a), "but not one that found the entry");
	end();

	begin();
	a = play(0, stat_event(file, 5));
	b = play(1, two_path_event(REEL_CALL_RENAME, dir, other, 0));
	ok(!waits(1, b, 0, a), "but not for uses elsewhere");
	end();

	begin();
	a = play(0, open_event(ofd_dir, 3, O_RDONLY | O_DIRECTORY));
	b = play(1, open_event(ofd_below, 4, O_RDWR | O_CREAT | O_EXCL));
	a = play(0, fd_event(REEL_CALL_READDIR, ofd_dir, 3));
	ok(waits(0, a, 1, b), "readdir() waits for the creation of entries");
	c = play(2, path_event(REEL_CALL_UNLINK, below, 0));
	ok(waits(2, c, 0, a), "a change of an entry waits for readdir()");
	end();

	begin();
	a = play(0, path_event(REEL_CALL_MKDIR, dir, 0));
	b = play(1, timed(stat_event(below, 5), clock_ns - 35, clock_ns));
	ok(waits(1, b, 0, a),
	   "a call that overlaps the mkdir() and finds an entry waits for it");
	end();
}

/* Results that only an overlapping call explains. */
static void test_pending_changes(void)
{
	struct reel_event ev;
	uint32_t a, b, c;

	begin();
	c = play(2, stat_event(file, 5));
	ev = path_event(REEL_CALL_UNLINK, file, 0);
	b = play(1, timed(path_event(REEL_CALL_STAT, file, ENOENT),
			  ev.start_ns + 2, ev.start_ns + 4));
	a = play(0, ev);
	ok(waits(1, b, 0, a), "ENOENT waits for the unlink() around it");
	ok(waits(0, a, 2, c) && !waits(0, a, 1, b),
	   "which waits for uses before, not for that call");
	end();

	begin();
	c = play(2, open_event(ofd, 3, O_RDWR | O_CREAT | O_EXCL));
	ev = path_event(REEL_CALL_UNLINK, file, 0);
	play(1, timed(path_event(REEL_CALL_STAT, file, ENOENT), ev.start_ns + 2,
		      ev.start_ns + 4));
	a = play(0, ev);
	ok(waits(0, a, 2, c), "and for the creation before");
	end();

	begin();
	play(2, path_event(REEL_CALL_STAT, file, ENOENT));
	ev = open_event(ofd, 3, O_RDWR | O_CREAT);
	b = play(1,
		 timed(stat_event(file, 0), ev.start_ns + 2, ev.start_ns + 4));
	a = play(0, ev);
	ok(waits(1, b, 0, a), "a stat() waits for the creation around it");
	end();

	begin();
	play(2, path_event(REEL_CALL_STAT, file, ENOENT));
	b = play(1, stat_event(file, 0));
	a = play(0, open_event(ofd, 3, O_RDWR | O_CREAT));
	ok(!waits(1, b, 0, a), "but not for one that begins afterwards");
	end();

	begin();
	a = play(0, timed(two_path_event(REEL_CALL_LINK, other, file, 0), 1000,
			  1100));
	b = play(1, timed(two_path_event(REEL_CALL_LINK, other, file, EEXIST),
			  1050, 1110));
	ok(waits(1, b, 0, a), "EEXIST proves the order of two link()");
	end();
}

/* --- bytes --------------------------------------------------------------- */

static void test_bytes(void)
{
	struct reel_event ev;
	uint32_t r, w, t, s;

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	w = play(0, PWRITE(ofd, 3, 0, 100));
	r = play(1, PREAD(ofd, 3, 0, 100, 100));
	ok(waits(1, r, 0, w), "a read waits for the write before");
	s = play(2, stat_event(file, 100));
	ok(waits(2, s, 0, w), "stat() waits for it, because of the size");
	w = play(0, PWRITE(ofd, 3, 0, 100));
	ok(!waits(0, w, 1, r), "a write waits for no read of other bytes");
	r = play(1, PREAD(ofd, 3, 100, 100, 0));
	w = play(0, PWRITE(ofd, 3, 100, 100));
	ok(waits(0, w, 1, r), "but for the read that hit EOF");
	ev = fd_event(REEL_CALL_LSEEK, ofd, 3);
	ev.arg = SEEK_END;
	ev.result = 200;
	s = play(2, ev);
	ok(waits(2, s, 0, w), "SEEK_END waits for the write before");
	r = play(1, PREAD(ofd, 3, 0, 100, 100));
	ev = fd_event(REEL_CALL_FTRUNCATE, ofd, 3);
	ev.offset = 0;
	t = play(2, ev);
	ok(waits(2, t, 1, r), "ftruncate() waits for reads of the old bytes");
	w = play(0, PWRITE(ofd, 3, 0, 10));
	ok(waits(0, w, 2, t), "a write waits for the truncation");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	ev = fd_event(REEL_CALL_LSEEK, ofd, 3);
	ev.arg = SEEK_END;
	ev.result = 100;
	s = play(1, ev);
	w = play(0, PWRITE(ofd, 3, 100, 100));
	ok(waits(0, w, 1, s), "a write waits for SEEK_END");
	t = play(2, fd_event(REEL_CALL_FTRUNCATE, ofd, 3));
	ok(waits(2, t, 0, w) && waits(2, t, 1, s),
	   "ftruncate() waits for writes, and for SEEK_END");
	r = play(1, fd_event(REEL_CALL_FTRUNCATE, ofd, 3));
	ok(waits(1, r, 2, t), "and for the previous one");
	end();
}

static void test_truncations(void)
{
	uint32_t r, w, t;

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	t = play(2, open_event(ofd_again, 4, O_RDWR | O_TRUNC));
	r = play(1, PREAD(ofd, 3, 0, 100, 0));
	ok(waits(1, r, 2, t), "a read waits for O_TRUNC");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	r = play(1,
		 timed(open_event(ofd_again, 4, O_RDWR | O_TRUNC), 2000, 2100));
	t = play(2,
		 timed(open_event(ofd_again, 5, O_RDWR | O_TRUNC), 2050, 2150));
	w = play(0, path_event(REEL_CALL_UNLINK, file, 0));
	ok(waits(0, w, 1, r) && waits(0, w, 2, t) && !waits(2, t, 1, r),
	   "unlink() waits for both of two changes that overlap");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	r = play(1, PREAD(ofd, 3, 0, 100, 100));
	t = play(2, open_event(ofd_again, 4, O_RDWR | O_TRUNC));
	ok(waits(2, t, 1, r), "O_TRUNC waits for reads of the old bytes");
	end();
}

static void test_flushed_bytes(void)
{
	uint32_t r, w, t;

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	w = play(0, fd_event(REEL_CALL_FCLOSE, ofd, 3));
	r = play(1, stat_event(file, 100));
	ok(!waits(1, r, 0, w), "an fclose() without writes changes no bytes");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	play(0, io_event(REEL_CALL_FWRITE, ofd, 3, 0, 100, 100));
	w = play(0, fd_event(REEL_CALL_FFLUSH, ofd, 3));
	r = play(1, stat_event(file, 100));
	ok(waits(1, r, 0, w), "an fflush() after writes does");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	w = play(0, PWRITE(ofd, 3, 0, 100));
	t = play(2, two_path_event(REEL_CALL_RENAME, file, file2, 0));
	ok(waits(2, t, 0, w), "rename() waits for writes of the file");
	r = play(1, stat_event(file2, 100));
	ok(waits(1, r, 2, t), "whose new path waits for the rename()");
	end();
}

/* Reads and writes that overlap: the result proves the order. */
static void test_append_order(void)
{
	uint32_t r, w, first;

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	first = play(1, timed(PREAD(ofd, 3, 0, 100, 0), 2000, 2010));
	r = play(1, timed(PREAD(ofd, 3, 0, 100, 50), 2020, 2040));
	w = play(0, timed(PWRITE(ofd, 3, 0, 50), 2015, 2050));
	ok(waits(1, r, 0, w), "a read of bytes waits for the write around it");
	ok(!waits(0, w, 1, r), "and not the other way");
	ok(waits(0, w, 1, first), "the write waits for the read before that "
				  "hit EOF");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	r = play(1, timed(PREAD(ofd, 3, 0, 100, 0), 2020, 2040));
	w = play(0, timed(PWRITE(ofd, 3, 0, 50), 2015, 2050));
	ok(waits(0, w, 1, r), "a write waits for the read inside that hit EOF");
	ok(!waits(1, r, 0, w), "and not the other way");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	w = play(0, timed(PWRITE(ofd, 3, 0, 50), 2015, 2030));
	r = play(1, timed(PREAD(ofd, 3, 0, 100, 50), 2020, 2040));
	ok(waits(1, r, 0, w), "the same when the write ends first");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	w = play(0, timed(PWRITE(ofd, 3, 0, 50), 2015, 2030));
	r = play(1, timed(PREAD(ofd, 3, 0, 100, 0), 2010, 2040));
	ok(waits(0, w, 1, r), "and for EOF");
	end();
}

static void test_append_positions(void)
{
	uint32_t r, w, first;

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	first = play(0, timed(PWRITE(ofd, 3, 0, 50), 2010, 2020));
	w = play(0, timed(PWRITE(ofd, 3, 50, 50), 2021, 2030));
	r = play(1, timed(PREAD(ofd, 3, 0, 100, 50), 2005, 2040));
	ok(waits(1, r, 0, first) && !waits(1, r, 0, w) && waits(0, w, 1, r),
	   "a read between two writes waits for one, and the other for it");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	first = play(1, timed(PREAD(ofd, 3, 0, 100, 0), 2000, 2010));
	play(1, timed(PREAD(ofd, 3, 0, 100, 0), 2011, 2020));
	r = play(1, timed(PREAD(ofd, 3, 0, 100, 0), 2021, 2030));
	w = play(0, timed(PWRITE(ofd, 3, 0, 50), 2015, 2050));
	ok(waits(0, w, 1, r) && !waits(0, w, 1, first),
	   "of reads that poll the end, a write waits for the last");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	play(0, PWRITE(ofd, 3, 0, 100));
	w = play(0, timed(PWRITE(ofd, 3, 0, 50), 2015, 2050));
	r = play(1, timed(PREAD(ofd, 3, 0, 50, 50), 2020, 2060));
	ok(!waits(1, r, 0, w) && !waits(0, w, 1, r),
	   "an overlapping write of old bytes proves nothing");
	end();
}

/* As play(), without a file system. */
static uint32_t fork_play(uint32_t stream, struct reel_event ev,
			  int64_t start_ns, int64_t end_ns)
{
	struct call_ref call;

	ev = timed(ev, start_ns, end_ns);
	call = next_call(stream, &ev);
	if (forks_event(&forks, &ev, &call, &err))
		abort();
	return call.index;
}

static bool fork_waits(uint32_t child, uint32_t on, uint32_t of)
{
	for (size_t i = forks_first_wait(&forks, child);
	     i < forks.waits && forks.wait[i].child == child; i++)
		if (forks.wait[i].before.stream == on &&
		    forks.wait[i].before.index == of)
			return true;
	return false;
}

static void test_forks(void)
{
	uint32_t a, b, c, d, e;

	begin();
	/* Stream 0 forks process 1 at 500. */
	a = play(1, timed(open_event(ofd, 3, O_RDONLY), 400, 450));
	b = play(2, timed(open_event(ofd2, 4, O_RDONLY), 600, 650));
	play(0, stat_event(other, 1));
	forks_sort(&forks);
	ok(fork_waits(1, 1, a),
	   "a fork waits for an open of another thread before it");
	is(forks.waits, 1, "and for no other");
	ok(waits(2, b, 3, UINT32_MAX),
	   "an open after the fork waits for the fork");
	end();

	/* Stream 0 forks at 900 and 700, stream 1 at 800. */
	job_begin();
	job_add_process(3, JOB_NONE, 0);
	job_add_process(1, 0, 900);
	job_add_process(1, 0, 700);
	job_add_process(1, 1, 800);
	ofd = job_add_open(job_add_file("/d/file"), O_RDWR);
	job_ready();
	if (forks_init(&forks, &job, &annotations, &err))
		abort();
	a = fork_play(2, open_event(ofd, 3, O_RDONLY), 600, 650);
	b = fork_play(1, open_event(ofd, 4, O_RDONLY), 710, 750);
	c = fork_play(2, open_event(ofd, 5, O_RDONLY), 850, 860);
	d = fork_play(2, open_event(ofd, 6, O_RDONLY), 950, 960);
	e = fork_play(2, open_event(ofd, 7, O_RDONLY), 970, 980);
	forks_sort(&forks);
	ok(fork_waits(2, 2, a) && fork_waits(3, 2, a),
	   "two threads fork: both wait for the open");
	ok(fork_waits(1, 1, b) && fork_waits(1, 2, c) && !fork_waits(1, 2, a),
	   "the next fork of one waits for later opens only");
	ok(waits(1, b, 4, UINT32_MAX), "an open waits for the fork before");
	ok(waits(2, c, 4, UINT32_MAX) && waits(2, c, 5, UINT32_MAX),
	   "for the fork of each thread");
	ok(waits(2, d, 3, UINT32_MAX) && !waits(2, d, 5, UINT32_MAX) &&
		   !waits(2, e, 3, UINT32_MAX),
	   "for each fork once");
	is(forks.waits, 4, "and the forks wait for nothing else");
	forks_fini(&forks);
	job_end();
}

/* An asynchronous operation ends after calls that its thread began later. */
static void test_late_calls(void)
{
	const struct call_ref before = {.stream = 0, .index = 3};
	const struct call_ref earlier = {.stream = 0, .index = 2};
	struct call_ref after = {.stream = 1, .index = 8};

	begin();
	is(deps_add(deps, &before, &after, &err), 1, "a wait");
	after.index = 9;
	is(deps_add(deps, &earlier, &after, &err), 0, "covers later calls");
	after.index = 5;
	is(deps_add(deps, &earlier, &after, &err), 1, "but not earlier ones");
	after.index = 6;
	is(deps_add(deps, &before, &after, &err), 1, "nor those between");
	end();
}

int main(void)
{
	test_descriptors();
	test_freed_numbers();
	test_copied_numbers();
	test_used_numbers();
	test_paths();
	test_directories();
	test_directory_names();
	test_pending_changes();
	test_bytes();
	test_truncations();
	test_flushed_bytes();
	test_append_order();
	test_append_positions();
	test_forks();
	test_late_calls();
	return done();
}
