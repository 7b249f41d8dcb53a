/* SPDX-License-Identifier: MIT */
/*
 * The life of a process. preload/main.c decides whether to record; the first
 * event makes the log and the window, fork starts over, the end flushes.
 *
 * The start maps memory and makes no file, so that a process that does no I/O
 * costs nothing. It leaves errno and the environment alone.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "schemas/syscall.h"

#include "preload/core/budget.h"
#include "preload/core/counters.h"
#include "preload/core/encode.h"
#include "preload/core/features.h"
#include "preload/core/private_fds.h"
#include "preload/core/symbols.h"
#include "preload/core/window.h"

struct shim_state shim = {.next_desc = SHIM_DESC_FIRST};
struct shim_thread shim_no_thread;
_Thread_local struct shim_tls shim_tls = {.thread = &shim_no_thread};

/*
 * LEAVING: the blocks of all threads are being written, and no slot is given
 * out; LEFT: they are written.
 */
enum { FRESH = 0, STARTING, READY, FAILED, LEAVING, LEFT };

/* The state of the process. A fork wipes it: the child is FRESH. */
struct process {
	uint32_t state;
	uint32_t busy_tid; /* the thread that is STARTING or LEAVING */
	uint32_t has_uid;  /* shim.uid is the process's own, not its parent's */
} __attribute__((aligned(64)));

static struct arena {
	struct process process;
	struct shim_thread thread[SHIM_THREADS];
} * arena;

int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);
/*
 * Weak, because another C library may lack them: musl refuses to start a
 * program whose preloaded library needs a symbol that does not exist.
 */
int __cxa_at_quick_exit(void (*fn)(void *), void *dso) __attribute__((weak));
int __register_atfork(void (*prepare)(void), void (*parent)(void),
		      void (*child)(void), void *dso) __attribute__((weak));

static uint32_t process_state(void)
{
	return __atomic_load_n(&arena->process.state, __ATOMIC_ACQUIRE);
}

void shim_count(enum reel_counter which, uint64_t n)
{
	uint32_t state = process_state();
	uint64_t *at = NULL;

	if ((state == READY || state == LEAVING) && !shim.orphan)
		at = &shim.head->counter[which];
	else if (shim.counts)
		at = &shim.counts->counter[which];
	if (at)
		__atomic_fetch_add(at, n, __ATOMIC_RELAXED);
}

void shim_note_words(const char *key, const char *word, const char *value)
{
	const char *const part[] = {key, "=", word ? word : "", word ? " " : "",
				    value};
	struct shim_event ev = {SHIM_EVENT_NONE, .call = MARK_NOTE};
	char text[REEL_PATH_BYTES];
	uint64_t now = shim_clock();
	size_t at = 0;

	if (strlen(key) > 200)
		return;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		size_t n = strlen(part[i]), most = sizeof(text) - 1 - at;

		memcpy(text + at, part[i], n < most ? n : most);
		at += n < most ? n : most;
	}
	text[at] = '\0';
	ev.path = text;
	shim_record_full(&ev, now, now, 0, 0);
}

void shim_note_text(const char *key, const char *value)
{
	shim_note_words(key, NULL, value);
}

void shim_note(const char *key, uint64_t n)
{
	char text[SHIM_DECIMAL_BYTES + 1];

	text[shim_put_decimal(text, n)] = '\0';
	shim_note_text(key, text);
}

/* In the constructor already: a child may begin to record before its parent. */
static void take_uid(void)
{
	if (raw(SYS_getrandom, &shim.uid, sizeof(shim.uid), 0) !=
	    (long)sizeof(shim.uid))
		shim.uid = shim_clock() ^ (uint64_t)raw(SYS_getpid) << 40;
	shim.uid |= 1;
	arena->process.has_uid = 1;
}

static bool start_recording(void)
{
	struct shim_beginning b = {.pid = (uint32_t)raw(SYS_getpid),
				   .ppid = (uint32_t)raw(SYS_getppid)};

	if (!arena->process.has_uid) {
		b.parent_uid = shim.uid;
		take_uid();
	}
	shim.slots_base = shim.slots_high;
	if (shim.slots_base > SHIM_THREADS / 2)
		shim.slots_base = 0;
	shim.slots_high = shim.slots_base;
	shim.pid = b.pid;
	shim_cwd_changed();
	shim_budget_begin();
	shim.head = NULL;
	/* Twice: the log gets a copy of the head. */
	if (!shim_budget_window(2 * REEL_WINDOW_HEAD_BYTES, false))
		return false;
	if (!shim_run_private_fds(shim_make_files, &b)) {
		shim_budget_window_gone(0);
		return false;
	}
	shim.orphan = false;
	shim.head = b.head;
	shim.fork_ticks = 0; /* unknown for a child that a bare clone() makes */
	shim.fork_tid = 0;
	shim_counting_start();
	if (!shim_write_head())
		shim.head->counter[REEL_LOST_START]++;
	if (shim.counts)
		__atomic_fetch_add(&shim.counts->processes, 1,
				   __ATOMIC_RELAXED);
	return true;
}

#define START_WAITS 200 /* of 10 ms */

static void wake_waiting(void)
{
	raw(SYS_futex, &arena->process.state, FUTEX_WAKE_PRIVATE, INT_MAX);
}

