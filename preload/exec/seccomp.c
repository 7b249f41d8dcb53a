/* SPDX-License-Identifier: MIT */
/*
 * What a process does that ends our sight of it: it forbids itself system calls
 * (seccomp), or loads libraries with a C library of their own (dlmopen). A
 * forbidden call may kill, and none of ours may be what kills the program: what
 * is recorded is written before, and nothing is done any more after. A filter
 * that only lets calls fail may stay: what cannot be written is lost, counted.
 */
#include "preload/exec/seccomp.h"

#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "schemas/syscall.h"

#include "preload/core/features.h"
#include "preload/core/memory.h"
#include "preload/core/private_fds.h"
#include "preload/core/symbols.h"
#include "preload/core/window.h"
#include "preload/exec/traceable.h"

#define SPACES_MOST 16

#pragma weak _r_debug

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

/*
 * One step of a filter's program; false: of a kind that filters hardly use. The
 * kernel has not looked at it yet: it may lead anywhere, but never back.
 */
static bool step(const struct sock_filter *f, uint32_t nr, uint32_t *acc,
		 uint32_t *at)
{
	bool yes;

	switch (f->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		*acc = f->k == offsetof(struct seccomp_data, nr) ? nr
		       : f->k == offsetof(struct seccomp_data, arch)
			       ? ARCH
			       : 0; /* arguments */
		return true;
	case BPF_ALU | BPF_AND | BPF_K:
		*acc &= f->k;
		return true;
	case BPF_JMP | BPF_JA:
		if (f->k > BPF_MAXINSNS)
			return false;
		*at += f->k;
		return true;
	case BPF_JMP | BPF_JEQ | BPF_K:
		yes = *acc == f->k;
		break;
	case BPF_JMP | BPF_JGT | BPF_K:
		yes = *acc > f->k;
		break;
	case BPF_JMP | BPF_JGE | BPF_K:
		yes = *acc >= f->k;
		break;
	case BPF_JMP | BPF_JSET | BPF_K:
		yes = *acc & f->k;
		break;
	default:
		return false;
	}
	*at += yes ? f->jt : f->jf;
	return true;
}

/* May the system call @nr go wrong otherwise than by an error? */
static bool kills(const struct sock_fprog *p, uint32_t nr)
{
	uint32_t acc = 0, what;

	for (uint32_t at = 0; at < p->len; at++) {
		const struct sock_filter *f = &p->filter[at];

		if (f->code == (BPF_RET | BPF_K)) {
			what = f->k & SECCOMP_RET_ACTION_FULL;
			return what != SECCOMP_RET_ALLOW &&
			       what != SECCOMP_RET_LOG &&
			       what != SECCOMP_RET_ERRNO;
		}
		if (!step(f, nr, &acc, &at))
			return true;
	}
	return true;
}

/* What is called here in a process that has begun to record. */
static bool lethal(const struct sock_fprog *p)
{
	static const uint16_t nr[] = {
		SYS_openat,	    SYS_close,	       SYS_read,
		SYS_write,	    SYS_pwrite64,      SYS_lseek,
		SYS_fstat,	    SYS_fstatfs,       SYS_fchmod,
		SYS_fcntl,	    SYS_readlinkat,    SYS_getcwd,
		SYS_fallocate,	    SYS_mmap,	       SYS_munmap,
		SYS_madvise,	    SYS_gettid,	       SYS_getpid,
		SYS_tgkill,	    SYS_prlimit64,     SYS_unlinkat,
		SYS_futex,	    SYS_geteuid,       SYS_process_vm_readv,
		SYS_rt_sigprocmask, SYS_clock_gettime, SYS_getrusage,
		SYS_faccessat,	    SYS_sigaltstack,
	};

	if (!p || !shim_readable(p, sizeof(*p)) ||
	    !shim_readable(p->filter, p->len * sizeof(*p->filter)))
		return true;
	for (size_t i = 0; i < sizeof(nr) / sizeof(nr[0]); i++)
		if (kills(p, nr[i]))
			return true;
	return false;
}

enum reel_counter shim_confining(const void *filter)
{
	shim_private_fds_forbid();
	if (!shim_hot.on || shim_vfork_child() || !lethal(filter))
		return 0;
	shim_features_finish(SHIM_ENDING_CONFINED);
	shim_untraced(REEL_UNTRACED_SECCOMP, "/proc/self/exe");
	if (shim_process_ready()) {
		shim_flush_all();
		shim_write_head();
	}
	return REEL_UNTRACED_SECCOMP;
}

void shim_confined(enum reel_counter noted, bool failed)
{
	if (failed)
		shim_exec_undo(noted);
	else if (noted)
		shim_hot.on = 0;
}

EXPORT int prctl(int what, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d);
EXPORT int prctl(int what, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d)
{
	bool strict = a == SECCOMP_MODE_STRICT;
	enum reel_counter noted = 0;
	int r;

	NEED(prctl);
	if (what == PR_SET_SECCOMP)
		noted = shim_confining(strict ? NULL : (const void *)b);
	r = real.prctl(what, a, b, c, d);
	shim_confined(noted, r < 0);
	return r;
}

/* glibc's struct r_debug_extended, since 2.35. */
struct space {
	struct r_debug debug;
	const struct space *next;
};

/* The loader's own: the program may have a copy, and of the first part only. */
static const struct space *first_space(void)
{
	const ElfW(Dyn) * d;

	if (!&_r_debug || !_r_debug.r_map)
		return NULL;
	for (d = _r_debug.r_map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG && d->d_un.d_ptr)
			return (const void *)d->d_un.d_ptr;
	return NULL;
}

void shim_other_spaces(void)
{
	const struct space *s = first_space();

	if (!s || s->debug.r_version < 2 || shim_vfork_child())
		return;
	for (int i = 0; (s = s->next) && i < SPACES_MOST; i++) {
		const struct link_map *m = s->debug.r_map;

		while (m && !*m->l_name)
			m = m->l_next;
		if (m)
			shim_untraced(REEL_UNTRACED_NAMESPACE, m->l_name);
	}
}
