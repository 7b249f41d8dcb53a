/* SPDX-License-Identifier: MIT */
/*
 * Threads that are cancelled in read(), in open() of a FIFO, in a lock by
 * fcntl() and, with asynchronous cancellation, anywhere between two calls.
 * Their clean-up handlers make I/O calls, and the process goes on recording.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int p[2], data;
static char buf[16];

static void cleanup(void *arg)
{
	(void)arg;
	if (pwrite(data, "c", 1, 0) != 1)
		_exit(9);
}

static void *thread(void *arg)
{
	struct flock lk = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	pthread_cleanup_push(cleanup, NULL);
	switch ((intptr_t)arg % 4) {
	case 0:
		(void)!read(p[0], buf, 1);
		break;
	case 1:
		open("cancel.fifo", O_RDONLY);
		break;
	case 2:
		fcntl(data, F_SETLKW, &lk);
		for (;;)
			(void)!pread(data, buf, 1, 0); /* may be cancelled */
	default:
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
		for (;;)
			(void)!lseek(data, 0, SEEK_CUR);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	long cancelled = 0;
	void *result;
	pthread_t th;

	data = open("cancel.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (pipe(p) || mkfifo("cancel.fifo", 0600))
		return 1;
	for (intptr_t i = 0; i < 400; i++) {
		pthread_create(&th, NULL, thread, (void *)i);
		usleep(i % 4 > 1 ? 300 : 50);
		pthread_cancel(th);
		pthread_join(th, &result);
		cancelled += result == PTHREAD_CANCELED;
		if (pwrite(data, "a", 1, 1 + i) != 1)
			return 2;
	}
	printf("%ld cancelled\n", cancelled);
	return 0;
}
