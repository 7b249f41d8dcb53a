/* SPDX-License-Identifier: MIT */
/*
 * The resolver across exec and spawn, and names that move while files are open:
 * what shares a position must share it, and nothing else may.
 */
#include <sys/uio.h>

#include "tests/unit/test_resolve.h"

static int rows;

static int on_span(void *arg, const struct reel_span_event *sp, bool closed,
		   struct reel_error *e)
{
	return 0;
}

static int on_open(void *arg, const struct reel_open_row *row,
		   struct reel_error *e)
{
	rows++;
	return 0;
}

static int on_note(void *arg, uint32_t process, uint32_t thread,
		   const char *key, const char *value, struct reel_error *e)
{
	return 0;
}

/*
 * Image 0 (thread 0); image 1 (thread 1) is what it execs; image 2 (thread 2)
 * is born with descriptors from outside, and image 3 (thread 3), its fork.
 */
static void begin(void)
{
	struct reel_resolve_process p[4] = {
		{.process_id = 1,
		 .first_desc = 1,
		 .parent = -1,
		 .follows = -1,
		 .cwd = "/w"},
		{.process_id = 2,
		 .first_desc = 1,
		 .parent = -1,
		 .follows = 0,
		 .cwd = "/w",
		 .marks_sizes = true},
		{.process_id = 3,
		 .first_desc = 1,
		 .parent = -1,
		 .follows = 2,
		 .cwd = "/w"},
		{.process_id = 4, .first_desc = 50, .parent = 2, .follows = -1},
	};
	struct reel_resolve_thread t[4] = {{1, 0}, {2, 1}, {3, 2}, {4, 3}};
	struct reel_resolve_sink sink = {
		.span = on_span, .open = on_open, .note = on_note};

	rows = 0;
	if (reel_resolver_new(&r, p, 4, t, 4, NULL, &sink, &err) ||
	    reel_resolve_start(r, 0, &err) || reel_resolve_start(r, 2, &err))
		exit(1);
}

static void end(void)
{
	for (int i = 0; i < 4; i++) {
		reel_resolve_start(r, i, &err);
		reel_resolve_end(r, i, &err);
	}
	reel_resolver_free(r);
}

#define MARK_(thread, name, id, fd_, kind, flags, pos_)                        \
	give(thread, &(struct reel_record){.call = REEL_MARK_DESC,             \
					   .path = name,                       \
					   .newdesc = id,                      \
					   .newfd = fd_,                       \
					   .has_arg = true,                    \
					   .arg = kind,                        \
					   .has_arg2 = true,                   \
					   .arg2 = flags,                      \
					   .has_pos = (pos_) >= 0,             \
					   .pos = pos_})
#define READ_(thread, id, n)                                                   \
	RECORD(thread, READ, .desc = id, .has_size = true, .size = n,          \
	       .result = n)
static void test_exec(void)
{
	uint32_t open;

	begin();
	OPEN_(0, "/w/a", 1, 3, O_RDONLY);
	open = ev.open;
	READ_(0, 1, 100);
	RECORD(0, DUP, .desc = 1, .newdesc = 2, .newfd = 10, .result = 10);
	OPEN_(0, "/w/b", 3, 4, O_RDONLY);
	OPEN_(0, "/w/a", 4, 5, O_RDONLY);
	reel_resolve_end(r, 0, &err);
	reel_resolve_start(r, 1, &err);
	MARK_(1, "/w/a", 1, 3, REEL_KIND_FILE, O_RDONLY, 100);
	READ_(1, 1, 10);
	is(ev.offset, 100, "after exec: goes on where the image before was");
	is(ev.open, open, "it is the same open file");
	MARK_(1, "/w/a", 2, 10, REEL_KIND_FILE, O_RDONLY, 110);
	READ_(1, 2, 5);
	is(ev.open, open, "a dup that went through exec, too");
	READ_(1, 1, 1);
	is(ev.offset, 115, "and moves the position of the other");
	MARK_(1, "/w/a", 3, 5, REEL_KIND_FILE, O_RDONLY, 0);
	READ_(1, 3, 7);
	ok(ev.open != open && ev.offset == 0, "the same file opened twice");
	MARK_(1, "/w/c", 4, 4, REEL_KIND_FILE, O_RDONLY, 0);
	READ_(1, 4, 7);
	ok(ev.offset == 0, "a number that now means another file");
	READ_(1, 2, 1);
	is(ev.offset, 116, "leaves the others alone");
	end();
	is(rows, 4, "each open file is a row, once");
}

