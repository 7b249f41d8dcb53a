/* SPDX-License-Identifier: MIT */
/*
 * Find out from /proc which processes of a job still live.
 *
 * A process id is valid in one pid namespace only: process 7 of a container may
 * be our 4711. In doubt a process counts as living: its window stays, and the
 * trace reader reads windows too.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"

#include "record/internal.h"

#define ENVIRON_MOST (1u << 20)
#define MAPS_MOST (64u << 20)
/* Tolerance for the ticks of /proc/PID/stat and the file system's clock. */
#define SLACK_NS 50000000

/* A process in a pid namespace below ours. */
struct inner {
	uint32_t pid; /* in its own namespace */
	int64_t start_ns;
};

void record_boot_id(char out[static 40])
{
	struct reel_buf b = REEL_BUF_INIT;

	memset(out, 0, 40);
	if (!reel_buf_read_file(&b, "/proc/sys/kernel/random/boot_id", 128,
				NULL) &&
	    b.len >= 36)
		memcpy(out, b.data, 36);
	reel_buf_fini(&b);
}

/*
 * Start of the process @pid in ns since boot, or -1 if it does not live. A
 * zombie with more than one thread lives: only its first thread has ended.
 */
static int64_t start_ns(uint32_t pid)
{
	struct reel_buf b = REEL_BUF_INIT;
	unsigned long long start = 0;
	char path[64], state = 0;
	const char *paren;
	long threads = 0;
	int64_t ns = -1;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (reel_buf_read_file(&b, path, 4096, NULL))
		goto out;
	/* The name in parentheses may itself contain parentheses. */
	paren = strrchr(reel_buf_text(&b), ')');
	if (!paren ||
	    sscanf(paren + 1,
		   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
		   "%*d %*d %*d %ld %*d %llu",
		   &state, &threads, &start) != 3)
		goto out;
	if ((state == 'Z' || state == 'X') && threads <= 1)
		goto out;
	ns = (int64_t)start * (1000000000 / sysconf(_SC_CLK_TCK));
out:
	reel_buf_fini(&b);
	return ns;
}

/* Process id in the innermost namespace; 0 if that is our own. */
static uint32_t inner_pid(uint32_t pid, const char *ours)
{
	struct reel_buf b = REEL_BUF_INIT;
	char path[64], theirs[64] = "";
	const char *p;
	uint32_t n = 0;

	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	if (readlink(path, theirs, sizeof(theirs) - 1) <= 0 ||
	    !strcmp(theirs, ours))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (!reel_buf_read_file(&b, path, 65536, NULL) &&
	    (p = strstr(reel_buf_text(&b), "\nNSpid:"))) {
		p += strcspn(p + 1, "\n");
		while (*p >= '0' && *p <= '9')
			p--;
		n = (uint32_t)strtoul(p + 1, NULL, 10);
	}
	reel_buf_fini(&b);
	return n;
}

/* The id of the next process in /proc, or 0. */
static uint32_t next_process(DIR *proc)
{
	struct dirent *e;

	while (proc && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			return (uint32_t)strtoul(e->d_name, NULL, 10);
	return 0;
}

static void find_inner(struct record_alive *a)
{
	DIR *proc = opendir("/proc");
	char ours[64] = "";
	uint32_t pid;

	a->looked = true;
	if (readlink("/proc/self/ns/pid", ours, sizeof(ours) - 1) <= 0)
		ours[0] = '\0';
	while (ours[0] && (pid = next_process(proc))) {
		uint32_t inner = inner_pid(pid, ours);

		if (!inner)
			continue;
		if (reel_array_reach(&a->inner, &a->room, a->inners,
				     sizeof(*a->inner), NULL))
			break;
		a->inner[a->inners++] = (struct inner){inner, start_ns(pid)};
	}
	if (proc)
		closedir(proc);
}

enum record_owner record_alive(struct record_alive *a, uint32_t pid,
			       uint64_t since_boot_ns)
{
	int64_t start = start_ns(pid), since = (int64_t)since_boot_ns;
	size_t i;

	if (start >= 0 && start <= since)
		return RECORD_ALIVE;
	if (!a->looked)
		find_inner(a);
	for (i = 0; i < a->inners; i++)
		if (a->inner[i].pid == pid && a->inner[i].start_ns >= 0 &&
		    a->inner[i].start_ns <= since)
			return RECORD_ELSEWHERE;
	return RECORD_ENDED;
}

uint64_t record_file_boot_ns(const struct stat *st)
{
	int64_t at =
		(int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;

	at += record_clock_ns(CLOCK_BOOTTIME) -
	      record_clock_ns(CLOCK_REALTIME) + SLACK_NS;
	return at > 0 ? (uint64_t)at : 0;
}

void record_alive_fini(struct record_alive *a)
{
	free(a->inner);
}

static bool proc_file_has(uint32_t pid, const char *file, size_t most,
			  const char *text, size_t n)
{
	struct reel_buf b = REEL_BUF_INIT;
	char path[64];
	bool found;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	found = !reel_buf_read_file(&b, path, most, NULL) && b.len &&
		memmem(b.data, b.len, text, n);
	reel_buf_fini(&b);
	return found;
}

int record_alive_count(const char *dir, const uint32_t *pid, size_t pids)
{
	static const char shim[] = "/libioreel.so";
	DIR *proc = opendir("/proc");
	char wanted[PATH_MAX + 16];
	int n = (int)pids, len;
	uint32_t p;
	size_t i;

	len = snprintf(wanted, sizeof(wanted), "IOREEL_DIR=%s", dir);
	while (len > 0 && len < (int)sizeof(wanted) &&
	       (p = next_process(proc))) {
		for (i = 0; i < pids && pid[i] != p; i++)
			;
		/* With the NUL, so that DIR does not match DIR2. */
		n += i == pids &&
		     proc_file_has(p, "environ", ENVIRON_MOST, wanted,
				   (size_t)len + 1) &&
		     proc_file_has(p, "maps", MAPS_MOST, shim, strlen(shim)) &&
		     start_ns(p) >= 0;
	}
	if (proc)
		closedir(proc);
	return n;
}
