# SPDX-License-Identifier: MIT
"""overlap.py RUN: compute the report's steps and overlap a second time.

From the events, spans and processes of ioreel sql, by the definitions in
ioreel-store(5), without code of the analyzer. Prints each figure that
differs and the number of figures; fails if one does.
"""
import bisect
import json
import subprocess
import sys


def union(pairs):
    out = []
    for start, end in sorted(pairs):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        elif end > start:
            out.append([start, end])
    return out


def length(a):
    return sum(end - start for start, end in a)


def both(a, b):
    """The intersection of two unions."""
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            out.append([start, end])
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out


def less(a, b):
    gaps, at = [], -1 << 62
    for start, end in b:
        gaps.append([at, start])
        at = end
    return both(a, gaps + [[at, 1 << 62]])


def within(a, start, end):
    """The part of the union @a from @start to @end."""
    i = bisect.bisect(a, [start]) - 1
    out = []
    for s, e in a[max(i, 0):]:
        if s >= end:
            break
        if min(e, end) > max(s, start):
            out.append([max(s, start), min(e, end)])
    return out


def end_of(e):
    return e["start_ns"] + e["dur_ns"]


def pair(e):
    return [e["start_ns"], end_of(e)]


def is_io(e):
    """True for a call on a file, not through another layer or a mapping."""
    return (e["kind"] not in ("pipe", "socket") and e["layer"] != "MPIIO" and
            e["call_group"] != "queue" and
            e["call"] not in ("map_read", "map_write"))


class Step:
    """One step with its known parts; None: unknown."""

    def __init__(self, span, epochs):
        self.start, self.end = pair(span)
        self.thread, self.id = span["thread_id"], span["span_id"]
        self.epoch = None
        for e in epochs:        # in order of start
            if e["start_ns"] <= self.start <= end_of(e):
                self.epoch = e
        self.fetch = self.own = self.compute = self.hidden = None

    @property
    def ns(self):
        return self.end - self.start


def steps_of(spans, fetch):
    """The steps of a process; each moment belongs to the one that began last."""
    out, reach = [], 0
    epochs = [s for s in spans if s["name"] == "epoch"]
    for s in spans:
        if s["name"] != "step":
            continue
        if (s["start_ns"] < reach and end_of(s) <= reach and fetch and
                not within(fetch, *pair(s))):
            continue
        step = Step(s, epochs)
        if out and step.start < reach:
            out[-1].end = step.start
        step.end = reach = max(reach, step.end)
        out.append(step)
    return out


class Rank:
    def __init__(self, process, spans, calls, tree):
        mine = sorted((s for s in spans if s["process_id"] == process),
                      key=lambda s: (s["start_ns"], s["span_id"]))
        self.fetch = union(pair(s) for s in mine if s["name"] == "fetch")
        self.steps = steps_of(mine, self.fetch)
        self.io = union(pair(e) for e in calls if e["process_id"] in tree)
        self.declared = union(
            pair(s) for s in mine if s["name"] == "compute")
        first = [s["thread_id"] for s in mine if s["name"] == "step"][:1]
        begun = union([s.start, s.end] for s in self.steps)
        self.phase = union(
            pair(s) for s in mine if s["name"] in ("checkpoint", "eval") and
            (not first or s["thread_id"] == first[0] and
             within(begun, s["start_ns"], s["start_ns"] + 1)))
        self.find_known(mine)
        self.find_computation(process, mine, calls)

    def find_known(self, mine):
        begins = [s["start_ns"] for s in mine if s["name"] == "fetch"]
        since = 0
        for s in self.steps:
            if s.epoch:
                since = max(since, s.epoch["start_ns"])
            waited = within(self.fetch, s.start, s.end)
            i = bisect.bisect_left(begins, since)
            if waited or i < len(begins) and begins[i] < s.end:
                s.fetch = length(waited)
            since = s.end

    def find_computation(self, process, mine, calls):
        threads = ({s.thread for s in self.steps} or
                   {s["thread_id"] for s in mine if s["name"] == "compute"})
        own = {t: union(pair(e) for e in calls if e["thread_id"] == t and
                        e["process_id"] == process and e["layer"] != "ASYNC")
               for t in threads}
        begun = union([s.start, s.end] for s in self.steps)
        blocked = [p for t in threads for p in less(own[t], begun)]
        for s in self.steps:
            blocked += within(own[s.thread], s.start, s.end)
        blocked = union(blocked)
        fed = union([s.start, s.end] for s in self.steps
                    if s.fetch is not None)
        fed = less(less(fed, self.fetch), self.phase)
        base = less(self.declared, self.fetch) if self.declared else fed
        self.compute = less(base, blocked)
        self.own = both(fed, blocked)
        hidden = both(self.io, self.compute)
        for s in self.steps:
            s.io = length(within(self.io, s.start, s.end))
            if s.fetch is not None:
                s.own = length(within(self.own, s.start, s.end))
            if s.fetch is not None or within(self.declared, s.start, s.end):
                s.compute = length(within(self.compute, s.start, s.end))
                s.hidden = length(within(hidden, s.start, s.end))
        self.known = ([s for s in self.steps if s.compute is not None]
                      if self.steps else bool(self.declared))
        self.unknown_io = sum(s.io for s in self.steps if s.compute is None)
        self.hidden = length(hidden)


