-- SPDX-License-Identifier: MIT
-- The store's dimensions and its blocks. Times are integer ns since the job's
-- first event, sizes are bytes. Metrics have their own tables and views:
-- schemas/metric_NAME.sql.

-- run: one row, the job.
CREATE TABLE run (
	run_id INTEGER PRIMARY KEY CHECK (run_id = 1),
	name TEXT NOT NULL,            -- the script's or program's base name
	command TEXT NOT NULL,         -- as typed, shell-quoted
	cwd TEXT,
	start_real_ns INTEGER,         -- CLOCK_REALTIME of time 0
	wall_ns INTEGER,               -- from record's start of the job to its end
	span_ns INTEGER NOT NULL,      -- first event's start to last event's end
	exit_status INTEGER,           -- NULL when it was a signal, or not known
	exit_signal INTEGER,
	host TEXT,
	framework TEXT,                -- "PyTorch 2.6.0", from the hooks' notes
	ranks INTEGER NOT NULL,
	workers INTEGER NOT NULL,      -- loader workers, the most at one time
	clock_error_ns INTEGER,        -- bound; NULL: not known
	events INTEGER NOT NULL,       -- in the store, without launchers
	calls INTEGER NOT NULL,        -- that the events stand for
	lost INTEGER NOT NULL,         -- events lost, all reasons
	job_json TEXT NOT NULL,        -- job.json as it was
	tool_version TEXT NOT NULL
) STRICT;

-- code_io: one row, calls on code and system files, which are counted only. It
-- includes process images that touched no other file and are in no row of
-- process.
CREATE TABLE code_io (
	opens INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	read_bytes INTEGER NOT NULL
) STRICT;

-- launcher_io: one row when there are processes of launchers, else none. files:
-- files that they read, wrote or mapped.
CREATE TABLE launcher_io (
	names TEXT NOT NULL,
	processes INTEGER NOT NULL,
	files INTEGER NOT NULL
) STRICT;

CREATE TABLE host (
	host_id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	boot_id TEXT NOT NULL
) STRICT;

-- process: one process image (exec makes a new one with the same pid). Events
-- of launchers' processes are in event, but in no metric; see ioreel-store(5).
CREATE TABLE process (
	process_id INTEGER PRIMARY KEY,
	pid INTEGER NOT NULL,
	parent_id INTEGER REFERENCES process,
	host_id INTEGER NOT NULL REFERENCES host,
	rank INTEGER,
	role TEXT NOT NULL,            -- main, worker, child
	exe TEXT,
	command TEXT,                  -- shell-quoted
	cwd TEXT,
	fork_ns INTEGER,               -- when the parent forked it, NULL: not seen
	fork_thread INTEGER,           -- thread that forked it, NULL: not seen
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	ended TEXT NOT NULL,           -- exit, _exit, or unknown (killed, exec)
	events INTEGER NOT NULL,
	lost INTEGER NOT NULL,
	code_opens INTEGER NOT NULL,   -- code and system files: counted only
	code_calls INTEGER NOT NULL,
	code_read_bytes INTEGER NOT NULL,
	launcher TEXT                  -- "pyenv": it only started the job; NULL: of the job
) STRICT;

CREATE TABLE thread (
	thread_id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES process,
	tid INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	events INTEGER NOT NULL,
	lost INTEGER NOT NULL
) STRICT;

-- file_block: files, directories, pipes and sockets in compressed blocks, as
-- rows would take 80 bytes each; see ioreel-store(5), "Blocks".
CREATE TABLE file_block (
	block_id INTEGER PRIMARY KEY,
	files INTEGER NOT NULL,
	min_file_id INTEGER NOT NULL,
	max_file_id INTEGER NOT NULL,
	data BLOB NOT NULL
) STRICT;

-- open_block: open file descriptions in compressed blocks, as rows would take
-- 30 bytes each; see ioreel-store(5), "Blocks".
CREATE TABLE open_block (
	block_id INTEGER PRIMARY KEY,
	opens INTEGER NOT NULL,
	min_open_id INTEGER NOT NULL,
	max_open_id INTEGER NOT NULL,
	data BLOB NOT NULL
) STRICT;

