#!/bin/sh
# SPDX-License-Identifier: MIT
# The shipped workloads: without a fault, each runs small, and sizes are those published.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

for f in "$TOP"/workloads/*.json; do
	check "${f##*/}: runs small" '"$IOREEL" workload check "$f" && timeout 300 "$IOREEL" run -q --null --scale 1/1000 --set what_if.compute_scale=0 "$f"'
done
cat >published.py <<'PY'
"""Sizes, counts and times of a table of published workloads, mean and deviation within 1 %."""
import csv, json, os, sys
table, folder = sys.argv[1:]
def moments(q):
    if not isinstance(q, dict):
        return q, 0
    q = q["quantiles"]
    n = len(q) - 1
    mean = sum((a + b) / 2 for a, b in zip(q, q[1:])) / n
    return mean, (sum(((a - mean) ** 2 + (a - mean) * (b - mean) + (b - mean) ** 2) / 3 for a, b in zip(q, q[1:])) / n) ** .5
def near(name, key, is_, published):
    assert abs(is_ / published - 1) < 0.01, (name, key, is_, published)
seen = 0
for row in csv.DictReader(open(table)):
    name = "mlperf3-%s-%s.json" % (row["workload"], row["accelerator"])
    if not row["files"] or not os.path.exists(os.path.join(folder, name)):
        continue
    w = json.load(open(os.path.join(folder, name)))
    d, p = w["dataset"], w["pipeline"]
    seen += 1
    mean, stdev = moments(d["sample_bytes"])
    near(name, "record_bytes", mean, float(row["record_bytes"]))
    if row["record_stdev"]:
        near(name, "record_stdev", stdev, float(row["record_stdev"]))
    assert d["format"] == row["format"], name
    for key, value in (("files", d["files"]), ("samples_per_file", d.get("samples_per_file", 1)), ("batch", p["batch"]),
                       ("readers", p["readers"]), ("epochs", w["epochs"])):
        assert value == int(row[key]), (name, key, value, row[key])
    near(name, "compute_s", moments(w["compute"]["step_ns"])[0], float(row["compute_s"]) * 1e9)
    near(name, "au", w["rules"]["au_percent"], float(row["au"]) * 100)
assert seen == 7, seen
PY
cat >models.py <<'PY'
"""Parameters, ranks and stages of the published language models."""
import json, sys
want = {"8b": (8030261248, 8, 1, 1, 3), "70b": (69882617856, 64, 8, 1, 3),
        "405b": (405853388800, 512, 8, 32, 1), "1t": (1183035102480, 1024, 8, 64, 1)}
for model, published in want.items():
    w = json.load(open("%s/mlperf3-llama3-%s.json" % (sys.argv[1], model)))
    t = w["checkpoint"]["transformer"]
    h, kv = t["hidden"], t["key_value"]
    n = 2 * t["vocabulary"] * h + h + t["layers"] * (2 * h + h * (h + 2 * kv) + h * h + 3 * t["feed_forward"] * h)
    assert (n, w["ranks"], t["tensor"], t["pipeline"], t["zero"]) == published, (model, n)
    assert t["fsync"] and (w["checkpoint"]["writes"], w["checkpoint"]["reads"]) == (10, 10)
    assert w["ranks"] * w["rules"]["accelerator_memory_bytes"] >= 14 * n
PY
check 'llama3: the published parameters, ranks and stages' 'python3 models.py "$TOP/workloads"'
if [ -e "$IOREEL_DATA/mlperf3_workloads.csv" ]; then
	check 'mlperf3: the published sizes, counts and times' 'python3 published.py "$IOREEL_DATA/mlperf3_workloads.csv" "$TOP/workloads"'
else
	skip 'mlperf3: the published sizes, counts and times' 'no IOREEL_DATA'
fi
finish
