-- SPDX-License-Identifier: MIT
-- file_io: every file with a call; pipes and sockets are not files. A virtual
-- table over file_io_block, see ioreel-store(5), "Blocks".
-- file_io(file_id,
--       shared        1: by more than one process
--       opens         successful ones
--       reads, writes with errors and reads at the end
--       meta_calls    all other calls
--       errors, eof_reads,
--       read_bytes, write_bytes       with those through mappings
--       read_ns, write_ns, meta_ns    sums, not unions
--       mapped_bytes) length of its mappings, touched or not
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE VIRTUAL TABLE file_io USING ioreel_sqlite_file_io;

-- file_io_block: the rows of file_io, in compressed blocks.
CREATE TABLE file_io_block (
	block_id INTEGER PRIMARY KEY,
	files INTEGER NOT NULL,
	min_file_id INTEGER NOT NULL,
	max_file_id INTEGER NOT NULL,
	data BLOB NOT NULL
) STRICT;

-- v_file: file_io with the file's path and class. is_file: 1, v_summary counts
-- it as a file: it was opened, read, written or mapped, and is no directory,
-- pipe or socket.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_file (path, kind, class, size_bytes, shared, opens, reads, writes,
	meta_calls, errors, eof_reads, read_bytes, write_bytes, read_ns,
	write_ns, meta_ns, mapped_bytes, file_id, is_file) AS
SELECT f.path, f.kind, f.class, f.size_bytes, i.shared, i.opens, i.reads,
	i.writes, i.meta_calls, i.errors, i.eof_reads, i.read_bytes,
	i.write_bytes, i.read_ns, i.write_ns, i.meta_ns, i.mapped_bytes,
	i.file_id, f.kind NOT IN ('dir', 'pipe', 'socket')
		AND i.opens + i.reads + i.writes + i.read_bytes + i.write_bytes
			+ i.mapped_bytes > 0
FROM file_io i JOIN file f USING (file_id);

-- v_class: sums by class of file. Calls on directories, and on files that were
-- only looked up, are in the sums.
-- unit: files, calls, bytes, ns    empty: no row; NULL opens and meta_ns, of an import
-- that does not know them (v_measured)
-- source: ioreel-store(5), "Classes"
CREATE VIEW v_class (class, files, opens, reads, writes, read_bytes,
	write_bytes, read_ns, write_ns, meta_ns) AS
SELECT class, sum(is_file), iif(metadata, sum(opens), NULL), sum(reads), sum(writes),
	sum(read_bytes), sum(write_bytes), sum(read_ns), sum(write_ns),
	iif(metadata, sum(meta_ns), NULL)
FROM v_file, v_measured
GROUP BY class;
