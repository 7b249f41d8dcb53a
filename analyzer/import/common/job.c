/* SPDX-License-Identifier: MIT */
/*
 * A job from its calls. The one thing to know: the resolver names a descriptor
 * by an id that is never used twice in a process, as our traces do; the tables
 * here map the numbers of the format to these ids.
 */
#include "analyzer/import/common/job.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/common/end_order.h"
#include "analyzer/import/common/fd_changes.h"
#include "analyzer/import/common/fd_entry.h"
#include "analyzer/resolve/resolve.h"

#define FD_MOST (1 << 20)     /* the kernel's default limit; more: damage */
#define COPIES_MOST (1 << 25) /* entries that forks copied: 512 MiB */
#define SHARERS_MOST 64	      /* of a table: each change is made in all */

struct job_process {
	struct fd_entry *fd;
	uint32_t fds, copied, next_desc;
	int parent, first_thread, sharer; /* next one with its table, or it */
	uint32_t threads_left;
	int64_t pid, fork_ns, start_ns, end_ns;
	uint64_t events;
	char *exe, *command;
	char *cwd, *start_cwd; /* NULL: not known */
	const char *ended;
	char *role;    /* NULL: by its parent */
	uint32_t host; /* index */
	int rank;
};

struct job_thread {
	int process;
	int64_t tid, start_ns, end_ns;
	uint64_t events;
	bool live;
};

struct import_job {
	struct reel_writer *writer;
	struct reel_resolver *resolver;
	struct job_process *process;
	struct job_thread *thread;
	uint32_t processes, process_room, threads, thread_room;
	struct reel_intmap by_tid; /* to index[] */
	int *latest; /* thread that has this tid, by index of by_tid */
	uint32_t latest_room;
	int64_t origin_ns, last_ns;
	struct end_order order;
	struct fd_changes changes;
	uint32_t copies;  /* entries of live processes that forks copied */
	uint32_t unnamed; /* pipes and sockets without a number */
	char **host;	  /* names; NULL: one without */
	uint32_t hosts, host_room, renames;
	struct reel_intmap opened; /* hashes of the paths of files */
};

/* --- the resolver's outputs --------------------------------------------- */

static int on_span(void *arg, const struct reel_span_event *sp,
		   struct reel_error *err)
{
	struct import_job *j = arg;

	return reel_writer_span(j->writer, sp, err);
}

static int on_open(void *arg, const struct reel_open_row *row,
		   struct reel_error *err)
{
	struct import_job *j = arg;

	return reel_writer_open(j->writer, row, err);
}

static int on_note(void *arg, uint32_t process, uint32_t thread,
		   const char *key, const char *value, struct reel_error *err)
{
	struct import_job *j = arg;

	return reel_writer_note(j->writer, process, thread, key, value, err);
}

int import_job_new(struct import_job **out, struct reel_writer *w,
		   int64_t origin_ns, struct reel_error *err)
{
	struct import_job *j = reel_alloc(1, sizeof(*j), err);
	const struct reel_resolve_sink sink = {
		.arg = j, .span = on_span, .open = on_open, .note = on_note};

	if (!j)
		return -1;
	j->writer = w;
	j->origin_ns = origin_ns;
	if (reel_resolver_new(&j->resolver, NULL, 0, NULL, 0, NULL, &sink,
			      err)) {
		free(j);
		return -1;
	}
	*out = j;
	return 0;
}

void import_job_free(struct import_job *j)
{
	if (!j)
		return;
	end_order_fini(&j->order);
	reel_resolver_free(j->resolver);
	for (uint32_t i = 0; i < j->processes; i++) {
		free(j->process[i].fd);
		free(j->process[i].exe);
		free(j->process[i].command);
		free(j->process[i].cwd);
		free(j->process[i].role);
		free(j->process[i].start_cwd);
	}
	for (uint32_t i = 0; i < j->hosts; i++)
		free(j->host[i]);
	free(j->host);
	free(j->process);
	free(j->thread);
	reel_intmap_fini(&j->by_tid);
	reel_intmap_fini(&j->opened);
	free(j->latest);
	free(j);
}

