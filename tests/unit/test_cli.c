/* SPDX-License-Identifier: MIT */
/* The parser of command lines, and numbers for people. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/terminal.h"

#include "tests/lib/tap.h"

static int no_run(int argc, char **argv)
{
	return 0;
}

static const struct reel_command cmd = {
	.name = "test",
	.usage = "[options] WORD",
	.examples = "",
	.run = no_run,
};

static struct {
	bool flag, other;
	const char *text;
	struct reel_opt_list list;
	int64_t number, size;
	double real;
	int choice;
} v;

static const struct reel_opt opts[] = {
	{"flag", 'f', REEL_OPT_FLAG, &v.flag, NULL, "f", 0, 0},
	{"other", 'x', REEL_OPT_FLAG, &v.other, NULL, "x", 0, 0},
	{"text", 't', REEL_OPT_TEXT, &v.text, "T", "t", 0, 0},
	{"list", 'l', REEL_OPT_LIST, &v.list, "L", "l", 0, 0},
	{"number", 'n', REEL_OPT_INT, &v.number, "N", "n", -5, 10},
	{"size", 's', REEL_OPT_SIZE, &v.size, "S", "s", 0, 0},
	{"real", 'r', REEL_OPT_DOUBLE, &v.real, "R", "r", 0, 1},
	{"choice", 'c', REEL_OPT_CHOICE, &v.choice, "a|bb|c", "c", 0, 0},
	{0},
};

static char *word[16];
static int words;

/* Parse @line, cut at spaces. */
static int parse(const char *line, bool stop)
{
	static char copy[256];
	char *p, *save;

	free(v.list.item);
	memset(&v, 0, sizeof(v));
	snprintf(copy, sizeof(copy), "test %s", line);
	words = 0;
	for (p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save))
		word[words++] = p;
	word[words] = NULL;
	return reel_cli_parse(&cmd, opts, stop, words, word);
}

static void options(void)
{
	is(parse("-f --text=a=b -l1 --list 2 -n -3", false), words,
	   "all forms");
	ok(v.flag && !strcmp(v.text, "a=b") && v.list.n == 2 &&
		   !strcmp(v.list.item[0], "1") && v.number == -3,
	   "have their values");
	is(parse("-fxt out -r 0.5 --choice bb", false), words,
	   "letters together");
	ok(v.flag && v.other && !strcmp(v.text, "out") && v.real == 0.5 &&
		   v.choice == 1,
	   "have theirs");
	ok(parse("-s 4096", false) > 0 && v.size == 4096 &&
		   parse("-s 3K", false) > 0 && v.size == 3072 &&
		   parse("-s 2MB", false) > 0 && v.size == 2 << 20 &&
		   parse("-s 256GiB", false) > 0 &&
		   v.size == INT64_C(256) << 30,
	   "sizes");
	is(parse("", false), 1, "nothing");
}

static void free_words(void)
{
	int at = parse("a -f b --text c -- -x d", false);

	is(words - at, 4, "words after options, -- dropped");
	ok(!strcmp(word[at], "a") && !strcmp(word[at + 1], "b") &&
		   !strcmp(word[at + 2], "-x") && !strcmp(word[at + 3], "d") &&
		   !v.other,
	   "in their order, words after -- unchanged");
	at = parse("-f cmd -x --text", true);
	ok(at == 2 && !strcmp(word[2], "cmd") && !strcmp(word[3], "-x") &&
		   !v.other,
	   "a command's own options are its own");
	at = parse("-f -- -x y", true);
	ok(at == 3 && !strcmp(word[3], "-x") && !v.other, "even after --");
	at = parse("- -f", false);
	ok(at == 2 && !strcmp(word[2], "-") && v.flag, "- is a word");
}

