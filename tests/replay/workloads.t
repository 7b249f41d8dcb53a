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
cat >dlio_shipped.py <<'PY'
"""DLIO's workloads against their table: data set, pipeline, times, checkpoints."""
import csv, json, os, sys
table, folder = sys.argv[1:]
seen = 0
for row in csv.DictReader(open(table)):
    path = "%s/dlio-%s.json" % (folder, row["workload"].lower().replace("_", "-"))
    if row["workload"].endswith("_s3"):
        continue
    w = json.load(open(path))
    seen += 1
    name, c = row["workload"], w.get("checkpoint", {})
    if row["ckpt"] == "only":
        t = c["transformer"]
        assert (t["layers"], t.get("tensor", 1), t.get("pipeline", 1), t.get("zero", 0)) == tuple(
            int(row[k]) for k in ("layers", "tp", "pp", "zero")), name
        continue
    d, p = w["dataset"], w["pipeline"]
    q = d["sample_bytes"]
    assert abs((q["quantiles"][16] if isinstance(q, dict) else q) - float(row["record_bytes"])) < 1, name
    for key, value, published in (
            ("files", d["files"], row["files"]), ("samples_per_file", d.get("samples_per_file", 1), row["samples_per_file"]),
            ("batch", p["batch"], row["batch"]), ("readers", p["readers"], row["read_threads"]),
            ("epochs", w.get("epochs", 1), row["epochs"] or 1), ("steps", w.get("total_steps", 0), row["max_steps"] or 0),
            ("transfer", w.get("access", {}).get("transfer_bytes", 0), row["transfer_size"] or 0),
            ("prefetch", p.get("prefetch", 2), max(1, -(-int(row["prefetch"]) // int(row["read_threads"])))),
            ("au", w.get("rules", {}).get("au_percent", 0), float(row["au"] or 0) * 100)):
        assert value == float(published), (name, key, value, published)
    assert d["format"] == row["format"].replace("mmap_", "").replace("indexed_binary", "indexed"), name
    assert abs(w["compute"]["step_ns"] - float(row["compute_s"]) * 1e9) <= 1, name
    shuffled = [k for k in ("file_shuffle", "sample_shuffle") if row[k] not in ("", "off")]
    assert (p.get("order", "sequential") != "sequential") == bool(shuffled), (name, shuffled)
    if row["ckpt"].startswith("steps"):
        assert c["every_steps"] == int(row["ckpt"][5:]), name
    if row["ckpt"].startswith("epoch"): # once, after the fifth
        assert c["every_epochs"] == 5 <= w["epochs"] < 10, name
    if row["model_bytes"]:
        assert c["files"][0]["bytes"] == int(row["model_bytes"]), name
assert seen == 21, seen
PY
cat >papers.py <<'PY'
"""The eight applications against their table. Left out are numbers that contradict it."""
import json, sys
table, folder = sys.argv[1:]
contradicts = {("CosmicTagger", "dataset_bytes"), # 43,000 samples of 40,000 bytes
               ("CANDLE", "epochs"), # of memory; the files are read once
               ("CosmoFlow", "steps")} # of all ranks, in an epoch
def mean(q):
    q = q["quantiles"] if isinstance(q, dict) else [q, q]
    return sum((a + b) / 2 for a, b in zip(q, q[1:])) / (len(q) - 1)
apps = json.load(open(table))
for app in apps:
    w = json.load(open("%s/paper-%s.json" % (folder, app["app"].lower())))
    d, p = w["dataset"], w.get("pipeline", {})
    is_ = {"files": d["files"], "batch": p.get("batch"), "epochs": w.get("epochs", 1),
           "samples": d["files"] * d.get("samples_per_file", 1), "io_threads": p.get("readers"),
           "chunk_bytes": d.get("chunk_bytes"), "steps": w.get("total_steps"),
           "dataset_bytes": d["files"] and d["files"] * d.get("samples_per_file", 1) * mean(d["sample_bytes"])}
    if app["app"] == "L2HMC": # no data set: three checkpoints, of five files
        c = w["checkpoint"]
        sizes = [f["bytes"] for f in c["files"]]
        assert (c["writes"], sizes) == (app["steps"] // 50, [1024, 7 << 20, 32 << 20, 5 << 10, 4 << 10]), sizes
        assert abs(c["writes"] * c["pause_ns"] / 1e9 / app["job_s"] - 1) < 0.01
        continue
    for key, value in is_.items():
        if (app["app"], key) in contradicts or not isinstance(app.get(key), (int, float)):
            continue
        if app["app"] == "Climate" and key == "samples": # one file of 4 KB, read in pieces of 500 bytes
            continue
        if key == "dataset_bytes": # in units of 10^3 or of 2^10
            assert min(abs(value * (1000 / 1024) ** k / app[key] - 1) for k in range(5)) < 0.03, (app["app"], value)
        else:
            assert value == app[key], (app["app"], key, value, app[key])
    if app.get("steps"):
        steps = 8000 if app["app"] == "CosmoFlow" else app["steps"] # 4 epochs of 256,000 on 128 ranks
        computing = app["job_s"] - app.get("io_s", 0)
        assert abs(w["compute"]["step_ns"] / 1e9 * steps / computing - 1) < 0.01, app["app"]
assert len(apps) == 8
PY
if [ -e "$IOREEL_DATA/dlio_workloads.csv" ]; then
	check 'dlio: the published sizes, counts, times and checkpoints' 'python3 dlio_shipped.py "$IOREEL_DATA/dlio_workloads.csv" "$TOP/workloads"'
	check "the paper's applications: their table" 'python3 papers.py "$IOREEL_DATA/paper_apps.json" "$TOP/workloads"'
else
	skip "dlio's and the paper's tables" 'no IOREEL_DATA'
fi
finish
