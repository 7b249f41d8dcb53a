/* SPDX-License-Identifier: MIT */
/*
 * A child reads 8 bytes at a time and counts its reads in shared memory; SIGKILL
 * ends it between them. Prints the count: the trace must have as many calls, or
 * one more, which the child had not counted yet.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char block[1 << 16];
	volatile uint64_t *n = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FILE *f = fopen("killed.bin", "w");
	pid_t child;

	fwrite(block, 1, sizeof(block), f);
	fclose(f);
	child = fork();
	if (!child) {
		f = fopen("killed.bin", "r");
		for (;;) {
			if (fread(block, 8, 1, f) == 1)
				n[0]++;
			else
				rewind(f);
		}
	}
	while (n[0] < 300000)
		sched_yield();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("%llu\n", (unsigned long long)n[0]);
	return 0;
}
