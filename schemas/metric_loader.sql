-- SPDX-License-Identifier: MIT
-- v_worker_ancestor: loader workers and their ancestors, up to the first that steps:
-- that is the process of their loader.
-- unit: none    empty: no row
-- source: ioreel-report(1), "loader workers"
CREATE VIEW v_worker_ancestor (worker, process_id) AS
WITH RECURSIVE
ancestor (worker, process_id) AS (
	SELECT process_id, parent_id FROM process WHERE role = 'worker'
	UNION
	SELECT a.worker, p.parent_id
	FROM ancestor a JOIN process p ON p.process_id = a.process_id
	WHERE a.process_id NOT IN (SELECT process_id FROM rank_time))
SELECT worker, process_id FROM ancestor;

-- v_worker_batch: the batches that loader workers made, with their number in the pass,
-- but none of evaluation_worker. A pass is the last epoch or eval span of the rank
-- that began before the batch. Its loader hands batch k to worker k modulo their
-- number, in the order of their starts, as PyTorch does: the number follows from that.
-- The pool of a PyDataset of Keras begins batches in the order of their numbers.
-- early: 1, it was ready before a batch of a lower number, so that the loader had to
-- keep it back.
-- unit: ns; 0 or 1    empty: no row without workers or with sums of spans
-- source: PyTorch, torch/utils/data/dataloader.py; ioreel-store(5), "Loader"
CREATE VIEW v_worker_batch (process_id, pass, worker, number, start_ns, end_ns,
	early) AS
WITH
pass AS MATERIALIZED (
	SELECT span_id, process_id, start_ns FROM v_span
	WHERE name IN ('epoch', 'eval') AND EXISTS (SELECT 1 FROM v_worker_ancestor)
		AND NOT EXISTS (SELECT 1 FROM step WHERE steps > 1)),
moment (process_id, at_ns, pass, worker, dur_ns) AS (
	SELECT process_id, start_ns, span_id, NULL, 0 FROM pass
	UNION ALL
	SELECT a.process_id, s.start_ns, NULL, a.worker, s.dur_ns
	FROM v_span s JOIN v_worker_ancestor a ON a.worker = s.process_id
	WHERE s.name = 'preprocess' AND s.closed
		AND a.process_id IN (SELECT process_id FROM pass)
		AND a.worker NOT IN (SELECT worker FROM evaluation_worker)),
grouped AS (
	SELECT *, count(pass) OVER (PARTITION BY process_id
		ORDER BY at_ns, worker IS NOT NULL) AS passes
	FROM moment),
made AS (
	SELECT process_id, max(pass) OVER (PARTITION BY process_id, passes)
			AS pass,
		worker, at_ns AS start_ns, at_ns + dur_ns AS end_ns
	FROM grouped),
turn AS (
	SELECT *, row_number() OVER (PARTITION BY process_id, pass, worker
			ORDER BY start_ns) - 1 AS turn,
		dense_rank() OVER (PARTITION BY process_id, pass
			ORDER BY worker) - 1 AS place
	FROM made WHERE worker IS NOT NULL AND pass IS NOT NULL),
numbered AS (
	SELECT *, iif(EXISTS (SELECT 1 FROM note
			WHERE key = 'loader' AND value GLOB 'PyDataset*'),
		row_number() OVER (PARTITION BY process_id, pass
			ORDER BY start_ns) - 1,
		turn * (max(place) OVER (PARTITION BY process_id, pass) + 1)
			+ place) AS number
	FROM turn)
SELECT process_id, pass, worker, number, start_ns, end_ns,
	coalesce(max(end_ns) OVER (PARTITION BY process_id, pass ORDER BY number
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) > end_ns, 0)
FROM numbered;

-- v_fetch: fetches that ask for a batch, the last of a pass too, which finds the end.
-- Not those in which a loop waits until workers stop (detail -2). number: of the
-- batch; NULL, not known.
-- unit: ns    empty: no row
-- source: ioreel-store(5), "Loader"
CREATE VIEW v_fetch (process_id, thread_id, start_ns, dur_ns, number, closed) AS
SELECT process_id, thread_id, start_ns, dur_ns, detail, closed
FROM v_span WHERE name = 'fetch' AND detail IS NOT -2;