bool shim_process_ready(void)
{
	static const struct timespec wait = {0, 10000000};
	struct process *p = &arena->process;
	uint32_t tid, state = process_state();

	if (likely(state == READY))
		return true;
	tid = (uint32_t)raw(SYS_gettid);
	if (state == FRESH &&
	    __atomic_compare_exchange_n(&p->state, &state, STARTING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		p->busy_tid = tid;
		state = start_recording() ? READY : FAILED;
		if (state == FAILED)
			shim_count(REEL_LOST_START, 1);
		__atomic_store_n(&p->state, state, __ATOMIC_RELEASE);
		wake_waiting();
	}
	/* Wait for another thread that starts, or that flushes before it ends
	 * the process. A signal handler on that very thread must not wait. */
	for (int i = 0; (state == STARTING || state == LEAVING) &&
			i < START_WAITS && p->busy_tid != tid;
	     i++) {
		raw(SYS_futex, &p->state, FUTEX_WAIT_PRIVATE, state, &wait);
		state = process_state();
	}
	if (state != READY)
		shim_count(REEL_LOST_WINDOW, 1);
	return state == READY;
}

bool shim_process_has_log(void)
{
	return process_state() == READY &&
	       shim.pid == (uint32_t)raw(SYS_getpid);
}

bool shim_process_is_fresh(void)
{
	return process_state() == FRESH;
}

static void set_state(uint32_t state)
{
	shim_barrier();
	__atomic_store_n(&arena->process.state, state, __ATOMIC_RELEASE);
	shim_barrier();
}

/*
 * Write all blocks to the log. While other threads live, or if the log refuses a
 * block, recording goes on to the last moment and the window stays, as after
 * SIGKILL. Otherwise the window
 * is removed, and later events, of signal handlers, are counted as lost.
 */
static void end_log(enum reel_end end)
{
	struct shim_thread *own = shim_tls.thread;
	bool done;

	arena->process.busy_tid = (uint32_t)raw(SYS_gettid);
	set_state(LEAVING);
	shim_tls.thread = &shim_no_thread;
	shim_barrier();
	done = shim_flush_all() && !shim_has_other_threads();
	shim_clock_pair(&shim.head->end_ticks, &shim.head->end_mono_ns);
	shim.head->end = end;
	if (done)
		set_state(LEFT);
	if (shim_write_head() && done) {
		shim_remove_window();
		shim_budget_window_gone(shim.head->head_bytes);
		return;
	}
	shim_tls.thread = own;
	set_state(READY);
	wake_waiting();
}

static void finish_process(enum shim_ending how)
{
	int saved = errno;

	if (!shim_hot.on || process_state() == LEFT || shim_vfork_child())
		return;
	shim_features_finish(how);
	if (shim_process_has_log())
		end_log(how == SHIM_ENDING_EXIT ? REEL_END_EXIT
						: REEL_END_QUICK);
	errno = saved;
}

void shim_finish(void)
{
	finish_process(SHIM_ENDING_QUICK);
}

static void at_exit(void *unused)
{
	(void)unused;
	finish_process(SHIM_ENDING_EXIT);
}

static void at_quick_exit(void *unused)
{
	(void)unused;
	finish_process(SHIM_ENDING_QUICK);
}

/* The time and the thread of a fork() are for the head of the child. */
static void before_fork(void)
{
	shim_features_fork_prepare();
	shim_tls.fork_tid = (uint32_t)raw(SYS_gettid);
	shim_tls.fork_ticks = shim_clock();
}

static void after_fork_parent(void)
{
	shim_features_fork_parent();
}

static void after_fork_child(void)
{
	shim_tls.thread = &shim_no_thread;
	shim_tls.vforked = 0;
	shim.fork_ticks = shim_tls.fork_ticks;
	shim.fork_tid = shim_tls.fork_tid;
	if (shim_counting)
		shim_counting_forked();
	shim_features_fork_child();
}

const char *shim_env(char **env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return (*env)[n + 1] ? *env + n + 1 : NULL;
	return NULL;
}

bool shim_process_init(void)
{
	void *at =
		(void *)raw(SYS_mmap, 0, sizeof(*arena), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if ((unsigned long)at > -4096ul ||
	    raw(SYS_madvise, at, sizeof(*arena), MADV_WIPEONFORK))
		return false;
	arena = at;
	shim.threads = arena->thread;
	shim.pid = (uint32_t)raw(SYS_getpid);
	take_uid();
	return true;
}

void shim_process_arm(void)
{
	__register_atfork(before_fork, after_fork_parent, after_fork_child,
			  NULL);
	/*
	 * Registered without a library, and before the loader registers its own
	 * handler: it runs last, after every destructor.
	 */
	__cxa_atexit(at_exit, NULL, NULL);
	__cxa_at_quick_exit(at_quick_exit, NULL);
#if defined(__x86_64__)
	shim_hot.tls =
		(intptr_t)&shim_tls - (intptr_t)__builtin_thread_pointer();
#endif
	shim_hot.on = shim_hot.clock;
}

bool shim_vfork_child(void)
{
	if (likely(!shim_tls.vforked))
		return false;
	if ((uint32_t)raw(SYS_getpid) != shim.pid && shim.pid) {
		/* A clone may do anything: it need not end in an exec. */
		if (shim_tls.vforked == SHIM_CLONED)
			shim_count(REEL_LOST_LIMIT, 1);
		return true;
	}
	if (shim_tls.vforked != SHIM_CLONED)
		shim_tls.vforked = 0;
	return false;
}

/* Both take the slow path from now on, which tells them apart by their pid. */
void shim_cloned(void)
{
	struct shim_thread *t = shim_tls.thread;

	shim_tls.vforked = SHIM_CLONED;
	if (t->limit > 0)
		t->room = t->limit = 0;
}

EXPORT __attribute__((noreturn)) void _exit(int status)
{
	NEED(_exit);
	shim_finish();
	real._exit(status);
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	NEED(_Exit);
	shim_finish();
	real._Exit(status);
}
