-- SPDX-License-Identifier: MIT
-- Imports: the files that a run was read from, and the counters that their formats
-- hold instead of events.

-- source: a file, in the order it was given.
CREATE TABLE source (
	source_id INTEGER PRIMARY KEY,
	file TEXT NOT NULL,
	format TEXT NOT NULL,          -- as "ioreel import --list" prints it, or ioreel
	ranks INTEGER,                 -- in it; NULL: not known, here and below
	events INTEGER,                -- in it
	shift_ns INTEGER,              -- added to its times to put it on the clock of
	                               -- the first source; NULL: it was not joined
	shift_error_ns INTEGER,        -- bound of the error of shift_ns
	aligned_by TEXT,               -- clocks, anchors, reads, --shift
	joined TEXT                    -- how its processes were joined, in words
) STRICT;

-- source_missing: a value that is not in the format of a source.
CREATE TABLE source_missing (
	source_id INTEGER NOT NULL REFERENCES source,
	value TEXT NOT NULL            -- as "ioreel import --list" prints it
) STRICT;

-- counter_record: a record of a module of a source.
CREATE TABLE counter_record (
	record_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	module TEXT NOT NULL,          -- as the format's own tool prints it
	record TEXT NOT NULL,          -- its id; text, as it may exceed 2^63
	rank INTEGER,                  -- -1: of all ranks together
	path TEXT                      -- NULL: not in the file
) STRICT;

-- counter_name: a name, once.
CREATE TABLE counter_name (
	name_id INTEGER PRIMARY KEY,
	name TEXT NOT NULL
) STRICT;

-- counter: a value, as the file has it: -1 stays -1.
CREATE TABLE counter (
	record_id INTEGER NOT NULL REFERENCES counter_record,
	name_id INTEGER NOT NULL REFERENCES counter_name,
	value ANY
) STRICT;

-- v_counter: every counter of every source.
CREATE VIEW v_counter AS
SELECT file AS source, module, record, path, rank, name, value
FROM counter JOIN counter_record USING (record_id)
JOIN counter_name USING (name_id) JOIN source USING (source_id);

-- v_counter_module: Darshan's modules that have counters of calls, bytes and time,
-- and the prefix of their names. ordinal: their order in tables.
-- unit: none    empty: always these rows
-- source: darshan-util 3.5
CREATE VIEW v_counter_module (module, prefix, ordinal) AS
VALUES ('POSIX', 'POSIX_', 0), ('STDIO', 'STDIO_', 1),
	('MPI-IO', 'MPIIO_', 2), ('DFS', 'DFS_', 3), ('DAOS', 'DAOS_', 4),
	('H5D', 'H5D_', 5), ('PNETCDF_VAR', 'PNETCDF_VAR_', 6);

-- v_counter_figure: Darshan's counters of calls, bytes and time under one name for
-- all modules. A value of -1 was not monitored and is NULL. A record of rank -1
-- has the sum of all ranks: records of the same file by rank are left out beside
-- it. in_total: 1 for the records that the sums of the job are made of, so that
-- no byte counts twice: POSIX, STDIO, DFS; DAOS where the source has no DFS; MPI-IO
-- for files without a record of POSIX where it has neither DFS nor DAOS, and only its
-- reads or its writes for files of which POSIX has opens but none of these, as with
-- pwritev(), which Darshan did not count; datasets of HDF5 and variables of PnetCDF
-- only where it has none of these.
-- opens, stats, reads, writes: calls; meta_calls: opens, stats, seeks, syncs,
-- flushes, and of DAOS lookups, lists, sizes, removals; seq, consec: Darshan's, of
-- POSIX; *_ns: time in calls, summed over ranks (F_READ_TIME, F_WRITE_TIME,
-- F_META_TIME). Calls of DFS that do not block are in its other counters.
-- unit: as the names say    empty: no row
-- source: darshan-runtime; ioreel-store(5), "Imports"
CREATE VIEW v_counter_figure (source_id, module, record_id, record, path, rank,
	in_total, figure, value) AS
