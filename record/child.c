/* SPDX-License-Identifier: MIT */
/*
 * The job: started as the caller would start it, waited for, its signals
 * passed on.
 *
 * The job stays in our process group, so what a terminal sends reaches it
 * without us; only what was sent to us alone is forwarded. All signals that
 * concern us are blocked and taken with sigwaitinfo(): no handler runs, and the
 * child gets mask and dispositions as we found them.
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

/* What lies in struct record_signals. */
struct saved {
	sigset_t mask;
	sigset_t ours;
	struct sigaction child;
};
_Static_assert(sizeof(struct saved) <= sizeof(struct record_signals),
	       "make it larger");

static const int taken[] = {SIGTERM, SIGHUP,   SIGINT,	SIGQUIT, SIGUSR1,
			    SIGUSR2, SIGCONT,  SIGTSTP, SIGALRM, SIGURG,
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
	for (i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&s->ours, taken[i]);
	sigprocmask(SIG_BLOCK, &s->ours, &s->mask);
	/* Ignored by whoever started us, children would vanish unwaited. */
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

/* In the child. Says on @fd why the command could not be run. */
static void __attribute__((noreturn))
child(char **argv, char **env, struct saved *s, int fd)
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

/* 0 once the command runs, else the error number of exec. */
static int exec_result(int fd)
{
	int why = 0;
	ssize_t n;

	do
		n = read(fd, &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	return n == sizeof(why) ? why : 0;
}

/* Signals of the set @name in /proc/PID/status; when not known: all. */
static uint64_t signals_of(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 16) : UINT64_MAX;
}

/* May the process @pid do something else on @sig than end? */
static bool handles(pid_t pid, int sig)
{
	struct reel_buf b = REEL_BUF_INIT;
	char path[64];
	const char *status;
	uint64_t set;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	reel_buf_read_file(&b, path, 65536, NULL);
	status = reel_buf_text(&b);
	set = signals_of(status, "\nSigCgt:") | signals_of(status, "\nSigBlk:");
	reel_buf_fini(&b);
	return set >> (sig - 1) & 1;
}

static bool ends_by(int sig)
{
	return sig == SIGTERM || sig == SIGHUP || sig == SIGINT ||
	       sig == SIGQUIT || sig == SIGUSR1 || sig == SIGUSR2 ||
	       sig == SIGALRM;
}

/*
 * Must the job get the signal that we got? A terminal signals the whole group,
 * but for a hangup: that goes to the leader of the session, which we may be in
 * the job's place. A signal that ends the job for want of a handler may be sent
 * twice, and must be when only our two processes received it.
 */
static bool forwards(struct signal_sentinel *w, pid_t job, int sig, int *group)
{
	if (signal_sentinel_saw(w, sig)) {
		*group = sig;
		return ends_by(sig) && !handles(job, sig);
	}
	if (w->fd >= 0 || (sig != SIGINT && sig != SIGQUIT && sig != SIGTSTP))
		return true;
	*group = sig; /* no witness: taken for a terminal's */
	return false;
}

/* Stop as the job did: the shell that waits for us must see it. */
static void stop_by(int sig)
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

static bool still_stopped(pid_t pid)
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

/* True when the job has ended; stops with it when it has stopped. */
static bool ended(pid_t pid, int *status)
{
	pid_t got;

	while ((got = waitpid(pid, status, WNOHANG | WUNTRACED)) == pid) {
		if (!WIFSTOPPED(*status))
			return true;
		if (still_stopped(pid))
			stop_by(WSTOPSIG(*status));
	}
	return got < 0 && errno == ECHILD;
}

/* True when there was something to do. What fails now is tried at the end. */
static bool tidy(const char *dir)
{
	struct reel_error err = {0};
	struct record_collected c;

	record_collect_now(dir, &c, &err);
	return record_pack(dir, false, &err) > 0 || c.merged;
}

/* Gives the last signal that our whole group was sent, or 0. */
static int wait_for(pid_t pid, const char *dir, struct saved *s, int *status)
{
	struct timespec pause = {.tv_sec = 1};
	int64_t next = record_clock_ns(CLOCK_MONOTONIC) + 1000000000;
	struct signal_sentinel w;
	int sig, group = 0;

	signal_sentinel_start(&w);
	while (!ended(pid, status)) {
		sig = sigtimedwait(&s->ours, NULL, &pause);
		if (sig > 0 && sig != SIGCHLD) {
			if (forwards(&w, pid, sig, &group))
				kill(pid, sig);
		} else if (sig > 0) {
			signal_sentinel_check(&w);
		}
		if (record_clock_ns(CLOCK_MONOTONIC) < next)
			continue;
		if (tidy(dir))
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
 * Did the job die of what was typed at the terminal? Its signal may be waiting
 * for us yet, as that of the job was quicker.
 */
static int typed(struct saved *s, int status, int group)
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

/* @name as exec looked for it: why it cannot be run. */
static void say_why(const char *name, int why, struct reel_error *err)
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
		reel_fail(err, REEL_E_IO, "cannot run '%s': %s", name,
			  strerror(why));
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
	cpu_usage_now(&res->machine);
	start = record_clock_ns(CLOCK_MONOTONIC);
	pid = fork();
	if (pid < 0) {
		reel_fail(err, REEL_E_IO, "cannot fork: %s", strerror(errno));
		goto out;
	}
	if (!pid)
		child(argv, env, s, pipe_fd[1]);
	close(pipe_fd[1]);
	pipe_fd[1] = -1;
	res->exec_errno = exec_result(pipe_fd[0]);
	group = wait_for(pid, dir, s, &res->wait_status);
	res->tty_signal = typed(s, res->wait_status, group);
	res->wall_ns = record_clock_ns(CLOCK_MONOTONIC) - start;
	cpu_usage_since(&res->machine);
	if (res->exec_errno)
		say_why(argv[0], res->exec_errno, err);
	else
		rc = 0;
out:
	close(pipe_fd[0]);
	if (pipe_fd[1] >= 0)
		close(pipe_fd[1]);
	return rc;
}
