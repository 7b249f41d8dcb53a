/* SPDX-License-Identifier: MIT */
/*
 * Lines of strace: a prefix (pid, time), a call with its arguments, a result.
 * Every character comes from a file that may be damaged: each step checks the
 * end of the line first.
 */
#include "analyzer/import/strace/strace_line.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PID_MOST 4194304 /* the kernel's PID_MAX_LIMIT */
#define NS_PER_S INT64_C(1000000000)
#define SECONDS_MOST (INT64_C(1) << 33)

static void skip_blanks(struct strace_text *t)
{
	while (t->len && (*t->at == ' ' || *t->at == '\t')) {
		t->at++;
		t->len--;
	}
}

static void trim_end(struct strace_text *t)
{
	while (t->len &&
	       (t->at[t->len - 1] == ' ' || t->at[t->len - 1] == '\t' ||
		t->at[t->len - 1] == '\r'))
		t->len--;
}

static void advance(struct strace_text *t, size_t n)
{
	t->at += n;
	t->len -= n;
}

static bool starts(struct strace_text t, const char *with)
{
	return t.len >= strlen(with) && !memcmp(t.at, with, strlen(with));
}

static bool equals(struct strace_text t, const char *s)
{
	return t.len == strlen(s) && !memcmp(t.at, s, t.len);
}

/* Decimal digits at the beginning of @t; their number. */
static size_t digits(struct strace_text t, int64_t *value)
{
	uint64_t v = 0;
	size_t n = 0;

	while (n < t.len && n < 18 && isdigit((unsigned char)t.at[n]))
		v = v * 10 + (uint64_t)(t.at[n++] - '0');
	*value = (int64_t)v;
	return n < t.len && isdigit((unsigned char)t.at[n]) ? 0 : n;
}

/* ".123456" at the beginning of @t as ns; the length, 0 without. @tick_ns: the unit
 * of the last digit. */
static size_t fraction(struct strace_text t, int64_t *ns, int64_t *tick_ns)
{
	int64_t unit = NS_PER_S;
	size_t n = 1;

	*ns = 0;
	*tick_ns = NS_PER_S;
	if (t.len < 2 || *t.at != '.' || !isdigit((unsigned char)t.at[1]))
		return 0;
	for (; n < t.len && isdigit((unsigned char)t.at[n]); n++) {
		unit /= 10;
		*ns += (t.at[n] - '0') * unit;
	}
	*tick_ns = unit ? unit : 1;
	return n;
}

/* "12:34:56" and a fraction. */
static size_t time_of_day(struct strace_text t, struct strace_line *out)
{
	int64_t part[3], ns;
	struct strace_text rest = t;
	size_t n;

	for (int i = 0; i < 3; i++) {
		if (digits(rest, &part[i]) != 2)
			return 0;
		advance(&rest, 2);
		if (i == 2)
			break;
		if (!starts(rest, ":"))
			return 0;
		advance(&rest, 1);
	}
	n = fraction(rest, &ns, &out->tick_ns);
	out->clock = n ? STRACE_DAY : STRACE_DAY_SECONDS;
	out->ns = ((part[0] * 60 + part[1]) * 60 + part[2]) * NS_PER_S + ns;
	return t.len - rest.len + n;
}

/* "1795245634.742489" or, of -r, "0.000123". */
static size_t seconds(struct strace_text t, struct strace_line *out)
{
	int64_t s, ns;
	size_t n = digits(t, &s), f;
	struct strace_text rest = t;

	if (!n || s > SECONDS_MOST)
		return 0;
	advance(&rest, n);
	f = fraction(rest, &ns, &out->tick_ns);
	if (!f && s <= PID_MOST)
		return 0;
	out->clock = !f		     ? STRACE_REAL_SECONDS
		     : s < 100000000 ? STRACE_RELATIVE
				     : STRACE_REAL;
	out->ns = s * NS_PER_S + ns;
	return n + f;
}

