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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/progress.h"
#include "lib/store/merge_heap.h"

#include "analyzer/import/job.h"
#include "analyzer/import/lines.h"
#include "analyzer/import/strace_call.h"
#include "analyzer/import/strace_line.h"
#include "analyzer/import/table.h"

#define NS_PER_S INT64_C(1000000000)
#define DAY_NS (86400 * NS_PER_S)
#define PROGRESS_LINES 16384
#define LOOK_LINES 20 /* of the beginning, for detect() and the clock */

/* A file: of one thread, or of all. */
struct source {
	const char *path;
	struct import_lines *lines;
	struct reel_buf torn;	 /* a line that a message of strace tore */
	struct strace_line line; /* the next one */
	int64_t pid;		 /* of the name "out.PID"; -1: none */
	int64_t first_ns;
	int64_t last_ns, day_ns; /* of the clock, and the days that passed */
};

/* The last unfinished call of a thread. */
struct pending {
	int64_t tid;
	const struct strace_call_info *info; /* NULL: there is none */
	struct reel_buf args;
	int64_t start_ns;
	bool adopted; /* a fork whose child was seen already */
};

struct importer {
	const struct import_input *in;
	struct import_job *job;
	struct source *source;
	enum strace_clock clock;
	struct reel_idmap by_tid; /* to pending[] */
	struct pending *pending;
	uint32_t pendings, pending_room;
	uint32_t forks;	 /* pending ones without a child */
	int64_t unnamed; /* pid of lines without one; 0: not known yet */
	int exit_status; /* of the first process; -1: not known */
	bool first_ended;
	uint64_t lines, calls, not_understood, no_end, no_duration;
	uint64_t bad_line; /* number of the first that was not understood */
	const char *bad_path;
	struct strace_paths paths;
	struct reel_buf text;
	struct reel_progress progress;
};

/* --- time ----------------------------------------------------------------- */

/* The time of the source's line in ns of one clock. */
static int64_t clock_ns(struct importer *im, struct source *s)
{
	int64_t ns = s->line.ns;

	switch (im->clock) {
	case STRACE_RELATIVE:
		ns += s->last_ns;
		break;
	case STRACE_DAY:
	case STRACE_DAY_SECONDS:
		ns += s->day_ns;
		if (ns < s->last_ns - DAY_NS / 2) {
			s->day_ns += DAY_NS;
			ns += DAY_NS;
		}
		break;
	default:
		break;
	}
	s->last_ns = ns;
	return ns;
}

static void not_understood(struct importer *im, const struct source *s)
{
	if (!im->not_understood++) {
		im->bad_line = import_lines_number(s->lines);
		im->bad_path = s->path;
	}
}

/*
 * On a terminal "strace: Process 7 attached" tears a line in two. The length
 * of the part before it, 0: there is none.
 */
static size_t torn_at(const char *line, size_t len)
{
	static const char message[] = "strace: Process ", end[] = " attached";
	const size_t end_len = sizeof(end) - 1;
	const char *at;

	if (len < end_len || memcmp(line + len - end_len, end, end_len))
		return 0;
	at = memmem(line, len, message, sizeof(message) - 1);
	return at ? (size_t)(at - line) : 0;
}

/* The next line of the file, whole. 1, 0 at the end, -1. */
static int whole_line(struct source *s, const char **line, size_t *len,
		      struct reel_error *err)
{
	size_t torn;
	int rc;

	reel_buf_reset(&s->torn);
	while ((rc = import_lines_next(s->lines, line, len, err)) > 0) {
		torn = torn_at(*line, *len);
		if (!torn && !s->torn.len)
			return 1;
		if (reel_buf_add(&s->torn, *line, torn ? torn : *len, err))
			return -1;
		if (torn)
			continue;
		*line = reel_buf_text(&s->torn);
		*len = s->torn.len;
		return 1;
	}
	return rc;
}

/* The next line with something in it. 1, 0 at the end, -1. */
static int source_next(struct importer *im, struct source *s,
		       struct reel_error *err)
{
	const char *line;
	size_t len;
	int rc;

