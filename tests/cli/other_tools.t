#!/bin/sh
# SPDX-License-Identifier: MIT
# The rules of other tools: VaniDL's figures recomputed from the rows of a log,
# Darshan's estimates against the text of darshan-parser, the report's option.
. "$(dirname "$0")/../lib/tap.sh"

mkdir data
head -c 100000 /dev/zero >data/a.bin
head -c 100000 /dev/zero >data/a.python.bin
ioreel record -q -o own.reel -- dd if=data/a.bin of=out bs=10000 2>/dev/null
ioreel record -q -o two.reel -- cat data/a.bin data/a.python.bin >/dev/null
rm -f own.db two.db
ioreel load -o own.db own.reel 2>/dev/null
ioreel load -o two.db two.reel 2>/dev/null
value() { ioreel sql --format csv "$1" "$2" | tail -1; }

check '--other-tools prints the tables of all of them' 'ioreel report --other-tools own.db >out &&
	grep -q "^Darshan.s rule" out && grep -q "^VaniDL.s rule" out && grep -q "^Phases" out &&
	grep -q "SEQ and CONSEC" out && grep -q "ten bins" out || { cat out; false; }'
check 'VaniDL counts reads at the end of a file, and every layer' \
	'test "$(value own.db "SELECT operations, files, bytes, min_bytes FROM v_vanidl")" = 21,2,200000,0'
check 'a path with .py in it is left out, whatever it ends in' \
	'test "$(value two.db "SELECT files, bytes FROM v_vanidl")" = 1,100000'
# Whether a call takes 0 or 0.1 ms depends on the machine.
check 'durations are multiples of 0.1 ms, and none is 0' 'test "$(value two.db "SELECT io_ns % 100000,
	io_ns >= 100000 * operations FROM v_vanidl")" = 0,1'
check 'the events have a bandwidth by the rule of Darshan' \
	'test "$(value own.db "SELECT module, bytes, abs(agg_mib_per_s
		/ (bytes / 1048576.0 / (agg_ns / 1e9)) - 1) < 1e-6, agg_ns = (SELECT max(sum_ns)
		FROM v_process) FROM v_darshan_performance")" = events,200000,1,1'
cat >mapped.py <<'PY'
import mmap, os
with open("mapped", "wb") as f:
    f.write(bytes(1 << 20))
with open("mapped", "rb", 0) as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
    sum(m[::4096])
    os.pread(f.fileno(), 1000, 0)
PY
if command -v python3 >/dev/null; then
	ioreel record -q -o mapped.reel -- python3 mapped.py
	check 'which lacks the bytes through mappings, as their time is not known' \
		'test "$(value mapped.reel "SELECT d.bytes, b.bytes > 1000000, d.bytes = (SELECT sum(bytes)
			FROM v_event WHERE call_group IN ('"'read', 'write'"') AND layer <> '"'MMAP'"'
				AND path LIKE '"'%/mapped'"')
			FROM v_darshan_performance d, (SELECT read_bytes AS bytes FROM v_mapped) b")" \
			= 1049576,1,1'
else
	skip 'bytes through mappings' 'there is no python3'
fi
cat >stream.py <<'PY'
import ctypes, os
c = ctypes.CDLL(None)
c.fopen.restype = ctypes.c_void_p
f = ctypes.c_void_p(c.fopen(b"stream", b"w"))
for i in range(1000):
    c.fprintf(f, b"%1000d", ctypes.c_int(i))
