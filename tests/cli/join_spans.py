#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Spans of one job without a time of day, as two tools would have seen them.

    join_spans.py FROM TO FROM TO [PROCESSES [JITTER_US [DRIFT_PPM]]]

writes first.json (Chrome) with the first range of steps, and kineto/N.json with the second
one. A step lasts 110 ms, or up to JITTER_US more or less; its three ranges begin and
end at the same shares of it. All processes begin a step within 0.2 ms. The clock
of the first file is fast by DRIFT_PPM. Prints the time from the first step of the first
range to that of the second one, in ns.
"""
import json
import os
import random
import shutil
import sys

a_from, a_to, b_from, b_to, processes, jitter, drift = (
    [int(x) for x in sys.argv[1:]] + [1, 0, 0][len(sys.argv) - 5:])
rng = random.Random(1)
starts, at = [], 0.0
for _ in range(max(a_to, b_to) + 1):
    starts.append(at)
    at += 110_000 + jitter * (2 * rng.random() - 1)
skew = [rng.random() * 200 for _ in range(processes)]


def spans(first, last, process, names, rate, **more):
    out = []
    for n in range(first, last):
        at, dur = starts[n] - starts[first] + skew[process], starts[n + 1] - starts[n]
        parts = [(names[0] % n if "%" in names[0] else names[0], 0, dur), (names[1], 0, 10_000)]
        parts += [(name, 11_000 + i * 30_000, 26_000) for i, name in enumerate(("fwd", "bwd", "opt"))]
        out += [{"ph": "X", "name": name, "pid": 100 + process,
                 "tid": 100 + process, "ts": round((at + late) * rate, 3), "dur": round(took, 3), **more}
                for name, late, took in parts]
    return out


with open("first.json", "w", encoding="utf-8") as f:
    json.dump({"traceEvents": [e for p in range(processes) for e in spans(
        a_from, a_to, p, ("step", "fetch"), 1 + drift / 1e6)]}, f)
shutil.rmtree("kineto", ignore_errors=True)
os.mkdir("kineto")
for p in range(processes):
    with open(f"kineto/{p}.json", "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "traceEvents": spans(b_from, b_to, p, (
            "ProfilerStep#%d", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), 1, cat="user_annotation")}, f)
print(round((starts[b_from] - starts[a_from]) * 1000))
