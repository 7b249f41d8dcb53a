# SPDX-License-Identifier: MIT
"""How like its job is a benchmark that ioreel fit derives from its recording?

    python3 tests/bench/fit.py [--runs N] [--images N] [--dlio PYTHON] [CASE...]

Records each training job of tests/jobs/fit_jobs.py and of
examples/train_images.py, derives the workload, makes its data set, runs it and
compares the two. A row for each job: the cosine of all factors and of those that are
no times and bandwidths, the largest |d| of the factors
that are no times and bandwidths, KS of the sizes of reads, and AU and hidden I/O of
both in percent. Each is a median of its own, of three runs of the benchmark behind
one that warms up. "busy" is the share of the processors that other programs used
while the job was recorded. Needs the job's modules.

--dlio adds a row: the demo job as a user of DLIO sets it by hand (dlio_side_by_side),
run by the dlio_benchmark beside that PYTHON.
"""
import argparse
import importlib.machinery
import importlib.util
import json
import math
import os
import shutil
import statistics
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


def commands(case, images):
    """The commands that make the data set of @case and train on it."""
    if case == "demo":
        return ([sys.executable, os.path.join(IMAGES, "make_images.py"), case,
                 "--images", str(images)],
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


BUSY = ("SELECT 100.0 * json_extract(job_json, '$.processor.others_ns') / "
        "json_extract(job_json, '$.wall_ns') / json_extract(job_json, '$.host.cpus') "
        "FROM run")


def medians(stores):
    """The median of each column."""
    rows = [(*compared("job.db", s), share(s, AU), share(s, HIDDEN))
            for s in stores]
    return [statistics.median(column) for column in zip(*rows)]


def print_row(name, columns):
    of_all, of_counts, most, ks, au, hidden = columns
    print("%-11s %7.4f %7.4f %7.3f %7.3f %6.1f %6.1f %6.1f %6.1f %5.0f" %
          (name, of_all, of_counts, most, ks, share("job.db", AU), au,
           share("job.db", HIDDEN), hidden, share("job.db", BUSY)), flush=True)


def run_ours(store):
    call("ioreel", "run", "-q", "job.json", "--data", "data", "-o", store)


def repeated(run, runs):
    """Stores of @runs runs, behind one that warms up."""
    stores = ["run%d.db" % i for i in range(runs + 1)]
    for store in stores:
        run(store)
    return stores[1:]


def measure(case, runs, images):
    make, train = commands(case, images)
    call(*make)
    subprocess.run(["sync", "-f", "."], check=True)
    call("ioreel", "record", "-q", "-o", "job.reel", "--", *train)
    call("ioreel", "load", "-q", "job.reel", "-o", "job.db")
    call("ioreel", "fit", "-q", "job.db", "-o", "job.json")
    call("ioreel", "gen", "-q", "job.json", "data")
    subprocess.run(["sync", "-f", "."], check=True)
    print_row(case, medians(repeated(run_ours, runs)))


def dlio_module():
    path = os.path.join(TOP, "tests", "bench", "dlio_side_by_side")
    loader = importlib.machinery.SourceFileLoader("dlio_side_by_side", path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def measure_dlio(python, runs):
    """In the folder of the demo job, whose recording is there."""
    dlio = dlio_module()
    dlio.configure_dlio(dlio.link_images("demo"))

    def run(store):
        command = dlio.command(python)
        call("ioreel", "record", "-q", "-o", "dlio.reel", "--", *command)
        call("ioreel", "load", "-q", "dlio.reel", "-o", store)
        shutil.rmtree("dlio.reel")

    print_row("demo, DLIO", medians(repeated(run, runs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--images", type=int, default=2500,
                        help="of the demo job")
    parser.add_argument("--dlio", metavar="PYTHON")
    parser.add_argument("case", nargs="*", metavar="CASE")
    args = parser.parse_args()
    dlio = args.dlio and os.path.abspath(args.dlio)
    print("%-11s %7s %7s %7s %7s %6s %6s %6s %6s %5s" % (
        "job", "cosine", "", "max |d|", "KS", "AU", "", "hidden", "", "busy"))
    print("%-11s %7s %7s %7s %7s %6s %6s %6s %6s %5s" % (
        "", "of all", "counts", "", "sizes", "job", "run", "job", "run", "%"))
    for case in args.case or CASES:
        folder = tempfile.mkdtemp(prefix="ioreel-fit.")
        try:
            os.chdir(folder)
            measure(case, args.runs, args.images)
            if case == "demo" and dlio:
                measure_dlio(dlio, args.runs)
        except subprocess.CalledProcessError as error:
            print("%-11s %s failed" % (case, " ".join(error.cmd[:3])))
        finally:
            os.chdir(TOP)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