/* --- processes and threads ------------------------------------------------ */

/* Ends never go back: the metrics need events in their order. */
static int64_t job_ns(struct import_job *j, int64_t ns)
{
	if (__builtin_sub_overflow(ns, j->origin_ns, &ns) || ns < 0)
		ns = 0;
	if (ns > INT64_MAX / 8)
		ns = INT64_MAX / 8;
	return ns;
}

static void process_reach(struct import_job *j, int thread, int64_t ns)
{
	struct job_thread *t = &j->thread[thread];
	struct job_process *p = &j->process[t->process];

	if (ns > t->end_ns)
		t->end_ns = ns;
	if (ns > p->end_ns)
		p->end_ns = ns;
}

int import_job_thread(struct import_job *j, int process, int64_t tid,
		      int64_t ns, struct reel_error *err)
{
	struct reel_resolve_thread row = {j->threads + 1, process};
	uint32_t i = reel_intmap_get(&j->by_tid, (uint64_t)tid, err);

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&j->latest, &j->latest_room, i, sizeof(*j->latest),
			     err) ||
	    reel_array_reach(&j->thread, &j->thread_room, j->threads,
			     sizeof(*j->thread), err) ||
	    reel_resolver_add_thread(j->resolver, &row, err) ||
	    reel_writer_thread_begin(j->writer, j->threads + 1, err))
		return -1;
	ns = job_ns(j, ns);
	j->thread[j->threads] =
		(struct job_thread){process, tid, ns, ns, 0, true};
	j->process[process].threads_left++;
	j->latest[i] = (int)j->threads;
	return (int)j->threads++;
}

int import_job_process(struct import_job *j, int parent, int64_t pid,
		       int64_t ns, struct reel_error *err)
{
	struct reel_resolve_process row = {
		.process_id = j->processes + 1,
		.first_desc = 1,
		.parent = parent,
		.follows = -1,
		.marks_sizes = true,
	};
	struct job_process *p, *from;

	if (reel_array_reach(&j->process, &j->process_room, j->processes,
			     sizeof(*j->process), err))
		return -1;
	p = &j->process[j->processes];
	*p = (struct job_process){
		.next_desc = 1,
		.parent = parent,
		.sharer = (int)j->processes,
		.pid = pid,
		.fork_ns = parent < 0 ? REEL_NO_OFFSET : job_ns(j, ns),
		.start_ns = job_ns(j, ns),
		.end_ns = job_ns(j, ns),
		.ended = "unknown",
		.first_thread = -1,
		.rank = -1,
	};
	if (parent >= 0) {
		from = &j->process[parent];
		if (from->cwd &&
		    (!(p->cwd = reel_strdup(from->cwd, err)) ||
		     !(p->start_cwd = reel_strdup(from->cwd, err))))
			return -1;
		row.first_desc = p->next_desc = from->next_desc;
		if (from->fds > COPIES_MOST - j->copies)
			return reel_fail(err, REEL_E_FORMAT,
					 "process %lld: more descriptors than "
					 "a computer can have",
					 (long long)pid);
		p->copied = from->fds;
		j->copies += p->copied;
		if (from->fds) {
			p->fd = reel_alloc(from->fds, sizeof(*p->fd), err);
			if (!p->fd)
				return -1;
			memcpy(p->fd, from->fd, from->fds * sizeof(*p->fd));
			p->fds = from->fds;
		}
	}
	j->processes++;
	if (reel_resolver_add_process(j->resolver, &row, err) ||
	    reel_resolve_start(j->resolver, (int)j->processes - 1, err))
		return -1;
	j->process[j->processes - 1].first_thread = (int)j->threads;
	if (import_job_thread(j, (int)j->processes - 1, pid, ns, err) < 0)
		return -1;
	return (int)j->processes - 1;
}

int import_job_find_thread(const struct import_job *j, int64_t tid)
{
	uint32_t i = reel_intmap_find(&j->by_tid, (uint64_t)tid);

	return i != REEL_NO_INDEX && j->thread[j->latest[i]].live ? j->latest[i]
								  : -1;
}

