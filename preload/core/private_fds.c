/* SPDX-License-Identifier: MIT */
/*
 * Runs a function in a clone with a private fd table, so that the program never
 * sees our descriptors. The clone is made as by vfork(): it shares memory and
 * stack with the calling thread, which waits.
 *
 * With a descriptor of ours in the program's table, another thread would get a
 * number that is not the lowest, pass ours on to a forked child, or dup2() a
 * file of its own onto our number, and we would write into it. A process
 * without free descriptors can still write its trace. All signals are blocked
 * meanwhile: a handler of the program must not run in the clone, nor jump out
 * while a file is open. A child ends without SIGCHLD and is visible only to a
 * wait for clones (__WCLONE).
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

/* Are the descriptors used up, or is the size of files limited? */
static bool is_at_limit(void)
{
	long fd = raw(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
	struct limit size = {0, 0};

	if (fd == -EMFILE)
		return true;
	if (fd >= 0)
		raw(SYS_close, fd);
	raw(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &size);
	return size.soft < size.hard;
}

static void raise_limit(int which)
{
	struct limit l;

	if (raw(SYS_prlimit64, 0, which, NULL, &l))
		return;
	l.soft = l.hard;
	raw(SYS_prlimit64, 0, which, &l, NULL);
}

/* A seccomp filter may kill the process for a clone. */
static bool clones_forbidden;

void shim_private_fds_forbid(void)
{
	clones_forbidden = true;
}

/*
 * By the link count of the task folder, which is the number of threads plus
 * two: this needs no descriptor, and libc does not count threads of
 * clone(2).
 */
bool shim_has_other_threads(void)
{
	struct stat64 st;

	return raw(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) != 0 ||
	       st.st_nlink > 3;
}

/*
 * A thread with a private fd table, not a child: time and memory of a child
 * would be added to those of the program's children.
 */
#define AS_THREAD                                                              \
	(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED | CLONE_THREAD |              \
	 CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_FS | CLONE_FILES)
/* A child, which has limits of its own too. */
#define AS_CHILD (CLONE_VM | CLONE_VFORK | CLONE_UNTRACED)

struct task {
	bool (*fn)(void *);
	void *arg;
	bool done, good;
};

/* Begin with an empty table: to close copies of the program's descriptors would
 * flush files on some file systems. */
static bool unshare_fds(long how)
{
	if (!raw(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE))
		return true;
	return !(how & CLONE_FILES);
}

/* Never returns in the clone, because the stack frame is the caller's. */
static __attribute__((noinline)) long run_clone(long how,
						volatile struct task *t)
{
	long pid = raw(SYS_clone, how, 0, 0, 0, 0, 0);

	if (pid)
		return pid;
	if (unshare_fds(how)) {
		if (how == AS_CHILD) {
			raise_limit(RLIMIT_NOFILE);
			raise_limit(RLIMIT_FSIZE);
		}
		t->good = t->fn(t->arg);
		t->done = true;
	}
	for (;;)
		raw(SYS_exit, 0);
}

void shim_signals_hold(struct shim_held *before)
{
	uint64_t most = ~(1ull << (SIGSYS - 1));

	before->selector = shim_selector;
	shim_selector = SHIM_DISPATCH_ALLOW;
	raw(SYS_rt_sigprocmask, SIG_SETMASK, &most, &before->signals, 8);
}

void shim_signals_release(const struct shim_held *before)
{
	raw(SYS_rt_sigprocmask, SIG_SETMASK, &before->signals, NULL, 8);
	shim_selector = before->selector;
}

bool shim_run_private_fds(bool (*fn)(void *), void *arg)
{
	/* The vfork of valgrind shares no memory. */
	bool may_clone = !clones_forbidden && !shim.strict;
	volatile struct task t = {fn, arg, false, false};
	struct shim_held before;
	long pid;

	shim_signals_hold(&before);
	if (may_clone && shim_has_other_threads())
		run_clone(AS_THREAD, &t);
	if (!t.done)
		t.good = fn(arg);
	if (!t.good && may_clone && is_at_limit()) {
		pid = run_clone(AS_CHILD, &t);
		if (pid > 0)
			raw(SYS_wait4, pid, NULL, __WCLONE, NULL);
	}
	shim_signals_release(&before);
	return t.good;
}
