-- SPDX-License-Identifier: MIT
-- The views of "ioreel report": one for each figure or section that is not a
-- metric's own view. Columns are added at the end, never renamed.

-- v_report_run: the head of a report. hosts: their names, or their number when
-- there are more than four. workers: an import has those of each rank alone (v_rank).
-- unit: as the columns say    empty: NULL, not known
-- source: ioreel-store(5), "Dimensions"
CREATE VIEW v_report_run (name, command, framework, host, ranks, workers,
	processes, threads, start_real_ns, wall_ns, span_ns, exit_status,
	exit_signal, hosts) AS
SELECT r.name, nullif(r.command, ''), r.framework, r.host, nullif(r.ranks, 0),
	iif(recorded, r.workers, nullif(r.workers, 0)),
	(SELECT count(*) FROM process WHERE launcher IS NULL),
	(SELECT count(*) FROM thread JOIN process USING (process_id)
		WHERE launcher IS NULL),
	r.start_real_ns, r.wall_ns, r.span_ns, r.exit_status, r.exit_signal,
	(SELECT CASE WHEN (SELECT count(*) FROM host) < 2 THEN r.host
		WHEN count(*) > 4 THEN count(*) || ' hosts'
		ELSE group_concat(name, ', ') END
		FROM host WHERE name NOT IN ('', 'unknown'))
FROM run r, v_measured;

-- v_report_scope: which tables and columns a report has. call_sites: 1, the job
-- was recorded with --stacks; summed_steps: 1, a row of v_step stands for
-- several steps.
-- unit: hosts, 0 or 1    empty: 0
-- source: ioreel-store(5), "Dimensions"
CREATE VIEW v_report_scope (hosts, call_sites, summed_steps) AS
SELECT (SELECT count(*) FROM host), EXISTS (SELECT 1 FROM site_io),
	EXISTS (SELECT 1 FROM step WHERE steps > 1);

-- v_report_totals: the counts of v_summary.
-- unit: as the columns say    empty: as in v_summary
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_report_totals (events, calls, messages, message_bytes, files,
	read_calls, write_calls, meta_calls, read_bytes, write_bytes,
	mapped_bytes, errors, eof_reads, io_ns) AS
SELECT events, calls, messages, message_bytes, files, read_calls, write_calls,
	meta_calls, read_bytes, write_bytes, mapped_bytes, errors, eof_reads,
	io_ns
FROM v_summary;

-- v_report_groups: v_group, with errors as far as they are known.
-- unit: calls, bytes, ns    empty: no row; NULL errors and eof_reads, of an import that
-- does not know them (v_measured)
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_report_groups (call_group, calls, bytes, dur_ns, errors, eof_reads) AS
SELECT call_group, calls, bytes, dur_ns, iif(results, errors, NULL),
	iif(ends, eof_reads, NULL)
FROM v_group CROSS JOIN v_measured
ORDER BY call_group;

-- v_report_calls: v_call without its id.
-- unit: calls, bytes, ns    empty: no row; NULL, when no call has a duration; NULL
-- errors and eof_reads, as in v_report_groups
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_report_calls (layer, call_group, call, message, calls, asked_bytes,
	bytes, dur_ns, errors, eof_reads) AS
SELECT layer, call_group, call, message, calls, asked_bytes, bytes,
	nullif(dur_ns, 0), iif(results, errors, NULL), iif(ends, eof_reads, NULL)
FROM v_call CROSS JOIN v_measured
ORDER BY call_id, message;

-- v_report_files: the files with calls, in the order of the time spent in them.
-- time_ns: all calls; backward: reads and writes that went back in the file,
-- NULL: none did. Where an import has only counters, the files are those of
-- v_counter_file.
-- unit: calls, bytes, ns    empty: no row; NULL, not in the counters
-- source: ioreel-store(5), "Operations", "Sequentiality"
CREATE VIEW v_report_files (path, kind, class, size_bytes, shared, opens, reads,
	writes, meta_calls, errors, eof_reads, read_bytes, write_bytes, read_ns,
	write_ns, meta_ns, mapped_bytes, time_ns, backward) AS
SELECT path, kind, class, size_bytes, shared, iif(metadata, opens, NULL), reads,
	writes, iif(metadata, meta_calls, NULL), iif(results, errors, NULL),
	iif(ends, eof_reads, NULL), read_bytes, write_bytes, read_ns, write_ns,
	iif(metadata, meta_ns, NULL), iif(mappings, mapped_bytes, NULL),
	CASE WHEN reads + writes + meta_calls > 0
		THEN nullif(read_ns + write_ns + meta_ns, 0) ELSE 0 END AS time_ns,
	(SELECT s.random FROM file_sequence s WHERE s.file_id = f.file_id)
FROM v_file f, v_measured
UNION ALL
SELECT path, 'file', NULL, NULL, shared, opens, reads, writes, meta_calls, NULL,
	NULL, read_bytes, write_bytes, read_ns, write_ns, meta_ns, NULL,
	coalesce(read_ns, 0) + coalesce(write_ns, 0) + coalesce(meta_ns, 0), NULL
FROM v_counter_file WHERE (SELECT by_counters FROM v_measured)
ORDER BY time_ns DESC, path;

-- v_report_steps: v_step with a number for each step, the declared one or else
-- its ordinal in the rank.
-- unit: ns, bytes; share 0..1    empty: no row without anchors; NULL, not known
-- source: ioreel-store(5), "Steps"
CREATE VIEW v_report_steps (rank, epoch, step, steps, start_ns, dur_ns, fetch_ns,
	compute_ns, own_io_ns, other_ns, io_ns, hidden_share, read_bytes) AS