int import_job_process_of(const struct import_job *j, int thread)
{
	return j->thread[thread].process;
}

int import_job_rename(struct import_job *j, int64_t tid, int64_t now,
		      struct reel_error *err)
{
	int thread = import_job_find_thread(j, tid);
	uint32_t i = reel_intmap_get(&j->by_tid, (uint64_t)now, err);

	if (thread < 0 || i == REEL_NO_INDEX ||
	    reel_array_reach(&j->latest, &j->latest_room, i, sizeof(*j->latest),
			     err))
		return -1;
	j->latest[i] = thread;
	j->thread[thread].tid = now;
	j->process[j->thread[thread].process].pid = now;
	return thread;
}

int import_job_thread_end(struct import_job *j, int thread, int64_t ns,
			  const char *ended, struct reel_error *err)
{
	struct job_thread *t = &j->thread[thread];
	struct job_process *p = &j->process[t->process];

	if (!t->live)
		return 0;
	t->live = false;
	process_reach(j, thread, job_ns(j, ns));
	if (reel_writer_thread_end(j->writer, (uint32_t)thread + 1, err) ||
	    reel_resolve_end_thread(j->resolver, thread, p->end_ns, err))
		return -1;
	if (--p->threads_left)
		return 0;
	import_job_unshare(j, thread);
	p->ended = ended;
	free(p->fd);
	p->fd = NULL;
	p->fds = 0;
	j->copies -= p->copied;
	return reel_resolve_end(j->resolver, t->process, err);
}

/* --- descriptors ---------------------------------------------------------- */

void import_job_share(struct import_job *j, int process)
{
	int parent = j->process[process].parent, n = 1, last = parent;

	while (j->process[last].sharer != parent && n++ < SHARERS_MOST)
		last = j->process[last].sharer;
	if (n > SHARERS_MOST)
		return;
	j->process[last].sharer = process;
	j->process[process].sharer = parent;
}

void import_job_unshare(struct import_job *j, int thread)
{
	int process = j->thread[thread].process, i = process;

	while (j->process[i].sharer != process)
		i = j->process[i].sharer;
	j->process[i].sharer = j->process[process].sharer;
	j->process[process].sharer = process;
}

/* @process changes numbers since @ns. Processes with its table lack the new ones. */
static void forget_fds(struct import_job *j, int process, int64_t from,
		       int64_t to, int64_t ns)
{
	struct job_process *p;
	int i = process;

	do {
		p = &j->process[i];
		for (int64_t fd = from < 0 ? 0 : from; fd <= to && fd < p->fds;
		     fd++) {
			fd_changes_add(&j->changes, i, fd, &p->fd[fd], ns);
			p->fd[fd] = (struct fd_entry){0};
		}
		i = p->sharer;
	} while (i != process);
}

/* The entry of @fd, made when it is new; NULL: no such number, or no memory. */
static struct fd_entry *entry_of(struct job_process *p, int64_t fd,
				 struct reel_error *err)
{
	if (fd < 0 || fd >= FD_MOST ||
	    reel_array_reach(&p->fd, &p->fds, (uint32_t)fd, sizeof(*p->fd),
			     err))
		return NULL;
	return &p->fd[fd];
}

/* A mark, a close on exec: records that are followed and not written. */
static int resolve_silently(struct import_job *j, int thread,
			    struct reel_record *rec, int64_t ns,
			    struct reel_error *err)
{
	struct reel_event ev;

	rec->count = 1;
	return reel_resolve(j->resolver, thread, rec, ns, ns, &ev, err) < 0 ? -1
									    : 0;
}

/* Descriptor @fd exists: announce it with a new id. */
static int announce(struct import_job *j, int thread,
		    const struct import_fd *fd, enum reel_kind kind, int64_t ns,
		    struct reel_error *err)
{
	struct job_process *p = &j->process[j->thread[thread].process];
	struct fd_entry *e = entry_of(p, fd->fd, err);
	struct reel_record rec = {
		.call = REEL_MARK_DESC,
		.newdesc = p->next_desc,
		.newfd = (int32_t)fd->fd,
		.has_arg = true,
		.arg = kind,
		.path = fd->path,
		.path_len = fd->path_len,
	};

