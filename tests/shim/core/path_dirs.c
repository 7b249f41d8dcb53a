/* SPDX-License-Identifier: MIT */
/*
 * Looks for each path of standard input, a path a line: "one" in one process,
 * "each" in a process of its own, where no earlier path helps to classify it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char path[4096];
	struct stat st;

	while (argc == 2 && fgets(path, sizeof(path), stdin)) {
		path[strcspn(path, "\n")] = '\0';
		if (!strcmp(argv[1], "one")) {
			(void)!stat(path, &st);
		} else if (fork() == 0) {
			(void)!stat(path, &st);
			_exit(0);
		} else {
			wait(NULL);
		}
	}
	return 0;
}
