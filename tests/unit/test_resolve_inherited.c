/* SPDX-License-Identifier: MIT */
/*
 * The resolver across exec and spawn, and renames of open files: descriptors of
 * one OFD share a position, and no others do.
 */
#include <sys/uio.h>

#include "tests/unit/test_resolve.h"

static int rows;

static int on_span(void *arg, const struct reel_span_event *sp,
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
 * Image 0 (thread 0) execs image 1 (thread 1). Image 2 (thread 2) inherits
 * descriptors from an untraced process and forks image 3 (thread 3).
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
	is(ev.offset, 100, "after exec: the position of the old image");
	is(ev.open, open, "it is the same OFD");
	MARK_(1, "/w/a", 2, 10, REEL_KIND_FILE, O_RDONLY, 110);
	READ_(1, 2, 5);
	is(ev.open, open, "so is a dup across exec");
	READ_(1, 1, 1);
	is(ev.offset, 115, "and it shares the position");
	MARK_(1, "/w/a", 3, 5, REEL_KIND_FILE, O_RDONLY, 0);
	READ_(1, 3, 7);
	ok(ev.open != open && ev.offset == 0, "another open of the same file");
	MARK_(1, "/w/c", 4, 4, REEL_KIND_FILE, O_RDONLY, 0);
	READ_(1, 4, 7);
	ok(ev.offset == 0, "a reused descriptor number");
	READ_(1, 2, 1);
	is(ev.offset, 116, "does not move the others");
	end();
	is(rows, 4, "each OFD is one row");
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
	ok(ev.open == open && ev.offset == 30, "2>&1 is one OFD");
	MARK_(3, "/w/log", 50, 1, REEL_KIND_FILE, O_WRONLY, 34);
	WRITE_(3, 50, 6);
	ok(ev.open == open && ev.offset == 34, "a fork whose mark comes later");
	WRITE_(2, 1, 1);
	is(ev.offset, 40, "and the parent shares the position");
	MARK_(3, "/w/log", 51, 7, REEL_KIND_FILE, O_WRONLY, 3);
	WRITE_(3, 51, 1);
	ok(ev.open != open && ev.offset == 3,
	   "another position is another OFD");
	MARK_(3, "/w/log", 52, 8, REEL_KIND_FILE, O_RDONLY, 41);
	ok(READ_(3, 52, 1) == 1 && ev.open != open, "so are other open flags");
	end();
	is(rows, 3, "and each OFD is one row");
}

