/* SPDX-License-Identifier: MIT */
/*
 * Windows become logs: no block is lost or duplicated, windows of living
 * processes and foreign logs are kept, and no input is trusted.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/error.h"

#include "record/internal.h"

#include "tests/lib/tap.h"

#define HEAD_BYTES 704u /* 640 + text */

static char dir[] = "/tmp/ioreel-test-collect-XXXXXX";
static char boot_id[40], host[65];
static pid_t dead;

static uint64_t boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static const char *in(const char *name)
{
	static char path[4][512];
	static int k;

	k = (k + 1) % 4;
	snprintf(path[k], sizeof(path[k]), "%s/%s", dir, name);
	return path[k];
}

static void put(const char *name, const void *data, size_t n, int64_t at)
{
	int fd = open(in(name), O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || pwrite(fd, data, n, at) != (ssize_t)n)
		printf("Bail out! cannot write %s\n", name);
	close(fd);
}

static int64_t size_of(const char *name)
{
	struct stat st;

	return lstat(in(name), &st) ? -1 : (int64_t)st.st_size;
}

/* The head of process @pid and its page. */
static void head(const char *name, uint64_t uid, pid_t pid,
		 uint64_t start_boot_ns)
{
	union {
		struct reel_head h;
		char page[REEL_WINDOW_HEAD_BYTES];
	} u = {.page = {0}};

	u.h.magic = REEL_HEAD_MAGIC;
	u.h.major = REEL_TRACE_MAJOR;
	u.h.head_bytes = HEAD_BYTES;
	u.h.text_bytes = HEAD_BYTES - 640;
	u.h.uid = uid;
	u.h.pid = (uint32_t)pid;
	u.h.start_boot_ns = start_boot_ns;
	u.h.counter[REEL_FLUSHES] = 5;
	memcpy(u.h.boot_id, boot_id, sizeof(u.h.boot_id));
	snprintf(u.page + 640, 64, "host=%.50s", host);
	put(name, &u, strstr(name, ".win") ? sizeof(u) : HEAD_BYTES, 0);
}

/* A block with @used bytes of value @seq as records; @there are written. */
static void block(const char *name, int64_t at, uint32_t tid, uint32_t seq,
		  uint32_t used, uint32_t there)
{
	static char bytes[REEL_SLOT_BYTES];
	struct reel_block_head b = {.magic = REEL_BLOCK_MAGIC,
				    .used = used,
				    .tid = tid,
				    .seq = seq,
				    .slot = tid};

	b.check = reel_block_check(&b);
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &b, sizeof(b));
	memset(bytes + sizeof(b), 'a' + (int)(seq % 20), used);
	put(name, bytes, there ? there : sizeof(b) + ((used + 7) & ~7u), at);
}

static int64_t slot(int i)
{
	return REEL_WINDOW_HEAD_BYTES + (int64_t)i * REEL_SLOT_BYTES;
}

/* Number of blocks in a log, walked like a reader; -1: damage. */
static int blocks(const char *name, uint32_t tid, uint32_t seq, uint32_t *used)
{
	int64_t at = HEAD_BYTES, size = size_of(name);
	int fd = open(in(name), O_RDONLY), n = 0;

	*used = 0;
	while (at < size) {
		struct reel_block_head b;

		if (pread(fd, &b, sizeof(b), at) != (ssize_t)sizeof(b) ||
		    b.magic != REEL_BLOCK_MAGIC ||
		    b.check != reel_block_check(&b))
			break;
		if (b.tid == tid && b.seq == seq)
			*used = b.used;
		n++;
		at += (int64_t)sizeof(b) + ((b.used + 7) & ~7u);
	}
	close(fd);
	return at == size ? n : -1;
}

static void clear(const char *sub)
{
	char path[768];
	DIR *d = opendir(in(sub));
	struct dirent *e;

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", in(sub), e->d_name);
		if (unlink(path) && e->d_name[0] != '.')
			rmdir(path);
	}
	if (d)
		closedir(d);
}

static int collect(struct record_collected *c)
{
	struct reel_error err = {0};

	return record_collect(dir, c, &err);
}

