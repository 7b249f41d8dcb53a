/* SPDX-License-Identifier: MIT */
/*
 * syscall(): system calls that have wrappers are recorded as these. All others
 * are passed to libc by a jump that leaves registers and stack unchanged: the
 * child of a clone() made this way returns on a stack of its own. A recorded
 * call is made here and not by its function in libc, which may be a
 * cancellation point, unlike syscall().
 */
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>

#include "schemas/syscall.h"

#include "preload/async/operations.h"
#include "preload/core/counters.h"
#include "preload/core/symbols.h"
#include "preload/core/wrap.h"
#include "preload/exec/seccomp.h"
#include "preload/mmap/mappings.h"
#include "preload/posix/calls.h"

enum how {
	RECORD,
	OPEN,
	CLOSE,
	CLOSE_RANGE,
	DUP,
	FCNTL,
	COPY,
	MEMFD,
	CHDIR,
	MAP,
	ASYNC,
	SECCOMP
};

/*
 * The number of the argument for each field, from 1; 0: none. The assembler
 * below relies on the layout.
 */
struct row {
	uint8_t call; /* must be first; 0: not recorded */
	uint8_t how;
	uint8_t fd, at, path, at2, path2, text;
	uint8_t size, offset, arg, arg2;
	uint8_t iov, st;
	uint8_t unused[2];
};
_Static_assert(sizeof(struct row) == 16, "the assembler multiplies by it");

