/* SPDX-License-Identifier: MIT */
/*
 * gen_trace: write a synthetic trace, and the lines that a reader must find in
 * it.
 *
 * One loop steps through all threads in the order of time and simulates files,
 * descriptors and positions like a kernel, so that expected offsets are right
 * even where processes share an OFD. The same arguments give the same bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/calls.h"
#include "tests/lib/random.h"
#include "tests/data/trace_writer.h"

#define FDS 64
#define FD_FIRST 3
#define MONO_FIRST 5000000000000ull
#define REAL_FIRST 1790000000000000000ull
#define TICKS_FIRST 12500000000000ull /* 2.5 per ns */
#define UID_FIRST 0xab0001ull

struct open_file {
	int64_t pos, size;
	uint32_t file;
};

struct fd {
	uint32_t desc; /* 0: closed */
	uint32_t open; /* index of an open_file */
};

struct image {
	struct reel_head head;
	char text[1024];
	char path[64]; /* of its log, in the directory */
	struct fd fd[FDS];
	uint32_t next_desc;
	bool killed;
};

struct thread {
	struct tw_block b;
	struct image *image;
	int64_t left; /* remaining events */
	int fd, step; /* the file that it reads */
	int64_t size, step_no;
};

static struct {
	int processes, threads, files, kill_every;
	int64_t events;
	size_t block;
	uint64_t seed;
	const char *kind, *expect, *dir;
	bool monotonic, merged, quiet;
} opt = {2,    2,    100,   0,	   1000, REEL_SLOT_BYTES, 1, "mixed",
	 NULL, NULL, false, false, false};

static uint64_t now_ns;
static struct open_file *opened;
static uint32_t n_open, open_room, *free_open, n_free;
static struct image *images;
static struct thread *threads;
static FILE *expect;

static uint64_t ticks(void)
{
	return opt.monotonic ? MONO_FIRST + now_ns
			     : TICKS_FIRST + now_ns / 2 * 5;
}

static int64_t file_size(uint32_t file)
{
	uint64_t h = (file + opt.seed) * 0x9e3779b97f4a7c15ull;

	return (int64_t)((4096 << (h >> 60) / 2) + (h >> 40 & 0xfff));
}

static const char *file_path(uint32_t file)
{
	static char path[80];

	snprintf(path, sizeof(path), "/data/set/d%03u/sample_%07u.bin",
		 file / 1000, file);
	return path;
}

static uint32_t open_new(uint32_t file)
{
	uint32_t i = n_open;

	if (n_free) {
		i = free_open[--n_free];
	} else if (n_open++ == open_room) {
		open_room = open_room ? open_room * 2 : 1024;
		opened = realloc(opened, open_room * sizeof(*opened));
		free_open = realloc(free_open, open_room * sizeof(*free_open));
		if (!opened || !free_open)
			err(1, "no memory");
	}
	opened[i] = (struct open_file){0, file_size(file), file};
	return i;
}

static int fd_free(const struct image *im)
{
	for (int i = FD_FIRST; i < FDS; i++)
		if (!im->fd[i].desc)
			return i;
	return -1;
}

static void flush_block(struct thread *t)
{
	size_t bytes;

	if (!t->b.used)
		return;
	bytes = tw_seal(&t->b, ticks(), MONO_FIRST + now_ns);
	tw_write(t->image->path, "ab", t->b.data, bytes);
	tw_begin(&t->b, t->b.seq + 1, t->b.end);
}

/* The values of an expected line that are not in the record. */
struct line {
	const char *path;
	int fd;
	int64_t offset; /* -1: none */
};

