# SPDX-License-Identifier: MIT
"""Recount a Kineto file and compare it with the store: kineto_recount.py FILE STORE."""
import collections
import decimal
import gzip
import json
import subprocess
import sys

path, store, ioreel = sys.argv[1:4]
with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
    document = json.loads(f.read(), parse_float=decimal.Decimal, strict=False)
events = [e for e in document["traceEvents"] if e.get("ph") == "X"]


def ns(us):
    return int((decimal.Decimal(us) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def rows(query):
    text = subprocess.run([ioreel, "sql", "-f", "json", store, query], check=True,
                          capture_output=True, text=True).stdout
    return [tuple(r.values()) for r in json.loads(text)]


faults = []


def same(what, want, got):
    want, got = sorted(want), sorted(got)
    if want != got:
        faults.append(f"{what}: {len(want)} wanted, {len(got)} found; "
                      f"{[w for w in want if w not in got][:3]} "
                      f"{[g for g in got if g not in want][:3]}")


names = collections.defaultdict(lambda: [0, 0])
for e in events:
    n = names[e["cat"], e["name"]]
    n[0] += 1
    n[1] += ns(e["dur"])
same("counts and times by name", [(*k, *v) for k, v in names.items()],
     rows("""SELECT module, record, max(value) FILTER (WHERE name = 'COUNT') AS n,
        max(value) FILTER (WHERE name = 'TIME_NS') AS ns
        FROM counter_record JOIN counter USING (record_id) JOIN counter_name USING (name_id)
        GROUP BY record_id"""))

base = int(document.get("baseTimeNanoseconds", 0))
start = rows("SELECT start_real_ns FROM run")[0][0]
role = {"kernel": "kernel", "Kernel": "kernel", "gpu_memcpy": "memcpy", "Memcpy": "memcpy",
        "gpu_memset": "memcpy", "Memset": "memcpy"}
want = []
for e in events:
    name, cat = e["name"], e["cat"]
    if cat in role:
        span = role[cat]
    elif cat not in ("user_annotation", "cpu_op", "Operator"):
        continue
    elif name.startswith("ProfilerStep#"):
        span = "step"
    elif name.startswith("enumerate(DataLoader)#"):
        span = "fetch"
    elif name.startswith("Optimizer.step#"):
        span = "optimizer"
    elif cat == "user_annotation" or name.startswith(("## ", "Optimizer.zero_grad#")):
        span = name
    else:
        continue
    want.append((span, base + ns(e["ts"]) - start, ns(e["dur"])))
same("spans", want, rows("SELECT name, start_ns, dur_ns FROM v_span "
                         "WHERE name NOT IN ('backward', 'cpu_op')"))
same("the kernels' names",
     [(e["name"], ns(e["dur"])) for e in events if e["cat"].lower() == "kernel"],
     rows("SELECT r.record, s.dur_ns FROM v_span s JOIN counter_record r "
          "ON r.record_id = s.detail WHERE s.name = 'kernel'"))


def union(intervals):
    total, end = 0, None
    for a, b in sorted(intervals):
        if end is None or a > end:
            total, end = total + b - a, b
        elif b > end:
            total, end = total + b - end, b
    return total


device = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events if e["cat"] in role]
steps = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events
         if e["name"].startswith("ProfilerStep#") and e["cat"] != "gpu_user_annotation"]
if device:
    same("computation of the steps",
         [union([(max(a, s), min(b, t)) for a, b in device if a < t and b > s])
          for s, t in steps],
         [r[0] for r in rows("SELECT compute_ns FROM v_step")])
print("\n".join(faults) if faults else "ok")
