/* SPDX-License-Identifier: MIT */
/*
 * The importer of strace: lines into calls of a job.
 *
 * One file of "strace -f" holds all threads in the order in which their calls
 * ended; a folder of "strace -ff" holds a file for each thread, and the files
 * are merged by these ends. A call that another line interrupts is two lines,
 * "unfinished" and "resumed", which are joined by their pid.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/common/job.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/strace/strace_births.h"
#include "analyzer/import/strace/strace_call.h"
#include "analyzer/import/strace/strace_line.h"
#include "analyzer/import/strace/strace_scope.h"
#include "analyzer/import/strace/strace_source.h"
#include "analyzer/import/common/table.h"

#define LOOK_LINES 20 /* of the beginning, for detect() */

/* A thread, and its last unfinished call. */
struct pending {
	int64_t tid;
	int64_t ended_ns;		     /* the thread's last call */
	const struct strace_call_info *info; /* NULL: there is none */
	struct reel_buf args;
	int64_t start_ns;
	int64_t adopted; /* the child of a fork, seen already; 0: none */
	bool live, ended;
};

struct importer {
	struct strace_sources sources;
	struct strace_births births;
	struct import_job *job;
	struct reel_intmap by_tid; /* to pending[] */
	struct pending *pending;
	uint32_t pendings, pending_room;
	uint32_t forks;	 /* pending ones without a child */
	uint32_t live;	 /* threads that have a pid and have not ended */
	int64_t unnamed; /* pid of lines without one; 0: not known yet */
	int exit_status; /* of the first process; -1: not known */
	int exit_signal; /* that killed it; 0: none */
	bool first_ended;
	uint64_t no_end, no_time, no_duration;
	uint64_t async; /* operations of io_uring and libaio */
	uint64_t failed, succeeded;
	struct strace_scope scope;
	struct strace_paths paths;
	struct reel_buf text;
};

/* --- processes ------------------------------------------------------------ */

static struct pending *pending_of(struct importer *im, int64_t tid,
				  struct reel_error *err)
{
	uint32_t i = reel_intmap_get(&im->by_tid, (uint64_t)tid, err);

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&im->pending, &im->pending_room, i,
			     sizeof(*im->pending), err))
		return NULL;
	if (i >= im->pendings)
		im->pendings = i + 1;
	im->pending[i].tid = tid;
	return &im->pending[i];
}

/* The pending call of thread @from is one of thread @tid from now on. */
static int move_pending(struct importer *im, int64_t from, int64_t tid,
			struct reel_error *err)
{
	struct pending *p = pending_of(im, from, err);
	struct pending *to = p ? pending_of(im, tid, err) : NULL;
	struct reel_buf args;

	if (!to)
		return -1;
	p = pending_of(im, from, err); /* the array may have moved */
	if (to->info && to->info->effect == STRACE_FORK && !to->adopted)
		im->forks--;
	to->info = p->info;
	to->start_ns = p->start_ns;
	to->adopted = p->adopted;
	args = to->args;
	to->args = p->args;
	p->args = args;
	p->info = NULL;
	return 0;
}

static int set_live(struct importer *im, int64_t tid, bool live,
		    struct reel_error *err)
{
	struct pending *p = pending_of(im, tid, err);

	if (!p)
		return -1;
	if (tid > 0 && p->live != live)
		im->live += live ? 1 : -1;
	p->live = live;
	p->ended = !live;
	return 0;
}

static bool has_word(struct strace_text args, const char *word)
{
	return args.len && memmem(args.at, args.len, word, strlen(word));
}

/* The child of a fork by thread @parent: a process, or a thread of its own. */
static int add_child(struct importer *im, int parent, int64_t tid,
		     struct strace_text args, int64_t ns,
		     struct reel_error *err)
{
	int process = import_job_process_of(im->job, parent);
	bool thread = has_word(args, "CLONE_THREAD");
	struct pending *p;

	if (tid <= 0 || import_job_find_thread(im->job, tid) >= 0)
		return 0;
	process = thread ? import_job_thread(im->job, process, tid, ns, err)
			 : import_job_process(im->job, process, tid, ns, err);
	if (process < 0)
		return -1;
	if (!thread && has_word(args, "CLONE_FILES"))
		import_job_share(im->job, process);
	p = pending_of(im, tid, err);
	if (!p)
		return -1;
	p->ended_ns = ns; /* its calls are later, also within a tick */
	return set_live(im, tid, true, err);
}

