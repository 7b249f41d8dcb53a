# SPDX-License-Identifier: MIT
"""Make small exports of Nsight Systems, whole and hostile: nsys_make.py FOLDER."""
import sqlite3
import sys

PID = 1 << 48 | 77 << 24
TABLES = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
	deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, globalPid INTEGER,
	demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
	deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, globalPid INTEGER,
	bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
	text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
	nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, systemClockNs INTEGER);
CREATE TABLE ANALYSIS_DETAILS (duration INTEGER, startTime INTEGER, stopTime INTEGER);
"""


def make(name, *scripts, clock=(1719853884000000000, 5000, 5000)):
    path = f"{sys.argv[1]}/{name}.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.executescript(TABLES)
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(
        ["void gemm<float>(int)", "gemm", "step 7", "read", "poll", "open64", "fread"], 1))
    db.executemany("INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (?, ?, ?)",
                   [(1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device")])
    db.execute("INSERT INTO PROCESSES VALUES (?, 77, 'python3')", (PID,))
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, ?)", clock[:2])
    db.execute("INSERT INTO ANALYSIS_DETAILS VALUES (0, ?, 0)", clock[2:])
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 1, 7, ?, 1, 2)",
                   [(6500, 6700, PID), (6600, 6800, PID)])
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (6900, 6950, 1, 7, ?, 64, 1)", (PID,))
    db.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?, 0)", [
        (6000, 7000, 59, None, PID | 5, 3),
        (7000, 8000, 59, "step 8", PID | 5, None),
        (6000, 6400, 59, "enumerate(DataLoader)#_SingleProcess.__next__, op_id = 3", PID | 5, None),
        (6410, 6420, 59, "aten::add, seq = 4, op_id = 9", PID | 5, None),
        (6420, 6440, 59, "aten::add, op_id = 11", PID | 5, None),
        (6450, 6460, 60, "my range", PID | 6, None),
        (6470, None, 34, "a mark", PID | 5, None),
        (6480, None, 60, "open", PID | 5, None)])
    db.executemany("INSERT INTO OSRT_API VALUES (?, ?, ?, ?, ?)", [
        (6010, 6020, PID | 5, 4, 100), (6030, 6040, PID | 5, 5, 1)])
    for script in scripts:
        db.executescript(script)
    db.commit()
    db.close()
    return path


make("small")
# An old version gives a kernel no process, and a missing value a default.
make("old", f"""
DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
	streamId INT NOT NULL, correlationId INT NOT NULL, demangledName INT NOT NULL, shortName INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL, globalTid INT NOT NULL,
	correlationId INT NOT NULL, nameId INT NOT NULL, returnValue INT NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (6490, 6495, {PID | 5}, 31, 5, 0),
	(6490, 6495, {PID + (1 << 24) | 6}, 32, 5, 0), (6490, 6495, {PID | 5}, 33, 5, 0),
	(6490, 6495, {PID + (1 << 24) | 6}, 33, 5, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (6500, 6700, 0, 7, 31, 1, 2), (6600, 6800, 1, 7, 32, 1, 2),
	(6610, 6620, 1, 7, 33, 1, 2);
UPDATE NVTX_EVENTS SET text = '' WHERE textId = 3;
UPDATE NVTX_EVENTS SET end = 0 WHERE text = 'open';
""")
make("graphs", f"""
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL,
	deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
	graphId INTEGER, graphExecId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (6750, 6990, 1, 7, 40, {PID}, 3, 4),
	(7100, 7400, 1, 7, 41, {PID}, 3, 4);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL,
	deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, globalPid INTEGER, value INTEGER, bytes INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (7500, 7510, 1, 7, {PID}, 0, 64);
""")
make("relative", clock=(1719853884000000000, 77, 100))
make("unknown", clock=(0, 0, 0))
make("files", f"""
CREATE TABLE OSRT_FILE_ACCESS_DESCRIPTORS (fileAccessId INTEGER NOT NULL, processId INTEGER NOT NULL,
	openedAt INTEGER NOT NULL, closedAt INTEGER NOT NULL, filePath TEXT NOT NULL);
CREATE TABLE OSRT_FILE_ACCESS_EVENTS (fileAccessId INTEGER NOT NULL, threadId INTEGER NOT NULL,
	startedAt INTEGER NOT NULL, endedAt INTEGER NOT NULL, eventType INTEGER NOT NULL,
	apiCallId INTEGER NOT NULL, bytesProcessed INTEGER NOT NULL, context TEXT NOT NULL);
INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES (1, 77, 6000, 6100, '/data/a.bin');
INSERT INTO OSRT_FILE_ACCESS_EVENTS VALUES (1, 5, 6005, 6008, 0, 6, 0, '');
INSERT INTO OSRT_FILE_ACCESS_EVENTS VALUES (1, 5, 6010, 6020, 2, 4, 100, '');
INSERT INTO OSRT_FILE_ACCESS_EVENTS VALUES (1, {PID | 5}, 6022, 6024, 2, 7, 28, '');
INSERT INTO OSRT_FILE_ACCESS_EVENTS VALUES (2, 5, 6030, 6031, 2, 4, 1, '');
""")
# Names that are not tables, and values that are no numbers.
make("view", "DROP TABLE OSRT_API; CREATE VIEW OSRT_API AS SELECT 1 AS start, 2 AS end, 3 AS nameId;")
make("virtual", "DROP TABLE NVTX_EVENTS; CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(start, end);")
make("function", "DROP TABLE StringIds; CREATE TABLE StringIds (id INTEGER, value TEXT"
     " GENERATED ALWAYS AS (printf('%.*c', 500000, 'x')) VIRTUAL);"
     "INSERT INTO StringIds (id) VALUES (1), (2), (3), (4);")
make("texts", "UPDATE NVTX_EVENTS SET start = 'x' WHERE text = 'my range';"
     "UPDATE OSRT_API SET end = 9223372036854775807 WHERE nameId = 5;")
foreign = sqlite3.connect(f"{sys.argv[1]}/foreign.sqlite")
foreign.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1);")
foreign.close()
with open(f"{sys.argv[1]}/small.sqlite", "rb") as f:
    content = f.read()
with open(f"{sys.argv[1]}/cut.sqlite", "wb") as f:
    f.write(content[:-512])
damaged = bytearray(content)
for at in range(1024, len(damaged), 512):
    damaged[at] = 0x77  # no kind of a page
with open(f"{sys.argv[1]}/damaged.sqlite", "wb") as f:
    f.write(damaged)
