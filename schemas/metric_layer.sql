-- SPDX-License-Identifier: MIT
-- v_layer: I/O by layer. Bytes of a layer are bytes of the layer below it once
-- more: in_total is 1 for the layers that the sums of the job are made of, so
-- that no byte counts twice. These are POSIX, asynchronous operations, the
-- streams of STDIO (libc makes their reads and writes without a POSIX call that
-- a tracer sees) and mappings. MPI-IO is in the sum only when no layer below it
-- moved bytes.
-- unit: calls, bytes, ns    empty: no row; NULL, when no call has a duration
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_layer (layer, reads, writes, meta_calls, read_bytes, write_bytes,
	dur_ns, in_total) AS
WITH one AS MATERIALIZED (
	SELECT layer,
		coalesce(sum(calls) FILTER (WHERE call_group = 'read'
			AND call <> 'map_read'), 0) AS reads,
		coalesce(sum(calls) FILTER (WHERE call_group = 'write'
			AND call <> 'map_write'), 0) AS writes,
		coalesce(sum(calls) FILTER (WHERE call_group
			NOT IN ('read', 'write')), 0) AS meta_calls,
		coalesce(sum(bytes) FILTER (WHERE call_group = 'read'), 0)
			AS read_bytes,
		coalesce(sum(bytes) FILTER (WHERE call_group = 'write'), 0)
			AS write_bytes,
		nullif(sum(dur_ns), 0) AS dur_ns
	FROM v_call WHERE message = 0 AND call_group <> 'queue'
	GROUP BY layer)
SELECT layer, reads, writes, meta_calls, read_bytes, write_bytes, dur_ns,
	layer <> 'MPIIO' OR NOT EXISTS (SELECT 1 FROM one
		WHERE layer <> 'MPIIO' AND read_bytes + write_bytes > 0)
FROM one
ORDER BY CASE layer WHEN 'MPIIO' THEN 0 WHEN 'STDIO' THEN 1 WHEN 'POSIX' THEN 2
	WHEN 'ASYNC' THEN 3 ELSE 4 END;

-- v_counter_layer: the same of Darshan's counters, which are of modules. A
-- record is a file of a rank (rank NULL: of all ranks). Bytes of MPI-IO, HDF5
-- and PnetCDF are in total_* only for files without a record of POSIX.
-- unit: bytes    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_counter_layer (module, read_bytes, write_bytes, total_read_bytes,
	total_write_bytes) AS
WITH name(module, name_id, op) AS MATERIALIZED (
	SELECT m.column1, name_id, o.column1
	FROM (VALUES ('POSIX', 'POSIX_'), ('STDIO', 'STDIO_'),
		('MPI-IO', 'MPIIO_'), ('H5D', 'H5D_'),
		('PNETCDF_VAR', 'PNETCDF_VAR_')) m
	JOIN (VALUES ('READ'), ('WRITTEN')) o
	JOIN counter_name ON name = m.column2 || 'BYTES_' || o.column1),
below(source_id, record) AS MATERIALIZED (
	SELECT source_id, record FROM counter_record WHERE module = 'POSIX'),
value(module, op, bytes, counted) AS (
	SELECT n.module, n.op, max(c.value, 0), n.module IN ('POSIX', 'STDIO')
		OR (r.source_id, r.record) NOT IN (SELECT * FROM below)
	FROM counter c CROSS JOIN name n USING (name_id)
	CROSS JOIN counter_record r ON r.record_id = c.record_id
		AND r.module = n.module)
SELECT module, coalesce(sum(bytes) FILTER (WHERE op = 'READ'), 0),
	coalesce(sum(bytes) FILTER (WHERE op = 'WRITTEN'), 0),
	coalesce(sum(bytes) FILTER (WHERE op = 'READ' AND counted), 0),
	coalesce(sum(bytes) FILTER (WHERE op = 'WRITTEN' AND counted), 0)
FROM value
GROUP BY module
ORDER BY module;