/* Can the pending fork of @p be that which makes @tid? A trace that was cut lacks
 * the returns of the last forks. */
static bool may_make(const struct importer *im, const struct pending *p,
		     int64_t tid)
{
	int64_t parent = strace_births_parent(&im->births, tid);

	if (!p->info || p->info->effect != STRACE_FORK || p->adopted)
		return false;
	/* A terminal's lines have no pid before the first child's. */
	if (parent >= 0 && !p->tid && !im->unnamed)
		return reel_intmap_find(&im->by_tid, (uint64_t)parent) ==
		       REEL_NO_INDEX;
	return parent >= 0 ? p->tid == parent
			   : strace_births_child(&im->births, p->tid) < 0;
}

/*
 * @tid is new: the child of a fork that has not returned yet, or else a process
 * whose beginning the trace does not have. The thread, or -1.
 */
static int new_thread(struct importer *im, int64_t tid, int64_t ns,
		      struct reel_error *err)
{
	for (uint32_t i = 0; tid && im->forks && i < im->pendings; i++) {
		struct pending *p = &im->pending[i];
		struct strace_text args = {reel_buf_text(&p->args),
					   p->args.len};
		int parent;

		if (!may_make(im, p, tid))
			continue;
		parent = import_job_find_thread(im->job, p->tid);
		p->adopted = tid;
		im->forks--;
		if (parent < 0)
			continue;
		if (add_child(im, parent, tid, args, p->start_ns, err))
			return -1;
		return import_job_find_thread(im->job, tid);
	}
	if (set_live(im, tid, true, err))
		return -1;
	if (!im->unnamed && tid && import_job_find_thread(im->job, 0) >= 0) {
		im->unnamed = tid;
		if (move_pending(im, 0, tid, err))
			return -1;
		return import_job_rename(im->job, 0, tid, err);
	}
	if (import_job_process(im->job, -1, tid, ns, err) < 0)
		return -1;
	return import_job_find_thread(im->job, tid);
}

static bool has_ended(const struct importer *im, int64_t tid)
{
	uint32_t i = reel_intmap_find(&im->by_tid, (uint64_t)tid);

	return import_job_find_thread(im->job, tid) < 0 ||
	       (i != REEL_NO_INDEX && im->pending[i].ended);
}

/*
 * The pid of a line. A terminal's lines have one only while there are several
 * threads: those before are of the one that is named later, those behind of it or,
 * if it has ended, of the last one that lives.
 */
static int64_t line_pid(const struct importer *im,
			const struct strace_line *line)
{
	if (line->pid >= 0)
		return line->pid;
	if (im->live != 1 || !has_ended(im, im->unnamed))
		return im->unnamed;
	for (uint32_t i = 0; i < im->pendings; i++)
		if (im->pending[i].live && im->pending[i].tid > 0)
			return im->pending[i].tid;
	return im->unnamed;
}

/* --- calls ---------------------------------------------------------------- */

/* "[3</a>, 4<pipe:[7]>]": two new descriptors. */
static int make_pair(struct importer *im, int thread, struct strace_text list,
		     enum reel_kind kind, bool cloexec, int64_t ns,
		     struct reel_error *err)
{
	struct strace_text arg;
	struct import_fd fd;

	if (!list.len || *list.at != '[')
		return 0;
	list.at++;
	list.len--;
	for (int i = 0; i < 2; i++) {
		if (!strace_next_arg(&list, &arg) ||
		    !strace_call_fd(&fd, im->paths.fd, arg))
			return 0;
		if (import_job_made(im->job, thread, &fd, kind, cloexec, ns,
				    err))
			return -1;
	}
	return 0;
}

/* New descriptors of pipes, sockets, and objects that are no I/O. */
static int make_other(struct importer *im, int thread,
		      const struct strace_call_info *info,
		      const struct strace_line *line, int64_t ns,
		      struct reel_error *err)
{
	bool cloexec = has_word(line->args, "CLOEXEC");
	struct strace_text args = line->args, arg, last = {"", 0};
	struct import_fd made = {.fd = line->result};
	int n;