	while ((rc = whole_line(s, &line, &len, err)) > 0) {
		strace_line_parse(&s->line, line, len);
		if (!(++im->lines % PROGRESS_LINES))
			reel_progress_at(&im->progress, im->lines);
		if (s->line.what == STRACE_IGNORED)
			continue;
		if (s->line.what == STRACE_OTHER ||
		    s->line.clock != im->clock) {
			not_understood(im, s);
			continue;
		}
		im->calls++;
		s->line.ns = clock_ns(im, s);
		return 1;
	}
	im->not_understood += rc ? 0 : import_lines_skipped(s->lines);
	return rc;
}

/* --- processes ------------------------------------------------------------ */

static struct pending *pending_of(struct importer *im, int64_t tid,
				  struct reel_error *err)
{
	uint32_t i = reel_idmap_get(&im->by_tid, (uint64_t)tid, err);

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&im->pending, &im->pending_room, i,
			     sizeof(*im->pending), err))
		return NULL;
	if (i >= im->pendings)
		im->pendings = i + 1;
	im->pending[i].tid = tid;
	return &im->pending[i];
}

/* The child of a fork by thread @parent: a process, or a thread of its own. */
static int add_child(struct importer *im, int parent, int64_t tid,
		     struct strace_text args, int64_t ns,
		     struct reel_error *err)
{
	int process = import_job_process_of(im->job, parent);
	bool thread = args.len && memmem(args.at, args.len, "CLONE_THREAD",
					 strlen("CLONE_THREAD"));

	if (tid <= 0 || import_job_find_thread(im->job, tid) >= 0)
		return 0;
	return (thread ? import_job_thread(im->job, process, tid, ns, err)
		       : import_job_process(im->job, process, tid, ns, err)) < 0
		       ? -1
		       : 0;
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

		if (!p->info || p->info->effect != STRACE_FORK || p->adopted)
			continue;
		parent = import_job_find_thread(im->job, p->tid);
		p->adopted = true;
		im->forks--;
		if (parent < 0)
			continue;
		if (add_child(im, parent, tid, args, p->start_ns, err))
			return -1;
		return import_job_find_thread(im->job, tid);
	}
	if (!im->unnamed && tid && import_job_find_thread(im->job, 0) >= 0) {
		im->unnamed = tid;
		return import_job_rename(im->job, 0, tid, err);
	}
	if (import_job_process(im->job, -1, tid, ns, err) < 0)
		return -1;
	return import_job_find_thread(im->job, tid);
}

/*
 * The pid of a line. A terminal's lines have one only while there are several
 * processes: those before are of the one that is named later.
 */
