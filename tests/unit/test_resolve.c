/* SPDX-License-Identifier: MIT */
/*
 * The resolver against a kernel's rules: offsets through dup, fork, append,
 * seeks and streams; paths; spans; descriptors that are recorded late or twice.
 */
#include <sys/uio.h>

#include "tests/unit/test_resolve.h"

static struct reel_span_event spans[64];
static char span_names[64][32];
static int n_spans, n_opens;
static struct reel_open_row opens[4096];
static char noted[128];

static int on_span(void *arg, const struct reel_span_event *sp,
		   struct reel_error *e)
{
	spans[n_spans] = *sp;
	strncpy(span_names[n_spans], sp->name, 31);
	n_spans++;
	return 0;
}

static int on_open(void *arg, const struct reel_open_row *row,
		   struct reel_error *e)
{
	opens[n_opens++ % 4096] = *row;
	return 0;
}

static int on_note(void *arg, uint32_t process, uint32_t thread,
		   const char *key, const char *value, struct reel_error *e)
{
	snprintf(noted, sizeof(noted), "%u/%u %s is %s", process, thread, key,
		 value);
	return 0;
}

/* Process 0 with two threads, process 1, its child, with one. */
static void begin(const char *root)
{
	struct reel_resolve_process p[2] = {
		{.process_id = 1,
		 .first_desc = 1,
		 .parent = -1,
		 .cwd = "/home/u"},
		{.process_id = 2, .first_desc = 100, .parent = 0},
	};
	struct reel_resolve_thread t[3] = {{1, 0}, {2, 0}, {3, 1}};
	struct reel_resolve_sink sink = {
		.span = on_span, .open = on_open, .note = on_note};

	n_spans = n_opens = 0;
	if (reel_resolver_new(&r, p, 2, t, 3, root, &sink, &err) ||
	    reel_resolve_start(r, 0, &err))
		exit(1);
}

