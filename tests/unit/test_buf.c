/* SPDX-License-Identifier: MIT */
/* Growing strings, and files written completely or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "tests/lib/tap.h"

static void growth(void)
{
	struct reel_buf b = REEL_BUF_INIT;
	struct reel_error err = {0};
	int i;

	ok(!strcmp(reel_buf_text(&b), ""), "an empty buffer is a string");
	for (i = 0; i < 10000; i++)
		reel_buf_printf(&b, &err, "%d,", i);
	is(b.len, 48890, "printf appends");
	ok(!strncmp(b.data, "0,1,2,", 6) && !b.data[b.len],
	   "and ends with NUL");
	is(reel_buf_add(&b, "x", (size_t)-20, &err), -1,
	   "an overflowing length is refused");
	is(b.len, 48890, "and changes nothing");
	reel_buf_reset(&b);
	is(reel_buf_add(&b, "a\0b", 3, &err), -1 + 1, "NUL is a byte");
	is(b.len, 3, "like the others");
	reel_buf_fini(&b);
	reel_buf_fini(&b);
	reel_buf_fini(NULL);
}

static void file_functions(const char *dir)
{
	struct reel_buf b = REEL_BUF_INIT, r = REEL_BUF_INIT;
	struct reel_error err = {0};
	char path[4096], tmp[4200];
	struct stat st;
	int i;

	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	for (i = 0; i < 20000; i++)
		reel_buf_add(&b, "0123456789", 10, &err);
	is(reel_buf_write_file(&b, path, &err), 0, "a file is written");
	is(reel_buf_read_file(&r, path, 200000, &err), 0, "and read");
	ok(r.len == b.len && !memcmp(r.data, b.data, b.len), "the same");
	is(reel_buf_read_file(&r, path, 199999, &err), -1,
	   "a longer file than allowed is refused");
	is(r.len, b.len, "and the buffer is unchanged");
	is(err.code, REEL_E_FORMAT, "as a format error");
	ok(access(tmp, F_OK), "no temporary file is left");
	err = (struct reel_error){0};
	mkdir(tmp, 0700);
	is(reel_buf_write_file(&r, path, &err), -1, "no temporary file: fails");
	stat(path, &st);
	is(st.st_size, 200000, "and the old file is whole");
	rmdir(tmp);
	err = (struct reel_error){0};
	is(reel_buf_read_file(&r, dir, 10, &err), -1,
	   "a directory cannot be written");
	err = (struct reel_error){0};
	is(reel_buf_write_file(&b, "/dev/full", &err), -1, "a full disk fails");
	ok(strstr(err.text, "No space left"), "with the reason (%s)", err.text);
	is(reel_buf_write_file(&b, "/dev/null", NULL), 0,
	   "a device is written, not replaced");
	unlink(path);
	reel_buf_fini(&b);
	reel_buf_fini(&r);
}

int main(void)
{
	char dir[] = "/tmp/ioreel-test-buf-XXXXXX";

	if (!mkdtemp(dir))
		skip_all("no temporary directory");
	growth();
	file_functions(dir);
	rmdir(dir);
	return done();
}