	if (line->result < 0)
		return 0;
	switch (info->effect) {
	case STRACE_PIPE:
		return strace_next_arg(&args, &arg)
			       ? make_pair(im, thread, arg, REEL_KIND_PIPE,
					   cloexec, ns, err)
			       : 0;
	case STRACE_PAIR:
		while (strace_next_arg(&args, &arg))
			last = arg;
		return make_pair(im, thread, last, REEL_KIND_SOCKET, cloexec,
				 ns, err);
	default:
		n = line->result_path.len
			    ? strace_unescape(line->result_path, im->paths.fd,
					      sizeof(im->paths.fd))
			    : 0;
		made.path = n > 0 ? im->paths.fd : NULL;
		made.path_len = n > 0 ? (uint32_t)n : 0;
		return import_job_made(im->job, thread, &made,
				       info->effect == STRACE_SOCKET
					       ? REEL_KIND_SOCKET
					       : REEL_KIND_OTHER,
				       cloexec, ns, err);
	}
}

/* "["./t", "a b"]" as a line of a shell, into im->text. */
static int command_text(struct importer *im, struct strace_text list,
			struct reel_error *err)
{
	struct strace_text arg;

	reel_buf_reset(&im->text);
	if (!list.len || *list.at != '[')
		return 0;
	list.at++;
	list.len--;
	while (list.len && *list.at != ']' && strace_next_arg(&list, &arg)) {
		/* strace cuts long words: "abc"...; with -s 0 to nothing */
		if (arg.len > 4 && !memcmp(arg.at + arg.len - 4, "\"...", 4)) {
			arg.len -= 3;
			if (arg.len == 2)
				break;
		}
		/* with -s 0 the list is [...], too */
		if (!im->text.len && arg.len && *arg.at == '.')
			break;
		if (strace_unescape(arg, im->paths.path2,
				    sizeof(im->paths.path2)) < 0)
			break;
		if ((im->text.len && reel_buf_puts(&im->text, " ", err)) ||
		    reel_buf_quote(&im->text, im->paths.path2, err))
			return -1;
	}
	return 0;
}

/* The image of the thread's process is another from now on. */
static int run_exec(struct importer *im, int thread,
		    const struct strace_call_info *info,
		    const struct strace_line *line, const char *path,
		    int64_t ns, struct reel_error *err)
{
	struct strace_text args = line->args, arg = {"", 0};
	int argv = info->call == REEL_CALL_EXECVEAT ? 3 : 2;

	for (int i = 0; i < argv; i++)
		if (!strace_next_arg(&args, &arg))
			break;
	if (command_text(im, arg, err))
		return -1;
	if (!im->text.len && path && reel_buf_quote(&im->text, path, err))
		return -1;
	return import_job_exec(im->job, thread, path ? path : "",
			       reel_buf_text(&im->text), ns, err);
}

/* Add a call, and count what the options of strace left out of its event. */
static int add_call(struct importer *im, int thread,
		    const struct strace_line *line, struct import_call *call,
		    int64_t start_ns, int64_t end_ns, struct reel_error *err)
{
	if (import_job_call(im->job, thread, call, start_ns, end_ns, err))
		return -1;
	im->no_time += call->is_event && line->clock == STRACE_NO_CLOCK;
	im->no_duration += call->is_event && line->dur_ns < 0;
	if (call->is_event)
		strace_scope_transfer(&im->scope, call, end_ns - start_ns);
	return 0;
}

/* Changes of a call beside its event. */
static int after_call(struct importer *im, int thread,
		      const struct strace_call_info *info,
		      const struct strace_line *line, struct import_call *call,
		      int64_t start_ns, int64_t ns, struct reel_error *err)
{
	const struct reel_record *rec = &call->rec;

	if (info->effect == STRACE_EXEC && !rec->err)
		return run_exec(im, thread, info, line, rec->path, ns, err);
	if (info->effect == STRACE_COPY && line->result >= 0) {
		if (!strace_call_copy_out(call, &im->paths, info, line))
			return 0;
		return add_call(im, thread, line, call, start_ns, ns, err);
	}
	if (rec->call == REEL_CALL_FCNTL && !rec->err && rec->arg == F_SETFD)
		import_job_set_cloexec(im->job, thread, call->fd.fd,
				       rec->arg2 & FD_CLOEXEC);
	return 0;
}