-- call: the calls that occur in the run. Ids below 1024 are those of ioreel, the
-- same in all stores. Ids from 2048 are calls of an imported log that ioreel does
-- not record; they have the log's name for them.
CREATE TABLE call (
	call_id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,            -- unique, but for calls of two layers
	layer TEXT NOT NULL,           -- POSIX STDIO MMAP ASYNC MPIIO; imported
	                               -- also HDF5 NETCDF, other: not known
	call_group TEXT NOT NULL,      -- open close dup read write seek stat meta dir sync map
	                               -- queue process; imported also other: not known
	higher_layer INTEGER NOT NULL  -- 1: above the call that does the I/O (MPI-IO,
	                               -- HDF5, queues), or of no known purpose:
	                               -- in no sum of I/O
) STRICT;

-- span_block: the anchors of the job (epochs, steps ...) in compressed blocks,
-- as rows would take 40 bytes each; see ioreel-store(5), "Blocks".
CREATE TABLE span_block (
	block_id INTEGER PRIMARY KEY,
	spans INTEGER NOT NULL,
	min_span_id INTEGER NOT NULL,
	max_span_id INTEGER NOT NULL,
	data BLOB NOT NULL
) STRICT;

-- note: facts that hooks and the shim recorded once, by key.
CREATE TABLE note (
	process_id INTEGER NOT NULL REFERENCES process,
	thread_id INTEGER NOT NULL REFERENCES thread, -- that recorded it
	key TEXT NOT NULL,
	value TEXT NOT NULL
) STRICT;

-- site: call sites, where the job was recorded with --stacks. location: the
-- innermost frame of the program's own code, FILE:LINE FUNCTION; frames: all,
-- innermost first, a line each.
CREATE TABLE site (
	site_id INTEGER PRIMARY KEY,
	location TEXT NOT NULL,
	frames TEXT NOT NULL
) STRICT;

-- loss: every reason of loss with its count, and damage found while loading.
CREATE TABLE loss (
	process_id INTEGER REFERENCES process, -- NULL: the job
	reason TEXT NOT NULL,
	unit TEXT NOT NULL,            -- events, bytes, processes, files, blocks
	count INTEGER NOT NULL
) STRICT;

-- event_block: consecutive events of one thread, see ioreel-store(5), "Blocks".
CREATE TABLE event_block (
	block_id INTEGER PRIMARY KEY,
	thread_id INTEGER NOT NULL REFERENCES thread,
	events INTEGER NOT NULL,
	min_start_ns INTEGER NOT NULL,
	max_end_ns INTEGER NOT NULL,
	data BLOB NOT NULL
) STRICT;
CREATE INDEX event_block_thread ON event_block (thread_id, min_start_ns);

-- The virtual tables. Their rows are in the blocks above; ioreel sql reads them
-- by itself, another program loads ioreel_sqlite.so first.

-- event(start_ns, dur_ns, process_id, thread_id, call_id, file_id, file2_id,
--       open_id, fd, fd2, offset, asked, result, errno, arg, arg2, pos, calls)
--       every recorded call. Hidden columns, which "SELECT *" leaves out, have
--       the names of the ids, for v_event: event_pid, event_tid, event_call,
--       event_layer, event_call_group, bytes, event_path, event_class,
--       event_kind, event_path2
CREATE VIRTUAL TABLE event USING ioreel_sqlite_event;

-- file(file_id, path, kind, class, size_bytes)
--       path: unique; absolute, "." and ".." resolved by text; relative
--       where the directory was not known; pipe:[INODE], socket:[INODE] for
--       messages. kind: file dir pipe socket device memory other unknown.
--       class: data checkpoint log code system pipe. size_bytes: the largest
--       size seen, NULL: not seen
CREATE VIRTUAL TABLE file USING ioreel_sqlite_file;

-- open_file(open_id, file_id, process_id, fd, flags, open_ns, close_ns)
--       an open file description; dup and fork share one. fd: the first
--       descriptor; flags NULL: not known; open_ns NULL: before the recording;
--       close_ns: of the last descriptor seen, NULL: never
CREATE VIRTUAL TABLE open_file USING ioreel_sqlite_open_file;

-- span(span_id, thread_id, parent_id, kind, name, detail, start_ns, dur_ns,
--       closed)
--       detail: epoch or step number, -2: a fetch without a batch, which waits for
--       workers to stop; closed 0: the process ended inside it
CREATE VIRTUAL TABLE span USING ioreel_sqlite_span;
