/* SPDX-License-Identifier: MIT */
/*
 * A timer interrupts a writer all the time: its handler makes I/O calls of its
 * own, and sometimes jumps out of the interrupted code.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t runs, jump_ok;
static int side;

static void handler(int sig)
{
	if (write(side, "s", 1) != 1)
		_exit(3);
	if (++runs % 50 == 0 && jump_ok) {
		jump_ok = 0;
		siglongjmp(back, 1);
	}
	(void)sig;
}

int main(void)
{
	struct itimerval every = {{0, 200}, {0, 200}};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	volatile long done = 0;
	char buf[64] = {0};
	int fd = open("sig.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);

	side = open("sig.side", O_RDWR | O_CREAT | O_TRUNC, 0600);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (runs < 2000) {
		sigsetjmp(back, 1);
		jump_ok = 1;
		for (int i = 0; i < 100; i++) {
			if (pwrite(fd, buf, sizeof(buf), 0) !=
			    (long)sizeof(buf))
				return 1;
			done++;
		}
		jump_ok = 0;
	}
	every.it_interval.tv_usec = every.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &every, NULL);
	printf("side %d\n", lseek(side, 0, SEEK_END) == (off_t)runs);
	unlink("sig.bin");
	unlink("sig.side");
	return 0;
}
