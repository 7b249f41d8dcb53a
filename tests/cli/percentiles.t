#!/bin/sh
# SPDX-License-Identifier: MIT
# Percentiles of transfer sizes, against a count over the events.
. "$(dirname "$0")/../lib/tap.sh"
PYTHON=$(python3 -c 'import sys; print(sys.executable)') || skip_all 'no python3'

# write N sizes, R times the first of them; read them back whole.
cat >job.py <<'PY'
import os, sys
n, repeat = int(sys.argv[1]), int(sys.argv[2])
fd = os.open("data", os.O_CREAT | os.O_RDWR | os.O_TRUNC)
sizes = [1 + 7 * i for i in range(n)] + [1 + 7 * (i % max(n // 3, 1)) for i in range(repeat)]
for s in sizes:
    os.pwrite(fd, b"x" * s, 0)
for s in sizes[::-2]:
    os.pread(fd, s, 0)
PY
cat >look.py <<'PY'
import json, subprocess, sys

def run(*argv):
    return subprocess.run(["ioreel", *argv], check=True, capture_output=True, text=True).stdout

trace, want_exact = sys.argv[1], [int(x) for x in sys.argv[2:]]
of = {"read": [], "write": []}
for line in run("sql", "--format", "tsv", trace, "SELECT call_group, bytes FROM v_event "
                "WHERE bytes > 0 AND kind NOT IN ('pipe', 'socket')").split("\n")[1:-1]:
    group, size = line.split("\t")
    of[group].append(int(size))
of["all"] = of["read"] + of["write"]
doc = json.loads(run("report", "--json", trace))
rows = {r["op"]: r for r in doc["transfer_sizes"]}
bad = 0
for op, exact in zip(("read", "write", "all"), want_exact):
    row, sizes = rows[op], sorted(of[op])
    if row["exact"] != exact or row["calls"] != len(sizes):
        print(op, row, len(sizes), len(set(sizes)))
        bad = 1
    for name, p in ("p1", 1), ("p5", 5), ("p25", 25), ("median", 50), ("p75", 75), ("p95", 95), ("p99", 99):
        want, got = sizes[max(-(-p * len(sizes) // 100), 1) - 1], row[name + "_bytes"]
        if got != want if exact else abs(got - want) > .01 * want:
            print(op, name, got, "want", want)
            bad = 1
factors = {f["name"]: f["a"] for f in json.loads(run("compare", "--json", trace, trace))["factors"]}
if factors["transfer size, median"] != rows["all"]["median_bytes"]:
    print(factors, rows["all"])
    bad = 1
sys.exit(bad)
PY
look() {
	ioreel record -q -o "$2.$3.reel" -- "$PYTHON" job.py "$2" "$3"
	check "$1" "python3 look.py $2.$3.reel $4"
}
look 'one size' 1 0 '1 1 1'
look 'two sizes: the median is one of them' 2 0 '1 1 1'
look 'an even number of calls' 10 90 '1 1 1'
look 'an odd number' 10 91 '1 1 1'
look 'hundreds of sizes' 300 2000 '1 1 1'
look '4,096 sizes: still exact' 4096 5000 '1 1 1'
look 'one more: within 1 %, and it is said' 4097 5001 '1 0 0'
look 'thousands more' 9000 0 '0 0 0'
finish
