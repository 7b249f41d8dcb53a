-- SPDX-License-Identifier: MIT
-- v_layer: I/O by layer. Bytes of a layer are bytes of the layer below it once
-- more: in_total is 1 for the layers that the sums of the job are made of, so
-- that no byte counts twice. These are POSIX, asynchronous operations, the
-- streams of STDIO (libc makes their reads and writes without a POSIX call that
-- a tracer sees) and mappings. MPI-IO is in the sum only when no layer below it
-- moved bytes, and there are no counters of them.
-- unit: calls, bytes, ns    empty: no row; NULL, when no call has a duration; NULL
-- meta_calls, of an import that does not know them (v_measured)
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
			NOT IN ('read', 'write')),
			(SELECT iif(metadata, 0, NULL) FROM v_measured))
			AS meta_calls,
		coalesce(sum(bytes) FILTER (WHERE call_group = 'read'), 0)
			AS read_bytes,
		coalesce(sum(bytes) FILTER (WHERE call_group = 'write'), 0)
			AS write_bytes,
		nullif(sum(dur_ns), 0) AS dur_ns
	FROM v_call WHERE message = 0 AND call_group <> 'queue'
	GROUP BY layer)
SELECT layer, reads, writes, meta_calls, read_bytes, write_bytes, dur_ns,
	layer <> 'MPIIO' OR (SELECT mpiio AND NOT by_counters FROM v_measured)
FROM one
ORDER BY CASE layer WHEN 'MPIIO' THEN 0 WHEN 'STDIO' THEN 1 WHEN 'POSIX' THEN 2
	WHEN 'ASYNC' THEN 3 ELSE 4 END;

-- v_counter_layer: the same of Darshan's counters, which are of modules; in total_*
-- no byte counts twice (v_counter_figure).
-- unit: bytes    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_counter_layer (module, read_bytes, write_bytes, total_read_bytes,
	total_write_bytes) AS
SELECT module, coalesce(sum(value) FILTER (WHERE figure = 'read_bytes'), 0),
	coalesce(sum(value) FILTER (WHERE figure = 'write_bytes'), 0),
	coalesce(sum(value) FILTER (WHERE figure = 'read_bytes' AND in_total), 0),
	coalesce(sum(value) FILTER (WHERE figure = 'write_bytes' AND in_total), 0)
FROM v_counter_figure
GROUP BY module
ORDER BY module;