static void test_outside(void)
{
	uint32_t open;

	begin();
	reel_resolve_start(r, 3, &err);
	MARK_(2, "/w/log", 1, 1, REEL_KIND_FILE, O_WRONLY, 20);
	WRITE_(2, 1, 10);
	open = ev.open;
	MARK_(2, "/w/log", 2, 2, REEL_KIND_FILE, O_WRONLY, 30);
	WRITE_(2, 2, 4);
	ok(ev.open == open && ev.offset == 30, "2>&1 is one open file");
	MARK_(3, "/w/log", 50, 1, REEL_KIND_FILE, O_WRONLY, 34);
	WRITE_(3, 50, 6);
	ok(ev.open == open && ev.offset == 34,
	   "a fork that says it first later");
	WRITE_(2, 1, 1);
	is(ev.offset, 40, "and the parent knows");
	MARK_(3, "/w/log", 51, 7, REEL_KIND_FILE, O_WRONLY, 3);
	WRITE_(3, 51, 1);
	ok(ev.open != open && ev.offset == 3, "another place is another");
	MARK_(3, "/w/log", 52, 8, REEL_KIND_FILE, O_RDONLY, 41);
	ok(READ_(3, 52, 1) == 1 && ev.open != open,
	   "so is another way to open");
	end();
	is(rows, 3, "and nothing is left behind");
}

