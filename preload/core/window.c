/* SPDX-License-Identifier: MIT */
/*
 * Windows and blocks: the slow path of recording.
 *
 * A thread writes into its slot of the process's window file, a MAP_SHARED
 * mapping, so that its records survive SIGKILL. A full slot is appended to the
 * log by one write() to a file opened for it: no descriptor is held. The slot
 * of an ended thread is reused: the kernel says whether its owner lives. The
 * space of a slot is allocated before it is touched: a full disk is an error
 * here, not a SIGBUS in the job.
 */
#include "preload/core/window.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "schemas/syscall.h"

#include "preload/core/block_io.h"
#include "preload/core/budget.h"
#include "preload/core/counters.h"
#include "preload/core/private_fds.h"

#define SLOT_FIRST_BYTES 8192 /* until the thread has filled it once */
#define PROBES 8	      /* slots looked at for a dead owner */
/* Time before a full disk is tried again for a window: some 10 ms with each
 * clock. */
#define RETRY_TICKS (1u << 24)

static const char dot_win[] = ".win", dot_log[] = ".log";

static COLD int open_file(const char *sub, const char *suffix, int flags)
{
	size_t n = shim.dir_len, a = strlen(sub), b = strlen(shim.stem),
	       c = strlen(suffix);
	/* of the length it needs: stacks may be small */
	char path[n + a + b + c + 1];

	if (sizeof(path) > REEL_PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(path, shim.dir, n);
	memcpy(path + n, sub, a);
	memcpy(path + n + a, shim.stem, b);
	memcpy(path + n + a + b, suffix, c + 1);
	return (int)raw(SYS_openat, AT_FDCWD, path,
			flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Make the file accessible to its owner, whatever the umask of the job. */
static COLD void allow_owner(int fd)
{
	struct stat64 st;

	if (!raw(SYS_fstat, fd, &st) && (st.st_mode & 0600) != 0600)
		raw(SYS_fchmod, fd, 0600);
}

int shim_open_file(const char *sub, const char *suffix, int flags)
{
	int fd = open_file(sub, suffix, flags);

	if (fd >= 0 && flags & O_CREAT)
		allow_owner(fd);
	return fd;
}

int shim_open_window(int flags)
{
	int fd = shim_open_file("/windows/", dot_win, flags);

	if (fd == -ENOENT)
		shim.orphan = true;
	return fd;
}

int shim_open_log(int flags)
{
	return shim_open_file("/", dot_log, flags);
}

bool shim_size_allowed(uint64_t size)
{
	struct rlimit64 {
		uint64_t cur, max;
	} lim = {~0ull, ~0ull};

	raw(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &lim);
	return size <= lim.cur;
}

int shim_allocate(int fd, uint64_t off, uint64_t bytes)
{
	static const char zero[4096];
	long r;

	if (!shim_size_allowed(off + bytes))
		return -EFBIG;
	r = raw(SYS_fallocate, fd, 0, off, bytes);
	if (r != -EOPNOTSUPP && r != -ENOSYS)
		return (int)r;
	for (uint64_t at = off; at < off + bytes; at += sizeof(zero)) {
		r = raw(SYS_pwrite64, fd, zero, sizeof(zero), at);
		if (r != (long)sizeof(zero))
			return r < 0 ? (int)r : -ENOSPC;
	}
	return 0;
}

static uint64_t slot_offset(const struct shim_thread *t)
{
	return REEL_WINDOW_HEAD_BYTES +
	       (uint64_t)(t - shim.threads - shim.slots_base) * REEL_SLOT_BYTES;
}

/* The last address at which a record may start, before the block's padding. */
static intptr_t room_end(const struct shim_thread *t)
{
	return (intptr_t)t->block + t->usable - 8 - SHIM_RECORD_MAX;
}

/* Without room every record takes the slow path. */
static void set_room(struct shim_thread *t)
{
	t->room = shim_sites || shim_counting || shim_tls.vforked == SHIM_CLONED
			  ? 0
			  : room_end(t);
}

/* Leaves the limit, because a thread that grows its slot is busy. */
static void set_usable(struct shim_thread *t, uint32_t bytes)
{
	t->usable = bytes;
	set_room(t);
}

/* Begin an empty block in the slot. */
static void block_begin(struct shim_thread *t)
{
	struct reel_block_head *b = t->block;

	b->used = 0;
	b->magic = REEL_BLOCK_MAGIC;
	b->tid = t->owner;
	b->seq = t->seq;
	b->lost = t->lost;
	b->slot = t->serial;
	b->base_ticks = t->last_end;
	b->pair_ticks = 0;
	b->pair_mono_ns = 0;
	b->check = 0;
	t->events = 0;
	t->next_offset = 0;
	t->last_size = UINT64_MAX;
	t->last_desc = 0;
	t->path_len = 0;
	t->path[0] = '\0';
	t->data_dir = 0;
	t->run.stream = NULL;
	t->p = (uint8_t *)(b + 1);
	set_room(t);
}

/*
 * Is there space for the whole block? A block that is written in part loses an
 * unknown number of records, so it is not begun. A race for the last bytes may
 * still tear one; then too many losses are counted, never too few.
 */
static bool has_space(int fd, size_t bytes)
{
	struct statfs fs;

	if (raw(SYS_fstatfs, fd, &fs) != 0)
		return true;
	return (uint64_t)(raw(SYS_geteuid) ? fs.f_bavail : fs.f_bfree) *
		       (uint64_t)fs.f_bsize >=
	       bytes + (uint64_t)fs.f_bsize;
}

/*
 * Has the log its head? If the disk was full when the process began, write the
 * head now. One thread does; a block of another thread is lost meanwhile.
 */
static bool has_head(uint64_t size)
{
	static int writing;
	bool good;

	if (size >= shim.head->head_bytes)
		return true;
	if (__atomic_exchange_n(&writing, 1, __ATOMIC_ACQ_REL))
		return false;
	good = shim_write_head();
	__atomic_store_n(&writing, 0, __ATOMIC_RELEASE);
	return good;
}

struct log_data {
	const void *data;
	size_t bytes;
};

static bool append_to_log_now(void *arg)
{
	const void *data = ((const struct log_data *)arg)->data;
	size_t bytes = ((const struct log_data *)arg)->bytes;
	int fd = shim_open_log(O_WRONLY | O_APPEND);
	struct stat64 st;
	bool good;
	long r;

	if (fd < 0)
		return false;
	good = raw(SYS_fstat, fd, &st) == 0 && has_head((uint64_t)st.st_size) &&
	       shim_size_allowed((uint64_t)st.st_size + bytes) &&
	       has_space(fd, bytes);
	if (good) {
		do
			r = raw(SYS_write, fd, data, bytes);
		while (r == -EINTR);
		good = r == (long)bytes;
		if (r > 0 && !good && r % 8) /* keep what follows aligned */
			raw(SYS_write, fd, "\0\0\0\0\0\0\0", 8 - r % 8);
	}
	raw(SYS_close, fd);
	return good;
}

static bool append_to_log(const void *data, size_t bytes)
{
	struct log_data p = {data, bytes};
	bool good;

	if (!shim_budget_log(bytes))
		return false;
	good = shim_run_private_fds(append_to_log_now, &p);
	shim_budget_written(bytes, good);
	return good;
}

/*
 * Append the slot's block to the log. The pair of clocks lets the reader
 * calibrate. False: the disk refused it.
 */
static bool block_write(struct shim_thread *t)
{
	struct reel_block_head *b = t->block;
	uint32_t used = (uint32_t)(t->p - (uint8_t *)(b + 1));
	size_t bytes = sizeof(*b) + ((used + 7u) & ~7u), packed;
	const void *data = b;

	if (!used)
		return true;
	memset((uint8_t *)(b + 1) + used, 0, bytes - sizeof(*b) - used);
	shim_clock_pair(&b->pair_ticks, &b->pair_mono_ns);
	packed = shim_counting ? shim_counted_pack(t, &data) : 0;
	b->used = used;
	b->check = reel_block_check(b);
	return append_to_log(data, packed ? packed : bytes);
}

/* Clear @bytes of the slot from @from on: a zero byte ends the records. */
static void clear_records(struct shim_thread *t, uint8_t *from, size_t bytes)
{
	size_t room = (size_t)((uint8_t *)t->block + t->usable - from);

	memset(from, 0, bytes < room ? bytes : room);
}

/* Make the block unfinished again: its records count as far as they are whole. */
static void block_reopen(struct shim_thread *t)
{
	t->block->used = 0;
	t->block->check = 0;
}

/*
 * Write the block and begin another. Signals are blocked: after a handler that
 * jumps out, the block would be written twice. A block that the disk refused is
 * lost; with @keep it stays in the slot instead. Returns false if it stays.
 */
static bool flush_block(struct shim_thread *t, bool keep)
{
	struct shim_held before;
	bool good;

	shim_signals_hold(&before);
	good = block_write(t);
	if (!good && keep) {
		block_reopen(t);
		shim_signals_release(&before);
		return false;
	}
	if (good) {
		if (t->p != (uint8_t *)(t->block + 1))
			t->seq++;
		t->lost = 0;
	} else {
		t->lost += t->events;
		shim_count(REEL_LOST_DISK, t->events);
	}
	shim_count(REEL_FLUSHES, 1);
	clear_records(t, (uint8_t *)(t->block + 1),
		      (size_t)(t->p - (uint8_t *)(t->block + 1)));
	block_begin(t);
	shim_signals_release(&before);
	return true;
}

/* Allocate the rest of the slot, after the thread has filled it once. */
static bool grow_slot_now(void *arg)
{
	struct shim_thread *t = arg;
	int fd, r;

	fd = shim_open_window(O_RDWR);
	if (fd < 0)
		return false;
	r = shim_allocate(fd, slot_offset(t) + t->usable,
			  REEL_SLOT_BYTES - t->usable);
	raw(SYS_close, fd);
	if (r)
		return false;
	set_usable(t, REEL_SLOT_BYTES);
	return true;
}

static bool grow_slot(struct shim_thread *t)
{
	return t->usable < REEL_SLOT_BYTES &&
	       shim_budget_window(REEL_SLOT_BYTES - t->usable, true) &&
	       shim_run_private_fds(grow_slot_now, t);
}

/* Give a claimed slot its mapping. */
static bool map_slot_now(void *arg)
{
	struct shim_thread *t = arg;
	uint64_t off = slot_offset(t);
	int fd = shim_open_window(O_RDWR);
	void *at;

	if (fd < 0)
		return false;
	if (shim_allocate(fd, off, SLOT_FIRST_BYTES)) {
		raw(SYS_close, fd);
		return false;
	}
	at = (void *)raw(SYS_mmap, 0, REEL_SLOT_BYTES, PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, (long)off);
	raw(SYS_close, fd);
	if ((unsigned long)at > -4096ul)
		return false;
	raw(SYS_madvise, at, REEL_SLOT_BYTES, MADV_DONTFORK);
	t->block = at;
	set_usable(t, SLOT_FIRST_BYTES);
	return true;
}

static bool map_slot(struct shim_thread *t)
{
	return shim_budget_window(SLOT_FIRST_BYTES, false) &&
	       shim_run_private_fds(map_slot_now, t);
}

static bool owner_is_dead(uint32_t tid)
{
	return raw(SYS_tgkill, shim.pid, tid, 0) == -ESRCH;
}

/* Take over a slot whose compare-and-swap we won. The records of its old owner
 * go to the log first. */
static bool take_slot(struct shim_thread *t, uint32_t tid, uint64_t start)
{
	if (t->block)
		flush_block(t, false);
	else if (!map_slot(t))
		return false;
	t->limit = t->room;
	t->serial = __atomic_fetch_add(&shim.next_serial, 1, __ATOMIC_RELAXED);
	t->seq = 0;
	t->lost = 0;
	t->last_end = start;
	block_begin(t);
	t->block->tid = tid;
	return true;
}

static bool try_claim_slot(struct shim_thread *t, uint32_t tid, uint64_t start)
{
	uint32_t owner = __atomic_load_n(&t->owner, __ATOMIC_ACQUIRE);

	if (owner && owner != tid && !owner_is_dead(owner))
		return false;
	if (!__atomic_compare_exchange_n(&t->owner, &owner, tid, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	if (take_slot(t, tid, start)) {
		shim_block_io_begin(t, tid);
		return true;
	}
	__atomic_store_n(&t->owner, 0, __ATOMIC_RELEASE);
	return false;
}

static void note_slots(uint32_t n)
{
	uint32_t seen = __atomic_load_n(&shim.head->slots, __ATOMIC_RELAXED);

	while (seen < n &&
	       !__atomic_compare_exchange_n(&shim.head->slots, &seen, n, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Claim a slot that had no owner yet. Another thread may find it free and be
 * faster. */
static struct shim_thread *claim_fresh_slot(uint32_t tid, uint64_t start)
{
	struct shim_thread *t;

	do {
		uint32_t high = __atomic_fetch_add(&shim.slots_high, 1,
						   __ATOMIC_ACQ_REL);

		if (high >= SHIM_THREADS) {
			__atomic_fetch_sub(&shim.slots_high, 1,
					   __ATOMIC_ACQ_REL);
			return NULL;
		}
		note_slots(high + 1 - shim.slots_base);
		t = &shim.threads[high];
		if (try_claim_slot(t, tid, start))
			return t;
	} while (__atomic_load_n(&t->owner, __ATOMIC_ACQUIRE));
	return NULL;
}

/* Claim a slot for this thread: of an ended thread, or a fresh one. */
static struct shim_thread *claim_slot(uint64_t start)
{
	static uint32_t hand;
	uint32_t tid = (uint32_t)raw(SYS_gettid), base = shim.slots_base;
	uint32_t high = __atomic_load_n(&shim.slots_high, __ATOMIC_ACQUIRE);
	uint32_t have = high - base, n = have < PROBES ? have : PROBES;
	uint32_t from = __atomic_fetch_add(&hand, n, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < n; i++) {
		struct shim_thread *t = &shim.threads[base + (from + i) % have];

		if (try_claim_slot(t, tid, start))
			return t;
	}
	return claim_fresh_slot(tid, start);
}

/*
 * Is the frame that set the mark @busy gone? A handler that interrupted it runs
 * at least a signal frame below it. A frame closer to it, or above, means that
 * a handler jumped out (siglongjmp) and left the mark behind. An alternate
 * signal stack may be at any address.
 */
static bool is_abandoned(intptr_t busy)
{
	intptr_t mark = ~busy, here = shim_frame();
	stack_t alt;

	if (here <= mark - 1024 || here - mark >= 8 << 20)
		return false;
	return raw(SYS_sigaltstack, NULL, &alt) || !(alt.ss_flags & SS_ONSTACK);
}

/*
 * Claim the first slot of this thread. A signal handler that runs meanwhile
 * must not claim the same one.
 */
static struct shim_thread *claim_first_slot(uint64_t start)
{
	struct shim_thread *t = NULL;

	if (shim_tls.claiming && !is_abandoned(shim_tls.claiming)) {
		shim_count(REEL_LOST_SIGNAL, 1);
		return NULL;
	}
	shim_tls.claiming = shim_busy();
	shim_barrier();
	if (shim_process_ready()) {
		if (start >= shim.no_window_until) {
			t = claim_slot(start);
			if (!t)
				shim.no_window_until = start + RETRY_TICKS;
		}
		if (t)
			shim_tls.thread = t;
		else
			shim_count(REEL_LOST_WINDOW, 1);
	}
	shim_barrier();
	shim_tls.claiming = 0;
	return t;
}

COLD struct shim_thread *shim_slow(size_t bytes, uint64_t start)
{
	struct shim_thread *t = shim_tls.thread;
	intptr_t more = (intptr_t)(bytes - SHIM_RECORD_MAX);

	if (shim_tls.vforked == SHIM_CLONED && shim_vfork_child())
		return NULL;
	if (t->limit < 0) {
		if (!is_abandoned(t->limit)) {
			shim_count(REEL_LOST_SIGNAL, 1);
			return NULL;
		}
		/* Remove the unfinished record. */
		clear_records(t, t->p, SHIM_RECORD_MAX + 2 * REEL_PATH_BYTES);
		flush_block(t, false);
	}
	if (!t->block) {
		t = claim_first_slot(start);
		if (!t)
			return NULL;
	}
	t->limit = shim_busy();
	shim_barrier();
	if ((intptr_t)t->p + more >= room_end(t) && !grow_slot(t))
		flush_block(t, false);
	if ((intptr_t)t->p + more < room_end(t))
		return t;
	t->limit = t->room;
	shim_count(REEL_LOST_LIMIT, 1);
	return NULL;
}

bool shim_flush_all(void)
{
	uint32_t me = (uint32_t)raw(SYS_gettid);
	uint32_t high = __atomic_load_n(&shim.slots_high, __ATOMIC_ACQUIRE);
	bool done = true;

	for (uint32_t i = shim.slots_base; i < high && i < SHIM_THREADS; i++) {
		struct shim_thread *t = &shim.threads[i];
		uint32_t owner = __atomic_load_n(&t->owner, __ATOMIC_ACQUIRE);

		if (!owner || !t->block)
			continue;
		if (owner != me && !owner_is_dead(owner)) {
			done = false; /* it may still write: its slot stays */
			continue;
		}
		/* after a chroot, setuid or on a full disk: the recorder, or a
		 * reader, still reaches the window */
		if (!flush_block(t, true))
			done = false;
	}
	return done;
}