#define MARK_(thread, mark, ...)                                               \
	give(thread,                                                           \
	     &(struct reel_record){.call = REEL_MARK_##mark, __VA_ARGS__})
#define READ_(thread, id, n, got)                                              \
	RECORD(thread, READ, .desc = id, .has_size = true, .size = n,          \
	       .result = got)
static const char *path_of(uint32_t file)
{
	struct reel_file_row row;

	if (!file)
		return "";
	reel_resolve_file(r, file, &row);
	return row.path;
}

static void test_positions(void)
{
	begin(NULL);
	OPEN_(0, "/data/a", 1, 3, O_RDONLY);
	is(ev.fd, 3, "open: the new descriptor");
	is(ev.offset, REEL_NO_OFFSET, "open has no offset");
	READ_(0, 1, 100, 100);
	is(ev.offset, 0, "the first read is at 0");
	READ_(1, 1, 100, 60);
	is(ev.offset, 100, "threads share the position");
	RECORD(0, PREAD, .desc = 1, .has_offset = true, .offset = 7,
	       .has_size = true, .size = 10, .result = 10);
	is(ev.offset, 7, "pread has its own offset");
	RECORD(0, DUP, .desc = 1, .newdesc = 2, .newfd = 4, .result = 4);
	is(ev.fd2, 4, "dup: the new descriptor");
	READ_(0, 2, 10, 10);
	is(ev.offset, 160, "a dup shares the position, pread did not move it");
	is(ev.fd, 4, "and has its own number");
	reel_resolve_start(r, 1, &err);
	READ_(2, 1, 10, 10);
	is(ev.offset, 170, "a fork shares the position");
	READ_(0, 1, 10, -1);
	RECORD(0, LSEEK, .desc = 2, .has_offset = true, .offset = -30,
	       .has_arg = true, .arg = SEEK_END, .result = 970);
	is(ev.offset, 970, "lseek: the position after");
	is(ev.arg2, -30, "lseek: arg2 has the offset that was asked");
	READ_(2, 1, 50, 30);
	is(ev.offset, 970, "a parent's seek moves the child's position");
	READ_(2, 1, 50, 0);
	is(ev.offset, 1000, "a read at the end of the file has that offset");
	RECORD(0, READ, .desc = 1, .has_size = true, .size = 5, .result = -1,
	       .err = EIO);
	READ_(0, 1, 5, 5);
	is(ev.offset, 1000, "a failed read does not move the position");
	RECORD(0, PREADV2, .desc = 1, .has_offset = true, .offset = -1,
	       .has_size = true, .size = 5, .result = 5);
	is(ev.offset, 1005, "preadv2 at -1 reads at the position");
	reel_resolver_free(r);
}

static void test_append_and_sizes(void)
{
	struct reel_file_row row;

	begin(NULL);
	RECORD(0, OPEN, .path = "/out/log", .newdesc = 1, .newfd = 3,
	       .result = 3, .has_arg = true, .arg = O_WRONLY | O_APPEND,
	       .has_pos = true, .pos = 500);
	WRITE_(0, 1, 10);
	is(ev.offset, 500, "an append goes to the size that the open reported");
	OPEN_(1, "/out/log", 2, 4, O_RDWR);
	RECORD(1, PWRITE, .desc = 2, .has_offset = true, .offset = 600,
	       .has_size = true, .size = 50, .result = 50);
	WRITE_(0, 1, 10);
	is(ev.offset, 650, "and behind a write of another descriptor");
	RECORD(1, FTRUNCATE, .desc = 2, .has_offset = true, .offset = 20);
	WRITE_(0, 1, 10);
	is(ev.offset, 20, "and to the new end after a truncation");
	OPEN_(0, "/out/new", 3, 5, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC);
	WRITE_(0, 3, 10);
	is(ev.offset, 0, "O_TRUNC makes the size 0");
	is(ev.class_, REEL_CLASS_DATA,
	   "the class of a written file without a known suffix");
	OPEN_(0, "/out/old", 4, 6, O_WRONLY | O_APPEND);
	WRITE_(0, 4, 10);
	is(ev.offset, REEL_NO_OFFSET, "an append to a file of unknown size");
	reel_resolve_file(r, 1, &row);
	is(row.size_bytes, 660, "size_bytes is the largest size");
	reel_resolver_free(r);
}

static void test_streams(void)
{
	begin(NULL);
	RECORD(0, FOPEN, .path = "/data/s", .newdesc = 1, .newfd = 3,
	       .result = 3, .has_arg = true, .arg = O_RDONLY);
	RECORD(0, FREAD, .desc = 1, .has_size = true, .size = 10, .result = 10);
	RECORD(0, FGETS, .desc = 1, .has_size = true, .size = 80, .result = 7);
	is(ev.offset, 10, "a stream has its own position");
	READ_(0, 1, 10, 10);
	is(ev.offset, REEL_NO_OFFSET,
	   "the descriptor's position is unknown: the stream read ahead");
	RECORD(0, FSEEK, .desc = 1, .has_offset = true, .offset = 5,
	       .has_arg = true, .arg = SEEK_CUR);
	is(ev.offset, 22, "fseek from the current position");
	RECORD(0, FSEEK, .desc = 1, .has_offset = true, .offset = 100,
	       .has_arg = true, .arg = SEEK_SET, .has_pos = true, .pos = 100);
	RECORD(0, FREAD, .desc = 1, .has_size = true, .size = 10, .result = 10);
	is(ev.offset, 100, "fseek to an offset");
	RECORD(0, LSEEK, .desc = 1, .has_arg = true, .has_offset = true,
	       .result = 64);
	READ_(0, 1, 10, 10);
	is(ev.offset, 64, "a seek makes the descriptor's position known again");
	OPEN_(0, "/data/t", 2, 4, O_RDONLY);
	READ_(0, 2, 30, 30);
	RECORD(0, FDOPEN, .desc = 2, .result = 4);
	RECORD(0, FREAD, .desc = 2, .has_size = true, .size = 1, .result = 1);
	is(ev.offset, 30, "fdopen begins at the descriptor's position");
	reel_resolver_free(r);
}

static void test_descriptors(void)
{
	begin(NULL);
	MARK_(0, DESC, .newdesc = 1, .newfd = 0, .path = "pipe:[77]",
	      .has_arg = true, .arg = REEL_KIND_PIPE);
	READ_(0, 1, 10, 10);
	is(ev.offset, REEL_NO_OFFSET, "a pipe has no offsets");
	is(ev.class_, REEL_CLASS_PIPE, "its class is pipe");
	ok(!strcmp(path_of(ev.file), "pipe:[77]"),
	   "its path is the kernel's name");
	MARK_(0, DESC, .newdesc = 2, .newfd = 5, .path = "/data/in",
	      .has_arg = true, .arg = REEL_KIND_FILE, .has_pos = true,
	      .pos = 42);
	READ_(0, 2, 10, 10);
	is(ev.offset, 42, "an inherited file has the position of its mark");
	OPEN_(0, "/data/b", 3, 6, O_RDONLY);
	RECORD(0, CLOSE, .desc = 3);
	READ_(1, 3, 10, 10);
	ok(ev.file && ev.fd == 6,
	   "a read that ends after the close finds the file");
	OPEN_(0, "/data/c", 4, 6, O_RDONLY);
	OPEN_(0, "/data/d", 5, 6, O_RDONLY);
	READ_(0, 99, 10, 10);
	ok(!ev.file && !ev.open && ev.fd == -1,
	   "an unknown descriptor has no file");
	for (uint32_t id = 10; id < 3000; id++) {
		OPEN_(0, "/data/many", id + 1000, 7, O_RDONLY);
		RECORD(0, CLOSE, .desc = id + 1000);
	}
	ok(n_opens > 2000, "closed files become rows: %d", n_opens);
	READ_(0, 2, 10, 10);
	is(ev.offset, 52, "open files stay");
	OPEN_(0, "/data/m", 4000, 8, O_RDONLY);
	RECORD(0, MMAP, .desc = 4000, .has_size = true, .size = 4096,
	       .has_offset = true, .result = 0x7f0000000000);
	RECORD(0, CLOSE, .desc = 4000);
	for (uint32_t id = 5000; id < 6000; id++) {
		OPEN_(0, "/data/many", id, 9, O_RDONLY);
		RECORD(0, CLOSE, .desc = id);
	}
	RECORD(0, MUNMAP, .desc = 4000, .has_size = true, .size = 4096);
	ok(!strcmp(path_of(ev.file), "/data/m"),
	   "a mapping keeps its file through many closes");
	reel_resolver_free(r);
}

static void test_inheritance(void)
{
	int implied = 0;

	begin(NULL);
	OPEN_(0, "/data/a", 1, 3, O_RDONLY);
	OPEN_(0, "/data/b", 2, 4, O_RDONLY);
	reel_resolve_start(r, 1, &err);
	RECORD(0, CLOSE, .desc = 1);
	OPEN_(0, "/data/x", 101, 3, O_RDONLY);
	READ_(2, 1, 10, 10);
	ok(!strcmp(path_of(ev.file), "/data/a"),
	   "a close in the parent after the fork leaves the child's open");
	READ_(2, 101, 10, 10);
	ok(!ev.file, "the child has no id that the parent made after the fork");
	OPEN_(2, "/data/y", 101, 5, O_RDONLY);
	READ_(2, 101, 10, 10);
	ok(!strcmp(path_of(ev.file), "/data/y"),
	   "each process has its own ids");
	RECORD(2, DUP2, .desc = 101, .newdesc = 102, .newfd = 4, .result = 4);
	READ_(2, 102, 10, 10);
	is(ev.offset, 10, "dup2 closes the old descriptor of the number");
	reel_resolve_end(r, 1, &err);
	reel_resolve_end(r, 0, &err);
	for (int i = 0; i < n_opens; i++)
		implied += opens[i].open_id == 2;
	is(implied, 1, "the implied close makes one row");
	is(n_opens, 4, "each OFD is one row");
	reel_resolver_free(r);
}

static void test_paths(void)
{
	static const struct {
		const char *in, *want;
	} t[] = {
		{"/a/b", "/a/b"},
		{"a", "/home/u/a"},
		{"./a/../b", "/home/u/b"},
		{"/a//b/./c/", "/a/b/c"},
		{"/../..", "/"},
		{"../../../x", "/x"},
		{"/a/..b/.c", "/a/..b/.c"},
		{"/", "/"},
		{"//", "/"},
		{"/scratch/x", "/x"},
		{"/scratch", "/"},
		{"/scratch2/x", "/scratch2/x"},
		{"/b/../scratch/\xff", "/\xff"},
	};

	begin("/scratch/");
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		RECORD(0, STAT, .path = t[i].in, .err = ENOENT, .result = -1);
		ok(!strcmp(path_of(ev.file), t[i].want), "%zu: %s", i,
		   path_of(ev.file));
	}
	RECORD(0, STAT, .path = "", .err = ENOENT, .result = -1);
	ok(!ev.file, "an empty path has no file");
	RECORD(0, OPEN, .path = "/data/dir", .newdesc = 1, .newfd = 3,
	       .result = 3, .has_arg = true, .arg = O_DIRECTORY);
	is(ev.kind, REEL_KIND_DIR, "a directory");
	RECORD(0, OPENAT, .path = "f", .at = 1, .newdesc = 2, .newfd = 4,
	       .result = 4);
	ok(!strcmp(path_of(ev.file), "/data/dir/f"), "openat");
	RECORD(0, FSTATAT, .path = "", .at = 2);
	ok(!strcmp(path_of(ev.file), "/data/dir/f"), "AT_EMPTY_PATH");
	RECORD(0, OPENAT, .path = "f", .at = 77, .err = ENOENT, .result = -1);
	ok(!strcmp(path_of(ev.file), "f"),
	   "an unknown directory: the path stays relative");
	MARK_(0, CWD, .path = "/elsewhere");
	RECORD(0, RENAME, .path = "a", .path2 = "/b");
	ok(!strcmp(path_of(ev.file), "/elsewhere/a") &&
		   !strcmp(path_of(ev.file2), "/b"),
	   "a CWD mark changes the directory");
	RECORD(0, SYMLINK, .path = "/l/link", .path2 = "../t/target");
	ok(!strcmp(path_of(ev.file2), "/t/target"),
	   "a symlink's target is relative to the link");
	reel_resolve_start(r, 1, &err);
	RECORD(2, STAT, .path = "c");
	ok(!strcmp(path_of(ev.file), "/elsewhere/c"),
	   "a child inherits the working directory");
	RECORD(0, OPEN, .path = "/tmp", .newdesc = 5, .newfd = 7, .result = 7,
	       .has_arg = true, .arg = O_TMPFILE | O_RDWR);
	ok(strcmp(path_of(ev.file), "/tmp") && ev.kind == REEL_KIND_FILE,
	   "an O_TMPFILE file is not its directory: %s", path_of(ev.file));
	RECORD(0, PWRITEV2, .desc = 5, .has_offset = true, .offset = -1,
	       .has_arg = true, .arg = RWF_APPEND, .has_size = true, .size = 4,
	       .result = 4);
	is(ev.offset, 0, "and its size is 0");
	reel_resolver_free(r);
}

static void test_classes(void)
{
	static const struct {
		const char *path;
		bool write;
		enum reel_class want;
	} t[] = {
		{"/d/model.pt", false, REEL_CLASS_DATA},
		{"/d/model2.pt", true, REEL_CLASS_CHECKPOINT},
		{"/d/checkpoints/3.bin", false, REEL_CLASS_CHECKPOINT},
		{"/d/checkpointing-paper/set/1.png", false, REEL_CLASS_DATA},
		{"/d/a.txt", false, REEL_CLASS_DATA},
		{"/d/b.txt", true, REEL_CLASS_LOG},
		{"/x/libfoo.so.1", false, REEL_CLASS_CODE},
		{"/x/site-packages/y/data.json", false, REEL_CLASS_CODE},
		{"/x/venv/bin/torchrun", false, REEL_CLASS_CODE},
		{"/x/venv/pyvenv.cfg", false, REEL_CLASS_CODE},
		{"/var/cache/fonts.cache-8", false, REEL_CLASS_SYSTEM},
		{"/home/u/.cache/fontconfig/a.cache-9", false,
		 REEL_CLASS_SYSTEM},
		{"/home/u/.cache/matplotlib/fontlist-v3.json", false,
		 REEL_CLASS_SYSTEM},
		{"/home/u/.cache/huggingface/a.arrow", false, REEL_CLASS_DATA},
		{"/tmp/torchinductor_u/ab/cab.cpp", true, REEL_CLASS_CODE},
		{"/home/u/.triton/cache/K/k.cubin", true, REEL_CLASS_CODE},
		{"/home/u/.nv/ComputeCache/index", true, REEL_CLASS_CODE},
		{"/var/data/cache", false, REEL_CLASS_DATA},
		{"bin/torchrun", false, REEL_CLASS_CODE},
		{"/x/bin/torchrun", true, REEL_CLASS_DATA},
		{"/x/bin/0.raw", false, REEL_CLASS_DATA},
		{"/x/cabin/torchrun", false, REEL_CLASS_DATA},
		{"/dev/shm/set/1.rec", false, REEL_CLASS_DATA},
		{"/dev/shm/ucx_shm_posix_4f", true, REEL_CLASS_SYSTEM},
		{"/tmp/ompi.node.0/pid.7/1/sm", true, REEL_CLASS_SYSTEM},
		{"/tmp/prterun.node.7.0/hwloc.sm", true, REEL_CLASS_SYSTEM},
		{"/data/ompi.files/a.bin", true, REEL_CLASS_DATA},
		{"/proc/self/maps", false, REEL_CLASS_SYSTEM},
		{"/sys", false, REEL_CLASS_SYSTEM},
		{"/dev/shm", false, REEL_CLASS_SYSTEM},
		{"/system", false, REEL_CLASS_DATA},
		{"/x/events.out.tfevents.1", true, REEL_CLASS_LOG},
		{"/x/wandb/run-1/run-1.wandb", true, REEL_CLASS_LOG},
		{"/x/mlruns/0/metrics/loss", true, REEL_CLASS_LOG},
		{"/y/mlruns/0/metrics/loss", false, REEL_CLASS_DATA},
		{"/x/plugins/profile/t/h.xplane.pb", true, REEL_CLASS_LOG},
		{"/x/h.pt.trace.json.gz", true, REEL_CLASS_LOG},
		{"/x/m.pdparams", true, REEL_CLASS_CHECKPOINT},
		{"/y/m.pdparams", false, REEL_CLASS_DATA},
		{"/x/stdout", true, REEL_CLASS_LOG},
		{"/x/my_stdout", true, REEL_CLASS_DATA},
	};

	begin(NULL);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		OPEN_(0, t[i].path, 1 + (uint32_t)i, 3,
		      t[i].write ? O_WRONLY | O_CREAT : O_RDONLY);
		is(ev.class_, t[i].want, "%s %s", t[i].path,
		   t[i].write ? "written" : "read");
	}
	reel_resolver_free(r);
}

