# SPDX-License-Identifier: MIT
"""The cost of an anchor in a Python program, in ns: run it under ioreel record.

Each line: name, anchors per iteration, and ns per anchor: the median of some
rounds, minus an empty loop or a bare call.
"""
import statistics
import sys
import time

import ioreel
from ioreel import epochs, shim, wrap

TURNS = 20000
ROUNDS = 15


def median(function, *args):
    took = []
    for _ in range(ROUNDS):
        turns = range(TURNS)
        start = time.thread_time_ns()
        function(turns, *args)
        took.append((time.thread_time_ns() - start) / TURNS)
    return statistics.median(took)


def empty(turns):
    for i in turns:
        pass


def pair(turns):
    for i in turns:
        shim.begin(shim.STEP, i)
        shim.end(shim.STEP)


def with_span(turns):
    for i in turns:
        with ioreel.span("step", i):
            pass


def with_named(turns):
    for i in turns:
        with ioreel.span("augment", i):
            pass


def call(turns, function):
    for i in turns:
        function()


def fetched(turns, iterator):
    for i in turns:
        next(iterator)


class Batches(object):
    def __iter__(self):
        return self

    def __next__(self):
        return 0


class Hooked(Batches):
    pass


wrap.patch(Hooked, "__next__", epochs.fetch_begins, epochs.fetch_ends)


def main():
    if not ioreel.recording():
        sys.exit("not recorded: ioreel record -- python3 %s" % sys.argv[0])
    loop = median(empty)

    def report(name, anchors, ns):
        print("%s\t%d\t%.0f" % (name, anchors, ns / anchors), flush=True)

    report("begin, end", 2, median(pair) - loop)
    report("with span", 2, median(with_span) - loop)
    report("with span, own name", 2, median(with_named) - loop)
    bare = median(call, nothing)
    report("wrapped call", 2, median(call, wrap.spanned(nothing, 6)) - bare)
    bare = median(fetched, Batches())
    batches, loader = Hooked(), Batches()
    epochs.started(batches, loader, shim.EPOCH)
    report("fetch and step", 4, median(fetched, batches) - bare)


def nothing():
    pass


main()
