/* SPDX-License-Identifier: MIT */
/* Members of npz archives: how often each is opened, and how many bytes of an archive
 * are read where some members are not. */
#include <math.h>
#include <stdlib.h>

#include "lib/error.h"

#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

#define WHOLE_PERCENT 90 /* of a file: more is all of it */
/* zipfile reads the begin and the directory; each time that a member is opened it
 * reads two buffers before the array. */
#define BUFFER 4096
#define DIRECTORY 512

/* A read of nothing finds the end of the archive, in each visit or in none. */
static int read_end(struct fit *f, int64_t opens)
{
	int64_t ends;

	if (fit_ask(f,
		    "SELECT count(*) FROM v_event WHERE class = 'data' AND "
		    "call_group = 'read' AND bytes = 0 AND path LIKE '%.npz'",
		    0, &ends))
		return -1;
	f->w->access.read_end = !opens || 2 * ends > opens;
	return fit_reason(f, "access.read_end", opens ? 0.9 : 0,
			  "%lld reads of nothing in %lld visits of archives",
			  (long long)ends, (long long)opens);
}

/* A read at the begin of the archive looks for its kind, and one more follows for
 * each time that its first member is opened; other members have no such read, and
 * their first buffers are read again. */
static int member_opens(struct fit *f)
{
	int64_t reads, again, opens;

	if (fit_ask(f,
		    "SELECT count(*) FROM v_event WHERE class = 'data' AND "
		    "call_group = 'read' AND offset = 0 AND bytes > 0 AND "
		    "path LIKE '%.npz'",
		    0, &reads) ||
	    fit_ask(f,
		    "SELECT count(open_id) - count(DISTINCT process_id || ' ' "
		    "|| "
		    "open_id || ' ' || offset) FROM v_event WHERE class = "
		    "'data' AND call_group = 'read' AND offset > 0 AND bytes > "
		    "0 AND path LIKE '%.npz'",
		    0, &again) ||
	    fit_ask(f,
		    "SELECT count(*) FROM (SELECT DISTINCT process_id, open_id "
		    "FROM v_event WHERE class = 'data' AND call_group = 'read' "
		    "AND offset = 0 AND bytes > 0 AND path LIKE '%.npz')",
		    0, &opens))
		return -1;
	if (!f->has_opens)
		opens = f->visits;
	if (read_end(f, opens))
		return -1;
	f->w->access.member_opens =
		2 * reads > 5 * opens || 2 * again > opens ? 2 : 1;
	return fit_reason(f, "access.member_opens", opens ? 0.9 : 0,
			  "%lld reads at the begin and %lld reads of other "
			  "bytes again in %lld visits of archives",
			  (long long)reads, (long long)again, (long long)opens);
}

/* Mean bytes that a visit of each file reads. Gives them. */
static int64_t *bytes_of_visits(struct fit *f)
{
	int64_t *bytes =
		reel_alloc(2 * (size_t)f->files, sizeof(*bytes), f->err);
	int64_t *visits;

	if (!bytes)
		return NULL;
	visits = bytes + f->files;
	for (uint32_t i = 0; i < f->visits; i++) {
		bytes[f->visit[i].file] += f->visit[i].bytes;
		visits[f->visit[i].file]++;
	}
	for (uint32_t i = 0; i < f->files; i++)
		bytes[i] = visits[i] ? bytes[i] / visits[i] : 0;
	return bytes;
}

/* Bytes of a visit that are no member. */
static int64_t beside_members(const struct fit *f)
{
	return BUFFER + DIRECTORY +
	       (f->w->access.member_opens > 1 ? 2 * BUFFER : 0);
}

/* Archives that are opened again and again for a member that is a sample. Those of the
 * format hold one sample each, so an archive stands for each. */
static int sample_a_member(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	int64_t beside = beside_members(f);
	int64_t *value = reel_alloc(f->visits, sizeof(*value), f->err);
	double visits = (double)f->visits / (double)f->passes;
	int rc;

	if (!value)
		return -1;
	for (uint32_t i = 0; i < f->visits; i++)
		value[i] = f->visit[i].bytes > beside
				   ? f->visit[i].bytes - beside
				   : 1;
	rc = fit_sizes(f, value, f->visits, false);
	free(value);
	d->files = llround(visits);
	return rc ||
	       fit_reason(f, "dataset.files", 0.3,
			  "%u archives were opened %.1f times in an epoch, for "
			  "a member each time: an archive of its own stands "
			  "for each",
			  f->files, visits / f->files) ||
	       fit_reason(f, "dataset.samples_per_file", 0.3,
			  "a member is a sample") ||
	       fit_reason(f, "dataset.sample_bytes", 0.5,
			  "bytes read from an open to the close, without those "
			  "of the archive");
}

/* The members that are not read are one behind those that are. */
static int fit_partial(struct fit *f, int64_t *bytes)
{
	int64_t beside = beside_members(f);
	double read = 0, size = 0, payload = 0;

	for (uint32_t i = 0; i < f->files; i++) {
		read += (double)bytes[i];
		size += (double)f->file[i].size;
		bytes[i] = bytes[i] > beside ? bytes[i] - beside : 1;
	}
	f->partial = 100 * read < WHOLE_PERCENT * size;
	if (!f->partial)
		return 0;
	if (f->files < f->steps_of_epoch && fit_reopens(f))
		return sample_a_member(f);
	for (uint32_t i = 0; i < f->files; i++)
		payload += (double)bytes[i];
	f->w->dataset.unread = fmax(size - payload, 0) / payload;
	return fit_sizes(f, bytes, f->files, true) ||
	       fit_reason(f, "dataset.samples_per_file", 0.9,
			  "files of this format hold one sample as a rule") ||
	       fit_reason(f, "dataset.sample_bytes", 0.8,
			  "bytes read of each archive: %.0f %% of it; the "
			  "rest is dataset.unread",
			  100 * read / size);
}

int fit_members(struct fit *f)
{
	int64_t *bytes;
	int rc;

	if (f->w->dataset.format != WORKLOAD_NPZ)
		return 0;
	if (member_opens(f))
		return -1;
	bytes = bytes_of_visits(f);
	rc = bytes ? fit_partial(f, bytes) : -1;
	free(bytes);
	return rc ? -1 : 0;
}