/* The pid: "123 ", "123<comm> " or "[pid 123] ". */
static void parse_pid(struct strace_text *t, struct strace_line *out)
{
	struct strace_text rest = *t, comm;
	bool bracket = starts(rest, "[pid ");
	int64_t pid;
	size_t n;

	if (bracket)
		advance(&rest, 5);
	skip_blanks(&rest);
	n = digits(rest, &pid);
	if (!n || !pid || pid > PID_MOST)
		return;
	advance(&rest, n);
	strace_angle(rest, &comm, &rest);
	if (bracket && starts(rest, "]"))
		advance(&rest, 1);
	else if (bracket)
		return;
	if (!starts(rest, " "))
		return;
	skip_blanks(&rest);
	out->pid = pid;
	*t = rest;
}

static void parse_prefix(struct strace_text *t, struct strace_line *out)
{
	size_t n;

	parse_pid(t, out);
	skip_blanks(t);
	n = time_of_day(*t, out);
	if (!n)
		n = seconds(*t, out);
	advance(t, n);
	skip_blanks(t);
	/* -r beside -t, -i and -n: "(+ 0.000123)", "[00007f3a]", "[ 0]" */
	while (starts(*t, "(+") || starts(*t, "[")) {
		const char *end =
			memchr(t->at, *t->at == '[' ? ']' : ')', t->len);

		if (!end)
			return;
		advance(t, (size_t)(end - t->at) + 1);
		skip_blanks(t);
	}
}

/* " <0.000123>" at the end of @t, which is cut off. */
static void parse_duration(struct strace_text *t, struct strace_line *out)
{
	struct strace_text d = *t;
	size_t i = t->len, n, f;
	int64_t s, ns, tick_ns;

	out->dur_ns = -1;
	if (!i || t->at[i - 1] != '>')
		return;
	while (i && t->at[i - 1] != '<')
		i--;
	if (i < 2 || t->at[i - 2] != ' ')
		return;
	advance(&d, i);
	n = digits(d, &s);
	if (!n || s > SECONDS_MOST)
		return;
	advance(&d, n);
	f = fraction(d, &ns, &tick_ns);
	if (d.len != f + 1)
		return;
	out->dur_ns = s * NS_PER_S + ns;
	out->dur_tick_ns = tick_ns;
	t->len = i - 2;
}

/* The length of the string that @t begins with a quote of; 0: it has no end. */
static size_t string_len(struct strace_text t)
{
	for (size_t i = 1; i < t.len; i++) {
		if (t.at[i] == '\\')
			i++;
		else if (t.at[i] == '"')
			return i + 1;
	}
	return 0;
}

bool strace_angle(struct strace_text arg, struct strace_text *path,
		  struct strace_text *rest)
{
	bool arrows = arg.len > 1 && arg.at[1] != '/';
	int depth = 0;

	if (!starts(arg, "<"))
		return false;
	for (size_t i = 0; i < arg.len; i++) {
		char c = arg.at[i];

		if (c == '\\')
			i++;
		else if (c == '<')
			depth++;
		/* "TCP:[1.2.3.4:1->1.2.3.4:2]" */
		else if (c == '>' && !(arrows && arg.at[i - 1] == '-') &&
			 !--depth) {
			*path = (struct strace_text){arg.at + 1, i - 1};
			*rest = arg;
			advance(rest, i + 1);
			return true;
		}
	}
	return false;
}

/* Is the < at @t.at[i] the beginning of a descriptor's path? */
static bool path_begins(struct strace_text t, size_t i)
{
	return i && i + 1 < t.len && t.at[i + 1] != '<' && t.at[i + 1] != ' ' &&
	       t.at[i + 1] != '=' &&
	       (isdigit((unsigned char)t.at[i - 1]) || t.at[i - 1] == 'D');
}

/*
 * Bytes of @t until a comma or the end of the brackets that it is in; the
 * length of @t when neither comes.
 */
static size_t arg_len(struct strace_text t)
{
	int depth = 0;

	for (size_t i = 0; i < t.len;) {
		struct strace_text here = {t.at + i, t.len - i}, path, rest;
		char c = t.at[i];

		if (c == '"') {
			size_t n = string_len(here);

			if (!n)
				return t.len;
			i += n;
			continue;
		}
		if (c == '<' && path_begins(t, i) &&
		    strace_angle(here, &path, &rest)) {
			i = t.len - rest.len;
			continue;
		}
		if (c == '/' && starts(here, "/*")) {
			const char *end = memmem(here.at, here.len, "*/", 2);

			i = end ? (size_t)(end - t.at) + 2 : t.len;
			continue;
		}
		if (c == '(' || c == '[' || c == '{') {
			depth++;
		} else if (c == ')' || c == ']' || c == '}') {
			if (!depth--)
				return i;
		} else if (c == ',' && !depth) {
			return i;
		}
		i++;
	}
	return t.len;
}

