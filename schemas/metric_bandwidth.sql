-- SPDX-License-Identifier: MIT
-- call_bandwidth: bytes over duration of each read and write. Writes that a
-- stream made by itself have no duration and are left out.
-- unit: bytes/s    empty: NULL, when nothing was moved
-- source: ioreel-store(5), "Bandwidth": percentiles within 1 %
CREATE TABLE call_bandwidth (
	op TEXT NOT NULL PRIMARY KEY,  -- read, write, all
	calls INTEGER NOT NULL,
	min_bytes_per_s INTEGER,
	max_bytes_per_s INTEGER,
	mean_bytes_per_s INTEGER,
	p5_bytes_per_s INTEGER,
	p25_bytes_per_s INTEGER,
	median_bytes_per_s INTEGER,
	p75_bytes_per_s INTEGER,
	p95_bytes_per_s INTEGER
) STRICT, WITHOUT ROWID;

-- v_timed_bytes: bytes of reads and writes of a kind of call that has durations: not
-- those that a stream moved by itself, nor those through mappings.
-- unit: bytes    empty: no row
-- source: ioreel-store(5), "Bandwidth"
CREATE VIEW v_timed_bytes (op, bytes) AS
SELECT call_group, sum(bytes) FROM v_call
WHERE message = 0 AND NOT higher_layer AND call_group IN ('read', 'write')
	AND call NOT IN ('map_read', 'map_write') AND dur_ns > 0
GROUP BY call_group;

-- v_bandwidth: bytes per second by three definitions, the first two of v_timed_bytes.
-- busy: bytes over the union of the times in which such a call was running.
-- wall: bytes over the time from the first start to the last end.
-- call_mean, call_median: over single calls. op all has only these.
-- unit: bytes/s    empty: NULL, when nothing was moved
-- source: ioreel-store(5), "Bandwidth"
CREATE VIEW v_bandwidth (op, bytes, busy_ns, wall_ns, busy_bytes_per_s,
	wall_bytes_per_s, call_mean_bytes_per_s, call_median_bytes_per_s) AS
SELECT b.op, s.bytes, nullif(t.union_ns, 0), t.last_ns - t.first_ns,
	CAST(round(v.bytes * 1e9 / nullif(t.union_ns, 0)) AS INTEGER),
	CAST(round(v.bytes * 1e9 / nullif(t.last_ns - t.first_ns, 0)) AS INTEGER),
	b.mean_bytes_per_s, b.median_bytes_per_s
FROM call_bandwidth b
JOIN transfer_size s USING (op)
LEFT JOIN io_time t ON t.process_id IS NULL AND t.op = b.op
LEFT JOIN v_timed_bytes v ON v.op = b.op
WHERE s.calls > 0;
