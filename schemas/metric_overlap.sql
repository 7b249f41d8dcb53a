-- SPDX-License-Identifier: MIT
-- step: each training step of each rank. A step is its span. Time that several
-- steps share (nested loops, two threads) belongs to the step that began last;
-- a step within another that fetches nothing is part of it. Time and bytes of
-- calls are clipped at the edges of the step.
--   fetch     waiting for a batch
--   own_io    calls on files by the thread that steps, outside of its fetches,
--             checkpoints and evaluation
--   compute   see rank_time
--   other     the rest: checkpoints and evaluation inside a step
--   io        union of the I/O of the rank's process tree
--   hidden    the part of io during the rank's computation
-- A step is known when a fetch of its process overlaps it, or began after the
-- step before it in its epoch, or when compute spans are declared in it (then
-- its computation is known, its fetch perhaps not). Other steps are unknown: a
-- framework may fetch inside its graph.
-- unit: ns, bytes    empty: no row without anchors; NULL, not measured
-- source: ioreel-store(5), "Steps"
CREATE TABLE step (
	span_id INTEGER PRIMARY KEY,
	rank INTEGER NOT NULL,
	process_id INTEGER NOT NULL,
	ordinal INTEGER NOT NULL,      -- from 1 in the rank: number of its first step
	epoch INTEGER,                 -- as declared
	number INTEGER,                -- as declared
	steady INTEGER NOT NULL,       -- 0: the first step of the rank
	start_ns INTEGER NOT NULL,
	dur_ns INTEGER NOT NULL,
	fetch_ns INTEGER,
	compute_ns INTEGER,
	other_ns INTEGER,
	io_ns INTEGER NOT NULL,
	hidden_ns INTEGER,
	read_bytes INTEGER NOT NULL,
	write_bytes INTEGER NOT NULL,
	epoch_span INTEGER,            -- span_id of the epoch that it began in
	own_io_ns INTEGER,
	steps INTEGER NOT NULL         -- steps that the row stands for
) STRICT;

-- rank_time: the time of each rank. Computation is the union of the kernels and
-- copies of its GPUs, as an imported profile has them. Else it is the union of
-- compute spans, or of the known steps without the fetches, checkpoints and
-- evaluation of their thread; in both cases without the calls on files by the
-- thread that steps. Steady steps are all but the rank's first. Sums and
-- medians of fetch, computation, own I/O and the rest are over known steps. The
-- loop is the time from the first fetch, or the first step if that is earlier,
-- to the end of the last step. A worker is alive from its first batch to its
-- end (or the end of the last step), and busy while it makes a batch; those of
-- table evaluation_worker do not count.
-- unit: ns    empty: no row without anchors; NULL without known (steady) steps
-- source: ioreel-store(5), "Overlap"
CREATE TABLE rank_time (
	rank INTEGER NOT NULL,
	process_id INTEGER PRIMARY KEY,
	compute_source TEXT,           -- "GPU kernels", "compute spans",
	                               -- "step minus fetch"; NULL: none
	steps INTEGER NOT NULL,
	steady_steps INTEGER NOT NULL,
	steady_ns INTEGER NOT NULL,    -- sums over steady steps
	steady_fetch_ns INTEGER,
	steady_compute_ns INTEGER,
	median_step_ns INTEGER,        -- over steady steps
	median_fetch_ns INTEGER,
	median_compute_ns INTEGER,
	median_other_ns INTEGER,
	fetch_ns INTEGER,              -- data stall: union of all fetches
	compute_ns INTEGER,
	io_ns INTEGER NOT NULL,        -- union over the rank's process tree
	hidden_ns INTEGER,
	worker_processes INTEGER NOT NULL,
	worker_batches INTEGER NOT NULL,
	worker_busy_ns INTEGER NOT NULL,  -- sums over workers
	worker_io_ns INTEGER NOT NULL,    -- while busy
	worker_alive_ns INTEGER NOT NULL,
	worker_union_ns INTEGER NOT NULL, -- any worker alive
	unknown_steps INTEGER NOT NULL,
	own_io_ns INTEGER,             -- sum over the known steps
	steady_own_io_ns INTEGER,
	median_own_io_ns INTEGER,
	loop_ns INTEGER,
	loop_wait_ns INTEGER,          -- of loop_ns: union of the fetches
	steady_known_ns INTEGER,       -- sum over the known steady steps
	steady_known_steps INTEGER NOT NULL,
	steps_ns INTEGER NOT NULL,        -- sum over all steps
	unknown_wait_ns INTEGER NOT NULL, -- of steps_ns: in steps of unknown fetch
	unknown_io_ns INTEGER NOT NULL,   -- of io_ns: in steps of unknown computation
	loop_own_io_ns INTEGER         -- own I/O in the loop, between steps too
) STRICT;

-- evaluation_worker: loader workers of the evaluations of a rank that trains: they
-- make their first batch in one, or most of them. An evaluation begins or ends
-- before a batch that begins at the same time. process_id: of the rank.
-- unit: none    empty: no row
-- source: ioreel-report(1), "loader workers"
CREATE TABLE evaluation_worker (
	worker INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL
) STRICT;