-- v_batch_fetch: the fetches of each pass, in their order: fetch k takes batch k. Those
-- that construct an iterator are none, where others have a number.
-- unit: ns    empty: no row without workers
-- source: ioreel-store(5), "Loader"
CREATE VIEW v_batch_fetch (process_id, pass, number, start_ns, end_ns) AS
WITH batch AS MATERIALIZED (SELECT DISTINCT process_id, pass FROM v_worker_batch),
pass AS MATERIALIZED (
	SELECT DISTINCT s.process_id, s.span_id AS pass, s.start_ns
	FROM v_span s WHERE s.name IN ('epoch', 'eval')
		AND s.process_id IN (SELECT process_id FROM batch)),
counting AS MATERIALIZED (
	SELECT DISTINCT process_id FROM v_fetch WHERE number >= 0),
moment (process_id, at_ns, pass, fetch, dur_ns) AS (
	SELECT process_id, start_ns, pass, 0, 0 FROM pass
	UNION ALL
	SELECT process_id, start_ns + dur_ns, NULL, 1, dur_ns FROM v_fetch
	WHERE closed AND (number >= 0 OR (number IS NULL
			AND process_id NOT IN counting))
		AND process_id IN (SELECT process_id FROM batch)),
grouped AS (
	SELECT *, count(pass) OVER (PARTITION BY process_id
		ORDER BY at_ns, fetch) AS passes
	FROM moment),
taken AS (
	SELECT process_id, at_ns, dur_ns, fetch, max(pass) OVER (
		PARTITION BY process_id, passes) AS pass
	FROM grouped)
SELECT process_id, pass, row_number() OVER (PARTITION BY process_id, pass
		ORDER BY at_ns) - 1,
	at_ns - dur_ns, at_ns
FROM taken
WHERE fetch AND pass IN (SELECT pass FROM batch);

-- v_queue_depth: the depth of a rank's queue of batches over time: batches that
-- its workers have made and it has not fetched yet, from each change on. A pass
-- begins with an empty queue. fetched: 1, a fetch of the pass ends later; the batches
-- of a loop that is left early stay in the queue.
-- unit: ns, batches, 0 or 1    empty: no row without workers
-- source: ioreel-store(5), "Loader"
CREATE VIEW v_queue_depth (rank, process_id, pass, start_ns, dur_ns, depth,
	fetched) AS
WITH change (process_id, at_ns, pass, change) AS (
	SELECT process_id, end_ns, pass, -1 FROM v_batch_fetch
	UNION ALL SELECT process_id, end_ns, pass, 1 FROM v_worker_batch),
depth AS (
	SELECT process_id, pass, at_ns, lead(at_ns) OVER one - at_ns AS dur_ns,
		sum(change) OVER one AS depth,
		max(iif(change < 0, at_ns, NULL)) OVER (
			PARTITION BY process_id, pass) AS last_ns
	FROM change
	WINDOW one AS (PARTITION BY process_id, pass ORDER BY at_ns, change DESC
		ROWS UNBOUNDED PRECEDING))
SELECT t.rank, d.process_id, d.pass, d.at_ns, d.dur_ns, max(d.depth, 0),
	coalesce(d.at_ns < d.last_ns, 0)
FROM depth d JOIN rank_time t USING (process_id)
ORDER BY d.process_id, d.at_ns;

-- v_loader: the queue of each rank's loader workers.
--   early_share    batches that were ready before their turn, of all: the
--                  out-of-order share
--   mean_depth     mean of the queue's depth over time, from the first batch of
--                  a pass to its last fetch
--   empty_share    share of this time with an empty queue
--   unready_share  share of the time of the fetches in which their own batch was not
--                  ready, whether later ones were or not; NULL, when each batch
--                  is the first one of its worker: their start is in these fetches
-- unit: batches; shares 0..1    empty: no row without workers
-- source: ioreel-store(5), "Loader"
CREATE VIEW v_loader (rank, process_id, passes, batches, early, early_share,
	mean_depth, max_depth, empty_share, unready_share) AS
WITH depth AS (
	SELECT rank, process_id, sum(iif(fetched, depth * dur_ns, 0)) * 1.0
			/ nullif(sum(iif(fetched, dur_ns, 0)), 0) AS mean_depth,
		max(iif(fetched, depth, NULL)) AS max_depth,
		sum(iif(fetched AND depth = 0, dur_ns, 0)) * 1.0
			/ nullif(sum(iif(fetched, dur_ns, 0)), 0) AS empty_share
	FROM v_queue_depth GROUP BY process_id),
