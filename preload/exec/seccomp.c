/* SPDX-License-Identifier: MIT */
/*
 * Two ways in which a process ends its recording: it installs a seccomp filter,
 * or it loads libraries with a C library of their own (dlmopen). A filter may
 * kill the process for a system call, and none of ours may be the cause: the
 * records are written before the filter, and none after it. With a filter that
 * only makes calls fail recording continues: failed writes are counted as lost.
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
 * Run one instruction of a filter; false: of a kind that filters hardly use.
 * The kernel has not checked the program yet: a jump may leave it. Jumps
 * backwards are impossible.
 */
static bool run_instruction(const struct sock_filter *f, uint32_t nr,
			    uint32_t *acc, uint32_t *at)
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

/* May the system call @nr have another effect than an error? */
static bool may_kill(const struct sock_fprog *p, uint32_t nr)
{
	uint32_t acc = 0, action;

	for (uint32_t at = 0; at < p->len; at++) {
		const struct sock_filter *f = &p->filter[at];

		if (f->code == (BPF_RET | BPF_K)) {
			action = f->k & SECCOMP_RET_ACTION_FULL;
			return action != SECCOMP_RET_ALLOW &&
			       action != SECCOMP_RET_LOG &&
			       action != SECCOMP_RET_ERRNO;
		}
		if (!run_instruction(f, nr, &acc, &at))
			return true;
	}
	return true;
}

/* Might the filter kill the process for a system call of the shim? */
static bool is_lethal(const struct sock_fprog *p)
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
		if (may_kill(p, nr[i]))
			return true;
	return false;
}

enum reel_counter shim_seccomp_begin(const void *filter)
{
	shim_private_fds_forbid();
	if (!shim_hot.on || shim_vfork_child() || !is_lethal(filter))
		return 0;
	shim_features_finish(SHIM_ENDING_CONFINED);
	shim_untraced(REEL_UNTRACED_SECCOMP, "/proc/self/exe");
	if (shim_process_ready()) {
		shim_flush_all();
		shim_write_head();
	}
	return REEL_UNTRACED_SECCOMP;
}

void shim_seccomp_end(enum reel_counter noted, bool failed)
{
	if (failed)
		shim_exec_undo(noted);
	else if (noted)
		shim_hot.on = 0;
}

EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d);
EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d)
{
	bool strict = a == SECCOMP_MODE_STRICT;
	enum reel_counter noted = 0;
	int r;

	NEED(prctl);
	if (option == PR_SET_SECCOMP)
		noted = shim_seccomp_begin(strict ? NULL : (const void *)b);
	r = real.prctl(option, a, b, c, d);
	shim_seccomp_end(noted, r < 0);
	return r;
}

/* glibc's struct r_debug_extended, since 2.35. */
struct link_namespace {
	struct r_debug debug;
	const struct link_namespace *next;
};

/* The loader's own list: _r_debug may be a copy of its first part. */
static const struct link_namespace *first_namespace(void)
{
	const ElfW(Dyn) * d;

	if (!&_r_debug || !_r_debug.r_map)
		return NULL;
	for (d = _r_debug.r_map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG && d->d_un.d_ptr)
			return (const void *)d->d_un.d_ptr;
	return NULL;
}

void shim_note_namespaces(void)
{
	const struct link_namespace *s = first_namespace();

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
