-- SPDX-License-Identifier: MIT
-- io_time: time of calls on files. op: read, write, meta (all other calls), io
-- (any). union_ns is the union of the calls' intervals, sum_ns the sum of their
-- durations: a copy is a read and a write, and io counts its time once. The
-- union of a process is exact. The union of the job may lack a part of a call
-- that lasts longer than tens of thousands of disjoint others, as memory is
-- bounded: clipped counts such calls.
-- unit: ns    empty: no row
-- source: ioreel-store(5), "Time": threads merged; pipes and sockets left out
CREATE TABLE io_time (
	process_id INTEGER,            -- NULL: the whole job; of a process only op io
	op TEXT NOT NULL,
	calls INTEGER NOT NULL,
	union_ns INTEGER NOT NULL,
	sum_ns INTEGER NOT NULL,
	first_ns INTEGER NOT NULL,     -- start of the first call
	last_ns INTEGER NOT NULL,      -- end of the last call
	clipped INTEGER NOT NULL,      -- calls whose time may be incomplete in union_ns
	clipped_ns INTEGER NOT NULL    -- upper bound of the missing time
) STRICT;
CREATE INDEX io_time_process ON io_time (process_id, op);

-- v_io_time: I/O time of the job: the union over all processes, and for op io
-- the mean, least and most union of a process. concurrency: sum over union. Calls
-- without a duration, as some imports have them, take no time: NULL where no call
-- has one.
-- unit: ns    empty: no row; NULL
-- source: ioreel-store(5), "Time"
CREATE VIEW v_io_time (op, union_ns, sum_ns, concurrency, process_mean_ns,
	process_min_ns, process_max_ns, processes, first_ns, last_ns, clipped,
	clipped_ns) AS
SELECT j.op, nullif(j.union_ns, 0), nullif(j.sum_ns, 0),
	CAST(j.sum_ns AS REAL) / nullif(j.union_ns, 0),
	CAST(round(avg(nullif(p.union_ns, 0))) AS INTEGER),
	min(nullif(p.union_ns, 0)), max(nullif(p.union_ns, 0)),
	count(p.op), j.first_ns, j.last_ns, j.clipped, j.clipped_ns
FROM io_time j
LEFT JOIN io_time p ON p.op = j.op AND p.process_id IS NOT NULL
WHERE j.process_id IS NULL
GROUP BY j.op;

-- v_rank_io_time: I/O time of the ranks: of each the longest union of a process of
-- it. Ranks of different MPI worlds are different ranks.
-- unit: ns    empty: ranks 0 and NULL
-- source: ioreel-store(5), "Time"
CREATE VIEW v_rank_io_time (ranks, mean_ns, max_ns, sum_ns) AS
SELECT count(*), CAST(round(avg(ns)) AS INTEGER), max(ns), sum(ns)
FROM (SELECT coalesce(max(t.union_ns), 0) AS ns FROM process p
	LEFT JOIN v_world w USING (process_id)
	LEFT JOIN io_time t ON t.process_id = p.process_id AND t.op = 'io'
	WHERE p.rank IS NOT NULL AND p.launcher IS NULL
	GROUP BY w.world, p.rank);
