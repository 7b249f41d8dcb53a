-- SPDX-License-Identifier: MIT
-- The views of "ioreel report" on each rank: its loop, its waits and its loader
-- workers. Columns are added at the end, never renamed.

-- v_loader_workers: the loader workers of each rank. v_overlap has their mean
-- over time, counting workers that made a batch. Here a worker counts when it
-- is alive as a pass over the data has the batch of its middle step, or, if none
-- is, that of its first step, or begins its last step: a worker of a pass that
-- ends late does not count for the next pass, nor does one of evaluation_worker.
--   max_workers, min_workers   over the passes that had any; NULL: none had
--   worker_restarts            passes, other than the first, with workers that
--               were forked since the last step before, and for no evaluation
--   call_share                 the time of their calls of I/O over their lifetimes;
--               calls of several threads at a time add up
--   mapped_share               the bytes that they read through mappings, whose time
--               is not known, of all that they read
-- Events at the same time are in the order of "kind": an evaluation begins,
-- workers start, are counted, end.
-- unit: workers, passes; a share    empty: no row for a rank without workers
-- source: ioreel-report(1), "loader workers"
CREATE VIEW v_loader_workers (process_id, max_workers, min_workers,
	worker_restarts, call_share, mapped_share) AS
WITH
eval AS MATERIALIZED (
	SELECT process_id, start_ns, start_ns + dur_ns AS end_ns FROM v_span
	WHERE name = 'eval' AND EXISTS (SELECT 1 FROM v_worker_ancestor)),
worker AS MATERIALIZED (
	SELECT o.process_id, p.start_ns, p.end_ns,
		(SELECT sum(r.dur_ns) FROM rollup r JOIN call c USING (call_id)
			WHERE r.process_id = o.worker AND r.message = 0
				AND NOT c.higher_layer) AS call_ns,
		(SELECT sum(r.bytes) FROM rollup r JOIN call c USING (call_id)
			WHERE r.process_id = o.worker AND r.message = 0
				AND c.call_group = 'read'
				AND NOT c.higher_layer) AS read_bytes,
		(SELECT m.read_bytes FROM mapped_io m
			WHERE m.process_id = o.worker) AS mapped_bytes
	FROM v_worker_ancestor o JOIN process p ON p.process_id = o.worker
	WHERE o.process_id IN (SELECT process_id FROM rank_time)
		AND o.worker NOT IN (SELECT worker FROM evaluation_worker)),
begun AS (
	SELECT process_id, epoch_span, start_ns,
		start_ns + coalesce(fetch_ns, 0) AS batch_ns,
		row_number() OVER pass AS number,
		count(*) OVER (PARTITION BY process_id, epoch_span) AS steps
	FROM step WHERE EXISTS (SELECT 1 FROM worker)
	WINDOW pass AS (PARTITION BY process_id, epoch_span ORDER BY start_ns)),
pass (process_id, pass, first_ns, middle_ns, last_ns) AS (
	SELECT process_id, epoch_span, min(batch_ns),
		min(batch_ns) FILTER (WHERE number = (steps + 1) / 2),
		max(start_ns)
	FROM begun
	GROUP BY process_id, epoch_span
	UNION ALL
	SELECT process_id, start_ns, (start_ns + end_ns) / 2,
		(start_ns + end_ns) / 2, (start_ns + end_ns) / 2
	FROM eval WHERE NOT EXISTS (SELECT 1 FROM step)),
moment (process_id, pass, at_ns, kind, alive, evals) AS (
	SELECT process_id, NULL, start_ns, 0, 0, 1 FROM eval
	UNION ALL SELECT process_id, NULL, start_ns, 1, 1, 0 FROM worker
	UNION ALL SELECT process_id, pass, first_ns, 2, 0, 0 FROM pass
	UNION ALL SELECT process_id, pass, middle_ns, 3, 0, 0 FROM pass
	UNION ALL SELECT process_id, pass, last_ns, 4, 0, 0 FROM pass
	UNION ALL SELECT process_id, NULL, end_ns, 5, -1, 0 FROM worker
	UNION ALL SELECT process_id, NULL, end_ns, 6, 0, -1 FROM eval),
