# SPDX-License-Identifier: MIT
"""The tracers of a bench: how a command runs under each, and its time.

Each is found on this machine or reported as missing. The shim gets the environment
of "ioreel record" itself, so the figures include the cost of variables that a
launcher or a batch script exports.
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
    """A command that failed: the tracer, or the job because of it."""


class Result:
    """The output of a command, and the time of it and all its processes."""

    def __init__(self, text, wall_ns, cpu_ns):
        self.text, self.times = text, [wall_ns, cpu_ns]

    def fields(self, n):
        """The lines with @n fields."""
        rows = [line.split("\t") for line in self.text.splitlines()]
        return [row for row in rows if len(row) == n]


def clean_env():
    """Without a tracer, for bare runs; Python keeps its bytecode."""
    drop = ("LD_PRELOAD", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
    return {k: v for k, v in os.environ.items()
            if not k.startswith("IOREEL_") and k not in drop}


class Tracer:
    """@rounds: the maximum number of rounds of a job for this tracer."""

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
        """Runs @argv in an empty folder: some tracers write to the working directory."""
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
    """The variables that "ioreel record" adds to the environment of a job."""
    bare = clean_env()
    with tempfile.TemporaryDirectory() as work:
        out = subprocess.run([word.replace("{}", work) for word in RECORD] +
                             ["/usr/bin/env", "-0"], stdout=subprocess.PIPE, check=True,
                             env=dict(bare, IOREEL_HOOKS=HOOKS)).stdout.decode()
        mine = dict(entry.split("=", 1) for entry in out.split("\0") if entry)
        return {k: v.replace(work, "{}") for k, v in mine.items() if bare.get(k) != v}


def libraries():
    """Other tracers: their name, the variable with their library, and more variables."""
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
    """The installed tracers; a line for each missing one."""
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
    """The first Python with @module, or None. Importing takes seconds: only look it up."""
    for python in ("python3", "/usr/bin/python3"):
        found = subprocess.run(
            [python, "-c", "import sys; from importlib.util import find_spec; "
             "print(sys.executable); sys.exit(not find_spec('%s'))" % module],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if not found.returncode:
            return found.stdout.strip()
    return None
