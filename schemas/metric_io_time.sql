-- SPDX-License-Identifier: MIT
-- io_time: when calls on files were running. op: read, write, meta (all other
-- calls), io (any). union_ns counts a moment once, however
-- many calls ran in it; sum_ns adds the calls up. Of a process it is exact; of
-- the job a call that lasts longer than tens of thousands of others, apart from
-- each other, may be cut a little, for memory's sake: clipped.
-- unit: ns    empty: no row
-- source: ioreel-store(5), "Time": threads merged; pipes and sockets left out
CREATE TABLE io_time (
	process_id INTEGER,            -- NULL: the whole job; else op is io
	op TEXT NOT NULL,
	calls INTEGER NOT NULL,
	union_ns INTEGER NOT NULL,
	sum_ns INTEGER NOT NULL,
	first_ns INTEGER NOT NULL,     -- start of the first
	last_ns INTEGER NOT NULL,      -- end of the last
	clipped INTEGER NOT NULL,      -- calls of which a part may miss in union_ns
	clipped_ns INTEGER NOT NULL    -- at most so much misses
) STRICT;
CREATE INDEX io_time_process ON io_time (process_id, op);

-- v_io_time: I/O time of the job: the union over all processes, and for op io
-- the mean, least and most of the processes' own; concurrency is sum over union.
-- unit: ns    empty: no row; NULL
-- source: ioreel-store(5), "Time"
CREATE VIEW v_io_time (op, union_ns, sum_ns, concurrency, process_mean_ns,
	process_min_ns, process_max_ns, processes, first_ns, last_ns, clipped,
	clipped_ns) AS
SELECT j.op, j.union_ns, j.sum_ns,
	CAST(j.sum_ns AS REAL) / nullif(j.union_ns, 0),
	CAST(round(avg(p.union_ns)) AS INTEGER), min(p.union_ns), max(p.union_ns),
	count(p.op), j.first_ns, j.last_ns, j.clipped, j.clipped_ns
FROM io_time j
LEFT JOIN io_time p ON p.op = j.op AND p.process_id IS NOT NULL
WHERE j.process_id IS NULL
GROUP BY j.op;
