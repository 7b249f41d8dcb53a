/* SPDX-License-Identifier: MIT */
/*
 * Which files came from the storage: those whose first reads had to fetch from
 * it, as the trace says (trace_format.h, FETCHED). Where that is not known (an
 * older trace, a file system that Linux does not count for), by what these
 * reads took: a copy from the page cache runs at some gigabytes a second, even
 * into memory that has to be made first; the fastest storage answers after tens
 * of microseconds. The time alone would take for cold what a busy processor
 * held up, or a virtual machine's host that has taken the memory away.
 */
#include "replay/residency.h"

#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/event.h"

#include "replay/job.h"

#include "schemas/trace_format.h"

#define FIRST_READS 64
#define COLD_NS 20000         /* what no call on cached data needs */
#define CALL_NS 1000          /* what each may need */
#define CACHED_BYTES_PER_NS 2 /* slower than any cache */

struct first_reads {
	int64_t bytes, ns;
	int64_t reach; /* behind it nothing has been read or written */
	int64_t fetched;
	uint32_t calls;
	bool looked;  /* fetched is known */
	bool written; /* before it was read: it is in the cache */
};

int residency_init(struct residency *r, const struct job *job,
		   struct reel_error *err)
{
	r->job = job;
	r->file = reel_alloc(job->files, sizeof(*r->file), err);
	return r->file ? 0 : -1;
}

void residency_fini(struct residency *r)
{
	free(r->file);
}

void residency_event(struct residency *r, const struct reel_event *ev)
{
	struct first_reads *f;

	if (ev->file >= r->job->files || ev->kind != REEL_KIND_FILE ||
	    ev->err || ev->result <= 0 || ev->count > 1)
		return;
	f = &r->file[ev->file];
	if (ev->group == REEL_GROUP_WRITE && !f->calls)
		f->written = true;
	if (ev->group != REEL_GROUP_READ || f->calls == FIRST_READS ||
	    ev->offset < f->reach || ev->offset > INT64_MAX - ev->result)
		return;
	f->reach = ev->offset + ev->result;
	f->bytes += ev->result;
	f->ns += ev->dur_ns;
	f->calls++;
	if (ev->arg2 == 0)
		return;
	f->looked = true;
	if (ev->arg2 > 0 && ev->arg2 < INT64_MAX - f->fetched)
		f->fetched += ev->arg2;
}

bool residency_cold(const struct residency *r, uint32_t file)
{
	const struct first_reads *f;

	if (file >= r->job->files)
		return false;
	f = &r->file[file];
	if (!f->calls || f->written)
		return false;
	if (f->fetched || (f->looked && r->job->file[file].fetches_counted))
		return f->fetched >= f->bytes / 2;
	return f->ns > COLD_NS + (int64_t)f->calls * CALL_NS +
			       f->bytes / CACHED_BYTES_PER_NS;
}