/* The class of @path after an open for reading. */
static enum reel_class class_of(const char *path)
{
	RECORD(0, OPEN, .path = path, .newdesc = 500, .newfd = 9, .result = 9,
	       .has_arg = true, .arg = O_RDONLY);
	return (enum reel_class)ev.class_;
}

static void write_and_remove(const char *path, uint32_t desc, int64_t bytes)
{
	OPEN_(0, path, desc, 8, O_WRONLY | O_CREAT | O_TRUNC);
	WRITE_(0, desc, bytes);
	RECORD(0, CLOSE, .desc = desc);
	RECORD(0, UNLINK, .path = path);
}

/* Python writes "blat" to find out where temporary files go. */
static void test_probes(void)
{
	struct reel_file_row row;

	begin(NULL);
	write_and_remove("/t/dgyg8_t4", 7, 4);
	reel_resolve_file(r, ev.file, &row);
	is(row.class_, REEL_CLASS_SYSTEM, "a removed file of 4 bytes: a probe");
	write_and_remove("/t/scratch", 8, 5);
	reel_resolve_file(r, ev.file, &row);
	is(row.class_, REEL_CLASS_DATA, "one of 5 bytes is data");
	OPEN_(0, "/t/flag", 9, 8, O_WRONLY | O_CREAT);
	WRITE_(0, 9, 4);
	reel_resolve_file(r, ev.file, &row);
	is(row.class_, REEL_CLASS_DATA, "one of 4 bytes that stays is data");
	reel_resolver_free(r);
}