SELECT rank, epoch, coalesce(number, ordinal), steps, start_ns, dur_ns, fetch_ns,
	compute_ns, own_io_ns, other_ns, io_ns, hidden_share, read_bytes
FROM v_step
ORDER BY rank, ordinal;

-- v_mpiio_rank: reads and writes that each rank requested from MPI-IO; another
-- process may have made the POSIX calls.
-- unit: calls, bytes, ns    empty: no row; NULL time: no such call
-- source: ioreel-trace(5), "MPI"
CREATE VIEW v_mpiio_rank (world, rank, reads, writes, read_bytes, write_bytes,
	read_ns, write_ns) AS
SELECT w.world, p.rank,
	coalesce(sum(i.calls) FILTER (WHERE c.call_group = 'read'), 0),
	coalesce(sum(i.calls) FILTER (WHERE c.call_group = 'write'), 0),
	coalesce(sum(i.bytes) FILTER (WHERE c.call_group = 'read'), 0),
	coalesce(sum(i.bytes) FILTER (WHERE c.call_group = 'write'), 0),
	sum(i.dur_ns) FILTER (WHERE c.call_group = 'read'),
	sum(i.dur_ns) FILTER (WHERE c.call_group = 'write')
FROM rollup i
JOIN call c USING (call_id)
JOIN process p USING (process_id)
LEFT JOIN v_world w USING (process_id)
WHERE c.layer = 'MPIIO' AND c.call_group IN ('read', 'write')
GROUP BY w.world, p.rank
ORDER BY w.world, p.rank;

-- v_report_processes: v_process with the process's world, host and I/O time.
-- unit: calls, bytes, ns    empty: no row; NULL, an import without calls
-- source: ioreel-store(5), "Operations", "Time"
CREATE VIEW v_report_processes (process_id, pid, rank, role, reads, writes,
	meta_calls, read_bytes, write_bytes, sum_ns, errors, files, host_id,
	world, io_ns, host) AS
SELECT v.process_id, v.pid, v.rank, v.role, iif(by_events, v.reads, NULL),
	iif(by_events, v.writes, NULL), iif(by_events, v.meta_calls, NULL),
	iif(by_events, v.read_bytes, NULL), iif(by_events, v.write_bytes, NULL),
	CASE WHEN v.reads + v.writes + coalesce(v.meta_calls, 0) > 0
		THEN nullif(v.sum_ns, 0) WHEN by_events THEN 0 END,
	iif(by_events AND results, v.errors, NULL), iif(by_events, v.files, NULL), p.host_id,
	w.world, nullif(t.union_ns, 0), h.name
FROM v_process v CROSS JOIN v_measured
LEFT JOIN io_time t ON t.process_id = v.process_id AND t.op = 'io'
LEFT JOIN v_world w ON w.process_id = v.process_id
LEFT JOIN process p ON p.process_id = v.process_id
LEFT JOIN host h ON h.host_id = p.host_id
ORDER BY v.process_id;

-- v_process_group: time of each process by kind of call, the longest first.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_process_group (process_id, call_group, calls, bytes, dur_ns) AS
SELECT i.process_id, c.call_group, sum(i.calls), sum(i.bytes), sum(i.dur_ns)
FROM rollup i JOIN call c USING (call_id)
WHERE i.message = 0 AND NOT c.higher_layer
GROUP BY i.process_id, c.call_group
ORDER BY i.process_id, sum(i.dur_ns) DESC, c.call_group;

-- v_heatmap: Darshan's heat maps of POSIX and STDIO over all ranks: bytes in bins of
-- one width. Those of MPI-IO are the same bytes again.
-- unit: bytes, ns, ranks    empty: no row for a bin without bytes
-- source: darshan-runtime, HEATMAP_READ_BIN_0 and following; darshan-parser
CREATE VIEW v_heatmap (start_ns, width_ns, read_bytes, write_bytes, ranks) AS
WITH record AS MATERIALIZED (
	SELECT r.record_id, r.rank, coalesce(s.shift_ns - (SELECT min(shift_ns)
			FROM source), 0) AS base_ns,
		(SELECT CAST(c.value * 1e9 AS INTEGER) FROM counter c
			JOIN counter_name n USING (name_id)
			WHERE c.record_id = r.record_id
				AND n.name = 'HEATMAP_F_BIN_WIDTH_SECONDS') AS width_ns
	FROM counter_record r JOIN source s USING (source_id)
	WHERE r.module = 'HEATMAP' AND r.path IN ('heatmap:POSIX',
		'heatmap:STDIO')),
bin AS MATERIALIZED (
	SELECT name_id, name GLOB 'HEATMAP_R*' AS reads,
		CAST(replace(replace(name, 'HEATMAP_READ_BIN_', ''),
			'HEATMAP_WRITE_BIN_', '') AS INTEGER) AS bin
	FROM counter_name
	WHERE name GLOB 'HEATMAP_READ_BIN_[0-9]*'
		OR name GLOB 'HEATMAP_WRITE_BIN_[0-9]*')
SELECT r.base_ns + b.bin * r.width_ns, r.width_ns,
	coalesce(sum(c.value) FILTER (WHERE b.reads), 0),
	coalesce(sum(c.value) FILTER (WHERE NOT b.reads), 0),
	count(DISTINCT r.rank)
FROM counter c CROSS JOIN bin b USING (name_id)
CROSS JOIN record r ON r.record_id = c.record_id
WHERE c.value > 0 AND r.width_ns > 0
GROUP BY 1, 2;

