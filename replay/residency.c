/* SPDX-License-Identifier: MIT */
/*
 * Which files came from the storage, by what their first reads took.
 *
 * A copy from the page cache runs at some gigabytes a second, even into memory
 * that has to be made first; the fastest storage answers after tens of
 * microseconds. Reads that a busy processor held up look cold too: a replay on
 * an idle one is then nearer to the job when it goes to the storage.
 */
#include "replay/residency.h"

#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/event.h"

#include "schemas/trace_format.h"

#define FIRST_READS 64
#define COLD_NS 20000         /* what no call on cached data needs */
#define CALL_NS 1000          /* what each may need */
#define CACHED_BYTES_PER_NS 2 /* slower than any cache */

struct first_reads {
	int64_t bytes, ns;
	int64_t reach; /* behind it nothing has been read or written */
	uint32_t calls;
	bool written; /* before it was read: it is in the cache */
};

int residency_init(struct residency *r, uint32_t files, struct reel_error *err)
{
	r->file = reel_alloc(files, sizeof(*r->file), err);
	r->files = files;
	return r->file ? 0 : -1;
}

void residency_fini(struct residency *r)
{
	free(r->file);
}

void residency_event(struct residency *r, const struct reel_event *ev)
{
	struct first_reads *f;

	if (ev->file >= r->files || ev->kind != REEL_KIND_FILE || ev->err ||
	    ev->result <= 0 || ev->count > 1)
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
}

bool residency_cold(const struct residency *r, uint32_t file)
{
	const struct first_reads *f = &r->file[file < r->files ? file : 0];

	return f->calls && !f->written &&
	       f->ns > COLD_NS + (int64_t)f->calls * CALL_NS +
			       f->bytes / CACHED_BYTES_PER_NS;
}
