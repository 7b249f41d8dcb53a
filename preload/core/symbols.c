/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions behind ours. dlsym() runs as the process starts; only a
 * call that comes before it (another library's constructor, an IFUNC resolver)
 * is resolved inside a wrapper.
 */
#include "preload/core/symbols.h"

#include <string.h>

#include "schemas/syscall.h"

#include "preload/core/dlfcn_compat.h"

/* In this order, in one page for the descriptors below some 400. */
#if __has_attribute(no_reorder)
#define WITH_EACH_CALL __attribute__((section(".bss.ioreel"), no_reorder))
#else
#define WITH_EACH_CALL __attribute__((section(".bss.ioreel")))
#endif
WITH_EACH_CALL __attribute__((aligned(4096))) struct shim_real real;
WITH_EACH_CALL struct shim_hot shim_hot;

static long fail(long r)
{
	if (r < 0 && r >= -4095) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

static long no_such_call(void)
{
	errno = ENOSYS;
	return -1;
}

/* What may be called before relocation; file offsets are 64 bits anyway. */
static int raw_open(const char *path, int flags, mode_t mode)
{
	return (int)fail(raw4(SYS_openat, AT_FDCWD, path, flags, mode));
}

static int raw_openat(int at, const char *path, int flags, mode_t mode)
{
	return (int)fail(raw4(SYS_openat, at, path, flags, mode));
}

static int raw_close(int fd)
{
	return (int)fail(raw1(SYS_close, fd));
}

static ssize_t raw_read(int fd, void *buf, size_t n)
{
	return fail(raw3(SYS_read, fd, buf, n));
}

static ssize_t raw_write(int fd, const void *buf, size_t n)
{
	return fail(raw3(SYS_write, fd, buf, n));
}

static ssize_t raw_pread(int fd, void *buf, size_t n, off_t off)
{
	return fail(raw4(SYS_pread64, fd, buf, n, off));
}

static off_t raw_lseek(int fd, off_t off, int whence)
{
	return fail(raw3(SYS_lseek, fd, off, whence));
}

static int raw_access(const char *path, int mode)
{
	return (int)fail(raw3(SYS_faccessat, AT_FDCWD, path, mode));
}

static ssize_t raw_readlink(const char *path, char *buf, size_t n)
{
	return fail(raw4(SYS_readlinkat, AT_FDCWD, path, buf, n));
}

static void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd,
		      off_t off)
{
	return (void *)fail(
		raw6(SYS_mmap, (long)addr, (long)len, prot, flags, fd, off));
}

static int raw_munmap(void *addr, size_t len)
{
	return (int)fail(raw2(SYS_munmap, addr, len));
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* No table: its addresses would need the relocation that has not been. */
static void *before_relocation(const char *name)
{
	if (same(name, "open") || same(name, "open64"))
		return (void *)raw_open;
	if (same(name, "openat") || same(name, "openat64"))
		return (void *)raw_openat;
	if (same(name, "close"))
		return (void *)raw_close;
	if (same(name, "read"))
		return (void *)raw_read;
	if (same(name, "write"))
		return (void *)raw_write;
	if (same(name, "pread") || same(name, "pread64"))
		return (void *)raw_pread;
	if (same(name, "lseek") || same(name, "lseek64"))
		return (void *)raw_lseek;
	if (same(name, "access"))
		return (void *)raw_access;
	if (same(name, "readlink"))
		return (void *)raw_readlink;
	if (same(name, "mmap") || same(name, "mmap64"))
		return (void *)raw_mmap;
	if (same(name, "munmap"))
		return (void *)raw_munmap;
	return (void *)no_such_call;
}

/* Its value is right only once this library has been relocated. */
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
	*(void **)pointer = found ? found : (void *)no_such_call;
	errno = saved;
}

void shim_resolve_all(void)
{
#define GET(fn) shim_resolve(&real.fn, #fn);
#define CALL(id, NAME, layer, group, traits, ret, fails, fn, ...) GET(fn)
#define ALSO(NAME, ret, fails, fn, ...) GET(fn)
#define BY_HAND(id, NAME, layer, group, traits, ret, fn, params) GET(fn)
#define ALSO_BY_HAND(NAME, ret, fn, params) GET(fn)
#define PART(...)
#define MARK(...)
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
