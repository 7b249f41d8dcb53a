/* SPDX-License-Identifier: MIT */
/*
 * Processes that end their recording, or that share their parent's memory: the
 * first argument selects the case. Reads "data" in the working directory, 100
 * bytes at a time.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int read_all(const char *path)
{
	char buf[100];
	int fd = open(path, O_RDONLY), n = 0;

	while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
		n++;
	close(fd);
	return n;
}

/* Allow read, write and exit_group, kill for all other calls. */
static int filter(int through_syscall)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {6, f};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (through_syscall)
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
				    &p);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

/* Kill for the call that a record in a signal handler needs: sigaltstack(). */
static int filter_one(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sigaltstack, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {4, f};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

/* A filter with an endless loop, which the kernel refuses. */
static int loop(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_JMP | BPF_JA, (unsigned int)-1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {2, f};

	alarm(20); /* a shim that followed the loop would hang */
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) != -1;
}

/* Use only descriptors that are open already. */
static int confined(int fd)
{
	char buf[100];
	int n = 0;

	while (read(fd, buf, sizeof(buf)) > 0)
		n++;
	return write(1, n == 10 ? "10\n" : "??\n", 3) != 3;
}

#define CALLS 5000
static char stack[1 << 17];

static int child(void *unused)
{
	char b[33];
	int fd = open("other", O_RDONLY), bad = fd < 0;

	(void)unused;
	for (int i = 0; i < CALLS; i++)
		bad |= pread(fd, b, sizeof(b), i) != sizeof(b);
	return bad | close(fd);
}

static int sharing(int flags)
{
	char b[44];
	int status, bad = 0, fd = open("data", O_RDONLY);
	pid_t pid = clone(child, stack + sizeof(stack),
			  CLONE_VM | SIGCHLD | flags, NULL);

	for (int i = 0; i < CALLS; i++)
		bad |= pread(fd, b, sizeof(b), i % 900) != sizeof(b);
	close(fd);
	printf("%d %d\n", waitpid(pid, &status, 0) == pid && status == 0, bad);
	return bad;
}

static int namespace(const char *library)
{
	void *h = dlmopen(LM_ID_NEWLM, library, RTLD_NOW);
	int (*work)(void) = h ? (int (*)(void))dlsym(h, "work") : NULL;

	printf("%d\n", work ? work() : -1);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int fd = open("data", O_RDONLY);

	if (!strcmp(how, "chroot"))
		fd = chroot(".") || chdir("/");
	else if (!strcmp(how, "setuid"))
		fd = setgroups(0, NULL) || setgid(65534) || setuid(65534);
	else if (!strcmp(how, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) ||
		       (confined(fd), syscall(SYS_exit, 3));
	else if (!strcmp(how, "filter") || !strcmp(how, "syscall"))
		return filter(*how == 's') || (confined(fd), _exit(3), 0);
	else if (!strcmp(how, "one"))
		return filter_one() || (confined(fd), _exit(3), 0);
	else if (!strcmp(how, "loop"))
		fd = loop();
	else if (!strcmp(how, "clone"))
		return sharing(0);
	else if (!strcmp(how, "clone_vfork"))
		return sharing(CLONE_VFORK);
	else
		return namespace(how);
	printf("%d %d\n", fd, read_all("data"));
	return 0;
}