static void put_record(struct thread *t, struct reel_record *r, uint64_t dur_ns,
		       const struct line *l)
{
	if (r->path)
		r->path_len = (uint32_t)strlen(r->path);
	if (r->path2)
		r->path2_len = (uint32_t)strlen(r->path2);
	now_ns += 40 + 2 * chance_below(400);
	r->end_ticks = ticks();
	r->dur_ticks = opt.monotonic ? dur_ns : dur_ns / 2 * 5;
	if (!tw_room(&t->b, r->path_len + r->path2_len))
		flush_block(t);
	tw_add(&t->b, r);
	t->left--;
	if (!expect || !l)
		return;
	fprintf(expect, "%u\t%u\t%s\t%s\t", t->image->head.pid, t->b.tid,
		reel_call_info(r->call)->name, l->path ? l->path : "-");
	fprintf(expect, l->fd >= 0 ? "%d\t" : "-\t", l->fd);
	fprintf(expect, l->offset >= 0 ? "%lld\t" : "-\t",
		(long long)l->offset);
	fprintf(expect, r->has_size ? "%lld\t" : "-\t", (long long)r->size);
	fprintf(expect, "%lld\t%d\t%llu\t%llu\n", (long long)r->result, r->err,
		(unsigned long long)(MONO_FIRST + now_ns - dur_ns),
		(unsigned long long)dur_ns);
}

static void put_mark(struct thread *t, uint16_t call, const char *path,
		     int64_t arg, int64_t arg2)
{
	struct reel_record r = {
		.call = call,
		.path = path,
		.count = 1,
		.has_arg = arg >= 0,
		.arg = arg >= 0 ? arg : 0,
		.has_arg2 = arg2 >= 0,
		.arg2 = arg2 >= 0 ? arg2 : 0,
	};

	put_record(t, &r, 0, NULL);
}

/* A descriptor that existed before: a pipe, or a file after exec. */
static void describe_fd(struct thread *t, int fd, int kind, const char *path)
{
	struct image *im = t->image;
	struct reel_record r = {
		.call = REEL_MARK_DESC,
		.newfd = fd,
		.count = 1,
		.path = path,
		.newdesc = im->fd[fd].desc = im->next_desc++,
		.has_arg = true,
		.arg = kind,
		.has_arg2 = true,
		.arg2 = O_RDWR,
		.has_pos = true,
	};

	put_record(t, &r, 0, NULL);
}

static int do_open(struct thread *t, uint16_t call, uint32_t file)
{
	struct image *im = t->image;
	int fd = fd_free(im);
	struct line l = {file_path(file), fd, -1};
	struct reel_record r = {
		.call = call,
		.path = l.path,
		.count = 1,
		.result = fd,
		.newdesc = im->next_desc,
		.newfd = fd,
		.has_arg = true,
		.arg = O_RDONLY | O_CLOEXEC,
	};

	if (fd < 0)
		return -1;
	im->fd[fd].desc = im->next_desc++;
	im->fd[fd].open = open_new(file);
	put_record(t, &r, 900 + 2 * chance_below(4000), &l);
	return fd;
}

static struct open_file *file_of(const struct thread *t, int fd)
{
	return &opened[t->image->fd[fd].open];
}

/* A call on @fd; @offset is its position in the expected line. */
static void on_fd(struct thread *t, int fd, struct reel_record *r,
		  int64_t offset)
{
	struct line l = {file_path(file_of(t, fd)->file), fd, offset};

	r->desc = t->image->fd[fd].desc;
	r->count = r->count ? r->count : 1;
	put_record(t, r,
		   200 + 2 * (chance_below(2000) +
			      (uint64_t)(r->result > 0 ? r->result / 20 : 0)),
		   &l);
}

static int64_t do_read(struct thread *t, int fd, uint16_t call, int64_t size)
{
	struct open_file *f = file_of(t, fd);
	int64_t pos = f->pos, n = f->size - pos;
	struct reel_record r = {.call = call, .has_size = true, .size = size};

	n = n < 0 ? 0 : n > size ? size : n;
	r.result = n;
	f->pos += n;
	on_fd(t, fd, &r, pos);
	return n;
}

