/* SPDX-License-Identifier: MIT */
/*
 * The life of a process: its start decides whether to record, the first event
 * makes the log and the window, fork starts over, the end flushes.
 *
 * The start resolves and maps; it makes no file, so that a process that does no
 * I/O costs nothing. It leaves errno and the environment alone. It comes with
 * the first object that is initialised after libc, be it another library's: our
 * own turn would be after all of them, and what their constructors do unseen.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "schemas/launcher.h"
#include "schemas/syscall.h"

#include "preload/async/operations.h"
#include "preload/core/block_io.h"
#include "preload/core/budget.h"
#include "preload/core/counters.h"
#include "preload/core/decimal.h"
#include "preload/core/dlfcn_compat.h"
#include "preload/core/private_fds.h"
#include "preload/core/seccomp.h"
#include "preload/core/symbols.h"
#include "preload/core/window.h"
#include "preload/exec/traceable.h"
#include "preload/mmap/page_faults.h"
#include "preload/stacks/callsite.h"
#include "preload/stdio/stream.h"

struct shim_state shim = {.next_desc = SHIM_DESC_FIRST};
struct shim_thread shim_no_thread;
_Thread_local struct shim_tls shim_tls = {.thread = &shim_no_thread};

/*
 * State of the process, in owner of the first thread state: wiped by fork.
 * LEAVING: what threads have is being written, and no slot is given; LEFT: it
 * is written.
 */
enum { FRESH = 0, STARTING, READY, FAILED, LEAVING, LEFT };

int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);
/*
 * What another C library may lack: musl ends a program whose preloaded library
 * wants a symbol that is not there, unless it is weak. Only glibc has the last.
 */
int __cxa_at_quick_exit(void (*fn)(void *), void *dso) __attribute__((weak));
int __register_atfork(void (*prepare)(void), void (*parent)(void),
		      void (*child)(void), void *dso) __attribute__((weak));
const char *gnu_get_libc_version(void) __attribute__((weak));

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static uint32_t rank; /* + 1, by the launcher; 0: it has none */

static struct shim_thread *mark(void)
{
	return &shim.threads[0];
}

void shim_count(enum reel_counter which, uint64_t n)
{
	uint32_t state = __atomic_load_n(&mark()->owner, __ATOMIC_ACQUIRE);
	uint64_t *at = NULL;

	if ((state == READY || state == LEAVING) && !shim.orphan)
		at = &shim.head->counter[which];
	else if (shim.counts)
		at = &shim.counts->counter[which];
	if (at)
		__atomic_fetch_add(at, n, __ATOMIC_RELAXED);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts = {0, 0};

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint32_t shim_clock_pair(uint64_t *ticks, uint64_t *mono_ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = shim_clock();
		uint64_t ns = clock_ns(CLOCK_MONOTONIC);
		uint64_t after = shim_clock();

		if (after - before < best) {
			best = after - before;
			*ticks = before + best / 2;
			*mono_ns = ns;
		}
	}
	return best > UINT32_MAX ? UINT32_MAX : (uint32_t)best;
}

static ssize_t read_small(const char *path, char *buf, size_t room)
{
	long fd = raw4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return -1;
	n = raw3(SYS_read, fd, buf, room);
	raw1(SYS_close, fd);
	return n;
}

/* One "key=value" of the head's text, cut where the room ends. */
static char *text_put(char *p, const char *end, const char *key,
		      const char *value, size_t n)
{
	size_t k = strlen(key);

	if (p + k + 3 > end)
		return p;
	if (n > (size_t)(end - p) - k - 2)
		n = (size_t)(end - p) - k - 2;
	memcpy(p, key, k);
	p += k;
	*p++ = '=';
	memcpy(p, value, n);
	p += n;
	*p++ = '\0';
	return p;
}

