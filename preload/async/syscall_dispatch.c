/* SPDX-License-Identifier: MIT */
/*
 * IOREEL_COMPLETE=1: io_uring_enter() by an instruction of the program's own.
 *
 * The kernel's syscall user dispatch turns each system call of a thread from
 * outside libc into SIGSYS, whose handler makes the call and reads the rings
 * before and after. It is armed in a thread that sets up a ring, and costs
 * about 1 us for each such call; libc's own calls cost nothing. The one thing
 * to know: while the handler runs, the thread's selector allows every call; a
 * call that cannot be made from a handler ends the dispatch in its thread.
 */
#include <link.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "schemas/syscall.h"

#include "preload/async/operations.h"
#include "preload/core/private_fds.h"
#include "preload/core/symbols.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif
#define USER_DISPATCH 2 /* si_code */

#if defined(__x86_64__)

static int wanted;
static struct {
	uintptr_t from, len;
} libc_text;

/* Calls that do not return to the handler, or that refer to its frame. */
static bool ends_dispatch(long nr, const long a[6])
{
	switch (nr) {
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
	case SYS_rt_sigreturn:
	case SYS_sigaltstack:
		return true;
	case SYS_rt_sigprocmask:
		return (unsigned long)a[0] < 3;
	}
	return false;
}

static long make_call(long nr, const long a[6])
{
	uint64_t start = nr == SYS_io_uring_enter && shim_hot.on
				 ? shim_async_before(nr, a)
				 : 0;
	long r = raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);

	if (start)
		shim_async_after(nr, a, start, shim_clock(), r,
				 r < 0 ? (int)-r : 0);
	return r;
}

static void on_sigsys(int sig, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
	long nr = reg[REG_RAX];
	const long a[6] = {reg[REG_RDI], reg[REG_RSI], reg[REG_RDX],
			   reg[REG_R10], reg[REG_R8],  reg[REG_R9]};

	shim_selector = SHIM_DISPATCH_ALLOW;
	if (info->si_code != USER_DISPATCH)
		return;
	if (ends_dispatch(nr, a)) {
		reg[REG_RIP] -= 2; /* make the call again, without dispatch */
		return;
	}
	reg[REG_RAX] = make_call(nr, a);
	shim_selector = SHIM_DISPATCH_BLOCK;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t inside = (uintptr_t)arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
		    inside < at || inside - at >= p->p_memsz)
			continue;
		libc_text.from = at;
		libc_text.len = p->p_memsz;
		return 1;
	}
	return 0;
}

void shim_dispatch_arm(void)
{
	struct sigaction old, ours = {.sa_flags = SA_SIGINFO | SA_RESTART};
	int saved = errno;

	if (likely(!wanted) || !libc_text.len ||
	    shim_selector == SHIM_DISPATCH_BLOCK)
		return;
	ours.sa_sigaction = on_sigsys;
	if (sigaction(SIGSYS, NULL, &old) ||
	    (old.sa_sigaction != on_sigsys && old.sa_handler != SIG_DFL))
		goto out; /* the program's own */
	if (sigaction(SIGSYS, &ours, NULL))
		goto out;
	shim_selector = SHIM_DISPATCH_ALLOW;
	if (raw(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON,
		(long)libc_text.from, (long)libc_text.len, (long)&shim_selector,
		0) == 0)
		shim_selector = SHIM_DISPATCH_BLOCK;
out:
	errno = saved;
}

void shim_dispatch_ask(char **env)
{
	for (; *env; env++)
		if (!strcmp(*env, "IOREEL_COMPLETE=1"))
			wanted = 1;
	if (wanted)
		dl_iterate_phdr(find_libc, (void *)(uintptr_t)sigaction);
}

#else

void shim_dispatch_arm(void)
{
}

void shim_dispatch_ask(char **env)
{
	(void)env;
}

#endif
