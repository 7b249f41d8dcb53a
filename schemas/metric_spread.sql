-- SPDX-License-Identifier: MIT
-- v_spread: how evenly I/O is divided over the processes of a rank group. A
-- group has the processes of an MPI world (NULL: none) with the same role: the
-- ranks themselves, or their loader workers. Imports without events have no
-- calls and times of processes.
--   figure      io_ns: union of the calls of the process; sum_ns: sum of their
--               durations; reads, writes, meta_calls, read_bytes, write_bytes,
--               files
--   most_pid    a process with the largest value
--   imbalance   max over mean: 1 is even, the number of processes is one alone
-- unit: as column unit says    empty: no row; NULL, when all are 0, or no call has
-- a duration
-- source: ioreel-store(5), "Spread"
CREATE VIEW v_spread (world, role, figure, unit, processes, mean, min, max,
	most_pid, imbalance) AS
WITH one AS MATERIALIZED (
	SELECT v.*, w.world, coalesce(t.union_ns, 0) AS io_ns,
		v.reads + v.writes + coalesce(v.meta_calls, 0) > 0 AS calls
	FROM v_process v
	LEFT JOIN io_time t ON t.process_id = v.process_id AND t.op = 'io'
	LEFT JOIN v_world w ON w.process_id = v.process_id
	WHERE (SELECT events > 0 AND by_events FROM run, v_measured)),
figure (ordinal, world, role, figure, unit, pid, value) AS (
	SELECT 1, world, role, 'io_ns', 'ns', pid,
		CASE WHEN calls THEN nullif(io_ns, 0) ELSE 0 END FROM one
	UNION ALL SELECT 2, world, role, 'sum_ns', 'ns', pid,
		CASE WHEN calls THEN nullif(sum_ns, 0) ELSE 0 END FROM one
	UNION ALL SELECT 3, world, role, 'reads', 'calls', pid, reads FROM one
	UNION ALL SELECT 4, world, role, 'writes', 'calls', pid, writes FROM one
	UNION ALL SELECT 5, world, role, 'meta_calls', 'calls', pid, meta_calls
		FROM one
	UNION ALL SELECT 6, world, role, 'read_bytes', 'B', pid, read_bytes
		FROM one
	UNION ALL SELECT 7, world, role, 'write_bytes', 'B', pid, write_bytes
		FROM one
	UNION ALL SELECT 8, world, role, 'files', 'files', pid, files FROM one)
SELECT world, role, figure, unit, count(*), avg(value), min(value),
	max(value), (SELECT f.pid FROM figure f
		WHERE f.world IS g.world AND f.role = g.role
			AND f.figure = g.figure AND f.value NOT NULL
		ORDER BY f.value DESC, f.pid LIMIT 1),
	max(value) / nullif(avg(value), 0)
FROM figure g
GROUP BY world, role, ordinal
ORDER BY world, role, ordinal;
