/* SPDX-License-Identifier: MIT */
/* Lines of strace: prefixes, arguments, results, and pieces of all of them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/import/strace/strace_line.h"
#include "tests/lib/tap.h"

static struct strace_line line;

static enum strace_what parse(const char *text)
{
	strace_line_parse(&line, text, strlen(text));
	return line.what;
}

static bool text_is(struct strace_text t, const char *want)
{
	return t.len == strlen(want) && !memcmp(t.at, want, t.len);
}

static void test_prefixes(void)
{
	static const struct {
		const char *text;
		enum strace_clock clock;
		int64_t pid, ns;
	} t[] = {
		{"close(3) = 0", STRACE_NO_CLOCK, -1, 0},
		{"7 close(3) = 0", STRACE_NO_CLOCK, 7, 0},
		{"7 1795245634.5 close(3) = 0", STRACE_REAL, 7,
		 1795245634500000000},
		{"1795245634 close(3) = 0", STRACE_REAL_SECONDS, -1,
		 1795245634000000000},
		{"[pid  7] 00:00:01.000002 close(3) = 0", STRACE_DAY, 7,
		 1000002000},
		{"7<a b> 23:59:59 close(3) = 0", STRACE_DAY_SECONDS, 7,
		 86399000000000},
		{"7      0.000123 close(3) = 0", STRACE_RELATIVE, 7, 123000},
		{"1.5 (+     0.000001) [00007f00aa] close(3) = 0",
		 STRACE_RELATIVE, -1, 1500000000},
		{"99999999 close(3) = 0", STRACE_REAL_SECONDS, -1,
		 99999999000000000},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ok(parse(t[i].text) == STRACE_CALL &&
			   line.clock == t[i].clock && line.pid == t[i].pid &&
			   line.ns == t[i].ns && text_is(line.name, "close"),
		   "%s", t[i].text);
}

static void test_kinds(void)
{
	ok(parse("") == STRACE_IGNORED, "an empty line");
	ok(parse("7 12.5 [ Process PID=7 runs in 32 bit mode. ]") ==
		   STRACE_IGNORED,
	   "a change of the mode");
	ok(parse("7 1796029220.283") == STRACE_OTHER,
	   "a line that is cut off behind its time");
	ok(parse("--- SIGCHLD {si_signo=SIGCHLD} ---") == STRACE_IGNORED,
	   "a signal");
	ok(parse("strace: Process 7 attached") == STRACE_IGNORED, "a message");
	ok(parse(" > /lib/libc.so.6(read+0x1) [0x2]") == STRACE_IGNORED,
	   "a stack frame");
	ok(parse("7 +++ exited with 3 +++") == STRACE_EXITED &&
		   line.result == 3,
	   "an exit");
	ok(parse("7 +++ killed by SIGKILL +++") == STRACE_KILLED, "a death");
	ok(parse("7 +++ superseded by execve in pid 9 +++") ==
			   STRACE_SUPERSEDED &&
		   line.result == 9,
	   "the end of a thread that another one's execve ended");
	ok(parse("execve(\"a\", [] <pid changed to 7 ...>") ==
			   STRACE_UNFINISHED &&
		   text_is(line.args, "\"a\", [] "),
	   "that execve");
	ok(parse("execve(\"a\", [] <pid changed to  ...>") == STRACE_OTHER &&
		   parse("read(3, <x ...>") == STRACE_OTHER &&
		   parse("read( ...>") == STRACE_OTHER,
	   "other texts that are cut");
	ok(parse("7 read(3,  <unfinished ...>") == STRACE_UNFINISHED &&
		   text_is(line.args, "3,  "),
	   "the beginning of a call");
	ok(parse("7 <... read resumed>\"a\", 5) = 1 <0.000002>") ==
			   STRACE_RESUMED &&
		   text_is(line.args, "\"a\", 5) = 1") && line.dur_ns == 2000,
	   "its end");
	ok(strace_line_join(&line, "3, \"a\", 5) = 1", 15) &&
		   line.result == 1 && text_is(line.args, "3, \"a\", 5"),
	   "both together");
	ok(parse("hello world") == STRACE_OTHER, "another text");
	ok(parse("read(3, \"no end, 5) = 1") == STRACE_OTHER,
	   "a string without an end");
	ok(parse("exit_group(0) = ?") == STRACE_CALL && !line.has_result,
	   "a call that never returns");
	ok(parse("mmap(NULL, 8, 0x3) = 0x7f00") == STRACE_CALL &&
		   line.result == 0x7f00,
	   "a hexadecimal result");
	ok(parse("open(\"x\", 0) = -1 ENOENT (No such file) <0.5>") ==
			   STRACE_CALL &&
		   line.err == ENOENT && line.dur_ns == 500000000,
	   "an error");
	ok(parse("open(\"x\", 0) = 3</a \\\"b> <0.5>") == STRACE_CALL &&
		   text_is(line.result_path, "/a \\\"b"),
	   "a descriptor with its path");
}

static void test_args(void)
{
	static const char *const want[] = {
		"3</a, (b>", "[{iov_base=\"c\\\"]}\"..., iov_len=4}, {a=1}]",
		"0x12 /* 3, 4 */", "A|B"};
	struct strace_text args, arg, path, rest;
	int64_t value;
	size_t n = 0;

	parse("writev(3</a, (b>, [{iov_base=\"c\\\"]}\"..., iov_len=4}, "
	      "{a=1}], "
	      "0x12 /* 3, 4 */, A|B) = 4");
	args = line.args;
	while (n < 4 && strace_next_arg(&args, &arg)) {
		ok(text_is(arg, want[n]), "argument %s", want[n]);
		n++;
	}
	ok(n == 4 && !strace_next_arg(&args, &arg), "and no more");
	ok(strace_fd((struct strace_text){"3</a>(deleted)", 14}, &value,
		     &path) &&
		   value == 3 && text_is(path, "/a"),
	   "the path of a descriptor");
	ok(strace_fd((struct strace_text){"AT_FDCWD</w>", 12}, &value, &path) &&
		   value == AT_FDCWD && text_is(path, "/w"),
	   "the working directory");
	ok(strace_angle((struct strace_text){"<TCP:[1:2->3:4]>x", 17}, &path,
			&rest) &&
		   text_is(path, "TCP:[1:2->3:4]") && text_is(rest, "x"),
	   "an arrow in a socket's name");
	ok(!strace_fd((struct strace_text){"99999999999", 11}, &value, &path),
	   "a number that is no descriptor");
	ok(strace_flags((struct strace_text){"O_WRONLY|O_CREAT|O_NEW", 22}) ==
		   (O_WRONLY | O_CREAT),
	   "flags, an unknown one among them");
	ok(strace_number((struct strace_text){"0644", 4}, &value) &&
		   value == 0644,
	   "an octal number");
	ok(!strace_number((struct strace_text){"99999999999999999999", 20},
			  &value),
	   "a number that is too large");
}