bool strace_next_arg(struct strace_text *args, struct strace_text *arg)
{
	size_t n;

	skip_blanks(args);
	if (!args->len)
		return false;
	n = arg_len(*args);
	*arg = (struct strace_text){args->at, n};
	trim_end(arg);
	advance(args, n < args->len ? n + 1 : n);
	return true;
}

/* The text behind "= ". False: it is no result. */
static bool parse_result(struct strace_text t, struct strace_line *out)
{
	struct strace_text number = t, name, rest;
	size_t n = 0;

	if (starts(t, "?"))
		return true;
	while (n < t.len && (isalnum((unsigned char)t.at[n]) || t.at[n] == '-'))
		n++;
	number.len = n;
	if (!strace_number(number, &out->result))
		return false;
	out->has_result = true;
	advance(&t, n);
	if (strace_angle(t, &out->result_path, &rest))
		return true;
	skip_blanks(&t);
	if (out->result != -1 || !starts(t, "E"))
		return true;
	for (n = 0; n < t.len && isupper((unsigned char)t.at[n]); n++)
		;
	while (n < t.len && isdigit((unsigned char)t.at[n]))
		n++; /* E2BIG begins with one, none ends with one */
	while (n < t.len && isupper((unsigned char)t.at[n]))
		n++;
	name = (struct strace_text){t.at, n};
	out->err = strace_errno(name);
	if (out->err < 0)
		out->err = EIO;
	return true;
}

/* The length of "<unfinished ...>", or of "<pid changed to 7 ...>" (the end of an
 * execve by a thread of strace -ff), at the end of @t; 0: there is none. */
static size_t unfinished_len(struct strace_text t)
{
	static const char end[] = " ...>", unfinished[] = "<unfinished",
			  changed[] = "<pid changed to ";
	const size_t end_len = sizeof(end) - 1;
	const char *begin;
	struct strace_text mark;
	int64_t pid;

	if (t.len < end_len || memcmp(t.at + t.len - end_len, end, end_len))
		return 0;
	begin = memrchr(t.at, '<', t.len);
	if (!begin)
		return 0;
	mark = (struct strace_text){begin, t.len - (size_t)(begin - t.at)};
	t = (struct strace_text){mark.at, mark.len - end_len};
	if (equals(t, unfinished))
		return mark.len;
	if (!starts(t, changed))
		return 0;
	advance(&t, sizeof(changed) - 1);
	return t.len && digits(t, &pid) == t.len ? mark.len : 0;
}

/* @t: behind the opening bracket. */
static enum strace_what parse_rest(struct strace_text t,
				   struct strace_line *out)
{
	struct strace_text rest = t;
	size_t n = unfinished_len(t);

	out->args = t;
	if (n) {
		out->args.len -= n;
		return STRACE_UNFINISHED;
	}
	for (;;) {
		n = arg_len(rest);
		if (n == rest.len)
			return STRACE_OTHER;
		advance(&rest, n);
		if (*rest.at != ',')
			break;
		advance(&rest, 1);
	}
	out->args.len = (size_t)(rest.at - t.at);
	if (*rest.at != ')')
		return STRACE_OTHER;
	advance(&rest, 1);
	skip_blanks(&rest);
	if (!starts(rest, "="))
		return STRACE_OTHER;
	advance(&rest, 1);
	skip_blanks(&rest);
	return parse_result(rest, out) ? STRACE_CALL : STRACE_OTHER;
}

static size_t name_len(struct strace_text t)
{
	size_t n = 0;

	while (n < t.len && n < 40 &&
	       (isalnum((unsigned char)t.at[n]) || t.at[n] == '_'))
		n++;
	return n;
}

/* "<... NAME resumed>REST" */
static enum strace_what parse_resumed(struct strace_text t,
				      struct strace_line *out)
{
	static const char resumed[] = " resumed>";

	advance(&t, strlen("<... "));
	out->name = (struct strace_text){t.at, name_len(t)};
	advance(&t, out->name.len);
	if (!out->name.len || !starts(t, resumed))
		return STRACE_OTHER;
	advance(&t, strlen(resumed));
	out->args = t;
	return STRACE_RESUMED;
}

