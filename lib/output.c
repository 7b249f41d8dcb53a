/* SPDX-License-Identifier: MIT */
#include "lib/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

bool reel_output_is_stdout(const char *path)
{
	return !strcmp(path, "-");
}

char *reel_output_path(const char *path, struct reel_error *err)
{
	struct stat link, st;
	char *target;

	if (lstat(path, &link) || !S_ISLNK(link.st_mode) ||
	    (!stat(path, &st) && !S_ISREG(st.st_mode)))
		return reel_strdup(path, err);
	target = realpath(path, NULL);
	if (!target)
		reel_fail_io(err, "create", path, errno);
	return target;
}

char *reel_output_stem(const char *run, struct reel_error *err)
{
	const char *end = run + strlen(run), *last;
	char *stem;

	while (end > run + 1 && end[-1] == '/')
		end--;
	for (last = end; last > run && last[-1] != '/'; last--)
		;
	if (last < end && end - last <= 2 &&
	    !memcmp(last, "..", (size_t)(end - last))) {
		stem = realpath(run, NULL);
		if (!stem)
			reel_fail_io(err, "open", run, errno);
		return stem;
	}
	stem = reel_strdup(run, err);
	if (stem)
		stem[end - run] = '\0';
	return stem;
}

int reel_output_temporary(struct reel_error *err)
{
	const char *dir = getenv("TMPDIR");
	struct reel_buf path = REEL_BUF_INIT;
	int fd = -1;

	if (!reel_buf_printf(&path, err, "%s/ioreel.XXXXXX",
			     dir && *dir ? dir : "/tmp")) {
		fd = mkostemp(path.data, O_CLOEXEC);
		if (fd < 0)
			reel_fail_io(err, "make a temporary file", path.data,
				     errno);
		else
			unlink(path.data);
	}
	reel_buf_fini(&path);
	return fd;
}

int reel_output_write(const struct reel_buf *text, const char *path,
		      struct reel_error *err)
{
	char *target;
	int rc;

	if (!path || reel_output_is_stdout(path)) {
		fputs(reel_buf_text(text), stdout);
		return 0;
	}
	target = reel_output_path(path, err);
	rc = target ? reel_buf_write_file(text, target, err) : -1;
	free(target);
	return rc;
}

static char unfinished[4096]; /* "" : no file to remove */

static void on_signal(int sig)
{
	if (unfinished[0])
		unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

void reel_output_unfinished(const char *path)
{
	static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,
				      SIGPIPE, SIGXCPU, SIGXFSZ};
	struct sigaction sa = {.sa_handler = on_signal};

	unfinished[0] = '\0';
	if (!path || strlen(path) >= sizeof(unfinished))
		return;
	strcpy(unfinished, path);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction was;

		/* a signal that nohup ignores stays ignored */
		if (!sigaction(signals[i], NULL, &was) &&
		    was.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	}
}