-- v_report_bins: I/O over time: v_timeline, or, of an import without events, its heat
-- map, whose bins have bytes only. heatmap: 1, the latter.
-- unit: calls, bytes, ns    empty: no row; NULL, not known
-- source: ioreel-store(5), "Timeline"
CREATE VIEW v_report_bins (start_ns, width_ns, reads, writes, meta_calls,
	messages, read_bytes, write_bytes, read_ns, write_ns, meta_ns, processes,
	heatmap) AS
SELECT start_ns, width_ns, reads, writes, iif(metadata, meta_calls, NULL),
	iif(m.messages, t.messages, NULL), read_bytes, write_bytes, read_ns, write_ns,
	iif(metadata, meta_ns, NULL), processes, 0
FROM v_timeline t, v_measured m
UNION ALL
SELECT start_ns, width_ns, NULL, NULL, NULL, NULL, read_bytes, write_bytes, NULL,
	NULL, NULL, ranks, 1
FROM v_heatmap WHERE NOT EXISTS (SELECT 1 FROM timeline)
ORDER BY 1;

-- v_report_timeline: the bins of v_report_bins that have I/O, with rates.
-- unit: calls, bytes/s, ns    empty: no row
-- source: ioreel-store(5), "Timeline"
CREATE VIEW v_report_timeline (start_ns, reads, writes, meta_calls,
	read_bytes_per_s, write_bytes_per_s, read_ns, write_ns, meta_ns,
	processes, width_ns, heatmap) AS
SELECT start_ns, reads, writes, meta_calls, read_bytes * 1e9 / width_ns,
	write_bytes * 1e9 / width_ns, read_ns, write_ns, meta_ns, processes,
	width_ns, heatmap
FROM v_report_bins
WHERE coalesce(reads + writes, 0) + coalesce(meta_calls, 0) + read_bytes + write_bytes
	+ coalesce(read_ns + write_ns, 0) + coalesce(meta_ns, 0) > 0
ORDER BY start_ns;

-- v_report_losses: the reasons of loss, with the process.
-- unit: as column unit says    empty: no row
-- source: ioreel-store(5), "Completeness"
CREATE VIEW v_report_losses (process_id, reason, unit, count, pid) AS
SELECT l.process_id, l.reason, l.unit, l.count, p.pid
FROM loss l LEFT JOIN process p USING (process_id)
ORDER BY l.reason, l.process_id;

-- v_report_launcher_files: the files of processes of launchers.
-- unit: calls, bytes    empty: no row
-- source: ioreel-store(5), "Launchers"
CREATE VIEW v_report_launcher_files (calls, read_bytes, write_bytes, path) AS
SELECT sum(e.calls),
	coalesce(sum(e.bytes) FILTER (WHERE e.call_group = 'read'), 0),
	coalesce(sum(e.bytes) FILTER (WHERE e.call_group = 'write'), 0), e.path
FROM process p
JOIN thread t USING (process_id)
JOIN v_event e ON e.thread_id = t.thread_id
WHERE p.launcher IS NOT NULL AND e.class <> 'pipe' AND e.errno = 0
GROUP BY e.path
ORDER BY sum(e.calls) DESC, e.path;

-- v_darshan_sequence: Darshan's SEQ and CONSEC of the job.
-- unit: calls    empty: no row
-- source: darshan-runtime, POSIX_SEQ_READS and following
CREATE VIEW v_darshan_sequence (op, ops, seq, consec) AS
SELECT op, sum(ops), sum(seq), sum(consec)
FROM darshan_sequence
GROUP BY op
ORDER BY op;

-- v_storage_total: the sums of v_storage.
-- unit: calls, bytes, ns    empty: one row of 0; no row, of an import
-- source: ioreel-store(5), "Storage"
CREATE VIEW v_storage_total (reads, read_bytes, fetched_bytes, dur_ns, waits,
	wait_ns) AS
SELECT coalesce(sum(reads), 0), coalesce(sum(read_bytes), 0),
	coalesce(sum(fetched_bytes), 0), coalesce(sum(dur_ns), 0),
	coalesce(sum(waits), 0), coalesce(sum(wait_ns), 0)
FROM storage
HAVING count(*) > 0 OR NOT EXISTS (SELECT 1 FROM source);

-- v_frequent_error: failed calls on files, the most frequent first.
-- unit: calls    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_frequent_error (call, errno, calls) AS
SELECT c.name, e.errno, e.calls
FROM error e JOIN call c USING (call_id)
WHERE e.message = 0 AND NOT c.higher_layer
ORDER BY e.calls DESC, c.name, e.errno;

-- v_stream_flush: calls of fflush on files: a flush hands the buffer of a
-- stream to the kernel and waits for no storage.
-- unit: calls, ns    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_stream_flush (calls, dur_ns) AS
SELECT calls, dur_ns FROM v_call WHERE call = 'fflush' AND NOT message;

-- v_lock: calls on locks of files, which wait for other processes. fcntl() has other
-- uses, too, but none that takes long.
-- unit: calls, ns    empty: one row of 0
-- source: flock(2), lockf(3), fcntl_locking(2)
CREATE VIEW v_lock (calls, dur_ns) AS
SELECT coalesce(sum(calls), 0), coalesce(sum(dur_ns), 0) FROM v_call
WHERE call IN ('flock', 'lockf', 'fcntl') AND NOT message;

