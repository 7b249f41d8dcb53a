/* SPDX-License-Identifier: MIT */
/* The table of exporters, and the loop that feeds one of them. */
#include "analyzer/export/exporter.h"

#include <stdlib.h>

#include "lib/num.h"
#include "lib/error.h"
#include "lib/progress.h"
#include "lib/store/store.h"

#include "analyzer/export/cursor.h"
#include "analyzer/export/out.h"

#define PROGRESS_EVENTS 65536

const struct exporter *const exporters[] = {
	&export_csv,
	&export_jsonl,
	&export_chrome,
};

static int fail_empty(struct reel_store *st, int64_t from_ns, int64_t to_ns,
		      struct reel_error *err)
{
	char from[REEL_NUM], to[REEL_NUM], span[REEL_NUM];
	int64_t ns = 0;
	bool has;

	if (reel_store_int(st, "SELECT span_ns FROM run", &ns, &has, err))
		return -1;
	reel_num_time(span, (double)ns);
	if (from_ns <= 0 && to_ns == INT64_MAX)
		return reel_fail(err, REEL_E_FORMAT,
				 "nothing to export: no event in '%s'",
				 st->path);
	if (to_ns == INT64_MAX)
		return reel_fail(err, REEL_E_FORMAT,
				 "nothing to export: no event after %s; the "
				 "events of the run take %s",
				 reel_num_time(from, (double)from_ns), span);
	return reel_fail(err, REEL_E_FORMAT,
			 "nothing to export: no event between %s and %s; the "
			 "events of the run take %s",
			 reel_num_time(from, (double)from_ns),
			 reel_num_time(to, (double)to_ns), span);
}

static void start_progress(struct reel_progress *p, struct reel_store *st)
{
	int64_t events = 0;
	bool has;

	reel_store_int(st, "SELECT events FROM run", &events, &has, NULL);
	reel_progress_start(p, "exporting", "events", (uint64_t)events);
}

/* Feed @as with @rec, which is the first, and with all that follow. */
static int feed(const struct exporter *as, void *state, struct export_cursor *c,
		struct export_record *rec, struct export_out *o,
		struct export_result *result, struct reel_progress *progress,
		struct reel_error *err)
{
	int rc = 1;

	while (rc == 1 && !o->failed) {
		as->record(state, rec, o);
		*(rec->is_span ? &result->spans : &result->events) += 1;
		if (result->events % PROGRESS_EVENTS == 0)
			reel_progress_at(progress, (uint64_t)result->events);
		rc = export_cursor_next(c, rec, err);
	}
	if (rc < 0)
		return -1;
	if (as->end)
		as->end(state, o);
	return 0;
}

int export_run(const struct exporter *as, struct reel_store *st,
	       int64_t from_ns, int64_t to_ns, FILE *file,
	       struct export_result *result, struct reel_error *err)
{
	struct export_out *o = reel_alloc(1, sizeof(*o), err);
	struct reel_progress progress = {0};
	struct export_cursor *c = NULL;
	struct export_record rec = {0};
	void *state = NULL;
	int rc = -1, first;

	*result = (struct export_result){0};
	if (!o || export_cursor_open(&c, st, from_ns, to_ns, err))
		goto out;
	o->file = file;
	first = export_cursor_next(c, &rec, err);
	if (first <= 0) {
		if (!first)
			fail_empty(st, from_ns, to_ns, err);
		goto out;
	}
	start_progress(&progress, st);
	if (as->begin(&state, c, o, err) ||
	    feed(as, state, c, &rec, o, result, &progress, err))
		goto out;
	rc = 0;
	result->write_errno = export_out_flush(o);
	result->bytes = o->written;
out:
	reel_progress_stop(&progress);
	export_cursor_close(c);
	free(state);
	free(o);
	return rc;
}
