-- SPDX-License-Identifier: MIT
-- storage: what reads had to fetch from the storage, as the page cache did not
-- have it, by file; only of files with such reads. Linux counts it by thread:
-- read-ahead for the file counts too, and what the thread had fetched for
-- faster reads before. Not of asynchronous reads, mappings, streams, and file
-- systems that fetch by other means than block devices or NFS.
-- Other reads wait for what read-ahead already fetches: waits are slow reads that
-- fetched nothing, in the part of the file that its last two fetches asked for.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Storage"
CREATE TABLE storage (
	file_id INTEGER PRIMARY KEY,
	reads INTEGER NOT NULL,         -- that fetched something
	read_bytes INTEGER NOT NULL,    -- what they returned
	fetched_bytes INTEGER NOT NULL, -- what was fetched for them
	dur_ns INTEGER NOT NULL,        -- theirs
	waits INTEGER NOT NULL,
	wait_ns INTEGER NOT NULL
) STRICT;

-- v_storage: the same with paths.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Storage"
CREATE VIEW v_storage (path, reads, read_bytes, fetched_bytes, dur_ns,
	waits, wait_ns) AS
SELECT f.path, s.reads, s.read_bytes, s.fetched_bytes, s.dur_ns,
	s.waits, s.wait_ns
FROM storage s LEFT JOIN file f USING (file_id);
