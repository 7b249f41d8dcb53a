/* SPDX-License-Identifier: MIT */
/* Calls of a log that show whether a filter left others out. */
#include "analyzer/import/strace/strace_scope.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/calls.h"

/* Nearly each program makes some of them, and no class of strace for files,
 * descriptors or processes has them. */
static const char *const unrelated[] = {
	"brk",
	"clock_nanosleep",
	"futex",
	"getpid",
	"getrandom",
	"gettid",
	"mprotect",
	"munmap",
	"nanosleep",
	"prlimit64",
	"rseq",
	"rt_sigaction",
	"sched_yield",
	"set_robust_list",
	"set_tid_address",
	"sysinfo",
};

/* %desc has them; a list of calls of I/O seldom does. */
static const char *const of_any_fd[] = {
	"dup",	"dup2",	 "epoll_create1", "epoll_ctl", "fcntl",	   "ioctl",
	"pipe", "pipe2", "poll",	  "ppoll",     "pselect6", "select",
};

static bool is_one_of(struct strace_text name, const char *const *names,
		      size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(names[i]) == name.len &&
		    !memcmp(names[i], name.at, name.len))
			return true;
	return false;
}

static bool name_is(struct strace_text name, const char *is)
{
	return is_one_of(name, &is, 1);
}

void strace_scope_see(struct strace_scope *s, const struct strace_line *line)
{
	struct strace_text name = line->name;

	if (line->what != STRACE_CALL && line->what != STRACE_UNFINISHED)
		return;
	s->seeks |= name_is(name, "lseek") || name_is(name, "_llseek");
	s->closes |= name_is(name, "close");
	if (s->whole)
		return;
	s->whole = is_one_of(name, unrelated,
			     sizeof(unrelated) / sizeof(unrelated[0]));
	s->any_fd |= is_one_of(name, of_any_fd,
			       sizeof(of_any_fd) / sizeof(of_any_fd[0]));
	s->anonymous |= name_is(name, "mmap") &&
			memmem(line->args.at, line->args.len, "MAP_ANON", 8);
}

static void add_transfer(struct strace_transfers *t, int64_t dur_ns)
{
	t->calls++;
	t->ns = strace_add_ns(t->ns, dur_ns);
}

void strace_scope_transfer(struct strace_scope *s,
			   const struct import_call *call, int64_t dur_ns)
{
	const struct reel_call_info *info = reel_call_info(call->rec.call);

	if (call->fd.fd < 0 || call->fd.path_len || call->rec.err || !info ||
	    (info->group != REEL_GROUP_READ && info->group != REEL_GROUP_WRITE))
		return;
	add_transfer(&s->untold, dur_ns);
	if (!call->rec.desc)
		add_transfer(&s->nameless, dur_ns);
}

static int put_count(struct reel_writer *w, const char *key, int64_t count,
		     struct reel_error *err)
{
	char text[32];

	if (count <= 0)
		return 0;
	snprintf(text, sizeof(text), "%" PRId64, count);
	return reel_writer_note(w, 1, 0, key, text, err);
}

int strace_scope_note(const struct strace_scope *s, struct reel_writer *w,
		      struct reel_error *err)
{
	bool filtered = !s->whole && !(s->anonymous && s->any_fd);
	/* Without closes a number may be that of another descriptor by now. */
	const struct strace_transfers *unnamed =
		filtered && !s->closes ? &s->untold : &s->nameless;

	return put_count(w, "strace.filtered", filtered, err) ||
			       put_count(w, "strace.no_seeks",
					 filtered && !s->seeks, err) ||
			       put_count(w, "strace.unnamed", unnamed->calls,
					 err) ||
			       put_count(w, "strace.unnamed_ns", unnamed->ns,
					 err)
		       ? -1
		       : 0;
}
