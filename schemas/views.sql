-- SPDX-License-Identifier: MIT
-- The public views of the dimensions. They are an interface: columns are added
-- at the end, never renamed.

-- v_event: every recorded call, times in ns since the job's first event. offset
-- is NULL where it is not known or the call has none; asked is NULL where the
-- call has no size; bytes is the number that a read or write moved (0 at EOF,
-- NULL on error or for other calls); errno is 0 where the call succeeded, and -1
-- where it failed and its source has no errno.
CREATE VIEW v_event (start_ns, dur_ns, pid, tid, call, layer, path, fd, open_id,
	offset, asked, bytes, result, errno, call_group, class, kind, path2, arg,
	calls, process_id, thread_id) AS
SELECT start_ns, dur_ns, event_pid, event_tid, event_call, event_layer, event_path,
	fd, open_id, offset, asked, bytes, result, errno, event_call_group,
	event_class, event_kind, event_path2, arg, calls, process_id, thread_id
FROM event;

-- v_span: the anchors, with their process.
CREATE VIEW v_span (start_ns, dur_ns, pid, tid, name, detail, span_id, parent_id,
	process_id, thread_id, closed) AS
SELECT s.start_ns, s.dur_ns, p.pid, t.tid, s.name, s.detail, s.span_id,
	s.parent_id, t.process_id, s.thread_id, s.closed
FROM span s
JOIN thread t ON t.thread_id = s.thread_id
JOIN process p ON p.process_id = t.process_id;

-- v_world: the MPI world of a process, numbered from 1 in the order of their
-- starts, and its rank in it. A world that was spawned, or that a second mpirun
-- made, has ranks of the same numbers. Processes that a rank forked belong to
-- its world. Worlds are distinguished by their size, as launchers give them no
-- names, and worlds of one size by the order of the processes with the same
-- rank.
CREATE VIEW v_world (process_id, world, rank, ranks) AS
WITH RECURSIVE noted AS (
	SELECT n.process_id, p.rank, n.value, row_number() OVER (
		PARTITION BY n.value, p.rank ORDER BY n.process_id) AS turn
	FROM note n JOIN process p ON p.process_id = n.process_id
	WHERE n.key = 'mpi_world' AND p.rank IS NOT NULL
	GROUP BY n.process_id),
began AS (
	SELECT *, min(process_id) OVER (PARTITION BY value, turn) AS first
	FROM noted),
member (process_id, world, rank, ranks) AS (
	SELECT process_id, dense_rank() OVER (ORDER BY first), rank,
		CAST(value AS INTEGER)
	FROM began
	UNION ALL
	SELECT p.process_id, m.world, m.rank, m.ranks
	FROM member m JOIN process p ON p.parent_id = m.process_id
	WHERE p.process_id NOT IN (SELECT process_id FROM noted))
SELECT process_id, world, rank, ranks FROM member;
