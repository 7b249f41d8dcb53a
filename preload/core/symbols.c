/* SPDX-License-Identifier: MIT */
/*
 * Resolves the real functions by dlsym() as the process starts. Only a call
 * before that (by another library's constructor or an IFUNC resolver) is
 * resolved inside a wrapper.
 */
#include "preload/core/symbols.h"

#include <string.h>

#include "schemas/syscall.h"

#include "preload/core/dlfcn_compat.h"

/* Both in this order, in one page for the descriptors below some 400: each call
 * reads both. */
#if __has_attribute(no_reorder)
#define WITH_EACH_CALL __attribute__((section(".bss.ioreel"), no_reorder))
#else
#define WITH_EACH_CALL __attribute__((section(".bss.ioreel")))
#endif
WITH_EACH_CALL __attribute__((aligned(4096))) struct shim_real real;
WITH_EACH_CALL struct shim_hot shim_hot;

static long libc_result(long r)
{
	if (r < 0 && r >= -4095) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

static long fail_enosys(void)
{
	errno = ENOSYS;
	return -1;
}

/* Functions that may be called before relocation. File offsets have 64 bits
 * with and without 64 in the name. */
static int raw_open(const char *path, int flags, mode_t mode)
{
	return (int)libc_result(raw(SYS_openat, AT_FDCWD, path, flags, mode));
}

static int raw_openat(int at, const char *path, int flags, mode_t mode)
{
	return (int)libc_result(raw(SYS_openat, at, path, flags, mode));
}

static int raw_close(int fd)
{
	return (int)libc_result(raw(SYS_close, fd));
}

static ssize_t raw_read(int fd, void *buf, size_t n)
{
	return libc_result(raw(SYS_read, fd, buf, n));
}

static ssize_t raw_write(int fd, const void *buf, size_t n)
{
	return libc_result(raw(SYS_write, fd, buf, n));
}

static ssize_t raw_pread(int fd, void *buf, size_t n, off_t off)
{
	return libc_result(raw(SYS_pread64, fd, buf, n, off));
}

static off_t raw_lseek(int fd, off_t off, int whence)
{
	return libc_result(raw(SYS_lseek, fd, off, whence));
}

static int raw_access(const char *path, int mode)
{
	return (int)libc_result(raw(SYS_faccessat, AT_FDCWD, path, mode));
}

static ssize_t raw_readlink(const char *path, char *buf, size_t n)
{
	return libc_result(raw(SYS_readlinkat, AT_FDCWD, path, buf, n));
}

static void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd,
		      off_t off)
{
	return (void *)libc_result(
		raw(SYS_mmap, (long)addr, (long)len, prot, flags, fd, off));
}

static int raw_munmap(void *addr, size_t len)
{
	return (int)libc_result(raw(SYS_munmap, addr, len));
}

static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Comparisons instead of a table, whose addresses would need relocation. */
static void *before_relocation(const char *name)
{
	if (is_same(name, "open") || is_same(name, "open64"))
		return (void *)raw_open;
	if (is_same(name, "openat") || is_same(name, "openat64"))
		return (void *)raw_openat;
	if (is_same(name, "close"))
		return (void *)raw_close;
	if (is_same(name, "read"))
		return (void *)raw_read;
	if (is_same(name, "write"))
		return (void *)raw_write;
	if (is_same(name, "pread") || is_same(name, "pread64"))
		return (void *)raw_pread;
	if (is_same(name, "lseek") || is_same(name, "lseek64"))
		return (void *)raw_lseek;
	if (is_same(name, "access"))
		return (void *)raw_access;
	if (is_same(name, "readlink"))
		return (void *)raw_readlink;
	if (is_same(name, "mmap") || is_same(name, "mmap64"))
		return (void *)raw_mmap;
	if (is_same(name, "munmap"))
		return (void *)raw_munmap;
	return (void *)fail_enosys;
}

/* Holds its own address only after this library is relocated. */
static void *volatile relocated = (void *)&relocated;

COLD void shim_resolve(void *pointer, const char *name)
{
	int saved;
	void *found;

	if (relocated != (void *)&relocated) {
		*(void **)pointer = before_relocation(name);
		return;
	}
	saved = errno;
	found = dlsym(RTLD_NEXT, name);
	*(void **)pointer = found ? found : (void *)fail_enosys;
	errno = saved;
}

void shim_resolve_all(void)
{
#define GET(fn) shim_resolve(&real.fn, #fn);
#define CALL(id, NAME, layer, group, traits, ret, fails, fn, ...) GET(fn)
#define ALSO(NAME, ret, fails, fn, ...) GET(fn)
#define BY_HAND(id, NAME, layer, group, traits, ret, fn, params) GET(fn)
#define ALSO_BY_HAND(NAME, ret, fn, params) GET(fn)
#include "schemas/calls.def"
	GET(_exit)
	GET(_Exit)
	GET(quick_exit)
	GET(system)
	GET(vfork)
	GET(prctl)
	GET(clone)
	GET(syscall)
}