WITH suffix(suffix, figure) AS (VALUES ('OPENS', 'opens'),
	('INDEP_OPENS', 'opens'), ('COLL_OPENS', 'opens'), ('STATS', 'stats'),
	('READS', 'reads'), ('INDEP_READS', 'reads'), ('COLL_READS', 'reads'),
	('SPLIT_READS', 'reads'), ('NB_READS', 'reads'), ('WRITES', 'writes'),
	('INDEP_WRITES', 'writes'), ('COLL_WRITES', 'writes'),
	('SPLIT_WRITES', 'writes'), ('NB_WRITES', 'writes'),
	('OPENS', 'meta_calls'), ('INDEP_OPENS', 'meta_calls'),
	('COLL_OPENS', 'meta_calls'), ('STATS', 'meta_calls'),
	('SEEKS', 'meta_calls'), ('FSYNCS', 'meta_calls'),
	('FDSYNCS', 'meta_calls'), ('SYNCS', 'meta_calls'),
	('FLUSHES', 'meta_calls'),
	('BYTES_READ', 'read_bytes'), ('BYTES_WRITTEN', 'write_bytes'),
	('SEQ_READS', 'seq'), ('SEQ_WRITES', 'seq'),
	('CONSEC_READS', 'consec'), ('CONSEC_WRITES', 'consec'),
	('F_READ_TIME', 'read_ns'), ('F_WRITE_TIME', 'write_ns'),
	('F_META_TIME', 'meta_ns')),
daos(suffix, figure) AS (VALUES ('GLOBAL_OPENS', 'opens'),
	('OBJ_OPENS', 'opens'), ('ARRAY_OPENS', 'opens'),
	('KV_OPENS', 'opens'), ('ARRAY_STATS', 'stats'),
	('READXS', 'reads'), ('OBJ_FETCHES', 'reads'),
	('ARRAY_READS', 'reads'), ('KV_GETS', 'reads'),
	('WRITEXS', 'writes'), ('OBJ_UPDATES', 'writes'),
	('ARRAY_WRITES', 'writes'), ('KV_PUTS', 'writes'),
	('GLOBAL_OPENS', 'meta_calls'), ('OBJ_OPENS', 'meta_calls'),
	('ARRAY_OPENS', 'meta_calls'), ('KV_OPENS', 'meta_calls'),
	('LOOKUPS', 'meta_calls'), ('GET_SIZES', 'meta_calls'),
	('PUNCHES', 'meta_calls'), ('REMOVES', 'meta_calls'),
	('OBJ_PUNCHES', 'meta_calls'), ('OBJ_DKEY_PUNCHES', 'meta_calls'),
	('OBJ_AKEY_PUNCHES', 'meta_calls'), ('OBJ_DKEY_LISTS', 'meta_calls'),
	('OBJ_AKEY_LISTS', 'meta_calls'), ('OBJ_RECX_LISTS', 'meta_calls'),
	('ARRAY_GET_SIZES', 'meta_calls'), ('ARRAY_SET_SIZES', 'meta_calls'),
	('ARRAY_STATS', 'meta_calls'), ('ARRAY_PUNCHES', 'meta_calls'),
	('ARRAY_DESTROYS', 'meta_calls'), ('KV_REMOVES', 'meta_calls'),
	('KV_LISTS', 'meta_calls'), ('KV_DESTROYS', 'meta_calls')),
figure(module, name_id, figure) AS MATERIALIZED (
	SELECT module, name_id, figure
	FROM v_counter_module JOIN suffix
	JOIN counter_name ON name = prefix || suffix
	WHERE NOT (module = 'DFS' AND suffix GLOB 'NB_*')
	UNION ALL SELECT module, name_id, figure
	FROM v_counter_module JOIN daos
	JOIN counter_name ON name = prefix || suffix
	WHERE module IN ('DFS', 'DAOS')),
shared(source_id, module, record) AS MATERIALIZED (
	SELECT source_id, module, record FROM counter_record WHERE rank = -1),
posix(source_id, record) AS MATERIALIZED (
	SELECT source_id, record FROM counter_record WHERE module = 'POSIX'),
moved(source_id, record, op) AS MATERIALIZED (
	SELECT source_id, record, iif(name = 'POSIX_READS', 'read', 'write')
	FROM counter_name JOIN counter USING (name_id)
	JOIN counter_record USING (record_id)
	WHERE name IN ('POSIX_READS', 'POSIX_WRITES') AND value > 0),