	if (!e)
		return err->code ? -1 : 0;
	*e = (struct fd_entry){
		.desc = p->next_desc++,
		.message = fd_kind_is_message(kind),
		.guessed = true,
		.path_hash = fd_path_hash(fd->path, fd->path_len),
	};
	return resolve_silently(j, thread, &rec, ns, err);
}

/* Is the path of @e, an open descriptor, another one than @fd's? If its open was seen,
 * a new name can be that of a rename that was not, unless it is another file's. */
static bool is_other_path(const struct import_job *j, const struct fd_entry *e,
			  const struct import_fd *fd)
{
	uint32_t hash = e->path_hash ? fd_path_hash(fd->path, fd->path_len) : 0;

	return e->path_hash != hash &&
	       (e->guessed ||
		(e->renames == j->renames &&
		 reel_intmap_find(&j->opened, hash) != REEL_NO_INDEX));
}

/*
 * The id of @fd, or 0, for a call that @began then. One whose open was not seen is
 * announced when the format names its path, and again when the path is another.
 */
static int find_desc(struct import_job *j, int thread,
		     const struct import_fd *fd, int64_t began, int64_t ns,
		     uint32_t *desc, bool *silent, struct reel_error *err)
{
	int process = j->thread[thread].process;
	struct job_process *p = &j->process[process];
	const struct fd_entry *was;
	struct fd_entry *e;

	*desc = 0;
	if (fd->fd < 0)
		return 0;
	was = fd_changes_find(&j->changes, process, fd->fd, began);
	if (was) {
		if (silent)
			*silent = was->silent;
		*desc = was->desc;
		return 0;
	}
	e = entry_of(p, fd->fd, err);
	if (!e)
		return err->code ? -1 : 0;
	if (fd->path_len && fd_entry_is_reused(e, fd))
		*e = (struct fd_entry){.cloexec = e->cloexec};
	if (fd->path_len && !e->silent &&
	    (!e->desc || is_other_path(j, e, fd))) {
		enum reel_kind kind = fd_kind(fd);

		if (kind == REEL_KIND_OTHER)
			e->silent = true;
		else if (announce(j, thread, fd, kind, ns, err))
			return -1;
		e = &p->fd[fd->fd];
	}
	if (silent)
		*silent = e->silent;
	*desc = e->desc;
	return 0;
}

int import_job_made(struct import_job *j, int thread,
		    const struct import_fd *made, enum reel_kind kind,
		    bool cloexec, int64_t ns, struct reel_error *err)
{
	struct job_process *p = &j->process[j->thread[thread].process];
	struct fd_entry *e = entry_of(p, made->fd, err);
	struct import_fd named = *made;
	char name[64];

	if (!e)
		return err->code ? -1 : 0;
	forget_fds(j, j->thread[thread].process, made->fd, made->fd,
		   job_ns(j, ns));
	if (kind == REEL_KIND_OTHER) {
		*e = (struct fd_entry){.silent = true, .cloexec = cloexec};
		return 0;
	}
	if (!named.path || !named.path_len) {
		snprintf(name, sizeof(name), "%s:[#%u]",
			 kind == REEL_KIND_PIPE ? "pipe" : "socket",
			 ++j->unnamed);
		named.path = name;
		named.path_len = (uint32_t)strlen(name);
	}
	if (announce(j, thread, &named, kind, job_ns(j, ns), err))
		return -1;
	p->fd[made->fd].cloexec = cloexec;
	p->fd[made->fd].guessed = false;
	return 0;
}

void import_job_set_cloexec(struct import_job *j, int thread, int64_t fd,
			    bool cloexec)
{
	struct job_process *p = &j->process[j->thread[thread].process];

	if (fd >= 0 && fd < p->fds)
		p->fd[fd].cloexec = cloexec;
}