static bool in_timens_of_children(void)
{
	char own[64], children[64];
	long n = raw4(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/time", own,
		      sizeof(own));
	long k = raw4(SYS_readlinkat, AT_FDCWD,
		      "/proc/self/ns/time_for_children", children,
		      sizeof(children));

	/* "time:[NUMBER]" and "time:[NUMBER]" */
	return n > 0 && n == k && !memcmp(own, children, (size_t)n);
}

/*
 * By what a time namespace moves CLOCK_MONOTONIC, when it does: "SECONDS NS".
 * The file's first line is "monotonic SECONDS NS".
 */
static char *text_put_timens(char *p, const char *end)
{
	static const char name[] = "monotonic";
	char buf[128], *v = buf + sizeof(name) - 1;
	long n = read_small("/proc/self/timens_offsets", buf, sizeof(buf) - 1);

	buf[n > 0 ? n : 0] = '\0';
	if (strncmp(buf, name, sizeof(name) - 1))
		return p;
	v += strspn(v, " \t");
	n = (long)strcspn(v, "\n");
	/* nearly always 0 and 0; they are those of children to come */
	if (strspn(v, "0 \t") >= (size_t)n || !in_timens_of_children())
		return p;
	return text_put(p, end, "timens", v, (size_t)n);
}

static uint32_t text_fill(char *text, const char *end)
{
	char buf[4096], *p = text;
	struct utsname uts;
	long n = raw4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buf,
		      sizeof(buf));

	if (n > 0)
		p = text_put(p, end, "exe", buf, (size_t)n);
	p = text_put(p, end, "cwd", shim.cwd, strlen(shim.cwd));
	if (raw1(SYS_uname, &uts) == 0) {
		p = text_put(p, end, "host", uts.nodename,
			     strlen(uts.nodename));
		p = text_put(p, end, "kernel", uts.release,
			     strlen(uts.release));
	}
	p = text_put_timens(p, end);
	n = read_small("/proc/self/cmdline", buf, sizeof(buf) - 1);
	for (long i = 0; i < n;) {
		size_t len = strnlen(buf + i, (size_t)(n - i));

		p = text_put(p, end, "arg", buf + i, len);
		i += (long)len + 1;
	}
	while ((p - text) % 8 && p < end)
		*p++ = '\0';
	return (uint32_t)(p - text);
}

/* A process that begins: what its files are made of. */
struct beginning {
	uint32_t pid, ppid;
	uint64_t parent_uid;
	struct reel_head *head; /* once its window is there */
};

static void head_fill(struct reel_head *h, const struct beginning *b)
{
	memset(h, 0, sizeof(*h));
	h->magic = REEL_HEAD_MAGIC;
	h->major = REEL_TRACE_MAJOR;
	h->minor = REEL_TRACE_MINOR;
	h->uid = shim.uid;
	h->parent_uid = b->parent_uid;
	h->pid = b->pid;
	h->ppid = b->ppid;
	h->clock = (uint32_t)shim_hot.clock;
	h->first_desc = shim.next_desc;
	h->pair_error_ticks =
		shim_clock_pair(&h->start_ticks, &h->start_mono_ns);
	h->start_real_ns = clock_ns(CLOCK_REALTIME);
	h->start_boot_ns = clock_ns(CLOCK_BOOTTIME);
	if (b->parent_uid) {
		h->fork_ticks = shim.fork_ticks;
		h->fork_tid = shim.fork_tid;
	}
	h->mpi_rank = rank;
	if (read_small("/proc/sys/kernel/random/boot_id", h->boot_id,
		       sizeof(h->boot_id) - 1) > 36)
		h->boot_id[36] = '\0';
	h->text_bytes =
		text_fill((char *)(h + 1), (char *)h + REEL_WINDOW_HEAD_BYTES);
	h->head_bytes = (uint32_t)sizeof(*h) + h->text_bytes;
}

