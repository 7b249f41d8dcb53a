-- SPDX-License-Identifier: MIT
-- storage: page-cache misses of reads, by file; only of files with misses.
-- Linux counts fetched bytes by thread, so readahead for the file is included,
-- as is readahead that the thread issued for faster reads before. Asynchronous
-- reads, mappings, streams, and file systems without block devices or NFS are
-- not covered. waits: slow reads that fetched nothing themselves, in the part
-- of the file that its last two fetches asked for. They wait for readahead in
-- progress.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Storage"
CREATE TABLE storage (
	file_id INTEGER PRIMARY KEY,
	reads INTEGER NOT NULL,         -- that fetched something
	read_bytes INTEGER NOT NULL,    -- returned by these reads
	fetched_bytes INTEGER NOT NULL, -- read from storage meanwhile
	dur_ns INTEGER NOT NULL,        -- duration of these reads
	waits INTEGER NOT NULL,
	wait_ns INTEGER NOT NULL
) STRICT;

-- v_storage: storage with paths.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Storage"
CREATE VIEW v_storage (path, reads, read_bytes, fetched_bytes, dur_ns,
	waits, wait_ns) AS
SELECT f.path, s.reads, s.read_bytes, s.fetched_bytes, s.dur_ns,
	s.waits, s.wait_ns
FROM storage s LEFT JOIN file f USING (file_id);
