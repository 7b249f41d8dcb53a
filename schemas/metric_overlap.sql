-- SPDX-License-Identifier: MIT
-- step: each training step of each rank. A step is its span; time that several
-- share (nested loops, two threads) is the step's that began last; one in
-- another that fetches nothing is part of it. Time and bytes of calls are clipped
-- at its edges. fetch: waiting for a batch; compute: see
-- rank_time; other: the rest (checkpoints and evaluation inside a step); io:
-- union of the I/O of the rank's process tree; hidden: what of it ran while
-- the rank computed. Of a rank that never fetched nobody knows when it waited.
-- unit: ns, bytes    empty: no row without anchors; NULL, not measured
-- source: ioreel-store(5), "Steps"
CREATE TABLE step (
	span_id INTEGER PRIMARY KEY,
	rank INTEGER NOT NULL,
	process_id INTEGER NOT NULL,
	ordinal INTEGER NOT NULL,      -- from 1 in the rank
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
	epoch_span INTEGER             -- span_id of the epoch that it began in
) STRICT;

-- rank_time: each rank's time. Computation is what compute spans declare, else
-- steps less the fetches, checkpoints and evaluation of their thread; not known
-- without a fetch. Steady
-- steps are all but the rank's first. A worker is alive from its first batch to
-- its end (or that of the last step), busy while it makes a batch.
-- unit: ns    empty: no row without anchors; NULL without steady steps, or not
-- measured
-- source: ioreel-store(5), "Overlap"
CREATE TABLE rank_time (
	rank INTEGER NOT NULL,
	process_id INTEGER PRIMARY KEY,
	compute_source TEXT,           -- compute spans, step minus fetch; NULL: none
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
	worker_union_ns INTEGER NOT NULL  -- any worker alive
) STRICT;

-- v_step: the steps, with the share of their I/O that was hidden.
-- unit: ns, bytes; share 0..1    empty: NULL, when the step saw no I/O
-- source: ioreel-store(5), "Steps"
CREATE VIEW v_step (rank, ordinal, epoch, number, steady, start_ns, dur_ns,
	fetch_ns, compute_ns, other_ns, io_ns, hidden_ns, hidden_share,
	read_bytes, write_bytes, span_id) AS
SELECT rank, ordinal, epoch, number, steady, start_ns, dur_ns, fetch_ns,
	compute_ns, other_ns, io_ns, hidden_ns,
	CAST(hidden_ns AS REAL) / nullif(io_ns, 0), read_bytes, write_bytes,
	span_id
FROM step;

-- v_epoch: sums over the steps of each epoch span; first_fetch_ns: the wait for
-- the epoch's first batch.
-- unit: ns, bytes    empty: no row
-- source: ioreel-store(5), "Steps"
CREATE VIEW v_epoch (rank, epoch, steps, start_ns, end_ns, step_ns, fetch_ns,
	compute_ns, other_ns, io_ns, hidden_ns, hidden_share, read_bytes,
	write_bytes, first_fetch_ns) AS
SELECT rank, epoch, count(*), min(start_ns), max(start_ns + dur_ns),
	sum(dur_ns), sum(fetch_ns), sum(compute_ns), sum(other_ns), sum(io_ns),
	sum(hidden_ns), CAST(sum(hidden_ns) AS REAL) / nullif(sum(io_ns), 0),
	sum(read_bytes), sum(write_bytes),
	sum(fetch_ns) FILTER (WHERE first)
FROM (SELECT *, row_number() OVER (PARTITION BY process_id, epoch_span
		ORDER BY ordinal) = 1 AS first
	FROM step)
GROUP BY rank, epoch_span;

-- v_overlap: each rank's overlap of I/O with computation.
-- hidden_share = |I and C| / |I|; exposed_ns = |I without C|;
-- utilisation (AU) = |C| / wall of the steady steps; stall_share = fetch / wall
-- of the steady steps; workers = how many were alive at a time;
-- headroom = supply / demand: batches per second that the workers make when
-- always busy, over those that the rank takes when it never waits. Below 1 the
-- workers cannot follow even now.
-- unit: ns; shares 0..1; a factor    empty: NULL, nothing measured
-- source: ioreel-store(5), "Overlap"
CREATE VIEW v_overlap (rank, process_id, compute_source, steps, steady_steps,
	io_ns, hidden_ns, exposed_ns, hidden_share, fetch_ns, compute_ns,
	utilisation, stall_share, workers, worker_busy_share, worker_io_share,
	headroom) AS
SELECT rank, process_id, compute_source, steps, steady_steps, io_ns,
	CASE WHEN compute_source IS NOT NULL THEN hidden_ns END,
	CASE WHEN compute_source IS NOT NULL THEN io_ns - hidden_ns END,
	CASE WHEN compute_source IS NOT NULL
		THEN CAST(hidden_ns AS REAL) / nullif(io_ns, 0) END,
	fetch_ns,
	CASE WHEN compute_source IS NOT NULL THEN compute_ns END,
	CAST(steady_compute_ns AS REAL) / nullif(steady_ns, 0),
	CAST(steady_fetch_ns AS REAL) / nullif(steady_ns, 0),
	CAST(round(worker_alive_ns * 1.0 / nullif(worker_union_ns, 0)) AS INTEGER),
	CAST(worker_busy_ns AS REAL) / nullif(worker_alive_ns, 0),
	CAST(worker_io_ns AS REAL) / nullif(worker_busy_ns, 0),
	(worker_batches * 1.0 / nullif(worker_busy_ns, 0))
		* (worker_alive_ns * 1.0 / nullif(worker_union_ns, 0))
		* (steady_ns - steady_fetch_ns) / nullif(steady_steps, 0)
FROM rank_time;