static void write_file(const char *path)
{
	OPEN_(0, path, 400, 8, O_WRONLY | O_CREAT | O_TRUNC);
	WRITE_(0, 400, 70);
	RECORD(0, CLOSE, .desc = 400);
}

static void test_renamed_directories(void)
{
	struct reel_file_row row;
	uint32_t old;

	begin(NULL);
	RECORD(0, STAT, .path = "/t/a/d/1", .result = -1, .err = ENOENT);
	RECORD(0, MKDIR, .path = "/t/a.orbax-checkpoint-tmp");
	write_file("/t/a.orbax-checkpoint-tmp/d/1");
	write_file("/t/a.orbax-checkpoint-tmp/d/2");
	write_file("/t/a.orbax-checkpoint-tmp/d/gone");
	write_file("/t/b");
	RECORD(0, UNLINK, .path = "/t/a.orbax-checkpoint-tmp/d/gone");
	RECORD(0, RENAME, .path = "/t/a.orbax-checkpoint-tmp", .path2 = "/t/a");
	is(class_of("/t/a/d/1"), REEL_CLASS_CHECKPOINT,
	   "a checkpoint stays one when its directory is renamed");
	reel_resolve_file(r, ev.file, &row);
	is(row.size_bytes, 70, "and its size is known");
	is(class_of("/t/a/d/gone"), REEL_CLASS_DATA,
	   "a removed file is not renamed");
	is(class_of("/t/a/d/other"), REEL_CLASS_DATA,
	   "nor a file that did not exist");
	is(class_of("/t/b"), REEL_CLASS_DATA,
	   "nor a file beside the directory");
	RECORD(0, RENAME, .path = "/t/a", .path2 = "/u");
	is(class_of("/u/d/2"), REEL_CLASS_CHECKPOINT, "renamed once more");
	write_file("/t/a/d/3");
	RECORD(0, RENAME, .path = "/t/a", .path2 = "/v");
	is(class_of("/v/d/3"), REEL_CLASS_DATA, "a new file of an old name");
	is(class_of("/v/d/1"), REEL_CLASS_DATA,
	   "has no class from the old one");

	write_file("/w/x/1");
	old = ev.file;
	RECORD(0, RENAME, .path = "/w/x", .path2 = "/w/ckpt-5");
	reel_resolve_file(r, old, &row);
	is(row.class_, REEL_CLASS_CHECKPOINT,
	   "the final name of a directory gives the class");
	write_file("/s/ckpt/1");
	write_file("/s/y/1");
	RECORD(0, RENAMEAT2, .path = "/s/ckpt", .path2 = "/s/y",
	       .has_arg = true, .arg = RENAME_EXCHANGE);
	is(class_of("/s/y/1"), REEL_CLASS_CHECKPOINT,
	   "two directories are exchanged");
	RECORD(0, RENAME, .path = "/s/y", .path2 = "/s/z");
	is(class_of("/s/z/1"), REEL_CLASS_CHECKPOINT, "and renamed again");
	reel_resolver_free(r);
}

