/* SPDX-License-Identifier: MIT */
/*
 * A chain of images, each started by another function of the exec family; each
 * writes a line to a file first. Failures of each function come before. Prints
 * results, which must be equal bare and traced; the trace must have each write.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *self, *base;
static char *volatile bad = (char *)8;

static void failed(const char *what, int r)
{
	printf("%s: %d %s\n", what, r, strerror(errno));
	errno = 0;
}

static void failures(void)
{
	char *argv[] = {(char *)"no", NULL};
	char *none[] = {NULL};
	int err;
	pid_t pid;

	failed("execve", execve("./no", argv, environ));
	failed("execve, bad pointer", execve(bad, argv, environ));
	failed("execv", execv("./no", argv));
	failed("execvp", execvp("no-such-program", argv));
	failed("execvpe", execvpe("no-such-program", argv, environ));
	failed("execl", execl("./no", "no", "a", (char *)NULL));
	failed("execlp", execlp("./no", "no", "a", (char *)NULL));
	failed("execle", execle("./no", "no", "a", "b", (char *)NULL, none));
	failed("fexecve", fexecve(-1, argv, environ));
	failed("execveat", execveat(AT_FDCWD, "no", argv, environ, 0));
	err = posix_spawn(&pid, "./no", NULL, NULL, argv, environ);
	printf("posix_spawn: %d\n", err);
	err = posix_spawnp(&pid, "no-such-program", NULL, NULL, argv, environ);
	printf("posix_spawnp: %d\n", err);
	fflush(stdout);
}

static void line(int step)
{
	int fd = open("steps", O_WRONLY | O_CREAT | O_APPEND, 0644);
	char text[32];
	int n = snprintf(text, sizeof(text), "step %d\n", step);

	if (write(fd, text, (size_t)n) != n)
		exit(1);
	close(fd);
}

static void spawned(void)
{
	char *argv[] = {self, (char *)"90", (char *)"spawned", NULL};
	pid_t pid;
	int status;
	FILE *f;

	posix_spawn(&pid, self, NULL, NULL, argv, environ);
	waitpid(pid, &status, 0);
	printf("spawned: %d\n", WEXITSTATUS(status));
	argv[0] = base;
	posix_spawnp(&pid, base, NULL, NULL, argv, environ);
	waitpid(pid, &status, 0);
	printf("spawned by name: %d\n", WEXITSTATUS(status));
	f = popen("echo piped; exit 3", "r");
	if (f) {
		char text[32] = "";

		printf("popen: %s", fgets(text, sizeof(text), f));
		printf("pclose: %d\n", WEXITSTATUS(pclose(f)));
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int step = argc > 1 ? atoi(argv[1]) : 0;
	char next[16], path[4096];
	char *args[] = {argv[0], next, (char *)"x y", NULL};

	self = realpath(argv[0], NULL);
	if (!self && !strchr(argv[0], '/'))
		self = strdup("/proc/self/exe");
	base = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	if (argc <= 1) {
		snprintf(path, sizeof(path), "%s", self);
		*strrchr(path, '/') = '\0';
		setenv("PATH", path, 1);
		setenv("IN_CHAIN", "1", 1);
		failures();
	}
	printf("step %d: %d arguments, %s\n", step, argc,
	       getenv("IN_CHAIN") ? "environment" : "no environment");
	fflush(stdout);
	line(step);
	snprintf(next, sizeof(next), "%d", step + 1);
	args[0] = self;
	switch (step) {
	case 0:
		execve(self, args, environ);
		break;
	case 1:
		execv(self, args);
		break;
	case 2:
		execvp(base, args);
		break;
	case 3:
		execvpe(base, args, environ);
		break;
	case 4:
		execl(self, self, next, "a", "b", "c", "d", (char *)NULL);
		break;
	case 5:
		execlp(base, self, next, (char *)NULL);
		break;
	case 6:
		execle(self, self, next, "e", (char *)NULL, environ);
		break;
	case 7:
		fexecve(open(self, O_RDONLY | O_CLOEXEC), args, environ);
		break;
	case 8:
		execveat(AT_FDCWD, self, args, environ, 0);
		break;
	case 9:
		syscall(SYS_execve, self, args, environ);
		break;
	case 10:
		if (!vfork()) {
			execl(self, self, "91", "vfork", (char *)NULL);
			_exit(127);
		}
		wait(NULL);
		spawned();
		return 0;
	case 90:
	case 91:
		return 7;
	}
	printf("step %d failed: %s\n", step, strerror(errno));
	return 1;
}
