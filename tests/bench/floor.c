/* SPDX-License-Identifier: MIT */
/*
 * The barest interposer there is, as the baseline of probe_calls: a library of
 * its own, as a preloaded one is, whose functions read the counter twice around
 * the real call and store 32 bytes. It tests nothing and is safe for nothing.
 */
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

extern ssize_t __pread64(int fd, void *buf, size_t n, off_t off);
extern int __close(int fd);
extern int __open64(const char *path, int flags, ...);
extern off_t __lseek(int fd, off_t off, int whence);

static __thread struct {
	uint64_t start, end, fd, n;
} store[256];
static __thread unsigned int at;

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
#endif
}

#define FLOOR(fn, ret, params, args, real, first)                              \
	static __typeof__(real) *volatile real_##fn = real;                    \
	ret fn params;                                                         \
	ret fn params                                                          \
	{                                                                      \
		uint64_t start = ticks();                                      \
		ret r = (ret)real_##fn args;                                   \
		uint64_t end = ticks();                                        \
		unsigned int i = at++ & 255;                                   \
                                                                               \
		store[i].start = start;                                        \
		store[i].end = end;                                            \
		store[i].fd = (uint64_t)first;                                 \
		store[i].n = (uint64_t)r;                                      \
		return r;                                                      \
	}
FLOOR(floor_pread, ssize_t, (int fd, void *buf, size_t n, off_t off),
      (fd, buf, n, off), __pread64, fd)
FLOOR(floor_lseek, off_t, (int fd, off_t off, int whence), (fd, off, whence),
      __lseek, fd)
FLOOR(floor_open, int, (const char *path, int flags), (path, flags), __open64,
      (uintptr_t)path)
FLOOR(floor_close, int, (int fd), (fd), __close, fd)