/* The path of a relative name: in the working directory of @thread, and in the
 * directory @desc. */
static const char *works_in(int thread)
{
	RECORD(thread, STAT, .path = "f");
	return path_of(ev.file);
}

static const char *finds_in(int thread, uint32_t desc)
{
	RECORD(thread, FSTATAT, .path = "f", .at = desc);
	return path_of(ev.file);
}

static void test_moved_places(void)
{
	begin(NULL);
	MARK_(0, CWD, .path = "/m/d/e");
	reel_resolve_start(r, 1, &err);
	OPEN_(0, "/m/d", 1, 3, O_RDONLY);
	OPEN_(0, "/m/i", 2, 4, O_RDONLY | O_DIRECTORY);
	ok(!strcmp(finds_in(0, 1), "/m/d/f"), "it is a directory: %s",
	   path_of(ev.file));
	RECORD(0, RENAME, .path = "/m/dd", .path2 = "/m/x");
	ok(!strcmp(works_in(0), "/m/d/e/f"), "a rename by another process: %s",
	   path_of(ev.file));
	MARK_(0, CWD, .path = "/m");
	RECORD(2, RENAME, .path = "/m/d", .path2 = "/n");
	ok(!strcmp(works_in(2), "/n/e/f") && !strcmp(works_in(0), "/m/f"),
	   "a working directory below is renamed, too");
	ok(!strcmp(finds_in(0, 1), "/n/f"), "and an open directory: %s",
	   path_of(ev.file));
	RECORD(0, RENAME, .path = "/m", .path2 = "/o");
	ok(!strcmp(works_in(0), "/o/f") && !strcmp(finds_in(0, 2), "/o/i/f"),
	   "the directory itself and one below: %s", path_of(ev.file));
	RECORD(0, RENAME, .path = "/o/i", .path2 = "/p");
	ok(!strcmp(finds_in(0, 2), "/p/f"), "once more: %s", path_of(ev.file));
	RECORD(0, RENAMEAT2, .path = "/n", .path2 = "/o", .has_arg = true,
	       .arg = RENAME_EXCHANGE);
	ok(!strcmp(works_in(0), "/n/f") && !strcmp(works_in(2), "/o/e/f"),
	   "exchanged directories with their users: %s", path_of(ev.file));
	RECORD(0, RENAMEAT2, .path = "/q", .path2 = "/n", .has_arg = true,
	       .arg = RENAME_EXCHANGE);
	ok(!strcmp(works_in(0), "/q/f"),
	   "exchanged with an unused directory: %s", path_of(ev.file));
	reel_resolver_free(r);
}

