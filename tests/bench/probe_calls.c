/* SPDX-License-Identifier: MIT */
/*
 * The cost of a recorded call, measured in one process so that noise affects
 * all alike: alternating batches of the same call, bare (libc's second name,
 * which no tracer wraps), through a floor (floor.c: two rdtsc and a 32-byte
 * store), and through the symbol that the shim wraps. Run it under the shim:
 *
 *	probe_calls DIR [BATCHES]
 *
 * Prints one line per measurement: name, threads, the median of the bare
 * batches in ns per iteration, and the medians of the differences of floor and
 * traced to the bare batch beside them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TURNS 100 /* short: most batches are not preempted */
#define BATCHES_MOST 3000
#define WAYS 3
#define DIRS 1000 /* of a data set with a folder per class */

extern ssize_t __pread64(int fd, void *buf, size_t n, off_t off);
extern ssize_t __read(int fd, void *buf, size_t n);
extern int __close(int fd);
extern int __open64(const char *path, int flags, ...);
extern off_t __lseek(int fd, off_t off, int whence);
extern ssize_t __write(int fd, const void *buf, size_t n);
extern size_t _IO_fread(void *to, size_t size, size_t n, FILE *f);
/* floor.c */
extern int bare_stat(const char *path, struct stat *st);
extern int bare_fstat(int fd, struct stat *st);
extern ssize_t floor_pread(int fd, void *buf, size_t n, off_t off);
extern ssize_t floor_read(int fd, void *buf, size_t n);
extern off_t floor_lseek(int fd, off_t off, int whence);
extern int floor_open(const char *path, int flags);
extern int floor_close(int fd);
extern ssize_t floor_write(int fd, const void *buf, size_t n);
extern int floor_stat(const char *path, struct stat *st);
extern int floor_fstat(int fd, struct stat *st);
extern size_t floor_fread(void *to, size_t size, size_t n, FILE *f);

static __thread char buf[65536];
static __thread char relative[64], absolute[4200]; /* of the thread's file */
static __thread FILE *stream;
static char in_dir[DIRS][48]; /* a file in each directory */
static unsigned int turn;     /* of any way: no way finds the names warmer */
static int batches = BATCHES_MOST;

/* An iteration in three ways; @fd is open on the thread's file, @i counts. */
#define WAYS_OF(name, bare, floor, traced)                                     \
	static void name##_bare(int fd)                                        \
	{                                                                      \
		(void)fd;                                                      \
		for (int i = 0; i < TURNS; i++)                                \
			(void)!(bare);                                         \
	}                                                                      \
	static void name##_floor(int fd)                                       \
	{                                                                      \
		(void)fd;                                                      \
		for (int i = 0; i < TURNS; i++)                                \
			(void)!(floor);                                        \
	}                                                                      \
	static void name##_traced(int fd)                                      \
	{                                                                      \
		(void)fd;                                                      \
		for (int i = 0; i < TURNS; i++)                                \
			(void)!(traced);                                       \
	}
#define ST ((void *)buf)
WAYS_OF(pread, __pread64(fd, buf, 4096, (i & 15) * 4096),
	floor_pread(fd, buf, 4096, (i & 15) * 4096),
	pread64(fd, buf, 4096, (i & 15) * 4096))
WAYS_OF(fread, _IO_fread(buf, 1, 8, stream), floor_fread(buf, 1, 8, stream),
	fread(buf, 1, 8, stream))
WAYS_OF(lseek, __lseek(fd, i, SEEK_SET), floor_lseek(fd, i, SEEK_SET),
	lseek64(fd, i, SEEK_SET))
WAYS_OF(write, __write(fd, buf, 100), floor_write(fd, buf, 100),
	write(fd, buf, 100))
WAYS_OF(fstat, bare_fstat(fd, ST), floor_fstat(fd, ST), fstat64(fd, ST))
WAYS_OF(stat, bare_stat(absolute, ST), floor_stat(absolute, ST),
	stat64(absolute, ST))
WAYS_OF(stat_relative, bare_stat(relative, ST), floor_stat(relative, ST),
	stat64(relative, ST))
WAYS_OF(open, __close(__open64(absolute, O_RDONLY)),
	floor_close(floor_open(absolute, O_RDONLY)),
	close(open64(absolute, O_RDONLY)))
WAYS_OF(open_relative, __close(__open64(relative, O_RDONLY)),
	floor_close(floor_open(relative, O_RDONLY)),
	close(open64(relative, O_RDONLY)))

/* The file of another directory each time. */
static const char *next_dir(void)
{
	return in_dir[turn++ * 619 % DIRS];
}

#define SHORT "ab" /* a name shorter than 4 bytes */
WAYS_OF(stat_short, bare_stat(SHORT, ST), floor_stat(SHORT, ST),
	stat64(SHORT, ST))
WAYS_OF(open_short, __close(__open64(SHORT, O_RDONLY)),
	floor_close(floor_open(SHORT, O_RDONLY)),
	close(open64(SHORT, O_RDONLY)))
WAYS_OF(stat_dirs, bare_stat(next_dir(), ST), floor_stat(next_dir(), ST),
	stat64(next_dir(), ST))