has(source_id, module) AS MATERIALIZED (
	SELECT DISTINCT source_id, module FROM counter_record
	WHERE module IN ('POSIX', 'STDIO', 'MPI-IO', 'DFS', 'DAOS')),
record AS MATERIALIZED (
	SELECT *, CASE module WHEN 'POSIX' THEN 1 WHEN 'STDIO' THEN 1
		WHEN 'DFS' THEN 1
		WHEN 'DAOS' THEN (source_id, 'DFS') NOT IN (SELECT * FROM has)
		WHEN 'MPI-IO' THEN source_id NOT IN (SELECT source_id
			FROM has WHERE module IN ('DFS', 'DAOS'))
		ELSE source_id NOT IN (SELECT source_id FROM has)
		END AS in_total
	FROM counter_record r
	WHERE module IN (SELECT module FROM v_counter_module) AND (rank IS -1
		OR (source_id, module, record) NOT IN (SELECT * FROM shared)))
SELECT r.source_id, r.module, r.record_id, r.record, r.path, r.rank,
	CASE WHEN r.module <> 'MPI-IO' OR NOT r.in_total THEN r.in_total
		WHEN f.figure IN ('reads', 'read_bytes', 'read_ns') THEN
			(r.source_id, r.record, 'read') NOT IN (SELECT * FROM moved)
		WHEN f.figure IN ('writes', 'write_bytes', 'write_ns') THEN
			(r.source_id, r.record, 'write') NOT IN (SELECT * FROM moved)
		ELSE (r.source_id, r.record) NOT IN (SELECT * FROM posix) END,
	f.figure, CASE WHEN c.value = -1 THEN NULL
		WHEN f.figure GLOB '*_ns' THEN c.value * 1e9 ELSE c.value END
FROM counter c CROSS JOIN figure f USING (name_id)
CROSS JOIN record r ON r.record_id = c.record_id AND r.module = f.module;

-- v_counter_total: the sums of v_counter_figure over the records in_total.
-- files: those that were opened, read or written, without the standard streams.
-- posix_calls: reads and writes, of which seq and consec are.
-- unit: as the names say    empty: one row of NULL, no counters; files 0
-- source: ioreel-store(5), "Imports"
CREATE VIEW v_counter_total (files, reads, writes, meta_calls, read_bytes,
	write_bytes, posix_calls, seq, consec) AS
SELECT count(DISTINCT source_id || ' ' || record) FILTER
		(WHERE figure IN ('opens', 'reads', 'writes') AND value > 0
		AND path IS NOT '<STDIN>' AND path IS NOT '<STDOUT>'
		AND path IS NOT '<STDERR>'),
	CAST(sum(value) FILTER (WHERE figure = 'reads') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'writes') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'meta_calls') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'read_bytes') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'write_bytes') AS INTEGER),
	CAST(sum(value) FILTER (WHERE module = 'POSIX'
		AND figure IN ('reads', 'writes')) AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'seq') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'consec') AS INTEGER)
FROM v_counter_figure WHERE in_total;

-- v_counter_file: the same for each file that was opened, read or written.
-- unit: as the names say    empty: no row, no counters; NULL, not monitored, or a time
-- more than 10 ms below 0, which versions of Darshan wrote; overlapping calls may give
-- less
-- source: ioreel-store(5), "Imports"
CREATE VIEW v_counter_file (path, shared, opens, reads, writes, meta_calls,
	read_bytes, write_bytes, read_ns, write_ns, meta_ns) AS
