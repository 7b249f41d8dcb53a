/* SPDX-License-Identifier: MIT */
/*
 * The plan that load makes before it reads a record: processes and threads in
 * the order of their start, parents, and time 0.
 *
 * Ids are positions in these orders, so the same trace gives the same store
 * whatever the order of its files in the directory.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/load/internal.h"
#include "analyzer/load/launcher.h"

/* Records of each thread that are read to find time 0. */
#define LOOK_AHEAD 64
/* The head of an image is written during its first call. */
#define HEAD_LATE_NS 1000000000

static uint32_t host_of(struct load *l, int process)
{
	const struct reel_trace_process *p = reel_trace_process(l->tr, process);
	const struct reel_head *like =
		&reel_trace_process(l->tr,
				    reel_trace_clock_process(l->tr, process))
			 ->head;
	const char *name = reel_trace_text(p, "host");
	struct load_host *h;
	char boot[sizeof(h->boot_id)];

	memcpy(boot, p->head.boot_id, sizeof(boot));
	boot[sizeof(boot) - 1] = '\0';
	for (int i = 0; i < l->hosts; i++)
		if (!strcmp(l->host[i].boot_id, boot))
			return (uint32_t)i + 1;
	h = &l->host[l->hosts++];
	memcpy(h->boot_id, boot, sizeof(boot));
	strncpy(h->name, name ? name : "", sizeof(h->name) - 1);
	/* hosts share CLOCK_REALTIME, as well as they keep it */
	h->boot_real_ns = (int64_t)(like->start_real_ns - like->start_mono_ns);
	if (__builtin_sub_overflow(h->boot_real_ns, l->host[0].boot_real_ns,
				   &h->shift_ns))
		h->shift_ns = 0; /* damage */
	h->shift_ns = load_clamp(h->shift_ns);
	return (uint32_t)l->hosts;
}

static int by_start(const void *a, const void *b)
{
	const struct load_process *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->trace_index < y->trace_index
		       ? -1
		       : x->trace_index > y->trace_index;
}

static int by_process(const void *a, const void *b)
{
	const struct load_thread *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->trace_index < y->trace_index
		       ? -1
		       : x->trace_index > y->trace_index;
}

static int parent_of(const struct load *l, int i)
{
	int parent = reel_trace_process(l->tr, i)->parent;

	return parent < l->processes ? parent : -1;
}

/*
 * A parent that forks before its own first I/O has a log that begins later: set
 * its begin before that of its children. Children are visited before parents.
 */
static int begin_parents_first(struct load *l, struct reel_error *err)
{
	int *children =
		reel_alloc((size_t)l->processes + 1, sizeof(*children), err);

	if (!children)
		return -1;
	for (int i = 0; i < l->processes; i++)
		if (parent_of(l, i) >= 0)
			children[parent_of(l, i)]++;
	for (int i = 0; i < l->processes; i++) {
		int child = i, parent;

		while (!children[child]) {
			children[child] = -1;
			parent = parent_of(l, child);
			if (parent < 0)
				break;
			if (l->process[parent].begin_ns >=
			    l->process[child].begin_ns)
				l->process[parent].begin_ns =
					l->process[child].begin_ns - 1;
			children[parent]--;
			child = parent;
		}
	}
	free(children);
	return 0;
}

static int plan_processes(struct load *l, struct reel_error *err)
{
	l->processes = reel_trace_processes(l->tr);
	l->process =
		reel_alloc((size_t)l->processes + 1, sizeof(*l->process), err);
	l->index_of_process =
		reel_alloc((size_t)l->processes + 1, sizeof(int), err);
	l->host = reel_alloc((size_t)l->processes + 1, sizeof(*l->host), err);
	if (!l->process || !l->index_of_process || !l->host)
		return -1;
	for (int i = 0; i < l->processes; i++) {
		struct load_process *p = &l->process[i];

		*p = (struct load_process){.trace_index = i,
					   .parent = -1,
					   .inherits_fds_from = -1,
					   .follows = -1,
					   .fork_ns = REEL_NO_OFFSET,
					   .rank = -1};
		p->host_id = host_of(l, i);
	}
	for (int i = 0; i < l->processes; i++) {
		struct load_process *p = &l->process[i];
		const struct reel_head *h = &reel_trace_process(l->tr, i)->head;
		uint64_t at = h->fork_ticks && h->fork_ticks < h->start_ticks
				      ? h->fork_ticks
				      : h->start_ticks;

		p->begin_ns = load_ns(l, p, at);
		if (h->fork_ticks)
			p->fork_ns = load_ns(l, p, h->fork_ticks);
	}
	if (begin_parents_first(l, err))
		return -1;
	qsort(l->process, (size_t)l->processes, sizeof(*l->process), by_start);
	for (int i = 0; i < l->processes; i++)
		l->index_of_process[l->process[i].trace_index] = i;
	return 0;
}

struct image {
	uint32_t host_id, pid;
	int index;
};