const char *import_job_command(const struct import_job *j)
{
	for (uint32_t i = 0; i < j->processes; i++)
		if (j->process[i].parent < 0 && j->process[i].command &&
		    *j->process[i].command)
			return j->process[i].command;
	return "";
}

int import_job_exec(struct import_job *j, int thread, const char *exe,
		    const char *command, int64_t ns, struct reel_error *err)
{
	struct job_process *p = &j->process[j->thread[thread].process];

	import_job_unshare(j, thread);
	for (uint32_t fd = 0; fd < p->fds; fd++) {
		struct reel_record rec = {.call = REEL_CALL_CLOSE,
					  .desc = p->fd[fd].desc};

		if (!p->fd[fd].cloexec)
			continue;
		p->fd[fd] = (struct fd_entry){0};
		if (rec.desc &&
		    resolve_silently(j, thread, &rec, job_ns(j, ns), err))
			return -1;
	}
	free(p->exe);
	free(p->command);
	p->exe = reel_strdup(exe, err);
	p->command = reel_strdup(command, err);
	return p->exe && p->command ? 0 : -1;
}

/* --- calls ---------------------------------------------------------------- */

/* Relative names are below @path from now on. */
static int set_cwd(struct import_job *j, int thread, const char *path,
		   uint32_t len, int64_t ns, struct reel_error *err)
{
	struct job_process *p = &j->process[j->thread[thread].process];
	struct reel_record rec = {
		.call = REEL_MARK_CWD, .path = path, .path_len = len};

	if (p->cwd && strlen(p->cwd) == len && !memcmp(p->cwd, path, len))
		return 0;
	free(p->cwd);
	p->cwd = reel_strdup(path, err);
	if (!p->start_cwd && len)
		p->start_cwd = reel_strdup(path, err);
	return p->cwd ? resolve_silently(j, thread, &rec, ns, err) : -1;
}

/* strace -y prints the working directory beside AT_FDCWD. */
static int set_cwd_of(struct import_job *j, int thread,
		      const struct import_fd *at, int64_t ns,
		      struct reel_error *err)
{
	return at->fd == AT_FDCWD && at->path_len
		       ? set_cwd(j, thread, at->path, at->path_len, ns, err)
		       : 0;
}

static int host_index(struct import_job *j, const char *name, uint32_t *index,
		      struct reel_error *err)
{
	for (*index = 0; *index < j->hosts; ++*index)
		if (!strcmp(j->host[*index], name))
			return 0;
	if (reel_array_reach(&j->host, &j->host_room, j->hosts,
			     sizeof(*j->host), err) ||
	    !(j->host[j->hosts] = reel_strdup(name, err)))
		return -1;
	j->hosts++;
	return 0;
}

static int replace_text(char **text, const char *with, struct reel_error *err)
{
	if (!with)
		return 0;
	free(*text);
	*text = reel_strdup(with, err);
	return *text ? 0 : -1;
}

int import_job_describe(struct import_job *j, int process,
			const struct import_process *is, struct reel_error *err)
{
	struct job_process *p = &j->process[process];

	p->rank = is->rank;
	if (replace_text(&p->role, is->role, err) ||
	    replace_text(&p->exe, is->exe, err) ||
	    replace_text(&p->command, is->command, err) ||
	    (is->host && host_index(j, is->host, &p->host, err)))
		return -1;
	return is->cwd ? set_cwd(j, p->first_thread, is->cwd,
				 (uint32_t)strlen(is->cwd), p->start_ns, err)
		       : 0;
}

/* chdir() to @file; a relative name means that the directory is not known. */
static int change_dir(struct import_job *j, int thread, uint32_t file,
		      int64_t ns, struct reel_error *err)
{
	struct reel_file_row row = {.path = ""};

	if (file)
		reel_resolve_file(j->resolver, file, &row);
	if (row.path[0] != '/')
		row = (struct reel_file_row){.path = ""};
	return set_cwd(j, thread, row.path, row.path_len, ns, err);
}

