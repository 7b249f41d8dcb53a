# SPDX-License-Identifier: MIT
"""The epochs of a job that is measured, and recording switched off in every other one.

Two runs of one job differ by percents on a machine that is shared; epochs of one
run far less. The one thing to know: the switch is the shim's own, found by its
symbol and set from within: no program is meant to do this, descriptors that change
hands meanwhile keep the names that they had.
"""
import ctypes
import os
import resource
import subprocess
import time

WARM = 4  # epochs whose times do not count


class Recording:
    """The switch of the shim in this process and in those that it forks."""

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
    """Of this process and of its children that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def timed(epochs):
    """Yields the numbers of the epochs; prints what all took: wall and CPU seconds."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    yield from range(epochs)
    print(time.perf_counter() - wall, cpu_seconds() - cpu)


def in_turn(epochs):
    """The same of an epoch on average, not recorded, and then recorded. In each four
    the second and third are recorded, so that what drifts drifts out."""
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
