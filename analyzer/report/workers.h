/* SPDX-License-Identifier: MIT */
/*
 * The loader workers of each rank, as people count them.
 *
 * v_overlap has their mean over time, of those that made a batch: what supply
 * is reckoned from, and no number that anybody set. Here it is how many were
 * alive when a pass had its first batch, or began its last step: workers of a
 * pass that ends late are not counted with those of the next.
 */
#ifndef ANALYZER_REPORT_WORKERS_H
#define ANALYZER_REPORT_WORKERS_H

/*
 * For FROM: process_id; most, least: over the passes that had any, NULL: none;
 * anew: how many passes but the first had workers of their own, made since the
 * last step before and for no evaluation. (A loader's pass may be told only
 * from its first step on: it looked like an evaluation.) Moments of one time
 * come as they happen: an evaluation begins, workers start, are counted, end.
 */
#define REPORT_WORKERS                                                         \
	"(WITH RECURSIVE up(worker, at) AS ("                                  \
	"SELECT process_id, parent_id FROM process WHERE role = 'worker' "     \
	"UNION SELECT up.worker, p.parent_id FROM up JOIN process p "          \
	"ON p.process_id = up.at "                                             \
	"WHERE up.at NOT IN (SELECT process_id FROM rank_time)), "             \
	"worker AS MATERIALIZED (SELECT at AS process_id, p.start_ns, "        \
	"p.end_ns FROM up JOIN process p ON p.process_id = up.worker "         \
	"WHERE at IN (SELECT process_id FROM rank_time)), "                    \
	"eval AS MATERIALIZED (SELECT process_id, start_ns, "                  \
	"start_ns + dur_ns AS end_ns FROM v_span WHERE name = 'eval' "         \
	"AND EXISTS (SELECT 1 FROM worker)), "                                 \
	"pass AS (SELECT process_id, "                                         \
	"min(start_ns + coalesce(fetch_ns, 0)) AS first_ns, "                  \
	"max(start_ns) AS last_ns FROM step "                                  \
	"WHERE EXISTS (SELECT 1 FROM worker) "                                 \
	"GROUP BY process_id, epoch_span "                                     \
	"UNION ALL SELECT process_id, (start_ns + end_ns) / 2, "               \
	"(start_ns + end_ns) / 2 FROM eval "                                   \
	"WHERE NOT EXISTS (SELECT 1 FROM step)), "                             \
	"moment(process_id, at_ns, what, alive, evals) AS ("                   \
	"SELECT process_id, start_ns, 0, 0, 1 FROM eval "                      \
	"UNION ALL SELECT process_id, start_ns, 1, 1, 0 FROM worker "          \
	"UNION ALL SELECT process_id, first_ns, 2, 0, 0 FROM pass "            \
	"UNION ALL SELECT process_id, last_ns, 3, 0, 0 FROM pass "             \
	"UNION ALL SELECT process_id, end_ns, 4, -1, 0 FROM worker "           \
	"UNION ALL SELECT process_id, end_ns, 5, 0, -1 FROM eval), "           \
	"now AS (SELECT process_id, at_ns, what, "                             \
	"sum(alive) OVER going AS alive, sum(evals) OVER going AS evals "      \
	"FROM moment WINDOW going AS ("                                        \
	"PARTITION BY process_id ORDER BY at_ns, what)), "                     \
	"made AS (SELECT *, sum(what = 1 AND NOT evals) OVER ("                \
	"PARTITION BY process_id ORDER BY at_ns, what) AS made FROM now), "    \
	"since AS (SELECT *, max(CASE what WHEN 3 THEN made END) OVER ("       \
	"PARTITION BY process_id ORDER BY at_ns, what) AS before FROM made) "  \
	"SELECT process_id, "                                                  \
	"nullif(max(alive) FILTER (WHERE what IN (2, 3)), 0) AS most, "        \
	"min(alive) FILTER (WHERE what = 2 AND alive > 0) AS least, "          \
	"count(*) FILTER (WHERE what = 2 AND made > before) AS anew "          \
	"FROM since GROUP BY process_id)"

#endif