/* Ids of all descriptors that @call names. 1: its calls are no I/O. */
static int fill_descs(struct import_job *j, int thread,
		      struct import_call *call, int64_t began, int64_t ns,
		      struct reel_error *err)
{
	struct reel_record *rec = &call->rec;
	bool silent = false;

	if (find_desc(j, thread, &call->fd, began, ns, &rec->desc, &silent,
		      err) ||
	    find_desc(j, thread, &call->at, began, ns, &rec->at, NULL, err) ||
	    find_desc(j, thread, &call->at2, began, ns, &rec->at2, NULL, err) ||
	    set_cwd_of(j, thread, &call->at, ns, err) ||
	    set_cwd_of(j, thread, &call->at2, ns, err))
		return -1;
	/* the base descriptor is unknown, so the path is unknown, too */
	if (call->at.fd >= 0 && !rec->at)
		rec->path = NULL;
	if (call->at2.fd >= 0 && !rec->at2)
		rec->path2 = NULL;
	return silent;
}

/* The table after the call has made or closed descriptors. */
static int update_fds(struct import_job *j, int thread,
		      const struct import_call *call, int64_t began, int64_t ns,
		      struct reel_error *err)
{
	int process = j->thread[thread].process;
	struct job_process *p = &j->process[process];
	const struct reel_record *rec = &call->rec;
	const struct fd_entry *was =
		fd_changes_find(&j->changes, process, call->fd.fd, began);
	struct fd_entry *made, from = {0};
	bool is_used = call->fd.fd >= 0 && call->fd.fd < p->fds;

	if (is_used)
		from = was ? *was : p->fd[call->fd.fd];
	if (is_used && !was &&
	    (rec->call == REEL_CALL_CLOSE ||
	     rec->call == REEL_CALL_MPI_FILE_CLOSE))
		forget_fds(j, process, call->fd.fd, call->fd.fd, ns);
	if (rec->call == REEL_CALL_CLOSE_RANGE && !rec->err)
		forget_fds(j, process, rec->arg, rec->arg2, ns);
	j->renames += rec->path2 && !rec->err; /* or a link */
	if (call->made.fd < 0)
		return 0;
	made = entry_of(p, call->made.fd, err);
	if (!made)
		return err->code ? -1 : 0;
	forget_fds(j, process, call->made.fd, call->made.fd, ns);
	*made = (struct fd_entry){
		.desc = rec->newdesc,
		.cloexec = call->cloexec,
		.silent = from.silent,
		.message = from.message,
		.guessed = from.guessed,
		.path_hash = from.path_hash,
		.renames = j->renames,
	};
	if (!call->made.path_len)
		return 0;
	made->path_hash = fd_path_hash(call->made.path, call->made.path_len);
	(void)reel_intmap_get(&j->opened, made->path_hash, err);
	return err->code ? -1 : 0;
}