running AS (
	SELECT process_id, pass, at_ns, kind, sum(alive) OVER sofar AS alive,
		sum(evals) OVER sofar AS evals
	FROM moment WINDOW sofar AS (PARTITION BY process_id
		ORDER BY at_ns, kind)),
forked AS (
	SELECT *, sum(kind = 1 AND NOT evals) OVER (PARTITION BY process_id
		ORDER BY at_ns, kind) AS forked
	FROM running),
since AS (
	SELECT *, max(CASE kind WHEN 4 THEN forked END) OVER (
		PARTITION BY process_id ORDER BY at_ns, kind) AS before
	FROM forked),
counted AS (
	SELECT process_id, coalesce(
			nullif(max(alive) FILTER (WHERE kind = 3), 0),
			nullif(max(alive), 0)) AS workers,
		total(kind = 2 AND forked > before) AS restarts
	FROM since WHERE kind IN (2, 3, 4)
	GROUP BY process_id, pass)
SELECT process_id, max(workers), min(workers),
	CAST(total(restarts) AS INTEGER),
	(SELECT total(w.call_ns) / nullif(sum(w.end_ns - w.start_ns), 0)
		FROM worker w WHERE w.process_id = counted.process_id),
	(SELECT total(w.mapped_bytes) / nullif(sum(w.read_bytes), 0)
		FROM worker w WHERE w.process_id = counted.process_id)
FROM counted
GROUP BY process_id;

-- v_first_batches: what the loop of each rank waits for the first batch of each
-- worker of its loader, in every epoch and evaluation, more than for as many of the
-- other batches: they include the start of the workers. The construction of a loader's
-- iterator is a fetch, too. Where one epoch has no other batch, none is known.
-- unit: ns    empty: no row
-- source: ioreel-report(1), "INPUT-BOUND"
CREATE VIEW v_first_batches (process_id, epoch_wait_ns, evaluation_wait_ns) AS
WITH loader AS MATERIALIZED (
	SELECT o.process_id, max(coalesce(w.max_workers, o.workers, 1), 1)
		AS workers
	FROM v_overlap o LEFT JOIN v_loader_workers w USING (process_id)),
batch (process_id, evaluates, fetch_ns, number) AS (
	SELECT process_id, 0, fetch_ns, row_number() OVER (
		PARTITION BY process_id, epoch_span ORDER BY ordinal)
	FROM step WHERE fetch_ns IS NOT NULL
	UNION ALL
	SELECT process_id, 1, dur_ns, row_number() OVER (
		PARTITION BY process_id, number ORDER BY start_ns) - 1
	FROM v_evaluation_fetch WHERE in_loop IS NOT 0),
wait AS (
	SELECT process_id, evaluates,
		sum(fetch_ns) FILTER (WHERE number <= workers) AS first_ns,
		count(*) FILTER (WHERE number <= workers) AS first,
		count(*) FILTER (WHERE number = 1) AS starts,
		sum(fetch_ns) FILTER (WHERE number > workers) AS other_ns,
		count(*) FILTER (WHERE number > workers) AS other
	FROM batch JOIN loader USING (process_id)
	GROUP BY process_id, evaluates),
excess AS (
	SELECT process_id, evaluates, max(0, CAST(first_ns
		- first * coalesce(other_ns * 1.0 / other, 0) AS INTEGER)) AS ns
	FROM wait WHERE other > 0 OR starts > 1)
SELECT process_id, coalesce(sum(ns) FILTER (WHERE NOT evaluates), 0),
	coalesce(sum(ns) FILTER (WHERE evaluates), 0)
FROM excess
GROUP BY process_id;

