/* SPDX-License-Identifier: MIT */
/* The progress line: silent off a terminal and in the first second. */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/progress.h"

#include "tests/lib/tap.h"

static unsigned short columns = 100;
static uint64_t so_far = 610000;
static int64_t left_ns; /* estimated by the caller */

/* The output of a child to @fd (the other end of its stderr) after @age of
 * work. */
static size_t shown_output(int terminal, int64_t age_ns, const char *term,
			   char *out, size_t room)
{
	struct winsize ws = {.ws_col = columns, .ws_row = 24};
	int master, slave, fd[2];
	size_t n = 0;
	pid_t pid;

	if (terminal ? openpty(&master, &slave, NULL, NULL, &ws) : pipe(fd))
		skip_all("no terminal");
	if (!terminal) {
		master = fd[0];
		slave = fd[1];
	}
	pid = fork();
	if (!pid) {
		struct reel_progress p;

		setenv("TERM", term, 1);
		dup2(slave, STDERR_FILENO);
		reel_progress_start(&p, "loading", "events", 1000000);
		p.start_ns -= age_ns;
		p.left_ns = left_ns;
		reel_progress_at(&p, so_far);
		reel_progress_at(&p, so_far + 1);
		reel_progress_stop(&p);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	close(slave);
	while (n < room - 1) {
		ssize_t k = read(master, out + n, room - 1 - n);

		if (k <= 0)
			break;
		n += (size_t)k;
	}
	out[n] = '\0';
	close(master);
	return n;
}

int main(void)
{
	struct reel_progress none = {0};
	char out[4096];
	const char *p;
	int lines = 0;

	reel_progress_at(&none, 5);
	reel_progress_stop(&none);
	is(shown_output(1, 0, "xterm", out, sizeof(out)), 0,
	   "quick work is silent");
	is(shown_output(0, 5000000000, "xterm", out, sizeof(out)), 0,
	   "no terminal, no line");
	is(shown_output(1, 5000000000, "dumb", out, sizeof(out)), 0,
	   "a dumb terminal gets none");
	ok(shown_output(1, 5000000000, "xterm", out, sizeof(out)) > 0,
	   "long work is shown");
	ok(strstr(out, "61 %") && strstr(out, "loading") &&
		   strstr(out, "events/s") && strstr(out, " left"),
	   "title, share, rate, time left: %s", strchr(out, 'l'));
	for (p = out; (p = strstr(p, "loading")); p++)
		lines++;
	is(lines, 1, "not drawn again at once");
	ok(strlen(out) > 4 && !strcmp(out + strlen(out) - 4, "\r\033[K"),
	   "and removed at the end");
	/* The first second of 24 held 20 of 20,000 calls. */
	so_far = 1000;
	ok(shown_output(1, 1200000000, "xterm", out, sizeof(out)) > 0 &&
		   !strstr(out, " left"),
	   "no time left is estimated from the start alone: %s",
	   strchr(out, 'l'));
	left_ns = 22800000000;
	ok(shown_output(1, 1200000000, "xterm", out, sizeof(out)) > 0 &&
		   strstr(out, "22.8 s left"),
	   "but a known time left is shown: %s", strchr(out, 'l'));
	left_ns = 0;
	so_far = 610000;
	columns = 45;
	shown_output(1, 5000000000, "xterm", out, sizeof(out));
	p = strstr(out, "\033[K");
	ok(p && p > out + 20 && p - out - 1 < columns,
	   "on a narrow terminal it stays one line");
	return done();
}
