/* SPDX-License-Identifier: MIT */
/*
 * Damage a trace at random; reader and load must end with 0 or 1, and leave no
 * partial store.
 *
 * fuzz_trace cut|flip COUNT SEED DIR
 *
 * DIR is a small trace; its files are changed in place and restored. Trials run
 * in children, some hundred in each: a child that is killed by a signal, or
 * exceeds the time of a trial, is a failure; shared memory holds its current
 * trial.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/load/load.h"
#include "lib/store/store.h"
#include "lib/error.h"
#include "tests/lib/random.h"
#include "tests/data/trace_writer.h"

#define FILES_MAX 64
#define BATCH 250
#define TRIAL_SECONDS 20

struct file {
	char path[512];
	int fd;
	uint8_t *data;
	size_t bytes;
};

/* The current trial of the child, and the results of its trials. */
struct report {
	char doing[700];
	uint64_t loaded, refused, left, wrong;
	char message[2048];
};

static struct file files[FILES_MAX];
static int n_files;
static struct report *report;
static const char *dir;

static void add_file(const char *path)
{
	struct file *f = &files[n_files];
	struct stat st;

	snprintf(f->path, sizeof(f->path), "%s", path);
	f->fd = open(path, O_RDWR);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		err(1, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0) {
		close(f->fd);
		return;
	}
	f->bytes = (size_t)st.st_size;
	f->data = malloc(f->bytes);
	if (!f->data || pread(f->fd, f->data, f->bytes, 0) != (ssize_t)f->bytes)
		err(1, "cannot read '%s'", path);
	n_files++;
}

static void add_files(const char *path)
{
	char name[512];
	struct dirent *e;
	DIR *d = opendir(path);

	if (!d)
		err(1, "cannot open '%s'", path);
	while (n_files < FILES_MAX && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (strcmp(e->d_name, "windows") == 0)
			add_files(name);
		else
			add_file(name);
	}
	closedir(d);
}

static void record_is_wrong(const char *what)
{
	report->wrong++;
	if (!*report->message)
		snprintf(report->message, sizeof(report->message), "%s: %s",
			 report->doing, what);
}

/* Read all records; check the guarantees of the decoder for each. */
static void read_all(void)
{
	struct reel_error failure = {0};
	struct reel_trace *tr;
	struct reel_stream *s;
	struct reel_record r;
	int64_t ns = 0;

	if (reel_trace_open(&tr, dir, &failure) < 0) {
		if (!failure.code || !*failure.text)
			record_is_wrong("refused without a reason");
		return;
	}
	for (int i = 0; i < reel_trace_threads(tr); i++) {
		int p = reel_trace_thread(tr, i)->process;

		if (reel_stream_open(&s, tr, i, &failure) < 0)
			break;
		while (reel_stream_next(s, &r, &failure) > 0) {
			ns = reel_trace_ns(tr, p, r.end_ticks);
			if (ns < 0 || r.count < 1 || r.dur_ticks > r.end_ticks)
				record_is_wrong("a record that cannot be");
		}
		reel_stream_close(s);
	}
	reel_trace_close(tr);
}

/* Load into a store beside the trace: all or nothing. */
static void load_trace(void)
{
	struct reel_error failure = {0};
	struct reel_store *st = NULL;
	char out[1024];
	int rc;

	snprintf(out, sizeof(out), "%s.out.%d", dir, (int)getpid());
	rc = reel_store_create(&st, out, &failure);
	if (rc == 0 && reel_load(st, dir, NULL, &failure) < 0)
		rc = -1;
	if (rc == 0)
		rc = reel_store_finish(st, &failure);
	reel_store_close(st);
	if (rc < 0) {
		report->refused++;
		if (!failure.code || !*failure.text)
			record_is_wrong("refused without a reason");
		if (failure.code == REEL_E_DB || failure.code == REEL_E_MEMORY)
			record_is_wrong(failure.text);
		if (access(out, F_OK) == 0)
			record_is_wrong("a store was left");
	} else {
		report->loaded++;
		if (access(out, F_OK) != 0)
			record_is_wrong("no store was made");
	}
	unlink(out);
}

/* CPU time, so that a busy machine is no failure. 0: no limit. */
static void limit_seconds(int seconds)
{
	struct itimerval it = {.it_value = {.tv_sec = seconds}};

	setitimer(ITIMER_PROF, &it, NULL);
}

static void run_trial(void)
{
	limit_seconds(TRIAL_SECONDS);
	read_all();
	load_trace();
	limit_seconds(0);
}

/* Cut the file at @at, run the trial, restore the file. */
static void cut_file(struct file *f, size_t at)
{
	snprintf(report->doing, sizeof(report->doing), "'%s' cut at %zu",
		 f->path, at);
	if (ftruncate(f->fd, (off_t)at) < 0)
		err(1, "cannot cut '%s'", f->path);
	run_trial();
	if (pwrite(f->fd, f->data + at, f->bytes - at, (off_t)at) !=
	    (ssize_t)(f->bytes - at))
		err(1, "cannot write '%s'", f->path);
}

