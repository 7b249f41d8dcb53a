/* SPDX-License-Identifier: MIT */
/*
 * Three processes that end with bytes in the buffer of a stream: by exit(),
 * which writes them, and by _exit() and quick_exit(), which do not.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/replay/job.h"

static void leave(const char *path, void (*end)(int))
{
	pid_t pid = fork();
	FILE *f;

	must(pid >= 0, "fork");
	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	f = fopen(path, "w");
	must(f != NULL, path);
	must(fwrite("ten bytes\n", 1, 10, f) == 10, path);
	end(0);
	abort();
}

int main(void)
{
	leave("flushed", exit);
	leave("lost", _exit);
	leave("quick", quick_exit);
	return bad;
}
