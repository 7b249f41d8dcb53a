#!/bin/bash
# SPDX-License-Identifier: MIT
# A mapping that ends is recorded with the bytes of the pages touched in it.
. "$(dirname "$0")/../../lib/tap.sh"

RUN=t.reel
again() { head -c 1048576 /dev/urandom >in; head -c 1048576 /dev/zero >out; sync; }

[ -r /proc/self/pagemap ] || skip_all 'no /proc/self/pagemap'
probe=$O/tests/shim/mmap/mmap_pages
again; "$probe" in out >bare; echo "status $?" >>bare
again; "$IOREEL" record -q -o t.reel -- "$probe" in out >traced
echo "status $?" >>traced
is 'output and status' "$(cat traced)" "$(cat bare)"

# tmpfs: once a page was written, its first fault in any mapping makes it
# writable there, so it counts as written.
want() {
	if [ "$(stat -f -c %T .)" = tmpfs ]; then
		sed 's/^only read\t\([0-9]*\)\t0$/only read\t0\t\1/' bare
	else
		cat bare
	fi | grep -v status | cut -f 2-
}
# One line for each time: bytes read and bytes written of the mappings.
is 'bytes touched' "$(q "
	SELECT sum(CASE call WHEN 'map_read' THEN bytes ELSE 0 END),
		sum(CASE call WHEN 'map_write' THEN bytes ELSE 0 END)
	FROM v_event WHERE call IN ('map_read', 'map_write')
	GROUP BY start_ns, pid ORDER BY start_ns")" "$(want)"
is 'pieces have their offset in the file' "$(q "
	SELECT offset / 4096, asked / 4096, bytes / 4096 FROM v_event
	WHERE call = 'map_read' ORDER BY start_ns LIMIT 3")" "112	32	16
0	112	32
144	112	48"
is 'mappings keep their path after close()' "$(q "
	SELECT count(*) FROM v_event
	WHERE call IN ('map_read', 'map_write') AND path IS NULL")" 0
is 'mappings have no duration' "$(q "SELECT max(dur_ns) FROM v_event
	WHERE call IN ('map_read', 'map_write')")" 0
is 'nothing lost' "$(q "SELECT coalesce(sum(count), 0) FROM loss
	WHERE unit = 'events'")" 0

# --mmap=faults: each fault has its time and address.
head -c 4194304 /dev/zero >in
sync in # a fault does not map neighbours that are under writeback
probe=$O/tests/shim/mmap/mmap_order
"$probe" in >bare; echo "status $?" >>bare
rm -rf t.reel
IOREEL_MMAP=faults "$IOREEL" record -q -o t.reel -- "$probe" in >traced
echo "status $?" >>traced
is 'faults: output and status' "$(cat traced)" "$(cat bare)"
if [ -n "$(q "SELECT 1 FROM note WHERE key = 'mmap_faults_refused'")" ]; then
	skip 'faults: order' 'the kernel refuses perf_event_open()'
else
	is 'faults: order' "$(q "SELECT offset / 65536 FROM v_event
		WHERE call = 'map_read' AND asked = 4096 ORDER BY start_ns")" \
		"$(grep -v status bare)"
	is 'faults: the rest when the mapping ends' "$(q "SELECT sum(bytes),
		sum(asked > 4096) FROM v_event WHERE call = 'map_read'")" \
		"4194304	1"
	is 'faults: points in time' "$(q "SELECT max(dur_ns) FROM v_event
		WHERE call = 'map_read'")" 1
	is 'faults: after the mmap()' "$(q "SELECT
		min(o.start_ns) > min(m.start_ns + m.dur_ns) FROM v_event o, v_event m
		WHERE o.call = 'map_read' AND m.call = 'mmap'")" 1
fi

# A child touches what its parent mapped; the rings are read at marks, and what does not
# fit until then is counted.
cat >child.py <<'PY'
import ioreel, mmap, os
f = open("in", "rb")
m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
if os.fork() == 0:
    for i in range(8):
        with ioreel.span("fetch"):
            m[i * 524288]
    os._exit(0)
os.wait()
own = mmap.mmap(-1, 4096 * 60000)
own.madvise(15) # no huge pages
with ioreel.span("fetch"):
    for i in range(60000):
        own[i * 4096] = 1
m[4096 * 1023]
PY
if [ -z "$(q "SELECT 1 FROM note WHERE key = 'mmap_faults_refused'")" ] && python3 -c 'import mmap; mmap.mmap(-1, 4096).madvise(15)' 2>/dev/null; then
	rm -rf t.reel
	IOREEL_MMAP=faults "$IOREEL" record -q -o t.reel -- python3 child.py
	is 'faults: those of a child' "$(q "SELECT count(*) > 0 FROM v_event JOIN process USING (process_id)
		WHERE call = 'map_read' AND dur_ns > 0 AND path LIKE '%/in' AND parent_id IS NOT NULL")" 1
	is 'faults: those that did not fit are counted' "$(q "SELECT value > 20000 FROM note WHERE key = 'mmap_faults_lost'")" 1
	check 'faults: the report says it' '"$IOREEL" report t.reel | tr "\n" " " | tr -s " " >out; grep -q "page faults did not fit into the kernel.s rings" out'
else
	for t in 'those of a child' 'those that did not fit are counted' 'the report says it'; do
		skip "faults: $t" 'no perf_event_open(), or an old Python'
	done
fi
finish