/* A whole call with its result. */
static int finish_call(struct importer *im, int thread,
		       const struct strace_call_info *info,
		       const struct strace_line *line, int64_t start_ns,
		       int64_t end_ns, struct reel_error *err)
{
	struct strace_text fork_args = line->args;
	struct import_call call;

	if (!line->has_result) /* it never returned, or begins anew */
		return 0;
	im->failed += line->err != 0;
	im->succeeded += !line->err;
	if (info->effect == STRACE_FORK)
		return add_child(im, thread, line->result, fork_args, start_ns,
				 err);
	if (!line->err && ((info->effect == STRACE_UNSHARE &&
			    has_word(fork_args, "CLONE_FILES")) ||
			   (info->call == REEL_CALL_CLOSE_RANGE &&
			    has_word(fork_args, "CLOSE_RANGE_UNSHARE"))))
		import_job_unshare(im->job, thread);
	if (info->effect == STRACE_UNSHARE)
		return 0;
	if (info->effect == STRACE_CLOEXEC) {
		struct strace_text args = line->args, fd;

		if (line->result == 0 && strace_next_arg(&args, &fd) &&
		    memmem(args.at, args.len, "FIOCLEX", 7) &&
		    strace_call_fd(&call.fd, im->paths.fd, fd))
			import_job_set_cloexec(im->job, thread, call.fd.fd,
					       true);
		return 0;
	}
	if (info->effect == STRACE_ASYNC) {
		im->async += line->result > 0 ? (uint64_t)line->result : 0;
		return 0;
	}
	if (info->effect != STRACE_IO && info->effect != STRACE_EXEC &&
	    info->effect != STRACE_COPY)
		return make_other(im, thread, info, line, end_ns, err);
	if (!strace_call_fill(&call, &im->paths, info, line)) {
		strace_sources_reject(&im->sources);
		return 0;
	}
	if (info->call == REEL_CALL_MMAP && call.fd.fd < 0)
		return 0; /* memory */
	call.exact = line->tick_ns <= STRACE_TICK_EXACT_NS &&
		     line->clock != STRACE_RELATIVE;
	/* Without -T the end of an interrupted call is where strace saw it. */
	call.changed_ns = line->dur_ns < 0 ? line->ns : end_ns;
	if (add_call(im, thread, line, &call, start_ns, end_ns, err))
		return -1;
	return after_call(im, thread, info, line, &call, start_ns, end_ns, err);
}

/* Calls within a tick of the clock have one time: as a thread makes one call after
 * the other, each begins no earlier than the one before it ended. A greater distance
 * is a clock that was set back. */
static int spread_tick(struct importer *im, int64_t tid,
		       struct strace_line *line, struct reel_error *err)
{
	struct pending *p = pending_of(im, tid, err);

	if (!p)
		return -1;
	/* Times of -r fall behind by up to a tick a line. */
	if (line->ns < p->ended_ns &&
	    (im->sources.clock == STRACE_RELATIVE ||
	     (line->tick_ns > STRACE_TICK_EXACT_NS &&
	      p->ended_ns - line->ns <= line->tick_ns)))
		line->ns = p->ended_ns;
	p->ended_ns = line->what == STRACE_RESUMED && p->info ? p->start_ns
							      : line->ns;
	if (line->dur_ns > 0)
		p->ended_ns = strace_add_ns(p->ended_ns, line->dur_ns);
	return 0;
}

/* Keep the beginning of a call until its end comes. */
static int keep_pending(struct importer *im, int64_t tid,
			const struct strace_call_info *info,
			const struct strace_line *line, struct reel_error *err)
{
	struct pending *p = pending_of(im, tid, err);

	if (!p)
		return -1;
	if (p->info)
		im->no_end++;
	if (p->info && p->info->effect == STRACE_FORK && !p->adopted)
		im->forks--;
	p->info = info;
	p->start_ns = line->ns;
	p->adopted = 0;
	im->forks += info->effect == STRACE_FORK;
	reel_buf_reset(&p->args);
	return reel_buf_add(&p->args, line->args.at, line->args.len, err);
}

static int resume_call(struct importer *im, struct strace_line *line,
		       int64_t tid, int thread,
		       const struct strace_call_info *info,
		       struct reel_error *err)
{
	struct pending *p = pending_of(im, tid, err);
	int64_t end_ns;

	if (!p)
		return -1;
	if (p->info != info) {
		im->no_end++; /* its beginning is not in the trace */
		if (info->effect == STRACE_FORK &&
		    strace_line_join(line, line->args.at, line->args.len) &&
		    line->result > 0)
			strace_births_returned(&im->births, tid, line->result);
		return 0;
	}
	if (info->effect == STRACE_FORK && !p->adopted)
		im->forks--;
	p->info = NULL;
	if (reel_buf_add(&p->args, line->args.at, line->args.len, err))
		return -1;
	if (!strace_line_join(line, reel_buf_text(&p->args), p->args.len)) {
		strace_sources_reject(&im->sources);
		return 0;
	}
	if (info->effect == STRACE_FORK && line->result > 0) {
		strace_births_returned(&im->births, tid, line->result);
		if (line->result == p->adopted ||
		    (p->adopted &&
		     !strace_births_has_lines(&im->births, line->result)))
			return 0; /* it is known, and may have ended */
	}
	/* Without -T only these calls would have a duration, and each mean, share and
	 * sum would be of them alone. */
	end_ns =
		strace_add_ns(p->start_ns, line->dur_ns > 0 ? line->dur_ns : 0);
	return finish_call(im, thread, info, line, p->start_ns, end_ns, err);
}

