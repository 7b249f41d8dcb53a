#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job of irregular steps, as several tools would have seen it.

    join_make.py jitter|regular|wide|workers SEED FOLDER

writes job.strace (opens and reads, at the time of day), job.chrome.json (spans
"fetch" and "step", at the time of day), and profile.json: PyTorch's profile of
the middle third of the steps, whose clock starts at 0. Prints the truth: ns from
the start of job.strace to that of profile.json, and the bytes that were read.

regular: steps of one length. wide: the profiler's steps are 120 us ahead of those of
job.chrome.json; its fetches begin 120 us before them, and end 5 us after. workers: two
loader workers read two batches ahead; the end of a fetch hands one out, and its reads
begin 0.3 ms later. A third child runs another program.
"""
import json
import random
import sys

how, seed, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rng = random.Random(seed)
PID, STEPS, DAY = 4242, 60, 1_795_000_000_000_000_000
strace, chrome, profile = [], [], []
at, total, first = DAY, 0, None


def line(start, dur, text, pid=PID):
    strace.append((start, f"{pid} {start // 1000 / 1e6:.6f} {text} <{dur / 1e9:.6f}>"))


def span(to, name, start, dur, **more):
    to.append({"ph": "X", "name": name, "pid": PID, "tid": PID, "ts": (start - DAY) / 1e3,
               "dur": dur / 1e3, **more})


jitter = (lambda ns: ns // 2) if how == "regular" else (lambda ns: rng.randrange(ns))


def read_batch(step, now, pause, pid):
    """Give the time after its four files, and their bytes."""
    total = 0
    for i in range(4):
        path, size = f"/data/{step}-{i}.bin", 100_000 + 1000 * step + i
        line(now, 10_000, f'openat(AT_FDCWD, "{path}", O_RDONLY) = 3<{path}>', pid)
        line(now + 20_000, 50_000, f'read(3<{path}>, ""..., {size}) = {size}', pid)
        line(now + 80_000, 2_000, f"close(3<{path}>) = 0", pid)
        now += 100_000 + jitter(pause)
        total += size
    return now, total


WORKERS = 2 if how == "workers" else 0
LOADER = "_MultiProcessingDataLoaderIter" if WORKERS else "_SingleProcessDataLoaderIter"
ready, free, handed = {}, [0, 0], 0


def hand_out(now):
    """A batch to the next worker."""
    global handed, total, first
    if handed < STEPS:
        w = handed % WORKERS
        start = max(now + 300_000 + jitter(200_000), free[w])
        first = min(first, start) if first else start
        free[w], size = read_batch(handed, start, 2_000_000, PID + 1 + w)
        ready[handed] = free[w] + jitter(100_000)
        total += size
        handed += 1


for _ in range(2 * WORKERS):
    hand_out(at)
for step in range(STEPS):
    begin, now = at, at + 40_000 + jitter(20_000)
    if WORKERS:
        fetched = max(now, ready[step]) + 100_000 + jitter(30_000)
        hand_out(fetched - 20_000)
    else:
        first = first or now
        now, size = read_batch(step, now, 50_000, PID)
        total += size
        fetched = now + 30_000 + jitter(30_000)
    end = fetched + 8_000_000 + jitter(9_000_000)
    span(chrome, "fetch", begin, fetched - begin)
    span(chrome, "step", begin, end - begin)
    if STEPS // 3 <= step < 2 * STEPS // 3:
        late = jitter(10_000)
        if how == "wide":
            begin, fetched, end = begin - 125_000, fetched + 14_000, end - 125_000
        span(profile, f"ProfilerStep#{step}", begin, end - begin, cat="user_annotation")
        span(profile, f"enumerate(DataLoader)#{LOADER}.__next__", begin + 5_000 + late,
             fetched - begin - 9_000 - late, cat="user_annotation")
    at = end + 20_000 + jitter(100_000)
line(at, 1000, "exit_group(0) = ?")
for child in range(PID + 1, PID + 4) if WORKERS else ():
    line(first, 1000, f"clone(child_stack=NULL, flags=SIGCHLD) = {child}")
    if child == PID + 3:
        line(first + 1_000_000, 1000, 'execve("/bin/cat", ["cat"], 0x7ff /* 0 vars */) = 0', child)
        line(first + 2_000_000, 1000, 'read(3</data/0-0.bin>, ""..., 10) = 10', child)
        total += 10

zero = min(e["ts"] for e in profile)
for e in profile:
    e["ts"] = round(e["ts"] - zero, 3)
first = first // 1000 * 1000
with open(f"{folder}/job.strace", "w", encoding="utf-8") as f:
    f.write("\n".join(text for _, text in sorted(strace)).replace(" = ? <0.000001>", " = ?") + "\n")
with open(f"{folder}/job.chrome.json", "w", encoding="utf-8") as f:
    json.dump({"traceEvents": chrome}, f)
for name, base in ("profile", 0), ("dated", DAY + int(zero * 1000)):
    with open(f"{folder}/{name}.json", "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "baseTimeNanoseconds": base, "traceEvents": profile}, f)
print(DAY + int(zero * 1000) - first, total)
