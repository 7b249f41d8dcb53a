/* SPDX-License-Identifier: MIT */
/*
 * A thread or a child for a moment, as vfork makes it: it shares memory and
 * stack with the thread, which waits, and has descriptors of its own. So a
 * trace can be written by a process that has used up its descriptors, and no
 * other thread meets one of ours: it would get another number than the lowest,
 * leave ours to a child that it forks, or put a file of its own under our
 * number with dup2(), into which we would write. All signals are blocked
 * meanwhile: the program's handlers must not run there, nor jump out of what
 * has a file open. A child ends without SIGCHLD, and only a wait for clones
 * sees it.
 */
#include "preload/core/private_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "schemas/syscall.h"

#include "preload/core/shim.h"
#include "preload/core/types.h"

_Thread_local volatile char shim_selector;

struct limit {
	uint64_t soft, hard;
};

static bool cramped(void)
{
	long fd = raw4(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
	struct limit size = {0, 0};

	if (fd == -EMFILE)
		return true;
	if (fd >= 0)
		raw1(SYS_close, fd);
	raw4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &size);
	return size.soft < size.hard;
}

static void raise_limit(int which)
{
	struct limit l;

	if (raw4(SYS_prlimit64, 0, which, NULL, &l))
		return;
	l.soft = l.hard;
	raw4(SYS_prlimit64, 0, which, &l, NULL);
}

/* A filter may kill for these calls; valgrind's vfork shares no memory. */
static bool forbidden;

void shim_private_fds_forbid(void)
{
	forbidden = true;
}

/* By the links of its folder, two more than threads: that needs no descriptor,
 * and no libc knows of threads that clone(2) made. */
bool shim_has_other_threads(void)
{
	struct stat64 st;

	return raw4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) != 0 ||
	       st.st_nlink > 3;
}

/*
 * A thread with a table of its own: no child, whose time and memory would be
 * added to those of the program's children.
 */
#define AS_THREAD                                                              \
	(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED | CLONE_THREAD |              \
	 CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_FS | CLONE_FILES)
/* Limits of its own, too. */
#define AS_CHILD (CLONE_VM | CLONE_VFORK | CLONE_UNTRACED)

struct task {
	bool (*fn)(void *);
	void *arg;
	bool done, good;
};

/* An empty table: none of the program's files is closed once more, which on
 * some file systems writes it. */
static bool leave_table(long how)
{
	if (!raw3(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE))
		return true;
	return !(how & CLONE_FILES);
}

/* In the new one this never returns: the frame stays the old one's. */
static __attribute__((noinline)) long branch(long how, volatile struct task *t)
{
	long pid = raw6(SYS_clone, how, 0, 0, 0, 0, 0);

	if (pid)
		return pid;
	if (leave_table(how)) {
		if (how == AS_CHILD) {
			raise_limit(RLIMIT_NOFILE);
			raise_limit(RLIMIT_FSIZE);
		}
		t->good = t->fn(t->arg);
		t->done = true;
	}
	for (;;)
		raw1(SYS_exit, 0);
}

void shim_signals_hold(struct shim_held *before)
{
	uint64_t most = ~(1ull << (SIGSYS - 1));

	before->selector = shim_selector;
	shim_selector = SHIM_DISPATCH_ALLOW;
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &most, &before->signals, 8);
}

void shim_signals_release(const struct shim_held *before)
{
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &before->signals, NULL, 8);
	shim_selector = before->selector;
}

bool shim_run_private_fds(bool (*fn)(void *), void *arg)
{
	bool apart = !forbidden && !shim.strict;
	volatile struct task t = {fn, arg, false, false};
	struct shim_held before;
	long pid;

	shim_signals_hold(&before);
	if (apart && shim_has_other_threads())
		branch(AS_THREAD, &t);
	if (!t.done)
		t.good = fn(arg);
	if (!t.good && apart && cramped()) {
		pid = branch(AS_CHILD, &t);
		if (pid > 0)
			raw4(SYS_wait4, pid, NULL, __WCLONE, NULL);
	}
	shim_signals_release(&before);
	return t.good;
}