/* The number of a signal that @text begins with, as SIGTERM; 0: none is known. */
static int signal_of(const struct strace_text *text)
{
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);
		size_t n = name ? strlen(name) : 0;

		if (n && text->len >= n + 3 && !memcmp(text->at, "SIG", 3) &&
		    !memcmp(text->at + 3, name, n) &&
		    (text->len == n + 3 || text->at[n + 3] == ' '))
			return i;
	}
	return 0;
}

static int end_thread(struct importer *im, int64_t tid, int thread,
		      const struct strace_line *line, struct reel_error *err)
{
	if (!im->first_ended && !import_job_process_of(im->job, thread)) {
		im->first_ended = true;
		if (line->what == STRACE_EXITED)
			im->exit_status = (int)line->result;
		else if (line->what == STRACE_KILLED)
			im->exit_signal = signal_of(&line->args);
	}
	if (set_live(im, tid, false, err))
		return -1;
	return import_job_thread_end(
		im->job, thread, line->ns,
		line->what == STRACE_EXITED ? "exit" : "unknown", err);
}

/* Thread @from of the process of @to calls execve: that ends all others, and returns
 * in the first thread, @tid. */
static int supersede_thread(struct importer *im, int64_t tid, int to,
			    int64_t from, int64_t ns, struct reel_error *err)
{
	int thread = import_job_find_thread(im->job, from);
	struct pending *p = pending_of(im, from, err);

	if (!p)
		return -1;
	if (thread < 0 || thread == to || !p->info ||
	    p->info->effect != STRACE_EXEC ||
	    import_job_process_of(im->job, thread) !=
		    import_job_process_of(im->job, to))
		return 0;
	if (move_pending(im, from, tid, err))
		return -1;
	if (set_live(im, from, false, err))
		return -1;
	return import_job_thread_end(im->job, thread, ns, "unknown", err);
}

static int handle_line(struct importer *im, struct strace_line *line,
		       struct reel_error *err)
{
	const struct strace_call_info *info;
	int64_t tid = line_pid(im, line);
	int thread = import_job_find_thread(im->job, tid);

	strace_scope_see(&im->scope, line);
	if (thread < 0)
		thread = new_thread(im, tid, line->ns, err);
	if (thread < 0 || spread_tick(im, tid, line, err))
		return -1;
	if (line->what == STRACE_EXITED || line->what == STRACE_KILLED)
		return end_thread(im, tid, thread, line, err);
	if (line->what == STRACE_SUPERSEDED)
		return supersede_thread(im, tid, thread, line->result, line->ns,
					err);
	info = strace_call_find(line->name);
	if (!info)
		return 0;
	if (line->what == STRACE_UNFINISHED)
		return keep_pending(im, tid, info, line, err);
	if (line->what == STRACE_RESUMED)
		return resume_call(im, line, tid, thread, info, err);
	return finish_call(
		im, thread, info, line, line->ns,
		strace_add_ns(line->ns, line->dur_ns > 0 ? line->dur_ns : 0),
		err);
}

/* --- the end -------------------------------------------------------------- */

static int put_losses(const struct importer *im, struct reel_writer *w,
		      struct reel_error *err)
{
	const struct reel_writer_loss loss[] = {
		{"not_understood", "lines", im->sources.not_understood},
		{"no_end", "calls", im->no_end},
		{"no_time", "calls", im->no_time},
		{"no_duration", "calls", im->no_duration},
		{"asynchronous", "operations", im->async},
		{"only_failed", "calls", im->succeeded ? 0 : im->failed},
	};

	return reel_writer_losses(w, loss, sizeof(loss) / sizeof(loss[0]), err);
}

/* The script, or the program, of a shell-quoted line. */
static void name_of(const char *command, char *out, size_t room)
{
	const char *word = command, *end, *slash;

	for (const char *p = command; *p; p = end + (*end == ' ')) {
		end = strchrnul(p, ' ');
		if (end - p > 3 && !memcmp(end - 3, ".py", 3)) {
			word = p;
			break;
		}
	}
	end = strchrnul(word, ' ');
	slash = memrchr(word, '/', (size_t)(end - word));
	word = slash ? slash + 1 : word;
	snprintf(out, room, "%.*s", (int)(end - word), word);
}

