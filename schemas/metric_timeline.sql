-- SPDX-License-Identifier: MIT
-- timeline: I/O of each process by second. Bytes and time of a call are spread
-- over the bins that it covers, in proportion; the call is counted in the bin
-- of its end. A bin is a second wide; in very long jobs a power of two of
-- seconds.
-- unit: calls, bytes, ns    empty: no row for a second without I/O
-- source: ioreel-store(5), "Timeline"
CREATE TABLE timeline (
	start_ns INTEGER NOT NULL,
	width_ns INTEGER NOT NULL,
	process_id INTEGER NOT NULL,
	reads INTEGER NOT NULL,
	writes INTEGER NOT NULL,
	meta_calls INTEGER NOT NULL,
	messages INTEGER NOT NULL,
	read_bytes INTEGER NOT NULL,
	write_bytes INTEGER NOT NULL,
	read_ns INTEGER NOT NULL,
	write_ns INTEGER NOT NULL,
	meta_ns INTEGER NOT NULL,
	PRIMARY KEY (start_ns, process_id)
) STRICT, WITHOUT ROWID;

-- v_timeline: the timeline over all processes.
-- unit: calls, bytes, ns    empty: no row for a second without I/O
-- source: ioreel-store(5), "Timeline"
CREATE VIEW v_timeline (start_ns, width_ns, reads, writes, meta_calls, messages,
	read_bytes, write_bytes, read_ns, write_ns, meta_ns, processes) AS
SELECT start_ns, width_ns, sum(reads), sum(writes), sum(meta_calls),
	sum(messages), sum(read_bytes), sum(write_bytes), sum(read_ns),
	sum(write_ns), sum(meta_ns), count(*)
FROM timeline
GROUP BY start_ns;
