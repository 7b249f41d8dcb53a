/* SPDX-License-Identifier: MIT */
/* Fill struct report with the data that an epoch reads more than once. */
#include <stdio.h>
#include <string.h>

#include "lib/error.h"
#include "lib/store/store.h"

#include "analyzer/report/advice_rules.h"
#include "analyzer/report/report.h"

/*
 * Does each of @times processes that run at a time read all of the largest files in the
 * first epoch, and no other process any? A file that samples read several times, or
 * another process in each epoch, has fewer readers. Ranks that no launcher declared can be
 * jobs of their own. A part that a reader reads again, as an index in front of its
 * samples, counts once. 1, 0, or -1 with @err.
 */
static int is_read_by_all(const struct report *r, int64_t from_ns,
			  int64_t to_ns, struct reel_error *err)
{
	struct reel_view v;
	bool all = false;

	reel_view_open(
		&v, r->st,
		"WITH some AS MATERIALIZED ("
		"	SELECT file_id, size_bytes FROM v_repeated_file"
		"	WHERE times = ?1 ORDER BY size_bytes DESC LIMIT 1024), "
		"part AS MATERIALIZED ("
		"	SELECT e.file_id, e.process_id,"
		"		coalesce(union_ns(e.offset, e.bytes), 0) +"
		"		coalesce(sum(e.bytes) FILTER (WHERE"
		"			e.offset IS NULL), 0) AS bytes"
		"	FROM event e JOIN call c USING (call_id)"
		"	WHERE e.file_id IN (SELECT file_id FROM some)"
		"		AND e.start_ns BETWEEN ?2 AND ?3"
		"		AND c.call_group = 'read' AND NOT "
		"c.higher_layer"
		"		AND e.bytes > 0"
		"	GROUP BY e.file_id, e.process_id), "
		"reader AS ("
		"	SELECT p.process_id, sum(p.bytes >= 0.9 * "
		"s.size_bytes) AS files"
		"	FROM part p JOIN some s USING (file_id)"
		"	GROUP BY p.process_id) "
		"SELECT count(*) AS readers, min(r.files) AS files, "
		"max(p.start_ns) < min(p.end_ns) AS together, "
		"(SELECT count(*) FROM some) AS of_files, "
		"(SELECT count(*) > 1 FROM rank_time JOIN process q "
		"USING (process_id) WHERE q.rank IS NULL) AS undeclared "
		"FROM reader r JOIN process p USING (process_id)",
		err);
	reel_view_bind(&v, 1, r->repeated.times);
	reel_view_bind(&v, 2, from_ns);
	reel_view_bind(&v, 3, to_ns);
	if (reel_view_next(&v))
		all = reel_view_int(&v, "readers") == r->repeated.times &&
		      (double)reel_view_int(&v, "files") >=
			      0.9 * (double)reel_view_int(&v, "of_files") &&
		      reel_view_int(&v, "together") &&
		      !reel_view_int(&v, "undeclared");
	return reel_view_close(&v) ? -1 : all;
}

/* Events are looked at only where the sums of files ask for it. */
static int read_repeated(struct report *r, struct reel_error *err)
{
	struct reel_view v;
	int64_t from_ns = 0, to_ns = 0;
	int rc;

	reel_view_open(&v, r->st,
		       "SELECT times, count(*) AS files, "
		       "sum(size_bytes) AS size_bytes, "
		       "sum(read_bytes) AS read_bytes, epoch_start_ns, "
		       "epoch_end_ns FROM v_repeated_file GROUP BY times "
		       "ORDER BY sum(read_bytes) DESC LIMIT 1",
		       err);
	if (reel_view_next(&v)) {
		r->repeated.times = reel_view_int(&v, "times");
		r->repeated.files = reel_view_int(&v, "files");
		r->repeated.size_bytes = reel_view_int(&v, "size_bytes");
		r->repeated.read_bytes = reel_view_int(&v, "read_bytes");
		from_ns = reel_view_int(&v, "epoch_start_ns");
		to_ns = reel_view_int(&v, "epoch_end_ns");
	}
	if (reel_view_close(&v))
		return -1;
	if (!r->repeated.times)
		return 0;
	rc = (double)r->repeated.read_bytes < advice_threshold.repeated_share *
						      (double)r->data_read_bytes
		     ? 0
		     : is_read_by_all(r, from_ns, to_ns, err);
	if (rc <= 0)
		r->repeated.times = 0;
	return rc < 0 ? -1 : 0;
}

static void fill_reread(struct report *r, struct reel_view *v)
{
	const char *path = reel_view_text(v, "path"),
		   *slash = strrchr(path, '/');

	r->reread.files = reel_view_int(v, "files");
	r->reread.size_bytes = reel_view_int(v, "size_bytes");
	r->reread.read_bytes = reel_view_int(v, "read_bytes");
	r->reread.opens = reel_view_int(v, "opens");
	snprintf(r->reread.name, sizeof(r->reread.name), "%s",
		 slash ? slash + 1 : path);
}

/*
 * Loader workers and ranks may each read a file once. Whole files that are read again
 * come before parts of files. A program that opens a file again asks for all of it
 * again: several passes over a data set of one file do so, too. Not so if it is opened
 * as often as the job steps, as a pass gives a step at least.
 */
static int read_reread(struct report *r, struct reel_error *err)
{
	static const char *const sql[] = {
		"SELECT count(*) AS files, sum(size_bytes) AS size_bytes, "
		"sum(read_bytes) AS read_bytes, path, 0 AS opens, "
		"max(read_bytes) FROM v_reread_file WHERE times * 2 >= ?1 * 3",
		"SELECT count(*) AS files, sum(part_bytes) AS size_bytes, "
		"sum(read_bytes) AS read_bytes, path, sum(opens) AS opens, "
		"max(read_bytes) FROM v_reread_part WHERE opens >= ?1 * 3",
		"SELECT 1 AS files, size_bytes, read_bytes, path, "
		"opens / epochs AS opens FROM v_file, (SELECT count(*) AS "
		"steps FROM step), "
		"(SELECT count(DISTINCT epoch_span) AS epochs FROM step "
		"	WHERE rank = (SELECT min(rank) FROM step)) "
		"WHERE class = 'data' AND kind = 'file' AND size_bytes > 0 "
		"AND write_bytes = 0 AND mapped_bytes = 0 AND epochs > 0 "
		"AND opens >= max(8, 3 * ?1) * epochs AND opens >= steps "
		"AND read_bytes BETWEEN 0.99 * size_bytes * opens AND "
		"	1.1 * size_bytes * opens "
		"ORDER BY read_bytes DESC LIMIT 1"};
	int64_t readers = (r->ranks > 1 ? r->ranks : 1) *
			  (r->workers > 1 ? r->workers : 1);

	for (size_t i = 0; !r->reread.files && i < 3; i++) {
		struct reel_view v;

		reel_view_open(&v, r->st, sql[i], err);
		reel_view_bind(&v, 1, readers);
		if (reel_view_next(&v) && reel_view_int(&v, "files") > 0)
			fill_reread(r, &v);
		r->reread.whole = i == 2;
		if (reel_view_close(&v))
			return -1;
	}
	return 0;
}

int report_read_repeated(struct report *r, struct reel_error *err)
{
	return read_repeated(r, err) || read_reread(r, err) ? -1 : 0;
}