-- v_sqlite_sync: time of metadata calls, syncs among them, on the databases of
-- SQLite and on their journals. A journal is named after its database.
-- unit: ns    empty: 0
-- source: SQLite, "Temporary Files"
CREATE VIEW v_sqlite_sync (meta_ns) AS
WITH journal AS MATERIALIZED (
	SELECT meta_ns, substr(path, 1, length(path)
		- CASE WHEN path LIKE '%-wal' THEN 4 ELSE 8 END) AS base
	FROM v_file
	WHERE writes AND (path LIKE '%-wal' OR path LIKE '%-journal')),
base AS MATERIALIZED (
	SELECT path, meta_ns FROM v_file
	WHERE opens AND path IN (SELECT base FROM journal))
SELECT coalesce((SELECT sum(meta_ns) FROM base) + (SELECT sum(meta_ns)
	FROM journal WHERE base IN (SELECT path FROM base)), 0);

-- v_file_count: files by their use, without directories. data_*: opened files
-- of class data. median_data_bytes: of their sizes, by nearest rank.
-- unit: files, opens, bytes    empty: 0; NULL: no size is known; no row, of an
-- import without calls
-- source: ioreel-store(5), "Classes"
CREATE VIEW v_file_count (read_files, write_files, data_files, data_opens,
	data_read_bytes, read_opens, median_data_bytes) AS
SELECT count(*) FILTER (WHERE reads > 0 OR read_bytes > 0),
	count(*) FILTER (WHERE writes > 0 OR write_bytes > 0),
	count(*) FILTER (WHERE class = 'data' AND opens > 0),
	coalesce(sum(opens) FILTER (WHERE class = 'data'), 0),
	coalesce(sum(read_bytes) FILTER (WHERE class = 'data' AND opens > 0), 0),
	coalesce(sum(opens) FILTER (WHERE reads > 0), 0),
	(SELECT size_bytes FROM v_file
		WHERE class = 'data' AND opens > 0 AND kind = 'file'
			AND size_bytes IS NOT NULL
		ORDER BY size_bytes
		LIMIT 1 OFFSET (SELECT max(0, (count(*) - 1) / 2) FROM v_file
			WHERE class = 'data' AND opens > 0 AND kind = 'file'
				AND size_bytes IS NOT NULL))
FROM v_file
WHERE kind <> 'dir'
HAVING (SELECT by_events FROM v_measured);

-- v_small_transfer: reads and writes of less than 16 KiB.
-- unit: calls, ns    empty: no row
-- source: ioreel-store(5), "Transfer size"
CREATE VIEW v_small_transfer (op, calls, dur_ns) AS
SELECT op, sum(calls), coalesce(sum(dur_ns), 0)
FROM v_transfer_size
WHERE low_bytes < 16384
GROUP BY op;

-- v_checkpoint_wait: checkpoints of each process, and its wait for them. Only its
-- first thread that saves counts, and in a process that steps only one that steps, as
-- a thread that writes in the background delays nothing. A checkpoint within another
-- is part of it; what the thread writes to, syncs and renames of a checkpoint's file
-- afterwards belongs to it. later_ns: the wait for that, from the first step of the
-- process to its last, of the thread that steps. unfinished_ns: the part of a checkpoint
-- that the process ended in.
-- unit: checkpoints, ns    empty: no row; unfinished_ns: NULL, all finished
-- source: ioreel-report(1), "CHECKPOINT"
CREATE VIEW v_checkpoint_wait (process_id, checkpoints, wait_ns, later_ns,
	unfinished_ns) AS
WITH saver AS MATERIALIZED (
	SELECT process_id, min(thread_id) AS thread_id
	FROM v_span c
	WHERE name = 'checkpoint' AND (thread_id IN (
			SELECT thread_id FROM v_span WHERE name = 'step')
		OR NOT EXISTS (SELECT 1 FROM step s
			WHERE s.process_id = c.process_id))
	GROUP BY process_id),
loop AS MATERIALIZED (
	SELECT process_id, min(thread_id) AS thread_id,
		min(start_ns) AS start_ns, max(start_ns + dur_ns) AS end_ns
	FROM v_span WHERE name = 'step' GROUP BY process_id),
