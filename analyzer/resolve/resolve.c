/* SPDX-License-Identifier: MIT */
/*
 * The resolver's state: processes and threads begin and end. event.c makes an event
 * of each record.
 */
#include "analyzer/resolve/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/resolve/internal.h"

/* Index of the image whose descriptors @p has, or -1; @index is its own. */
static int origin_of(const struct process *p, int index)
{
	int from = p->is.parent >= 0 ? p->is.parent : p->is.follows;

	return from != index ? from : -1;
}

int reel_resolver_new(struct reel_resolver **out,
		      const struct reel_resolve_process *process, int processes,
		      const struct reel_resolve_thread *thread, int threads,
		      const char *path_root,
		      const struct reel_resolve_sink *sink,
		      struct reel_error *err)
{
	struct reel_resolver *r = reel_alloc(1, sizeof(*r), err);
	int rc = -1;

	if (!r)
		return -1;
	r->sink = *sink;
	r->process =
		reel_alloc((size_t)processes + 1, sizeof(*r->process), err);
	r->thread = reel_alloc((size_t)threads + 1, sizeof(*r->thread), err);
	r->with_cwd =
		reel_alloc((size_t)processes + 1, sizeof(*r->with_cwd), err);
	if (!r->process || !r->thread || !r->with_cwd ||
	    files_init(&r->files, err))
		goto out;
	r->processes = r->running = processes;
	r->process_room = r->with_cwd_room = (uint32_t)processes + 1;
	r->threads = threads;
	r->thread_room = (uint32_t)threads + 1;
	for (int i = 0; i < processes; i++)
		r->process[i].is = process[i];
	for (int i = 0; i < processes; i++)
		if (origin_of(&r->process[i], i) >= 0)
			r->process[origin_of(&r->process[i], i)].children++;
	for (int i = 0; i < threads; i++)
		r->thread[i].is = thread[i];
	if (path_root && path_root[0] == '/') {
		r->root = reel_strdup(path_root, err);
		if (!r->root)
			goto out;
		r->root_len = strlen(r->root);
		while (r->root_len && r->root[r->root_len - 1] == '/')
			r->root_len--;
	}
	*out = r;
	r = NULL;
	rc = 0;
out:
	reel_resolver_free(r);
	return rc;
}

int reel_resolver_add_process(struct reel_resolver *r,
			      const struct reel_resolve_process *process,
			      struct reel_error *err)
{
	int n = r->processes, from;

	if (reel_array_reach(&r->process, &r->process_room, (uint32_t)n,
			     sizeof(*r->process), err) ||
	    reel_array_reach(&r->with_cwd, &r->with_cwd_room, (uint32_t)n,
			     sizeof(*r->with_cwd), err))
		return -1;
	r->process[n].is = *process;
	from = origin_of(&r->process[n], n);
	if (from >= 0)
		r->process[from].children++;
	r->processes++;
	r->running++;
	return 0;
}

int reel_resolver_add_thread(struct reel_resolver *r,
			     const struct reel_resolve_thread *thread,
			     struct reel_error *err)
{
	if (reel_array_reach(&r->thread, &r->thread_room, (uint32_t)r->threads,
			     sizeof(*r->thread), err))
		return -1;
	r->thread[r->threads++].is = *thread;
	return 0;
}

static int no_row(void *arg, const struct reel_open_row *row,
		  struct reel_error *err)
{
	return 0;
}

void reel_resolver_free(struct reel_resolver *r)
{
	if (!r)
		return;
	r->sink.open = no_row;
	for (int i = 0; i < r->processes; i++) {
		inherited_fini(r, &r->process[i].inherited, NULL);
		descs_fini(r, &r->process[i].descs, NULL);
		free(r->process[i].cwd);
	}
	inherited_fini(r, &r->initial_fds, NULL);
	for (int i = 0; i < r->threads; i++)
		spans_fini(&r->thread[i].spans);
	files_fini(&r->files);
	sites_fini(&r->sites);
	free(r->ofds.ofd);
	free(r->process);
	free(r->with_cwd);
	free(r->thread);
	free(r->root);
	free(r);
}