def ratio(a, b):
    return None if a is None or not b else 1e6 * a / b


def total(values):
    values = [v for v in values if v is not None]
    return sum(values) if values else None


def million(share):
    return None if share is None else share * 1e6


def check_rank(same, o, r):
    steps, known = r.steps, r.known
    waits = [s for s in steps if s.fetch is not None]
    same("steps", o["steps"], len(steps))
    same("unknown steps", o["unknown_steps"],
         len(steps) - len(known) if steps else 0)
    same("rank's I/O", o["io_ns"], length(r.io))
    same("hidden", o["hidden_ns"], r.hidden if known else None)
    same("exposed", o["exposed_ns"],
         length(r.io) - r.unknown_io - r.hidden if known else None)
    same("stall", o["fetch_ns"],
         length(r.fetch) if waits or not steps and r.fetch else None)
    same("computation", o["compute_ns"], length(r.compute) if known else None)
    same("own I/O", o["own_io_ns"], total(s.own for s in steps))
    same("hidden share", million(o["hidden_share"]),
         ratio(r.hidden if known else None, length(r.io) - r.unknown_io), 1e-6)
    steady = [s for s in steps[1:] if s.compute is not None]
    wall = sum(s.ns for s in steady)
    same("computing share", million(o["computing_share"]),
         ratio(total(s.compute for s in steady), wall), 1e-6)
    same("stall share", million(o["stall_share"]),
         ratio(total(s.fetch for s in steady), wall), 1e-6)
    if not steps:
        return
    start = min([steps[0].start] + [p[0] for p in r.fetch[:1]])
    end = steps[-1].end
    same("loop", o["loop_ns"], end - start if known else None)
    unknown = sum(s.ns for s in steps if s.fetch is None)
    wait = length(within(r.fetch, start, end)) if (
        waits and unknown <= 0.05 * sum(s.ns for s in steps)) else None
    same("share of waiting", million(o["wait_share"]),
         ratio(wait, end - start), 1e-6)


def check_steps(same, report, o, r):
    mine = {s.id: s for s in r.steps}
    same("steps listed", sum(s["span_id"] in mine for s in report["steps"]),
         len(mine))
    for row in report["steps"]:
        s = mine.get(row["span_id"])
        if not s:
            continue
        same("step's length", row["dur_ns"], s.ns)
        same("its fetch", row["fetch_ns"], s.fetch)
        same("its own I/O", row["own_io_ns"], s.own)
        same("its computation", row["compute_ns"], s.compute)
        same("its I/O", row["io_ns"], s.io)
        same("hidden of it", row["hidden_ns"], s.hidden)
        same("its rest", row["other_ns"], None if s.compute is None else
             s.ns - s.compute - (s.fetch or 0) - (s.own or 0))
    for row in report["epochs"]:
        of = [s for s in r.steps if row["rank"] == o["rank"] and s.epoch and
              s.epoch["start_ns"] <= row["start_ns"] <= end_of(s.epoch) and
              row["start_ns"] <= s.start < row["end_ns"]]
        if of and len({s.epoch["span_id"] for s in of}) == 1:
            same("epoch's fetches", row["fetch_ns"],
                 total(s.fetch for s in of))
            same("its unknown steps", row["unknown_steps"],
                 sum(s.compute is None for s in of))


def overlap(same, report, calls, spans, processes):
    parent = {p["process_id"]: p["parent_id"] for p in processes}
    ranks = {o["process_id"] for o in report["overlap"]}

    def rank_of(process):
        while process and process not in ranks:
            process = parent[process]
        return process

    for o in report["overlap"]:
        tree = {p for p in parent if rank_of(p) == o["process_id"]}
        r = Rank(o["process_id"], spans, calls, tree)
        check_rank(same, o, r)
        check_steps(same, report, o, r)


def main(run):
    def ask(*command):
        return json.loads(subprocess.run(
            ("ioreel",) + command, stdout=subprocess.PIPE, check=True).stdout)

    def rows(view):
        return ask("sql", "--format", "json", run, "SELECT * FROM " + view)

    bad, count = [], [0]

    def same(name, got, want, within=0):
        count[0] += 1
        if got != want and (got is None or want is None or
                            abs(got - want) > within * abs(want) + bool(within)):
            bad.append("%s: the report has %s, the events %s" %
                       (name, got, want))

    overlap(same, ask("report", "--json", run),
            [e for e in rows("v_event") if is_io(e)], rows("v_span"),
            rows("process"))
    print("\n".join(bad + ["%d figures, %d differ" % (count[0], len(bad))]))
    return bool(bad) or count[0] < 20


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