part AS (
	SELECT process_id, start_ns, dur_ns, closed, NULL AS in_loop,
		coalesce(start_ns >= max(start_ns + dur_ns) OVER (
			PARTITION BY process_id ORDER BY start_ns, dur_ns DESC
			ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1)
			AS outer
	FROM v_span JOIN saver USING (process_id, thread_id)
	WHERE name = 'checkpoint'
	UNION ALL
	SELECT e.process_id, e.start_ns, e.dur_ns, 1,
		coalesce(e.start_ns BETWEEN l.start_ns AND l.end_ns, 0), 0
	FROM saver s CROSS JOIN v_event e ON e.thread_id = s.thread_id
		LEFT JOIN loop l ON l.process_id = e.process_id AND
			l.thread_id = e.thread_id
	WHERE e.class = 'checkpoint' AND e.dur_ns > 0 AND
		(e.call_group IN ('write', 'sync') OR e.call LIKE 'rename%'))
SELECT process_id, sum(outer), union_ns(start_ns, dur_ns),
	union_ns(start_ns, dur_ns) FILTER (WHERE in_loop IS NOT 0) -
	union_ns(start_ns, dur_ns) FILTER (WHERE in_loop IS NULL),
	sum(dur_ns) FILTER (WHERE outer AND NOT closed)
FROM part GROUP BY process_id;

-- v_unfinished_checkpoint: the checkpoint that each thread was in when its process
-- ended, and the file of a checkpoint that the thread used last in it.
-- unit: none    empty: no row; path: NULL, no such file
-- source: ioreel-report(1), "CHECKPOINT"
CREATE VIEW v_unfinished_checkpoint (process_id, thread_id, start_ns, path) AS
WITH open AS MATERIALIZED (
	SELECT process_id, thread_id, min(start_ns) AS start_ns
	FROM v_span WHERE name = 'checkpoint' AND NOT closed
	GROUP BY process_id, thread_id)
SELECT o.process_id, o.thread_id, o.start_ns, (
	SELECT e.path FROM v_event e
	WHERE e.thread_id = o.thread_id AND e.start_ns >= o.start_ns AND
		e.class = 'checkpoint' AND e.path IS NOT NULL
	ORDER BY e.start_ns DESC LIMIT 1)
FROM open o;

-- v_epoch_start: epochs of the first rank, and the time of all but the first
-- from their begin, where the loader's workers start, to the first batch.
-- unit: epochs, ns    empty: 0
-- source: ioreel-report(1), "EPOCH-START"
CREATE VIEW v_epoch_start (epochs, wait_ns) AS
WITH begun AS (
	SELECT min(ordinal) AS ordinal, process_id, epoch_span, start_ns,
		coalesce(fetch_ns / steps, 0) AS fetch_ns
	FROM step
	WHERE rank = (SELECT min(rank) FROM step)
	GROUP BY process_id, epoch_span)
SELECT count(*), coalesce(sum(b.fetch_ns + max(0, b.start_ns - e.start_ns))
	FILTER (WHERE b.ordinal > 1), 0)
FROM begun b JOIN span e ON e.span_id = b.epoch_span;

-- v_repeated_file: data files that several processes read in order, two or more times
-- in an epoch of the first rank. A reader that opens a file once or twice in an epoch
-- may jump back in it once: from an index at its end, as of Parquet.
--   times            in an epoch, to the nearest number
--   epoch_start_ns, epoch_end_ns     the first epoch
-- unit: times, bytes, ns    empty: no row
-- source: ioreel-report(1), "REPEATED-READ"
CREATE VIEW v_repeated_file (file_id, times, size_bytes, read_bytes, epoch_start_ns,
	epoch_end_ns) AS
WITH
pass AS MATERIALIZED (
	SELECT DISTINCT epoch_span FROM step
	WHERE rank = (SELECT min(rank) FROM step)),
epoch AS MATERIALIZED (
	SELECT count(*) AS epochs, min(start_ns) AS start_ns,
		min(start_ns + dur_ns) AS end_ns
	FROM span WHERE span_id IN (SELECT epoch_span FROM pass)),
data AS (
	SELECT f.file_id, f.size_bytes, f.read_bytes, f.reads, f.opens,
		CAST(f.read_bytes AS REAL) / f.size_bytes / epochs AS times,
		start_ns, end_ns, epochs
	FROM v_file f, epoch
	WHERE class = 'data' AND kind = 'file' AND shared AND size_bytes > 0
		AND read_bytes > 0 AND write_bytes = 0 AND mapped_bytes = 0
		AND epochs > 0)
SELECT d.file_id, CAST(round(times) AS INTEGER), size_bytes, read_bytes, start_ns, end_ns
FROM data d LEFT JOIN file_sequence s USING (file_id)
WHERE times > 1.5 AND abs(times - round(times)) < 0.1 AND opens >= round(times)
	AND (coalesce(s.random, 0) * 5 <= reads
		OR s.random <= opens AND opens <= 2 * round(times) * epochs);

-- v_reread_file: data files of which an epoch of the first rank reads three times their
-- bytes or more: a cache of chunks or blocks is too small for the order of the samples.
-- A file that is opened for each time that it is read was asked for so often, unless it is
-- one of eight or more that are opened again before all of them were opened, as the
-- chunks of a store of files; an epoch of several passes opens all of them first.
--   times            bytes read in an epoch over the size
-- unit: times, bytes    empty: no row
-- source: ioreel-report(1), "REREAD"
CREATE VIEW v_reread_file (file_id, path, times, size_bytes, read_bytes) AS
WITH
pass AS MATERIALIZED (
	SELECT DISTINCT epoch_span FROM step
	WHERE rank = (SELECT min(rank) FROM step)),
epoch AS MATERIALIZED (
	SELECT count(*) AS epochs, min(start_ns) AS start_ns
	FROM span WHERE span_id IN (SELECT epoch_span FROM pass)),
again AS MATERIALIZED (
	SELECT file_id, path, CAST(read_bytes AS REAL) / size_bytes / epochs AS times,
		size_bytes, read_bytes, read_bytes >= 2.0 * size_bytes * opens AS open_once
	FROM v_file, epoch
	WHERE class = 'data' AND kind = 'file' AND size_bytes > 0 AND write_bytes = 0
		AND mapped_bytes = 0 AND epochs > 0
		AND read_bytes >= 3.0 * size_bytes * epochs),
first AS MATERIALIZED (
	SELECT count(*) AS opens, count(DISTINCT file_id) AS files FROM (
		SELECT file_id FROM open_file, epoch
		WHERE file_id IN (SELECT file_id FROM again WHERE NOT open_once)
			AND open_ns >= start_ns
		ORDER BY open_ns
		LIMIT (SELECT count(*) FROM again WHERE NOT open_once)))
SELECT file_id, path, times, size_bytes, read_bytes FROM again, first
WHERE open_once OR opens >= 8 AND files <= 0.8 * opens;

-- v_reread_part: the parts of data files that most opens of the file read again, as the
-- header of an HDF5 file or an index that is opened for each sample. Only of files that
-- are read three times in an epoch of the first rank, and in fewer than half of the bytes
-- of the data set: several passes over it read all of it again.
--   opens                     in an epoch
--   part_bytes, read_bytes    of the parts, and all reads of them
-- unit: opens, bytes    empty: no row
-- source: ioreel-report(1), "REREAD"
CREATE VIEW v_reread_part (file_id, path, opens, part_bytes, read_bytes) AS
WITH
epoch AS MATERIALIZED (
	SELECT count(DISTINCT epoch_span) AS epochs FROM step
	WHERE rank = (SELECT min(rank) FROM step)),
data AS MATERIALIZED (
	SELECT file_id, path, size_bytes, opens, write_bytes, mapped_bytes, read_bytes
	FROM v_file
	WHERE class = 'data' AND kind = 'file' AND size_bytes > 0 AND read_bytes > 0),
again AS MATERIALIZED (
	SELECT file_id, path, opens, epochs FROM data, epoch
	WHERE write_bytes = 0 AND mapped_bytes = 0 AND epochs > 0
		AND opens >= 8 * epochs AND read_bytes >= 3.0 * size_bytes * epochs),
part AS (
	SELECT e.file_id, count(*) AS times, max(e.bytes) AS part_bytes,
		sum(e.bytes) AS read_bytes
	FROM event e JOIN call c USING (call_id)
	WHERE e.file_id IN (SELECT file_id FROM again) AND e.bytes > 0
		AND c.call_group = 'read' AND NOT c.higher_layer
		AND e.offset NOT NULL
	GROUP BY e.file_id, e.offset),
result AS MATERIALIZED (
	SELECT a.file_id, path, opens / epochs AS opens, sum(part_bytes) AS part_bytes,
		sum(p.read_bytes) AS read_bytes
	FROM part p JOIN again a USING (file_id)
	WHERE p.times * 2 >= opens
	GROUP BY a.file_id)
SELECT file_id, path, opens, part_bytes, read_bytes FROM result
WHERE (SELECT sum(part_bytes) FROM result) * 2 < (SELECT sum(size_bytes) FROM data);

-- v_framework: which frameworks the hooks found, or a profile is of; python: the
-- job ran one, by the name of an image or by the hooks, which load into any Python.
-- loader: what prepares the batches of Keras: "PyDataset", "PyDataset of threads",
-- "PyDataset of processes", "generator"; NULL, another or several. steps: what marks
-- the steps of processes that mark none, "optimizer"; NULL, they mark them.
-- prefetch, parallel, cache: all pipelines of tf.data prefetch after their last
-- function, run their functions in parallel, cache in memory. generator: a Python
-- generator makes the elements of one.
-- unit: 0 or 1    empty: 0
-- source: ioreel-anchors(7)
CREATE VIEW v_framework (python, pytorch, tensorflow, grain, loader, steps, prefetch,
	parallel, cache, generator) AS
SELECT EXISTS (SELECT 1 FROM note WHERE key GLOB 'hook:*')
		OR EXISTS (SELECT 1 FROM process WHERE
			replace(exe, rtrim(exe, replace(exe, '/', '')), '')
				GLOB 'python*'),
	coalesce(max(value GLOB 'PyTorch*'), 0),
	coalesce(max(value GLOB 'TensorFlow*'), 0),
	coalesce(max(value GLOB 'Grain*'), 0),
	(SELECT iif(min(value) = max(value), min(value), NULL)
		FROM note WHERE key = 'loader'),
	(SELECT max(value) FROM note WHERE key = 'steps'),
	(SELECT coalesce(min(value GLOB '*prefetch*'), 0) FROM note
		WHERE key = 'tf.data'),
	(SELECT coalesce(min(value GLOB '*parallel*'), 0) FROM note
		WHERE key = 'tf.data'),
	(SELECT coalesce(min(value GLOB '*cache*'), 0) FROM note
		WHERE key = 'tf.data'),
	(SELECT coalesce(max(value GLOB '*generator*'), 0) FROM note
		WHERE key = 'tf.data')
FROM (SELECT value FROM note WHERE key = 'framework'
	UNION ALL SELECT framework FROM run WHERE EXISTS (SELECT 1 FROM source));

-- v_loss: the losses of the job by reason and unit.
-- unit: as column unit says    empty: no row
-- source: ioreel-store(5), "Completeness"
CREATE VIEW v_loss (reason, unit, count) AS
SELECT reason, unit, sum(count) FROM loss GROUP BY reason, unit;

-- v_hook_failure: hooks that are not in place, and why: a framework of an
-- unknown version, or without the functions that hooks need.
-- unit: none    empty: no row
-- source: ioreel-anchors(7)
CREATE VIEW v_hook_failure (hook, reason) AS
SELECT DISTINCT substr(key, 6), value FROM note
WHERE key GLOB 'hook:*' AND value <> 'on'
ORDER BY 1, 2;

-- v_untraced: the programs that ran without the shim, the most frequent first. A
-- process notes the first ones that it starts, so others may be missing.
-- unit: starts    empty: no row
-- source: ioreel-record(1)
CREATE VIEW v_untraced (program, starts) AS
SELECT substr(value, instr(value, ' ') + 1), count(*) FROM note
WHERE key = 'untraced'
GROUP BY 1
ORDER BY 2 DESC, 1;

-- v_mpi_counted: calls of MPI that are counted, not recorded: messages,
-- one_sided (epochs), collectives. A process notes a count again and again: its
-- largest is the last.
-- unit: calls    empty: no row
-- source: ioreel-trace(5), "MPI"
CREATE VIEW v_mpi_counted (kind, calls) AS
SELECT substr(key, 5), sum(n)
FROM (SELECT key, max(CAST(value AS INTEGER)) AS n FROM note
	WHERE key IN ('mpi_messages', 'mpi_one_sided', 'mpi_collectives')
	GROUP BY key, process_id)
GROUP BY key
ORDER BY key = 'mpi_collectives', key = 'mpi_one_sided';

-- v_mpi_unrecorded: MPI libraries whose calls were not recorded.
-- unit: none    empty: no row
-- source: ioreel-trace(5), "MPI"
CREATE VIEW v_mpi_unrecorded (library) AS
SELECT DISTINCT value FROM note WHERE key = 'mpi_not_recorded' ORDER BY value;

-- v_log_scope: what a log of strace may lack, as its calls show.
--   filtered     1: it has calls on files alone, as of strace -e or -P, so the absence
--                of other calls proves nothing
--   no_seeks     1: such a log has no seek, so offsets are not known
--   unnamed      reads and writes, with their time unnamed_ns, of descriptors that no
--                call made and no text of -y names: files or pipes
-- unit: calls, ns    empty: 0; no row, without a log of strace that lacks anything
-- source: ioreel-import(1), "strace"
CREATE VIEW v_log_scope (filtered, no_seeks, unnamed, unnamed_ns) AS
SELECT max(key = 'strace.filtered'), max(key = 'strace.no_seeks'),
	coalesce(sum(n) FILTER (WHERE key = 'strace.unnamed'), 0),
	coalesce(sum(n) FILTER (WHERE key = 'strace.unnamed_ns'), 0)
FROM (SELECT key, CAST(value AS INTEGER) AS n FROM note
	WHERE key GLOB 'strace.*')
HAVING count(*) > 0;

-- v_unseen: what the shim knows that it could not record: operations of io_uring that
-- the program entered by its own system calls; page faults, with --mmap faults, that
-- did not fit into the kernel's rings, and processes whose faults it did not report.
-- A process has a note for each ring and each end of its mappings.
-- unit: operations, faults, processes    empty: 0; no row, of an import
-- source: ioreel-trace(5), "Marks"
CREATE VIEW v_unseen (uring_operations, page_faults, fault_processes) AS
SELECT coalesce(sum(n) FILTER (WHERE key = 'io_uring_unseen'), 0),
	coalesce(sum(n) FILTER (WHERE key = 'mmap_faults_lost'), 0),
	count(DISTINCT process_id) FILTER (WHERE key = 'mmap_faults_refused')
FROM (SELECT process_id, key, CAST(value AS INTEGER) AS n FROM note
	WHERE key IN ('io_uring_unseen', 'mmap_faults_lost', 'mmap_faults_refused'))
HAVING (SELECT recorded FROM v_measured);

-- v_world_size: the worlds of MPI with their ranks.
-- unit: ranks    empty: no row
-- source: ioreel-trace(5), "MPI"
CREATE VIEW v_world_size (world, ranks) AS
SELECT world, max(ranks) FROM v_world GROUP BY world ORDER BY world;

-- v_tracer: strace, which stops the program at each call.
--   call_ns    what it adds to a call: the mean time of the cheapest kind of call
--              that asks no storage, of which there are 20 or more
--   io_share   of the time in all calls, what it adds to them, at most their time
-- unit: ns; 0..1    empty: 0, no strace, no such calls or no durations
-- source: ioreel-import(1), "strace"
CREATE VIEW v_tracer (call_ns, io_share) AS
WITH kind (calls, dur_ns) AS (
	SELECT sum(calls), sum(dur_ns) FROM v_call
	WHERE message = 0 AND call IN ('lseek', 'fstat', 'dup', 'dup2', 'dup3')
	GROUP BY call HAVING sum(calls) >= 20),
cost (ns) AS (
	SELECT coalesce(min(dur_ns / calls), 0) FROM kind
	WHERE EXISTS (SELECT 1 FROM source WHERE format = 'strace'))
SELECT ns, coalesce((SELECT CAST(sum(min(dur_ns, calls * ns)) AS REAL)
		/ nullif(sum(dur_ns), 0)
	FROM v_call WHERE message = 0 AND NOT higher_layer), 0)
FROM cost;

-- v_report_source: the files that an import was read from, and how they were put on
-- one clock. counters: values of counters. missing: the values that the format lacks,
-- with "; " between them. shift_ns: added to the times of the file.
-- unit: ranks, events, ns    empty: no row, recorded by ioreel; NULL, not known
-- source: ioreel-store(5), "Imports"
CREATE VIEW v_report_source (file, format, ranks, events, counters, missing,
	shift_ns, shift_error_ns, aligned_by, joined) AS
SELECT file, format, ranks, events,
	(SELECT count(*) FROM counter JOIN counter_record r USING (record_id)
		WHERE r.source_id = s.source_id),
	(SELECT group_concat(value, '; ') FROM source_missing m
		WHERE m.source_id = s.source_id),
	shift_ns, shift_error_ns, aligned_by, joined
FROM source s ORDER BY source_id;

-- v_report_counters: Darshan's counters by module, summed over its records. A
-- value of -1 was not monitored and is in no sum. A record of rank -1 has the sum
-- of all ranks: records of the same file by rank are left out beside it. Modules
-- are layers: the calls of POSIX are in part those that MPI-IO made.
-- read_ns, write_ns, meta_ns: time in calls, summed over ranks (F_READ_TIME,
-- F_WRITE_TIME, F_META_TIME), more than the run when ranks work at a time.
-- unit: calls, bytes, ns    empty: no row; NULL, not monitored, or a time more
-- than 10 ms below 0, which versions of Darshan wrote; overlapping calls may give less
-- source: ioreel-store(5), "Imports"
CREATE VIEW v_report_counters (module, records, opens, stats, reads, writes,
	read_bytes, write_bytes, read_ns, write_ns, meta_ns) AS
SELECT module, count(DISTINCT record_id),
	CAST(sum(value) FILTER (WHERE figure = 'opens') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'stats') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'reads') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'writes') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'read_bytes') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'write_bytes') AS INTEGER),
	iif(min(value) FILTER (WHERE figure = 'read_ns') < -1e7, NULL, CAST(
		sum(value) FILTER (WHERE figure = 'read_ns') AS INTEGER)),
	iif(min(value) FILTER (WHERE figure = 'write_ns') < -1e7, NULL, CAST(
		sum(value) FILTER (WHERE figure = 'write_ns') AS INTEGER)),
	iif(min(value) FILTER (WHERE figure = 'meta_ns') < -1e7, NULL, CAST(
		sum(value) FILTER (WHERE figure = 'meta_ns') AS INTEGER))