static void test_append(void)
{
	begin();
	OPEN_(0, "/w/log", 1, 3, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
	WRITE_(0, 1, 100);
	RECORD(0, PWRITE, .desc = 1, .has_offset = true, .offset = 0,
	       .has_size = true, .size = 5, .result = 5);
	is(ev.offset, 100, "pwrite appends, whatever it says");
	WRITE_(0, 1, 1);
	is(ev.offset, 105, "and the end moves on");
	OPEN_(0, "/w/x", 2, 4, O_RDWR | O_CREAT | O_EXCL);
	WRITE_(0, 2, 10);
	RECORD(0, PWRITEV2, .desc = 2, .has_offset = true, .offset = 3,
	       .has_arg = true, .arg = RWF_APPEND, .has_size = true, .size = 8,
	       .result = 8);
	is(ev.offset, 10, "so does pwritev2 when told to");
	RECORD(0, PWRITEV2, .desc = 2, .has_offset = true, .offset = -1,
	       .has_arg = true, .arg = RWF_APPEND, .has_size = true, .size = 4,
	       .result = 4);
	is(ev.offset, 18, "and at the position, which it moves to the end");
	WRITE_(0, 2, 1);
	is(ev.offset, 22, "where the next write begins");
	RECORD(0, RENAME, .path = "/w/log", .path2 = "/w/log.1");
	OPEN_(0, "/w/log", 3, 5, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
	WRITE_(0, 3, 7);
	is(ev.offset, 0, "a new log after a rename begins at 0");
	WRITE_(0, 1, 1);
	is(ev.offset, 106, "who has the old one open goes on there");
	OPEN_(0, "/w/log.1", 4, 6, O_WRONLY | O_APPEND);
	WRITE_(0, 4, 2);
	is(ev.offset, 107, "and is found under its new name");
	RECORD(0, LINK, .path = "/w/log.1", .path2 = "/w/same");
	RECORD(0, RENAME, .path = "/w/log.1", .path2 = "/w/same");
	OPEN_(0, "/w/log.1", 6, 8, O_WRONLY | O_APPEND);
	WRITE_(0, 6, 1);
	is(ev.offset, 109, "which a rename to another of its names leaves it");
	RECORD(0, CLOSE, .desc = 6, .newfd = 8);
	RECORD(0, UNLINK, .path = "/w/log");
	OPEN_(0, "/w/log", 5, 7, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
	WRITE_(0, 5, 3);
	WRITE_(0, 3, 1);
	is(ev.offset, 7, "a deleted file goes on too");
	WRITE_(0, 5, 1);
	is(ev.offset, 3, "beside the one that took its name");
	RECORD(0, LINK, .path = "/w/log", .path2 = "/w/hard");
	OPEN_(0, "/w/hard", 6, 8, O_WRONLY | O_APPEND);
	WRITE_(0, 6, 1);
	is(ev.offset, 4, "two names of one file have one end");
	RECORD(0, RENAMEAT2, .path = "/w/log", .path2 = "/w/log.1",
	       .has_arg = true, .arg = 2);
	OPEN_(0, "/w/log.1", 7, 9, O_WRONLY | O_APPEND);
	WRITE_(0, 7, 1);
	is(ev.offset, 5, "names that were exchanged");
	RECORD(0, RENAME, .path = "/w/log", .path2 = "/w/log.1", .result = -1,
	       .err = EACCES);
	OPEN_(0, "/w/log", 8, 10, O_WRONLY | O_APPEND);
	WRITE_(0, 8, 1);
	is(ev.offset, 110, "a rename that failed moved nothing");
	end();
}

#define WRITE_FROM(start, thread, id, n)                                       \
	give_from(start, thread,                                               \
		  &(struct reel_record){.call = REEL_CALL_WRITE,               \
					.desc = id,                            \
					.has_size = true,                      \
					.size = n,                             \
					.result = n})

/* Who asks where a shared file stands while another writes to it. */
static void test_under_way(void)
{
	int64_t began;

	begin();
	reel_resolve_start(r, 3, &err);
	MARK_(2, "/w/log", 1, 1, REEL_KIND_FILE, O_WRONLY, 20);
	WRITE_(2, 1, 10);
	began = now++;
	MARK_(3, "/w/log", 50, 1, REEL_KIND_FILE, O_WRONLY, 35);
	WRITE_FROM(began, 2, 1, 5);
	is(ev.offset, 30, "the answer held a write whose record comes later");
	WRITE_(3, 50, 6);
	is(ev.offset, 35, "who asked goes on behind it");
	began = now++;
	RECORD(3, LSEEK, .desc = 50, .has_offset = true, .has_arg = true,
	       .arg = SEEK_CUR, .result = 41);
	WRITE_FROM(began, 2, 1, 4);
	is(ev.offset, 41, "a write that the answer did not hold");
	began = now++;
	WRITE_(2, 1, 5);
	give_from(began, 3,
		  &(struct reel_record){.call = REEL_CALL_LSEEK,
					.desc = 50,
					.has_offset = true,
					.has_arg = true,
					.arg = SEEK_CUR,
					.result = 45});
	WRITE_(3, 50, 1);
	is(ev.offset, 50, "an answer that is older than a write");
	RECORD(3, LSEEK, .desc = 50, .has_offset = true, .has_arg = true,
	       .arg = SEEK_SET, .result = 0);
	WRITE_(2, 1, 1);
	is(ev.offset, 0, "going back is no answer");
	end();
}

static void test_append_under_way(void)
{
	int64_t began;

	begin();
	OPEN_(0, "/w/app", 1, 3, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
	WRITE_(0, 1, 100);
	began = now++;
	RECORD(2, OPEN, .path = "/w/app", .newdesc = 2, .newfd = 4, .result = 4,
	       .has_arg = true, .arg = O_WRONLY | O_APPEND, .has_pos = true,
	       .pos = 107);
	WRITE_FROM(began, 0, 1, 7);
	is(ev.offset, 100, "the size at an open held a write under way");
	WRITE_(2, 2, 3);
	is(ev.offset, 107, "the next is behind it");
	RECORD(2, OPEN, .path = "/w/app", .newdesc = 3, .newfd = 5, .result = 5,
	       .has_arg = true, .arg = O_WRONLY | O_APPEND, .has_pos = true,
	       .pos = 120);
	WRITE_(2, 3, 5);
	is(ev.offset, 120, "what an unseen writer wrote is none of its own");
	now += 1000000;
	began = now++;
	WRITE_(0, 1, 4);
	give_from(began, 2,
		  &(struct reel_record){.call = REEL_CALL_STAT,
					.path = "/w/app",
					.has_pos = true,
					.pos = 125});
	WRITE_(2, 3, 1);
	is(ev.offset, 129, "a size that is older than a write");
	RECORD(2, STAT, .path = "/w/app", .has_pos = true, .pos = 10);
	WRITE_(0, 1, 1);
	is(ev.offset, 10, "somebody unseen cut the file");
	end();
}

/* Between an open and its question others may write a lot. */
static void test_size_marked(void)
{
	begin();
	OPEN_(0, "/w/m", 1, 3, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
	WRITE_(0, 1, 10);
	reel_resolve_end(r, 0, &err);
	reel_resolve_start(r, 1, &err);
	OPEN_(2, "/w/m", 2, 3, O_WRONLY | O_APPEND);
	RECORD(1, OPEN, .path = "/w/m", .newdesc = 3, .newfd = 4, .result = 4,
	       .has_arg = true, .arg = O_WRONLY | O_APPEND, .has_pos = true,
	       .pos = 30);
	WRITE_(2, 2, 20);
	is(ev.offset, 10, "what an open asked for is told by its mark");
	give(1, &(struct reel_record){.call = REEL_MARK_SIZE,
				      .desc = 3,
				      .has_pos = true,
				      .pos = 30});
	WRITE_(1, 3, 1);
	is(ev.offset, 30, "who opened it goes on behind the other");
	give(1, &(struct reel_record){.call = REEL_MARK_SIZE,
				      .desc = 3,
				      .has_pos = true,
				      .pos = 40});
	WRITE_(2, 2, 1);
	is(ev.offset, 40, "and the mark tells of unseen writers");
	is(give(1, &(struct reel_record){.call = REEL_MARK_SIZE,
					 .has_pos = true,
					 .pos = 50}),
	   0, "a mark of no descriptor");
	end();
}

/* The table of descriptors grows, and moves, under a call that made one. */
static void test_many(void)
{
	begin();
	OPEN_(0, "/w/a", 1, 3, O_RDONLY);
	for (uint32_t i = 0; i < 1000; i++)
		RECORD(0, DUP, .desc = 1 + i, .newdesc = 2 + i,
		       .newfd = 10 + (int32_t)i, .result = 10 + i);
	READ_(0, 1, 8);
	READ_(0, 1001, 8);
	is(ev.offset, 8, "a thousand dups share a position");
	end();
	is(rows, 1, "and are one open file");
}

static enum reel_kind kind_of(const char *path)
{
	struct reel_file_row row;

	for (uint32_t i = 1; i <= reel_resolve_files(r); i++) {
		reel_resolve_file(r, i, &row);
		if (!strcmp(row.path, path))
			return row.kind;
	}
	return REEL_KIND_OTHER;
}

/* What does not move a position, and who else moves a stream's. */
static void test_moves(void)
{
	begin();
	OPEN_(0, "/w/a", 1, 3, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
	RECORD(0, PWRITE, .desc = 1, .has_offset = true, .has_size = true,
	       .size = 30, .result = 30);
	RECORD(0, WRITE, .desc = 1, .has_size = true, .size = 8, .result = -1,
	       .err = ENOSPC);
	RECORD(0, WRITE, .desc = 1, .has_size = true);
	READ_(0, 1, 4);
	is(ev.offset, 0, "a write that wrote nothing moves no position");
	RECORD(0, POSIX_FALLOCATE, .desc = 1, .has_offset = true, .offset = 20,
	       .has_arg2 = true, .arg2 = 80);
	WRITE_(0, 1, 5);
	is(ev.offset, 100, "posix_fallocate makes a file longer");
	RECORD(0, FALLOCATE, .desc = 1, .has_offset = true, .offset = 200,
	       .has_arg = true, .arg = FALLOC_FL_KEEP_SIZE, .has_arg2 = true,
	       .arg2 = 80);
	RECORD(0, FALLOCATE, .desc = 1, .has_offset = true, .has_arg = true,
	       .arg = FALLOC_FL_COLLAPSE_RANGE, .has_arg2 = true, .arg2 = 40);
	WRITE_(0, 1, 5);
	is(ev.offset, 65, "fallocate as its mode says");
	OPEN_(0, "/w/b", 2, 4, O_RDONLY);
	RECORD(0, DUP, .desc = 2, .newdesc = 3, .newfd = 5, .result = 5);
	RECORD(0, FDOPEN, .desc = 3);
	RECORD(0, FREAD, .desc = 3, .has_size = true, .size = 8, .result = 8);
	RECORD(0, FREAD, .desc = 3, .has_size = true, .size = 8, .result = 8);
	is(ev.offset, 8, "a stream goes on where it was");
	RECORD(0, LSEEK, .desc = 2, .has_offset = true, .offset = 500,
	       .has_arg = true, .arg = SEEK_SET, .result = 500);
	RECORD(0, FREAD, .desc = 3, .has_size = true, .size = 8, .result = 8);
	is(ev.offset, REEL_NO_OFFSET, "who else has its file moves it");
	RECORD(0, FSEEK, .desc = 3, .has_offset = true, .offset = 600,
	       .has_arg = true, .arg = SEEK_SET, .has_pos = true, .pos = 600);
	RECORD(0, FREAD, .desc = 3, .has_size = true, .size = 8, .result = 8);
	is(ev.offset, 600, "until it says where it is");
	end();
}

/* Who only looks at a directory, and opens what lies in it. */
static void test_directories(void)
{
	begin();
	RECORD(0, STAT, .path = "/d", .has_pos = true, .pos = 4096);
	RECORD(0, STAT, .path = "/d/e/f");
	OPEN_(0, "/d/e/f/g/x", 1, 3, O_RDONLY);
	OPEN_(0, "/d/e/f/g/y", 2, 4, O_RDONLY);
	RECORD(0, STAT, .path = "/d/other");
	RECORD(0, STAT, .path = "/d/plain");
	RECORD(0, OPEN, .path = "/d/plain/no", .result = -1, .err = ENOTDIR);
	OPEN_(0, "/w", 3, 5, O_RDONLY);
	OPEN_(0, "/w/z", 4, 6, O_RDONLY);
	for (int i = 0; i < 4; i++) {
		reel_resolve_start(r, i, &err);
		reel_resolve_end(r, i, &err);
	}
	is(kind_of("/d"), REEL_KIND_DIR, "what a file lies in is a directory");
	is(kind_of("/d/e/f"), REEL_KIND_DIR, "at any depth");
	is(kind_of("/w"), REEL_KIND_DIR,
	   "also one that was opened as a file is");
	is(kind_of("/d/other"), REEL_KIND_UNKNOWN, "what nothing lies in, not");
	is(kind_of("/d/plain"), REEL_KIND_UNKNOWN, "nor by a failed open");
	is(kind_of("/d/e/f/g/y"), REEL_KIND_FILE, "a file is a file");
	reel_resolver_free(r);
}

int main(void)
{
	test_directories();
	test_many();
	test_exec();
	test_outside();
	test_append();
	test_moves();
	test_under_way();
	test_append_under_way();
	test_size_marked();
	ok(!err.code, "nothing failed: %s", err.text);
	return done();
}
