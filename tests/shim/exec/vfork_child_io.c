/* SPDX-License-Identifier: MIT */
/*
 * A vfork child duplicates and closes descriptors while it shares the parent's
 * memory: the entries of the parent's descriptors must not change.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int a = open("vfork.a", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int b = open("vfork.b", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int status;
	pid_t pid;

	if (write(a, "aaaa", 4) != 4)
		return 1;
	fflush(stdout);
	pid = vfork();
	if (!pid) {
		dup2(b, a);
		close(b);
		close_range(3, ~0u, 0);
		open("/dev/null", O_RDONLY);
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (write(a, "AAAA", 4) != 4 || write(b, "bb", 2) != 2)
		return 2;
	printf("status %d, a at %ld, b at %ld\n", status,
	       (long)lseek(a, 0, SEEK_CUR), (long)lseek(b, 0, SEEK_CUR));
	close(a);
	close(b);
	unlink("vfork.a");
	unlink("vfork.b");
	return 0;
}