static void forget_cwd(struct reel_resolver *r, struct process *p)
{
	int last;

	if (!p->cwd)
		return;
	free(p->cwd);
	p->cwd = NULL;
	last = r->with_cwd[--r->with_cwds];
	r->with_cwd[p->with_cwd] = last;
	r->process[last].with_cwd = p->with_cwd;
}

int resolve_set_cwd(struct reel_resolver *r, struct process *p,
		    const char *path, size_t len, struct reel_error *err)
{
	char *cwd = NULL;

	if (len && path[0] != '/')
		return 0;
	if (len) /* else it is not known: names stay relative */
		cwd = reel_strdup(path, err);
	if (len && !cwd)
		return -1;
	forget_cwd(r, p);
	p->cwd_len = len;
	if (!cwd)
		return 0;
	p->cwd = cwd;
	p->with_cwd = r->with_cwds++;
	r->with_cwd[p->with_cwd] = (int)(p - r->process);
	files_note_used_dir(&r->files, cwd, len);
	return 0;
}

/* Free the descriptors of @p once it and its children cannot use them. */
static int forget_process(struct reel_resolver *r, struct process *p,
			  struct reel_error *err)
{
	if (!p->ended || p->children > 0)
		return 0;
	forget_cwd(r, p);
	return inherited_fini(r, &p->inherited, err) ||
			       descs_fini(r, &p->descs, err)
		       ? -1
		       : 0;
}

int reel_resolve_start(struct reel_resolver *r, int process,
		       struct reel_error *err)
{
	struct process *p = &r->process[process], *from = NULL;
	const char *cwd = p->is.cwd;
	bool forked = p->is.parent >= 0;

	if (p->started)
		return 0;
	p->started = true;
	if (origin_of(p, process) >= 0)
		from = &r->process[origin_of(p, process)];
	if (from) {
		if ((forked && descs_inherit(r, &p->descs, &from->descs,
					     p->is.first_desc, err)) ||
		    inherited_take(r, p, from, !forked, err))
			return -1;
		if (!cwd && forked)
			cwd = from->cwd;
	}
	if (cwd && resolve_set_cwd(r, p, cwd, strlen(cwd), err))
		return -1;
	if (!from)
		return 0;
	from->children--;
	return forget_process(r, from, err);
}

int reel_resolve_end(struct reel_resolver *r, int process,
		     struct reel_error *err)
{
	struct process *p = &r->process[process];

	if (!p->ended && !--r->running) {
		files_find_dirs(&r->files);
		if (inherited_fini(r, &r->initial_fds, err))
			return -1;
	}
	p->ended = true;
	return forget_process(r, p, err);
}

int reel_resolve_end_thread(struct reel_resolver *r, int thread, int64_t end_ns,
			    struct reel_error *err)
{
	return spans_end_all(r, &r->thread[thread].spans, thread, end_ns, err);
}

uint32_t reel_resolve_files(const struct reel_resolver *r)
{
	return r->files.n;
}

#define PROBE_BYTES 4

/* A few bytes that are written and removed try if a folder can be written, as
 * Python's tempfile does in each process: no data of the job. */
static bool is_probe(const struct file *f)
{
	return f->class_ == REEL_CLASS_DATA && f->written && f->removed &&
	       f->size_max >= 0 && f->size_max <= PROBE_BYTES;
}

void reel_resolve_file(const struct reel_resolver *r, uint32_t id,
		       struct reel_file_row *row)
{
	const struct file *f = &r->files.file[id];

	*row = (struct reel_file_row){
		.file_id = id,
		.path = files_path(&r->files, id),
		.path_len = f->path_len,
		.kind = (enum reel_kind)f->kind,
		.class_ = is_probe(f) ? REEL_CLASS_SYSTEM
				      : (enum reel_class)f->class_,
		.size_bytes = f->size_max,
	};
}
