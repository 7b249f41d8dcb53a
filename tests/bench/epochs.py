# SPDX-License-Identifier: MIT
"""The epochs of a measured job, with recording switched off in every other one.

Two runs of a job differ by some percent on a shared machine; epochs of one run
differ far less. The switch is internal to the shim, found by its symbol and set
from inside the job. It is for benches only: a descriptor that is reused while
recording is off keeps its old name.
"""
import ctypes
import os
import resource
import subprocess
import time

WARM = 4  # first epochs, which are not measured


class Recording:
    """The switch of the shim in this process and its forked children."""

    def __init__(self):
        with open("/proc/self/maps") as maps:
            first = next(line.rstrip("\n").split(None, 5) for line in maps
                         if line.endswith("/libioreel.so\n"))
        base = int(first[0].split("-")[0], 16) - int(first[2], 16)
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        names = subprocess.run(["nm", first[-1]], stdout=subprocess.PIPE, text=True,
                               check=True, env=env).stdout.splitlines()
        at = next(int(name.split()[0], 16) for name in names if name.endswith(" shim_hot"))
        self.on = ctypes.c_int.from_address(base + at)
        self.was = self.on.value
        if not self.was:
            raise RuntimeError("this process is not recorded")

    def switch(self, on):
        self.on.value = self.was if on else 0


def cpu_seconds():
    """CPU time of this process and its ended children."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def timed(epochs):
    """Yields the numbers of the epochs; prints wall and CPU seconds of all."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    yield from range(epochs)
    print(time.perf_counter() - wall, cpu_seconds() - cpu)


def in_turn(epochs):
    """The same for an average epoch, first bare, then recorded. In each four the
    second and third are recorded, so that drift cancels out."""
    recording, took = Recording(), {False: [0, 0], True: [0, 0]}
    for epoch in range(WARM + epochs):
        on = epoch % 4 in (1, 2)
        recording.switch(on)
        wall, cpu = time.perf_counter(), cpu_seconds()
        yield epoch
        if epoch >= WARM:
            took[on][0] += (time.perf_counter() - wall) / (epochs / 2)
            took[on][1] += (cpu_seconds() - cpu) / (epochs / 2)
    recording.switch(True)
    print(*took[False] + took[True])


HOW = {"run": timed, "turns": in_turn}
