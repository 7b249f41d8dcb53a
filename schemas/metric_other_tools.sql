-- SPDX-License-Identifier: MIT
-- v_darshan_performance: Darshan's estimate of the I/O time and bandwidth of a
-- module, as "darshan-parser --perf" prints it. A record's time is its
-- F_META_TIME + F_READ_TIME + F_WRITE_TIME; of a file that all ranks share its
-- F_SLOWEST_RANK_TIME.
--   unique_ns   the largest sum of a rank over its own records
--   shared_ns   the sum over the shared files
--   agg_ns      agg_time_by_slowest: unique_ns + shared_ns
--   agg_mib_per_s   agg_perf_by_slowest: bytes / 2^20 / agg_ns, in MiB/s
-- Rows of module "events" follow from the recorded calls in place of counters:
-- the largest sum of durations of a process, and v_timed_bytes.
-- unit: bytes, ns, MiB/s    empty: no row; NULL, when no time or no size was measured
-- source: darshan-util 3.4, "darshan-parser --perf"; ioreel-store(5), "Rules of
-- other tools"
CREATE VIEW v_darshan_performance (source, module, bytes, unique_ns, shared_ns,
	agg_ns, agg_mib_per_s) AS
WITH kind(suffix, kind) AS (VALUES ('BYTES_READ', 'bytes'),
	('BYTES_WRITTEN', 'bytes'), ('F_META_TIME', 'own'),
	('F_READ_TIME', 'own'), ('F_WRITE_TIME', 'own'),
	('F_SLOWEST_RANK_TIME', 'slowest')),
name(module, name_id, kind) AS MATERIALIZED (
	SELECT module, name_id, kind
	FROM v_counter_module JOIN kind
	JOIN counter_name ON name = prefix || suffix
	WHERE module <> 'PNETCDF_VAR'),
rank(source_id, module, rank, bytes, own_s, shared_s) AS MATERIALIZED (
	SELECT r.source_id, r.module, r.rank,
		total(c.value) FILTER (WHERE kind = 'bytes' AND c.value > 0),
		total(c.value) FILTER (WHERE kind = 'own'
			AND r.rank IS NOT -1 AND c.value > 0),
		total(c.value) FILTER (WHERE kind = 'slowest'
			AND r.rank IS -1 AND c.value > 0)
	FROM counter c CROSS JOIN name n USING (name_id)
	CROSS JOIN counter_record r ON r.record_id = c.record_id
		AND r.module = n.module
	GROUP BY r.source_id, r.module, r.rank),
module(source_id, module, bytes, own_s, shared_s) AS (
	SELECT source_id, module, sum(bytes), max(own_s), sum(shared_s)
	FROM rank GROUP BY source_id, module),
result(source, module, bytes, own_ns, shared_ns) AS (
	SELECT file, module, bytes, own_s * 1e9, shared_s * 1e9
	FROM module JOIN source USING (source_id)
	UNION ALL
	SELECT NULL, 'events', (SELECT iif(sizes, coalesce(sum(bytes), 0), NULL)
		FROM v_sized LEFT JOIN v_timed_bytes),
		(SELECT nullif(max(sum_ns), 0) FROM v_process), 0
	WHERE (SELECT events > 0 AND by_events FROM run, v_measured))
SELECT source, module, CAST(bytes AS INTEGER), CAST(round(own_ns) AS INTEGER),
	CAST(round(shared_ns) AS INTEGER),
	CAST(round(own_ns + shared_ns) AS INTEGER),
	bytes / 1048576.0 / nullif((own_ns + shared_ns) / 1e9, 0)
FROM result LEFT JOIN v_counter_module USING (module)
ORDER BY source, ordinal NULLS LAST;

-- v_vanidl: the figures of a run by the rules of VaniDL, to compare with tables
-- that were published with it. They count reads and writes of all layers, those
-- at the end of a file included, and leave out every path with ".py" in it.
-- Times are of starts and ends rounded to 4 decimals of a second; a duration of
-- 0 becomes 1 ms.
--   io_ns        sum of these durations over the number of ranks that made such
--               calls; a loader worker is none
--   exact_io_ns  the same of the durations as recorded
--   *_mib_per_s  of single calls: bytes / duration, by the same rules
--   sequential_share, consecutive_share   Darshan's SEQ and CONSEC over the
--               calls of the POSIX module; from its counters, or else from the
--               calls of all files
-- It reads every event of the store.
-- unit: calls, files, ranks, ns, bytes, MiB/s; shares 0..1    empty: NULL
-- source: VaniDL (8bad713), vanidl/analyzer.py; ioreel-store(5), "Rules of other
-- tools"
CREATE VIEW v_vanidl (operations, files, ranks, io_ns, exact_io_ns, bytes,
	min_bytes, max_bytes, mean_bytes, median_bytes, max_mib_per_s,
	mean_mib_per_s, median_mib_per_s, sequential_share,
	consecutive_share) AS