FROM v_counter_figure JOIN v_counter_module USING (module)
GROUP BY module ORDER BY ordinal;

-- v_report_counter_bins: the ten bins of sizes of Darshan's modules POSIX, DFS and
-- DAOS, upper bounds inclusive: POSIX_SIZE_READ_0_100 and following; of those that
-- have a read or write, or of POSIX if none has. Reads at the end of a file are in the
-- first bin. Records as in v_report_counters.
-- unit: calls    empty: no row; NULL, not monitored
-- source: ioreel-store(5), "Imports"
CREATE VIEW v_report_counter_bins (module, bin, bytes, upper_bytes, reads,
	writes) AS
WITH bin(bin, bytes, upper_bytes) AS (VALUES (0, '0_100', 100),
	(1, '100_1K', 1024), (2, '1K_10K', 10240), (3, '10K_100K', 102400),
	(4, '100K_1M', 1048576), (5, '1M_4M', 4194304), (6, '4M_10M', 10485760),
	(7, '10M_100M', 104857600), (8, '100M_1G', 1073741824),
	(9, '1G_PLUS', NULL)),
shared(source_id, module, record) AS MATERIALIZED (
	SELECT source_id, module, record FROM counter_record
	WHERE rank = -1 AND module IN ('POSIX', 'DFS', 'DAOS')),
