/* SPDX-License-Identifier: MIT */
/*
 * Start the job as the caller would start it, wait for it, forward signals.
 *
 * The job stays in our process group, so signals of the terminal reach it
 * directly; only a signal that was sent to us alone is forwarded. All relevant
 * signals are blocked and taken by sigtimedwait(): no handler runs, and the
 * child gets the original mask and dispositions.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "record/internal.h"

#define TIDY_SECONDS_MAX 16

/* The content of struct record_signals. */
struct saved {
	sigset_t mask;
	sigset_t ours;
	struct sigaction child;
};
_Static_assert(sizeof(struct saved) <= sizeof(struct record_signals),
	       "make it larger");

static const int handled[] = {SIGTERM, SIGHUP,	 SIGINT,  SIGQUIT, SIGUSR1,
			      SIGUSR2, SIGCONT,	 SIGTSTP, SIGALRM, SIGURG,
			      SIGIO,   SIGWINCH, SIGCHLD};

int64_t record_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void record_run_begin(struct record_signals *sig)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	struct saved *s = (struct saved *)sig;
	size_t i;

	memset(sig, 0, sizeof(*sig));
	sigemptyset(&s->ours);
	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		sigaddset(&s->ours, handled[i]);
	sigprocmask(SIG_BLOCK, &s->ours, &s->mask);
	/* With SIGCHLD ignored, the kernel would reap the child itself. */
	sigaction(SIGCHLD, &dfl, &s->child);
}

void record_run_end(struct record_signals *sig)
{
	struct saved *s = (struct saved *)sig;
	struct timespec none = {0, 0};

	while (sigtimedwait(&s->ours, NULL, &none) > 0)
		;
	sigaction(SIGCHLD, &s->child, NULL);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

/* Runs in the child. Writes errno to @fd if exec fails. */
static void __attribute__((noreturn))
exec_child(char **argv, char **env, struct saved *s, int fd)
{
	ssize_t n;
	int why;

	sigaction(SIGCHLD, &s->child, NULL);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	execvpe(argv[0], argv, env);
	why = errno;
	n = write(fd, &why, sizeof(why));
	_exit(n == sizeof(why) ? 127 : 126);
}

/* 0 when the command runs, else the errno of exec. */
static int exec_result(int fd)
{
	int why = 0;
	ssize_t n;

	do
		n = read(fd, &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	return n == sizeof(why) ? why : 0;
}

uint64_t record_signal_set(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 16) : UINT64_MAX;
}

/* True if @pid catches or blocks @sig, so that it may survive it. */
static bool has_handler(pid_t pid, int sig)
{
	struct reel_buf b = REEL_BUF_INIT;
	char path[64];
	const char *status;
	uint64_t set;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	reel_buf_read_file(&b, path, 65536, NULL);
	status = reel_buf_text(&b);
	set = record_signal_set(status, "\nSigCgt:") |
	      record_signal_set(status, "\nSigBlk:");
	reel_buf_fini(&b);
	return set >> (sig - 1) & 1;
}

static bool is_fatal(int sig)
{
	return sig == SIGTERM || sig == SIGHUP || sig == SIGINT ||
	       sig == SIGQUIT || sig == SIGUSR1 || sig == SIGUSR2 ||
	       sig == SIGALRM;
}

/*
 * True if the job must get the signal that we got. A terminal signals the whole
 * group, but a hangup only the leader of the session, which may be us. A signal
 * that is fatal to the job is forwarded anyway: twice is harmless, and it is
 * needed if only we and the sentinel received it.
 */
static bool must_forward(struct signal_sentinel *w, pid_t job, int sig,
			 int *group)
{
	if (signal_sentinel_saw(w, sig)) {
		*group = sig;
		return is_fatal(sig) && !has_handler(job, sig);
	}
	if (w->fd >= 0 || (sig != SIGINT && sig != SIGQUIT && sig != SIGTSTP))
		return true;
	*group = sig; /* no sentinel: assume that the terminal sent it */
	return false;
}

/* Stop with the signal that stopped the job, so that our shell sees it. */
static void stop_self(int sig)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL}, old;
	sigset_t one, mask;

	if (sig != SIGTSTP && sig != SIGTTIN && sig != SIGTTOU) {
		raise(SIGSTOP);
		return;
	}
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigaction(sig, &dfl, &old);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &one, &mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(sig, &old, NULL);
}

static bool is_stopped(pid_t pid)
{
	char path[64], line[512];
	const char *paren;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 0)
		return false;
	line[n] = '\0';
	paren = strrchr(line, ')');
	return paren && paren[1] == ' ' && (paren[2] == 'T' || paren[2] == 't');
}

