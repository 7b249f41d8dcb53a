-- SPDX-License-Identifier: MIT
-- distribution: how often which values occur, in log-linear buckets of at most
-- 3.1 % width: values below 64 have a bucket of their own.
--   size            bytes of a read or write that moved some
--   inter_arrival   ns from the start of a call on a file to the start of the
--                   next one of its thread; reads, writes and metadata calls
--                   (op io). Records of several calls are left out, and
--                   counters, whose starts are estimates. Calls on streams that
--                   are not recorded, as of printf, have no start
--   stride          offset less the end of the access before it through the
--                   same open file description; 0: consecutive, negative: back
-- unit: calls; bytes or ns    empty: no row
-- source: ioreel-store(5), "Likeness"
CREATE TABLE distribution (
	quantity TEXT NOT NULL,        -- size, inter_arrival, stride
	op TEXT NOT NULL,              -- read, write, io
	low INTEGER NOT NULL,          -- bound of the bucket that is nearer to 0
	calls INTEGER NOT NULL,
	mean REAL NOT NULL,            -- of the values in the bucket
	PRIMARY KEY (quantity, op, low)
) STRICT, WITHOUT ROWID;

-- v_distribution: the distributions in short.
-- unit: calls; bytes or ns    empty: no row
-- source: ioreel-store(5), "Likeness"
CREATE VIEW v_distribution (quantity, op, unit, calls, mean, buckets) AS
SELECT quantity, op, CASE quantity WHEN 'inter_arrival' THEN 'ns' ELSE 'B' END,
	sum(calls), sum(calls * mean) / sum(calls), count(*)
FROM distribution
GROUP BY quantity, op;
