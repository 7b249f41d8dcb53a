/* SPDX-License-Identifier: MIT */
/*
 * What a recorded call costs, measured in one process so that noise meets all
 * alike: batches of the same call made bare (libc's second name, which nobody
 * wraps), through a floor (floor.c: two rdtsc and a 32-byte store), and
 * through the symbol that the shim wraps, in turn. Run it under the shim.
 *
 * Prints one line per measurement: name, threads, the median of the bare
 * batches in ns per call, and the medians of what floor and traced added to the
 * bare batch beside them.
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

#define CALLS 100 /* short: most batches are not preempted */
#define ROUNDS 3000
#define WAYS 3

extern ssize_t __pread64(int fd, void *buf, size_t n, off_t off);
extern int __close(int fd);
extern int __open64(const char *path, int flags, ...);
extern off_t __lseek(int fd, off_t off, int whence);
extern ssize_t __write(int fd, const void *buf, size_t n);
extern size_t _IO_fread(void *to, size_t size, size_t n, FILE *f);

static __thread char buf[65536];
/* floor.c */
extern ssize_t floor_pread(int fd, void *buf, size_t n, off_t off);
extern off_t floor_lseek(int fd, off_t off, int whence);
extern int floor_open(const char *path, int flags);
extern int floor_close(int fd);
extern ssize_t floor_write(int fd, const void *buf, size_t n);
extern int bare_stat(const char *path, struct stat *st);
extern int floor_stat(const char *path, struct stat *st);
extern size_t floor_fread(void *to, size_t size, size_t n, FILE *f);

static __thread FILE *stream;
static const char *dir;

struct bench {
	const char *name;
	void (*way[WAYS])(int fd);
};

static void pread_bare(int fd)
{
	for (int i = 0; i < CALLS; i++)
		__pread64(fd, buf, 4096, (i & 15) * 4096);
}

static void pread_floor(int fd)
{
	for (int i = 0; i < CALLS; i++)
		floor_pread(fd, buf, 4096, (i & 15) * 4096);
}

static void pread_traced(int fd)
{
	for (int i = 0; i < CALLS; i++)
		pread64(fd, buf, 4096, (i & 15) * 4096);
}

static void lseek_bare(int fd)
{
	for (int i = 0; i < CALLS; i++)
		__lseek(fd, i, SEEK_SET);
}

static void lseek_floor(int fd)
{
	for (int i = 0; i < CALLS; i++)
		floor_lseek(fd, i, SEEK_SET);
}

static void lseek_traced(int fd)
{
	for (int i = 0; i < CALLS; i++)
		lseek64(fd, i, SEEK_SET);
}

static char path[4200];

static void open_bare(int fd)
{
	(void)fd;
	for (int i = 0; i < CALLS; i++)
		__close(__open64(path, O_RDONLY));
}

static void open_floor(int fd)
{
	(void)fd;
	for (int i = 0; i < CALLS; i++)
		floor_close(floor_open(path, O_RDONLY));
}

static void open_traced(int fd)
{
	(void)fd;
	for (int i = 0; i < CALLS; i++)
		close(open64(path, O_RDONLY));
}

/* The three ways of a call that needs no more than one line. */
#define WAYS_OF(name, bare, floor, traced)                                     \
	static void name##_bare(int fd)                                        \
	{                                                                      \
		(void)fd;                                                      \
		for (int i = 0; i < CALLS; i++)                                \
			(void)!(bare);                                         \
	}                                                                      \
	static void name##_floor(int fd)                                       \
	{                                                                      \
		(void)fd;                                                      \
		for (int i = 0; i < CALLS; i++)                                \
			(void)!(floor);                                        \
	}                                                                      \
	static void name##_traced(int fd)                                      \
	{                                                                      \
		(void)fd;                                                      \
		for (int i = 0; i < CALLS; i++)                                \
			(void)!(traced);                                       \
	}
#define ST ((struct stat *)(void *)buf)
WAYS_OF(write, __write(fd, buf, 100), floor_write(fd, buf, 100),
	write(fd, buf, 100))
WAYS_OF(stat, bare_stat(path, ST), floor_stat(path, ST),
	stat64(path, (void *)buf))
WAYS_OF(fread, _IO_fread(buf, 1, 8, stream), floor_fread(buf, 1, 8, stream),
	fread(buf, 1, 8, stream))

static const struct bench benches[] = {
	{"pread 4 KiB", {pread_bare, pread_floor, pread_traced}},
	{"lseek", {lseek_bare, lseek_floor, lseek_traced}},
	{"open+close", {open_bare, open_floor, open_traced}},
	{"stat", {stat_bare, stat_floor, stat_traced}},
	{"fread 8 B", {fread_bare, fread_floor, fread_traced}},
	{"write 100 B", {write_bare, write_floor, write_traced}},
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct result {
	double ns[WAYS];
	const struct bench *bench;
};

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void *measure(void *arg)
{
	static __thread double t[WAYS][ROUNDS];
	struct result *r = arg;
	char name[4300];
	int fd;

	snprintf(name, sizeof(name), "%s/bench.%lx", dir, (long)pthread_self());
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 16; i++)
		if (write(fd, buf, 4096) != 4096)
			exit(1);
	stream = fdopen(dup(fd), "r");
	for (int i = 0; i < ROUNDS; i++)
		for (int w = 0; w < WAYS; w++) {
			int way = (w + i) % WAYS;
			double a;

			rewind(stream); /* also that of writes: no file grows */
			a = now_ns();
			r->bench->way[way](fd);
			t[way][i] = (now_ns() - a) / CALLS;
		}
	for (int i = 0; i < ROUNDS; i++)
		for (int w = 1; w < WAYS; w++)
			t[w][i] -= t[0][i];
	for (int w = 0; w < WAYS; w++) {
		qsort(t[w], ROUNDS, sizeof(double), by_value);
		r->ns[w] = t[w][ROUNDS / 2];
	}
	fclose(stream);
	close(fd);
	unlink(name);
	return NULL;
}

int main(int argc, char **argv)
{
	dir = argc > 1 ? argv[1] : ".";
	snprintf(path, sizeof(path), "%s/bench.open", dir);
	close(open(path, O_RDWR | O_CREAT, 0600));
	for (size_t b = 0; b < sizeof(benches) / sizeof(benches[0]); b++)
		for (int threads = 1; threads <= 2; threads++) {
			struct result r[2] = {{.bench = &benches[b]},
					      {.bench = &benches[b]}};
			pthread_t th[2];

			for (int i = 0; i < threads; i++)
				pthread_create(&th[i], NULL, measure, &r[i]);
			for (int i = 0; i < threads; i++)
				pthread_join(th[i], NULL);
			for (int w = 0; threads == 2 && w < WAYS; w++)
				r[0].ns[w] = (r[0].ns[w] + r[1].ns[w]) / 2;
			printf("%s\t%d\t%.1f\t%.1f\t%.1f\n", benches[b].name,
			       threads, r[0].ns[0], r[0].ns[1], r[0].ns[2]);
			fflush(stdout);
		}
	unlink(path);
	return 0;
}