static void test_spans(void)
{
	begin(NULL);
	MARK_(0, SPAN_BEGIN, .has_arg = true, .arg = REEL_SPAN_EPOCH,
	      .has_arg2 = true, .arg2 = 0);
	MARK_(0, SPAN_BEGIN, .has_arg = true, .arg = REEL_SPAN_STEP,
	      .has_arg2 = true, .arg2 = 7);
	MARK_(1, SPAN_BEGIN, .has_arg = true, .arg = REEL_SPAN_USER,
	      .path = "mine");
	MARK_(0, SPAN_BEGIN, .has_arg = true, .arg = REEL_SPAN_FETCH);
	MARK_(0, SPAN_CANCEL, .has_arg = true, .arg = REEL_SPAN_FETCH);
	MARK_(0, SPAN_END, .has_arg = true, .arg = REEL_SPAN_STEP);
	is(n_spans, 1, "a cancelled span is no row");
	is(spans[0].detail, 7, "detail is the step's number");
	is(spans[0].parent, 1, "its parent is the epoch");
	MARK_(1, SPAN_END, .has_arg = true, .arg = REEL_SPAN_USER,
	      .path = "other");
	is(n_spans, 1, "an end without a begin is ignored");
	MARK_(1, SPAN_END, .has_arg = true, .arg = REEL_SPAN_USER,
	      .path = "mine");
	ok(!strcmp(span_names[1], "mine") && spans[1].thread == 2,
	   "a span of the user's, in its thread");
	is(spans[1].parent, 0, "a span has no parent in another thread");
	reel_resolve_end_thread(r, 0, now + 5, &err);
	ok(n_spans == 3 && spans[2].open, "an open span ends, not closed");
	ok(spans[2].start_ns + spans[2].dur_ns == now + 5,
	   "its end is that of its process");
	ok(spans[2].span_id == 1 && spans[0].span_id == 2, "ids by start");
	MARK_(0, NOTE, .path = "framework=PyTorch 2.6");
	ok(!strcmp(noted, "1/1 framework is PyTorch 2.6"), "%s", noted);
	reel_resolver_free(r);
}

int main(void)
{
	test_positions();
	test_append_and_sizes();
	test_streams();
	test_descriptors();
	test_inheritance();
	test_paths();
	test_classes();
	test_probes();
	test_renamed_directories();
	test_moved_places();
	test_spans();
	ok(!err.code, "nothing failed: %s", err.text);
	return done();
}