static int64_t line_pid(struct importer *im, const struct source *s)
{
	if (s->line.pid >= 0)
		return s->line.pid;
	return s->pid >= 0 ? s->pid : im->unnamed;
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
	bool cloexec = line->args.len &&
		       memmem(line->args.at, line->args.len, "CLOEXEC", 7);
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

/* Changes of a call beside its event. */
static int after_call(struct importer *im, int thread,
		      const struct strace_call_info *info,
		      const struct strace_line *line, struct import_call *call,
		      int64_t ns, struct reel_error *err)
{
	const struct reel_record *rec = &call->rec;

	if (info->effect == STRACE_EXEC && !rec->err)
		return run_exec(im, thread, info, line, rec->path, ns, err);
	if (info->effect == STRACE_COPY && line->result >= 0) {
		if (!strace_call_copy_out(call, &im->paths, info, line))
			return 0;
		return import_job_call(im->job, thread, call, ns, ns, err);
	}
	if (rec->call == REEL_CALL_FCNTL && !rec->err && rec->arg == F_SETFD)
		import_job_set_cloexec(im->job, thread, call->fd.fd,
				       rec->arg2 & FD_CLOEXEC);
	return 0;
}

/* A whole call with its result. */
static int finish_call(struct importer *im, const struct source *s, int thread,
		       const struct strace_call_info *info,
		       const struct strace_line *line, int64_t start_ns,
		       int64_t end_ns, struct reel_error *err)
{
	struct strace_text fork_args = line->args;
	struct import_call call;

	if (!line->has_result) /* it never returned, or begins anew */
		return 0;
	if (info->effect == STRACE_FORK)
		return add_child(im, thread, line->result, fork_args, start_ns,
				 err);
	if (info->effect == STRACE_CLOEXEC) {
		struct strace_text args = line->args, fd;

		if (line->result == 0 && strace_next_arg(&args, &fd) &&
		    memmem(args.at, args.len, "FIOCLEX", 7) &&
		    strace_call_fd(&call.fd, im->paths.fd, fd))
			import_job_set_cloexec(im->job, thread, call.fd.fd,
					       true);
		return 0;
	}
	if (info->effect != STRACE_IO && info->effect != STRACE_EXEC &&
	    info->effect != STRACE_COPY)
		return make_other(im, thread, info, line, end_ns, err);
	if (!strace_call_fill(&call, &im->paths, info, line)) {
		not_understood(im, s);
		return 0;
	}
	if (info->call == REEL_CALL_MMAP && call.fd.fd < 0)
		return 0; /* memory */
	if (import_job_call(im->job, thread, &call, start_ns, end_ns, err))
		return -1;
	return after_call(im, thread, info, line, &call, end_ns, err);
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
	p->adopted = false;
	im->forks += info->effect == STRACE_FORK;
	reel_buf_reset(&p->args);
	return reel_buf_add(&p->args, line->args.at, line->args.len, err);
}

static int resume_call(struct importer *im, struct source *s, int64_t tid,
		       int thread, const struct strace_call_info *info,
		       struct reel_error *err)
{
	struct strace_line *line = &s->line;
	struct pending *p = pending_of(im, tid, err);
	int64_t end_ns;

	if (!p)
		return -1;
	if (p->info != info) {
		im->no_end++; /* its beginning is not in the trace */
		return 0;
	}
	if (info->effect == STRACE_FORK && !p->adopted)
		im->forks--;
	p->info = NULL;
	if (reel_buf_add(&p->args, line->args.at, line->args.len, err))
		return -1;
	if (!strace_line_join(line, reel_buf_text(&p->args), p->args.len)) {
		not_understood(im, s);
		return 0;
	}
	end_ns = line->dur_ns >= 0 ? p->start_ns + line->dur_ns : line->ns;
	return finish_call(im, s, thread, info, line, p->start_ns, end_ns, err);
}

static int end_thread(struct importer *im, int thread,
		      const struct strace_line *line, struct reel_error *err)
{
	if (!im->first_ended && !import_job_process_of(im->job, thread)) {
		im->first_ended = true;
		im->exit_status =
			line->what == STRACE_EXITED ? (int)line->result : -1;
	}
	return import_job_thread_end(
		im->job, thread, line->ns,
		line->what == STRACE_EXITED ? "exit" : "unknown", err);
}

static int handle_line(struct importer *im, struct source *s,
		       struct reel_error *err)
{
	const struct strace_call_info *info;
	struct strace_line *line = &s->line;
	int64_t tid = line_pid(im, s);
	int thread = import_job_find_thread(im->job, tid);

	if (thread < 0)
		thread = new_thread(im, tid, line->ns, err);
	if (thread < 0)
		return -1;
	if (line->what == STRACE_EXITED || line->what == STRACE_KILLED)
		return end_thread(im, thread, line, err);
	info = strace_call_find(line->name);
	if (!info)
		return 0;
	if (line->what == STRACE_UNFINISHED)
		return keep_pending(im, tid, info, line, err);
	if (line->what == STRACE_RESUMED)
		return resume_call(im, s, tid, thread, info, err);
	im->no_duration += line->dur_ns < 0;
	return finish_call(im, s, thread, info, line, line->ns,
			   line->ns + (line->dur_ns > 0 ? line->dur_ns : 0),
			   err);
}

/* --- files ---------------------------------------------------------------- */

/* "out.123": 123; -1 without. */
static int64_t pid_of_name(const char *path)
{
	const char *dot = strrchr(path, '.');
	struct strace_text text = {dot ? dot + 1 : "",
				   dot ? strlen(dot + 1) : 0};
	int64_t pid;

	if (text.len > 3 && !memcmp(text.at + text.len - 3, ".gz", 3))
		text.len -= 3;
	return text.len && *text.at != '0' && *text.at != '-' && text.len < 8 &&
			       strace_number(text, &pid)
		       ? pid
		       : -1;
}

/* The clock of the file and its first time, from its first lines. */
static int look_at(struct importer *im, struct source *s,
		   struct reel_error *err)
{
	const char *line;
	size_t len;
	int rc;

	if (import_lines_open(&s->lines, s->path, err))
		return -1;
	for (int i = 0; i < LOOK_LINES; i++) {
		rc = import_lines_next(s->lines, &line, &len, err);
		if (rc <= 0)
			break;
		strace_line_parse(&s->line, line, len);
		if (s->line.what == STRACE_OTHER ||
		    s->line.what == STRACE_IGNORED)
			continue;
		if (s->line.clock == STRACE_NO_CLOCK)
			return reel_fail(err, REEL_E_FORMAT,
					 "'%s', line %d: no time (strace "
					 "prints it with -ttt)",
					 s->path, i + 1);
		if (!im->clock)
			im->clock = s->line.clock;
		if (s->line.clock != im->clock)
			return reel_fail(err, REEL_E_FORMAT,
					 "'%s', line %d: another kind of time "
					 "than in the files before",
					 s->path, i + 1);
		s->first_ns = s->line.ns;
		import_lines_close(s->lines);
		s->lines = NULL;
		return 1;
	}
	import_lines_close(s->lines);
	s->lines = NULL;
	return err->code ? -1 : 0;
}

static int by_first(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Files with a line of strace, by their first time. Their number, or -1. */
static int open_sources(struct importer *im, struct reel_error *err)
{
	int n = 0;

	im->source =
		reel_alloc((size_t)im->in->paths + 1, sizeof(*im->source), err);
	if (!im->source)
		return -1;
	for (int i = 0; i < im->in->paths; i++) {
		struct source *s = &im->source[n];
		int rc;

		*s = (struct source){.path = im->in->path[i]};
		s->pid = pid_of_name(s->path);
		rc = look_at(im, s, err);
		if (rc < 0)
			return -1;
		n += rc;
	}
	if (!n)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', line 1: no line of strace",
				 im->in->path[0]);
	if (n > 1 && im->clock == STRACE_RELATIVE)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s': the times of strace -r say nothing "
				 "about other files (use -ttt)",
				 im->in->name);
	qsort(im->source, (size_t)n, sizeof(*im->source), by_first);
	return n;
}

