# SPDX-License-Identifier: MIT
"""How like its job is a benchmark that ioreel fit derives from its recording?

    python3 tests/bench/fit.py [--runs N] [--images N] [--times N] [--cold]
                               [--dlio PYTHON] [CASE...]

A round records the training job (of tests/jobs/fit_jobs.py or examples/train_images.py),
derives the workload, runs it and compares the two. A row for each job, of medians over
the rounds: the cosine of all factors and of those that are no times and bandwidths, the
largest |d| of the factors that are no times and bandwidths, KS of the sizes of reads, AU
and hidden I/O of both in percent, and the median of their differences within a round.
"own" is the range of the job's own hidden I/O over the rounds. "busy" is the share of the
processors that other programs used while the last job was recorded. Needs the job's
modules.

--times N makes the samples N times as large, and --cold takes the data set out of the
page cache before each job and each run: I/O is then more than a few ms, whose hidden
share is chance. --dlio adds a row: the demo job as a user of DLIO sets it by hand
(dlio_side_by_side), run by the dlio_benchmark beside that PYTHON.
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
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
JOBS = os.path.join(TOP, "tests", "jobs", "fit_jobs.py")
IMAGES = os.path.join(TOP, "examples")
REST_S = 10
CASES = ("demo", "npz", "members", "h5py", "webdataset", "keras")


def call(*words, **more):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, **more).stdout


def commands(case, images, times):
    """The commands that make the data set of @case and train on it."""
    if case == "demo":
        return ([sys.executable, os.path.join(IMAGES, "make_images.py"), case,
                 "--images", str(images)],
                [sys.executable, os.path.join(IMAGES, "train_images.py"), case])
    return ([sys.executable, JOBS, "make", case, case, "--times", str(times)],
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


def measured(job, run):
    """The columns of one round."""
    columns = [*compared(job, run)]
    for column in (AU, HIDDEN):
        pair = share(job, column), share(run, column)
        columns += [*pair, pair[1] - pair[0]]
    return columns


def print_row(name, rounds):
    columns = [statistics.median(column) for column in zip(*rounds)]
    hidden = [columns[7] for columns in rounds]
    print("%-11s %7.4f %7.4f %7.3f %7.3f %6.1f %6.1f %+6.1f %6.1f %6.1f %+6.1f "
          "%5.1f %5.0f" % (name, *columns, max(hidden) - min(hidden),
                           share("job.db", BUSY)), flush=True)


def settle(folder, cold):
    """All that was written is on the disk, and, when @cold, the data set in @folder no
    longer in memory. The programs stay there, and a pause follows: virtual disks read a
    GB in a burst, then at a quarter of that rate until they rest, and each run is to
    find the same disk."""
    subprocess.run(["sync", "-f", "."], check=True)
    for where, _, names in os.walk(folder) if cold else ():
        for name in names:
            fd = os.open(os.path.join(where, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
    if cold:
        time.sleep(REST_S)


def record(command, store):
    call("ioreel", "record", "-q", "-o", "job.reel", "--", *command)
    call("ioreel", "load", "-q", "job.reel", "-o", store)
    shutil.rmtree("job.reel")


def repeated(runs, measure_round):
    """The columns of @runs rounds, behind one that warms up."""
    return [measure_round() for _ in range(runs + 1)][1:]


def measure(case, args):
    make, train = commands(case, args.images, args.times)
    call(*make)

    def one_round():
        settle(case, args.cold)
        record(train, "job.db")
        call("ioreel", "fit", "-q", "job.db", "-o", "job.json")
        if not os.path.exists("data"):
            call("ioreel", "gen", "-q", "job.json", "data")
        settle("data", args.cold)
        call("ioreel", "run", "-q", "job.json", "--data", "data", "-o", "run.db")
        return measured("job.db", "run.db")

    print_row(case, repeated(args.runs, one_round))


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

    def one_round():
        record(dlio.command(python), "dlio.db")
        return measured("job.db", "dlio.db")

    print_row("demo, DLIO", repeated(runs, one_round))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--images", type=int, default=2500,
                        help="of the demo job")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--dlio", metavar="PYTHON")
    parser.add_argument("case", nargs="*", metavar="CASE")
    args = parser.parse_args()
    dlio = args.dlio and os.path.abspath(args.dlio)
    print("%-11s %7s %7s %7s %7s %6s %6s %6s %6s %6s %6s %5s %5s" % (
        "job", "cosine", "", "max |d|", "KS", "AU", "", "", "hidden", "", "", "",
        "busy"))
    print("%-11s %7s %7s %7s %7s %6s %6s %6s %6s %6s %6s %5s %5s" % (
        "", "of all", "counts", "", "sizes", "job", "run", "diff", "job", "run",
        "diff", "own", "%"))
    for case in args.case or CASES:
        folder = tempfile.mkdtemp(prefix="ioreel-fit.")
        try:
            os.chdir(folder)
            measure(case, args)
            if case == "demo" and dlio:
                measure_dlio(dlio, args.runs)
        except subprocess.CalledProcessError as error:
            print("%-11s %s failed" % (case, " ".join(error.cmd[:3])))
        finally:
            os.chdir(TOP)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