#define ROWS 512
#define ANY MARK_DESC
__attribute__((used)) const struct row shim_syscall_row[ROWS] = {
#ifdef SYS_open
	[SYS_open] = {CALL_OPEN, OPEN, .path = 1, .arg = 2, .arg2 = 3},
	[SYS_creat] = {CALL_CREAT, OPEN, .path = 1, .arg2 = 2},
	[SYS_dup2] = {CALL_DUP2, DUP, .fd = 1, .arg2 = 2},
	[SYS_stat] = {CALL_STAT, .path = 1, .st = 2},
	[SYS_lstat] = {CALL_LSTAT, .path = 1, .st = 2},
	[SYS_access] = {CALL_ACCESS, .path = 1, .arg = 2},
	[SYS_readlink] = {CALL_READLINK, .path = 1, .size = 3},
	[SYS_unlink] = {CALL_UNLINK, .path = 1},
	[SYS_rename] = {CALL_RENAME, .path = 1, .path2 = 2},
	[SYS_mkdir] = {CALL_MKDIR, .path = 1, .arg = 2},
	[SYS_rmdir] = {CALL_RMDIR, .path = 1},
	[SYS_link] = {CALL_LINK, .path = 1, .path2 = 2},
	[SYS_symlink] = {CALL_SYMLINK, .text = 1, .path = 2},
#endif
	[SYS_openat] = {CALL_OPENAT, OPEN, .at = 1, .path = 2, .arg = 3,
			.arg2 = 4},
#ifdef SYS_openat2
	[SYS_openat2] = {CALL_OPENAT, OPEN, .at = 1, .path = 2},
#endif
	[SYS_close] = {CALL_CLOSE, CLOSE, .fd = 1},
#ifdef SYS_close_range
	[SYS_close_range] = {.call = CALL_CLOSE, .how = CLOSE_RANGE},
#endif
	[SYS_dup] = {CALL_DUP, DUP, .fd = 1},
	[SYS_dup3] = {CALL_DUP3, DUP, .fd = 1, .arg2 = 2, .arg = 3},
	[SYS_fcntl] = {CALL_FCNTL, FCNTL, .fd = 1, .arg = 2},
	[SYS_read] = {CALL_READ, .fd = 1, .size = 3},
	[SYS_pread64] = {CALL_PREAD, .fd = 1, .size = 3, .offset = 4},
	[SYS_readv] = {CALL_READV, .fd = 1, .iov = 2},
	[SYS_preadv] = {CALL_PREADV, .fd = 1, .iov = 2, .offset = 4},
	[SYS_preadv2] = {CALL_PREADV2, .fd = 1, .iov = 2, .offset = 4,
			 .arg = 6},
	[SYS_write] = {CALL_WRITE, .fd = 1, .size = 3},
	[SYS_pwrite64] = {CALL_PWRITE, .fd = 1, .size = 3, .offset = 4},
	[SYS_writev] = {CALL_WRITEV, .fd = 1, .iov = 2},
	[SYS_pwritev] = {CALL_PWRITEV, .fd = 1, .iov = 2, .offset = 4},
	[SYS_pwritev2] = {CALL_PWRITEV2, .fd = 1, .iov = 2, .offset = 4,
			  .arg = 6},
	[SYS_vmsplice] = {CALL_VMSPLICE, .fd = 1, .iov = 2, .arg = 4},
	[SYS_lseek] = {CALL_LSEEK, .fd = 1, .offset = 2, .arg = 3},
	[SYS_fstat] = {CALL_FSTAT, .fd = 1, .st = 2},
#ifdef SYS_newfstatat
	[SYS_newfstatat] = {CALL_FSTATAT, .at = 1, .path = 2, .arg = 4,
			    .st = 3},
#endif
	[SYS_statx] = {CALL_STATX, .at = 1, .path = 2, .arg = 3, .st = 5},
	[SYS_faccessat] = {CALL_FACCESSAT, .at = 1, .path = 2, .arg = 3},
#ifdef SYS_faccessat2
	[SYS_faccessat2] = {CALL_FACCESSAT, .at = 1, .path = 2, .arg = 3,
			    .arg2 = 4},
#endif
	[SYS_readlinkat] = {CALL_READLINKAT, .at = 1, .path = 2, .size = 4},
	[SYS_name_to_handle_at] = {CALL_NAME_TO_HANDLE_AT, .at = 1, .path = 2,
				   .arg = 5},
	[SYS_statfs] = {CALL_STATFS, .path = 1},
	[SYS_fstatfs] = {CALL_FSTATFS, .fd = 1},
	[SYS_flock] = {CALL_FLOCK, .fd = 1, .arg = 2},
	[SYS_truncate] = {CALL_TRUNCATE, .path = 1, .offset = 2},
	[SYS_ftruncate] = {CALL_FTRUNCATE, .fd = 1, .offset = 2},
	[SYS_unlinkat] = {CALL_UNLINKAT, .at = 1, .path = 2, .arg = 3},
#ifdef SYS_renameat
	[SYS_renameat] = {CALL_RENAMEAT, .at = 1, .path = 2, .at2 = 3,
			  .path2 = 4},
#endif
	[SYS_renameat2] = {CALL_RENAMEAT2, .at = 1, .path = 2, .at2 = 3,
			   .path2 = 4, .arg = 5},
	[SYS_mkdirat] = {CALL_MKDIRAT, .at = 1, .path = 2, .arg = 3},
	[SYS_linkat] = {CALL_LINKAT, .at = 1, .path = 2, .at2 = 3, .path2 = 4,
			.arg = 5},
	[SYS_symlinkat] = {CALL_SYMLINKAT, .text = 1, .at = 2, .path = 3},
	[SYS_chdir] = {CALL_CHDIR, CHDIR, .path = 1},
	[SYS_fchdir] = {CALL_FCHDIR, CHDIR, .fd = 1},
	[SYS_fallocate] = {CALL_FALLOCATE, .fd = 1, .arg = 2, .offset = 3,
			   .arg2 = 4},
	[SYS_fadvise64] = {CALL_POSIX_FADVISE, .fd = 1, .offset = 2, .arg2 = 3,
			   .arg = 4},
	[SYS_readahead] = {CALL_READAHEAD, .fd = 1, .offset = 2, .arg2 = 3},
	[SYS_getdents64] = {CALL_GETDENTS64, .fd = 1, .size = 3},
	[SYS_fsync] = {CALL_FSYNC, .fd = 1},
	[SYS_fdatasync] = {CALL_FDATASYNC, .fd = 1},
	[SYS_syncfs] = {CALL_SYNCFS, .fd = 1},
	[SYS_sync_file_range] = {CALL_SYNC_FILE_RANGE, .fd = 1, .offset = 2,
				 .arg2 = 3, .arg = 4},
	/* arg2: the descriptor of the write side */
	[SYS_copy_file_range] = {CALL_COPY_FILE_RANGE, COPY, .fd = 1,
				 .arg2 = 3},
	[SYS_sendfile] = {CALL_SENDFILE, COPY, .fd = 2, .arg2 = 1},
	[SYS_splice] = {CALL_SPLICE, COPY, .fd = 1, .arg2 = 3},
	[SYS_tee] = {CALL_TEE, COPY, .fd = 1, .arg2 = 2},
	[SYS_memfd_create] = {.call = CALL_MEMFD_CREATE, .how = MEMFD},
	[SYS_mmap] = {.call = ANY, .how = MAP},
	[SYS_munmap] = {.call = ANY, .how = MAP},
	[SYS_mremap] = {.call = ANY, .how = MAP},
	[SYS_msync] = {.call = ANY, .how = MAP},
	[SYS_madvise] = {.call = ANY, .how = MAP},
	/* The async room has their call ids. */
	[SYS_io_submit] = {.call = ANY, .how = ASYNC},
	[SYS_io_getevents] = {.call = ANY, .how = ASYNC},
	[SYS_io_cancel] = {.call = ANY, .how = ASYNC},
	[SYS_io_destroy] = {.call = ANY, .how = ASYNC},
#ifdef SYS_io_pgetevents
	[SYS_io_pgetevents] = {.call = ANY, .how = ASYNC},
#endif
	[SYS_io_uring_setup] = {.call = ANY, .how = ASYNC},
	[SYS_io_uring_enter] = {.call = ANY, .how = ASYNC},
	[SYS_io_uring_register] = {.call = ANY, .how = ASYNC},
	[SYS_prctl] = {.call = ANY, .how = SECCOMP},
	[SYS_seccomp] = {.call = ANY, .how = SECCOMP},
};