/* "PID" or "PID.n": ours from here on. The window's descriptor, or < 0. */
static int claim_stem(uint32_t pid)
{
	for (unsigned int n = 0; n < 100000; n++) {
		char *p = shim.stem;
		int fd;

		p += shim_put_decimal(p, pid);
		if (n) {
			*p++ = '.';
			p += shim_put_decimal(p, n);
		}
		*p = '\0';
		fd = shim_open_window(O_RDWR | O_CREAT | O_EXCL);
		if (fd < 0 && fd != -EEXIST)
			return fd;
		if (fd < 0)
			continue;
		int log = shim_open_log(O_WRONLY | O_CREAT | O_EXCL);

		if (log >= 0) {
			raw1(SYS_close, log);
			return fd;
		}
		raw1(SYS_close, fd);
		shim_remove_window();
		if (log != -EEXIST)
			return log;
	}
	return -EEXIST;
}

void shim_remove_window(void)
{
	char path[REEL_PATH_BYTES];
	size_t n = shim.dir_len, b = strlen(shim.stem);

	if (n + b + 16 > sizeof(path))
		return;
	memcpy(path, shim.dir, n);
	memcpy(path + n, "/windows/", 9);
	memcpy(path + n + 9, shim.stem, b);
	memcpy(path + n + 9 + b, ".win", 5);
	raw3(SYS_unlinkat, AT_FDCWD, path, 0);
}

static bool write_head(void *unused)
{
	int fd = shim_open_log(O_WRONLY);
	bool good;

	(void)unused;
	if (fd < 0)
		return false;
	good = shim_size_allowed(shim.head->head_bytes) &&
	       raw4(SYS_pwrite64, fd, shim.head, shim.head->head_bytes, 0) ==
		       (long)shim.head->head_bytes;
	raw1(SYS_close, fd);
	return good;
}

bool shim_write_head(void)
{
	return shim_run_private_fds(write_head, NULL);
}

static void map_counts(void)
{
	long fd = shim_open_file("/job", ".counts", O_RDWR);
	struct reel_counts *c;

	if (fd < 0)
		return;
	c = (void *)raw6(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);
	raw1(SYS_close, fd);
	if ((unsigned long)c <= -4096ul && c->magic == REEL_COUNTS_MAGIC)
		shim.counts = c;
}

/* Ours to use, whatever the job's umask. */
static void make_dir(const char *path)
{
	if (!raw3(SYS_mkdirat, AT_FDCWD, path, 0700))
		raw3(SYS_fchmodat, AT_FDCWD, path, 0700);
}

/*
 * Without "ioreel record" nobody has made the directory. The first process
 * does; what it cannot make, claim_stem() will miss.
 */
static void make_dirs(void)
{
	char path[REEL_PATH_BYTES];
	struct reel_counts counts = {.magic = REEL_COUNTS_MAGIC};
	long fd;

	memcpy(path, shim.dir, shim.dir_len + 1);
	make_dir(path);
	memcpy(path + shim.dir_len, "/windows", 9);
	make_dir(path);
	shim.stem[0] = '\0'; /* job.counts is no process's */
	fd = shim_open_file("/job", ".counts", O_RDWR | O_CREAT | O_EXCL);
	if (fd >= 0) {
		if (!shim_allocate((int)fd, 0, 4096))
			raw4(SYS_pwrite64, fd, &counts, sizeof(counts), 0);
		raw1(SYS_close, fd);
	}
	if (!shim.counts)
		map_counts();
}

/* The window with its head, and the log. */
static bool make_files(void *arg)
{
	struct beginning *b = arg;
	struct reel_head *head;
	int fd = claim_stem(b->pid);

	if (fd == -ENOENT) {
		make_dirs();
		fd = claim_stem(b->pid);
	}
	if (fd < 0)
		return false;
	head = shim_allocate(fd, 0, REEL_WINDOW_HEAD_BYTES)
		       ? NULL
		       : (void *)raw6(SYS_mmap, 0, REEL_WINDOW_HEAD_BYTES,
				      PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				      0);
	raw1(SYS_close, fd);
	if (!head || (unsigned long)head > -4096ul) {
		shim_remove_window();
		return false;
	}
	raw3(SYS_madvise, head, REEL_WINDOW_HEAD_BYTES, MADV_DONTFORK);
	head_fill(head, b);
	b->head = head;
	return true;
}