-- v_wait_limit: ranks with steps whose wait is not known. loop_ns: from the first
-- step's start to the last one's end; marked_ns: the part of it in spans of the
-- threads that step which are no wait for a batch. The wait is in the rest.
-- unit: ns    empty: no row
-- source: ioreel-store(5), "Overlap"
CREATE VIEW v_wait_limit (process_id, loop_ns, marked_ns) AS
WITH loop AS (
	SELECT s.process_id, p.thread_id, min(s.start_ns) AS start_ns,
		max(s.start_ns + s.dur_ns) AS end_ns
	FROM step s JOIN span p USING (span_id)
	WHERE s.process_id IN (SELECT process_id FROM step
		WHERE fetch_ns IS NULL)
	GROUP BY s.process_id, p.thread_id)
SELECT l.process_id, l.end_ns - l.start_ns, union_ns(
	max(m.start_ns, l.start_ns),
	min(m.start_ns + m.dur_ns, l.end_ns) - max(m.start_ns, l.start_ns))
FROM loop l JOIN span m ON m.thread_id = l.thread_id
	AND m.start_ns < l.end_ns AND m.start_ns + m.dur_ns > l.start_ns
WHERE m.name IN ('compute', 'cpu_op', 'forward', 'backward', 'optimizer',
	'checkpoint', 'eval')
GROUP BY l.process_id;

-- v_step_read: bytes of data files that the threads that step read between the
-- begin of the rank's steady steps and their end, by calls or through mappings that
-- ended in it. outside_bytes: of these, outside of the thread's fetches,
-- evaluations and checkpoints. When the pages of a mapping were read is not known:
-- outside only if it began and ended between two of these.
-- unit: bytes    empty: no row without anchors
-- source: ioreel-store(5), "Steps"
CREATE VIEW v_step_read (process_id, read_bytes, outside_bytes) AS
WITH loop AS MATERIALIZED (
	SELECT s.process_id, p.thread_id, min(s.start_ns) AS start_ns,
		max(s.start_ns + s.dur_ns) AS end_ns
	FROM step s JOIN span p USING (span_id)
	WHERE s.steady
	GROUP BY s.process_id, p.thread_id),
moment (process_id, thread_id, at_ns, end_ns, bytes, path, maps) AS (
	SELECT l.process_id, l.thread_id, s.start_ns, s.start_ns + s.dur_ns, 0,
		NULL, NULL
	FROM loop l JOIN span s ON s.thread_id = l.thread_id
	WHERE s.name IN ('fetch', 'eval', 'checkpoint')
	UNION ALL
	SELECT l.process_id, l.thread_id, e.start_ns, NULL,
		iif(e.call_group = 'read', e.bytes, 0), e.path,
		CASE WHEN e.call = 'mmap' THEN 'begins'
			WHEN e.call = 'map_read' AND e.dur_ns = 0 THEN 'ends' END
	FROM loop l CROSS JOIN v_event e ON e.thread_id = l.thread_id
		AND e.start_ns >= l.start_ns AND e.start_ns < l.end_ns
	WHERE e.class = 'data'
		AND (e.call_group = 'read' AND e.bytes > 0 OR e.call = 'mmap')),
read AS (
	SELECT process_id, bytes, at_ns, maps, max(end_ns) OVER (
		PARTITION BY thread_id ORDER BY at_ns, end_ns IS NULL
		ROWS UNBOUNDED PRECEDING) AS free_ns,
		max(iif(maps = 'begins', at_ns, NULL)) OVER (
		PARTITION BY thread_id, path ORDER BY at_ns
		ROWS UNBOUNDED PRECEDING) AS mapped_ns
	FROM moment)
SELECT process_id, sum(bytes), coalesce(sum(bytes)
	FILTER (WHERE coalesce(at_ns >= free_ns, 1) AND (maps IS NOT 'ends'
		OR mapped_ns >= coalesce(free_ns, 0))), 0)
FROM read GROUP BY process_id;

-- v_step_write: ranks with steps whose wait is not known. loop_ns: of v_wait_limit;
-- write_ns: the part of it in which the threads that step write, sync or rename, outside
-- of their fetches, evaluations and checkpoints. That is no wait for a batch, and no
-- computation.
-- unit: ns    empty: no row
-- source: ioreel-store(5), "Steps"
CREATE VIEW v_step_write (process_id, loop_ns, write_ns) AS
WITH loop AS MATERIALIZED (
	SELECT s.process_id, p.thread_id, min(s.start_ns) AS start_ns,
		max(s.start_ns + s.dur_ns) AS end_ns
	FROM step s JOIN span p USING (span_id)
	WHERE s.process_id IN (SELECT process_id FROM v_wait_limit)
	GROUP BY s.process_id, p.thread_id),
