-- SPDX-License-Identifier: MIT
-- transfer_size: sizes of reads, of writes, and of both: the bytes returned.
-- Percentiles are by nearest rank. They are sizes that occurred as long as an
-- operation has at most 4,096 distinct sizes; beyond that (exact = 0) they are
-- within 1 %, from a log-linear histogram.
-- unit: bytes    empty: NULL, when nothing was moved
-- source: ioreel-store(5), "Transfer size"
CREATE TABLE transfer_size (
	op TEXT NOT NULL PRIMARY KEY,  -- read, write, all
	calls INTEGER NOT NULL,        -- calls that moved bytes
	bytes INTEGER NOT NULL,
	min_bytes INTEGER,
	max_bytes INTEGER,
	mean_bytes INTEGER,
	p1_bytes INTEGER,
	p5_bytes INTEGER,
	p25_bytes INTEGER,
	median_bytes INTEGER,
	p75_bytes INTEGER,
	p95_bytes INTEGER,
	p99_bytes INTEGER,
	exact INTEGER NOT NULL         -- 1: the percentiles are sizes that occurred
) STRICT, WITHOUT ROWID;

-- darshan_size: Darshan's ten bins. Darshan's counter of the first bin is calls
-- + eof_reads, as it counts reads at the end of a file as small reads. Its
-- module POSIX counts POSIX calls alone: compare it with posix_calls +
-- posix_eof_reads.
-- unit: calls    empty: 0
-- source: darshan-runtime, POSIX_SIZE_READ_0_100 and following
CREATE TABLE darshan_size (
	op TEXT NOT NULL,              -- read, write
	bin INTEGER NOT NULL,          -- 0 .. 9
	upper_bytes INTEGER,           -- inclusive; NULL: no bound
	calls INTEGER NOT NULL,
	eof_reads INTEGER NOT NULL,
	posix_calls INTEGER NOT NULL,  -- of these, calls of the POSIX layer
	posix_eof_reads INTEGER NOT NULL,
	PRIMARY KEY (op, bin)
) STRICT, WITHOUT ROWID;

-- transfer_bin: sizes in powers of two, of the whole job.
CREATE TABLE transfer_bin (
	op TEXT NOT NULL,              -- read, write
	size_bin INTEGER NOT NULL,     -- b: 2^b <= bytes < 2^(b+1)
	calls INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	dur_ns INTEGER NOT NULL,
	PRIMARY KEY (op, size_bin)
) STRICT, WITHOUT ROWID;

-- v_transfer_size: sizes of reads and writes in powers of two.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Transfer size"
CREATE VIEW v_transfer_size (op, low_bytes, high_bytes, calls, bytes, dur_ns) AS
SELECT op, 1 << size_bin, (1 << size_bin + 1) - 1, calls, bytes, dur_ns
FROM transfer_bin;