/* Change a byte in the head of a block and correct its checksum. */
static bool flip_sealed(struct file *f)
{
	size_t from = chance_below(f->bytes) & ~7ull, at = from;
	struct reel_block_head h;
	ssize_t n = sizeof(h);
	uint64_t magic = 0;

	for (; magic != REEL_BLOCK_MAGIC; at += 8) {
		if (at + sizeof(h) > f->bytes)
			return false;
		memcpy(&magic, f->data + at, 8);
	}
	at -= 8;
	memcpy(&h, f->data + at, sizeof(h));
	((uint8_t *)&h)[8 + chance_below(sizeof(h) - 8)] ^= 1u
							    << chance_below(8);
	h.check = reel_block_check(&h);
	snprintf(report->doing, sizeof(report->doing),
		 "'%s' another block head at %zu", f->path, at);
	if (pwrite(f->fd, &h, sizeof(h), (off_t)at) != n)
		err(1, "cannot write '%s'", f->path);
	run_trial();
	if (pwrite(f->fd, f->data + at, sizeof(h), (off_t)at) != n)
		err(1, "cannot write '%s'", f->path);
	return true;
}

/* Change up to three bytes near each other. */
static void flip_bytes(struct file *f)
{
	size_t at = chance_below(f->bytes), n = 1 + chance_below(3);
	uint8_t byte[3];

	/* Windows are mostly holes: search for data. */
	for (int i = 0; i < 200 && !f->data[at]; i++)
		at = chance_below(f->bytes);
	if (n > f->bytes - at)
		n = f->bytes - at;
	for (size_t i = 0; i < n; i++)
		byte[i] = f->data[at + i] ^ (uint8_t)(1 + chance_below(255));
	snprintf(report->doing, sizeof(report->doing),
		 "'%s' %zu bytes at %zu from %02x", f->path, n, at, byte[0]);
	if (pwrite(f->fd, byte, n, (off_t)at) != (ssize_t)n)
		err(1, "cannot write '%s'", f->path);
	run_trial();
	if (pwrite(f->fd, f->data + at, n, (off_t)at) != (ssize_t)n)
		err(1, "cannot write '%s'", f->path);
}

static void run_batch(bool cuts, uint64_t first, uint64_t n, uint64_t count,
		      uint64_t seed)
{
	chance_state = (seed + first) * 0x9e3779b97f4a7c15ull | 1;
	for (uint64_t i = first; i < first + n; i++) {
		struct file *f = &files[chance_below((uint64_t)n_files)];

		if (cuts) {
			f = &files[i % (uint64_t)n_files];
			cut_file(f, (size_t)((unsigned __int128)i * f->bytes /
					     count));
		} else if (chance_below(5) || !flip_sealed(f)) {
			flip_bytes(f);
		}
		report->left--;
	}
}

/* Restore all files: a child died with one changed. */
static void restore_files(void)
{
	for (int i = 0; i < n_files; i++)
		if (pwrite(files[i].fd, files[i].data, files[i].bytes, 0) !=
			    (ssize_t)files[i].bytes ||
		    ftruncate(files[i].fd, (off_t)files[i].bytes) < 0)
			err(1, "cannot write '%s'", files[i].path);
}

int main(int argc, char **argv)
{
	uint64_t count, seed, died = 0;
	int status;

	if (argc != 5) {
		fputs("usage: fuzz_trace cut|flip COUNT SEED DIR\n", stderr);
		return 2;
	}
	count = strtoull(argv[2], NULL, 0);
	seed = strtoull(argv[3], NULL, 0);
	dir = argv[4];
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED)
		err(1, "no memory");
	add_files(dir);
	if (!n_files)
		errx(1, "'%s' is empty", dir);
	for (uint64_t i = 0; i < count; i += BATCH) {
		uint64_t n = count - i < BATCH ? count - i : BATCH;
		pid_t pid;

		report->left = n; /* before the child counts it down */
		pid = fork();
		if (pid == 0) {
			run_batch(strcmp(argv[1], "cut") == 0, i, n, count,
				  seed);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			err(1, "no child");
		if (status == 0 && report->left == 0)
			continue;
		died++;
		printf("# child died (status 0x%x) at: %s\n", status,
		       report->doing);
		restore_files();
	}
	printf("# %s: %s %s times: loaded %llu, refused %llu, died %llu\n", dir,
	       argv[1], argv[2], (unsigned long long)report->loaded,
	       (unsigned long long)report->refused, (unsigned long long)died);
	if (report->wrong)
		printf("# wrong %llu times, first: %s\n",
		       (unsigned long long)report->wrong, report->message);
	return died || report->wrong ? 1 : 0;
}