static void refused_words(void)
{
	static const char *const bad[] = {
		"-s 0",	       "-s 5X",
		"-s 5KiBB",    "-s -1",
		"-s 9999999T", "-s M",
		"--nope",      "-z",
		"--text",      "-t",
		"--flag=1",    "-n 11",
		"-n x",	       "-n 1x",
		"-n",	       "-r nan",
		"-r 2",	       "--choice b",
		"--choice=",   "-n 99999999999999999999",
		"--textt a",
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is(parse(bad[i], false), -1, "refused: %s", bad[i]);
	is(parse("-f --help", false), -2, "--help");
	is(parse("-fh", false), -2, "-h");
}

#define shows(call, want)                                                      \
	do {                                                                   \
		char n_[REEL_NUM];                                             \
		ok(!strcmp(call, want), "%s (%s)", want, call);                \
	} while (0)

static void numbers(void)
{
	shows(reel_num_count(n_, 61204), "61,204");
	shows(reel_num_count(n_, 999), "999");
	shows(reel_num_count(n_, -1000), "-1,000");
	shows(reel_num_count(n_, INT64_MIN), "-9,223,372,036,854,775,808");
	shows(reel_num_size(n_, 40141), "39.2 KiB");
	shows(reel_num_size(n_, 65536), "64 KiB");
	shows(reel_num_size(n_, 1048575), "1 MiB");
	shows(reel_num_size(n_, 1), "1 B");
	shows(reel_num_size(n_, 0), "0 B");
	shows(reel_num_size(n_, 1023), "1,023 B");
	shows(reel_num_bytes(n_, 413e6), "413 MB");
	shows(reel_num_bytes(n_, 3.1e6), "3.10 MB");
	shows(reel_num_bytes(n_, 999.6e6), "1.00 GB");
	shows(reel_num_bytes(n_, 999), "999 B");
	shows(reel_num_bytes(n_, 9.996e6), "10.0 MB");
	shows(reel_num_bytes(n_, 12.0e21), "12,000,000 PB");
	shows(reel_num_rate(n_, 1.21e9), "1.21 GB/s");
	shows(reel_num_time(n_, 57.8e6), "57.8 ms");
	shows(reel_num_time(n_, 41), "41 ns");
	shows(reel_num_time(n_, 59.99e9), "60.0 s");
	shows(reel_num_time(n_, 5e13), "13.9 h");
	shows(reel_num_time(n_, -5e6), "-5.00 ms");
	shows(reel_num_time(n_, NAN), "-");
	shows(reel_num_percent(n_, 0.38), "38 %");
	shows(reel_num_percent(n_, 0.9941), "99.4 %");
	shows(reel_num_percent(n_, 0.99996), "99.9 %");
	shows(reel_num_percent(n_, 1), "100 %");
	shows(reel_num_percent(n_, 0), "0 %");
	shows(reel_num_percent(n_, 0.00001), "< 0.01 %");
	shows(reel_num_percent(n_, -0.05), "-5 %");
	shows(reel_num_percent(n_, NAN), "-");
}

static void bars(void)
{
	char bar[4 * 10 + 1];

	setlocale(LC_CTYPE, "C");
	ok(!strcmp(reel_terminal_bar(bar, 10, 0.5), "#####     "),
	   "half, in ASCII");
	ok(!strcmp(reel_terminal_bar(bar, 10, 7), "##########"),
	   "never more than all");
	ok(!strcmp(reel_terminal_bar(bar, 4, NAN), "    "),
	   "NaN gives an empty bar");
	shows(reel_num_time(n_, 84e3), "84.0 us");
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return;
	ok(!strcmp(reel_terminal_bar(bar, 2, 0.5625), "\u2588\u258f"),
	   "eighths, in UTF-8");
	shows(reel_num_time(n_, 84e3), "84.0 \u00b5s");
}

static void near_words(void)
{
	is(reel_edit_distance("reprot", "report"), 1,
	   "two letters swapped are one edit");
	is(reel_edit_distance("recrd", "record"), 1, "a letter missing");
	ok(reel_edit_distance("zzzzz", "sql") > 2,
	   "different words are distant");
	is(reel_edit_distance("0123456789012345678901234567890123456789", "x"),
	   99, "too long to compare");
}

int main(void)
{
	/* The messages of the parser are not tested here. */
	if (!freopen("/dev/null", "w", stderr))
		skip_all("no /dev/null");
	options();
	free_words();
	refused_words();
	numbers();
	bars();
	near_words();
	return done();
}