SELECT coalesce(path, 'record ' || record), max(rank IS -1),
	CAST(sum(value) FILTER (WHERE figure = 'opens') AS INTEGER) AS opens,
	CAST(sum(value) FILTER (WHERE figure = 'reads') AS INTEGER) AS reads,
	CAST(sum(value) FILTER (WHERE figure = 'writes') AS INTEGER) AS writes,
	CAST(sum(value) FILTER (WHERE figure = 'meta_calls') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'read_bytes') AS INTEGER),
	CAST(sum(value) FILTER (WHERE figure = 'write_bytes') AS INTEGER),
	iif(min(value) FILTER (WHERE figure = 'read_ns') < -1e7, NULL, CAST(
		sum(value) FILTER (WHERE figure = 'read_ns') AS INTEGER)),
	iif(min(value) FILTER (WHERE figure = 'write_ns') < -1e7, NULL, CAST(
		sum(value) FILTER (WHERE figure = 'write_ns') AS INTEGER)),
	iif(min(value) FILTER (WHERE figure = 'meta_ns') < -1e7, NULL, CAST(
		sum(value) FILTER (WHERE figure = 'meta_ns') AS INTEGER))
FROM v_counter_figure WHERE in_total
GROUP BY source_id, record
HAVING coalesce(opens, 0) + coalesce(reads, 0) + coalesce(writes, 0) > 0;

-- v_measured: how the I/O of the run is known. by_events: 1, a call was recorded or
-- the run is no import, and not mpiio; by_counters: 1, there are only counters, and
-- perhaps calls of MPI-IO. Both 0: an import without I/O, as a profile. mpiio: 1,
-- calls of MPI-IO moved bytes, and no call or mapping of a lower layer did: times,
-- sizes and order of the I/O are not known. recorded: 1, ioreel recorded the job, and
-- so counted the calls on code and system files. mappings: 1, each mapping of a file
-- was seen: by ioreel and strace, and by another tool if its file has one. whole: 0,
-- calls are left out in an unknown number, as of a module DXT of Darshan that ran out
-- of memory: times of I/O are lower bounds, and shares of it are not known. metadata:
-- 1, calls that are no reads and writes were seen: by ioreel and strace, and by
-- another tool if its file has one, which segments of DXT do not. results: 1, it is
-- known which calls failed: by formats with results, DFTracer with metadata, a CSV
-- with a column of them, and where a log has one such. ends: 1, the same of reads at
-- the end of their file, which segments of DXT show. messages: 1, calls on pipes and
-- sockets were seen: by ioreel and strace, and by another tool if its file has one.
-- unit: 0 or 1    empty: no row
-- source: ioreel-store(5), "Imports"
CREATE VIEW v_measured (by_events, by_counters, recorded, mappings, whole,
	metadata, results, ends, messages, mpiio) AS
WITH known(recorded, mpiio) AS (SELECT NOT EXISTS (SELECT 1 FROM source)
	OR EXISTS (SELECT 1 FROM source WHERE format = 'ioreel'),
	coalesce((SELECT max(layer = 'MPIIO') AND NOT max(NOT higher_layer)
		FROM v_call WHERE message = 0 AND bytes > 0), 0)),
result(results) AS (
	SELECT recorded OR EXISTS (SELECT 1 FROM v_call WHERE errors > 0)
		OR EXISTS (SELECT 1 FROM source
			WHERE format IN ('strace', 'nsys', 'chrome')
				OR format = 'dftracer'
					AND (SELECT sizes FROM v_sized)
				OR format = 'csv' AND source_id NOT IN (
					SELECT source_id FROM source_missing
					WHERE value IN ('results',
						'values without a column')))
	FROM known)
SELECT (calls > 0 OR NOT EXISTS (SELECT 1 FROM source)) AND NOT mpiio,
	(calls = 0 OR mpiio) AND EXISTS (SELECT 1 FROM counter_record WHERE module IN
		(SELECT module FROM v_counter_module)),
	recorded, recorded OR EXISTS (SELECT 1 FROM mapped_io)
		OR EXISTS (SELECT 1 FROM source WHERE format = 'strace'),
	NOT EXISTS (SELECT 1 FROM loss
		WHERE unit = 'modules' AND reason GLOB '*DXT_*'),
	recorded OR EXISTS (SELECT 1 FROM v_call
			WHERE call_group NOT IN ('read', 'write'))
		OR EXISTS (SELECT 1 FROM source WHERE format = 'strace'),
	results, results OR EXISTS (SELECT 1 FROM v_call WHERE eof_reads > 0),
	recorded OR EXISTS (SELECT 1 FROM rollup WHERE message)
		OR EXISTS (SELECT 1 FROM source WHERE format = 'strace'),
	mpiio
FROM run, known, result;