/* True when the job has ended. If it stopped, this process stops as well. */
static bool job_ended(pid_t pid, int *status)
{
	pid_t got;

	while ((got = waitpid(pid, status, WNOHANG | WUNTRACED)) == pid) {
		if (!WIFSTOPPED(*status))
			return true;
		if (is_stopped(pid))
			stop_self(WSTOPSIG(*status));
	}
	return got < 0 && errno == ECHILD;
}

/* True if it did something. Failures are retried at the end. */
static bool tidy_dir(const char *dir)
{
	struct reel_error err = {0};
	struct record_collected c;

	record_collect_now(dir, &c, &err);
	return record_pack(dir, false, &err) > 0 || c.merged;
}

/* Returns the last signal that our whole group received, or 0. */
static int wait_job(pid_t pid, const char *dir, struct saved *s, int *status)
{
	struct timespec pause = {.tv_sec = 1};
	int64_t next = record_clock_ns(CLOCK_MONOTONIC) + 1000000000;
	struct signal_sentinel w;
	int sig, group = 0;

	signal_sentinel_start(&w);
	while (!job_ended(pid, status)) {
		sig = sigtimedwait(&s->ours, NULL, &pause);
		if (sig > 0 && sig != SIGCHLD) {
			if (must_forward(&w, pid, sig, &group))
				kill(pid, sig);
		} else if (sig > 0) {
			signal_sentinel_check(&w);
		}
		if (record_clock_ns(CLOCK_MONOTONIC) < next)
			continue;
		if (tidy_dir(dir))
			pause.tv_sec = 1;
		else if (pause.tv_sec < TIDY_SECONDS_MAX)
			pause.tv_sec *= 2;
		next = record_clock_ns(CLOCK_MONOTONIC) +
		       pause.tv_sec * 1000000000;
	}
	signal_sentinel_stop(&w);
	return group;
}

/*
 * The terminal's signal that ended the job, or 0. Ours may still be pending,
 * because the job received its copy first.
 */
static int terminal_signal(struct saved *s, int status, int group)
{
	const struct timespec none = {0, 0};
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	sigset_t one;

	if (sig != SIGINT && sig != SIGQUIT)
		return 0;
	sigemptyset(&one);
	sigaddset(&one, sig);
	if (sigismember(&s->ours, sig) && sigtimedwait(&one, NULL, &none) > 0)
		group = sig;
	return group == sig ? sig : 0;
}

/* Fill @err with the reason why exec failed on @name. */
static void fail_exec(const char *name, int why, struct reel_error *err)
{
	struct stat st;
	bool path = strchr(name, '/');

	if (why == ENOENT && !path)
		reel_fail(err, REEL_E_IO, "cannot run '%s': not found in PATH",
			  name);
	else if (why == ENOENT && !stat(name, &st))
		reel_fail(err, REEL_E_IO,
			  "cannot run '%s': its interpreter does not exist",
			  name);
	else if (why == EACCES && path && !stat(name, &st) &&
		 S_ISDIR(st.st_mode))
		reel_fail(err, REEL_E_IO, "cannot run '%s': it is a directory",
			  name);
	else if (why == EACCES && path && !stat(name, &st) &&
		 !(st.st_mode & 0111))
		reel_fail(err, REEL_E_IO,
			  "cannot run '%s': it is not executable", name);
	else
		reel_fail_io(err, "run", name, why);
}

int record_run(char **argv, char **env, const char *dir,
	       struct record_signals *sig, struct reel_record_result *res,
	       struct reel_error *err)
{
	struct saved *s = (struct saved *)sig;
	int pipe_fd[2] = {-1, -1}, group, rc = -1;
	int64_t start;
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC)) {
		reel_fail(err, REEL_E_IO, "cannot make a pipe: %s",
			  strerror(errno));
		return -1;
	}
	cpu_usage_now(&res->cpu);
	start = record_clock_ns(CLOCK_MONOTONIC);
	pid = fork();
	if (pid < 0) {
		reel_fail(err, REEL_E_IO, "cannot fork: %s", strerror(errno));
		goto out;
	}
	if (!pid)
		exec_child(argv, env, s, pipe_fd[1]);
	close(pipe_fd[1]);
	pipe_fd[1] = -1;
	res->exec_errno = exec_result(pipe_fd[0]);
	group = wait_job(pid, dir, s, &res->wait_status);
	res->tty_signal = terminal_signal(s, res->wait_status, group);
	res->wall_ns = record_clock_ns(CLOCK_MONOTONIC) - start;
	cpu_usage_since(&res->cpu);
	if (res->exec_errno)
		fail_exec(argv[0], res->exec_errno, err);
	else
		rc = 0;
out:
	close(pipe_fd[0]);
	if (pipe_fd[1] >= 0)
		close(pipe_fd[1]);
	return rc;
}