/* Whether shim.uid is this process's own; a fork wipes it. */
static uint32_t *has_uid(void)
{
	return &mark()->seq;
}

/* From the image's first moment on: a child may begin before its parent does. */
static void take_uid(void)
{
	if (raw3(SYS_getrandom, &shim.uid, sizeof(shim.uid), 0) !=
	    (long)sizeof(shim.uid))
		shim.uid = shim_clock() ^ (uint64_t)raw0(SYS_getpid) << 40;
	shim.uid |= 1;
	*has_uid() = 1;
}

static bool start(void)
{
	struct beginning b = {.pid = (uint32_t)raw0(SYS_getpid),
			      .ppid = (uint32_t)raw0(SYS_getppid)};

	if (!*has_uid()) {
		b.parent_uid = shim.uid;
		take_uid();
	}
	shim.slots_base = shim.slots_high ? shim.slots_high : 1;
	if (shim.slots_base > SHIM_THREADS / 2)
		shim.slots_base = 1;
	shim.slots_high = shim.slots_base;
	shim.pid = b.pid;
	shim_cwd_changed();
	shim_budget_begin();
	shim.head = NULL;
	/* and as much for the log's head */
	if (!shim_budget_window(2 * REEL_WINDOW_HEAD_BYTES, false))
		return false;
	if (!shim_run_private_fds(make_files, &b)) {
		shim_budget_window_gone(0);
		return false;
	}
	shim.orphan = false;
	shim.head = b.head;
	shim.fork_ticks = 0; /* a child by a bare clone() has none */
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
	raw3(SYS_futex, &mark()->owner, FUTEX_WAKE_PRIVATE, INT_MAX);
}

