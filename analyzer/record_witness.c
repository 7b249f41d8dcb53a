/* SPDX-License-Identifier: MIT */
/*
 * A process that does nothing but get signals, to tell whether one was sent to
 * "ioreel record" alone or to the job as well.
 *
 * timeout(1), batch systems and shells signal whole groups; who calls kill()
 * with our process id means the job. Forwarding in the first case would signal
 * the job twice, and a second SIGTERM often means "now". The witness lies in
 * our process group: what it got too needs no forwarding.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/record_internal.h"

/* A batch system may go through its processes one by one. */
#define WAIT_NS 40000000ll
#define STALE_NS 500000000ll

struct sight {
	int signal;
	int64_t at_ns;
};

/* Holds nothing of the job's: no descriptor, no terminal, no directory. */
static void __attribute__((noreturn)) watch(int fd, pid_t parent)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "ioreel-signals");
	if (dup2(fd, STDIN_FILENO) < 0 || getppid() != parent || chdir("/"))
		_exit(1);
	syscall(SYS_close_range, 1, ~0u, 0);
	for (;;) {
		struct sight s = {.signal = sigwaitinfo(&all, NULL)};

		s.at_ns = record_clock_ns(CLOCK_MONOTONIC);
		if (s.signal > 0 &&
		    write(STDIN_FILENO, &s, sizeof(s)) != (ssize_t)sizeof(s))
			_exit(0);
	}
}

void record_witness_start(struct record_witness *w)
{
	int fd[2];
	pid_t parent = getpid();

	memset(w, 0, sizeof(*w));
	w->fd = -1;
	if (pipe2(fd, O_CLOEXEC))
		return;
	w->pid = fork();
	if (!w->pid)
		watch(fd[1], parent);
	close(fd[1]);
	if (w->pid < 0) {
		close(fd[0]);
		return;
	}
	w->fd = fd[0];
}

void record_witness_stop(struct record_witness *w)
{
	if (w->fd < 0)
		return;
	close(w->fd);
	w->fd = -1;
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

bool record_witness_saw(struct record_witness *w, int sig)
{
	int64_t until = record_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;

	while (w->fd >= 0) {
		struct pollfd p = {.fd = w->fd, .events = POLLIN};
		int64_t now = record_clock_ns(CLOCK_MONOTONIC);
		struct sight s;

		if (w->seen_ns[sig] && now - w->seen_ns[sig] < STALE_NS) {
			w->told_ns[sig] = w->seen_ns[sig];
			w->seen_ns[sig] = 0;
			return true;
		}
		/* timeout(1) signals its child and then the group: one event */
		if (w->told_ns[sig] && now - w->told_ns[sig] < 2 * WAIT_NS)
			return true;
		if (now > until ||
		    poll(&p, 1, (int)((until - now) / 1000000)) <= 0)
			return false;
		if (read(w->fd, &s, sizeof(s)) != (ssize_t)sizeof(s)) {
			record_witness_stop(w);
			return false;
		}
		if (s.signal > 0 && s.signal < _NSIG)
			w->seen_ns[s.signal] = s.at_ns;
	}
	return false;
}
