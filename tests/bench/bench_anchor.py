# SPDX-License-Identifier: MIT
"""What an anchor costs a Python program, in ns: run it under ioreel record.

Each line: name, anchors in one turn, and ns for each of them: the least of
some rounds, less an empty loop's or a bare call's.
"""
import sys
import time

import ioreel
from ioreel import epochs, shim, wrap

TURNS = 20000
ROUNDS = 15


def least(function, *args):
    best = float("inf")
    for _ in range(ROUNDS):
        turns = range(TURNS)
        start = time.thread_time_ns()
        function(turns, *args)
        best = min(best, (time.thread_time_ns() - start) / TURNS)
    return best


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
    loop = least(empty)

    def report(name, anchors, ns):
        print("%s\t%d\t%.0f" % (name, anchors, ns / anchors), flush=True)

    report("begin, end", 2, least(pair) - loop)
    report("with span", 2, least(with_span) - loop)
    report("with span, own name", 2, least(with_named) - loop)
    bare = least(call, nothing)
    report("wrapped call", 2, least(call, wrap.spanned(nothing, 6)) - bare)
    bare = least(fetched, Batches())
    batches, loader = Hooked(), Batches()
    epochs.started(batches, loader, shim.EPOCH)
    report("fetch and step", 4, least(fetched, batches) - bare)


def nothing():
    pass


main()
