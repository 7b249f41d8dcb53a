# SPDX-License-Identifier: MIT
"""The tracers of a bench, how a command runs under each, and what it took.

Each is found here or named as absent. The one thing to know: the environment of
the shim is the one that "ioreel record" itself gives, so that what a launcher or
a batch script exports costs what is measured.
"""
import os
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
O = os.path.join(TOP, os.environ.get("O", "build"))
BIN = os.path.join(O, "tests", "bench")
HOOKS = os.path.join(TOP, "preload", "python")
RECORD = [os.path.join(O, "ioreel"), "record", "-q", "-o", "{}/t.reel", "--"]


class Failed(Exception):
    """A command that did not end well: the tracer, or what it did to the job."""


class Result:
    """What a command printed, and the time it and all its processes took."""

    def __init__(self, text, wall_ns, cpu_ns):
        self.text, self.times = text, [wall_ns, cpu_ns]

    def fields(self, n):
        """Its lines of @n fields."""
        rows = [line.split("\t") for line in self.text.splitlines()]
        return [row for row in rows if len(row) == n]


def clean_env():
    """No tracer's, what runs in it is bare; and Python keeps its bytecode."""
    drop = ("LD_PRELOAD", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
    return {k: v for k, v in os.environ.items()
            if not k.startswith("IOREEL_") and k not in drop}


class Tracer:
    """@rounds: in how many rounds of a job it takes part, at most."""

    def __init__(self, name, prefix=(), env=None, rounds=1000):
        self.name, self.prefix, self.env = name, list(prefix), env or {}
        self.rounds = rounds

    def environ(self, work):
        env = clean_env()
        env.update((k, v.replace("{}", work)) for k, v in self.env.items())
        return env

    def argv(self, argv, work):
        return [word.replace("{}", work) for word in self.prefix] + argv

    def run(self, argv, scratch):
        """Runs @argv in an empty folder: some tracers write to where they are."""
        work = tempfile.mkdtemp(dir=scratch)
        try:
            with tempfile.TemporaryFile("w+") as out:
                return self._run(self.argv(argv, work), work, out)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _run(self, argv, work, out):
        begin = time.perf_counter_ns()
        job = subprocess.Popen(argv, cwd=work, env=self.environ(work), stdout=out,
                               stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(job.pid, 0)
        wall_ns = time.perf_counter_ns() - begin
        job.returncode = status
        if status:
            raise Failed("%s: %s ended with status %#x" % (self.name, argv[-1], status))
        out.seek(0)
        cpu_ns = int((usage.ru_utime + usage.ru_stime) * 1e9)
        return Result(out.read(), wall_ns, cpu_ns)


def shim_env():
    """What "ioreel record" adds to the environment of a job."""
    bare = clean_env()
    with tempfile.TemporaryDirectory() as work:
        out = subprocess.run([word.replace("{}", work) for word in RECORD] +
                             ["/usr/bin/env", "-0"], stdout=subprocess.PIPE, check=True,
                             env=dict(bare, IOREEL_HOOKS=HOOKS)).stdout.decode()
        mine = dict(entry.split("=", 1) for entry in out.split("\0") if entry)
        return {k: v.replace(work, "{}") for k, v in mine.items() if bare.get(k) != v}


def libraries():
    """Other tracers: their name, the variable with their library, what else they want."""
    return [
        ("Darshan+DXT", "DARSHAN", {
            "DARSHAN_ENABLE_NONMPI": "1", "DXT_ENABLE_IO_TRACE": "1",
            "DARSHAN_LOGFILE": "{}/t.darshan"}),
        ("Recorder", "RECORDER", {
            "RECORDER_WITH_NON_MPI": "1", "RECORDER_TRACES_DIR": "{}/t"}),
        ("DFTracer", "DFTRACER", {
            "DFTRACER_ENABLE": "1", "DFTRACER_INIT": "PRELOAD", "DFTRACER_LOG_FILE": "{}/t",
            "DFTRACER_DATA_DIR": "all", "DFTRACER_INC_METADATA": "1"}),
    ]


def find():
    """The tracers that are here; a line for each that is not."""
    shim = shim_env()
    here = [Tracer("bare"), Tracer("off", env={"LD_PRELOAD": shim["LD_PRELOAD"]}),
            Tracer("ioreel", RECORD, {"IOREEL_HOOKS": HOOKS})]
    absent = []
    for name, variable, env in libraries():
        library = os.environ.get(variable, "")
        if os.path.isfile(library):
            here.append(Tracer(name, env=dict(env, LD_PRELOAD=library), rounds=3))
        else:
            absent.append("%s: skipped; %s=LIBRARY names it" % (name, variable))
    strace = shutil.which("strace")
    if strace:
        here.append(Tracer("strace", [strace, "-f", "-y", "-ttt", "-T", "-o", "{}/t"],
                           rounds=1))
    else:
        absent.append("strace: skipped; not installed")
    return here, absent


def python_with(module):
    """The first Python that has @module, not imported, which takes seconds; or None."""
    for python in ("python3", "/usr/bin/python3"):
        found = subprocess.run(
            [python, "-c", "import sys; from importlib.util import find_spec; "
             "print(sys.executable); sys.exit(not find_spec('%s'))" % module],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if not found.returncode:
            return found.stdout.strip()
    return None