/* A fresh directory with one window of an ended process: 2 threads. */
static void fresh(void)
{
	clear("windows");
	clear(".");
	mkdir(in("windows"), 0700);
	head("windows/7.win", 77, dead, boot_ns());
	block("windows/7.win", slot(0), 7, 3, 100, 0);
	block("windows/7.win", slot(2), 9, 0, 8, 0);
}

static void merging(void)
{
	struct record_collected c;
	struct reel_head h;
	uint32_t used;
	int fd;

	fresh();
	is(collect(&c), 0, "a window without a log is merged");
	is(blocks("7.log", 7, 3, &used), 2, "the log has all of its blocks");
	is(used, 100, "whole");
	ok(c.merged == 1 && !c.running && size_of("windows") < 0,
	   "and windows/ is gone");
	is(collect(&c), 0, "nothing to collect is not an error");

	fresh();
	head("7.log", 77, dead, 1);
	block("7.log", HEAD_BYTES, 7, 2, 50, 0);
	block("7.log", size_of("7.log"), 7, 3, 100, 0);
	collect(&c);
	is(blocks("7.log", 7, 3, &used), 3,
	   "blocks of the log are not added again");
	fd = open(in("7.log"), O_RDONLY);
	ok(read(fd, &h, sizeof(h)) == (ssize_t)sizeof(h) &&
		   h.start_boot_ns > 1 && h.counter[REEL_FLUSHES] == 5,
	   "the head is that of the window");
	close(fd);

	fresh();
	head("7.log", 77, dead, 1);
	block("7.log", HEAD_BYTES, 7, 3, 60, 0);
	collect(&c);
	is(blocks("7.log", 7, 3, &used), 3, "a shorter copy does not count");
	is(used, 100, "the longer one is added");
}

/* The `used` of a slot is 0 until its flush: then its records are counted. */
static void under_construction(void)
{
	static const char record[] = {24, REEL_F_RES_ZERO, 5, 1};
	struct record_collected c;
	uint32_t used;
	int i;

	fresh();
	block("windows/7.win", slot(0), 7, 3, 0, 4096);
	for (i = 0; i < 9; i++)
		put("windows/7.win", record, 4, slot(0) + 56 + 4 * i);
	/* The rest of a record that a killed thread was writing. */
	put("windows/7.win", "\0x\1\1", 4, slot(0) + 56 + 4 * i);
	collect(&c);
	is(blocks("7.log", 7, 3, &used), 2, "an incomplete block");
	is(used, 36, "has its complete records");
}

static void torn(void)
{
	struct record_collected c;
	uint32_t used;

	fresh();
	head("7.log", 77, dead, 1);
	block("7.log", HEAD_BYTES, 7, 3, 100, 90);
	collect(&c);
	is(blocks("7.log", 7, 3, &used), 2,
	   "the window's block replaces a truncated one");
	is(used, 100, "which is whole");

	fresh();
	head("7.log", 77, dead, 1);
	block("7.log", HEAD_BYTES, 7, 2, 100, 91);
	collect(&c);
	is(blocks("7.log", 7, 2, &used), 3,
	   "without another copy it keeps its bytes");
	is(used, 91 - 56, "and no more");

	fresh();
	head("7.log", 77, dead, 1);
	block("7.log", HEAD_BYTES, 7, 2, 100, 20);
	collect(&c);
	ok(size_of("7.log") % 8 == 0 && blocks("7.log", 7, 3, &used) == -1,
	   "a truncated head is padded");

	fresh();
	put("7.log", "", 0, 0);
	close(open(in("7.log"), O_CREAT | O_WRONLY, 0600));
	collect(&c);
	is(blocks("7.log", 7, 3, &used), 2, "a log without a head gets one");
}