static void test_strings(void)
{
	char out[16];
	static const struct {
		const char *text, *want;
	} t[] = {
		{"\"a\\n\\\"\\\\b\"", "a\n\"\\b"},
		{"\"\\1019\\x41\"", "A9A"},
		{"\"no end", NULL},
		{"\"cut\"...", NULL},
		{"\"\\0\"", NULL},
		{"\"0123456789abcdef\"", NULL},
		{"\"\\xg\"", NULL},
		{"\"\\\"", NULL},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct strace_text text = {t[i].text, strlen(t[i].text)};
		int n = strace_unescape(text, out, sizeof(out));

		ok(t[i].want ? n == (int)strlen(t[i].want) &&
				       !strcmp(out, t[i].want)
			     : n == -1,
		   "%s", t[i].text);
	}
}

/* Each beginning of a line, in memory of its own: a sanitizer sees each step
 * past the end. */
static void test_cuts(void)
{
	static const char *const lines[] = {
		"7 1795245634.5 writev(3</a>, [{iov_base=\"c\"..., "
		"iov_len=4}], "
		"1) = -1 EIO (x) <0.000004>",
		"[pid  7] 00:00:01.000002 <... read resumed>\"\\1\", 5) = "
		"3</b>",
		"7<a> 1.5 (+ 0.000001) [0] clone(flags=A /* x */ <unfinished "
		"...>",
		"7 +++ killed by SIGKILL (core dumped) +++",
	};
	size_t cuts = 0;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (size_t n = 0; n <= strlen(lines[i]); n++) {
			char *copy = malloc(n ? n : 1);
			struct strace_text args, arg;

			if (!copy)
				return;
			memcpy(copy, lines[i], n);
			strace_line_parse(&line, copy, n);
			args = line.args;
			while (args.len && strace_next_arg(&args, &arg))
				;
			free(copy);
			cuts++;
		}
	ok(cuts > 200, "%zu lines that are cut short", cuts);
}

int main(void)
{
	test_prefixes();
	test_kinds();
	test_args();
	test_strings();
	test_cuts();
	return done();
}