static void do_close(struct thread *t, int fd, uint16_t call)
{
	struct fd *f = &t->image->fd[fd];
	struct reel_record r = {.call = call};
	uint32_t users = 0;

	on_fd(t, fd, &r, -1);
	for (int i = 0; i < FDS; i++)
		users +=
			t->image->fd[i].desc && t->image->fd[i].open == f->open;
	/* Inherited or duplicated descriptors are never reused. */
	if (users == 1 && f->desc >= t->image->head.first_desc)
		free_open[n_free++] = f->open;
	f->desc = 0;
}

/* Read a sample of a data set: open, fstat, read to the end, close. */
static void step_loader(struct thread *t)
{
	struct reel_record st = {.call = REEL_CALL_FSTAT, .has_pos = true};

	switch (t->step) {
	case 0:
		t->fd = do_open(t, REEL_CALL_OPEN,
				(uint32_t)chance_below((uint64_t)opt.files));
		t->step = t->fd < 0 ? 0 : 1;
		if (t->fd < 0)
			t->left--;
		break;
	case 1:
		st.pos = file_of(t, t->fd)->size;
		on_fd(t, t->fd, &st, -1);
		t->step = 2;
		break;
	case 2:
		if (do_read(t, t->fd, REEL_CALL_READ, 65536) == 0)
			t->step = 3;
		break;
	default:
		do_close(t, t->fd, REEL_CALL_CLOSE);
		t->step = 0;
	}
}

/* Random reads and writes at explicit offsets in one large file. */
static void step_pread(struct thread *t)
{
	struct reel_record r = {
		.call = REEL_CALL_PREAD, .has_size = true, .has_offset = true};

	if (t->step == 0) {
		t->fd = do_open(t, REEL_CALL_OPEN, 0);
		t->step = 1;
		return;
	}
	r.call = chance_below(4) ? REEL_CALL_PREAD : REEL_CALL_PWRITE;
	r.size = r.result = 4096 << chance_below(5);
	r.offset = (int64_t)chance_below(1 << 20) * 4096;
	on_fd(t, t->fd, &r, r.offset);
}

static void do_seek(struct thread *t)
{
	struct open_file *f = file_of(t, t->fd);
	struct reel_record r = {
		.call = REEL_CALL_LSEEK, .has_offset = true, .has_arg = true};

	r.arg = (int64_t)chance_below(3);
	r.offset = (int64_t)chance_below(1000) * (r.arg == SEEK_END ? -1 : 1);
	r.result = r.offset + (r.arg == SEEK_SET   ? 0
			       : r.arg == SEEK_CUR ? f->pos
						   : f->size);
	if (r.result < 0) {
		r.result = -1;
		r.err = EINVAL;
	} else {
		f->pos = r.result;
	}
	on_fd(t, t->fd, &r, r.err ? -1 : r.result);
}

static void do_path(struct thread *t)
{
	static const uint16_t call[] = {REEL_CALL_STAT, REEL_CALL_OPEN,
					REEL_CALL_RENAME, REEL_CALL_UNLINK,
					REEL_CALL_MKDIR};
	struct line l = {"/data/out/gen-\xff\xc3\xa9 a\"b", -1, -1};
	struct reel_record r = {
		.call = call[chance_below(5)], .path = l.path, .count = 1};

	if (r.call == REEL_CALL_RENAME)
		r.path2 = "/data/out/new";
	if (r.call == REEL_CALL_STAT || r.call == REEL_CALL_OPEN) {
		r.err = chance_below(2) ? ENOENT : EACCES;
		r.result = -1;
	}
	put_record(t, &r, 1000 + 2 * chance_below(1000), &l);
}

static void do_dup(struct thread *t)
{
	struct image *im = t->image;
	int to = fd_free(im);
	struct reel_record r = {.call = REEL_CALL_DUP,
				.result = to,
				.newdesc = im->next_desc,
				.newfd = to};

	if (to < 0)
		return;
	im->fd[to] = im->fd[t->fd];
	im->fd[to].desc = im->next_desc++;
	on_fd(t, t->fd, &r, -1);
	do_read(t, to, REEL_CALL_READ, 512);
	do_read(t, t->fd, REEL_CALL_READ, 512);
	do_close(t, to, REEL_CALL_CLOSE);
}

