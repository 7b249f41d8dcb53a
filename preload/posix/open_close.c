/* SPDX-License-Identifier: MIT */
/*
 * Calls that make, copy or close a descriptor, or change the working directory.
 *
 * close() takes the descriptor out of the table before the real call: once that
 * returns, another thread may own the number. A vfork child shares the memory
 * but not the descriptors of its parent: its calls are passed on unrecorded.
 */
#include <stdarg.h>
#include <string.h>

#include "schemas/replay_open.h"
#include "schemas/syscall.h"

#include "preload/core/counters.h"
#include "preload/core/dir.h"
#include "preload/core/path_record.h"
#include "preload/core/symbols.h"
#include "preload/core/tmp_rename.h"
#include "preload/core/window.h"
#include "preload/core/wrap.h"
#include "preload/posix/calls.h"

/* The bodies of wrappers while recording (PASS_OR()), placed near their
 * records. */
#define RECORDING static PLACED("name.2") __attribute__((noinline, aligned(64)))
#define RECORDING_AT                                                           \
	static PLACED("open.2") __attribute__((noinline, aligned(64)))

#define ENTRY FAST PLACED("open.3")

/* Record an open that shim_record_open() refused. */
static __attribute__((noinline)) void
record_slow_open(uint32_t call, int at, const char *path, int flags,
		 mode_t mode, uint64_t start, uint64_t end, int fd)
{
	struct shim_event ev = {SHIM_EVENT_NONE};

	ev.call = call;
	ev.at = at;
	ev.path = path;
	ev.arg = flags;
	if (SHIM_WITH_MODE(flags))
		ev.arg2 = mode;
	shim_opened(&ev, start, end, fd);
}

#define OPEN_BODY(fn, args, call_, at_, path_, flags_, mode_)                  \
	struct shim_thread *self;                                              \
	uint64_t start, end;                                                   \
	int fd;                                                                \
                                                                               \
	PASS_IF_OFF(fn, args);                                                 \
	if (likely(shim_hot_clock() && !shim_vforked())) {                     \
		self = shim_self();                                            \
		start = shim_ticks();                                          \
		fd = real.fn args;                                             \
		end = shim_ticks();                                            \
		if (likely((at_) == AT_FDCWD &&                                \
			   shim_record_open(self,                              \
					    SHIM_CALL_FLAGS(call_, flags_),    \
					    path_, fd, start, end)))           \
			return fd;                                             \
	} else {                                                               \
		NEED(fn);                                                      \
		if (!shim_hot.on || shim_vfork_child())                        \
			return real.fn args;                                   \
		TIMED(fd = real.fn args);                                      \
	}                                                                      \
	record_slow_open(call_, at_, path_, flags_, mode_, start, end, fd);    \
	return fd

/*
 * The mode is a variable argument, and may be absent: to pass on its register
 * does no harm. As a plain third parameter it costs less than va_arg(), but
 * then the C name must differ from that of open().
 */
