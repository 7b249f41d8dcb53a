-- SPDX-License-Identifier: MIT
-- sequence: the offset of each read or write, relative to the end of the access
-- before it through the same open file description (dup and fork share it).
-- unit: calls that moved bytes    empty: no row
-- source: ioreel-store(5), "Sequentiality"
CREATE TABLE sequence (
	process_id INTEGER NOT NULL,
	op TEXT NOT NULL,              -- read, write
	first INTEGER NOT NULL,        -- no access before it
	consecutive INTEGER NOT NULL,  -- at the end of the access before
	sequential INTEGER NOT NULL,   -- after that end
	random INTEGER NOT NULL,       -- before that end
	unknown INTEGER NOT NULL,      -- the offset is not known, or no seek is
	PRIMARY KEY (process_id, op)
) STRICT, WITHOUT ROWID;

-- file_sequence: files with accesses that are not consecutive, and how many;
-- reads and writes of all processes together.
CREATE TABLE file_sequence (
	file_id INTEGER PRIMARY KEY,
	sequential INTEGER NOT NULL,
	random INTEGER NOT NULL
) STRICT;

-- darshan_sequence: Darshan's SEQ and CONSEC, with its flaws: seq counts
-- offsets after the last byte, consec offsets directly after it. The last byte
-- is 0 after each open, per file and process; reads that return 0 bytes count.
-- Calls at an unknown offset are left out.
-- unit: calls that did not fail    empty: no row
-- source: darshan-runtime, POSIX_SEQ_READS and following
CREATE TABLE darshan_sequence (
	process_id INTEGER NOT NULL,
	layer TEXT NOT NULL,
	op TEXT NOT NULL,              -- read, write
	ops INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	consec INTEGER NOT NULL,
	PRIMARY KEY (process_id, layer, op)
) STRICT, WITHOUT ROWID;

-- v_sequence: accesses of the job; shares are of the accesses that are not
-- first.
-- unit: calls; shares 0..1    empty: NULL, when each was the first
-- source: ioreel-store(5), "Sequentiality"
CREATE VIEW v_sequence (op, first, consecutive, sequential, random, unknown,
	consecutive_share, sequential_share, random_share, in_order_share) AS
SELECT op, first, consecutive, sequential, random, unknown,
	CAST(consecutive AS REAL) / nullif(later, 0),
	CAST(sequential AS REAL) / nullif(later, 0),
	CAST(random AS REAL) / nullif(later, 0),
	CAST(consecutive + sequential AS REAL) / nullif(later, 0)
FROM (SELECT op, sum(first) AS first, sum(consecutive) AS consecutive,
	sum(sequential) AS sequential, sum(random) AS random,
	sum(unknown) AS unknown,
	sum(consecutive) + sum(sequential) + sum(random) AS later
	FROM sequence GROUP BY op);