c.fclose(f)
os.write(os.open("other", os.O_WRONLY | os.O_CREAT), b"x" * 1000)
PY
if command -v python3 >/dev/null; then
	ioreel record -q -o stream.reel -- python3 stream.py
	check 'no rate has the bytes that a stream wrote by itself, as these have no time' \
		'test "$(value stream.reel "SELECT b.bytes, round(b.busy_bytes_per_s * b.busy_ns / 1e9),
			round(b.wall_bytes_per_s * b.wall_ns / 1e9), d.bytes
			FROM v_bandwidth b, v_darshan_performance d WHERE op = '"'write'"'")" = \
			1001000,1000.0,1000.0,1000'
	check 'and the time of a call is that of the calls that have one' \
		'took=$(value stream.reel "SELECT dur_ns FROM v_call WHERE call = '"'write'"'") &&
		ioreel report stream.reel >out && grep "^  write " out | tr -d , |
		awk -v ns="$took" "{ for (i = 2; i <= NF; i++) if (\$i ~ /^(ns|µs|ms)\$/)
			t = \$(i - 1) * (\$i == \"ns\" ? 1 : \$i == \"ms\" ? 1e6 : 1e3) }
			END { exit !(t > 0.99 * ns && t < 1.01 * ns) }"'
else
	skip 'bytes of streams' 'there is no python3'
fi
check 'no byte of a layer counts twice' \
	'test "$(value own.db "SELECT sum(read_bytes) FILTER (WHERE in_total) FROM v_layer")" = \
	"$(value own.db "SELECT read_bytes FROM v_summary")"'
check 'the document has the figures that take long only on request' \
	'ioreel report --json own.db | grep -q "\"vanidl\"" && false ||
	ioreel report --json --other-tools own.db | grep -q "\"vanidl\""'
ioreel record -q -o child.reel -- sh -c 'cat data/a.bin data/a.bin & dd if=data/a.bin of=out bs=10000; wait' \
	>/dev/null 2>&1
check 'a process that is no rank does not share the I/O time of a rank' \
	'test "$(value child.reel "SELECT ranks, io_ns = (SELECT sum(max((start_ns + dur_ns + 50000) / 100000
		- (start_ns + 50000) / 100000, 10 * ((start_ns + dur_ns + 50000) / 100000
		= (start_ns + 50000) / 100000))) * 100000 FROM v_event
		WHERE call_group IN ('"'read', 'write'"') AND errno = 0 AND kind = '"'file'"'),
		(SELECT count(DISTINCT process_id) FROM v_event WHERE call = '"'read'"' AND kind = '"'file'"')
		FROM v_vanidl")" = 1,1,2'
ioreel record -q -o none.reel -- true
check 'a run without I/O has none of it' 'ioreel report --other-tools none.reel >out &&
	grep -q "^          0      0      -        -        -        -" out || { cat out; false; }'

ioreel record -q -o big.reel -- dd if=/dev/zero of=big bs=1M count=8 2>/dev/null
check 'a rate of hundreds of MiB/s does not touch the size in front of it' \
	'ioreel report --other-tools big.reel >out && grep -q " 1 MiB  *[0-9.]* MiB/s" out &&
	! grep "iB[0-9]" out'

# Times of starts, but no durations: strace -ttt without -T.
cat >untimed.txt <<'STRACE'
100 1700000000.100000 openat(AT_FDCWD, "/d/a", O_RDONLY) = 3</d/a>
100 1700000000.200000 read(3</d/a>, ""..., 4096) = 4096
100 1700000000.300000 read(3</d/a>, ""..., 4096) = 100
100 1700000000.400000 close(3</d/a>) = 0
100 1700000000.500000 +++ exited with 0 +++
STRACE
ioreel import untimed.txt -o untimed.db 2>/dev/null
check 'times that a source lacks are NULL, not 0' 'test "$(value untimed.db "SELECT
	(SELECT union_ns FROM v_io_time WHERE op = '"'io'"') IS NULL,
	(SELECT io_ns FROM v_summary) IS NULL, (SELECT agg_ns FROM v_darshan_performance) IS NULL,
	(SELECT io_ns FROM v_vanidl) IS NULL, (SELECT dur_ns FROM v_layer) IS NULL,
	(SELECT bytes FROM v_vanidl)")" = 1,1,1,1,1,4196'
check 'and no advice follows from them' 'ioreel report untimed.db >out &&
	grep -q "^How long the I/O takes is not known" out && ! grep -q NO-PROBLEM out'

if [ ! -d "${IOREEL_DATA:-/nonexistent}/darshan" ] || ! command -v python3 >/dev/null; then
	skip 'published figures' 'IOREEL_DATA has no Darshan logs, or there is no python3'
	finish
fi

