# SPDX-License-Identifier: MIT
"""figures.py RUN REPORT.json: the report's figures, made once more.

From the events, spans and processes that ioreel sql gives, by the words of
ioreel-store(5) and nothing of the analyzer's code: every call is held at once,
every union is sorted. Prints each figure that differs; fails if one does.
"""
import collections
import json
import subprocess
import sys

from overlap import end_of, length, overlap, union

checked = differ = 0


def rows(view):
    out = subprocess.run(["ioreel", "sql", "--format", "json", sys.argv[1],
                          "SELECT * FROM " + view], stdout=subprocess.PIPE,
                         check=True).stdout
    return json.loads(out)


def same(name, got, want, within=0):
    """@within: relative, of what is rounded or comes from a histogram."""
    global checked, differ
    checked += 1
    if got is None or want is None:
        good = got is want
    else:
        good = abs(got - want) <= within * abs(want) + (1 if within else 0)
    if not good:
        differ += 1
        print("%s: the report has %s, the events %s" % (name, got, want))


def times(events):
    return union([e["start_ns"], end_of(e)] for e in events)


def total(events, column="calls"):
    return sum(e[column] or 0 for e in events)


def quantile(values, p):
    """By nearest rank: the smallest value that p % of them do not exceed."""
    return sorted(values)[max(-(-p * len(values) // 100), 1) - 1]


def is_message(e):
    return e["kind"] in ("pipe", "socket")


def is_mapped(e):
    return e["call"] in ("map_read", "map_write")


def each_size(events):
    """The size of every call that moved something."""
    return [e["bytes"] / e["calls"] for e in events if e["bytes"]
            for _ in range(e["calls"])]


report = json.load(open(sys.argv[2], encoding="utf-8"))
# Events of the job: those of its launcher, as a shim of pyenv, are in no figure.
events = rows("v_event WHERE process_id IN "
              "(SELECT process_id FROM process WHERE launcher IS NULL)")
spans = rows("v_span")
files = [e for e in events if not is_message(e) and e["layer"] != "MPIIO"
         and e["call_group"] != "queue"]
calls = [e for e in files if not is_mapped(e)]
part = {"io": calls,
        "read": [e for e in calls if e["call_group"] == "read"],
        "write": [e for e in calls if e["call_group"] == "write"]}
part["meta"] = [e for e in calls if e["call_group"] not in ("read", "write")]
part["all"] = part["read"] + part["write"]


def used(of):
    """The paths that were opened, read, written or mapped, and are files."""
    return len({
        e["path"] for e in of if e["path"] and
        e["kind"] not in ("dir", "pipe", "socket") and
        (e["bytes"] if is_mapped(e) else
         e["call_group"] in ("read", "write") or
         e["call_group"] == "open" and not e["errno"] or
         e["call"] == "mmap" and e["asked"] and not e["errno"])})


def totals():
    t = report["totals"]
    same("events", t["events"], len(events))
    same("calls", t["calls"], total(events))
    same("messages", t["messages"], total(filter(is_message, events)))
    for op in "read", "write":
        same(op + " calls", t[op + "_calls"], total(part[op]))
        same(op + " bytes", t[op + "_bytes"],
             total((e for e in files if e["call_group"] == op), "bytes"))
    same("meta calls", t["meta_calls"], total(part["meta"]))
    same("errors", t["errors"], total(e for e in files if e["errno"]))
    same("reads at the end", t["eof_reads"], total(
        e for e in part["read"] if not e["errno"] and not e["result"]))
    same("I/O time", t["io_ns"], length(times(calls)) or None)
    same("files", t["files"], used(files))
    for g in report["calls"]:
        of = [e for e in events if e["call"] == g["call"] and
              is_message(e) == bool(g["message"])]
        same(g["call"], g["calls"], total(of))
        same(g["call"] + " time", g["dur_ns"], total(of, "dur_ns") or None)
        same(g["call"] + " bytes", g["bytes"], total(of, "bytes"))
        same(g["call"] + " errors", g["errors"],
             total(e for e in of if e["errno"]))


def rates():
    for t in report["io_time"]:
        of, op = part[t["op"]], t["op"] + " "
        same(op + "union", t["union_ns"], length(times(of)))
        same(op + "sum", t["sum_ns"], total(of, "dur_ns") or None)
        same(op + "first", t["first_ns"], min(e["start_ns"] for e in of))
        same(op + "last", t["last_ns"], max(map(end_of, of)))
        own = [length(times(e for e in of if e["process_id"] == p))
               for p in {e["process_id"] for e in of}]
        if t["op"] == "io":
            same("least process", t["process_min_ns"], min(own))
            same("most", t["process_max_ns"], max(own))
            same("mean", t["process_mean_ns"], sum(own) / len(own), 1e-9)
    for b in report["bandwidth"]:
        of = part[b["op"]]
        per_call = [e["bytes"] / e["dur_ns"] * 1e9 for e in of
                    if e["bytes"] and e["dur_ns"] for _ in range(e["calls"])]
        if b["op"] != "all":
            wall = max(map(end_of, of)) - min(e["start_ns"] for e in of)
            same("busy rate", b["busy_bytes_per_s"],
                 total(of, "bytes") * 1e9 / length(times(of)), 1e-9)
            same("wall rate", b["wall_bytes_per_s"],
                 total(of, "bytes") * 1e9 / wall, 1e-9)
        same("median rate", b["call_median_bytes_per_s"],
             quantile(per_call, 50), .01)


def sizes():
    for t in report["transfer_sizes"]:
        of = each_size(part[t["op"]])
        same("moves", t["calls"], len(of))
        if not of:
            same("nothing", t["median_bytes"], None)
            continue
        same("smallest", t["min_bytes"], min(of), 1e-9)
        same("largest", t["max_bytes"], max(of), 1e-9)
        same("mean", t["mean_bytes"], sum(of) / len(of), 1e-9)
        same("is exact", t["exact"], int(len(set(of)) <= 4096))
        for name, p in (("p1", 1), ("p5", 5), ("p25", 25), ("median", 50),
                        ("p75", 75), ("p95", 95), ("p99", 99)):
            same(t["op"] + " " + name, t[name + "_bytes"], quantile(of, p),
                 0 if t["exact"] else .01)
    for b in report["transfer_bins"]:
        same("bin", b["calls"], sum(
            b["low_bytes"] <= s < b["high_bytes"] + 1
            for s in each_size(part[b["op"]])))
    last = {"read": 0, "write": 0}
    for b in report["darshan_size_bins"]:
        upper = b["upper_bytes"] or 1 << 62
        same("Darshan's bin", b["calls"], sum(
            last[b["op"]] < s <= upper for s in each_size(part[b["op"]])))
        same("Darshan's bin of POSIX", b["posix_calls"], sum(
            last[b["op"]] < s <= upper
            for s in each_size([e for e in part[b["op"]]
                                if e["layer"] == "POSIX"])))
        last[b["op"]] = upper


def order():
    end, count = {}, collections.Counter()
    for e in sorted(calls, key=end_of):
        if e["call_group"] not in ("read", "write") or not e["bytes"]:
            continue
        before, at = end.get(e["open_id"]), e["offset"]
        count[e["call_group"],
              "first" if before is None else
              "consecutive" if at == before else
              "sequential" if at > before else "random"] += 1
        count[e["call_group"], "consecutive"] += e["calls"] - 1
        end[e["open_id"]] = at + e["bytes"]
    for s in report["sequentiality"]:
        for name in "first", "consecutive", "sequential", "random":
            same(s["op"] + " " + name, s[name], count[s["op"], name])


def timeline():
    for t in report["timeline"]:
        start, end = t["start_ns"], t["start_ns"] + t["width_ns"]
        for op in "read", "write", "meta":
            inside = [(e, max(0, min(end, end_of(e)) -
                              max(start, e["start_ns"])))
                      for e in part[op]]
            same(op + " within a second", t[op + "_ns"],
                 sum(ns for e, ns in inside), 1e-9)
            if op != "meta":
                same(op + " bytes of a second", t[op + "_bytes"], sum(
                    (e["bytes"] or 0) * (ns / e["dur_ns"] if e["dur_ns"]
                                         else start <= end_of(e) < end)
                    for e, ns in inside), 1e-6)
            same(op + " calls of a second",
                 t["meta_calls" if op == "meta" else op + "s"],
                 total(e for e in part[op] if start <= end_of(e) < end))


def sums(row, of, whose):
    """The sums that a process's row and a file's have in common."""
    same(whose + "errors", row["errors"], total(e for e in of if e["errno"]))
    for op in "read", "write":
        mine = [e for e in of if e["call_group"] == op]
        same(whose + op + "s", row[op + "s"], total(
            e for e in mine if not is_mapped(e)))
        same(whose + op + " bytes", row[op + "_bytes"], total(mine, "bytes"))
    same(whose + "other calls", row["meta_calls"], total(
        e for e in of if e["call_group"] not in ("read", "write")))


def places():
    host = {p["process_id"]: p["host_id"] for p in rows("process")}
    for c in report["classes"]:
        of = [e for e in files if e["class"] == c["class"]]
        same(c["class"] + " files", c["files"], used(of))
        same(c["class"] + " bytes read", c["read_bytes"], total(
            (e for e in of if e["call_group"] == "read"), "bytes"))
        same(c["class"] + " opens", c["opens"], total(
            e for e in of if e["call_group"] == "open" and not e["errno"]))
    for p in report["processes"]:
        of = [e for e in files if e["process_id"] == p["process_id"]]
        same("process's time", p["sum_ns"], total(of, "dur_ns"))
        same("its host", p["host_id"], host[p["process_id"]])
        same("its files", p["files"], used(of))
        sums(p, of, "process %d: " % p["pid"])
    for f in report["files"]:
        of = [e for e in files if e["path"] == f["path"]]
        sums(f, of, f["path"] + ": ")
        same(f["path"] + " opens", f["opens"], total(
            e for e in of if e["call_group"] == "open" and not e["errno"]))
        same(f["path"] + " reads at the end", f["eof_reads"], total(
            e for e in of if e["call_group"] == "read" and not e["errno"]
            and not e["result"] and not is_mapped(e)))
        for op in "read", "write":
            same(f["path"] + " time of " + op, f[op + "_ns"], total(
                (e for e in of if e["call_group"] == op), "dur_ns"))
    for g in report["groups"]:
        of = [e for e in files if e["call_group"] == g["call_group"]]
        same(g["call_group"], g["calls"], total(
            e for e in of if not is_mapped(e)))
        same(g["call_group"] + " bytes", g["bytes"], total(of, "bytes"))
        same(g["call_group"] + " time", g["dur_ns"], total(of, "dur_ns") or None)
    for f in report["errors"]:
        same(f["call"] + " failed", f["calls"], total(
            e for e in events if e["call"] == f["call"] and
            e["errno"] == f["errno"] and is_message(e) == bool(f["message"])))
    for op in "read", "write":
        same("mapped, " + op, report["mapped"][op + "_bytes"], total(
            (e for e in files if is_mapped(e) and e["call_group"] == op),
            "bytes"))


def distributions():
    of = {(d["quantity"], d["op"]): d for d in report["distributions"]}
    none = {"calls": 0, "mean": None}
    last, between = {}, []
    for e in sorted(calls, key=lambda e: end_of(e)):
        if e["calls"] == 1 and last.get(e["thread_id"]) is not None:
            between.append(max(e["start_ns"] - last[e["thread_id"]], 0))
        last[e["thread_id"]] = e["start_ns"] if e["calls"] == 1 else None
    d = of.get(("inter_arrival", "io"), none)
    same("times between calls", d["calls"], len(between))
    if between:
        same("their mean", d["mean"], sum(between) / len(between), 1e-9)
    for op in "read", "write":
        size = each_size(part[op])
        same(op + " sizes", of.get(("size", op), none)["calls"], len(size))
        o = [o for o in report["sequentiality"] if o["op"] == op]
        same(op + " strides", of.get(("stride", op), none)["calls"], sum(
            o[0][x] for x in ("consecutive", "sequential", "random")) if o else 0)


def spread():
    role = {p["process_id"]: p["role"] for p in report["processes"]}
    for s in report["spread"]:
        ids = [i for i in role if role[i] == s["role"]]
        of = {i: [e for e in calls if e["process_id"] == i] for i in ids}
        if s["figure"] == "io_ns":
            value = [length(times(of[i])) for i in ids]
        elif s["figure"] == "reads":
            value = [total(e for e in of[i] if e["call_group"] == "read") for i in ids]
        else:
            continue
        what = "%s of %s" % (s["figure"], s["role"])
        same(what + ", processes", s["processes"], len(ids))
        same(what + ", mean", s["mean"], sum(value) / len(value), 1e-9)
        same(what + ", min", s["min"], min(value))
        same(what + ", max", s["max"], max(value))
    for layer in report["layers"]:
        of = [e for e in events if not is_message(e) and e["layer"] == layer["layer"]
              and e["call_group"] != "queue"]
        for op in "read", "write":
            same(layer["layer"] + " bytes of " + op, layer[op + "_bytes"], total(
                (e for e in of if e["call_group"] == op), "bytes"))


for section in (totals, rates, sizes, order, timeline, places, distributions,
                spread):
    section()
overlap(same, report, calls, spans, rows("process"))
print("%d figures, %d differ" % (checked, differ))
sys.exit(differ > 0 or checked < 100)