static int finish(struct importer *im, struct reel_writer *w,
		  const struct import_input *in, struct reel_error *err)
{
	bool real = im->sources.clock == STRACE_REAL ||
		    im->sources.clock == STRACE_REAL_SECONDS;
	struct reel_writer_run run = {
		.start_real_ns = real ? im->sources.origin_ns : 0,
		.wall_ns = REEL_NO_OFFSET,
		.exit_status =
			im->exit_status < 0 ? REEL_NO_OFFSET : im->exit_status,
		.exit_signal =
			im->exit_signal > 0 ? im->exit_signal : REEL_NO_OFFSET,
		.clock_error_ns = strace_sources_error_ns(&im->sources),
		.job_json = "{\"imported_from\":\"strace\"}",
	};
	char name[256], file[256];

	for (uint32_t i = 0; i < im->pendings; i++)
		im->no_end += im->pending[i].info &&
			      im->pending[i].info->effect == STRACE_IO;
	run.lost =
		(int64_t)(im->sources.not_understood + im->no_end + im->async);
	run.command = import_job_command(im->job);
	name_of(run.command, name, sizeof(name));
	run.name = *name ? name : import_run_name(in->path[0], NULL, file);
	if (reel_writer_settle(w, err) || put_losses(im, w, err) ||
	    strace_scope_note(&im->scope, w, err))
		return -1;
	return import_job_finish(im->job, &run, err);
}

static void importer_fini(struct importer *im)
{
	strace_sources_close(&im->sources);
	for (uint32_t i = 0; i < im->pendings; i++)
		reel_buf_fini(&im->pending[i].args);
	free(im->pending);
	reel_intmap_fini(&im->by_tid);
	strace_births_fini(&im->births);
	reel_buf_fini(&im->text);
	import_job_free(im->job);
}

static int strace_load(struct reel_writer *w, const struct import_input *in,
		       struct reel_error *err)
{
	struct importer *im = reel_alloc(1, sizeof(*im), err);
	struct strace_line *line;
	int rc = -1;

	if (!im)
		return -1;
	im->exit_status = -1;
	if (strace_sources_open(&im->sources, in, err) ||
	    strace_births_read(&im->births, &im->sources, err) ||
	    import_job_new(&im->job, w, im->sources.origin_ns, err))
		goto out;
	while ((rc = strace_sources_next(&im->sources, &line, err)) > 0) {
		rc = handle_line(im, line, err);
		if (rc)
			goto out;
	}
	if (rc)
		goto out;
	rc = -1;
	if (im->sources.not_understood > im->sources.calls) {
		reel_fail(err, REEL_E_FORMAT,
			  "'%s', line %llu: no line of strace, as are %llu of "
			  "%llu",
			  im->sources.bad_path,
			  (unsigned long long)im->sources.bad_line,
			  (unsigned long long)im->sources.not_understood,
			  (unsigned long long)im->sources.lines);
		goto out;
	}
	rc = finish(im, w, in, err);
out:
	importer_fini(im);
	free(im);
	return rc;
}

/* Do the first lines have calls as strace prints them? */
static bool strace_detect(const char *bytes, size_t n)
{
	const char *end = bytes + n;
	int calls = 0, lines = 0;

	for (const char *p = bytes; p < end && lines < LOOK_LINES;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		struct strace_line line;

		if (!newline && lines)
			break; /* cut by the end of the piece */
		if (strace_line_is_title(
			    p, (size_t)((newline ? newline : end) - p)))
			break;
		strace_line_parse(&line, p,
				  (size_t)((newline ? newline : end) - p));
		lines += line.what != STRACE_IGNORED;
		calls += line.what != STRACE_IGNORED &&
			 line.what != STRACE_OTHER;
		p = newline ? newline + 1 : end;
	}
	return calls && 2 * calls >= lines;
}

const struct reel_importer reel_importer_strace = {
	.name = "strace",
	.about = "text of strace -f -ttt -T -y (a file, or a folder of -ff), "
		 "also compressed by gzip",
	.missing = {"stdio calls", "MPI calls", "bytes of mappings",
		    "operations of io_uring and libaio", "spans", "ranks",
		    NULL},
	.partial = true,
	.detect = strace_detect,
	.load = strace_load,
};