name(name_id, module, bin, op) AS MATERIALIZED (
	SELECT name_id, module, bin, op FROM bin
	JOIN (SELECT 'READ' AS op UNION ALL SELECT 'WRITE')
	JOIN v_counter_module ON module IN ('POSIX', 'DFS', 'DAOS')
	JOIN counter_name ON name = prefix || 'SIZE_' || op || '_' || bytes),
value(module, bin, op, value) AS MATERIALIZED (
	SELECT n.module, n.bin, n.op, CASE WHEN c.value <> -1 THEN c.value END
	FROM counter c CROSS JOIN name n USING (name_id)
	CROSS JOIN counter_record r ON r.record_id = c.record_id
		AND r.module = n.module
	WHERE r.rank IS -1 OR
		(r.source_id, r.module, r.record) NOT IN (SELECT * FROM shared))
SELECT v.module, b.bin, replace(b.bytes, '_', '-'), b.upper_bytes,
	CASE WHEN count(v.value) FILTER (WHERE op = 'READ') THEN CAST(
		total(v.value) FILTER (WHERE op = 'READ') AS INTEGER) END,
	CASE WHEN count(v.value) FILTER (WHERE op = 'WRITE') THEN CAST(
		total(v.value) FILTER (WHERE op = 'WRITE') AS INTEGER) END