bool strace_line_join(struct strace_line *line, const char *text, size_t len)
{
	return parse_rest((struct strace_text){text, len}, line) == STRACE_CALL;
}

/* "+++ exited with 0 +++", "+++ killed by SIGKILL +++", "+++ superseded by execve in
 * pid 7 +++" */
static enum strace_what parse_end(struct strace_text t, struct strace_line *out)
{
	static const char superseded[] = "+++ superseded by execve in pid ";

	if (starts(t, superseded)) {
		advance(&t, sizeof(superseded) - 1);
		return digits(t, &out->result) ? STRACE_SUPERSEDED
					       : STRACE_OTHER;
	}
	if (starts(t, "+++ exited with ")) {
		advance(&t, strlen("+++ exited with "));
		return digits(t, &out->result) ? STRACE_EXITED : STRACE_OTHER;
	}
	if (!starts(t, "+++ killed by "))
		return STRACE_IGNORED;
	advance(&t, strlen("+++ killed by "));
	out->args = t; /* the name of the signal */
	return STRACE_KILLED;
}

void strace_line_parse(struct strace_line *out, const char *line, size_t len)
{
	struct strace_text t = {line, len};

	*out = (struct strace_line){.pid = -1, .dur_ns = -1};
	trim_end(&t);
	out->what = STRACE_IGNORED;
	/* Frames of -k, bytes of -e read= and -e write=. */
	if (!t.len || starts(t, " > ") || starts(t, " | ") ||
	    starts(t, "strace: "))
		return;
	parse_prefix(&t, out);
	if (!t.len) {
		/* "[ Process PID=7 runs in 32 bit mode. ]", or it is cut off */
		out->what = t.at[-1] == ']' ? STRACE_IGNORED : STRACE_OTHER;
		return;
	}
	if (starts(t, "--- "))
		return;
	if (starts(t, "+++ ")) {
		out->what = parse_end(t, out);
		return;
	}
	parse_duration(&t, out);
	trim_end(&t);
	if (starts(t, "<... ")) {
		out->what = parse_resumed(t, out);
		return;
	}
	out->name = (struct strace_text){t.at, name_len(t)};
	advance(&t, out->name.len);
	if (!out->name.len || !starts(t, "(")) {
		out->what = STRACE_OTHER;
		return;
	}
	advance(&t, 1);
	out->what = parse_rest(t, out);
}

int64_t strace_line_pid(const char *line, size_t len)
{
	struct strace_text t = {line, len};
	struct strace_line out = {.pid = -1};

	parse_pid(&t, &out);
	return out.pid;
}

bool strace_line_is_title(const char *line, size_t len)
{
	return starts((struct strace_text){line, len}, "% time ");
}

/* --- values --------------------------------------------------------------- */

/* The number of -X verbose, which has its words in a comment behind it. */
static struct strace_text without_words(struct strace_text arg)
{
	const char *comment = memmem(arg.at, arg.len, " /*", 3);

	if (comment)
		arg.len = (size_t)(comment - arg.at);
	return arg;
}

bool strace_number(struct strace_text arg, int64_t *value)
{
	bool minus = starts(arg, "-");
	uint64_t v = 0;
	unsigned int base = 10;

	arg = without_words(arg);
	if (minus)
		advance(&arg, 1);
	if (starts(arg, "0x")) {
		base = 16;
		advance(&arg, 2);
	} else if (arg.len > 1 && *arg.at == '0') {
		base = 8;
	}
	if (!arg.len || arg.len > 20)
		return false;
	for (size_t i = 0; i < arg.len; i++) {
		unsigned char c = (unsigned char)arg.at[i];
		unsigned int d = isdigit(c) ? (unsigned int)(c - '0')
				 : isxdigit(c)
					 ? (unsigned int)(tolower(c) - 'a' + 10)
					 : 99;

		if (d >= base || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, d, &v))
			return false;
	}
	*value = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

