# SPDX-License-Identifier: MIT
"""How like its job is a benchmark that ioreel fit derives from its recording?

    python3 tests/bench/fit.py [CASE...]

Records each training job of tests/jobs/fit_jobs.py and of
examples/train_images.py, derives the workload, makes its data set, runs it and
compares the two. A row for each job: the cosine of all factors and of those that are
no times and bandwidths, the largest |d| of the factors
that are no times and bandwidths, KS of the sizes of reads, and AU and hidden I/O of
both in percent. A median of three runs of the benchmark. Needs the job's modules.
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
JOBS = os.path.join(TOP, "tests", "jobs", "fit_jobs.py")
IMAGES = os.path.join(TOP, "examples")
CASES = ("demo", "npz", "members", "h5py", "webdataset", "keras")


def call(*words, **more):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, **more).stdout


def commands(case):
    """The commands that make the data set of @case and train on it."""
    if case == "demo":
        return ([sys.executable, os.path.join(IMAGES, "make_images.py"), case],
                [sys.executable, os.path.join(IMAGES, "train_images.py"), case])
    return ([sys.executable, JOBS, "make", case, case],
            [sys.executable, JOBS, "train", case, case])


def compared(job, run):
    d = json.loads(call("ioreel", "compare", "--json", "--class",
                        "data,checkpoint", job, run))
    counts = [abs(f["d"]) for f in d["factors"]
              if f["d"] is not None and f["unit"] not in ("ns", "B/s")]
    sizes = {x["name"]: x for x in d["distributions"]}["size of reads"]
    return d["cosine"], cosine(d["factors"]), max(counts), sizes["ks"]


def cosine(factors):
    """The likeness over the factors that are no times and bandwidths."""
    pairs = [(f["a"] / max(f["a"], f["b"]), f["b"] / max(f["a"], f["b"]))
             for f in factors if f["used"] and f["unit"] not in ("ns", "B/s")]
    norm = math.sqrt(sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs))
    return sum(a * b for a, b in pairs) / norm if norm else float("nan")


def share(store, column):
    """Mean percent over the steady steps of all ranks."""
    rows = call("ioreel", "sql", store, "--format", "tsv", column).split("\n")
    return float(rows[1]) if rows[1] else float("nan")


AU = ("SELECT 100.0 * sum(compute_ns) / sum(dur_ns) FROM v_step WHERE steady")
HIDDEN = ("SELECT 100.0 * sum(hidden_ns) / sum(io_ns) FROM v_step WHERE steady")


def measure(case):
    make, train = commands(case)
    call(*make)
    subprocess.run(["sync", "-f", "."], check=True)
    call("ioreel", "record", "-q", "-o", "job.reel", "--", *train)
    call("ioreel", "load", "-q", "job.reel", "-o", "job.db")
    call("ioreel", "fit", "-q", "job.db", "-o", "job.json")
    call("ioreel", "gen", "-q", "job.json", "data")
    subprocess.run(["sync", "-f", "."], check=True)
    rows = []
    for i in range(3):
        store = "run%d.db" % i
        call("ioreel", "run", "-q", "job.json", "--data", "data", "-o", store)
        rows.append((*compared("job.db", store), share(store, AU),
                     share(store, HIDDEN)))
    rows.sort()
    of_all, of_counts, most, ks, au, hidden = rows[1]
    print("%-11s %7.4f %7.4f %7.3f %7.3f %6.1f %6.1f %6.1f %6.1f" %
          (case, of_all, of_counts, most, ks, share("job.db", AU), au,
           share("job.db", HIDDEN), hidden), flush=True)


def main():
    print("%-11s %7s %7s %7s %7s %6s %6s %6s %6s" % (
        "job", "cosine", "", "max |d|", "KS", "AU", "", "hidden", ""))
    print("%-11s %7s %7s %7s %7s %6s %6s %6s %6s" % (
        "", "of all", "counts", "", "sizes", "job", "run", "job", "run"))
    for case in sys.argv[1:] or CASES:
        folder = tempfile.mkdtemp(prefix="ioreel-fit.")
        try:
            os.chdir(folder)
            measure(case)
        except subprocess.CalledProcessError as error:
            print("%-11s %s failed" % (case, " ".join(error.cmd[:3])))
        finally:
            os.chdir(TOP)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