/* When the line counts: a fork at its start, for its child comes then. */
static int64_t merge_ns(const struct source *s)
{
	const struct strace_line *line = &s->line;
	const struct strace_call_info *info;

	if (line->what != STRACE_CALL || line->dur_ns <= 0)
		return line->ns;
	info = strace_call_find(line->name);
	return info && info->effect == STRACE_FORK ? line->ns
						   : line->ns + line->dur_ns;
}

static int start_source(struct importer *im, struct reel_merge_heap *heap,
			int i, struct reel_error *err)
{
	struct source *s = &im->source[i];
	int rc;

	if (import_lines_open(&s->lines, s->path, err))
		return -1;
	rc = source_next(im, s, err);
	if (rc > 0)
		reel_merge_heap_add(heap, (struct reel_end_item){
						  merge_ns(s), (uint32_t)i, s});
	return rc < 0 ? -1 : 0;
}

/* Lines of all files in the order of the calls' ends. */
static int merge_sources(struct importer *im, int n, struct reel_error *err)
{
	struct reel_merge_heap heap = {0};
	int next = 0, rc = 0;

	heap.item = reel_alloc((size_t)n + 1, sizeof(*heap.item), err);
	if (!heap.item)
		return -1;
	while (!rc && (heap.n || next < n)) {
		struct source *s;

		if (next < n && (!heap.n || im->source[next].first_ns <=
						    heap.item[0].end_ns)) {
			rc = start_source(im, &heap, next++, err);
			continue;
		}
		s = heap.item[0].stream;
		rc = handle_line(im, s, err);
		if (rc)
			break;
		rc = source_next(im, s, err);
		if (rc > 0) {
			reel_merge_heap_next(&heap, merge_ns(s));
			rc = 0;
		} else if (!rc) {
			reel_merge_heap_drop(&heap);
			import_lines_close(s->lines);
			s->lines = NULL;
		}
	}
	free(heap.item);
	return rc;
}

