-- SPDX-License-Identifier: MIT
-- error: failed calls, by call and errno.
-- unit: calls, ns    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE TABLE error (
	call_id INTEGER NOT NULL,
	errno INTEGER NOT NULL,
	message INTEGER NOT NULL,      -- 1: on a pipe or socket
	calls INTEGER NOT NULL,
	dur_ns INTEGER NOT NULL,
	PRIMARY KEY (call_id, errno, message)
) STRICT, WITHOUT ROWID;

-- v_error: error with the names of calls.
-- unit: calls, ns    empty: no row
-- source: ioreel-store(5), "Operations"
CREATE VIEW v_error (call, errno, message, calls, dur_ns) AS
SELECT c.name, e.errno, e.message, e.calls, e.dur_ns
FROM error e JOIN call c USING (call_id);
