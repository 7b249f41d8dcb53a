/* SPDX-License-Identifier: MIT */
/*
 * A file is cold when its first reads fetched nearly all their bytes from the
 * storage, as the trace says (trace_format.h, FETCHED). Where the trace does
 * not know (an older one, a file system without these counters), their duration
 * decides: a copy from the page cache runs at some gigabytes a second, even
 * into new pages; the fastest storage answers after tens of microseconds. The
 * duration alone would be wrong on a busy processor, or when the host of a
 * virtual machine has taken its memory away.
 *
 * All other fetched bytes had been in the cache, or parts of their file still
 * were: they are evicted just before the read that found them missing. Bytes
 * beyond the read itself are readahead, which the next reads of a sequence
 * find in the cache. The bytes that a sequence fetches are evicted at once: the
 * cache keeps bytes that were written together in large folios, which leave it
 * as a whole.
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
#define COLD_NS 20000	      /* longer than any call on cached data */
#define CALL_NS 1000	      /* of one such call */
#define CACHED_BYTES_PER_NS 2 /* slower than any cache */
#define PAGE_BYTES 4096
#define MOST_FETCHED (INT64_C(1) << 30) /* by one read */

struct file_reads {
	/* The first reads: */
	int64_t bytes, ns, fetched;
	int64_t reach; /* no byte behind it has been read */
	uint32_t calls;
	bool written; /* before the first read: it is in the cache */
	/* All reads and writes: */
	int64_t end;	    /* no byte behind it has been read or written */
	int64_t fetch;	    /* where the last fetching read began */
	size_t sequence;    /* 1 + the annotation of its sequence, 0: none */
	uint32_t bytes_now; /* that the sequence fetches */
	bool again_now;
	uint32_t least[2]; /* of earlier sequences; [1]: again */
};

int residency_init(struct residency *r, const struct job *job,
		   struct annotations *annotations, struct reel_error *err)
{
	r->job = job;
	r->annotations = annotations;
	r->file = reel_alloc(job->files, sizeof(*r->file), err);
	return r->file ? 0 : -1;
}

void residency_fini(struct residency *r)
{
	free(r->file);
}

static void note_first_read(struct file_reads *f, const struct reel_event *ev)
{
	f->reach = ev->offset + ev->result;
	f->bytes += ev->result;
	f->ns += ev->dur_ns;
	f->calls++;
	if (ev->arg2 > 0 && ev->arg2 < INT64_MAX - f->fetched)
		f->fetched += ev->arg2;
}

/*
 * The offset of @n fetched bytes. Fewer than the read's own are at its end: the
 * last page of a file is a folio of its own and most often leaves alone.
 */
static int64_t fetch_offset(const struct reel_event *ev, int64_t n)
{
	int64_t end = ev->offset + ev->result;

	return n < ev->result ? ((end + PAGE_BYTES - 1) & -PAGE_BYTES) - n
			      : ev->offset;
}

/* Does the read continue the sequence of @fetch? */
static bool continues_sequence(const struct file_reads *f,
			       const struct annotation *fetch,
			       const struct reel_event *ev, int64_t n,
			       bool again)
{
	return fetch->fetch.cached == again && ev->offset > f->fetch &&
	       ev->offset <= fetch->ns + (int64_t)fetch->fetch.bytes &&
	       n <= UINT32_MAX - fetch->fetch.bytes;
}

static uint32_t least_fetch(const struct file_reads *f, bool again)
{
	uint32_t n = f->again_now == again ? f->bytes_now : 0;

	return n && (!f->least[again] || n < f->least[again]) ? n
							      : f->least[again];
}

/* The last page of a file does not count: it is a folio of its own. */
static void begin_sequence(struct file_reads *f, const struct annotation *fetch,
			   const struct reel_event *ev)
{
	f->least[f->again_now] = least_fetch(f, f->again_now);
	f->again_now = fetch->fetch.cached;
	f->bytes_now =
		fetch->fetch.bytes > PAGE_BYTES || ev->result <= PAGE_BYTES
			? fetch->fetch.bytes
			: 0;
}

static int fetching_read(struct residency *r, const struct reel_event *ev,
			 const struct call_ref *call, struct reel_error *err)
{
	struct file_reads *f = &r->file[ev->file];
	struct annotations *list = r->annotations;
	int64_t n = ev->arg2 < MOST_FETCHED ? ev->arg2 : MOST_FETCHED;
	bool again = ev->offset < f->end;
	struct annotation fetch = {.stream = call->stream,
				   .call = call->index,
				   .ns = fetch_offset(ev, n),
				   .fetch = {(uint32_t)n, again},
				   .kind = ANNOTATION_FETCH};

	if (!again && f->calls == FIRST_READS && residency_cold(r, ev->file))
		return 0; /* the whole file begins cold */
	if (f->sequence &&
	    continues_sequence(f, &list->list[f->sequence - 1], ev, n, again)) {
		list->list[f->sequence - 1].fetch.bytes += fetch.fetch.bytes;
		f->bytes_now = list->list[f->sequence - 1].fetch.bytes;
	} else {
		if (annotations_add(list, &fetch, err))
			return -1;
		f->sequence = list->n;
		begin_sequence(f, &fetch, ev);
	}
	f->fetch = ev->offset;
	return 0;
}

int residency_event(struct residency *r, const struct reel_event *ev,
		    const struct call_ref *call, struct reel_error *err)
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
		r->counted = true;
	if (read && f->calls < FIRST_READS && ev->offset >= f->reach)
		note_first_read(f, ev);
	if (read && ev->arg2 > 0)
		rc = fetching_read(r, ev, call, err);
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
	if (f->fetched || (r->counted && r->job->file[file].fetches_counted))
		return f->fetched >= f->bytes - f->bytes / 8;
	return f->ns > COLD_NS + (int64_t)f->calls * CALL_NS +
			       f->bytes / CACHED_BYTES_PER_NS;
}

uint32_t residency_min_evict_bytes(const struct residency *r, uint32_t file)
{
	const struct file_reads *f;
	uint32_t first, again, least_of;

	if (file >= r->job->files)
		return 0;
	f = &r->file[file];
	again = least_fetch(f, true);
	first = residency_cold(r, file) ? 0 : least_fetch(f, false);
	least_of = first && (!again || first < again) ? first : again;
	return least_of < PAGE_BYTES && least_of ? PAGE_BYTES
						 : least_of & -PAGE_BYTES;
}