-- storage_wait: one row, the whole job. storage_ns: union of the calls that
-- read from storage or waited for readahead (see storage). exposed_ns: the part
-- of it outside of the computation of the rank and outside of its unknown
-- steps. reads, bytes, read_ns: calls that overlap the exposed part, the bytes
-- that they fetched, their time.
-- unit: ns, bytes    empty: no row, when no call fetched
-- source: ioreel-store(5), "Storage"
CREATE TABLE storage_wait (
	storage_ns INTEGER NOT NULL,
	exposed_ns INTEGER NOT NULL,
	reads INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	read_ns INTEGER NOT NULL       -- sum
) STRICT;

-- v_storage_wait: storage_wait with the job's wall time.
-- unit: ns, bytes    empty: no row, when no call fetched
-- source: ioreel-store(5), "Storage"
CREATE VIEW v_storage_wait (storage_ns, exposed_ns, reads, bytes, read_ns,
	wall_ns) AS
SELECT s.storage_ns, s.exposed_ns, s.reads, s.bytes, s.read_ns,
	coalesce(r.wall_ns, r.span_ns)
FROM storage_wait s JOIN run r;

-- v_step: the steps, with the hidden share of their I/O.
-- unit: ns, bytes; share 0..1    empty: NULL share, when the step saw no I/O, or an
-- import left calls out; NULL I/O, of an import without calls
-- source: ioreel-store(5), "Steps"
CREATE VIEW v_step (rank, ordinal, epoch, number, steady, start_ns, dur_ns,
	fetch_ns, compute_ns, other_ns, io_ns, hidden_ns, hidden_share,
	read_bytes, write_bytes, span_id, own_io_ns, steps) AS
SELECT rank, ordinal, epoch, number, steady, start_ns, dur_ns, fetch_ns,
	compute_ns, other_ns, iif(by_events, io_ns, NULL),
	iif(by_events, hidden_ns, NULL),
	iif(whole, CAST(hidden_ns AS REAL) / nullif(io_ns, 0), NULL),
	iif(by_events, read_bytes, NULL), iif(by_events, write_bytes, NULL),
	span_id, iif(by_events, own_io_ns, NULL), steps
FROM step CROSS JOIN v_measured;

-- v_epoch: sums over the steps of each epoch span, of waits and computation
-- over the known steps. first_fetch_ns: the wait for the epoch's first batch.
-- unit: ns, bytes    empty: no row; NULL, when all steps are unknown; NULL I/O, of
-- an import without calls
-- source: ioreel-store(5), "Steps"
CREATE VIEW v_epoch (rank, epoch, steps, start_ns, end_ns, step_ns, fetch_ns,
	compute_ns, other_ns, io_ns, hidden_ns, hidden_share, read_bytes,
	write_bytes, first_fetch_ns, unknown_steps) AS
SELECT rank, epoch, sum(steps), min(start_ns), max(start_ns + dur_ns),
	sum(dur_ns), sum(fetch_ns), sum(compute_ns), sum(other_ns), sum(io_ns),
	sum(hidden_ns), CAST(sum(hidden_ns)
		FILTER (WHERE (SELECT whole FROM v_measured)) AS REAL)
		/ nullif(sum(io_ns) FILTER (WHERE hidden_ns IS NOT NULL), 0),
	sum(read_bytes), sum(write_bytes),
	sum(fetch_ns) FILTER (WHERE first AND steps = 1),
	coalesce(sum(steps) FILTER (WHERE fetch_ns IS NULL
		AND compute_ns IS NULL), 0)
FROM (SELECT v.*, s.process_id, s.epoch_span,
		row_number() OVER (PARTITION BY s.process_id, s.epoch_span
			ORDER BY s.ordinal) = 1 AS first
	FROM step s JOIN v_step v USING (span_id))
GROUP BY rank, epoch_span;

-- v_overlap: each rank's overlap of I/O with computation. C is its computation,
-- I its I/O outside of unknown steps.
--   hidden_share      |I and C| / |I|; NULL when an import left calls out
--   exposed_ns        |I without C|
--   computing_share   |C| / time of the known steady steps
--   stall_share       fetch / time of the known steady steps
--   workers           workers alive at a time, the mean
--   headroom          supply / demand: batches per second that the workers make
--                     when always busy, over the batches per second that the rank
--                     takes when it never waits. Below 1 the workers cannot keep up.
--                     Workers of several loaders are counted together
--   wait_share        fetch / time from the first fetch to the end of the last
--                     step; NULL when the wait is unknown for more than 5 % of the
--                     steps' time
-- unit: ns; shares 0..1; a factor    empty: NULL, nothing measured
-- source: ioreel-store(5), "Overlap"
CREATE VIEW v_overlap (rank, process_id, compute_source, steps, steady_steps,
	io_ns, hidden_ns, exposed_ns, hidden_share, fetch_ns, compute_ns,
	computing_share, stall_share, workers, worker_busy_share,
	worker_io_share, headroom, unknown_steps, own_io_ns, loop_ns,
	wait_share) AS
