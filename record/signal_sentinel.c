/* SPDX-License-Identifier: MIT */
/*
 * A process that only receives signals. It shows whether a signal was sent to
 * "ioreel record" alone or to the whole process group.
 *
 * timeout(1), batch systems and shells signal whole groups; kill() with our
 * process id is meant for the job. Forwarding a group signal would signal the
 * job twice, and many programs exit at once on a second SIGTERM. The sentinel
 * is in our process group: a signal that it received too needs no forwarding.
 * killall, pkill and pidof select processes by name, command line or program
 * file. The sentinel differs from us in all three: otherwise "killall ioreel"
 * would look like a signal to the group, and the job would never get it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"

#include "record/internal.h"

#define NAME "job-signals"
/* A batch system may signal its processes one by one. */
#define WAIT_NS 40000000ll
#define STALE_NS 500000000ll
/* On a busy machine the sentinel may not run for long. */
#define BEHIND_NS 2000000000ll
#define LOOK_MS 5

struct seen_signal {
	int signal;
	int64_t at_ns;
};

/* Writes to the pipe on descriptor 0. Holds no other descriptor. */
static void __attribute__((noreturn)) watch_signals(pid_t parent)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, NAME);
	if (getppid() != parent || chdir("/"))
		_exit(1);
	syscall(SYS_close_range, 1, ~0u, 0);
	for (;;) {
		struct seen_signal s = {.signal = sigwaitinfo(&all, NULL)};

		s.at_ns = record_clock_ns(CLOCK_MONOTONIC);
		if (s.signal > 0 &&
		    write(STDIN_FILENO, &s, sizeof(s)) != (ssize_t)sizeof(s))
			_exit(0);
	}
}

static int run(int argc, char **argv)
{
	struct stat st;

	/* Not for users: ioreel record passes a pipe. */
	if (argc != 2 || fstat(STDIN_FILENO, &st) || !S_ISFIFO(st.st_mode))
		return 2;
	watch_signals((pid_t)atoi(argv[1]));
}

const struct reel_command cmd_signal_sentinel = {.name = NAME, .run = run};

/* A copy of this program in a memfd, or -1. */
static int unnamed_copy(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = memfd_create(NAME, MFD_CLOEXEC);
	struct stat st;
	off_t at = 0;

	if (from >= 0 && to >= 0 && !fstat(from, &st))
		while (at < st.st_size &&
		       sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0)
			;
	if (from < 0 || to < 0 || !at || at < st.st_size) {
		close(to);
		to = -1;
	}
	close(from);
	return to;
}

/* Runs in the child: exec the copy, or continue without exec if that fails. */
static void __attribute__((noreturn)) start_sentinel(int fd, pid_t parent)
{
	char pid[16], verb[] = NAME;
	char *argv[] = {verb, verb, pid, NULL};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); /* exec keeps pending signals */
	if (dup2(fd, STDIN_FILENO) < 0)
		_exit(1);
	snprintf(pid, sizeof(pid), "%d", (int)parent);
	fexecve(unnamed_copy(), argv, environ);
	watch_signals(parent);
}

void signal_sentinel_start(struct signal_sentinel *w)
{
	int fd[2];
	pid_t parent = getpid();

	memset(w, 0, sizeof(*w));
	w->fd = -1;
	if (pipe2(fd, O_CLOEXEC))
		return;
	w->pid = fork();
	if (!w->pid)
		start_sentinel(fd[1], parent);
	close(fd[1]);
	if (w->pid < 0) {
		close(fd[0]);
		return;
	}
	w->fd = fd[0];
}

void signal_sentinel_stop(struct signal_sentinel *w)
{
	if (w->fd < 0)
		return;
	close(w->fd);
	w->fd = -1;
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void signal_sentinel_check(struct signal_sentinel *w)
{
	if (w->fd < 0 || waitpid(w->pid, NULL, WNOHANG) != w->pid)
		return;
	close(w->fd);
	signal_sentinel_start(w);
}

/* Does a signal wait for the sentinel, or has it one that it may write? It
 * sleeps only where it waits for signals. */
static bool is_behind(pid_t pid)
{
	struct reel_buf b = REEL_BUF_INIT;
	const char *status, *state;
	char path[64];
	bool is;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (reel_buf_read_file(&b, path, 65536, NULL)) {
		reel_buf_fini(&b);
		return false;
	}
	status = reel_buf_text(&b);
	state = strstr(status, "\nState:\t");
	is = (state && strchr("RDTt", state[8])) ||
	     record_signal_set(status, "\nSigPnd:") ||
	     record_signal_set(status, "\nShdPnd:");
	reel_buf_fini(&b);
	return is;
}

bool signal_sentinel_saw(struct signal_sentinel *w, int sig)
{
	int64_t until = record_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;

	while (w->fd >= 0) {
		struct pollfd p = {.fd = w->fd, .events = POLLIN};
		int64_t now = record_clock_ns(CLOCK_MONOTONIC);
		struct seen_signal s;
		int wait_ms;

		if (w->seen_ns[sig] && now - w->seen_ns[sig] < STALE_NS) {
			w->told_ns[sig] = w->seen_ns[sig];
			w->seen_ns[sig] = 0;
			return true;
		}
		/* timeout(1) signals its child, then the group: one event */
		if (w->told_ns[sig] && now - w->told_ns[sig] < 2 * WAIT_NS)
			return true;
		if (now > until &&
		    (now > until + BEHIND_NS || !is_behind(w->pid)))
			return false;
		wait_ms = now < until ? (int)((until - now) / 1000000) + 1
				      : LOOK_MS;
		if (poll(&p, 1, wait_ms) <= 0)
			continue;
		if (read(w->fd, &s, sizeof(s)) != (ssize_t)sizeof(s))
			return false; /* killed; see signal_sentinel_check() */
		if (s.signal > 0 && s.signal < _NSIG)
			w->seen_ns[s.signal] = s.at_ns;
	}
	return false;
}