static void owners(void)
{
	struct record_collected c;
	uint32_t used;

	fresh();
	head("windows/7.win", 77, getpid(), boot_ns());
	collect(&c);
	ok(c.running == 1 && size_of("windows/7.win") > 0 &&
		   size_of("7.log") < 0,
	   "a living process keeps its window");

	fresh();
	head("windows/7.win", 77, getpid(), 1000);
	collect(&c);
	ok(!c.running && blocks("7.log", 7, 3, &used) == 2,
	   "a reused pid is another process");

	fresh();
	head("windows/7.win", 77, getpid(), boot_ns());
	head("windows/7.1.win", 78, getpid(), boot_ns() + 1000);
	collect(&c);
	ok(c.running == 1 && blocks("7.log", 7, 3, &used) == 2 &&
		   size_of("windows/7.1.win") > 0,
	   "an image that called exec has ended");

	fresh();
	strcpy(boot_id, "another");
	head("windows/7.win", 77, getpid(), boot_ns());
	collect(&c);
	is(blocks("7.log", 7, 3, &used), 2,
	   "a window of another boot is merged");
	strcpy(host, "elsewhere");
	fresh();
	collect(&c);
	ok(!c.running && size_of("windows/7.win") > 0,
	   "another machine's window stays");
}

static void strangers(void)
{
	struct record_collected c;
	uint32_t used;
	char path[512];

	fresh();
	head("7.log", 12345, dead, 1);
	block("7.log", HEAD_BYTES, 1, 0, 10, 0);
	collect(&c);
	is(blocks("7.log", 1, 0, &used), 1,
	   "the log of another process is not touched");
	is(blocks("7.9001.log", 7, 3, &used), 2, "ours gets another name");

	fresh();
	put("windows/8.win", "garbage", 7, 0);
	/* An empty window belongs to the process in its name: an ended one. */
	snprintf(path, sizeof(path), "windows/%d.win", (int)dead);
	put(path, "garbage", 7, 100000);
	mkdir(in("windows/10.win"), 0700);
	mkfifo(in("windows/11.win"), 0600);
	if (symlink("/etc/passwd", in("windows/12.win")))
		printf("# no symlink\n");
	is(collect(&c), -1, "a file that is not a window is an error");
	is(c.merged, 2, "for this file only: the others are merged");
	is(blocks("7.log", 7, 3, &used), 2, "whole");
	snprintf(path, sizeof(path), "%s", in("windows/8.win"));
	ok(!access(path, F_OK), "and it stays");

	fresh();
	unlink(in("7.log"));
	if (symlink("/tmp/ioreel-test-never", in("7.log")))
		printf("# no symlink\n");
	collect(&c);
	ok(access("/tmp/ioreel-test-never", F_OK),
	   "a log that is a link is not followed");
}

/* Random flipped bytes: no crash, and no endless loop. */
static void flips(void)
{
	struct record_collected c;
	int i, k;

	srandom(1);
	for (i = 0; i < 400; i++) {
		fresh();
		head("7.log", 77, dead, 1);
		block("7.log", HEAD_BYTES, 7, 2, 100, 0);
		block("7.log", size_of("7.log"), 7, 3, 100,
		      i % 3 ? 0 : 1 + (uint32_t)(random() % 150));
		for (k = 0; k < 1 + i % 8; k++) {
			const char *name = i & 1 ? "7.log" : "windows/7.win";
			unsigned char b = (unsigned char)random();
			int64_t room = i & 1 ? size_of("7.log") : 900;

			put(name, &b, 1,
			    i & 2 && !(i & 1) ? slot(0) + random() % 56
					      : random() % room);
		}
		collect(&c);
	}
	ok(1, "400 damaged windows and logs");
}

int main(void)
{
	struct utsname u;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	if (!f || !fgets(boot_id, 37, f) || !mkdtemp(dir) || uname(&u))
		skip_all("no boot_id or no temporary directory");
	fclose(f);
	snprintf(host, sizeof(host), "%.64s", u.nodename);
	dead = fork();
	if (!dead)
		_exit(0);
	waitpid(dead, NULL, 0);
	merging();
	under_construction();
	torn();
	owners();
	f = fopen("/proc/sys/kernel/random/boot_id", "r");
	if (!f || !fgets(boot_id, 37, f))
		return 1;
	fclose(f);
	snprintf(host, sizeof(host), "%.64s", u.nodename);
	strangers();
	flips();
	clear("windows");
	rmdir(in("windows"));
	clear(".");
	rmdir(dir);
	return done();
}