SELECT rank, process_id, compute_source, steps, steady_steps,
	iif(by_events, io_ns, NULL), iif(by_events, hidden_ns, NULL),
	CASE WHEN by_events AND hidden_ns IS NOT NULL
		THEN io_ns - unknown_io_ns - hidden_ns END,
	iif(whole, CAST(hidden_ns AS REAL) / nullif(io_ns - unknown_io_ns, 0), NULL),
	fetch_ns, compute_ns,
	CAST(steady_compute_ns AS REAL) / nullif(steady_known_ns, 0),
	CAST(steady_fetch_ns AS REAL) / nullif(steady_known_ns, 0),
	CAST(round(worker_alive_ns * 1.0 / nullif(worker_union_ns, 0)) AS INTEGER),
	CAST(worker_busy_ns AS REAL) / nullif(worker_alive_ns, 0),
	iif(by_events, CAST(worker_io_ns AS REAL) / nullif(worker_busy_ns, 0),
		NULL),
	(worker_batches * 1.0 / nullif(worker_busy_ns, 0))
		* (worker_alive_ns * 1.0 / nullif(worker_union_ns, 0))
		* (steady_known_ns - steady_fetch_ns)
		/ nullif(steady_known_steps, 0),
	unknown_steps, iif(by_events, own_io_ns, NULL), loop_ns,
	CASE WHEN unknown_wait_ns <= 0.05 * steps_ns
		THEN CAST(loop_wait_ns AS REAL) / nullif(loop_ns, 0) END
FROM rank_time CROSS JOIN v_measured;

-- v_evaluation_fetch: the fetches in the evaluations of each rank, which are loops
-- without training (inference too). A fetch of any thread belongs to the evaluation
-- that began last before it. number: of the evaluation in the process, from 1;
-- in_loop: it began before the end of the last step; NULL, no step.
-- unit: ns    empty: no row
-- source: ioreel-store(5), "Overlap"
CREATE VIEW v_evaluation_fetch (process_id, number, start_ns, dur_ns, in_loop) AS
WITH eval AS MATERIALIZED (
	SELECT process_id, start_ns, dur_ns FROM v_span WHERE name = 'eval'
		AND process_id IN (SELECT process_id FROM rank_time)),
moment (process_id, at_ns, change, dur_ns) AS (
	SELECT process_id, start_ns, 1, 0 FROM eval
	UNION ALL SELECT process_id, start_ns + dur_ns, -1, 0 FROM eval
	UNION ALL SELECT process_id, start_ns, 0, dur_ns FROM v_span
	WHERE name = 'fetch' AND process_id IN (SELECT process_id FROM eval)),
sofar AS (
	SELECT *, sum(change) OVER one AS running,
		count(*) FILTER (WHERE change = 1) OVER one AS number
	FROM moment
	WINDOW one AS (PARTITION BY process_id ORDER BY at_ns, change DESC
		ROWS UNBOUNDED PRECEDING)),
trained AS MATERIALIZED (
	SELECT process_id, max(start_ns + dur_ns) AS end_ns FROM step
	GROUP BY process_id)
SELECT s.process_id, s.number, s.at_ns, s.dur_ns,
	CASE WHEN t.end_ns > 0 THEN s.at_ns < t.end_ns END
FROM sofar s LEFT JOIN trained t USING (process_id)
WHERE s.change = 0 AND s.running > 0;

-- v_evaluation: the evaluations of each rank, as far as they fetched batches.
-- sum_ns: their union; wait_ns: the union of the fetches; loop_wait_ns: of
-- evaluations that fetched before the end of the last step.
-- unit: ns    empty: no row; NULL, no step
-- source: ioreel-store(5), "Overlap"
CREATE VIEW v_evaluation (rank, process_id, evaluations, sum_ns, wait_ns,
	loop_wait_ns) AS
WITH eval AS MATERIALIZED (
	SELECT process_id, start_ns, dur_ns, row_number() OVER (
			PARTITION BY process_id ORDER BY start_ns) AS number
	FROM v_span WHERE name = 'eval'
		AND process_id IN (SELECT process_id FROM rank_time)),
fetched AS MATERIALIZED (
	SELECT process_id, number, union_ns(start_ns, dur_ns) AS wait_ns,
		CASE max(in_loop) WHEN 1 THEN union_ns(start_ns, dur_ns)
			WHEN 0 THEN 0 END AS loop_wait_ns
	FROM v_evaluation_fetch
	GROUP BY process_id, number)
SELECT r.rank, process_id, count(*), union_ns(e.start_ns, e.dur_ns),
	sum(f.wait_ns), sum(f.loop_wait_ns)
FROM eval e
JOIN fetched f USING (process_id, number)
JOIN rank_time r USING (process_id)
GROUP BY process_id;