bool shim_process_ready(void)
{
	static const struct timespec wait = {0, 10000000};
	struct shim_thread *m = mark();
	uint32_t tid, state = __atomic_load_n(&m->owner, __ATOMIC_ACQUIRE);

	if (likely(state == READY))
		return true;
	tid = (uint32_t)raw0(SYS_gettid);
	if (state == FRESH &&
	    __atomic_compare_exchange_n(&m->owner, &state, STARTING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		m->serial = tid;
		state = start() ? READY : FAILED;
		if (state == FAILED)
			shim_count(REEL_LOST_START, 1);
		__atomic_store_n(&m->owner, state, __ATOMIC_RELEASE);
		wake_waiting();
	}
	/* Another thread starts, or writes all that there is, before it ends the
	 * process; a handler of that very thread must not wait. */
	for (int i = 0; (state == STARTING || state == LEAVING) &&
			i < START_WAITS && m->serial != tid;
	     i++) {
		raw4(SYS_futex, &m->owner, FUTEX_WAIT_PRIVATE, state, &wait);
		state = __atomic_load_n(&m->owner, __ATOMIC_ACQUIRE);
	}
	if (state != READY)
		shim_count(REEL_LOST_WINDOW, 1);
	return state == READY;
}

/* And no child of vfork. */
static bool is_started(void)
{
	return mark()->owner == READY && shim.pid == (uint32_t)raw0(SYS_getpid);
}

static void set_state(uint32_t state)
{
	shim_barrier();
	__atomic_store_n(&mark()->owner, state, __ATOMIC_RELEASE);
	shim_barrier();
}

/*
 * Write what there is. Where there are other threads all goes on, up to the
 * last moment: the window stays, as it does when a process is killed. Else it
 * goes, and what a signal handler does from now on has no window: it is counted.
 */
static void leave(enum reel_end end)
{
	struct shim_thread *own = shim_tls.thread;
	bool alone;

	mark()->serial = (uint32_t)raw0(SYS_gettid);
	set_state(LEAVING);
	shim_tls.thread = &shim_no_thread;
	shim_barrier();
	alone = shim_flush_all() && !shim_has_other_threads();
	shim_clock_pair(&shim.head->end_ticks, &shim.head->end_mono_ns);
	shim.head->end = end;
	if (alone)
		set_state(LEFT);
	if (shim_write_head() && alone) {
		shim_remove_window();
		shim_budget_window_gone(shim.head->head_bytes);
		return;
	}
	shim_tls.thread = own;
	set_state(READY);
	wake_waiting();
}

/* @flushes: what streams have in their buffers will be written. */
static void finish(bool flushes)
{
	int saved = errno;

	if (!shim_hot.on || mark()->owner == LEFT)
		return;
	if (!shim_vfork_child()) {
		shim_maps_finish();
		shim_async_finish();
		shim_other_spaces();
	}
	if (is_started() || (flushes && mark()->owner == FRESH))
		stream_finish(flushes);
	else if (mark()->owner == FRESH)
		stream_leaving();
	if (is_started())
		leave(flushes ? REEL_END_EXIT : REEL_END_QUICK);
	errno = saved;
}

void shim_finish(void)
{
	finish(false);
}

static void at_exit(void *unused)
{
	(void)unused;
	finish(true);
}

static void at_quick_exit(void *unused)
{
	(void)unused;
	finish(false);
}

/* fork()'s moment and thread, for the head of the child. */
static void before_fork(void)
{
	stream_forking();
	shim_tls.fork_tid = (uint32_t)raw0(SYS_gettid);
	shim_tls.fork_ticks = shim_clock();
}

static void after_fork_parent(void)
{
	if (shim_counting)
		stream_split();
}

static void after_fork_child(void)
{
	shim_tls.thread = &shim_no_thread;
	shim_tls.vforked = 0;
	shim.fork_ticks = shim_tls.fork_ticks;
	shim.fork_tid = shim_tls.fork_tid;
	if (shim_counting)
		shim_counting_forked();
	stream_forked();
}

const char *shim_env(char **env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return (*env)[n + 1] ? *env + n + 1 : NULL;
	return NULL;
}

/* The launcher's rank + 1, or 0: the innermost launcher's. */
static uint32_t launcher_rank(char **env)
{
	const char *said = NULL;
	uint32_t n = 0;

	if (shim_env(env, "TORCHELASTIC_RUN_ID") ||
	    shim_env(env, "MASTER_PORT"))
		said = shim_env(env, "RANK");
	/* A batch script has a SLURM_PROCID, and is no task of a step. */
	for (size_t i = 0; !said && i < REEL_LAUNCHERS; i++) {
		const struct reel_launcher *l = &reel_launchers[i];

		if (l->kind != REEL_LAUNCHER_TORCH &&
		    (!l->needs || shim_env(env, l->needs)))
			said = shim_env(env, l->rank);
	}
	for (; said && *said >= '0' && *said <= '9' && n < 1u << 24; said++)
		n = 10 * n + (uint32_t)(*said - '0');
	return said && !*said ? n + 1 : 0;
}

/* The environment may be changed by the job: keep copies. */
static const char *keep(char *buf, size_t room, const char *value)
{
	size_t n = value ? strlen(value) : 0;

	if (!n || n >= room)
		return NULL;
	memcpy(buf, value, n + 1);
	return buf;
}

static bool tsc_trusted(const char *wish)
{
#if defined(__x86_64__)
	char buf[16];

	if (wish && !strcmp(wish, "tsc"))
		return true;
	if (wish && !strcmp(wish, "monotonic"))
		return false;
	return read_small("/sys/devices/system/clocksource/clocksource0/"
			  "current_clocksource",
			  buf, sizeof(buf)) >= 4 &&
	       !memcmp(buf, "tsc\n", 4);
#else
	return false;
#endif
}

static bool map_arena(void)
{
	void *at = (void *)raw6(
		SYS_mmap, 0, SHIM_THREADS * sizeof(struct shim_thread),
		PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if ((unsigned long)at > -4096ul)
		return false;
	shim.threads = at;
	return raw3(SYS_madvise, at, SHIM_THREADS * sizeof(struct shim_thread),
		    MADV_WIPEONFORK) == 0;
}

bool shim_at_home(void)
{
	return gnu_get_libc_version;
}

/*
 * Another copy of us, of another installation say, that comes before this one:
 * it records, and what both tell would count twice.
 */
static bool other_records(void)
{
	void *first = dlsym(RTLD_DEFAULT, "ioreel_python");
	Dl_info in;

	return first && dladdr(first, &in) && in.dli_fbase != __ehdr_start;
}

void shim_start(char **env)
{
	static char dir[REEL_PATH_BYTES], include[8192], exclude[8192];
	static bool started;
	const char *d;
	int saved = errno;

	if (started || !shim_at_home())
		return; /* elsewhere @env is nothing that can be read */
	started = true;
	shim_dispatch_ask(env);
	shim_faults_ask(env);
	shim_resolve_all();
	shim_syscall_find();
	d = shim_env(env, "IOREEL_DIR");
	d = keep(dir, sizeof(dir) - 128, d);
	if (!d || d[0] != '/' || other_records() || !map_arena())
		goto out;
	shim.pid = (uint32_t)raw0(SYS_getpid);
	take_uid();
	shim.dir = dir;
	shim.dir_len = strlen(dir);
	rank = launcher_rank(env);
	shim_exec_keep(env);
	shim_counting_ask(shim_env(env, "IOREEL_EVENTS"));
	shim_hot.clock = tsc_trusted(shim_env(env, "IOREEL_CLOCK"))
				 ? REEL_CLOCK_TSC
				 : REEL_CLOCK_MONOTONIC;
	d = shim_env(env, "IOREEL_ALL");
	shim.all = d && *d == '1';
	shim.include =
		keep(include, sizeof(include), shim_env(env, "IOREEL_INCLUDE"));
	shim.exclude =
		keep(exclude, sizeof(exclude), shim_env(env, "IOREEL_EXCLUDE"));
	shim.globs = shim.include || shim.exclude;
	d = shim_env(env, "LD_PRELOAD");
	shim.strict = d && strstr(d, "/vgpreload_"); /* valgrind */
	map_counts();
	shim_storage_start();
	shim_sites_start(shim_env(env, "IOREEL_STACKS"));
	shim_cwd_changed();
	stream_start();
	__register_atfork(before_fork, after_fork_parent, after_fork_child,
			  NULL);
	/*
	 * Registered with no library to belong to, and before the loader
	 * registers its own: runs last, after every destructor.
	 */
	__cxa_atexit(at_exit, NULL, NULL);
	__cxa_at_quick_exit(at_quick_exit, NULL);
#if defined(__x86_64__)
	shim_hot.tls =
		(intptr_t)&shim_tls - (intptr_t)__builtin_thread_pointer();
#endif
	shim_hot.on = shim_hot.clock;
out:
	errno = saved;
}

/* Where no object's start-up code has called __gmon_start__ before. */
__attribute__((constructor)) static void construct(int argc, char **argv,
						   char **env)
{
	(void)argc;
	(void)argv;
	shim_start(env);
}

bool shim_vfork_child(void)
{
	if (likely(!shim_tls.vforked))
		return false;
	if ((uint32_t)raw0(SYS_getpid) != shim.pid && shim.pid) {
		/* No moment before an exec: it may do anything. */
		if (shim_tls.vforked == SHIM_CLONED)
			shim_count(REEL_LOST_LIMIT, 1);
		return true;
	}
	if (shim_tls.vforked != SHIM_CLONED)
		shim_tls.vforked = 0;
	return false;
}

/* Both go the slow way from now on, where they are told apart. */
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