FROM value v JOIN bin b USING (bin) JOIN v_counter_module m USING (module)
WHERE v.module IN (SELECT module FROM value WHERE value > 0)
	OR v.module = 'POSIX' AND NOT EXISTS (SELECT 1 FROM value WHERE value > 0)
GROUP BY v.module, b.bin ORDER BY m.ordinal, b.bin;

-- v_report_kernels: processes of an import without steps whose profile has kernels
-- of GPUs. busy_ns: the union of the kernels of a process, the mean of all.
-- unit: ns    empty: 0 and NULL
-- source: ioreel-store(5), "Imports"
CREATE VIEW v_report_kernels (processes, busy_ns) AS
SELECT count(*), avg(ns)
FROM (SELECT union_ns(start_ns, dur_ns) AS ns FROM v_span
	WHERE name = 'kernel' AND EXISTS (SELECT 1 FROM source)
		AND NOT EXISTS (SELECT 1 FROM step)
	GROUP BY process_id);

-- v_report_import: the kinds of an import's data. counters: 1, v_report_counters
-- has rows. spans: of an import, 0 of a trace.
-- unit: files, 0 or 1, spans    empty: 0
-- source: ioreel-store(5), "Imports"
CREATE VIEW v_report_import (sources, counters, spans) AS
SELECT (SELECT count(*) FROM source), EXISTS (SELECT 1 FROM counter_record
	WHERE module IN (SELECT module FROM v_counter_module)),
	(SELECT coalesce(sum(spans), 0) FROM span_block
		WHERE EXISTS (SELECT 1 FROM source));