/* A stream: many small reads, some of them in one record. */
static void do_stream(struct thread *t)
{
	int fd = do_open(t, REEL_CALL_FOPEN,
			 (uint32_t)chance_below((uint64_t)opt.files));

	if (fd < 0)
		return;
	do_read(t, fd, REEL_CALL_FREAD, 100);
	do_read(t, fd, REEL_CALL_FREAD, 3000);
	do_close(t, fd, REEL_CALL_FCLOSE);
}

static void do_span(struct thread *t)
{
	put_mark(t, REEL_MARK_SPAN_BEGIN, NULL, REEL_SPAN_STEP, t->step_no++);
	put_mark(t, REEL_MARK_SPAN_BEGIN, "augment", REEL_SPAN_USER, -1);
	do_path(t);
	put_mark(t, REEL_MARK_SPAN_END, "augment", REEL_SPAN_USER, -1);
	put_mark(t, REEL_MARK_SPAN_END, NULL, REEL_SPAN_STEP, -1);
	put_mark(t, REEL_MARK_SPAN_BEGIN, NULL, REEL_SPAN_FETCH, -1);
	put_mark(t, REEL_MARK_SPAN_CANCEL, NULL, REEL_SPAN_FETCH, -1);
}

/* The file that process 0 opened before it forked: one shared position. */
static void do_shared(struct thread *t)
{
	if (t->image->fd[FD_FIRST].desc)
		do_read(t, FD_FIRST, REEL_CALL_READ, 10);
}

static void step_mixed(struct thread *t)
{
	if (t->step == 0) {
		step_loader(t);
		return;
	}
	switch (chance_below(12)) {
	case 0:
		do_seek(t);
		break;
	case 1:
		do_path(t);
		break;
	case 2:
		do_dup(t);
		break;
	case 3:
		do_stream(t);
		break;
	case 4:
		do_span(t);
		break;
	case 5:
		do_shared(t);
		break;
	default:
		step_loader(t);
	}
}

static void head_init(struct image *im, int i)
{
	static const char *const words[] = {
		"exe=/usr/bin/python3", "cwd=/work",   "host=gen",
		"kernel=6.1",		"arg=python3", "arg=train.py",
		"arg=--epochs=2",
	};
	struct reel_head *h = &im->head;

	h->magic = REEL_HEAD_MAGIC;
	h->major = REEL_TRACE_MAJOR;
	h->minor = REEL_TRACE_MINOR;
	h->uid = UID_FIRST + (uint64_t)i;
	h->parent_uid = i ? UID_FIRST : 0;
	h->pid = (uint32_t)(1000 + i * opt.threads);
	h->ppid = i ? 1000 : 1;
	h->clock = opt.monotonic ? REEL_CLOCK_MONOTONIC : REEL_CLOCK_TSC;
	h->first_desc = i ? images[0].next_desc : 1;
	h->start_ticks = ticks();
	h->start_mono_ns = MONO_FIRST + now_ns;
	h->start_real_ns = REAL_FIRST + now_ns;
	h->start_boot_ns = MONO_FIRST + now_ns;
	h->fork_ticks = i ? ticks() - 5000 : 0;
	h->fork_tid = i ? 1000 : 0;
	h->pair_error_ticks = 60;
	strcpy(h->boot_id, "3e0a1c52-0000-4000-8000-67656e657261");
	tw_head_text(h, im->text, sizeof(im->text), words, 7);
	im->next_desc = h->first_desc;
	im->killed = opt.kill_every && (i + 1) % opt.kill_every == 0;
	snprintf(im->path, sizeof(im->path), "%u.log", h->pid);
	if (i)
		memcpy(im->fd, images[0].fd, sizeof(im->fd));
	tw_write(im->path, "wb", h, sizeof(*h));
	tw_write(im->path, "ab", im->text, h->text_bytes);
}