WAYS_OF(open_dirs, __close(__open64(next_dir(), O_RDONLY)),
	floor_close(floor_open(next_dir(), O_RDONLY)),
	close(open64(next_dir(), O_RDONLY)))

/* The calls of a loader that reads a small file. */
#define SMALL(open, fstat, read, close)                                        \
	({                                                                     \
		int f = open(absolute, O_RDONLY);                              \
                                                                               \
		(void)!fstat(f, ST);                                           \
		(void)!read(f, buf, 4096);                                     \
		close(f);                                                      \
	})
WAYS_OF(small, SMALL(__open64, bare_fstat, __read, __close),
	SMALL(floor_open, floor_fstat, floor_read, floor_close),
	SMALL(open64, fstat64, read, close))

#define BENCH(name, fn, threads)                                               \
	{                                                                      \
		name, {fn##_bare, fn##_floor, fn##_traced}, threads            \
	}
static const struct bench {
	const char *name;
	void (*way[WAYS])(int fd);
	int threads; /* at most: 2 where threads may contend */
} benches[] = {
	BENCH("pread 4 KiB", pread, 2),
	BENCH("fread 8 B", fread, 1),
	BENCH("stat", stat, 1),
	BENCH("stat, relative", stat_relative, 1),
	BENCH("open+close", open, 2),
	BENCH("open+close, relative", open_relative, 1),
	BENCH("stat, 2-byte name", stat_short, 1),
	BENCH("stat, 1,000 directories", stat_dirs, 1),
	BENCH("open+close, 2-byte name", open_short, 1),
	BENCH("open+close, 1,000 directories", open_dirs, 1),
	BENCH("small file: open+fstat+read+close", small, 1),
	BENCH("fstat", fstat, 1),
	BENCH("lseek", lseek, 1),
	BENCH("write 100 B", write, 1),
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct result {
	double ns[WAYS];
	const struct bench *bench;
	int thread;
};

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* The thread's file, 16 pages of it, and its names. */
static int make_file(int thread)
{
	int fd;

	snprintf(relative, sizeof(relative), "bench.%d", thread);
	if (!getcwd(absolute, sizeof(absolute) - sizeof(relative)))
		exit(1);
	snprintf(absolute + strlen(absolute), sizeof(relative) + 1, "/%s",
		 relative);
	fd = open(relative, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 16; i++)
		if (write(fd, buf, 4096) != 4096)
			exit(1);
	return fd;
}

static void *measure(void *arg)
{
	static __thread double t[WAYS][BATCHES_MOST];
	struct result *r = arg;
	int fd = make_file(r->thread);

	stream = fdopen(dup(fd), "r");
	for (int i = 0; i < batches; i++)
		for (int w = 0; w < WAYS; w++) {
			int way = (w + i) % WAYS;
			double start;

			rewind(stream); /* for writes too: no file grows */
			start = now_ns();
			r->bench->way[way](fd);
			t[way][i] = (now_ns() - start) / TURNS;
		}
	for (int i = 0; i < batches; i++)
		for (int w = 1; w < WAYS; w++)
			t[w][i] -= t[0][i];
	for (int w = 0; w < WAYS; w++) {
		qsort(t[w], (size_t)batches, sizeof(double), by_value);
		r->ns[w] = t[w][batches / 2];
	}
	fclose(stream);
	close(fd);
	unlink(relative);
	return NULL;
}

static void bench(const struct bench *b, int threads)
{
	struct result r[2] = {{.bench = b}, {.bench = b, .thread = 1}};
	pthread_t th[2];

	for (int i = 0; i < threads; i++)
		pthread_create(&th[i], NULL, measure, &r[i]);
	for (int i = 0; i < threads; i++)
		pthread_join(th[i], NULL);
	for (int w = 0; threads == 2 && w < WAYS; w++)
		r[0].ns[w] = (r[0].ns[w] + r[1].ns[w]) / 2;
	printf("%s\t%d\t%.1f\t%.1f\t%.1f\n", b->name, threads, r[0].ns[0],
	       r[0].ns[1], r[0].ns[2]);
	fflush(stdout);
}

/* Make the directories and the short name, or remove them. */
static void make_names(int make)
{
	for (int i = 0; i < DIRS; i++) {
		char *name = in_dir[i], dir[16];

		snprintf(dir, sizeof(dir), "n%08d", i * 7919);
		snprintf(name, sizeof(in_dir[i]), "%s/n%08d_%d.JPEG", dir,
			 i * 7919, i * 31 % 1300);
		if (make && mkdir(dir, 0700) == 0)
			close(open(name, O_CREAT | O_WRONLY, 0600));
		if (!make && unlink(name) == 0)
			rmdir(dir);
	}
	if (make)
		close(open(SHORT, O_CREAT | O_WRONLY, 0600));
	else
		unlink(SHORT);
}

int main(int argc, char **argv)
{
	if (argc < 2 || chdir(argv[1]) != 0)
		return 2;
	if (argc > 2)
		batches = atoi(argv[2]);
	if (batches < 1 || batches > BATCHES_MOST)
		return 2;
	make_names(1);
	for (size_t b = 0; b < sizeof(benches) / sizeof(benches[0]); b++)
		for (int n = 1; n <= benches[b].threads; n++)
			bench(&benches[b], n);
	make_names(0);
	return 0;
}
