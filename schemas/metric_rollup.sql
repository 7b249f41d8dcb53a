-- SPDX-License-Identifier: MIT
-- rollup: sums over the job's calls by process, call and size. They are not by
-- file, as a job with many small files would have a row for every three calls:
-- file_io has the sums of each file.
-- Calls that failed, and reads at the end of a file (0 bytes), are in rows with
-- size_bin NULL.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE TABLE rollup (
	process_id INTEGER NOT NULL,
	call_id INTEGER NOT NULL,
	size_bin INTEGER,              -- b: 2^b <= bytes per call < 2^(b+1); NULL: moved nothing
	message INTEGER NOT NULL,      -- 1: on a pipe or socket, not I/O
	calls INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	dur_ns INTEGER NOT NULL,       -- sum, not union
	errors INTEGER NOT NULL,
	eof_reads INTEGER NOT NULL
) STRICT;

-- process_io: how many files each process opened, read, wrote or mapped, as
-- v_summary counts files.
-- unit: files    empty: no row for a process without files
-- source: ioreel-store(5), "Operations"
CREATE TABLE process_io (
	process_id INTEGER PRIMARY KEY,
	files INTEGER NOT NULL
) STRICT;

-- call_io: sums by call. asked_bytes: of calls that succeeded, at most 2^57; mmap asks for
-- its length.
CREATE TABLE call_io (
	call_id INTEGER NOT NULL,
	message INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	asked_bytes INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	dur_ns INTEGER NOT NULL,
	errors INTEGER NOT NULL,
	eof_reads INTEGER NOT NULL,
	PRIMARY KEY (call_id, message)
) STRICT, WITHOUT ROWID;

-- v_call: call_io with the names of calls; rows with message = 1 are not I/O.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_call (layer, call_group, call, message, calls, asked_bytes, bytes,
	dur_ns, errors, eof_reads, call_id, higher_layer) AS
SELECT c.layer, c.call_group, c.name, i.message, i.calls, i.asked_bytes,
	i.bytes, i.dur_ns, i.errors, i.eof_reads, i.call_id, c.higher_layer
FROM call_io i JOIN call c USING (call_id);

-- v_mpiio: reads and writes of MPI-IO. posix_calls, posix_bytes: the reads or
-- writes of POSIX and STDIO on the files that MPI-IO opened. bytes: of
-- nonblocking calls the bytes asked for. collective_calls: of Darshan, whose
-- segments lack it, by the counters; NULL unless these have as many calls.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-trace(5), "MPI"; darshan-runtime
CREATE VIEW v_mpiio (op, calls, collective_calls, asked_bytes, bytes, dur_ns,
	posix_calls, posix_bytes) AS
WITH posix AS (
	SELECT sum(reads) AS reads, sum(writes) AS writes,
		sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
	FROM v_file WHERE file_id IN (SELECT file_id FROM open_file WHERE fd = -1)
),
counted(op, collective, calls) AS (
	SELECT iif(name GLOB '*_READS', 'read', 'write'),
		sum(value) FILTER (WHERE name GLOB '*_COLL_*'
			OR name GLOB '*_SPLIT_*'), sum(value)
	FROM counter JOIN counter_name USING (name_id)
	WHERE record_id IN (SELECT record_id FROM v_counter_figure
			WHERE module = 'MPI-IO')
		AND value > 0
		AND (name GLOB 'MPIIO_*_READS' OR name GLOB 'MPIIO_*_WRITES')
	GROUP BY 1
)
SELECT c.call_group, sum(c.calls),
	iif(EXISTS (SELECT 1 FROM source WHERE format GLOB 'darshan*'),
		(SELECT iif(n.calls = sum(c.calls), coalesce(n.collective, 0),
			NULL) FROM counted n WHERE n.op = c.call_group),
		coalesce(sum(c.calls) FILTER (WHERE instr(c.call, '_all') > 0
			OR instr(c.call, '_ordered') > 0), 0)),
	sum(c.asked_bytes), sum(c.bytes), sum(c.dur_ns),
	(SELECT iif(c.call_group = 'read', reads, writes) FROM posix),
	(SELECT iif(c.call_group = 'read', read_bytes, write_bytes) FROM posix)
FROM v_call c
WHERE c.layer = 'MPIIO' AND c.call_group IN ('read', 'write')
GROUP BY c.call_group;

-- v_sized: does any read or write have a size? An import may have none.
-- unit: 0 or 1    empty: 1
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_sized (sizes) AS
WITH sizeless (calls) AS (
	SELECT coalesce(sum(count), 0) FROM loss WHERE reason = 'no_size')
SELECT calls = 0 OR calls < (SELECT coalesce(sum(calls), 0) FROM v_call
	WHERE message = 0 AND NOT higher_layer
		AND call_group IN ('read', 'write'))
FROM sizeless;

