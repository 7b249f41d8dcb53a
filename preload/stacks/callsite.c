/* SPDX-License-Identifier: MIT */
/*
 * Call sites, for "record --stacks": C frames by libunwind, which is opened
 * only then and with RTLD_LOCAL (linked, it would replace the program's own
 * unwinder), and Python frames by python_frames.c. The first record of a site
 * in a process has its frames, later ones its number. Unwinding may take locks
 * and read files: this is not for signal handlers, and not for every record of
 * a fast loop.
 */
#include "preload/stacks/callsite.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "schemas/syscall.h"

#include "preload/core/dlfcn_compat.h"
#include "preload/core/symbols.h"

#define C_FRAMES 24
#define PAGE_BYTES 4096
#define KEY_WORDS 64
#define TEXT_ROOM 3072
#define SITES 16384 /* in a process; others have no number */

/* On MADV_WIPEONFORK pages: a child records its sites itself. */
struct known {
	uint64_t hash[SITES];
	uint32_t number[SITES];
	uint32_t n;
};

static uint32_t every;
static struct known *known;
static int (*unwind)(void **, int);

/* libunwind's, up to the field that we change; since 1.0. */
struct accessors {
	void *find_proc_info, *put_unwind_info, *get_dyn_info_list_addr;
	int (*access_mem)(void *space, uintptr_t address, uintptr_t *value,
			  int write, void *arg);
};

#if defined(__x86_64__)
#define GET_ACCESSORS "_Ux86_64_get_accessors"
#define LOCAL_SPACE "_ULx86_64_local_addr_space"
#else
#define GET_ACCESSORS "_Uaarch64_get_accessors"
#define LOCAL_SPACE "_ULaarch64_local_addr_space"
#endif

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

/*
 * The part of a thread's stack known to be mapped in this unwinding. Threads
 * that share a slot make more system calls.
 */
static struct stack {
	const struct shim_thread *owner;
	uintptr_t to;
} stacks[64];

static struct stack *stack_slot(void)
{
	return &stacks[(uintptr_t)shim_self() / PAGE_BYTES % 64];
}

static void stack_begin(void)
{
	struct stack *s = stack_slot();

	s->to = (uintptr_t)__builtin_frame_address(0) | (PAGE_BYTES - 1);
	s->owner = shim_self();
}

/*
 * Read a word of a possible frame. libunwind's own function tests memory by
 * writing it to a pipe, and would still do so after the program has reused the
 * pipe's descriptor numbers for files of its own.
 */
static int read_word(void *space, uintptr_t address, uintptr_t *value,
		     int write, void *arg)
{
	struct iovec to = {value, sizeof(*value)};
	struct iovec from = {(void *)address, sizeof(*value)};
	struct stack *s = stack_slot();
	bool mine = s->owner == shim_self() &&
		    address >= (uintptr_t)__builtin_frame_address(0);

	if (write) { /* to saved registers, in libunwind's own frame */
		*(uintptr_t *)address = *value;
		return 0;
	}
	if (mine && address + sizeof(*value) - 1 <= s->to) {
		*value = *(const uintptr_t *)address;
		return 0;
	}
	if (raw(SYS_process_vm_readv, raw(SYS_getpid), (long)&to, 1,
		(long)&from, 1, 0) != (long)sizeof(*value))
		return -1;
	if (mine && address - s->to <= PAGE_BYTES) /* the next page */
		s->to += PAGE_BYTES;
	return 0;
}

/*
 * The first unwinding fills in libunwind's accessors and opens the pipe, which
 * gets the two lowest free descriptors and is closed here.
 */
static bool init_libunwind(void *lib)
{
	struct accessors *(*get)(void *);
	void **space = dlsym(lib, LOCAL_SPACE), *frame[4];
	int fd[2];
	struct stat a, b;

	*(void **)&get = dlsym(lib, GET_ACCESSORS);
	*(void **)&unwind = dlsym(lib, "unw_backtrace");
	if (!space || !get || !unwind || raw(SYS_pipe2, fd, O_CLOEXEC) != 0)
		return false;
	raw(SYS_close, fd[0]);
	raw(SYS_close, fd[1]);
	unwind(frame, 4);
	get(*space)->access_mem = read_word;
	if (raw(SYS_fstat, fd[0], &a) == 0 && raw(SYS_fstat, fd[1], &b) == 0 &&
	    S_ISFIFO(a.st_mode) && a.st_ino == b.st_ino) {
		raw(SYS_close, fd[0]);
		raw(SYS_close, fd[1]);
	}
	return true;
}

