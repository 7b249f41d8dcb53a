/* SPDX-License-Identifier: MIT */
/*
 * posix_spawn() opens files for a child: "parent DIR" starts itself as "child",
 * which uses the open descriptors. libc opens them in its vfork child, without
 * calling a wrapper.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int child(void)
{
	char buf[600];

	/* 0: read from 100 on; 1: truncated; 5: appended to; 6: a copy of 5;
	 * 7: closed; 8: relative to the directory of a chdir action. */
	if (read(0, buf, 500) != 500 || read(0, buf, 500) != 500)
		return 1;
	if (write(1, buf, 500) != 500 || write(1, buf, 300) != 300)
		return 2;
	if (write(5, buf, 70) != 70 || write(6, buf, 30) != 30)
		return 3;
	if (write(7, buf, 1) != -1)
		return 4;
	return write(8, buf, 11) != 11;
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t do_it;
	char *again[] = {(char *)"/proc/self/exe", (char *)"child", NULL};
	int in, status, err;
	pid_t pid;

	if (argc < 2 || !strcmp(argv[1], "child"))
		return child();
	if (chdir(argv[1]))
		return 10;
	in = open("given", O_RDONLY | O_CLOEXEC);
	if (lseek(in, 100, SEEK_SET) != 100 || dup2(1, 7) != 7)
		return 11;
	posix_spawn_file_actions_init(&do_it);
	posix_spawn_file_actions_adddup2(&do_it, in, 0);
	posix_spawn_file_actions_addopen(&do_it, 1, "cut",
					 O_WRONLY | O_CREAT | O_TRUNC, 0644);
	posix_spawn_file_actions_addopen(&do_it, 5, "grown",
					 O_WRONLY | O_APPEND, 0);
	posix_spawn_file_actions_adddup2(&do_it, 5, 6);
	posix_spawn_file_actions_addclose(&do_it, 7);
	posix_spawn_file_actions_addchdir_np(&do_it, "below");
	posix_spawn_file_actions_addopen(&do_it, 8, "made", O_RDWR | O_CREAT,
					 0600);
	err = posix_spawn(&pid, again[0], &do_it, NULL, again, environ);
	if (err || waitpid(pid, &status, 0) != pid)
		return 12;
	/* One of the opens fails: no child is started. */
	posix_spawn_file_actions_addopen(&do_it, 9, "no/such", O_RDONLY, 0);
	if (posix_spawn(&pid, again[0], &do_it, NULL, again, environ) != 2)
		return 13;
	posix_spawn_file_actions_destroy(&do_it);
	return WEXITSTATUS(status);
}