-- v_group: I/O of the job by kind of call. Calls of higher layers (MPI-IO,
-- queues of asynchronous operations) and messages are left out, so that the
-- rows may be added up. Bytes through mappings have no call and no duration; a
-- mapping without a touched page has no row.
-- unit: calls, bytes, ns    empty: no row; NULL, when no call has a duration, or no
-- read and no write of an import has a size
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_group (call_group, calls, bytes, dur_ns, errors, eof_reads) AS
SELECT call_group, sum(iif(call IN ('map_read', 'map_write'), 0, calls)),
	iif(call_group NOT IN ('read', 'write') OR sum(bytes) > 0
		OR (SELECT sizes FROM v_sized), sum(bytes), NULL),
	nullif(sum(iif(call IN ('map_read', 'map_write'), 0, dur_ns)), 0),
	sum(errors), sum(eof_reads)
FROM v_call
WHERE message = 0 AND NOT higher_layer
GROUP BY call_group
HAVING sum(iif(call IN ('map_read', 'map_write'), 0, calls)) > 0
	OR sum(bytes) > 0;

-- v_process: I/O of each process of the job. sum_ns: the sum of the durations,
-- a copy between two files once.
-- unit: calls, bytes, ns    empty: no row; NULL meta_calls, of an import that does not
-- know them (v_measured)
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_process (process_id, pid, rank, role, reads, writes, meta_calls,
	read_bytes, write_bytes, sum_ns, errors, files) AS
SELECT p.process_id, p.pid, p.rank, p.role,
	coalesce(sum(r.calls) FILTER (WHERE r.call_group = 'read'
		AND r.name <> 'map_read'), 0),
	coalesce(sum(r.calls) FILTER (WHERE r.call_group = 'write'
		AND r.name <> 'map_write'), 0),
	coalesce(sum(r.calls) FILTER (WHERE r.call_group NOT IN ('read', 'write')),
		(SELECT iif(metadata, 0, NULL) FROM v_measured)),
	coalesce(sum(r.bytes) FILTER (WHERE r.call_group = 'read'), 0),
	coalesce(sum(r.bytes) FILTER (WHERE r.call_group = 'write'), 0),
	coalesce((SELECT t.sum_ns FROM io_time t
		WHERE t.process_id = p.process_id AND t.op = 'io'),
		sum(r.dur_ns), 0),
	coalesce(sum(r.errors), 0),
	coalesce((SELECT i.files FROM process_io i
		WHERE i.process_id = p.process_id), 0)
FROM process p
LEFT JOIN (SELECT i.*, c.call_group, c.name FROM rollup i JOIN call c USING (call_id)
	WHERE i.message = 0 AND NOT c.higher_layer) r
	ON r.process_id = p.process_id
WHERE p.launcher IS NULL
GROUP BY p.process_id;

-- v_launcher: processes that only found and started the job's program, and
-- their I/O, which no other view but v_event has. files: read, written or
-- mapped.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Launchers"
CREATE VIEW v_launcher (launcher, process_id, pid, command, files, calls,
	read_bytes, write_bytes, sum_ns) AS
SELECT p.launcher, p.process_id, p.pid, p.command,
	count(DISTINCT f.file_id) FILTER (WHERE e.errno = 0 AND f.class <> 'pipe'
		AND (c.call_group IN ('read', 'write') OR c.name = 'mmap')),
	coalesce(sum(e.calls), 0),
	coalesce(sum(e.result) FILTER (WHERE c.call_group = 'read'
		AND e.errno = 0 AND f.class IS NOT 'pipe'), 0),
	coalesce(sum(e.result) FILTER (WHERE c.call_group = 'write'
		AND e.errno = 0 AND f.class IS NOT 'pipe'), 0),
	coalesce(sum(e.dur_ns), 0)
FROM process p
LEFT JOIN thread t ON t.process_id = p.process_id
LEFT JOIN event e ON e.thread_id = t.thread_id
LEFT JOIN call c ON c.call_id = e.call_id
LEFT JOIN file f ON f.file_id = e.file_id
WHERE p.launcher IS NOT NULL
GROUP BY p.process_id;

