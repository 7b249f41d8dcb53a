-- SPDX-License-Identifier: MIT
-- mapped_io: bytes through mappings of files, by process.
-- unit: bytes    empty: no row
-- source: ioreel-store(5), "Mappings"
--   mappings: mmap calls; length_bytes: their length, touched or not
--   known_bytes: length of mappings whose pages were examined at their end
--   read_bytes, write_bytes: pages touched and pages made dirty, 4 KiB each, with
--       the neighbouring pages that the kernel maps at a fault
--   timed_bytes: the part of read_bytes whose page fault was recorded
CREATE TABLE mapped_io (
	process_id INTEGER PRIMARY KEY,
	mappings INTEGER NOT NULL,
	length_bytes INTEGER NOT NULL,
	known_bytes INTEGER NOT NULL,
	read_bytes INTEGER NOT NULL,
	write_bytes INTEGER NOT NULL,
	timed_bytes INTEGER NOT NULL
) STRICT;

-- v_mapped: mapped_io of the job. unknown_bytes: length of mappings whose
-- touched pages are not known, as their process was killed or had no /proc.
-- untimed_bytes: touched at an unknown time and in an unknown order.
-- unit: bytes    empty: one row of 0; of NULL, when mappings were not recorded
-- source: ioreel-store(5), "Mappings"
CREATE VIEW v_mapped (mappings, length_bytes, read_bytes, write_bytes,
	unknown_bytes, untimed_bytes) AS
WITH total(mappings, length_bytes, read_bytes, write_bytes, unknown_bytes,
	untimed_bytes) AS (
	SELECT sum(mappings), sum(length_bytes), sum(read_bytes), sum(write_bytes),
		sum(max(length_bytes - known_bytes, 0)),
		sum(read_bytes + write_bytes - timed_bytes)
	FROM mapped_io),
none(n) AS (SELECT iif((SELECT mappings FROM v_measured), 0, NULL))
SELECT coalesce(mappings, n), coalesce(length_bytes, n), coalesce(read_bytes, n),
	coalesce(write_bytes, n), coalesce(unknown_bytes, n),
	coalesce(untimed_bytes, n)
FROM total, none;
