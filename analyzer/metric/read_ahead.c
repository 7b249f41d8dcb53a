/* SPDX-License-Identifier: MIT */
/*
 * Reads that waited for readahead.
 *
 * Linux counts the sectors for the thread that starts a fetch. With readahead
 * this is one read in dozens; the other reads find pages in flight and wait as
 * long. A slow read without a fetch counts as such a wait only inside the
 * ranges of the last two fetches of the file.
 */
#include "analyzer/metric/read_ahead.h"

#include <stdlib.h>

#include "schemas/trace_format.h"

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/event_op.h"

static void note_fetch(struct read_ahead_file *f, const struct metric_event *m)
{
	int64_t offset = m->raw.offset;

	if (offset > METRIC_BYTES_MAX)
		return;
	if (offset < f->from || offset > f->until)
		f->from = f->until = offset; /* elsewhere in the file */
	else
		f->from = f->last;
	f->last = offset;
	f->until += (int64_t)metric_fetched_bytes(&m->raw);
	if (f->until > 2 * METRIC_BYTES_MAX)
		f->until = 2 * METRIC_BYTES_MAX;
}

int read_ahead_classify(struct read_ahead *r, struct metric_event *m,
			struct reel_error *err)
{
	const struct read_ahead_file *f;

	if (!m->raw.arg2 || m->raw.offset < 0 || m->calls != 1)
		return 0;
	if (metric_fetched(m)) {
		if (reel_array_reach(&r->file, &r->room, m->raw.file,
				     sizeof(*r->file), err))
			return -1;
		note_fetch(&r->file[m->raw.file], m);
		return 0;
	}
	if (m->raw.arg2 != REEL_FETCHED_NONE || !metric_can_fetch(m) ||
	    m->raw.file >= r->room)
		return 0;
	f = &r->file[m->raw.file];
	if (m->raw.offset >= f->from && m->raw.offset < f->until)
		m->storage = METRIC_WAITED;
	return 0;
}

void read_ahead_fini(struct read_ahead *r)
{
	free(r->file);
}
