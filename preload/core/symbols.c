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

static long fail_enosys(void)
{
	errno = ENOSYS;
	return -1;
}

/*
 * Functions that may be called before relocation: X(result, name, name with 64,
 * arguments, system call...). File offsets have 64 bits with and without 64 in
 * the name.
 */
#define EARLY_CALLS(X)                                                         \
	X(int, open, open64, (const char *path, int flags, mode_t mode),       \
	  SYS_openat, AT_FDCWD, path, flags, mode)                             \
	X(int, openat, openat64,                                               \
	  (int at, const char *path, int flags, mode_t mode), SYS_openat, at,  \
	  path, flags, mode)                                                   \
	X(int, close, close, (int fd), SYS_close, fd)                          \
	X(ssize_t, read, read, (int fd, void *buf, size_t n), SYS_read, fd,    \
	  buf, n)                                                              \
	X(ssize_t, write, write, (int fd, const void *buf, size_t n),          \
	  SYS_write, fd, buf, n)                                               \
	X(ssize_t, pread, pread64, (int fd, void *buf, size_t n, off_t off),   \
	  SYS_pread64, fd, buf, n, off)                                        \
	X(off_t, lseek, lseek64, (int fd, off_t off, int whence), SYS_lseek,   \
	  fd, off, whence)                                                     \
	X(int, access, access, (const char *path, int mode), SYS_faccessat,    \
	  AT_FDCWD, path, mode)                                                \
	X(ssize_t, readlink, readlink,                                         \
	  (const char *path, char *buf, size_t n), SYS_readlinkat, AT_FDCWD,   \
	  path, buf, n)                                                        \
	X(void *, mmap, mmap64,                                                \
	  (void *addr, size_t len, int prot, int flags, int fd, off_t off),    \
	  SYS_mmap, (long)addr, (long)len, prot, flags, fd, off)               \
	X(int, munmap, munmap, (void *addr, size_t len), SYS_munmap, addr, len)

#define DEFINE(ret, fn, fn64, params, ...)                                     \
	static ret raw_##fn params                                             \
	{                                                                      \
		return (ret)shim_libc_result(raw(__VA_ARGS__));                \
	}
EARLY_CALLS(DEFINE)

/* Comparisons instead of a table, whose addresses would need relocation. */
static void *before_relocation(const char *name)
{
#define COMPARE(ret, fn, fn64, ...)                                            \
	if (shim_same_text(name, #fn) || shim_same_text(name, #fn64))          \
		return (void *)raw_##fn;
	EARLY_CALLS(COMPARE)
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