/* --- the end -------------------------------------------------------------- */

static int put_losses(const struct importer *im, struct reel_writer *w,
		      struct reel_error *err)
{
	const struct {
		const char *reason, *unit;
		uint64_t count;
	} loss[] = {
		{"not_understood", "lines", im->not_understood},
		{"no_end", "calls", im->no_end},
		{"no_duration", "calls", im->no_duration},
	};

	for (size_t i = 0; i < sizeof(loss) / sizeof(loss[0]); i++)
		if (loss[i].count &&
		    reel_writer_loss(w, 0, loss[i].reason, loss[i].unit,
				     loss[i].count, err))
			return -1;
	return 0;
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

static int finish(struct importer *im, struct reel_writer *w, int64_t origin_ns,
		  struct reel_error *err)
{
	bool whole_seconds = im->clock == STRACE_DAY_SECONDS ||
			     im->clock == STRACE_REAL_SECONDS;
	bool real =
		im->clock == STRACE_REAL || im->clock == STRACE_REAL_SECONDS;
	struct reel_writer_run run = {
		.start_real_ns = real ? origin_ns : 0,
		.wall_ns = REEL_NO_OFFSET,
		.exit_status =
			im->exit_status < 0 ? REEL_NO_OFFSET : im->exit_status,
		.exit_signal = REEL_NO_OFFSET,
		.ranks = 1,
		.clock_error_ns = whole_seconds ? NS_PER_S : 1000,
		.job_json = "{\"imported_from\":\"strace\"}",
	};
	char name[256];

	for (uint32_t i = 0; i < im->pendings; i++)
		im->no_end += im->pending[i].info &&
			      im->pending[i].info->effect == STRACE_IO;
	run.lost = (int64_t)(im->not_understood + im->no_end);
	run.command = import_job_command(im->job);
	name_of(run.command, name, sizeof(name));
	run.name = *name ? name : "strace";
	if (put_losses(im, w, err))
		return -1;
	return import_job_finish(im->job, &run, err);
}

static void importer_fini(struct importer *im)
{
	reel_progress_stop(&im->progress);
	for (int i = 0; im->source && i < im->in->paths; i++) {
		import_lines_close(im->source[i].lines);
		reel_buf_fini(&im->source[i].torn);
	}
	for (uint32_t i = 0; i < im->pendings; i++)
		reel_buf_fini(&im->pending[i].args);
	free(im->source);
	free(im->pending);
	reel_idmap_fini(&im->by_tid);
	reel_buf_fini(&im->text);
	import_job_free(im->job);
}

static int strace_load(struct reel_writer *w, const struct import_input *in,
		       struct reel_error *err)
{
	struct importer *im = reel_alloc(1, sizeof(*im), err);
	int64_t origin_ns;
	int n, rc = -1;

	if (!im)
		return -1;
	im->in = in;
	im->exit_status = -1;
	n = open_sources(im, err);
	if (n < 0)
		goto out;
	reel_progress_start(&im->progress, "importing strace", "lines", 0);
	origin_ns = im->source[0].first_ns;
	if (import_job_new(&im->job, w, origin_ns, err) ||
	    merge_sources(im, n, err))
		goto out;
	if (im->not_understood > im->calls) {
		reel_fail(err, REEL_E_FORMAT,
			  "'%s', line %llu: no line of strace, as are %llu of "
			  "%llu",
			  im->bad_path, (unsigned long long)im->bad_line,
			  (unsigned long long)im->not_understood,
			  (unsigned long long)im->lines);
		goto out;
	}
	rc = finish(im, w, origin_ns, err);
out:
	importer_fini(im);
	free(im);
	return rc;
}

/* Do the first lines have calls, and times as strace prints them? */
static bool strace_detect(const char *bytes, size_t n)
{
	const char *end = bytes + n;
	int calls = 0, lines = 0;

	for (const char *p = bytes; p < end && lines < LOOK_LINES;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		struct strace_line line;

		if (!newline && lines)
			break; /* cut by the end of the piece */
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
	.lacks = "calls of stdio and MPI, bytes touched through mappings, "
		 "spans, ranks",
	.detect = strace_detect,
	.load = strace_load,
};
