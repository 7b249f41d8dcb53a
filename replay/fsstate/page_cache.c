/* SPDX-License-Identifier: MIT */
/*
 * Which files came from the storage: those whose first reads had to fetch
 * nearly all of it, as the trace says (trace_format.h, FETCHED). Where that is
 * not known (an older trace, a file system that Linux does not count for), by
 * what these reads took: a copy from the page cache runs at some gigabytes a
 * second, even into memory that has to be made first; the fastest storage
 * answers after tens of microseconds. The time alone would take for cold what a
 * busy processor held up, or a virtual machine's host that has taken the memory
 * away.
 *
 * Whatever else was fetched had been in the cache before, or parts of its file
 * still were: it is taken out just before the read that found it missing. What a
 * read fetches beyond its own bytes are those that follow, which the next reads
 * of a sequence find there. All that a sequence fetches goes at once: the cache
 * keeps what was written together in large pieces, which go as a whole.
 */
#include "replay/fsstate/page_cache.h"

#include <stdlib.h>

#include "schemas/trace_format.h"

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/model/annotations.h"
#include "replay/model/recorded_job.h"

#define FIRST_READS 64
#define COLD_NS 20000	      /* what no call on cached data needs */
#define CALL_NS 1000	      /* what each may need */
#define CACHED_BYTES_PER_NS 2 /* slower than any cache */
#define PAGE_BYTES 4096
#define MOST_FETCHED (INT64_C(1) << 30) /* by one read */

struct file_reads {
	/* Of the first ones: */
	int64_t bytes, ns, fetched;
	int64_t reach; /* behind it nothing has been read */
	uint32_t calls;
	bool written; /* before it was read: it is in the cache */
	/* Of all of them: */
	int64_t end;	    /* behind it nothing has been read or written */
	int64_t fetch;	    /* where the last read began that fetched */
	size_t mark;	    /* 1 + that of its sequence, 0: none */
	uint32_t bytes_now; /* that one fetches */
	bool again_now;
	uint32_t piece[2]; /* the least of those before; [1]: again */
};

int residency_init(struct residency *r, const struct job *job,
		   struct annotations *marks, struct reel_error *err)
{
	r->job = job;
	r->marks = marks;
	r->file = reel_alloc(job->files, sizeof(*r->file), err);
	return r->file ? 0 : -1;
}

void residency_fini(struct residency *r)
{
	free(r->file);
}

static void first_read(struct file_reads *f, const struct reel_event *ev)
{
	f->reach = ev->offset + ev->result;
	f->bytes += ev->result;
	f->ns += ev->dur_ns;
	f->calls++;
	if (ev->arg2 > 0 && ev->arg2 < INT64_MAX - f->fetched)
		f->fetched += ev->arg2;
}

/*
 * Less than it read is its end: the last page of a file, which the cache keeps
 * apart, goes most often alone.
 */
static int64_t fetched_from(const struct reel_event *ev, int64_t n)
{
	int64_t end = ev->offset + ev->result;

	return n < ev->result ? ((end + PAGE_BYTES - 1) & -PAGE_BYTES) - n
			      : ev->offset;
}

/* Does it continue what the mark of its file stands for? */
static bool continues(const struct file_reads *f, const struct annotation *mark,
		      const struct reel_event *ev, int64_t n, bool again)
{
	return mark->b == again && ev->offset > f->fetch &&
	       ev->offset <= mark->ns + (int64_t)mark->a &&
	       n <= UINT32_MAX - mark->a;
}

static uint32_t least(const struct file_reads *f, bool again)
{
	uint32_t n = f->again_now == again ? f->bytes_now : 0;

	return n && (!f->piece[again] || n < f->piece[again]) ? n
							      : f->piece[again];
}

/* The last page of a file is a piece of its own anyway. */
static void begin_sequence(struct file_reads *f, const struct annotation *mark,
			   const struct reel_event *ev)
{
	f->piece[f->again_now] = least(f, f->again_now);
	f->again_now = mark->b;
	f->bytes_now =
		mark->a > PAGE_BYTES || ev->result <= PAGE_BYTES ? mark->a : 0;
}

static int fetching_read(struct residency *r, const struct reel_event *ev,
			 const struct call_ref *me, struct reel_error *err)
{
	struct file_reads *f = &r->file[ev->file];
	struct annotations *marks = r->marks;
	int64_t n = ev->arg2 < MOST_FETCHED ? ev->arg2 : MOST_FETCHED;
	bool again = ev->offset < f->end;
	struct annotation mark = {.stream = me->stream,
				  .call = me->call,
				  .ns = fetched_from(ev, n),
				  .a = (uint32_t)n,
				  .b = again,
				  .kind = ANNOTATION_FETCH};

	if (!again && f->calls == FIRST_READS && residency_cold(r, ev->file))
		return 0; /* nobody will ask */
	if (f->mark && continues(f, &marks->mark[f->mark - 1], ev, n, again)) {
		marks->mark[f->mark - 1].a += mark.a;
		f->bytes_now = marks->mark[f->mark - 1].a;
	} else {
		if (annotations_add(marks, &mark, err))
			return -1;
		f->mark = marks->n;
		begin_sequence(f, &mark, ev);
	}
	f->fetch = ev->offset;
	return 0;
}

int residency_event(struct residency *r, const struct reel_event *ev,
		    const struct call_ref *me, struct reel_error *err)
{
	struct file_reads *f;
	bool read = ev->group == REEL_GROUP_READ;
	int rc = 0;

	if (ev->file >= r->job->files || ev->kind != REEL_KIND_FILE ||
	    ev->err || ev->result <= 0 || ev->count > 1 ||
	    (!read && ev->group != REEL_GROUP_WRITE))
		return 0;
	f = &r->file[ev->file];
	if (!read && !f->calls)
		f->written = true;
	if (ev->offset < 0 || ev->offset > INT64_MAX / 2 ||
	    ev->result > INT64_MAX / 4)
		return 0;
	if (read && ev->arg2)
		r->looks = true;
	if (read && f->calls < FIRST_READS && ev->offset >= f->reach)
		first_read(f, ev);
	if (read && ev->arg2 > 0)
		rc = fetching_read(r, ev, me, err);
	if (ev->offset + ev->result > f->end)
		f->end = ev->offset + ev->result;
	return rc;
}

bool residency_cold(const struct residency *r, uint32_t file)
{
	const struct file_reads *f;

	if (file >= r->job->files)
		return false;
	f = &r->file[file];
	if (!f->calls || f->written)
		return false;
	if (f->fetched || (r->looks && r->job->file[file].fetches_counted))
		return f->fetched >= f->bytes - f->bytes / 8;
	return f->ns > COLD_NS + (int64_t)f->calls * CALL_NS +
			       f->bytes / CACHED_BYTES_PER_NS;
}

uint32_t residency_piece(const struct residency *r, uint32_t file)
{
	const struct file_reads *f;
	uint32_t first, again, least_of;

	if (file >= r->job->files)
		return 0;
	f = &r->file[file];
	again = least(f, true);
	first = residency_cold(r, file) ? 0 : least(f, false);
	least_of = first && (!again || first < again) ? first : again;
	return least_of < PAGE_BYTES && least_of ? PAGE_BYTES
						 : least_of & -PAGE_BYTES;
}