part (process_id, start_ns, end_ns, marked) AS (
	SELECT l.process_id, max(s.start_ns, l.start_ns),
		min(s.start_ns + s.dur_ns, l.end_ns), 1
	FROM loop l JOIN span s ON s.thread_id = l.thread_id
	WHERE s.name IN ('fetch', 'eval', 'checkpoint')
	UNION ALL
	SELECT l.process_id, e.start_ns, min(e.start_ns + e.dur_ns, l.end_ns), 0
	FROM loop l CROSS JOIN v_event e ON e.thread_id = l.thread_id
		AND e.start_ns >= l.start_ns AND e.start_ns < l.end_ns
	WHERE e.dur_ns > 0 AND e.class IS NOT 'pipe'
		AND (e.call_group IN ('write', 'sync') OR e.call LIKE 'rename%'))
SELECT process_id, w.loop_ns, union_ns(start_ns, end_ns - start_ns) -
	coalesce(union_ns(start_ns, end_ns - start_ns) FILTER (WHERE marked), 0)
FROM part JOIN v_wait_limit w USING (process_id)
WHERE end_ns > start_ns
GROUP BY process_id;

-- v_epoch_wait: the waits of each rank in its first epoch and in those after it: the
-- share of fetches in the time of the known steps. A cache that the first one fills
-- leaves the others none.
-- unit: 0..1    empty: no row without steps; NULL, no later epoch or no known step
-- source: ioreel-store(5), "Overlap"
CREATE VIEW v_epoch_wait (process_id, epochs, first_share, later_share) AS
WITH marked AS MATERIALIZED (
	SELECT process_id, epoch_span, dur_ns, fetch_ns, epoch_span IS
		first_value(epoch_span) OVER (PARTITION BY process_id
			ORDER BY start_ns) AS first
	FROM step)
SELECT process_id, count(DISTINCT epoch_span),
	CAST(sum(fetch_ns) FILTER (WHERE first) AS REAL) / nullif(sum(dur_ns)
		FILTER (WHERE first AND fetch_ns IS NOT NULL), 0),
	CAST(sum(fetch_ns) FILTER (WHERE NOT first) AS REAL) / nullif(sum(dur_ns)
		FILTER (WHERE NOT first AND fetch_ns IS NOT NULL), 0)
FROM marked GROUP BY process_id;

-- v_rank: all that is known of each rank, with its loader workers. epochs: how
-- many epoch spans its steps began in. A rank that has evaluations and no step has
-- them as its loop. wait_most_share: where wait_share is not known, what it is at
-- most. worker_mapped_share: mapped_share of v_loader_workers. own_batch_ns: time
-- within fetches in which the process of the loop makes the batch itself.
-- busy_wait_ns: time of fetches in which kernels or copies run on the rank's GPUs, as
-- a profile has them. between_wait_ns: time of fetches in the loop, outside of steps
-- and evaluations. exposed_wait_share: wait_share without busy_wait_ns. headroom: not
-- of steps that take batches from several loaders, whose workers v_overlap has together.
-- unit: ns; shares 0..1; a factor    empty: no row without anchors; NULL, not
-- known
-- source: ioreel-store(5), "Overlap"
CREATE VIEW v_rank (rank, process_id, world, host, compute_source, steps,
	unknown_steps, steady_steps, epochs, loop_ns, loop_wait_ns, own_io_ns,
	steady_ns, steady_fetch_ns, steady_compute_ns, steady_own_io_ns,
	median_step_ns, median_fetch_ns, median_compute_ns, median_own_io_ns,
	median_other_ns, io_ns, hidden_ns, exposed_ns, fetch_ns, workers,
	min_workers, worker_restarts, hidden_share, computing_share, stall_share,
	wait_share, worker_busy_share, worker_io_share, headroom,
	worker_call_share, evaluations, evaluation_ns, evaluation_wait_ns,
	evaluation_loop_wait_ns, epoch_first_wait_ns,
	evaluation_first_wait_ns, wait_most_share, worker_mapped_share,
	own_batch_ns, busy_wait_ns, between_wait_ns, exposed_wait_share) AS