bool strace_fd(struct strace_text arg, int64_t *fd, struct strace_text *path)
{
	struct strace_text number = arg, rest;
	const char *angle = memchr(arg.at, '<', arg.len);

	*path = (struct strace_text){arg.at, 0};
	if (angle) {
		number.len = (size_t)(angle - arg.at);
		advance(&arg, number.len);
		if (!strace_angle(arg, path, &rest))
			return false;
	}
	if (equals(number, "AT_FDCWD")) {
		*fd = AT_FDCWD;
		return true;
	}
	if (!strace_number(number, fd))
		return false;
	if (starts(number, "0x") && *fd > INT32_MAX && *fd <= UINT32_MAX)
		*fd -= INT64_C(1) << 32; /* a negative one of -e raw */
	return *fd >= INT32_MIN && *fd <= INT32_MAX;
}

static size_t unescape_one(struct strace_text t, char *c)
{
	static const char letters[] = "abfnrtv\\\"",
			  bytes[] = "\a\b\f\n\r\t\v\\\"";
	const char *p =
		t.len ? memchr(letters, *t.at, sizeof(letters) - 1) : NULL;
	unsigned int v = 0;
	size_t n = 0;

	if (p) {
		*c = bytes[p - letters];
		return 1;
	}
	if (starts(t, "x")) {
		for (n = 1; n < t.len && n < 3; n++) {
			int d = tolower((unsigned char)t.at[n]);

			if (!isxdigit(d))
				return 0;
			v = v * 16 +
			    (unsigned int)(isdigit(d) ? d - '0' : d - 'a' + 10);
		}
		*c = (char)v;
		return n == 3 ? 3 : 0;
	}
	while (n < t.len && n < 3 && t.at[n] >= '0' && t.at[n] <= '7')
		v = v * 8 + (unsigned int)(t.at[n++] - '0');
	*c = (char)v;
	return n;
}

int strace_unescape(struct strace_text arg, char *out, size_t room)
{
	size_t n = 0;

	if (starts(arg, "\"")) {
		size_t len = string_len(arg);

		if (!len || len != arg.len)
			return -1;
		arg.at++;
		arg.len -= 2;
	}
	while (arg.len) {
		char c = *arg.at;
		size_t used = 1;

		if (c == '\\') {
			advance(&arg, 1);
			used = unescape_one(arg, &c);
			if (!used)
				return -1;
		}
		if (!c || n + 1 >= room)
			return -1;
		out[n++] = c;
		advance(&arg, used);
	}
	out[n] = '\0';
	return (int)n;
}

bool strace_field(struct strace_text arg, const char *name,
		  struct strace_text *value)
{
	struct strace_text one;
	size_t n = strlen(name);

	if (!starts(arg, "{"))
		return false;
	advance(&arg, 1);
	while (strace_next_arg(&arg, &one)) {
		if (one.len > n && !memcmp(one.at, name, n) &&
		    one.at[n] == '=') {
			advance(&one, n + 1);
			*value = one;
			return true;
		}
	}
	return false;
}

struct word {
	const char *name;
	int64_t value;
};

static bool word_value(const struct word *w, size_t n, struct strace_text name,
		       int64_t *value)
{
	for (size_t i = 0; i < n; i++)
		if (equals(name, w[i].name)) {
			*value = w[i].value;
			return true;
		}
	return false;
}

#define WORD(name)                                                             \
	{                                                                      \
#name, name                                                    \
	}
#define WORDS(w) (sizeof(w) / sizeof((w)[0]))

