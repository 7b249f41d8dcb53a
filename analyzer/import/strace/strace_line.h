/* SPDX-License-Identifier: MIT */
/*
 * One line of strace's output, and the arguments of a call in it. Pure text:
 * nothing here knows files or processes, and nothing allocates.
 *
 * Source: strace 6.1, print_fields.h and syscall.c; strace(1).
 */
#ifndef ANALYZER_IMPORT_STRACE_LINE_H
#define ANALYZER_IMPORT_STRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer tick of the clock has several calls of a thread; at this one, the precision
 * of durations, only roundings overlap. */
#define STRACE_TICK_EXACT_NS 1000

/* A piece of a line, not terminated. */
struct strace_text {
	const char *at;
	size_t len;
};

enum strace_what {
	STRACE_OTHER,	   /* not understood */
	STRACE_IGNORED,	   /* a signal, a stack frame, a message of strace */
	STRACE_CALL,	   /* a whole call */
	STRACE_UNFINISHED, /* its beginning */
	STRACE_RESUMED,	   /* its end: args has all that follows */
	STRACE_EXITED,
	STRACE_KILLED,
	STRACE_SUPERSEDED, /* the process goes on as its first thread */
};

/* The options -t, -tt, -ttt and -r, by the text that they print. */
enum strace_clock {
	STRACE_NO_CLOCK,
	STRACE_DAY_SECONDS,  /* -t */
	STRACE_DAY,	     /* -tt */
	STRACE_REAL,	     /* -ttt */
	STRACE_REAL_SECONDS, /* -ttt of --absolute-timestamps=precision:s */
	STRACE_RELATIVE,     /* -r: since the line before */
};

struct strace_line {
	enum strace_what what;
	enum strace_clock clock;
	int64_t pid;	 /* -1: the line names none */
	int64_t ns;	 /* as the clock says; 0 without */
	int64_t tick_ns; /* that the decimals of the time can tell apart */
	struct strace_text name, args;
	bool has_result; /* false: "?" */
	int64_t result;	 /* exited: the status; superseded: the pid that ends */
	int err;	 /* errno; 0: none */
	struct strace_text result_path; /* "3</path>" */
	int64_t dur_ns;			/* -1: no -T */
	int64_t dur_tick_ns;
};

/* Parse @line, @len bytes without the newline. */
void strace_line_parse(struct strace_line *out, const char *line, size_t len);

/* The pid at the beginning of @line; -1: it has none. */
int64_t strace_line_pid(const char *line, size_t len);

/* The sum of two times >= 0: a damaged file may have some of centuries. */
static inline int64_t strace_add_ns(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Does the table of counts of strace -C begin with @line? It is the end of a trace. */
bool strace_line_is_title(const char *line, size_t len);

/*
 * @text: the args of the unfinished line and those of the resumed one, @line.
 * Fill the args, the result and errno of @line. False: they do not fit.
 */
bool strace_line_join(struct strace_line *line, const char *text, size_t len);

/*
 * Cut the next argument off @args: up to a comma outside of strings, brackets
 * and paths of descriptors, without blanks around it. False: there is none.
 */
bool strace_next_arg(struct strace_text *args, struct strace_text *arg);

/* The number of @arg: decimal, hexadecimal or octal. False: it is none. */
bool strace_number(struct strace_text arg, int64_t *value);
/* "3</path>" or "AT_FDCWD</path>": @fd (AT_FDCWD: -100), and the path or "". */
bool strace_fd(struct strace_text arg, int64_t *fd, struct strace_text *path);
/* The text between < and > at the beginning of @arg; @rest behind it. */
bool strace_angle(struct strace_text arg, struct strace_text *path,
		  struct strace_text *rest);
/*
 * Undo the escapes of @arg, a quoted string or (a path between < and >) a bare
 * one, into @out, NUL-terminated. Returns the length, or -1: it is no string,
 * it is cut short ("..."), or it does not fit.
 */
int strace_unescape(struct strace_text arg, char *out, size_t room);
/*
 * The value of "O_RDWR|O_CREAT", "SEEK_END", "AT_REMOVEDIR" or "0644"; unknown
 * words count as nothing.
 */
int64_t strace_flags(struct strace_text arg);
/* The value of field @name in "{st_mode=..., st_size=12, ...}". */
bool strace_field(struct strace_text arg, const char *name,
		  struct strace_text *value);
/* errno of "ENOENT"; -1: unknown. */
int strace_errno(struct strace_text name);

#endif
