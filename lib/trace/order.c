/* SPDX-License-Identifier: MIT */
/*
 * Build processes, threads and the order of blocks from the index.
 *
 * A process image may be indexed twice, in its log and in its window, and so
 * may a block: the longer copy counts. A block that was cut short in the log is
 * no damage when the window holds it whole.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/num.h"
#include "lib/trace/internal.h"

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_uid(const void *va, const void *vb)
{
	const struct trace_image *a = *(struct trace_image *const *)va;
	const struct trace_image *b = *(struct trace_image *const *)vb;
	int d = ORDER(a->pub.head.uid, b->pub.head.uid);

	d = d ? d : ORDER(a->pub.head.pid, b->pub.head.pid);
	/* The head in the window is newer than the one in the log. */
	d = d ? d : ORDER(b->pub.window, a->pub.window);
	return d ? d : ORDER(a, b);
}

static int by_start(const void *va, const void *vb)
{
	const struct trace_image *a = *(struct trace_image *const *)va;
	const struct trace_image *b = *(struct trace_image *const *)vb;
	int d = ORDER(a->pub.head.start_real_ns, b->pub.head.start_real_ns);

	d = d ? d : ORDER(a->pub.head.pid, b->pub.head.pid);
	return d ? d : ORDER(a->pub.head.uid, b->pub.head.uid);
}

static int by_thread(const void *va, const void *vb)
{
	const struct trace_block *a = va, *b = vb;
	int d = ORDER(a->process, b->process);

	return d ? d : ORDER(a->tid, b->tid);
}

/* A thread's blocks; among copies of a block, the longest first. */
static int by_seq(const void *va, const void *vb)
{
	const struct trace_block *a = va, *b = vb;
	int d = by_thread(va, vb);

	d = d ? d : ORDER(a->seq, b->seq);
	d = d ? d : ORDER(a->base_ticks, b->base_ticks);
	d = d ? d : ORDER(b->used, a->used);
	d = d ? d : ORDER(a->file, b->file);
	return d ? d : ORDER(a->at, b->at);
}

static int by_base(const void *va, const void *vb)
{
	const struct trace_block *a = va, *b = vb;
	int d = ORDER(a->base_ticks, b->base_ticks);

	return d ? d : ORDER(a->seq, b->seq);
}

static int by_first(const void *va, const void *vb)
{
	const struct trace_thread *a = va, *b = vb;
	int d = ORDER(a->pub.process, b->pub.process);

	d = d ? d : ORDER(a->pub.first_ticks, b->pub.first_ticks);
	return d ? d : ORDER(a->pub.tid, b->pub.tid);
}

static void free_image(struct trace_image *im)
{
	free(im->text);
	free(im->text_bytes);
}

/* @im is a second image of the process @to: copy missing data to @to. */
static void merge_image(struct trace_image *to, struct trace_image *im)
{
	if (to->pub.texts < im->pub.texts) {
		struct trace_image t = *to;

		to->text = im->text;
		to->text_bytes = im->text_bytes;
		to->pub.text = im->pub.text;
		to->pub.texts = im->pub.texts;
		im->text = t.text;
		im->text_bytes = t.text_bytes;
	}
	if (!to->pub.head.end_ticks) {
		to->pub.head.end_ticks = im->pub.head.end_ticks;
		to->pub.head.end_mono_ns = im->pub.head.end_mono_ns;
	}
}

/*
 * Merge the images with one uid and pid, and sort by start. @map gets the new
 * index of each old one.
 */
static int order_images(struct reel_trace *tr, uint32_t *map,
			struct reel_error *err)
{
	struct trace_image **ptr = reel_alloc(tr->images, sizeof(*ptr), err);
	struct trace_image *to, *sorted = NULL;
	uint32_t *head = reel_alloc(tr->images, sizeof(*head), err);
	uint32_t n = 0;
	int rc = -1;

	if (!ptr || !head)
		goto out;
	sorted = reel_alloc(tr->images, sizeof(*sorted), err);
	if (!sorted)
		goto out;
	for (uint32_t i = 0; i < tr->images; i++)
		ptr[i] = &tr->image[i];
	qsort(ptr, tr->images, sizeof(*ptr), by_uid);
	for (uint32_t i = 0; i < tr->images; i++) {
		to = n ? ptr[n - 1] : NULL;
		if (to && to->pub.head.uid == ptr[i]->pub.head.uid &&
		    to->pub.head.pid == ptr[i]->pub.head.pid) {
			merge_image(to, ptr[i]);
			free_image(ptr[i]);
		} else {
			ptr[n++] = to = ptr[i];
		}
		head[ptr[i] - tr->image] = (uint32_t)(to - tr->image);
	}
	qsort(ptr, n, sizeof(*ptr), by_start);
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = *ptr[i];
		map[ptr[i] - tr->image] = i;
	}
	for (uint32_t i = 0; i < tr->images; i++)
		map[i] = map[head[i]];
	free(tr->image);
	tr->image = sorted;
	tr->images = tr->image_room = n;
	sorted = NULL;
	rc = 0;
out:
	free(ptr);
	free(head);
	free(sorted);
	return rc;
}

static bool same_block(const struct trace_block *a, const struct trace_block *b)
{
	return by_thread(a, b) == 0 && a->seq == b->seq &&
	       a->base_ticks == b->base_ticks;
}

static void report_cut_block(struct reel_trace *tr, const struct trace_block *b)
{
	char at[REEL_NUM], wanted[REEL_NUM], found[REEL_NUM];

	trace_damage_cut(tr, b->wanted - b->used,
			 "'%s': block %u at byte %s is cut short (wanted %s, "
			 "found %s)",
			 tr->file[b->file].path, b->number,
			 reel_num_count(at, b->at),
			 reel_num_count(wanted, b->wanted),
			 reel_num_count(found, b->used));
}

