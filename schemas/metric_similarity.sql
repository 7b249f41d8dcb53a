-- SPDX-License-Identifier: MIT
-- thread_sequence: a hash that is equal for two threads that made the same
-- calls in the same order with the same outcome, at any times. Calls on files,
-- messages (pipes and sockets) and calls of a higher layer (MPI-IO, submitting
-- and awaiting asynchronous operations) have a hash each. higher_hash also
-- covers the files that were read or written through mappings, in no order.
-- unit: none    empty: no row for a thread without calls
-- source: ioreel-store(5), "Call sequences"
CREATE TABLE thread_sequence (
	thread_id INTEGER PRIMARY KEY,
	calls INTEGER NOT NULL,
	hash INTEGER NOT NULL,
	message_calls INTEGER NOT NULL,
	message_hash INTEGER NOT NULL,
	higher_calls INTEGER NOT NULL,
	higher_hash INTEGER NOT NULL
) STRICT;

-- v_thread_index: the threads with I/O calls, numbered by a walk down the
-- process tree: children in the order of their start, threads of a process
-- likewise. The thread of the same thread_index in another run of the job is
-- its counterpart.
-- unit: none    empty: no row
-- source: ioreel-store(5), "Call sequences"
CREATE VIEW v_thread_index (thread_index, thread_id, process_id, hash, calls,
	higher_hash, higher_calls) AS
WITH RECURSIVE
walk(process_id, at, depth) AS (
	SELECT process_id, printf('%020d.%010d', start_ns, process_id), 0
	FROM process WHERE parent_id IS NULL
	UNION ALL
	SELECT p.process_id, w.at || '/' || printf('%020d.%010d',
		coalesce(p.fork_ns, p.start_ns), p.process_id), w.depth + 1
	FROM walk w JOIN process p ON p.parent_id = w.process_id
	WHERE w.depth < 200),
io AS (
	SELECT t.process_id, t.thread_id, t.start_ns, s.hash, s.calls,
		s.higher_hash, s.higher_calls
	FROM thread_sequence s JOIN thread t USING (thread_id)
	WHERE s.calls + s.higher_calls > 0)
SELECT dense_rank() OVER (ORDER BY w.at) * 1000000 + row_number() OVER
		(PARTITION BY w.at ORDER BY io.start_ns, io.thread_id),
	io.thread_id, io.process_id, io.hash, io.calls, io.higher_hash,
	io.higher_calls
FROM io JOIN walk w USING (process_id);

-- v_replayed_thread: the threads of a replay with the thread of the recorded run
-- that each one replays.
-- unit: none    empty: no row, when the run is no replay
-- source: ioreel-replay(1)
CREATE VIEW v_replayed_thread (recorded_thread_id, thread_id, hash, calls,
	higher_hash, higher_calls) AS
SELECT CAST(n.value AS INTEGER), s.thread_id, s.hash, s.calls, s.higher_hash,
	s.higher_calls
FROM thread_sequence s
JOIN note n ON n.thread_id = s.thread_id AND n.key = 'replay.thread'
WHERE s.calls > 0
ORDER BY CAST(n.value AS INTEGER), s.thread_id;

-- v_call_count: calls on files by call. higher_layer: 1, of MPI-IO or of queues of
-- asynchronous operations, which a replay does not make.
-- unit: calls    empty: no row
-- source: ioreel-store(5), "Likeness"
CREATE VIEW v_call_count (call_id, calls, higher_layer, call) AS
SELECT i.call_id, i.calls, c.higher_layer, c.name
FROM call_io i JOIN call c USING (call_id)
WHERE i.message = 0;

-- v_similarity_vector: the factors that "ioreel compare" puts into the cosine
-- of the DLIO paper, in its order. "sequential" and "consecutive" are Darshan's
-- SEQ and CONSEC over all reads and writes, as in the paper. Bytes and files
-- come from v_summary, sizes and bandwidth from single calls; where a log has only
-- counters, the mean size is its bytes / calls. known: 0, the run has it and its
-- source does not tell it; 1 with a NULL, the run has nothing of it.
-- unit: as the row says    empty: NULL, the factor is left out
-- source: DLIO (CCGrid 2021), V.B; ioreel-store(5), "Likeness"
CREATE VIEW v_similarity_vector (ordinal, name, unit, value, known) AS
WITH factor (ordinal, name, unit, value) AS (
SELECT 1, 'I/O time', 'ns',
	(SELECT io_ns FROM v_summary)
UNION ALL SELECT 2, 'bytes read', 'B',
	(SELECT read_bytes FROM v_summary)
UNION ALL SELECT 3, 'bytes written', 'B',
	(SELECT write_bytes FROM v_summary)
UNION ALL SELECT 4, 'transfer size, min', 'B',
	(SELECT min_bytes FROM transfer_size WHERE op = 'all')
UNION ALL SELECT 5, 'transfer size, max', 'B',
	(SELECT max_bytes FROM transfer_size WHERE op = 'all')
UNION ALL SELECT 6, 'transfer size, mean', 'B',
	coalesce((SELECT 1.0 * bytes / nullif(calls, 0) FROM transfer_size
			WHERE op = 'all'),
		(SELECT 1.0 * (read_bytes + write_bytes)
				/ nullif(read_calls + write_calls, 0)
			FROM v_summary, v_measured WHERE by_counters))
UNION ALL SELECT 7, 'transfer size, median', 'B',
	(SELECT median_bytes FROM transfer_size WHERE op = 'all')
UNION ALL SELECT 8, 'bandwidth per call, mean', 'B/s',
	(SELECT mean_bytes_per_s FROM call_bandwidth WHERE op = 'all')
UNION ALL SELECT 9, 'bandwidth per call, median', 'B/s',
	(SELECT median_bytes_per_s FROM call_bandwidth WHERE op = 'all')
UNION ALL SELECT 10, 'sequential', '%',
	coalesce((SELECT 100.0 * sum(seq) / sum(ops) FROM darshan_sequence),
		(SELECT 100.0 * seq / nullif(posix_calls, 0)
			FROM v_counter_total, v_measured WHERE by_counters))
UNION ALL SELECT 11, 'consecutive', '%',
	coalesce((SELECT 100.0 * sum(consec) / sum(ops) FROM darshan_sequence),
		(SELECT 100.0 * consec / nullif(posix_calls, 0)
			FROM v_counter_total, v_measured WHERE by_counters))
UNION ALL SELECT 12, 'files', '',
	(SELECT files FROM v_summary))
SELECT ordinal, factor.name, unit, value, value IS NOT NULL
	OR coalesce(iif(ordinal = 1, read_calls + write_calls + meta_calls,
		read_bytes + write_bytes - coalesce(mapped_bytes, 0)), 1) <= 0
FROM factor, v_summary;
