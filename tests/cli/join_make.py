#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job of irregular steps, as several tools would have seen it.

    join_make.py jitter|regular SEED FOLDER

writes job.strace (opens and reads, at the time of day), job.chrome.json (spans
"fetch" and "step", at the time of day), and profile.json: PyTorch's profile of
the middle third of the steps, whose clock starts at 0. Prints the truth: ns from
the start of job.strace to that of profile.json, and the bytes that were read.
"""
import json
import random
import sys

how, seed, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rng = random.Random(seed)
PID, STEPS, DAY = 4242, 60, 1_795_000_000_000_000_000
strace, chrome, profile = [], [], []
at, total, first = DAY, 0, None


def line(start, dur, text):
    strace.append(f"{PID} {start // 1000 / 1e6:.6f} {text} <{dur / 1e9:.6f}>")


def span(to, name, start, dur, **more):
    to.append({"ph": "X", "name": name, "pid": PID, "tid": PID, "ts": (start - DAY) / 1e3,
               "dur": dur / 1e3, **more})


for step in range(STEPS):
    jitter = (lambda ns: rng.randrange(ns)) if how == "jitter" else (lambda ns: ns // 2)
    begin, now = at, at + 40_000 + jitter(20_000)
    for i in range(4):
        path, size = f"/data/{step}-{i}.bin", 100_000 + 1000 * step + i
        line(now, 10_000, f'openat(AT_FDCWD, "{path}", O_RDONLY) = 3<{path}>')
        first = first or now
        line(now + 20_000, 50_000, f'read(3<{path}>, ""..., {size}) = {size}')
        line(now + 80_000, 2_000, f"close(3<{path}>) = 0")
        now += 100_000 + jitter(50_000)
        total += size
    fetched = now + 30_000 + jitter(30_000)
    end = fetched + 8_000_000 + jitter(9_000_000)
    span(chrome, "fetch", begin, fetched - begin)
    span(chrome, "step", begin, end - begin)
    if STEPS // 3 <= step < 2 * STEPS // 3:
        late = jitter(10_000)
        span(profile, f"ProfilerStep#{step}", begin, end - begin, cat="user_annotation")
        span(profile, "enumerate(DataLoader)#_Single.__next__", begin + 5_000 + late,
             fetched - begin - 9_000 - late, cat="user_annotation")
    at = end + 20_000 + jitter(100_000)
line(at, 1000, "exit_group(0) = ?")

zero = min(e["ts"] for e in profile)
for e in profile:
    e["ts"] = round(e["ts"] - zero, 3)
first = first // 1000 * 1000
with open(f"{folder}/job.strace", "w", encoding="utf-8") as f:
    f.write("\n".join(strace).replace(" = ? <0.000001>", " = ?") + "\n")
with open(f"{folder}/job.chrome.json", "w", encoding="utf-8") as f:
    json.dump({"traceEvents": chrome}, f)
for name, base in ("profile", 0), ("dated", DAY + int(zero * 1000)):
    with open(f"{folder}/{name}.json", "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "baseTimeNanoseconds": base, "traceEvents": profile}, f)
print(DAY + int(zero * 1000) - first, total)