/* Process 0 starts, opens the shared file and forks the others. */
static void begin_all(void)
{
	for (int i = 0; i < opt.processes; i++) {
		struct thread *t = &threads[i * opt.threads];

		now_ns += 20000;
		head_init(&images[i], i);
		for (int k = 0; k < opt.threads; k++) {
			t[k].image = &images[i];
			t[k].b.tid = images[i].head.pid + (uint32_t)k;
			t[k].b.slot = (uint32_t)k;
			t[k].b.room = opt.block;
			t[k].b.data = calloc(1, opt.block + 64);
			t[k].left = opt.events;
			t[k].fd = -1;
			if (!t[k].b.data)
				err(1, "no memory");
			tw_begin(&t[k].b, 0, ticks());
		}
		put_mark(t, REEL_MARK_CWD, "/work", -1, -1);
		if (i == 0 && strcmp(opt.kind, "mixed") == 0) {
			put_mark(t, REEL_MARK_NOTE, "framework=PyTorch 2.6.0",
				 -1, -1);
			do_open(t, REEL_CALL_OPEN, 1);
			describe_fd(t, FDS - 1, REEL_KIND_PIPE, "pipe:[77]");
		}
	}
}

static void rewrite_head(struct image *im)
{
	int fd = open(im->path, O_WRONLY);

	if (fd < 0 ||
	    pwrite(fd, &im->head, sizeof(im->head), 0) !=
		    (ssize_t)sizeof(im->head) ||
	    close(fd) != 0)
		err(1, "cannot write '%s'", im->path);
}

static void leave_window(struct image *im, struct thread *t)
{
	char page[REEL_WINDOW_HEAD_BYTES] = {0}, path[96];
	FILE *f;

	snprintf(path, sizeof(path), "windows/%u.win", im->head.pid);
	im->head.slots = (uint32_t)opt.threads;
	memcpy(page, &im->head, sizeof(im->head));
	memcpy(page + sizeof(im->head), im->text, im->head.text_bytes);
	f = fopen(path, "wb");
	if (!f || fwrite(page, sizeof(page), 1, f) != 1)
		err(1, "cannot write '%s'", path);
	for (int k = 0; k < opt.threads; k++) {
		size_t bytes = tw_seal(&t[k].b, 0, 0);

		if (fseek(f, REEL_WINDOW_HEAD_BYTES + (long)k * REEL_SLOT_BYTES,
			  SEEK_SET) != 0 ||
		    fwrite(t[k].b.data, bytes, 1, f) != 1)
			err(1, "cannot write '%s'", path);
	}
	if (fclose(f) != 0)
		err(1, "cannot write '%s'", path);
}

static void end_all(void)
{
	for (int i = 0; i < opt.processes; i++) {
		struct image *im = &images[i];
		struct thread *t = &threads[i * opt.threads];

		if (im->killed) {
			leave_window(im, t);
			continue;
		}
		for (int k = 0; k < opt.threads; k++)
			flush_block(&t[k]);
		now_ns += 1000;
		im->head.end_ticks = ticks();
		im->head.end_mono_ns = MONO_FIRST + now_ns;
		im->head.end = REEL_END_EXIT;
		rewrite_head(im);
	}
}

/* Concatenate all logs in the file of the first one. */
static void merge_logs(void)
{
	for (int i = 0; i < opt.processes; i++) {
		struct stat st;
		char *data;
		FILE *f;

		if (stat(images[i].path, &st) != 0)
			err(1, "cannot open '%s'", images[i].path);
		images[i].head.log_bytes = (uint64_t)st.st_size;
		rewrite_head(&images[i]);
		if (i == 0)
			continue;
		data = malloc((size_t)st.st_size);
		f = fopen(images[i].path, "rb");
		if (!data || !f || fread(data, (size_t)st.st_size, 1, f) != 1)
			err(1, "cannot read '%s'", images[i].path);
		fclose(f);
		tw_write(images[0].path, "ab", data, (size_t)st.st_size);
		unlink(images[i].path);
		free(data);
	}
}

