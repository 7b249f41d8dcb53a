-- SPDX-License-Identifier: MIT
-- Imports: the files that a run was read from, and the counters that their formats
-- hold instead of events.

-- source: a file, in the order it was given.
CREATE TABLE source (
	source_id INTEGER PRIMARY KEY,
	file TEXT NOT NULL,
	format TEXT NOT NULL,          -- as "ioreel import --list" prints it, or ioreel
	ranks INTEGER,                 -- in it; NULL: not known, here and below
	events INTEGER,                -- in it
	shift_ns INTEGER,              -- added to its times to put it on the clock of
	                               -- the first source; NULL: it was not joined
	shift_error_ns INTEGER,        -- bound of the error of shift_ns
	aligned_by TEXT,               -- clocks, anchors, reads, --shift
	joined TEXT                    -- how its processes were joined, in words
) STRICT;

-- source_missing: a value that is not in the format of a source.
CREATE TABLE source_missing (
	source_id INTEGER NOT NULL REFERENCES source,
	value TEXT NOT NULL            -- as "ioreel import --list" prints it
) STRICT;

-- counter_record: a record of a module of a source.
CREATE TABLE counter_record (
	record_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	module TEXT NOT NULL,          -- as the format's own tool prints it
	record TEXT NOT NULL,          -- its id; text, as it may exceed 2^63
	rank INTEGER,                  -- -1: of all ranks together
	path TEXT                      -- NULL: not in the file
) STRICT;

-- counter_name: a name, once.
CREATE TABLE counter_name (
	name_id INTEGER PRIMARY KEY,
	name TEXT NOT NULL
) STRICT;

-- counter: a value, as the file has it: -1 stays -1.
CREATE TABLE counter (
	record_id INTEGER NOT NULL REFERENCES counter_record,
	name_id INTEGER NOT NULL REFERENCES counter_name,
	value ANY
) STRICT;

-- v_counter: every counter of every source.
CREATE VIEW v_counter AS
SELECT file AS source, module, record, path, rank, name, value
FROM counter JOIN counter_record USING (record_id)
JOIN counter_name USING (name_id) JOIN source USING (source_id);