WITH busy (process_id, ns) AS (
	SELECT process_id, overlap_ns(start_ns, dur_ns, name <> 'fetch')
	FROM v_span
	WHERE name IN ('fetch', 'kernel', 'memcpy') AND process_id IN (
		SELECT process_id FROM v_overlap
		WHERE compute_source = 'GPU kernels')
	GROUP BY process_id),
loop AS (
SELECT o.rank AS rank, o.process_id, v.world, h.name, o.compute_source, o.steps,
	(SELECT coalesce(sum(s.steps), 0) FROM step s
		WHERE s.process_id = o.process_id AND s.fetch_ns IS NULL),
	o.steady_steps,
	(SELECT count(DISTINCT s.epoch_span) FROM step s
		WHERE s.process_id = o.process_id),
	iif(o.steps > 0, t.loop_ns, coalesce(t.loop_ns, e.sum_ns)) AS loop_ns,
	iif(o.steps > 0 OR t.loop_ns IS NOT NULL, t.loop_wait_ns, e.wait_ns)
		AS loop_wait_ns,
	iif(by_events, t.loop_own_io_ns, NULL), t.steady_known_ns,
	t.steady_fetch_ns, t.steady_compute_ns,
	iif(by_events, t.steady_own_io_ns, NULL),
	t.median_step_ns, t.median_fetch_ns, t.median_compute_ns,
	iif(by_events, t.median_own_io_ns, NULL), t.median_other_ns, o.io_ns,
	o.hidden_ns,
	o.exposed_ns, o.fetch_ns, coalesce(w.max_workers, o.workers),
	coalesce(w.min_workers, w.max_workers, o.workers),
	coalesce(w.worker_restarts, 0), o.hidden_share, o.computing_share,
	o.stall_share, iif(o.steps > 0 OR o.loop_ns IS NOT NULL, o.wait_share,
		CAST(e.wait_ns AS REAL) / nullif(e.sum_ns, 0)) AS wait_share,
	o.worker_busy_share, o.worker_io_share, CASE WHEN o.process_id NOT IN (
		SELECT process_id FROM v_step_loaders WHERE several)
		THEN o.headroom END, w.call_share,
	coalesce(e.evaluations, 0), e.sum_ns, e.wait_ns, e.loop_wait_ns,
	b.epoch_wait_ns, b.evaluation_wait_ns,
	1 - CAST(m.marked_ns AS REAL) / nullif(m.loop_ns, 0),
	w.mapped_share,
	(SELECT sum(b.dur_ns) FROM v_span b JOIN span f ON f.span_id = b.parent_id
		WHERE b.process_id = o.process_id AND b.name = 'preprocess'
			AND f.name = 'fetch'),
	y.ns AS busy_wait_ns,
	t.loop_wait_ns - coalesce(e.loop_wait_ns, 0) - (
		SELECT sum(fetch_ns) FROM step s
		WHERE s.process_id = o.process_id)
FROM v_overlap o CROSS JOIN v_measured
JOIN rank_time t USING (process_id)
LEFT JOIN v_wait_limit m USING (process_id)
LEFT JOIN v_loader_workers w USING (process_id)
LEFT JOIN v_evaluation e USING (process_id)
LEFT JOIN v_first_batches b USING (process_id)
LEFT JOIN v_world v USING (process_id)
LEFT JOIN process p USING (process_id)
LEFT JOIN host h USING (host_id)
LEFT JOIN busy y USING (process_id))
SELECT *, iif(busy_wait_ns > 0 AND loop_ns > 0 AND wait_share IS NOT NULL,
	CAST(max(0, loop_wait_ns - busy_wait_ns) AS REAL) / loop_ns, wait_share)
FROM loop ORDER BY 1, 2;
