/* SPDX-License-Identifier: MIT */
/*
 * Programs that start programs: every way in which processes begin, change and
 * end. The output must be the same bare and traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Ten calls: an open, eight reads, a close. */
static void ten_calls(void)
{
	int fd = open("data", O_RDONLY);
	char b[64];

	for (int i = 0; i < 8; i++)
		if (read(fd, b, sizeof(b)) < 0)
			exit(9);
	close(fd);
}

static int reap(void)
{
	int n = 0, status, bad = 0;

	while (wait(&status) > 0) {
		n++;
		bad += status != 0;
	}
	printf("%d children, %d bad\n", n, bad);
	return 0;
}

static int storm(int n)
{
	for (int i = 0; i < n; i++) {
		if (!fork()) {
			ten_calls();
			exit(0);
		}
		if (i % 8 == 7)
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
	}
	while (wait(NULL) > 0)
		;
	printf("%d done\n", n);
	return 0;
}

/* All exist at the same time; then take the size of the trace. */
static int crowd(int n)
{
	int gate[2], there[2];
	char c = 0;

	if (pipe(gate) || pipe(there))
		return 1;
	for (int i = 0; i < n; i++)
		if (!fork()) {
			close(gate[1]);
			ten_calls();
			if (write(there[1], &c, 1) != 1)
				_exit(1);
			if (read(gate[0], &c, 1) != 0)
				_exit(1);
			exit(0);
		}
	for (int i = 0; i < n; i++)
		if (read(there[0], &c, 1) != 1)
			return 1;
	if (getenv("SIZE_COMMAND") && system(getenv("SIZE_COMMAND")))
		return 1;
	close(gate[1]);
	return reap();
}

static volatile int stop;

static void *busy(void *arg)
{
	int fd = open("data", O_RDONLY);
	char b[16];
	long n = 0;

	while (!stop && n < 200000)
		n += pread(fd, b, sizeof(b), 0) > 0;
	close(fd);
	return arg;
}

/* 300 forks while two other threads record. */
static int fork_threads(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, busy, NULL);
	for (int i = 0; i < 300; i++) {
		if (!fork()) {
			ten_calls();
			_exit(0);
		}
		if (i % 10 == 9)
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
	}
	while (wait(NULL) > 0)
		;
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	puts("forked");
	return 0;
}

/* A child that forks before it makes a call of its own. */
static int fork_first(void)
{
	ten_calls();
	if (!fork()) {
		if (!fork()) {
			ten_calls();
			_exit(0);
		}
		wait(NULL);
		ten_calls();
		_exit(0);
	}
	return wait(NULL) < 0;
}

static int double_fork(void)
{
	int done[2];
	char c;

	if (pipe(done))
		return 1;
	if (!fork()) {
		close(done[0]);
		if (!fork()) {
			setsid();
			ten_calls();
			c = getppid() == 1 || 1;
			if (write(done[1], &c, 1) != 1)
				_exit(1);
			exit(0);
		}
		_exit(0);
	}
	wait(NULL);
	close(done[1]);
	printf("grandchild %zd\n", read(done[0], &c, 1));
	return 0;
}

static int daemonize(void)
{
	int done[2];
	char c = 0;

	if (pipe(done))
		return 1;
	if (!fork()) {
		if (daemon(1, 1))
			_exit(1);
		close(done[0]);
		ten_calls();
		if (write(done[1], &c, 1) != 1)
			_exit(1);
		exit(0);
	}
	wait(NULL);
	close(done[1]);
	printf("daemon %zd\n", read(done[0], &c, 1));
	return 0;
}

static int exec_chain(char *self, int n)
{
	char left[16], *argv[] = {self, "exec_chain", left, NULL};

	ten_calls();
	if (!n) {
		puts("end of the chain");
		return 0;
	}
	snprintf(left, sizeof(left), "%d", n - 1);
	fflush(NULL);
	execv("/proc/self/exe", argv);
	return 1;
}

static int nofile(void)
{
	struct rlimit l = {24, 24};
	int fd = open("nofile.bin", O_RDWR | O_CREAT | O_TRUNC, 0600), n = 0;

	setrlimit(RLIMIT_NOFILE, &l);
	while (dup(fd) >= 0)
		n++;
	printf("%d copies, then %s\n", n, strerror(errno));
	for (int i = 0; i < 60000; i++)
		if (pwrite(fd, "0123456789", (size_t)(i % 9 + 1), i * 3) < 0)
			return 1;
	if (!fork()) {
		char b[16];

		for (int i = 0; i < 30000; i++)
			if (pread(fd, b, (size_t)(i % 9 + 1), i) < 0)
				_exit(1);
		_exit(0);
	}
	return reap();
}

static int fsize(void)
{
	struct rlimit l = {4096, RLIM_INFINITY};
	int fd = open("fsize.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);

	setrlimit(RLIMIT_FSIZE, &l);
	for (int i = 0; i < 60000; i++)
		if (pwrite(fd, "0123456789", (size_t)(i % 9 + 1), i % 4000) < 0)
			return 1;
	puts("written");
	return 0;
}

static int chrooted(void)
{
	int fd = open("data", O_RDONLY);
	char b[16];

	if (chroot("root") || chdir("/"))
		return 1;
	for (int i = 0; i < 60000; i++)
		if (pread(fd, b, (size_t)(i % 9 + 1), i % 4000) < 0)
			return 1;
	if (!fork()) {
		if (pread(fd, b, 1, 0) != 1)
			_exit(1);
		exit(0);
	}
	return reap();
}

static int setuid_drop(void)
{
	int fd = open("data", O_RDONLY);
	char b[16];

	if (setgid(65534) || setuid(65534))
		return 1;
	for (int i = 0; i < 60000; i++)
		if (pread(fd, b, (size_t)(i % 9 + 1), i % 4000) < 0)
			return 1;
	printf("uid %u\n", getuid());
	return 0;
}

/* The filter allows reads and writes of open descriptors, and exit. */
static int strict_seccomp(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof(f) / sizeof(f[0]), f};
	int fd = open("data", O_RDONLY), n = 0;
	char b[16];

	if (pread(fd, b, 1, 0) != 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		return 1;
	for (int i = 0; i < 60000; i++)
		n += pread(fd, b, (size_t)(i % 9 + 1), i % 4000) > 0;
	printf("%d reads\n", n);
	return 0;
}

static int spawn_closefds(void)
{
	char *argv[] = {"cat", "data", NULL};
	posix_spawn_file_actions_t fa;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "spawned.out",
					 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addclosefrom_np(&fa, 3);
	if (posix_spawnp(&pid, "cat", &fa, NULL, argv, environ))
		return 1;
	waitpid(pid, &status, 0);
	printf("spawned %d\n", status);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;
	static const struct {
		const char *name;
		int (*fn)(void);
	} plain[] = {
		{"fork_threads", fork_threads},
		{"fork_first", fork_first},
		{"double_fork", double_fork},
		{"daemonize", daemonize},
		{"nofile", nofile},
		{"fsize", fsize},
		{"chrooted", chrooted},
		{"setuid_drop", setuid_drop},
		{"strict_seccomp", strict_seccomp},
		{"spawn_closefds", spawn_closefds},
	};

	if (!strcmp(what, "one")) {
		char c;
		int fd = open("data", O_RDONLY);

		return read(fd, &c, 1) != 1;
	}
	if (!strcmp(what, "storm"))
		return storm(n);
	if (!strcmp(what, "crowd"))
		return crowd(n);
	if (!strcmp(what, "exec_chain"))
		return exec_chain(argv[0], n);
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(what, plain[i].name))
			return plain[i].fn();
	return 2;
}
