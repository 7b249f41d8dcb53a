# SPDX-License-Identifier: MIT
"""The parts of a bench: each is a function that adds samples to a table.

In each round all tracers run in turn, each time in another order, and a sample is
the difference (or ratio) to the bare run of that round, so that other load on the
machine affects all alike.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import figures
import reads
import tracers
from tracers import BIN, HERE, HOOKS, O, Failed, Tracer

FEW = "3"  # batches under a tracer that stops the process at each call


class Bench:
    """Arguments of all parts: the table, the tracers, a folder, and the rounds."""

    def __init__(self, table, all_tracers, scratch, rounds):
        self.table, self.tracers, self.scratch = table, all_tracers, scratch
        self.rounds = rounds

    def named(self, *names):
        return [t for t in self.tracers if t.name in names]

    def of_round(self, i):
        """Bare first, then the others, beginning with another one in each round."""
        bare, others = self.tracers[0], self.tracers[1:]
        others = [t for t in others if i < t.rounds]
        at = i % len(others)
        return [bare] + others[at:] + others[:at]

    def note(self, text):
        if text not in self.table.notes:
            self.table.notes.append(text)
            print("bench: %s" % text, file=sys.stderr, flush=True)

    def try_run(self, tracer, argv):
        try:
            return tracer.run(argv, self.scratch)
        except Failed as failed:
            self.note(str(failed))
            return None


def calls(bench):
    """Inside one process: the wrapped call minus the bare call."""
    add = bench.table.add
    for i in range(bench.rounds):
        base = {}
        for tracer in bench.of_round(i):
            few = [FEW] if tracer.name == "strace" else ["400"]
            result = bench.try_run(tracer, [BIN + "/probe_calls", "."] + few)
            for name, threads, bare, floor, traced in result.fields(5) if result else []:
                row = name + (", 2 threads" if threads == "2" else "")
                bare, traced = float(bare), float(traced)
                if tracer.name == "bare":
                    # The difference of the two names of a call in this round.
                    base[row] = bare, traced
                    add("calls", row, "bare", bare)
                    add("calls", row, "floor", float(floor))
                elif tracer.name == "strace":  # it slows both names
                    add("calls", row, tracer.name, bare + traced - sum(base[row]))
                else:
                    add("calls", row, tracer.name, traced - base[row][1])


def latency(bench):
    """The quantiles of one call, and their differences to the bare name."""
    add = bench.table.add
    for i in range(bench.rounds * 2):
        base = {}
        for tracer in bench.of_round(i):
            few = [FEW] if tracer.name == "strace" else []
            result = bench.try_run(tracer, [BIN + "/probe_latency"] + few)
            for name, bare, added in result.fields(3) if result else []:
                bare, added = float(bare), float(added)
                if tracer.name == "bare":
                    base[name] = bare
                    add("latency", name, "bare", bare)
                elif tracer.name == "strace":  # it slows both names
                    add("latency", name, tracer.name, bare + added - base[name])
                else:
                    add("latency", name, tracer.name, added)


def anchors(bench):
    """ns of one anchor: a begin or an end."""
    script = [sys.executable, os.path.join(HERE, "bench_anchor.py")]
    for _ in range(bench.rounds * 2):
        for tracer in bench.named("ioreel"):
            result = bench.try_run(tracer, [BIN + "/probe_anchors"])
            for name, ns in result.fields(2) if result else []:
                bench.table.add("anchors", name, tracer.name, float(ns))
            result = bench.try_run(tracer, script)
            for name, _, ns in result.fields(3) if result else []:
                bench.table.add("anchors", "Python: " + name, tracer.name, float(ns))


START_TURNS = 30


def spawn(argv, env):
    """Wall and CPU time of a process, in ns."""
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
    _, _, usage = os.wait4(pid, 0)
    return time.perf_counter_ns() - begin, int((usage.ru_utime + usage.ru_stime) * 1e9)


def starts_of(bench, row, argv, who, i):
    """The medians of the differences of many strict alternations.

    No file is deleted meanwhile: some file systems then create files slowly.
    """
    work = tempfile.mkdtemp(dir=bench.scratch)
    took = {tracer.name: [] for tracer in who}
    for n in range(START_TURNS):
        at = (n + i) % len(who)
        for tracer in who[at:] + who[:at]:
            # "ioreel record" needs a new directory; processes of a job share
            # one.
            mine = "%s/%s" % (work, n if tracer.name == "record" else tracer.name)
            os.makedirs(mine, exist_ok=True)
            took[tracer.name].append(spawn(tracer.argv(argv, mine), tracer.environ(mine)))
    bare = took.pop("bare")
    for k, name in enumerate((row, row + ", CPU")):
        bench.table.add("start", name, "bare", statistics.median([b[k] for b in bare]))
        for tracer, values in took.items():
            bench.table.add("start", name, "ioreel" if tracer == "record" else tracer,
                            statistics.median([a[k] - b[k] for a, b in zip(values, bare)]))


STARTS = {"process that does nothing": ["/bin/true"],
          "process that reads a file": ["/bin/cat", os.path.join(HERE, "run")],
          "python3 -S -c pass": [os.path.realpath(sys.executable), "-S", "-c", "pass"],
          "python3 -c pass, with hooks": [os.path.realpath(sys.executable), "-c", "pass"]}


def start(bench):
    """The shim in a process of a job, and "ioreel record" itself, once per job."""
    shim = Tracer("ioreel", env=tracers.shim_env())
    record = Tracer("record", tracers.RECORD, {"IOREEL_HOOKS": HOOKS})
    for i in range(bench.rounds * 2):
        who = [shim if t.name == "ioreel" else t for t in bench.of_round(i)]
        for row, argv in STARTS.items():
            starts_of(bench, row, argv, who, i)
        starts_of(bench, "ioreel record /bin/true", ["/bin/true"],
                  bench.named("bare") + [record], i)


TIMES = ("wall", "CPU", "loop, wall", "loop, CPU")
IN_TURN = ("wall, epochs in turn", "CPU, epochs in turn")
TURNS = 16  # epochs in a process: fours, see epochs.py


def job(bench, part, name, script, module, epochs):
    """Ratios of a whole command, and of the loop that it times itself.

    "bare again" is the noise: the ratio of two runs without a tracer.
    """
    python = tracers.python_with(module)
    if not python:
        bench.note("%s job: skipped; no python3 with %s" % (name, module))
        return
    data = os.path.join(bench.scratch, module)
    script = os.path.join(HERE, script)
    subprocess.run([python, script, "make", data], check=True, stderr=subprocess.DEVNULL)
    argv = [python, script, "run", data, str(epochs)]
    for i in range(bench.rounds + 3):
        who = [tracer for tracer in bench.of_round(i) if tracer.name != "off"]
        who.insert(i % len(who) + 1, Tracer("bare again"))
        sums = {}
        for tracer in who + who[::-1]:  # so that drift cancels out
            result = bench.try_run(tracer, argv)
            if result:
                loop = [float(s) * 1e9 for s in result.text.split()[-2:]]
                took = result.times + loop
                sums.setdefault(tracer.name, []).append(took)
        bare = [sum(column) for column in zip(*sums["bare"])]
        for tracer, runs in sums.items():
            own = [sum(column) for column in zip(*runs)]
            for k, what in enumerate(TIMES):
                mean = own[k] / len(runs)
                if tracer != "bare":
                    mean /= bare[k] / len(sums["bare"])
                bench.table.add(part, "%s, %s" % (name, what), tracer, mean, figures.RATIO)
    in_turn(bench, part, name, argv, epochs)
    share(bench, part, name, argv)


def in_turn(bench, part, name, argv, epochs):
    """The ratio of the whole job, composed of the parts that vary least between
    runs: the job without an epoch, and an epoch in a process that is recorded in
    every other one. It has no bar, as it misses the costs of both kinds of epochs: the
    first test of a wrapper, the hooks' Python, another layout of the job's memory."""
    bare, ioreel = bench.tracers[0], bench.named("ioreel")[0]
    without = argv[:-1] + ["0"]
    turns = argv[:2] + ["turns", argv[3], str(TURNS)]
    for _ in range(bench.rounds + 3):
        runs = [bench.try_run(who, without) for who in (bare, ioreel, ioreel, bare)]
        inside = bench.try_run(ioreel, turns)
        if not inside or not all(runs):
            return
        off_and_on = [float(s) * 1e9 for s in inside.text.split()]
        for k, what in enumerate(IN_TURN):
            around = [(runs[a].times[k] + runs[b].times[k]) / 2 for a, b in ((0, 3), (1, 2))]
            whole = [a + epochs * b for a, b in zip(around, off_and_on[k::2])]
            bench.table.add(part, "%s, %s" % (name, what), ioreel.name,
                            whole[1] / whole[0], figures.RATIO)


def is_ours(comm, stack):
    """True for a sample of ioreel: of the command itself, or with the shim as the
    innermost frame outside the kernel, so that its system calls count too.

    @stack: "[kernel.kallsyms]" or a path for each frame, innermost first."""
    program = next((dso for dso in stack if not dso.startswith("[kernel")), "")
    return comm == "ioreel" or os.path.basename(program) == "libioreel.so"


def samples(perf_data):
    """(comm, stack as is_ours() has it) of each sample."""
    said = subprocess.run(["perf", "script", "-i", perf_data, "-F", "comm,ip,dso"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for sample in said.split("\n\n"):
        lines = sample.strip("\n").split("\n")
        stack = [line[line.rfind("(") + 1:].rstrip(")") for line in lines[1:]]
        if stack:
            yield lines[0].strip(), stack


def share(bench, part, name, argv):
    """Percent of a recorded job's CPU samples in ioreel: unlike a ratio of two runs
    it is not blurred by other load on the machine. It does not include the slowdown
    of the job by evicted cache lines."""
    ioreel = bench.named("ioreel")[0]
    if not shutil.which("perf"):
        bench.note("%s job: no perf, so no share of samples" % name)
        return
    data = os.path.join(bench.scratch, "perf.data")
    for _ in range(bench.rounds):
        perf = Tracer("perf", ["perf", "record", "-q", "-g", "-F", "4999", "-o", data, "--"] +
                      ioreel.prefix, ioreel.env)
        if not bench.try_run(perf, argv):
            return
        ours = [is_ours(comm, stack) for comm, stack in samples(data)]
        if ours:
            bench.table.add(part, "%s, %% of CPU samples" % name, "ioreel",
                            100 * sum(ours) / len(ours), figures.PLAIN)


def loader(bench):
    job(bench, "loader", "DataLoader", "job_loader.py", "torch", 2)


def tfrecord(bench):
    job(bench, "tfrecord", "TFRecord", "job_tfrecord.py", "tensorflow", 2)


def storage(bench):
    """Bytes per event, and the rates of load and replay."""
    add = bench.table.add
    ioreel = os.path.join(O, "ioreel")
    work = os.path.join(bench.scratch, "storage")
    os.makedirs(work)

    def run(*argv):
        return subprocess.run(argv, cwd=work, check=True, stdout=subprocess.PIPE,
                              text=True, stderr=subprocess.DEVNULL).stdout

    for files, times in ((600, 4), (3000, 1), (3000, 20)):
        reel, store = "f%d.%d.reel" % (files, times), "f%d.%d.db" % (files, times)
        run(ioreel, "record", "-q", "-o", reel, "--", BIN + "/probe_files",
            "f%d" % files, str(files), str(times))
        run(ioreel, "load", "-q", reel, "-o", store)
        events = int(run(ioreel, "sql", store, "--format", "tsv",
                         "select events from run").split()[1])
        folder = os.path.join(work, reel)
        trace = sum(os.path.getsize(os.path.join(folder, name))
                    for name in os.listdir(folder) if name.endswith(".log"))
        row = "%d files read %d times" % (files, times)
        add("storage", row + ": trace, B per event", "ioreel", trace / events, figures.PLAIN)
        add("storage", row + ": store, B per event", "ioreel",
            os.path.getsize(os.path.join(work, store)) / events, figures.PLAIN)
    run(os.path.join(O, "tests", "data", "gen_trace"), "-p", "4", "-t", "2", "-n", "1000000",
        "-k", "loader", "big.reel")
    for line in run(BIN + "/bench_load", "big.reel").splitlines():
        name, value = line.split("\t")
        add("storage", name, "ioreel", float(value), figures.PLAIN)


# In the order in which they run: the function, and the title of its table.
PARTS = {"calls": (calls, "A call: added to the bare call (about nothing: not seen at all)"),
         "latency": (latency, "Quantiles of one cached pread of 4 KiB: added to them"),
         "anchors": (anchors, "Anchors: one begin or one end"),
         "start": (start, "A process, from its spawn to its end: added to it"),
         "loader": (loader, "PyTorch DataLoader job, 2 forked workers, 3,000 files: ratio to bare"),
         "tfrecord": (tfrecord, "TensorFlow TFRecord job: ratio to bare"),
         "storage": (storage, "Traces: their size, and reading them"),
         "reads": (reads.reads, "ioreel run beside fio: fio's rate over ours")}