made AS (
	SELECT process_id, count(DISTINCT pass) AS passes, count(*) AS batches,
		sum(early) AS early
	FROM v_worker_batch GROUP BY process_id),
ready (process_id, pass, number, later, ready_ns, start_ns, end_ns) AS (
	SELECT process_id, pass, number, row_number() OVER (PARTITION BY
		process_id, pass, worker ORDER BY number) > 1, end_ns, NULL, NULL
	FROM v_worker_batch
	UNION ALL SELECT process_id, pass, number, NULL, NULL, start_ns, end_ns
	FROM v_batch_fetch),
-- A group instead of a join, for which SQLite makes no index.
fetch AS (
	SELECT process_id, max(ready_ns) AS ready_ns, max(start_ns) AS start_ns,
		max(end_ns) AS end_ns
	FROM ready GROUP BY process_id, pass, number
	HAVING max(later) AND max(start_ns) IS NOT NULL),
wait AS (
	SELECT process_id, sum(end_ns - start_ns) AS ns,
		sum(max(min(ready_ns, end_ns) - start_ns, 0)) AS unready_ns
	FROM fetch GROUP BY process_id)
SELECT d.rank, process_id, m.passes, m.batches, m.early,
	m.early * 1.0 / m.batches, d.mean_depth, d.max_depth, d.empty_share,
	w.unready_ns * 1.0 / nullif(w.ns, 0)
FROM made m JOIN depth d USING (process_id) LEFT JOIN wait w USING (process_id)
ORDER BY d.rank, process_id;

-- v_step_loaders: the loaders from which the steps of each rank take their batches. A
-- step has the number of its leading loader's fetch; the fetches of others, which
-- follow that, have none.
--   several    1, more than half of the steps have a fetch of another loader
--   first_wait_ns, later_wait_ns   the fetches of leading loaders, and of others
-- unit: 0 or 1; ns    empty: no row for a rank whose steps fetch nothing; NULL, no
-- such fetch
-- source: ioreel-store(5), "Loader"
CREATE VIEW v_step_loaders (rank, process_id, several, first_wait_ns,
	later_wait_ns) AS
WITH
fetch AS (
	SELECT f.process_id, f.detail, f.dur_ns, f.detail IS NULL AND f.start_ns
			> min(iif(f.detail >= 0, f.start_ns, NULL))
			OVER (PARTITION BY f.parent_id) AS later
	FROM v_span f JOIN span s ON s.span_id = f.parent_id
	WHERE f.name = 'fetch' AND s.name = 'step'),
wait AS (
	SELECT process_id, count(*) FILTER (WHERE later) AS later_fetches,
		sum(dur_ns) FILTER (WHERE detail >= 0) AS first_ns,
		sum(dur_ns) FILTER (WHERE later) AS later_ns
	FROM fetch GROUP BY process_id)
SELECT t.rank, t.process_id, w.later_fetches * 2 > t.steps, w.first_ns, w.later_ns
FROM wait w JOIN rank_time t USING (process_id);

-- v_headroom: the factor by which computation could become faster before the
-- loader's workers cannot follow.
--   supply_batches_per_s   batches that the workers would make if they were
--                always busy: of a worker's busy time, times the workers alive
--   demand_batches_per_s   batches that the rank takes when it never waits, over
--                its known steady steps
--   headroom     supply / demand, as in v_overlap; below 1 the workers are the
--                limit
-- unit: batches/s; a factor    empty: no row without workers; NULL, not known
-- source: ioreel-store(5), "Overlap"
CREATE VIEW v_headroom (rank, process_id, supply_batches_per_s,
	demand_batches_per_s, headroom, worker_busy_share) AS
SELECT t.rank, t.process_id,
	t.worker_batches * 1e9 / nullif(t.worker_busy_ns, 0)
		* t.worker_alive_ns / nullif(t.worker_union_ns, 0),
	nullif(t.steady_known_steps, 0) * 1e9
		/ nullif(t.steady_known_ns - t.steady_fetch_ns, 0),
	o.headroom, o.worker_busy_share
FROM rank_time t JOIN v_overlap o USING (process_id)
WHERE t.worker_processes > 0
ORDER BY t.rank, t.process_id;