#define OPEN(fn)                                                               \
	RECORDING int on_##fn(const char *path, int flags, mode_t mode)        \
	{                                                                      \
		OPEN_BODY(fn, (path, flags, mode), CALL_OPEN, AT_FDCWD, path,  \
			  flags, mode);                                        \
	}                                                                      \
	ENTRY int named_##fn(const char *path, int flags,                      \
			     mode_t mode) __asm__(#fn);                        \
	ENTRY int named_##fn(const char *path, int flags, mode_t mode)         \
	{                                                                      \
		PASS_OR(on_##fn, fn, (path, flags, mode));                     \
	}
#define OPENAT(fn)                                                             \
	RECORDING_AT int on_##fn(int at, const char *path, int flags,          \
				 mode_t mode)                                  \
	{                                                                      \
		OPEN_BODY(fn, (at, path, flags, mode), CALL_OPENAT, at, path,  \
			  flags, mode);                                        \
	}                                                                      \
	ENTRY int named_##fn(int at, const char *path, int flags,              \
			     mode_t mode) __asm__(#fn);                        \
	ENTRY int named_##fn(int at, const char *path, int flags, mode_t mode) \
	{                                                                      \
		PASS_OR(on_##fn, fn, (at, path, flags, mode));                 \
	}
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define OPEN_2(fn)                                                             \
	FAST int fn(const char *path, int flags)                               \
	{                                                                      \
		OPEN_BODY(fn, (path, flags), CALL_OPEN, AT_FDCWD, path, flags, \
			  0);                                                  \
	}
#define OPENAT_2(fn)                                                           \
	FAST int fn(int at, const char *path, int flags)                       \
	{                                                                      \
		OPEN_BODY(fn, (at, path, flags), CALL_OPENAT, at, path, flags, \
			  0);                                                  \
	}
OPEN_2(__open_2)
OPEN_2(__open64_2)
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

#define CREAT(fn)                                                              \
	FAST int fn(const char *path, mode_t mode)                             \
	{                                                                      \
		OPEN_BODY(fn, (path, mode), CALL_CREAT, AT_FDCWD, path,        \
			  O_WRONLY | O_CREAT | O_TRUNC, mode);                 \
	}
CREAT(creat)
CREAT(creat64)

#define MKSTEMP(fn, params, args, flags_)                                      \
	EXPORT int fn params                                                   \
	{                                                                      \
		OPEN_BODY(fn, args, CALL_MKSTEMP, AT_FDCWD, tmpl,              \
			  O_RDWR | O_CREAT | O_EXCL | (flags_), 0600);         \
	}
MKSTEMP(mkstemp, (char *tmpl), (tmpl), 0)
MKSTEMP(mkstemp64, (char *tmpl), (tmpl), 0)
MKSTEMP(mkostemp, (char *tmpl, int flags), (tmpl, flags), flags)
MKSTEMP(mkostemp64, (char *tmpl, int flags), (tmpl, flags), flags)
MKSTEMP(mkstemps, (char *tmpl, int suffix), (tmpl, suffix), 0)
MKSTEMP(mkstemps64, (char *tmpl, int suffix), (tmpl, suffix), 0)
MKSTEMP(mkostemps, (char *tmpl, int suffix, int flags), (tmpl, suffix, flags),
	flags)
MKSTEMP(mkostemps64, (char *tmpl, int suffix, int flags), (tmpl, suffix, flags),
	flags)

EXPORT int ioreel_open_as(uint32_t call, const char *path, int flags,
			  mode_t mode)
{
	OPEN_BODY(open, (path, flags, mode), call, AT_FDCWD, path, flags, mode);
}

EXPORT char *mkdtemp(char *tmpl)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_MKDIR};
	uint64_t start, end;
	char *r;

	PASS_WHEN(!shim_hot.on, mkdtemp, (tmpl));
	TIMED(r = real.mkdtemp(tmpl));
	ev.path = tmpl;
	ev.arg = 0700;
	shim_record_path(&ev, start, end, r ? 0 : -1, r ? 0 : errno);
	return r;
}

static __attribute__((noinline)) int any_close(int fd)
{
	uint64_t start, end;
	uint32_t entry;
	int r;

	PASS_WHEN(!shim_hot.on || shim_vfork_child(), close, (fd));
	entry = shim_fd_take(fd);
	if (!shim_is_desc(entry)) {
		if (shim_is_counted(entry))
			shim_count(REEL_CODE_CALLS, 1);
		/* EBADF is not recorded: daemons close a million numbers. */
		return real.close(fd);
	}
	if (shim_hot.tmp_files)
		shim_tmp_closing(fd, entry);
	TIMED(r = real.close(fd));
	shim_record_io(CALL_CLOSE, entry, NONE, NONE, start, end, r,
		       SHIM_ERRNO);
	return r;
}