int import_job_call(struct import_job *j, int thread, struct import_call *call,
		    int64_t start_ns, int64_t end_ns, struct reel_error *err)
{
	struct job_thread *t = &j->thread[thread];
	struct job_process *p = &j->process[t->process];
	struct reel_record *rec = &call->rec;
	struct reel_event *ev = reel_writer_slot(j->writer);
	int64_t dur_ns = end_ns > start_ns ? end_ns - start_ns : 0, late_ns;
	int64_t began = call->exact ? job_ns(j, start_ns) : INT64_MAX;
	int64_t changed = job_ns(j, call->changed_ns > end_ns ? call->changed_ns
							      : end_ns);
	int silent, rc;

	/* The resolver sees ends in order; the event keeps its own. */
	end_ns = job_ns(j, end_ns);
	late_ns = end_ns < j->last_ns ? j->last_ns - end_ns : 0;
	end_ns += late_ns;
	j->last_ns = end_ns;
	start_ns = dur_ns < end_ns ? end_ns - dur_ns : 0;
	silent = fill_descs(j, thread, call, began, end_ns, err);
	if (silent < 0)
		return -1;
	if (call->made.fd >= 0 && call->made.fd < FD_MOST &&
	    (call->fd.fd < 0 || rec->desc)) {
		rec->newdesc = p->next_desc++;
		rec->newfd = call->handle ? -1 : (int32_t)call->made.fd;
	} else if (rec->err && !rec->desc && call->fd.fd >= 0 &&
		   !call->handle) {
		rec->newfd = (int32_t)call->fd.fd;
	}
	if (!rec->count)
		rec->count = 1;
	rc = reel_resolve(j->resolver, thread, rec, start_ns, end_ns, ev, err);
	if (rc < 0 || update_fds(j, thread, call, began, changed, err))
		return -1;
	if ((rec->call == REEL_CALL_CHDIR || rec->call == REEL_CALL_FCHDIR) &&
	    !rec->err && change_dir(j, thread, ev->file, end_ns, err))
		return -1;
	process_reach(j, thread, end_ns);
	call->is_event = rc && !silent;
	if (!call->is_event)
		return 0;
	if (ev->fd < 0 && call->fd.fd >= 0 && !call->handle)
		ev->fd = (int32_t)call->fd.fd;
	t->events++;
	p->events++;
	ev->start_ns = late_ns < ev->start_ns ? ev->start_ns - late_ns : 0;
	ev->dur_ns += call->more_ns;
	process_reach(j, thread, end_ns + call->more_ns);
	return end_order_add(&j->order, j->writer, ev, err);
}

/* --- the end -------------------------------------------------------------- */

static int put_process(struct import_job *j, uint32_t i, struct reel_error *err)
{
	const struct job_process *p = &j->process[i];

	return reel_writer_process(
		j->writer,
		&(struct reel_writer_process){
			.process_id = i + 1,
			.parent_id = (uint32_t)(p->parent + 1),
			.host_id = p->host + 1,
			.pid = p->pid,
			.rank = p->rank,
			.role = p->role		? p->role
				: p->parent < 0 ? "main"
						: "child",
			.exe = p->exe,
			.command = p->command,
			.cwd = p->start_cwd,
			.fork_ns = p->fork_ns,
			.start_ns = p->start_ns,
			.end_ns = p->end_ns,
			.ended = p->ended,
			.events = p->events,
		},
		err);
}

static int put_rows(struct import_job *j, struct reel_error *err)
{
	struct reel_file_row row;

	if (!j->hosts && reel_writer_host(j->writer, 1, "", "", err))
		return -1;
	for (uint32_t i = 0; i < j->hosts; i++)
		if (reel_writer_host(j->writer, i + 1, j->host[i], "", err))
			return -1;
	for (uint32_t i = 0; i < j->processes; i++)
		if (put_process(j, i, err))
			return -1;
	for (uint32_t i = 0; i < j->threads; i++) {
		const struct job_thread *t = &j->thread[i];

		if (reel_writer_thread(
			    j->writer,
			    &(struct reel_writer_thread){
				    .thread_id = i + 1,
				    .process_id = (uint32_t)t->process + 1,
				    .tid = t->tid,
				    .start_ns = t->start_ns,
				    .end_ns = t->end_ns,
				    .events = t->events,
			    },
			    err))
			return -1;
	}
	for (uint32_t id = 1; id <= reel_resolve_files(j->resolver); id++) {
		reel_resolve_file(j->resolver, id, &row);
		if (reel_writer_file(j->writer, &row, err))
			return -1;
	}
	return 0;
}

int import_job_finish(struct import_job *j, struct reel_writer_run *run,
		      struct reel_error *err)
{
	for (uint32_t i = 0; i < j->threads; i++)
		if (import_job_thread_end(j, (int)i, j->last_ns + j->origin_ns,
					  "unknown", err))
			return -1;
	if (end_order_flush(&j->order, j->writer, err) ||
	    reel_writer_settle(j->writer, err) || put_rows(j, err))
		return -1;
	if (!run->cwd && j->processes)
		run->cwd = j->process[0].start_cwd;
	return reel_writer_finish(j->writer, run, err);
}