/* Words of arguments; names are unique over all calls. */
static const struct word flag_words[] = {
	WORD(O_RDONLY),
	WORD(O_WRONLY),
	WORD(O_RDWR),
	WORD(O_CREAT),
	WORD(O_EXCL),
	WORD(O_NOCTTY),
	WORD(O_TRUNC),
	WORD(O_APPEND),
	WORD(O_NONBLOCK),
	WORD(O_DSYNC),
	WORD(O_SYNC),
	WORD(O_DIRECT),
	WORD(O_DIRECTORY),
	WORD(O_NOFOLLOW),
	WORD(O_NOATIME),
	WORD(O_CLOEXEC),
	WORD(O_PATH),
	WORD(O_TMPFILE),
	WORD(O_ASYNC),
	{"O_LARGEFILE", 0},
	WORD(SEEK_SET),
	WORD(SEEK_CUR),
	WORD(SEEK_END),
	WORD(SEEK_DATA),
	WORD(SEEK_HOLE),
	WORD(F_OK),
	WORD(R_OK),
	WORD(W_OK),
	WORD(X_OK),
	WORD(PROT_READ),
	WORD(PROT_WRITE),
	WORD(PROT_EXEC),
	WORD(MAP_SHARED),
	WORD(MAP_PRIVATE),
	WORD(LOCK_SH),
	WORD(LOCK_EX),
	WORD(LOCK_UN),
	WORD(LOCK_NB),
	WORD(F_DUPFD),
	WORD(F_GETFD),
	WORD(F_SETFD),
	WORD(F_GETFL),
	WORD(F_SETFL),
	WORD(F_DUPFD_CLOEXEC),
	WORD(F_GETLK),
	WORD(F_SETLK),
	WORD(F_SETLKW),
	WORD(FD_CLOEXEC),
	WORD(AT_REMOVEDIR),
	WORD(AT_EMPTY_PATH),
	WORD(AT_SYMLINK_NOFOLLOW),
	WORD(AT_SYMLINK_FOLLOW),
	WORD(FALLOC_FL_KEEP_SIZE),
	WORD(FALLOC_FL_PUNCH_HOLE),
	WORD(FALLOC_FL_COLLAPSE_RANGE),
	WORD(FALLOC_FL_ZERO_RANGE),
	WORD(FALLOC_FL_INSERT_RANGE),
	WORD(RENAME_NOREPLACE),
	WORD(RENAME_EXCHANGE),
	WORD(RENAME_WHITEOUT),
	WORD(POSIX_FADV_SEQUENTIAL),
	WORD(POSIX_FADV_RANDOM),
	WORD(POSIX_FADV_WILLNEED),
	WORD(POSIX_FADV_DONTNEED),
	WORD(POSIX_FADV_NOREUSE),
	WORD(RWF_APPEND),
	WORD(CLONE_VM),
	WORD(CLONE_FILES),
	WORD(CLONE_THREAD),
};

int64_t strace_flags(struct strace_text arg)
{
	int64_t flags = 0, value;

	arg = without_words(arg);
	while (arg.len) {
		const char *bar = memchr(arg.at, '|', arg.len);
		struct strace_text one = {arg.at, bar ? (size_t)(bar - arg.at)
						      : arg.len};

		if (word_value(flag_words, WORDS(flag_words), one, &value) ||
		    strace_number(one, &value))
			flags |= value;
		advance(&arg, bar ? one.len + 1 : one.len);
	}
	return flags;
}

int strace_errno(struct strace_text name)
{
	static const struct word words[] = {
		WORD(EPERM),	    WORD(ENOENT),     WORD(EINTR),
		WORD(EIO),	    WORD(ENXIO),      WORD(E2BIG),
		WORD(ENOEXEC),	    WORD(EBADF),      WORD(ECHILD),
		WORD(EAGAIN),	    WORD(ENOMEM),     WORD(EACCES),
		WORD(EFAULT),	    WORD(EBUSY),      WORD(EEXIST),
		WORD(EXDEV),	    WORD(ENODEV),     WORD(ENOTDIR),
		WORD(EISDIR),	    WORD(EINVAL),     WORD(ENFILE),
		WORD(EMFILE),	    WORD(ENOTTY),     WORD(ETXTBSY),
		WORD(EFBIG),	    WORD(ENOSPC),     WORD(ESPIPE),
		WORD(EROFS),	    WORD(EMLINK),     WORD(EPIPE),
		WORD(EDOM),	    WORD(ERANGE),     WORD(EDEADLK),
		WORD(ENAMETOOLONG), WORD(ENOLCK),     WORD(ENOSYS),
		WORD(ENOTEMPTY),    WORD(ELOOP),      WORD(ENODATA),
		WORD(EOVERFLOW),    WORD(EILSEQ),     WORD(EUSERS),
		WORD(ENOTSOCK),	    WORD(EOPNOTSUPP), WORD(ECONNRESET),
		WORD(ECONNREFUSED), WORD(ENOTCONN),   WORD(ETIMEDOUT),
		WORD(ESTALE),	    WORD(EDQUOT),     WORD(ECANCELED),
		WORD(ESRCH),	    WORD(ENOTBLK),    WORD(EREMOTEIO),
	};
	int64_t value;

	if (starts(name, "ERESTART"))
		return EINTR;
	return word_value(words, WORDS(words), name, &value) ? (int)value : -1;
}
