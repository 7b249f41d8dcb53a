#!/bin/bash
# SPDX-License-Identifier: MIT
# Stores and plans with impossible numbers: one line on stderr, and no files are
# left behind.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"
python3 -c 'import sqlite3' 2>err || skip_all 'no python3'

head -c 70000 /dev/urandom >one
cp one two
"$IOREEL" record -q -o job.reel sh -c 'cat one two >out; (cat one; cat two) | cat >out'
"$IOREEL" load job.reel -o job.db 2>err

# spoil SQL: bad.db, a copy of the store, changed by the statement SQL.
spoil() {
	cp job.db bad.db && python3 - "$1" <<'E2'
import sqlite3, sys
db = sqlite3.connect("bad.db")
db.execute(sys.argv[1])
db.commit()
E2
}
# refused WHAT SQL PATTERN: the store changed by SQL fails with one line.
refused() {
	check "$1: one line" 'spoil "$2" && timeout 60 "$IOREEL" replay --afap \
		bad.db >out 2>err; rc=$?; cat out err
		[ $rc = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q "$3" err &&
		! ls -d replay.* 2>/dev/null'
}
refused 'sizes that overflow' \
	"UPDATE file SET size_bytes = 9223372036854775807 WHERE size_bytes = 70000" \
	'sizes of the files are not possible\|not enough room'
refused 'a size beyond any disk' \
	"UPDATE file SET size_bytes = 1 << 60 WHERE path LIKE '%/one'" \
	'not enough room'
refused 'a process that starts at the largest time' \
	"UPDATE process SET fork_ns = 9223372036854775807, start_ns = 9223372036854775807" \
	'cannot replay'
refused 'a job that takes the largest time' \
	"UPDATE run SET wall_ns = 9223372036854775807" 'not possible'

check 'a process that is its own parent is started once' 'spoil "UPDATE
	process SET parent_id = process_id, fork_thread = (SELECT thread_id
	FROM thread t WHERE t.process_id = process.process_id LIMIT 1)" &&
	timeout 60 "$IOREEL" replay --afap bad.db >out 2>err; rc=$?
	cat out err; [ $rc = 0 -o $rc = 3 ]'

# Three random bytes changed in a plan: it is refused, or played to its end.
if [ -x "$O/ioreel-mpi" ]; then
	"$IOREEL" replay job.reel --plan job.plan 2>err
	cat >harm.py <<'E2'
import random, subprocess, sys
plan = open("job.plan", "rb").read()
random.seed(1)
refused = played = 0
for i in range(60):
    bad = bytearray(plan)
    for k in range(3):
        bad[random.randrange(len(bad))] = random.randrange(256)
    open("bad.plan", "wb").write(bad)
    p = subprocess.run([sys.argv[1], "replay", "bad.plan", "box", "afap"], timeout=60,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode not in (0, 1, 3):
        sys.exit("status %d: %r" % (p.returncode, p.stderr))
    errors = [l for l in p.stderr.decode("utf-8", "replace").splitlines()
              if l.startswith("ioreel-mpi replay: ") and " confined " not in l]
    if (p.returncode != 0) != (len(errors) == 1):
        sys.exit("status %d: %r" % (p.returncode, p.stderr))
    refused += p.returncode == 1
    played += p.returncode != 1
print(refused, "refused,", played, "played")
E2
	check 'damaged plans: one line on stderr, or a complete replay' \
		'python3 harm.py "$O/ioreel-mpi" && [ ! -e box ]'
fi
finish
