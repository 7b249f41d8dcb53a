/* SPDX-License-Identifier: MIT */
/*
 * The files of a process in the trace directory: its log, its window with the
 * head of the process, and the job's shared counts (job.counts). All names and
 * contents are in schemas/trace_format.h.
 */
#include "preload/core/window.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "schemas/syscall.h"

#include "preload/core/budget.h"
#include "preload/core/encode.h"
#include "preload/core/private_fds.h"

uint64_t shim_clock_ns(clockid_t id)
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
		uint64_t ns = shim_clock_ns(CLOCK_MONOTONIC);
		uint64_t after = shim_clock();

		if (after - before < best) {
			best = after - before;
			*ticks = before + best / 2;
			*mono_ns = ns;
		}
	}
	return best > UINT32_MAX ? UINT32_MAX : (uint32_t)best;
}

ssize_t shim_read_small(const char *path, char *buf, size_t room)
{
	long fd = raw(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return -1;
	n = raw(SYS_read, fd, buf, room);
	raw(SYS_close, fd);
	return n;
}

/* Append "key=value" to the text of the head, truncated at @end. */
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
	long n = raw(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/time", own,
		     sizeof(own));
	long k =
		raw(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/time_for_children",
		    children, sizeof(children));

	/* "time:[NUMBER]" and "time:[NUMBER]" */
	return n > 0 && n == k && !memcmp(own, children, (size_t)n);
}

/*
 * Append the offset of CLOCK_MONOTONIC in a time namespace, if there is one:
 * "SECONDS NS". The first line of the file is "monotonic SECONDS NS".
 */
static char *text_put_timens(char *p, const char *end)
{
	static const char name[] = "monotonic";
	char buf[128], *v = buf + sizeof(name) - 1;
	long n = shim_read_small("/proc/self/timens_offsets", buf,
				 sizeof(buf) - 1);

	buf[n > 0 ? n : 0] = '\0';
	if (strncmp(buf, name, sizeof(name) - 1))
		return p;
	v += strspn(v, " \t");
	n = (long)strcspn(v, "\n");
	/* nearly always 0 0; the file shows the offsets of future children */
	if (strspn(v, "0 \t") >= (size_t)n || !in_timens_of_children())
		return p;
	return text_put(p, end, "timens", v, (size_t)n);
}

static uint32_t text_fill(char *text, const char *end)
{
	char buf[4096], *p = text;
	struct utsname uts;
	long n = raw(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buf,
		     sizeof(buf));

	if (n > 0)
		p = text_put(p, end, "exe", buf, (size_t)n);
	p = text_put(p, end, "cwd", shim.cwd, strlen(shim.cwd));
	if (raw(SYS_uname, &uts) == 0) {
		p = text_put(p, end, "host", uts.nodename,
			     strlen(uts.nodename));
		p = text_put(p, end, "kernel", uts.release,
			     strlen(uts.release));
	}
	p = text_put_timens(p, end);
	n = shim_read_small("/proc/self/cmdline", buf, sizeof(buf) - 1);
	for (long i = 0; i < n;) {
		size_t len = strnlen(buf + i, (size_t)(n - i));

		p = text_put(p, end, "arg", buf + i, len);
		i += (long)len + 1;
	}
	while ((p - text) % 8 && p < end)
		*p++ = '\0';
	return (uint32_t)(p - text);
}

static void head_fill(struct reel_head *h, const struct shim_beginning *b)
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
	h->start_real_ns = shim_clock_ns(CLOCK_REALTIME);
	h->start_boot_ns = shim_clock_ns(CLOCK_BOOTTIME);
	if (b->parent_uid) {
		h->fork_ticks = shim.fork_ticks;
		h->fork_tid = shim.fork_tid;
	}
	h->mpi_rank = shim.rank;
	if (shim_read_small("/proc/sys/kernel/random/boot_id", h->boot_id,
			    sizeof(h->boot_id) - 1) > 36)
		h->boot_id[36] = '\0';
	h->text_bytes =
		text_fill((char *)(h + 1), (char *)h + REEL_WINDOW_HEAD_BYTES);
	h->head_bytes = (uint32_t)sizeof(*h) + h->text_bytes;
}

/* Claim the name "PID" or "PID.n" by creating its window and log. Returns the
 * descriptor of the window, or < 0. */
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
			raw(SYS_close, log);
			return fd;
		}
		raw(SYS_close, fd);
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
	raw(SYS_unlinkat, AT_FDCWD, path, 0);
}

static bool write_head(void *unused)
{
	int fd = shim_open_log(O_WRONLY);
	bool good;

	(void)unused;
	if (fd < 0)
		return false;
	good = shim_size_allowed(shim.head->head_bytes) &&
	       raw(SYS_pwrite64, fd, shim.head, shim.head->head_bytes, 0) ==
		       (long)shim.head->head_bytes;
	raw(SYS_close, fd);
	return good;
}

bool shim_write_head(void)
{
	return shim_run_private_fds(write_head, NULL);
}

void shim_map_counts(void)
{
	long fd = shim_open_file("/job", ".counts", O_RDWR);
	struct reel_counts *c;

	if (fd < 0)
		return;
	c = (void *)raw(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);
	raw(SYS_close, fd);
	if ((unsigned long)c <= -4096ul && c->magic == REEL_COUNTS_MAGIC)
		shim.counts = c;
}

/* Accessible to its owner, whatever the umask of the job. */
static void make_dir(const char *path)
{
	if (!raw(SYS_mkdirat, AT_FDCWD, path, 0700))
		raw(SYS_fchmodat, AT_FDCWD, path, 0700);
}

/*
 * Make the trace directory, if "ioreel record" has not. Failures show in
 * claim_stem() afterwards.
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
	shim.stem[0] = '\0'; /* job.counts belongs to no process */
	fd = shim_open_file("/job", ".counts", O_RDWR | O_CREAT | O_EXCL);
	if (fd >= 0) {
		if (!shim_allocate((int)fd, 0, 4096))
			raw(SYS_pwrite64, fd, &counts, sizeof(counts), 0);
		raw(SYS_close, fd);
	}
	if (!shim.counts)
		shim_map_counts();
}

bool shim_make_files(void *beginning)
{
	struct shim_beginning *b = beginning;
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
		       : (void *)raw(SYS_mmap, 0, REEL_WINDOW_HEAD_BYTES,
				     PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raw(SYS_close, fd);
	if (!head || (unsigned long)head > -4096ul) {
		shim_remove_window();
		return false;
	}
	raw(SYS_madvise, head, REEL_WINDOW_HEAD_BYTES, MADV_DONTFORK);
	head_fill(head, b);
	b->head = head;
	return true;
}