/* syscall() of libc, once it is known: the target of the jump below. */
__attribute__((used)) long (*shim_syscall_real)(long number, ...);

/* The first bytes of mmap() in libc. */
static char libc_mmap[8];

__attribute__((constructor)) void shim_syscall_find(void)
{
	NEED(syscall);
	NEED(mmap);
	memcpy(libc_mmap, (const void *)real.mmap, sizeof(libc_mmap));
	shim_syscall_real = real.syscall;
}

/* Make the system call and set errno as libc does. */
static long make_call(long number, const long a[6])
{
	return shim_libc_result(
		raw(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

static void *to_pointer(long address)
{
	return (void *)address;
}

/* Fill an event from the arguments, without reading memory. */
static void fill_event(struct shim_event *ev, const struct row *row,
		       const long *a)
{
	ev->call = row->call;
	if (row->at)
		ev->at = (int)a[row->at - 1];
	if (row->path)
		ev->path = to_pointer(a[row->path - 1]);
	if (row->at2)
		ev->at2 = (int)a[row->at2 - 1];
	if (row->path2)
		ev->path2 = to_pointer(a[row->path2 - 1]);
	if (row->text)
		ev->text = to_pointer(a[row->text - 1]);
	if (row->size)
		ev->size = a[row->size - 1];
	if (row->offset)
		ev->offset = a[row->offset - 1];
	if (row->arg)
		ev->arg = (int)a[row->arg - 1];
	if (row->arg2)
		ev->arg2 = a[row->arg2 - 1];
	if (row->st)
		ev->st = to_pointer(a[row->st - 1]);
}

static void fill_open(struct shim_event *ev, long number, const long *a, int fd)
{
	if (ev->call == CALL_CREAT)
		ev->arg = O_WRONLY | O_CREAT | O_TRUNC;
	else if (!SHIM_WITH_MODE(ev->arg))
		ev->arg2 = NONE;
#ifdef SYS_openat2
	if (number == SYS_openat2) {
		const uint64_t *how = to_pointer(a[2]); /* flags, mode */

		ev->arg = fd >= 0 ? (int64_t)how[0] : NONE;
		ev->arg2 = NONE;
		if (fd >= 0 && SHIM_WITH_MODE(ev->arg))
			ev->arg2 = (int64_t)how[1];
	}
#endif
}

static void record_copy(const struct shim_event *ev, long number,
			const long a[6], uint64_t start, uint64_t end, long r)
{
	struct shim_copy c = {.call = ev->call,
			      .from = ev->desc,
			      .to_fd = (int)ev->arg2,
			      .flags = NONE};

	c.to = shim_fd(c.to_fd);
	if (number == SYS_sendfile) {
		c.from_off = to_pointer(a[2]);
		c.len = (size_t)a[3];
	} else if (number == SYS_tee) {
		c.len = (size_t)a[2];
		c.flags = (int)a[3];
	} else {
		c.from_off = to_pointer(a[1]);
		c.to_off = to_pointer(a[3]);
		c.len = (size_t)a[4];
		c.flags = (int)a[5];
	}
	shim_record_copy(&c, start, end, r);
}

/* Record a call that neither makes nor closes a descriptor. */
static void record_plain(struct shim_event *ev, const struct row *row,
			 const long a[6], uint64_t start, uint64_t end, long r)
{
	int err = r < 0 ? errno : 0;

	if (!row->fd) {
		shim_record_path(ev, start, end, r, err);
		return;
	}
	if (row->iov && !err)
		ev->size = shim_iov_bytes(to_pointer(a[row->iov - 1]),
					  (int)a[row->iov]);
	if (shim_is_desc(ev->desc))
		shim_record_full(ev, start, end, r, err);
	else
		shim_unrecorded((int)a[row->fd - 1], ev->desc, ev->call, r);
}

static void record_call(struct shim_event *ev, long number, const long a[6],
			uint64_t start, uint64_t end, long r)
{
	const struct row *row = &shim_syscall_row[number];

	switch ((enum how)row->how) {
	case RECORD:
		record_plain(ev, row, a, start, end, r);
		break;
	case OPEN:
		fill_open(ev, number, a, (int)r);
		shim_opened(ev, start, end, (int)r);
		break;
	case CLOSE:
		if (shim_is_desc(ev->desc))
			shim_record_full(ev, start, end, r, r < 0 ? errno : 0);
		break;
	case CLOSE_RANGE:
		if (!r && !a[2])
			shim_record_close_range((unsigned int)a[0],
						(unsigned int)a[1], start);
		break;
	case DUP:
		if (number == SYS_dup || r != a[0])
			shim_record_dup(ev, (int)a[0], ev->desc, start, end,
					(int)r);
		break;
	case FCNTL:
		shim_record_fcntl(ev, (int)a[0], ev->desc, a[2], start, end,
				  (int)r);
		break;
	case COPY:
		record_copy(ev, number, a, start, end, r);
		break;
	case MEMFD:
		shim_record_memfd(to_pointer(a[0]), (unsigned int)a[1], start,
				  end, (int)r);
		break;
	case CHDIR:
		shim_record_chdir(ev, row->fd ? (int)a[0] : NOFD, start, end,
				  (int)r);
		break;
	case MAP:
	case ASYNC:
	case SECCOMP:
		break;
	}
}

static void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd,
		      off_t off)
{
	const long a[6] = {(long)addr, (long)len, prot, flags, fd, off};

	return to_pointer(make_call(SYS_mmap, a));
}

static int raw_munmap(void *addr, size_t len)
{
	const long a[6] = {(long)addr, (long)len};

	return (int)make_call(SYS_munmap, a);
}

static void *raw_mremap(void *addr, size_t len, size_t to_len, int flags, ...)
{
	long a[6] = {(long)addr, (long)len, (long)to_len, flags};
	va_list ap;

	va_start(ap, flags);
	a[4] = (long)va_arg(ap, void *);
	va_end(ap);
	return to_pointer(make_call(SYS_mremap, a));
}

static int raw_msync(void *addr, size_t len, int flags)
{
	const long a[6] = {(long)addr, (long)len, flags};

	return (int)make_call(SYS_msync, a);
}

static int raw_madvise(void *addr, size_t len, int advice)
{
	const long a[6] = {(long)addr, (long)len, advice};

	return (int)make_call(SYS_madvise, a);
}

/*
 * Some libraries overwrite the code of mmap() in libc with a jump to a hook of
 * theirs. Our wrapper has then called that hook, which calls syscall(), and the
 * wrapper records the call.
 */
static long make_map_call(long number, const long a[6])
{
	void *addr = to_pointer(a[0]);
	size_t len = (size_t)a[1];

	if (memcmp(libc_mmap, (const void *)real.mmap, sizeof(libc_mmap)))
		return make_call(number, a);
	switch (number) {
	case SYS_mmap:
		return (long)shim_mmap(raw_mmap, addr, len, (int)a[2],
				       (int)a[3], (int)a[4], a[5]);
	case SYS_munmap:
		return shim_munmap(raw_munmap, addr, len);
	case SYS_mremap:
		return (long)shim_mremap(raw_mremap, addr, len, (size_t)a[2],
					 (int)a[3], to_pointer(a[4]));
	case SYS_msync:
		return shim_msync(raw_msync, addr, len, (int)a[2]);
	default:
		return shim_madvise(raw_madvise, addr, len, (int)a[2]);
	}
}

static long make_async_call(long number, const long a[6])
{
	uint64_t start = shim_async_before(number, a);
	long r = make_call(number, a);

	if (start)
		shim_async_after(number, a, start, shim_clock(), r,
				 r < 0 ? errno : 0);
	return r;
}

static long make_seccomp_call(long number, const long a[6])
{
	bool sets = number == SYS_prctl ? a[0] == PR_SET_SECCOMP
					: a[0] <= SECCOMP_SET_MODE_FILTER;
	/* The modes of prctl() are greater by one. */
	bool strict = number == SYS_prctl ? a[1] == SECCOMP_MODE_STRICT
					  : a[0] == SECCOMP_SET_MODE_STRICT;
	enum reel_counter noted = 0;
	long r;

	if (sets)
		noted = shim_seccomp_begin(strict ? NULL : to_pointer(a[2]));
	r = make_call(number, a);
	shim_seccomp_end(noted, r < 0);
	return r;
}

__attribute__((used)) long shim_syscall(long number, long a, long b, long c,
					long d, long e, long f)
{
	const long args[6] = {a, b, c, d, e, f};
	struct shim_event ev = {SHIM_EVENT_NONE};
	const struct row *row;
	uint64_t start, end;
	long r;

	if (number < 0 || number >= ROWS || !shim_hot.on || shim_vfork_child())
		return make_call(number, args);
	row = &shim_syscall_row[number];
	if (!row->call)
		return make_call(number, args);
	if (row->how == MAP)
		return make_map_call(number, args);
	if (row->how == ASYNC)
		return make_async_call(number, args);
	if (row->how == SECCOMP)
		return make_seccomp_call(number, args);
	fill_event(&ev, row, args);
	if (row->how == CLOSE)
		ev.desc = shim_fd_take((int)a);
	else if (row->fd)
		ev.desc = shim_fd((int)args[row->fd - 1]);
	if (row->how == CLOSE_RANGE && shim_counting && !c)
		shim_fd_name((unsigned int)a, (unsigned int)b);
	if (row->how == COPY)
		shim_fd((int)ev.arg2); /* identify it before the copy */
	start = shim_clock();
	r = make_call(number, args);
	end = shim_clock();
	record_call(&ev, number, args, start, end, r);
	return r;
}

#if defined(__x86_64__)
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq shim_syscall_real(%rip), %r11\n"
	"	testq %r11, %r11\n"
	"	je shim_syscall\n"
	"	cmpq $512, %rdi\n"
	"	jae 1f\n"
	"	movq %rdi, %rax\n"
	"	shlq $4, %rax\n"
	"	leaq shim_syscall_row(%rip), %r10\n"
	"	cmpb $0, (%r10, %rax)\n"
	"	jne shim_syscall\n"
	"1:	jmp *%r11\n"
	"	.cfi_endproc\n"
	".size syscall, .-syscall\n");
_Static_assert(ROWS == 512, "the assembler compares with it");
#else
EXPORT long syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return shim_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
#endif
