/* SPDX-License-Identifier: MIT */
/*
 * A child for a moment, as vfork makes it: it shares memory and stack with the
 * thread, which waits, and has descriptors and limits of its own. So a trace
 * can be written by a process that has used up its descriptors, and none of
 * them is held or moved. All signals are blocked meanwhile: the program's
 * handlers must not run in the child. It ends without SIGCHLD, and only a wait
 * for clones sees it.
 */
#include "preload/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "preload/raw.h"

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

/* In the child this never returns: the frame stays the parent's. */
static __attribute__((noinline)) long branch(bool (*fn)(void *), void *arg,
					     volatile bool *good)
{
	long pid = raw6(SYS_clone, CLONE_VM | CLONE_VFORK, 0, 0, 0, 0, 0);

	if (pid)
		return pid;
	if (raw3(SYS_close_range, 0, ~0u, 0)) /* its own */
		for (int fd = 0; fd < 8; fd++)
			raw1(SYS_close, fd);
	raise_limit(RLIMIT_NOFILE);
	raise_limit(RLIMIT_FSIZE);
	*good = fn(arg);
	for (;;)
		raw1(SYS_exit, 0);
}

bool shim_apart(bool (*fn)(void *), void *arg)
{
	uint64_t all = ~0ull, before = 0;
	volatile bool good = false;
	long pid;

	if (!cramped())
		return false;
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
	pid = branch(fn, arg, &good);
	if (pid > 0)
		raw4(SYS_wait4, pid, NULL, __WCLONE, NULL);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
	return pid > 0 && good;
}