RECORDING int on_close(int fd)
{
	uint64_t start, end;
	uint32_t entry;
	int r;

	if (unlikely(!shim_hot_clock() || shim_vforked()))
		return any_close(fd);
	entry = shim_fd_entry(fd);
	if (unlikely(!shim_is_desc(entry) || shim_hot.tmp_files))
		return any_close(fd);
	shim_fd_leave(fd);
	start = shim_ticks();
	r = real.close(fd);
	end = shim_ticks();
	shim_record_io(CALL_CLOSE, entry, NONE, NONE, start, end, r,
		       SHIM_ERRNO);
	return r;
}

ENTRY int close(int fd)
{
	PASS_OR(on_close, close, (fd));
}

void shim_record_close_range(unsigned int first, unsigned int last,
			     uint64_t start)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_CLOSE};
	uint64_t end = shim_clock();

	if (last >= SHIM_FDS)
		last = SHIM_FDS - 1;
	if (last > shim_hot.fd_high)
		last = shim_hot.fd_high;
	for (unsigned int fd = first; fd <= last; fd++) {
		ev.desc = shim_fd_take((int)fd);
		if (shim_is_desc(ev.desc))
			shim_record_full(&ev, start, end, 0, 0);
	}
}

EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	uint64_t start;
	int r;

	PASS_WHEN(!shim_hot.on || shim_vfork_child() || flags, close_range,
		  (first, last, flags));
	if (unlikely(shim_counting))
		shim_fd_name(first, last);
	start = shim_clock();
	r = real.close_range(first, last, flags);
	if (!r)
		shim_record_close_range(first, last, start);
	return r;
}

EXPORT void closefrom(int first)
{
	uint64_t start;

	NEED(closefrom);
	if (unlikely(!shim_hot.on || shim_vfork_child())) {
		real.closefrom(first);
		return;
	}
	if (unlikely(shim_counting))
		shim_fd_name(first < 0 ? 0 : (unsigned int)first, ~0u);
	start = shim_clock();
	real.closefrom(first);
	shim_record_close_range(first < 0 ? 0 : (unsigned int)first, ~0u,
				start);
}

void shim_record_dup(struct shim_event *ev, int fd, uint32_t entry,
		     uint64_t start, uint64_t end, int to)
{
	int err = to < 0 ? errno : 0;

	if (shim_is_desc(entry)) {
		ev->desc = entry;
		if (to >= 0) {
			ev->newdesc = shim_desc_new(to);
			ev->newfd = to;
		}
		shim_record_full(ev, start, end, to, err);
	} else if (to >= 0) {
		shim_fd_set(to, entry == SHIM_FD_DIR ? SHIM_FD_CODE : entry);
	}
	if (to >= 0 && (entry == SHIM_FD_DIR || unlikely(shim_dir_whole())))
		shim_dir_dupped(fd, entry, to);
}

EXPORT int dup(int fd)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_DUP};
	uint64_t start, end;
	uint32_t entry;
	int r;

	PASS_WHEN(!shim_hot.on || shim_vfork_child(), dup, (fd));
	entry = shim_fd(fd);
	TIMED(r = real.dup(fd));
	shim_record_dup(&ev, fd, entry, start, end, r);
	return r;
}

#define DUP_ONTO(fn, params, args, call_, flags_)                              \
	EXPORT int fn params                                                   \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE, .call = call_,        \
					.arg2 = to};                           \
		uint64_t start, end;                                           \
		uint32_t entry;                                                \
		int r;                                                         \
                                                                               \
		PASS_WHEN(!shim_hot.on || shim_vfork_child(), fn, args);       \
		entry = shim_fd(fd);                                           \
		TIMED(r = real.fn args);                                       \
		ev.arg = flags_;                                               \
		if (r != fd)                                                   \
			shim_record_dup(&ev, fd, entry, start, end, r);        \
		return r;                                                      \
	}
FIELDS_MAY_REPEAT
DUP_ONTO(dup2, (int fd, int to), (fd, to), CALL_DUP2, 0)
DUP_ONTO(dup3, (int fd, int to, int flags), (fd, to, flags), CALL_DUP3, flags)