static void write_job(void)
{
	static const char job[] =
		"{\"command\": [\"python3\", \"train.py\", \"--epochs=2\"],"
		" \"exit_status\": 0}\n";
	struct reel_counts c = {.magic = REEL_COUNTS_MAGIC,
				.processes = (uint64_t)opt.processes};
	char page[4096] = {0};

	memcpy(page, &c, sizeof(c));
	tw_write("job.json", "wb", job, sizeof(job) - 1);
	tw_write("job.counts", "wb", page, sizeof(page));
}

static void run_threads(void)
{
	void (*step)(struct thread *) = step_mixed;
	int n = opt.processes * opt.threads, alive = n;

	if (strcmp(opt.kind, "loader") == 0)
		step = step_loader;
	if (strcmp(opt.kind, "pread") == 0)
		step = step_pread;
	while (alive > 0) {
		struct thread *t = &threads[chance_below((uint64_t)n)];
		uint64_t burst = 1 + chance_below(20);

		/* Skip finished threads, forward, then backward. */
		for (; t->left <= 0 && t < &threads[n - 1]; t++)
			;
		for (; t->left <= 0 && t > threads; t--)
			;
		while (burst-- && t->left > 0)
			step(t);
		if (t->left > 0)
			continue;
		alive = 0;
		for (int i = 0; i < n && !alive; i++)
			alive = threads[i].left > 0;
	}
}

static int usage(void)
{
	fputs("usage: gen_trace [-p processes] [-t threads] [-n events]\n"
	      "  [-f files] [-s seed] [-b block bytes] [-k "
	      "mixed|loader|pread]\n"
	      "  [-w N: every N-th process was killed] [-e expected.tsv]\n"
	      "  [-c: clock MONOTONIC] [-m: one log file] DIR\n",
	      stderr);
	return 2;
}

static int options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "p:t:n:f:s:b:k:w:e:cm")) != -1)
		switch (c) {
		case 'p':
			opt.processes = atoi(optarg);
			break;
		case 't':
			opt.threads = atoi(optarg);
			break;
		case 'n':
			opt.events = atoll(optarg);
			break;
		case 'f':
			opt.files = atoi(optarg);
			break;
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'b':
			opt.block = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			opt.kind = optarg;
			break;
		case 'w':
			opt.kill_every = atoi(optarg);
			break;
		case 'e':
			opt.expect = optarg;
			break;
		case 'c':
			opt.monotonic = true;
			break;
		case 'm':
			opt.merged = true;
			break;
		default:
			return -1;
		}
	if (optind != argc - 1 || opt.processes < 1 || opt.threads < 1 ||
	    opt.files < 2 || opt.block < 512 || opt.block > REEL_SLOT_BYTES)
		return -1;
	opt.dir = argv[optind];
	return 0;
}

int main(int argc, char **argv)
{
	size_t n;

	if (options(argc, argv) < 0)
		return usage();
	n = (size_t)opt.processes * (size_t)opt.threads;
	chance_state = opt.seed * 0x9e3779b97f4a7c15ull | 1;
	images = calloc((size_t)opt.processes, sizeof(*images));
	threads = calloc(n, sizeof(*threads));
	if (!images || !threads)
		err(1, "no memory");
	if (opt.expect && !(expect = fopen(opt.expect, "w")))
		err(1, "cannot write '%s'", opt.expect);
	if ((mkdir(opt.dir, 0700) < 0 && errno != EEXIST) ||
	    chdir(opt.dir) < 0 ||
	    (mkdir("windows", 0700) < 0 && errno != EEXIST))
		err(1, "cannot make '%s'", opt.dir);
	write_job();
	begin_all();
	run_threads();
	end_all();
	if (opt.merged)
		merge_logs();
	if (expect && fclose(expect) != 0)
		err(1, "cannot write '%s'", opt.expect);
	return 0;
}