static void test_append(void)
{
	begin();
	OPEN_(0, "/w/log", 1, 3, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
	WRITE_(0, 1, 100);
	RECORD(0, PWRITE, .desc = 1, .has_offset = true, .offset = 0,
	       .has_size = true, .size = 5, .result = 5);
	is(ev.offset, 100, "pwrite appends, whatever its offset");
	WRITE_(0, 1, 1);
	is(ev.offset, 105, "and the end moves");
	OPEN_(0, "/w/x", 2, 4, O_RDWR | O_CREAT | O_EXCL);
	WRITE_(0, 2, 10);
	RECORD(0, PWRITEV2, .desc = 2, .has_offset = true, .offset = 3,
	       .has_arg = true, .arg = RWF_APPEND, .has_size = true, .size = 8,
	       .result = 8);
	is(ev.offset, 10, "so does pwritev2 with RWF_APPEND");
	RECORD(0, PWRITEV2, .desc = 2, .has_offset = true, .offset = -1,
	       .has_arg = true, .arg = RWF_APPEND, .has_size = true, .size = 4,
	       .result = 4);
	is(ev.offset, 18,
	   "and at offset -1, where it moves the position to the end");
	WRITE_(0, 2, 1);
	is(ev.offset, 22, "the next write begins there");
	RECORD(0, RENAME, .path = "/w/log", .path2 = "/w/log.1");
	OPEN_(0, "/w/log", 3, 5, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
	WRITE_(0, 3, 7);
	is(ev.offset, 0, "a new log after a rename begins at 0");
	WRITE_(0, 1, 1);
	is(ev.offset, 106, "a descriptor of the old log stays on its inode");
	OPEN_(0, "/w/log.1", 4, 6, O_WRONLY | O_APPEND);
	WRITE_(0, 4, 2);
	is(ev.offset, 107, "which the new name refers to");
	RECORD(0, LINK, .path = "/w/log.1", .path2 = "/w/same");
	RECORD(0, RENAME, .path = "/w/log.1", .path2 = "/w/same");
	OPEN_(0, "/w/log.1", 6, 8, O_WRONLY | O_APPEND);
	WRITE_(0, 6, 1);
	is(ev.offset, 109, "a rename between two links changes nothing");
	RECORD(0, CLOSE, .desc = 6, .newfd = 8);
	RECORD(0, UNLINK, .path = "/w/log");
	OPEN_(0, "/w/log", 5, 7, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
	WRITE_(0, 5, 3);
	WRITE_(0, 3, 1);
	is(ev.offset, 7, "an unlinked file keeps its size");
	WRITE_(0, 5, 1);
	is(ev.offset, 3, "apart from a new file of its name");
	RECORD(0, LINK, .path = "/w/log", .path2 = "/w/hard");
	OPEN_(0, "/w/hard", 6, 8, O_WRONLY | O_APPEND);
	WRITE_(0, 6, 1);
	is(ev.offset, 4, "two links of one inode have one end");
	RECORD(0, RENAMEAT2, .path = "/w/log", .path2 = "/w/log.1",
	       .has_arg = true, .arg = 2);
	OPEN_(0, "/w/log.1", 7, 9, O_WRONLY | O_APPEND);
	WRITE_(0, 7, 1);
	is(ev.offset, 5, "two exchanged names");
	RECORD(0, RENAME, .path = "/w/log", .path2 = "/w/log.1", .result = -1,
	       .err = EACCES);
	OPEN_(0, "/w/log", 8, 10, O_WRONLY | O_APPEND);
	WRITE_(0, 8, 1);
	is(ev.offset, 110, "a failed rename changes nothing");
	end();
}

#define WRITE_FROM(start, thread, id, n)                                       \
	give_from(start, thread,                                               \
		  &(struct reel_record){.call = REEL_CALL_WRITE,               \
					.desc = id,                            \
					.has_size = true,                      \
					.size = n,                             \
					.result = n})

/* A process asks for the position of a shared file while another writes. */
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
	is(ev.offset, 30,
	   "the reported position includes a write recorded later");
	WRITE_(3, 50, 6);
	is(ev.offset, 35, "the asking process continues behind it");
	began = now++;
	RECORD(3, LSEEK, .desc = 50, .has_offset = true, .has_arg = true,
	       .arg = SEEK_CUR, .result = 41);
	WRITE_FROM(began, 2, 1, 4);
	is(ev.offset, 41,
	   "a write that the reported position does not include");
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
	is(ev.offset, 50, "a reported position older than a write");
	RECORD(3, LSEEK, .desc = 50, .has_offset = true, .has_arg = true,
	       .arg = SEEK_SET, .result = 0);
	WRITE_(2, 1, 1);
	is(ev.offset, 0, "a seek back is not a report");
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
	is(ev.offset, 100, "the size at an open includes an overlapping write");
	WRITE_(2, 2, 3);
	is(ev.offset, 107, "the next write is behind it");
	RECORD(2, OPEN, .path = "/w/app", .newdesc = 3, .newfd = 5, .result = 5,
	       .has_arg = true, .arg = O_WRONLY | O_APPEND, .has_pos = true,
	       .pos = 120);
	WRITE_(2, 3, 5);
	is(ev.offset, 120, "bytes of an untraced writer");
	now += 1000000;
	began = now++;
	WRITE_(0, 1, 4);
	give_from(began, 2,
		  &(struct reel_record){.call = REEL_CALL_STAT,
					.path = "/w/app",
					.has_pos = true,
					.pos = 125});
	WRITE_(2, 3, 1);
	is(ev.offset, 129, "a reported size older than a write");
	RECORD(2, STAT, .path = "/w/app", .has_pos = true, .pos = 10);
	WRITE_(0, 1, 1);
	is(ev.offset, 10, "an untraced process truncated the file");
	end();
}

/* Other writes between an open and its SIZE mark. */
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
	is(ev.offset, 10, "the SIZE mark gives the size at an open");
	give(1, &(struct reel_record){.call = REEL_MARK_SIZE,
				      .desc = 3,
				      .has_pos = true,
				      .pos = 30});
	WRITE_(1, 3, 1);
	is(ev.offset, 30, "the opener appends behind the other writer");
	give(1, &(struct reel_record){.call = REEL_MARK_SIZE,
				      .desc = 3,
				      .has_pos = true,
				      .pos = 40});
	WRITE_(2, 2, 1);
	is(ev.offset, 40, "and the mark shows untraced writers");
	is(give(1, &(struct reel_record){.call = REEL_MARK_SIZE,
					 .has_pos = true,
					 .pos = 50}),
	   0, "a mark of no descriptor");
	end();
}

/* The table of descriptors is reallocated during a call that adds one. */
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
	is(rows, 1, "and are one OFD");
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

/* Calls that do not move a position, and other movers of a stream's. */
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
	is(ev.offset, 0, "a write of 0 bytes does not move the position");
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
	is(ev.offset, 65, "fallocate with each mode");
	OPEN_(0, "/w/b", 2, 4, O_RDONLY);
	RECORD(0, DUP, .desc = 2, .newdesc = 3, .newfd = 5, .result = 5);
	RECORD(0, FDOPEN, .desc = 3);
	RECORD(0, FREAD, .desc = 3, .has_size = true, .size = 8, .result = 8);
	RECORD(0, FREAD, .desc = 3, .has_size = true, .size = 8, .result = 8);
	is(ev.offset, 8, "a stream keeps its position");
	RECORD(0, LSEEK, .desc = 2, .has_offset = true, .offset = 500,
	       .has_arg = true, .arg = SEEK_SET, .result = 500);
	RECORD(0, FREAD, .desc = 3, .has_size = true, .size = 8, .result = 8);
	is(ev.offset, REEL_NO_OFFSET,
	   "another descriptor moves the file's position");
	RECORD(0, FSEEK, .desc = 3, .has_offset = true, .offset = 600,
	       .has_arg = true, .arg = SEEK_SET, .has_pos = true, .pos = 600);
	RECORD(0, FREAD, .desc = 3, .has_size = true, .size = 8, .result = 8);
	is(ev.offset, 600, "until the stream reports its position");
	end();
}

/* A directory that is only looked at, with files in it. */
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
	is(kind_of("/d"), REEL_KIND_DIR, "a path above a file is a directory");
	is(kind_of("/d/e/f"), REEL_KIND_DIR, "at any depth");
	is(kind_of("/w"), REEL_KIND_DIR,
	   "so is one that open() took for a file");
	is(kind_of("/d/other"), REEL_KIND_UNKNOWN,
	   "a path without files below stays unknown");
	is(kind_of("/d/plain"), REEL_KIND_UNKNOWN,
	   "so does one of a failed open");
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