void shim_record_fcntl(struct shim_event *ev, int fd, uint32_t entry, long arg,
		       uint64_t start, uint64_t end, int result)
{
	if (ev->arg == F_DUPFD || ev->arg == F_DUPFD_CLOEXEC) {
		ev->arg2 = (int)arg;
		shim_record_dup(ev, fd, entry, start, end, result);
	} else if (shim_is_desc(entry)) {
		if (ev->arg == F_SETFL || ev->arg == F_SETFD)
			ev->arg2 = (int)arg;
		ev->desc = entry;
		shim_record_full(ev, start, end, result,
				 result < 0 ? errno : 0);
	}
}

/* The argument is a number, a pointer or absent: its register is passed on. */
#define FCNTL(fn)                                                              \
	EXPORT int fn(int fd, int cmd, ...)                                    \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_FCNTL,   \
					.arg = cmd};                           \
		uint64_t start, end;                                           \
		uint32_t entry;                                                \
		void *arg;                                                     \
		va_list ap;                                                    \
		int r;                                                         \
                                                                               \
		va_start(ap, cmd);                                             \
		arg = va_arg(ap, void *);                                      \
		va_end(ap);                                                    \
		PASS_WHEN(!shim_hot.on || shim_vfork_child(), fn,              \
			  (fd, cmd, arg));                                     \
		entry = shim_fd(fd);                                           \
		TIMED(r = real.fn(fd, cmd, arg));                              \
		shim_record_fcntl(&ev, fd, entry, (intptr_t)arg, start, end,   \
				  r);                                          \
		return r;                                                      \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

void shim_record_chdir(struct shim_event *ev, int fd, uint64_t start,
		       uint64_t end, int r)
{
	int err = r < 0 ? errno : 0;

	shim_name_as(ev);
	if (err == EFAULT || err == ENAMETOOLONG)
		ev->path = NULL;
	if (fd == NOFD || shim_is_desc(ev->desc))
		shim_record_full(ev, start, end, r, err);
	else
		shim_unrecorded(fd, ev->desc, ev->call, r);
	if (r < 0)
		return;
	shim_cwd_changed();
	*ev = (struct shim_event){SHIM_EVENT_NONE, .call = MARK_CWD,
				  .path = shim.cwd};
	shim_record_full(ev, end, end, 0, 0);
}

EXPORT int chdir(const char *path)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_CHDIR,
				.path = path};
	uint64_t start, end;
	int r;

	PASS_WHEN(!shim_hot.on || shim_vfork_child(), chdir, (path));
	shim_process_ready(); /* its head needs the first directory */
	TIMED(r = real.chdir(path));
	shim_record_chdir(&ev, NOFD, start, end, r);
	return r;
}

EXPORT int fchdir(int fd)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_FCHDIR};
	uint64_t start, end;
	int r;

	PASS_WHEN(!shim_hot.on || shim_vfork_child(), fchdir, (fd));
	ev.desc = shim_fd(fd);
	shim_process_ready(); /* its head needs the first directory */
	TIMED(r = real.fchdir(fd));
	shim_record_chdir(&ev, fd, start, end, r);
	return r;
}

EXPORT void sync(void)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_SYNC};
	uint64_t start;

	NEED(sync);
	start = shim_clock();
	real.sync();
	if (shim_hot.on)
		shim_record_full(&ev, start, shim_clock(), 0, 0);
}

/*
 * vfork() returns twice into its caller, so its wrapper leaves no frame: it
 * marks the thread, whose memory the child shares, and jumps. While the mark is
 * set, the calls above compare their process id, until the parent makes one.
 */
void *shim_vfork_real;

COLD __attribute__((used)) void shim_vfork_mark(void);
COLD void shim_vfork_mark(void)
{
	NEED(vfork);
	shim_vfork_real = (void *)real.vfork;
	shim_tls.vforked = 1;
}

#if defined(__x86_64__)
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call shim_vfork_mark\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *shim_vfork_real(%rip)\n"
	"	.cfi_endproc\n"
	".size vfork, .-vfork\n");
#endif