-- v_summary: the job in one row. It is the one definition of the job's counts:
-- record, report, compare and replay read them here.
--   events      rows of table event; calls: the calls that these stand for
--   files       opened, read, written or mapped; without directories, pipes and
--               sockets; a file that two processes open is one; calls on a
--               renamed file count under the name that they used
--   read_calls, write_calls, meta_calls   without messages, MPI-IO, and calls that
--               submit or await asynchronous operations
--   read_bytes, write_bytes   moved by these calls, plus bytes of pages touched
--               through mappings (v_mapped)
--   code_opens  opens of code and system files, which are counted only: opens,
--               not files
-- Where an import has only counters, files, calls and bytes are their sums
-- (v_counter_total). Where only calls of MPI-IO moved bytes, reads, writes and bytes
-- are theirs, and the other counts are not known.
-- unit: as the columns say    empty: 0 calls and bytes, NULL times; all NULL, an
-- import without I/O; NULL bytes, calls of an import without sizes; NULL files,
-- calls of an import without names; NULL messages,
-- meta_calls, errors, reads at the end, code and mapped bytes, of an import that does
-- not know them (v_measured); NULL ranks and workers, of an import without their numbers
-- source: ioreel-store(5), "Operations", "Time", "Completeness"
CREATE VIEW v_summary (name, command, framework, host, ranks, workers, processes,
	threads, start_real_ns, wall_ns, span_ns, exit_status, exit_signal, events,
	calls, messages, message_bytes, files, read_calls, write_calls, meta_calls,
	read_bytes, write_bytes, errors, eof_reads, io_ns, lost, clock_error_ns,
	code_opens, code_calls, code_read_bytes, mapped_bytes) AS
WITH mpiio_call AS (SELECT * FROM v_call WHERE layer = 'MPIIO' AND message = 0)
SELECT r.name, r.command, r.framework, r.host, nullif(r.ranks, 0),
	iif(recorded, r.workers, nullif(r.workers, 0)),
	(SELECT count(*) FROM process WHERE launcher IS NULL),
	(SELECT count(*) FROM thread JOIN process USING (process_id)
		WHERE launcher IS NULL),
	r.start_real_ns, r.wall_ns, r.span_ns, r.exit_status, r.exit_signal,
	r.events, r.calls,
	CASE WHEN by_events AND messages
		THEN (SELECT coalesce(sum(calls), 0) FROM rollup WHERE message = 1) END,
	CASE WHEN by_events AND messages
		THEN (SELECT coalesce(sum(bytes), 0) FROM rollup WHERE message = 1) END,
	CASE WHEN by_events THEN (SELECT iif(count(*) = 0 AND r.calls > 0
				AND NOT recorded, NULL,
				coalesce(sum(is_file), 0)) FROM v_file)
		WHEN by_counters THEN (SELECT files FROM v_counter_total) END,
	CASE WHEN by_events THEN (SELECT coalesce(sum(calls), 0) FROM v_group
			WHERE call_group = 'read')
		WHEN by_counters THEN (SELECT reads FROM v_counter_total)
		WHEN mpiio THEN (SELECT coalesce(sum(calls), 0) FROM mpiio_call
			WHERE call_group = 'read')
		END,
	CASE WHEN by_events THEN (SELECT coalesce(sum(calls), 0) FROM v_group
			WHERE call_group = 'write')
		WHEN by_counters THEN (SELECT writes FROM v_counter_total)
		WHEN mpiio THEN (SELECT coalesce(sum(calls), 0) FROM mpiio_call
			WHERE call_group = 'write')
		END,
	CASE WHEN by_events THEN (SELECT iif(metadata, coalesce(sum(calls), 0), NULL)
			FROM v_group WHERE call_group NOT IN ('read', 'write'))
		WHEN by_counters THEN (SELECT meta_calls FROM v_counter_total)
		END,
	CASE WHEN by_events THEN (SELECT iif(count(*) > count(bytes), NULL,
				coalesce(sum(bytes), 0)) FROM v_group
			WHERE call_group = 'read')
		WHEN by_counters THEN (SELECT read_bytes FROM v_counter_total)
		WHEN mpiio THEN (SELECT coalesce(sum(bytes), 0) FROM mpiio_call
			WHERE call_group = 'read')
		END,
	CASE WHEN by_events THEN (SELECT iif(count(*) > count(bytes), NULL,
				coalesce(sum(bytes), 0)) FROM v_group
			WHERE call_group = 'write')
		WHEN by_counters THEN (SELECT write_bytes FROM v_counter_total)
		WHEN mpiio THEN (SELECT coalesce(sum(bytes), 0) FROM mpiio_call
			WHERE call_group = 'write')
		END,
	CASE WHEN by_events AND results
		THEN (SELECT coalesce(sum(errors), 0) FROM v_group) END,
	CASE WHEN by_events AND ends
		THEN (SELECT coalesce(sum(eof_reads), 0) FROM v_group) END,
	(SELECT nullif(union_ns, 0) FROM io_time
		WHERE process_id IS NULL AND op = 'io'),
	r.lost, r.clock_error_ns,
	CASE WHEN recorded THEN (SELECT coalesce(sum(opens), 0) FROM code_io) END,
	CASE WHEN recorded THEN (SELECT coalesce(sum(calls), 0) FROM code_io) END,
	CASE WHEN recorded
		THEN (SELECT coalesce(sum(read_bytes), 0) FROM code_io) END,
	CASE WHEN mappings
		THEN (SELECT coalesce(sum(mapped_bytes), 0) FROM file_io) END
FROM run r, v_measured;