void shim_sites_start(const char *value)
{
	void *lib;

	while (value && *value >= '0' && *value <= '9' && every < 1000000)
		every = every * 10 + (uint32_t)(*value++ - '0');
	if (!every)
		return;
	known = (void *)raw(SYS_mmap, 0, sizeof(*known), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if ((unsigned long)known > -4096ul ||
	    raw(SYS_madvise, known, sizeof(*known), MADV_WIPEONFORK) != 0)
		return;
	lib = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
	if (!lib || !init_libunwind(lib))
		unwind = NULL;
	shim_sites = true;
}

static bool is_ours(const void *address)
{
	return (const char *)address >= __ehdr_start &&
	       (const char *)address < _etext;
}

/*
 * C frames from the caller of our wrapper on. Not inlined, and neither is
 * record_site(): unwinding takes 8 KiB of a stack that may have 16.
 */
static COLD int c_frames(uintptr_t *key, int room)
{
	void *frame[C_FRAMES + 8];
	int have, n = 0;

	if (!unwind)
		return 0;
	stack_begin();
	have = unwind(frame, C_FRAMES + 8);
	for (int i = 0; i < have && n < room; i++)
		if (!is_ours(frame[i]) && frame[i])
			key[n++] =
				(uintptr_t)frame[i] - 1; /* the call itself */
	return n;
}

static uint64_t hash_frames(const uintptr_t *key, int n)
{
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (int i = 0; i < n; i++)
		h = (h ^ key[i]) * 0xff51afd7ed558ccdull, h ^= h >> 29;
	return h ? h : 1;
}

/* The number of a site; *@fresh: it is new. 0: no room for more. */
static uint32_t site_number(uint64_t hash, bool *fresh)
{
	for (uint32_t k = 0; k < 64; k++) {
		uint32_t i = (uint32_t)(hash + k) % SITES;
		uint64_t none = 0;

		if (__atomic_compare_exchange_n(&known->hash[i], &none, hash,
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			*fresh = true;
			known->number[i] = __atomic_add_fetch(&known->n, 1,
							      __ATOMIC_RELAXED);
			return known->number[i];
		}
		if (none == hash)
			return known->number[i];
	}
	return 0;
}

static int put_text(char *out, int n, const char *s, size_t len)
{
	return shim_site_put(out, TEXT_ROOM - 1, n, s, len);
}

static int put_hex(char *out, int n, uint64_t v)
{
	char digits[16];
	int k = sizeof(digits);

	do
		digits[--k] = "0123456789abcdef"[v & 15];
	while ((v >>= 4) && k > 0);
	return put_text(out, n, digits + k, sizeof(digits) - (size_t)k);
}

/* Append "c MODULE+0xOFFSET FUNCTION". */
static int put_c_frame(char *out, int n, uintptr_t address)
{
	Dl_info in;

	if (!dladdr((void *)address, &in) || !in.dli_fname) {
		n = put_text(out, n, "c ?+0x", 6);
		return put_hex(out, n, address);
	}
	n = put_text(out, n, "c ", 2);
	if (in.dli_fname[0] == '/') {
		n = put_text(out, n, in.dli_fname, strlen(in.dli_fname));
	} else { /* the program, by its name as typed */
		long len = raw(SYS_readlinkat, AT_FDCWD, "/proc/self/exe",
			       out + n, (size_t)(TEXT_ROOM - 1 - n));

		n += len > 0 ? (int)len : 0;
	}
	n = put_text(out, n, "+0x", 3);
	n = put_hex(out, n, address - (uintptr_t)in.dli_fbase);
	if (in.dli_sname) {
		n = put_text(out, n, " ", 1);
		n = put_text(out, n, in.dli_sname, strlen(in.dli_sname));
	}
	return n;
}

/* Python frames first: the C frames are the interpreter's. */
static void format_frames(char *out, const uintptr_t *key, int c, int python)
{
	int n = 0;

	for (int i = 0; i < python && n < TEXT_ROOM - 1; i += 2) {
		int more = shim_python_frame(key + c + i, out + n,
					     TEXT_ROOM - 1 - n);

		n += more;
		if (more)
			n = put_text(out, n, "\n", 1);
	}
	for (int i = 0; i < c && n < TEXT_ROOM - 1; i++) {
		n = put_c_frame(out, n, key[i]);
		n = put_text(out, n, "\n", 1);
	}
	out[n ? n - 1 : 0] = '\0';
}

static COLD void record_site(struct shim_event *ev, const uintptr_t *key, int c,
			     int python, uint64_t end)
{
	char text[TEXT_ROOM];

	format_frames(text, key, c, python);
	ev->path = text;
	shim_record_full(ev, end, end, 0, 0);
	ev->path = NULL;
}

bool shim_site(uint32_t call, uint64_t end)
{
	static uint32_t turn;
	static _Thread_local bool inside
		__attribute__((tls_model("initial-exec")));
	struct shim_event ev = {SHIM_EVENT_NONE, .call = MARK_SITE};
	uintptr_t key[KEY_WORDS];
	int c, python, saved = errno;
	bool fresh = false;

	if (call == MARK_SITE)
		return true;
	if (inside)
		return false;
	if (call < CALL_OPEN ||
	    __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % every)
		return true;
	inside = true;
	c = c_frames(key, C_FRAMES);
	python = shim_python_frames(key + c, KEY_WORDS - c);
	ev.arg = site_number(hash_frames(key, c + python), &fresh);
	if (fresh)
		record_site(&ev, key, c, python, end);
	else if (ev.arg)
		shim_record_full(&ev, end, end, 0, 0);
	inside = false;
	errno = saved;
	return true;
}