static int by_pid(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	if (x->host_id != y->host_id)
		return x->host_id < y->host_id ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The last image of @pid that began before index @before, or -1. */
static int image_before(const struct image *im, int n, uint32_t host_id,
			uint32_t pid, int before)
{
	struct image key = {host_id, pid, before};
	int lo = 0, hi = n;

	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;

		if (by_pid(&im[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || im[lo - 1].host_id != host_id || im[lo - 1].pid != pid)
		return -1;
	return im[lo - 1].index;
}

/*
 * The parent of an image: the image that forked it, if that was traced; else
 * the parent of the image that it replaced by exec; else the image with the pid
 * of its parent (spawned without a traced fork).
 */
static int plan_parents(struct load *l, struct reel_error *err)
{
	struct image *im =
		reel_alloc((size_t)l->processes + 1, sizeof(*im), err);

	if (!im)
		return -1;
	for (int i = 0; i < l->processes; i++) {
		const struct reel_trace_process *tp =
			reel_trace_process(l->tr, l->process[i].trace_index);

		im[i] = (struct image){l->process[i].host_id, tp->head.pid, i};
	}
	qsort(im, (size_t)l->processes, sizeof(*im), by_pid);
	for (int i = 0; i < l->processes; i++) {
		struct load_process *p = &l->process[i];
		const struct reel_trace_process *tp =
			reel_trace_process(l->tr, p->trace_index);
		int was;

		if (tp->parent >= 0 && tp->parent < l->processes) {
			int index = l->index_of_process[tp->parent];

			/* a parent that began later is damage */
			if (index < i)
				p->parent = p->inherits_fds_from = index;
			continue;
		}
		was = image_before(im, l->processes, p->host_id, tp->head.pid,
				   i);
		if (was >= 0)
			p->parent = l->process[was].parent >= 0
					    ? l->process[was].parent
					    : was;
		else
			p->parent = image_before(im, l->processes, p->host_id,
						 tp->head.ppid, i);
		p->follows = was >= 0 ? was : p->parent;
	}
	for (int i = 0; i < l->processes; i++) {
		struct load_process *p = &l->process[i];
		uint32_t rank = reel_trace_process(l->tr, p->trace_index)
					->head.mpi_rank;

		if (rank)
			p->rank = (int)(rank - 1);
		else if (p->parent >= 0)
			p->rank = l->process[p->parent].rank;
	}
	free(im);
	return 0;
}

static int plan_threads(struct load *l, struct reel_error *err)
{
	l->threads = reel_trace_threads(l->tr);
	l->thread = reel_alloc((size_t)l->threads + 1, sizeof(*l->thread), err);
	if (!l->thread)
		return -1;
	for (int i = 0; i < l->threads; i++) {
		const struct reel_trace_thread *tt =
			reel_trace_thread(l->tr, i);
		struct load_thread *t = &l->thread[i];
		const struct load_process *p;

		t->trace_index = i;
		t->process = l->index_of_process[tt->process];
		p = &l->process[t->process];
		t->begin_ns = load_ns(l, p, tt->first_ticks);
		if (t->begin_ns < p->begin_ns)
			t->begin_ns = p->begin_ns;
		t->start_ns = REEL_NO_OFFSET;
	}
	qsort(l->thread, (size_t)l->threads, sizeof(*l->thread), by_process);
	for (int i = 0; i < l->threads; i++) {
		struct load_process *p = &l->process[l->thread[i].process];

		if (!p->threads++)
			p->first_thread = i;
		p->threads_left++;
	}
	return 0;
}

static bool counts_for_origin(const struct reel_record *rec)
{
	const struct reel_call_info *info = reel_call_info(rec->call);

	return !info || info->group != REEL_GROUP_MARK ||
	       rec->call == REEL_MARK_SPAN_BEGIN;
}

/* The earliest start in the first records of thread @t, if below *zero. */
static int find_earliest(struct load *l, const struct load_thread *t,
			 int64_t *zero, struct reel_error *err)
{
	const struct load_process *p = &l->process[t->process];
	struct reel_stream *s = NULL;
	struct reel_record rec;
	int rc = -1, got, seen = 0;

	if (reel_stream_open(&s, l->tr, t->trace_index, err))
		return -1;
	while (seen < LOOK_AHEAD && (got = reel_stream_next(s, &rec, err))) {
		uint64_t ticks = rec.end_ticks;
		int64_t ns;

		if (got < 0)
			goto out;
		if (!counts_for_origin(&rec))
			continue;
		seen++;
		if (!rec.counted) /* its dur is a sum */
			ticks = rec.dur_ticks < ticks ? ticks - rec.dur_ticks
						      : 0;
		ns = load_ns(l, p, ticks);
		if (ns < *zero)
			*zero = ns;
	}
	rc = 0;
out:
	reel_stream_close(s);
	return rc;
}

/*
 * Time 0 is the start of the first event or span. Records come in the order of
 * their end, so the first few of each thread are looked at; threads of images
 * that began after the best found cannot have an earlier one.
 */
static int plan_origin(struct load *l, struct reel_error *err)
{
	int64_t zero = INT64_MAX;

	for (int i = 0; i < l->threads; i++) {
		const struct load_process *p =
			&l->process[l->thread[i].process];

		if (p->begin_ns - HEAD_LATE_NS >= zero)
			break;
		if (find_earliest(l, &l->thread[i], &zero, err))
			return -1;
	}
	if (zero == INT64_MAX)
		zero = l->processes ? l->process[0].begin_ns : 0;
	l->origin_ns = zero;
	return 0;
}

static int plan_launchers(struct load *l, struct reel_error *err)
{
	const char **name = reel_launchers(l->tr, err);

	for (int i = 0; name && i < l->processes; i++)
		l->process[i].launcher = name[l->process[i].trace_index];
	free(name);
	return name ? 0 : -1;
}

int load_plan(struct load *l, struct reel_error *err)
{
	if (plan_processes(l, err) || plan_parents(l, err) ||
	    plan_threads(l, err) || plan_launchers(l, err))
		return -1;
	return plan_origin(l, err);
}
