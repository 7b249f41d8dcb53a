/* SPDX-License-Identifier: MIT */
/* Sizes, lines and holes of the files before the job. */
#include "tests/unit/test_fsstate.h"

static void test_sizes(void)
{
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
}

static void test_positions(void)
{
	struct reel_event ev;

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
}

static void test_reach(void)
{
	struct reel_event ev;

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
	test_sizes();
	test_positions();
	test_reach();
	test_disk_bytes();
	test_written_lines();
	return done();
}