cat >vanidl.py <<'PY'
import csv, gzip, json, statistics, sys
data, report = sys.argv[1:]
d = json.load(open(report))['vanidl']
path = {r['file_id']: r['path'] for r in csv.DictReader(open(data + '/cosmic_p8_files.csv'))}
size, rate, seconds, files, ranks = [], [], 0, set(), set()
for r in csv.DictReader(gzip.open(data + '/cosmic_p8_dxt.csv.gz', 'rt')):
    if '.py' in path[r['file_id']]:
        continue
    took = round(float(r['end_s']) - float(r['start_s']), 4) or 0.001
    seconds += took
    size.append(int(r['length']))
    rate.append(int(r['length']) / 2**20 / took)
    files.add(r['file_id'])
    ranks.add(r['rank'])
want = {'operations': len(size), 'files': len(files), 'ranks': len(ranks),
        'io_ns': seconds / len(ranks) * 1e9, 'bytes': sum(size), 'min_bytes': min(size),
        'max_bytes': max(size), 'mean_bytes': statistics.mean(size),
        'median_bytes': statistics.median(size), 'max_mib_per_s': max(rate),
        'mean_mib_per_s': statistics.mean(rate), 'median_mib_per_s': statistics.median(rate)}
# A dozen of the 626,480 times are within 1 ns of the bound at which they are rounded
# up or down, and our times are whole ns: a rate may differ, not the sums.
for key, v in want.items():
    most = 1e-4 if key == 'mean_mib_per_s' else 1e-6
    assert abs(d[key] - v) <= most * abs(v), (key, d[key], v)
# as the notebook prints them
assert '%.2f' % (d['io_ns'] / 1e9) == '46.40' and d['files'] == 21
assert '%.2f' % (d['exact_io_ns'] / 1e9) == '16.12'
assert round(d['mean_bytes']) == 5170 and d['median_bytes'] == 2529
assert '%.2f' % (100 * d['sequential_share']) == '95.71'
assert '%.2f' % (100 * d['consecutive_share']) == '88.18'
PY
ioreel import "$IOREEL_DATA/cosmictagger/cosmic_p8.darshan" -o cosmic.db 2>/dev/null
ioreel report --json --other-tools cosmic.db >cosmic.json
check "VaniDL's figures of CosmicTagger follow from the rows, and are those published" \
	'python3 vanidl.py "$IOREEL_DATA/cosmictagger" cosmic.json'

cat >perf.py <<'PY'
import gzip, json, re, sys
module, want = None, {}
for line in gzip.open(sys.argv[1], 'rt'):
    m = re.match(r'# (\S+) module data', line)
    if m:
        module = m[1]
        want[module] = {}
    m = re.match(r'# (?:unique files: |shared files: )?(\w+): (-?[\d.]+)', line)
    if m and module:
        want[module].setdefault(m[1], float(m[2]))
want = {k: v for k, v in want.items() if 'agg_perf_by_slowest' in v}
got = {x['module']: x for x in json.load(open(sys.argv[2]))['darshan_performance']
       if x['module'] != 'events'}
assert set(want) == set(got), (set(want), set(got))
for module, w in want.items():
    g = got[module]
    assert g['bytes'] == w['total_bytes'], (module, g, w)
    for key, name in ('unique_ns', 'slowest_rank_io_time'), ('shared_ns', 'time_by_slowest'), \
            ('agg_ns', 'agg_time_by_slowest'):
        assert abs(g[key] / 1e9 - w[name]) < 2e-6, (module, key, g, w)
    assert abs(g['agg_mib_per_s'] - w['agg_perf_by_slowest']) < 2e-6, (module, g, w)
print(len(want))
PY
modules=0
for text in "$IOREEL_DATA"/darshan/*.perf.txt.gz; do
	log=${text%.perf.txt.gz}
	rm -f log.db
	ioreel import "$log.darshan" -o log.db 2>/dev/null
	ioreel report --json log.db >log.json
	check "agg_perf_by_slowest of $(basename "$log")" 'python3 perf.py "$text" log.json >n'
	modules=$((modules + $(cat n)))
done
is 'modules compared' "$modules" 21
check 'bytes of MPI-IO are not added to those of POSIX below it' \
	'ioreel import "$IOREEL_DATA/darshan/mpi_io_test_with_dxt.darshan" -o m.db 2>/dev/null &&
	test "$(value m.db "SELECT sum(total_read_bytes + total_write_bytes), sum(read_bytes + write_bytes)
		FROM v_counter_layer")" = 4294971481,8589938777'
finish