static void order_blocks(struct reel_trace *tr)
{
	uint32_t n = 0;

	if (tr->blocks)
		qsort(tr->block, tr->blocks, sizeof(*tr->block), by_seq);
	for (uint32_t i = 0; i < tr->blocks; i++) {
		struct trace_block *b = &tr->block[i];

		if (n && same_block(&tr->block[n - 1], b))
			continue;
		if (b->used < b->wanted)
			report_cut_block(tr, b);
		tr->block[n++] = *b;
	}
	tr->blocks = n;
}

/*
 * Order the @n blocks of one thread: by sequence number, or by time if a number
 * repeats. A thread id that is reused in a process counts from 0 again.
 */
static void order_thread(struct reel_trace *tr, struct trace_thread *t,
			 struct trace_block *b, uint32_t n)
{
	uint64_t gaps = 0, want = 0;

	for (uint32_t i = 1; i < n; i++)
		if (b[i].seq == b[i - 1].seq) {
			qsort(b, n, sizeof(*b), by_base);
			break;
		}
	t->pub.process = (int)b->process;
	t->pub.tid = b->tid;
	t->pub.blocks = n;
	t->pub.first_ticks = b->base_ticks;
	t->first_block = (uint32_t)(b - tr->block);
	for (uint32_t i = 0; i < n; i++) {
		t->pub.bytes += b[i].used;
		t->pub.lost += b[i].lost;
		if (b[i].seq >= want)
			gaps += b[i].seq - want;
		else if (b[i].slot != b[i - 1].slot)
			gaps += b[i].seq;
		want = (uint64_t)b[i].seq + 1;
		if (tr->image[b->process].last_ticks < b[i].base_ticks)
			tr->image[b->process].last_ticks = b[i].base_ticks;
	}
	gaps += tr->damage.seq_gaps;
	tr->damage.seq_gaps = gaps > UINT32_MAX ? UINT32_MAX : (uint32_t)gaps;
}

static int make_threads(struct reel_trace *tr, struct reel_error *err)
{
	uint32_t first, i, n = 0;

	for (i = 0; i < tr->blocks; i++)
		n += !i || by_thread(&tr->block[i - 1], &tr->block[i]) != 0;
	tr->thread = reel_alloc(n ? n : 1, sizeof(*tr->thread), err);
	if (!tr->thread)
		return -1;
	for (first = 0; first < tr->blocks; first = i) {
		struct trace_block *b = &tr->block[first];

		for (i = first + 1; i < tr->blocks; i++)
			if (by_thread(b, &tr->block[i]) != 0)
				break;
		order_thread(tr, &tr->thread[tr->threads++], b, i - first);
	}
	if (n)
		qsort(tr->thread, n, sizeof(*tr->thread), by_first);
	for (i = n; i-- > 0;) {
		struct reel_trace_process *p =
			&tr->image[tr->thread[i].pub.process].pub;

		p->first_thread = (int)i;
		p->threads++;
	}
	return 0;
}

/* The index of the process with @uid, or -1. */
static int find_uid(struct trace_image *const *ptr, uint32_t n, uint64_t uid,
		    const struct trace_image *base)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (ptr[mid]->pub.head.uid < uid)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n || ptr[lo]->pub.head.uid != uid)
		return -1;
	return (int)(ptr[lo] - base);
}

/*
 * A made-up trace may hold a process that is its own ancestor. Walks up the
 * tree would never end: such a process gets no parent.
 */
static int break_cycles(struct reel_trace *tr, struct reel_error *err)
{
	uint32_t *seen = reel_alloc(tr->images, sizeof(*seen), err);
	int i, next;

	if (!seen)
		return -1;
	for (uint32_t start = 0; start < tr->images; start++) {
		for (i = (int)start; !seen[i]; i = next) {
			seen[i] = start + 1;
			next = tr->image[i].pub.parent;
			if (next < 0)
				break;
			if (seen[next] == start + 1) {
				tr->image[i].pub.parent = -1;
				break;
			}
		}
	}
	free(seen);
	return 0;
}

static int find_parents(struct reel_trace *tr, struct reel_error *err)
{
	struct trace_image **ptr = reel_alloc(tr->images, sizeof(*ptr), err);

	if (!ptr)
		return -1;
	for (uint32_t i = 0; i < tr->images; i++)
		ptr[i] = &tr->image[i];
	qsort(ptr, tr->images, sizeof(*ptr), by_uid);
	for (uint32_t i = 0; i < tr->images; i++) {
		struct reel_trace_process *p = &tr->image[i].pub;

		if (p->head.parent_uid)
			p->parent = find_uid(ptr, tr->images,
					     p->head.parent_uid, tr->image);
	}
	free(ptr);
	return break_cycles(tr, err);
}

int trace_order(struct reel_trace *tr, struct reel_error *err)
{
	uint32_t *map;

	if (!tr->images)
		return make_threads(tr, err);
	map = reel_alloc(tr->images, sizeof(*map), err);
	if (!map)
		return -1;
	if (order_images(tr, map, err) < 0) {
		free(map);
		return -1;
	}
	for (uint32_t i = 0; i < tr->blocks; i++)
		tr->block[i].process = map[tr->block[i].process];
	for (uint32_t i = 0; i < tr->pairs; i++)
		tr->pair[i].image = map[tr->pair[i].image];
	free(map);
	order_blocks(tr);
	if (make_threads(tr, err) < 0)
		return -1;
	return find_parents(tr, err);
}
