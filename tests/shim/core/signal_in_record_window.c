/* SPDX-License-Identifier: MIT */
/*
 * A timer of 50 us interrupts a thread that only makes calls; its handler
 * writes too, some of the time while a record is made. The file argv[1] gets
 * the number of writes of both: it must equal those recorded and those counted
 * as lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t runs;
static int side;

static void handler(int sig)
{
	int saved = errno;

	if (write(side, "s", 1) == 1)
		runs++;
	errno = saved;
	(void)sig;
}

int main(int argc, char **argv)
{
	struct itimerval every = {{0, 50}, {0, 50}}, none = {0};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	long done = 0, bad_errno = 0;
	int fd = open("window.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);

	side = open("window.side", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (runs < 8000) {
		errno = 99;
		if (pwrite(fd, "m", 1, done % 1000) != 1)
			return 1;
		bad_errno += errno != 99;
		done++;
	}
	setitimer(ITIMER_REAL, &none, NULL);
	printf("errno changed %ld times\n", bad_errno);
	if (argc > 1) {
		FILE *f = fopen(argv[1], "w");

		fprintf(f, "%ld\n", done + runs);
		fclose(f);
	}
	return 0;
}