WITH kept AS MATERIALIZED (
	SELECT file_id FROM file
	WHERE instr(path, '.py') = 0 AND kind NOT IN ('pipe', 'socket')),
moves AS MATERIALIZED (
	SELECT call_id FROM call WHERE call_group IN ('read', 'write')
		AND name NOT IN ('map_read', 'map_write')),
operation(file_id, rank, bytes, dur_ns, rounded_ns) AS MATERIALIZED (
	SELECT e.file_id, p.rank, e.result, e.dur_ns,
		CASE WHEN known THEN coalesce(nullif(
			(e.start_ns + e.dur_ns + 50000) / 100000
			- (e.start_ns + 50000) / 100000, 0), 10) * 100000 END
	FROM event e JOIN process p ON p.process_id = e.process_id
	JOIN (SELECT EXISTS (SELECT 1 FROM call_io WHERE dur_ns > 0) AS known)
	WHERE e.errno = 0 AND p.launcher IS NULL
		AND e.call_id IN (SELECT call_id FROM moves)
		AND e.file_id IN (SELECT file_id FROM kept)),
n(n, ranks) AS MATERIALIZED (
	SELECT count(*), iif(count(*) > 0, coalesce(nullif(count(DISTINCT rank),
		0), (SELECT nullif(ranks, 0) FROM run), 1), NULL)
	FROM operation),
darshan(name, value) AS MATERIALIZED (
	SELECT name, sum(value) FROM v_counter
	WHERE module = 'POSIX' AND value > 0
		AND instr(coalesce(path, ''), '.py') = 0
		AND name IN ('POSIX_READS', 'POSIX_WRITES', 'POSIX_SEQ_READS',
			'POSIX_SEQ_WRITES', 'POSIX_CONSEC_READS',
			'POSIX_CONSEC_WRITES')
	GROUP BY name),
sequence(ops, seq, consec) AS (
	SELECT sum(value) FILTER (WHERE name IN ('POSIX_READS',
			'POSIX_WRITES')),
		coalesce(sum(value) FILTER (WHERE name GLOB 'POSIX_SEQ_*'), 0),
		coalesce(sum(value) FILTER (WHERE name GLOB 'POSIX_CONSEC_*'), 0)
	FROM darshan HAVING count(*) > 0
	UNION ALL
	SELECT sum(ops), sum(seq), sum(consec) FROM darshan_sequence
	WHERE layer = 'POSIX' AND NOT EXISTS (SELECT 1 FROM darshan))
SELECT count(*), count(DISTINCT file_id), (SELECT ranks FROM n),
	CAST(round(sum(rounded_ns) * 1.0 / (SELECT ranks FROM n)) AS INTEGER),
	CAST(round(nullif(sum(dur_ns), 0) * 1.0 / (SELECT ranks FROM n))
		AS INTEGER),
	sum(bytes), min(bytes), max(bytes), avg(bytes),
	(SELECT avg(bytes) FROM (SELECT bytes FROM operation ORDER BY bytes
		LIMIT (SELECT 2 - n % 2 FROM n)
		OFFSET (SELECT max(n - 1, 0) / 2 FROM n))),
	max(bytes * 1e9 / 1048576 / rounded_ns),
	avg(bytes * 1e9 / 1048576 / rounded_ns),
	(SELECT avg(rate) FROM (SELECT bytes * 1e9 / 1048576 / rounded_ns AS rate
		FROM operation ORDER BY rate LIMIT (SELECT 2 - n % 2 FROM n)
		OFFSET (SELECT max(n - 1, 0) / 2 FROM n))),
	(SELECT seq * 1.0 / nullif(ops, 0) FROM sequence),
	(SELECT consec * 1.0 / nullif(ops, 0) FROM sequence)
FROM operation;
