# SPDX-License-Identifier: MIT
"""The rate of ioreel run beside that of fio: raw samples without computing, with the
same files, sizes of reads and readers at a time; from the page cache, and from the
storage with O_DIRECT. A figure is fio's rate over ours, or our median latency over
fio's: other work on the machine stalls some calls for milliseconds, which blurs the
rate of small reads, and leaves the median.
"""
import json
import os
import shutil
import subprocess

import figures
from tracers import O, Failed

# Small reads take long: their files are smaller.
SIZES = (("4 KiB", 4096, 2 << 20), ("128 KiB", 131072, 16 << 20), ("1 MiB", 1048576, 16 << 20))
FILES, READERS, EPOCHS, ROUNDS = 32, 2, 4, 7
ROWS = ["raw, %s, %s: fio's rate" % (size, how) for size, _, _ in SIZES
        for how in ("cached", "O_DIRECT")]


def workload(size, file_bytes, direct):
    return {"schema": "ioreel-workload-1", "name": "reads", "epochs": 1 if direct else EPOCHS,
            "cache": "cold" if direct else "as-is", "synchronise": {"kind": "none"},
            "dataset": {"format": "raw", "files": FILES, "sample_bytes": size,
                        "samples_per_file": file_bytes // size},
            "access": {"direct": direct},
            # A batch is a file, as a job of fio has every second one; no reader waits.
            "pipeline": {"readers": READERS, "unit": "thread", "prefetch": 1024,
                         "batch": file_bytes // size}}


def checked(argv, folder):
    ran = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode:
        raise Failed("%s: %s" % (argv[0], (ran.stderr or ran.stdout).strip()[:300]))
    return json.loads(ran.stdout)


def ours(folder, size, file_bytes, direct):
    with open(os.path.join(folder, "run.json"), "w") as f:
        json.dump(workload(size, file_bytes, direct), f)
    d = checked([os.path.join(O, "ioreel"), "run", "-q", "--json", "--data", "ds", "run.json"], folder)
    return d["read_bytes"], d["read_bytes"] / d["wall_s"], d["read_latency"]["p50_us"] * 1e3


def fios(folder, size, file_bytes, direct):
    names = sorted(n for n in os.listdir(os.path.join(folder, "ds/train")) if n.endswith(".bin"))
    argv = ["fio", "--output-format=json", "--ioengine=psync", "--thread", "--rw=read",
            "--bs=%d" % size, "--direct=%d" % direct, "--invalidate=%d" % direct,
            "--loops=%d" % (1 if direct else EPOCHS), "--file_service_type=sequential",
            "--openfiles=1"]
    for i in range(READERS):
        argv += ["--name=reader%d" % i,
                 "--filename=" + ":".join("ds/train/" + name for name in names[i::READERS])]
    jobs = [job["read"] for job in checked(argv, folder)["jobs"]]
    n = sum(job["io_bytes"] for job in jobs)
    p50_ns = sum(job["clat_ns"]["percentile"]["50.000000"] for job in jobs) / len(jobs)
    return n, n / (max(job["runtime"] for job in jobs) / 1e3), p50_ns


def reads(bench):
    if not shutil.which("fio"):
        bench.note("reads: skipped; no fio")
        return
    folder = os.path.join(bench.scratch, "reads")
    os.makedirs(folder)
    for size_name, size, file_bytes in SIZES:
        with open(os.path.join(folder, "gen.json"), "w") as f:
            json.dump(workload(size, file_bytes, False), f)
        subprocess.run([os.path.join(O, "ioreel"), "gen", "-q", "gen.json", "ds"], cwd=folder, check=True)
        for how in ("cached", "O_DIRECT"):
            direct = how == "O_DIRECT"
            if not direct:
                subprocess.run("cat ds/train/* >cat.out && rm cat.out", shell=True, cwd=folder, check=True)
            for i in range(max(ROUNDS, bench.rounds)):
                turn = (ours, fios) if i % 2 else (fios, ours)
                rate, p50_ns = {}, {}
                for program in turn:
                    bytes_read, rate[program], p50_ns[program] = program(folder, size, file_bytes, direct)
                    if bytes_read != FILES * file_bytes * (1 if direct else EPOCHS):
                        raise Failed("%s read %d bytes" % (program.__name__, bytes_read))
                bench.table.add("reads", "raw, %s, %s: fio's rate" % (size_name, how), "ioreel",
                                rate[fios] / rate[ours], figures.RATIO)
                bench.table.add("reads", "raw, %s, %s: our median latency" % (size_name, how), "ioreel",
                                p50_ns[ours] / p50_ns[fios], figures.RATIO)
        shutil.rmtree(os.path.join(folder, "ds"))
